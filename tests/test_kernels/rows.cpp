// Test data for row-wise softmax (masked, its logarithm) and cross-entropy, and their gradients. See test_kernels.h.
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
  std::vector<int> result = {1, 12, size, 2 * size + 9};
  add_unrolled_lengths(result, size, 3);
  return result;
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

// The number of elements of a row that are its maximum. The logarithms of 1, 2, and 4 are the same
// for every implementation.
int count_of(int64_t row, int n) { return n == 1 ? 1 : 1 << row; }

std::vector<Run> log_softmaxes(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), nullptr);
      Matrix y = add_matrix(run.memory, "y", {variant.type()}, rows, n, distance(n, 1), nullptr);
      for (int row = 0; row < rows; row++)
        fill_row(run, x, row, some_of(count_of(row, n), n, random), 8 * row);
      run.launch.arguments = {Element::pointer(x.buffer),
                              Element::pointer(y.buffer),
                              integer(rows),
                              integer(n),
                              integer(x.ld),
                              integer(y.ld)};
      run.check = [=, elem = variant.type()](const Memory &memory) {
        return check_matrix(memory, y, [&](int64_t row, int64_t column) {
          double log_sum = rounded(Elem::f32, std::log(double(count_of(row, n))));
          double above = value_at(memory, x, row, column) - double(8 * row);
          return rounded(elem, rounded(Elem::f32, above - log_sum));
        });
      };
    }));
  return runs;
}

// Two layers of K x Q elements. Columns are like the rows above.
std::vector<Run> inner_softmaxes(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int p_count = 2;
  int tq = variant.number("TQ"), tk = variant.number("SIZE") / tq;
  std::vector<Run> runs;
  for (auto [k, q] : {std::pair(1, 3), std::pair(12, tq), std::pair(2 * tk + 5, tq + 3)}) {
    Run run;
    run.text = "K=" + std::to_string(k) + " Q=" + std::to_string(q);
    int64_t xk = q + 2, yk = q + 1;
    // The layers follow each other.
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, p_count * k, q, xk, nullptr);
    Matrix y = add_matrix(run.memory, "y", {variant.type()}, p_count * k, q, yk, nullptr);
    for (int p = 0; p < p_count; p++)
      for (int column = 0; column < q; column++) {
        std::vector<bool> is_top = some_of(count_of(column % 3, k), k, random);
        for (int row = 0; row < k; row++)
          run.memory[x.buffer].elements[x.at(p * k + row, column)] =
              Element::of_number(is_top[size_t(row)] ? 8 * (column % 3) : far_below);
      }
    run.launch.grid = {(q + tq - 1) / tq, p_count, 1};
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(y.buffer)};
    for (int64_t number : {int64_t(p_count), int64_t(k), int64_t(q), k * xk, xk, k * yk, yk})
      run.launch.arguments.push_back(integer(number));
    run.check = [=, size = k](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t column) {
        bool is_top = value_at(memory, x, row, column) > far_below;
        return is_top ? 1.0 / count_of(column % 3, size) : 0;
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// A batch has two rows, and so has its mask. Row 1 hides elements that equal the maximum. A causal mask instead hides the
// last element of rows 0 and 2, which equals the maximum.
std::vector<Run> masked_softmaxes(const Variant &variant, std::mt19937 &, const Steps &) {
  constexpr int mask_rows = 2;
  std::vector<Run> runs;
  bool keeps = variant["MASK_TYPE"] == "uint8", is_causal = variant["MASKED"] == "value";
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), nullptr);
      Numbers of_mask = {keeps ? Elem::i8 : variant.type(), keeps};
      Matrix mask = {};
      if (!is_causal)
        mask = add_matrix(run.memory, "mask", of_mask, rows, n, distance(n, 2), nullptr);
      Matrix y = add_matrix(run.memory, "y", {variant.type()}, rows, n, distance(n, 1), nullptr);
      auto is_seen = [=](int64_t row, int64_t i) { // row 1 of the mask keeps every second column
        int64_t query = row % mask_rows;
        return is_causal ? i <= query + n - mask_rows : query == 0 || i % 2 == 0;
      };
      for (int row = 0; row < rows && !is_causal; row++)
        for (int i = 0; i < n; i++)
          run.memory[mask.buffer].elements[mask.at(row, i)] =
              keeps ? integer(is_seen(row, i))
                    : Element::of_number(is_seen(row, i) ? 2 : -INFINITY);
      for (int row = 0; row < rows; row++) {
        const bool hides = is_causal && row % mask_rows == 0; // the last element
        std::vector<bool> is_top(size_t(n), false);
        is_top.back() = hides;
        for (int i = 0; i < count_of(row, n); i++)
          if (int place = row % 2 ? i : n - 1 - i - hides; place >= 0)
            is_top[size_t(place)] = true;
        fill_row(run, x, row, is_top, 8);
      }
      run.launch.arguments = {Element::pointer(x.buffer),
                              is_causal ? Element::of_integer(0) : Element::pointer(mask.buffer),
                              Element::pointer(y.buffer),
                              Element::of_number(0.5),
                              integer(rows),
                              integer(n),
                              integer(mask_rows),
                              integer(mask_rows),
                              integer(x.ld),
                              integer(mask.ld),
                              integer(mask_rows * mask.ld),
                              integer(y.ld)};
      run.check = [=](const Memory &memory) {
        return check_matrix(memory, y, [&](int64_t row, int64_t column) {
          bool is_top = value_at(memory, x, row, column) == 8;
          int count = row % 2 && !is_causal ? 1 : count_of(row, n); // row 1 has one seen element
          return is_seen(row, column) && is_top ? 1.0 / count : 0;
        });
      };
    }));
  return runs;
}

std::vector<Run> softmax_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  std::vector<int> all = lengths(variant);
  all.push_back(13);
  for (int n : all)
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Numbers numbers = {variant.type()};
      Matrix y = add_matrix(run.memory, "y", numbers, rows, n, distance(n, 3), &random);
      Matrix dy = add_matrix(run.memory, "dy", numbers, rows, n, n, &random);
      Matrix dx = add_matrix(run.memory, "dx", numbers, rows, n, distance(n, 1), nullptr);
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
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), nullptr);
      int labels = add_labels(run, n);
      Matrix loss = add_matrix(run.memory, "loss", {Elem::f32}, 1, rows, rows, nullptr);
      Matrix log_sums = add_matrix(run.memory, "log_sums", {Elem::f32}, 1, rows, rows, nullptr);
      for (int row = 0; row < rows; row++)
        fill_row(run, x, row, some_of(count_of(row, n), n, random), 8 * row);
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
                         double(8 * row) + rounded(Elem::f32, std::log(double(count_of(row, n)))));
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
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), nullptr);
      int labels = add_labels(run, n);
      std::vector<double> tops = {-8, 0, 16}, gradients = {3, -2, 5};
      int log_sums = run.memory.add("log_sums", Elem::f32, tops);
      int dloss = run.memory.add("dloss", Elem::f32, gradients);
      Matrix dx = add_matrix(run.memory, "dx", {variant.type()}, rows, n, distance(n, 1), nullptr);
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

// Losses and gradients. With one, two and four elements that equal the maximum, the probabilities
// are powers of two.
std::vector<Run> losses_and_gradients(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr double factor = 0.5;
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), nullptr);
      int labels = add_labels(run, n);
      Matrix loss = add_matrix(run.memory, "loss", {Elem::f32}, 1, rows, rows, nullptr);
      Matrix dx = add_matrix(run.memory, "dx", {variant.type()}, rows, n, distance(n, 1), nullptr);
      for (int row = 0; row < rows; row++)
        fill_row(run, x, row, some_of(count_of(row, n), n, random), 8 * row);
      run.launch.arguments = {Element::pointer(x.buffer),
                              Element::pointer(labels),
                              Element::pointer(loss.buffer),
                              Element::pointer(dx.buffer),
                              Element::of_number(factor),
                              integer(rows),
                              integer(n),
                              integer(x.ld),
                              integer(dx.ld)};
      run.check = [=](const Memory &memory) {
        auto counts = [&](int64_t row) { return label_of(row, n) >= 0 && label_of(row, n) < n; };
        auto loss_of = [&](int64_t, int64_t row) {
          double log_count = rounded(Elem::f32, std::log(double(count_of(row, n))));
          double log_sum = rounded(Elem::f32, double(8 * row) + log_count);
          return counts(row)
                     ? rounded(Elem::f32, log_sum - value_at(memory, x, row, label_of(row, n)))
                     : 0;
        };
        auto gradient_of = [&](int64_t row, int64_t column) {
          bool is_top = value_at(memory, x, row, column) != far_below;
          double probability = is_top ? 1.0 / count_of(row, n) : 0;
          return counts(row) ? factor * (probability - (column == label_of(row, n))) : 0;
        };
        return check_matrix(memory, loss, loss_of) + check_matrix(memory, dx, gradient_of);
      };
    }));
  return runs;
}

// How often the sum of the absolute values of a row must be halved until it is at most 4. Halves of
// small integers are exact, and so are their sums.
int halvings(const Memory &memory, const Matrix &x, int64_t row) {
  double sum = 0;
  for (int64_t column = 0; column < x.columns; column++)
    sum += std::abs(value_at(memory, x, row, column));
  int count = 0;
  for (; sum > 4; sum /= 2)
    count++;
  return count;
}

std::vector<Run> halved_rows(const Variant &variant, std::mt19937 &random, const Steps &) {
  const bool scales = variant.number("SCALES") == 1;
  std::vector<Run> runs;
  for (int n : lengths(variant))
    runs.push_back(run_of_rows(n, [&](Run &run) {
      Matrix x = add_matrix(run.memory, "x", {Elem::f32}, rows, n, distance(n, 3), &random);
      Matrix y =
          add_matrix(run.memory, "y", {Elem::f32}, rows, scales ? n : 0, distance(n, 1), nullptr);
      Matrix counts = add_matrix(run.memory, "counts", {Elem::i32}, 1, rows, rows, nullptr);
      run.launch.arguments = {Element::pointer(x.buffer),
                              Element::pointer(y.buffer),
                              Element::pointer(counts.buffer),
                              integer(rows),
                              integer(n),
                              integer(x.ld),
                              integer(y.ld)};
      run.check = [=](const Memory &memory) {
        auto count_of = [&](int64_t, int64_t row) { return halvings(memory, x, row); };
        auto scaled = [&](int64_t row, int64_t column) {
          return std::ldexp(value_at(memory, x, row, column), -halvings(memory, x, row));
        };
        return check_matrix(memory, counts, count_of) + check_matrix(memory, y, scaled);
      };
    }));
  return runs;
}

} // namespace

std::vector<TestKernel> softmaxes_and_losses() {
  return {
      {"kernels/cross_entropy.tc", false, cross_entropies, {}},
      {"kernels/cross_entropy_backward.tc", false, cross_entropy_gradients, {}},
      {"kernels/cross_entropy_gradient.tc", false, losses_and_gradients, {}},
      {"kernels/log_softmax.tc", false, log_softmaxes, {}},
      {"kernels/softmax_inner.tc", false, inner_softmaxes, {}},
      {"kernels/softmax_masked.tc", false, masked_softmaxes, {}},
      {"kernels/softmax_backward.tc", false, softmax_gradients, {}},
      {"tests/test_kernels/halved_rows.tc", false, halved_rows, {}},
  };
}

} // namespace tritonc::test
