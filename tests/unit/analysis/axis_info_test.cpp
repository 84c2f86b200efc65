// Tests analysis/axis_info.cpp.

#include "analysis/axis_info.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

Function function(const std::string &operations) {
  return parsed(R"(
    func @f(%A: ptr<f16>, %B: ptr<f16> aligned 4, %n: i32, %n8: i32 multiple_of 8,
            %n24: i32 multiple_of 24, %u8: i32 unsigned multiple_of 8, %count: i32,
            %table: ptr<i32>, %x: f32) {
      %pid = program_id {axis = 0} : i32
      %zero = constant {value = 0} : i32
      %one = constant {value = 1} : i32
      %c3 = constant {value = 3} : i32
      %c7 = constant {value = 7} : i32
      %c8 = constant {value = 8} : i32
      %minus8 = constant {value = -8} : i32
      %C3 = splat %c3 : i32[64]
      %C7 = splat %c7 : i32[64]
      %C8 = splat %c8 : i32[64]
      %Minus8 = splat %minus8 : i32[64]
      %N = splat %n : i32[64]
      %N8 = splat %n8 : i32[64]
      %U8 = splat %u8 : i32[64]
      %i = range {start = 0} : i32[64]
      %first = mul %pid, %c8 : i32
      %First = splat %first : i32[64]
      %j = add %First, %i : i32[64]
      %maybe = add %N8, %i : i32[64]
      )" + operations +
                "\n return\n}");
}

// For example "16 8 1": contiguity, divisibility and constancy of %r along `axis`.
std::string info_of(const std::string &operations, int axis = 0) {
  Function fn = function(operations);
  AxisInfo info = AxisInfos(fn).of(value_named(fn, "r"), axis);
  return std::to_string(info.contiguity) + " " + std::to_string(info.divisibility) + " " +
         std::to_string(info.constancy);
}

struct Case {
  std::string operations, info;
};

void check(const std::vector<Case> &cases, int axis = 0) {
  for (const auto &[operations, info] : cases) {
    CAPTURE(operations);
    CHECK(info_of(operations, axis) == info);
  }
}

} // namespace

TEST_CASE("axis info: affine tiles") {
  check({
      {"%r = range {start = 8} : i32[64]", "64 8 1"},
      {"%r = range {start = 3} : i32[64]", "64 1 1"},
      {"%r = add %First, %i : i32[64]", "64 8 1"},
      {"%r = add %N, %i : i32[64]", "64 1 1"},
      {"%r = splat %n24 : i32[64]", "1 8 64"},
      {"%r = mul %i, %C8 : i32[64]", "1 8 1"},
      {"%r = sub %C8, %i : i32[64]", "1 1 1"},
  });
}

TEST_CASE("axis info: a quotient is constant in aligned groups") {
  check({
      {"%r = div %j, %N8 : i32[64]", "1 1 8"},
      {"%r = div %j, %C8 : i32[64]", "1 1 8"},
      {"%r = div %i, %C8 : i32[64]", "1 1 8"},
      {"%r = div %j, %Minus8 : i32[64]", "1 1 8"}, // the sign of the divisor does not matter
      {"%a = mul %i, %N8 : i32[64]\n %r = div %a, %C8 : i32[64]", "1 1 1"},
      {"%a = splat %n24 : i32[64]\n %r = div %j, %a : i32[64]", "1 1 8"},
      {"%r = udiv %maybe, %U8 : i32[64]", "1 1 8"},
      // The divisor, the first element or the divisor of the group is unknown.
      {"%r = div %j, %N : i32[64]", "1 1 1"},
      {"%a = add %N, %i : i32[64]\n %r = udiv %a, %N8 : i32[64]", "1 1 1"},
      {"%a = add %j, %C3 : i32[64]\n %r = div %a, %N8 : i32[64]", "1 1 1"},
      {"%a = mul %i, %C8 : i32[64]\n %r = div %j, %a : i32[64]", "1 1 1"},
      // -8 / 8 is -1, and -7 / 8 is 0: a quotient of negative numbers changes inside a group.
      {"%r = div %maybe, %N8 : i32[64]", "1 1 1"},
      {"%r = div %maybe, %C8 : i32[64]", "1 1 1"},
      {"%a = range {start = -8} : i32[64]\n %r = div %a, %C8 : i32[64]", "1 1 1"},
      // Equal operands have equal quotients, whatever their signs.
      {"%r = div %N, %N8 : i32[64]", "1 1 64"},
      {"%a = div %j, %N8 : i32[64]\n %r = div %a, %N : i32[64]", "1 1 8"},
      // Division by 1, and of multiples by constants.
      {"%a = splat %one : i32[64]\n %r = div %j, %a : i32[64]", "64 8 1"},
      {"%a = mul %i, %C8 : i32[64]\n %b = splat %c8 : i32[64]\n %c = mul %a, %b : i32[64]\n"
       " %r = div %c, %C8 : i32[64]",
       "1 8 1"},
  });
}

TEST_CASE("axis info: a remainder is contiguous in the groups of the quotient") {
  check({
      {"%r = rem %j, %N8 : i32[64]", "8 8 1"},
      {"%r = urem %maybe, %U8 : i32[64]", "8 8 1"},
      {"%r = rem %j, %Minus8 : i32[64]", "8 8 1"},
      {"%r = rem %N8, %Minus8 : i32[64]", "1 8 64"},
      {"%r = rem %maybe, %N8 : i32[64]", "1 1 1"}, // may be negative
      {"%r = rem %j, %N : i32[64]", "1 1 1"},
      {"%r = urem %j, %N : i32[64]", "1 1 1"},
      // j - j / S * S
      {"%q = div %j, %N8 : i32[64]\n %p = mul %q, %N8 : i32[64]\n %r = sub %j, %p : i32[64]",
       "8 8 1"},
      {"%q = div %j, %N : i32[64]\n %p = mul %q, %N : i32[64]\n %r = sub %j, %p : i32[64]",
       "1 1 1"},
      // j - j % S
      {"%q = rem %j, %N8 : i32[64]\n %r = sub %j, %q : i32[64]", "1 8 8"},
      {"%q = rem %j, %N8 : i32[64]\n %r = add %j, %q : i32[64]", "1 1 1"},
  });
}

TEST_CASE("axis info: bits and shifts") {
  check({
      {"%r = and %maybe, %C7 : i32[64]", "8 8 1"},
      {"%r = and %C7, %maybe : i32[64]", "8 8 1"},
      {"%r = and %maybe, %Minus8 : i32[64]", "1 8 8"}, // rounds down
      {"%r = and %maybe, %C3 : i32[64]", "4 4 1"},
      {"%r = and %maybe, %N : i32[64]", "1 1 1"},
      {"%r = or %maybe, %C8 : i32[64]", "8 8 1"},
      {"%r = or %maybe, %N8 : i32[64]", "8 8 1"},
      {"%r = or %maybe, %C7 : i32[64]", "1 1 8"},
      {"%r = or %maybe, %N : i32[64]", "1 1 1"},
      {"%r = xor %maybe, %C8 : i32[64]", "8 8 1"},
      {"%r = xor %maybe, %C7 : i32[64]", "1 1 1"}, // descends
      {"%r = shr %maybe, %C3 : i32[64]", "1 1 8"}, // rounds down
      {"%r = ushr %maybe, %C3 : i32[64]", "1 1 8"},
      {"%r = shr %maybe, %N : i32[64]", "1 1 1"},
      {"%r = shl %i, %C3 : i32[64]", "1 8 1"},
      {"%r = shl %N8, %C3 : i32[64]", "1 64 64"},
      {"%r = shl %N8, %N : i32[64]", "1 8 64"},
  });
}

TEST_CASE("axis info: choices") {
  const std::string conditions = R"(
    %q = div %j, %N8 : i32[64]
    %c = cmp %q, %N {pred = "eq"} : i1[64]
    %d = cmp %j, %N {pred = "eq"} : i1[64]
    %s = cmp %n, %zero {pred = "lt"} : i1
    )";
  check({
      {"%r = min %j, %maybe : i32[64]", "64 8 1"},
      {"%r = max %j, %maybe : i32[64]", "64 8 1"},
      {"%r = umin %j, %maybe : i32[64]", "8 8 1"},
      {"%a = add %N, %i : i32[64]\n %r = umin %j, %a : i32[64]", "1 1 1"}, // may wrap
      {"%r = min %j, %N8 : i32[64]", "1 1 1"},
      {"%r = min %N, %N8 : i32[64]", "1 1 64"},
      {conditions + "%r = select %c, %j, %maybe : i32[64]", "8 8 1"},
      {conditions + "%r = select %c, %N8, %First : i32[64]", "1 8 8"},
      {conditions + "%r = select %d, %j, %maybe : i32[64]", "1 1 1"},
      {conditions + "%r = select %s, %j, %maybe : i32[64]", "64 8 1"},
      {conditions + "%r = select %s, %n8, %first : i32", "1 8 1048576"},
  });
}

TEST_CASE("axis info: conversions, and arithmetic that may wrap") {
  check({
      {"%a = add %N, %i : i32[64]\n %r = cast %a : i64[64]", "64 1 1"},
      {"%r = cast %maybe {unsigned = 1} : i64[64]", "8 8 1"},
      {"%a = cast %j : i64[64]\n %r = cast %a : i32[64]", "8 8 1"},
      {"%q = rem %j, %N8 : i32[64]\n %r = cast %q {unsigned = 1} : i64[64]", "8 8 1"},
      {"%a = range {start = 0} : i32[1024]\n %r = cast %a : i8[1024]", "128 128 1"},
      {"%r = add %U8, %i {unsigned = 1} : i32[64]", "8 8 1"},
      {"%r = add %N, %i {unsigned = 1} : i32[64]", "1 1 1"},
      {"%a = add %U8, %i {unsigned = 1} : i32[64]\n %r = cast %a {unsigned = 1} : i64[64]",
       "8 8 1"},
      {"%r = neg %N8 : i32[64]", "1 8 64"},
      {"%r = neg %maybe : i32[64]", "1 1 1"},
      {"%a = splat %x : f32[64]\n %r = cast %a : i32[64]", "1 1 64"},
      {"%r = cast %maybe : f32[64]", "1 1 1"},
  });
}

TEST_CASE("axis info: shapes") {
  const std::string rows = R"(
    %q = div %j, %N8 : i32[64]
    %m = rem %j, %N8 : i32[64]
    %row = expand %m {axis = 0} : i32[1,64]
    %tile = broadcast %row : i32[4,64]
    )";
  check({{rows + "%r = splat %n8 : i32[4,64]", "1 8 4"},
         {rows + "%r = expand %N8 {axis = 0} : i32[1,64]", "1 8 1"},
         {rows + "%r = expand %m {axis = 0} : i32[1,64]", "1 1 1"},
         {rows + "%r = broadcast %row : i32[4,64]", "1 1 4"},
         {rows + "%r = trans %tile {perm = [1,0]} : i32[64,4]", "8 8 1"},
         {rows + "%r = reshape %m : i32[64,1]", "8 8 1"},
         {rows + "%r = reshape %m : i32[16,4]", "1 1 1"}});
  check({{rows + "%r = broadcast %row : i32[4,64]", "8 8 1"},
         {rows + "%r = trans %tile {perm = [1,0]} : i32[64,4]", "1 1 4"},
         {rows + "%r = reshape %m : i32[16,4]", "4 4 1"},
         {rows + "%r = reshape %m : i32[2,32]", "8 8 1"},
         {rows + "%a = reshape %q : i32[4,16]\n %r = reshape %a : i32[1,64]", "1 1 8"}},
        1);
}

TEST_CASE("axis info: pointers count elements, and their divisors are bytes") {
  const std::string remainder = "%m = rem %j, %N8 : i32[64]\n %a = splat %A : ptr<f16>[64]\n"
                                "%b = splat %B : ptr<f16>[64]\n";
  check({
      {remainder + "%r = addptr %a, %m : ptr<f16>[64]", "8 16 1"},
      {remainder + "%r = addptr %b, %m : ptr<f16>[64]", "8 4 1"},
      {remainder + "%r = addptr %a, %i : ptr<f16>[64]", "64 16 1"},
      {remainder + "%q = div %j, %N8 : i32[64]\n %r = addptr %a, %q : ptr<f16>[64]", "1 2 8"},
      {remainder + "%p = addptr %a, %m : ptr<f16>[64]\n %r = addptr %p, %C8 : ptr<f16>[64]",
       "8 16 1"},
      {remainder + "%p = addptr %a, %m : ptr<f16>[64]\n %r = addptr %p, %C3 : ptr<f16>[64]",
       "8 2 1"},
      {remainder + "%p = addptr %a, %m : ptr<f16>[64]\n %r = bitcast %p : ptr<i16>[64]", "8 16 1"},
      {remainder + "%p = addptr %a, %m : ptr<f16>[64]\n %r = bitcast %p : ptr<f32>[64]", "1 4 1"},
      // The table has one entry for each group.
      {"%q = div %j, %N8 : i32[64]\n %t = splat %table : ptr<i32>[64]\n"
       "%p = addptr %t, %q : ptr<i32>[64]\n %r = load %p : i32[64]",
       "1 1 8"},
      {"%t = splat %table : ptr<i32>[64]\n %p = addptr %t, %j : ptr<i32>[64]\n"
       "%r = load %p : i32[64]",
       "1 1 1"},
  });
}

TEST_CASE("axis info: masks") {
  check({
      {"%q = div %j, %N8 : i32[64]\n %r = cmp %q, %N {pred = \"eq\"} : i1[64]", "1 1 8"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %m, %N8 {pred = \"lt\"} : i1[64]", "1 1 8"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %m, %N8 {pred = \"ult\"} : i1[64]", "1 1 8"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %m, %N8 {pred = \"le\"} : i1[64]", "1 1 1"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %m, %N {pred = \"lt\"} : i1[64]", "1 1 1"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %N8, %m {pred = \"gt\"} : i1[64]", "1 1 8"},
      {"%m = rem %j, %N8 : i32[64]\n %r = cmp %m, %m {pred = \"eq\"} : i1[64]", "1 1 8"},
      {"%a = add %N, %i : i32[64]\n %r = cmp %a, %j {pred = \"lt\"} : i1[64]", "1 1 64"},
      // Read as unsigned numbers, %a may wrap.
      {"%a = add %N, %i : i32[64]\n %r = cmp %a, %j {pred = \"ult\"} : i1[64]", "1 1 1"},
  });
}

TEST_CASE("axis info: carried values keep what every iteration keeps") {
  const std::string loop = R"(
    %last = for_loop %count, %START : i32 {
      (%t: i32, %now: i32)
      %next = STEP : i32
      yield %next
    }
    %L = splat %last : i32[64]
    %r = add %L, %i {unsigned = 1} : i32[64])";
  auto with = [&](const std::string &start, const std::string &step) {
    std::string text = loop;
    text.replace(text.find("START"), 5, start);
    text.replace(text.find("STEP"), 4, step);
    return text;
  };
  check({
      {with("zero", "add %now, %u8 {unsigned = 1}"), "8 8 1"},
      {with("c8", "add %now, %c8 {unsigned = 1}"), "8 8 1"},
      {with("c3", "add %now, %c8 {unsigned = 1}"), "1 1 1"},
      {with("zero", "add %now, %c3 {unsigned = 1}"), "1 1 1"},
      {with("zero", "udiv %now, %c8"), "1 1 1"}, // no fixpoint soon
      {with("zero", "add %t, %now {unsigned = 1}"), "1 1 1"},
  });
  // A tile, and the sign of a carried value.
  check({
      {"%r = for_loop %count, %i : i32[64] {\n (%t: i32, %now: i32[64])\n"
       "%next = add %now, %U8 {unsigned = 1} : i32[64]\n yield %next\n }",
       "8 8 1"},
      {"%s = for_loop %count, %i : i32[64] {\n (%t: i32, %now: i32[64])\n"
       "%next = add %now, %C8 : i32[64]\n yield %next\n }\n %r = div %s, %N8 : i32[64]",
       "1 1 8"},
      {"%s = for_loop %count, %i : i32[64] {\n (%t: i32, %now: i32[64])\n"
       "%next = sub %now, %C8 : i32[64]\n yield %next\n }\n %r = div %s, %N8 : i32[64]",
       "1 1 1"},
      {"%s = cmp %n, %zero {pred = \"lt\"} : i1\n %r = if_else %s : i32[64] {\n yield %j\n } {\n"
       " yield %maybe\n }",
       "64 8 1"},
      {"%s = cmp %n, %zero {pred = \"lt\"} : i1\n %r = if_else %s : i32[64] {\n yield %j\n } {\n"
       " yield %N\n }",
       "1 1 1"},
      {"%r = while_loop %i : i32[64] {\n (%a: i32[64])\n %c = cmp %n, %zero {pred = \"lt\"} : i1\n"
       " condition %c\n } {\n (%b: i32[64])\n %d = add %b, %U8 {unsigned = 1} : i32[64]\n yield "
       "%d\n }",
       "8 8 1"},
  });
}

TEST_CASE("axis info: of very deep expressions, nothing is known") {
  auto divided = [](int times) {
    std::string text = "%r0 = div %j, %N8 : i32[64]\n";
    for (int i = 1; i < times; i++)
      text += "%r" + std::to_string(i) + " = div %r" + std::to_string(i - 1) + ", %N8 : i32[64]\n";
    return text + "%r = copy %r" + std::to_string(times - 1) + " : i32[64]";
  };
  CHECK(info_of(divided(100)) == "1 1 8");
  CHECK(info_of(divided(20000)) == "1 1 1");
}

// --- Random expressions --------------------------------------------------------------------------

namespace {

// The elements of a tile; nullopt: undefined.
using Elements = std::vector<std::optional<int64_t>>;

int64_t wrapped(Elem elem, __int128 value) {
  switch (elem) {
  case Elem::i1:
    return int64_t(value & 1);
  case Elem::i8:
    return int8_t(value);
  case Elem::i32:
    return int32_t(value);
  default:
    return int64_t(value);
  }
}

uint64_t without_sign(Elem elem, int64_t value) {
  return bits_of(elem) == 64 ? uint64_t(value)
                             : uint64_t(value) & ((uint64_t(1) << bits_of(elem)) - 1);
}

std::optional<int64_t> binary(const Op &op, int64_t a, int64_t b) {
  Elem elem = op.result()->type.elem;
  uint64_t ua = without_sign(elem, a), ub = without_sign(elem, b);
  auto exact = [&](__int128 value) {
    int64_t result = wrapped(elem, value);
    return op.has(attr::unsigned_) || result == value ? std::optional(result) : std::nullopt;
  };
  bool can_shift = b >= 0 && b < bits_of(elem);
  switch (op.code) {
  case Opcode::add_:
    return exact(__int128(a) + b);
  case Opcode::sub_:
    return exact(__int128(a) - b);
  case Opcode::mul_:
    return exact(__int128(a) * b);
  case Opcode::div_:
    return b ? exact(__int128(a) / b) : std::nullopt;
  case Opcode::rem_:
    return b && b != -1 ? std::optional(a % b) : std::nullopt;
  case Opcode::udiv_:
    return ub ? std::optional(wrapped(elem, ua / ub)) : std::nullopt;
  case Opcode::urem_:
    return ub ? std::optional(wrapped(elem, ua % ub)) : std::nullopt;
  case Opcode::min_:
    return std::min(a, b);
  case Opcode::max_:
    return std::max(a, b);
  case Opcode::umin_:
    return ua < ub ? a : b;
  case Opcode::umax_:
    return ua < ub ? b : a;
  case Opcode::and_:
    return a & b;
  case Opcode::or_:
    return a | b;
  case Opcode::xor_:
    return a ^ b;
  case Opcode::shl_:
    return can_shift ? std::optional(wrapped(elem, __int128(ua) << b)) : std::nullopt;
  case Opcode::shr_:
    return can_shift ? std::optional(a >> b) : std::nullopt;
  case Opcode::ushr_:
    return can_shift ? std::optional(wrapped(elem, ua >> b)) : std::nullopt;
  default:
    FAIL("not evaluated");
    return std::nullopt;
  }
}

bool compare(std::string_view pred, Elem elem, int64_t a, int64_t b) {
  if (pred.starts_with("u")) {
    a = int64_t(without_sign(elem, a) ^ (uint64_t(1) << 63));
    b = int64_t(without_sign(elem, b) ^ (uint64_t(1) << 63));
    pred.remove_prefix(1);
  }
  return pred == "eq"   ? a == b
         : pred == "ne" ? a != b
         : pred == "lt" ? a < b
         : pred == "le" ? a <= b
         : pred == "gt" ? a > b
                        : a >= b;
}

// A random function, and its values for random arguments that keep the promises.
class RandomTiles {
public:
  explicit RandomTiles(uint32_t seed) : random_(seed), builder_(fn_, fn_.body) {
    for (int multiple : {1, 2, 8, 24, 64}) {
      scalars_.push_back(
          fn_.add_parameter("n" + std::to_string(multiple), Type::scalar(Elem::i32)));
      fn_.parameters.back().multiple_of = multiple;
    }
    base_ = fn_.add_parameter("p", Type::pointer(Elem::f16));
    fn_.parameters.back().aligned_bytes = 1 << choose(5);
    fn_.parameters.back().aligned_bytes = std::max(2, fn_.parameters.back().aligned_bytes);
    // Starts of tiles: not negative, maybe wrapped, never positive, unknown.
    Value *program = builder_.program_id(0);
    Value *start = builder_.mul(program, builder_.i32(16));
    Value *wrapping = builder_.mul(program, builder_.i32(16));
    wrapping->op->set(attr::unsigned_);
    Value *negative = builder_.unary(Opcode::neg_, start);
    for (Value *first : {start, wrapping, negative, scalars_[2]})
      tiles_.push_back(builder_.add(builder_.splat(first, {count}), builder_.range(0, count)));
    scalars_.insert(scalars_.end(), {program, start, wrapping});
    for (int64_t value : {0, 1, 2, 3, 4, 7, 8, 12, 16, -1, -8})
      scalars_.push_back(builder_.i32(value));
    const int operations = 4 + choose(12);
    for (int i = 0; i < operations; i++)
      if (Value *value = operation())
        tiles_.push_back(value);
    Value *pointers = builder_.splat(base_, {count});
    tiles_.push_back(builder_.addptr(pointers, tile()));
    builder_.return_op();
    check_rules(fn_);
  }

  const Function &function() const { return fn_; }
  const std::vector<Value *> &tiles() const { return tiles_; }

  /// The elements of all tiles for other arguments.
  std::map<const Value *, Elements> values() {
    std::map<const Value *, Elements> values;
    for (const Parameter &parameter : fn_.parameters)
      values[parameter.value] = {argument(parameter)};
    for (const Op *op : fn_.body->ops)
      if (!op->results.empty())
        values[op->result()] = evaluated(*op, values);
    return values;
  }

private:
  static constexpr int64_t count = 64;

  int choose(int choices) { return int(random_() % uint32_t(choices)); }
  Value *scalar() { return scalars_[size_t(choose(int(scalars_.size())))]; }

  Value *tile() {
    std::vector<Value *> known;
    for (Value *value : tiles_)
      if (value->type.elem == Elem::i32 && value->type.rank() == 1)
        known.push_back(value);
    if (choose(3)) // often a recent one
      return known[choose(2)
                       ? size_t(choose(int(known.size())))
                       : known.size() - 1 - size_t(choose(std::min<int>(4, int(known.size()))))];
    if (choose(2))
      return builder_.splat(scalar(), {count});
    return builder_.range(choose(4) ? 8 * (choose(8) - 4) : choose(16) - 8, count);
  }

  Value *condition() {
    static const std::vector<std::string> preds = {"eq", "ne",  "lt",  "le",  "gt",
                                                   "ge", "ult", "ule", "ugt", "uge"};
    return builder_.cmp(preds[size_t(choose(int(preds.size())))], tile(), tile());
  }

  Value *operation() {
    static const std::vector<Opcode> codes = {
        Opcode::add_, Opcode::add_,  Opcode::sub_,  Opcode::mul_,  Opcode::div_,
        Opcode::div_, Opcode::udiv_, Opcode::rem_,  Opcode::rem_,  Opcode::urem_,
        Opcode::min_, Opcode::max_,  Opcode::umin_, Opcode::umax_, Opcode::and_,
        Opcode::or_,  Opcode::xor_,  Opcode::shl_,  Opcode::shr_,  Opcode::ushr_};
    switch (choose(10)) {
    case 0:
      return condition();
    case 1:
      return builder_.select(condition(), tile(), tile());
    case 2: { // through another type and back
      static const Elem others[] = {Elem::i8, Elem::i64};
      Value *other = builder_.cast(tile(), others[choose(2)], choose(2));
      tiles_.push_back(other);
      return builder_.cast(other, Elem::i32, choose(2));
    }
    case 3: { // through two axes and back
      Value *rows = builder_.reshape(tile(), {8, 8});
      Value *columns = builder_.trans(rows, {1, 0});
      tiles_.insert(tiles_.end(), {rows, columns});
      return builder_.reshape(choose(2) ? rows : columns, {count});
    }
    case 4: {
      Value *wide = builder_.broadcast(builder_.expand(tile(), choose(2)), {count, count});
      return wide->op->operand(0)->type.shape[0] == 1 ? wide : builder_.trans(wide, {1, 0});
    }
    case 5: {
      Value *value = builder_.unary(choose(2) ? Opcode::neg_ : Opcode::abs_, tile());
      if (value->op->is(Opcode::neg_) && choose(2))
        value->op->set(attr::unsigned_);
      return value;
    }
    default:
      break;
    }
    Value *a = tile(), *b = choose(2) ? builder_.splat(scalar(), {count}) : tile();
    Value *value = builder_.binary(codes[size_t(choose(int(codes.size())))], a, b);
    bool may_wrap =
        value->op->is(Opcode::add_) || value->op->is(Opcode::sub_) || value->op->is(Opcode::mul_);
    if (may_wrap && !choose(3))
      value->op->set(attr::unsigned_);
    return value;
  }

  int64_t argument(const Parameter &parameter) {
    if (parameter.value->type.is_pointer())
      return int64_t(parameter.aligned_bytes) * (1 + choose(1000));
    int64_t multiple = parameter.multiple_of;
    constexpr int64_t least = std::numeric_limits<int32_t>::min();
    switch (choose(6)) {
    case 0:
      return least / multiple * multiple; // INT_MIN for powers of two
    case 1:
      return (-least - 1) / multiple * multiple;
    case 2:
      return 0;
    default:
      return multiple * (choose(64) - 32);
    }
  }

  Elements evaluated(const Op &op, std::map<const Value *, Elements> &values) {
    const Type &type = op.result()->type;
    Elements result(size_t(type.elements()));
    auto operand = [&](size_t i, size_t at) {
      const Elements &elements = values.at(op.operand(i));
      return elements[elements.size() == 1 ? 0 : at];
    };
    for (size_t at = 0; at < result.size(); at++) {
      std::optional<int64_t> &element = result[at];
      if (op.is(Opcode::constant_)) {
        element = op.get(attr::value_);
      } else if (op.is(Opcode::program_id_)) {
        constexpr int64_t largest = std::numeric_limits<int32_t>::max();
        element = choose(2) ? choose(1000) : largest - choose(1000);
      } else if (op.is(Opcode::range_)) {
        element = op.get(attr::start_) + int64_t(at);
      } else if (op.is(Opcode::splat_) || op.is(Opcode::expand_) || op.is(Opcode::reshape_)) {
        element = operand(0, at);
      } else if (op.is(Opcode::broadcast_) || op.is(Opcode::trans_)) {
        const Shape &from = op.operand(0)->type.shape;
        std::vector<int64_t> place = unflatten(type.shape, FlatIndex(at));
        if (op.is(Opcode::trans_))
          std::swap(place[0], place[1]);
        for (size_t d = 0; d < from.size(); d++)
          place[d] = std::min(place[d], from[d] - 1);
        element = operand(0, flatten(from, place));
      } else if (op.is(Opcode::cast_)) {
        Elem from = op.operand(0)->type.elem;
        if (std::optional<int64_t> a = operand(0, at))
          element = wrapped(type.elem, op.has(attr::unsigned_) ? __int128(without_sign(from, *a))
                                                               : __int128(*a));
      } else if (op.is(Opcode::select_)) {
        if (std::optional<int64_t> c = operand(0, at))
          element = operand(*c ? 1 : 2, at);
      } else if (op.is(Opcode::neg_) || op.is(Opcode::abs_)) {
        std::optional<int64_t> a = operand(0, at);
        if (a && (*a != std::numeric_limits<int32_t>::min() || op.has(attr::unsigned_)))
          element = op.is(Opcode::neg_) ? wrapped(type.elem, -*a) : std::abs(*a);
      } else if (op.is(Opcode::addptr_)) {
        std::optional<int64_t> a = operand(0, at), b = operand(1, at);
        if (a && b)
          element = *a + 2 * *b;
      } else {
        std::optional<int64_t> a = operand(0, at), b = operand(1, at);
        if (a && b)
          element = op.is(Opcode::cmp_)
                        ? compare(op.get(attr::pred_), op.operand(0)->type.elem, *a, *b)
                        : binary(op, *a, *b);
      }
    }
    return result;
  }

  std::mt19937 random_;
  Function fn_;
  Builder builder_;
  Value *base_;
  std::vector<Value *> scalars_, tiles_;
};

// The first claim of `info` about `value` along `axis` that its elements break; "": none.
std::string broken_claim(const Value *value, const Elements &elements, int axis,
                         const AxisInfo &info) {
  const Shape &shape = value->type.shape;
  const int64_t step = value->type.is_number() ? 1 : bytes_of(value->type.elem);
  for (size_t at = 0; at < elements.size(); at++) {
    std::vector<int64_t> place = unflatten(shape, FlatIndex(at));
    int64_t &along = place[size_t(axis)];
    const int64_t index = along;
    auto start_of = [&](int64_t size) {
      along = index / size * size;
      return elements[flatten(shape, place)];
    };
    std::optional<int64_t> first = start_of(info.contiguity), same = start_of(info.constancy);
    if (!elements[at])
      continue;
    if (first && *elements[at] != *first + index % info.contiguity * step)
      return "contiguity";
    if (first && *first % info.divisibility != 0)
      return "divisibility";
    if (same && *elements[at] != *same)
      return "constancy";
  }
  return "";
}

} // namespace

TEST_CASE("axis info: holds for random expressions and arguments") {
  constexpr uint32_t functions = 1500;
  constexpr int arguments = 8;
  int contiguous = 0, aligned = 0, constant = 0;
  for (uint32_t seed = 0; seed < functions; seed++) {
    CAPTURE(seed);
    RandomTiles random(seed);
    AxisInfos infos(random.function());
    for (int i = 0; i < arguments; i++) {
      std::map<const Value *, Elements> values = random.values();
      for (const Value *value : random.tiles())
        for (int axis = 0; axis < value->type.rank(); axis++) {
          AxisInfo info = infos.of(value, axis);
          if (value->type.elem == Elem::i1) // only its constancy is known
            REQUIRE(info.contiguity == 1);
          std::string broken = broken_claim(value, values.at(value), axis, info);
          if (!broken.empty()) {
            CAPTURE(printed(random.function()));
            CAPTURE(value->number);
            CAPTURE(axis);
            FAIL(broken, " ", info.contiguity, " ", info.divisibility, " ", info.constancy);
          }
          bool is_form = affine_of(value).has_value();
          contiguous += !is_form && info.contiguity > 1;
          aligned += !is_form && info.divisibility > 1;
          constant += !is_form && info.constancy > 1 && info.constancy < value->type.shape[0];
        }
    }
  }
  // The test is not empty.
  CHECK(contiguous > 1000);
  CHECK(aligned > 1000);
  CHECK(constant > 1000);
}
