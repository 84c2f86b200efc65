// Attention: one query, odd lengths, more queries than keys, no keys, no queries.

#include "rows.h"

#include <shipped_attention.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_attention;
using kernels::SEEN;

struct Sizes {
  int batches, heads, group, m, n, window;
};

const char *mask_of(SEEN seen) {
  return seen == SEEN::all ? "all" : seen == SEEN::causal ? "causal" : "window";
}

// A row of Q and O holds all heads; K and V hold one head after the other.
template <typename T, int D, SEEN seen>
void attend(const Sizes &sizes, const typename kernels::attention<T, D, seen>::params &tile) {
  auto [batches, heads, group, m, n, window] = sizes;
  const int shared = heads / group; // heads of K and V
  auto large = [] { return uniform(-4, 4); };
  Rows<T> q(batches * m, heads * D, 8, large), o(batches * m, heads * D, 24);
  Rows<T> k(batches * shared * n, D, 16, draw<float>), v(batches * shared * n, D, 16, draw<float>);
  Rows<float> log_sums(batches * heads, m, 0);
  const bool has_sums = n != 64; // n == 64: log_sums is null
  float scale = 1 / std::sqrt(float(D));
  std::string problem = outcome(
      kernels::attention<T, D, seen>::launch({},
                                             {.Q = q.data(),
                                              .K = k.data(),
                                              .V = v.data(),
                                              .O = o.data(),
                                              .log_sums = has_sums ? log_sums.data() : nullptr,
                                              .scale = scale,
                                              .batches = batches,
                                              .heads = heads,
                                              .group = group,
                                              .window = window,
                                              .M = m,
                                              .N = n,
                                              .q_batch = std::int64_t(m) * q.ld,
                                              .q_head = D,
                                              .ldq = q.ld,
                                              .k_batch = std::int64_t(shared) * n * k.ld,
                                              .k_head = std::int64_t(n) * k.ld,
                                              .ldk = k.ld,
                                              .o_batch = std::int64_t(m) * o.ld,
                                              .o_head = D,
                                              .ldo = o.ld},
                                             tile));

  std::vector<double> right_o(size_t(batches) * m * heads * D),
      right_sums(size_t(batches) * heads * m);
  in_parallel(batches * heads * m, [&](int i) {
    int head = i / m, row = i % m, batch = head / heads, first = head % heads * D;
    int keys = seen != SEEN::all ? std::clamp(row + n - m + 1, 0, n) : n;
    int start = seen == SEEN::window ? std::max(0, row + n - m + 1 - window) : 0;
    std::vector<double> weights(size_t(keys), -INFINITY);
    double top = -INFINITY, sum = 0;
    for (int key = start; key < keys; key++) {
      double &score = weights[size_t(key)];
      score = 0;
      for (int d = 0; d < D; d++)
        score += q.at(batch * m + row, first + d) * k.at(head / group * n + key, d);
      score *= scale;
      top = std::max(top, score);
    }
    for (double &weight : weights)
      sum += weight = keys > start ? std::exp(weight - top) : 0;
    double *out = &right_o[size_t(batch * m + row) * size_t(heads * D) + size_t(first)];
    for (int key = start; key < keys; key++)
      for (int d = 0; d < D; d++)
        out[d] += weights[size_t(key)] / sum * v.at(head / group * n + key, d);
    right_sums[size_t(i)] = keys > start ? top + std::log(sum) : -INFINITY;
  });
  auto o_at = [&](int row, int column) {
    return right_o[size_t(row) * size_t(heads * D) + size_t(column)];
  };
  auto sum_at = [&](int head, int row) {
    return right_sums[size_t(head) * size_t(m) + size_t(row)];
  };
  if (problem.empty()) // the weights are rounded too, and |V| <= 1
    problem = first_of({o.wrong("O", o_at, rounding<T>(), rounding<T>()),
                        has_sums ? log_sums.wrong("log_sums", sum_at, 1e-5, 1e-4) : std::string()});
  check(text("attention<%s, %d, %s> TM=%d TN=%d batches=%d heads=%d group=%d M=%d N=%d window=%d",
             name_of<T>(), D, mask_of(seen), tile.TM, tile.TN, batches, heads, group, m, n, window),
        problem);
}

// The second of three queries has a NaN: its results are NaN, the others are not.
template <typename T, int D, SEEN seen> void not_a_number() {
  constexpr int m = 3, n = 40;
  for (const auto &tile : kernels::attention<T, D, seen>::variants()) {
    Rows<T> q(m, D, 0, draw<float>), k(n, D, 0, draw<float>), v(n, D, 0, draw<float>), o(m, D, 0);
    Rows<float> log_sums(1, m, 0);
    q[q.index(1, 5)] = T(NAN);
    q.write();
    std::string problem =
        outcome(kernels::attention<T, D, seen>::launch({},
                                                       {.Q = q.data(),
                                                        .K = k.data(),
                                                        .V = v.data(),
                                                        .O = o.data(),
                                                        .log_sums = log_sums.data(),
                                                        .scale = 1,
                                                        .batches = 1,
                                                        .heads = 1,
                                                        .group = 1,
                                                        .window = 1,
                                                        .M = m,
                                                        .N = n,
                                                        .ldq = D,
                                                        .ldk = D,
                                                        .ldo = D},
                                                       tile));
    o.read();
    log_sums.read();
    for (int row = 0; row < m && problem.empty(); row++) {
      if (std::isnan(log_sums.at(0, row)) != (row == 1))
        problem = text("log_sums of query %d is %g", row, log_sums.at(0, row));
      for (int d = 0; d < D && problem.empty(); d++)
        if (std::isnan(o.at(row, d)) != (row == 1))
          problem = text("element (%d, %d) is %g", row, d, o.at(row, d));
    }
    check(text("attention<%s, %d> of NaN, TM=%d TN=%d", name_of<T>(), D, tile.TM, tile.TN),
          problem);
  }
}

template <typename T, int D, SEEN seen> void attentions() {
  std::vector<Sizes> all = {{1, 1, 1, 1, 1, 1},     {1, 2, 1, 64, 64, 64}, {2, 3, 3, 70, 37, 7},
                            {1, 2, 1, 50, 129, 70}, {1, 1, 1, 1, 200, 99}, {2, 1, 1, 5, 0, 2},
                            {1, 2, 2, 0, 5, 3}};
  if (!emulated()) // some of them divide the keys among blocks
    for (Sizes sizes : {Sizes{2, 5, 1, 129, 77, 30},
                        {1, 3, 1, 1000, 1000, 200},
                        {2, 2, 1, 333, 2049, 500},
                        {1, 1, 1, 700, 1, 1},
                        {2, 6, 3, 1, 5000, 2000},
                        {1, 4, 4, 100, 3333, 1000},
                        {1, 8, 2, 65, 16000, 12345}})
      all.push_back(sizes);
  for (const auto &tile : kernels::attention<T, D, seen>::variants())
    for (const Sizes &sizes : all)
      attend<T, D, seen>(sizes, tile);
}

template <typename T> void attentions() {
  attentions<T, 64, SEEN::all>();
  attentions<T, 64, SEEN::causal>();
  attentions<T, 64, SEEN::window>();
  attentions<T, 128, SEEN::all>();
  attentions<T, 128, SEEN::causal>();
  attentions<T, 128, SEEN::window>();
}

void test() {
  attentions<tritonc::half>();
  attentions<tritonc::bfloat16>();
  not_a_number<tritonc::half, 64, SEEN::all>();
  not_a_number<tritonc::bfloat16, 128, SEEN::causal>();
}

const KernelTest attention("attention", test);

} // namespace
