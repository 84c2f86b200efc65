// Tests backend/prepare_for_ptx.cpp.

#include "backend/prepare_for_ptx.h"

#include "backend/ptx.h"
#include "support/contains.h"
#include "target/gpu.h"
#include "unit/backend/parsed_module.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Kernel : ParsedModule {
  // `body` computes %r of type `type` from %a, %b, %c, %w and %x.
  Kernel(const std::string &body, const std::string &type)
      : ParsedModule(R"(
        declare float @llvm.exp2.f32(float)
        declare half @llvm.exp2.f16(half)
        declare float @llvm.log2.f32(float)
        declare i32 @llvm.smin.i32(i32, i32)
        declare i32 @llvm.smax.i32(i32, i32)
        declare i32 @llvm.umax.i32(i32, i32)
        declare i64 @llvm.smax.i64(i64, i64)
        define ptx_kernel void @k(ptr addrspace(1) %out, i32 %a, i32 %b, i32 %c, i64 %w, float %x) {
          )" + body + "\n store " +
                     type + " %r, ptr addrspace(1) %out\n ret void }") {}
};

std::string prepared(const std::string &body, const std::string &type = "i32") {
  Kernel kernel(body, type);
  prepare_for_ptx(*kernel.module);
  return kernel.text();
}

std::string ptx_of(const std::string &body, const std::string &type = "i32") {
  Kernel kernel(body, type);
  Result<std::string> ptx = emit_ptx(*kernel.module, *find_gpu("90a"));
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  return *ptx;
}

void unchanged(const std::string &body, const std::string &type = "i32") {
  CHECK(prepared(body, type) == Kernel(body, type).text());
}

} // namespace

TEST_CASE("prepare_for_ptx: log2 becomes lg2.approx") {
  CHECK(
      contains(ptx_of("%r = call afn float @llvm.log2.f32(float %x)", "float"), "lg2.approx.f32"));
}

TEST_CASE("prepare_for_ptx: exp2 becomes ex2.approx without subnormal numbers") {
  const std::string exp2 = "%r = call afn float @llvm.exp2.f32(float %x)";
  CHECK(contains(prepared(exp2, "float"), "call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)"));
  std::string ptx = ptx_of(exp2, "float");
  CHECK(contains(ptx, "ex2.approx.ftz.f32"));
  CHECK_FALSE(contains(ptx, "setp")); // nor a test for small arguments
}

TEST_CASE("prepare_for_ptx: moves a negation to the first operand of min") {
  for (const char *function : {"@llvm.smin.i32", "@llvm.smax.i32"}) {
    std::string call = std::string("call i32 ") + function;
    std::string text = prepared("%n = sub i32 0, %b\n %m = " + call +
                                "(i32 %a, i32 %n)\n %r = " + call + "(i32 %m, i32 %c)");
    CHECK(contains(text, call + "(i32 %n, i32 %a)"));
  }
  CHECK(contains(ptx_of("%n = sub nsw i32 0, %b\n %m = call i32 @llvm.smin.i32(i32 %a, i32 %n)\n"
                        "%r = call i32 @llvm.smin.i32(i32 %m, i32 %c)"),
                 "min.s32"));
}

TEST_CASE("prepare_for_ptx: two negations use a 64-bit min") {
  std::string text = ptx_of("%m = sub i32 0, %a\n %n = sub i32 0, %b\n"
                            "%s = call i32 @llvm.smin.i32(i32 %m, i32 %n)\n"
                            "%r = call i32 @llvm.smin.i32(i32 %s, i32 %c)");
  CHECK(contains(text, "min.s64"));
}

TEST_CASE("prepare_for_ptx: does nothing to other operands and types") {
  unchanged("%r = call i32 @llvm.smin.i32(i32 %a, i32 %b)");
  unchanged("%n = sub i32 0, %b\n %r = call i32 @llvm.smin.i32(i32 %n, i32 %a)");
  unchanged("%n = sub i32 1, %b\n %r = call i32 @llvm.smin.i32(i32 %a, i32 %n)");
  unchanged("%n = sub i32 0, %b\n %r = call i32 @llvm.umax.i32(i32 %a, i32 %n)");
  unchanged("%n = sub i64 0, %w\n %r = call i64 @llvm.smax.i64(i64 7, i64 %n)", "i64");
  unchanged("%h = fptrunc float %x to half\n %r = call half @llvm.exp2.f16(half %h)", "half");
}
