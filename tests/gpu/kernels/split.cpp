// Split-K whose programs count up to the last one. The emulator reports its accesses as races, so it
// needs TRITONC_EMULATOR=races=off.

#include "matmul_parts.h"

#include <shipped_split.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_split;

template <typename T> void split() {
  using Kernel = kernels::matmul_split<T>;
  for (const Shape &shape : shapes())
    for (int parts : {1, 3, 8}) {
      Operands<T> with(shape, false, false, 8);
      std::vector<double> expected = product(with.a, with.b);
      auto tiles = [](int n) { return (n + 31) / 32; };
      Array<float> sums(size_t(shape.m) * size_t(shape.n), [] { return 0.0f; });
      Array<std::int32_t> counts(size_t(tiles(shape.m)) * size_t(tiles(shape.n)), [] { return 0; });
      for (const auto &tile : Kernel::variants()) {
        with.c.poison();
        std::string problem = outcome(Kernel::launch({},
                                                     {.A = with.device_a.data(),
                                                      .B = with.device_b.data(),
                                                      .C = with.c.data(),
                                                      .sums = sums.data(),
                                                      .counts = counts.data(),
                                                      .M = shape.m,
                                                      .N = shape.n,
                                                      .K = shape.k,
                                                      .parts = parts,
                                                      .lda = with.lda,
                                                      .ldb = with.ldb,
                                                      .ldc = with.ldc},
                                                     tile));
        if (problem.empty())
          problem = compare_matmul(with.c, expected, shape.m, shape.n, shape.k);
        sums.read();
        for (size_t i = 0; i < sums.size() && problem.empty(); i++)
          if (sums[i] != 0)
            problem = text("sum %zu is not 0 after the launch", i);
        counts.read();
        for (size_t i = 0; i < counts.size() && problem.empty(); i++)
          if (counts[i] != 0)
            problem = text("count %zu is not 0 after the launch", i);
        check(text("matmul_split<%s> TM=%d TN=%d TK=%d %d x %d x %d, %d parts", name_of<T>, tile.TM,
                   tile.TN, tile.TK, shape.m, shape.n, shape.k, parts),
              problem);
      }
    }
}

void test() {
  split<tritonc::half>();
  split<tritonc::bfloat16>();
  split<float>();
}

const KernelTest splits("split", test);

} // namespace
