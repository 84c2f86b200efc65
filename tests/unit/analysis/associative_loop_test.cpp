// Tests analysis/associative_loop.cpp.

#include "analysis/associative_loop.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop that carries %acc of `type`, from %start; `body` computes %next from %acc and the tile %x.
// `after` uses %total.
std::string kernel(const std::string &body, const std::string &after = "store %w, %total\n",
                   const std::string &start = "0.0", const std::string &type = "f32") {
  bool is_float = type[0] == 'f';
  return "func @f(%A: ptr<" + type + ">, %C: ptr<" + type + ">, %n: i32, %q: i32) {\n" +
         "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
         "%z = constant {" +
         (is_float ? "number" : "value") + " = " + start + "} : " + type +
         "\n %start = splat %z : " + type + "[64]\n %v = view %A, %zero, %one : view<" + type +
         ">[64]\n %w = view %C, %zero, %one : view<" + type + ">[64]\n" +
         "%total = for_loop %n, %start : " + type + "[64] {\n (%t: i32, %acc: " + type +
         "[64])\n %x = load %v : " + type + "[64]\n" + body + "\n yield %next\n }\n" + after +
         " return\n}";
}

std::optional<std::string> total_of(const std::string &text) {
  ir::Function fn = parsed(text);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  if (!found)
    return std::nullopt;
  REQUIRE(found->totals.size() == 1);
  return found->totals[0].op + " " + found->totals[0].value->name;
}

} // namespace

TEST_CASE("associative loop: a total of each associative operation") {
  CHECK(total_of(kernel("%next = add %acc, %x : f32[64]")) == "add total");
  CHECK(total_of(kernel("%next = add %x, %acc : f32[64]")) == "add total");
  for (std::string op : {"min", "max"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : f32[64]", "store %w, %total\n", "7.0")) ==
          op + " total");
  for (std::string op : {"min", "max", "umin", "umax", "and", "or"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : i32[64]", "store %w, %total\n", "7",
                          "i32")) == op + " total");
  for (std::string op : {"add", "xor"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : i32[64]", "store %w, %total\n", "0",
                          "i32")) == op + " total");
}

TEST_CASE("associative loop: not for other operations and starts") {
  CHECK_FALSE(total_of(kernel("%next = sub %acc, %x : f32[64]")));
  CHECK_FALSE(total_of(kernel("%next = mul %acc, %x : f32[64]")));
  // Each part would add the start again.
  CHECK_FALSE(total_of(kernel("%next = add %acc, %x : f32[64]", "store %w, %total\n", "1.0")));
  // The element depends on the total.
  CHECK_FALSE(total_of(kernel("%y = mul %acc, %x : f32[64]\n %next = add %acc, %y : f32[64]")));
  CHECK_FALSE(total_of(kernel("%next = add %acc, %acc : f32[64]")));
  // Every iteration stores the total so far.
  CHECK_FALSE(total_of(kernel("%next = add %acc, %x : f32[64]\n store %w, %next")));
}

TEST_CASE("associative loop: reductions by the same operation belong to the total") {
  const std::string sum = "%next = add %acc, %x : f32[64]";
  CHECK(total_of(kernel(
            sum, "%r = reduce %total {axis = 0, op = \"add\"} : f32\n store %C, %r\n")) == "add r");
  // Another operation, or another use of the total.
  CHECK(
      total_of(kernel(sum, "%r = reduce %total {axis = 0, op = \"max\"} : f32\n store %C, %r\n")) ==
      "add total");
  CHECK(total_of(kernel(sum, "%r = reduce %total {axis = 0, op = \"add\"} : f32\n store %C, %r\n"
                             "store %w, %total\n")) == "add total");
}

TEST_CASE("associative loop: the only loop, without effects before its end") {
  const std::string sum = "%next = add %acc, %x : f32[64]";
  std::string text = kernel(sum);
  CHECK(total_of(text));
  auto before_loop = [&](const std::string &ops) {
    std::string changed = text;
    return changed.insert(changed.find("%total = for_loop"), ops + "\n");
  };
  CHECK_FALSE(total_of(before_loop("store %w, %start")));
  CHECK_FALSE(total_of(before_loop("for_loop %q {\n (%i: i32)\n yield\n }")));
  CHECK_FALSE(total_of(kernel(sum, "for_loop %q {\n (%i: i32)\n store %w, %total\n yield\n }\n")));
  // The host cannot compute the number of iterations.
  CHECK_FALSE(total_of([&] {
    std::string changed = text;
    changed.replace(changed.find("for_loop %n"), 11, "for_loop %m");
    return changed.insert(changed.find("%total ="), "%p = program_id {axis = 0} : i32\n"
                                                    "%m = add %p, %n : i32\n");
  }()));
}

TEST_CASE("associative loop: the identity changes nothing") {
  struct {
    const char *op, *elem, *value;
  } cases[] = {{"add", "f32", "0.0"},
               {"max", "f32", "-inf"},
               {"min", "f32", "inf"},
               {"add", "i32", "0"},
               {"xor", "i64", "0"},
               {"or", "i32", "0"},
               {"and", "i32", "-1"},
               {"umax", "i32", "0"},
               {"umin", "i32", "-1"},
               {"max", "i32", "-2147483648"},
               {"min", "i32", "2147483647"},
               {"max", "i8", "-128"},
               {"min", "i64", "9223372036854775807"}};
  for (const auto &[op, elem, value] : cases) {
    CAPTURE(op);
    CAPTURE(elem);
    ir::Function fn = parsed("func @f() {\n return\n}");
    ir::Builder builder(fn, fn.body, size_t(0));
    emit_identity(builder, op, ir::Type::scalar(*ir::elem_named(elem)));
    CHECK(printed(fn).find(std::string("= ") + value + "}") != std::string::npos);
  }
}
