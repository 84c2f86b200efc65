// Tests stores to memory that the program has loaded: through the same parameter or another one,
// with tiles whose elements several threads hold, and with several elements at one address.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

std::vector<double> count_up(size_t count, double first, double step = 1) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(first + step * double(i));
  return values;
}

} // namespace

TEST_CASE("in-place update: any tile size, one parameter or two") {
  for (int size : {1, 4, 32, 64, 512})
    for (bool is_one : {true, false}) {
      CAPTURE(size);
      std::string tile = std::to_string(size);
      SmallKernel kernel("__global__ void f(float *x, float *z) {\n  int i[" + tile +
                         "] = get_program_id(0) * " + tile + " + 0 ... " + tile + ";\n  *(" +
                         (is_one ? "x" : "z") + " + i) = 2 * *(x + i);\n}");
      int x = kernel.add(Elem::f32, count_up(size_t(2 * size), 1));
      kernel.add_same(x);
      kernel.set_grid(2);
      kernel.must_give(x, count_up(size_t(2 * size), 2, 2));
    }
}

TEST_CASE("in-place update: earlier loads keep their values") {
  // Each thread holds copies of v, and stores other elements of y.
  SmallKernel kernel(R"(
    __global__ void f(float *x, float *z, float *y) {
      int i[4] = 0 ... 4, j[256] = 0 ... 256;
      float v[4] = *(x + i);
      *(z + i) = v + 100;
      *(y + j) = v[+] + (float)j;
    })");
  int x = kernel.add(Elem::f32, {1, 2, 3, 4});
  kernel.add_same(x);
  int y = kernel.add_unwritten(Elem::f32, 256);
  kernel.must_give(x, {101, 102, 103, 104});
  kernel.must_give(y, count_up(256, 10));
}

TEST_CASE("in-place update: a scalar that thread 0 changes") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, float *z, float *y) {
      int j[256] = 0 ... 256;
      for (int k = 0; k < 3; k++) {
        float v = *x;
        *z = v + 1;
        *(y + k * 256 + j) = v + (float)j;
      }
    })");
  int x = kernel.add(Elem::f32, {5});
  kernel.add_same(x);
  int y = kernel.add_unwritten(Elem::f32, 768);
  kernel.must_give(x, {8});
  std::vector<double> expected;
  for (int k = 0; k < 3; k++)
    for (double value : count_up(256, 5 + k))
      expected.push_back(value);
  kernel.must_give(y, expected);
}

TEST_CASE("in-place update: aliased elements load before the store") {
  for (const char *steps :
       {"0 * i[:, newaxis] + j[newaxis, :]", "i[:, newaxis] + 0 * j[newaxis, :]",
        "0 * i[:, newaxis] + 0 * j[newaxis, :]"}) {
    CAPTURE(steps);
    bool is_row = std::string(steps).find("+ j") != std::string::npos, is_column = steps[0] == 'i';
    SmallKernel kernel(std::string("__global__ void f(float *x, float *y) {\n"
                                   "  int i[8] = 0 ... 8, j[64] = 0 ... 64;\n"
                                   "  float *p[8, 64] = x + ") +
                       steps + ";\n  *p = *p + 1;\n}");
    int x = kernel.add(Elem::f32, std::vector<double>(64, 1));
    kernel.add_unwritten(Elem::f32, 1);
    kernel.without_races(); // several threads store the same value
    std::vector<double> expected(64, 1);
    for (size_t i = 0; i < (is_row ? 64u : is_column ? 8u : 1u); i++)
      expected[i] = 2;
    kernel.must_give(x, expected);
  }
}
