// Convolutions: the strides, paddings and dilations of real networks, and some unusual ones.

#include "kernel_test.h"

#include <shipped_conv2d.hpp>

#include <array>

namespace {

using namespace device_tests;
namespace kernels = shipped_conv2d;
using kernels::LAYOUT;

struct Shape {
  int n, c, h, w, k, r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int more_p = 0; // additional rows of Y

  bool is_point() const {
    return r == 1 && s == 1 && stride_h == 1 && stride_w == 1 && pad_h == 0 && pad_w == 0 &&
           more_p == 0;
  }
  int p() const { return (h + 2 * pad_h - dilation_h * (r - 1) - 1) / stride_h + 1 + more_p; }
  int q() const { return (w + 2 * pad_w - dilation_w * (s - 1) - 1) / stride_w + 1; }
};

const Shape small_shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1},   {2, 3, 9, 7, 5, 3, 3, 1, 1, 1, 1, 1, 1},
    {1, 16, 8, 8, 33, 1, 1, 1, 1, 0, 0, 1, 1}, {1, 40, 6, 10, 20, 3, 2, 2, 1, 0, 1, 1, 3},
    {3, 5, 5, 5, 70, 5, 5, 1, 2, 4, 2, 1, 1},  {1, 8, 7, 7, 8, 3, 3, 3, 2, 2, 0, 2, 1, 2},
    {1, 0, 4, 4, 9, 3, 3, 1, 1, 1, 1, 1, 1},   {3, 24, 5, 3, 40, 1, 1, 1, 1, 0, 0, 1, 1},
    {2, 72, 8, 9, 33, 1, 1, 1, 1, 0, 0, 2, 2},
};
const Shape large_shapes[] = {
    {2, 3, 64, 64, 64, 7, 7, 2, 2, 3, 3, 1, 1},    {4, 64, 28, 28, 128, 3, 3, 1, 1, 1, 1, 1, 1},
    {2, 130, 15, 17, 65, 3, 3, 2, 2, 1, 1, 1, 1},  {2, 256, 14, 14, 64, 1, 1, 2, 2, 0, 0, 1, 1},
    {5, 200, 24, 20, 150, 1, 1, 1, 1, 0, 0, 1, 1},
};

// Strides along image or filter, channel, row, column.
using Strides = std::array<size_t, 4>;
Strides strides_of(LAYOUT layout, int channels, int rows, int columns) {
  size_t c = size_t(channels), h = size_t(rows), w = size_t(columns);
  return layout == LAYOUT::nhwc ? Strides{c * h * w, 1, w * c, c} : Strides{c * h * w, h * w, w, 1};
}
size_t place(const Strides &strides, int a, int b, int c, int d) {
  return size_t(a) * strides[0] + size_t(b) * strides[1] + size_t(c) * strides[2] +
         size_t(d) * strides[3];
}

template <typename T, LAYOUT layout>
void convolve(const char *type, const Shape &shape, double relative) {
  using Kernel = kernels::conv2d<T, layout>;
  const int p_count = shape.p(), q_count = shape.q();
  Array<T> x(size_t(shape.n) * size_t(shape.c) * size_t(shape.h) * size_t(shape.w), draw<T>);
  Array<T> f(size_t(shape.k) * size_t(shape.c) * size_t(shape.r) * size_t(shape.s), draw<T>);
  size_t results = size_t(shape.n) * size_t(shape.k) * size_t(p_count) * size_t(q_count);
  Strides in_x = strides_of(layout, shape.c, shape.h, shape.w),
          in_f = strides_of(layout, shape.c, shape.r, shape.s),
          in_y = strides_of(layout, shape.k, p_count, q_count);
  Expected expected(results);
  std::fill(expected.is_written.begin(), expected.is_written.end(), true);
  std::vector<double> images(x.size()), filters(f.size());
  for (size_t i = 0; i < x.size(); i++)
    images[i] = x.at(i);
  for (size_t i = 0; i < f.size(); i++)
    filters[i] = f.at(i);
  in_parallel(shape.n * shape.k, [&](int number) {
    int n = number / shape.k, k = number % shape.k;
    for (int p = 0; p < p_count; p++)
      for (int q = 0; q < q_count; q++) {
        double sum = 0;
        for (int r = 0; r < shape.r; r++)
          for (int s = 0; s < shape.s; s++) {
            int h = p * shape.stride_h - shape.pad_h + r * shape.dilation_h;
            int w = q * shape.stride_w - shape.pad_w + s * shape.dilation_w;
            if (h < 0 || h >= shape.h || w < 0 || w >= shape.w)
              continue;
            for (int c = 0; c < shape.c; c++)
              sum += images[place(in_x, n, c, h, w)] * filters[place(in_f, k, c, r, s)];
          }
        expected.values[place(in_y, n, k, p, q)] = sum;
      }
  });
  double terms = double(shape.c) * shape.r * shape.s;
  for (const auto &tile : Kernel::variants()) {
    const bool is_for_points = tile.FILTER == kernels::FILTER::point;
    if (is_for_points && !shape.is_point())
      continue;
    Array<T> y(results);
    std::string problem = outcome(Kernel::launch({},
                                                 {.X = x.data(),
                                                  .F = f.data(),
                                                  .Y = y.data(),
                                                  .N = shape.n,
                                                  .C = shape.c,
                                                  .H = shape.h,
                                                  .W = shape.w,
                                                  .K = shape.k,
                                                  .R = shape.r,
                                                  .S = shape.s,
                                                  .P = p_count,
                                                  .Q = q_count,
                                                  .stride_h = shape.stride_h,
                                                  .stride_w = shape.stride_w,
                                                  .pad_h = shape.pad_h,
                                                  .pad_w = shape.pad_w,
                                                  .dilation_h = shape.dilation_h,
                                                  .dilation_w = shape.dilation_w},
                                                 tile));
    if (problem.empty())
      problem = compare(y, expected, relative, 1e-6 + 1e-8 * terms * std::sqrt(terms));
    check(text("conv2d<%s, %s> FILTER=%s TM=%d TN=%d TK=%d, %d x %d x %d x %d, %d filters %d x %d",
               type, layout == LAYOUT::nhwc ? "nhwc" : "nchw", is_for_points ? "point" : "any",
               tile.TM, tile.TN, tile.TK, shape.n, shape.c, shape.h, shape.w, shape.k, shape.r,
               shape.s),
          problem);
  }
}

template <typename T> void convolve(const char *type, double relative) {
  auto convolve_all = [&](const auto &shapes) {
    for (const Shape &shape : shapes) {
      convolve<T, LAYOUT::nhwc>(type, shape, relative);
      convolve<T, LAYOUT::nchw>(type, shape, relative);
    }
  };
  convolve_all(small_shapes);
  if (!emulated())
    convolve_all(large_shapes);
}

void test() {
  convolve<tritonc::half>("half", 0x1p-11);
  convolve<tritonc::bfloat16>("bfloat16", 0x1p-8);
  convolve<float>("float", 1e-6);
}

const KernelTest convolutions("conv2d", test);

} // namespace
