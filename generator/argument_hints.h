// Hints about arguments, as `--specialize "lda % 8 && ldb % 8"` has them: what a caller's arguments
// often are, for which code is worth being compiled besides the general one.
//
//   hints := hint {"&&" hint}
//   hint  := parameter "%" number ["==" "0"]   an integer is a multiple of it, a pointer's address
//   too
//          | parameter "==" number             an integer has this value
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
  /// Whether the kernel has all the parameters; others are left alone.
  bool is_about(const ir::Function &kernel) const;
  /// Why the hints cannot be true of the kernel's arguments, or make no sense.
  std::optional<Failure> problem_with(const ir::Function &kernel) const;
  /// The kernel under the hints; nothing if it relies on all of that anyway. Only for kernels that
  /// they are about, and with which there is no problem.
  std::optional<ir::Function> apply_to(const ir::Function &kernel) const;
  /// That no kernel has such parameters; the nearest name of one that some have.
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
  std::vector<Hint> hints_;
};

/// All alternatives, in the order in which they are tried. None may be there twice.
Result<std::vector<ArgumentHints>> parse_hints(const std::vector<std::string> &texts);

} // namespace tritonc
