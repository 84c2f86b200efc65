// Hints about arguments, as `--specialize "lda % 8 && ldb % 8"` has them: what a caller's arguments
// often are, for which code is worth being compiled besides the general one.
//
//   hints := hint {"&&" hint}
//   hint  := parameter "%" number ["==" "0"]   an integer is a multiple of it, a pointer's address
//   too
//          | parameter "==" number             an integer has this value
//
// Hints behind "[matmul]" are for that kernel alone, which then has none of those that are for all;
// "[matmul]" by itself says that it has none at all.
//
// A kernel under hints is the kernel with what it may rely on written into it: a multiple is what
// `__multipleof` and `__aligned` say, and a value takes the place of the parameter. That the
// arguments are so is a requirement of its launch plan, as those of a source are, so the runtime
// passes it over where they are not; then the general code runs.
//
// Tested by tests/compile/argument_hints_test.cpp.
#pragma once

#include "backend/result.h"
#include "ir/ir.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// What one alternative to the general code relies on.
class ArgumentHints {
public:
  static Result<ArgumentHints> parse(const std::string &text);

  /// In one spelling: "lda % 8 && n == 1".
  const std::string &text() const { return text_; }
  /// The kernel that they are for alone; empty: for all.
  const std::string &kernel() const { return kernel_; }
  /// Whether they are for this kernel, or it has all the parameters; others are left alone.
  bool is_about(const ir::Function &kernel) const;
  /// Why the hints cannot be true of the kernel's arguments, or make no sense.
  std::optional<Failure> problem_with(const ir::Function &kernel) const;
  /// The kernel under the hints; nothing if it relies on all of that anyway. Only for kernels that
  /// they are about, and with which there is no problem.
  std::optional<ir::Function> apply_to(const ir::Function &kernel) const;
  /// That there is no such kernel, or none that has such parameters; the nearest name of one.
  Failure unknown_to(const std::vector<const ir::Function *> &kernels) const;

private:
  struct Hint {
    std::string parameter;
    bool is_value = false; // "=="; else "%"
    int64_t number = 0;
    size_t column = 0; // from 1
    std::string text() const;
  };
  class Parser;

  std::string given_; // as it was written, for messages
  std::string text_;
  std::string kernel_;
  std::vector<Hint> hints_; // none: the kernel has no hints
};

/// All alternatives, in the order in which they are tried. None may be there twice.
Result<std::vector<ArgumentHints>> parse_hints(const std::vector<std::string> &texts);

/// Whether these, of all, have nothing to say of the kernel although they are about it: they are
/// for all kernels, and it has some of its own.
bool has_others(const ir::Function &kernel, const ArgumentHints &hints,
                const std::vector<ArgumentHints> &all);

} // namespace tritonc
