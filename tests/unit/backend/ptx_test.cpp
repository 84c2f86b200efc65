// Tests backend/ptx.cpp.

#include "backend/ptx.h"
#include "support/contains.h"

#include "unit/backend/parsed_module.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string ptx_of(const std::string &ir, const char *gpu) {
  ParsedModule parsed(ir);
  Result<std::string> ptx = emit_ptx(*parsed.module, *find_gpu(gpu));
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  return *ptx;
}

const char *copy_kernel = R"(
  @tritonc_shared = external addrspace(3) global [0 x i8], align 1024
  declare i32 @tritonc.tid_x()
  declare void @tritonc.barrier()
  define ptx_kernel void @copy(ptr addrspace(1) %p) "nvvm.maxntid"="128" {
    %t = call i32 @tritonc.tid_x()
    %offset = shl i32 %t, 2
    %base = ptrtoint ptr addrspace(3) @tritonc_shared to i32
    %address = add i32 %base, %offset
    %slot = inttoptr i32 %address to ptr addrspace(3)
    %source = getelementptr float, ptr addrspace(1) %p, i32 %t
    %value = load float, ptr addrspace(1) %source
    store float %value, ptr addrspace(3) %slot
    call void @tritonc.barrier()
    %again = load float, ptr addrspace(3) %slot
    store float %again, ptr addrspace(1) %source
    ret void
  })";

} // namespace

TEST_CASE("emit_ptx: version, target and launch bounds") {
  struct {
    const char *gpu, *version;
  } cases[] = {{"75", ".version 6.5\n"},
               {"80", ".version 7.0\n"},
               {"90a", ".version 8.0\n"},
               {"100", ".version 8.6\n"},
               {"120a", ".version 8.7\n"}};
  for (const auto &expected : cases) {
    CAPTURE(expected.gpu);
    std::string ptx = ptx_of(copy_kernel, expected.gpu);
    CHECK(contains(ptx, expected.version));
    CHECK(contains(ptx, ".target sm_" + std::string(expected.gpu)));
    CHECK(contains(ptx, ".entry copy("));
    CHECK(contains(ptx, ".maxntid 128"));
  }
}

TEST_CASE("emit_ptx: shared memory is extern, aligned and in one register") {
  std::string ptx = ptx_of(copy_kernel, "80");
  CHECK(contains(ptx, ".extern .shared .align 1024 .b8 tritonc_shared[];"));
  CHECK(contains(ptx, "st.shared.b32"));
  CHECK_FALSE(contains(ptx, "cvta"));
  CHECK(contains(ptx, "bar"));
}

namespace {

// copy_kernel, with a source location (line 12) on its last instruction.
std::string located_kernel() {
  std::string located = copy_kernel;
  located.replace(located.find("\"nvvm.maxntid\"=\"128\" {"), 22,
                  "\"nvvm.maxntid\"=\"128\" !dbg !3 {");
  located.replace(located.find("ret void"), 8, "ret void, !dbg !5");
  located += R"(
    !llvm.module.flags = !{!0}
    !llvm.dbg.cu = !{!1}
    !0 = !{i32 2, !"Debug Info Version", i32 3}
    !1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
    !2 = !DIFile(filename: "k.tc", directory: "")
    !3 = distinct !DISubprogram(name: "copy", scope: null, file: !2, line: 1, type: !4, unit: !1,
                                spFlags: DISPFlagDefinition)
    !4 = !DISubroutineType(types: !{})
    !5 = !DILocation(line: 12, column: 3, scope: !3))";
  return located;
}

std::string ptx_with_lines(const std::string &ir) {
  ParsedModule parsed(ir);
  const Gpu &gpu = *find_gpu("80");
  REQUIRE(optimize(*parsed.module, gpu));
  Result<std::string> ptx = generate_ptx(*parsed.module, gpu, /*line_info=*/true);
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  return *ptx;
}

} // namespace

TEST_CASE("emit_ptx: has no source locations by default") {
  CHECK(ptx_of(located_kernel(), "80") == ptx_of(copy_kernel, "80"));
}

TEST_CASE("generate_ptx: line info has lines and a fixed file entry") {
  std::string ptx = ptx_with_lines(located_kernel());
  CAPTURE(ptx);
  CHECK(ptx.find("\t.loc\t1 12 3") != std::string::npos);
  CHECK(ptx.find(".file\t1 \"k.tc\", 1, 1\n") != std::string::npos);
  for (const char *more : {".debug_info", ".debug_line", ".debug_abbrev"})
    CHECK(ptx.find(more) == std::string::npos);
  // IR without locations gives no line info.
  CHECK(ptx_with_lines(copy_kernel) == ptx_of(copy_kernel, "80"));
}

TEST_CASE("emit_ptx: does not unroll loops") {
  auto loop = [](const char *metadata) {
    return std::string(R"(
      define ptx_kernel void @sum(ptr addrspace(1) %p) {
      entry:
        br label %loop
      loop:
        %i = phi i32 [ 0, %entry ], [ %next, %loop ]
        %at = getelementptr float, ptr addrspace(1) %p, i32 %i
        %value = load volatile float, ptr addrspace(1) %at
        store volatile float %value, ptr addrspace(1) %p
        %next = add i32 %i, 1
        %more = icmp ult i32 %next, 64
        br i1 %more, label %loop, label %done, !llvm.loop !0
      done:
        ret void
      }
      !0 = distinct !{!0)") +
           metadata;
  };
  CHECK(contains(ptx_of(loop("}\n"), "80"), "bra"));
  CHECK(contains(ptx_of(loop(", !1}\n!1 = !{!\"llvm.loop.unroll.full\"}\n"), "80"), "bra"));
}

TEST_CASE("emit_ptx: does not strength-reduce addresses in a loop") {
  std::string ptx = ptx_of(R"(
    define ptx_kernel void @sum(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %row, i32 %iterations) {
    entry:
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %next, %loop ]
      %wide = zext i32 %i to i64
      %offset = mul i64 %wide, %row
      %at = getelementptr i8, ptr addrspace(1) %p, i64 %offset
      %value = load volatile float, ptr addrspace(1) %at
      %to = getelementptr i8, ptr addrspace(1) %q, i64 %offset
      store volatile float %value, ptr addrspace(1) %to
      %next = add nuw nsw i32 %i, 1
      %more = icmp ult i32 %next, %iterations
      br i1 %more, label %loop, label %done
    done:
      ret void
    })",
                           "80");
  // Strength reduction would add `row` to two addresses in each iteration.
  CHECK(ptx.find("mul.lo.s64") > ptx.find("$L__BB0_1:"));
  CHECK(contains(ptx, "mul.lo.s64"));
}

TEST_CASE("emit_ptx: same module gives the same PTX") {
  CHECK(ptx_of(copy_kernel, "90a") == ptx_of(copy_kernel, "90a"));
}

TEST_CASE("emit_ptx: same module gives the same PTX, after other calls of functions") {
  const char *calls = R"(
    declare i32 @vprintf(ptr, ptr)
    define ptx_kernel void @f(ptr %format, ptr %values) {
      %n = call i32 @vprintf(ptr %format, ptr %values)
      ret void
    })";
  std::string first = ptx_of(calls, "80");
  CHECK(contains(first, "call.uni"));
  CHECK(ptx_of(calls, "80") == first);
  CHECK(ptx_of(calls, "80") == first);
}

TEST_CASE("emit_ptx: reports an LLVM error and its reason") {
  const std::string kernel = R"(
    define ptx_kernel void @f(ptr addrspace(1) %p, i32 %n) {
      %m = add i32 %n, 0
      %place = alloca i8, i32 COUNT
      store ptr %place, ptr addrspace(1) %p
      ret void
    })";
  auto ptx_of_count = [&](const std::string &count, const char *gpu) {
    std::string ir = kernel;
    ParsedModule parsed(ir.replace(ir.find("COUNT"), 5, count));
    return emit_ptx(*parsed.module, *find_gpu(gpu));
  };
  // alloca with a run-time size requires PTX 7.3.
  Result<std::string> ptx = ptx_of_count("%m", "80");
  REQUIRE_FALSE(ptx);
  CHECK(ptx.error().id == Message::llvm_failed);
  CHECK(contains(text(ptx.error()), "error: LLVM failed for sm_80: "));
  CHECK(contains(text(ptx.error()), "alloca"));
  CHECK(contains(text(ptx.error()), "; please report it, with the kernel"));
  CHECK(ptx_of_count("%m", "90"));
  CHECK(ptx_of_count("8", "80"));
}

TEST_CASE("emit_ptx: inline assembly is an internal error") {
  ParsedModule parsed(R"(
    define ptx_kernel void @f() {
      call void asm sideeffect "bar.sync 0;", ""()
      ret void
    })");
  Result<std::string> ptx = emit_ptx(*parsed.module, *find_gpu("80"));
  REQUIRE_FALSE(ptx);
  CHECK(ptx.error().id == Message::internal_error);
}

TEST_CASE("emit_ptx: NVPTX intrinsic is an internal error") {
  ParsedModule parsed(R"(
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    define ptx_kernel void @f() {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      ret void
    })");
  Result<std::string> ptx = emit_ptx(*parsed.module, *find_gpu("80"));
  REQUIRE_FALSE(ptx);
  CHECK(ptx.error().id == Message::internal_error);
}
