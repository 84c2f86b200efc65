// Copies and transposes of random bits, for all element sizes.

#include "kernel_test.h"

#include <shipped_transpose.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_transpose;

// X is m x n. Gaps: elements between two rows of X and of Y.
struct Sizes {
  int m, n, gap_x, gap_y;
};

template <typename T, typename Launch>
void move(const std::string &what, const Sizes &sizes, bool transposes, Launch launch) {
  auto [m, n, gap_x, gap_y] = sizes;
  int rows = transposes ? n : m, columns = transposes ? m : n;
  int ldx = n + gap_x, ldy = columns + gap_y;
  Array<T> x(size_t(m - 1) * size_t(ldx) + size_t(n), draw_bits<T>);
  Array<T> y(size_t(rows - 1) * size_t(ldy) + size_t(columns));
  std::string problem = outcome(launch(x.data(), y.data(), ldx, ldy));
  y.read();
  for (size_t i = 0; i < y.size() && problem.empty(); i++) {
    int row = int(i / size_t(ldy)), column = int(i % size_t(ldy));
    size_t from = transposes ? size_t(column) * size_t(ldx) + size_t(row)
                             : size_t(row) * size_t(ldx) + size_t(column);
    if (column >= columns ? !y.is_untouched(i) : !same_bits(y[i], x[from]))
      problem = text("element (%d, %d) is wrong", row, column);
  }
  check(what + text(" %d x %d, gaps %d %d", m, n, gap_x, gap_y), problem);
}

template <typename T, typename Kernel, kernels::SIZES sizes>
void of_any_size(const char *name, const char *type, bool transposes) {
  constexpr int unit = sizes == kernels::SIZES::any ? 1 : 16 / sizeof(T);
  auto rounded_up = [](int size) { return (size + unit - 1) / unit * unit; };
  for (const auto &tile : Kernel::variants())
    for (auto [m, n, gap_x, gap_y] :
         {Sizes{1, 1, 0, 0}, Sizes{3, 200, 5, 1}, Sizes{200, 3, 0, 2}, Sizes{129, 77, 1, 3},
          Sizes{64, 128, 0, 0}, Sizes{1001, 517, 2, 0}}) {
      if (emulated() && m > 200)
        continue;
      int rows = rounded_up(m), columns = rounded_up(n);
      move<T>(text("%s<%s, %s> TM=%d TN=%d", name, type, unit == 1 ? "any" : "aligned", tile.TM,
                   tile.TN),
              {rows, columns, rounded_up(gap_x), rounded_up(gap_y)}, transposes,
              [&](T *x, T *y, int ldx, int ldy) {
                return Kernel::launch(
                    {}, {.X = x, .Y = y, .M = rows, .N = columns, .ldx = ldx, .ldy = ldy}, tile);
              });
    }
}

template <typename T> void of_any_size(const char *type) {
  using kernels::SIZES;
  of_any_size<T, kernels::copy<T, SIZES::any>, SIZES::any>("copy", type, false);
  of_any_size<T, kernels::copy<T, SIZES::aligned>, SIZES::aligned>("copy", type, false);
  of_any_size<T, kernels::transpose<T, SIZES::any>, SIZES::any>("transpose", type, true);
  of_any_size<T, kernels::transpose<T, SIZES::aligned>, SIZES::aligned>("transpose", type, true);
}

// Zero rows, zero columns, and row strides of billions of elements.
template <typename T, typename Kernel, kernels::SIZES sizes>
void at_the_limits(const char *name, const char *type, bool transposes) {
  constexpr int n = 16 / sizeof(T) * 5, far = FarRows<T>::distance;
  for (const auto &tile : Kernel::variants())
    for (auto [rows, columns] : {std::pair(0, n), std::pair(n, 0)})
      check_nothing<T>(text("%s<%s> of %d x %d", name, type, rows, columns),
                       [&, m = rows, k = columns](T *both) {
                         return Kernel::launch(
                             {}, {.X = both, .Y = both, .M = m, .N = k, .ldx = n, .ldy = n}, tile);
                       });
  if (emulated() || sizes != kernels::SIZES::any)
    return;
  constexpr int rows = FarRows<T>::rows;
  int columns = transposes ? rows : n;
  FarRows<T> x(rows, columns, draw_bits<T>), y(rows, columns);
  if (!x.is_there() || !y.is_there())
    return;
  for (const auto &tile : Kernel::variants()) {
    y.poison();
    std::string problem = outcome(Kernel::launch(
        {}, {.X = x.data(), .Y = y.data(), .M = rows, .N = columns, .ldx = far, .ldy = far}, tile));
    y.read();
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < columns && problem.empty(); j++)
        if (!same_bits(y.at(i, j), transposes ? x.at(j, i) : x.at(i, j)))
          problem = text("element (%d, %d) is wrong", i, j);
    check(text("%s<%s> with large row strides, TM=%d TN=%d", name, type, tile.TM, tile.TN),
          problem);
  }
}

template <typename T> void at_the_limits(const char *type) {
  using kernels::SIZES;
  at_the_limits<T, kernels::copy<T, SIZES::any>, SIZES::any>("copy", type, false);
  at_the_limits<T, kernels::copy<T, SIZES::aligned>, SIZES::aligned>("copy", type, false);
  at_the_limits<T, kernels::transpose<T, SIZES::any>, SIZES::any>("transpose", type, true);
  at_the_limits<T, kernels::transpose<T, SIZES::aligned>, SIZES::aligned>("transpose", type, true);
}

template <typename T> void basic_transpositions(const char *type) {
  using Kernel = kernels::transpose_basic<T>;
  for (const auto &tile : Kernel::variants())
    for (auto [m, n, gap_x, gap_y] : {Sizes{1, 1, 0, 0}, Sizes{1, 3, 8, 0}, Sizes{5, 1, 0, 16},
                                      Sizes{2, 3, 24, 8}, Sizes{17, 9, 0, 0}}) {
      if (emulated() && m > 5)
        continue;
      int rows = m * tile.TM, columns = n * tile.TN;
      move<T>(text("transpose_basic<%s> TM=%d TN=%d", type, tile.TM, tile.TN),
              {rows, columns, gap_x, gap_y}, true, [&](T *x, T *y, int ldx, int ldy) {
                return Kernel::launch(
                    {}, {.X = x, .Y = y, .M = rows, .N = columns, .ldx = ldx, .ldy = ldy}, tile);
              });
    }
}

// A grid has at most 65535 programs along its second axis. With more columns the runtime chooses a
// wider tile; with too many columns for the widest tile the launch fails.
void many_columns() {
  using T = std::uint8_t;
  using Kernel = kernels::transpose<T, kernels::SIZES::any>;
  int widest = 0, narrowest = 1 << 20;
  for (const auto &tile : Kernel::variants()) {
    widest = std::max(widest, int(tile.TN));
    narrowest = std::min(narrowest, int(tile.TN));
  }
  auto launch = [](T *x, T *y, int columns) {
    return Kernel::launch({}, {.X = x, .Y = y, .M = 1, .N = columns, .ldx = columns, .ldy = 1});
  };
  Array<T> little(1);
  bool is_refused = launch(little.data(), little.data(), 65535 * widest + 1).code() ==
                    tritonc::status_code::invalid_argument;
  check("transpose with too many columns", is_refused ? "" : "the launch succeeds");
  if (!emulated() && narrowest < widest)
    move<T>("transpose with many columns", {1, 65535 * narrowest + 1, 0, 0}, true,
            [&](T *x, T *y, int columns, int) { return launch(x, y, columns); });
}

void test() {
  many_columns();
  of_any_size<std::uint8_t>("uint8");
  of_any_size<tritonc::half>("half");
  of_any_size<float>("float");
  of_any_size<double>("double");
  at_the_limits<std::uint8_t>("uint8");
  at_the_limits<double>("double");
  basic_transpositions<tritonc::half>("half");
  basic_transpositions<float>("float");
}

const KernelTest transpose("transpose", test);

} // namespace
