// Tests runtime/emulator/device_printf.cpp.

#include "device_printf.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <numeric>

using namespace tritonc::emulator;

namespace {

using Lines = std::vector<std::string>;

// The text of `format` with element i = bits[i]; elements after the end are missing.
std::string text_of(const std::string &format, std::vector<uint64_t> bits) {
  PrintFormat read(format);
  std::vector<bool> there(bits.size(), true);
  bits.resize(read.elements());
  there.resize(read.elements(), false);
  return read.text(bits, there);
}

uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

} // namespace

TEST_CASE("PrintFormat: values of every type") {
  struct {
    const char *format;
    uint64_t bits;
    const char *text;
  } cases[] = {
      {"{i1}", 1, "true"},
      {"{i1}", 0, "false"},
      {"{i8}", 0xff, "-1"},
      {"{u8}", 0xff, "255"},
      {"{i16}", 0x8000, "-32768"},
      {"{u16}", 0x8000, "32768"},
      {"{i32}", 0xfffffff6, "-10"},
      {"{u32}", 0xfffffff6, "4294967286"},
      {"{i64}", ~uint64_t(0), "-1"},
      {"{u64}", ~uint64_t(0), "18446744073709551615"},
      {"{f16}", 0x3c00, "1"},
      {"{f16}", 0xc100, "-2.5"},
      {"{f16}", 0x0001, "5.9604645e-08"},
      {"{f16}", 0x7c00, "inf"},
      {"{f16}", 0xfe00, "nan"},
      {"{bf16}", 0x3f80, "1"},
      {"{bf16}", 0xff80, "-inf"},
      {"{bf16}", 0x7f7f, "3.3895314e+38"},
      {"{e4m3}", 0x7e, "448"},
      {"{e4m3}", 0xff, "nan"},
      {"{e4m3}", 0x01, "0.001953125"},
      {"{e5m2}", 0x7b, "57344"},
      {"{e5m2}", 0xfc, "-inf"},
      {"{e5m2}", 0x80, "-0"},
      {"{f32}", bits(0.1f), "0.1"},
      {"{f32}", bits(-NAN), "nan"},
      {"{f64}", bits(0.1), "0.1"},
      {"{f64}", bits(1e300), "1e+300"},
  };
  for (auto [format, bits, text] : cases) {
    CAPTURE(format);
    CAPTURE(bits);
    CHECK(text_of(format, {bits}) == text);
  }
}

TEST_CASE("PrintFormat: brackets around each axis of a tile") {
  CHECK(text_of("{i32[3]}", {1, 2, 3}) == "[1, 2, 3]");
  CHECK(text_of("acc = {i32[2,2]}.", {1, 2, 3, 4}) == "acc = [[1, 2], [3, 4]].");
  CHECK(text_of("{i32[2,1,2]}", {1, 2, 3, 4}) == "[[[1, 2]], [[3, 4]]]");
  CHECK(text_of("{i32[1]}", {7}) == "[7]");
}

TEST_CASE("PrintFormat: large tiles show only the ends of long axes") {
  std::vector<uint64_t> numbers(512);
  std::iota(numbers.begin(), numbers.end(), 0);
  CHECK(text_of("{i32[512]}", numbers) == "[0, 1, 2, ..., 509, 510, 511]");
  CHECK(text_of("{i32[2,256]}", numbers) ==
        "[[0, 1, 2, ..., 253, 254, 255], [256, 257, 258, ..., 509, 510, 511]]");
  CHECK(text_of("{i32[128,4]}", numbers) ==
        "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], ..., [500, 501, 502, 503], "
        "[504, 505, 506, 507], [508, 509, 510, 511]]");
  numbers.resize(256);
  CHECK(text_of("{i32[256]}", numbers).find("...") == std::string::npos);
}

TEST_CASE("PrintFormat: several values, braces, missing elements") {
  CHECK(text_of("n = {i32}, x = {f32[2]}", {3, bits(1.5f), bits(2.f)}) == "n = 3, x = [1.5, 2]");
  CHECK(text_of("{{{i32}}} {{", {3}) == "{3} {");
  CHECK(text_of("a }} b", {}) == "a } b");
  CHECK(text_of("{i32[4]}", {1, 2}) == "[1, 2, ?, ?]");
  // An unknown type is plain text.
  CHECK(text_of("{x} {i33} {i32[} {", {}) == "{x} {i33} {i32[} {");
}

TEST_CASE("Prints: accepts elements in any order") {
  Prints prints;
  const char *format = "acc = {i32[2,2]}";
  prints.add(format, 0, 0, 3, 4);
  prints.add(format, 0, 0, 0, 1);
  prints.add(format, 0, -1, 0, 0);
  prints.add(format, 0, 0, 2, 3);
  CHECK(prints.lines() == Lines{"acc = [[1, ?], [3, 4]]"});
  prints.add(format, 0, 0, 1, 2);
  CHECK(prints.lines() == Lines{"acc = [[1, 2], [3, 4]]"});
}

TEST_CASE("Prints: each execution of a statement has its elements") {
  // Thread 1 (element 1) is two iterations ahead of thread 0.
  Prints prints;
  const char *format = "{i32[2]}";
  for (uint64_t turn : {0, 1, 2})
    prints.add(format, 0, 0, 1, 10 + turn);
  for (uint64_t turn : {0, 1, 2}) {
    prints.add(format, 0, -1, 0, 0);
    prints.add(format, 0, 0, 0, turn);
  }
  CHECK(prints.lines() == Lines{"[0, 10]", "[1, 11]", "[2, 12]"});
}

TEST_CASE("Prints: lines in the program's order of statements") {
  // Thread 1 reaches the second statement before thread 0 reaches the first.
  Prints prints;
  prints.add("b = {i32[2]}", 1, 0, 1, 5);
  prints.add("a = {i32}", 0, -1, 0, 0);
  prints.add("a = {i32}", 0, 0, 0, 1);
  prints.add("b = {i32[2]}", 1, -1, 0, 0);
  prints.add("b = {i32[2]}", 1, 0, 0, 4);
  prints.add("text", 2, -1, 0, 0);
  CHECK(prints.lines() == Lines{"a = 1", "b = [4, 5]", "text"});
  CHECK(Prints().lines().empty());
}

TEST_CASE("Prints: keeps at most max_lines") {
  Prints prints;
  for (uint32_t i = 0; i < Prints::max_lines + 5; i++) {
    prints.add("{i32}", 0, -1, 0, 0);
    prints.add("{i32}", 0, 0, 0, i);
  }
  Lines lines = prints.lines();
  REQUIRE(lines.size() == Prints::max_lines + 1);
  CHECK(lines[Prints::max_lines - 1] == std::to_string(Prints::max_lines - 1));
  CHECK(lines.back() == "... and 5 more lines");
}

TEST_CASE("Prints: ignores an element that does not exist") {
  Prints prints;
  prints.add("{i32}", 0, -1, 0, 0);
  prints.add("{i32}", 0, 0, 1, 7);
  CHECK(prints.lines() == Lines{"?"});
}

TEST_CASE("assertion_text: coordinates of the element") {
  CHECK(assertion_text("assertion `n > 0` failed", 0) == "assertion `n > 0` failed");
  CHECK(assertion_text("failed, at element {[4,8]}", 11) == "failed, at element (1, 3)");
  CHECK(assertion_text("failed, at element {[16]}", 5) == "failed, at element (5)");
  CHECK(assertion_text("{{x}} {y}", 0) == "{x} {y}");
}

TEST_CASE("print_line: names the program") {
  CHECK(print_line(1, 0, 2, "n = 3") == "program (1, 0, 2): n = 3");
}
