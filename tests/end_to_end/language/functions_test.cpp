// Tests inlined device functions with all kinds of returns.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::test;
using tritonc::ir::Elem;

TEST_CASE("functions: scalar, tile and pointer parameters, nested calls") {
  SmallKernel kernel(R"(
    #define N 64
    float square(float x) { return x * x; }
    float[N] squares(float x[N]) { return x * x; }
    float[N] norm(float x[N], float least) {
      float sum = squares(x)[+];
      if (sum < least)
        return 0;
      return x / square(sum);
    }
    int *at(int *p, int n) { return p + n; }
    void count(int *p, int n) {
      if (n == 0)
        return;
      *at(p, n) = n + 1;
    }
    __global__ void f(float *x, float *y, int *q) {
      int i[N] = 0 ... N;
      *(y + i) = norm(*(x + i), 1) + norm(0.001f * *(x + i), 1);
      for (int k = 0; k < 3; k++)
        count(q, k);
    })");
  std::vector<double> x, expected;
  double sum = 0;
  for (int i = 0; i < 64; i++) {
    x.push_back((i * 5 % 9 - 4) * 0.25);
    sum += x.back() * x.back();
  }
  for (double value : x)
    expected.push_back(value / (sum * sum));
  kernel.add(Elem::f32, x);
  int y = kernel.add_unwritten(Elem::f32, 64);
  int q = kernel.add(Elem::i32, {7, 7, 7});
  kernel.must_give(y, expected, 1e-6);
  kernel.must_give(q, {7, 2, 3});
}

TEST_CASE("functions: returns from loops, two calls, calls in loops") {
  SmallKernel kernel(R"(
    // The first multiple of `step` above `least`; -1 if it takes too long.
    int next(int least, int step) {
      int found = 0;
      for (int k = 0; k < 10; k++) {
        for (;;) {
          if (found > least)
            return found;
          if (found % 2)
            break;
          found += step;
          if (found > 1000)
            return -2;
        }
        found += step;
      }
      return -1;
    }
    __global__ void f(int *y) {
      int least = 5;
      *y = next(least, 3) + 100 * next(20, 7);
      *(y + 1) = next(900, 1);
      *(y + 2) = next(5000, 1002);
      int sum = 0;
      for (int i = 1; i < 4; i++) {
        int least = next(i, i);
        if (next(least, 2) > 4)
          continue;
        sum += least;
      }
      *(y + 3) = sum;
    })");
  auto next = [](int least, int step) {
    int found = 0;
    for (int k = 0; k < 10; k++) {
      for (;;) {
        if (found > least)
          return found;
        if (found % 2)
          break;
        found += step;
        if (found > 1000)
          return -2;
      }
      found += step;
    }
    return -1;
  };
  double sum = 0;
  for (int i = 1; i < 4; i++)
    if (next(next(i, i), 2) <= 4)
      sum += next(i, i);
  int y = kernel.add_unwritten(Elem::i32, 4);
  kernel.must_give(y, {double(next(5, 3) + 100 * next(20, 7)), double(next(900, 1)),
                       double(next(5000, 1002)), sum});
}

TEST_CASE("functions: arguments are converted and local") {
  SmallKernel kernel(R"(
    half[4] f(float x[4], int n) {
      n += 1;
      x += n;
      return x;
    }
    __global__ void k(float *y, int n) {
      int i[4] = 0 ... 4;
      *(y + i) = f(i, 2.9) + f(n, n) * 100 + n;
    })");
  int y = kernel.add_unwritten(Elem::f32, 4);
  kernel.add(1);
  kernel.must_give(y, {304, 305, 306, 307});
}

TEST_CASE("functions: a masked-out call accesses no memory") {
  SmallKernel kernel(R"(
    int add(int *p) { return atomic_add(p, 1); }
    __global__ void k(int *p, int n) {
      int a = n > 0 ? add(p) : 5, b = n < 0 ? add(p) : 7;
      if (n < 0 && add(p) == 0)
        a = 100;
      *(p + 1) = a + b;
    })");
  int p = kernel.add(Elem::i32, {3, 0});
  kernel.add(1);
  kernel.must_give(p, {4, 3 + 7});
}
