// Tests lower/matmul.cpp: matmuls of tiles in shared memory, by wgmma.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include "analysis/layouts.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string text_of(const ir::Shape &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

// A [m,k] times B [k,n]. `transposed`: the operand is stored with the other axis contiguous.
struct Product {
  int64_t m = 64, n = 64, k = 64;
  bool a_transposed = false, b_transposed = false;
  std::string elem = "f16";
  std::vector<int64_t> warpgroups = {1, 1};
  std::string adds = ""; // ", %condition"
  bool is_unsigned = false;

  bool is_integer() const { return elem == "i8"; }

  std::string lowered() const {
    ir::Shape a = a_transposed ? ir::Shape{k, m} : ir::Shape{m, k};
    ir::Shape b = b_transposed ? ir::Shape{n, k} : ir::Shape{k, n};
    int bytes = elem == "f32" ? 4 : elem == "f16" || elem == "bf16" ? 2 : 1;
    auto layout = [](const char *name, const ir::Shape &shape, const ir::LinearLayout &layout) {
      return std::string("layout ") + name + " " + text_of(shape) + " " + layout.text() + "\n";
    };
    auto buffer = [&](const std::string &name, int address, ir::Shape shape) {
      shape.insert(shape.begin(), 2);
      return "%" + name + " = shared_alloc {address = " + std::to_string(address) + "} : shared<" +
             elem + ">" + text_of(shape);
    };
    std::string number = is_integer() ? "i32" : "f32", groups = text_of(warpgroups);
    std::string sum = number + text_of({m, n}) + " #2\n";
    std::string perms = a_transposed ? "1,0," : "0,1,";
    perms += b_transposed ? "1,0" : "0,1";
    return test::lowered(
        layout("#0", a, panel_layout(a, 1, bytes)) + layout("#1", b, panel_layout(b, 1, bytes)) +
            layout("#2", {m, n}, matmul_layout({m, n}, {warpgroups})) + "func @f(%x: " + number +
            ", %stage: i32, %later: i1) warps " +
            std::to_string(4 * warpgroups[0] * warpgroups[1]) +
            " shared 131072 {\n %c = splat %x : " + sum + buffer("as", 0, a) + " #0\n" +
            buffer("bs", 65536, b) + " #1\n" + "%p = wgmma_ss %as, %stage, %bs, %stage, %c" + adds +
            " {perms = [" + perms + "], " + (is_unsigned ? "unsigned = 1, " : "") +
            "warpgroups = " + groups + "} : " + sum +
            "%d = wgmma_wait %p {pending = 1, warpgroups = " + groups + "} : " + sum + "return\n}",
        "90a");
  }
};

// The right side of `name = ...`.
std::string definition(const std::string &text, const std::string &name) {
  size_t at = text.find("  " + name + " = ");
  REQUIRE_MESSAGE(at != std::string::npos, name);
  at += name.size() + 5;
  return text.substr(at, text.find('\n', at) - at);
}

std::string last_word(const std::string &text) { return text.substr(text.rfind(' ') + 1); }

// A computed descriptor: the byte offset from the start of the warpgroup's operand, and the other
// fields.
struct Descriptor {
  int64_t offset;
  uint64_t fields;
};

Descriptor descriptor(const std::string &text, const std::string &name) {
  std::string either = definition(text, name); // or i64 %wide, fields
  REQUIRE(either.rfind("or i64 %", 0) == 0);
  std::string wide = either.substr(7, either.find(',') - 7);
  std::string narrow = definition(text, wide); // zext i32 %low to i64
  REQUIRE(narrow.rfind("zext i32 %", 0) == 0);
  std::string sum = definition(text, narrow.substr(9, narrow.find(" to ") - 9)); // add i32 %s, n
  REQUIRE(sum.rfind("add i32 %", 0) == 0);
  return {16 * std::stoll(last_word(sum)), uint64_t(std::stoll(last_word(either)))};
}

// One wgmma: its descriptors and its other operands.
struct Instruction {
  Descriptor factors[2];
  std::string registers, accumulate, transposed_a, transposed_b;
};

std::vector<Instruction> instructions(const std::string &text, const std::string &op) {
  std::vector<Instruction> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t call = line.find("@tritonc." + op);
    if (call == std::string::npos || line.find("declare") != std::string::npos)
      continue;
    std::istringstream arguments(line.substr(line.find('(', call) + 1));
    std::vector<std::string> words;
    for (std::string argument; std::getline(arguments, argument, ',');)
      words.push_back(last_word(argument));
    bool can_transpose = op == "wgmma_f16" || op == "wgmma_bf16";
    REQUIRE(words.size() == (can_transpose ? 7 : 5));
    found.push_back({{descriptor(text, words[1]), descriptor(text, words[2])},
                     words[0],
                     words[3],
                     can_transpose ? words[4] : "",
                     can_transpose ? words[5] : ""});
  }
  return found;
}

std::vector<Instruction> instructions(const Product &product) {
  std::string type = product.elem == "f32"  ? "tf32"
                     : product.is_integer() ? (product.is_unsigned ? "u8" : "s8")
                                            : product.elem;
  return instructions(product.lowered(), "wgmma_" + type);
}

} // namespace

// "Matrix descriptor format" of the PTX ISA: start address in bits 0 to 13, leading dimension
// offset in bits 16 to 29, stride dimension offset in bits 32 to 45, all in units of 16 bytes.
// Swizzle in bits 62 and 63: 1 = 128 bytes, 2 = 64, 3 = 32.
TEST_CASE("wgmma: descriptor fields for each operand layout") {
  struct {
    Product product;
    int factor;
    uint64_t fields;
  } cases[] = {
      // Contiguous along K: A as stored, B transposed. Eight rows are 1024, 512, 256 bytes.
      {{64, 64, 64, false, false}, 0, 0x4000004000010000},
      {{64, 64, 32, false, false}, 0, 0x8000002000010000},
      {{64, 64, 16, false, false}, 0, 0xc000001000010000},
      {{64, 64, 64, false, true}, 1, 0x4000004000010000},
      {{64, 128, 128, false, true}, 1, 0x4000004000010000},
      // Contiguous along M or N: a panel has K rows.
      {{64, 64, 64, false, false}, 1, 0x4000004002000000},
      {{64, 256, 64, false, false}, 1, 0x4000004002000000},
      {{64, 256, 32, false, false}, 1, 0x4000004001000000},
      {{64, 64, 64, true, false}, 0, 0x4000004002000000},
      {{128, 64, 128, true, false}, 0, 0x4000004004000000},
      {{64, 32, 64, false, false}, 1, 0x8000002001000000},
      {{64, 16, 64, false, false}, 1, 0xc000001000800000},
  };
  for (const auto &[product, factor, fields] : cases) {
    CAPTURE(product.m);
    CAPTURE(product.n);
    CAPTURE(product.k);
    CAPTURE(factor);
    for (const Instruction &instruction : instructions(product))
      CHECK(instruction.factors[factor].fields == fields);
  }
}

TEST_CASE("wgmma: k = 16 per instruction, operand offsets") {
  struct {
    Product product;
    int factor;
    std::vector<int64_t> offsets;
  } cases[] = {
      {{64, 64, 64, false, false}, 0, {0, 32, 64, 96}},
      {{64, 64, 64, false, true}, 1, {0, 32, 64, 96}},
      // 64 rows of 128 bytes are a panel; the next panel continues along K.
      {{64, 64, 128, false, false}, 0, {0, 32, 64, 96, 8192, 8224, 8256, 8288}},
      {{64, 64, 64, false, false}, 1, {0, 2048, 4096, 6144}},
      {{64, 64, 64, true, false}, 0, {0, 2048, 4096, 6144}},
      {{64, 32, 64, false, false}, 1, {0, 1024, 2048, 3072}}, // rows of 64 bytes
      {{64, 64, 16, false, false}, 0, {0}},
  };
  for (const auto &[product, factor, offsets] : cases) {
    CAPTURE(product.n);
    CAPTURE(product.k);
    CAPTURE(factor);
    std::vector<int64_t> found;
    for (const Instruction &instruction : instructions(product))
      found.push_back(instruction.factors[factor].offset);
    CHECK(found == offsets);
  }
}

TEST_CASE("wgmma: transpose flags") {
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (const Instruction &instruction : instructions({64, 64, 64, a, b})) {
        CHECK(instruction.transposed_a == (a ? "1" : "0"));
        CHECK(instruction.transposed_b == (b ? "0" : "1")); // B [K,N] is contiguous along N
        CHECK(instruction.accumulate == "1");
        CHECK(instruction.registers == "32");
      }
}

TEST_CASE("wgmma: only the first instruction may not accumulate") {
  std::vector<Instruction> found = instructions({.adds = ", %later"});
  REQUIRE(found.size() == 4);
  CHECK(found[0].accumulate[0] == '%');
  for (size_t i = 1; i < 4; i++)
    CHECK(found[i].accumulate == "1");
  CHECK(contains(Product{.adds = ", %later"}.lowered(), "zext i1 %"));
}

TEST_CASE("wgmma: 64 rows per instruction") {
  std::vector<Instruction> found = instructions({.m = 128, .k = 16});
  REQUIRE(found.size() == 2);
  CHECK(found[0].factors[0].offset == 0);
  CHECK(found[1].factors[0].offset == 64 * 32);
  CHECK(found[1].factors[1].offset == 0);
  CHECK(instructions({.m = 128, .k = 16, .warpgroups = {2, 1}}).size() == 1);
}

TEST_CASE("wgmma_wait: one wait for all accumulators") {
  std::string text = Product{.m = 256, .warpgroups = {2, 1}}.lowered();
  CHECK(count(text, "call <32 x float> @tritonc.wgmma_f16") == 2 * 4);
  CHECK(count(text, "@tritonc.wgmma_wait_f32.v64f32(i32 64, i32 1, <64 x float> %") == 1);
  CHECK(count(text, "call <64 x float>") == 1);
}

TEST_CASE("wgmma: each warpgroup starts at its own rows") {
  std::string text = Product{.m = 128, .warpgroups = {2, 1}}.lowered();
  CHECK(contains(text, "lshr i32 %"));
  CHECK(contains(text, ", 8192")); // 64 rows of 128 bytes
  CHECK_FALSE(contains(Product{}.lowered(), "mul nuw nsw i32 %"));
}

TEST_CASE("wgmma: instruction per type, k = 8 for tf32") {
  CHECK(instructions({.elem = "f16"}).size() == 4);
  CHECK(instructions({.elem = "bf16"}).size() == 4);
  std::vector<Instruction> found = instructions({.k = 32, .b_transposed = true, .elem = "f32"});
  REQUIRE(found.size() == 4);
  for (int64_t i = 0; i < 4; i++)
    for (const Descriptor &factor : found[size_t(i)].factors) {
      CHECK(factor.offset == 32 * i);
      CHECK(factor.fields == 0x4000004000010000);
    }
}

TEST_CASE("wgmma: 8-bit integers, k = 32, by signedness") {
  for (bool is_unsigned : {false, true}) {
    Product product{.k = 128, .b_transposed = true, .elem = "i8", .is_unsigned = is_unsigned};
    std::vector<Instruction> found = instructions(product);
    REQUIRE(found.size() == 4);
    for (int64_t i = 0; i < 4; i++)
      for (const Descriptor &factor : found[size_t(i)].factors) {
        CHECK(factor.offset == 32 * i);
        CHECK(factor.fields == 0x4000004000010000);
      }
    std::string text = product.lowered();
    CHECK(contains(text, "call <32 x i32> @tritonc.wgmma_wait_s32"));
    CHECK_FALSE(contains(text, "wgmma_wait_f32"));
  }
}

TEST_CASE("wgmma: fp8, k = 32, float accumulators") {
  for (std::string elem : {"e4m3", "e5m2"}) {
    Product product{.k = 128, .b_transposed = true, .elem = elem};
    std::vector<Instruction> found = instructions(product);
    REQUIRE(found.size() == 4);
    for (int64_t i = 0; i < 4; i++)
      for (const Descriptor &factor : found[size_t(i)].factors) {
        CHECK(factor.offset == 32 * i);
        CHECK(factor.fields == 0x4000004000010000);
      }
    CHECK(contains(product.lowered(), "call <32 x float> @tritonc.wgmma_wait_f32"));
  }
}

TEST_CASE("wgmma: fence, commit, wait") {
  std::string text = Product{}.lowered();
  CHECK(count(text, "call void @tritonc.wgmma_fence(") == 1);
  CHECK(count(text, "call void @tritonc.wgmma_commit(") == 1);
  size_t fence = text.find("call void @tritonc.wgmma_fence(");
  size_t product = text.find("@tritonc.wgmma_f16"), commit = text.find("@tritonc.wgmma_commit(");
  size_t wait = text.find("@tritonc.wgmma_wait_f32");
  CHECK(fence < product);
  CHECK(product < commit);
  CHECK(commit < wait);
  CHECK(contains(text.substr(wait, text.find('\n', wait) - wait), "(i32 32, i32 1, <32 x float>"));
}

namespace {

// A wgmma with A [64 x groups, 16] in registers, loaded from its own buffer: 8 of its K columns
// times B [k,64] in shared memory, from row `first` on.
std::string lowered_fragment(int64_t first, const std::string &adds = "") {
  MatmulDivision division = {{2, 1}, {2, 16, 4, 1, 8, 32}};
  ir::LinearLayout fragment = fragment_layout({128, 8}, 4, division);
  ir::LinearLayout a = panel_layout({32, 128}, 1, 4), b = panel_layout({64, 32}, 1, 4);
  ir::LinearLayout sum = matmul_layout({128, 64}, division);
  const std::string attributes = "rows = [2,16,4,1,8,32], warpgroups = [2,1]} : f32[128,64] #3\n";
  return test::lowered(
      "layout #0 [32,128] " + a.text() + "\nlayout #1 [64,32] " + b.text() +
          "\nlayout #2 [128,8] " + fragment.text() + "\nlayout #3 [128,64] " + sum.text() +
          "\nfunc @f(%x: f32, %stage: i32, %later: i1) warps 8 shared 131072 {\n"
          "%c = splat %x : f32[128,64] #3\n"
          "%as = shared_alloc {address = 0} : shared<f32>[2,32,128] #0\n"
          "%bs = shared_alloc {address = 65536} : shared<f32>[2,64,32] #1\n"
          "%a = shared_load %as, %stage {origin = [0,0], perm = [1,0]} : f32[128,8] #2\n"
          "%p = wgmma_rs %a, %bs, %stage, %c" +
          adds + " {origin = [" + std::to_string(first) + ",0], perm = [1,0], " + attributes +
          "%d = wgmma_wait %p {pending = 3, " + attributes + "return\n}",
      "90a");
}

} // namespace

TEST_CASE("wgmma_rs: A is four words per thread") {
  std::string text = lowered_fragment(0);
  // Adjacent elements in one access: the words of two rows.
  CHECK(count(text, "load <2 x float>, ptr addrspace(3)") == 2);
  CHECK(count(text, "call <32 x float> @tritonc.wgmma_tf32_ra") == 1);
  CHECK_FALSE(contains(text, "cvt_rna_tf32"));
  size_t call = text.find("@tritonc.wgmma_tf32_ra");
  std::string operands = text.substr(call, text.find('\n', call) - call);
  CHECK(contains(operands, "(i32 32, <4 x i32> %"));
  CHECK(contains(operands, ", i32 1, <32 x float> %"));
}

TEST_CASE("wgmma_rs: descriptor of B starts at its K offset") {
  for (int64_t first : {0, 8, 24}) {
    std::string text = lowered_fragment(first);
    size_t call = text.find("@tritonc.wgmma_tf32_ra"), name = text.find("i64 %", call) + 4;
    Descriptor found = descriptor(text, text.substr(name, text.find(',', name) - name));
    CHECK(found.offset == 4 * first);
    CHECK(found.fields == 0x4000004000010000);
  }
}

TEST_CASE("wgmma_rs: fence, commit, wait, accumulate flag") {
  std::string text = lowered_fragment(0, ", %later");
  size_t fence = text.find("call void @tritonc.wgmma_fence("),
         product = text.find("@tritonc.wgmma_tf32_ra"),
         commit = text.find("call void @tritonc.wgmma_commit("),
         wait = text.find("@tritonc.wgmma_wait_f32");
  CHECK(text.find("load <2 x float>") < fence);
  CHECK(fence < product);
  CHECK(product < commit);
  CHECK(commit < wait);
  CHECK(contains(text, "zext i1 %"));
  CHECK_FALSE(contains(lowered_fragment(0), "zext i1 %"));
}
