// Tests that passes which divide or regroup rescaled sums (analysis/associative_loop.h) keep their
// results: interprets sums of exponentials before and after all passes.

#include "interpreter/interpreter.h"
#include "matmul_kernel.h"
#include "passes/pipeline.h"
#include "support/schedules.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <limits>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

// Stores the max of each row, and the sum of 2^(x - max). `start`: of the max; `factor` makes the
// next sum from the sum and the growth of the max. `reference` and `base` are the max in a loop and
// after it.
std::string kernel(const std::string &start, const std::string &factor,
                   const std::string &reference = "", const std::string &base = "") {
  const std::string largest = reference.empty() ? "%larger" : "%reference";
  const std::string top = base.empty() ? "%tops" : "%base";
  return R"(func @f(%X: ptr<f32>, %Y: ptr<f32>, %N: i32, %ld: i64) {
    %one = constant {value = 1} : i64
    %size = constant {value = 256} : i32
    %more = constant {value = 255} : i32
    %rounded = add %N, %more : i32
    %n = div %rounded, %size : i32
    %p = program_id {axis = 0} : i32
    %p.wide = cast %p : i64
    %row = mul %p.wide, %ld : i64
    %low = constant {number = )" +
         start + R"(} : f32
    %lowest = splat %low : f32[256]
    %zero = constant {number = 0.0} : f32
    %zeros = splat %zero : f32[256]
    %half.0 = constant {number = 0.5} : f32
    %half = splat %half.0 : f32[256]
    %largest, %sum = for_loop %n, %lowest, %zeros : f32[256], f32[256] {
      (%t: i32, %key: f32[256], %part: f32[256])
      %done = mul %t, %size : i32
      %left = sub %N, %done : i32
      %limit = splat %left : i32[256]
      %i = range {start = 0} : i32[256]
      %on = cmp %i, %limit {pred = "lt"} : i1[256]
      %done.wide = cast %done : i64
      %at = add %row, %done.wide : i64
      %v = view %X, %at, %one : view<f32>[256]
      %x = load %v, %on : f32[256]
      %value = select %on, %x, %lowest : f32[256]
      %larger = max %key, %value : f32[256]
      )" +
         reference + factor +
         R"(
      %old = mul %part, %factor : f32[256]
      %distance = sub %value, )" +
         largest + R"( : f32[256]
      %far = mul %distance, %half : f32[256]
      %y = exp2 %far : f32[256]
      %term = select %on, %y, %zeros : f32[256]
      %next = add %old, %term : f32[256]
      yield %larger, %next
    }
    %top = reduce %largest {axis = 0, op = "max"} : f32
    %tops = splat %top : f32[256]
    )" + base +
         "%below = sub %largest, " + top + R"( : f32[256]
    %below.half = mul %below, %half : f32[256]
    %scale = exp2 %below.half : f32[256]
    %scaled = mul %sum, %scale : f32[256]
    %total = reduce %scaled {axis = 0, op = "add"} : f32
    %results = constant {value = 400} : i32
    %place = mul %p, %results : i32
    %to = addptr %Y, %place : ptr<f32>
    store %to, %top
    %to.sum = addptr %to, %one : ptr<f32>
    store %to.sum, %total
    return
  })";
}

const std::string growth = "%grown = sub %key, %larger : f32[256]\n"
                           "%grown.half = mul %grown, %half : f32[256]\n"
                           "%factor = exp2 %grown.half : f32[256]";

constexpr int rows = 3, distance = 3000, results = 400;

struct Outcome {
  Memory memory;
  std::string reports;
};

// Even numbers, so that sums of powers of two are exact.
double number(int i) { return i * 7 % 13 * 2 - 12; }

using Numbers = double (*)(int);

Outcome interpret(const std::vector<ir::Function> &fns, int n, Numbers numbers) {
  Outcome outcome;
  std::vector<double> elements;
  for (int i = 0; i < rows * distance; i++)
    elements.push_back(numbers(i));
  int x = outcome.memory.add("X", ir::Elem::f32, elements);
  int y = outcome.memory.add("Y", ir::Elem::f32, std::vector<double>(size_t(rows * results), -100));
  Launch launch;
  launch.grid = {rows, 1, 1};
  launch.num_sms = 2;
  launch.arguments = {Element::pointer(x), Element::pointer(y), Element::of_integer(n),
                      Element::of_integer(distance)};
  for (const ir::Function &fn : fns)
    for (const interpreter::Report &report : run(fn, launch, outcome.memory).reports)
      outcome.reports += text_of(report) + "\n";
  return outcome;
}

ir::Function finished(const std::string &text, const Schedule &schedule) {
  ir::Function fn = parsed(text);
  run_pipeline(fn, *find_gpu("90a"), {}, schedule);
  check_rules(fn);
  return fn;
}

// `others`: at least so many schedules beside the baseline.
void check_results(const std::string &text, size_t others, Numbers numbers = number) {
  const ir::Function source = parsed(text);
  std::vector<std::vector<ir::Function>> forms;
  for (const Schedule &schedule : complete_schedules_for(source, *find_gpu("90a"))) {
    forms.emplace_back();
    forms.back().push_back(finished(text, schedule));
  }
  std::optional<PartialsLaunches> launches = partials_launches_for(source, *find_gpu("90a"));
  REQUIRE(launches);
  forms.emplace_back();
  forms.back().push_back(finished(text, launches->first));
  forms.back().push_back(finished(text, launches->second));
  CHECK(forms.size() > others);
  for (int n : {1, 255, 256, 257, 1024, 1025, 2999}) {
    CAPTURE(n);
    std::vector<ir::Function> one;
    one.push_back(clone(source));
    const Outcome expected = interpret(one, n, numbers);
    CHECK(expected.reports == "");
    for (const std::vector<ir::Function> &form : forms) {
      const Outcome found = interpret(form, n, numbers);
      if (found.reports.find("does not meet the requirement") != std::string::npos)
        continue; // another schedule runs this launch
      CHECK(found.reports == "");
      CHECK(difference(expected.memory, found.memory) == "");
    }
  }
}

constexpr size_t batched_and_split = 3; // batched, cluster, partials

} // namespace

TEST_CASE("rescaled sums: the same results in all schedules") {
  check_results(kernel("-3.4028234663852886e+38", growth), batched_and_split);
}

TEST_CASE("rescaled sums: elements of -infinity count as nothing behind a guard") {
  const std::string start = "-inf";
  auto guarded = [](const std::string &result, const std::string &key) {
    return "%is." + key + " = cmp %" + key + ", %lowest {pred = \"eq\"} : i1[256]\n%" + result +
           " = select %is." + key + ", %zeros, %" + key + " : f32[256]\n";
  };
  const std::string text = kernel(start, with(growth, "%key, %larger", "%key, %reference"),
                                  guarded("reference", "larger"), guarded("base", "tops"));
  constexpr double none = -std::numeric_limits<double>::infinity();
  check_results(text, batched_and_split);
  check_results(text, batched_and_split, [](int i) { return i % 5 ? number(i) : none; });
  check_results(text, batched_and_split,
                [](int i) { return i % distance < 2000 ? none : number(i); });
  check_results(text, batched_and_split,
                [](int i) { return i < distance ? none : number(i); }); // one row
  check_results(text, batched_and_split, [](int) { return none; });
}

namespace {

// Reads n / 256 matrices of 16 x 16 elements one after the other. Stores the max of each row, and
// for each element, the sum of 2^(x - max of its row). `axis`: that a key does not have.
std::string kernel_of_matrices(int axis) {
  const std::string one = axis ? "[16,1]" : "[1,16]", expand = " {axis = " + std::to_string(axis);
  return R"(func @f(%X: ptr<f32>, %Y: ptr<f32>, %N: i32, %ld: i64) {
    %one = constant {value = 1} : i64
    %width = constant {value = 16} : i64
    %size = constant {value = 256} : i32
    %n = div %N, %size : i32
    %p = program_id {axis = 0} : i32
    %p.wide = cast %p : i64
    %row = mul %p.wide, %ld : i64
    %low = constant {number = -3.4028234663852886e+38} : f32
    %lowest = splat %low : f32[16]
    %zero = constant {number = 0.0} : f32
    %zeros = splat %zero : f32[16,16]
    %keys, %sums = for_loop %n, %lowest, %zeros : f32[16], f32[16,16] {
      (%t: i32, %key: f32[16], %sum: f32[16,16])
      %done = mul %t, %size : i32
      %done.wide = cast %done : i64
      %at = add %row, %done.wide : i64
      %v = view %X, %at, %width, %one : view<f32>[16,16]
      %x = load %v : f32[16,16]
      %most = reduce %x)" +
         expand + R"(, op = "max"} : f32[16]
      %larger = max %key, %most : f32[16]
      %grown = sub %key, %larger : f32[16]
      %factor = exp2 %grown : f32[16]
      %factor.1 = expand %factor)" +
         expand + "} : f32" + one + R"(
      %factors = broadcast %factor.1 : f32[16,16]
      %old = mul %sum, %factors : f32[16,16]
      %larger.1 = expand %larger)" +
         expand + "} : f32" + one + R"(
      %above = broadcast %larger.1 : f32[16,16]
      %distance = sub %x, %above : f32[16,16]
      %term = exp2 %distance : f32[16,16]
      %next = add %old, %term : f32[16,16]
      yield %larger, %next
    }
    %results = constant {value = 400} : i64
    %place = mul %p.wide, %results : i64
    %to = view %Y, %place, %width, %one : view<f32>[16,16]
    store %to, %sums
    %behind = constant {value = 256} : i64
    %place.keys = add %place, %behind : i64
    %to.keys = view %Y, %place.keys, %one : view<f32>[16]
    store %to.keys, %keys
    return
  })";
}

// The same with keys of 16 x 1 elements.
std::string kernel_of_narrow_keys() {
  std::string text = with(kernel_of_matrices(1), "f32[16]", "f32[16,1]");
  text = with(text, "op = \"max\"} : f32[16,1]",
              "op = \"max\"} : f32[16]\n%most.1 = expand %most {axis = 1} : f32[16,1]");
  text = with(text, "max %key, %most", "max %key, %most.1");
  for (std::string name : {"%factor", "%larger"}) {
    text = with(text, name + ".1 = expand " + name + " {axis = 1} : f32[16,1]\n", "");
    text = with(text, "broadcast " + name + ".1", "broadcast " + name);
  }
  return with(text, "%place.keys, %one : view<f32>[16]",
              "%place.keys, %one, %one : view<f32>[16,1]");
}

// The same for the columns of a matrix with 256 columns, and one key.
const std::string kernel_of_columns = R"(func @f(%X: ptr<f32>, %Y: ptr<f32>, %N: i32, %ld: i64) {
    %one = constant {value = 1} : i64
    %size = constant {value = 256} : i32
    %n = div %N, %size : i32
    %p = program_id {axis = 0} : i32
    %p.wide = cast %p : i64
    %row = mul %p.wide, %ld : i64
    %low = constant {number = -3.4028234663852886e+38} : f32
    %zero = constant {number = 0.0} : f32
    %zeros = splat %zero : f32[256]
    %largest, %sums = for_loop %n, %low, %zeros : f32, f32[256] {
      (%t: i32, %key: f32, %sum: f32[256])
      %done = mul %t, %size : i32
      %done.wide = cast %done : i64
      %at = add %row, %done.wide : i64
      %v = view %X, %at, %one : view<f32>[256]
      %x = load %v : f32[256]
      %most = reduce %x {axis = 0, op = "max"} : f32
      %larger = max %key, %most : f32
      %grown = sub %key, %larger : f32
      %factor = exp2 %grown : f32
      %factors = splat %factor : f32[256]
      %old = mul %sum, %factors : f32[256]
      %above = splat %larger : f32[256]
      %distance = sub %x, %above : f32[256]
      %term = exp2 %distance : f32[256]
      %next = add %old, %term : f32[256]
      yield %larger, %next
    }
    %results = constant {value = 400} : i64
    %place = mul %p.wide, %results : i64
    %to = view %Y, %place, %one : view<f32>[256]
    store %to, %sums
    %behind = constant {value = 256} : i64
    %place.key = add %place, %behind : i64
    %to.key = addptr %Y, %place.key : ptr<f32>
    store %to.key, %largest
    return
  })";

// Rows and columns differ, and grow.
double growing_number(int i) {
  const int matrix = i % distance / 256, row = i % distance / 16 % 16, column = i % 16;
  return double((row * 7 + column * 5) % 11 + matrix / 4 * (row % 4));
}

constexpr size_t split = 1;

} // namespace

TEST_CASE("rescaled sums: a key for each row of a sum") {
  check_results(kernel_of_matrices(1), split, growing_number);
}

TEST_CASE("rescaled sums: a key for each column of a sum") {
  check_results(kernel_of_matrices(0), split, growing_number);
}

TEST_CASE("rescaled sums: keys with an axis of one element") {
  check_results(kernel_of_narrow_keys(), split, growing_number);
}

TEST_CASE("rescaled sums: one key for a whole sum") {
  check_results(kernel_of_columns, split, growing_number);
}
