// Tests passes/choose_residency.cpp.

#include "passes/choose_residency.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// One dot of m16n8k16 by every one of `warps` warps: 16 rows and `n` columns of sums, so n / 2
// accumulators in each thread.
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

int residency(const std::string &text, const char *gpu = "80") {
  ir::Function fn = parsed(text);
  choose_residency(fn, *find_gpu(gpu));
  return fn.residency;
}

} // namespace

TEST_CASE("registers limit the programs of a multiprocessor") {
  // 64 accumulators, 2 x (4 + 32) for factors but not more than accumulators, 16: 144 registers.
  CHECK(residency(program(8, 1024, 128)) == 1);
  CHECK(residency(program(4, 1024, 128)) == 3);
  // 32 + 32 + 16 registers, 256 threads: 20480 of 65536.
  CHECK(residency(program(8, 1024, 64)) == 3);
}

TEST_CASE("shared memory limits the programs of a multiprocessor") {
  CHECK(residency(program(4, 40 * 1024, 32)) == 4);
  CHECK(residency(program(4, 60 * 1024, 32)) == 2);
  CHECK(residency(program(4, 100 * 1024, 32)) == 1);
  CHECK(residency(program(4, 60 * 1024, 32), "90a") == 3);
}

TEST_CASE("at most four programs, and never none") {
  CHECK(residency(program(1, 0, 8)) == 4);
  CHECK(residency(program(32, 200 * 1024, 128)) == 1);
}

TEST_CASE("nothing happens to a kernel without dots: it is left to ptxas") {
  CHECK(residency("func @f(%x: f32) warps 4 shared 1024 {\n return\n}") == 0);
}

TEST_CASE("a specialised structure says itself how many blocks there are at once") {
  const std::string text = "func @f(%x: f32) warps 4 helpers 4 shared 1024 {\n return\n}";
  for (int blocks : {1, 2}) {
    ir::Function fn = parsed(text);
    choose_residency(fn, *find_gpu("90a"), {.specialized = true, .residency = blocks, .name = ""});
    CHECK(fn.residency == blocks);
  }
}

TEST_CASE("what adds parts may have all registers: its loads are not to wait for each other") {
  ir::Function fn = parsed("func @f(%x: f32) warps 4 {\n return\n}");
  choose_residency(fn, *find_gpu("90a"), {.share = Structure::Share::sum_of_parts, .name = ""});
  CHECK(fn.residency == 1);
}

TEST_CASE("the residency is printed and read back") {
  CHECK(
      text("func @f(%x: f32) warps 4 shared 1024 residency 2 {\n return\n}").find("residency 2") !=
      std::string::npos);
}
