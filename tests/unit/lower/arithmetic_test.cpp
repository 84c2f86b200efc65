// Tests lower/arithmetic.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// The LLVM IR of an operation %r on scalars of each type.
std::string scalar(const std::string &operation, const std::string &type) {
  return lowered("func @f(%i: i32, %j: i32, %w: i64, %b: i8, %c: i1, %x: f32, %y: f32, %h: f16,"
                 " %g: bf16, %d: f64, %e: f64, %p: ptr<f16>, %out: ptr<" +
                 type + ">) warps 1 {\n%r = " + operation + " : " + type +
                 "\n store %out, %r\n return\n}");
}

} // namespace

TEST_CASE("arithmetic: a division with a reciprocal multiplies by two words of it") {
  const std::string quotient = scalar("udiv %i, %j, %w", "i32"),
                    rest = scalar("urem %i, %j, %w", "i32");
  CHECK_FALSE(contains(quotient, "udiv"));
  CHECK(count(quotient, "mul i64") == 2);
  CHECK(contains(quotient, "lshr i64 %w, 32"));
  CHECK_FALSE(contains(quotient, "ashr"));
  CHECK(count(rest, "mul i32") == 1);
  CHECK(contains(scalar("div %i, %j, %w", "i32"), "ashr i32 %j, 31")); // its sign
}

TEST_CASE("arithmetic: each operation becomes its type's instruction") {
  struct {
    std::string operation, type, instruction;
  } cases[] = {
      {"add %i, %j", "i32", "add nsw i32 %i, %j"},
      {"add %x, %y", "f32", "fadd float %x, %y"},
      {"sub %i, %j", "i32", "sub nsw i32 %i, %j"},
      {"add %i, %j {unsigned = 1}", "i32", "add i32 %i, %j"}, // wraps
      {"mul %w, %w {unsigned = 1}", "i64", "mul i64 %w, %w"},
      {"neg %i {unsigned = 1}", "i32", "sub i32 0, %i"},
      {"sub %d, %e", "f64", "fsub double %d, %e"},
      {"mul %i, %j", "i32", "mul nsw i32 %i, %j"},
      {"mul %h, %h", "f16", "fmul half %h, %h"},
      {"div %i, %j", "i32", "sdiv i32"},
      {"div %x, %y", "f32", "fdiv float %x, %y"},
      {"udiv %i, %j", "i32", "udiv i32"},
      {"rem %i, %j", "i32", "srem i32"},
      {"rem %x, %y", "f32", "frem float %x, %y"},
      {"urem %i, %j", "i32", "urem i32"},
      {"min %i, %j", "i32", "@llvm.smin.i32"},
      {"max %i, %j", "i32", "@llvm.smax.i32"},
      {"umin %i, %j", "i32", "@llvm.umin.i32"},
      {"umax %i, %j", "i32", "@llvm.umax.i32"},
      {"min %x, %y", "f32", "@llvm.minnum.f32"},
      {"max %x, %y", "f32", "@llvm.maxnum.f32"},
      {"and %i, %j", "i32", "and i32 %i, %j"},
      {"or %c, %c", "i1", "or i1"},
      {"xor %i, %j", "i32", "xor i32 %i, %j"},
      {"shl %i, %j", "i32", "shl i32 %i, %j"},
      {"shr %i, %j", "i32", "ashr i32 %i, %j"},
      {"ushr %i, %j", "i32", "lshr i32 %i, %j"},
      {"neg %i", "i32", "sub nsw i32 0, %i"},
      {"neg %x", "f32", "fneg float %x"},
      {"abs %i", "i32", "@llvm.abs.i32(i32 %i, i1 false)"},
      {"abs %x", "f32", "@llvm.fabs.f32"},
      {"exp %x", "f32", "call afn float @llvm.exp2.f32"},
      {"log %x", "f32", "call afn float @llvm.log2.f32"},
      {"sqrt %d", "f64", "@llvm.sqrt.f64"},
      {"select %c, %i, %j", "i32", "select i1 %"},
      {"addptr %p, %i", "ptr<f16>", ""},
      {"bitcast %x", "i32", "bitcast float %x to i32"},
      {"bitcast %p", "i64", "ptrtoint ptr addrspace(1) %p to i64"},
  };
  for (const auto &[operation, type, instruction] : cases) {
    CAPTURE(operation);
    if (type.rfind("ptr", 0) == 0)
      continue; // pointers are not stored; see below
    CHECK(contains(scalar(operation, type), instruction));
  }
}

TEST_CASE("div: never traps, whatever the operands") {
  std::string text = scalar("div %i, %j", "i32");
  CHECK(contains(text, "freeze i32 %j"));
  CHECK(contains(text, "select i1"));   // on the divisor
  CHECK(contains(text, "-2147483648")); // divided by -1 it overflows
  CHECK(contains(scalar("urem %i, %j", "i32"), "select i1"));
  CHECK_FALSE(contains(scalar("urem %i, %j", "i32"), "-2147483648"));
}

TEST_CASE("div: a constant divisor is not guarded, except 0 and -1") {
  auto by = [](const std::string &operation, const std::string &value) {
    return lowered("func @f(%i: i32, %out: ptr<i32>) warps 1 {\n%c = constant {value = " + value +
                   "} : i32\n%r = " + operation + " %i, %c : i32\n store %out, %r\n return\n}");
  };
  CHECK(contains(by("div", "16"), "sdiv i32 %i, 16"));
  CHECK(contains(by("urem", "-1"), "urem i32 %i, -1"));
  CHECK(contains(by("rem", "-1"), "select i1"));
  CHECK_FALSE(contains(by("udiv", "0"), "udiv i32 %i, 0"));
}

TEST_CASE("addptr: 64-bit offset in elements") {
  std::string text = lowered("func @f(%p: ptr<f16>, %i: i32, %x: f16) warps 1 {\n"
                             "%q = addptr %p, %i : ptr<f16>\n store %q, %x\n return\n}");
  CHECK(contains(text, "sext i32 %i to i64"));
  CHECK(contains(text, "getelementptr half, ptr addrspace(1) %p, i64"));
}

TEST_CASE("cmp: ordered on floats, signed or unsigned on integers") {
  struct {
    std::string operation, instruction;
  } cases[] = {
      {"cmp %i, %j {pred = \"eq\"}", "icmp eq i32 %i, %j"},
      {"cmp %i, %j {pred = \"ne\"}", "icmp ne i32 %i, %j"},
      {"cmp %i, %j {pred = \"lt\"}", "icmp slt i32 %i, %j"},
      {"cmp %i, %j {pred = \"le\"}", "icmp sle i32 %i, %j"},
      {"cmp %i, %j {pred = \"gt\"}", "icmp sgt i32 %i, %j"},
      {"cmp %i, %j {pred = \"ge\"}", "icmp sge i32 %i, %j"},
      {"cmp %i, %j {pred = \"ult\"}", "icmp ult i32 %i, %j"},
      {"cmp %i, %j {pred = \"uge\"}", "icmp uge i32 %i, %j"},
      {"cmp %x, %y {pred = \"eq\"}", "fcmp oeq float %x, %y"},
      {"cmp %x, %y {pred = \"ne\"}", "fcmp une float %x, %y"}, // a NaN differs from itself
      {"cmp %x, %y {pred = \"lt\"}", "fcmp olt float %x, %y"},
  };
  for (const auto &[operation, instruction] : cases) {
    CAPTURE(operation);
    CHECK(contains(scalar(operation, "i1"), instruction));
  }
}

TEST_CASE("cast: keeps values, signed or unsigned") {
  struct {
    std::string operation, type, instruction;
  } cases[] = {
      {"cast %i", "i64", "sext i32 %i to i64"},
      {"cast %i {unsigned = 1}", "i64", "zext i32 %i to i64"},
      {"cast %w", "i32", "trunc i64 %w to i32"},
      {"cast %c", "i32", "zext i1"},
      {"cast %i", "f32", "sitofp i32 %i to float"},
      {"cast %i {unsigned = 1}", "f32", "uitofp i32 %i to float"},
      {"cast %c", "f32", "uitofp i1"},
      {"cast %x", "i32", "fptosi float %x to i32"},
      {"cast %x {unsigned = 1}", "i8", "fptoui float %x to i8"},
      {"cast %x", "f16", "fptrunc float %x to half"},
      {"cast %h", "f32", "fpext half %h to float"},
      {"cast %i", "i1", "icmp ne i32 %i, 0"}, // not the lowest bit
      {"cast %x", "i1", "fcmp une float %x, 0"},
  };
  for (const auto &[operation, type, instruction] : cases) {
    CAPTURE(operation);
    CHECK(contains(scalar(operation, type), instruction));
  }
  // f16 and bf16 have the same size but different ranges, so conversions go through f32.
  std::string text = scalar("cast %h", "bf16");
  CHECK(contains(text, "fpext half %h to float"));
  CHECK(contains(text, "to bfloat"));
  // LLVM would treat bf16 as narrower than f16, and compute with both in f16.
  for (const char *type : {"f32", "f64", "f16"}) {
    text = scalar("cast %g", type);
    CHECK(contains(text, "bitcast bfloat %g to i16"));
    CHECK(contains(text, "shl i32"));
    CHECK_FALSE(contains(text, "fpext bfloat"));
  }
}

TEST_CASE("constant: folded into its uses, exactly") {
  CHECK(contains(scalar("constant {value = -1}", "i64"), "store i64 -1"));
  CHECK(contains(scalar("constant {value = 255}", "i8"), "store i8 -1"));
  CHECK(contains(scalar("constant {number = 0.5}", "f32"), "store float 5.000000e-01"));
  CHECK(contains(scalar("constant {number = -0.0}", "f16"), "store half 0xH8000"));
  CHECK(contains(scalar("constant {number = inf}", "f32"), "store float 0x7FF0000000000000"));
}

TEST_CASE("arithmetic: tiles per register, a scalar condition once") {
  std::string text = lowered(R"(
    layout #0 [128] reg (32) (64) lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<f32>, %x: f32, %c: i1) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %one : view<f32>[128]
      %a = load %v {vector = 1} : f32[128] #0
      %xs = splat %x : f32[128] #0
      %b = mul %a, %xs : f32[128] #0
      %d = select %c, %b, %a : f32[128] #0
      store %v, %d {vector = 1}
      return
    })");
  CHECK(count(text, "fmul float") == 4);
  CHECK(count(text, "select i1") == 4);
}

TEST_CASE("cmp: once for each group of equal results") {
  // Registers: elements 1, 2, 4 of 8 adjacent columns, and 256 columns further.
  auto comparisons = [](const std::string &attributes) {
    return count(lowered(R"(
      layout #0 [512] reg (1) (2) (4) (256) lane (8) (16) (32) (64) (128) warp
      func @f(%p: ptr<f32>, %n: i32 multiple_of 8) warps 1 {
        %zero = constant {value = 0} : i64
        %one = constant {value = 1} : i64
        %v = view %p, %zero, %one : view<f32>[512]
        %i = range {start = 0} : i32[512] #0
        %ends = splat %n : i32[512] #0
        %m = cmp %i, %ends {)" +
                         attributes + R"(pred = "lt"} : i1[512] #0
        %a = load %v, %m {vector = 1} : f32[512] #0
        store %v, %a, %m {vector = 1}
        return
      })"),
                 "icmp slt i32");
  };
  CHECK(comparisons("") == 16);
  CHECK(comparisons("axis = 0, vector = 2, ") == 8);
  CHECK(comparisons("axis = 0, vector = 4, ") == 4);
  CHECK(comparisons("axis = 0, vector = 8, ") == 2);
  CHECK(comparisons("axis = 0, vector = 16, ") == 2); // the others are in other threads
  CHECK(comparisons("axis = 0, vector = 512, ") == 1);
}

TEST_CASE("cmp: groups are along one axis") {
  auto comparisons = [](const std::string &attributes) {
    return count(lowered(R"(
      layout #0 [8,32] reg (0,1) (1,0) (2,0) lane (0,2) (0,4) (0,8) (0,16) (4,0) warp
      func @f(%p: ptr<i32>, %ld: i64) warps 1 {
        %zero = constant {value = 0} : i64
        %one = constant {value = 1} : i64
        %v = view %p, %zero, %ld, %one : view<i32>[8,32]
        %w = view %p, %ld, %ld, %one : view<i32>[8,32]
        %a = load %v {vector = 1} : i32[8,32] #0
        %b = load %w {vector = 1} : i32[8,32] #0
        %m = cmp %a, %b {)" +
                         attributes + R"(pred = "eq"} : i1[8,32] #0
        store %v, %a, %m {vector = 1}
        return
      })"),
                 "icmp eq i32");
  };
  CHECK(comparisons("") == 8);
  CHECK(comparisons("axis = 0, vector = 2, ") == 4);
  CHECK(comparisons("axis = 0, vector = 4, ") == 2);
  CHECK(comparisons("axis = 1, vector = 2, ") == 4);
  CHECK(comparisons("axis = 1, vector = 32, ") == 4);
}
