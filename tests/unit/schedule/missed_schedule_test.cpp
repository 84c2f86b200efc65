// Tests schedule/missed_schedule.cpp: the reason why a kernel has no warp-specialized schedule with
// TMA.

#include "schedule/missed_schedule.h"

#include "schedule/candidates.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"
#include "unit/schedule/found_schedules.h"

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The reason. Requires that it agrees with the schedules: none copies with TMA.
MissedSchedule missed(const std::string &text, const char *gpu = "90a") {
  CAPTURE(text);
  ir::Function fn = parsed(text);
  std::string before = printed(fn);
  std::optional<MissedSchedule> found = find_missed_schedule(fn, *find_gpu(gpu));
  CHECK(printed(fn) == before);
  REQUIRE(found);
  for (const Candidate &candidate : candidates_for_code(fn, *find_gpu(gpu)))
    CHECK((!candidate.schedule.is_warp_specialized() || candidate.schedule.producer_warps > 0));
  return *found;
}

RejectReason reason(const std::string &text, const char *gpu = "90a") {
  return missed(text, gpu).kind;
}

// The reason against the tensor of A or B: "A 4" is NoTensor(4) of A.
std::string access_of(const std::string &text, const char *gpu = "90a") {
  MissedSchedule found = missed(text, gpu);
  CHECK(found.kind == RejectReason::access);
  return found.operand + " " + std::to_string(int(found.access));
}
std::string access_of(const std::string &operand, NoTensor why) {
  return operand + " " + std::to_string(int(why));
}

bool is_found(const std::string &text, const char *gpu = "90a") {
  return !find_missed_schedule(parsed(text), *find_gpu(gpu));
}

// The matmul loop, between `before` and `behind`. The epilogue does not use its sum.
std::string around(const std::string &before, const std::string &behind) {
  std::string text = matmul_kernel(), loop = text.substr(text.find("%sum = for_loop"));
  loop = loop.substr(0, loop.find("%result"));
  text = with(text, loop, before + loop + "store %vs, %sum\n" + behind);
  text = with(text, "%C: ptr<f16>", "%C: ptr<f16>, %S: ptr<f32>, %odd: i1");
  text = with(text, "%start = splat",
              "%vs = view %S, %one, %ldc, %one : view<f32>[64,64]\n %start = splat");
  return with(text, "%result = cast %sum : f16[64,64]", "%result = cast %start : f16[64,64]");
}

} // namespace

TEST_CASE("find_missed_schedule: nothing if TMA can copy the operands") {
  CHECK(is_found(matmul_kernel()));
  CHECK(is_found(a_transposed(b_transposed(matmul_kernel()))));
  for (const char *gpu : {"90", "100a", "120"})
    CHECK(is_found(matmul_kernel(), gpu));
}

TEST_CASE("find_missed_schedule: gpu, if it has no TMA") {
  for (const char *gpu : {"75", "80", "89"})
    CHECK(reason(matmul_kernel(), gpu) == RejectReason::gpu);
}

TEST_CASE("find_missed_schedule: checks, for a kernel with print") {
  CHECK(reason(with(matmul_kernel(), "return", "print {text = \"done\"}\n return")) ==
        RejectReason::checks);
}

TEST_CASE("find_missed_schedule: no_matmul, without a sum of products") {
  CHECK(reason("func @f(%p: ptr<f32>[64]) {\n %a = load %p : f32[64]\n store %p, %a\n return\n}") ==
        RejectReason::no_matmul);
  // The loop does not add the products, and computes B.
  const std::string computed = with(matmul_kernel(), "%d = dot %a, %b, %acc",
                                    "%e = neg %b : f16[64,64]\n %d = dot %a, %e, %start");
  CHECK(reason(computed, "90a") == RejectReason::not_loaded);
  CHECK(reason(computed, "100a") == RejectReason::no_matmul);
  // With loaded operands, TMA can load them.
  CHECK(is_found(with(matmul_kernel(), "dot %a, %b, %acc", "dot %a, %b, %start")));
}

TEST_CASE("find_missed_schedule: several_matmuls") {
  const std::string computed =
      with(matmul_kernel(), "yield %d",
           "%e = neg %b : f16[64,64]\n %d2 = dot %a, %e, %d : f32[64,64]\n yield %d2");
  CHECK(reason(computed, "90a") == RejectReason::not_loaded);
  CHECK(reason(computed, "100a") == RejectReason::several_matmuls);
  CHECK(
      is_found(with(matmul_kernel(), "yield %d", "%d2 = dot %a, %b, %d : f32[64,64]\n yield %d2")));
}

TEST_CASE("find_missed_schedule: not_loaded, if an operand is computed") {
  CHECK(reason(with(matmul_kernel(), "%d = dot %a,", "%e = neg %a : f16[64,64]\n %d = dot %e,")) ==
        RejectReason::not_loaded);
}

TEST_CASE("find_missed_schedule: loops, in other control flow") {
  CHECK(is_found(around("", "")));
  CHECK(is_found(around("for_loop %K {\n (%wave: i32)\n", "yield\n }\n")));
  CHECK(reason(around("if_else %odd {\n", "yield\n } {\n yield\n }\n")) == RejectReason::loops);
  CHECK(reason(around("while_loop {\n condition %odd\n } {\n", "yield\n }\n")) ==
        RejectReason::loops);
}

TEST_CASE("find_missed_schedule: own_order, for barriers of the source") {
  CHECK(reason(with(matmul_kernel(), "return", "barrier\n return")) == RejectReason::own_order);
}

TEST_CASE("find_missed_schedule: type, if wgmma does not take it") {
  CHECK(reason(matmul_kernel(64, 64, 32, "f32")) == RejectReason::type);
  CHECK(reason(matmul_kernel(64, 64, 32, "f64")) == RejectReason::type);
  CHECK(is_found(matmul_kernel(64, 64, 32, "bf16")));
}

TEST_CASE("find_missed_schedule: access, names the operand and what is wrong") {
  CHECK(access_of(with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %ldb")) ==
        access_of("A", NoTensor::no_contiguous));
  CHECK(access_of(with(matmul_kernel(), "%at.b, %ldb, %one", "%at.b, %ldb, %lda")) ==
        access_of("B", NoTensor::no_contiguous));
  std::string gathered =
      with(matmul_kernel(128, 128, 64), "%A: ptr<f16>", "%A: ptr<f16>, %P: ptr<f16>[128,64]");
  CHECK(access_of(with(gathered, "load %va", "load %P")) == access_of("P", NoTensor::not_affine));
  // One of two pointers.
  std::string selected = with(matmul_kernel(), "%K: i32", "%K: i32, %odd: i1");
  selected = with(selected, "%one =", "%AB = select %odd, %A, %B : ptr<f16>\n %one =");
  CHECK(access_of(with(selected, "view %A,", "view %AB,")) ==
        access_of("", NoTensor::not_a_parameter));
  // The row stride is loaded.
  std::string loaded = with(matmul_kernel(), "%lda: i64 multiple_of 8", "%L: ptr<i64>");
  CHECK(access_of(with(loaded, "%one =", "%lda = load %L : i64\n %one =")) ==
        access_of("A", NoTensor::strange_stride));
  // The operand is read backward.
  CHECK(access_of(with(matmul_kernel(), "add %down, %column", "sub %column, %down")) ==
        access_of("B", NoTensor::strange_offset));
  // Boxes do not start at a multiple of 16 bytes.
  CHECK(access_of(with(matmul_kernel(), "%column = mul %pn.wide, %tn",
                       "%far = constant {value = 65} : i64\n %column = mul %pn.wide, %far")) ==
        access_of("B", NoTensor::strange_offset));
  std::string masked = with(matmul_kernel(), "%C: ptr<f16>", "%C: ptr<f16>, %on: i1[64,64]");
  CHECK(access_of(with(masked, "load %va", "load %va, %on")) ==
        access_of("A", NoTensor::strange_mask));
}

TEST_CASE("find_missed_schedule: not_along_k, names the second such operand") {
  std::string i8 = with(matmul_kernel(64, 64, 64, "i8"), "multiple_of 8", "multiple_of 16");
  i8 = with(with(i8, "{number = 0.0} : f32", "{value = 0} : i32"), ": f32", ": i32");
  CHECK(is_found(b_transposed(i8)));
  MissedSchedule found = missed(i8);
  CHECK(found.kind == RejectReason::not_along_k);
  CHECK(found.operand == "B");
  found = missed(a_transposed(b_transposed(i8)));
  CHECK(found.kind == RejectReason::not_along_k);
  CHECK(found.operand == "A");
  // wgmma takes one tf32 operand from registers. mma takes none.
  const std::string tf32 = with(matmul_kernel(64, 64, 32, "f32"), "dot %a, %b, %acc",
                                "dot %a, %b, %acc {precision = \"tf32\"}");
  CHECK(is_found(tf32));
  CHECK(reason(a_transposed(tf32)) == RejectReason::not_along_k);
  CHECK(reason(tf32, "90") == RejectReason::not_along_k);
  CHECK(is_found(b_transposed(tf32), "90"));
}

TEST_CASE("find_missed_schedule: stored_to, names the operand") {
  auto stored = [](const std::string &pointer) {
    return with(matmul_kernel(), "store %vc, %result",
                "store %vc, %result\n %vd = view " + pointer +
                    ", %column, %ldc, %one : view<f16>[64,64]\n store %vd, %result");
  };
  CHECK(is_found(stored("%C")));
  for (const char *operand : {"A", "B"}) {
    MissedSchedule found = missed(stored(std::string("%") + operand));
    CHECK(found.kind == RejectReason::stored_to);
    CHECK(found.operand == operand);
  }
}

TEST_CASE("find_missed_schedule: computed, if the iteration count is loaded") {
  std::string loaded = with(matmul_kernel(), "%K: i32", "%length: ptr<i32>");
  CHECK(reason(with(loaded, "%nothing =", "%K = load %length : i32\n %nothing =")) ==
        RejectReason::computed);
}

TEST_CASE("find_missed_schedule: shared_memory, without room for two stages") {
  CHECK(is_found(matmul_kernel(64, 64, 256)));
  CHECK(reason(matmul_kernel(64, 64, 512)) == RejectReason::shared_memory);
}

TEST_CASE("find_missed_schedule: tile, if no block tile fits") {
  CHECK(is_found(alone(matmul_kernel(64, 16, 16))));
  CHECK(reason(alone(matmul_kernel(32, 32, 64))) == RejectReason::tile);
  CHECK(reason(alone(matmul_kernel(64, 8, 64))) == RejectReason::tile);
  CHECK(reason(alone(matmul_kernel(256, 256, 16))) == RejectReason::tile);
}

TEST_CASE("undeclared_multiples: lists strides without an assumption") {
  using Found = std::vector<std::pair<std::string, int64_t>>;
  auto undeclared = [](const std::string &text) { return undeclared_multiples(parsed(text)); };
  CHECK(undeclared(matmul_kernel()) == Found{});
  CHECK(undeclared(with(matmul_kernel(), "%lda: i64 multiple_of 8", "%lda: i64")) ==
        Found{{"lda", 8}});
  CHECK(undeclared(with(matmul_kernel(), "%lda: i64 multiple_of 8", "%lda: i64 multiple_of 4")) ==
        Found{{"lda", 8}});
  // 16 bytes are 4 elements of 4 bytes.
  CHECK(undeclared(with(matmul_kernel(64, 64, 64, "f32"), "%ldb: i64 multiple_of 8",
                        "%ldb: i64 multiple_of 4")) == Found{});
  CHECK(undeclared(with(matmul_kernel(64, 64, 64, "f32"), "i64 multiple_of 8",
                        "i64 multiple_of 2")) == Found{{"lda", 4}, {"ldb", 4}, {"ldc", 4}});
  // A scalar access needs no TMA.
  CHECK(undeclared("func @f(%p: ptr<f32>, %n: i64) {\n %at = addptr %p, %n : ptr<f32>\n"
                   " %a = load %at : f32\n store %p, %a\n return\n}") == Found{});
}

TEST_CASE("find_missed_schedule: loops with several matmuls") {
  const std::string kernel = attention_kernel();
  CHECK(is_found(kernel));
  auto changed = [&](const std::string &from, const std::string &to) {
    return reason(with(kernel, from, to));
  };
  CHECK(changed("%next = add %old",
                "%to = view %O, %at, %ld, %one : view<f32>[64,64]\n"
                "store %to, %score\n %next = add %old") == RejectReason::stores);
  CHECK(changed("%v = load %at.v", "%v.1 = load %at.v : f16[64,64]\n %v = neg %v.1") ==
        RejectReason::not_loaded);
  CHECK(reason(with(matmul_kernel(32, 64), "dot %a, %b, %acc", "dot %a, %b, %start")) ==
        RejectReason::unlike);
}
