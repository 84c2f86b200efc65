// Tests passes/choose_occupancy.cpp. The folder choose_occupancy/ has more cases.

#include "passes/choose_occupancy.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Each of `warps` warps computes one m16n8k16 dot with 16 rows and `n` accumulator columns: n / 2
// accumulators per thread.
std::string program(int warps, int shared, int n) {
  std::string bits; // registers along n: 8, 16, ... n / 2
  for (int bit = 8; bit < n; bit *= 2)
    bits += " (0," + std::to_string(bit) + ")";
  std::string warp_bits;
  for (int w = 1; w < warps; w *= 2)
    warp_bits += " (0,0)";
  std::string columns = std::to_string(n);
  return "layout #0 [16," + columns + "] reg (0,1) (8,0)" + bits +
         " lane (0,2) (0,4) (1,0) (2,0) (4,0) warp" + warp_bits + "\n" +
         "layout #1 [16,16] reg (0,1) (8,0) (0,8) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp" +
         warp_bits + "\n" + "layout #2 [16," + columns + "] reg (1,0) (8,0)" + bits +
         " lane (2,0) (4,0) (0,1) (0,2) (0,4) warp" + warp_bits + "\n" +
         "func @f(%a: f16[16,16] #1, %b: f16[16," + columns + "] #2, %c: f32[16," + columns +
         "] #0) warps " + std::to_string(warps) + " shared " + std::to_string(shared) +
         " {\n %d = dot %a, %b, %c {instruction = \"m16n8k16\"} : f32[16," + columns +
         "] #0\n return\n}";
}

int blocks_per_sm(const std::string &text, const char *gpu = "80") {
  ir::Function fn = parsed(text);
  choose_occupancy(fn, *find_gpu(gpu));
  return fn.blocks_per_sm;
}

} // namespace

TEST_CASE("choose_occupancy: registers limit blocks per SM") {
  // 144 registers: 64 accumulators, 64 for operands (2 x (4 + 32), at most the accumulators), and
  // 16.
  CHECK(blocks_per_sm(program(8, 1024, 128)) == 1);
  CHECK(blocks_per_sm(program(4, 1024, 128)) == 3);
  // 32 + 32 + 16 registers x 256 threads: 20480 of 65536.
  CHECK(blocks_per_sm(program(8, 1024, 64)) == 3);
}

TEST_CASE("choose_occupancy: an operand of one byte takes a whole register") {
  // Without tensor cores. A thread computes one row: its element of A times a row of B.
  auto row_per_thread = [](const std::string &columns, const std::string &bits) {
    return "layout #0 [256," + columns + "] reg " + bits +
           " lane (1,0) (2,0) (4,0) (8,0) (16,0) warp (32,0) (64,0) (128,0)\n"
           "layout #1 [256,1] reg lane (1,0) (2,0) (4,0) (8,0) (16,0) "
           "warp (32,0) (64,0) (128,0)\n"
           "layout #2 [1," +
           columns + "] reg " + bits +
           " lane (0,0) (0,0) (0,0) (0,0) (0,0) warp (0,0) (0,0) (0,0)\n"
           "func @f(%a: i8[256,1] #1, %b: i8[1," +
           columns + "] #2, %c: i32[256," + columns +
           "] #0) warps 8 shared 1024 {\n %d = dot %a, %b, %c : i32[256," + columns +
           "] #0\n return\n}";
  };
  // 32 accumulators, 18 registers for operands (2 x (1 + 8)), and 16: 66 x 256 threads. Four blocks
  // would fit with 64.
  CHECK(blocks_per_sm(row_per_thread("32", "(0,1) (0,2) (0,4) (0,8) (0,16)")) == 3);
  CHECK(blocks_per_sm(row_per_thread("16", "(0,1) (0,2) (0,4) (0,8)")) == 4); // 16 + 10 + 16
}

TEST_CASE("choose_occupancy: shared memory limits blocks per SM") {
  CHECK(blocks_per_sm(program(4, 40 * 1024, 32)) == 4);
  CHECK(blocks_per_sm(program(4, 60 * 1024, 32)) == 2);
  CHECK(blocks_per_sm(program(4, 100 * 1024, 32)) == 1);
  CHECK(blocks_per_sm(program(4, 60 * 1024, 32), "90a") == 3);
}

TEST_CASE("choose_occupancy: result is between 1 and 4") {
  CHECK(blocks_per_sm(program(1, 0, 8)) == 4);
  CHECK(blocks_per_sm(program(32, 200 * 1024, 128)) == 1);
}

TEST_CASE("choose_occupancy: warp-specialized schedule sets blocks per SM") {
  const std::string text = "func @f(%x: f32) warps 4 shared 1024 {\n return\n}";
  for (int blocks : {1, 2}) {
    ir::Function fn = parsed(text);
    choose_occupancy(fn, *find_gpu("90a"),
                     {.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = blocks});
    CHECK(fn.blocks_per_sm == blocks);
  }
}

TEST_CASE("choose_occupancy: blocks_per_sm is printed and parsed") {
  CHECK(text("func @f(%x: f32) warps 4 shared 1024 blocks_per_sm 2 {\n return\n}")
            .find("blocks_per_sm 2") != std::string::npos);
}
