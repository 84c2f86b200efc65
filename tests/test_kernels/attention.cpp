// Test data for the attention kernel. See test_kernels.h.
//
// Sums of exponentials depend on their order, unless the exponentials are 0 and 1. So the score of
// a query and a key is either 0 or far below 0. A query has one of eight classes; the first eight
// elements of a key say which classes attend to it. Each query attends to a power-of-two number of
// keys, so the logarithm is exact, too.

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>
#include <cmath>

namespace tritonc::test {
namespace {

constexpr int classes = 8;
constexpr double far_below = -64, strength = 64; // their product is the score

// In Q and O the heads of a row are adjacent; in K and V the heads follow each other.
struct Sizes {
  int batches, heads, m, n;
  bool causal;

  // The number of visible keys, counted from the first.
  int visible(int row) const { return causal ? std::clamp(row + n - m + 1, 0, n) : n; }
};

struct Operands {
  Matrix q, k, v, o, log_sums;
};

// The keys that a class attends to. Each query of the class sees more keys than the query before
// it. The class attends to some of the new keys, so that their number stays a power of two.
std::vector<bool> keys_of(int number, const Sizes &sizes, std::mt19937 &random) {
  std::vector<bool> attended(size_t(sizes.n), false);
  int count = 0, end = 0; // the class attends to `count` of the first `end` keys
  for (int row = number; row < sizes.m; row += classes) {
    int visible = sizes.visible(row);
    if (visible > 0 && count == 0) {
      attended[0] = true;
      count = end = 1;
    }
    int more = count;
    while (count > 0 && 2 * more - count <= visible - end && random() % 3)
      more *= 2;
    auto first = attended.begin() + end;
    std::fill(first, first + (more - count), true);
    std::shuffle(first, attended.begin() + visible, random);
    count = more;
    end = visible;
  }
  return attended;
}

Run attention(const Variant &variant, std::mt19937 &random, const Sizes &sizes) {
  int d = variant.number("D"), tm = variant.number("TM");
  Run run;
  run.text = "M=" + std::to_string(sizes.m) + " N=" + std::to_string(sizes.n);
  Numbers numbers = {variant.type()};
  int heads = sizes.heads, all_heads = sizes.batches * heads;
  auto adjacent_heads = [&](const char *name) {
    return add_matrix(run.memory, name, numbers, sizes.batches * sizes.m, heads * d, heads * d + 8,
                      nullptr);
  };
  auto separate_heads = [&](const char *name, std::mt19937 *values) {
    return add_matrix(run.memory, name, numbers, all_heads * sizes.n, d, d + 16, values);
  };
  Operands all;
  all.q = adjacent_heads("Q");
  all.k = separate_heads("K", nullptr);
  all.v = separate_heads("V", &random);
  all.o = adjacent_heads("O");
  all.log_sums =
      add_matrix(run.memory, "log_sums", {Elem::f32}, all_heads, sizes.m, sizes.m, nullptr);

  auto set = [&](const Matrix &matrix, int64_t row, int64_t column, double value) {
    run.memory[matrix.buffer].elements[matrix.at(row, column)] = Element::of_number(value);
  };
  // After the class elements, Q has zeros where K has values, and vice versa.
  for (int batch = 0; batch < sizes.batches; batch++)
    for (int row = 0; row < sizes.m; row++)
      for (int i = 0; i < heads * d; i++)
        set(all.q, batch * sizes.m + row, i,
            i % d >= classes           ? (i % d % 2 ? draw(random) : 0)
            : i % d == (row % classes) ? strength
                                       : 0);
  std::vector<std::vector<bool>> attended; // [head][class], flattened
  for (int head = 0; head < all_heads; head++) {
    for (int i = 0; i < classes; i++)
      attended.push_back(keys_of(i, sizes, random));
    for (int key = 0; key < sizes.n; key++)
      for (int i = 0; i < d; i++)
        set(all.k, head * sizes.n + key, i,
            i >= classes                                        ? (i % 2 ? 0 : draw(random))
            : attended[size_t(head * classes + i)][size_t(key)] ? 0
                                                                : far_below);
  }

  run.launch.grid = {(sizes.m + tm - 1) / tm, heads, sizes.batches};
  run.launch.arguments = {Element::pointer(all.q.buffer),
                          Element::pointer(all.k.buffer),
                          Element::pointer(all.v.buffer),
                          Element::pointer(all.o.buffer),
                          Element::pointer(all.log_sums.buffer),
                          Element::of_number(0.125),
                          integer(sizes.batches),
                          integer(heads),
                          integer(sizes.m),
                          integer(sizes.n),
                          integer(sizes.m * all.q.ld),
                          integer(d),
                          integer(all.q.ld),
                          integer(heads * sizes.n * all.k.ld),
                          integer(sizes.n * all.k.ld),
                          integer(all.k.ld),
                          integer(sizes.m * all.o.ld),
                          integer(d),
                          integer(all.o.ld)};
  run.check = [=, elem = variant.type()](const Memory &memory) {
    auto keys = [&](int head, int row) {
      std::vector<int> result;
      for (int key = 0; key < sizes.visible(row); key++)
        if (attended[size_t(head * classes + row % classes)][size_t(key)])
          result.push_back(key);
      return result;
    };
    auto output = [&](int64_t row, int64_t column) {
      int head = int(row / sizes.m * heads + column / d);
      std::vector<int> seen = keys(head, int(row % sizes.m));
      double sum = 0;
      for (int key : seen)
        sum += value_at(memory, all.v, head * sizes.n + key, column % d);
      return seen.empty() ? 0 : rounded(elem, sum / double(seen.size()));
    };
    auto log_sum = [&](int64_t head, int64_t row) {
      double count = double(keys(int(head), int(row)).size());
      return count == 0 ? -INFINITY : rounded(Elem::f32, std::log2(count) * double(0.693147181f));
    };
    return check_matrix(memory, all.o, output) + check_matrix(memory, all.log_sums, log_sum);
  };
  return run;
}

// Runs: one query; full tiles; more queries than keys; partial tiles with the requested number of
// iterations.
std::vector<Run> attentions_of_any_size(const Variant &variant, std::mt19937 &random,
                                        const Steps &steps) {
  int tm = variant.number("TM"), tn = variant.number("TN");
  int count = steps.empty() ? 3 : steps.back();
  bool causal = variant["CAUSAL"] == "true";
  std::vector<Run> runs;
  for (Sizes sizes : {Sizes{1, 1, 1, 1, causal},
                      {1, 2, tm, tn, causal},
                      {1, 1, tn + 7, 20, causal},
                      {2, 1, tm + 5, count * tn - 23, causal}})
    runs.push_back(attention(variant, random, sizes));
  return runs;
}

} // namespace

std::vector<TestKernel> attentions() {
  return {
      {"kernels/attention.tc", false, attentions_of_any_size, {}},
  };
}

} // namespace tritonc::test
