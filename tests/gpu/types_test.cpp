// Runs every compiled variant of the double, int8 and float8 matmul kernels on the GPU. Compares
// the results with a matmul in double precision, with an error bound for each element.
//
// Inputs, outputs and gaps are as in device_test.cpp. The bound of a sum of float8 products is
// wide, so each case also runs with small integers, whose sums are exact.

#include "matrices.h"

#include <device_types.hpp>

namespace {

using namespace device_tests;

namespace kernels = device_types;
using kernels::A;
using kernels::B;

std::string filter;

struct Shape {
  int m, n, k;
  int gap; // elements between two rows; a multiple of 16
};

template <typename Kernel, typename T, typename Sum, typename Params>
std::string run_case(bool a_transposed, bool b_transposed, const Params &tile, const Shape &shape,
                     const Matrix &a, const Matrix &b) {
  Matrix stored_a = a_transposed ? transposed(a) : a, stored_b = b_transposed ? transposed(b) : b;
  int lda = stored_a.columns + shape.gap, ldb = stored_b.columns + shape.gap,
      ldc = shape.n + shape.gap;
  DeviceMatrix<T> device_a(stored_a.rows, stored_a.columns, lda, 0);
  DeviceMatrix<T> device_b(stored_b.rows, stored_b.columns, ldb, 0);
  DeviceMatrix<Sum> device_c(shape.m, shape.n, ldc, 0);
  device_a.write(stored_a);
  device_b.write(stored_b);
  device_c.poison();

  typename Kernel::args arguments = {.A = device_a.data(),
                                     .B = device_b.data(),
                                     .C = device_c.data(),
                                     .M = shape.m,
                                     .N = shape.n,
                                     .K = shape.k,
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldc = ldc};
  tritonc::status launched = Kernel::launch({}, arguments, tile);
  if (!launched.ok())
    return launched.message().c_str();
  require(tritonc::synchronize(), "launch");
  device_c.read();
  std::vector<Bounded> expected = stored_as<Sum>(bounded_product<T>(a, b));
  if (std::string problem = compare(device_c, expected, shape.m, shape.n); !problem.empty())
    return problem;
  return device_c.gaps_are_untouched() ? "" : "wrote between the rows of C";
}

template <typename Kernel, typename T, typename Sum>
void run_variants(const std::string &name, bool a_transposed, bool b_transposed) {
  for (const auto &tile : Kernel::variants()) {
    std::vector<Shape> shapes = {{3 * tile.TM, 5 * tile.TN, 7 * tile.TK, 32},
                                 {tile.TM, tile.TN, tile.TK, 0},
                                 {tile.TM, 3 * tile.TN, 2 * tile.TK, 16},
                                 {3 * tile.TM, tile.TN, 3 * tile.TK, 0},
                                 {tile.TM, tile.TN, 0, 16}};
    // Few output tiles and a large K: the launch uses split-K over a cluster. Integers only,
    // because such sums of float8 are not exact, and their error bounds grow with K.
    if constexpr (std::is_integral_v<T>)
      shapes.push_back({tile.TM, 3 * tile.TN, 4096 + tile.TK, 16});
    for (const Shape &shape : shapes) {
      char text[200];
      std::snprintf(text, sizeof text, "%s%s TM=%d TN=%d TK=%d M=%d N=%d K=%d gap=%d", name.c_str(),
                    a_transposed   ? b_transposed ? " TT" : " TN"
                    : b_transposed ? " NT"
                                   : " NN",
                    int(tile.TM), int(tile.TN), int(tile.TK), shape.m, shape.n, shape.k, shape.gap);
      if (std::string(text).find(filter) == std::string::npos)
        continue;
      auto run = [&](const Matrix &a, const Matrix &b) {
        return run_case<Kernel, T, Sum>(a_transposed, b_transposed, tile, shape, a, b);
      };
      std::string problem =
          run(random_matrix<T>(shape.m, shape.k), random_matrix<T>(shape.k, shape.n));
      if (problem.empty() && !std::is_integral_v<T>)
        problem = run(small_integers(shape.m, shape.k), small_integers(shape.k, shape.n));
      check(text, problem);
    }
  }
}

template <template <A, B> class Kernel, typename T, typename Sum>
void run_layouts(const std::string &name) {
  run_variants<Kernel<A::N, B::N>, T, Sum>(name, false, false);
  run_variants<Kernel<A::N, B::T>, T, Sum>(name, false, true);
  run_variants<Kernel<A::T, B::N>, T, Sum>(name, true, false);
  run_variants<Kernel<A::T, B::T>, T, Sum>(name, true, true);
}

template <typename T> struct matmul_float8 {
  template <A a, B b> using of = kernels::matmul_float8<T, a, b>;
};
template <typename T> struct matmul_int8 {
  template <A a, B b> using of = kernels::matmul_int8<T, a, b>;
};

} // namespace

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i];
    if (option == "--filter")
      filter = arguments[i + 1];
    else if (option == "--seed")
      generator.seed(std::strtoull(arguments[i + 1], nullptr, 10));
  }
  if (!find_device())
    return 77;
  run_layouts<kernels::matmul_double, double, double>("matmul_double");
  run_layouts<matmul_int8<std::int8_t>::of, std::int8_t, std::int32_t>("matmul_int8<int8>");
  run_layouts<matmul_int8<std::uint8_t>::of, std::uint8_t, std::int32_t>("matmul_int8<uint8>");
  using tritonc::float8_e4m3, tritonc::float8_e5m2, tritonc::half;
  run_layouts<matmul_float8<float8_e4m3>::of, float8_e4m3, half>("matmul_float8<e4m3>");
  run_layouts<matmul_float8<float8_e5m2>::of, float8_e5m2, half>("matmul_float8<e5m2>");
  return report();
}
