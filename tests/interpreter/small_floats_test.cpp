// Tests arithmetic on f16, bf16, and the 8-bit types exhaustively. The definition of a format gives
// all its values, so the test can look up the nearest value.
//
// The definitions: IEEE 754 for f16; bf16 is the upper half of an f32; "FP8 Formats for Deep
// Learning" (arXiv 2209.05433) for e4m3, which has no infinity and one NaN, and for e5m2.
// Conversions to the 8-bit types saturate like `cvt.rn.satfinite` (PTX ISA, cvt): values that are
// too large, including infinity, become the largest finite value. An H200 gave the same results for
// all codes of f16, for 2^20 values of f32 (all upper halves, with 16 lower halves around the
// ties), and for conversions of all 8-bit codes to f16.

#include "interpreter/arithmetic.h"
#include "interpreter/numbers.h"
#include "interpreter/programs.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;
using ir::Elem;
using ir::Opcode;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Format {
  Elem elem;
  int exponent_bits, fraction_bits;
  bool has_infinity; // if false, only all ones (without sign) is NaN
  bool saturates;

  uint64_t codes() const { return uint64_t(1) << (1 + exponent_bits + fraction_bits); }
  uint64_t sign_bit() const { return codes() / 2; }

  double value(uint64_t code) const {
    int highest = (1 << exponent_bits) - 1, bias = highest / 2;
    int exponent = int(code >> fraction_bits) & highest;
    uint64_t fraction = code % (uint64_t(1) << fraction_bits);
    double sign = code & sign_bit() ? -1 : 1;
    if (has_infinity && exponent == highest)
      return fraction ? NAN : sign * infinity;
    if (exponent == highest && fraction + 1 == uint64_t(1) << fraction_bits)
      return NAN;
    double part = std::ldexp(double(fraction), -fraction_bits);
    return sign * (exponent ? std::ldexp(1 + part, exponent - bias) : std::ldexp(part, 1 - bias));
  }
};

const Format formats[] = {
    {Elem::f16, 5, 10, true, false},
    {Elem::bf16, 8, 7, true, false},
    {Elem::e4m3, 4, 3, false, true},
    {Elem::e5m2, 5, 2, true, true},
};

// The nonnegative finite values of a format, in order; a value's index is its code.
const std::vector<double> &values_of(const Format &format) {
  static std::map<Elem, std::vector<double>> known;
  std::vector<double> &numbers = known[format.elem];
  for (uint64_t code = 0; numbers.size() == code && std::isfinite(format.value(code)); code++)
    numbers.push_back(format.value(code));
  return numbers;
}

// Rounds to nearest by a search; ties go to the even code.
double nearest(const Format &format, long double value) {
  const std::vector<double> &numbers = values_of(format);
  if (std::isnan(value))
    return NAN;
  long double magnitude = std::fabs(value);
  double sign = std::signbit(value) ? -1 : 1;
  size_t above =
      size_t(std::lower_bound(numbers.begin(), numbers.end(), magnitude) - numbers.begin());
  if (above == numbers.size()) {
    // The next value, if the exponent range continued.
    long double last = numbers.back(), step = last - numbers[numbers.size() - 2];
    bool stays = format.saturates || magnitude - last < step / 2;
    return sign * (stays ? double(last) : infinity);
  }
  if (numbers[above] == magnitude || above == 0)
    return sign * numbers[above];
  long double below = magnitude - numbers[above - 1], left = numbers[above] - magnitude;
  bool up = left < below || (left == below && above % 2 == 0);
  return sign * numbers[up ? above : above - 1];
}

bool identical(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Counts differences and shows the first one.
struct Differences {
  uint64_t count = 0;
  std::string first;

  void compare(const std::string &what, double found, double expected) {
    if (identical(found, expected) || count++)
      return;
    char text[96];
    std::snprintf(text, sizeof text, " gives %.17g, not %.17g", found, expected);
    first = what + text;
  }
};

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

// Exact for operations on two 8-bit operands.
long double exact(Opcode code, long double a, long double b) {
  switch (code) {
  case Opcode::add_:
    return a + b;
  case Opcode::sub_:
    return a - b;
  case Opcode::mul_:
    return a * b;
  default:
    return a / b;
  }
}

std::string name(const Format &format) { return ir::name_of(format.elem); }

} // namespace

TEST_CASE("small floats: code to value and back, every code") {
  for (const Format &format : formats) {
    Differences differences;
    uint64_t not_kept = 0;
    for (uint64_t code = 0; code < format.codes(); code++) {
      double value = from_bits(format.elem, code).number;
      differences.compare(std::to_string(code), value, format.value(code));
      not_kept += !std::isnan(value) && bits_of(format.elem, Element::of_number(value)) != code;
    }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
    CHECK(not_kept == 0);
  }
}

TEST_CASE("small floats: largest and smallest values") {
  struct {
    Elem elem;
    size_t count;
    double largest, smallest;
  } cases[] = {
      {Elem::f16, 0x7c00, 65504, 0x1p-24},
      {Elem::bf16, 0x7f80, 0x1.fep127, 0x1p-133},
      {Elem::e4m3, 0x7f, 448, 0x1p-9},
      {Elem::e5m2, 0x7c, 57344, 0x1p-16},
  };
  for (size_t i = 0; i < 4; i++) {
    const std::vector<double> &numbers = values_of(formats[i]);
    REQUIRE(formats[i].elem == cases[i].elem);
    CHECK(numbers.size() == cases[i].count);
    CHECK(numbers.back() == cases[i].largest);
    CHECK(numbers[1] == cases[i].smallest);
  }
}

TEST_CASE("small floats: every NaN gets the GPU's code") {
  for (auto [elem, code] : {std::pair<Elem, uint64_t>{Elem::f16, 0x7fff},
                            {Elem::bf16, 0x7fff},
                            {Elem::e4m3, 0x7f},
                            {Elem::e5m2, 0x7f}})
    for (double value : {double(NAN), -double(NAN)})
      CHECK(bits_of(elem, Element::of_number(value)) == code);
}

// Rounding is monotonic. So it is correct everywhere if it is correct at every value, at the
// midpoint of any two adjacent values, and just next to each midpoint.
TEST_CASE("rounded: nearest even between any two values") {
  for (const Format &format : formats) {
    const std::vector<double> &numbers = values_of(format);
    Differences differences;
    for (size_t code = 0; code + 1 < numbers.size(); code++) {
      double low = numbers[code], high = numbers[code + 1], middle = (low + high) / 2;
      double even = code % 2 ? high : low;
      for (double sign : {1.0, -1.0}) {
        auto check = [&](double value, double expected) {
          differences.compare(text_of(sign * value), rounded(format.elem, sign * value),
                              sign * expected);
          differences.compare("nearest " + text_of(value), nearest(format, sign * value),
                              sign * expected);
        };
        check(low, low);
        check(middle, even);
        check(std::nextafter(middle, low), low);
        check(std::nextafter(middle, high), high);
      }
    }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

TEST_CASE("rounded: overflow to infinity; 8-bit types saturate") {
  struct {
    Elem elem;
    double limit; // overflow starts here
    double largest, beyond;
  } cases[] = {
      {Elem::f16, 65520, 65504, infinity},
      {Elem::bf16, 0x1.ffp127, 0x1.fep127, infinity},
      {Elem::e4m3, 464, 448, 448},
      {Elem::e5m2, 61440, 57344, 57344},
  };
  for (auto [elem, limit, largest, beyond] : cases) {
    CAPTURE(ir::name_of(elem));
    for (double sign : {1.0, -1.0}) {
      CHECK(rounded(elem, sign * std::nextafter(limit, 0)) == sign * largest);
      CHECK(rounded(elem, sign * limit) == sign * beyond);
      CHECK(rounded(elem, sign * std::numeric_limits<double>::max()) == sign * beyond);
      CHECK(rounded(elem, sign * infinity) == sign * beyond);
    }
  }
}

TEST_CASE("cast: between all small types, all codes") {
  for (const Format &from : formats)
    for (const Format &to : formats) {
      if (from.elem == to.elem)
        continue;
      Differences differences;
      for (uint64_t code = 0; code < from.codes(); code++) {
        Element value = from_bits(from.elem, code);
        differences.compare(std::to_string(code), convert(from.elem, to.elem, false, value).number,
                            nearest(to, value.number));
      }
      CAPTURE(name(from));
      CAPTURE(name(to));
      CHECK_MESSAGE(differences.count == 0, differences.first);
    }
}

TEST_CASE("cast: to wider types and back is exact") {
  for (const Format &format : formats)
    for (Elem wide : {Elem::f32, Elem::f64}) {
      Differences differences;
      for (uint64_t code = 0; code < format.codes(); code++) {
        Element value = from_bits(format.elem, code),
                widened = convert(format.elem, wide, false, value);
        differences.compare(std::to_string(code), widened.number, value.number);
        if (std::isfinite(value.number))
          differences.compare(std::to_string(code),
                              convert(wide, format.elem, false, widened).number, value.number);
      }
      CAPTURE(name(format));
      CHECK_MESSAGE(differences.count == 0, differences.first);
    }
}

TEST_CASE("cast: f32 and f64 round once") {
  std::mt19937_64 random(1);
  for (const Format &format : formats) {
    Differences differences;
    for (int i = 0; i < 200'000; i++) {
      uint64_t bits = random();
      float narrow = std::bit_cast<float>(uint32_t(bits));
      // Doubles in the type's range; almost all others become 0 or overflow.
      double wide = std::ldexp(1 + double(bits >> 12) * 0x1p-52, int(bits % 64) - 40);
      differences.compare(text_of(narrow),
                          convert(Elem::f32, format.elem, false, Element::of_number(narrow)).number,
                          nearest(format, narrow));
      differences.compare(text_of(wide),
                          convert(Elem::f64, format.elem, false, Element::of_number(wide)).number,
                          nearest(format, wide));
    }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

TEST_CASE("cast: integers round once; back truncates") {
  for (const Format &format : formats) {
    Differences differences;
    for (int64_t value = -70'000; value <= 70'000; value++)
      differences.compare(std::to_string(value),
                          convert(Elem::i32, format.elem, false, Element::of_integer(value)).number,
                          nearest(format, value));
    for (uint64_t code = 0; code < format.codes(); code++) {
      double value = format.value(code);
      Element back = convert(format.elem, Elem::i32, false, Element::of_number(value));
      bool fits = value >= -0x1p31 && value < 0x1p31;
      if (back.poison == fits) // NaN gives poison
        differences.compare(std::to_string(code) + " has no integer", 0, 1);
      if (fits)
        differences.compare(std::to_string(code), double(back.integer), std::trunc(value) + 0.0);
    }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

TEST_CASE("arithmetic: all pairs of 8-bit values") {
  for (const Format &format : formats) {
    if (format.codes() != 256)
      continue;
    Differences differences;
    for (Opcode code : {Opcode::add_, Opcode::sub_, Opcode::mul_, Opcode::div_})
      for (uint64_t a = 0; a < 256; a++)
        for (uint64_t b = 0; b < 256; b++) {
          Element x = from_bits(format.elem, a), y = from_bits(format.elem, b);
          differences.compare(std::to_string(a) + " " + std::string(ir::info(code).name) + " " +
                                  std::to_string(b),
                              binary(code, format.elem, x, y).number,
                              nearest(format, exact(code, x.number, y.number)));
        }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

// Sums, differences, and products of two f16 values are exact in long double, and also for two bf16
// values with similar exponents. A quotient q is correct if no adjacent value n is nearer: q b and
// n b are exact.
TEST_CASE("arithmetic: f16 and bf16") {
  std::mt19937 random(1);
  for (const Format &format : formats) {
    if (format.codes() == 256)
      continue;
    Differences differences;
    for (int i = 0; i < 300'000; i++) {
      uint64_t a = random() % format.codes(), b = random() % format.codes();
      Element x = from_bits(format.elem, a), y = from_bits(format.elem, b);
      bool is_exact = !(std::isfinite(x.number) && std::isfinite(y.number)) || x.number == 0 ||
                      y.number == 0 || std::abs(std::ilogb(x.number) - std::ilogb(y.number)) < 50;
      for (Opcode code : {Opcode::add_, Opcode::sub_, Opcode::mul_})
        if (is_exact)
          differences.compare(text_of(x.number) + " " + std::string(ir::info(code).name) + " " +
                                  text_of(y.number),
                              binary(code, format.elem, x, y).number,
                              nearest(format, exact(code, x.number, y.number)));
    }
    CAPTURE(name(format));
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

TEST_CASE("div, sqrt: f16 and bf16 round to nearest") {
  std::mt19937 random(2);
  for (const Format &format : formats) {
    if (format.codes() == 256)
      continue;
    const std::vector<double> &numbers = values_of(format);
    uint64_t wrong = 0, tried = 0;
    // Whether no value adjacent to `found` is nearer to the exact result; `off` gives the error.
    auto is_nearest = [&](double found, auto off) {
      size_t at = size_t(std::lower_bound(numbers.begin(), numbers.end(), found) - numbers.begin());
      bool lower = at == 0 || off(numbers[at - 1]) >= off(found);
      return lower && (at + 1 == numbers.size() || off(numbers[at + 1]) >= off(found));
    };
    for (int i = 0; i < 100'000; i++) {
      double x = numbers[random() % numbers.size()],
             y = numbers[1 + random() % (numbers.size() - 1)];
      double quotient =
          binary(Opcode::div_, format.elem, Element::of_number(x), Element::of_number(y)).number;
      if (std::isfinite(quotient)) {
        tried++;
        wrong += !is_nearest(quotient, [&](long double n) { return std::fabs(n * y - x); });
      }
    }
    Differences differences;
    for (double x : numbers)
      differences.compare(text_of(x),
                          unary(Opcode::sqrt_, format.elem, Element::of_number(x)).number,
                          nearest(format, std::sqrt(static_cast<long double>(x))));
    CAPTURE(name(format));
    CHECK(tried > 10'000);
    CHECK(wrong == 0);
    CHECK_MESSAGE(differences.count == 0, differences.first);
  }
}

TEST_CASE("neg, abs, min, max, select: keep infinities") {
  Element large = from_bits(Elem::e5m2, 0x7c);
  CHECK(large.number == infinity);
  CHECK(unary(Opcode::neg_, Elem::e5m2, large).number == -infinity);
  CHECK(unary(Opcode::abs_, Elem::e5m2, from_bits(Elem::e5m2, 0xfc)).number == infinity);
  CHECK(binary(Opcode::max_, Elem::e5m2, large, Element::of_number(1)).number == infinity);
  CHECK(binary(Opcode::add_, Elem::e5m2, large, Element::of_number(1)).number == 57344);
}

TEST_CASE("bitcast: small types to integers and back") {
  for (const Format &format : formats) {
    ir::Type number = ir::Type::scalar(format.elem),
             integer = ir::Type::scalar(format.codes() == 256 ? Elem::i8 : Elem::i16);
    uint64_t wrong = 0;
    for (uint64_t code = 0; code < format.codes(); code++) {
      Element value =
          reinterpret(integer, number, Element::of_integer(wrapped(integer.elem, int64_t(code))));
      Element back = reinterpret(number, integer, value);
      wrong += !identical(value.number, format.value(code));
      wrong += !std::isnan(value.number) && as_unsigned(integer.elem, back.integer) != code;
    }
    CAPTURE(name(format));
    CHECK(wrong == 0);
  }
}

TEST_CASE("Memory: buffers of 8-bit types round their values") {
  Memory memory;
  for (Elem elem : {Elem::e4m3, Elem::e5m2}) {
    int x = memory.add("x", elem, {0.3, 1000, -1e9, 0x1p-20});
    const Tile &elements = memory[x].elements;
    bool e4m3 = elem == Elem::e4m3;
    CHECK(elements[0].number == 0.3125);
    CHECK(elements[1].number == (e4m3 ? 448 : 1024));
    CHECK(elements[2].number == (e4m3 ? -448 : -57344));
    CHECK(elements[3].number == 0);
  }
}

TEST_CASE("kernel: 8-bit memory, float arithmetic") {
  // y = x * x + 0.1 for x from 0 to 7.
  const std::string body =
      "%a = load %p : E[8]\n %f = cast %a : f32[8]\n %g = mul %f, %f : f32[8]\n"
      "%c = constant {number = 0.1} : f32\n %cs = splat %c : f32[8]\n"
      "%h = add %g, %cs : f32[8]\n %r = cast %h : E[8]\n store %q, %r";
  struct {
    std::string elem;
    std::vector<double> y;
  } cases[] = {
      {"e4m3", {0.1015625, 1.125, 4, 9, 16, 26, 36, 48}},
      {"e5m2", {0.09375, 1, 4, 10, 16, 24, 40, 48}},
      {"f16",
       {0x1.998p-4, 1.099609375, 4.1015625, 9.1015625, 16.09375, 25.09375, 36.09375, 49.09375}},
  };
  for (auto &[elem, y] : cases) {
    CAPTURE(elem);
    std::string operations = body;
    for (size_t at; (at = operations.find("E[")) != operations.npos;)
      operations.replace(at, 1, elem);
    Ran ran(operations, elem);
    CHECK(ran.kinds().empty());
    for (size_t i = 0; i < 8; i++) {
      CAPTURE(i);
      CHECK(ran.y()[i] == y[i]);
    }
  }
}

TEST_CASE("dot: 8-bit tiles accumulate in float") {
  ir::Function fn = parsed(R"(
    func @f(%x: ptr<e4m3>, %y: ptr<f32>) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %two = constant {value = 2} : i64
      %v = view %x, %zero, %two, %one : view<e4m3>[2,2]
      %a = load %v : e4m3[2,2]
      %z = constant {number = 0.0} : f32
      %c = splat %z : f32[2,2]
      %d = dot %a, %a, %c : f32[2,2]
      %w = view %y, %zero, %two, %one : view<f32>[2,2]
      store %w, %d
      return
    })");
  Memory memory;
  Launch launch;
  launch.arguments = {Element::pointer(memory.add("x", Elem::e4m3, {448, 1, 0.875, -2})),
                      Element::pointer(memory.add_unwritten("y", Elem::f32, 4))};
  CHECK(run(fn, launch, memory).reports.empty());
  const double expected[] = {448 * 448 + 0.875, 446, 0.875 * 448 - 1.75, 4.875};
  for (size_t i = 0; i < 4; i++)
    CHECK(memory[1].elements[i].number == expected[i]);
}
