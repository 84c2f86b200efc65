// Tests ir/checks.cpp.

#include "ir/checks.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// `operation`, then `return`.
std::string with_operation(const std::string &operation) {
  return "func @f(%n: i32, %b: i8, %c: i1, %m: i1[4,8], %x: f16[2]) {\n" + operation +
         "\n return\n}";
}

std::string format_of(const std::string &operation) {
  Function fn = parsed(with_operation(operation));
  const Op &op = *fn.body->ops[0];
  return op.is(Opcode::print_) ? print_format(op) : assertion_format(op);
}

} // namespace

TEST_CASE("print_format: placeholders get the operand types") {
  CHECK(format_of("print %n, %x {text = \"n = {}, x = {}\"}") == "n = {i32}, x = {f16[2]}");
  CHECK(format_of("print %n, %b {text = \"{u} {u}\"}") == "{u32} {u8}");
  CHECK(format_of("print %m {text = \"{}\"}") == "{i1[4,8]}");
  CHECK(format_of("print {text = \"just a text\"}") == "just a text");
}

TEST_CASE("print_format: {u} applies only to integers") {
  CHECK(format_of("print %c, %x {text = \"{u} {u}\"}") == "{i1} {f16[2]}");
}

TEST_CASE("print_format: braces that are no placeholder stay doubled") {
  CHECK(format_of("print %n {text = \"{{{}}}\"}") == "{{{i32}}}");
  CHECK(places_in("{{}} {} }} {u}") == 2);
  CHECK(places_in("{") == 0);
  CHECK(without_places("a {} b") == "a {{}} b");
  CHECK(places_in(without_places("{} {u} {")) == 0);
}

TEST_CASE("assertion_format: adds the element index of a tile") {
  CHECK(format_of("assert %m {text = \"assertion `{x}` failed\"}") ==
        "assertion `{{x}}` failed, at element {[4,8]}");
  CHECK(format_of("assert %c {text = \"no\"}") == "no");
}

TEST_CASE("has_checks: finds print and assert in nested blocks") {
  CHECK_FALSE(has_checks(parsed(with_operation(""))));
  CHECK(has_checks(parsed(with_operation("assert %c {text = \"\"}"))));
  CHECK(has_checks(
      parsed(with_operation("if_else %c {\n print {text = \"\"}\n yield\n} {\n yield\n}"))));
}
