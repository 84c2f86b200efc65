// Tests schedule/multistage.cpp and warp_specialized.cpp: matmuls that gather an operand through a
// tile of pointers.

#include "found_schedules.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The rows of A are those that the program computes from their numbers, which is no affine form.
std::string gathered(const std::string &promise) {
  const std::string text = with(matmul_kernel(128, 128, 64), "%lda: i64 multiple_of 8",
                                "%lda: i64" + promise + ", %rows: i32");
  return with(text, "%a = load %va", R"(
      %number = range {start = 0} : i32[128]
      %all = splat %rows : i32[128]
      %wrapped = urem %number, %all : i32[128]
      %row64 = cast %wrapped : i64[128]
      %ld = splat %lda : i64[128]
      %below = mul %row64, %ld : i64[128]
      %each.row = expand %below {axis = 1} : i64[128,1]
      %all.rows = broadcast %each.row : i64[128,64]
      %As = splat %A : ptr<f16>[128,64]
      %there = addptr %As, %all.rows : ptr<f16>[128,64]
      %k.size = constant {value = 64} : i32
      %first.k = mul %t, %k.size : i32
      %first.k64 = cast %first.k : i64
      %firsts = splat %first.k64 : i64[128,64]
      %here = addptr %there, %firsts : ptr<f16>[128,64]
      %i = range {start = 0} : i32[64]
      %each.i = expand %i {axis = 0} : i32[1,64]
      %all.i = broadcast %each.i : i32[128,64]
      %q = addptr %here, %all.i : ptr<f16>[128,64]
      %a = load %q)");
}

} // namespace

TEST_CASE("candidate_schedules: cp.async gathers rows that are 16-byte aligned") {
  std::vector<Found> found = schedules(gathered(" multiple_of 8"));
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == Schedule::Kind::multistage_wgmma);
  CHECK(found[0].coarsening.empty());
  REQUIRE(found[0].cost);
  REQUIRE(found[0].copies);
  CHECK(found[0].copies->times == &find_gpu("90a")->costs->gathered);
  CHECK_FALSE(found[1].cost); // the baseline is slower
  // Rows that are not aligned go through registers, of producer warps or of all warps.
  found = schedules(gathered(""));
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == Schedule::Kind::warp_specialized);
  CHECK(found[0].producer_warps == 8);
  CHECK(found[0].cost);
  CHECK(found[1].copies->times == &find_gpu("90a")->costs->gathered_copies);
  // Without wgmma all warps multiply by mma.
  for (const Found &schedule : schedules(gathered(" multiple_of 8"), "80"))
    CHECK(schedule.kind != Schedule::Kind::multistage_wgmma);
}
