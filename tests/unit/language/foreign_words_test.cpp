// Tests language/foreign_words.cpp. tests/diagnostics/other_functions.tc has the messages.

#include "language/checker.h"
#include "language/foreign_words.h"
#include "parsed.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ast;
using namespace tritonc::test;

namespace {

// The first message about an expression that a note suggests; empty if it is right.
std::string message_about(const std::string &expression) {
  Parsed parsed("__global__ void f(float *p, int n) {\n"
                "  float x[64] = *(p + 0 ... 64), y[64] = x, z[64] = x;\n"
                "  *p = (" +
                expression + ")[+];\n}\n");
  parsed.check();
  return parsed.message();
}

} // namespace

TEST_CASE("other_name: functions and constants are separate") {
  CHECK(other_name("where", true) == "select");
  CHECK(other_name("nullptr", false) == "0");
  CHECK_FALSE(other_name("where", false));
  CHECK_FALSE(other_name("nullptr", true));
  CHECK_FALSE(other_name("missing", true));
}

TEST_CASE("other_way: returns a note, for some with its argument") {
  CHECK(other_way("dot", false)->note == Message::write_matmul);
  CHECK(other_way("dot", false)->argument == "");
  CHECK(other_way("sigmoid", false)->note == Message::write_instead);
  CHECK(other_way("sigmoid", false)->argument == "1 / (1 + exp(-x))");
  CHECK_FALSE(other_way("missing", false));
}

TEST_CASE("other_way: cdiv is a function of pragmas") {
  CHECK_FALSE(other_way("cdiv", true));
  CHECK(other_way("cdiv", false)->argument == "(a + b - 1) / b");
  CHECK(other_way("ceil_div", true)->argument == "cdiv(a, b)");
  CHECK(is_ceiling_division("cdiv"));
  CHECK_FALSE(is_ceiling_division("ceil"));
}

TEST_CASE("other_way: no function of the language has another way") {
  for (std::string_view name : language_functions()) {
    CAPTURE(name);
    CHECK_FALSE(other_way(name, false));
    CHECK_FALSE(other_name(name, true));
  }
}

TEST_CASE("other_way: the suggested expressions compile") {
  for (std::string name :
       {"sigmoid",    "silu",     "relu",  "gelu",           "softplus",       "tan",   "sinh",
        "cosh",       "exp10",    "log10", "expm1",          "log1p",          "hypot", "square",
        "reciprocal", "fdiv",     "fmod",  "clamp",          "__saturatef",    "sign",  "isnan",
        "isinf",      "isfinite", "flip",  "__float_as_int", "__float_as_uint"}) {
    CAPTURE(name);
    REQUIRE(other_way(name, false));
    CHECK(message_about(std::string(other_way(name, false)->argument)) == "");
  }
  CHECK(message_about("missing(x)") != "");
}

TEST_CASE("other_way: the tiles in the notes compile") {
  const char *join = "((0 ... 2)[newaxis, :] == 0 ? x[:, newaxis] : y[:, newaxis])";
  CHECK(message_about("(float[128])" + std::string(join)) == "");
  CHECK(message_about(join + std::string("[:, 0]")) == "");
  CHECK(message_about("(0 ... 128) < 64 ? x[gather((0 ... 128) % 64)]"
                      " : y[gather((0 ... 128) % 64)]") == "");
  CHECK(message_about("exp(x - x[max]) / exp(x - x[max])[+]") == "");
  CHECK(message_about("x[scan(+)]") == "");
}
