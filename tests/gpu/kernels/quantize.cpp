// Quantization of groups of rows to 8 bits: scales, and rounded elements.

#include "rows.h"

#include <shipped_quantize.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_quantize;
using Float = tritonc::float8_e4m3;

constexpr float least = 1e-10f;

// The result for `scaled` is in the interval of the results for `scaled` with a small error.
template <typename Q> bool is_rounded(double q, double scaled) {
  auto rounded = [](double value) {
    if constexpr (std::is_integral_v<Q>)
      return std::round(value);
    else
      return as_double(Q(float(value)));
  };
  double error = std::fabs(scaled) * 1e-6;
  return rounded(scaled - error) <= q && q <= rounded(scaled + error);
}

template <typename Q> const char *name_of_out() { return std::is_integral_v<Q> ? "int8" : "e4m3"; }

// Checks launch(x, q, scales) for groups of x, which have one row of scales per row.
template <typename T, typename Q, typename Launch>
void check_groups(const std::string &what, const RowSizes &sizes, int group, Launch launch) {
  const double limit = std::is_integral_v<Q> ? 127 : 448;
  int m = sizes.m, n = sizes.n, groups = (n + group - 1) / group;
  Rows<T> x(m, n, sizes.gap_in);
  x.set([&](int row, int i) { // of very different sizes; one group in three is 0
    int g = i / group;
    return g % 3 == 2 ? 0 : std::ldexp(uniform(-1, 1), (row + g) % 20 - 10);
  });
  Rows<Q> q(m, n, sizes.gap_out);
  Rows<float> scales(m, groups, 1);
  std::string problem = outcome(launch(x, q, scales));
  auto largest = [&](int row, int g) {
    double most = double(least);
    for (int i = g * group; i < std::min(n, (g + 1) * group); i++)
      most = std::max(most, std::fabs(x.at(row, i)));
    return most;
  };
  if (problem.empty())
    problem =
        scales.wrong("scales", [&](int row, int g) { return largest(row, g) / limit; }, 1e-7, 0);
  q.read();
  for (int row = 0; row < m && problem.empty(); row++) {
    for (int g = 0; g < groups; g++) {
      double factor = limit / largest(row, g);
      for (int i = g * group; i < std::min(n, (g + 1) * group) && problem.empty(); i++)
        if (!is_rounded<Q>(q.at(row, i), x.at(row, i) * factor))
          problem = text("q at (%d, %d) is %g, not about %g", row, i, q.at(row, i),
                         x.at(row, i) * factor);
    }
    for (int i = n; i < q.ld && row + 1 < m; i++)
      if (!q.is_untouched(q.index(row, i)) && problem.empty())
        problem = text("the gap after row %d was written", row);
  }
  check(what + sizes.text(), problem);
}

template <typename T, typename Q> void quantize(const RowSizes &sizes, int group) {
  using Kernel = kernels::quantize<T, Q>;
  for (const auto &tile : Kernel::variants())
    check_groups<T, Q>(
        text("quantize<%s, %s> SIZE=%d group=%d", name_of<T>(), name_of_out<Q>(), tile.SIZE, group),
        sizes, group, [&](const auto &x, const auto &q, const auto &scales) {
          return Kernel::launch({},
                                {.x = x.data(),
                                 .q = q.data(),
                                 .scales = scales.data(),
                                 .least = least,
                                 .group = group,
                                 .M = x.m,
                                 .N = x.n,
                                 .ldx = x.ld,
                                 .ldq = q.ld,
                                 .lds = scales.ld},
                                tile);
        });
}

template <typename T, typename Q, int group> void quantize_groups(const RowSizes &sizes) {
  using Kernel = kernels::quantize_groups<T, Q, group>;
  for (const auto &tile : Kernel::variants())
    check_groups<T, Q>(text("quantize_groups<%s, %s, %d> SIZE=%d", name_of<T>(), name_of_out<Q>(),
                            group, tile.SIZE),
                       sizes, group, [&](const auto &x, const auto &q, const auto &scales) {
                         return Kernel::launch({},
                                               {.x = x.data(),
                                                .q = q.data(),
                                                .scales = scales.data(),
                                                .least = least,
                                                .M = x.m,
                                                .N = x.n,
                                                .ldx = x.ld,
                                                .ldq = q.ld,
                                                .scale_row = scales.ld,
                                                .scale_group = 1},
                                               tile);
                       });
}

// NaN and infinities: they are NaN of e4m3, and the other elements of a group with infinity are 0.
// launch(x, q, scales) has one group per row.
template <typename T, typename Launch> void special(const std::string &what, int n, Launch launch) {
  Rows<T> x = unusual<T>(n);
  Rows<Float> q(x.m, n, 0);
  Rows<float> scales(x.m, 1, 0);
  std::string problem = outcome(launch(x, q, scales));
  scales.read();
  q.read();
  for (int row = 0; row < x.m && problem.empty(); row++) {
    double most = 0;
    for (int i = 0; i < n; i++)
      most = std::fmax(most, std::fabs(x.at(row, i)));
    if (std::fabs(scales.at(0, 0)) > 1e30 || (std::isinf(most) != std::isinf(scales.at(row, 0))))
      problem = text("the scale of row %d is %g", row, scales.at(row, 0));
    for (int i = 0; i < n && problem.empty(); i++) {
      double right = std::isfinite(x.at(row, i)) ? x.at(row, i) * (448 / most) : NAN;
      if (std::isnan(right) ? !std::isnan(q.at(row, i)) : !is_rounded<Float>(q.at(row, i), right))
        problem = text("q at (%d, %d) is %g, not about %g", row, i, q.at(row, i), right);
    }
  }
  check(what + " of NaN and infinities", problem);
}

template <typename T> void specials() {
  using Whole = kernels::quantize<T, Float>;
  using Groups = kernels::quantize_groups<T, Float, 128>;
  for (const auto &tile : Whole::variants())
    special<T>(text("quantize<%s, e4m3> SIZE=%d", name_of<T>(), tile.SIZE), 200,
               [&](const auto &x, const auto &q, const auto &scales) {
                 return Whole::launch({},
                                      {.x = x.data(),
                                       .q = q.data(),
                                       .scales = scales.data(),
                                       .least = least,
                                       .group = x.n,
                                       .M = x.m,
                                       .N = x.n,
                                       .ldx = x.ld,
                                       .ldq = q.ld,
                                       .lds = 1},
                                      tile);
               });
  for (const auto &tile : Groups::variants()) // the scales are in one column
    special<T>(text("quantize_groups<%s, e4m3, 128> SIZE=%d", name_of<T>(), tile.SIZE), 100,
               [&](const auto &x, const auto &q, const auto &scales) {
                 return Groups::launch({},
                                       {.x = x.data(),
                                        .q = q.data(),
                                        .scales = scales.data(),
                                        .least = least,
                                        .M = x.m,
                                        .N = x.n,
                                        .ldx = x.ld,
                                        .ldq = q.ld,
                                        .scale_row = 1,
                                        .scale_group = x.m},
                                       tile);
               });
}

template <typename T, typename Kernel> void nothing(const char *name) {
  for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)})
    check_nothing<T>(text("%s of %d x %d", name, m, n), [m = m, n = n](T *memory) {
      typename Kernel::args arguments = {.x = memory, .least = least, .M = m, .N = n};
      if constexpr (requires { arguments.group; })
        arguments.group = 4;
      arguments.q = reinterpret_cast<decltype(arguments.q)>(memory);
      arguments.scales = reinterpret_cast<float *>(memory);
      return Kernel::launch({}, arguments);
    });
}

template <typename T, typename Q> void quantizations() {
  for (const RowSizes &sizes : row_sizes())
    if (!sizes.in_place) {
      for (int group : {sizes.n, 128, 37})
        quantize<T, Q>(sizes, group);
      quantize_groups<T, Q, 32>(sizes);
      quantize_groups<T, Q, 64>(sizes);
      quantize_groups<T, Q, 128>(sizes);
    }
  nothing<T, kernels::quantize<T, Q>>("quantize");
  nothing<T, kernels::quantize_groups<T, Q, 32>>("quantize_groups");
}

template <typename T> void of_type() {
  specials<T>();
  quantizations<T, Float>();
  quantizations<T, std::int8_t>();
}

void test() {
  of_type<tritonc::half>();
  of_type<tritonc::bfloat16>();
  of_type<float>();
}

const KernelTest quantized("quantize", test);

} // namespace
