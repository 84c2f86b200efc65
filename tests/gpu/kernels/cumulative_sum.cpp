// Cumulative sums of rows.

#include "rows.h"

#include <shipped_cumulative_sum.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_cumulative_sum;

// The sums of a row, and of the absolute values.
struct Sums {
  template <typename X> Sums(const X &x, int row) {
    double sum = 0;
    for (int i = 0; i < x.n; i++) {
      sums.push_back(sum += x.at(row, i));
      magnitude += std::fabs(x.at(row, i));
    }
  }
  std::vector<double> sums;
  double magnitude = 0;
};

template <typename T> void sum(const std::string &what, Rows<T> &x, int gap_out, bool in_place) {
  std::vector<Sums> rows;
  double magnitude = 1;
  for (int row = 0; row < x.m; row++) {
    rows.emplace_back(x, row);
    if (std::isfinite(rows.back().magnitude))
      magnitude = std::max(magnitude, rows.back().magnitude);
  }
  auto right = [&](int row, int i) { return rows[size_t(row)].sums[size_t(i)]; };
  for (const auto &tile : kernels::cumulative_sum<T>::variants()) {
    Rows<T> given(x.m, x.n, x.ld - x.n), y(x.m, x.n, gap_out);
    given.set([&](int row, int i) { return x.at(row, i); });
    Rows<T> &result = in_place ? given : y;
    std::string problem = outcome(kernels::cumulative_sum<T>::launch({},
                                                                     {.x = given.data(),
                                                                      .y = result.data(),
                                                                      .M = x.m,
                                                                      .N = x.n,
                                                                      .ldx = given.ld,
                                                                      .ldy = result.ld},
                                                                     tile));
    if (problem.empty())
      problem = result.wrong("y", right, rounding<T>(), 1e-6 * magnitude);
    check(text("cumulative_sum<%s> SIZE=%d ", name_of<T>(), tile.SIZE) + what, problem);
  }
}

template <typename T> void sums() {
  for (const RowSizes &sizes : row_sizes()) {
    Rows<T> x(sizes.m, sizes.n, sizes.gap_in, draw<float>);
    sum(sizes.text(), x, sizes.gap_out, sizes.in_place);
  }
  // From NaN or infinity on, the sums are NaN or infinity. The other rows are not.
  Rows<T> x = unusual<T>(200);
  sum("of NaN and infinities", x, 0, false);
  for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)})
    check_nothing<T>(text("cumulative_sum of %d x %d", m, n), [m = m, n = n](T *y) {
      return kernels::cumulative_sum<T>::launch({}, {.x = y, .y = y, .M = m, .N = n});
    });
}

void test() {
  sums<tritonc::half>();
  sums<tritonc::bfloat16>();
  sums<float>();
}

const KernelTest cumulative_sum("cumulative_sum", test);

} // namespace
