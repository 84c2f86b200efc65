// Common parts of the matmul tests.

#pragma once

#include "kernel_test.h"

namespace device_tests {

template <typename T> inline constexpr const char *name_of = "float";
template <> inline constexpr const char *name_of<tritonc::half> = "half";
template <> inline constexpr const char *name_of<tritonc::bfloat16> = "bfloat16";
template <> inline constexpr const char *name_of<double> = "double";
template <> inline constexpr const char *name_of<tritonc::float8_e4m3> = "e4m3";
template <> inline constexpr const char *name_of<tritonc::float8_e5m2> = "e5m2";
template <> inline constexpr const char *name_of<std::int8_t> = "int8";
template <> inline constexpr const char *name_of<std::uint8_t> = "uint8";

/// The relative error of one rounding to T.
template <typename T> inline constexpr double rounding = 1e-6;
template <> inline constexpr double rounding<tritonc::half> = 0x1p-11;
template <> inline constexpr double rounding<tritonc::bfloat16> = 0x1p-8;

struct Shape {
  int m, n, k;
};

/// Sizes to test; M, N and K are also 0.
inline std::vector<Shape> shapes() {
  if (emulated())
    return {{1, 1, 1},   {33, 65, 17}, {70, 100, 40}, {7, 130, 0},
            {0, 65, 17}, {33, 0, 17},  {64, 64, 64}};
  return {{1, 1, 1},      {33, 65, 17},     {100, 150, 70},  {64, 128, 64},
          {7, 200, 0},    {0, 65, 17},      {33, 0, 17},     {261, 517, 203},
          {16, 64, 4096}, {24, 1000, 4104}, {1000, 777, 333}};
}

/// Whether A and B are transposed: the axes A and B of the kernels.
struct Layout {
  bool a_transposed, b_transposed;

  template <typename A> constexpr A a() const { return a_transposed ? A::T : A::N; }
  template <typename B> constexpr B b() const { return b_transposed ? B::T : B::N; }
  const char *name() const {
    return a_transposed ? b_transposed ? "TT" : "TN" : b_transposed ? "NT" : "NN";
  }
};

/// Calls run.operator()<layout>() for all four layouts.
template <typename Run> void in_layouts(Run run) {
  run.template operator()<Layout{false, false}>();
  run.template operator()<Layout{false, true}>();
  run.template operator()<Layout{true, false}>();
  run.template operator()<Layout{true, true}>();
}

/// Sets the row strides of a matmul, or the six strides of matmul_strided.
template <typename Arguments>
void set_strides(Arguments &arguments, const Layout &layout, int lda, int ldb, int ldc) {
  if constexpr (requires { arguments.am; }) {
    arguments.am = arguments.ak = arguments.bk = arguments.bn = arguments.cn = 1;
    (layout.a_transposed ? arguments.ak : arguments.am) = lda;
    (layout.b_transposed ? arguments.bn : arguments.bk) = ldb;
    arguments.cm = ldc;
  } else {
    arguments.lda = lda;
    arguments.ldb = ldb;
    arguments.ldc = ldc;
  }
}

inline int distance(int columns, int multiple) { return (columns / multiple + 1) * multiple; }

/// Returns an error in `result`, or "". Each sum has k terms of magnitude <= 1.
template <typename T>
std::string compare_matmul(DeviceMatrix<T> &result, const std::vector<double> &expected, int rows,
                           int columns, int k, double largest = 1) {
  result.read();
  double absolute = (1e-6 + 1e-8 * k * std::sqrt(double(k))) * largest;
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns; column++) {
      double is = as_double(result.at(row, column));
      double right = expected[size_t(row) * size_t(columns) + size_t(column)];
      if (!(std::fabs(is - right) <= rounding<T> * std::fabs(right) + absolute))
        return text("element (%d, %d) is %.9g, not %.9g", row, column, is, right);
    }
  return result.gaps_are_untouched() ? "" : "wrote between the rows of C";
}

/// The operands and the result of a matmul, in the layout of a kernel, with gaps between rows.
template <typename T> struct Operands {
  Operands(const Shape &shape, bool a_transposed, bool b_transposed, int multiple, int lead = 0)
      : shape(shape), a(random_matrix<T>(shape.m, shape.k)), b(random_matrix<T>(shape.k, shape.n)),
        stored_a(a_transposed ? transposed(a) : a), stored_b(b_transposed ? transposed(b) : b),
        lda(distance(stored_a.columns, multiple)), ldb(distance(stored_b.columns, multiple)),
        ldc(distance(shape.n, multiple)), device_a(stored_a.rows, stored_a.columns, lda, lead),
        device_b(stored_b.rows, stored_b.columns, ldb, lead), c(shape.m, shape.n, ldc, lead) {
    device_a.write(stored_a);
    device_b.write(stored_b);
    c.poison();
  }

  Shape shape;
  Matrix a, b, stored_a, stored_b;
  int lda, ldb, ldc;
  DeviceMatrix<T> device_a, device_b, c;
};

} // namespace device_tests
