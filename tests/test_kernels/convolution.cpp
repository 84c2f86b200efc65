// Test data for the convolution kernels. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

namespace tritonc::test {
namespace {

struct Convolution {
  int64_t n, c, h, w, k, r, s, p, q, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// The strides of four axes, in elements.
using Strides = std::array<int64_t, 4>;

size_t index_of(const Strides &strides, int64_t a, int64_t b, int64_t c, int64_t d) {
  return size_t(a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]);
}

// Strides of image or filter, channel, row, column.
Strides strides_of(bool channels_last, int64_t channels, int64_t rows, int64_t columns) {
  if (channels_last)
    return {channels * rows * columns, 1, columns * channels, channels};
  return {channels * rows * columns, rows * columns, columns, 1};
}

Run convolution(const Variant &variant, std::mt19937 &random, const Convolution &of) {
  Run run;
  run.text = std::to_string(of.n) + " images " + std::to_string(of.c) + " x " +
             std::to_string(of.h) + " x " + std::to_string(of.w) + ", " + std::to_string(of.k) +
             " filters " + std::to_string(of.r) + " x " + std::to_string(of.s);
  bool channels_last = variant["NEXT_CHANNEL"] == "1";
  Strides in_x = strides_of(channels_last, of.c, of.h, of.w),
          in_f = strides_of(channels_last, of.c, of.r, of.s),
          in_y = strides_of(channels_last, of.k, of.p, of.q);
  int x = run.memory.add("X", variant.type(), draw(random, size_t(of.n * of.c * of.h * of.w)));
  int f = run.memory.add("F", variant.type(), draw(random, size_t(of.k * of.c * of.r * of.s)));
  int y = run.memory.add_unwritten("Y", variant.type(), size_t(of.n * of.k * of.p * of.q));
  int64_t tm = variant.number("TM"), tn = variant.number("TN");
  // A filter of one element in nchw: one matmul per image.
  int64_t matrices = variant.number("IS_POINT") && !channels_last ? of.n : 1;
  int64_t rows = of.n * of.p * of.q / matrices;
  run.launch.grid = {int((rows + tm - 1) / tm), int((of.k + tn - 1) / tn), int(matrices)};
  run.launch.arguments = {Element::pointer(x), Element::pointer(f), Element::pointer(y)};
  for (int64_t number : {of.n, of.c, of.h, of.w, of.k, of.r, of.s, of.p, of.q, of.stride_h,
                         of.stride_w, of.pad_h, of.pad_w, of.dilation_h, of.dilation_w})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    std::map<size_t, double> expected;
    for (int64_t n = 0; n < of.n; n++)
      for (int64_t k = 0; k < of.k; k++)
        for (int64_t p = 0; p < of.p; p++)
          for (int64_t q = 0; q < of.q; q++) {
            double sum = 0;
            for (int64_t r = 0; r < of.r; r++)
              for (int64_t s = 0; s < of.s; s++) {
                int64_t h = p * of.stride_h - of.pad_h + r * of.dilation_h;
                int64_t w = q * of.stride_w - of.pad_w + s * of.dilation_w;
                if (h < 0 || h >= of.h || w < 0 || w >= of.w)
                  continue;
                for (int64_t c = 0; c < of.c; c++)
                  sum += memory[x].elements[index_of(in_x, n, c, h, w)].number *
                         memory[f].elements[index_of(in_f, k, c, r, s)].number;
              }
            expected[index_of(in_y, n, k, p, q)] = rounded(variant.type(), sum);
          }
    return check_elements(memory, y, expected);
  };
  return run;
}

std::vector<Run> of_images(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  int64_t tn = variant.number("TN"), tk = variant.number("TK");
  const bool is_point = variant.number("IS_POINT");
  std::vector<Run> runs;
  // First, no size is a multiple of the tile. Then filters of 1 x 2, or of one element, with channels
  // in full K tiles.
  Convolution ragged = {1, tk + 3, 6, 5, tn + 5, 3, 2, 4, 8, 2, 1, 1, 2, 1, 2};
  if (is_point)
    ragged = {2, tk + 3, 6, 5, tn + 5, 1, 1, 6, 5, 1, 1, 0, 0, 1, 1};
  runs.push_back(convolution(variant, random, ragged));
  for (int count : steps) {
    Convolution whole = {2, count * tk, 5, 7, tn, 1, 2, 5, 6, 1, 1, 0, 0, 1, 1};
    if (is_point)
      whole = {2, count * tk, 8, 8, tn, 1, 1, 8, 8, 1, 1, 0, 0, 2, 1};
    runs.push_back(convolution(variant, random, whole));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> convolutions() {
  return {{"kernels/conv2d.tc", false, of_images, {1, 5}, Schedules::plain}};
}

} // namespace tritonc::test
