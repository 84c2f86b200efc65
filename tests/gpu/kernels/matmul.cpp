// Matmuls with unusual strides, and of block-sparse matrices. See also product_matrix.cpp.

#include "matmul_parts.h"

#include <shipped_matmul.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_matmul;
using kernels::A;
using kernels::B;
using kernels::SIZES;

// A has a negative row stride and a column stride of 2, B a row stride of 0, C is transposed.
template <typename T> void strided() {
  using Kernel = kernels::matmul_strided<T>;
  for (const Shape &shape : shapes()) {
    auto [m, n, k] = shape;
    int row = 2 * k + 3;
    Array<T> a(size_t(m) * size_t(row), draw<T>), b(size_t(n), draw<T>);
    Expected expected(n > 0 ? size_t(n - 1) * size_t(m + 2) + size_t(m) : 0);
    for (int i = 0; i < m; i++) {
      double of_row = 0;
      for (int l = 0; l < k; l++)
        of_row += a.at(size_t(m - 1 - i) * size_t(row) + size_t(2 * l));
      for (int j = 0; j < n; j++)
        expected.set(size_t(i) + size_t(j) * size_t(m + 2), of_row * b.at(size_t(j)));
    }
    for (const auto &tile : Kernel::variants()) {
      Array<T> c(expected.values.size());
      std::string problem =
          outcome(Kernel::launch({},
                                 {.A = a.data() + std::max(m - 1, 0) * std::ptrdiff_t(row),
                                  .B = b.data(),
                                  .C = c.data(),
                                  .M = m,
                                  .N = n,
                                  .K = k,
                                  .am = -row,
                                  .ak = 2,
                                  .bk = 0,
                                  .bn = 1,
                                  .cm = 1,
                                  .cn = m + 2},
                                 tile));
      if (problem.empty())
        problem = compare(c, expected, rounding<T>, 1e-6 + 1e-8 * k * std::sqrt(double(k)));
      check(text("matmul_strided<%s> TM=%d TN=%d TK=%d %d x %d x %d", name_of<T>, tile.TM, tile.TN,
                 tile.TK, m, n, k),
            problem);
    }
  }
}

// Row strides of billions of elements in all three matrices.
template <typename T, typename Launch>
void far_apart(const char *kernel, bool a_transposed, bool b_transposed, Launch launch) {
  constexpr int n = FarRows<T>::rows;
  if (emulated())
    return;
  FarRows<T> a(n, n, draw<T>), b(n, n, draw<T>), c(n, n);
  if (!a.is_there() || !b.is_there() || !c.is_there())
    return;
  std::string problem = outcome(launch(a.data(), b.data(), c.data(), n, FarRows<T>::distance));
  c.read();
  for (int row = 0; row < n; row++)
    for (int column = 0; column < n && problem.empty(); column++) {
      double right = 0, is = as_double(c.at(row, column));
      for (int k = 0; k < n; k++)
        right += as_double(a_transposed ? a.at(k, row) : a.at(row, k)) *
                 as_double(b_transposed ? b.at(column, k) : b.at(k, column));
      if (!(std::fabs(is - right) <= rounding<T> * std::fabs(right) + 1e-6))
        problem = text("element (%d, %d) is %.9g, not %.9g", row, column, is, right);
    }
  check(text("%s<%s> with large row strides", kernel, name_of<T>), problem);
}

template <typename T, A a, B b, SIZES sizes> void masked_far_apart() {
  using Kernel = kernels::matmul_masked<T, a, b, sizes>;
  for (const auto &tile : Kernel::variants())
    far_apart<T>("matmul_masked", a == A::T, b == B::T, [&](T *x, T *y, T *z, int n, int ld) {
      return Kernel::launch(
          {}, {.A = x, .B = y, .C = z, .M = n, .N = n, .K = n, .lda = ld, .ldb = ld, .ldc = ld},
          tile);
    });
}

template <typename T> void far_apart() {
  masked_far_apart<T, A::N, B::N, SIZES::any>();
  masked_far_apart<T, A::T, B::T, SIZES::any>();
  masked_far_apart<T, A::N, B::N, SIZES::aligned>();
  masked_far_apart<T, A::T, B::T, SIZES::aligned>();
  using Grouped = kernels::matmul_grouped<T>;
  far_apart<T>("matmul_grouped", false, false, [](T *x, T *y, T *z, int n, int ld) {
    return Grouped::launch(
        {}, {.A = x, .B = y, .C = z, .M = n, .N = n, .K = n, .lda = ld, .ldb = ld, .ldc = ld});
  });
  using Strided = kernels::matmul_strided<T>;
  far_apart<T>("matmul_strided", false, true, [](T *x, T *y, T *z, int n, int ld) {
    return Strided::launch({}, {.A = x,
                                .B = y,
                                .C = z,
                                .M = n,
                                .N = n,
                                .K = n,
                                .am = ld,
                                .ak = 1,
                                .bk = 1,
                                .bn = ld,
                                .cm = ld,
                                .cn = 1});
  });
}

// B has block columns with few, many or no blocks, and with the same block row twice.
template <typename T, int block> void block_sparse() {
  using Kernel = kernels::matmul_blocksparse<T, block>;
  for (auto [m, columns, k_blocks] :
       {Shape{1, 1, 1}, Shape{33, 5, 3}, Shape{128, 4, 8}, Shape{70, 7, 2}, Shape{517, 16, 40}}) {
    if (emulated() && m > 128)
      continue;
    std::vector<int> first = {0}, rows;
    for (int j = 0; j < columns; j++) {
      int count = int(generator() % unsigned(k_blocks + 1));
      for (int i = 0; i < count; i++)
        rows.push_back(i == 1 ? rows.back() : int(generator() % unsigned(k_blocks)));
      first.push_back(int(rows.size()));
    }
    int n = columns * block, k = k_blocks * block, lda = k + 8, ldc = n + 16;
    Matrix a = random_matrix<T>(m, k), b = random_matrix<T>(int(rows.size()) * block, block);
    DeviceMatrix<T> device_a(m, k, lda, 0), device_b(b.rows, block, block, 0);
    device_a.write(a);
    device_b.write(b);
    Array<std::int32_t> device_first(first.size()), device_rows(rows.size());
    size_t next = 0;
    device_first.fill([&] { return first[next++]; });
    next = 0;
    device_rows.fill([&] { return rows[next++]; });
    std::vector<double> expected(size_t(m) * size_t(n));
    for (int j = 0; j < columns; j++)
      for (int i = first[size_t(j)]; i < first[size_t(j) + 1]; i++)
        for (int row = 0; row < m; row++)
          for (int column = 0; column < block; column++)
            for (int l = 0; l < block; l++)
              expected[size_t(row) * size_t(n) + size_t(j * block + column)] +=
                  double(a.at(row, rows[size_t(i)] * block + l)) * b.at(i * block + l, column);
    for (const auto &tile : Kernel::variants()) {
      DeviceMatrix<T> c(m, n, ldc, 0);
      c.poison();
      std::string problem = outcome(Kernel::launch({},
                                                   {.A = device_a.data(),
                                                    .B = device_b.data(),
                                                    .C = c.data(),
                                                    .first = device_first.data(),
                                                    .rows = device_rows.data(),
                                                    .M = m,
                                                    .N = n,
                                                    .K = k,
                                                    .lda = lda,
                                                    .ldc = ldc},
                                                   tile));
      if (problem.empty())
        problem = compare_matmul(c, expected, m, n, 2 * k);
      check(text("matmul_blocksparse<%s, %d> TM=%d %d rows, %d x %d blocks", name_of<T>, block,
                 tile.TM, m, k_blocks, columns),
            problem);
    }
  }
}

template <typename T> void block_sparse() {
  block_sparse<T, 16>();
  block_sparse<T, 32>();
  block_sparse<T, 64>();
}

void test() {
  block_sparse<tritonc::half>();
  block_sparse<tritonc::bfloat16>();
  block_sparse<float>();
  strided<tritonc::half>();
  strided<float>();
  far_apart<tritonc::half>();
  far_apart<float>();
}

const KernelTest matmuls("products", test);

} // namespace
