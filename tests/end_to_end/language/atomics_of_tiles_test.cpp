// Tests atomic operations end to end: scalar operations once per program, tile operations per
// element, with masks and results.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

std::vector<double> count_up(size_t count, double first = 0) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(first + double(i));
  return values;
}

} // namespace

TEST_CASE("atomic_add: each program gets a different old value") {
  // In any order, the results are 0 to 7.
  SmallKernel kernel(R"(
    __global__ void f(int *counter, int *seen) {
      int old = atomic_add(counter, 1);
      atomic_add(seen + old, old + 1);
    })");
  int counter = kernel.add(Elem::i32, {0});
  int seen = kernel.add(Elem::i32, std::vector<double>(8, 0));
  kernel.set_grid(8);
  kernel.must_give(counter, {8});
  kernel.must_give(seen, count_up(8, 1));
}

TEST_CASE("scalar atomic: all threads get the one result") {
  // Several warps, and a loop that reuses the shared memory.
  SmallKernel kernel(R"(
    __global__ void f(int *counter, int *y) {
      int i[512] = 0 ... 512;
      int sum[512] = 0;
      for (int k = 0; k < 3; k++)
        sum += i * atomic_add(counter, 2);
      *(y + i) = sum;
    })");
  kernel.add(Elem::i32, {1});
  int y = kernel.add_unwritten(Elem::i32, 512);
  std::vector<double> expected;
  for (int i = 0; i < 512; i++)
    expected.push_back(i * (1 + 3 + 5));
  kernel.must_give(y, expected);
}

TEST_CASE("tile atomics: every operation with a mask and its result") {
  struct {
    const char *name;
    double (*apply)(int64_t, int64_t);
  } cases[] = {
      {"atomic_add", [](int64_t a, int64_t b) { return double(a + b); }},
      {"atomic_min", [](int64_t a, int64_t b) { return double(std::min(a, b)); }},
      {"atomic_max", [](int64_t a, int64_t b) { return double(std::max(a, b)); }},
      {"atomic_and", [](int64_t a, int64_t b) { return double(a & b); }},
      {"atomic_or", [](int64_t a, int64_t b) { return double(a | b); }},
      {"atomic_xor", [](int64_t a, int64_t b) { return double(a ^ b); }},
      {"atomic_xchg", [](int64_t, int64_t b) { return double(b); }},
      {"atomic_exch", [](int64_t, int64_t b) { return double(b); }},
  };
  for (const auto &[name, apply] : cases)
    for (auto &[type, elem] : {std::pair("int", Elem::i32), std::pair("long", Elem::i64)}) {
      CAPTURE(name);
      CAPTURE(type);
      SmallKernel kernel("__global__ void f(" + std::string(type) + " *x, " + type +
                         " *y) {\n  int i[64] = 0 ... 64;\n  " + type + " v[64] = 21 - 3 * i;\n  " +
                         type + " old[64] = " + name +
                         "(x + i, v, i < 50);\n  *?(i < 50)(y + i) = old;\n}");
      std::vector<double> before, after, given;
      for (int64_t i = 0; i < 64; i++) {
        before.push_back(double(i * 5 % 17 - 8));
        after.push_back(i < 50 ? apply(int64_t(before.back()), 21 - 3 * i) : before.back());
        given.push_back(i < 50 ? before.back() : -1);
      }
      int x = kernel.add(elem, before);
      int y = kernel.add(elem, std::vector<double>(64, -1));
      kernel.must_give(x, after);
      kernel.must_give(y, given);
    }
}

TEST_CASE("atomic_min, atomic_max: unsigned and float") {
  SmallKernel kernel(R"(
    __global__ void f(unsigned *u, float *x) {
      int i[8] = 0 ... 8;
      atomic_min(u + i, 4000000000u);
      atomic_max(u + i, 5u);
      atomic_max(x + i, (float)i);
      atomic_min(x + i, 6);
    })");
  int u = kernel.add(Elem::i32, {-1, 0, 1, 2, 3, 7, 9, -5}); // -1 is the largest
  int x = kernel.add(Elem::f32, {3.5, -1, -1, 7, 0, 0.5, 9, -2});
  kernel.must_give(u, {4000000000 - 4294967296, 5, 5, 5, 5, 7, 9, 4000000000 - 4294967296});
  kernel.must_give(x, {3.5, 1, 2, 6, 4, 5, 6, 6});
}

TEST_CASE("atomic_cas: exchanges only where the old value matches") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, float *y, long *lock) {
      int i[16] = 0 ... 16;
      *(y + i) = atomic_cas(x + i, 2, i + 100);
      *lock = atomic_cas(lock, 7, 9) + atomic_cas(lock, 8, 1);
    })");
  std::vector<double> before, after;
  for (int i = 0; i < 16; i++) {
    before.push_back(i % 4);
    after.push_back(i % 4 == 2 ? i + 100 : i % 4);
  }
  int x = kernel.add(Elem::f32, before), y = kernel.add_unwritten(Elem::f32, 16);
  int lock = kernel.add(Elem::i64, {7});
  kernel.must_give(x, after);
  kernel.must_give(y, before);
  kernel.must_give(lock, {7 + 9});
}

TEST_CASE("atomic_add: many elements to one address, every type") {
  for (auto &[type, elem] :
       {std::pair("float", Elem::f32), std::pair("double", Elem::f64), std::pair("half", Elem::f16),
        std::pair("bfloat16", Elem::bf16), std::pair("int", Elem::i32)}) {
    CAPTURE(type);
    SmallKernel kernel("__global__ void f(" + std::string(type) +
                       " *x, int n) {\n  int i[64] = 0 ... 64;\n"
                       "  atomic_add(x + i / 32, (" +
                       type + ")1, i < n);\n  atomic_add(x, (" + type + ")2);\n}");
    int x = kernel.add(elem, {0.5, -3});
    kernel.add(40);
    bool is_float = tritonc::ir::is_float(elem);
    kernel.must_give(x, {(is_float ? 0.5 : 0) + 32 + 2, -3 + 8});
  }
}

TEST_CASE("atomics: the old compiler's syntax") {
  SmallKernel kernel(R"(
    #define TYPE float
    #define TM 16
    #define TN 32
    __global__ void f(TYPE *x, half *h, int n) {
      int m[TM] = 0 ... TM, k[TN] = 0 ... TN;
      TYPE *px[TM, TN] = x + m[:, newaxis] * TN + k[newaxis, :];
      TYPE v[TM, TN] = m[:, newaxis];
      bool check[TM, TN] = k[newaxis, :] < n;
      atomic_add(TYPE, TM, TN)(px, v, check);
      atomic_add_float_16x32(px, v, check);
      atomic_add_half_1x1(h, (half)1.5, true);
      f32_atomic_add(x, 1);
    })");
  std::vector<double> expected;
  for (int m = 0; m < 16; m++)
    for (int k = 0; k < 32; k++)
      expected.push_back((m == 0 && k == 0 ? 1 : 0) + (k < 5 ? 2 * m : 0));
  int x = kernel.add(Elem::f32, std::vector<double>(16 * 32, 0));
  int h = kernel.add(Elem::f16, {2});
  kernel.add(5);
  kernel.must_give(x, expected);
  kernel.must_give(h, {3.5});
}

TEST_CASE("lock: programs add tiles to one address in turn") {
  // In the emulator, nothing orders blocks, so race checks must be off here.
  SmallKernel kernel(R"(
    __global__ void f(int *lock, int *count, float *c) {
      int i[256] = 0 ... 256;
      float mine[256] = i + get_program_id(0);
      for (int repeat = 1; repeat == 1; repeat = atomic_cas(lock, 0, 1));
      int before = *count;
      if (before == 0)
        *(c + i) = mine;
      else
        *(c + i) = *(c + i) + mine;
      atomic_xchg(count, (before + 1) % get_num_programs(0));
      atomic_xchg(lock, 0);
    })");
  kernel.without_races();
  int lock = kernel.add(Elem::i32, {0}), count = kernel.add(Elem::i32, {0});
  int c = kernel.add_unwritten(Elem::f32, 256);
  kernel.set_grid(4);
  std::vector<double> expected;
  for (int i = 0; i < 256; i++)
    expected.push_back(4 * i + 0 + 1 + 2 + 3);
  kernel.must_give(c, expected);
  kernel.must_give(count, {0});
  kernel.must_give(lock, {0});
}

TEST_CASE("lock: as a loop condition, with an explicit barrier") {
  SmallKernel kernel(R"(
    __global__ void f(int *lock, float *x, float *y) {
      while (atomic_cas(lock, 0, 1) == 1)
        ;
      int i[256] = 0 ... 256;
      *(x + i) = i;
      __debug_barrier();
      *(y + i) = *(x + 255 - i);
      atomic_exch(lock, 0);
    })");
  int lock = kernel.add(Elem::i32, {0});
  kernel.add_unwritten(Elem::f32, 256);
  int y = kernel.add_unwritten(Elem::f32, 256);
  std::vector<double> expected;
  for (int i = 0; i < 256; i++)
    expected.push_back(255 - i);
  kernel.must_give(y, expected);
  kernel.must_give(lock, {0});
}

TEST_CASE("split-K: partials added under a lock or by atomics") {
  const std::string product = R"(
    __global__ void f(half *A, half *B, float *C, int *lock) {
      int m[16] = 0 ... 16, k[16] = 0 ... 16;
      int part = get_program_id(0);
      half *pa[16, 16] = A + m[:, newaxis] * 64 + k[newaxis, :] + part * 32;
      half *pb[16, 16] = B + (k + part * 32)[:, newaxis] * 16 + m[newaxis, :];
      float c[16, 16] = 0;
      for (int left = 32; left > 0; left -= 16) {
        c += *pa @ *pb;
        pa += 16;
        pb += 16 * 16;
      }
      float *pc[16, 16] = C + m[:, newaxis] * 16 + m[newaxis, :];
)";
  std::vector<double> a, b, expected;
  for (int i = 0; i < 16 * 64; i++) {
    a.push_back(i * 7 % 11 - 5);
    b.push_back(i * 5 % 13 - 6);
  }
  for (size_t row = 0; row < 16; row++)
    for (size_t column = 0; column < 16; column++) {
      double sum = 0;
      for (size_t i = 0; i < 64; i++)
        sum += a[row * 64 + i] * b[i * 16 + column];
      expected.push_back(sum);
    }
  for (bool by_lock : {false, true}) {
    CAPTURE(by_lock);
    SmallKernel kernel(product + (by_lock ? R"(
      for (int repeat = 1; repeat == 1; repeat = atomic_cas(lock, 0, 1));
      *pc = *pc + c;
      atomic_xchg(lock, 0);
    })"
                                          : "atomic_add(float, 16, 16)(pc, c, true);\n}"));
    if (by_lock)
      kernel.without_races();
    kernel.add(Elem::f16, a);
    kernel.add(Elem::f16, b);
    int c = kernel.add(Elem::f32, std::vector<double>(256, 0));
    kernel.add(Elem::i32, {0});
    kernel.set_grid(2);
    kernel.must_give(c, expected);
  }
}
