// Test data for row-wise softmax and cross-entropy, and their gradients. See test_kernels.h.
//
// Sums of exponentials depend on their order, unless the exponentials are 0 and 1. So some elements
// of a row equal its maximum, and the others are far below.

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>
#include <cmath>

namespace tritonc::test {
namespace {

constexpr int rows = 3;
constexpr double far_below = -4096;

// Lengths: less than a tile, one tile, several tiles.
std::vector<int> lengths(const Variant &variant) {
  int size = variant.number("SIZE");
  return {1, 12, size, 2 * size + 9};
}

template <typename Fill> Run run_of_rows(int n, Fill fill, int count = rows) {
  Run run;
  run.text = "M=" + std::to_string(count) + " N=" + std::to_string(n);
  run.launch.grid = {count, 1, 1};
  fill(run);
  return run;
}

// Fills a row of x: element i is `top` if is_top[i], else far below.
void fill_row(Run &run, const Matrix &x, int row, const std::vector<bool> &is_top, double top) {
  for (size_t i = 0; i < is_top.size(); i++)
    run.memory[x.buffer].elements[x.at(row, int64_t(i))] =
        Element::of_number(is_top[i] ? top : far_below);
}

std::vector<bool> some_of(int count, int n, std::mt19937 &random) {
  std::vector<bool> chosen(size_t(n), false);
  std::fill(chosen.begin(), chosen.begin() + count, true);
  std::shuffle(chosen.begin(), chosen.end(), random);
  return chosen;
}

std::vector<Run> softmax_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Numbers numbers = {variant.type()};
      Matrix y = add_matrix(run.memory, "y", numbers, rows, n, n + 3, &random);
      Matrix dy = add_matrix(run.memory, "dy", numbers, rows, n, n, &random);
      Matrix dx = add_matrix(run.memory, "dx", numbers, rows, n, n + 1, nullptr);
      run.launch.arguments = {Element::pointer(y.buffer),
                              Element::pointer(dy.buffer),
                              Element::pointer(dx.buffer),
                              integer(rows),
                              integer(n),
                              integer(y.ld),
                              integer(dy.ld),
                              integer(dx.ld)};
      run.check = [=, elem = variant.type()](const Memory &memory) {
        return check_matrix(memory, dx, [&](int64_t row, int64_t column) {
          double sum = 0;
          for (int i = 0; i < n; i++)
            sum += value_at(memory, y, row, i) * value_at(memory, dy, row, i);
          return rounded(elem, value_at(memory, y, row, column) *
                                   (value_at(memory, dy, row, column) - sum));
        });
      };
    }));
  return runs;
}

// The label of a row: the first element, the last element, or an ignored label.
int label_of(int64_t row, int n) { return row == 0 ? 0 : row == 1 ? n - 1 : n % 2 ? n : -100; }

int add_labels(Run &run, int n) {
  std::vector<double> labels;
  for (int row = 0; row < rows; row++)
    labels.push_back(label_of(row, n));
  return run.memory.add("labels", Elem::i32, labels);
}

std::vector<Run> cross_entropies(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, n + 3, nullptr);
      int labels = add_labels(run, n);
      Matrix loss = add_matrix(run.memory, "loss", {Elem::f32}, 1, rows, rows, nullptr);
      Matrix log_sums = add_matrix(run.memory, "log_sums", {Elem::f32}, 1, rows, rows, nullptr);
      // The logarithms of 1, 2, and 4 are the same for every implementation.
      auto count_in = [n](int64_t row) { return n == 1 ? 1 : 1 << row; };
      for (int row = 0; row < rows; row++)
        fill_row(run, x, row, some_of(count_in(row), n, random), 8 * row);
      run.launch.arguments = {Element::pointer(x.buffer),
                              Element::pointer(labels),
                              Element::pointer(loss.buffer),
                              Element::pointer(log_sums.buffer),
                              integer(rows),
                              integer(n),
                              integer(x.ld)};
      run.check = [=](const Memory &memory) {
        auto log_sum = [&](int64_t row) {
          return rounded(Elem::f32,
                         double(8 * row) + rounded(Elem::f32, std::log(double(count_in(row)))));
        };
        auto loss_of = [&](int64_t, int64_t row) {
          int label = label_of(row, n);
          bool counts = label >= 0 && label < n;
          return counts ? rounded(Elem::f32, log_sum(row) - value_at(memory, x, row, label)) : 0;
        };
        return check_matrix(memory, loss, loss_of) +
               check_matrix(memory, log_sums, [&](int64_t, int64_t row) { return log_sum(row); });
      };
    }));
  return runs;
}

std::vector<Run> cross_entropy_gradients(const Variant &variant, std::mt19937 &random,
                                         const Steps &) {
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, n + 3, nullptr);
      int labels = add_labels(run, n);
      std::vector<double> tops = {-8, 0, 16}, gradients = {3, -2, 5};
      int log_sums = run.memory.add("log_sums", Elem::f32, tops);
      int dloss = run.memory.add("dloss", Elem::f32, gradients);
      Matrix dx = add_matrix(run.memory, "dx", {variant.type()}, rows, n, n + 1, nullptr);
      for (int row = 0; row < rows; row++)
        fill_row(run, x, row, some_of((n + 1) / 2, n, random), tops[size_t(row)]);
      run.launch.arguments = {Element::pointer(x.buffer),
                              Element::pointer(labels),
                              Element::pointer(log_sums),
                              Element::pointer(dloss),
                              Element::pointer(dx.buffer),
                              integer(rows),
                              integer(n),
                              integer(x.ld),
                              integer(dx.ld)};
      run.check = [=](const Memory &memory) {
        return check_matrix(memory, dx, [&](int64_t row, int64_t column) {
          int label = label_of(row, n);
          if (label < 0 || label >= n)
            return 0.0;
          double probability = value_at(memory, x, row, column) == far_below ? 0 : 1;
          return (probability - (column == label ? 1 : 0)) * gradients[size_t(row)];
        });
      };
    }));
  return runs;
}

} // namespace

std::vector<TestKernel> softmaxes_and_losses() {
  return {
      {"kernels/cross_entropy.tc", false, cross_entropies, {}},
      {"kernels/cross_entropy_backward.tc", false, cross_entropy_gradients, {}},
      {"kernels/softmax_backward.tc", false, softmax_gradients, {}},
  };
}

} // namespace tritonc::test
