// Conditions on variants, as `--where "TM * TN <= 16384 && TYPE != float"` has them.
//
//   condition  := C's operators || && ! == != < <= > >= + - * / % and parentheses, on 64-bit
//   integers operand    := integer | axis | arch | kernel | word
//
// An axis is its value in the variant: an integer, or a word such as `half`. `arch` is the number
// of the GPU (90 for sm_90a) and `kernel` the kernel's name. Words can only be compared, by == and
// !=.
#pragma once

#include "backend/result.h"
#include "language/front_end.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// What a condition is asked about.
struct ConditionSubject {
  std::function<std::optional<std::string>(const std::string &axis)> value_of;
  std::string kernel; // empty: not known
  int arch = 0;       // 0: not known
};

class Condition {
public:
  static Result<Condition> parse(const std::string &text);

  const std::string &text() const { return text_; }
  /// The names that are neither `arch` nor `kernel` nor words: axes, if the condition is right.
  bool mentions_missing_axis(const std::vector<Axis> &axes) const;
  /// What is wrong with the names, given the axes and kernels of all sources.
  std::optional<Failure> check(const std::vector<Axis> &axes,
                               const std::vector<std::string> &kernels) const;
  Result<bool> holds(const ConditionSubject &subject) const;

  /// All names in it, and its value: as an expression, it need not be a condition.
  std::vector<std::string> names() const;
  Result<int64_t> value(const ConditionSubject &subject) const;

private:
  struct Node {
    enum class Kind : uint8_t { integer, name, prefix, infix } kind;
    std::string text; // the name or the operator
    int64_t value = 0;
    size_t column = 0; // from 1
    size_t left = 0, right = 0;
  };
  class Parser;
  class Evaluation;

  /// For a name that is compared with another operand: that operand.
  const Node *compared_with(size_t name) const;

  std::string text_;
  std::vector<Node> nodes_; // operands before their operators; the last one is the whole
};

} // namespace tritonc
