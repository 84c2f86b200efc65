// Cumulative sums of few long rows. Programs wait for each other, so the emulator reports races: it
// needs TRITONC_EMULATOR=races=off.

#include "rows.h"

#include <shipped_long_rows.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_long_rows;

// Rows of a part of a tile, of several tiles, and of several groups of tiles. The words can be used by
// the next launch.
template <typename T> void cumulative_sums() {
  using Kernel = kernels::cumulative_sum_long<T>;
  for (auto [m, n] : {std::pair(1, 1),
                      {3, 1000},
                      {2, 5003},
                      {2, 70001},
                      {emulated() ? 1 : 3, emulated() ? 1024 : 3000001}}) {
    Rows<T> x(m, n, 3, draw<float>);
    Array<std::int64_t> words(2 + 256 * size_t(m) * size_t((n + 31743) / 31744),
                              [] { return std::int64_t(0); });
    std::vector<std::vector<double>> sums;
    for (int row = 0; row < m; row++) {
      double sum = 0;
      for (int i = 0; i < n; i++)
        (i ? sums.back() : sums.emplace_back()).push_back(sum += x.at(row, i));
    }
    for (const auto &tile : Kernel::variants()) {
      std::string problem;
      Rows<T> first(m, n, 1), y(m, n, 1);
      for (Rows<T> *result : {&first, &y})
        if (problem.empty())
          problem = outcome(Kernel::launch({},
                                           {.x = x.data(),
                                            .y = result->data(),
                                            .words = words.data(),
                                            .M = m,
                                            .N = n,
                                            .ldx = x.ld,
                                            .ldy = result->ld},
                                           tile));
      if (problem.empty())
        problem = y.wrong(
            "y", [&](int row, int i) { return sums[size_t(row)][size_t(i)]; }, rounding<T>(),
            1e-6 * std::sqrt(n));
      first.read();
      for (size_t i = 0; i < y.size() && problem.empty(); i++)
        if (!same_bits(first[i], y[i]))
          problem = text("element %zu has other bits in the second launch", i);
      words.read();
      for (size_t i = 0; i < words.size() && problem.empty(); i++)
        if (words[i] != 0)
          problem = text("word %zu is not 0 after the launch", i);
      check(text("cumulative_sum_long<%s> SIZE=%d WORDS=%d %d x %d", name_of<T>(), tile.SIZE,
                 tile.WORDS, m, n),
            problem);
    }
  }
}

void test() {
  cumulative_sums<tritonc::half>();
  cumulative_sums<tritonc::bfloat16>();
  cumulative_sums<float>();
}

const KernelTest long_rows("long_rows", test);

} // namespace
