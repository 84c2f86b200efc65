// Batch norm: training, gradients, and inference with given statistics.

#include "rows.h"

#include <shipped_batch_norm.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_batch_norm;

constexpr double epsilon = 1e-5, momentum = 0.1;

struct Sizes {
  int n, channels, places;
  bool in_place = false;

  int count() const { return n * places; }
  std::string text() const {
    return device_tests::text(" N=%d C=%d S=%d%s", n, channels, places,
                              in_place ? " in place" : "");
  }
};

// Calls visit(row, column) for all elements of a channel; a row is a channel of an image.
template <typename Visit> void visit_channel(const Sizes &sizes, int channel, Visit visit) {
  for (int image = 0; image < sizes.n; image++)
    for (int place = 0; place < sizes.places; place++)
      visit(image * sizes.channels + channel, place);
}

template <typename T> struct Batch : Rows<T> {
  explicit Batch(const Sizes &sizes) : Rows<T>(sizes.n * sizes.channels, sizes.places, 0) {}
};

// Channels have different means.
template <typename T> void fill(Batch<T> &x, const Sizes &sizes) {
  x.set([&](int row, int) { return uniform(-1, 1) + row % sizes.channels % 5 - 2; });
}

template <typename T> void copy(const Batch<T> &from, Batch<T> &to) {
  to.set([&](int row, int column) { return from.at(row, column); });
}

struct Channel {
  double mean = 0, variance = 0;
  double factor() const { return 1 / std::sqrt(variance + epsilon); }
};

template <typename T> std::vector<Channel> channels_of(const Batch<T> &x, const Sizes &sizes) {
  std::vector<Channel> channels(size_t(sizes.channels));
  for (int c = 0; c < sizes.channels; c++) {
    Channel &channel = channels[size_t(c)];
    visit_channel(sizes, c,
                  [&](int row, int column) { channel.mean += x.at(row, column) / sizes.count(); });
    visit_channel(sizes, c, [&](int row, int column) {
      double difference = x.at(row, column) - channel.mean;
      channel.variance += difference * difference / sizes.count();
    });
  }
  return channels;
}

template <typename T> void known(const Sizes &sizes) {
  int channels = sizes.channels;
  Batch<T> x(sizes);
  fill(x, sizes);
  Rows<float> mean(1, channels, 0, draw<float>), variance(1, channels, 0),
      gain(1, channels, 0, draw<float>), bias(1, channels, 0, draw<float>);
  variance.set([](int, int) { return uniform(0.1, 2); });
  for (const auto &tile : kernels::batch_norm<T>::variants()) {
    if (tile.TS == 1 && sizes.places != 1) // only for matrices
      continue;
    Batch<T> given(sizes), y(sizes);
    copy(x, given);
    Batch<T> &result = sizes.in_place ? given : y;
    std::string problem = outcome(kernels::batch_norm<T>::launch({},
                                                                 {.x = given.data(),
                                                                  .mean = mean.data(),
                                                                  .variance = variance.data(),
                                                                  .gain = gain.data(),
                                                                  .bias = bias.data(),
                                                                  .y = result.data(),
                                                                  .epsilon = float(epsilon),
                                                                  .N = sizes.n,
                                                                  .C = channels,
                                                                  .S = sizes.places},
                                                                 tile));
    auto right = [&](int row, int column) {
      int c = row % channels;
      return (x.at(row, column) - mean.at(0, c)) / std::sqrt(variance.at(0, c) + epsilon) *
                 gain.at(0, c) +
             bias.at(0, c);
    };
    if (problem.empty())
      problem = result.wrong("y", right, rounding<T>(), 1e-5);
    check(text("batch_norm<%s> TS=%d SIZE=%d", name_of<T>(), tile.TS, tile.SIZE) + sizes.text(),
          problem);
  }
}

template <typename T> void training(const Sizes &sizes) {
  int channels = sizes.channels;
  Batch<T> x(sizes);
  fill(x, sizes);
  std::vector<Channel> of_x = channels_of(x, sizes);
  Rows<float> gain(1, channels, 0, draw<float>), bias(1, channels, 0, draw<float>);
  Rows<float> old_mean(1, channels, 0, draw<float>), old_variance(1, channels, 0, draw<float>);
  auto mean_of = [&](int, int c) { return of_x[size_t(c)].mean; };
  auto factor_of = [&](int, int c) { return of_x[size_t(c)].factor(); };
  for (const auto &tile : kernels::batch_norm_training<T>::variants()) {
    if (tile.TS == 1 && sizes.places != 1) // only for matrices
      continue;
    Batch<T> given(sizes), y(sizes);
    copy(x, given);
    Batch<T> &result = sizes.in_place ? given : y;
    Rows<float> mean(1, channels, 0), factor(1, channels, 0), running_mean(1, channels, 0),
        running_variance(1, channels, 0);
    running_mean.set([&](int, int c) { return old_mean.at(0, c); });
    running_variance.set([&](int, int c) { return old_variance.at(0, c); });
    std::string problem = outcome(
        kernels::batch_norm_training<T>::launch({},
                                                {.x = given.data(),
                                                 .gain = gain.data(),
                                                 .bias = bias.data(),
                                                 .y = result.data(),
                                                 .mean = mean.data(),
                                                 .factor = factor.data(),
                                                 .running_mean = running_mean.data(),
                                                 .running_variance = running_variance.data(),
                                                 .momentum = float(momentum),
                                                 .epsilon = float(epsilon),
                                                 .N = sizes.n,
                                                 .C = channels,
                                                 .S = sizes.places},
                                                tile));
    auto right = [&](int row, int column) {
      int c = row % channels;
      return (x.at(row, column) - of_x[size_t(c)].mean) * of_x[size_t(c)].factor() * gain.at(0, c) +
             bias.at(0, c);
    };
    auto running_mean_of = [&](int, int c) {
      return (1 - momentum) * old_mean.at(0, c) + momentum * of_x[size_t(c)].mean;
    };
    auto running_variance_of = [&](int, int c) {
      double of_population = of_x[size_t(c)].variance * sizes.count() / (sizes.count() - 1);
      return (1 - momentum) * old_variance.at(0, c) + momentum * of_population;
    };
    // A small variance makes the factor large, and with it the rounding errors.
    double size = 1;
    for (const Channel &channel : of_x)
      size = std::max(size, channel.factor());
    if (problem.empty())
      problem = first_of(
          {result.wrong("y", right, rounding<T>(), 1e-6 * size),
           mean.wrong("mean", mean_of, 0, 1e-5), factor.wrong("factor", factor_of, 2e-5 * size, 0),
           running_mean.wrong("running_mean", running_mean_of, 1e-5, 1e-5),
           running_variance.wrong("running_variance", running_variance_of, 1e-5, 1e-5)});
    check(text("batch_norm_training<%s> TS=%d SIZE=%d", name_of<T>(), tile.TS, tile.SIZE) +
              sizes.text(),
          problem);
  }
}

// In place: dx overwrites dy.
template <typename T> void gradients(const Sizes &sizes) {
  int channels = sizes.channels, count = sizes.count();
  Batch<T> x(sizes), dy(sizes);
  fill(x, sizes);
  dy.set([](int, int) { return uniform(-1, 1); });
  std::vector<Channel> of_x = channels_of(x, sizes);
  Rows<float> gain(1, channels, 0, draw<float>), mean(1, channels, 0), factor(1, channels, 0);
  mean.set([&](int, int c) { return of_x[size_t(c)].mean; });
  factor.set([&](int, int c) { return of_x[size_t(c)].factor(); });
  auto above = [&](int row, int column) {
    int c = row % channels;
    return (x.at(row, column) - mean.at(0, c)) * factor.at(0, c);
  };
  std::vector<double> by_gain(size_t(channels), 0), by_bias(size_t(channels), 0);
  for (int c = 0; c < channels; c++)
    visit_channel(sizes, c, [&](int row, int column) {
      by_gain[size_t(c)] += above(row, column) * dy.at(row, column);
      by_bias[size_t(c)] += dy.at(row, column);
    });
  for (const auto &tile : kernels::batch_norm_backward<T>::variants()) {
    if (tile.TS == 1 && sizes.places != 1) // only for matrices
      continue;
    Batch<T> given(sizes), dx(sizes);
    copy(dy, given);
    Batch<T> &result = sizes.in_place ? given : dx;
    Rows<float> dgain(1, channels, 0), dbias(1, channels, 0);
    std::string problem = outcome(kernels::batch_norm_backward<T>::launch({},
                                                                          {.x = x.data(),
                                                                           .gain = gain.data(),
                                                                           .mean = mean.data(),
                                                                           .factor = factor.data(),
                                                                           .dy = given.data(),
                                                                           .dx = result.data(),
                                                                           .dgain = dgain.data(),
                                                                           .dbias = dbias.data(),
                                                                           .N = sizes.n,
                                                                           .C = channels,
                                                                           .S = sizes.places},
                                                                          tile));
    auto right = [&](int row, int column) {
      int c = row % channels;
      return gain.at(0, c) * factor.at(0, c) *
             (dy.at(row, column) - by_bias[size_t(c)] / count -
              above(row, column) * by_gain[size_t(c)] / count);
    };
    auto gain_of = [&](int, int c) { return by_gain[size_t(c)]; };
    auto bias_of = [&](int, int c) { return by_bias[size_t(c)]; };
    double size = 1;
    for (const Channel &channel : of_x)
      size = std::max(size, channel.factor());
    if (problem.empty())
      problem = first_of({result.wrong("dx", right, rounding<T>(), 1e-5 * size),
                          dgain.wrong("dgain", gain_of, 1e-5, 2e-6 * count),
                          dbias.wrong("dbias", bias_of, 1e-5, 1e-6 * count)});
    check(text("batch_norm_backward<%s> TS=%d SIZE=%d", name_of<T>(), tile.TS, tile.SIZE) +
              sizes.text(),
          problem);
  }
}

template <typename T> void batch_norms() {
  std::vector<Sizes> all = {{2, 3, 1},   {17, 5, 1}, {3, 4, 49},       {2, 2, 1023},
                            {1, 3, 400}, {5, 1, 1},  {3, 2, 144, true}};
  if (!emulated())
    for (Sizes sizes : {Sizes{512, 130, 1}, {16, 67, 784}, {7, 5, 12321}, {32, 64, 256, true}})
      all.push_back(sizes);
  for (const Sizes &sizes : all) {
    known<T>(sizes);
    training<T>(sizes);
    gradients<T>(sizes);
  }
}

void test() {
  batch_norms<tritonc::half>();
  batch_norms<tritonc::bfloat16>();
  batch_norms<float>();
}

const KernelTest batch_norm("batch_norm", test);

} // namespace
