// Softmax of rows, also with a mask, its logarithm, and its gradient; softmax of columns.

#include "rows.h"

#include <shipped_softmax.hpp>

#include <array>

namespace {

using namespace device_tests;
namespace kernels = shipped_softmax;

// The softmax of a row: exp(x - top) / sum.
struct Softmax {
  template <typename X> Softmax(const X &x, int row) {
    for (int i = 0; i < x.n; i++)
      top = std::max(top, x.at(row, i));
    for (int i = 0; i < x.n; i++)
      sum += std::exp(x.at(row, i) - top);
  }
  double of(double value) const { return std::exp(value - top) / sum; }
  /// The smallest positive T: the absolute error of subnormal results.
  template <typename T> static double smallest() {
    return std::is_same_v<T, tritonc::half> ? 0x1p-24 : 1e-38;
  }

  double top = -INFINITY, sum = 0;
};

// The logarithm of the softmax. The max of a row may cancel out.
struct LogSoftmax : Softmax {
  using Softmax::Softmax;
  double of(double value) const { return value - top - std::log(sum); }
  template <typename T> static double smallest() { return 1e-5; }
};

template <typename T, typename Kernel, typename Row = Softmax>
void forward(const char *kernel, const RowSizes &sizes, const typename Kernel::params &tile) {
  // In every third row, exp(x) would overflow.
  Rows<T> x(sizes.m, sizes.n, sizes.gap_in), given(sizes.m, sizes.n, sizes.gap_in);
  x.set([](int row, int) { return uniform(-8, 8) + (row % 3 == 2 ? 200 : 0); });
  given.set([&](int row, int column) { return x.at(row, column); });
  Rows<T> y(sizes.m, sizes.n, sizes.in_place ? sizes.gap_in : sizes.gap_out);
  Rows<T> &result = sizes.in_place ? given : y;
  std::string problem = outcome(Kernel::launch({},
                                               {.x = given.data(),
                                                .y = result.data(),
                                                .M = sizes.m,
                                                .N = sizes.n,
                                                .ldx = given.ld,
                                                .ldy = result.ld},
                                               tile));
  std::vector<Row> rows;
  for (int row = 0; row < sizes.m; row++)
    rows.emplace_back(x, row);
  auto right = [&](int row, int column) { return rows[size_t(row)].of(x.at(row, column)); };
  if (problem.empty())
    problem = result.wrong("y", right, rounding<T>(), Row::template smallest<T>());
  check(text("%s<%s> SIZE=%d", kernel, name_of<T>(), tile.SIZE) + sizes.text(), problem);
}

template <typename T>
void backward(const RowSizes &sizes, const typename kernels::softmax_backward<T>::params &tile) {
  Rows<T> y(sizes.m, sizes.n, sizes.gap_in), dy(sizes.m, sizes.n, sizes.gap_out, draw<float>);
  y.set([&](int, int) { return uniform(0, 2.0 / sizes.n); });
  Rows<T> copy(sizes.m, sizes.n, sizes.gap_out), dx(sizes.m, sizes.n, sizes.gap_in);
  copy.set([&](int row, int column) { return dy.at(row, column); });
  Rows<T> &result = sizes.in_place ? copy : dx;
  std::string problem = outcome(kernels::softmax_backward<T>::launch({},
                                                                     {.y = y.data(),
                                                                      .dy = copy.data(),
                                                                      .dx = result.data(),
                                                                      .M = sizes.m,
                                                                      .N = sizes.n,
                                                                      .ldy = y.ld,
                                                                      .lddy = copy.ld,
                                                                      .lddx = result.ld},
                                                                     tile));
  std::vector<double> sums(size_t(sizes.m));
  for (int row = 0; row < sizes.m; row++)
    for (int i = 0; i < sizes.n; i++)
      sums[size_t(row)] += y.at(row, i) * dy.at(row, i);
  auto right = [&](int row, int column) {
    return y.at(row, column) * (dy.at(row, column) - sums[size_t(row)]);
  };
  if (problem.empty()) // dy - sum may cancel out
    problem = result.wrong("dx", right, rounding<T>(), 1e-5 / sizes.n + Softmax::smallest<T>());
  check(text("softmax_backward<%s> SIZE=%d", name_of<T>(), tile.SIZE) + sizes.text(), problem);
}

// Rows with NaN and infinities; they must not change the other rows.
template <typename T, typename Kernel, typename Row = Softmax> void special(const char *kernel) {
  for (const auto &tile : Kernel::variants())
    for (int n : {2, 200, tile.SIZE}) {
      Rows<T> x = unusual<T>(n), y(unusual_count, n, 0);
      std::string problem = outcome(Kernel::launch(
          {}, {.x = x.data(), .y = y.data(), .M = x.m, .N = n, .ldx = n, .ldy = n}, tile));
      std::vector<Row> rows; // gives the same NaN and infinities
      for (int row = 0; row < x.m; row++)
        rows.emplace_back(x, row);
      auto right = [&](int row, int column) { return rows[size_t(row)].of(x.at(row, column)); };
      if (problem.empty())
        problem = y.wrong("y", right, rounding<T>(), Row::template smallest<T>());
      check(text("%s<%s> of NaN and infinities, SIZE=%d N=%d", kernel, name_of<T>(), tile.SIZE, n),
            problem);
    }
}

// A mask whose rows are shared. One in seven elements is hidden, and all elements of mask row 1. Or a
// causal mask: with more queries than elements, the first queries see none.
template <typename T, kernels::MASK MASK> void masked(const RowSizes &sizes, int mask_rows) {
  using Kernel = kernels::softmax_masked<T, MASK>;
  using Mask = std::conditional_t<MASK == kernels::MASK::add, T, std::uint8_t>;
  constexpr bool is_causal = MASK == kernels::MASK::causal;
  const double scale = 0.25;
  Rows<T> x(sizes.m, sizes.n, sizes.gap_in);
  x.set([](int row, int) { return uniform(-8, 8) + (row % 3 == 2 ? 200 : 0); });
  const int batch = 2 * mask_rows; // rows of a batch
  Rows<Mask> mask((sizes.m + batch - 1) / batch * mask_rows, sizes.n, 3);
  mask.set([](int row, int column) {
    bool is_hidden = column % 7 == 3 || row == 1;
    return MASK != kernels::MASK::add ? (is_hidden ? 0 : 1 + column % 200)
           : is_hidden                ? -INFINITY
                                      : float(uniform(-2, 2));
  });
  Rows<double> sums(sizes.m, sizes.n, 0);
  sums.set([&](int row, int column) {
    double element = mask.at(row / batch * mask_rows + row % mask_rows, column),
           score = x.at(row, column) * scale;
    bool is_seen = MASK == kernels::MASK::keep ? element != 0
                                               : column <= row % mask_rows + sizes.n - mask_rows;
    return MASK == kernels::MASK::add ? score + element : is_seen ? score : -INFINITY;
  });
  std::vector<Softmax> rows;
  for (int row = 0; row < sizes.m; row++)
    rows.emplace_back(sums, row);
  auto right = [&](int row, int column) {
    const Softmax &softmax = rows[size_t(row)];
    return std::isinf(softmax.top) ? 0 : softmax.of(sums.at(row, column));
  };
  for (const auto &tile : Kernel::variants()) {
    Rows<T> given(sizes.m, sizes.n, sizes.gap_in), y(sizes.m, sizes.n, sizes.gap_out);
    given.set([&](int row, int column) { return x.at(row, column); });
    Rows<T> &result = sizes.in_place ? given : y;
    std::string problem = outcome(Kernel::launch({},
                                                 {.x = given.data(),
                                                  .mask = is_causal ? nullptr : mask.data(),
                                                  .y = result.data(),
                                                  .scale = float(scale),
                                                  .M = sizes.m,
                                                  .N = sizes.n,
                                                  .R = mask_rows,
                                                  .B = batch,
                                                  .ldx = given.ld,
                                                  .ldm = mask.ld,
                                                  .ldb = std::int64_t(mask_rows) * mask.ld,
                                                  .ldy = result.ld},
                                                 tile));
    if (problem.empty()) // the sums are rounded to float
      problem = result.wrong("y", right, rounding<T>() + 2e-5, Softmax::smallest<T>());
    check(text("softmax_masked<%s, %s> SIZE=%d R=%d", name_of<T>(),
               is_causal                    ? "causal"
               : MASK == kernels::MASK::add ? "add"
                                            : "keep",
               tile.SIZE, mask_rows) +
              sizes.text(),
          problem);
  }
}

// NaN and infinities, of which a mask hides the first column.
template <typename T> void special_masked() {
  using Kernel = kernels::softmax_masked<T, kernels::MASK::keep>;
  constexpr int n = 200;
  for (const auto &tile : Kernel::variants()) {
    Rows<T> x = unusual<T>(n), y(unusual_count, n, 0), seen = unusual<T>(n);
    Rows<std::uint8_t> mask(1, n, 0);
    mask.set([](int, int column) { return column != 0; });
    seen.set([&](int row, int column) { return column ? x.at(row, column) : -INFINITY; });
    std::string problem = outcome(Kernel::launch({},
                                                 {.x = x.data(),
                                                  .mask = mask.data(),
                                                  .y = y.data(),
                                                  .scale = 1,
                                                  .M = x.m,
                                                  .N = n,
                                                  .R = 1,
                                                  .B = 1,
                                                  .ldx = n,
                                                  .ldm = n,
                                                  .ldb = 0,
                                                  .ldy = n},
                                                 tile));
    std::vector<Softmax> rows;
    for (int row = 0; row < x.m; row++)
      rows.emplace_back(seen, row);
    auto right = [&](int row, int column) {
      const Softmax &softmax = rows[size_t(row)];
      return softmax.top == -INFINITY ? 0 : softmax.of(seen.at(row, column));
    };
    if (problem.empty())
      problem = y.wrong("y", right, rounding<T>(), Softmax::smallest<T>());
    check(text("softmax_masked<%s> of NaN and infinities, SIZE=%d", name_of<T>(), tile.SIZE),
          problem);
  }
}

// M = 0, or N = 0.
template <typename T, typename Kernel> void nothing(const char *kernel) {
  for (const auto &tile : Kernel::variants())
    for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)})
      check_nothing<T>(text("%s<%s> of %d x %d", kernel, name_of<T>(), m, n),
                       [&, rows = m, columns = n](T *y) {
                         typename Kernel::args arguments = {};
                         if constexpr (requires { arguments.dy; })
                           arguments.y = arguments.dy = arguments.dx = y;
                         else
                           arguments.x = arguments.y = y;
                         if constexpr (requires { arguments.mask; }) {
                           arguments.mask = y;
                           arguments.R = arguments.B = 1;
                         }
                         arguments.M = rows;
                         arguments.N = columns;
                         return Kernel::launch({}, arguments, tile);
                       });
}

// Row strides of billions of elements.
template <typename T, typename Kernel> void far_apart(const char *kernel) {
  constexpr int m = FarRows<T>::rows, n = 100;
  if (emulated())
    return;
  FarRows<T> x(m, n, draw<T>), y(m, n);
  if (!x.is_there() || !y.is_there())
    return;
  Rows<T> near(m, n, 0);
  near.set([&](int row, int column) { return as_double(x.at(row, column)); });
  for (const auto &tile : Kernel::variants()) {
    y.poison();
    std::string problem = outcome(Kernel::launch({},
                                                 {.x = x.data(),
                                                  .y = y.data(),
                                                  .M = m,
                                                  .N = n,
                                                  .ldx = FarRows<T>::distance,
                                                  .ldy = FarRows<T>::distance},
                                                 tile));
    y.read();
    for (int row = 0; row < m; row++) {
      Softmax reference(near, row);
      for (int i = 0; i < n && problem.empty(); i++) {
        double right = reference.of(near.at(row, i)), is = as_double(y.at(row, i));
        if (!(std::fabs(is - right) <= rounding<T>() * right))
          problem = text("element (%d, %d) is %.9g, not %.9g", row, i, is, right);
      }
    }
    check(text("%s<%s> with large row strides, SIZE=%d", kernel, name_of<T>(), tile.SIZE), problem);
  }
}

// Layers of K x Q elements, row after row: a softmax of each column. In every third column, exp(x)
// would overflow. Column 1 has a NaN, column 2 an infinity, and column 3 only -infinity.
template <typename T> void inner() {
  struct Sizes {
    int p, k, q, gap;
    bool in_place;
  };
  std::vector<Sizes> all = {{1, 1, 1, 0, false}, {3, 7, 33, 2, false}, {2, 70, 200, 0, true}};
  if (!emulated())
    all.insert(all.end(), {{4, 1003, 517, 5, false}, {65535, 5, 3, 1, false}});
  for (auto [p, k, q, gap, in_place] : all)
    for (const auto &tile : kernels::softmax_inner<T>::variants()) {
      Rows<T> x(p * k, q, gap), given(p * k, q, gap);
      x.set([layer = k](int row, int column) {
        if (column == 3)
          return -INFINITY;
        if ((column == 1 || column == 2) && row % layer == layer / 2)
          return column == 1 ? NAN : INFINITY;
        return float(uniform(-8, 8) + (column % 3 == 2 ? 200 : 0));
      });
      given.set([&](int row, int column) { return x.at(row, column); });
      Rows<T> y(p * k, q, in_place ? gap : gap + 3);
      Rows<T> &result = in_place ? given : y;
      std::string problem = outcome(kernels::softmax_inner<T>::launch({},
                                                                      {.x = given.data(),
                                                                       .y = result.data(),
                                                                       .P = p,
                                                                       .K = k,
                                                                       .Q = q,
                                                                       .xp = k * given.ld,
                                                                       .xk = given.ld,
                                                                       .yp = k * result.ld,
                                                                       .yk = result.ld},
                                                                      tile));
      struct Column {
        const Rows<T> &x;
        int first, column, n;
        double at(int, int k) const { return x.at(first + k, column); }
      };
      std::vector<Softmax> columns;
      for (int layer = 0; layer < p; layer++)
        for (int column = 0; column < q; column++)
          columns.emplace_back(Column{x, layer * k, column, k}, 0);
      auto right = [&, height = k, width = q](int row, int column) {
        return columns[size_t(row / height * width + column)].of(x.at(row, column));
      };
      if (problem.empty())
        problem = result.wrong("y", right, rounding<T>(), Softmax::smallest<T>());
      check(text("softmax_inner<%s> TQ=%d SIZE=%d %d x %d x %d%s", name_of<T>(), tile.TQ, tile.SIZE,
                 p, k, q, in_place ? " in place" : ""),
            problem);
    }
}

template <typename T> void softmaxes() {
  inner<T>();
  for (auto [p, k, q] : {std::array{0, 3, 3}, std::array{3, 0, 3}, std::array{3, 3, 0}})
    check_nothing<T>("softmax_inner of 0 elements", [p = p, k = k, q = q](T *y) {
      return kernels::softmax_inner<T>::launch(
          {}, {.x = y, .y = y, .P = p, .K = k, .Q = q, .xp = 9, .xk = 3, .yp = 9, .yk = 3});
    });
  special<T, kernels::softmax<T>>("softmax");
  nothing<T, kernels::softmax<T>>("softmax");
  nothing<T, kernels::softmax_backward<T>>("softmax_backward");
  far_apart<T, kernels::softmax<T>>("softmax");
  special<T, kernels::log_softmax<T>, LogSoftmax>("log_softmax");
  nothing<T, kernels::log_softmax<T>>("log_softmax");
  special_masked<T>();
  nothing<T, kernels::softmax_masked<T, kernels::MASK::add>>("softmax_masked");
  for (const RowSizes &sizes : row_sizes()) {
    for (const auto &tile : kernels::softmax<T>::variants())
      forward<T, kernels::softmax<T>>("softmax", sizes, tile);
    for (const auto &tile : kernels::softmax_backward<T>::variants())
      backward<T>(sizes, tile);
    for (const auto &tile : kernels::log_softmax<T>::variants())
      forward<T, kernels::log_softmax<T>, LogSoftmax>("log_softmax", sizes, tile);
    for (int mask_rows : {1, 2, 1000}) {
      masked<T, kernels::MASK::add>(sizes, mask_rows);
      masked<T, kernels::MASK::keep>(sizes, mask_rows);
      masked<T, kernels::MASK::causal>(sizes, mask_rows);
    }
  }
}

void test() {
  softmaxes<tritonc::half>();
  softmaxes<tritonc::bfloat16>();
  softmaxes<float>();
}

const KernelTest softmax("softmax", test);

} // namespace
