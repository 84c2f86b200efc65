// Tests emit/expression.cpp: expressions as postfix words, as text and as values.

#include "emit/expression.h"

#include <tritonc/descriptor.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using Kind = Expr::Kind;

namespace {

const std::vector<Parameter> parameters = [] {
  std::vector<Parameter> all(3);
  all[0].name = "M";
  all[1].name = "N";
  all[2].name = "K";
  return all;
}();

Expr p(int i) { return Expr::parameter(i); }
Expr c(int64_t value) { return Expr::constant(value); }
Expr of(Kind kind, Expr a, Expr b) { return Expr::binary(kind, std::move(a), std::move(b)); }
Expr of(Kind kind, Expr a) { return {kind, 0, {std::move(a)}}; }

std::string written(const Expr &expression) { return text_of(expression, parameters); }

int64_t word(abi::op op) { return int64_t(op); }

} // namespace

TEST_CASE("postfix: writes operands before the operator") {
  // (M + 31) / 32
  Expr e = of(Kind::div, of(Kind::add, p(0), c(31)), c(32));
  CHECK(*postfix(e) == std::vector<int64_t>{word(abi::op::parameter), 0, word(abi::op::constant),
                                            31, word(abi::op::add), word(abi::op::constant), 32,
                                            word(abi::op::div), word(abi::op::end)});
}

TEST_CASE("postfix: every kind has a different word") {
  std::vector<int64_t> seen;
  for (Kind kind : {Kind::add, Kind::sub, Kind::mul, Kind::div, Kind::rem, Kind::ceil_div,
                    Kind::min, Kind::max, Kind::lt, Kind::le, Kind::gt, Kind::ge, Kind::eq,
                    Kind::ne, Kind::logical_and, Kind::logical_or}) {
    int64_t op = postfix(of(kind, p(0), p(1)))->at(4);
    CHECK(std::find(seen.begin(), seen.end(), op) == seen.end());
    seen.push_back(op);
  }
  CHECK(postfix(of(Kind::neg, p(0)))->at(2) == word(abi::op::neg));
  CHECK(postfix(of(Kind::logical_not, p(0)))->at(2) == word(abi::op::logical_not));
}

TEST_CASE("postfix, text_of: grid of programs and number of SMs") {
  Expr programs = {Kind::programs, 2, {}}, num_sms = {Kind::num_sms, 0, {}};
  Expr e = of(Kind::min, programs, num_sms);
  CHECK(*postfix(e) == std::vector<int64_t>{word(abi::op::programs), 2, word(abi::op::num_sms),
                                            word(abi::op::min), word(abi::op::end)});
  CHECK(written(e) == "min(get_num_programs(2), sms)");
}

TEST_CASE("value_of: folds known expressions, rejects overflow") {
  const LaunchFacts facts = {
      .arguments = {{0, 100}, {1, -7}}, .programs = {4, 5, std::nullopt}, .num_sms = 132};
  auto value = [&](const Expr &expression) { return value_of(expression, facts); };
  struct {
    Kind kind;
    int64_t of_100_and_minus_7;
  } const cases[] = {
      {Kind::add, 93}, {Kind::sub, 107},      {Kind::mul, -700},      {Kind::div, -14},
      {Kind::rem, 2},  {Kind::ceil_div, -14}, {Kind::min, -7},        {Kind::max, 100},
      {Kind::lt, 0},   {Kind::le, 0},         {Kind::gt, 1},          {Kind::ge, 1},
      {Kind::eq, 0},   {Kind::ne, 1},         {Kind::logical_and, 1}, {Kind::logical_or, 1}};
  for (const auto &[kind, expected] : cases) {
    CAPTURE(int(kind));
    CHECK(value(of(kind, p(0), p(1))) == expected);
    CHECK_FALSE(value(of(kind, p(0), p(2)))); // K is unknown
    CHECK_FALSE(value(of(kind, p(2), p(0))));
  }
  CHECK(value(of(Kind::ceil_div, p(0), c(7))) == 15);
  CHECK(value(of(Kind::neg, p(1))) == 7);
  CHECK(value(of(Kind::logical_not, p(1))) == 0);
  CHECK(value({Kind::programs, 1, {}}) == 5);
  CHECK_FALSE(value({Kind::programs, 2, {}}));
  CHECK(value({Kind::num_sms, 0, {}}) == 132);
  for (Kind kind : {Kind::div, Kind::rem, Kind::ceil_div}) {
    CHECK_FALSE(value(of(kind, p(0), c(0))));
    CHECK_FALSE(value(of(kind, c(INT64_MIN), c(-1))));
  }
  CHECK_FALSE(value(of(Kind::add, c(INT64_MAX), c(1))));
  CHECK_FALSE(value(of(Kind::sub, c(INT64_MIN), c(1))));
  CHECK_FALSE(value(of(Kind::mul, c(INT64_MAX), c(2))));
  CHECK_FALSE(value(of(Kind::neg, c(INT64_MIN))));
}

TEST_CASE("postfix: rejects an expression that exceeds abi::max_stack") {
  Expr to_the_left = p(0), to_the_right = p(0);
  for (int i = 1; i < abi::max_stack; i++) {
    to_the_left = of(Kind::add, std::move(to_the_left), p(1));
    to_the_right = of(Kind::add, p(1), std::move(to_the_right));
  }
  CHECK(postfix(to_the_left));
  CHECK(postfix(to_the_right)); // fills the stack exactly
  CHECK(postfix(of(Kind::add, to_the_left, p(1))));
  CHECK_FALSE(postfix(of(Kind::add, p(1), to_the_right)));
}

TEST_CASE("text_of: writes only necessary parentheses") {
  CHECK(written(of(Kind::div, of(Kind::add, p(0), c(31)), c(32))) == "(M + 31) / 32");
  CHECK(written(of(Kind::add, of(Kind::mul, p(0), p(1)), p(2))) == "M * N + K");
  CHECK(written(of(Kind::sub, p(0), of(Kind::sub, p(1), p(2)))) == "M - (N - K)");
  CHECK(written(of(Kind::sub, of(Kind::sub, p(0), p(1)), p(2))) == "M - N - K");
  CHECK(written(of(Kind::ceil_div, p(0), of(Kind::add, p(1), c(1)))) == "cdiv(M, N + 1)");
  CHECK(written(of(Kind::eq, of(Kind::rem, p(0), c(8)), c(0))) == "M % 8 == 0");
  CHECK(written(of(Kind::logical_or, of(Kind::logical_and, p(0), p(1)), p(2))) == "M && N || K");
  CHECK(written(of(Kind::neg, of(Kind::add, p(0), p(1)))) == "-(M + N)");
  CHECK(written(of(Kind::max, c(1), p(0))) == "max(1, M)");
}
