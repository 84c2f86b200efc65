// Tests backend/predicate_accesses.cpp, backend/masked_access.cpp and backend/global_access.cpp.

#include "backend/predicate_accesses.h"

#include "backend/ptx.h"
#include "support/contains.h"
#include "target/gpu.h"
#include "unit/backend/parsed_module.h"

#include "llvm/IR/Verifier.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Kernel : ParsedModule {
  // `body` has the pointers %p and %q to global memory, the pointer %s to shared memory, and the
  // conditions %a and %b.
  explicit Kernel(const std::string &body)
      : ParsedModule(R"(
        define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(3) %s,
                                  i1 %a, i1 %b) {
          )" + body + "\n ret void }") {}
};

std::string predicated(const std::string &body) {
  Kernel kernel(body);
  predicate_accesses(*kernel.module);
  REQUIRE_FALSE(llvm::verifyModule(*kernel.module));
  return kernel.text();
}

// Defines %m: %a for each of `count` elements.
std::string mask_of(const std::string &count) {
  const std::string mask = "<" + count + " x i1>";
  return "%i = insertelement " + mask + " poison, i1 %a, i64 0\n %m = shufflevector " + mask +
         " %i, " + mask + " poison, <" + count + " x i32> zeroinitializer\n";
}

// A load of `type`, a vector of `count` elements, masked by %a.
std::string load_of(const std::string &type, const std::string &count,
                    const std::string &masked_off = "zeroinitializer") {
  return mask_of(count) + "%v = call " + type +
         " @llvm.masked.load(ptr addrspace(1) align 16 %p, <" + count + " x i1> %m, " + type + " " +
         masked_off + ")\n store " + type + " %v, ptr addrspace(1) %q";
}

// The same for a store.
std::string store_of(const std::string &type, const std::string &count) {
  return mask_of(count) + "%v = load " + type +
         ", ptr addrspace(1) %p\n call void @llvm.masked.store(" + type +
         " %v, ptr addrspace(1) align 16 %q, <" + count + " x i1> %m)";
}

// The access in `kernel`, which was a call with this `result`, is one instruction of inline PTX.
void check_instruction(const std::string &kernel, const std::string &result,
                       const std::string &instruction, const std::string &constraints) {
  const std::string text = predicated(kernel);
  CHECK(contains(text, instruction));
  CHECK(contains(text, "\"" + constraints + "\""));
  CHECK_FALSE(contains(text, "call " + result + " @llvm.masked."));
}

} // namespace

TEST_CASE("predicate_accesses: a predicate, and the other value in the registers before") {
  struct {
    const char *type, *count, *text, *constraints;
  } cases[] = {
      {"<1 x i8>", "1", "@$2 ld.global.b8 $0, [$1];", "=h,l,b,0,~{memory}"},
      {"<1 x half>", "1", "@$2 ld.global.b16 $0, [$1];", "=h,l,b,0,~{memory}"},
      {"<1 x float>", "1", "@$2 ld.global.b32 $0, [$1];", "=r,l,b,0,~{memory}"},
      {"<1 x double>", "1", "@$2 ld.global.b64 $0, [$1];", "=l,l,b,0,~{memory}"},
      {"<2 x half>", "2", "@$2 ld.global.b32 $0, [$1];", "=r,l,b,0,~{memory}"},
      {"<8 x half>", "8", "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
       "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"},
      {"<2 x i64>", "2", "@$3 ld.global.v2.b64 {$0, $1}, [$2];", "=l,=l,l,b,0,1,~{memory}"},
  };
  for (const auto &[type, count, asm_text, constraints] : cases) {
    CAPTURE(type);
    check_instruction(load_of(type, count), type, asm_text, constraints);
  }
}

TEST_CASE("predicate_accesses: any value for elements that nobody reads") {
  CHECK(contains(predicated(load_of("<1 x float>", "1", "poison")), "\"=r,l,b,~{memory}\""));
}

TEST_CASE("predicate_accesses: stores") {
  struct {
    const char *type, *count, *text, *constraints;
  } cases[] = {
      {"<1 x half>", "1", "@$2 st.global.b16 [$1], $0;", "h,l,b,~{memory}"},
      {"<8 x half>", "8", "@$5 st.global.v4.b32 [$4], {$0, $1, $2, $3};", "r,r,r,r,l,b,~{memory}"},
  };
  for (const auto &[type, count, asm_text, constraints] : cases) {
    CAPTURE(type);
    check_instruction(store_of(type, count), "void", asm_text, constraints);
  }
}

TEST_CASE("predicate_accesses: only global memory with one mask for all elements") {
  auto unchanged = [](const std::string &body) { CHECK(predicated(body) == Kernel(body).text()); };
  unchanged("%v = load float, ptr addrspace(1) %p\n store float %v, ptr addrspace(1) %q");
  unchanged(R"(
    %i = insertelement <2 x i1> poison, i1 %a, i64 0
    %m = insertelement <2 x i1> %i, i1 %b, i64 1
    %v = call <2 x float> @llvm.masked.load(ptr addrspace(1) align 8 %p, <2 x i1> %m,
                                            <2 x float> zeroinitializer)
    store <2 x float> %v, ptr addrspace(1) %q)");
  unchanged(R"(
    %m = insertelement <1 x i1> poison, i1 %a, i64 0
    %v = call <1 x float> @llvm.masked.load(ptr addrspace(3) align 4 %s, <1 x i1> %m,
                                            <1 x float> zeroinitializer)
    call void @llvm.masked.store(<1 x float> %v, ptr addrspace(3) align 4 %s, <1 x i1> %m))");
}

// A branch would wait for the conversion, which waits for its load.
TEST_CASE("predicate_accesses: PTX has no branch around conversions") {
  Kernel kernel(R"(
    %m = insertelement <1 x i1> poison, i1 %a, i64 0
    %v = call <1 x half> @llvm.masked.load(ptr addrspace(1) align 2 %p, <1 x i1> %m,
                                           <1 x half> zeroinitializer)
    %h = extractelement <1 x half> %v, i64 0
    %f = fpext half %h to float
    %g = insertelement <1 x float> poison, float %f, i64 0
    call void @llvm.masked.store(<1 x float> %g, ptr addrspace(1) align 4 %q, <1 x i1> %m))");
  Result<std::string> ptx = emit_ptx(*kernel.module, *find_gpu("90a"));
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  CHECK(contains(*ptx, "ld.global.b16"));
  CHECK(contains(*ptx, "st.global.b32"));
  CHECK(contains(*ptx, "cvt.f32.f16"));
  CHECK_FALSE(contains(*ptx, "bra"));
}
