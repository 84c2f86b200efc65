// Tests scans, in every layout for many ranks and extents, against references in double.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

using Combine = std::function<double(double, double)>;

const Combine sum = [](double a, double b) { return a + b; };
const Combine product = [](double a, double b) { return a * b; };
const Combine greatest = [](double a, double b) { return std::fmax(a, b); };
const Combine least = [](double a, double b) { return std::fmin(a, b); };

std::vector<double> numbers(size_t count, int modulus = 13) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(double(int(i * 7 % size_t(modulus)) - modulus / 2));
  return values;
}

std::vector<double> scanned(std::vector<double> values, const std::vector<int> &shape, size_t axis,
                            const Combine &combine) {
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); d++)
    inner *= size_t(shape[d]);
  for (size_t i = 0; i < values.size(); i++)
    if (i / inner % size_t(shape[axis]) > 0)
      values[i] = combine(values[i - inner], values[i]);
  return values;
}

std::string list_of(const std::vector<int> &numbers) {
  std::string list;
  for (int n : numbers)
    list += (list.empty() ? "" : ", ") + std::to_string(n);
  return list;
}

// Checks the scan of a tile of this shape along `axis`.
void check(const std::vector<int> &shape, size_t axis, const std::string &type, Elem elem,
           const std::string &how, const Combine &combine, const std::vector<double> &values) {
  int count = 1;
  std::string subscript;
  for (size_t d = 0; d < shape.size(); d++) {
    count *= shape[d];
    subscript += std::string(d ? ", " : "") + (d == axis ? "scan(" + how + ")" : ":");
  }
  CAPTURE(type);
  CAPTURE(how);
  CAPTURE(list_of(shape));
  CAPTURE(axis);
  std::string n = std::to_string(count), tile = type + "[" + list_of(shape) + "]";
  SmallKernel kernel("__global__ void f(" + type + " *x, " + type + " *y) {\n  int i[" + n +
                     "] = 0 ... " + n + ";\n  " + type + " t[" + list_of(shape) + "] = (" + tile +
                     ")*(x + i);\n  *(y + i) = (" + type + "[" + n + "])t[" + subscript + "];\n}");
  kernel.add(elem, values);
  int y = kernel.add_unwritten(elem, size_t(count));
  kernel.must_give(y, scanned(values, shape, axis, combine), 1e-6);
}

} // namespace

TEST_CASE("scan: every kind of type") {
  std::vector<double> signs, whole = numbers(128);
  for (size_t i = 0; i < 128; i++)
    signs.push_back(i % 16 == 5 ? 2 : i % 7 == 0 ? -1 : 1);
  for (auto &[type, elem] :
       {std::pair("float", Elem::f32), std::pair("double", Elem::f64), std::pair("half", Elem::f16),
        std::pair("bfloat16", Elem::bf16), std::pair("int", Elem::i32),
        std::pair("long", Elem::i64), std::pair("char", Elem::i8)}) {
    check({8, 16}, 1, type, elem, "+", sum, whole);
    check({8, 16}, 1, type, elem, "prod", product, signs);
    check({8, 16}, 1, type, elem, "max", greatest, whole);
    check({8, 16}, 1, type, elem, "min", least, whole);
  }
}

TEST_CASE("scan: every axis of tiles with 1 to 5 axes") {
  const std::vector<int> shapes[] = {{1},      {2},         {32},          {64},
                                     {1024},   {4, 64},     {64, 4},       {2, 256},
                                     {256, 2}, {16, 8, 4},  {2, 4, 8, 16}, {2, 2, 4, 2, 8},
                                     {1, 128}, {64, 1, 16}, {128, 32}};
  for (const std::vector<int> &shape : shapes) {
    size_t count = 1;
    for (int extent : shape)
      count *= size_t(extent);
    for (size_t axis = 0; axis < shape.size(); axis++) {
      check(shape, axis, "int", Elem::i32, "+", sum, numbers(count));
      check(shape, axis, "float", Elem::f32, "max", greatest, numbers(count, 101));
    }
  }
}

TEST_CASE("scan: count, any, all of bools") {
  SmallKernel kernel(R"(
    __global__ void f(int *x, int *y) {
      int i[8] = 0 ... 8;
      bool t[8] = *(x + i) != 0;
      *(y + i) = t[scan(+)];
      *(y + 8 + i) = t[scan(any)];
      *(y + 16 + i) = t[scan(all)];
      *(y + 24 + i) = (*(x + i))[scan(any)];
      *(y + 32 + i) = t[scan(max)];
    })");
  kernel.add(Elem::i32, {0, 0, 3, 0, 1, 1, 0, 9});
  int y = kernel.add_unwritten(Elem::i32, 40);
  kernel.must_give(y, {0, 0, 1, 1, 2, 3, 3, 4, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,
                       0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("scan: unsigned comparison") {
  SmallKernel kernel(R"(
    __global__ void f(unsigned *x, double *y) {
      int i[4] = 0 ... 4;
      unsigned t[4] = *(x + i);
      *(y + i) = t[scan(max)];
      *(y + 4 + i) = t[scan(min)];
    })");
  kernel.add(Elem::i32, {5, -1, 7, 3});
  int y = kernel.add_unwritten(Elem::f64, 8);
  kernel.must_give(y, {5, 4294967295, 4294967295, 4294967295, 5, 5, 5, 3});
}

TEST_CASE("scan: f16 sums accumulate in float and round once") {
  SmallKernel kernel(R"(
    __global__ void f(half *x, half *y) {
      int i[4096] = 0 ... 4096;
      *(y + i) = (*(x + i))[scan(+)];
    })");
  std::vector<double> ones(4096, 1), sums;
  for (int i = 1; i <= 4096; i++) // to 11 bits, ties to even
    sums.push_back(i <= 2048 ? i : i % 4 == 3 ? i + 1 : i % 4 == 1 ? i - 1 : i);
  kernel.add(Elem::f16, ones);
  int y = kernel.add_unwritten(Elem::f16, 4096);
  kernel.must_give(y, sums);
}

// The order is a balanced tree on every GPU. Sequential addition of 1 + 2^-24 + 2^-24 + ... would
// stay 1.
TEST_CASE("scan: float sums in the order of a balanced tree") {
  constexpr int n = 512;
  std::vector<double> values(n, 0x1p-24), expected;
  values[0] = 1;
  std::vector<float> sums(values.begin(), values.end());
  for (int bit = 1; bit < n; bit *= 2)
    for (int i = 0; i < n; i++)
      if (i & bit)
        sums[size_t(i)] = sums[size_t((i - i % bit - bit) | (bit - 1))] + sums[size_t(i)];
  expected.assign(sums.begin(), sums.end());
  CHECK(expected[n - 1] == 1 + 511 * 0x1p-24 - 0x1p-24); // only the first pair loses 2^-24
  for (const char *shape : {"[512]", "[512, 1]", "[1, 512]"}) {
    CAPTURE(shape);
    std::string tile = std::string("float") + shape;
    std::string how = shape == std::string("[512]")      ? "[scan(+)]"
                      : shape == std::string("[512, 1]") ? "[scan(+), :]"
                                                         : "[:, scan(+)]";
    SmallKernel kernel("__global__ void f(float *x, float *y) {\n  int i[512] = 0 ... 512;\n" +
                       std::string("  *(y + i) = (float[512])((") + tile + ")*(x + i))" + how +
                       ";\n}");
    kernel.add(Elem::f32, values);
    int y = kernel.add_unwritten(Elem::f32, n);
    kernel.must_give(y, expected);
  }
}

TEST_CASE("scan: with reductions, new axes, matmuls and loops") {
  SmallKernel kernel(R"(
    __global__ void f(int *x, int *y, float *z) {
      int m[16] = 0 ... 16, n[16] = 0 ... 16;
      int t[16, 16] = *(x + 16 * m[:, newaxis] + n[newaxis, :]);
      *(y + m) = t[+, scan(+)];
      *(y + 16 + m) = t[scan(max), max];
      int carried[16] = 0;
      for (int k = 0; k < 3; k++)
        carried += m[scan(+)] + carried[scan(max)];
      *(y + 32 + m) = carried;
      float a[16, 16] = m[:, newaxis] == n[newaxis, :] ? 1 : 0;
      *(z + 16 * m[:, newaxis] + n[newaxis, :]) = (a @ (float[16, 16])t)[:, scan(+)];
    })");
  std::vector<double> x = numbers(256, 29), y, z = scanned(x, {16, 16}, 1, sum), columns(16), rows;
  for (size_t i = 0; i < 256; i++)
    columns[i % 16] += x[i];
  for (double value : scanned(columns, {16}, 0, sum))
    y.push_back(value);
  for (size_t m = 0; m < 16; m++)
    rows.push_back(*std::max_element(x.begin() + long(16 * m), x.begin() + long(16 * m) + 16));
  for (double value : scanned(rows, {16}, 0, greatest))
    y.push_back(value);
  std::vector<double> carried(16);
  for (int k = 0; k < 3; k++) {
    std::vector<double> most = scanned(carried, {16}, 0, greatest);
    for (size_t i = 0; i < 16; i++)
      carried[i] += double(i * (i + 1) / 2) + most[i];
  }
  y.insert(y.end(), carried.begin(), carried.end());
  kernel.add(Elem::i32, x);
  int at_y = kernel.add_unwritten(Elem::i32, 48), at_z = kernel.add_unwritten(Elem::f32, 256);
  kernel.must_give(at_y, y);
  kernel.must_give(at_z, z);
}
