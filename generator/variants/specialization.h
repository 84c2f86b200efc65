// Specialization: parses `--specialize "lda % 8 && ldb % 8"` and applies it to kernels. Each option
// adds code for arguments that satisfy its assumptions; the general code stays.
//
//   assumptions := assumption {"&&" assumption}
//   assumption  := parameter "%" number ["==" "0"]   integer: multiple of number;
//                                                    pointer: address aligned to number bytes
//                | parameter "==" number             integer: equal to number
//
// Assumptions after "[matmul]" are only for kernel matmul. Such a kernel ignores the assumptions
// for all kernels. "[matmul]" without assumptions disables specialization for matmul.
//
// A specialized kernel is a copy of the kernel: a multiple or an alignment becomes `__multipleof`
// or `__aligned`, and a value replaces the parameter. The launch plan gets the assumptions as
// requirements, like the requirements in a source. If the arguments violate a requirement, the
// runtime skips the specialized code and launches the general code.
//
// Tested by tests/unit/variants/specialization_test.cpp.
#pragma once

#include "ir/ir.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The assumptions of one `--specialize` option.
class Specialization {
public:
  static Result<Specialization> parse(const std::string &text);

  /// In canonical spelling: "lda % 8 && n == 1".
  const std::string &text() const { return text_; }
  /// The only kernel that the assumptions are for; empty = all kernels.
  const std::string &kernel() const { return kernel_; }
  /// Whether the assumptions apply to `kernel`: they name it, or they name no kernel and it has all
  /// the parameters.
  bool is_about(const ir::Function &kernel) const;
  /// Returns an error if the assumptions cannot hold for the kernel's arguments or make no sense.
  std::optional<Error> problem_with(const ir::Function &kernel) const;
  /// Returns the specialized kernel; nullopt if the kernel already makes all these assumptions.
  /// Requires is_about(kernel) and no problem_with(kernel).
  std::optional<ir::Function> apply_to(const ir::Function &kernel) const;
  /// The error for an unknown kernel or parameter, with the nearest known name.
  Error unknown_to(const std::vector<const ir::Function *> &kernels) const;

private:
  struct Assumption {
    std::string parameter;
    bool is_value = false; // true for "==", false for "%"
    int64_t number = 0;
    size_t column = 0; // 1-based
    std::string text() const;
  };
  class Parser;

  std::string given_; // as the user wrote it, for messages
  std::string text_;
  std::string kernel_;
  std::vector<Assumption> assumptions_; // empty = no specialization of kernel_
};

/// Parses all options; a launch tries the specializations in this order. Duplicates are an error.
Result<std::vector<Specialization>> parse_specializations(const std::vector<std::string> &texts);

/// Whether `kernel` ignores `specialization`, because that is for all kernels and `all` has a
/// specialization that names the kernel.
bool has_others(const ir::Function &kernel, const Specialization &specialization,
                const std::vector<Specialization> &all);

} // namespace tritonc
