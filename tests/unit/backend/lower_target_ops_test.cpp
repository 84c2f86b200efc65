// Tests backend/lower_target_ops.cpp.

#include "backend/lower_target_ops.h"

#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "support/contains.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The body of the only function after the pass, as text.
std::string lowered(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  prepare_module(*module);
  lower_target_ops(*module);
  std::string text;
  llvm::raw_string_ostream out(text);
  REQUIRE_FALSE(llvm::verifyModule(*module, &out));
  for (const llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.print(out);
  return text;
}

} // namespace

TEST_CASE("lower_target_ops: splits fragments and rebuilds the vector") {
  std::string text = lowered(R"(
    declare <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32>, <2 x i32>, <4 x float>)
    define <4 x float> @f(<4 x i32> %a, <2 x i32> %b, <4 x float> %c) {
      %d = call <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32> %a, <2 x i32> %b, <4 x float> %c)
      ret <4 x float> %d
    })");
  CHECK(text.find("@llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>") != std::string::npos);
  CHECK(text.find("extractelement <4 x i32> %a, i64 3") != std::string::npos);
  CHECK(text.find("insertelement <4 x float>") != std::string::npos);
  CHECK(text.find("tritonc.") == std::string::npos);
}

TEST_CASE("lower_target_ops: cache hint applies to its loads and stores") {
  const std::string declared = R"(
    declare ptr addrspace(1) @tritonc.hint_cg(ptr addrspace(1))
    declare ptr addrspace(1) @tritonc.hint_evict_last_l2(ptr addrspace(1), i64)
  )";
  auto access = [&](const std::string &type) {
    return lowered(declared +
                   "define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {\n"
                   "  %m = call ptr addrspace(1) @tritonc.hint_cg(ptr addrspace(1) %p)\n"
                   "  %x = load " +
                   type +
                   ", ptr addrspace(1) %m\n"
                   "  %w = call ptr addrspace(1) @tritonc.hint_evict_last_l2("
                   "ptr addrspace(1) %q, i64 7)\n"
                   "  store " +
                   type + " %x, ptr addrspace(1) %w\n  ret void\n}");
  };
  struct {
    const char *type, *load, *store;
  } cases[] = {
      {"i8", "ld.global.cg.b8 $0, [$1];", ".b8 [$1], $0, $2;"},
      {"half", "ld.global.cg.b16 $0, [$1];", ".b16 [$1], $0, $2;"},
      {"<2 x i8>", "ld.global.cg.b16 $0, [$1];", ".b16 [$1], $0, $2;"},
      {"float", "ld.global.cg.b32 $0, [$1];", ".b32 [$1], $0, $2;"},
      {"<2 x bfloat>", "ld.global.cg.b32 $0, [$1];", ".b32 [$1], $0, $2;"},
      {"double", "ld.global.cg.b64 $0, [$1];", ".b64 [$1], $0, $2;"},
      {"<2 x float>", "ld.global.cg.v2.b32 {$0, $1}, [$2];", ".v2.b32 [$2], {$0, $1}, $3;"},
      {"<8 x half>", "ld.global.cg.v4.b32 {$0, $1, $2, $3}, [$4];",
       ".v4.b32 [$4], {$0, $1, $2, $3}, $5;"},
      {"<2 x i64>", "ld.global.cg.v2.b64 {$0, $1}, [$2];", ".v2.b64 [$2], {$0, $1}, $3;"},
  };
  for (const auto &[type, load, store] : cases) {
    CAPTURE(type);
    std::string text = access(type);
    CHECK(contains(text, load));
    CHECK(contains(text, std::string("st.global.L1::evict_last.L2::cache_hint") + store));
    CHECK(!contains(text, "tritonc."));
    CHECK(!contains(text, "= load"));
  }
  // The hint also applies through an offset. The plain address stays available, and other loads
  // have no hint.
  std::string text = lowered(declared + R"(
    define ptr addrspace(1) @f(ptr addrspace(1) %p) {
      %m = call ptr addrspace(1) @tritonc.hint_cg(ptr addrspace(1) %p)
      %n = getelementptr i32, ptr addrspace(1) %m, i64 3
      %x = load i32, ptr addrspace(1) %n
      %y = load i32, ptr addrspace(1) %p
      store i32 %x, ptr addrspace(1) %p
      ret ptr addrspace(1) %m
    })");
  CHECK(contains(text, "ld.global.cg.b32"));
  CHECK(contains(text, "%y = load i32, ptr addrspace(1) %p"));
  CHECK(contains(text, "store i32"));
  CHECK(contains(text, "ret ptr addrspace(1) %p"));
}

TEST_CASE("lower_target_ops: cache hint of masked accesses") {
  std::string text = lowered(R"(
    declare ptr addrspace(1) @tritonc.hint_cg(ptr addrspace(1))
    declare ptr addrspace(1) @tritonc.hint_evict_last_l2(ptr addrspace(1), i64)
    define void @f(ptr addrspace(1) %p, i1 %on) {
      %i = insertelement <1 x i1> poison, i1 %on, i64 0
      %m = call ptr addrspace(1) @tritonc.hint_cg(ptr addrspace(1) %p)
      %x = call <1 x float> @llvm.masked.load(ptr addrspace(1) align 4 %m, <1 x i1> %i,
                                              <1 x float> zeroinitializer)
      %n = call ptr addrspace(1) @tritonc.hint_evict_last_l2(ptr addrspace(1) %p, i64 7)
      %y = call <1 x float> @llvm.masked.load(ptr addrspace(1) align 4 %n, <1 x i1> %i, <1 x float> %x)
      call void @llvm.masked.store(<1 x float> %y, ptr addrspace(1) align 4 %m, <1 x i1> %i)
      ret void
    })");
  CHECK(contains(text, R"("@$2 ld.global.cg.b32 $0, [$1];", "=r,l,b,0,~{memory}")"));
  CHECK(contains(text, R"("@$3 ld.global.L1::evict_last.L2::cache_hint.b32 $0, [$1], $2;", )"
                       R"("=r,l,l,b,0,~{memory}")"));
  CHECK(contains(text, R"("@$2 st.global.cg.b32 [$1], $0;", "r,l,b,~{memory}")"));
}

TEST_CASE("lower_target_ops: shared address becomes a shared pointer") {
  std::string text = lowered(R"(
    declare i32 @tritonc.ldmatrix_x1(i32)
    define i32 @f(i32 %s) {
      %m = call i32 @tritonc.ldmatrix_x1(i32 %s)
      ret i32 %m
    })");
  CHECK(text.find("inttoptr i32 %s to ptr addrspace(3)") != std::string::npos);
  CHECK(text.find("m8n8.x1.b16.p3(ptr addrspace(3)") != std::string::npos);
}

TEST_CASE("lower_target_ops: adds the table's arguments in order") {
  std::string text = lowered(R"(
    declare i32 @tritonc.shfl_bfly(i32, i32)
    declare void @tritonc.barrier()
    define i32 @f(i32 %value, i32 %mask) {
      call void @tritonc.barrier()
      %r = call i32 @tritonc.shfl_bfly(i32 %value, i32 %mask)
      ret i32 %r
    })");
  CHECK(text.find("@llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 %mask, i32 31)") !=
        std::string::npos);
  CHECK(text.find("@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)") != std::string::npos);
}

TEST_CASE("lower_target_ops: converts conditions between i32 and i1") {
  std::string text = lowered(R"(
    declare i32 @tritonc.vote_any(i32)
    define i32 @f(i32 %value) {
      %r = call i32 @tritonc.vote_any(i32 %value)
      ret i32 %r
    })");
  CHECK(contains(text, "%1 = icmp ne i32 %value, 0"));
  CHECK(contains(text, "%2 = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %1)"));
  CHECK(contains(text, "%3 = zext i1 %2 to i32"));
}

TEST_CASE("lower_target_ops: returns the last field of a struct") {
  std::string text = lowered(R"(
    declare i32 @tritonc.elect()
    define i32 @f() {
      %r = call i32 @tritonc.elect()
      ret i32 %r
    })");
  CHECK(contains(text, "%1 = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)"));
  CHECK(contains(text, "%2 = extractvalue { i32, i1 } %1, 1"));
  CHECK(contains(text, "%3 = zext i1 %2 to i32"));
}

TEST_CASE("lower_target_ops: keeps i32 cluster addresses and map pointers") {
  std::string text = lowered(R"(
    declare i32 @tritonc.map_shared_rank(i32, i32)
    declare void @tritonc.prefetch_tensor_map(ptr)
    define i32 @f(i32 %s, i32 %rank, ptr %map) {
      call void @tritonc.prefetch_tensor_map(ptr %map)
      %r = call i32 @tritonc.map_shared_rank(i32 %s, i32 %rank)
      ret i32 %r
    })");
  CHECK(contains(text, "call void @llvm.nvvm.prefetch.tensormap.p0(ptr %map)"));
  CHECK(contains(text, "call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3)"));
  CHECK(contains(text, "ptrtoint ptr addrspace(7)"));
}

TEST_CASE("lower_target_ops: truncates arguments to the intrinsic's width") {
  std::string text = lowered(R"(
    declare void @tritonc.tma_load_multicast_1d(i32, ptr, i32, i32, i32)
    define void @f(i32 %to, ptr %map, i32 %x, i32 %barrier, i32 %mask) {
      call void @tritonc.tma_load_multicast_1d(i32 %to, ptr %map, i32 %x, i32 %barrier, i32 %mask)
      ret void
    })");
  CHECK(contains(text, "trunc i32 %mask to i16"));
  CHECK(contains(text, "ptr %map, i32 %x, i16 %"));
  CHECK(contains(text, ", i64 0, i1 true, i1 false, i32 0)"));
}

TEST_CASE("lower_target_ops: PTX operands are registers or immediates") {
  std::string text = lowered(R"(
    declare i32 @tritonc.mbarrier_test(i32, i32)
    define i32 @f(i32 %s, i32 %parity) {
      %r = call i32 @tritonc.mbarrier_test(i32 %s, i32 %parity)
      ret i32 %r
    })");
  CHECK(contains(text, "call i32 asm sideeffect"));
  CHECK(contains(text, "done, [$1], $2;"));
  CHECK(contains(text, "selp.b32 $0, 1, 0, done;"));
  CHECK(contains(text, R"("=r,r,r,~{memory}"(i32 %s, i32 %parity))"));
}

TEST_CASE("lower_target_ops: PTX labels are unique") {
  std::string text = lowered(R"(
    declare void @tritonc.mbarrier_wait(i32, i32)
    define void @f(i32 %s) {
      call void @tritonc.mbarrier_wait(i32 %s, i32 0)
      ret void
    })");
  CHECK(contains(text, "wait_${:uid}:"));
  CHECK(contains(text, "bra wait_${:uid};"));
  CHECK(contains(text, R"("r,r,~{memory}"(i32 %s, i32 0))"));
}

TEST_CASE("lower_target_ops: PTX accumulators are tied per element") {
  std::string text = lowered(R"(
    declare <4 x float> @tritonc.wgmma_f16.v4f32(i32, i64, i64, i32, i32, i32, <4 x float>)
    declare <4 x float> @tritonc.wgmma_wait_f32.v4f32(i32, i32, <4 x float>)
    define <4 x float> @f(i64 %a, i64 %b, i32 %add, <4 x float> %c) {
      %d = call <4 x float> @tritonc.wgmma_f16.v4f32(i32 4, i64 %a, i64 %b, i32 %add, i32 0, i32 1,
                                                     <4 x float> %c)
      %moved = fneg <4 x float> %d
      %e = call <4 x float> @tritonc.wgmma_wait_f32.v4f32(i32 4, i32 2, <4 x float> %moved)
      ret <4 x float> %e
    })");
  CHECK(contains(text, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                       "{$0, $1, $2, $3}, $4, $5, accumulate, 1, 1, 0, 1;"));
  CHECK(contains(text, "setp.ne.b32 accumulate, $6, 0;"));
  CHECK(contains(text, R"("=f,=f,=f,=f,l,l,r,0,1,2,3,~{memory}"(i64 %a, i64 %b, i32 %add, float)"));
  CHECK(contains(text, R"("wgmma.wait_group.sync.aligned 2;", "=f,=f,=f,=f,0,1,2,3,~{memory}")"));
}

namespace {

size_t count(const std::string &text, const std::string &part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    times++;
  return times;
}

// Two wgmma instructions with `between` after the first, lowered.
std::string two_steps(const std::string &between, const std::string &second = "%d") {
  return lowered(R"(
    declare void @tritonc.wgmma_commit()
    declare void @tritonc.wgmma_fence()
    declare <2 x i32> @tritonc.wgmma_u8.v2i32(i32, i64, i64, i32, <2 x i32>)
    declare <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32, i32, <2 x i32>)
    define <2 x i32> @f(i64 %a, i64 %b, <2 x i32> %c, ptr addrspace(1) %p) {
      %d = call <2 x i32> @tritonc.wgmma_u8.v2i32(i32 2, i64 %a, i64 %b, i32 0, <2 x i32> %c)
      )" + between +
                 R"(
      %a1 = add i64 %a, 2
      %e = call <2 x i32> @tritonc.wgmma_u8.v2i32(i32 2, i64 %a1, i64 %b, i32 1, <2 x i32> )" +
                 second + R"()
      call void @tritonc.wgmma_commit()
      %w = call <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32 2, i32 0, <2 x i32> %e)
      ret <2 x i32> %w
    })");
}

} // namespace

TEST_CASE("lower_target_ops: chain on the same registers is one asm") {
  std::string text = two_steps("");
  CHECK(count(text, " asm ") == 1);
  CHECK(contains(text, R"("=r,=r,l,l,r,0,1,l,l,r,~{memory}"(i64 %a, i64 %b, i32 0, i32 )"));
  CHECK(contains(text, "i64 %a1, i64 %b, i32 1)"));
  // Each instruction names its own operands, in the order of the calls.
  size_t first = text.find("{$0, $1}, $2, $3, accumulate;");
  size_t second = text.find("{$0, $1}, $7, $8, accumulate;");
  size_t commit = text.find("wgmma.commit_group.sync.aligned;");
  size_t wait = text.find("wgmma.wait_group.sync.aligned 0;");
  CHECK(first < second);
  CHECK(second < commit);
  CHECK(commit < wait);
  CHECK(wait != std::string::npos);
  CHECK(text.find("%a1 = add") < text.find(" asm "));
}

TEST_CASE("lower_target_ops: known elements need no vector") {
  std::string text = lowered(R"(
    declare <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32, i32, <2 x i32>)
    define i32 @f(i32 %x, i32 %y) {
      %v0 = insertelement <2 x i32> poison, i32 %x, i64 0
      %v = insertelement <2 x i32> %v0, i32 %y, i64 1
      %w = call <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32 2, i32 0, <2 x i32> %v)
      %r = extractelement <2 x i32> %w, i64 1
      ret i32 %r
    })");
  CHECK(contains(text, "(i32 %x, i32 %y)"));
  CHECK(contains(text, "extractvalue { i32, i32 }"));
  CHECK_FALSE(contains(text, "<2 x i32>"));
}

TEST_CASE("lower_target_ops: unknown elements or indices need the vector") {
  std::string text = lowered(R"(
    declare <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32, i32, <2 x i32>)
    define i32 @f(<2 x i32> %v, i32 %i) {
      %w = call <2 x i32> @tritonc.wgmma_wait_s32.v2i32(i32 2, i32 0, <2 x i32> %v)
      %r = extractelement <2 x i32> %w, i32 %i
      ret i32 %r
    })");
  CHECK(contains(text, "extractelement <2 x i32> %v, i64 1"));
  CHECK(contains(text, "insertelement <2 x i32>"));
}

TEST_CASE("lower_target_ops: chain ends at memory accesses and other uses") {
  CHECK(count(two_steps("call void @tritonc.wgmma_fence()"), " asm ") == 2);
  CHECK(count(two_steps("store i32 1, ptr addrspace(1) %p"), " asm ") == 2);
  CHECK(count(two_steps("%x = load volatile i32, ptr addrspace(1) %p"), " asm ") == 2);
  CHECK(count(two_steps("%n = add <2 x i32> %d, %c", "%n"), " asm ") == 2);
  CHECK(count(two_steps("%n = add <2 x i32> %d, %c\n store <2 x i32> %n, ptr addrspace(1) %p"),
              " asm ") == 2);
  CHECK(count(two_steps("", "%c"), " asm ") == 2); // not the result of the first
}

TEST_CASE("lower_target_ops: PTX fragments are register lists") {
  std::string text = lowered(R"(
    declare <4 x i32> @tritonc.wgmma_s8_ra.v4i32(i32, <4 x i32>, i64, i32, <4 x i32>)
    define <4 x i32> @f(<4 x i32> %a, i64 %b, <4 x i32> %c) {
      %d = call <4 x i32> @tritonc.wgmma_s8_ra.v4i32(i32 4, <4 x i32> %a, i64 %b, i32 1,
                                                     <4 x i32> %c)
      ret <4 x i32> %d
    })");
  CHECK(contains(text, "m64n8k32.s32.s8.s8 {$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, accumulate;"));
  CHECK(contains(text, R"("=r,=r,=r,=r,r,r,r,r,l,r,0,1,2,3,~{memory}")"));
}

// Two wgmma instructions and a wait in a loop, as in a matmul kernel.
TEST_CASE("lower_target_ops: loop keeps accumulators, ptxas has no advice") {
  const char *ir = R"(
    declare i32 @tritonc.tid_x()
    declare void @tritonc.mbarrier_wait(i32, i32)
    declare void @tritonc.mbarrier_arrive(i32)
    declare void @tritonc.wgmma_fence()
    declare void @tritonc.wgmma_commit()
    declare <128 x float> @tritonc.wgmma_wait_f32.v128f32(i32, i32, <128 x float>)
    declare <128 x float> @tritonc.wgmma_bf16.v128f32(i32, i64, i64, i32, i32, i32, <128 x float>)
    define ptx_kernel void @product(ptr addrspace(1) %out, i32 %iterations, i64 %a, i64 %b)
        "nvvm.maxntid"="128" "nvvm.minctasm"="1" {
    entry:
      %t = call i32 @tritonc.tid_x()
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %next, %loop ]
      %c0 = phi <128 x float> [ poison, %entry ], [ %c3, %loop ]
      %started = icmp ne i32 %i, 0
      %add = zext i1 %started to i32
      %parity = and i32 %i, 1
      call void @tritonc.mbarrier_wait(i32 1024, i32 %parity)
      call void @tritonc.wgmma_fence()
      %c1 = call <128 x float> @tritonc.wgmma_bf16.v128f32(i32 128, i64 %a, i64 %b, i32 %add,
                                                           i32 0, i32 1, <128 x float> %c0)
      %a1 = add i64 %a, 2
      %b1 = add i64 %b, 128
      %c2 = call <128 x float> @tritonc.wgmma_bf16.v128f32(i32 128, i64 %a1, i64 %b1, i32 1,
                                                           i32 0, i32 1, <128 x float> %c1)
      call void @tritonc.wgmma_commit()
      %c3 = call <128 x float> @tritonc.wgmma_wait_f32.v128f32(i32 128, i32 1, <128 x float> %c2)
      call void @tritonc.mbarrier_arrive(i32 1032)
      %next = add i32 %i, 1
      %more = icmp ult i32 %next, %iterations
      br i1 %more, label %loop, label %done
    done:
      %d = call <128 x float> @tritonc.wgmma_wait_f32.v128f32(i32 128, i32 0, <128 x float> %c3)
      %at = getelementptr [128 x float], ptr addrspace(1) %out, i32 %t
      store <128 x float> %d, ptr addrspace(1) %at, align 16
      ret void
    })";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  prepare_module(*module);
  const Gpu &gpu = *find_gpu("90a");
  Result<std::string> ptx = emit_ptx(*module, gpu);
  REQUIRE_MESSAGE(ptx, text(ptx.error()));

  // Both instructions name the same registers, and no instruction moves them.
  size_t loop = ptx->find("$L__BB0_1:"), end = ptx->find("st.global");
  REQUIRE(loop != std::string::npos);
  REQUIRE(end != std::string::npos);
  std::string body = ptx->substr(loop, end - loop);
  auto accumulators = [&](size_t from) {
    size_t at = body.find("m64n256k16.f32.bf16.bf16 {", from);
    REQUIRE(at != std::string::npos);
    return std::pair(body.substr(at, body.find('}', at) - at), at + 1);
  };
  auto [first, after] = accumulators(0);
  CHECK(accumulators(after).first == first);
  std::string one = first.substr(first.find('{') + 1, first.find(',') - first.find('{') - 1);
  CHECK_FALSE(contains(body, "mov.b32 \t" + one));
  size_t moves = 0;
  for (size_t at = body.find("\tmov."); at != std::string::npos; at = body.find("\tmov.", at + 1))
    moves++;
  CHECK(moves < 8); // addresses and conditions; there are 128 accumulators

  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  Result<Cubin> cubin = assemble(*tools, *ptx, "product", gpu);
  REQUIRE_MESSAGE(cubin, text(cubin.error()));
  CHECK(cubin->resources.spill_stores == 0);
  CHECK(cubin->resources.stack_bytes == 0);
  CHECK(cubin->resources.advice.empty());
}

TEST_CASE("lower_target_ops: does nothing to other calls") {
  std::string text = lowered(R"(
    declare i32 @other(i32)
    define i32 @f(i32 %x) {
      %r = call i32 @other(i32 %x)
      ret i32 %r
    })");
  CHECK(text.find("call i32 @other(i32 %x)") != std::string::npos);
}
