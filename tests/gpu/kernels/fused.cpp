// Matmuls with an epilogue: bias, activation, residual.

#include "matmul_parts.h"

#include <shipped_fused.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_fused;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

template <typename T, kernels::BIAS add_bias, kernels::FUNCTION function,
          kernels::RESIDUAL residual>
void fused() {
  using Kernel =
      kernels::matmul_fused<T, kernels::A::N, kernels::B::T, add_bias, function, residual>;
  constexpr bool has_bias = add_bias == kernels::BIAS::column,
                 has_d = residual == kernels::RESIDUAL::add;
  for (const Shape &shape : shapes()) {
    Operands<T> with(shape, false, true, 8);
    Array<T> bias(size_t(shape.n), draw<T>);
    Matrix d = random_matrix<T>(shape.m, shape.n);
    int ldd = with.ldc + 8;
    DeviceMatrix<T> device_d(shape.m, shape.n, ldd, 0);
    device_d.write(d);
    std::vector<double> expected = product(with.a, with.b);
    for (int row = 0; row < shape.m; row++)
      for (int column = 0; column < shape.n; column++) {
        double &value = expected[size_t(row) * size_t(shape.n) + size_t(column)];
        if (has_bias)
          value += bias.at(size_t(column));
        if (function == kernels::FUNCTION::relu)
          value = std::max(value, 0.0);
        if (function == kernels::FUNCTION::gelu)
          value = gelu(value);
        if (has_d)
          value += d.at(row, column);
      }
    for (const auto &tile : Kernel::variants()) {
      with.c.poison();
      if (has_bias && shape.m > 0 && shape.n > 0) {
        tritonc::status launched = Kernel::launch({},
                                                  {.A = with.device_a.data(),
                                                   .B = with.device_b.data(),
                                                   .C = with.c.data(),
                                                   .D = device_d.data(),
                                                   .M = shape.m,
                                                   .N = shape.n},
                                                  tile);
        bool is_refused = launched.code() == tritonc::status_code::null_pointer;
        check("matmul_fused with a null bias", is_refused ? "" : "the launch succeeds");
      }
      std::string problem = outcome(Kernel::launch({},
                                                   {.A = with.device_a.data(),
                                                    .B = with.device_b.data(),
                                                    .C = with.c.data(),
                                                    .bias = has_bias ? bias.data() : nullptr,
                                                    .D = has_d ? device_d.data() : nullptr,
                                                    .M = shape.m,
                                                    .N = shape.n,
                                                    .K = shape.k,
                                                    .lda = with.lda,
                                                    .ldb = with.ldb,
                                                    .ldc = with.ldc,
                                                    .ldd = has_d ? ldd : 0},
                                                   tile));
      // No activation amplifies the matmul's error by more than 2.
      if (problem.empty())
        problem = compare_matmul(with.c, expected, shape.m, shape.n, shape.k, 2);
      check(text("matmul_fused<%s, %d, %d, %d> TM=%d TN=%d TK=%d %d x %d x %d", name_of<T>,
                 int(add_bias), int(function), int(residual), tile.TM, tile.TN, tile.TK, shape.m,
                 shape.n, shape.k),
            problem);
    }
  }
}

// A row of A has a NaN: the row of C is NaN, or 0 after relu.
template <typename T, kernels::FUNCTION function> void not_a_number() {
  using Kernel = kernels::matmul_fused<T, kernels::A::N, kernels::B::T, kernels::BIAS::none,
                                       function, kernels::RESIDUAL::none>;
  constexpr int n = 8;
  Array<T> a(n * n, [] { return T(1); }), b(n * n, [] { return T(0.5f); }), c(n * n);
  a[3 * n + 5] = T(std::numeric_limits<float>::quiet_NaN());
  a.write();
  Expected expected(n * n);
  double of_one = function == kernels::FUNCTION::gelu ? gelu(4) : 4;
  for (size_t i = 0; i < expected.values.size(); i++)
    expected.set(i, i / n != 3 ? of_one : function == kernels::FUNCTION::relu ? 0 : NAN);
  for (const auto &tile : Kernel::variants()) {
    std::string problem = outcome(Kernel::launch({},
                                                 {.A = a.data(),
                                                  .B = b.data(),
                                                  .C = c.data(),
                                                  .M = n,
                                                  .N = n,
                                                  .K = n,
                                                  .lda = n,
                                                  .ldb = n,
                                                  .ldc = n},
                                                 tile));
    if (problem.empty())
      problem = compare(c, expected, rounding<T>);
    check(text("matmul_fused<%s, function %d> of NaN, TM=%d TN=%d TK=%d", name_of<T>, int(function),
               tile.TM, tile.TN, tile.TK),
          problem);
  }
}

template <typename T, kernels::BIAS add_bias, kernels::FUNCTION function> void fused() {
  fused<T, add_bias, function, kernels::RESIDUAL::none>();
  fused<T, add_bias, function, kernels::RESIDUAL::add>();
}

template <typename T, kernels::BIAS add_bias> void fused() {
  fused<T, add_bias, kernels::FUNCTION::none>();
  fused<T, add_bias, kernels::FUNCTION::relu>();
  fused<T, add_bias, kernels::FUNCTION::gelu>();
}

void test() {
  fused<tritonc::half, kernels::BIAS::none>();
  fused<tritonc::half, kernels::BIAS::column>();
  fused<tritonc::bfloat16, kernels::BIAS::none>();
  fused<tritonc::bfloat16, kernels::BIAS::column>();
  not_a_number<tritonc::half, kernels::FUNCTION::none>();
  not_a_number<tritonc::half, kernels::FUNCTION::relu>();
  not_a_number<tritonc::bfloat16, kernels::FUNCTION::gelu>();
}

const KernelTest matmuls("fused", test);

} // namespace
