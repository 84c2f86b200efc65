// Tests indexing of tiles: gather, single elements, rows, and columns.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

std::vector<double> numbers(size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(double(i * 7 % 101) - 50);
  return values;
}

} // namespace

TEST_CASE("gather: both axes, all element sizes and index types") {
  for (auto &[type, elem] : {std::pair("float", Elem::f32), std::pair("double", Elem::f64),
                             std::pair("half", Elem::f16), std::pair("char", Elem::i8)})
    for (const char *positions : {"int", "long", "unsigned char", "short"}) {
      CAPTURE(type);
      CAPTURE(positions);
      SmallKernel kernel("#define TYPE " + std::string(type) + "\n#define INDEX " + positions + R"(
        __global__ void f(TYPE *x, int *i, TYPE *y) {
          int m[8] = 0 ... 8, n[32] = 0 ... 32, k[4] = 0 ... 4;
          TYPE t[8, 32] = *(x + 32 * m[:, newaxis] + n[newaxis, :]);
          INDEX along_n[8, 4] = *(i + 4 * m[:, newaxis] + k[newaxis, :]);
          *(y + 4 * m[:, newaxis] + k[newaxis, :]) = t[:, gather(along_n)];
          INDEX along_m[4, 32] = (n[newaxis, :] * 3 + k[:, newaxis]) % 8;
          *(y + 32 + 32 * k[:, newaxis] + n[newaxis, :]) = t[gather(along_m), :];
        })");
      std::vector<double> x = numbers(256), i, y;
      for (size_t at = 0; at < 32; at++) {
        i.push_back(double(at * 11 % 32));
        y.push_back(x[at / 4 * 32 + size_t(i.back())]);
      }
      for (size_t k = 0; k < 4; k++)
        for (size_t n = 0; n < 32; n++)
          y.push_back(x[(n * 3 + k) % 8 * 32 + n]);
      kernel.add(elem, x);
      kernel.add(Elem::i32, i);
      int at_y = kernel.add_unwritten(elem, y.size());
      kernel.must_give(at_y, y);
    }
}

TEST_CASE("gather: 1 to 5 axes, longer and shorter results") {
  SmallKernel kernel(R"(
    __global__ void f(int *x, int *y) {
      int i[1024] = 0 ... 1024, j[64] = 0 ... 64;
      int line[1024] = *(x + i);
      *(y + i) = line[gather(1023 - i)];
      *(y + 1024 + j) = line[gather(j * 16)];
      int cube[4, 16, 16] = (int[4, 16, 16])line;
      *(y + 1088 + j) = (int[64])cube[:, gather(5), :];
      int five[4, 4, 4, 4, 4] = (int[4, 4, 4, 4, 4])line;
      int k[4] = 0 ... 4;
      *(y + 1152 + i) = (int[1024])five[:, :, gather((3 - k)[:, newaxis, newaxis]), :, :];
      int two[2] = 0 ... 2;
      *(y + 2176 + i) = (int[1024])((int[2, 1])two[:, newaxis])[gather(i[:, newaxis] % 2), :];
    })");
  std::vector<double> x = numbers(1024), y;
  for (size_t i = 0; i < 1024; i++)
    y.push_back(x[1023 - i]);
  for (size_t j = 0; j < 64; j++)
    y.push_back(x[j * 16]);
  for (size_t j = 0; j < 64; j++)
    y.push_back(x[j / 16 * 256 + 5 * 16 + j % 16]);
  for (size_t i = 0; i < 1024; i++)
    y.push_back(x[i ^ (3 << 4)]);
  for (size_t i = 0; i < 1024; i++)
    y.push_back(double(i % 2));
  kernel.add(Elem::i32, x);
  int at_y = kernel.add_unwritten(Elem::i32, y.size());
  kernel.must_give(at_y, y);
}

TEST_CASE("gather: bools and pointers, in loops, from matmuls") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, float *y) {
      int i[32] = 0 ... 32;
      bool odd[32] = (i & 1) == 1;
      *(y + i) = odd[gather(i / 2)];
      float *p[32] = x + i;
      *(y + 32 + i) = *p[gather(31 - i)];
      float carried[32] = i;
      for (int k = 0; k < 3; k++)
        carried = carried[gather((i + 1) % 32)] + i;
      *(y + 64 + i) = carried;
      int m[16] = 0 ... 16;
      float a[16, 16] = m[:, newaxis] == m[newaxis, :] ? 2 : 0;
      float b[16, 16] = 16 * m[:, newaxis] + m[newaxis, :];
      *(y + 96 + 16 * m[:, newaxis] + m[newaxis, :]) = (a @ b)[gather((15 - m)[:, newaxis]), :];
    })");
  std::vector<double> x = numbers(32), y, carried(32);
  for (size_t i = 0; i < 32; i++)
    y.push_back(double(i / 2 % 2));
  for (size_t i = 0; i < 32; i++)
    y.push_back(x[31 - i]);
  for (size_t i = 0; i < 32; i++)
    carried[i] = double(i);
  for (int k = 0; k < 3; k++) {
    std::vector<double> before = carried;
    for (size_t i = 0; i < 32; i++)
      carried[i] = before[(i + 1) % 32] + double(i);
  }
  y.insert(y.end(), carried.begin(), carried.end());
  for (size_t m = 0; m < 16; m++)
    for (size_t n = 0; n < 16; n++)
      y.push_back(double(2 * (16 * (15 - m) + n)));
  // `(15 - m)[:, newaxis]` has one index per row, which is repeated along the row.
  kernel.add(Elem::f32, x);
  int at_y = kernel.add_unwritten(Elem::f32, y.size());
  kernel.must_give(at_y, y);
}

TEST_CASE("gather: a bool is index 0 or 1") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, int n, float *y) {
      int two[2] = 0 ... 2, c[16] = 0 ... 16;
      float t[2, 16] = *(x + 16 * two[:, newaxis] + c[newaxis, :]);
      *(y + c) = t[n == 3, :];
      *(y + 16 + c) = t[n != 3, :];
      *(y + 32) = t[true, false];
    })");
  std::vector<double> x = numbers(32), y(x.begin() + 16, x.end());
  y.insert(y.end(), x.begin(), x.begin() + 16);
  y.push_back(x[16]);
  kernel.add(Elem::f32, x);
  kernel.add(3);
  int at_y = kernel.add_unwritten(Elem::f32, y.size());
  kernel.must_give(at_y, y);
}

TEST_CASE("indexing: elements, rows, columns; constant and computed") {
  SmallKernel kernel(R"(
    __global__ void f(float *x, int n, float *y) {
      int r[8] = 0 ... 8, c[16] = 0 ... 16;
      float t[8, 16] = *(x + 16 * r[:, newaxis] + c[newaxis, :]);
      *y = t[2, 5];
      *(y + 1) = t[n, n + 1] + t[n % 8, :][3];
      float row[16] = t[n, :], column[8] = t[:, 15];
      *(y + 2 + c) = row;
      *(y + 18 + r) = column;
      *(y + 26 + c) = t[n, newaxis, :][+, :];
      *(y + 42) = t[n, max];
      float sum = 0;
      for (int k = 0; k < 8; k++)
        sum += t[k, k];
      *(y + 43) = sum;
      *(y + 44) = (r < 3)[2] ? 1 : 0;
    })");
  std::vector<double> x = numbers(128), y;
  y.push_back(x[2 * 16 + 5]);
  y.push_back(x[3 * 16 + 4] + x[3 * 16 + 3]);
  for (size_t c = 0; c < 16; c++)
    y.push_back(x[3 * 16 + c]);
  for (size_t r = 0; r < 8; r++)
    y.push_back(x[r * 16 + 15]);
  for (size_t c = 0; c < 16; c++)
    y.push_back(x[3 * 16 + c]);
  double most = x[48], trace = 0;
  for (size_t c = 0; c < 16; c++)
    most = std::max(most, x[48 + c]);
  for (size_t k = 0; k < 8; k++)
    trace += x[k * 16 + k];
  y.insert(y.end(), {most, trace, 1});
  kernel.add(Elem::f32, x);
  kernel.add(3);
  int at_y = kernel.add_unwritten(Elem::f32, y.size());
  kernel.must_give(at_y, y);
}
