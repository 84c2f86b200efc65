// Tests rows that a block moves as one range (passes/join_rows.h): the buffers end where the last row
// ends, so an access to another element is an error.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ir::Elem;

namespace {

constexpr int width = 64, rows_of_block = 4096 / width;

// y = x + g + the sum of x in its row. The first row starts at element `shift`.
SmallKernel row_kernel(const std::string &type, const std::string &aligned) {
  SmallKernel kernel("__global__ void f(TYPE *x ALIGNED, TYPE *g ALIGNED, TYPE *y ALIGNED, int N, "
                     "int ld, int shift) {\n"
                     "  long first = get_program_id(0) * (long)ld + shift;\n"
                     "  int i[64] = 0 ... 64;\n"
                     "  bool inside[64] = i < N;\n"
                     "  float a[64] = inside ? (float[64])*?(inside)(x + first + i) : 0;\n"
                     "  float b[64] = (float[64])*?(inside)(g + first + i);\n"
                     "  *?(inside)(y + first + i) = a + b + a[+];\n"
                     "}",
                     {{"TYPE", type}, {"ALIGNED", aligned}});
  kernel.set_schedule(
      {.kind = Schedule::Kind::batched, .coarsening = {rows_of_block, 1, 1}, .joined_rows = true});
  return kernel;
}

double element(int row, int column) { return (row + 2 * column) % 3 - 1; }
double other_element(int row, int column) { return (2 * row + column) % 5; }

void check(const std::string &type, Elem elem, int rows, int length, int shift, bool in_place,
           const std::string &aligned = "") {
  CAPTURE(type);
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(shift);
  CAPTURE(in_place);
  SmallKernel kernel = row_kernel(type, aligned);
  std::vector<double> x(size_t(shift), 0), g = x, y = x;
  for (int row = 0; row < rows; row++) {
    double sum = 0;
    for (int column = 0; column < length; column++)
      sum += element(row, column);
    for (int column = 0; column < length; column++) {
      x.push_back(element(row, column));
      g.push_back(other_element(row, column));
      y.push_back(element(row, column) + other_element(row, column) + sum);
    }
  }
  const int from = kernel.add(elem, x);
  kernel.add(elem, g);
  if (in_place)
    kernel.add_same(from);
  const int to = in_place ? from : kernel.add(elem, std::vector<double>(y.size(), 0));
  kernel.add(length);
  kernel.add(length);
  kernel.add(shift);
  kernel.set_grid(rows);
  kernel.must_give(to, y);
}

} // namespace

TEST_CASE("joined rows: all types, rows of odd length, an incomplete last block") {
  check("half", Elem::f16, rows_of_block + 3, 33, 0, false);
  check("bfloat16", Elem::bf16, 5, 49, 0, false);
  check("float", Elem::f32, 3, 63, 0, false);
  check("int8", Elem::i8, rows_of_block + 1, 11, 0, false);
}

TEST_CASE("joined rows: fewer elements than a vector, and whole vectors") {
  check("half", Elem::f16, 1, 1, 0, false);
  check("half", Elem::f16, rows_of_block, 40, 0, false);
}

TEST_CASE("joined rows: in place") { check("half", Elem::f16, rows_of_block + 3, 33, 0, true); }

TEST_CASE("joined rows: the first row starts at any element") {
  check("half", Elem::f16, rows_of_block + 3, 33, 3, false);
  check("int8", Elem::i8, 2, 21, 13, true, "__aligned(1)");
  check("float", Elem::f32, 1, 1, 1, false, "__aligned(4)");
}
