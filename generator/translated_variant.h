// The variants of a compilation behind the front end: tile IR, and what of it is to be compiled.
#pragma once

#include "compile.h"
#include "translate/translate.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// A variant of a source, of which `front_end` has the kernels or what is wrong with it.
struct TranslatedVariant {
  const SourcePlan *source;
  const VariantChoice *choice;
  FrontEndResult front_end;
  StepTimes times = {};
};

/// All variants of `plan`, in its order.
std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan);

/// What the front end read for the variant.
FrontEndInput front_end_input(const CompileOptions &options, const TranslatedVariant &variant);

/// Whether the kernel shall be compiled in this variant: for one of the GPUs, if there are any.
bool is_wanted(const TranslatedVariant &variant, const ir::Function &function,
               const std::vector<const Gpu *> &gpus);

/// "TM=64, TN=64, under lda % 8": of a variant, and of what is compiled under hints.
std::string name_of(const TranslatedVariant &variant, const ir::Function &function);

/// Every kernel that options name must be there, and one that is there must have a variant. Two
/// files of one library must not have a kernel of one name.
std::optional<Failure> check_kernels(const CompileOptions &options, const Plan &plan,
                                     const std::vector<TranslatedVariant> &variants);

/// Adds to `findings` the axes whose values no source uses, in any variant.
void find_unused_axes(const std::vector<TranslatedVariant> &variants, Findings &findings);

/// Adds what is to be compiled under hints (argument_hints.h) to the kernels of all variants, and
/// to `findings` those hints that change nothing.
std::optional<Failure> add_kernels_under_hints(const CompileOptions &options,
                                               std::vector<TranslatedVariant> &variants,
                                               Findings &findings);

} // namespace tritonc
