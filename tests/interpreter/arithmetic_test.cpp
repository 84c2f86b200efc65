// Tests interpreter/arithmetic.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/programs.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using tritonc::ir::Elem;
using tritonc::ir::Opcode;
using tritonc::ir::Type;

namespace {

Element integer(int64_t value) { return Element::of_integer(value); }
Element number(double value) { return Element::of_number(value); }
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("binary: integers, signed and unsigned, wrap around") {
  struct {
    Opcode code;
    int64_t a, b, expected;
  } cases[] = {
      {Opcode::add_, 127, 1, -128}, {Opcode::sub_, -128, 1, 127}, {Opcode::mul_, 64, 4, 0},
      {Opcode::div_, -7, 2, -3},    {Opcode::udiv_, -1, 2, 127},  {Opcode::rem_, -7, 2, -1},
      {Opcode::urem_, -1, 16, 15},  {Opcode::min_, -1, 1, -1},    {Opcode::umin_, -1, 1, 1},
      {Opcode::max_, -1, 1, 1},     {Opcode::umax_, -1, 1, -1},   {Opcode::and_, 12, 10, 8},
      {Opcode::or_, 12, 10, 14},    {Opcode::xor_, 12, 10, 6},    {Opcode::shl_, 65, 1, -126},
      {Opcode::shr_, -128, 7, -1},  {Opcode::ushr_, -128, 7, 1},
  };
  for (auto [code, a, b, expected] : cases) {
    CAPTURE(tritonc::ir::info(code).name);
    Element result = binary(code, Elem::i8, integer(a), integer(b));
    CHECK_FALSE(result.poison);
    CHECK(result.integer == expected);
  }
  CHECK(unary(Opcode::neg_, Elem::i8, integer(-128)).integer == -128);
  CHECK(unary(Opcode::abs_, Elem::i8, integer(-5)).integer == 5);
  CHECK(unary(Opcode::abs_, Elem::i8, integer(5)).integer == 5);
}

TEST_CASE("binary: floats round after every operation") {
  CHECK(binary(Opcode::add_, Elem::f16, number(2048), number(1)).number == 2048);
  CHECK(binary(Opcode::add_, Elem::f32, number(2048), number(1)).number == 2049);
  CHECK(binary(Opcode::mul_, Elem::bf16, number(255), number(3)).number == 764);
  CHECK(binary(Opcode::div_, Elem::f32, number(1), number(3)).number == double(1.0f / 3.0f));
  CHECK(binary(Opcode::rem_, Elem::f32, number(-7), number(2)).number == -1);
  CHECK(unary(Opcode::sqrt_, Elem::f16, number(2)).number == 0x1.6ap0);
  CHECK(unary(Opcode::exp_, Elem::f64, number(0)).number == 1);
  CHECK(unary(Opcode::log_, Elem::f64, number(1)).number == 0);
  CHECK(unary(Opcode::neg_, Elem::f32, number(2)).number == -2);
  CHECK(unary(Opcode::exp2_, Elem::f16, number(0.5)).number == 0x1.6ap0);
  CHECK(unary(Opcode::log2_, Elem::f32, number(8)).number == 3);
  CHECK(unary(Opcode::rsqrt_, Elem::f32, number(16)).number == 0.25);
  CHECK(unary(Opcode::sin_, Elem::f32, number(0)).number == 0);
  CHECK(unary(Opcode::cos_, Elem::f32, number(0)).number == 1);
  CHECK(unary(Opcode::tanh_, Elem::f32, number(50)).number == 1);
  CHECK(unary(Opcode::erf_, Elem::f32, number(-9)).number == -1);
  CHECK(unary(Opcode::floor_, Elem::f32, number(-2.5)).number == -3);
  CHECK(unary(Opcode::ceil_, Elem::f32, number(-2.5)).number == -2);
  CHECK(unary(Opcode::round_, Elem::f32, number(-2.5)).number == -3);
  CHECK(unary(Opcode::trunc_, Elem::f32, number(-2.5)).number == -2);
  CHECK(binary(Opcode::pow_, Elem::f32, number(-2), number(3)).number == -8);
  CHECK(fma(Elem::f32, number(1 + 0x1p-12), number(1 + 0x1p-12), number(-1)).number ==
        0x1p-11 + 0x1p-24);
  CHECK(unary(Opcode::abs_, Elem::f32, number(-2)).number == 2);
}

TEST_CASE("min, max: a number wins over NaN; cmp: NaN is unequal") {
  CHECK(binary(Opcode::min_, Elem::f32, number(not_a_number), number(1)).number == 1);
  CHECK(binary(Opcode::max_, Elem::f32, number(1), number(not_a_number)).number == 1);
  Type type = Type::scalar(Elem::f32);
  for (const char *pred : {"eq", "lt", "le", "gt", "ge", "ult", "ule", "ugt", "uge"})
    CHECK(compare(pred, type, number(not_a_number), number(1)).integer == 0);
  CHECK(compare("ne", type, number(not_a_number), number(1)).integer == 1);
}

TEST_CASE("compare: every predicate") {
  Type type = Type::scalar(Elem::i32);
  struct {
    const char *pred;
    bool less, same, more; // -1 against 1, 1 against 1, 1 against -1
  } cases[] = {
      {"eq", 0, 1, 0}, {"ne", 1, 0, 1},  {"lt", 1, 0, 0},  {"le", 1, 1, 0},  {"gt", 0, 0, 1},
      {"ge", 0, 1, 1}, {"ult", 0, 0, 1}, {"ule", 0, 1, 1}, {"ugt", 1, 0, 0}, {"uge", 1, 1, 0},
  };
  for (auto [pred, less, same, more] : cases) {
    CAPTURE(pred);
    CHECK(compare(pred, type, integer(-1), integer(1)).integer == less);
    CHECK(compare(pred, type, integer(1), integer(1)).integer == same);
    CHECK(compare(pred, type, integer(1), integer(-1)).integer == more);
  }
  Type pointer = Type::pointer(Elem::f32);
  CHECK(compare("lt", pointer, Element::pointer(0, -5), Element::pointer(0, 3)).integer == 1);
  CHECK(compare("eq", pointer, Element::pointer(0), Element::pointer(1)).integer == 0);
}

TEST_CASE("convert: results") {
  CHECK(convert(Elem::f32, Elem::i32, false, number(-2.7)).integer == -2);
  CHECK(convert(Elem::f32, Elem::i8, true, number(200)).integer == -56);
  CHECK(convert(Elem::f32, Elem::i1, false, number(0.5)).integer == 1);
  CHECK(convert(Elem::i8, Elem::i32, false, integer(-1)).integer == -1);
  CHECK(convert(Elem::i8, Elem::i32, true, integer(-1)).integer == 255);
  CHECK(convert(Elem::i1, Elem::i32, false, integer(1)).integer == 1);
  CHECK(convert(Elem::i1, Elem::f32, false, integer(1)).number == 1);
  CHECK(convert(Elem::i32, Elem::i8, false, integer(300)).integer == 44);
  CHECK(convert(Elem::i32, Elem::i1, false, integer(256)).integer == 1);
  CHECK(convert(Elem::i32, Elem::f16, false, integer(2049)).number == 2048);
  CHECK(convert(Elem::f16, Elem::bf16, false, number(2046)).number == 2048);
}

TEST_CASE("arithmetic: undefined results are poison") {
  CHECK(binary(Opcode::div_, Elem::i32, integer(1), integer(0)).poison);
  CHECK(binary(Opcode::urem_, Elem::i32, integer(1), integer(0)).poison);
  CHECK(binary(Opcode::div_, Elem::i8, integer(-128), integer(-1)).poison);
  CHECK(binary(Opcode::shl_, Elem::i32, integer(1), integer(32)).poison);
  CHECK(binary(Opcode::shr_, Elem::i32, integer(1), integer(-1)).poison);
  CHECK(convert(Elem::f32, Elem::i8, false, number(128)).poison);
  CHECK(convert(Elem::f32, Elem::i8, true, number(-1)).poison);
  CHECK(convert(Elem::f32, Elem::i32, false, number(not_a_number)).poison);
  CHECK_FALSE(convert(Elem::f32, Elem::i8, false, number(-128)).poison);
}

TEST_CASE("arithmetic: poison unless the other operand decides") {
  Element none = Element::no_value();
  CHECK(binary(Opcode::add_, Elem::i32, none, integer(1)).poison);
  CHECK(binary(Opcode::mul_, Elem::f32, number(0), none).poison);
  CHECK(unary(Opcode::neg_, Elem::f32, none).poison);
  CHECK(compare("eq", Type::scalar(Elem::i32), none, integer(1)).poison);
  CHECK(convert(Elem::i32, Elem::f32, false, none).poison);
  CHECK(binary(Opcode::and_, Elem::i1, none, integer(1)).poison);
  CHECK(binary(Opcode::or_, Elem::i1, integer(0), none).poison);
  CHECK_FALSE(binary(Opcode::and_, Elem::i1, none, integer(0)).poison);
  CHECK(binary(Opcode::or_, Elem::i1, integer(1), none).integer == 1);
  CHECK_FALSE(binary(Opcode::or_, Elem::i8, none, integer(-1)).poison);
}

TEST_CASE("reinterpret: bits as another type, also pointers") {
  Type f32 = Type::scalar(Elem::f32), i32 = Type::scalar(Elem::i32), i64 = Type::scalar(Elem::i64);
  Type pointer = Type::pointer(Elem::f16);
  CHECK(reinterpret(f32, i32, number(1)).integer == 0x3f800000);
  CHECK(reinterpret(i32, f32, integer(0x3f800000)).number == 1);
  for (int64_t offset : {0, 5, -7}) {
    Element address = reinterpret(pointer, i64, Element::pointer(3, offset));
    CHECK(same(reinterpret(i64, pointer, address), Element::pointer(3, offset)));
    // Address arithmetic is in bytes.
    address.integer += 2;
    CHECK(same(reinterpret(i64, pointer, address), Element::pointer(3, offset + 1)));
  }
}

TEST_CASE("elementwise: tiles; a scalar condition selects whole tiles") {
  Ran ran("%a = load %p : f32[8]\n %b = mul %a, %a : f32[8]\n store %q, %b");
  CHECK(ran.y() == std::vector<double>{0, 1, 4, 9, 16, 25, 36, 49});
  Ran chosen("%a = load %p : f32[8]\n %b = neg %a : f32[8]\n"
             "%c = cmp %n, %zero {pred = \"eq\"} : i1\n"
             "%s = select %c, %a, %b : f32[8]\n store %q, %s");
  CHECK(chosen.y() == std::vector<double>{0, -1, -2, -3, -4, -5, -6, -7});
  CHECK(chosen.text() == "");
}
