// Layer norm and RMS norm of the sum of two matrices.

#include "rows.h"

#include <shipped_add_norms.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_add_norms;

// The matrices that the outputs overwrite.
enum class Place { beside, sum_onto_residual, sum_onto_x, y_onto_residual };

template <typename T> T rounded(double value) { return T(float(value)); }

template <typename T, typename Kernel>
void add_and_norm(const char *kernel, const RowSizes &sizes, Place place) {
  constexpr bool is_centered = requires(typename Kernel::args a) { a.bias; };
  const double epsilon = 1e-5;
  int m = sizes.m, n = sizes.n;
  Rows<T> x(m, n, sizes.gap_in, [] { return uniform(-1, 1); });
  Rows<T> residual(m, n, sizes.gap_out), gain(1, n, 0, draw<float>), bias(1, n, 0, draw<float>);
  residual.set([](int row, int) { return uniform(-1, 1) + (is_centered ? row % 7 - 3 : 0); });
  auto sum_of = [&](int row, int i) {
    return as_double(rounded<T>(x.at(row, i) + residual.at(row, i)));
  };
  std::vector<double> means(size_t(m), 0), factors(size_t(m), 0);
  for (int row = 0; row < m; row++) {
    double &mean = means[size_t(row)], squares = 0;
    for (int i = 0; i < n && is_centered; i++)
      mean += sum_of(row, i) / n;
    for (int i = 0; i < n; i++)
      squares += (sum_of(row, i) - mean) * (sum_of(row, i) - mean);
    factors[size_t(row)] = 1 / std::sqrt(squares / n + epsilon);
  }
  auto y_of = [&](int row, int i) {
    double centered = (sum_of(row, i) - means[size_t(row)]) * factors[size_t(row)];
    return centered * gain.at(0, i) + (is_centered ? bias.at(0, i) : 0);
  };
  for (const auto &tile : Kernel::variants()) {
    Rows<T> given_x(m, n, sizes.gap_in), given(m, n, sizes.gap_out), s(m, n, 1), y(m, n, 2);
    given_x.set([&](int row, int i) { return x.at(row, i); });
    given.set([&](int row, int i) { return residual.at(row, i); });
    Rows<T> &sum = place == Place::sum_onto_residual ? given
                   : place == Place::sum_onto_x      ? given_x
                                                     : s;
    Rows<T> &result = place == Place::sum_onto_residual ? given_x
                      : place == Place::y_onto_residual ? given
                                                        : y;
    typename Kernel::args arguments = {.x = given_x.data(),
                                       .residual = given.data(),
                                       .gain = gain.data(),
                                       .sum = sum.data(),
                                       .y = result.data(),
                                       .epsilon = float(epsilon),
                                       .M = m,
                                       .N = n,
                                       .ldx = given_x.ld,
                                       .ldr = given.ld,
                                       .lds = sum.ld,
                                       .ldy = result.ld};
    if constexpr (is_centered)
      arguments.bias = bias.data();
    std::string problem = outcome(Kernel::launch({}, arguments, tile));
    if (problem.empty()) // the float sum is rounded to T, too: twice for sums at a tie only
      problem =
          first_of({sum.wrong("sum", sum_of, 0, 0), result.wrong("y", y_of, rounding<T>(), 1e-5)});
    check(text("%s<%s> SIZE=%d place %d", kernel, name_of<T>(), tile.SIZE, int(place)) +
              sizes.text(),
          problem);
  }
}

// A sum with NaN or infinity: the row is NaN. The other rows are not.
template <typename T, typename Kernel> void special(const char *kernel) {
  constexpr int n = 200;
  for (const auto &tile : Kernel::variants()) {
    Rows<T> x = unusual<T>(n), zero(1, n, 0), s(unusual_count, n, 0), y(unusual_count, n, 0);
    zero.set([](int, int) { return 0; });
    typename Kernel::args arguments = {.x = x.data(),
                                       .residual = zero.data(), // the same row for all
                                       .gain = x.data() + size_t(x.m - 1) * n,
                                       .sum = s.data(),
                                       .y = y.data(),
                                       .epsilon = 1,
                                       .M = x.m,
                                       .N = n,
                                       .ldx = n,
                                       .ldr = 0,
                                       .lds = n,
                                       .ldy = n};
    if constexpr (requires { arguments.bias; })
      arguments.bias = zero.data();
    std::string problem = outcome(Kernel::launch({}, arguments, tile));
    s.read();
    y.read();
    for (int row = 0; row < x.m && problem.empty(); row++)
      for (int i = 0; i < n && problem.empty(); i++) {
        bool is_last = row == x.m - 1, is_number = std::isfinite(y.at(row, i));
        bool same =
            s.at(row, i) == x.at(row, i) || (std::isnan(s.at(row, i)) && std::isnan(x.at(row, i)));
        // RMS norm divides finite elements by infinity.
        bool may_be_zero = y.at(row, i) == 0 && std::isfinite(x.at(row, i));
        if (!same || (is_last ? !is_number : is_number && !may_be_zero))
          problem = text("row %d, column %d is %g", row, i, y.at(row, i));
      }
    check(text("%s<%s> of NaN and infinities, SIZE=%d", kernel, name_of<T>(), tile.SIZE), problem);
  }
}

// M = 0: the launch does nothing. N = 0: the launch fails, because the mean does not exist.
template <typename T, typename Kernel> void nothing(const char *kernel) {
  auto launch = [](T *y, int m, int n, const auto &tile) {
    typename Kernel::args arguments = {};
    arguments.x = arguments.residual = arguments.gain = arguments.sum = arguments.y = y;
    if constexpr (requires { arguments.bias; })
      arguments.bias = y;
    arguments.M = m;
    arguments.N = n;
    return Kernel::launch({}, arguments, tile);
  };
  for (const auto &tile : Kernel::variants()) {
    check_nothing<T>(text("%s<%s> with M=0", kernel, name_of<T>()),
                     [&](T *y) { return launch(y, 0, 5, tile); });
    Array<T> y(8);
    bool is_refused =
        launch(y.data(), 5, 0, tile).code() == tritonc::status_code::requirement_failed;
    check(text("%s<%s> with N=0", kernel, name_of<T>()), is_refused ? "" : "the launch succeeds");
  }
}

template <typename T, typename Kernel> void all(const char *kernel) {
  nothing<T, Kernel>(kernel);
  special<T, Kernel>(kernel);
  for (const RowSizes &sizes : row_sizes())
    for (Place place :
         {Place::beside, Place::sum_onto_residual, Place::sum_onto_x, Place::y_onto_residual})
      if (sizes.in_place == (place != Place::beside))
        add_and_norm<T, Kernel>(kernel, sizes, place);
}

template <typename T> void add_norms() {
  all<T, kernels::add_rms_norm<T>>("add_rms_norm");
  all<T, kernels::add_layer_norm<T>>("add_layer_norm");
}

void test() {
  add_norms<tritonc::half>();
  add_norms<tritonc::bfloat16>();
  add_norms<float>();
}

const KernelTest add_norm("add_norms", test);

} // namespace
