// Sums of vectors: lengths around the tile size and of many tiles, out of place and in place.

#include "rows.h"

#include <shipped_vector_add.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_vector_add;

// The vector that z overwrites; beside = none.
enum class Place { x, y, beside };

template <typename T> void add(int n, Place place) {
  using Kernel = kernels::vector_add<T>;
  const auto count = size_t(n);
  Array<T> x(count, draw<T>), y(count, draw<T>);
  for (const auto &tile : Kernel::variants()) {
    Array<T> copy(count), beside(count);
    Array<T> &replaced = place == Place::x ? x : y;
    size_t next = 0;
    copy.fill([&] { return replaced[next++]; });
    Array<T> &z = place == Place::beside ? beside : copy;
    std::string problem = outcome(Kernel::launch({},
                                                 {.x = place == Place::x ? z.data() : x.data(),
                                                  .y = place == Place::y ? z.data() : y.data(),
                                                  .z = z.data(),
                                                  .n = n},
                                                 tile));
    Expected expected(count);
    for (size_t i = 0; i < count; i++)
      expected.set(i, x.at(i) + y.at(i));
    if (problem.empty()) // cancellation is exact
      problem = compare(z, expected, sizeof(T) == 2 ? 0x1p-11 : 0x1p-24);
    const char *to = place == Place::x ? " onto x" : place == Place::y ? " onto y" : "";
    check(text("vector_add<%s> SIZE=%d n=%d%s", name_of<T>(), tile.SIZE, n, to), problem);
  }
}

template <typename T> void adds() {
  for (int n : {1, 255, 256, 1025, 5003, emulated() ? 2048 : 10000019}) {
    add<T>(n, Place::beside);
    add<T>(n, Place::x);
    add<T>(n, Place::y);
  }
  for (const auto &tile : kernels::vector_add<T>::variants())
    check_nothing<T>("vector_add of nothing", [&](T *z) {
      return kernels::vector_add<T>::launch({}, {.x = z, .y = z, .z = z, .n = 0}, tile);
    });
}

void test() {
  adds<tritonc::half>();
  adds<float>();
}

const KernelTest vector_add("vector_add", test);

} // namespace
