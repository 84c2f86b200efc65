// Permutations of three axes, on random bits, for all element sizes.

#include "kernel_test.h"

#include <shipped_permute.hpp>

#include <array>

namespace {

using namespace device_tests;
namespace kernels = shipped_permute;
using kernels::LAST;
using kernels::SIZES;

using Three = std::array<int, 3>;

// Y has X's axes in this order; its last axis is LAST. Rows and layers have gaps.
template <typename T, SIZES sizes, LAST last>
void permute_to(const char *type, const Three &order, Three extents) {
  using Kernel = kernels::permute<T, sizes, last>;
  constexpr int unit = sizes == SIZES::any ? 1 : 16 / sizeof(T);
  for (int &extent : extents)
    extent = (extent + unit - 1) / unit * unit;
  auto [d0, d1, d2] = extents;
  Three from = {d1 * (d2 + 2 * unit) + unit, d2 + 2 * unit, 1}, to;
  to[size_t(order[2])] = 1;
  to[size_t(order[1])] = extents[size_t(order[2])] + unit;
  to[size_t(order[0])] = to[size_t(order[1])] * extents[size_t(order[1])] + 3 * unit;
  auto place = [](const Three &strides, int i, int j, int k) {
    return size_t(i) * size_t(strides[0]) + size_t(j) * size_t(strides[1]) +
           size_t(k) * size_t(strides[2]);
  };
  for (const auto &tile : Kernel::variants()) {
    Array<T> x(place(from, d0 - 1, d1 - 1, d2 - 1) + 1, draw_bits<T>);
    Array<T> y(place(to, d0 - 1, d1 - 1, d2 - 1) + 1);
    std::string problem = outcome(Kernel::launch({},
                                                 {.X = x.data(),
                                                  .Y = y.data(),
                                                  .D0 = d0,
                                                  .D1 = d1,
                                                  .D2 = d2,
                                                  .x0 = from[0],
                                                  .x1 = from[1],
                                                  .y0 = to[0],
                                                  .y1 = to[1],
                                                  .y2 = to[2]},
                                                 tile));
    y.read();
    std::vector<bool> written(y.size());
    for (int i = 0; i < d0 && problem.empty(); i++)
      for (int j = 0; j < d1; j++)
        for (int k = 0; k < d2; k++) {
          size_t at = place(to, i, j, k);
          written[at] = true;
          if (!same_bits(y[at], x[place(from, i, j, k)]))
            problem = text("element (%d, %d, %d) is wrong", i, j, k);
        }
    for (size_t i = 0; i < y.size() && problem.empty(); i++)
      if (!written[i] && !y.is_untouched(i))
        problem = text("element %zu was written", i);
    check(text("permute<%s, %s> to %d %d %d, TM=%d TN=%d, %d x %d x %d", type,
               unit == 1 ? "any" : "aligned", order[0], order[1], order[2], tile.TM, tile.TN, d0,
               d1, d2),
          problem);
  }
}

// X's layers and Y's rows have strides of billions of elements.
template <typename T, LAST last> void far_apart(const char *type) {
  using Kernel = kernels::permute<T, SIZES::any, last>;
  constexpr int far = FarRows<T>::distance, d0 = FarRows<T>::rows, d1 = FarRows<T>::rows, d2 = 5;
  if (emulated())
    return;
  FarRows<T> x(d0, d1 * d2, draw_bits<T>), y(d0, d1 * d2);
  if (!x.is_there() || !y.is_there())
    return;
  // The row and the column of element (i, j, k) in Y.
  auto row = [](int i, int j) { return last == LAST::i ? j : i; };
  auto column = [](int i, int j, int k) {
    return last == LAST::i ? k * d0 + i : last == LAST::j ? k * d1 + j : j * d2 + k;
  };
  for (const auto &tile : Kernel::variants()) {
    y.poison();
    std::string problem = outcome(Kernel::launch({},
                                                 {.X = x.data(),
                                                  .Y = y.data(),
                                                  .D0 = d0,
                                                  .D1 = d1,
                                                  .D2 = d2,
                                                  .x0 = far,
                                                  .x1 = d2,
                                                  .y0 = last == LAST::i ? 1 : far,
                                                  .y1 = last == LAST::i   ? far
                                                        : last == LAST::j ? 1
                                                                          : d2,
                                                  .y2 = column(0, 0, 1)},
                                                 tile));
    y.read();
    for (int i = 0; i < d0; i++)
      for (int j = 0; j < d1; j++)
        for (int k = 0; k < d2 && problem.empty(); k++)
          if (!same_bits(y.at(row(i, j), column(i, j, k)), x.at(i, j * d2 + k)))
            problem = text("element (%d, %d, %d) is wrong", i, j, k);
    check(text("permute<%s>, large strides, last axis %d, TM=%d TN=%d", type, int(last), tile.TM,
               tile.TN),
          problem);
  }
}

// One of the three extents is 0.
template <typename T, SIZES sizes> void nothing(const char *type) {
  using Kernel = kernels::permute<T, sizes, LAST::k>;
  constexpr int n = 16 / sizeof(T);
  for (const auto &tile : Kernel::variants())
    for (const Three &extents : {Three{0, n, n}, Three{n, 0, n}, Three{n, n, 0}})
      check_nothing<T>(text("permute<%s> of 0 elements", type), [&](T *both) {
        return Kernel::launch({},
                              {.X = both,
                               .Y = both,
                               .D0 = extents[0],
                               .D1 = extents[1],
                               .D2 = extents[2],
                               .x0 = n,
                               .x1 = n,
                               .y0 = n,
                               .y1 = n,
                               .y2 = 1},
                              tile);
      });
}

template <typename T, SIZES sizes> void permute(const char *type) {
  for (const Three &extents : {Three{1, 1, 1}, Three{3, 5, 70}, Three{64, 2, 32}, Three{5, 77, 3},
                               Three{130, 4, 65}, Three{40, 33, 67}}) {
    if (emulated() && extents[0] >= 40)
      continue;
    permute_to<T, sizes, LAST::i>(type, {1, 2, 0}, extents);
    permute_to<T, sizes, LAST::i>(type, {2, 1, 0}, extents);
    permute_to<T, sizes, LAST::j>(type, {0, 2, 1}, extents);
    permute_to<T, sizes, LAST::j>(type, {2, 0, 1}, extents);
    permute_to<T, sizes, LAST::k>(type, {0, 1, 2}, extents);
    permute_to<T, sizes, LAST::k>(type, {1, 0, 2}, extents);
  }
}

template <typename T> void permute(const char *type) {
  permute<T, SIZES::any>(type);
  permute<T, SIZES::aligned>(type);
  nothing<T, SIZES::any>(type);
  nothing<T, SIZES::aligned>(type);
  far_apart<T, LAST::i>(type);
  far_apart<T, LAST::j>(type);
  far_apart<T, LAST::k>(type);
}

void test() {
  permute<std::uint8_t>("uint8");
  permute<tritonc::half>("half");
  permute<float>("float");
  permute<double>("double");
}

const KernelTest permutations("permute", test);

} // namespace
