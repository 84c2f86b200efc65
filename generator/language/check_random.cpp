// Checks calls of the random number functions. See checker.h.
//
//     philox(seed, offset)           word 0 of the four words at this offset
//     philox(seed, offset, word)     word 0, 1, 2 or 3; of other integers, the lowest two bits
//     random_uniform(seed, offset)   word 0 as a float in [0, 1)
//
// The checker converts the seed to uint64. It converts a 64-bit offset to uint64 and a smaller
// offset to uint32, so a negative int becomes a large 32-bit number, not a 64-bit number.
//
// Tested by tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"

namespace tritonc::ast {

bool Checker::check_random_call(Expr &expr) {
  const bool is_uniform = expr.text == "random_uniform";
  if (!is_uniform && expr.text != "philox")
    return false;
  const size_t count = expr.operands.size();
  if (count != 2 && (is_uniform || count != 3)) {
    report(Message::argument_count, expr.at,
           {expr.text,
            is_uniform ? "a seed and an offset" : "a seed, an offset and an optional word",
            std::to_string(count)},
           {expr.range});
    return true;
  }
  ExprPtr &seed = expr.operands[0], &offset = expr.operands[1];
  for (const ExprPtr &operand : expr.operands)
    if (!operand->type.is_integer()) {
      report(Message::bad_operand, expr.at, {expr.text, name_of(operand->type)}, {operand->range});
      return true;
    }
  if (count == 3) {
    std::optional<int64_t> word = constant_integer(*expr.operands[2]);
    if (word && (*word < 0 || *word > 3)) {
      report(Message::bad_word, expr.at, {std::to_string(*word)}, {expr.operands[2]->range});
      report(Message::word_range, expr.at);
      return true;
    }
    if (word) {
      expr.integer = uint64_t(*word);
      expr.operands.pop_back();
    }
  }
  std::optional<Extents> shape = common_shape(*seed, *offset, expr.text, expr.at);
  if (!shape)
    return true;
  if (expr.operands.size() == 3) {
    ExprPtr &word = expr.operands[2];
    for (const ExprPtr *before : {&seed, &offset})
      if (!common_shape(**before, *word, expr.text, expr.at))
        return true;
    shape = broadcast(*shape, word->type.shape); // every pair was checked
    wrap(word, word->type.with_scalar(Scalar::uint32));
  }
  bool is_wide = bits_of(offset->type.scalar) == 64;
  wrap(seed, seed->type.with_scalar(Scalar::uint64));
  wrap(offset, offset->type.with_scalar(is_wide ? Scalar::uint64 : Scalar::uint32));
  expr.type = Type::of(is_uniform ? Scalar::float_ : Scalar::uint32).with_shape(*shape);
  return true;
}

} // namespace tritonc::ast
