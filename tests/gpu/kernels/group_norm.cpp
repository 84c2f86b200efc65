// Group norm: groups of one channel, of several, and of all; images of one pixel, and in place.

#include "rows.h"

#include <shipped_group_norm.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_group_norm;

constexpr double epsilon = 1e-5;

struct Shape {
  int images, groups, channels, pixels; // channels: per group
  bool in_place = false;
};

template <typename T> void normalize(const Shape &shape) {
  int size = shape.channels * shape.pixels, m = shape.images * shape.groups;
  int all_channels = shape.groups * shape.channels;
  Rows<T> x(m, size, 0), gain(1, all_channels, 0, draw<float>),
      bias(1, all_channels, 0, draw<float>);
  x.set([](int row, int) { return uniform(-1, 1) + row % 7 - 3; });
  std::vector<double> means(size_t(m), 0), factors(size_t(m), 0);
  for (int row = 0; row < m; row++) {
    double &mean = means[size_t(row)], squares = 0;
    for (int i = 0; i < size; i++)
      mean += x.at(row, i) / size;
    for (int i = 0; i < size; i++)
      squares += (x.at(row, i) - mean) * (x.at(row, i) - mean);
    factors[size_t(row)] = 1 / std::sqrt(squares / size + epsilon);
  }
  auto right = [&](int row, int i) {
    int channel = row % shape.groups * shape.channels + i / shape.pixels;
    return (x.at(row, i) - means[size_t(row)]) * factors[size_t(row)] * gain.at(0, channel) +
           bias.at(0, channel);
  };
  for (const auto &tile : kernels::group_norm<T>::variants()) {
    Rows<T> given(m, size, 0), y(m, size, 0);
    given.set([&](int row, int i) { return x.at(row, i); });
    Rows<T> &result = shape.in_place ? given : y;
    std::string problem = outcome(kernels::group_norm<T>::launch({},
                                                                 {.x = given.data(),
                                                                  .gain = gain.data(),
                                                                  .bias = bias.data(),
                                                                  .y = result.data(),
                                                                  .epsilon = float(epsilon),
                                                                  .N = shape.images,
                                                                  .groups = shape.groups,
                                                                  .size = size,
                                                                  .S = shape.pixels},
                                                                 tile));
    if (problem.empty())
      problem = result.wrong("y", right, rounding<T>(), 1e-5);
    check(text("group_norm<%s> TS=%d SIZE=%d %d images, %d groups of %d channels of %d pixels%s",
               name_of<T>(), tile.TS, tile.SIZE, shape.images, shape.groups, shape.channels,
               shape.pixels, shape.in_place ? " in place" : ""),
          problem);
  }
}

// NaN or infinity in a group makes it NaN, and no other group.
template <typename T> void special() {
  constexpr int n = 200;
  for (const auto &tile : kernels::group_norm<T>::variants()) {
    Rows<T> x = unusual<T>(n), ones(1, x.m, 0), y(x.m, n, 0);
    ones.set([](int, int) { return 1; });
    std::string problem = outcome(kernels::group_norm<T>::launch({},
                                                                 {.x = x.data(),
                                                                  .gain = ones.data(),
                                                                  .bias = ones.data(),
                                                                  .y = y.data(),
                                                                  .epsilon = 1,
                                                                  .N = 1,
                                                                  .groups = x.m,
                                                                  .size = n,
                                                                  .S = n},
                                                                 tile));
    y.read();
    for (int row = 0; row < x.m && problem.empty(); row++)
      for (int i = 0; i < n && problem.empty(); i++)
        if (std::isnan(y.at(row, i)) != (row + 1 < x.m))
          problem = text("row %d, column %d is %g", row, i, y.at(row, i));
    check(text("group_norm<%s> of NaN and infinities, TS=%d SIZE=%d", name_of<T>(), tile.TS,
               tile.SIZE),
          problem);
  }
}

template <typename T> void norms() {
  auto launch = [](T *y, int images, int groups, int size, int pixels) {
    typename kernels::group_norm<T>::args arguments = {.x = y, .gain = y, .bias = y, .y = y};
    arguments.N = images;
    arguments.groups = groups;
    arguments.size = size;
    arguments.S = pixels;
    return kernels::group_norm<T>::launch({}, arguments);
  };
  for (auto [images, groups] : {std::pair(0, 3), std::pair(3, 0)})
    check_nothing<T>(
        text("group_norm of %d images, %d groups", images, groups),
        [&, images = images, groups = groups](T *y) { return launch(y, images, groups, 6, 3); });
  Array<T> y(8);
  for (auto [size, pixels] : {std::pair(0, 3), {6, 0}, {7, 3}}) {
    bool is_refused =
        launch(y.data(), 1, 1, size, pixels).code() == tritonc::status_code::requirement_failed;
    check(text("group_norm with size=%d S=%d", size, pixels),
          is_refused ? "" : "the launch succeeds");
  }
  special<T>();
  for (const Shape &shape : {Shape{1, 1, 1, 1},
                             {3, 4, 2, 1},
                             {2, 3, 5, 49},
                             {2, 2, 8, 64},
                             {1, 2, 3, 700},
                             {2, 1, 4, 256, true},
                             {2, 2, 1, 33, true}})
    normalize<T>(shape);
  if (!emulated())
    normalize<T>({16, 32, 10, 4096});
}

void test() {
  norms<tritonc::half>();
  norms<tritonc::bfloat16>();
  norms<float>();
}

const KernelTest group_norm("group_norm", test);

} // namespace
