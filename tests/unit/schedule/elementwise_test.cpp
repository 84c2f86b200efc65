// Tests schedule/: the candidate schedules of a kernel without a matmul, and their costs.

#include "found_schedules.h"

#include "analysis/memory_access.h"
#include "passes/pipeline.h"
#include "schedule/cost_formulas.h"
#include "target/cost_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("elementwise cost: selects a width that suits the row length") {
  auto best_width = [](int64_t rows, int64_t n) {
    int64_t best = 0, least = INT64_MAX;
    for (int width : {64, 128, 256, 512, 1024, 2048, 4096}) {
      std::optional<Expr> cost = schedules(row_kernel(width)).back().cost;
      REQUIRE(cost);
      int64_t value = value_of(*cost, rows, n);
      CHECK(value > 0);
      if (value < least) {
        least = value;
        best = width;
      }
    }
    return best;
  };
  CHECK(best_width(16, 64) == 64);
  CHECK(best_width(16, 100) == 128);
  CHECK(best_width(16, 1000) == 1024);
  CHECK(best_width(16, 4096) >= 1024);
  CHECK(best_width(16384, 64) == 64);
  CHECK(best_width(16384, 8200) < 1024); // the last iteration of a wider program is almost empty
}

TEST_CASE("elementwise cost: higher occupancy needs fewer waves") {
  std::vector<Found> found = schedules(row_kernel(1024));
  REQUIRE(found.back().work_of_a_block);
  const int64_t estimated = found.back().work_of_a_block->estimated_occupancy;
  // Before compilation, the cost uses the estimated occupancy.
  CHECK(value_of(*found.back().cost, 1000, 4096) ==
        value_of(cost_of_elementwise(*found.back().work_of_a_block, Expr::constant(estimated)),
                 1000, 4096));
  BlockWork work = *found.back().work_of_a_block;
  work.bytes = Expr::constant(0);
  CHECK(work.threads == 128);
  CHECK(estimated > 1);
  auto cost = [&](int64_t resident, int64_t programs) {
    return value_of(cost_of_elementwise(work, Expr::constant(resident)), programs, 4096);
  };
  CHECK(cost(4, 132 * 4) < cost(3, 132 * 4));
  CHECK(cost(4, 132 * 4) < cost(4, 132 * 4 + 1));
  CHECK(cost(4, 132 * 3) < cost(4, 132 * 3 + 1)); // a smaller wave takes less time
  CHECK(cost(4, 132 * 3 + 1) == cost(4, 132 * 4));
  CHECK(cost(8, 132 * 3) == cost(4, 132 * 3)); // one wave in both cases
  // A matmul has no such work: its blocks already have the maximum size.
  for (const Found &schedule : schedules(matmul_kernel()))
    CHECK_FALSE(schedule.work_of_a_block);
}

namespace {

// The schedule in which a block runs several programs, without joined rows; nullopt: none.
std::optional<Found> batched(const std::string &text, const char *gpu = "90a") {
  std::vector<Found> found = schedules(text, gpu);
  for (size_t i = 0; i < found.size(); i++)
    if ((found[i].kind == Schedule::Kind::batched && !found[i].joined_rows) ||
        found[i].kind == Schedule::Kind::program_per_warp) {
      CHECK(i <= 1);
      return found[i];
    }
  return std::nullopt;
}

// Each program computes 64 elements %y from its elements %x.
std::string kernel_of_elements(const std::string &operations) {
  return "func @f(%x: ptr<f32>, %y: ptr<f32>, %n: i32) {\n"
         " %p = program_id {axis = 0} : i32\n"
         " %size = constant {value = 64} : i32\n"
         " %first = mul %p, %size : i32\n"
         " %firsts = splat %first : i32[64]\n"
         " %range = range {start = 0} : i32[64]\n"
         " %i = add %firsts, %range : i32[64]\n"
         " %xs = splat %x : ptr<f32>[64]\n"
         " %from = addptr %xs, %i : ptr<f32>[64]\n"
         " %a = load %from : f32[64]\n" +
         operations +
         "\n %ys = splat %y : ptr<f32>[64]\n"
         " %to = addptr %ys, %i : ptr<f32>[64]\n"
         " store %to, %b\n"
         " return\n"
         "}";
}

} // namespace

TEST_CASE("candidate_schedules: a block runs several programs with few elements") {
  for (const char *gpu : {"75", "80", "90a", "120"})
    for (int width : {16, 64, 256, 1024}) {
      CAPTURE(gpu);
      CAPTURE(width);
      std::optional<Found> found = batched(row_kernel(width), gpu);
      REQUIRE(found);
      CHECK(text_of(*found) == (width <= 256 ? std::to_string(4096 / width) + " programs per block"
                                             : "program per warp"));
      CHECK(found->coarsening == std::vector<int64_t>{4096 / width, 1, 1});
      CHECK(found->work == Schedule::Work::all);
      CHECK(found->cost);
    }
  for (int width : {2048, 4096}) // enough elements
    CHECK_FALSE(batched(row_kernel(width)));
  CHECK_FALSE(batched(matmul_kernel(16, 16, 16)));
}

TEST_CASE("candidate_schedules: a block that loads several arrays runs fewer programs") {
  // The programs of a block, if a program also loads the elements of %y at `index`.
  auto of_sum_with = [](const std::string &index) {
    return batched(kernel_of_elements("%zs = splat %y : ptr<f32>[64]\n"
                                      " %there = addptr %zs, " +
                                      index +
                                      " : ptr<f32>[64]\n"
                                      " %z = load %there : f32[64]\n"
                                      " %sum = add %a, %z : f32[64]\n"
                                      " %b = scan %sum {axis = 0, op = \"add\"} : f32[64]"));
  };
  CHECK(text_of(of_sum_with("%i").value()) == "32 programs per block");
  CHECK(text_of(of_sum_with("%range").value()) == "64 programs per block"); // the same for all
}

TEST_CASE("candidate_schedules: programs with independent elements are not batched") {
  CHECK_FALSE(batched(kernel_of_elements("%b = exp %a : f32[64]")));
  for (const char *dependent :
       {"%b = scan %a {axis = 0, op = \"add\"} : f32[64]",
        "%s = reduce %a {axis = 0, op = \"add\"} : f32\n %b = splat %s : f32[64]",
        "%b = for_loop %n, %a : f32[64] {\n (%t: i32, %c: f32[64])\n"
        " %d = exp %c : f32[64]\n yield %d\n }"}) {
    CAPTURE(std::string(dependent));
    std::optional<Found> found = batched(kernel_of_elements(dependent));
    REQUIRE(found);
    CHECK(text_of(*found) == "64 programs per block");
  }
}

TEST_CASE("candidate_schedules: programs with their own order are not batched") {
  const std::string text = row_kernel(64), store = "store %to, %total";
  CHECK(batched(text));
  CHECK_FALSE(batched(with(text, store, "barrier\n " + store)));
  CHECK_FALSE(batched(with(text, store, "%old = atomic %to, %total {op = \"add\"} : f32")));
  // All programs store to the same place, or they have different numbers of iterations.
  CHECK_FALSE(batched(with(text, store, "store %y, %total")));
  CHECK_FALSE(batched(with(text, "div %more, %width", "mul %row, %width")));
}

TEST_CASE("candidate_schedules: programs with their own order have a warp") {
  const std::string text = row_kernel(1024), store = "store %to, %total";
  for (const char *more : {"barrier\n ", "%old = atomic %to, %total {op = \"add\"} : f32\n "}) {
    CAPTURE(std::string(more));
    std::optional<Found> found = batched(with(text, store, more + store));
    REQUIRE(found);
    CHECK(text_of(*found) == "program per warp");
  }
  // The host cannot compute the number of iterations.
  CHECK_FALSE(batched(with(text, "div %more, %width", "mul %row, %width")));
}

TEST_CASE("elementwise cost: many short programs run side by side, few run one per block") {
  struct {
    int width;
    int64_t rows;
    bool is_batched;
  } cases[] = {{64, 1, false},       {64, 132, false},  {64, 1000000, true}, {128, 132, false},
               {128, 1000000, true}, {512, 132, false}, {512, 1000000, true}};
  for (const auto &[width, rows, is_batched] : cases) {
    CAPTURE(width);
    CAPTURE(rows);
    std::vector<Found> found = schedules(row_kernel(width));
    const std::optional<Found> several = batched(row_kernel(width));
    REQUIRE(several);
    REQUIRE(found.back().is_baseline());
    auto cost = [&, rows = rows, n = width](const Found &schedule) {
      return value_of(*schedule.cost, rows, n);
    };
    CHECK((cost(*several) < cost(found.back())) == is_batched);
    // A block that is not full takes as long as a full one.
    const int64_t times = several->coarsening[0];
    BlockWork without_bytes = *several->work_of_a_block;
    without_bytes.bytes = Expr::constant(0);
    const Expr of_block = cost_of_elementwise(without_bytes, Expr::constant(8));
    CHECK(value_of(of_block, times, width) == value_of(of_block, 1, width));
    CHECK(value_of(*several->cost, 132000 * times, width) <
          value_of(*several->cost, 132000 * times + 1, width));
  }
}

TEST_CASE("elementwise cost: a block with several programs has the work of all") {
  for (const auto &[width, times] : {std::pair(64, 64), std::pair(512, 8)}) {
    CAPTURE(width);
    std::vector<Found> found = schedules(row_kernel(width));
    std::optional<Found> several = batched(row_kernel(width));
    REQUIRE(several->work_of_a_block);
    REQUIRE(found.back().work_of_a_block);
    const BlockWork &all = *several->work_of_a_block, &one = *found.back().work_of_a_block;
    auto value = [](const Expr &expr) { return value_of(expr, 1000, 1280); };
    CHECK(value(one.blocks) == 1000);
    CHECK(value(all.blocks) == (1000 + times - 1) / times);
    CHECK(value(*all.iterations) == value(*one.iterations));
    CHECK(value(all.operations) >= times * value(one.operations));
    CHECK(value(all.accesses) == times * value(one.accesses));
    CHECK(value(all.bytes) == value(one.bytes)); // of all blocks
    CHECK(all.threads > one.threads);
  }
}

namespace {

// A row kernel with a second loop over the row, whose values end in ".2". The second loop adds to the
// result of the first.
std::string two_loops(int width) {
  const std::string text = row_kernel(width);
  const size_t begin = text.find("%sum = for_loop"), end = text.find("%total = ");
  std::string second;
  for (size_t at = begin; at < end; at++) {
    second += text[at];
    bool is_name = text[at] == '%';
    if (!is_name)
      continue;
    std::string name;
    while (std::isalpha(static_cast<unsigned char>(text[at + 1])))
      name += text[++at];
    const bool is_outer = name == "iterations" || name == "width" || name == "N" || name == "i" ||
                          name == "p" || name == "none";
    second += name + (is_outer ? "" : ".2");
  }
  second = with(second, "%iterations, %none", "%iterations, %sum");
  return with(text, "%total = reduce %sum", second + "%total = reduce %sum.2");
}

std::vector<std::string> all_names(const std::string &text, const char *gpu = "90a") {
  std::vector<std::string> names;
  for (const Found &schedule : schedules(text, gpu))
    names.push_back(text_of(schedule));
  return names;
}

} // namespace

TEST_CASE("candidate_schedules: loops over one row load it once") {
  using Names = std::vector<std::string>;
  for (const char *gpu : {"75", "80", "90a", "120"}) {
    CAPTURE(gpu);
    CHECK(all_names(two_loops(64), gpu) ==
          Names{"64 programs per block, one iteration, joined rows",
                "64 programs per block, one iteration",
                "16 programs per block, 3 iterations, joined rows",
                "16 programs per block, 3 iterations",
                "8 programs per block, 5 iterations, joined rows",
                "8 programs per block, 5 iterations",
                "8 programs per block, 7 iterations, joined rows",
                "8 programs per block, 7 iterations", "one iteration", "staged", "baseline"});
    // A program per block where no block has several, as far as a thread has registers for its
    // elements.
    CHECK(all_names(two_loops(512), gpu) == Names{"program per warp, one iteration",
                                                  "one iteration", "3 iterations", "5 iterations",
                                                  "7 iterations", "staged", "baseline"});
    // A warp has a program of two to eight vectors per lane.
    Names by_warps;
    for (const Found &schedule : schedules(two_loops(256), gpu))
      if (schedule.kind == Schedule::Kind::program_per_warp) {
        by_warps.push_back(text_of(schedule));
        const int64_t warps = by_warps.size() == 1 ? 8 : 4;
        CHECK(schedule.coarsening == std::vector<int64_t>{warps, 1, 1});
      }
    CHECK(by_warps == Names{"program per warp, 2 iterations", "program per warp, 3 iterations",
                            "program per warp, 4 iterations", "program per warp, 5 iterations",
                            "program per warp, 6 iterations", "program per warp, 7 iterations",
                            "program per warp, 8 iterations"});
    CHECK(all_names(two_loops(2048), gpu) ==
          Names{"one iteration", "3 iterations", "staged", "baseline"});
    CHECK(all_names(two_loops(4096), gpu) == Names{"one iteration", "staged", "baseline"});
  }
}

TEST_CASE("candidate_schedules: one loop, or loops over several rows, load as they do") {
  auto load_once = [](const std::string &text) {
    for (const Found &schedule : schedules(text))
      if (schedule.staged || (schedule.iterations && !schedule.joined_rows))
        return true;
    return false;
  };
  CHECK(load_once(two_loops(256)));
  CHECK_FALSE(load_once(row_kernel(256)));
  CHECK_FALSE(load_once(with(two_loops(256), "%q.2 = addptr %p,", "%q.2 = addptr %px,")));
  CHECK_FALSE(load_once(with(two_loops(256), "%sum.2 = ", "barrier\n %sum.2 = ")));
  CHECK_FALSE(load_once(matmul_kernel()));
}

namespace {

// Two loops over one row; the second stores a row.
std::string two_loops_and_a_row(int width) {
  const std::string n = std::to_string(width);
  return with(two_loops(width), "%t.2 = ",
              "%y.2 = addptr %y, %base : ptr<f32>\n %ys.2 = splat %y.2 : ptr<f32>[" + n +
                  "]\n %yi.2 = addptr %ys.2, %i : ptr<f32>[" + n +
                  "]\n %yq.2 = addptr %yi.2, %steps.2 : ptr<f32>[" + n +
                  "]\n store %yq.2, %e.2, %inside.2\n %t.2 = ");
}

} // namespace

TEST_CASE("candidate_schedules: rows that vectors cannot access are joined") {
  const std::string joined = "64 programs per block, one iteration, joined rows";
  auto is_joined = [&](const std::string &text, const char *gpu = "90a") {
    return all_names(text, gpu)[0] == joined;
  };
  const std::string text = two_loops(64);
  for (const char *gpu : {"75", "80", "90a", "120"})
    CHECK(is_joined(text, gpu));
  CHECK(is_joined(row_kernel(64)));
  CHECK_FALSE(is_joined(two_loops(4096)));
  CHECK_FALSE(is_joined(two_loops_and_a_row(64))); // rows and totals in one array
  std::vector<Found> found = schedules(text);
  for (int64_t rows : {100, 1 << 20})
    CHECK(value_of(*found[0].cost, rows, 64) < value_of(*found[1].cost, rows, 64));
  CHECK(value_of(found[0].work_of_a_block->bytes, 1, 64) ==
        value_of(found[1].work_of_a_block->bytes, 1, 64));
}

TEST_CASE("candidate_schedules: blocks share the loop of a program, if it only computes totals") {
  const std::string text = row_kernel(1024), names = "split loop, partials";
  auto is_split = [&](const std::string &kernel) {
    std::vector<std::string> all = all_names(kernel);
    return std::find(all.begin(), all.end(), names) != all.end();
  };
  CHECK(is_split(text));
  CHECK_FALSE(is_split(with(text, "constant {number = 0.0}", "constant {number = 1.0}")));
}

TEST_CASE("elementwise cost: blocks share long loops of few programs") {
  std::vector<Found> found = schedules(row_kernel(1024));
  auto split = std::find_if(found.begin(), found.end(), [](const Found &schedule) {
    return schedule.kind == Schedule::Kind::split_loop && schedule.is_first();
  });
  REQUIRE(split != found.end());
  auto is_cheaper = [&](int64_t rows, int64_t n) {
    return value_of(*split->cost, rows, n) < value_of(*found.back().cost, rows, n);
  };
  CHECK(is_cheaper(1, 1 << 20));
  CHECK(is_cheaper(16, 1 << 20));
  CHECK_FALSE(is_cheaper(1, 1024));
  CHECK_FALSE(is_cheaper(100000, 1 << 16));
  // The second launch takes longer for more partials, and for more programs.
  auto second = [&](int64_t rows, int64_t n) {
    return value_of(*split->work_of_a_block->second_launch, rows, n);
  };
  CHECK(second(1, 1024) == second(1, 4096));
  CHECK(second(1, 1 << 24) > second(1, 1024));
  CHECK(second(100000, 1024) > 4 * second(1, 1024));
}

namespace {

const int64_t edges = find_gpu("90a")->costs->elementwise.edge_bytes,
              next_part = find_gpu("90a")->costs->elementwise.next_part_bytes;

} // namespace

TEST_CASE("elementwise cost: memory fetches more than an element of a strided tile") {
  auto bytes = [](const std::string &index, int64_t n = 1) {
    std::string text = kernel_of_elements("%b = exp %a : f32[64]");
    text = with(text, "addptr %xs, %i ", "addptr %xs, %j ");
    text = with(text, "%xs = splat %x", index + "\n %xs = splat %x");
    return value_of(schedules(text).back().work_of_a_block->bytes, 1, n);
  };
  const int64_t result = 64 * 4 + edges;
  const std::string contiguous = "%zero = constant {value = 0} : i32\n %z = splat %zero : i32[64]\n"
                                 "%j = add %i, %z : i32[64]",
                    strided = "%eight = constant {value = 8} : i32\n %e = splat %eight : i32[64]\n"
                              "%j = mul %i, %e : i32[64]",
                    by_launch = "%ns = splat %n : i32[64]\n %j = mul %i, %ns : i32[64]";
  CHECK(bytes(contiguous) == 64 * 4 + edges + result);
  CHECK(bytes(strided) == 64 * 32 + result);
  CHECK(bytes(with(strided, "value = 8", "value = -2")) == 64 * 8 + result);
  // The launch knows the distance of neighbors.
  CHECK(bytes(by_launch, 1) == 64 * 4 + result);
  CHECK(bytes(by_launch, 3) == 64 * 12 + result);
  CHECK(bytes(by_launch, 100) == 64 * 32 + result);
}

TEST_CASE("elementwise cost: memory moves no elements outside of the data") {
  const BlockWork row = *schedules(row_kernel(1024)).back().work_of_a_block;
  for (int64_t n : {0, 1, 100, 1024, 5000})
    CHECK(value_of(row.bytes, 7, n) ==
          7 * (n * 4 + std::max<int64_t>(n - 1, 0) / 1024 * next_part + 4));
  // The last program of a grid.
  const std::string text = kernel_of_elements("%b = exp %a : f32[64]");
  ir::Function fn = canonical_form(parsed(text));
  auto bytes = [&](int64_t n) { return value_of(traffic_of(fn, *find_gpu("90a")).all, 100, n); };
  CHECK(bytes(6370) == 100 * (64 * 8 + 2 * edges));
  const Expr n = Expr::parameter(2), size = Expr::constant(64);
  fn.plan.grid = {Expr::binary(Expr::Kind::ceil_div, n, size)};
  CHECK(bytes(6370) == 6370 * 8 + 100 * 2 * edges);
  fn.plan.grid = {Expr::binary(Expr::Kind::div, n, size)}; // not rounded up
  CHECK(bytes(6370) == 99 * (64 * 8 + 2 * edges));
}

TEST_CASE("elementwise cost: a part that is not aligned shares sectors with its neighbors") {
  auto bytes = [](const char *alignment) {
    const std::string all = kernel_of_elements("%b = exp %a : f32[64]"), y = "%y: ptr<f32>";
    return value_of(schedules(with(all, y, y + alignment)).back().work_of_a_block->bytes, 1, 1);
  };
  CHECK(bytes("") == 64 * 8 + 2 * edges);
  CHECK(bytes(" aligned 4") == 64 * 8 + edges + 2 * sector_bytes);
}

TEST_CASE("elementwise cost: parts that the next iteration continues take longer") {
  // Each program adds 8 rows, 1024 / 8 elements of each in an iteration.
  auto bytes = [](const std::string &step, int64_t n, const std::string &pitch = "4096") {
    const std::string text = "func @f(%x: ptr<f32>, %y: ptr<f32>, %n: i32) {\n"
                             " %p = program_id {axis = 0} : i32\n"
                             " %k = range {start = 0} : i32[128]\n"
                             " %k1 = expand %k {axis = 0} : i32[1,128]\n"
                             " %k2 = broadcast %k1 : i32[8,128]\n"
                             " %q = range {start = 0} : i32[8]\n"
                             " %eight = constant {value = 8} : i32\n"
                             " %first = mul %p, %eight : i32\n"
                             " %fs = splat %first : i32[8]\n"
                             " %row = add %fs, %q : i32[8]\n"
                             " %row1 = expand %row {axis = 1} : i32[8,1]\n"
                             " %row2 = broadcast %row1 : i32[8,128]\n"
                             " %pitch = constant {value = " +
                             pitch +
                             "} : i32\n"
                             " %ps = splat %pitch : i32[8,128]\n"
                             " %start = mul %row2, %ps : i32[8,128]\n"
                             " %i = add %start, %k2 : i32[8,128]\n"
                             " %zero = constant {number = 0.0} : f32\n"
                             " %zeros = splat %zero : f32[8,128]\n"
                             " %sum = for_loop %n, %zeros : f32[8,128] {\n"
                             "  (%t: i32, %c: f32[8,128])\n"
                             "  %step = constant {value = " +
                             step +
                             "} : i32\n"
                             "  %moved = mul %t, %step : i32\n"
                             "  %ms = splat %moved : i32[8,128]\n"
                             "  %j = add %i, %ms : i32[8,128]\n"
                             "  %xs = splat %x : ptr<f32>[8,128]\n"
                             "  %from = addptr %xs, %j : ptr<f32>[8,128]\n"
                             "  %a = load %from : f32[8,128]\n"
                             "  %d = add %c, %a : f32[8,128]\n"
                             "  yield %d\n }\n"
                             " %totals = reduce %sum {axis = 1, op = \"add\"} : f32[8]\n"
                             " %ys = splat %y : ptr<f32>[8]\n"
                             " %to = addptr %ys, %row : ptr<f32>[8]\n"
                             " store %to, %totals\n"
                             " return\n}";
    return value_of(traffic_of(canonical_form(parsed(text)), *find_gpu("90a")).all, 1, n);
  };
  const int64_t result = 8 * 4 + edges;
  for (int64_t n : {1, 2, 10}) {
    CHECK(bytes("128", n) == 8 * (n * 128 * 4 + (n - 1) * next_part) + result);
    CHECK(bytes("256", n) == 8 * n * (128 * 4 + edges) + result); // another part of the row
    // The next row is in the same sectors.
    CHECK(bytes("128", n, "132") == 8 * (n * 128 * 4 + (n - 1) * 16) + result);
    CHECK(bytes("128", n, "128") == 8 * n * 128 * 4 + result);
  }
}

TEST_CASE("elementwise cost: what all programs load does not come from memory") {
  auto bytes = [](const std::string &index) {
    const std::string text =
        kernel_of_elements("%ws = splat %x : ptr<f32>[64]\n %w = addptr %ws, " + index +
                           " : ptr<f32>[64]\n %c = load %w : f32[64]\n %b = add %a, %c : f32[64]");
    return value_of(schedules(text).back().work_of_a_block->bytes, 10, 1);
  };
  CHECK(bytes("%range") == 10 * (64 * 8 + 2 * edges));
  CHECK(bytes("%firsts") > 10 * (64 * 8 + 2 * edges));
}

TEST_CASE("elementwise cost: staged loops wait for no loads") {
  std::vector<Found> found = schedules(two_loops_and_a_row(1024));
  REQUIRE(found[found.size() - 2].staged);
  const BlockWork &staged = *found[found.size() - 2].work_of_a_block,
                  &baseline = *found.back().work_of_a_block;
  auto value = [](const Expr &expr) { return value_of(expr, 1, 8192); };
  CHECK(value(*baseline.iterations) == 16);
  CHECK(value(baseline.waits) == 16);
  CHECK(*baseline.iterations == Expr::binary(Expr::Kind::mul, baseline.iterations->operands[0],
                                             Expr::constant(2))); // both loops are one term
  CHECK(value(*staged.iterations) == 24);
  CHECK(value(staged.waits) == 0);
}

TEST_CASE("elementwise cost: a row that is loaded once needs less of memory") {
  std::vector<Found> found = schedules(two_loops_and_a_row(1024));
  REQUIRE(all_names(two_loops_and_a_row(1024)) ==
          std::vector<std::string>{"program per warp, one iteration", "one iteration",
                                   "3 iterations", "5 iterations", "7 iterations", "staged",
                                   "baseline"});
  auto bytes = [&](const Found &schedule, int64_t n) {
    return value_of(schedule.work_of_a_block->bytes, 1, n);
  };
  const int64_t tile = 1024 * 4, result = 4;
  const Found &several = found[0], &once = found[1], &three = found[2], &staged = found[5],
              &baseline = found[6];
  for (int64_t tiles : {1, 3}) {
    CHECK(bytes(baseline, 1024 * tiles) == 3 * (tile * tiles + (tiles - 1) * next_part) + result);
    CHECK(bytes(staged, 1024 * tiles) == 2 * tile * tiles + result);
  }
  CHECK(bytes(once, 1024) == 2 * tile + result);
  CHECK(bytes(several, 1024) == 2 * tile + result);
  CHECK(bytes(three, 3 * 1024) == 3 * 2 * tile + result);
  // Memory limits many long rows.
  CHECK(value_of(*staged.cost, 100000, 8192) < value_of(*baseline.cost, 100000, 8192));
  CHECK(value_of(*once.cost, 100000, 1024) < value_of(*staged.cost, 100000, 1024));
  // All copies of a row start before the first is needed.
  CHECK(value_of(*staged.cost, 1, 8192) < value_of(*baseline.cost, 1, 8192));
}

TEST_CASE("elementwise cost: the first programs wait for late loads of what all programs load") {
  const Gpu &gpu = *find_gpu("90a");
  auto work = [&](const std::string &first) {
    std::optional<BlockWork> found = work_of_blocks(parsed(R"(
      func @f(%x: ptr<f32>, %y: ptr<f32>, %ld: i64) {
        %one = constant {value = 1} : i64
        %zero = constant {value = 0} : i64
        %size = constant {value = 64} : i64
        %p = program_id {axis = 0} : i32
        %wide = cast %p : i64
        %row = mul %wide, %ld : i64
        %next = add %row, %size : i64
        %v = view %x, )" + first + R"(, %one : view<f32>[64]
        %a = load %v : f32[64]
        %b = load %v : f32[64]
        %u = view %y, %row, %one : view<f32>[64]
        store %u, %a
        %c = load %v : f32[64]
        %d = load %v : f32[64]
        %e = add %c, %d : f32[64]
        %w = view %y, %next, %one : view<f32>[64]
        store %w, %e
        return
      })"),
                                                    number(1), number(0), gpu);
    REQUIRE(found);
    return *found;
  };
  const BlockWork shared = work("%zero"), own = work("%row");
  CHECK(shared.late_loads == 1);
  CHECK(own.late_loads == 0);
  BlockWork without = shared;
  without.late_loads = 0;
  for (int64_t programs : {1, 100000}) // once, not in each wave
    CHECK(value_of(cost_of_elementwise(shared, number(1)), programs, 1) ==
          value_of(cost_of_elementwise(without, number(1)), programs, 1) +
              int64_t(gpu.costs->elementwise.wait));
}

TEST_CASE("elementwise cost: a staged schedule has the threads of the baseline") {
  for (const std::string &text : {two_loops(1024), two_loops_and_a_row(1024)}) {
    std::vector<Found> found = schedules(text);
    const Found &staged = found[found.size() - 2], &baseline = found.back();
    REQUIRE(staged.staged);
    CHECK(staged.work_of_a_block->threads == baseline.work_of_a_block->threads);
  }
}

namespace {

// A program sums a row of x, then subtracts the sum from the row, into a row of y.
std::string subtracted_sum(int width) {
  const std::string n = std::to_string(width);
  std::string loop = R"( %totals = splat %total : f32[W]
    for_loop %iterations {
      (%k.2: i32)
      %step.2 = mul %k.2, %width : i32
      %steps.2 = splat %step.2 : i32[W]
      %q.2 = addptr %p, %steps.2 : ptr<f32>[W]
      %left.2 = sub %N, %step.2 : i32
      %lefts.2 = splat %left.2 : i32[W]
      %inside.2 = cmp %i, %lefts.2 {pred = "lt"} : i1[W]
      %v.2 = load %q.2, %inside.2, %none : f32[W]
      %d = sub %v.2, %totals : f32[W]
      %y.2 = addptr %y, %base : ptr<f32>
      %ys.2 = splat %y.2 : ptr<f32>[W]
      %yi.2 = addptr %ys.2, %i : ptr<f32>[W]
      %yq.2 = addptr %yi.2, %steps.2 : ptr<f32>[W]
      store %yq.2, %d, %inside.2
      yield
    }
)";
  for (size_t at; (at = loop.find('W')) != std::string::npos;)
    loop.replace(at, 1, n);
  return with(row_kernel(width), " %to = addptr", loop + " %to = addptr");
}

} // namespace

TEST_CASE("candidate_schedules: the blocks of a cluster divide all loops of a program") {
  using Names = std::vector<std::string>;
  const Names clusters = {"one iteration",        "staged",       "cluster of 4, staged",
                          "cluster of 8, staged", "cluster of 8", "baseline"};
  for (const char *gpu : {"90", "90a", "100a", "120"})
    CHECK(all_names(subtracted_sum(4096), gpu) == clusters);
  for (const char *gpu : {"75", "80", "89"})
    CHECK(all_names(subtracted_sum(4096), gpu) == Names{"one iteration", "staged", "baseline"});
  // Also without tiles that several loops load.
  const std::string apart = with(subtracted_sum(4096), "%v.2 = load %q.2, %inside.2, %none",
                                 "%v.2 = load %q.2, %inside.2, %none {cache = \"cs\"}");
  CHECK(all_names(apart) == Names{"cluster of 8", "baseline"});
  // Also a loop without a total.
  std::string no_total = with(subtracted_sum(4096), "splat %total", "splat %zero");
  no_total = with(no_total, "store %to, %total", "");
  const size_t sum = no_total.find(" %sum = ");
  no_total.erase(sum, no_total.find(" %totals = ") - sum);
  CHECK(all_names(no_total) == Names{"cluster of 8", "baseline"});
}

TEST_CASE("candidate_schedules: no clusters for few elements, one loop, or other loops") {
  auto has_cluster = [](const std::string &text) {
    const std::vector<Found> found = schedules(text);
    return std::any_of(found.begin(), found.end(),
                       [](const Found &schedule) { return schedule.cluster > 1; });
  };
  CHECK(has_cluster(subtracted_sum(4096)));
  CHECK_FALSE(has_cluster(subtracted_sum(64)));
  CHECK_FALSE(has_cluster(row_kernel(4096))); // has a split loop
  CHECK_FALSE(has_cluster(with(subtracted_sum(4096), "add %s, %e", "sub %s, %e")));
  CHECK_FALSE(has_cluster(matmul_kernel()));
}

TEST_CASE("elementwise cost: clusters are for few long rows") {
  std::map<std::string, Expr> costs;
  for (const Found &schedule : schedules(subtracted_sum(4096)))
    costs.emplace(text_of(schedule), *schedule.cost);
  auto cost = [&](const char *name, int64_t programs, int64_t n) {
    return value_of(costs.at(name), programs, n);
  };
  const int64_t n = 32 * 4096;
  CHECK(cost("cluster of 8, staged", 16, n) < cost("staged", 16, n));
  CHECK(cost("cluster of 8, staged", 16, n) < cost("baseline", 16, n));
  CHECK(cost("cluster of 8", 16, n) < cost("baseline", 16, n));
  CHECK(cost("one iteration", 16, 4096) < cost("cluster of 8, staged", 16, 4096));
  CHECK(cost("staged", 100000, n) < cost("cluster of 8, staged", 100000, n));
}

TEST_CASE("elementwise cost: a launch takes as long as memory needs") {
  BlockWork work = *schedules(row_kernel(1024)).back().work_of_a_block;
  auto cost = [&](int64_t bytes, int64_t resident) {
    work.bytes = Expr::constant(bytes);
    return value_of(cost_of_elementwise(work, Expr::constant(resident)), 1320, 4096);
  };
  const int64_t many = 1 << 30, per_ns = work.times.bytes_per_ns;
  const int64_t of_memory = (many + per_ns - 1) / per_ns;
  CHECK(cost(many, 5) == work.times.launch + of_memory);
  CHECK(cost(many, 5) > cost(0, 5));
  // With one block per SM nothing else runs while the block waits for its bytes.
  CHECK(cost(many, 1) > cost(0, 1) + of_memory - 10);
  CHECK(cost(many, 1) < cost(0, 1) + of_memory + 10);
}

TEST_CASE("elementwise cost: the network between SMs moves the totals of a cluster") {
  BlockWork work = *schedules(row_kernel(1024)).back().work_of_a_block;
  auto cost = [&](int64_t exchanged, int64_t programs) {
    work.exchanged = exchanged;
    return value_of(cost_of_elementwise(work, Expr::constant(8)), programs, 4096);
  };
  const int64_t of_block = std::llround(8 * 1024 * work.times.exchanged_element);
  CHECK(cost(8 * 1024, 132) == cost(0, 132) + of_block);
  CHECK(cost(8 * 1024, 132 * 5) == cost(0, 132 * 5) + 5 * of_block);
}

TEST_CASE("elementwise cost: each spilled word is an access of a thread, in each iteration") {
  const BlockWork work = *schedules(row_kernel(1024)).back().work_of_a_block;
  auto cost = [](const BlockWork &of, int64_t spilled) {
    return value_of(cost_of_elementwise(of, Expr::constant(8), spilled), 1320, 4096);
  };
  BlockWork more = work;
  more.accesses = more.accesses + *more.iterations * Expr::constant(3 * work.threads);
  CHECK(cost(work, 12) == cost(more, 0));
  CHECK(cost(work, 12) > cost(work, 0));
  BlockWork without_loops = work;
  without_loops.iterations.reset();
  more = without_loops;
  more.accesses = more.accesses + Expr::constant(3 * work.threads);
  CHECK(cost(without_loops, 12) == cost(more, 0));
}

TEST_CASE("elementwise cost: loops whose number of iterations the host does not know") {
  // A row kernel with a loop after its sum.
  auto kernel = [](int width, const std::string &body) {
    std::string loop = R"( %last = while_loop %total : f32 {
      (%c: f32)
      %goes_on = cmp %c, %zero {pred = "gt"} : i1
      condition %goes_on
    } {
      (%c.2: f32)
      )" + body + R"(
      yield %next
    }
    %to = addptr)";
    for (size_t at; (at = loop.find('W')) != std::string::npos;)
      loop.replace(at, 1, std::to_string(width));
    return with(with(row_kernel(width), " %to = addptr", loop), "%to, %total", "%to, %last");
  };
  const std::string reduction = R"(%cs = splat %c.2 : f32[W]
      %less = sub %cs, %sum : f32[W]
      %next = reduce %less {axis = 0, op = "max"} : f32)";
  auto cost = [&](int width, const std::string &body) {
    return schedules(kernel(width, body)).back().cost;
  };
  auto of_rows = [&](int width, int64_t rows, int64_t n) {
    std::optional<Expr> found = cost(width, reduction);
    REQUIRE(found);
    return value_of(*found, rows, n);
  };
  CHECK(of_rows(128, 10000, 128) < of_rows(2048, 10000, 128));
  CHECK(of_rows(128, 10000, 128) > value_of(*schedules(row_kernel(128)).back().cost, 10000, 128));
  CHECK(of_rows(2048, 16, 100000) < of_rows(128, 16, 100000));
  // Larger tiles may need fewer iterations.
  CHECK_FALSE(cost(128, "%v.2 = load %p : f32[W]\n" +
                            with(reduction, "%less = sub %cs", "%less = sub %v.2")));
  // The loop may wait for another program.
  CHECK_FALSE(cost(128, "%old = atomic %first, %c.2 {op = \"add\"} : f32\n" + reduction));
  CHECK(cost(128, "%old = load %first : f32\n" + reduction));
  // The host knows how often the inner loop runs.
  CHECK(cost(128, R"(for_loop %iterations {
        (%k.2: i32)
        %v.2 = load %p : f32[W]
        store %p, %v.2
        yield
      }
      )" + reduction));
}
