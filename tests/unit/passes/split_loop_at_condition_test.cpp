// Tests passes/split_loop_at_condition.cpp. The folder split_loop_at_condition/ has more cases.

#include "passes/split_loop_at_condition.h"
#include "scalar_value.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <array>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop of %n iterations. It yields %yes in the iterations in which `condition` gives true for %c,
// else %no, and also its counter.
std::string program(const std::string &condition) {
  return "func @f(%q: f16[16,16], %acc: f32[16,16], %n: i32, %b: i32, %e: i32, %a: i32, %yes: i32,"
         " %no: i32, %out: ptr<i32>) {\n"
         "%which, %last = for_loop %n, %no, %n : i32, i32 {\n (%t: i32, %w: i32, %before: i32)\n"
         "%d = dot %q, %q, %acc : f32[16,16]\n" +
         condition +
         "%r = if_else %c : i32 {\n yield %yes\n } {\n yield %no\n }\n yield %r, %t\n}\n"
         "store %out, %which\n store %out, %last\n return\n}";
}

// A comparison of coefficient * %t + %a with %b, in this order or swapped.
std::string comparison(const std::string &pred, int64_t coefficient, bool is_swapped,
                       const std::string &type) {
  return "%ct = cast %t : " + type + "\n %ca = cast %a : " + type + "\n %cb = cast %b : " + type +
         "\n %factor = constant {value = " + std::to_string(coefficient) + "} : " + type +
         "\n %product = mul %ct, %factor : " + type + "\n %sum = add %product, %ca : " + type +
         "\n %c = cmp " + (is_swapped ? "%cb, %sum" : "%sum, %cb") + " {pred = \"" + pred +
         "\"} : i1\n";
}

// The loops of a function whose loop is split.
class SplitLoop {
public:
  explicit SplitLoop(const std::string &condition, size_t count = 2)
      : fn_(parsed(program(condition))) {
    split_loop_at_condition(fn_, {.kind = Schedule::Kind::warp_specialized});
    check_rules(fn_);
    for (const ir::Op *op : fn_.body->ops)
      if (op->is(ir::Opcode::for_loop_))
        loops_.push_back(op);
    REQUIRE(loops_.size() == count);
  }

  // The values of %r and %t in all iterations, in order: 1 for %yes, 0 for %no.
  std::vector<std::array<int64_t, 2>> iterations(int64_t n, int64_t b, int64_t a,
                                                 int64_t e = 0) const {
    std::map<std::string, int64_t> parameters = {{"n", n}, {"b", b},   {"e", e},
                                                 {"a", a}, {"yes", 1}, {"no", 0}};
    std::vector<std::array<int64_t, 2>> found;
    for (const ir::Op *loop : loops_) {
      const ir::Block &body = *loop->blocks[0];
      const int64_t count = value(loop->operand(0), parameters, 0, body);
      for (int64_t t = 0; t < count; t++)
        found.push_back({value(body.terminator()->operand(0), parameters, t, body),
                         value(body.terminator()->operand(1), parameters, t, body)});
    }
    return found;
  }

private:
  static int64_t value(const ir::Value *of, const std::map<std::string, int64_t> &parameters,
                       int64_t counter, const ir::Block &body) {
    return scalar_value(of, [&](const ir::Value &given) {
      if (given.op && given.op->is(ir::Opcode::if_else_)) {
        const bool is_true = value(given.op->operand(0), parameters, counter, body) != 0;
        return value(given.op->blocks[is_true ? 0 : 1]->terminator()->operand(given.index),
                     parameters, counter, body);
      }
      return &given == body.arguments[0] ? counter : parameters.at(given.name);
    });
  }

  ir::Function fn_;
  std::vector<const ir::Op *> loops_;
};

// Compares the two loops with the one loop, for many bounds and numbers of iterations.
void check_iterations(const std::string &pred, int64_t coefficient, bool is_swapped,
                      const std::string &type) {
  CAPTURE(pred);
  CAPTURE(coefficient);
  CAPTURE(is_swapped);
  CAPTURE(type);
  const SplitLoop loop(comparison(pred, coefficient, is_swapped, type));
  for (int64_t n = -1; n <= 6; n++)
    for (int64_t a : {-7, 0, 3})
      for (int64_t b = -25; b <= 25; b++) {
        std::vector<std::array<int64_t, 2>> expected;
        for (int64_t t = 0; t < n; t++) {
          const int64_t sum = coefficient * t + a;
          expected.push_back({is_swapped ? holds(pred, b, sum) : holds(pred, sum, b), t});
        }
        CAPTURE(n);
        CAPTURE(a);
        CAPTURE(b);
        REQUIRE(loop.iterations(n, b, a) == expected);
      }
}

// A comparison of factor * %t with a parameter.
struct Compared {
  std::string pred;
  int64_t factor;
  const char *parameter; // b or e

  bool holds_at(int64_t t, int64_t b, int64_t e) const {
    return holds(pred, factor * t, *parameter == 'b' ? b : e);
  }
  // The result is %c.`name`.
  std::string text(const std::string &name) const {
    return "%f." + name + " = constant {value = " + std::to_string(factor) + "} : i32\n %p." +
           name + " = mul %t, %f." + name + " : i32\n %c." + name + " = cmp %p." + name + ", %" +
           parameter + " {pred = \"" + pred + "\"} : i1\n";
  }
};

// Compares the loops with the one loop, for bounds before, in and after the loop, in both orders.
// `expected(t, b, e)`: whether the condition is true.
template <typename Expected> void check_bounds(const SplitLoop &loop, Expected expected) {
  for (int64_t n : {-1, 0, 1, 2, 5})
    for (int64_t b = -7; b <= 13; b += 2)
      for (int64_t e = -6; e <= 12; e += 3) {
        std::vector<std::array<int64_t, 2>> wanted;
        for (int64_t t = 0; t < n; t++)
          wanted.push_back({expected(t, b, e), t});
        CAPTURE(n);
        CAPTURE(b);
        CAPTURE(e);
        REQUIRE(loop.iterations(n, b, 0, e) == wanted);
      }
}

// Calls `check(first, second)` for pairs of comparisons.
template <typename Check> void for_pairs(Check check) {
  for (const char *pred : {"lt", "le", "gt", "ge"})
    for (const char *other : {"lt", "le", "gt", "ge"})
      for (auto [factor, factor_of_other] : {std::pair(1, 1), std::pair(2, -3), std::pair(-1, 2)}) {
        const Compared first = {pred, factor, "b"}, second = {other, factor_of_other, "e"};
        CAPTURE(first.text("0"));
        CAPTURE(second.text("1"));
        check(first, second);
      }
}

} // namespace

TEST_CASE("split_loop_at_condition: each iteration takes the same branch as before") {
  for (const char *pred : {"lt", "le", "gt", "ge"})
    for (int64_t coefficient : {1, 2, 3, 7, -1, -2, -3, -7})
      for (bool is_swapped : {false, true})
        check_iterations(pred, coefficient, is_swapped, "i32");
}

TEST_CASE("split_loop_at_condition: 64-bit conditions") {
  for (const char *pred : {"lt", "le", "gt", "ge"})
    check_iterations(pred, 3, false, "i64");
}

TEST_CASE("split_loop_at_condition: the first loop has all, some or none of the iterations") {
  // t * 64 + 64 > b: the last iterations mask.
  const SplitLoop loop(comparison("gt", 64, false, "i32"));
  auto without_mask = [&](int64_t n, int64_t b) {
    int64_t count = 0;
    for (auto [is_true, t] : loop.iterations(n, b, 64))
      count += !is_true;
    return count;
  };
  CHECK(without_mask(4, 256) == 4);
  CHECK(without_mask(4, 255) == 3);
  CHECK(without_mask(4, 1000) == 4);
  CHECK(without_mask(4, 128) == 2);
  CHECK(without_mask(4, 64) == 1);
  CHECK(without_mask(4, 63) == 0);
  CHECK(without_mask(4, 0) == 0);
  CHECK(without_mask(4, -1000) == 0);
  CHECK(without_mask(0, 128) == 0);
}

TEST_CASE("split_loop_at_condition: bounds near the limits of 32 bits") {
  const SplitLoop loop(comparison("ge", 64, false, "i32"));
  const int64_t most = INT32_MAX, least = INT32_MIN;
  CHECK(loop.iterations(2, most, 0) == std::vector<std::array<int64_t, 2>>{{0, 0}, {0, 1}});
  CHECK(loop.iterations(2, least, 0) == std::vector<std::array<int64_t, 2>>{{1, 0}, {1, 1}});
  CHECK(loop.iterations(2, most, most - 64) == std::vector<std::array<int64_t, 2>>{{0, 0}, {1, 1}});
  CHECK(loop.iterations(2, least, most - 64) ==
        std::vector<std::array<int64_t, 2>>{{1, 0}, {1, 1}});
}

TEST_CASE("split_loop_at_condition: `or` of two comparisons") {
  for_pairs([](const Compared &first, const Compared &second) {
    const SplitLoop loop(first.text("0") + second.text("1") + "%c = or %c.0, %c.1 : i1\n", 3);
    check_bounds(loop, [&](int64_t t, int64_t b, int64_t e) {
      return first.holds_at(t, b, e) || second.holds_at(t, b, e);
    });
  });
}

TEST_CASE("split_loop_at_condition: `and` of two comparisons") {
  for_pairs([](const Compared &first, const Compared &second) {
    const SplitLoop loop(first.text("0") + second.text("1") + "%c = and %c.0, %c.1 : i1\n", 3);
    check_bounds(loop, [&](int64_t t, int64_t b, int64_t e) {
      return first.holds_at(t, b, e) && second.holds_at(t, b, e);
    });
  });
}

TEST_CASE("split_loop_at_condition: constants in a condition") {
  const Compared early = {"lt", 2, "b"}, late = {"ge", 1, "e"};
  const std::string comparisons = early.text("0") + late.text("1") +
                                  "%yes.1 = constant {value = 1} : i1\n"
                                  "%no.1 = constant {value = 0} : i1\n";
  auto check = [&](const std::string &condition, size_t loops, auto expected) {
    CAPTURE(condition);
    check_bounds(SplitLoop(comparisons + condition, loops), [&](int64_t t, int64_t b, int64_t e) {
      return expected(early.holds_at(t, b, e), late.holds_at(t, b, e));
    });
  };
  check("%c = or %c.0, %no.1 : i1\n", 2, [](bool a, bool) { return a; });
  check("%c = and %yes.1, %c.0 : i1\n", 2, [](bool a, bool) { return a; });
  check("%c = or %yes.1, %c.0 : i1\n", 2, [](bool, bool) { return true; });
  check("%c = and %c.0, %no.1 : i1\n", 2, [](bool, bool) { return false; });
  check("%u = and %no.1, %c.0 : i1\n %c = or %u, %c.1 : i1\n", 4, [](bool, bool b) { return b; });
  check("%u = or %no.1, %c.0 : i1\n %c = and %u, %c.1 : i1\n", 3,
        [](bool a, bool b) { return a && b; });
}

TEST_CASE("split_loop_at_condition: a comparison that is not monotonic decides in a branch") {
  const Compared early = {"lt", 1, "b"};
  const std::string equal = "%is.e = cmp %t, %e {pred = \"eq\"} : i1\n";
  for (const char *operands : {"%c.0, %is.e", "%is.e, %c.0"}) {
    auto condition = [&](const std::string &operation) {
      return early.text("0") + equal + "%c = " + operation + " " + operands + " : i1\n";
    };
    check_bounds(SplitLoop(condition("or")),
                 [](int64_t t, int64_t b, int64_t e) { return t < b || t == e; });
    check_bounds(SplitLoop(condition("and")),
                 [](int64_t t, int64_t b, int64_t e) { return t < b && t == e; });
  }
}

TEST_CASE("split_loop_at_condition: at most four loops") {
  // More comparisons than four loops can decide.
  const Compared compared[] = {
      {"lt", 1, "b"}, {"ge", 1, "e"}, {"gt", 2, "b"}, {"le", 3, "e"}, {"lt", -2, "e"}};
  std::string text;
  for (size_t i = 0; i < std::size(compared); i++)
    text += compared[i].text(std::to_string(i));
  text += "%x = and %c.0, %c.1 : i1\n %y = or %x, %c.2 : i1\n"
          "%z = and %y, %c.3 : i1\n %c = or %z, %c.4 : i1\n";
  check_bounds(SplitLoop(text, 4), [&](int64_t t, int64_t b, int64_t e) {
    auto is = [&](size_t i) { return compared[i].holds_at(t, b, e); };
    return (((is(0) && is(1)) || is(2)) && is(3)) || is(4);
  });
}
