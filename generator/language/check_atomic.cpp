// Checks calls of atomic operations. See checker.h. Atomic operations return the old values:
//
//     atomic_add(pointers, values)            also min, max, and, or, xor, xchg (or exch)
//     atomic_add(pointers, values, mask)
//     atomic_cas(pointers, expected, values)  an optional mask may follow
//
// The forms of the old compiler:
//
//     f32_atomic_add(pointer, value)
//     atomic_add(TYPE, M, N)(pointers, values, mask)      TYPE and the shape are those of pointers
//     atomic_add_TYPE_MxN(pointers, values, mask)
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"

#include <algorithm>

namespace tritonc::ast {
namespace {

struct AtomicName {
  const char *name, *operation;
};

constexpr AtomicName atomic_names[] = {
    {"atomic_add", "add"}, {"f32_atomic_add", "add"},   {"atomic_min", "min"},
    {"atomic_max", "max"}, {"atomic_and", "and"},       {"atomic_or", "or"},
    {"atomic_xor", "xor"}, {"atomic_xchg", "exchange"}, {"atomic_exch", "exchange"},
    {"atomic_cas", "cas"},
};

// Whether PTX has the atomic instruction for this type, or the compiler emulates it with a loop.
bool has_atomic(const std::string &operation, Scalar scalar) {
  bool is_wide = bits_of(scalar) >= 32;
  if (operation == "add")
    return is_wide || scalar == Scalar::half || scalar == Scalar::bfloat16;
  bool is_of_bits = operation == "and" || operation == "or" || operation == "xor";
  return is_wide && (is_integer(scalar) || !is_of_bits);
}

} // namespace

std::optional<std::string> atomic_operation(const std::string &name) {
  for (const AtomicName &row : atomic_names)
    if (name == row.name)
      return row.operation;
  return std::nullopt;
}

void Checker::check_atomic(Expr &expr, const std::string &operation) {
  size_t values = operation == "cas" ? 2 : 1, count = expr.operands.size();
  if (count != 1 + values && count != 2 + values) {
    report(Message::argument_count, expr.at,
           {expr.text,
            values == 1 ? "pointers, values and an optional mask"
                        : "pointers, expected values, new values and an optional mask",
            std::to_string(count)},
           {expr.range});
    return;
  }
  ExprPtr &pointer = expr.operands[0];
  const Scalar scalar = pointer->type.scalar;
  if (!pointer->type.is_pointer())
    return report(Message::bad_operand, expr.at, {expr.text, name_of(pointer->type)},
                  {pointer->range});
  if (scalar == Scalar::void_ || !has_atomic(operation, scalar)) {
    report(Message::bad_operand, expr.at, {expr.text, name_of(pointer->type)}, {pointer->range});
    return report(Message::atomic_types, expr.at);
  }
  if (!has_old_shape(expr))
    return;
  forbid_store(*pointer, expr.at, pointer->range);
  if (count == 2 + values && !to_bool(expr.operands.back()))
    return;
  Extents shape = pointer->type.shape;
  for (size_t i = 1; i < count; i++) {
    const Expr &operand = *expr.operands[i];
    std::optional<Extents> wider = broadcast(shape, operand.type.shape);
    if (!wider) {
      report(Message::shapes_differ, expr.at,
             {expr.text, name_of(shape), name_of(operand.type.shape)},
             {pointer->range, operand.range});
      note_shape(*pointer);
      return note_shape(operand);
    }
    shape = *wider;
  }
  expr.type = Type::of(scalar).with_shape(shape);
  for (size_t i = 1; i <= values; i++)
    if (!convert(expr.operands[i], expr.type, expr.at)) {
      expr.type = Type();
      return;
    }
  wrap(pointer, pointer->type.with_shape(shape));
  if (count == 2 + values && expr.operands.back()->type.is_tile())
    wrap(expr.operands.back(), expr.operands.back()->type.with_shape(shape));
  expr.kind = Expr::Kind::atomic;
  expr.text = operation;
}

// Whether the pointers have the type and shape that the old form states. Always true for the new
// form. In the old form, 1x1 means a scalar.
bool Checker::has_old_shape(Expr &expr) {
  if (expr.type_name.extents.empty())
    return true;
  Type wanted = complete(expr.type_name, "value");
  if (wanted.is_error())
    return false;
  const Expr &pointer = *expr.operands[0];
  bool fits = pointer.type.scalar == wanted.scalar &&
              (pointer.type.shape == wanted.shape ||
               (!pointer.type.is_tile() && element_count(wanted.shape) == 1));
  if (!fits)
    report(Message::bad_operands, expr.at, {expr.text, name_of(wanted), name_of(pointer.type)},
           {pointer.range});
  return fits;
}

} // namespace tritonc::ast
