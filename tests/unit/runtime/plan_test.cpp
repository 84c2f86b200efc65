// Tests runtime/src/select/plan.cpp: expressions over the arguments, in 64 bits.

#include "select/plan.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace tritonc;
using abi::op;

namespace {

struct Args {
  std::int64_t a = 0, b = 0;
  std::uint64_t u = 0;
  std::int8_t small = 0;
  void *pointer = nullptr;
};

const abi::parameter parameters[] = {
    {"a", offsetof(Args, a), 0, abi::parameter_kind::i64, false, 8, {}},
    {"b", offsetof(Args, b), 0, abi::parameter_kind::i64, false, 8, {}},
    {"u", offsetof(Args, u), 0, abi::parameter_kind::u64, false, 8, {}},
    {"small", offsetof(Args, small), 0, abi::parameter_kind::i8, false, 1, {}},
};

using Words = std::vector<std::int64_t>;

Words words(std::initializer_list<std::int64_t> list) { return list; }

/// Evaluates a plan with a grid of 1 and one requirement: `code` is not 0.
status require(const Words &code, const Args &args) {
  const std::int64_t one[] = {std::int64_t(op::constant), 1, std::int64_t(op::end)};
  const abi::requirement requirement = {code.data(), "the condition"};
  abi::variant variant = {};
  variant.grid[0] = one;
  variant.requirements = &requirement;
  variant.requirement_count = 1;
  variant.parameters = parameters;
  abi::kernel kernel = {};
  kernel.name = "k";
  kernel.parameter_count = 4;
  grid size;
  return plan::size_grid(kernel, variant, &args, nullptr, size);
}

constexpr std::int64_t value = std::int64_t(op::constant), parameter = std::int64_t(op::parameter),
                       end = std::int64_t(op::end);

/// Evaluates the requirement `a <operator> b == expected`.
status compute(op operation, std::int64_t a, std::int64_t b, std::int64_t expected) {
  Args args;
  args.a = a;
  args.b = b;
  return require(words({parameter, 0, parameter, 1, std::int64_t(operation), value, expected,
                        std::int64_t(op::eq), end}),
                 args);
}

bool yields(op operation, std::int64_t a, std::int64_t b, std::int64_t expected) {
  return compute(operation, a, b, expected).ok();
}

bool is_refused(op operation, std::int64_t a, std::int64_t b) {
  return compute(operation, a, b, 0).code() == status_code::invalid_argument;
}

} // namespace

TEST_CASE("evaluate: every operator computes as in C") {
  struct {
    op operation;
    std::int64_t a, b, expected;
  } cases[] = {
      {op::add, 2, 3, 5},
      {op::sub, 2, 3, -1},
      {op::mul, -2, 3, -6},
      {op::div, 7, 2, 3},
      {op::div, -7, 2, -3},
      {op::rem, 7, 4, 3},
      {op::rem, -7, 4, -3},
      {op::ceil_div, 7, 2, 4},
      {op::ceil_div, 8, 2, 4},
      {op::ceil_div, -7, 2, -3},
      {op::ceil_div, -7, -2, 4},
      {op::ceil_div, 0, 5, 0},
      {op::min, 2, 3, 2},
      {op::max, 2, 3, 3},
      {op::lt, 2, 3, 1},
      {op::le, 3, 3, 1},
      {op::gt, 2, 3, 0},
      {op::ge, 2, 3, 0},
      {op::eq, 2, 3, 0},
      {op::ne, 2, 3, 1},
      {op::logical_and, 2, 3, 1},
      {op::logical_and, 2, 0, 0},
      {op::logical_or, 0, 0, 0},
      {op::logical_or, 0, 9, 1},
      {op::mul, 1 << 30, 1 << 30, std::int64_t(1) << 60},
  };
  for (auto &c : cases) {
    CAPTURE(int(c.operation));
    CAPTURE(c.a);
    CAPTURE(c.b);
    CHECK(yields(c.operation, c.a, c.b, c.expected));
    CHECK(compute(c.operation, c.a, c.b, c.expected + 1).code() == status_code::requirement_failed);
  }
}

TEST_CASE("evaluate: refuses 64-bit overflow") {
  CHECK(is_refused(op::add, INT64_MAX, 1));
  CHECK(is_refused(op::sub, INT64_MIN, 1));
  CHECK(is_refused(op::mul, INT64_MAX, 2));
  CHECK(is_refused(op::div, 1, 0));
  CHECK(is_refused(op::rem, 1, 0));
  CHECK(is_refused(op::ceil_div, 1, 0));
  CHECK(is_refused(op::div, INT64_MIN, -1));
  CHECK(is_refused(op::rem, INT64_MIN, -1));
  CHECK_FALSE(is_refused(op::add, INT64_MAX, 0));
}

TEST_CASE("evaluate: refuses a u64 argument above INT64_MAX") {
  Args args;
  args.u = UINT64_MAX;
  CHECK(require(words({parameter, 2, end}), args).code() == status_code::invalid_argument);
  args.u = 7;
  CHECK(require(words({parameter, 2, end}), args).ok());
}

TEST_CASE("evaluate: sign-extends narrow arguments") {
  Args args;
  args.small = -3;
  CHECK(require(words({parameter, 3, value, -3, std::int64_t(op::eq), end}), args).ok());
}

TEST_CASE("evaluate: `and` and `or` short-circuit as in C") {
  Args args; // a = b = 0
  // b == 0 || a % b == 0
  Words guarded = words({parameter, 1, value, 0, std::int64_t(op::eq), parameter, 0, parameter, 1,
                         std::int64_t(op::rem), value, 0, std::int64_t(op::eq),
                         std::int64_t(op::logical_or), end});
  CHECK(require(guarded, args).ok());
  // b != 0 && a % b == 0
  Words both = words({parameter, 1, value, 0, std::int64_t(op::ne), parameter, 0, parameter, 1,
                      std::int64_t(op::rem), value, 0, std::int64_t(op::eq),
                      std::int64_t(op::logical_and), end});
  CHECK(require(both, args).code() == status_code::requirement_failed);
  args.b = 5;
  args.a = 10;
  CHECK(require(both, args).ok());
}

TEST_CASE("evaluate: computes unary operators") {
  Args args;
  args.a = INT64_MIN;
  CHECK(require(words({parameter, 0, std::int64_t(op::neg), end}), args).code() ==
        status_code::invalid_argument);
  CHECK(require(words({parameter, 1, std::int64_t(op::logical_not), end}), args).ok());
  CHECK(
      require(words({value, 4, std::int64_t(op::neg), value, -4, std::int64_t(op::eq), end}), args)
          .ok());
}

TEST_CASE("evaluate: grid and SM count are known only in schedules") {
  Args args;
  abi::kernel kernel = {};
  abi::variant variant = {};
  grid programs = {5, 6, 7};
  plan::Inputs in_schedule = {kernel, variant, &args, &programs, 132},
               in_plan = {kernel, variant, &args};
  auto value_of = [](const Words &code, const plan::Inputs &inputs) {
    plan::Number number = plan::evaluate(code.data(), inputs);
    return number.known ? number.value : -1;
  };
  for (std::int64_t axis : {0, 1, 2}) {
    Words size = words({std::int64_t(op::programs), axis, end});
    CHECK(value_of(size, in_schedule) == 5 + axis);
    CHECK(value_of(size, in_plan) == -1);
  }
  Words device = words({std::int64_t(op::num_sms), end});
  CHECK(value_of(device, in_schedule) == 132);
  CHECK(value_of(device, in_plan) == -1);
  CHECK(value_of(words({std::int64_t(op::programs), 3, end}), in_schedule) == -1);
  CHECK(value_of(words({std::int64_t(op::programs), -1, end}), in_schedule) == -1);
  Words deep;
  for (int i = 0; i <= abi::max_stack; i++)
    deep.push_back(std::int64_t(op::num_sms));
  deep.push_back(end);
  CHECK(value_of(deep, in_schedule) == -1);
}

TEST_CASE("evaluate: refuses malformed expressions") {
  Args args;
  auto refused = [&](const Words &code) {
    return require(code, args).code() == status_code::invalid_argument;
  };
  CHECK(refused(words({end})));
  CHECK(refused(words({std::int64_t(op::add), end})));
  CHECK(refused(words({value, 1, std::int64_t(op::add), end})));
  CHECK(refused(words({value, 1, value, 2, end})));
  CHECK(refused(words({parameter, 4, end})));
  CHECK(refused(words({parameter, -1, end})));
  CHECK(refused(words({std::int64_t(op::neg), end})));
  Words deep;
  for (int i = 0; i <= abi::max_stack; i++)
    deep.insert(deep.end(), {value, 1});
  deep.push_back(end);
  CHECK(refused(deep));
}
