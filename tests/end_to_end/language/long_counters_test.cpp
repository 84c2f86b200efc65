// Tests loops with 64-bit counters, which passes/uplift_while_to_for.h turns into for loops.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ir::Elem;

namespace {

// y = the sum of the first n elements of x, and the number of tiles.
void check(const std::string &limit, int n) {
  CAPTURE(limit);
  CAPTURE(n);
  SmallKernel kernel("__global__ void f(int *x __readonly, int *y, LIMIT n) {\n"
                     "  long i[64] = 0 ... 64;\n"
                     "  int sum[64] = 0, tiles = 0;\n"
                     "  for (long k = 0; k < n; k += 64) {\n"
                     "    sum += i + k < n ? *(x + k + i) : 0;\n"
                     "    tiles++;\n"
                     "  }\n"
                     "  *y = sum[+];\n"
                     "  *(y + 1) = tiles;\n"
                     "}",
                     {{"LIMIT", limit}});
  std::vector<double> x;
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += x.emplace_back(i % 7 - 2);
  kernel.add(Elem::i32, x);
  const int y = kernel.add_unwritten(Elem::i32, 2);
  kernel.add_value(limit == "int" ? Elem::i32 : Elem::i64, n);
  kernel.must_give(y, {sum, double((n + 63) / 64)});
}

} // namespace

TEST_CASE("64-bit counters: limits of 32 and 64 bits") {
  for (const char *limit : {"int", "long"})
    for (int n : {1, 64, 65, 1000})
      check(limit, n);
}
