// Tests lower/partials.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// A tile of 16 registers per thread, in two warps.
std::string function(const std::string &operations) {
  return "layout #0 [32,32] reg (0,1) (0,8) (8,0) (0,16) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp "
         "(16,0)\nfunc @f(%p: ptr<f32>, %q: ptr<f32>) warps 2 {\n"
         "  %zero = constant {number = 0.0} : f32\n %x = splat %zero : f32[32,32] #0\n" +
         operations + "\n return\n}";
}

} // namespace

TEST_CASE("store_partial: each thread stores its registers in vectors of 16 bytes") {
  const std::string text = lowered(function("store_partial %p, %x"));
  CHECK(count(text, "store <4 x float>") == 4);
  CHECK_FALSE(contains(text, "store float"));
  CHECK_FALSE(contains(text, "br i1"));
}

TEST_CASE("add_partial: reads the same vectors") {
  const std::string text =
      lowered(function("%y = add_partial %p, %x : f32[32,32] #0\n store_partial %q, %y"));
  CHECK(count(text, "load <4 x float>") == 4);
  CHECK(count(text, "fadd float") == 16);
}

TEST_CASE("signal, wait_signal: one thread") {
  for (const char *name : {"signal", "wait_signal"}) {
    const std::string text = lowered(function(std::string(name) + " %p"));
    CHECK(count(text, std::string("call void @tritonc.") + name + "(") == 1);
    CHECK(count(text, "br i1") == 1);
  }
}
