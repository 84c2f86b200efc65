// Tests analysis/key_order.cpp.

#include "analysis/key_order.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The order of the keys %key, which start at `start`, where %better replaces them by %x. `body`
// computes %better. %c is true for some elements, %a and %b are numbers.
std::string order_of(const std::string &body, const std::string &start = "nan",
                     const std::string &type = "f32", const std::string &more = "") {
  const bool is_float = type[0] == 'f';
  const std::string number = is_float ? "number" : "value";
  ir::Function fn = parsed(
      "func @f(%A: ptr<" + type + ">, %C: ptr<i1>, %n: i32, %s: " + type + ") {\n" +
      "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
      "%true = constant {value = 1} : i1\n %all = splat %true : i1[64]\n"
      "%a.1 = constant {" +
      number + " = " + (is_float ? "0.0" : "0") + "} : " + type + "\n%a = splat %a.1 : " + type +
      "[64]\n%b.1 = constant {" + number + " = " + (is_float ? "inf" : "-5") + "} : " + type +
      "\n%b = splat %b.1 : " + type + "[64]\n" +
      (start == "any" ? "" : "%z = constant {" + number + " = " + start + "} : " + type + "\n") +
      "%start = splat " + (start == "any" ? "%s" : "%z") + " : " + type +
      "[64]\n %v = view %A, %zero, %one : view<" + type +
      ">[64]\n %u = view %C, %zero, %one : view<i1>[64]\n" + "%total = for_loop %n, %start : " +
      type + "[64] {\n (%t: i32, %key: " + type + "[64])\n %x = load %v : " + type +
      "[64]\n %c = load %u : i1[64]\n" + body + "\n%next = select %better, %x, %key : " + type +
      "[64]\n" + more + "\nyield %next\n }\n store %v, %total\n return\n}");
  for (ir::Op *op : fn.body->ops)
    if (op->is(ir::Opcode::for_loop_)) {
      ir::Block &block = *op->blocks[0];
      const ir::Op *next = block.terminator()->operand(0)->op;
      std::optional<KeyOrder> found = find_key_order(block, next->operand(0), block.arguments[1],
                                                     next->operand(1), op->operand(1));
      return found ? found->op + (found->takes_last ? " last" : " first") : "none";
    }
  return "no loop";
}

std::string cmp(const std::string &name, const std::string &a, const std::string &pred,
                const std::string &b) {
  return "%" + name + " = cmp %" + a + ", %" + b + " {pred = \"" + pred + "\"} : i1[64]\n";
}

std::string logic(const std::string &name, const std::string &op, const std::string &a,
                  const std::string &b) {
  return "%" + name + " = " + op + " %" + a + ", %" + b + " : i1[64]\n";
}

} // namespace

TEST_CASE("key order: one comparison") {
  const std::string better = "better";
  CHECK(order_of(cmp(better, "x", "gt", "key"), "-inf") == "max first");
  CHECK(order_of(cmp(better, "key", "lt", "x"), "-1.0") == "max first");
  CHECK(order_of(cmp(better, "x", "lt", "key"), "inf") == "min first");
  CHECK(order_of(cmp(better, "key", "gt", "x"), "inf") == "min first");
  CHECK(order_of(cmp(better, "x", "gt", "key"), "7", "i32") == "max first");
  CHECK(order_of(cmp(better, "x", "gt", "key"), "any", "i64") == "max first");
  CHECK(order_of(cmp(better, "x", "ugt", "key"), "0", "i32") == "umax first");
  CHECK(order_of(cmp(better, "x", "ult", "key"), "any", "i16") == "umin first");
}

TEST_CASE("key order: no order, or another one than that of numbers") {
  const std::string better = "better";
  for (std::string pred : {"eq", "ne"})
    CHECK(order_of(cmp(better, "x", pred, "key"), "0.0") == "none");
  // The predicate does not depend on the key.
  CHECK(order_of(cmp(better, "x", "gt", "a"), "0.0") == "none");
  CHECK(order_of(logic(better, "and", "c", "c"), "0.0") == "none");
  // The greatest element, but at most one replacement.
  CHECK(order_of(cmp("more", "x", "gt", "key") + cmp("is_first", "key", "eq", "a") +
                     logic(better, "and", "more", "is_first"),
                 "0.0") == "none");
  // Signed and unsigned comparisons; -5 is greater than 0 for the unsigned one.
  CHECK(order_of(cmp("more", "x", "ugt", "key") + cmp("is_more", "x", "gt", "a") +
                     logic(better, "and", "more", "is_more"),
                 "0", "i32") == "none");
  CHECK(order_of(cmp("more", "x", "ugt", "key") + cmp("other", "x", "ne", "b") +
                     logic(better, "and", "more", "other"),
                 "0", "i32") == "none");
}

TEST_CASE("key order: NaN") {
  const std::string more = cmp("more", "x", "gt", "key"), number = cmp("number", "x", "eq", "x"),
                    none = cmp("none", "key", "ne", "key");
  const std::string any_number = more + number + none + logic("first", "and", "number", "none") +
                                 logic("better", "or", "more", "first");
  CHECK(order_of(any_number, "nan") == "max first");
  CHECK(order_of(any_number, "-inf") == "max first");
  CHECK(order_of(any_number, "any") == "max first");
  // The same order, with fewer comparisons.
  const std::string not_worse =
      cmp("worse", "x", "le", "key") + logic("other", "xor", "worse", "all");
  CHECK(order_of(not_worse + number + logic("better", "and", "other", "number"), "nan") ==
        "max first");
  CHECK(order_of(cmp("worse", "x", "ge", "key") + logic("other", "xor", "worse", "all") + number +
                     logic("better", "and", "other", "number"),
                 "nan") == "min first");
  // A NaN that no number replaces; a NaN that replaces numbers.
  CHECK(order_of(cmp("better", "x", "gt", "key"), "nan") == "none");
  CHECK(order_of(cmp("better", "x", "gt", "key"), "any") == "none");
  CHECK(order_of(not_worse + logic("better", "or", "other", "other"), "nan") == "none");
  CHECK(order_of(cmp("worse", "x", "le", "key") + logic("better", "xor", "worse", "all"), "0.0") ==
        "none");
}

TEST_CASE("key order: the last of equal elements") {
  const std::string at_least =
      cmp("worse", "x", "lt", "key") + logic("other", "xor", "worse", "all") +
      cmp("number", "x", "eq", "x") + logic("better", "and", "other", "number");
  CHECK(order_of(at_least, "nan") == "max last");
  // The start of a later part would replace equal elements of an earlier part.
  CHECK(order_of(at_least, "0.0") == "none");
  CHECK(order_of(at_least, "any") == "none");
  CHECK(order_of(cmp("better", "x", "ge", "key"), "-inf") == "none");
  CHECK(order_of(cmp("better", "x", "ge", "key"), "0", "i32") == "none");
  // An element that equals the key replaces it only if it is 0.
  CHECK(order_of(cmp("more", "x", "gt", "key") + cmp("none", "key", "ne", "key") +
                     cmp("equal", "x", "eq", "key") + cmp("is_zero", "x", "eq", "a") +
                     cmp("number", "x", "eq", "x") + logic("at_zero", "and", "equal", "is_zero") +
                     logic("first", "and", "none", "number") +
                     logic("some", "or", "at_zero", "first") +
                     logic("better", "or", "more", "some"),
                 "nan") == "none");
}

TEST_CASE("key order: elements that do not count") {
  const std::string more = cmp("more", "x", "gt", "key");
  // By a condition, by a comparison with a constant, and all of them.
  CHECK(order_of(more + logic("better", "and", "more", "c"), "0.0") == "max first");
  CHECK(
      order_of(more + cmp("positive", "x", "gt", "a") + logic("better", "and", "more", "positive"),
               "-inf") == "max first");
  CHECK(
      order_of(more + cmp("negative", "x", "lt", "b") + logic("better", "and", "more", "negative"),
               "-100", "i32") == "max first");
  CHECK(order_of(more + cmp("never", "x", "gt", "b") + cmp("number", "x", "lt", "a") +
                     logic("no", "and", "never", "number") + logic("better", "and", "more", "no"),
                 "0.0") == "none");
  // Elements that always replace the key.
  CHECK(order_of(more + logic("better", "or", "more", "c"), "0.0") == "none");
}

TEST_CASE("key order: not if another operation depends on the key") {
  const std::string more = cmp("more", "x", "gt", "key") + logic("better", "and", "more", "c");
  CHECK(order_of(more, "0.0") == "max first");
  CHECK(order_of(more, "0.0", "f32", "store %u, %more") == "none");
  CHECK(order_of(more, "0.0", "f32", "store %v, %key") == "none");
  // A comparison with another value.
  CHECK(order_of("%y = add %x, %x : f32[64]\n" + cmp("better", "y", "gt", "key"), "0.0") == "none");
  CHECK(order_of("%y = add %key, %a : f32[64]\n" + cmp("better", "x", "gt", "y"), "0.0") == "none");
}

TEST_CASE("key order: not for a formula that is too large") {
  auto joined = [](int times) { // the number of paths doubles each time
    std::string text = cmp("more", "x", "gt", "key") + logic("c.0", "or", "c", "c");
    for (int i = 0; i < times; i++)
      text += logic("c." + std::to_string(i + 1), "or", "c." + std::to_string(i),
                    "c." + std::to_string(i));
    return text + logic("better", "and", "more", "c." + std::to_string(times));
  };
  CHECK(order_of(joined(2), "0.0") == "max first");
  CHECK(order_of(joined(60), "0.0") == "none");
}
