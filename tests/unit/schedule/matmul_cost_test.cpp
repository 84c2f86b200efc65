// Tests schedule/cost_model.cpp: which schedule of a matmul costs less.

#include "found_schedules.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The matmul kernel with rows of A and B that start at multiples of 32 bytes.
std::string with_aligned_rows() {
  std::string text = with(matmul_kernel(), "%lda: i64 multiple_of 8", "%a16: i64");
  text = with(text, "%ldb: i64 multiple_of 8", "%b16: i64");
  return with(text, "%one =",
              "%sixteen = constant {value = 16} : i64\n %lda = mul %a16, %sixteen : i64\n"
              "%ldb = mul %b16, %sixteen : i64\n %one =");
}

// The kernel with a mask: the result has %M rows.
std::string with_limited_rows(const std::string &text) {
  const std::string masked = with(text, "%a = load %va", R"(
    %i = range {start = 0} : i32[64]
    %column.of.i = expand %i {axis = 1} : i32[64,1]
    %all.i = broadcast %column.of.i : i32[64,64]
    %size = constant {value = 64} : i32
    %row32 = mul %pm, %size : i32
    %left = sub %M, %row32 : i32
    %limit = splat %left : i32[64,64]
    %mask = cmp %limit, %all.i {pred = "gt"} : i1[64,64]
    %a = load %va, %mask)");
  return with(masked, "%K: i32", "%K: i32, %M: i32");
}

// The cost of the warp-specialized schedule `name`. See value_of.
int64_t cost_of_schedule(const std::string &text, const std::string &name, int64_t programs,
                         int64_t n, int64_t others = 1) {
  for (const Found &schedule : schedules(text))
    if (text_of(schedule) == name)
      return value_of(*schedule.cost, programs, n, others);
  FAIL("there is no " << name);
  return 0;
}

} // namespace

TEST_CASE("matmul cost: multicast is for rows that are not aligned to 32 bytes") {
  auto cost = [](const std::string &text, const std::string &name) {
    return cost_of_schedule(text, "128x256x64 warp-specialized" + name, 64, 1000, 64);
  };
  CHECK(cost(matmul_kernel(), ", multicast 2") < cost(matmul_kernel(), ""));
  CHECK(cost(with_aligned_rows(), ", multicast 2") > cost(with_aligned_rows(), ""));
}

TEST_CASE("matmul cost: stream-K is for a last wave with few tiles, and many iterations") {
  auto is_better = [](int64_t tiles, int64_t iterations) { // of 128 rows; programs of 64 x 64
    auto cost = [&](const char *name) {
      return cost_of_schedule(with_aligned_rows(),
                              std::string("128x256x64 warp-specialized") + name, 2 * tiles,
                              iterations);
    };
    return cost(", stream-K") < cost("");
  };
  CHECK(is_better(144, 100));
  CHECK(is_better(70, 200));
  CHECK(is_better(280, 100));
  CHECK_FALSE(is_better(144, 5)); // a partial takes longer
  CHECK_FALSE(is_better(132, 100));
  CHECK_FALSE(is_better(130, 100));
  CHECK_FALSE(is_better(4, 200)); // too many partials of a tile
}

TEST_CASE("matmul cost: rows outside of a box take long, boxes outside of the operand no time") {
  const std::string all_rows = matmul_kernel(), few_rows = with_limited_rows(all_rows);
  // 40 rows of A, or `programs` x 64 without the mask; and 64 tiles along N.
  auto cost = [](const std::string &text, const char *name, int64_t programs) {
    return cost_of_schedule(text, name, programs, 40, 64);
  };
  const char *one_box = "64x64x128 warp-specialized";
  CHECK(cost(few_rows, one_box, 1) > cost(all_rows, one_box, 1));
  const char *two_boxes = "128x64x64 warp-specialized, ping-pong";
  CHECK(cost(few_rows, two_boxes, 2) < cost(all_rows, two_boxes, 2));
}

TEST_CASE("matmul cost: a launch reads no bytes and has no divided blocks beyond a mask") {
  // The cost of many programs along M. With a mask, few of their rows exist.
  auto cost = [](const std::string &text, const char *tile = "64x64x128") {
    return cost_of_schedule(text, std::string(tile) + " warp-specialized", 132 * 8, 64);
  };
  const std::string few_rows = with_limited_rows(with_aligned_rows());
  CHECK(cost(few_rows) < cost(with_aligned_rows()));
  CHECK(cost(few_rows, "16x64x128") < cost(few_rows));
  CHECK(cost(with_aligned_rows(), "16x64x128") > cost(with_aligned_rows()));
}

TEST_CASE("matmul cost: partial K tile costs as much as a full one") {
  auto cost = [](const std::string &name, int64_t iterations) {
    return cost_of_schedule(with_aligned_rows(), name, 4, iterations);
  };
  for (std::string name : {"64x64x128 warp-specialized", "64x64x128 warp-specialized, split-K 4"}) {
    CAPTURE(name);
    CHECK(cost(name, 63) == cost(name, 64));
    CHECK(cost(name, 64) < cost(name, 65));
  }
  CHECK(cost("64x128x64 warp-specialized", 63) < cost("64x128x64 warp-specialized", 64));
}

TEST_CASE("baseline cost: counts K iterations and waves") {
  // The cost of the baseline with a K tile of `step`.
  auto cost = [](int step, const char *gpu, int64_t programs, int64_t k) {
    const Found plain = schedules(matmul_kernel(64, 64, step), gpu).back();
    REQUIRE(plain.cost);
    return value_of(*plain.cost, programs, k / step);
  };
  for (const char *gpu : {"80", "90", "90a"}) {
    CAPTURE(gpu);
    CHECK(cost(32, gpu, 100, 1024) > cost(64, gpu, 100, 1024));
    CHECK(cost(32, gpu, 100, 64) > cost(64, gpu, 100, 64));
    CHECK(cost(64, gpu, 10, 1024) == cost(64, gpu, 20, 1024));
    // A wave costs time even if its programs multiply little.
    CHECK(cost(64, gpu, 133, 64) > cost(64, gpu, 132, 64) + 200);
  }
}

TEST_CASE("baseline cost: copies through registers wait in each K iteration") {
  // Rows of A that may end at any element: cp.async cannot copy them.
  const std::string any_row = masked(R"(
    %i = range {start = 0} : i32[64]
    %row.of.i = expand %i {axis = 0} : i32[1,64]
    %all.i = broadcast %row.of.i : i32[128,64]
    %size = constant {value = STEP} : i32
    %k32 = mul %t, %size : i32
    %left = sub %Ka, %k32 : i32
    %limit = splat %left : i32[128,64]
    %mask = cmp %limit, %all.i {pred = "gt"} : i1[128,64])",
                                     "%mask", 64);
  auto with_rows_of = [&](const std::string &promise) {
    return with(any_row, "%K: i32", "%K: i32, %Ka: i32" + promise);
  };
  CHECK_FALSE(schedules(with_rows_of(" multiple_of 8")).back().copies);
  const Found through_registers = schedules(with_rows_of("")).back();
  REQUIRE(through_registers.copies);
  const CopyingMatmul &copies = *through_registers.copies;
  CHECK(copies.accumulator == ir::Shape{128, 128});
  CHECK(copies.step == 64);
  const MeasuredCopies &times = find_gpu("90a")->costs->copies;
  auto cost = [&](int64_t resident, int64_t programs, int64_t iterations, int64_t spilled = 0) {
    return value_of(cost_of_copies(copies, 128, Expr::constant(resident), spilled), programs,
                    iterations);
  };
  CHECK(cost(1, 1, 9) > cost(1, 1, 1) + 8 * times.iteration);
  CHECK(cost(1, 132 * 2, 9) > cost(1, 132, 9) + 9 * times.iteration);
  // Two resident blocks wait at the same time.
  CHECK(cost(2, 132 * 2, 9) < cost(1, 132 * 2, 9) - 9 * times.iteration);
  CHECK(cost(1, 1, 9, 8) > cost(1, 1, 9));
  CHECK(cost(1, 1, 9, 8) - cost(1, 1, 9) > cost(1, 1, 3, 8) - cost(1, 1, 3));
}

TEST_CASE("matmul cost: a divided program has more blocks") {
  auto cost = [](int64_t programs) {
    return cost_of_schedule(with_aligned_rows(), "64x32x128 warp-specialized", programs, 8);
  };
  CHECK(cost(66) < cost(67)); // more than 132 blocks
  CHECK(cost(67) == cost(132));
}
