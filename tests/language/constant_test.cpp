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

TEST_CASE("constants have C's arithmetic") {
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

TEST_CASE("what is not constant has no value") {
  for (const char *source :
       {"n", "n * 0", "1 << 40", "get_program_id(0)", "n ? 1 : 1", "1.5", "(int)1.5", "n = 3"}) {
    CAPTURE(source);
    CHECK_FALSE(value_of(source));
  }
}
