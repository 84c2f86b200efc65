// Runs every compiled variant of the shipped matmul kernels on the GPU, and compares the result
// with a matmul in double precision. The test is strict:
//
// - each element has its own error bound (error_bounds.h);
// - each case has new random inputs;
// - the gaps between the rows of the inputs are NaN, so an out-of-bounds load makes the result NaN;
// - C is NaN before the launch, so the test finds each element that the kernel does not write;
// - the gaps between the rows of C must not change;
// - each buffer ends at its last element, so compute-sanitizer finds accesses past the end;
// - M and N are odd multiples of the tile;
// - K is 0 (or 5), 1, 2, 3 and 7 K tiles.
//
// Prints one line per failure, then the counts. Exit codes: 0 all passed, 1 failure, 77 no GPU.

#include "matrices.h"

#include <device_kernels.hpp>

namespace {

using namespace device_tests;

namespace kernels = device_kernels;
using kernels::A;
using kernels::B;

int every = 1; // runs every n-th case
std::string filter;

struct Shape {
  int m, n, k;
  int gap;  // elements between two rows; a multiple of 8
  int lead; // elements before the matrix; a multiple of 16 bytes
};

// Multiples of the tile. K: 1, 2, 3 and 7 K tiles, and 0, or 5 if the kernel requires K > 0.
template <typename Params> std::vector<Shape> shapes(const Params &tile, bool may_be_empty) {
  std::vector<Shape> result = {
      {3 * tile.TM, 5 * tile.TN, 7 * tile.TK, 24, 16},
      {tile.TM, tile.TN, tile.TK, 0, 0},
      {tile.TM, 3 * tile.TN, 2 * tile.TK, 8, 8},
      {3 * tile.TM, tile.TN, 3 * tile.TK, 0, 16},
  };
  if (may_be_empty)
    result.push_back({tile.TM, tile.TN, 0, 8, 0});
  else
    result.push_back({tile.TM, tile.TN, 5 * tile.TK, 8, 0});
  return result;
}

struct Family {
  std::string name; // "matmul<half, N, T>"
  bool a_transposed, b_transposed;
  bool may_be_empty; // allows K = 0
};

template <typename Kernel, typename T, typename Params>
std::string run_case(const Family &family, const Params &tile, const Shape &shape,
                     const std::string &what) {
  Matrix a = random_matrix<T>(shape.m, shape.k), b = random_matrix<T>(shape.k, shape.n);
  Matrix stored_a = family.a_transposed ? transposed(a) : a;
  Matrix stored_b = family.b_transposed ? transposed(b) : b;
  int lda = stored_a.columns + shape.gap, ldb = stored_b.columns + shape.gap,
      ldc = shape.n + shape.gap;
  DeviceMatrix<T> device_a(stored_a.rows, stored_a.columns, lda, shape.lead);
  DeviceMatrix<T> device_b(stored_b.rows, stored_b.columns, ldb, shape.lead);
  DeviceMatrix<T> device_c(shape.m, shape.n, ldc, shape.lead);
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
  require(tritonc::synchronize(), what);
  device_c.read();
  if (std::string problem =
          compare(device_c, stored_as<T>(bounded_product<T>(a, b)), shape.m, shape.n);
      !problem.empty())
    return problem;
  return device_c.gaps_are_untouched() ? "" : "wrote between the rows of C";
}

template <typename Kernel, typename T> void run_family(const Family &family) {
  for (const auto &tile : Kernel::variants())
    for (const Shape &shape : shapes(tile, family.may_be_empty)) {
      char text[200];
      std::snprintf(text, sizeof text, "%s TM=%d TN=%d TK=%d M=%d N=%d K=%d gap=%d",
                    family.name.c_str(), int(tile.TM), int(tile.TN), int(tile.TK), shape.m, shape.n,
                    shape.k, shape.gap);
      static int number = 0;
      if (std::string(text).find(filter) == std::string::npos || number++ % every != 0)
        continue;
      if (std::string problem = run_case<Kernel, T>(family, tile, shape, text); !problem.empty())
        fail(text, problem);
      else
        passed++;
    }
}

template <template <typename, A, B> class Kernel, typename T>
void run_layouts(const std::string &name, const std::string &type, bool may_be_empty) {
  auto family = [&](const char *layout, bool a, bool b) {
    return Family{name + "<" + type + ", " + layout + ">", a, b, may_be_empty};
  };
  run_family<Kernel<T, A::N, B::N>, T>(family("N, N", false, false));
  run_family<Kernel<T, A::N, B::T>, T>(family("N, T", false, true));
  run_family<Kernel<T, A::T, B::N>, T>(family("T, N", true, false));
  run_family<Kernel<T, A::T, B::T>, T>(family("T, T", true, true));
}

template <typename T> void run_type(const std::string &type) {
  run_layouts<kernels::matmul, T>("matmul", type, true);
  run_family<kernels::matmul_basic<T>, T>({"matmul_basic<" + type + ">", false, false, true});
  run_family<kernels::matmul_prefetch<T>, T>(
      {"matmul_prefetch<" + type + ">", false, false, false});
  run_layouts<kernels::matmul_remat, T>("matmul_remat", type, false);
}

} // namespace

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i];
    if (option == "--filter")
      filter = arguments[i + 1];
    else if (option == "--every")
      every = std::max(1, std::atoi(arguments[i + 1]));
    else if (option == "--seed")
      generator.seed(std::strtoull(arguments[i + 1], nullptr, 10));
  }
  if (!find_device())
    return 77;
  run_type<tritonc::half>("half");
  run_type<float>("float");
  return report();
}
