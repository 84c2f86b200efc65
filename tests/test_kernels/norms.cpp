// Test data for normalizations over rows and over batches, and their gradients. See test_kernels.h.
//
// Half of the elements are 1 above the mean, the others 1 below. So with epsilon = 3 the divisor is
// 2. Gradients are small integers whose means are integers, too. So all results are exact in any
// order.

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>

namespace tritonc::test {
namespace {

constexpr int row_count = 3;
constexpr double epsilon = 3;

// Lengths: less than a tile, one tile, several tiles; all even.
std::vector<int> lengths(const Variant &variant) {
  int size = variant.number("SIZE");
  std::vector<int> result = {2, 12, size, 2 * size + 10};
  add_unrolled_lengths(result, size, 4);
  return result;
}

// Equal numbers of 1 and -1, shuffled.
std::vector<int> signs(int count, std::mt19937 &random) {
  std::vector<int> result;
  for (int i = 0; i < count; i++)
    result.push_back(i % 2 ? 1 : -1);
  std::shuffle(result.begin(), result.end(), random);
  return result;
}

// Values with mean `mean`, whose mean after multiplication by `signs` is `slope`.
std::vector<double> gradients(const std::vector<int> &signs, double mean, double slope,
                              std::mt19937 &random) {
  std::vector<double> result;
  for (int sign : signs)
    result.push_back(mean + sign * slope);
  std::vector<size_t> waiting[2]; // index without a partner of the same sign, per sign
  for (size_t i = 0; i < result.size(); i++) {
    std::vector<size_t> &same = waiting[signs[i] > 0];
    if (same.empty()) {
      same.push_back(i);
      continue;
    }
    double change = draw(random);
    result[i] += change;
    result[same.back()] -= change;
    same.pop_back();
  }
  return result;
}

void set(Run &run, const Matrix &matrix, int64_t row, int64_t column, double value) {
  run.memory[matrix.buffer].elements[matrix.at(row, column)] = Element::of_number(value);
}

Matrix add_vector(Run &run, const char *name, Elem elem, int64_t count, std::mt19937 *random) {
  return add_matrix(run.memory, name, {elem}, 1, count, count, random);
}

// A gain vector of powers of two, by which gradients can be divided exactly.
Matrix add_gain(Run &run, Elem elem, int64_t count, std::mt19937 &random) {
  Matrix gain = add_vector(run, "gain", elem, count, nullptr);
  for (int64_t i = 0; i < count; i++)
    set(run, gain, 0, i, std::vector<double>{1, 2, -1, 0.5}[random() % 4]);
  return gain;
}

template <typename Fill> std::vector<Run> runs_by_row(const Variant &variant, Fill fill) {
  std::vector<Run> runs;
  for (int n : lengths(variant)) {
    Run run;
    run.text = "N=" + std::to_string(n);
    run.launch.grid = {row_count, 1, 1};
    fill(run, n);
    runs.push_back(std::move(run));
  }
  return runs;
}

// All elements are 1 or -1, so the mean of their squares is 1.
std::vector<Run> rms_norms(const Variant &variant, std::mt19937 &random, const Steps &) {
  return runs_by_row(variant, [&](Run &run, int n) {
    Numbers numbers = {variant.type()};
    Matrix x = add_matrix(run.memory, "x", numbers, row_count, n, distance(n, 3), nullptr);
    Matrix gain = add_vector(run, "gain", variant.type(), n, &random);
    Matrix y = add_matrix(run.memory, "y", numbers, row_count, n, distance(n, 1), nullptr);
    for (int row = 0; row < row_count; row++)
      for (int i = 0; i < n; i++)
        set(run, x, row, i, random() % 2 ? 1 : -1);
    run.launch.arguments = {Element::pointer(x.buffer),
                            Element::pointer(gain.buffer),
                            Element::pointer(y.buffer),
                            Element::of_number(epsilon),
                            integer(row_count),
                            integer(n),
                            integer(x.ld),
                            integer(y.ld)};
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t i) {
        return value_at(memory, x, row, i) * 0.5 * value_at(memory, gain, 0, i);
      });
    };
  });
}

// Norms of x + residual, whose elements are 1 above or below the mean of a row; 0 for RMS norm.
std::vector<Run> sum_norms(const Variant &variant, std::mt19937 &random, bool centered) {
  return runs_by_row(variant, [&](Run &run, int n) {
    Numbers numbers = {variant.type()};
    Matrix x = add_matrix(run.memory, "x", numbers, row_count, n, distance(n, 3), &random);
    Matrix residual = add_matrix(run.memory, "residual", numbers, row_count, n, n, nullptr);
    std::vector<Matrix> pointers = {x, residual};
    pointers.push_back(add_vector(run, "gain", variant.type(), n, &random));
    if (centered)
      pointers.push_back(add_vector(run, "bias", variant.type(), n, &random));
    Matrix sum = add_matrix(run.memory, "sum", numbers, row_count, n, distance(n, 2), nullptr);
    Matrix y = add_matrix(run.memory, "y", numbers, row_count, n, distance(n, 1), nullptr);
    Matrix gain = pointers[2], bias = pointers.back();
    pointers.insert(pointers.end(), {sum, y});
    auto mean_of = [centered](int64_t row) { return centered ? double(5 * row) : 0; };
    for (int row = 0; row < row_count; row++) {
      std::vector<int> above = signs(n, random);
      for (int i = 0; i < n; i++)
        set(run, residual, row, i,
            mean_of(row) + above[size_t(i)] - value_at(run.memory, x, row, i));
    }
    for (const Matrix &matrix : pointers)
      run.launch.arguments.push_back(Element::pointer(matrix.buffer));
    run.launch.arguments.push_back(Element::of_number(epsilon));
    for (int64_t number : {int64_t(row_count), int64_t(n), x.ld, residual.ld, sum.ld, y.ld})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      auto sum_of = [&](int64_t row, int64_t i) {
        return value_at(memory, x, row, i) + value_at(memory, residual, row, i);
      };
      return check_matrix(memory, sum, sum_of) +
             check_matrix(memory, y, [&](int64_t row, int64_t i) {
               return (sum_of(row, i) - mean_of(row)) * 0.5 * value_at(memory, gain, 0, i) +
                      (centered ? value_at(memory, bias, 0, i) : 0);
             });
    };
  });
}

std::vector<Run> layer_norms_of_sums(const Variant &variant, std::mt19937 &random, const Steps &) {
  return sum_norms(variant, random, true);
}

std::vector<Run> rms_norms_of_sums(const Variant &variant, std::mt19937 &random, const Steps &) {
  return sum_norms(variant, random, false);
}

// Gradients of layer_norm if `centered`, else of rms_norm, which subtracts no mean.
std::vector<Run> row_gradients(const Variant &variant, std::mt19937 &random, bool centered) {
  return runs_by_row(variant, [&](Run &run, int n) {
    Numbers numbers = {variant.type()};
    Matrix x = add_matrix(run.memory, "x", numbers, row_count, n, distance(n, 3), nullptr);
    Matrix gain = add_gain(run, variant.type(), n, random);
    Matrix dy = add_matrix(run.memory, "dy", numbers, row_count, n, n, nullptr);
    Matrix dx = add_matrix(run.memory, "dx", numbers, row_count, n, distance(n, 1), nullptr);
    Matrix mean, factor;
    if (centered)
      mean = add_vector(run, "mean", Elem::f32, row_count, nullptr);
    factor = add_vector(run, "factor", Elem::f32, row_count, nullptr);
    auto mean_of = [centered](int64_t row) { return centered ? double(5 * row) : 0; };
    auto gradient_mean = [](int64_t row) { return double(row - 1); };
    auto gradient_slope = [](int64_t row) { return double(4 * row + 4); };
    for (int row = 0; row < row_count; row++) {
      std::vector<int> above = signs(n, random);
      std::vector<double> all = gradients(above, gradient_mean(row), gradient_slope(row), random);
      for (int i = 0; i < n; i++) {
        set(run, x, row, i, mean_of(row) + above[size_t(i)]);
        set(run, dy, row, i, all[size_t(i)] / run.memory[gain.buffer].elements[size_t(i)].number);
      }
    }
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(gain.buffer),
                            Element::pointer(dy.buffer), Element::pointer(dx.buffer)};
    if (centered)
      run.launch.arguments.push_back(Element::pointer(mean.buffer));
    for (const Element &argument :
         {Element::pointer(factor.buffer), Element::of_number(epsilon), integer(row_count),
          integer(n), integer(x.ld), integer(dy.ld), integer(dx.ld)})
      run.launch.arguments.push_back(argument);
    run.check = [=, elem = variant.type()](const Memory &memory) {
      std::string wrong = check_matrix(memory, dx, [&](int64_t row, int64_t i) {
        double gradient = value_at(memory, gain, 0, i) * value_at(memory, dy, row, i);
        double above = value_at(memory, x, row, i) - mean_of(row);
        double whole = gradient - (centered ? gradient_mean(row) : 0);
        return rounded(elem, 0.5 * (whole - above * gradient_slope(row) / 4));
      });
      if (centered)
        wrong += check_matrix(memory, mean, [&](int64_t, int64_t row) { return mean_of(row); });
      return wrong + check_matrix(memory, factor, [](int64_t, int64_t) { return 0.5; });
    };
  });
}

std::vector<Run> layer_norm_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  return row_gradients(variant, random, true);
}

std::vector<Run> rms_norm_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  return row_gradients(variant, random, false);
}

// Sums over rows: no rows, part of a tile, several tiles; with a partial last tile of columns.
std::vector<Run> column_gradients(const Variant &variant, std::mt19937 &random, bool centered) {
  int tm = variant.number("TM"), tn = variant.number("TN");
  std::vector<Run> runs;
  for (auto [m, n] : {std::pair(0, 3), {5, tn}, {2 * tm + 3, 2 * tn - 5}}) {
    Run run;
    run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
    Numbers numbers = {variant.type()};
    Matrix x = add_matrix(run.memory, "x", numbers, m, n, distance(n, 3), &random);
    Matrix dy = add_matrix(run.memory, "dy", numbers, m, n, distance(n, 1), &random);
    Matrix mean, factor, dgain, dbias;
    if (centered)
      mean = add_vector(run, "mean", Elem::f32, m, &random);
    factor = add_vector(run, "factor", Elem::f32, m, &random);
    dgain = add_vector(run, "dgain", variant.type(), n, nullptr);
    if (centered)
      dbias = add_vector(run, "dbias", variant.type(), n, nullptr);
    run.launch.grid = {(n + tn - 1) / tn, 1, 1};
    std::vector<Matrix> pointers = centered ? std::vector{x, dy, mean, factor, dgain, dbias}
                                            : std::vector{x, dy, factor, dgain};
    for (const Matrix &matrix : pointers)
      run.launch.arguments.push_back(Element::pointer(matrix.buffer));
    for (int64_t size : {int64_t(m), int64_t(n), x.ld, dy.ld})
      run.launch.arguments.push_back(integer(size));
    run.check = [=, m = m, elem = variant.type()](const Memory &memory) {
      auto gain_of = [&](int64_t, int64_t i) {
        double sum = 0;
        for (int row = 0; row < m; row++)
          sum += value_at(memory, dy, row, i) *
                 (value_at(memory, x, row, i) - (centered ? value_at(memory, mean, 0, row) : 0)) *
                 value_at(memory, factor, 0, row);
        return rounded(elem, sum);
      };
      auto bias_of = [&](int64_t, int64_t i) {
        double sum = 0;
        for (int row = 0; row < m; row++)
          sum += value_at(memory, dy, row, i);
        return rounded(elem, sum);
      };
      return check_matrix(memory, dgain, gain_of) +
             (centered ? check_matrix(memory, dbias, bias_of) : "");
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> layer_norm_weights(const Variant &variant, std::mt19937 &random, const Steps &) {
  return column_gradients(variant, random, true);
}

std::vector<Run> rms_norm_weights(const Variant &variant, std::mt19937 &random, const Steps &) {
  return column_gradients(variant, random, false);
}

// ---- over a batch ----

// n images with `channels` channels of `pixels` pixels each. A matrix row has the pixels of one
// channel of one image.
struct Images {
  int n, channels, pixels;

  int count() const { return n * pixels; }
  std::string text() const {
    return "N=" + std::to_string(n) + " C=" + std::to_string(channels) +
           " S=" + std::to_string(pixels);
  }
  Matrix add(Run &run, const char *name, Elem elem, std::mt19937 *random) const {
    return add_matrix(run.memory, name, {elem}, n * channels, pixels, pixels, random);
  }
  int64_t row(int channel, int i) const { return int64_t(i / pixels) * channels + channel; }
  int64_t column(int i) const { return i % pixels; }
  int channel(int64_t row) const { return int(row % channels); }
};

// Images of one pixel (matrices), small images, and images larger than a tile. The last batch has
// `images` images. A tile of one pixel is only for matrices, of which the last has more than
// `channels` channels.
std::vector<Images> batches(const Variant &variant, int images, int channels) {
  int pixels = variant.number("TS");
  if (pixels == 1)
    return {{2, 3, 1}, {6, channels, 1}, {images, channels + 3, 1}};
  return {{2, 3, 1}, {6, 2, 7}, {2, 2, pixels / 2 + 1}, {images, 2, pixels + 7}};
}

// The channels of a program of batch_norm_training and its gradients: several of matrices.
int channels_of_program(const Variant &variant) { return variant.number("TS") == 1 ? 32 : 1; }

// More images than a tile has, and an even number.
std::vector<Images> batches_in_training(const Variant &variant) {
  const int channels = channels_of_program(variant);
  const int of_tile = variant.number("SIZE") / variant.number("TS") / channels;
  std::vector<Images> result = batches(variant, of_tile + 2, channels);
  for (int tiles : {3, 5, 7})
    if (variant.number("SIZE") <= 1024 && of_tile % 2 == 0)
      result.push_back({tiles * of_tile, channels, 1});
  return result;
}

double center_of(int channel) { return 5 * channel - 3; }

std::vector<Run> batch_norms(const Variant &variant, std::mt19937 &random, const Steps &) {
  const int pixels = variant.number("TS"), of_tile = variant.number("SIZE") / pixels;
  std::vector<Run> runs;
  for (const Images &images : batches(variant, 2, 1)) {
    Run run;
    run.text = images.text();
    int channels = images.channels;
    Matrix x = images.add(run, "x", variant.type(), &random);
    Matrix mean = add_vector(run, "mean", Elem::f32, channels, &random);
    int variance = run.memory.add("variance", Elem::f32, {1, 13, 61, 253});
    Matrix gain = add_vector(run, "gain", Elem::f32, channels, &random);
    Matrix bias = add_vector(run, "bias", Elem::f32, channels, &random);
    Matrix y = images.add(run, "y", variant.type(), nullptr);
    run.launch.grid = {(images.pixels + pixels - 1) / pixels, (channels + of_tile - 1) / of_tile,
                       images.n};
    for (int buffer : {x.buffer, mean.buffer, variance, gain.buffer, bias.buffer, y.buffer})
      run.launch.arguments.push_back(Element::pointer(buffer));
    run.launch.arguments.push_back(Element::of_number(epsilon));
    for (int number : {images.n, channels, images.pixels})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t column) {
        int channel = images.channel(row);
        double factor = 0.5 / (1 << channel); // 1 / square root of 4, 16, 64, 256
        return (value_at(memory, x, row, column) - value_at(memory, mean, 0, channel)) * factor *
                   value_at(memory, gain, 0, channel) +
               value_at(memory, bias, 0, channel);
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> batch_norms_in_training(const Variant &variant, std::mt19937 &random,
                                         const Steps &) {
  std::vector<Run> runs;
  for (const Images &images : batches_in_training(variant)) {
    Run run;
    run.text = images.text();
    int channels = images.channels, count = images.count();
    Matrix x = images.add(run, "x", variant.type(), nullptr);
    for (int channel = 0; channel < channels; channel++) {
      std::vector<int> above = signs(count, random);
      for (int i = 0; i < count; i++)
        set(run, x, images.row(channel, i), images.column(i),
            center_of(channel) + above[size_t(i)]);
    }
    Matrix gain = add_vector(run, "gain", Elem::f32, channels, &random);
    Matrix bias = add_vector(run, "bias", Elem::f32, channels, &random);
    Matrix y = images.add(run, "y", variant.type(), nullptr);
    Matrix mean = add_vector(run, "mean", Elem::f32, channels, nullptr);
    Matrix factor = add_vector(run, "factor", Elem::f32, channels, nullptr);
    Matrix running_mean = add_vector(run, "running_mean", Elem::f32, channels, &random);
    Matrix running_variance = add_vector(run, "running_variance", Elem::f32, channels, &random);
    const int together = channels_of_program(variant);
    run.launch.grid = {(channels + together - 1) / together, 1, 1};
    for (const Matrix &matrix : {x, gain, bias, y, mean, factor, running_mean, running_variance})
      run.launch.arguments.push_back(Element::pointer(matrix.buffer));
    double momentum = 0.25;
    run.launch.arguments.push_back(Element::of_number(momentum));
    run.launch.arguments.push_back(Element::of_number(epsilon));
    for (int number : {images.n, channels, images.pixels})
      run.launch.arguments.push_back(integer(number));
    Memory before = run.memory;
    run.check = [=](const Memory &memory) {
      auto result = [&](int64_t row, int64_t column) {
        int channel = images.channel(row);
        return (value_at(memory, x, row, column) - center_of(channel)) * 0.5 *
                   value_at(memory, gain, 0, channel) +
               value_at(memory, bias, 0, channel);
      };
      auto of_mean = [](int64_t, int64_t channel) { return center_of(int(channel)); };
      auto of_running_mean = [&](int64_t, int64_t channel) {
        return 0.75 * value_at(before, running_mean, 0, channel) +
               momentum * center_of(int(channel));
      };
      auto of_running_variance = [&](int64_t, int64_t channel) {
        double of_population = rounded(Elem::f32, double(count) / (count - 1));
        return rounded(Elem::f32, 0.75 * value_at(before, running_variance, 0, channel) +
                                      momentum * of_population);
      };
      return check_matrix(memory, y, result) + check_matrix(memory, mean, of_mean) +
             check_matrix(memory, factor, [](int64_t, int64_t) { return 0.5; }) +
             check_matrix(memory, running_mean, of_running_mean) +
             check_matrix(memory, running_variance, of_running_variance);
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> batch_norm_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  for (const Images &images : batches_in_training(variant)) {
    Run run;
    run.text = images.text();
    int channels = images.channels, count = images.count();
    Matrix x = images.add(run, "x", variant.type(), nullptr);
    Matrix gain = add_vector(run, "gain", Elem::f32, channels, &random);
    Matrix mean = add_vector(run, "mean", Elem::f32, channels, nullptr);
    Matrix factor = add_vector(run, "factor", Elem::f32, channels, nullptr);
    Matrix dy = images.add(run, "dy", variant.type(), nullptr);
    // Small: bfloat16 holds all values and results exactly.
    auto gradient_mean = [](int channel) { return double(channel % 8 - 1); };
    auto gradient_slope = [](int channel) { return double(4 * (channel % 8) + 4); };
    for (int channel = 0; channel < channels; channel++) {
      set(run, mean, 0, channel, center_of(channel));
      set(run, factor, 0, channel, 0.5);
      std::vector<int> above = signs(count, random);
      std::vector<double> all =
          gradients(above, gradient_mean(channel), gradient_slope(channel), random);
      for (int i = 0; i < count; i++) {
        int64_t row = images.row(channel, i), column = images.column(i);
        set(run, x, row, column, center_of(channel) + above[size_t(i)]);
        set(run, dy, row, column, all[size_t(i)]);
      }
    }
    Matrix dx = images.add(run, "dx", variant.type(), nullptr);
    Matrix dgain = add_vector(run, "dgain", Elem::f32, channels, nullptr);
    Matrix dbias = add_vector(run, "dbias", Elem::f32, channels, nullptr);
    const int together = channels_of_program(variant);
    run.launch.grid = {(channels + together - 1) / together, 1, 1};
    for (const Matrix &matrix : {x, gain, mean, factor, dy, dx, dgain, dbias})
      run.launch.arguments.push_back(Element::pointer(matrix.buffer));
    for (int number : {images.n, channels, images.pixels})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      auto by_x = [&](int64_t row, int64_t column) {
        int channel = images.channel(row);
        double above = value_at(memory, x, row, column) - center_of(channel);
        double gradient = value_at(memory, dy, row, column) - gradient_mean(channel);
        return value_at(memory, gain, 0, channel) * 0.5 *
               (gradient - above * gradient_slope(channel) / 4);
      };
      auto by_gain = [&](int64_t, int64_t channel) {
        return gradient_slope(int(channel)) * 0.5 * count;
      };
      auto by_bias = [&](int64_t, int64_t channel) { return gradient_mean(int(channel)) * count; };
      return check_matrix(memory, dx, by_x) + check_matrix(memory, dgain, by_gain) +
             check_matrix(memory, dbias, by_bias);
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// Two images of two groups. A group has channels of one pixel, part of a tile, more channels than a
// tile, or channels of more pixels than a tile.
std::vector<Run> group_norms(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int images = 2, groups = 2;
  const int of_row = variant.number("TS"), of_tile = variant.number("SIZE") / of_row;
  std::vector<std::pair<int, int>> shapes = {{2, 1}, {3, 4}, {of_tile + 1, 10}, {4, of_row + 3}};
  for (int tiles : {3, 5, 7})
    if (of_tile * of_row <= 1024)
      shapes.push_back({tiles * of_tile, 2});
  std::vector<Run> runs;
  for (auto [channels, pixels] : shapes) {
    Run run;
    int size = channels * pixels, count = images * groups;
    run.text = "channels=" + std::to_string(channels) + " S=" + std::to_string(pixels);
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, count, size, size, nullptr);
    Matrix gain = add_vector(run, "gain", variant.type(), groups * channels, &random);
    Matrix bias = add_vector(run, "bias", variant.type(), groups * channels, &random);
    Matrix y = add_matrix(run.memory, "y", {variant.type()}, count, size, size, nullptr);
    for (int row = 0; row < count; row++) {
      std::vector<int> above = signs(size, random);
      for (int i = 0; i < size; i++)
        set(run, x, row, i, 5 * row - 3 + above[size_t(i)]);
    }
    run.launch.grid = {count, 1, 1};
    for (const Matrix &matrix : {x, gain, bias, y})
      run.launch.arguments.push_back(Element::pointer(matrix.buffer));
    run.launch.arguments.push_back(Element::of_number(epsilon));
    for (int number : {images, groups, size, pixels})
      run.launch.arguments.push_back(integer(number));
    run.check = [=, channels = channels, pixels = pixels](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t i) {
        int64_t channel = row % groups * channels + i / pixels;
        return (value_at(memory, x, row, i) - double(5 * row - 3)) * 0.5 *
                   value_at(memory, gain, 0, channel) +
               value_at(memory, bias, 0, channel);
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> normalizations() {
  return {
      {"kernels/batch_norm.tc", false, batch_norms, {}},
      {"kernels/batch_norm_backward.tc", false, batch_norm_gradients, {}},
      {"kernels/batch_norm_training.tc", false, batch_norms_in_training, {}},
      {"kernels/layer_norm_backward.tc", false, layer_norm_gradients, {}},
      {"kernels/layer_norm_backward_weights.tc", false, layer_norm_weights, {}},
      {"kernels/add_layer_norm.tc", false, layer_norms_of_sums, {}},
      {"kernels/add_rms_norm.tc", false, rms_norms_of_sums, {}},
      {"kernels/group_norm.tc", false, group_norms, {}},
      {"kernels/rms_norm.tc", false, rms_norms, {}},
      {"kernels/rms_norm_backward.tc", false, rms_norm_gradients, {}},
      {"kernels/rms_norm_backward_weights.tc", false, rms_norm_weights, {}},
  };
}

} // namespace tritonc::test
