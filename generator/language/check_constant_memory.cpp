// Checks constant memory: the size and initial values of each array, and which kernels use the
// array. See checker.h.
//
//     __constant__ float weights[9];                     9 floats, all zero
//     __constant__ int steps[] = {1, 2, 4};              3 ints
//     char __constant__ *table = calloc(512);            512 bytes; the old compiler's form
//
// In a kernel, the name is a pointer to the first element. The host fills the array before a
// launch. All arrays of a file together must fit into the GPU's constant memory, so a kernel may
// use any array.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"

#include <algorithm>
#include <set>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

constexpr int64_t max_constant_bytes = 64 * 1024;
/// Alignment of each array, in bytes.
constexpr int64_t part_alignment = 16;

int64_t aligned(int64_t bytes) {
  return (bytes + part_alignment - 1) / part_alignment * part_alignment;
}

// The value of a constant number. Computes in double and rounds each step to the type of that step.
std::optional<double> real_value(const Expr &expr) {
  if (expr.type.is_tile() || !expr.type.is_number())
    return std::nullopt;
  if (std::optional<int64_t> integer = constant_integer(expr))
    return expr.type.scalar == Scalar::uint64 ? double(uint64_t(*integer)) : double(*integer);
  if (std::optional<double> literal = constant_real(expr))
    return literal;
  if (expr.type.scalar != Scalar::float_ && expr.type.scalar != Scalar::double_)
    return std::nullopt;
  std::vector<double> operands;
  for (const ExprPtr &operand : expr.operands) {
    std::optional<double> value = real_value(*operand);
    if (!value)
      return std::nullopt;
    operands.push_back(*value);
  }
  double made = 0;
  if (operands.size() == 1 && (expr.is(Kind::convert) || expr.is(Kind::cast)))
    made = operands[0];
  else if (operands.size() == 1 && expr.is(Kind::unary))
    made = expr.op == Operator::minus ? -operands[0] : operands[0];
  else if (expr.is(Kind::binary) && expr.op == Operator::add)
    made = operands[0] + operands[1];
  else if (expr.is(Kind::binary) && expr.op == Operator::subtract)
    made = operands[0] - operands[1];
  else if (expr.is(Kind::binary) && expr.op == Operator::multiply)
    made = operands[0] * operands[1];
  else if (expr.is(Kind::binary) && expr.op == Operator::divide)
    made = operands[0] / operands[1];
  else
    return std::nullopt;
  return expr.type.scalar == Scalar::float_ ? double(float(made)) : made;
}

// Marks the arrays that a function uses, directly or through a call.
void collect(const Function &function, std::set<const Function *> &seen, std::vector<bool> &used) {
  if (!seen.insert(&function).second || !function.body)
    return;
  for_each_expr(*function.body, [&](const Expr &expr) {
    if (expr.variable && expr.variable->constant_memory >= 0)
      used[size_t(expr.variable->constant_memory)] = true;
    if (expr.is(Kind::inlined) && expr.function)
      collect(*expr.function, seen, used);
  });
}

} // namespace

void Checker::check_constant_memory(Declarator &declarator) {
  Type &type = declarator.type_name.type;
  const Scalar scalar = type.scalar;
  auto give_up = [&] { declare(declarator, Type(), /*is_parameter=*/false); };
  if (scalar == Scalar::error)
    return give_up();
  if (scalar == Scalar::void_) {
    report(Message::void_value, declarator.at, {"constant"}, {declarator.type_name.range});
    return give_up();
  }
  std::optional<int64_t> count = element_count_of(declarator);
  if (!count)
    return give_up();
  ConstantMemory made;
  made.scalar = scalar;
  made.count = *count;
  int64_t bytes = *count * (bits_of(scalar) / 8); // cannot overflow: see element_count_of
  constant_bytes_ += aligned(bytes);
  if (constant_bytes_ > max_constant_bytes) {
    report(Message::constant_too_large, declarator.at, {std::to_string(constant_bytes_)});
    report(Message::at_most_constant, declarator.at, {std::to_string(max_constant_bytes)});
    constant_bytes_ = 0; // so that one message is enough
    return give_up();
  }
  if (int64_t(declarator.values.size()) > *count) {
    report(Message::constant_values, declarator.values[size_t(*count)]->at,
           {std::to_string(declarator.values.size()), std::to_string(*count), declarator.name});
    return give_up();
  }
  for (ExprPtr &value : declarator.values)
    if (!add_value(value, made))
      return give_up();
  type = Type::of(scalar);
  type.pointer = type.to_constant = true;
  declarator.is_const = true; // the pointer
  declare(declarator, type, /*is_parameter=*/false);
  declarator.variable->constant_memory = int(program_.constant_memory.size());
  made.variable = declarator.variable;
  program_.constant_memory.push_back(std::move(made));
}

// The number of elements; nullopt after an error. The count saturates at one more than the largest
// possible array.
std::optional<int64_t> Checker::element_count_of(Declarator &declarator) {
  constexpr int64_t too_many = max_constant_bytes + 1;
  const Scalar scalar = declarator.type_name.type.scalar;
  auto positive = [&](ExprPtr &size) -> std::optional<int64_t> {
    if (size->is(Kind::name) && !find(size->text)) {
      report_undeclared(*size, /*is_extent=*/true);
      return std::nullopt;
    }
    check_expr(size);
    if (size->type.is_error())
      return std::nullopt;
    std::optional<int64_t> value = constant_integer(*size);
    if (value && *value > 0)
      return std::min(*value, too_many);
    report(Message::constant_bad_size, size->at, {declarator.name}, {size->range});
    return std::nullopt;
  };
  if (declarator.bytes) {
    std::optional<int64_t> bytes = positive(declarator.bytes);
    int64_t size = bits_of(scalar) / 8;
    return bytes ? std::optional((*bytes + size - 1) / size) : std::nullopt;
  }
  if (declarator.takes_size_of_values && !declarator.values.empty())
    return int64_t(declarator.values.size());
  if (declarator.type_name.extents.empty()) {
    report(Message::constant_without_size, declarator.at, {declarator.name});
    report(Message::write_constant, declarator.at, {declarator.name, name_of(scalar)});
    return std::nullopt;
  }
  int64_t count = 1;
  for (ExprPtr &extent : declarator.type_name.extents) {
    std::optional<int64_t> value = positive(extent);
    if (!value)
      return std::nullopt;
    count = std::min(count * *value, too_many);
  }
  return count;
}

bool Checker::add_value(ExprPtr &value, ConstantMemory &to) {
  check_expr(value);
  if (value->type.is_error() ||
      (is_integer(to.scalar) && !convert(value, Type::of(to.scalar), value->at)))
    return false;
  std::optional<double> real = is_integer(to.scalar) ? std::nullopt : real_value(*value);
  std::optional<int64_t> integer = is_integer(to.scalar) ? constant_integer(*value) : std::nullopt;
  if (real)
    to.reals.push_back(*real);
  else if (integer)
    to.integers.push_back(*integer);
  else
    report(Message::not_known, value->at, {}, {value->range});
  return real || integer;
}

// Finds the arrays that each kernel uses, in declaration order, and warns about unused arrays.
void Checker::find_users_of_constant_memory() {
  std::vector<bool> used_at_all(program_.constant_memory.size(), false);
  for (Function &function : program_.functions) {
    if (!function.is_kernel)
      continue;
    std::vector<bool> used(program_.constant_memory.size(), false);
    std::set<const Function *> seen;
    collect(function, seen, used);
    for (size_t i = 0; i < used.size(); i++) {
      if (used[i])
        function.constant_memory.push_back(int(i));
      used_at_all[i] = used_at_all[i] || used[i];
    }
  }
  for (size_t i = 0; i < used_at_all.size(); i++) {
    const Variable &variable = *program_.constant_memory[i].variable;
    if (!used_at_all[i])
      report(Message::constant_unused, variable.at, {variable.name});
  }
}

} // namespace tritonc::ast
