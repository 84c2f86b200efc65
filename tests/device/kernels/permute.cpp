// Permutations of three axes: bits, of all sizes of numbers.

#include "kernel_test.h"

#include <shipped_permute.hpp>

#include <array>

namespace {

using namespace device_tests;
namespace kernels = shipped_permute;
using kernels::LAST;
using kernels::SIZES;

using Three = std::array<int, 3>;

// Y's axes are X's in this order, of which the last one is LAST. Rows and layers have gaps.
template <typename T, SIZES promise, LAST last>
void permute_to(const char *type, const Three &order, Three extents) {
  using Kernel = kernels::permute<T, promise, last>;
  constexpr int unit = promise == SIZES::any ? 1 : 16 / sizeof(T);
  for (int &extent : extents)
    extent = (extent + unit - 1) / unit * unit;
  auto [d0, d1, d2] = extents;
  Three from = {d1 * (d2 + 2 * unit) + unit, d2 + 2 * unit, 1}, to;
  to[size_t(order[2])] = 1;
  to[size_t(order[1])] = extents[size_t(order[2])] + unit;
  to[size_t(order[0])] = to[size_t(order[1])] * extents[size_t(order[1])] + 3 * unit;
  auto place = [](const Three &distances, int i, int j, int k) {
    return size_t(i) * size_t(distances[0]) + size_t(j) * size_t(distances[1]) +
           size_t(k) * size_t(distances[2]);
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
            problem = text("element (%d, %d, %d) is not what it should be", i, j, k);
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

template <typename T, SIZES promise> void permute(const char *type) {
  for (const Three &extents : {Three{1, 1, 1}, Three{3, 5, 70}, Three{64, 2, 32}, Three{5, 77, 3},
                               Three{130, 4, 65}, Three{40, 33, 67}}) {
    if (emulated() && extents[0] >= 40)
      continue;
    permute_to<T, promise, LAST::i>(type, {1, 2, 0}, extents);
    permute_to<T, promise, LAST::i>(type, {2, 1, 0}, extents);
    permute_to<T, promise, LAST::j>(type, {0, 2, 1}, extents);
    permute_to<T, promise, LAST::j>(type, {2, 0, 1}, extents);
    permute_to<T, promise, LAST::k>(type, {0, 1, 2}, extents);
    permute_to<T, promise, LAST::k>(type, {1, 0, 2}, extents);
  }
}

template <typename T> void permute(const char *type) {
  permute<T, SIZES::any>(type);
  permute<T, SIZES::aligned>(type);
}

void test() {
  permute<std::uint8_t>("uint8");
  permute<tritonc::half>("half");
  permute<float>("float");
  permute<double>("double");
}

const KernelTest permutations("permute", test);

} // namespace
