// Tests math functions, compiled for all GPUs, against the C library in double.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

std::string kernel_of(const std::string &type, const std::string &call) {
  return "__global__ void f(" + type + " *x, " + type +
         " *y) {\n"
         "  int i[128] = 0 ... 128;\n  " +
         type + " v[128] = *(x + i);\n  *(y + i) = " + call + ";\n}";
}

std::vector<double> around(double center, double width) {
  std::vector<double> values;
  for (int i = 0; i < 128; i++) // integers and half integers
    values.push_back(center + width * std::round((i - 64) * 16) / 1024);
  return values;
}

} // namespace

TEST_CASE("math: unary functions in every type") {
  struct {
    const char *name;
    double (*exact)(double);
    double center, width;
  } cases[] = {
      {"exp", std::exp, 0, 4},      {"exp2", std::exp2, 0, 8},
      {"log", std::log, 5, 4},      {"log2", std::log2, 5, 4},
      {"sqrt", std::sqrt, 2, 2},    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 5, 4},
      {"sin", std::sin, 0, 16},     {"cos", std::cos, 3, 16},
      {"tanh", std::tanh, 0, 4},    {"erf", std::erf, 0, 4},
      {"floor", std::floor, 0, 2},  {"ceil", std::ceil, 0, 2},
      {"round", std::round, 0, 2},  {"trunc", std::trunc, 0, 2},
      {"fabs", std::fabs, 0, 2},    {"sinf", std::sin, 0, 16},
      {"floorf", std::floor, 0, 2},
  };
  for (const auto &[name, exact, center, width] : cases)
    for (auto &[type, elem, error] :
         {std::tuple("float", Elem::f32, 1e-6), std::tuple("half", Elem::f16, 1e-3),
          std::tuple("double", Elem::f64, 1e-15)}) {
      CAPTURE(name);
      CAPTURE(type);
      SmallKernel kernel(kernel_of(type, std::string(name) + "(v)"));
      std::vector<double> x = around(center, width), expected;
      for (double value : x)
        expected.push_back(exact(value));
      kernel.add(elem, x);
      int y = kernel.add_unwritten(elem, x.size());
      kernel.must_give(y, expected, error);
    }
}

TEST_CASE("math: functions of integers, computed in float") {
  SmallKernel kernel(R"(
    __global__ void f(int n, float *y) {
      int i[8] = 0 ... 8;
      *(y + i) = sin(i) + floor(n / 2) + exp2(n) * pow(i, 2) + fma(i, n, 0.5f);
    })");
  kernel.add(3);
  int y = kernel.add_unwritten(Elem::f32, 8);
  std::vector<double> expected;
  for (int i = 0; i < 8; i++)
    expected.push_back(std::sin(i) + 1 + 8 * i * i + 3 * i + 0.5);
  kernel.must_give(y, expected, 1e-6);
}

TEST_CASE("math: pow and fma") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, float *y, double *d) {
      int i[8] = 0 ... 8;
      float v[8] = *(x + i);
      *(y + i) = pow(v, 2.5f);
      *(y + 8 + i) = powf(-v, 3);
      *(y + 16 + i) = fma(v, v, -(v * v)) * 16777216;
      *(d + i) = fma((double)v, 3.0, 1);
    })");
  std::vector<double> x, expected, of_doubles;
  for (int i = 0; i < 8; i++)
    x.push_back(double(1.1f + float(i)));
  for (double v : x)
    expected.push_back(std::pow(v, 2.5));
  for (double v : x)
    expected.push_back(-v * v * v);
  for (double v : x) // the rounding error of the product, scaled up
    expected.push_back((v * v - double(float(v) * float(v))) * 16777216);
  for (double v : x)
    of_doubles.push_back(v * 3 + 1);
  kernel.add(Elem::f32, x);
  int y = kernel.add_unwritten(Elem::f32, 24);
  int d = kernel.add_unwritten(Elem::f64, 8);
  kernel.must_give(y, expected, 1e-7);
  kernel.must_give(d, of_doubles, 1e-15);
}
