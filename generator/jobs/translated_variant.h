// The variants of a compilation after the front end: their tile IR, and which kernels to compile.
#pragma once

#include "jobs/compile_options.h"
#include "support/time_report.h"
#include "translate/translate.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// A variant of a source; `front_end` has its kernels or its errors.
struct TranslatedVariant {
  const SourcePlan *source;
  const VariantChoice *choice;
  FrontEndResult front_end;
  StepTimes times = {};
};

/// Runs the front end for all variants of `plan`; keeps their order.
std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan);

/// The front end's input for the variant.
FrontEndInput front_end_input(const CompileOptions &options, const TranslatedVariant &variant);

/// Whether to compile the kernel in this variant for at least one of the GPUs. Empty `gpus` means
/// any GPU. A variant whose requirements no arguments meet is not compiled.
bool is_wanted(const TranslatedVariant &variant, const ir::Function &function,
               const std::vector<const Gpu *> &gpus);

/// The name of a variant, with its specialization: "TM=64 TN=64, under lda % 8".
std::string name_of(const TranslatedVariant &variant, const ir::Function &function);

/// Checks the kernels. Every kernel that options name must exist and every kernel must have a
/// variant. Two files of one library must not define kernels with the same name.
std::optional<Error> check_kernels(const CompileOptions &options, const Plan &plan,
                                   const std::vector<TranslatedVariant> &variants);

/// Adds a warning to `diagnostics` for each axis whose macros no source uses in any variant.
void find_unused_axes(const std::vector<TranslatedVariant> &variants, DiagnosticList &diagnostics);

/// Adds the specialized kernels (specialization.h) to all variants: those of --specialize, and the
/// compiler's own for arguments that allow wide accesses (analysis/narrow_accesses.h). Adds a warning
/// to `diagnostics` for each option that changes nothing.
std::optional<Error> add_specialized_kernels(const CompileOptions &options,
                                             std::vector<TranslatedVariant> &variants,
                                             DiagnosticList &diagnostics);

} // namespace tritonc
