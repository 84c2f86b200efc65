// Tests reductions and batched matmuls against references in double.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

std::vector<double> numbers(size_t count, int modulus = 13, double scale = 1) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(double(int(i * 7 % size_t(modulus)) - modulus / 2) * scale);
  return values;
}

// The source of a reduction of an 8 x 16 tile along its second axis.
std::string of_rows(const std::string &type, const std::string &result, const std::string &how) {
  return "__global__ void f(" + type + " *x, " + result +
         " *y) {\n"
         "  int r[8] = 0 ... 8, c[16] = 0 ... 16;\n"
         "  " +
         type + " t[8, 16] = *(x + r[:, newaxis] * 16 + c[newaxis, :]);\n" + "  *(y + r) = t[:, " +
         how + "];\n}";
}

template <typename Reduce>
std::vector<double> each_row(const std::vector<double> &values, Reduce reduce) {
  std::vector<double> result;
  for (size_t row = 0; row < 8; row++)
    result.push_back(
        reduce(std::vector(values.begin() + row * 16, values.begin() + row * 16 + 16)));
  return result;
}

} // namespace

TEST_CASE("reduce: every operation and kind of type") {
  auto greatest = [](const std::vector<double> &row) {
    return *std::max_element(row.begin(), row.end());
  };
  auto least = [](const std::vector<double> &row) {
    return *std::min_element(row.begin(), row.end());
  };
  auto sum = [](const std::vector<double> &row) {
    double total = 0;
    for (double x : row)
      total += x;
    return total;
  };
  auto product = [](const std::vector<double> &row) {
    double total = 1;
    for (double x : row)
      total *= x;
    return total;
  };
  auto where_greatest = [](const std::vector<double> &row) {
    return double(std::max_element(row.begin(), row.end()) - row.begin());
  };
  auto where_least = [](const std::vector<double> &row) {
    return double(std::min_element(row.begin(), row.end()) - row.begin());
  };
  auto any = [](const std::vector<double> &row) {
    return double(std::any_of(row.begin(), row.end(), [](double x) { return x != 0; }));
  };
  auto all = [](const std::vector<double> &row) {
    return double(std::all_of(row.begin(), row.end(), [](double x) { return x != 0; }));
  };
  auto check = [](const char *type, Elem from, const char *result, Elem to, const char *how,
                  const std::vector<double> &values, auto reduce) {
    CAPTURE(type);
    CAPTURE(how);
    SmallKernel kernel(of_rows(type, result, how));
    kernel.add(from, values);
    int y = kernel.add_unwritten(to, 8);
    kernel.must_give(y, each_row(values, reduce), 1e-6);
  };
  std::vector<double> whole = numbers(128), mixed = numbers(128, 29), unsigneds = numbers(128);
  for (double &x : unsigneds)
    x = x < 0 ? x + 4294967296 : x;
  std::vector<double> signs;
  for (size_t i = 0; i < 128; i++)
    signs.push_back(i % 5 == 0 ? 2 : i % 7 == 0 ? -1 : 1);
  for (auto &[type, elem] : {std::pair("float", Elem::f32), std::pair("double", Elem::f64),
                             std::pair("half", Elem::f16), std::pair("int", Elem::i32)}) {
    check(type, elem, type, elem, "+", whole, sum);
    check(type, elem, type, elem, "max", whole, greatest);
    check(type, elem, type, elem, "min", whole, least);
    check(type, elem, type, elem, "prod", signs, product);
    check(type, elem, "int", Elem::i32, "argmax", mixed, where_greatest);
    check(type, elem, "int", Elem::i32, "argmin", mixed, where_least);
    check(type, elem, "bool", Elem::i1, "any", whole, any);
    check(type, elem, "bool", Elem::i1, "all", signs, all);
    check(type, elem, "bool", Elem::i1, "all", whole, all);
  }
  // Unsigned comparison: a value that is negative as a signed integer is the largest. The kernel
  // stores the results as doubles, so that they stay unsigned.
  check("unsigned", Elem::i32, "double", Elem::f64, "max", unsigneds, greatest);
  check("unsigned", Elem::i32, "double", Elem::f64, "min", unsigneds, least);
  check("unsigned", Elem::i32, "int", Elem::i32, "argmax", unsigneds, where_greatest);
}

TEST_CASE("reduce: f16 sums accumulate in float") {
  // 2048 + 1 is 2048 in f16, so adding ones in f16 would stop there.
  SmallKernel kernel(R"(
    __global__ void f(half *x, half *y) {
      int i[4096] = 0 ... 4096;
      *y = (*(x + i))[+];
      half t[64, 64] = (half[64, 64])*(x + i);
      *(y + 1) = t[+, +];
    })");
  std::vector<double> values(4096, 1);
  values[17] = 0.5;
  values[18] = 0.5;
  kernel.add(Elem::f16, values);
  int y = kernel.add_unwritten(Elem::f16, 2);
  kernel.must_give(y, {4096, 4096}); // 4095 rounded once
}

TEST_CASE("reduce: count, any, all of bools") {
  SmallKernel kernel(R"(
    __global__ void f(int n, int *y) {
      int i[64] = 0 ... 64;
      *y = (i < n)[+];
      *(y + 1) = (i < n)[any];
      *(y + 2) = (i < n)[all];
      *(y + 3) = (i < n)[max];
      *(y + 4) = (i < n)[min];
      *(y + 5) = (i < n)[argmin];
    })");
  kernel.add(5);
  int y = kernel.add_unwritten(Elem::i32, 6);
  kernel.must_give(y, {5, 1, 0, 1, 0, 5});
}

TEST_CASE("argmax: first of equals, ignores NaN, always in bounds") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, int *y) {
      int i[8] = 0 ... 8;
      float t[8] = *(x + i);
      *y = t[argmax];
      *(y + 1) = (t * 0)[argmax];
      *(y + 2) = (0 ? t : NAN)[argmin];
    })");
  kernel.add(Elem::f32, {1, NAN, 7, 2, 7, NAN, 0, 3});
  int y = kernel.add_unwritten(Elem::i32, 3);
  kernel.must_give(y, {2, 0, 7});
}

TEST_CASE("dot: batched matmuls") {
  struct {
    const char *type;
    Elem elem;
    const char *sum;
    Elem of_sum;
  } cases[] = {{"half", Elem::f16, "float", Elem::f32},
               {"float", Elem::f32, "float", Elem::f32},
               {"int8", Elem::i8, "int", Elem::i32}};
  for (const auto &[type, elem, sum, of_sum] : cases)
    for (int batch : {1, 2, 4}) {
      CAPTURE(type);
      CAPTURE(batch);
      std::string b = std::to_string(batch);
      SmallKernel kernel("__global__ void f(" + std::string(type) + " *A, " + type + " *B, " + sum +
                         " *C) {\n"
                         "  int m[16] = 0 ... 16, k[32] = 0 ... 32, n[16] = 0 ... 16, b[" +
                         b + "] = 0 ... " + b + ";\n  " + type + " a[16, 32, " + b +
                         "] = *(A + (m[:, newaxis, newaxis] * 32 + k[newaxis, :, newaxis]) * " + b +
                         " + b[newaxis, newaxis, :]);\n  " + type + " c[32, 16, " + b +
                         "] = *(B + (k[:, newaxis, newaxis] * 16 + n[newaxis, :, newaxis]) * " + b +
                         " + b[newaxis, newaxis, :]);\n  " + sum + " d[16, 16, " + b +
                         "] = 1;\n"
                         "  d += a @ c;\n"
                         "  *(C + (m[:, newaxis, newaxis] * 16 + n[newaxis, :, newaxis]) * " +
                         b + " + b[newaxis, newaxis, :]) = d;\n}");
      size_t many = size_t(batch);
      std::vector<double> x = numbers(16 * 32 * many), y = numbers(32 * 16 * many, 11), expected;
      for (size_t row = 0; row < 16; row++)
        for (size_t column = 0; column < 16; column++)
          for (size_t matrix = 0; matrix < many; matrix++) {
            double total = 1;
            for (size_t i = 0; i < 32; i++)
              total += x[(row * 32 + i) * many + matrix] * y[(i * 16 + column) * many + matrix];
            expected.push_back(total);
          }
      kernel.add(elem, x);
      kernel.add(elem, y);
      int result = kernel.add_unwritten(of_sum, expected.size());
      kernel.must_give(result, expected);
    }
}
