// Test data for reductions along an axis, for the largest elements of rows, and for cumulative sums.
// See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>
#include <cmath>

namespace tritonc::test {
namespace {

// Sizes with P = 2: an empty axis; one element; one full tile; partial tiles; a loop that several
// blocks divide.
struct Sizes {
  int64_t q, k;
};

// If the kernel ignores NaN, one in seven elements is NaN, and all elements of the first result.
std::vector<Run> along_an_axis(const Variant &variant, std::mt19937 &random, bool finds_indices) {
  constexpr int64_t p_count = 2;
  bool is_last = variant["ONE"] == "xk";
  std::string finish = variant["FINISH"];
  bool is_mean = finish == "result[:, +] / K", is_norm = finish == "sqrt(result[:, +])",
       is_sum = is_mean || is_norm || finish == "result[:, +]",
       is_min = finish == "result[:, min]" || variant["BEST"] == "min";
  int64_t tq = variant.number("TQ"), tk = 1024 / tq;
  std::vector<Run> runs;
  for (auto [q_count, k_count] :
       {Sizes{1, 0}, Sizes{3, 1}, Sizes{tq, tk}, Sizes{tq + 3, 2 * tk + 5}, Sizes{2, 9 * tk + 3}}) {
    if (is_mean && !k_count)
      continue; // NaN, of any sign
    Run run;
    run.text = "Q=" + std::to_string(q_count) + " K=" + std::to_string(k_count);
    int64_t xk = is_last ? 1 : q_count + 2, xq = is_last ? k_count + 2 : 1;
    int64_t xp = (is_last ? q_count * xq : k_count * xk) + 1, yp = q_count + 1;
    auto at = [=](int64_t p, int64_t q, int64_t k) { return size_t(p * xp + q * xq + k * xk); };
    size_t count = k_count ? at(p_count - 1, q_count - 1, k_count - 1) + 1 : 0;
    int x = run.memory.add_unwritten("X", variant.type(), count);
    int y = run.memory.add_unwritten("Y", variant.type(), size_t(yp + q_count));
    int i = finds_indices ? run.memory.add_unwritten("INDEX", Elem::i32, size_t(yp + q_count)) : -1;
    std::map<size_t, double> results, indices;
    for (int64_t p = 0; p < p_count; p++)
      for (int64_t q = 0; q < q_count; q++) {
        double result = is_sum ? 0 : finds_indices ? std::nan("") : is_min ? INFINITY : -INFINITY;
        int64_t index = -1;
        for (int64_t k = 0; k < k_count; k++) {
          bool is_number = is_sum || (random() % 7 && (p || q));
          double value = is_number ? draw(random) : std::nan("");
          run.memory[x].elements[at(p, q, k)] = Element::of_number(value);
          if (is_sum)
            result += is_norm ? value * value : value;
          else if (is_number && (index < 0 || (is_min ? value < result : value > result))) {
            result = value;
            index = k;
          }
        }
        if (is_mean || is_norm) // the kernel computes in float
          result = rounded(Elem::f32, is_mean ? result / double(k_count) : std::sqrt(result));
        results[size_t(p * yp + q)] = rounded(variant.type(), result);
        indices[size_t(p * yp + q)] = double(index);
      }
    run.launch.grid = {int((q_count + tq - 1) / tq), int(p_count), 1};
    run.launch.arguments = {Element::pointer(x), Element::pointer(y)};
    if (finds_indices)
      run.launch.arguments.push_back(Element::pointer(i));
    for (int64_t number : {p_count, q_count, k_count, xp, xq, xk, yp})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      std::string wrong = check_elements(memory, y, results);
      return finds_indices ? wrong + check_elements(memory, i, indices) : wrong;
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> reduced(const Variant &variant, std::mt19937 &random, const Steps &) {
  return along_an_axis(variant, random, false);
}

std::vector<Run> found(const Variant &variant, std::mt19937 &random, const Steps &) {
  return along_an_axis(variant, random, true);
}

// Half of the elements of a result are 1 above its mean, the others 1 below.
std::vector<Run> means_and_variances(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int64_t p_count = 2;
  bool is_last = variant["ONE"] == "xk";
  const int64_t tq = variant.number("TQ"), tk = variant.number("SIZE") / tq;
  std::vector<Sizes> shapes = {{1, 2}, {tq, tk}, {tq + 3, 2 * tk + 6}};
  for (int64_t tiles : {3, 5, 7})
    if (tk % 2 == 0 && tq * tk <= 1024)
      shapes.push_back({tq, tiles * tk});
  std::vector<Run> runs;
  for (auto [q_count, k_count] : shapes) {
    Run run;
    run.text = "Q=" + std::to_string(q_count) + " K=" + std::to_string(k_count);
    int64_t xk = is_last ? 1 : q_count + 2, xq = is_last ? k_count + 2 : 1;
    int64_t xp = (is_last ? q_count * xq : k_count * xk) + 1, yp = q_count + 1;
    auto at = [=](int64_t p, int64_t q, int64_t k) { return size_t(p * xp + q * xq + k * xk); };
    size_t count = at(p_count - 1, q_count - 1, k_count - 1) + 1;
    int x = run.memory.add_unwritten("X", variant.type(), count);
    int mean = run.memory.add_unwritten("MEAN", Elem::f32, size_t(yp + q_count));
    int variance = run.memory.add_unwritten("VARIANCE", Elem::f32, size_t(yp + q_count));
    std::map<size_t, double> means, variances;
    for (int64_t p = 0; p < p_count; p++)
      for (int64_t q = 0; q < q_count; q++) {
        double center = draw(random) + 8;
        int64_t shift = int64_t(random() % 2);
        for (int64_t k = 0; k < k_count; k++)
          run.memory[x].elements[at(p, q, k)] =
              Element::of_number((k + shift) % 2 ? center + 1 : center - 1);
        means[size_t(p * yp + q)] = center;
        variances[size_t(p * yp + q)] = rounded(Elem::f32, double(k_count) / double(k_count - 1));
      }
    run.launch.grid = {int((q_count + tq - 1) / tq), int(p_count), 1};
    run.launch.arguments = {Element::pointer(x), Element::pointer(mean),
                            Element::pointer(variance)};
    for (int64_t number : {int64_t(1), p_count, q_count, k_count, xp, xq, xk, yp})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      return check_elements(memory, mean, means) + check_elements(memory, variance, variances);
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// With WORDS (cumulative_sum_long): the programs share the rows. Small groups of tiles are tested, too.
std::vector<Run> cumulative_sums(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int rows = 3, max_elements = 40000;
  const int size = variant.number("SIZE");
  const int words = variant["WORDS"].empty() ? 0 : variant.number("WORDS");
  std::vector<int> lengths = {1, 12, size, 2 * size + 9};
  if (words && words * size <= max_elements)
    lengths.push_back((words - 1) * size + 3);
  std::vector<Run> runs;
  for (int n : lengths) {
    Run run;
    run.text = "N=" + std::to_string(n);
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), &random);
    Matrix y = add_matrix(run.memory, "y", {variant.type()}, rows, n, distance(n, 1), nullptr);
    std::map<size_t, double> sums;
    for (int row = 0; row < rows; row++) {
      double sum = 0;
      for (int i = 0; i < n; i++) {
        sum += value_at(run.memory, x, row, i);
        sums[y.at(row, i)] = rounded(variant.type(), sum);
      }
    }
    const int tiles = (n + size - 1) / size;
    run.launch.grid = {words ? rows * tiles : rows, 1, 1};
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(y.buffer)};
    std::map<size_t, double> zeros;
    int workspace = -1;
    if (words) {
      const int groups = (tiles + words - 2) / (words - 1);
      const std::vector<double> values(size_t(2 + rows * groups * words));
      for (size_t i = 0; i < values.size(); i++)
        zeros[i] = 0;
      workspace = run.memory.add("words", Elem::i64, values);
      run.launch.arguments.push_back(Element::pointer(workspace));
    }
    for (int64_t number : {int64_t(rows), int64_t(n), x.ld, y.ld})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      return check_elements(memory, y.buffer, sums) +
             (words ? check_elements(memory, workspace, zeros) : "");
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// Few different values. One in five elements is NaN, and all elements of row 1 but one.
std::vector<Run> largest(const Variant &variant, std::mt19937 &random, const Steps &) {
  constexpr int rows = 3, ranks = 4;
  int size = variant.number("SIZE");
  std::vector<int> lengths = {1, 12, size, 2 * size + 9};
  if (size <= 128)
    lengths.push_back(20 * size + 3);
  std::vector<Run> runs;
  for (int n : lengths) {
    Run run;
    run.text = "N=" + std::to_string(n);
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, rows, n, distance(n, 3), &random);
    Matrix values =
        add_matrix(run.memory, "values", {variant.type()}, rows, ranks, ranks + 1, nullptr);
    Matrix indices =
        add_matrix(run.memory, "indices", {Elem::i32}, rows, ranks, ranks + 2, nullptr);
    std::map<size_t, double> right_values, right_indices;
    for (int row = 0; row < rows; row++) {
      std::vector<int> order;
      for (int i = 0; i < n; i++)
        if (row == 1 ? i != n / 2 : random() % 5 == 0)
          run.memory[x.buffer].elements[x.at(row, i)] = Element::of_number(std::nan(""));
        else
          order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return value_at(run.memory, x, row, a) > value_at(run.memory, x, row, b);
      });
      for (int rank = 0; rank < ranks; rank++) {
        int index = rank < int(order.size()) ? order[size_t(rank)] : -1;
        right_indices[indices.at(row, rank)] = index;
        right_values[values.at(row, rank)] =
            index < 0 ? std::nan("") : value_at(run.memory, x, row, index);
      }
    }
    run.launch.grid = {rows, 1, 1};
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(values.buffer),
                            Element::pointer(indices.buffer)};
    for (int64_t number : {int64_t(rows), int64_t(n), int64_t(ranks), x.ld, values.ld, indices.ld})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      return check_elements(memory, values.buffer, right_values) +
             check_elements(memory, indices.buffer, right_indices);
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> reductions() {
  TestKernel shared_rows = {"kernels/cumulative_sum_long.tc", false, cumulative_sums, {}};
  shared_rows.locks = true;
  return {
      {"kernels/argmax.tc", false, found, {}},
      {"kernels/cumulative_sum.tc", false, cumulative_sums, {}},
      shared_rows,
      {"kernels/moments.tc", false, means_and_variances, {}},
      {"kernels/reduce.tc", false, reduced, {}},
      {"kernels/top_k.tc", false, largest, {}},
  };
}

} // namespace tritonc::test
