// Converts and evaluates the expressions of a launch plan. See expression.h.
//
// Tested by tests/unit/emit/expression_test.cpp.

#include "emit/expression.h"

#include <tritonc/descriptor.hpp>

#include <algorithm>

namespace tritonc {

namespace {

using Kind = Expr::Kind;

// Each kind of expression: the runtime's operation, and the text of the operator or function.
struct Spelling {
  Kind kind;
  abi::op op;
  const char *text;
  int precedence; // as in C, higher binds tighter; 0 = written as a call
};

constexpr Spelling spellings[] = {
    {Kind::constant, abi::op::constant, "", 10},
    {Kind::parameter, abi::op::parameter, "", 10},
    {Kind::programs, abi::op::programs, "get_num_programs", 10},
    {Kind::num_sms, abi::op::num_sms, "sms", 10},
    {Kind::neg, abi::op::neg, "-", 9},
    {Kind::logical_not, abi::op::logical_not, "!", 9},
    {Kind::mul, abi::op::mul, "*", 8},
    {Kind::div, abi::op::div, "/", 8},
    {Kind::rem, abi::op::rem, "%", 8},
    {Kind::add, abi::op::add, "+", 7},
    {Kind::sub, abi::op::sub, "-", 7},
    {Kind::lt, abi::op::lt, "<", 6},
    {Kind::le, abi::op::le, "<=", 6},
    {Kind::gt, abi::op::gt, ">", 6},
    {Kind::ge, abi::op::ge, ">=", 6},
    {Kind::eq, abi::op::eq, "==", 5},
    {Kind::ne, abi::op::ne, "!=", 5},
    {Kind::logical_and, abi::op::logical_and, "&&", 4},
    {Kind::logical_or, abi::op::logical_or, "||", 3},
    {Kind::ceil_div, abi::op::ceil_div, "cdiv", 0},
    {Kind::min, abi::op::min, "min", 0},
    {Kind::max, abi::op::max, "max", 0},
};

const Spelling &spelling_of(Kind kind) {
  return *std::find_if(std::begin(spellings), std::end(spellings),
                       [&](const Spelling &s) { return s.kind == kind; });
}

bool append_postfix(const Expr &expression, int depth, std::vector<int64_t> &words) {
  if (depth >= abi::max_stack)
    return false;
  for (size_t i = 0; i < expression.operands.size(); i++)
    if (!append_postfix(expression.operands[i], depth + int(i), words))
      return false;
  words.push_back(int64_t(spelling_of(expression.kind).op));
  if (expression.operands.empty() && expression.kind != Kind::num_sms)
    words.push_back(expression.value);
  return true;
}

std::string text_within(const Expr &expression, const std::vector<Parameter> &parameters,
                        int surrounding) {
  if (expression.kind == Kind::constant)
    return std::to_string(expression.value);
  if (expression.kind == Kind::parameter)
    return parameters[size_t(expression.value)].name;
  const Spelling &own = spelling_of(expression.kind);
  if (expression.kind == Kind::programs)
    return own.text + ("(" + std::to_string(expression.value) + ")");
  if (expression.kind == Kind::num_sms)
    return own.text;
  auto operand = [&](size_t i, int precedence) {
    return text_within(expression.operands[i], parameters, precedence);
  };
  if (own.precedence == 0)
    return std::string(own.text) + "(" + operand(0, 0) + ", " + operand(1, 0) + ")";
  std::string text = expression.operands.size() == 1 ? own.text + operand(0, own.precedence)
                                                     : operand(0, own.precedence) + " " + own.text +
                                                           " " + operand(1, own.precedence + 1);
  return own.precedence < surrounding ? "(" + text + ")" : text;
}

} // namespace

std::optional<std::vector<int64_t>> postfix(const Expr &expression) {
  std::vector<int64_t> words;
  if (!append_postfix(expression, 0, words))
    return std::nullopt;
  words.push_back(int64_t(abi::op::end));
  return words;
}

namespace {

std::optional<int64_t> quotient(Kind kind, int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return std::nullopt;
  if (kind == Kind::rem)
    return a % b;
  return a / b + (kind == Kind::ceil_div && a % b != 0 && (a < 0) == (b < 0));
}

std::optional<int64_t> value_of(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case Kind::add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::sub:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::mul:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Kind::div:
  case Kind::rem:
  case Kind::ceil_div:
    return quotient(kind, a, b);
  case Kind::min:
    return std::min(a, b);
  case Kind::max:
    return std::max(a, b);
  case Kind::lt:
    return a < b;
  case Kind::le:
    return a <= b;
  case Kind::gt:
    return a > b;
  case Kind::ge:
    return a >= b;
  case Kind::eq:
    return a == b;
  case Kind::ne:
    return a != b;
  case Kind::logical_and:
    return a && b;
  case Kind::logical_or:
    return a || b;
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<int64_t> value_of(const Expr &expression, const LaunchFacts &facts) {
  std::vector<int64_t> operands;
  for (const Expr &operand : expression.operands) {
    std::optional<int64_t> value = value_of(operand, facts);
    if (!value)
      return std::nullopt;
    operands.push_back(*value);
  }
  switch (expression.kind) {
  case Kind::constant:
    return expression.value;
  case Kind::parameter: {
    auto found = facts.arguments.find(int(expression.value));
    return found == facts.arguments.end() ? std::nullopt : std::optional(found->second);
  }
  case Kind::programs:
    return facts.programs[size_t(expression.value)];
  case Kind::num_sms:
    return facts.num_sms;
  case Kind::neg:
    return value_of(Kind::sub, 0, operands[0]);
  case Kind::logical_not:
    return !operands[0];
  default:
    return value_of(expression.kind, operands[0], operands[1]);
  }
}

std::string text_of(const Expr &expression, const std::vector<Parameter> &parameters) {
  return text_within(expression, parameters, 0);
}

} // namespace tritonc
