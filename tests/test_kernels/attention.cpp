// Test data for the attention kernels. See test_kernels.h.
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
  int batches, heads, group, m, n;
  bool causal;
  int window; // 0: none

  // A query sees the keys from `first` to `visible`.
  int visible(int row) const { return causal ? std::clamp(row + n - m + 1, 0, n) : n; }
  int first(int row) const { return window ? std::max(0, row + n - m + 1 - window) : 0; }

  int heads_of_keys() const { return batches * heads / group; }
};

struct Operands {
  Matrix q, k, v, o, log_sums;
};

// The keys that a class attends to. Each query of the class sees more keys than the query before
// it. The class attends to some of the new keys, so that their number stays a power of two. In each
// window it attends to one key or two.
std::vector<bool> keys_of(int number, const Sizes &sizes, std::mt19937 &random) {
  std::vector<bool> attended(size_t(sizes.n), false);
  const int distance = number % 2 && sizes.window % 2 == 0 ? sizes.window / 2 : sizes.window;
  for (int key = 0; distance && key < sizes.n; key += distance)
    attended[size_t(key)] = true;
  if (sizes.window)
    return attended;
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

void set(Memory &memory, const Matrix &matrix, int64_t row, int64_t column, double value) {
  memory[matrix.buffer].elements[matrix.at(row, column)] = Element::of_number(value);
}

// Rows of Q from `first` on. After the class elements, Q has zeros where K has values, and vice versa.
void set_queries(Memory &memory, const Matrix &q, int first, int count, int d,
                 std::mt19937 &random) {
  for (int row = 0; row < count; row++)
    for (int i = 0; i < q.columns; i++)
      set(memory, q, first + row, i,
          i % d >= classes           ? (i % d % 2 ? draw(random) : 0)
          : i % d == (row % classes) ? strength
                                     : 0);
}

// Rows of K from `first` on, for one head. Returns the keys to which each class attends.
std::vector<std::vector<bool>> set_keys(Memory &memory, const Matrix &k, int first,
                                        const Sizes &sizes, int d, std::mt19937 &random) {
  std::vector<std::vector<bool>> attended;
  for (int i = 0; i < classes; i++)
    attended.push_back(keys_of(i, sizes, random));
  for (int key = 0; key < sizes.n; key++)
    for (int i = 0; i < d; i++)
      set(memory, k, first + key, i,
          i >= classes                       ? (i % 2 ? 0 : draw(random))
          : attended[size_t(i)][size_t(key)] ? 0
                                             : far_below);
  return attended;
}

Run attention(const Variant &variant, std::mt19937 &random, const Sizes &sizes) {
  int d = variant.number("D"), tm = variant.number("TM");
  Run run;
  run.text = "M=" + std::to_string(sizes.m) + " N=" + std::to_string(sizes.n);
  Numbers numbers = {variant.type()};
  int heads = sizes.heads, all_heads = sizes.batches * heads, shared = sizes.heads_of_keys();
  auto adjacent_heads = [&](const char *name) {
    return add_matrix(run.memory, name, numbers, sizes.batches * sizes.m, heads * d, heads * d + 8,
                      nullptr);
  };
  auto separate_heads = [&](const char *name, std::mt19937 *values) {
    return add_matrix(run.memory, name, numbers, shared * sizes.n, d, d + 16, values);
  };
  Operands all;
  all.q = adjacent_heads("Q");
  all.k = separate_heads("K", nullptr);
  all.v = separate_heads("V", &random);
  all.o = adjacent_heads("O");
  all.log_sums =
      add_matrix(run.memory, "log_sums", {Elem::f32}, all_heads, sizes.m, sizes.m, nullptr);

  for (int batch = 0; batch < sizes.batches; batch++)
    set_queries(run.memory, all.q, batch * sizes.m, sizes.m, d, random);
  std::vector<std::vector<bool>> attended; // [head of K][class], flattened
  for (int head = 0; head < shared; head++)
    for (std::vector<bool> &keys : set_keys(run.memory, all.k, head * sizes.n, sizes, d, random))
      attended.push_back(std::move(keys));

  run.launch.grid = {(sizes.m + tm - 1) / tm, heads, sizes.batches};
  run.launch.arguments = {Element::pointer(all.q.buffer),
                          Element::pointer(all.k.buffer),
                          Element::pointer(all.v.buffer),
                          Element::pointer(all.o.buffer),
                          Element::pointer(all.log_sums.buffer),
                          Element::of_number(0.125),
                          integer(sizes.batches),
                          integer(heads),
                          integer(sizes.group),
                          integer(sizes.window),
                          integer(sizes.m),
                          integer(sizes.n),
                          integer(sizes.m * all.q.ld),
                          integer(d),
                          integer(all.q.ld),
                          integer(heads / sizes.group * sizes.n * all.k.ld),
                          integer(sizes.n * all.k.ld),
                          integer(all.k.ld),
                          integer(sizes.m * all.o.ld),
                          integer(d),
                          integer(all.o.ld)};
  run.check = [=, elem = variant.type()](const Memory &memory) {
    auto keys = [&](int head, int row) {
      std::vector<int> result;
      for (int key = sizes.first(row); key < sizes.visible(row); key++)
        if (attended[size_t(head / sizes.group * classes + row % classes)][size_t(key)])
          result.push_back(key);
      return result;
    };
    auto output = [&](int64_t row, int64_t column) {
      int head = int(row / sizes.m * heads + column / d);
      std::vector<int> seen = keys(head, int(row % sizes.m));
      double sum = 0;
      for (int key : seen)
        sum += value_at(memory, all.v, head / sizes.group * sizes.n + key, column % d);
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
// iterations. With a window, all tiles of some runs need a mask: another run has one that does not,
// between others. The last two windows begin and end inside of tiles.
std::vector<Run> attentions_of_any_size(const Variant &variant, std::mt19937 &random,
                                        const Steps &steps) {
  int tm = variant.number("TM"), tn = variant.number("TN");
  int count = steps.empty() ? 3 : steps.back();
  bool causal = variant["CAUSAL"] == "true";
  std::vector<Sizes> all = {{1, 1, 1, 1, 1, causal, 0},
                            {1, 2, 1, tm, tn, causal, 0},
                            {1, 1, 1, tn + 7, 20, causal, 0},
                            {2, 4, 2, tm + 5, count * tn - 23, causal, 0}};
  if (variant["WINDOW"] == "true")
    all = {{1, 1, 1, 1, 1, causal, 1},
           {1, 2, 1, tm, tn, causal, tn},
           {1, 1, 1, tn + 7, 20, causal, 5},
           {1, 1, 1, tm, tm + 4 * tn + 7, causal, tm + 2 * tn + 2},
           {2, 4, 2, tm + 5, (count + 2) * tn - 23, causal, count * tn - tm}};
  std::vector<Run> runs;
  for (const Sizes &sizes : all)
    runs.push_back(attention(variant, random, sizes));
  return runs;
}

// Of the keys that the class of a query attends to, the bias removes every second one for half of the
// queries. A query has the same bias for all others.
Run biased_attention(const Variant &variant, std::mt19937 &random, int m, int n) {
  constexpr double removed = -1000;
  const int d = variant.number("D"), tm = variant.number("TM");
  const Sizes sizes = {1, 1, 1, m, n, false, 0};
  Run run;
  run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
  const Numbers numbers = {variant.type()};
  const Elem elem = variant["BIAS"] == "half" ? Elem::f16 : Elem::f32;
  Matrix q = add_matrix(run.memory, "Q", numbers, m, d, d + 8, nullptr);
  Matrix k = add_matrix(run.memory, "K", numbers, n, d, d + 16, nullptr);
  Matrix v = add_matrix(run.memory, "V", numbers, n, d, d + 16, &random);
  Matrix b = add_matrix(run.memory, "B", {elem}, m, n, distance_between_rows(n, 8), nullptr);
  Matrix o = add_matrix(run.memory, "O", numbers, m, d, d + 24, nullptr);
  set_queries(run.memory, q, 0, m, d, random);
  std::vector<std::vector<bool>> attended = set_keys(run.memory, k, 0, sizes, d, random);
  std::vector<std::vector<int>> seen; // by row
  for (int row = 0; row < m; row++) {
    seen.emplace_back();
    const double bias = draw(random);
    for (int key = 0, count = 0; key < n; key++) {
      const bool is_attended = attended[size_t(row % classes)][size_t(key)];
      const bool is_removed = is_attended && row / classes % 2 && count++ % 2;
      set(run.memory, b, row, key, is_removed ? removed : is_attended ? bias : draw(random));
      if (is_attended && !is_removed)
        seen.back().push_back(key);
    }
  }
  run.launch.grid = {(m + tm - 1) / tm, 1, 1};
  run.launch.arguments = {Element::pointer(q.buffer),
                          Element::pointer(k.buffer),
                          Element::pointer(v.buffer),
                          Element::pointer(b.buffer),
                          Element::pointer(o.buffer),
                          Element::of_number(0.125),
                          Element::of_number(0.5),
                          integer(m),
                          integer(n),
                          integer(q.ld),
                          integer(k.ld),
                          integer(b.ld),
                          integer(o.ld)};
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, o, [&](int64_t row, int64_t column) {
      double sum = 0;
      for (int key : seen[size_t(row)])
        sum += value_at(memory, v, key, column);
      return sum == 0 ? 0 : rounded(numbers.elem, sum / double(seen[size_t(row)].size()));
    });
  };
  return run;
}

// Also without keys: then the loop has no iterations.
std::vector<Run> biased_attentions(const Variant &variant, std::mt19937 &random,
                                   const Steps &steps) {
  const int tm = variant.number("TM"), tn = variant.number("TN");
  const int count = steps.empty() ? 3 : steps.back();
  std::vector<Run> runs;
  for (auto [m, n] : {std::pair(1, 1), {tm, 2 * tn}, {5, 0}, {tm + 9, count * tn - 23}})
    runs.push_back(biased_attention(variant, random, m, n));
  return runs;
}

} // namespace

std::vector<TestKernel> attentions() {
  return {
      {"kernels/attention.tc", false, attentions_of_any_size, {}},
      {"tests/test_kernels/biased_attention.tc", false, biased_attentions, {}},
  };
}

} // namespace tritonc::test
