// Tests blocks whose warps each run a program (passes/assign_programs_to_warps.h): the number of
// programs is no multiple of the warps, and the buffers end where the last program ends.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ir::Elem;

namespace {

constexpr int warps = 4;

SmallKernel kernel_of_warps(const std::string &source, const std::string &type) {
  SmallKernel kernel(source, {{"TYPE", type}});
  kernel.set_schedule({.kind = Schedule::Kind::program_per_warp, .coarsening = {warps, 1, 1}});
  return kernel;
}

double element(int row, int column) { return (row + 2 * column) % 3 - 1; }

// y = x + the sum of x in its row, in place or not.
void check_rows(const std::string &type, Elem elem, int rows, int length, bool in_place) {
  CAPTURE(type);
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(in_place);
  SmallKernel kernel =
      kernel_of_warps("__global__ void f(TYPE *x, TYPE *y, int N) {\n"
                      "  long first = get_program_id(0) * (long)N;\n"
                      "  int i[256] = 0 ... 256;\n"
                      "  float sum[256] = 0;\n"
                      "  for (int n = 0; n < N; n += 256) {\n"
                      "    bool inside[256] = i < N - n;\n"
                      "    sum += inside ? (float[256])*(x + first + n + i) : 0;\n"
                      "  }\n"
                      "  float total = sum[+];\n"
                      "  for (int n = 0; n < N; n += 256) {\n"
                      "    bool inside[256] = i < N - n;\n"
                      "    float a[256] = (float[256])*?(inside)(x + first + n + i);\n"
                      "    *?(inside)(y + first + n + i) = a + total;\n"
                      "  }\n"
                      "}",
                      type);
  std::vector<double> x, y;
  for (int row = 0; row < rows; row++) {
    double sum = 0;
    for (int column = 0; column < length; column++)
      sum += element(row, column);
    for (int column = 0; column < length; column++) {
      x.push_back(element(row, column));
      y.push_back(element(row, column) + sum);
    }
  }
  const int from = kernel.add(elem, x);
  if (in_place)
    kernel.add_same(from);
  const int to = in_place ? from : kernel.add_unwritten(elem, y.size());
  kernel.add(length);
  kernel.set_grid(rows);
  kernel.must_give(to, y);
}

} // namespace

TEST_CASE("program per warp: rows of any length, an incomplete last block") {
  check_rows("half", Elem::f16, warps + 3, 257, false);
  check_rows("float", Elem::f32, 1, 511, false);
  check_rows("half", Elem::f16, warps, 512, false);
  check_rows("int8", Elem::i8, 2, 3, false);
}

TEST_CASE("program per warp: in place") { check_rows("half", Elem::f16, warps + 1, 301, true); }

TEST_CASE("program per warp: programs add to one element") {
  SmallKernel kernel = kernel_of_warps("__global__ void f(TYPE *x, TYPE *y) {\n"
                                       "  int i[256] = 0 ... 256;\n"
                                       "  TYPE tile[256] = *(x + get_program_id(0) * 256 + i);\n"
                                       "  atomic_add(y, tile[+]);\n"
                                       "}",
                                       "float");
  kernel.add(Elem::f32, std::vector<double>((warps + 3) * 256, 1));
  const int to = kernel.add(Elem::f32, {5});
  kernel.set_grid(warps + 3);
  kernel.must_give(to, {5 + (warps + 3) * 256});
}

TEST_CASE("program per warp: each program has its own shared memory") {
  SmallKernel kernel =
      kernel_of_warps("__global__ void f(TYPE *x, TYPE *y) {\n"
                      "  int i[16] = 0 ... 16;\n"
                      "  int first = (get_program_id(1) * get_num_programs(0) + get_program_id(0))"
                      " * 256;\n"
                      "  TYPE tile[16, 16] = *(x + first + i[:, newaxis] * 16 + i[newaxis, :]);\n"
                      "  *(y + first + i[newaxis, :] * 16 + i[:, newaxis]) = tile;\n"
                      "}",
                      "float");
  constexpr int programs = (warps + 1) * 2;
  std::vector<double> x, y;
  for (int at = 0; at < programs * 256; at++) {
    const int tile = at / 256 * 256, row = at / 16 % 16, column = at % 16;
    x.push_back(at);
    y.push_back(tile + column * 16 + row);
  }
  kernel.add(Elem::f32, x);
  const int to = kernel.add_unwritten(Elem::f32, y.size());
  kernel.set_grid(warps + 1, 2);
  kernel.must_give(to, y);
}
