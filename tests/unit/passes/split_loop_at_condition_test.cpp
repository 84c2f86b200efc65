// Tests passes/split_loop_at_condition.cpp. The folder split_loop_at_condition/ has more cases.

#include "passes/split_loop_at_condition.h"
#include "scalar_value.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop of %n iterations. It yields %yes in the iterations in which `condition` gives true for %c,
// else %no, and also its counter.
std::string program(const std::string &condition) {
  return "func @f(%q: f16[16,16], %acc: f32[16,16], %n: i32, %b: i32, %a: i32, %yes: i32, %no: i32,"
         " %out: ptr<i32>) {\n"
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

bool holds(const std::string &pred, int64_t a, int64_t b) {
  return pred == "lt" ? a < b : pred == "le" ? a <= b : pred == "gt" ? a > b : a >= b;
}

// The two loops of a function whose loop is split.
class SplitLoop {
public:
  explicit SplitLoop(const std::string &condition) : fn_(parsed(program(condition))) {
    split_loop_at_condition(fn_, {.kind = Schedule::Kind::warp_specialized});
    check_rules(fn_);
    for (const ir::Op *op : fn_.body->ops)
      if (op->is(ir::Opcode::for_loop_))
        loops_.push_back(op);
    REQUIRE(loops_.size() == 2);
  }

  // The values of %r and %t in all iterations, in order: 1 for %yes, 0 for %no.
  std::vector<std::array<int64_t, 2>> iterations(int64_t n, int64_t b, int64_t a) const {
    std::map<std::string, int64_t> parameters = {
        {"n", n}, {"b", b}, {"a", a}, {"yes", 1}, {"no", 0}};
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
