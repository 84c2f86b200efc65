// Translates random numbers to integer operations: Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
// Parallel Random Numbers: As Easy as 1, 2, 3; 2011). See translator.h.
//
// Philox maps a counter of four 32-bit words to four random words, in ten rounds with a key of two
// words. Here the counter's first word is the offset (the first two words, if the offset has 64
// bits). The key is the seed, the lower half first. Triton's `rand` and `randint` do the same and
// return the first word.
//
// All four words of an offset cost as much as one: LLVM computes the common operations once.
//
// Tested by tests/end_to_end/language/random_numbers_test.cpp.

#include "translate/translator.h"

#include <array>
#include <utility>

namespace tritonc {

namespace {

using ir::Elem;
using ir::Opcode;
using ir::Value;

constexpr int rounds = 10;
constexpr uint32_t multipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t key_steps[2] = {0x9E3779B9, 0xBB67AE85}; // golden ratio, sqrt(3) - 1

// Maps 2^31 equidistant values to [0, 1). The largest value must stay below 1 after rounding.
constexpr double uniform_scale = 0x1.fffffep-32;

class Philox {
public:
  explicit Philox(ir::Builder &build) : build_(build) {}

  Value *low_half(Value *wide) { return build_.cast(wide, Elem::i32); }

  Value *high_half(Value *wide) {
    return low_half(build_.binary(Opcode::ushr_, wide, build_.filled(wide->type, 32)));
  }

  /// One round, with keys in the shape of the counter.
  void round(std::array<Value *, 4> &counter, Value *first_key, Value *second_key) {
    auto [c0, c1, c2, c3] = counter;
    Value *first = product(c0, multipliers[0]), *second = product(c2, multipliers[1]);
    auto mixed = [&](Value *a, Value *b, Value *key) {
      return build_.binary(Opcode::xor_, build_.binary(Opcode::xor_, a, b), key);
    };
    counter = {mixed(high_half(second), c1, first_key), low_half(second),
               mixed(high_half(first), c3, second_key), low_half(first)};
  }

  /// The key of the next round.
  Value *next_key(Value *key, uint32_t step) {
    Value *next = build_.add(key, build_.filled(key->type, int32_t(step)));
    next->op->set(ir::attr::unsigned_);
    return next;
  }

  /// The word whose number is in the lowest two bits of `number`.
  Value *choose(const std::array<Value *, 4> &words, Value *number) {
    auto bit_is_set = [&](int32_t bit) {
      Value *rest = build_.binary(Opcode::and_, number, build_.filled(number->type, bit));
      return build_.cmp("ne", rest, build_.filled(number->type, 0));
    };
    Value *is_odd = bit_is_set(1), *is_upper = bit_is_set(2);
    Value *lower = build_.select(is_odd, words[1], words[0]);
    Value *upper = build_.select(is_odd, words[3], words[2]);
    return build_.select(is_upper, upper, lower);
  }

private:
  // The full 64-bit product.
  Value *product(Value *word, uint32_t by) {
    Value *wide = build_.cast(word, Elem::i64, /*is_unsigned=*/true);
    wide = build_.mul(wide, build_.filled(wide->type, by));
    wide->op->set(ir::attr::unsigned_);
    return wide;
  }

  ir::Builder &build_;
};

} // namespace

ir::Value *Translator::random(const ast::Expr &expr) {
  const Extents &shape = expr.type.shape;
  Value *seed = value(*expr.operands[0]), *offset = value(*expr.operands[1]);
  set_location(expr.at);
  Philox philox(*build_);
  Value *keys[2] = {philox.low_half(seed), philox.high_half(seed)};
  Value *zero = build_->filled(ir::Type::scalar(Elem::i32).with_shape(shape), 0);
  std::array<Value *, 4> words = {offset, zero, zero, zero};
  if (offset->type.elem == Elem::i64)
    words = {philox.low_half(offset), philox.high_half(offset), zero, zero};
  for (size_t i : {0, 1})
    words[i] = repeat_to(words[i], shape);
  // With a constant seed, all keys are constants.
  for (int i = 0; i < rounds; i++) {
    Value *second_key = repeat_to(keys[1], shape);
    philox.round(words, repeat_to(keys[0], shape), second_key);
    for (size_t half : {0, 1})
      if (i + 1 < rounds)
        keys[half] = philox.next_key(keys[half], key_steps[half]);
  }
  Value *word = words[size_t(expr.integer)];
  if (expr.operands.size() == 3)
    word = philox.choose(words, repeat_to(value(*expr.operands[2]), shape));
  if (expr.text == "philox")
    return word;
  // Drops the sign as Triton does: a negative word is complemented.
  Value *sign = build_->binary(Opcode::shr_, word, build_->filled(word->type, 31));
  Value *positive = build_->cast(build_->binary(Opcode::xor_, word, sign), Elem::f32);
  return build_->mul(positive, build_->filled(positive->type, uniform_scale));
}

} // namespace tritonc
