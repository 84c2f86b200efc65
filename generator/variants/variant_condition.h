// Parses and evaluates conditions on variants: `--where "TM * TN <= 16384 && TYPE != float"`.
//
//   condition  := C's operators || && ! == != < <= > >= + - * / % and parentheses,
//                 on 64-bit integers
//   operand    := integer | axis | arch | kernel | word
//
// An axis evaluates to its value in the variant: an integer, or a word such as `half`. `arch` is
// the number of the GPU (90 for sm_90a) and `kernel` is the kernel's name. Words support only ==
// and !=.
#pragma once

#include "language/front_end.h"
#include "support/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The variant, kernel and GPU for which a condition is evaluated.
struct ConditionSubject {
  std::function<std::optional<std::string>(const std::string &axis)> value_of;
  std::string kernel; // empty = unknown
  int arch = 0;       // 0 = unknown
};

class Condition {
public:
  static Result<Condition> parse(const std::string &text);

  const std::string &text() const { return text_; }
  /// Whether the condition uses a name that is not `arch`, `kernel`, a word or one of these axes.
  bool mentions_missing_axis(const std::vector<Axis> &axes) const;
  /// Checks the names against the axes and kernels of all sources; returns the first error.
  std::optional<Error> check(const std::vector<Axis> &axes,
                             const std::vector<std::string> &kernels) const;
  Result<bool> holds(const ConditionSubject &subject) const;

  /// All names in the expression, and its value. Callers also use a Condition as an integer
  /// expression.
  std::vector<std::string> names() const;
  Result<int64_t> value(const ConditionSubject &subject) const;

private:
  struct Node {
    enum class Kind : uint8_t { integer, name, prefix, infix } kind;
    std::string text; // the name or the operator
    int64_t value = 0;
    size_t column = 0; // 1-based
    size_t left = 0, right = 0;
  };
  class Parser;
  class Evaluation;

  /// If `==` or `!=` compares the name with another operand, returns that operand; else null.
  const Node *compared_with(size_t name) const;

  std::string text_;
  std::vector<Node> nodes_; // postorder; the last node is the root
};

} // namespace tritonc
