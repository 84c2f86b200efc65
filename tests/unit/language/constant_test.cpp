// Tests language/constant.cpp.

#include "language/constant.h"
#include "parsed.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::optional<int64_t> value_of(const std::string &expression) {
  Parsed parsed("__global__ void f(int n) { " + expression + "; }");
  parsed.check();
  REQUIRE(parsed.message() == "");
  return ast::constant_integer(*parsed.statements()[0]->value);
}

} // namespace

TEST_CASE("constant_integer: follows C arithmetic") {
  struct {
    const char *source;
    int64_t value;
  } cases[] = {
      {"2 + 3 * 4", 14},
      {"-7 / 2", -3},
      {"-7 % 2", -1},
      {"-8 >> 1", -4},
      {"0x80000000 >> 31", 1},
      {"0u - 1", 4294967295},
      {"2147483647 + 1", -2147483648},
      {"1 << 10", 1024},
      {"~0", -1},
      {"!3", 0},
      {"-1 < 0u", 0},
      {"-1 < 0", 1},
      {"3 > 2 && 0", 0},
      {"1 ? 2 : 3", 2},
      {"(char)200", -56},
      {"(unsigned char)-1", 255},
      {"(bool)4", 1},
      {"min(3, -2)", -2},
      {"max(3u, 5u)", 5},
      {"sizeof(float) * 2", 8},
      {"sizeof(half[4, 4])", 32},
      {"'a'", 97},
      {"true", 1},
      {"-2147483647 - 1 / -1", -2147483646},
  };
  for (const auto &[source, value] : cases) {
    CAPTURE(source);
    CHECK(value_of(source) == value);
  }
}

TEST_CASE("constant_integer: accepts const variables and enumerators") {
  Parsed parsed("enum { a, b = 1 << 3, c };\nconst unsigned char n = 300;\nconst float x = 2;\n"
                "__global__ void f(int m) { const int k = n + c; const int l = m; k; l; x; }");
  parsed.check();
  REQUIRE(parsed.message() == "");
  auto value = [&](size_t statement) {
    return ast::constant_integer(*parsed.statements()[statement]->value);
  };
  CHECK(value(2) == 44 + 9);
  CHECK_FALSE(value(3));
  CHECK_FALSE(value(4));
  CHECK(ast::constant_real(*parsed.statements()[4]->value) == 2.0);
}

TEST_CASE("constant_integer: enum may be the type of a constant") {
  Parsed parsed("enum { a = 3, b } const n = b;\n__global__ void f() { n * 10 + a; }");
  parsed.check();
  REQUIRE(parsed.message() == "");
  CHECK(ast::constant_integer(*parsed.statements()[0]->value) == 43);
}

TEST_CASE("constant_integer: returns nothing for other expressions") {
  for (const char *source :
       {"n", "n * 0", "1 << 40", "get_program_id(0)", "n ? 1 : 1", "1.5", "(int)1.5", "n = 3"}) {
    CAPTURE(source);
    CHECK_FALSE(value_of(source));
  }
}
