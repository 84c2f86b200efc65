// Two products with a gated activation: two matrices of weights, and halves of one matrix.

#include "gate.h"
#include "matmul_parts.h"

#include <shipped_matmul_glu.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_matmul_glu;
using kernels::FUNCTION;

// f(gate) * up. No slope of f is larger than 1.2, and f has an error of its own.
Bounded gated(FUNCTION function, Bounded gate, Bounded up) {
  constexpr double steepest = 1.2, of_function = 1e-6;
  const double unit = gate.value * gate_of(function, gate.value);
  const double error = steepest * gate.error + of_function * (1 + std::fabs(gate.value));
  return {unit * up.value, std::fabs(unit) * up.error + (std::fabs(up.value) + up.error) * error};
}

// G and U, in two matrices or as the halves of one: of its rows if they are transposed, else of its
// columns.
template <typename T> struct Weights {
  Weights(const Matrix &g, const Matrix &u, bool transposed, bool joined, int multiple)
      : g(stored(g, transposed)), u(stored(u, transposed)), joined(joined), transposed(transposed),
        ld(distance(joined && !transposed ? 2 * this->g.columns : this->g.columns, multiple)),
        first(joined && transposed ? 2 * this->g.rows : this->g.rows,
              joined && !transposed ? 2 * this->g.columns : this->g.columns, ld, 0),
        second(joined ? 0 : this->u.rows, this->u.columns, ld, 0) {
    first.write(joined ? both() : this->g);
    if (!joined)
      second.write(this->u);
  }

  T *data_of_g() const { return first.data(); }
  T *data_of_u() const {
    return !joined ? second.data() : first.data() + (transposed ? g.rows * ld : g.columns);
  }

  const Matrix g, u;
  const bool joined, transposed;
  const int ld;

private:
  DeviceMatrix<T> first, second;

  static Matrix stored(const Matrix &matrix, bool transposed) {
    return transposed ? device_tests::transposed(matrix) : matrix;
  }
  Matrix both() const {
    Matrix result{transposed ? 2 * g.rows : g.rows, transposed ? g.columns : 2 * g.columns, {}};
    for (int row = 0; row < result.rows; row++)
      for (int column = 0; column < result.columns; column++) {
        const bool is_u = transposed ? row >= g.rows : column >= g.columns;
        result.elements.push_back(
            (is_u ? u : g).at(row % std::max(g.rows, 1), column % std::max(g.columns, 1)));
      }
    return result;
  }
};

template <typename T, Layout layout, FUNCTION function>
void units(const Shape &shape, bool joined, int multiple) {
  using Kernel = kernels::matmul_glu<T, function, layout.template a<kernels::A>(),
                                     layout.template b<kernels::B>()>;
  const Matrix a = random_matrix<T>(shape.m, shape.k), g = random_matrix<T>(shape.k, shape.n),
               u = random_matrix<T>(shape.k, shape.n);
  const Matrix stored_a = layout.a_transposed ? transposed(a) : a;
  const int lda = distance(stored_a.columns, multiple), ldc = distance(shape.n, multiple);
  DeviceMatrix<T> device_a(stored_a.rows, stored_a.columns, lda, 0), c(shape.m, shape.n, ldc, 0);
  device_a.write(stored_a);
  Weights<T> weights(g, u, layout.b_transposed, joined, multiple);
  std::vector<Bounded> expected = bounded_product<T>(a, g);
  const std::vector<Bounded> ups = bounded_product<T>(a, u);
  for (size_t i = 0; i < expected.size(); i++)
    expected[i] = rounded<T>(gated(function, expected[i], ups[i]));
  for (const auto &tile : Kernel::variants()) {
    c.poison();
    std::string problem = outcome(Kernel::launch({},
                                                 {.A = device_a.data(),
                                                  .G = weights.data_of_g(),
                                                  .U = weights.data_of_u(),
                                                  .C = c.data(),
                                                  .M = shape.m,
                                                  .N = shape.n,
                                                  .K = shape.k,
                                                  .lda = lda,
                                                  .ldb = weights.ld,
                                                  .ldc = ldc},
                                                 tile));
    if (problem.empty()) {
      c.read();
      problem = compare(c, expected, shape.m, shape.n);
    }
    if (problem.empty() && !c.gaps_are_untouched())
      problem = "wrote between the rows of C";
    check(text("matmul_glu<%s, %d, %s> TM=%d TN=%d TK=%d %d x %d x %d, multiples of %d%s",
               name_of<T>, int(function), layout.name(), tile.TM, tile.TN, tile.TK, shape.m,
               shape.n, shape.k, multiple, joined ? ", joined" : ""),
          problem);
  }
}

// Weights in two matrices for one of two leading dimensions, in one matrix for the other.
template <typename T, Layout layout, FUNCTION function> void units() {
  bool joined = false;
  for (const Shape &shape : shapes())
    for (int multiple : {8, 1})
      units<T, layout, function>(shape, joined = !joined, multiple);
}

template <typename T> void units() {
  in_layouts([]<Layout layout>() { units<T, layout, FUNCTION::silu>(); });
  if (emulated())
    return;
  units<T, Layout{false, true}, FUNCTION::gelu>();
  units<T, Layout{false, true}, FUNCTION::gelu_tanh>();
}

// A NaN or an infinity in row `row` of A changes no other row of C.
template <typename T> void special() {
  constexpr int n = 72, row = 3;
  using Kernel = kernels::matmul_glu<T, FUNCTION::silu, kernels::A::N, kernels::B::T>;
  for (double special : {double(NAN), double(INFINITY)}) {
    Array<T> a(n * n, [] { return T(0.25f); }), g(n * n, [] { return T(0.5f); }), c(n * n);
    a[row * n + 5] = T(float(special));
    a.write();
    Expected expected(n * n);
    const double sum = n * 0.125, other = sum * gate_of(FUNCTION::silu, sum) * sum;
    for (size_t i = 0; i < expected.values.size(); i++)
      expected.set(i, i / n != row ? other : special);
    for (const auto &tile : Kernel::variants()) {
      std::string problem = outcome(Kernel::launch({},
                                                   {.A = a.data(),
                                                    .G = g.data(),
                                                    .U = g.data(),
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
      check(text("matmul_glu<%s> of %g, TM=%d TN=%d", name_of<T>, special, tile.TM, tile.TN),
            problem);
    }
  }
}

void test() {
  units<tritonc::half>();
  special<tritonc::half>();
  if (emulated())
    return;
  units<tritonc::bfloat16>();
  special<tritonc::bfloat16>();
}

const KernelTest matmul_glu("matmul_glu", test);

} // namespace
