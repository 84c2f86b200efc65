// Tests lower/shared_memory.cpp and the shared side of lower/addresses.cpp.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include "analysis/layouts.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string text_of(const ir::Shape &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

// An operand of a matmul, read from a buffer of `rows` x `columns` whose axis `contiguous` is
// contiguous; `transposed` swaps the axes.
struct Factor {
  std::string elem, instruction;
  int operand;
  ir::Shape buffer;
  int contiguous;
  bool transposed;
  std::string more = "";
};

std::string program(const Factor &factor) {
  ir::Shape tile = factor.buffer;
  if (factor.transposed)
    std::swap(tile[0], tile[1]);
  // A matmul around it, for its fragments.
  int64_t k = tile[1 - factor.operand], m = factor.operand == 0 ? tile[0] : 16;
  int64_t n = factor.operand == 1 ? tile[1] : 8;
  ir::Function dot =
      parsed("func @d(%a: " + factor.elem + text_of({m, k}) + ", %b: " + factor.elem +
             text_of({k, n}) + ", %c: f32" + text_of({m, n}) +
             ") {\n"
             "%d = dot %a, %b, %c {instruction = \"" +
             factor.instruction + "\", thread_tile = [1,1], warps = [1,1]} : f32" +
             text_of({m, n}) + "\n return\n}");
  ir::LinearLayout fragment = operand_layout(*value_named(dot, "d")->op, factor.operand);
  ir::LinearLayout buffer = swizzled_layout(factor.buffer, factor.contiguous,
                                            factor.elem == "f64"   ? 8
                                            : factor.elem == "f32" ? 4
                                            : factor.elem == "i8"  ? 1
                                                                   : 2);
  return "layout #0 " + text_of(fragment.shape) + " " + fragment.text() + "\n" + "layout #1 " +
         text_of(buffer.shape) + " " + buffer.text() + "\n" + "func @f(%p: ptr<" + factor.elem +
         ">, %stage: i32, %ld: i64) warps 1 shared 65536 {\n"
         "%s = shared_alloc {address = 1024} : shared<" +
         factor.elem + ">[3," + text_of(factor.buffer).substr(1) +
         " #1\n"
         "%f = shared_load %s, %stage {origin = [0,0], perm = " +
         (factor.transposed ? "[1,0]" : "[0,1]") + "} : " + factor.elem + text_of(tile) +
         " #0\n"
         "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
         "%v = view %p, %zero, %ld, %one : view<" +
         factor.elem + ">" + text_of(tile) +
         "\n"
         "store %v, %f {vector = 1}\n return\n}";
}

} // namespace

TEST_CASE("shared_load: ldmatrix for fragments, .trans for 16-bit types") {
  struct {
    Factor factor;
    std::string call;
    int times;
  } cases[] = {
      // A, stored by rows (M x K) or by columns.
      {{"f16", "m16n8k16", 0, {16, 16}, 1, false}, "<4 x i32> @tritonc.ldmatrix_x4(", 1},
      {{"f16", "m16n8k16", 0, {16, 16}, 0, false}, "<4 x i32> @tritonc.ldmatrix_x4_trans(", 1},
      {{"f16", "m16n8k16", 0, {16, 16}, 1, true}, "<4 x i32> @tritonc.ldmatrix_x4_trans(", 1},
      {{"bf16", "m16n8k16", 0, {64, 16}, 1, false}, "<4 x i32> @tritonc.ldmatrix_x4(", 4},
      {{"f16", "m16n8k8", 0, {16, 8}, 1, false}, "<2 x i32> @tritonc.ldmatrix_x2(", 1},
      {{"f16", "m16n8k8", 0, {8, 16}, 1, true}, "<2 x i32> @tritonc.ldmatrix_x2_trans(", 1},
      // B (K x N), stored by rows or by columns.
      {{"f16", "m16n8k16", 1, {16, 8}, 1, false}, "<2 x i32> @tritonc.ldmatrix_x2_trans(", 1},
      {{"f16", "m16n8k16", 1, {16, 8}, 0, false}, "<2 x i32> @tritonc.ldmatrix_x2(", 1},
      {{"f16", "m16n8k16", 1, {16, 64}, 1, false}, "<4 x i32> @tritonc.ldmatrix_x4_trans(", 4},
      {{"f16", "m16n8k16", 1, {64, 16}, 1, true}, "<4 x i32> @tritonc.ldmatrix_x4(", 4},
      {{"f16", "m16n8k8", 1, {8, 8}, 1, false}, "i32 @tritonc.ldmatrix_x1_trans(", 1},
      // 32-bit words: ldmatrix also loads their 16-byte rows, but cannot transpose them.
      {{"f32", "m16n8k8", 0, {16, 8}, 1, false}, "<4 x i32> @tritonc.ldmatrix_x4(", 1},
      {{"f32", "m16n8k8", 1, {8, 8}, 0, false}, "<2 x i32> @tritonc.ldmatrix_x2(", 1},
      // The same for words of four 8-bit elements.
      {{"i8", "m16n8k32", 0, {16, 32}, 1, false}, "<4 x i32> @tritonc.ldmatrix_x4(", 1},
      {{"i8", "m16n8k32", 1, {64, 32}, 1, true}, "<4 x i32> @tritonc.ldmatrix_x4(", 4},
      {{"i8", "m16n8k16", 1, {8, 16}, 1, true}, "i32 @tritonc.ldmatrix_x1(", 1},
      {{"i8", "m8n8k16", 0, {8, 16}, 1, false}, "i32 @tritonc.ldmatrix_x1(", 1},
  };
  for (const auto &[factor, call, times] : cases) {
    CAPTURE(factor.elem);
    CAPTURE(factor.instruction);
    CAPTURE(factor.operand);
    CAPTURE(text_of(factor.buffer));
    CAPTURE(factor.transposed);
    std::string text = lowered(program(factor));
    CHECK(count(text, "call " + call) == times);
    CHECK_FALSE(contains(text, "inttoptr"));
  }
}

TEST_CASE("shared_load: no ldmatrix for unsuitable layouts") {
  // Non-16-bit elements that need a transpose; f64; fragments of dots without tensor cores.
  for (const Factor &factor : {Factor{"f32", "m16n8k8", 0, {16, 8}, 0, false},
                               Factor{"f32", "m16n8k8", 1, {8, 8}, 1, false},
                               Factor{"i8", "m16n8k32", 0, {16, 32}, 0, false},
                               Factor{"i8", "m16n8k32", 1, {32, 8}, 1, false},
                               Factor{"f64", "m16n8k8", 0, {16, 8}, 1, false},
                               Factor{"f16", "fma", 0, {16, 4}, 1, false}}) {
    std::string text = lowered(program(factor));
    CHECK_FALSE(contains(text, "ldmatrix"));
    CHECK(contains(text, "addrspace(3)"));
  }
}

TEST_CASE("shared_load: stage offset is stage times stage size") {
  std::string text = lowered(program({"f16", "m16n8k16", 0, {16, 16}, 1, false}));
  CHECK(contains(text, "mul i32 %stage, 512"));
  CHECK(contains(text, "ptr addrspace(3) @tritonc_shared to i32"));
  CHECK(contains(text, "1024"));
}

TEST_CASE("shared_load, shared_store: widest possible vectors") {
  auto program = [](const std::string &reg_lane, const std::string &buffer,
                    const std::string &elem) {
    return "layout #0 [16,16] " + reg_lane + " warp\n layout #1 [16,16] " + buffer +
           "\n"
           "func @f(%p: ptr<" +
           elem +
           ">, %z: i32, %ld: i64) warps 1 shared 4096 {\n"
           "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
           "%v = view %p, %zero, %ld, %one : view<" +
           elem +
           ">[16,16]\n"
           "%a = load %v {vector = 1} : " +
           elem +
           "[16,16] #0\n"
           "%s = shared_alloc {address = 0} : shared<" +
           elem +
           ">[1,16,16] #1\n"
           "shared_store %a, %s, %z\n"
           "%b = shared_load %s, %z {origin = [0,0], perm = [0,1]} : " +
           elem +
           "[16,16] #0\n"
           "store %v, %b {vector = 1}\n return\n}";
  };
  const std::string by_rows = "reg (0,1) (0,2) (0,4) lane (0,8) (1,0) (2,0) (4,0) (8,0)";
  const std::string plain = "offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,0) (8,0)";
  const std::string swizzled = "offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)";
  for (std::string buffer : {plain, swizzled}) {
    std::string f16 = lowered(program(by_rows, buffer, "f16"));
    CHECK(count(f16, "store <8 x half>") == 1);
    CHECK(count(f16, "load <8 x half>") == 1);
    CHECK(contains(f16, "align 16"));
    std::string f32 = lowered(program(by_rows, buffer, "f32"));
    CHECK(count(f32, "store <4 x float>") == 2);
    CHECK(count(f32, "load <4 x float>") == 2);
  }
  // A swizzle within a register vector makes the access narrower.
  const std::string broken = "offset (0,1) (0,2) (0,4) (0,8) (1,2) (2,0) (4,0) (8,0)";
  std::string f16 = lowered(program(by_rows, broken, "f16"));
  CHECK(count(f16, "store <2 x half>") == 4);
  // Registers along the other axis.
  const std::string by_columns = "reg (1,0) (2,0) (4,0) lane (8,0) (0,1) (0,2) (0,4) (0,8)";
  CHECK(count(lowered(program(by_columns, plain, "f16")), "store <1 x half>") == 8);
}

TEST_CASE("shared_store: part of a stage, offset by its origin") {
  auto text = [](const std::string &origin) {
    return lowered(R"(
    layout #0 [8,32] reg (0,1) lane (0,2) (0,4) (0,8) (1,0) (2,0) warp (4,0)
    layout #1 [8,16] reg (0,1) lane (0,2) (0,4) (0,8) (1,0) (2,0) warp (4,0)
    layout #2 [8,32] offset (0,1) (0,2) (0,4) (0,8) (0,16) (1,8) (2,16) (4,0)
    func @f(%p: ptr<f32>, %ld: i64) warps 2 shared 65536 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %none = constant {value = 0} : i32
      %s = shared_alloc {address = 1024} : shared<f32>[3,8,32] #2
      %v = view %p, %zero, %ld, %one : view<f32>[8,16]
      %a = load %v {vector = 2} : f32[8,16] #1
      shared_store %a, %s, %none )" +
                   origin + "\n return\n}");
  };
  std::string first = text("{origin = [0,0]}"), second = text("{origin = [0,16]}");
  CHECK(contains(first, "i32 1024)"));
  // Row 2 has its halves swapped, so the offset is XORed and not added.
  CHECK(first != second);
  CHECK(contains(second, ", 64"));
}

TEST_CASE("shared_store: one thread per replicated element") {
  std::string text = lowered(R"(
    layout #0 [16] reg lane (1) (2) (4) (8) (0) warp (0)
    layout #1 [16] offset (1) (2) (4) (8)
    func @f(%x: i32, %z: i32) warps 2 shared 1024 {
      %xs = splat %x : i32[16] #0
      %s = shared_alloc {address = 0} : shared<i32>[1,16] #1
      shared_store %xs, %s, %z
      return
    })");
  CHECK(contains(text, "and i32 %lane, 16"));
  CHECK(contains(text, "and i32 %warp, 1"));
}

TEST_CASE("stage_index: modulo the number of stages") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %t: i32) warps 1 {
      %s = stage_index %t {offset = 2, stages = 3} : i32
      store %p, %s
      return
    })");
  CHECK(contains(text, "add nsw i32 %t, 2"));
  CHECK(contains(text, ", 3"));
  CHECK(contains(text, "urem i32"));
}

TEST_CASE("stage_index: no division in a loop") {
  auto loop = [](const std::string &stages) {
    return lowered(R"(
      func @f(%p: ptr<i32>, %n: i32) warps 1 {
        %zero = constant {value = 0} : i32
        %r = for_loop %n, %zero : i32 {
          (%t: i32, %acc: i32)
          %now = stage_index %t {offset = 0, stages = )" +
                   stages + R"(} : i32
          %before = stage_index %t {offset = -1, stages = )" +
                   stages + R"(} : i32
          %x = add %now, %before : i32
          yield %x
        }
        store %p, %r
        return
      })");
  };
  std::string three = loop("3");
  CHECK_FALSE(contains(three, "urem"));
  CHECK(count(three, "phi i32") == 3); // the counter, the sum, the stage
  CHECK(count(three, "select") == 2);  // the previous stage, and the next iteration's stage
  CHECK(count(three, "icmp uge i32") == 2);
  std::string four = loop("4");
  CHECK(count(four, "urem") == 2);
  CHECK(count(four, "phi i32") == 2);
}

TEST_CASE("async_copy: 4, 8 or 16 bytes, masked") {
  auto program = [](const std::string &elem, int vector, const std::string &mask) {
    std::string reg, lane = "lane";
    int bit = 1;
    for (; bit < vector; bit *= 2)
      reg += " (" + std::to_string(bit) + ")";
    for (int lanes = 0; lanes < 5; lanes++, bit *= 2)
      lane += " (" + std::to_string(bit) + ")";
    for (; bit < 256; bit *= 2)
      reg += " (" + std::to_string(bit) + ")";
    return "layout #0 [256] reg" + reg + " " + lane +
           " warp\n"
           "layout #1 [256] offset (1) (2) (4) (8) (16) (32) (64) (128)\n"
           "func @f(%p: ptr<" +
           elem +
           ">, %z: i32, %c: i1, %n: i32) warps 1 shared 4096 {\n"
           "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
           "%v = view %p, %zero, %one : view<" +
           elem +
           ">[256] #0\n"
           "%r = range {start = 0} : i32[256] #0\n %ns = splat %n : i32[256] #0\n"
           "%m = cmp %r, %ns {pred = \"lt\"} : i1[256] #0\n"
           "%s = shared_alloc {address = 0} : shared<" +
           elem +
           ">[1,256] #1\n"
           "async_copy %v, %s, %z, %c" +
           mask + " {vector = " + std::to_string(vector) +
           "}\n"
           "async_commit\n async_wait {pending = 3}\n barrier\n return\n}";
  };
  struct {
    std::string elem;
    int vector, bytes;
  } cases[] = {{"f16", 8, 16}, {"f16", 4, 8}, {"f16", 2, 4},
               {"f32", 4, 16}, {"f32", 1, 4}, {"i8", 4, 4}};
  for (const auto &[elem, vector, bytes] : cases) {
    CAPTURE(elem);
    CAPTURE(vector);
    std::string text = lowered(program(elem, vector, ""));
    CHECK(count(text, "call void @tritonc.cp_async_" + std::to_string(bytes) + "(") ==
          256 / 32 / vector);
    CHECK(contains(text, ", i32 " + std::to_string(bytes) + ", i32 0\n"));
    CHECK(contains(text, "call void @tritonc.cp_async_commit()"));
    CHECK(contains(text, "call void @tritonc.cp_async_wait(i32 3)"));
    CHECK(contains(text, "call void @tritonc.barrier()"));
  }
  CHECK(contains(lowered(program("f16", 8, ", %m")), "and i1"));
  // A scalar mask applies to all elements; here it is the condition itself.
  std::string scalar = lowered(program("f16", 8, ", %c"));
  size_t both = scalar.find("and i1 %");
  REQUIRE(both != std::string::npos);
  std::string first = scalar.substr(both + 7, scalar.find(',', both) - both - 7);
  CHECK(contains(scalar, "and i1 " + first + ", " + first + "\n"));
  CHECK(contains(scalar, first + " = icmp ne i8 %c, 0"));
}

TEST_CASE("shared_store: stmatrix for 16-bit fragments, from sm_90") {
  auto program = [](const std::string &elem, int contiguous) {
    ir::LinearLayout buffer = swizzled_layout({16, 16}, contiguous, elem == "f32" ? 4 : 2);
    return "layout #0 [16,16] reg (0,1) (8,0) (0,8) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp\n"
           "layout #1 [16,16] " +
           buffer.text() + "\nfunc @f(%x: " + elem +
           ", %z: i32) warps 1 shared 1024 {\n%t = splat %x : " + elem +
           "[16,16] #0\n%s = shared_alloc {address = 0} : shared<" + elem +
           ">[1,16,16] #1\n shared_store %t, %s, %z\n return\n}";
  };
  for (const char *elem : {"f16", "bf16"}) {
    CHECK(count(lowered(program(elem, 1), "90"), "call void @tritonc.stmatrix_x4(i32 %") == 1);
    CHECK(count(lowered(program(elem, 0), "90"), "call void @tritonc.stmatrix_x4_trans(i32 %") ==
          1);
  }
  // No stmatrix for other element sizes, or before Hopper.
  CHECK_FALSE(contains(lowered(program("f32", 1), "90"), "stmatrix"));
  CHECK_FALSE(contains(lowered(program("f16", 1), "80"), "stmatrix"));
  // No stmatrix if some lanes hold copies: copies are not stored, but stmatrix needs all lanes.
  ir::LinearLayout row = swizzled_layout({16}, 0, 2);
  std::string copies = lowered(
      "layout #0 [16] reg (1) (8) lane (2) (4) (0) (0) (0) warp\nlayout #1 [16] " + row.text() +
          "\nfunc @f(%x: f16, %z: i32) warps 1 shared 1024 {\n%t = splat %x : f16[16] #0\n"
          "%s = shared_alloc {address = 0} : shared<f16>[1,16] #1\n shared_store %t, %s, %z\n"
          " return\n}",
      "90");
  CHECK_FALSE(contains(copies, "stmatrix"));
  CHECK(contains(copies, "store <2 x half>"));
}

TEST_CASE("shared addresses: stage part and thread part") {
  auto text = [](const std::string &more) {
    return lowered(R"(
    layout #0 [16,64] reg (0,1) (8,0) (0,8) (0,16) (0,32) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp
    layout #1 [16,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0)
    func @f(%p: ptr<f16>, %stage: i32, %ld: i64) warps 1 shared 65536 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %s = shared_alloc {address = 1024} : shared<f16>[3,16,64] #1
      %f = shared_load %s, %stage {)" +
                   more + R"(origin = [0,0], perm = [0,1]} : f16[16,64] #0
      %v = view %p, %zero, %ld, %one : view<f16>[16,64]
      store %v, %f {vector = 1}
      return
    })");
  };
  // Four instructions whose chunks differ in swizzled bits, so four XOR masks. The XOR applies to
  // the thread's part, or to the complete sum.
  auto flips = [](const std::string &lowered, const std::string &of) {
    return count(lowered, "xor i32 " + of);
  };
  std::string kept = text(""), computed = text("strided_access = 1, ");
  for (const std::string &lowered : {kept, computed}) {
    CHECK(count(lowered, "call <4 x i32> @tritonc.ldmatrix_x4(") == 4);
    CHECK(flips(lowered, "") >= 3);
  }
  CHECK(kept != computed);
  // One sum of stage and thread part, instead of one per instruction.
  auto sums = [](const std::string &lowered) { return count(lowered, "add i32"); };
  CHECK(sums(kept) - sums(computed) == 3);
}
