// Tests reduce.cpp: reduced kernels are small, valid, and still fail.

#include "random_kernels/generate.h"
#include "random_kernels/print.h"
#include "random_kernels/reduce.h"

#include <doctest/doctest.h>

using namespace tritonc::random;

namespace {

bool has(const Kernel &kernel, Expr::Kind kind) {
  bool found = false;
  for_each_stmt(const_cast<Kernel &>(kernel).body, [&](Stmt &stmt) {
    for (Expr &value : stmt.value)
      for_each_expr(value, [&](Expr &expr) { found |= expr.is(kind); });
  });
  return found;
}

Kernel kernel_with(Expr::Kind kind) {
  for (uint64_t seed = 0;; seed++)
    if (Kernel kernel = generate(seed).kernel; has(kernel, kind) && size_of(kernel) > 100)
      return kernel;
}

} // namespace

TEST_CASE("reduced: removes what the failure does not need") {
  for (Expr::Kind kind : {Expr::Kind::dot, Expr::Kind::transpose, Expr::Kind::conditional}) {
    Kernel kernel = kernel_with(kind);
    int before = size_of(kernel);
    StillFails fails = [&](const Kernel &candidate, const Evaluation &evaluation) {
      CHECK(evaluation.invalid == "");
      return has(candidate, kind);
    };
    Kernel small = reduced(kernel, fails, 60);
    CAPTURE(source_of(small));
    CHECK(has(small, kind));
    CHECK(size_of(small) * 5 < before);
    CHECK(settle(small));
    CHECK(evaluate(small).invalid == "");
    CHECK(small.grid == std::array<int, 3>{1, 1, 1});
  }
}

TEST_CASE("reduced: keeps a kernel when everything is needed") {
  Kernel kernel = kernel_with(Expr::Kind::conditional);
  std::string source = source_of(kernel);
  StillFails fails = [&](const Kernel &candidate, const Evaluation &) {
    return source_of(candidate) == source;
  };
  CHECK(source_of(reduced(kernel, fails, 60)) == source);
}
