// Sums, maxima, minima and their indices, means and variances, along each axis of tensors.

#include "kernel_test.h"

#include <shipped_reduce.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_reduce;
using kernels::AXIS;
using kernels::OF;
using kernels::OP;

// X[p, q, k] lies at p * xp + q * xq + k * xk, Y[p, q] at p * yp + q.
struct Layout {
  int p, q, k, xp, xq, xk, yp;

  size_t in_x(int i, int j, int l) const {
    return size_t(i) * size_t(xp) + size_t(j) * size_t(xq) + size_t(l) * size_t(xk);
  }
  size_t in_y(int i, int j) const { return size_t(i) * size_t(yp) + size_t(j); }
  size_t x_size() const { return p && q && k ? in_x(p - 1, q - 1, k - 1) + 1 : 0; }
  size_t y_size() const { return in_y(p - 1, q - 1) + 1; }
};

Layout layout_of(bool is_last, int p, int q, int k, int gap) {
  Layout layout{p, q, k, 0, 1, 1, q + gap};
  (is_last ? layout.xq : layout.xk) = (is_last ? k : q) + gap;
  layout.xp = (is_last ? q * layout.xq : k * layout.xk) + gap;
  return layout;
}

// Layouts of vectors, matrices and tensors.
std::vector<Layout> layouts(bool is_last) {
  std::vector<Layout> all = {layout_of(is_last, 1, 1, 1, 0),  layout_of(is_last, 1, 1, 1001, 0),
                             layout_of(is_last, 1, 33, 7, 1), layout_of(is_last, 1, 70, 260, 3),
                             layout_of(is_last, 3, 5, 31, 2), layout_of(is_last, 4, 64, 128, 0),
                             layout_of(is_last, 2, 9, 0, 1)};
  if (!emulated()) {
    all.push_back(layout_of(is_last, 1, 1, 1000003, 0));
    all.push_back(layout_of(is_last, 1, 1003, 517, 5));
    all.push_back(layout_of(is_last, 65535, 3, 5, 1));
  }
  return all;
}

// Few different values, so that some are equal. has_nans: also NaN, and one result of only NaN.
template <typename T> void fill(Array<T> &x, const Layout &layout, bool has_nans) {
  x.fill([] { return T(float(int(generator() % 401) - 200) / 8); });
  if (has_nans)
    for (size_t i = 0; i < x.size(); i++)
      if (generator() % 5 == 0)
        x[i] = T(std::numeric_limits<float>::quiet_NaN());
  if (has_nans && layout.k)
    for (int k = 0; k < layout.k; k++)
      x[layout.in_x(layout.p - 1, 0, k)] = T(std::numeric_limits<float>::quiet_NaN());
  x.write();
}

template <typename T, OP op, AXIS axis> void reduce(const char *type, const char *name) {
  using Kernel = kernels::reduce<T, op, axis>;
  constexpr bool is_sum = op == OP::sum || op == OP::mean || op == OP::norm;
  for (const Layout &layout : layouts(axis == AXIS::last)) {
    Array<T> x(layout.x_size());
    fill(x, layout, !is_sum);
    Expected expected(layout.y_size());
    double magnitude = 0;
    for (int p = 0; p < layout.p; p++)
      for (int q = 0; q < layout.q; q++) {
        double result = is_sum ? 0 : op == OP::max ? -INFINITY : INFINITY, all = 0;
        for (int k = 0; k < layout.k; k++) {
          double value = x.at(layout.in_x(p, q, k));
          all += std::fabs(value);
          result = op == OP::norm  ? result + value * value
                   : is_sum        ? result + value
                   : op == OP::max ? std::fmax(result, value)
                                   : std::fmin(result, value);
        }
        if (op == OP::mean)
          all /= std::max(layout.k, 1), result /= layout.k;
        if (op == OP::norm) // the relative error of a root is half of that of the sum of squares
          all = result = std::sqrt(result);
        magnitude = std::max(magnitude, all);
        expected.set(layout.in_y(p, q), as_double(T(float(result))));
      }
    for (const auto &tile : Kernel::variants()) {
      Array<T> y(layout.y_size());
      std::string problem = outcome(Kernel::launch({},
                                                   {.X = x.data(),
                                                    .Y = y.data(),
                                                    .P = layout.p,
                                                    .Q = layout.q,
                                                    .K = layout.k,
                                                    .xp = layout.xp,
                                                    .xq = layout.xq,
                                                    .xk = layout.xk,
                                                    .yp = layout.yp},
                                                   tile));
      // Sums may be off by one rounding; in float each addition rounds.
      double relative = !is_sum                            ? 0
                        : sizeof(T) == 4                   ? 1e-6
                        : std::is_same_v<T, tritonc::half> ? 1e-3
                                                           : 8e-3;
      double absolute = is_sum ? 1e-8 * magnitude : 0;
      if (problem.empty())
        problem = compare(y, expected, relative, absolute);
      check(text("reduce<%s, %s, %s> TQ=%d %d x %d x %d", type, name,
                 axis == AXIS::last ? "last" : "inner", tile.TQ, layout.p, layout.q, layout.k),
            problem);
    }
  }
}

// `center`: a mean that is large relative to the deviation. `step`: added to the elements of the first
// half, so that the first elements are far from the mean.
template <typename T, AXIS axis> void moments(const char *type, double center, double step) {
  using Kernel = kernels::moments<T, axis>;
  for (const Layout &layout : layouts(axis == AXIS::last)) {
    Array<T> x(layout.x_size());
    fill(x, layout, false);
    for (int p = 0; p < layout.p; p++)
      for (int q = 0; q < layout.q; q++)
        for (int k = 0; k < layout.k; k++) {
          T &element = x[layout.in_x(p, q, k)];
          element = T(float(as_double(element) / 64 + center + (2 * k < layout.k ? step : 0)));
        }
    if (layout.p * layout.q > 2 && layout.k) // of two results, one is NaN and one infinity
      for (int q : {1, 2}) {
        float unusual = q == 1 ? NAN : INFINITY;
        x[layout.in_x(layout.p - 1, std::min(q, layout.q - 1), layout.k / 2)] = T(unusual);
      }
    x.write();
    for (int correction : {0, 1}) {
      Expected means(layout.y_size()), variances(layout.y_size());
      for (int p = 0; p < layout.p; p++)
        for (int q = 0; q < layout.q; q++) {
          double mean = 0, squares = 0;
          for (int k = 0; k < layout.k; k++)
            mean += x.at(layout.in_x(p, q, k));
          mean /= layout.k;
          for (int k = 0; k < layout.k; k++)
            squares += std::pow(x.at(layout.in_x(p, q, k)) - mean, 2);
          means.set(layout.in_y(p, q), mean);
          variances.set(layout.in_y(p, q), layout.k ? squares / (layout.k - correction) : NAN);
        }
      for (const auto &tile : Kernel::variants()) {
        Array<float> mean(layout.y_size()), variance(layout.y_size());
        std::string problem = outcome(Kernel::launch({},
                                                     {.X = x.data(),
                                                      .MEAN = mean.data(),
                                                      .VARIANCE = variance.data(),
                                                      .correction = correction,
                                                      .P = layout.p,
                                                      .Q = layout.q,
                                                      .K = layout.k,
                                                      .xp = layout.xp,
                                                      .xq = layout.xq,
                                                      .xk = layout.xk,
                                                      .yp = layout.yp},
                                                     tile));
        if (problem.empty())
          problem = compare(mean, means, 1e-5);
        if (problem.empty())
          problem = compare(variance, variances, 1e-4, 1e-9);
        check(text("moments<%s, %s> TQ=%d SIZE=%d %d x %d x %d correction %d center %g step %g",
                   type, axis == AXIS::last ? "last" : "inner", tile.TQ, tile.SIZE, layout.p,
                   layout.q, layout.k, correction, center, step),
              problem);
      }
    }
  }
}

// The mean of a long row of 16-bit numbers, whose first tile has a mean with many bits. The distances
// from it are all alike. With these bits, they would all round in the same direction.
template <typename T, AXIS axis> void mean_of_long_row(const char *type) {
  using Kernel = kernels::moments<T, axis>;
  const int length = 200003;
  Array<T> x(length);
  double sum = 0;
  for (int k = 0; k < length; k++) {
    x[k] = T(k == 0 ? 0x3p-16f : k < 128 ? 0.75f : 0.25f);
    sum += as_double(x[k]);
  }
  x.write();
  Expected means(1);
  means.set(0, sum / length);
  for (const auto &tile : Kernel::variants()) {
    Array<float> mean(1), variance(1);
    std::string problem = outcome(Kernel::launch({},
                                                 {.X = x.data(),
                                                  .MEAN = mean.data(),
                                                  .VARIANCE = variance.data(),
                                                  .P = 1,
                                                  .Q = 1,
                                                  .K = length,
                                                  .xp = length,
                                                  .xq = axis == AXIS::last ? length : 1,
                                                  .xk = 1,
                                                  .yp = 1},
                                                 tile));
    if (problem.empty())
      problem = compare(mean, means, 5e-7);
    check(text("mean of a long row, moments<%s, %s> TQ=%d SIZE=%d", type,
               axis == AXIS::last ? "last" : "inner", tile.TQ, tile.SIZE),
          problem);
  }
}

template <typename T, OF of, AXIS axis> void find(const char *type) {
  using Kernel = kernels::argmax<T, of, axis>;
  for (const Layout &layout : layouts(axis == AXIS::last)) {
    Array<T> x(layout.x_size());
    fill(x, layout, true);
    Expected best(layout.y_size()), places(layout.y_size());
    for (int p = 0; p < layout.p; p++)
      for (int q = 0; q < layout.q; q++) {
        double result = NAN;
        int place = -1;
        for (int k = 0; k < layout.k; k++) {
          double value = x.at(layout.in_x(p, q, k));
          if (!std::isnan(value) &&
              (place < 0 || (of == OF::max ? value > result : value < result))) {
            result = value;
            place = k;
          }
        }
        best.set(layout.in_y(p, q), result);
        places.set(layout.in_y(p, q), place);
      }
    for (const auto &tile : Kernel::variants()) {
      Array<T> y(layout.y_size());
      Array<std::int32_t> at(layout.y_size());
      std::string problem = outcome(Kernel::launch({},
                                                   {.X = x.data(),
                                                    .Y = y.data(),
                                                    .INDEX = at.data(),
                                                    .P = layout.p,
                                                    .Q = layout.q,
                                                    .K = layout.k,
                                                    .xp = layout.xp,
                                                    .xq = layout.xq,
                                                    .xk = layout.xk,
                                                    .yp = layout.yp},
                                                   tile));
      if (problem.empty())
        problem = compare(y, best);
      if (problem.empty())
        problem = compare(at, places);
      check(text("argmax<%s, %s, %s> TQ=%d %d x %d x %d", type, of == OF::max ? "max" : "min",
                 axis == AXIS::last ? "last" : "inner", tile.TQ, layout.p, layout.q, layout.k),
            problem);
    }
  }
}

// Strides of billions of elements: between layers, between rows, and along K.
template <typename T, AXIS axis> void far_apart(const char *type) {
  constexpr int rows = FarRows<T>::rows, columns = 5, far = FarRows<T>::distance;
  if (emulated())
    return;
  FarRows<T> x(rows, columns, [] { return T(float(int(generator() % 401) - 200) / 8); });
  if (!x.is_there())
    return;
  for (bool in_layers : {true, false}) {
    // Element (p, q, k) in `x`:
    //
    //                  K is last          K is not last
    //     in layers    (p, 0, k) x[p, k]  (p, q, 0) x[p, q]
    //     otherwise    (0, q, k) x[q, k]  (0, q, k) x[k, q]
    bool is_last = axis == AXIS::last;
    Layout layout{in_layers ? rows : 1,
                  in_layers ? (is_last ? 1 : columns) : (is_last ? rows : columns),
                  is_last ? columns : (in_layers ? 1 : rows),
                  in_layers ? far : 0,
                  is_last ? far : 1,
                  is_last ? 1 : far,
                  columns};
    auto element = [&](int p, int q, int k) {
      return as_double(is_last ? x.at(in_layers ? p : q, k) : x.at(in_layers ? p : k, q));
    };
    Expected sums(layout.y_size()), largest(layout.y_size()), places(layout.y_size());
    for (int p = 0; p < layout.p; p++)
      for (int q = 0; q < layout.q; q++) {
        double sum = 0;
        int place = 0;
        for (int k = 0; k < layout.k; k++) {
          sum += element(p, q, k);
          place = element(p, q, k) > element(p, q, place) ? k : place;
        }
        sums.set(layout.in_y(p, q), as_double(T(float(sum))));
        largest.set(layout.in_y(p, q), element(p, q, place));
        places.set(layout.in_y(p, q), place);
      }
    auto launch = [&](auto arguments, auto kernel, const auto &tile) {
      arguments.X = x.data();
      arguments.P = layout.p, arguments.Q = layout.q, arguments.K = layout.k;
      arguments.xp = layout.xp, arguments.xq = layout.xq, arguments.xk = layout.xk;
      arguments.yp = layout.yp;
      return outcome(decltype(kernel)::launch({}, arguments, tile));
    };
    auto name = [&](const char *kernel, const auto &tile) {
      return text("%s<%s, %s>, large %s strides, TQ=%d", kernel, type, is_last ? "last" : "inner",
                  in_layers ? "layer" : "row", tile.TQ);
    };
    using Sum = kernels::reduce<T, OP::sum, axis>;
    for (const auto &tile : Sum::variants()) {
      Array<T> y(layout.y_size());
      std::string problem = launch(typename Sum::args{.Y = y.data()}, Sum(), tile);
      check(name("reduce", tile), problem.empty() ? compare(y, sums) : problem);
    }
    using Place = kernels::argmax<T, OF::max, axis>;
    for (const auto &tile : Place::variants()) {
      Array<T> y(layout.y_size());
      Array<std::int32_t> at(layout.y_size());
      std::string problem =
          launch(typename Place::args{.Y = y.data(), .INDEX = at.data()}, Place(), tile);
      problem = problem.empty() ? compare(y, largest) : problem;
      check(name("argmax", tile), problem.empty() ? compare(at, places) : problem);
    }
  }
}

// P = 0 or Q = 0.
template <typename T, AXIS axis> void nothing() {
  using Kernel = kernels::reduce<T, OP::max, axis>;
  for (const auto &tile : Kernel::variants())
    for (auto [p, q] : {std::pair(0, 3), std::pair(3, 0)})
      check_nothing<T>("reduce with 0 results", [&, rows = p, columns = q](T *y) {
        return Kernel::launch(
            {},
            {.X = y, .Y = y, .P = rows, .Q = columns, .K = 5, .xp = 9, .xq = 1, .xk = 1, .yp = 3},
            tile);
      });
  for (auto [p, q] : {std::pair(0, 3), std::pair(3, 0)})
    check_nothing<float>("moments with 0 results", [rows = p, columns = q](float *y) {
      typename kernels::moments<T, axis>::args arguments = {.MEAN = y, .VARIANCE = y};
      arguments.X = reinterpret_cast<T *>(y);
      arguments.P = rows;
      arguments.Q = columns;
      arguments.xq = arguments.xk = 1;
      return kernels::moments<T, axis>::launch({}, arguments);
    });
}

template <typename T, AXIS axis> void along(const char *type) {
  far_apart<T, axis>(type);
  nothing<T, axis>();
  reduce<T, OP::sum, axis>(type, "sum");
  reduce<T, OP::mean, axis>(type, "mean");
  reduce<T, OP::norm, axis>(type, "norm");
  reduce<T, OP::max, axis>(type, "max");
  reduce<T, OP::min, axis>(type, "min");
  find<T, OF::max, axis>(type);
  find<T, OF::min, axis>(type);
  moments<T, axis>(type, 8, 0);
  moments<T, axis>(type, 0, 100);
  if constexpr (sizeof(T) == 4)
    moments<T, axis>(type, 2300, 0); // 10000 standard deviations
  else
    mean_of_long_row<T, axis>(type);
}

template <typename T> void along(const char *type) {
  along<T, AXIS::last>(type);
  along<T, AXIS::inner>(type);
}

void test() {
  along<tritonc::half>("half");
  along<tritonc::bfloat16>("bfloat16");
  along<float>("float");
}

const KernelTest reductions("reduce", test);

} // namespace
