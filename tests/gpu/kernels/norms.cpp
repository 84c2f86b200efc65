// Layer norm and RMS norm of rows, and the gradients of their inputs and weights.

#include "rows.h"

#include <shipped_norms.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_norms;

constexpr double epsilon = 1e-5;

// A row's mean (0 for RMS norm) and 1 / sqrt(mean of (x - mean)^2 + epsilon).
struct Row {
  double mean = 0, factor = 0;
};

template <typename T> std::vector<Row> rows_of(const Rows<T> &x, bool centered) {
  std::vector<Row> rows(size_t(x.m));
  in_parallel(x.m, [&](int m) {
    Row &row = rows[size_t(m)];
    for (int i = 0; i < x.n && centered; i++)
      row.mean += x.at(m, i) / x.n;
    double squares = 0;
    for (int i = 0; i < x.n; i++)
      squares += (x.at(m, i) - row.mean) * (x.at(m, i) - row.mean);
    row.factor = 1 / std::sqrt(squares / x.n + epsilon);
  });
  return rows;
}

// Centered: the rows have means up to 3 and deviations up to 1. Otherwise the means are 0.
template <typename T> void fill(Rows<T> &x, bool centered) {
  x.set([&](int row, int) { return uniform(-1, 1) + (centered ? row % 7 - 3 : 0); });
}

template <typename T> Rows<T> copied(const Rows<T> &x) {
  Rows<T> copy(x.m, x.n, x.ld - x.n);
  copy.set([&](int row, int column) { return x.at(row, column); });
  return copy;
}

template <typename T> void forward(const RowSizes &sizes, bool centered) {
  Rows<T> x(sizes.m, sizes.n, sizes.gap_in);
  fill(x, centered);
  Rows<T> gain(1, sizes.n, 0, draw<float>), bias(1, sizes.n, 0, draw<float>);
  std::vector<Row> rows = rows_of(x, centered);
  auto test = [&](const char *kernel, const auto &tile, auto launch) {
    Rows<T> given = copied(x), y(sizes.m, sizes.n, sizes.gap_out);
    Rows<T> &result = sizes.in_place ? given : y;
    std::string problem = outcome(launch(given, result, tile));
    auto right = [&](int row, int i) {
      const Row &r = rows[size_t(row)];
      return (x.at(row, i) - r.mean) * r.factor * gain.at(0, i) + (centered ? bias.at(0, i) : 0);
    };
    if (problem.empty())
      problem = result.wrong("y", right, rounding<T>(), 1e-5);
    check(text("%s<%s> SIZE=%d", kernel, name_of<T>(), tile.SIZE) + sizes.text(), problem);
  };
  if (centered) {
    using Kernel = kernels::layer_norm<T>;
    for (const auto &tile : Kernel::variants())
      test("layer_norm", tile, [&](auto &given, auto &y, const auto &tile) {
        return Kernel::launch({},
                              {.x = given.data(),
                               .gain = gain.data(),
                               .bias = bias.data(),
                               .y = y.data(),
                               .epsilon = float(epsilon),
                               .M = sizes.m,
                               .N = sizes.n,
                               .ldx = given.ld,
                               .ldy = y.ld},
                              tile);
      });
    return;
  }
  using Kernel = kernels::rms_norm<T>;
  for (const auto &tile : Kernel::variants())
    test("rms_norm", tile, [&](auto &given, auto &y, const auto &tile) {
      return Kernel::launch({},
                            {.x = given.data(),
                             .gain = gain.data(),
                             .y = y.data(),
                             .epsilon = float(epsilon),
                             .M = sizes.m,
                             .N = sizes.n,
                             .ldx = given.ld,
                             .ldy = y.ld},
                            tile);
    });
}

// In place: dx overwrites dy.
template <typename T> void backward(const RowSizes &sizes, bool centered) {
  Rows<T> x(sizes.m, sizes.n, sizes.gap_out), dy(sizes.m, sizes.n, sizes.gap_in, draw<float>);
  fill(x, centered);
  Rows<T> gain(1, sizes.n, 0, draw<float>);
  std::vector<Row> rows = rows_of(x, centered);
  struct Means {
    double gradient = 0, product = 0;
  };
  std::vector<Means> means(size_t(sizes.m));
  auto above = [&](int row, int i) {
    return (x.at(row, i) - rows[size_t(row)].mean) * rows[size_t(row)].factor;
  };
  in_parallel(sizes.m, [&](int row) {
    Means &of_row = means[size_t(row)];
    for (int i = 0; i < sizes.n; i++) {
      double gradient = gain.at(0, i) * dy.at(row, i) / sizes.n;
      of_row.gradient += centered ? gradient : 0;
      of_row.product += gradient * above(row, i);
    }
  });
  auto test = [&](const char *kernel, const auto &tile, auto launch) {
    Rows<T> given = copied(dy), dx(sizes.m, sizes.n, sizes.gap_out);
    Rows<T> &result = sizes.in_place ? given : dx;
    Rows<float> mean(1, sizes.m, 0), factor(1, sizes.m, 0);
    std::string problem = outcome(launch(given, result, mean, factor, tile));
    // In rows of one or two elements the variance is small, and epsilon dominates the factor.
    double size = 1;
    for (const Row &row : rows)
      size = std::max(size, row.factor);
    auto right = [&](int row, int i) {
      double gradient = gain.at(0, i) * dy.at(row, i);
      const Means &of_row = means[size_t(row)];
      return rows[size_t(row)].factor *
             (gradient - of_row.gradient - above(row, i) * of_row.product);
    };
    auto mean_of = [&](int, int row) { return rows[size_t(row)].mean; };
    auto factor_of = [&](int, int row) { return rows[size_t(row)].factor; };
    if (problem.empty())
      problem = first_of({result.wrong("dx", right, rounding<T>(), 1e-5 * size),
                          factor.wrong("factor", factor_of, 2e-5, 0),
                          centered ? mean.wrong("mean", mean_of, 0, 1e-5) : ""});
    check(text("%s<%s> SIZE=%d", kernel, name_of<T>(), tile.SIZE) + sizes.text(), problem);
  };
  if (centered) {
    using Kernel = kernels::layer_norm_backward<T>;
    for (const auto &tile : Kernel::variants())
      test("layer_norm_backward", tile,
           [&](auto &given, auto &dx, auto &mean, auto &factor, const auto &tile) {
             return Kernel::launch({},
                                   {.x = x.data(),
                                    .gain = gain.data(),
                                    .dy = given.data(),
                                    .dx = dx.data(),
                                    .mean = mean.data(),
                                    .factor = factor.data(),
                                    .epsilon = float(epsilon),
                                    .M = sizes.m,
                                    .N = sizes.n,
                                    .ldx = x.ld,
                                    .lddy = given.ld,
                                    .lddx = dx.ld},
                                   tile);
           });
    return;
  }
  using Kernel = kernels::rms_norm_backward<T>;
  for (const auto &tile : Kernel::variants())
    test("rms_norm_backward", tile,
         [&](auto &given, auto &dx, auto &, auto &factor, const auto &tile) {
           return Kernel::launch({},
                                 {.x = x.data(),
                                  .gain = gain.data(),
                                  .dy = given.data(),
                                  .dx = dx.data(),
                                  .factor = factor.data(),
                                  .epsilon = float(epsilon),
                                  .M = sizes.m,
                                  .N = sizes.n,
                                  .ldx = x.ld,
                                  .lddy = given.ld,
                                  .lddx = dx.ld},
                                 tile);
         });
}

template <typename T> void weights(int m, int n, int gap_x, int gap_dy, bool centered) {
  Rows<T> x(m, n, gap_x), dy(m, n, gap_dy, draw<float>);
  fill(x, centered);
  std::vector<Row> rows = rows_of(x, centered);
  Rows<float> mean(1, m, 0), factor(1, m, 0);
  mean.set([&](int, int row) { return rows[size_t(row)].mean; });
  factor.set([&](int, int row) { return rows[size_t(row)].factor; });
  std::vector<double> gains(size_t(n), 0), biases(size_t(n), 0), sizes(size_t(n), 0);
  for (int row = 0; row < m; row++)
    for (int i = 0; i < n; i++) {
      double above = (x.at(row, i) - mean.at(0, row)) * factor.at(0, row) * dy.at(row, i);
      gains[size_t(i)] += above;
      sizes[size_t(i)] += std::fabs(above);
      biases[size_t(i)] += dy.at(row, i);
    }
  auto test = [&](const char *kernel, const auto &tile, auto launch) {
    Rows<T> dgain(1, n, 0), dbias(1, n, 0);
    std::string problem = outcome(launch(dgain, dbias, tile));
    double most = *std::max_element(sizes.begin(), sizes.end());
    auto gain_of = [&](int, int i) { return gains[size_t(i)]; };
    auto bias_of = [&](int, int i) { return biases[size_t(i)]; };
    if (problem.empty()) // terms that cancel still have rounding errors
      problem = first_of({dgain.wrong("dgain", gain_of, rounding<T>(), 2e-6 * most),
                          centered ? dbias.wrong("dbias", bias_of, rounding<T>(), 1e-6 * m) : ""});
    check(text("%s<%s> TM=%d TN=%d M=%d N=%d", kernel, name_of<T>(), tile.TM, tile.TN, m, n),
          problem);
  };
  if (centered) {
    using Kernel = kernels::layer_norm_backward_weights<T>;
    for (const auto &tile : Kernel::variants())
      test("layer_norm_backward_weights", tile, [&](auto &dgain, auto &dbias, const auto &tile) {
        return Kernel::launch({},
                              {.x = x.data(),
                               .dy = dy.data(),
                               .mean = mean.data(),
                               .factor = factor.data(),
                               .dgain = dgain.data(),
                               .dbias = dbias.data(),
                               .M = m,
                               .N = n,
                               .ldx = x.ld,
                               .lddy = dy.ld},
                              tile);
      });
    return;
  }
  using Kernel = kernels::rms_norm_backward_weights<T>;
  for (const auto &tile : Kernel::variants())
    test("rms_norm_backward_weights", tile, [&](auto &dgain, auto &, const auto &tile) {
      return Kernel::launch({},
                            {.x = x.data(),
                             .dy = dy.data(),
                             .factor = factor.data(),
                             .dgain = dgain.data(),
                             .M = m,
                             .N = n,
                             .ldx = x.ld,
                             .lddy = dy.ld},
                            tile);
    });
}

// N = 0: the launch fails, because the mean does not exist. M = 0: the launch does nothing.
template <typename T, typename Kernel> void nothing(const char *kernel) {
  auto launch = [](T *y, int m, int n, const auto &tile) {
    typename Kernel::args arguments = {};
    arguments.x = arguments.gain = y;
    if constexpr (requires { arguments.dy; }) {
      arguments.dy = arguments.dx = y;
      arguments.factor = reinterpret_cast<float *>(y);
    } else {
      arguments.y = y;
    }
    if constexpr (requires { arguments.bias; })
      arguments.bias = y;
    if constexpr (requires { arguments.mean; })
      arguments.mean = reinterpret_cast<float *>(y);
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

template <typename T> void norms() {
  nothing<T, kernels::layer_norm<T>>("layer_norm");
  nothing<T, kernels::layer_norm_backward<T>>("layer_norm_backward");
  nothing<T, kernels::rms_norm<T>>("rms_norm");
  nothing<T, kernels::rms_norm_backward<T>>("rms_norm_backward");
  for (bool centered : {true, false}) {
    for (const RowSizes &sizes : row_sizes()) {
      forward<T>(sizes, centered);
      backward<T>(sizes, centered);
    }
    weights<T>(0, 5, 0, 0, centered);
    weights<T>(1, 1, 0, 0, centered);
    weights<T>(7, 64, 3, 0, centered);
    weights<T>(32, 100, 0, 1, centered);
    weights<T>(77, 33, 2, 5, centered);
    if (!emulated()) {
      weights<T>(1000, 517, 0, 3, centered);
      weights<T>(513, 4096, 0, 0, centered);
    }
  }
}

void test() {
  norms<tritonc::half>();
  norms<tritonc::bfloat16>();
  norms<float>();
}

const KernelTest norm("norms", test);

} // namespace
