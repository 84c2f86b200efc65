// Dropout: x and its gradient keep the same elements, and their number fits the rate.

#include "rows.h"

#include "support/philox.h"

#include <shipped_dropout.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_dropout;

bool is_kept(std::uint64_t seed, int i, float rate) {
  std::uint32_t word = tritonc::test::philox(seed, std::uint64_t(i) / 4)[std::size_t(i) % 4];
  return word >> 1 >= std::uint32_t(rate * 0x1p31f);
}

template <typename T>
std::string dropped(Rows<T> &x, Rows<T> &y, float rate, std::uint64_t seed,
                    const typename kernels::dropout<T>::params &tile) {
  std::string problem = outcome(kernels::dropout<T>::launch(
      {}, {.x = x.data(), .y = y.data(), .rate = rate, .seed = seed, .n = x.n}, tile));
  return problem;
}

template <typename T> void drop(int n, float rate, std::uint64_t seed) {
  Rows<T> x(1, n, 0), gradient(1, n, 0);
  x.set([](int, int) { return uniform(0.5, 1); });
  gradient.set([](int, int) { return uniform(0.5, 1); });
  for (const auto &tile : kernels::dropout<T>::variants()) {
    Rows<T> y(1, n, 0), dx(1, n, 0);
    dx.set([&](int, int i) { return gradient.at(0, i); });
    std::string problem = first_of(
        {dropped<T>(x, y, rate, seed, tile), dropped<T>(dx, dx, rate, seed, tile)}); // in place
    auto of = [&](const Rows<T> &given) {
      return [&](int, int i) {
        return is_kept(seed, i, rate) ? given.at(0, i) / (1 - double(rate)) : 0;
      };
    };
    if (problem.empty())
      problem = first_of(
          {y.wrong("y", of(x), rounding<T>(), 0), dx.wrong("dx", of(gradient), rounding<T>(), 0)});
    // The number of kept elements is within six standard deviations of its mean.
    double kept = 0, differ = 0;
    for (int i = 0; i < n && problem.empty(); i++) {
      kept += y.at(0, i) != 0;
      differ += (y.at(0, i) != 0) != (dx.at(0, i) != 0);
    }
    double deviation = std::sqrt(double(n) * double(rate) * (1 - double(rate)));
    if (problem.empty() && differ > 0)
      problem = text("%g elements are kept in only one of y and dx", differ);
    if (problem.empty() && std::fabs(kept - n * (1 - double(rate))) > 6 * deviation)
      problem = text("%g of %d elements are kept", kept, n);
    check(text("dropout<%s> SIZE=%d n=%d rate=%g seed=%llu", name_of<T>(), tile.SIZE, n,
               double(rate), (unsigned long long)seed),
          problem);
  }
}

template <typename T> void drops() {
  std::uint64_t seed = 42;
  for (int n : {1, 255, 1024, 3001, emulated() ? 5000 : 1000003})
    for (float rate : {0.0f, 0.1f, 0.5f, 0.9f, 1.0f})
      drop<T>(n, rate, seed *= 0x9E3779B97F4A7C15);
}

void test() {
  drops<tritonc::half>();
  drops<tritonc::bfloat16>();
  drops<float>();
}

const KernelTest dropout("dropout", test);

} // namespace
