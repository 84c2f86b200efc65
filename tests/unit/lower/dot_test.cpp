// Tests lower/dot.cpp.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include "analysis/layouts.h"
#include "ir/builder.h"
#include "ir/printer.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// An m x n x k matmul whose operands and accumulator come from memory, in the layouts that the dot
// requires.
std::string program(const std::string &elem, int m, int n, int k, const std::string &attributes) {
  auto shape = [](int rows, int columns) {
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  std::string sum = elem == "f64" ? "f64" : elem == "i8" ? "i32" : "f32";
  ir::Function fn =
      parsed("func @f(%A: ptr<" + elem + ">, %C: ptr<" + sum +
             ">, %ld: i64) {\n"
             "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
             "%va = view %A, %zero, %ld, %one : view<" +
             elem + ">" + shape(m, k) +
             "\n"
             "%vb = view %A, %zero, %ld, %one : view<" +
             elem + ">" + shape(k, n) +
             "\n"
             "%vc = view %C, %zero, %ld, %one : view<" +
             sum + ">" + shape(m, n) +
             "\n"
             "%a = load %va {vector = 1} : " +
             elem + shape(m, k) +
             "\n"
             "%b = load %vb {vector = 1} : " +
             elem + shape(k, n) +
             "\n"
             "%c = load %vc {vector = 1} : " +
             sum + shape(m, n) +
             "\n"
             "%d = dot %a, %b, %c {" +
             attributes + "} : " + sum + shape(m, n) +
             "\n"
             "store %vc, %d {vector = 1}\n return\n}");
  const ir::Op &dot = *value_named(fn, "d")->op;
  fn.warps = accumulator_layout(dot).warps();
  for (const char *name : {"c", "d"})
    value_named(fn, name)->type = value_named(fn, name)->type.with_layout(accumulator_layout(dot));
  ir::LinearLayout a = operand_layout(dot, 0), b = operand_layout(dot, 1);
  value_named(fn, "a")->type = value_named(fn, "a")->type.with_layout(a);
  value_named(fn, "b")->type = value_named(fn, "b")->type.with_layout(b);
  return printed(fn);
}

} // namespace

TEST_CASE("dot: instruction per type, one per 16 x 8 of the result") {
  struct {
    std::string elem, instruction;
    int k;
    std::string call;
  } cases[] = {
      {"f16", "m16n8k16", 16, "call <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32> "},
      {"f16", "m16n8k8", 8, "call <4 x float> @tritonc.mma_m16n8k8_f16(<2 x i32> "},
      {"bf16", "m16n8k16", 16, "call <4 x float> @tritonc.mma_m16n8k16_bf16(<4 x i32> "},
      {"bf16", "m16n8k8", 8, "call <4 x float> @tritonc.mma_m16n8k8_bf16(<2 x i32> "},
      {"f32", "m16n8k8", 8, "call <4 x float> @tritonc.mma_m16n8k8_tf32(<4 x i32> "},
      {"f32", "m16n8k4", 4, "call <4 x float> @tritonc.mma_m16n8k4_tf32(<2 x i32> "},
  };
  for (const auto &[elem, instruction, k, call] : cases) {
    CAPTURE(elem);
    CAPTURE(instruction);
    std::string one = "instruction = \"" + instruction + "\", warps = [1,1]";
    CHECK(count(lowered(program(elem, 16, 8, k, one)), call) == 1);
    CHECK(count(lowered(program(elem, 32, 32, k, one)), call) == 8);
    std::string four = "instruction = \"" + instruction + "\", warps = [2,2]";
    CHECK(count(lowered(program(elem, 32, 32, k, four)), call) == 2);
  }
}

TEST_CASE("dot: f64 uses one m16 or two m8 instructions") {
  std::string one = "warps = [1,1], instruction = ";
  auto lowered_for = [&](int m, int k, const char *instruction) {
    return lowered(program("f64", m, 8, k, one + "\"" + instruction + "\""));
  };
  CHECK(count(lowered_for(32, 8, "m16n8k8"), "call <4 x double> @tritonc.mma_m16n8k8_f64(") == 2);
  CHECK(count(lowered_for(32, 4, "m16n8k4"), "call <4 x double> @tritonc.mma_m16n8k4_f64(") == 2);
  CHECK(count(lowered_for(32, 4, "m8n8k4"), "call <2 x double> @tritonc.mma_m8n8k4_f64(") == 4);
}

TEST_CASE("dot: 8-bit integers, four per word, by signedness") {
  struct {
    std::string instruction, call;
    int rows, k;
  } cases[] = {{"m16n8k32", "call <4 x i32> @tritonc.mma_m16n8k32_S8(<4 x i32> ", 16, 32},
               {"m16n8k16", "call <4 x i32> @tritonc.mma_m16n8k16_S8(<2 x i32> ", 16, 16},
               {"m8n8k16", "call <2 x i32> @tritonc.mma_m8n8k16_S8(i32 ", 8, 16}};
  for (const auto &[instruction, call, rows, k] : cases)
    for (bool is_unsigned : {false, true}) {
      CAPTURE(instruction);
      std::string wanted = call;
      wanted.replace(wanted.find("S8"), 2, is_unsigned ? "u8" : "s8");
      std::string text =
          lowered(program("i8", 2 * rows, 8, k,
                          std::string(is_unsigned ? "unsigned = 1, " : "") + "instruction = \"" +
                              instruction + "\", warps = [1,1]"));
      CHECK(count(text, wanted) == 2);
      CHECK(count(text, "@tritonc.mma_") == 3); // including the declaration
      CHECK(contains(text, "bitcast <4 x i8>"));
    }
}

TEST_CASE("dot: fp8, four per word, or converted to f16") {
  std::string one = "instruction = \"m16n8k32\", warps = [1,1]";
  for (std::string elem : {"e4m3", "e5m2"}) {
    CAPTURE(elem);
    std::string text = lowered(program(elem, 32, 16, 32, one), "90a");
    CHECK(count(text, "call <4 x float> @tritonc.mma_m16n8k32_" + elem + "(<4 x i32> ") == 4);
    CHECK_FALSE(contains(text, "half"));
    text = lowered(program(elem, 32, 16, 16,
                           "convert_to = \"f16\", instruction = \"m16n8k16\", warps = [1,1]"));
    CHECK(count(text, "call <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32> ") == 4);
    CHECK(contains(text, "bitcast <2 x half>"));
    text = lowered(
        program(elem, 16, 16, 4, "instruction = \"fma\", thread_tile = [1,1], warps = [1,1]"));
    CHECK(count(text, "call float @llvm.fma.f32") == 16 * 16 / 32 * 4);
    CHECK(contains(text, "fpext half"));
  }
}

TEST_CASE("dot: packs each fragment once") {
  std::string text =
      lowered(program("f16", 32, 32, 16, "instruction = \"m16n8k16\", warps = [1,1]"));
  // Two rows of A with 4 words, four columns of B with 2 words.
  CHECK(count(text, "bitcast <2 x half>") == 2 * 4 + 4 * 2);
}

TEST_CASE("dot: rounds f32 to tf32") {
  std::string text = lowered(program("f32", 16, 8, 8, "instruction = \"m16n8k8\", warps = [1,1]"));
  CHECK(count(text, "call i32 @tritonc.cvt_rna_tf32(float") == 4 + 2);
}

TEST_CASE("dot: fma per thread in the accumulator's type") {
  std::string fma = "instruction = \"fma\", thread_tile = [1,1], warps = [1,1]";
  std::string f32 = lowered(program("f32", 16, 16, 4, fma));
  CHECK(count(f32, "call float @llvm.fma.f32") == 16 * 16 / 32 * 4);
  std::string f16 = lowered(program("f16", 16, 16, 4, fma));
  CHECK(contains(f16, "fpext half"));
  CHECK(count(f16, "call float @llvm.fma.f32") == 16 * 16 / 32 * 4);
  std::string f64 = lowered(program("f64", 16, 16, 4, fma));
  CHECK(count(f64, "call double @llvm.fma.f64") == 16 * 16 / 32 * 4);
}

TEST_CASE("dot: fma of integers widens by signedness") {
  std::string fma = "instruction = \"fma\", thread_tile = [1,1], warps = [1,1]";
  CHECK(contains(lowered(program("i8", 16, 16, 4, fma)), "sext i8"));
  CHECK_FALSE(contains(lowered(program("i8", 16, 16, 4, fma)), "zext i8"));
  CHECK(contains(lowered(program("i8", 16, 16, 4, fma + ", unsigned = 1")), "zext i8"));
}

TEST_CASE("dot: i16 operands use integer mul and add") {
  std::string text = compiled(R"(
    func @f(%A: ptr<i16>, %C: ptr<i32>, %ld: i64) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %va = view %A, %zero, %ld, %one : view<i16>[16,16]
      %vc = view %C, %zero, %ld, %one : view<i32>[16,16]
      %a = load %va : i16[16,16]
      %none = constant {value = 0} : i32
      %c = splat %none : i32[16,16]
      %d = dot %a, %a, %c : i32[16,16]
      store %vc, %d
      return
    })");
  CHECK(contains(text, "sext i16"));
  CHECK(contains(text, "mul i32"));
  CHECK_FALSE(contains(text, "mma"));
}
