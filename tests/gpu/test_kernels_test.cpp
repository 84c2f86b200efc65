// Runs the kernels of test_kernels/gpu on the GPU. They use features that the shipped matmuls do
// not use: masks and odd sizes, bfloat16, tf32, a fused epilogue, prefetching without a guard,
// transposes, gathers, loops with an early break, and 8-bit types. The test also has chains of
// dependent launches, and unusual arguments: strides <= 0, huge matrices, overlapping matrices.
//
// As strict as device_test.cpp: an error bound for each element, random inputs, NaN in all gaps,
// buffers that end at their last element. Prints one line per failure, then the counts. Exits with
// 77 without a GPU.
// `--every N` runs every N-th matmul case, and skips the chains and the huge matrices.

#include "matrices.h"

#include <device_test_kernels.hpp>

namespace {

using namespace device_tests;
namespace test_kernels = device_test_kernels;

int every = 1; // runs every n-th case
bool is_selected() {
  static int number = 0;
  return number++ % every == 0;
}

// What a matmul kernel computes, and the layout of its matrices.
struct Matmul {
  int m, n, k;
  int gap;      // elements between two rows
  int lead = 0; // elements before each matrix
  bool a_transposed = false, b_transposed = false;
  bool positive_only = false; // computes max(A B, 0)
  bool rounds_to_tf32 = false;
};

// Rounding to tf32, with 10 mantissa bits, changes each operand by at most 2^-11 of its value.
constexpr double tf32_error = 0x1p-10 + 0x1p-22;

// Launches C = A B and compares.
template <typename Kernel, typename T, typename Params>
std::string test_matmul(const Params &tile, const Matmul &matmul, const Matrix &a,
                        const Matrix &b) {
  auto [m, n, k, gap, lead, a_transposed, b_transposed, positive_only, rounds_to_tf32] = matmul;
  Matrix stored_a = a_transposed ? transposed(a) : a, stored_b = b_transposed ? transposed(b) : b;
  int lda = stored_a.columns + gap, ldb = stored_b.columns + gap, ldc = n + gap;
  DeviceMatrix<T> device_a(stored_a.rows, stored_a.columns, lda, lead);
  DeviceMatrix<T> device_b(stored_b.rows, stored_b.columns, ldb, lead);
  DeviceMatrix<T> device_c(m, n, ldc, lead);
  device_a.write(stored_a);
  device_b.write(stored_b);
  device_c.poison();
  typename Kernel::args arguments = {.A = device_a.data(),
                                     .B = device_b.data(),
                                     .C = device_c.data(),
                                     .M = m,
                                     .N = n,
                                     .K = k,
                                     .lda = lda,
                                     .ldb = ldb,
                                     .ldc = ldc};
  tritonc::status launched = Kernel::launch({}, arguments, tile);
  if (!launched.ok())
    return launched.message().c_str();
  require(tritonc::synchronize(), "product");
  device_c.read();
  std::vector<Bounded> expected = bounded_product<T>(a, b, rounds_to_tf32 ? tf32_error : 0);
  if (positive_only)
    for (Bounded &element : expected)
      element = max(element, 0);
  if (std::string problem = compare(device_c, stored_as<T>(expected), m, n); !problem.empty())
    return problem;
  return device_c.gaps_are_untouched() ? "" : "wrote between the rows of C";
}

// The same with random inputs, then with small integers. With these, sums are exact, so the test
// finds a single missing product of a long sum.
template <typename Kernel, typename T, typename Params>
std::string test_matmul(const Params &tile, const Matmul &matmul) {
  auto [m, n, k] = std::tuple(matmul.m, matmul.n, matmul.k);
  std::string problem =
      test_matmul<Kernel, T>(tile, matmul, random_matrix<T>(m, k), random_matrix<T>(k, n));
  return problem.empty()
             ? test_matmul<Kernel, T>(tile, matmul, small_integers(m, k), small_integers(k, n))
             : problem;
}

template <typename T, test_kernels::LD ld> void masked_matmuls(const char *type, int multiple) {
  using Kernel = test_kernels::masked_matmul<T, ld>;
  for (const auto &tile : Kernel::variants())
    for (auto [m, n, k] :
         {std::tuple(1, 1, 1), std::tuple(33, 65, 17), std::tuple(100, 150, 70),
          std::tuple(64, 128, 64), std::tuple(7, 200, 0), std::tuple(261, 517, 203),
          std::tuple(16, 64, 4096), std::tuple(24, 1000, 4104), // split-K
          std::tuple(16, 72, 2088)}) {
      if (k % multiple || n % multiple) // violates the assumption about leading dimensions
        continue;
      if (!is_selected())
        continue;
      check(text("masked_matmul<%s> TM=%d TN=%d TK=%d %d x %d x %d", type, tile.TM, tile.TN,
                 tile.TK, m, n, k),
            test_matmul<Kernel, T>(tile, {.m = m,
                                          .n = n,
                                          .k = k,
                                          .gap = multiple == 1 ? 3 : 8,
                                          .lead = multiple == 1 ? 1 : 0}));
    }
}

// A chain of launches: each launch reads the previous launch's output and writes over the previous
// launch's input. A launch that starts early must wait for the previous launch. B is a permutation
// matrix that moves each column by one, so the expected result is exact.
void chains() {
  using Kernel = test_kernels::masked_matmul<tritonc::half, test_kernels::LD::aligned>;
  constexpr int launches = 60;
  auto run = [](const std::string &what, int m, int n, auto launch) {
    Matrix a = random_matrix<tritonc::half>(m, n);
    Matrix next = zero_matrix(n, n);
    for (int k = 0; k < n; k++)
      next.at(k, (k + 1) % n) = 1;
    DeviceMatrix<tritonc::half> x(m, n, n, 0), y(m, n, n, 0), by(n, n, n, 0);
    x.write(a);
    y.poison();
    by.write(next);
    std::string problem;
    for (int i = 0; i < launches && problem.empty(); i++) {
      auto &from = i % 2 ? y : x, &to = i % 2 ? x : y;
      tritonc::status launched = launch(i, typename Kernel::args{.A = from.data(),
                                                                 .B = by.data(),
                                                                 .C = to.data(),
                                                                 .M = m,
                                                                 .N = n,
                                                                 .K = n,
                                                                 .lda = n,
                                                                 .ldb = n,
                                                                 .ldc = n});
      problem = launched.ok() ? "" : launched.message().c_str();
    }
    require(tritonc::synchronize(), "chain");
    x.read();
    for (int row = 0; row < m && problem.empty(); row++)
      for (int column = 0; column < n && problem.empty(); column++)
        if (float(x.at(row, (column + launches) % n)) != float(a.at(row, column)))
          problem = text("row %d, column %d", row, (column + launches) % n);
    check(what, problem);
  };
  for (auto [m, n] : {std::pair(64, 256), std::pair(16, 1024), std::pair(512, 512),
                      std::pair(64, 4096), std::pair(1024, 1024), std::pair(2048, 512)}) {
    run(text("chain of %d x %d", m, n), m, n,
        [](int, const Kernel::args &arguments) { return Kernel::launch({}, arguments); });
    auto tiles = Kernel::variants();
    run(text("chain of %d x %d, alternating variants", m, n), m, n,
        [&](int i, const Kernel::args &arguments) {
          return Kernel::launch({}, arguments, tiles[std::size_t(i) % tiles.size()]);
        });
  }
}

// --- Unusual arguments ---------------------------------------------------------------------------

// Small integers, so that each sum of products is exact.
int value_at(int row, int column) { return (row * 7 + column * 5) % 5 - 2; }

// Leading dimensions that are 0 or negative. A tensor map cannot describe such a matrix.
template <test_kernels::LD ld> void unusual_strides() {
  using Kernel = test_kernels::masked_matmul<tritonc::half, ld>;
  constexpr int m = 100, n = 72, k = 128;
  auto run = [](const auto *tile, int sign_a, int sign_b) {
    std::vector<tritonc::half> a(m * k), b(k * n), c(m * n, tritonc::half(-1.0f));
    for (int row = 0; row < m; row++)
      for (int column = 0; column < k; column++)
        a[size_t(row * k + column)] = tritonc::half(float(value_at(row, column)));
    for (int row = 0; row < k; row++)
      for (int column = 0; column < n; column++)
        b[size_t(row * n + column)] = tritonc::half(float(value_at(row, column + 1)));
    tritonc::buffer<tritonc::half> device_a, device_b, device_c;
    require(device_a.allocate(a.size()), "allocation");
    require(device_b.allocate(b.size()), "allocation");
    require(device_c.allocate(c.size()), "allocation");
    require(device_a.copy_from(a.data()), "copy");
    require(device_b.copy_from(b.data()), "copy");
    require(device_c.copy_from(c.data()), "copy");
    // Sign -1: backwards from the last row; 0: the first row again and again; 1: as usual.
    auto first = [](int sign, int rows) { return sign < 0 ? rows - 1 : 0; };
    typename Kernel::args arguments = {.A = device_a.data() + first(sign_a, m) * k,
                                       .B = device_b.data() + first(sign_b, k) * n,
                                       .C = device_c.data(),
                                       .M = m,
                                       .N = n,
                                       .K = k,
                                       .lda = sign_a * k,
                                       .ldb = sign_b * n,
                                       .ldc = n};
    tritonc::status launched =
        tile ? Kernel::launch({}, arguments, *tile) : Kernel::launch({}, arguments);
    require(tritonc::synchronize(), "unusual strides");
    require(device_c.copy_to(c.data()), "copy");
    std::string problem = launched.ok() ? "" : launched.message().c_str();
    for (int row = 0; row < m; row++)
      for (int column = 0; column < n && problem.empty(); column++) {
        double expected = 0;
        for (int i = 0; i < k; i++)
          expected += value_at(first(sign_a, m) + sign_a * row, i) *
                      value_at(first(sign_b, k) + sign_b * i, column + 1);
        if (double found = float(c[size_t(row * n + column)]); found != expected)
          problem = text("row %d, column %d is %g, not %g", row, column, found, expected);
      }
    check(text("masked_matmul with row strides %d and %d", sign_a * k, sign_b * n), problem);
  };
  for (int sign_a : {-1, 0, 1})
    for (int sign_b : {-1, 0, 1}) {
      run(static_cast<decltype(&Kernel::variants()[0])>(nullptr), sign_a, sign_b);
      for (const auto &tile : Kernel::variants())
        run(&tile, sign_a, sign_b);
    }
}

// Matrices whose last element lies more than 2^31 elements after the first, although each index
// and each leading dimension is an int.
void large_strides() {
  using Kernel = test_kernels::masked_matmul<tritonc::half, test_kernels::LD::aligned>;
  constexpr int m = 40, n = 64, k = 72, stride = 1 << 26;
  static_assert(int64_t(m - 1) * stride > int64_t(1) << 31);
  tritonc::buffer<tritonc::half> a, b, c;
  if (!a.allocate(size_t(m) * stride).ok() || !b.allocate(size_t(k) * stride).ok() ||
      !c.allocate(size_t(m) * stride).ok())
    return; // the GPU has too little memory
  auto write = [](tritonc::buffer<tritonc::half> &to, int rows, int columns, auto value) {
    std::vector<tritonc::half> row(static_cast<size_t>(columns));
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++)
        row[size_t(j)] = tritonc::half(float(value(i, j)));
      require(tritonc::copy_to_device(to.data() + size_t(i) * stride, row.data(),
                                      row.size() * sizeof row[0]),
              "copy");
    }
  };
  write(a, m, k, [](int i, int j) { return value_at(i, j); });
  write(b, k, n, [](int i, int j) { return value_at(i, j + 1); });
  write(c, m, n, [](int, int) { return -1; });
  for (const auto &tile : Kernel::variants()) {
    tritonc::status launched = Kernel::launch({},
                                              {.A = a.data(),
                                               .B = b.data(),
                                               .C = c.data(),
                                               .M = m,
                                               .N = n,
                                               .K = k,
                                               .lda = stride,
                                               .ldb = stride,
                                               .ldc = stride},
                                              tile);
    require(tritonc::synchronize(), "large strides");
    std::string problem = launched.ok() ? "" : launched.message().c_str();
    std::vector<tritonc::half> row(n);
    for (int i = 0; i < m && problem.empty(); i++) {
      require(tritonc::copy_to_host(row.data(), c.data() + size_t(i) * stride,
                                    row.size() * sizeof row[0]),
              "copy");
      for (int j = 0; j < n && problem.empty(); j++) {
        int expected = 0;
        for (int l = 0; l < k; l++)
          expected += value_at(i, l) * value_at(l, j + 1);
        if (float(row[size_t(j)]) != float(expected))
          problem = text("row %d, column %d is %g, not %d", i, j, float(row[size_t(j)]), expected);
      }
    }
    check(text("masked_matmul, row stride 2^26, TM=%d TN=%d TK=%d", tile.TM, tile.TN, tile.TK),
          problem);
    write(c, m, n, [](int, int) { return -1; });
  }
}

// A result of more than 2^31 elements.
void many_elements() {
  using Kernel = test_kernels::masked_matmul<tritonc::half, test_kernels::LD::aligned>;
  constexpr int m = 1 << 18, n = 8200, k = 32;
  static_assert(int64_t(m) * n > int64_t(1) << 31);
  std::vector<tritonc::half> a(size_t(m) * k), b(size_t(k) * n), row(n);
  for (size_t i = 0; i < a.size(); i++)
    a[i] = tritonc::half(float(int(i / k % 7)));
  for (size_t i = 0; i < b.size(); i++)
    b[i] = tritonc::half(float(int(i % n % 5)));
  tritonc::buffer<tritonc::half> device_a, device_b, device_c;
  require(device_a.allocate(a.size()), "allocation");
  require(device_b.allocate(b.size()), "allocation");
  if (!device_c.allocate(size_t(m) * n).ok())
    return; // the GPU has too little memory
  require(device_a.copy_from(a.data()), "copy");
  require(device_b.copy_from(b.data()), "copy");
  require(device_c.fill(0xff), "fill");
  tritonc::status launched = Kernel::launch({}, {.A = device_a.data(),
                                                 .B = device_b.data(),
                                                 .C = device_c.data(),
                                                 .M = m,
                                                 .N = n,
                                                 .K = k,
                                                 .lda = k,
                                                 .ldb = n,
                                                 .ldc = n});
  require(tritonc::synchronize(), "many elements");
  std::string problem = launched.ok() ? "" : launched.message().c_str();
  for (int i = 0; i < m && problem.empty(); i += i % 64 == 63 ? 1009 : 1) {
    require(tritonc::copy_to_host(row.data(), device_c.data() + size_t(i) * n,
                                  row.size() * sizeof row[0]),
            "copy");
    for (int j = 0; j < n && problem.empty(); j++)
      if (float(row[size_t(j)]) != float(k * (i % 7) * (j % 5)))
        problem = text("row %d, column %d is %g", i, j, float(row[size_t(j)]));
  }
  check("masked_matmul with more than 2^31 results", problem);
}

// C and A are the same memory, so a block may load elements of A before or after another block
// stores them. B is a diagonal matrix of zeros and ones. Then C = A B is exact, and it does not
// depend on that order: a column of A is the same after the store, or its factor is 0. Each column
// is 0 in one of the two launches, so the test finds elements that the kernel does not write.
void overlapping_results() {
  using Kernel = test_kernels::masked_matmul<tritonc::half, test_kernels::LD::aligned>;
  constexpr int n = 512;
  Matrix a = random_matrix<tritonc::half>(n, n), keeps = random_matrix<float>(1, n);
  DeviceMatrix<tritonc::half> both(n, n, n, 0), device_b(n, n, n, 0);
  auto run = [&](const auto &tile, bool keeps_positive) -> std::string {
    Matrix b = zero_matrix(n, n);
    for (int column = 0; column < n; column++)
      b.at(column, column) = keeps_positive == (keeps.at(0, column) > 0);
    both.write(a);
    device_b.write(b);
    tritonc::status launched = Kernel::launch({},
                                              {.A = both.data(),
                                               .B = device_b.data(),
                                               .C = both.data(),
                                               .M = n,
                                               .N = n,
                                               .K = n,
                                               .lda = n,
                                               .ldb = n,
                                               .ldc = n},
                                              tile);
    if (!launched.ok())
      return launched.message().c_str();
    require(tritonc::synchronize(), "overlapping results");
    both.read();
    device_b.read();
    auto element_of = [](DeviceMatrix<tritonc::half> &matrix) {
      return [&matrix](int row, int column) { return as_double(matrix.at(row, column)); };
    };
    std::string problem = find_wrong_element(n, n, element_of(both), [&](int row, int column) {
      return Bounded{double(a.at(row, column)) * double(b.at(column, column)), 0};
    });
    if (!problem.empty())
      return problem;
    problem = find_wrong_element(n, n, element_of(device_b), [&](int row, int column) {
      return Bounded{double(b.at(row, column)), 0};
    });
    return problem.empty() ? "" : "wrote to B: " + problem;
  };
  for (const auto &tile : Kernel::variants())
    for (bool keeps_positive : {false, true})
      check(text("masked_matmul in place, TM=%d TN=%d TK=%d", tile.TM, tile.TN, tile.TK),
            run(tile, keeps_positive));
}

template <test_kernels::A a, test_kernels::B b> void tf32_matmuls() {
  using Kernel = test_kernels::tf32_matmul<a, b>;
  auto run = [](const auto &tile, int rows, int columns, int k_tiles) {
    if (!is_selected())
      return;
    check(text("tf32_matmul<%d, %d> TM=%d TN=%d TK=%d, %d K tiles", int(a), int(b), tile.TM,
               tile.TN, tile.TK, k_tiles),
          test_matmul<Kernel, float>(tile, {.m = rows * tile.TM,
                                            .n = columns * tile.TN,
                                            .k = k_tiles * tile.TK,
                                            .gap = 4,
                                            .a_transposed = a == test_kernels::A::T,
                                            .b_transposed = b == test_kernels::B::T,
                                            .positive_only = true,
                                            .rounds_to_tf32 = true}));
  };
  for (const auto &tile : Kernel::variants()) {
    for (int k_tiles : {0, 1, 2, 5, 9})
      run(tile, 3, 2, k_tiles);
    if (tile.TM == 64 && tile.TN == 64 && tile.TK == 32)
      for (auto [rows, columns] : {std::pair(32, 24), std::pair(10, 12)}) // larger blocks
        run(tile, rows, columns, 3);
    if (tile.TM == 64 && tile.TN == 32)
      run(tile, 1, 2, 4096 / tile.TK + 1); // split-K over a cluster
  }
}

// The epilogue. The first shapes have few output tiles and a large K, so the launch uses split-K
// over a cluster: with equal parts of K, with unequal parts, and with no part for some blocks.
template <typename T> void fused_results(const char *type) {
  using Kernel = test_kernels::fused_result<T>;
  for (const auto &tile : Kernel::variants())
    for (auto [m, n, k] :
         {std::tuple(16, 64, 8192), std::tuple(16, 1000, 4104), std::tuple(130, 200, 2112),
          std::tuple(64, 72, 8200), std::tuple(33, 65, 17), std::tuple(100, 150, 70),
          std::tuple(1, 1, 1), std::tuple(7, 200, 0)}) {
      if (!is_selected())
        continue;
      Matrix a = random_matrix<T>(m, k), b = random_matrix<T>(k, n), c = random_matrix<T>(m, n),
             d = random_matrix<T>(m, n), bias = random_matrix<float>(1, n),
             scale = random_matrix<float>(1, m);
      auto ld_of = [](int columns) { return (columns / 8 + 2) * 8; };
      DeviceMatrix<T> device_a(m, k, ld_of(k), 0), device_b(k, n, ld_of(n), 0),
          device_c(m, n, ld_of(n), 0), device_d(m, n, ld_of(n), 0);
      DeviceMatrix<float> device_bias(1, n, n, 0), device_scale(1, m, m, 0);
      device_a.write(a);
      device_b.write(b);
      device_c.write(c);
      device_d.write(d);
      device_bias.write(bias);
      device_scale.write(scale);
      tritonc::status launched = Kernel::launch({},
                                                {.A = device_a.data(),
                                                 .B = device_b.data(),
                                                 .C = device_c.data(),
                                                 .bias = device_bias.data(),
                                                 .scale = device_scale.data(),
                                                 .D = device_d.data(),
                                                 .M = m,
                                                 .N = n,
                                                 .K = k,
                                                 .lda = ld_of(k),
                                                 .ldb = ld_of(n),
                                                 .ldc = ld_of(n)},
                                                tile);
      require(tritonc::synchronize(), "product");
      device_c.read();
      std::vector<Bounded> expected = bounded_product<T>(a, b);
      for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
          size_t at = size_t(row) * size_t(n) + size_t(column);
          Bounded &element = expected[at];
          element = rounded<float>(element + Bounded{bias.elements[size_t(column)]});
          element = rounded<float>(max(element, 0) * scale.elements[size_t(row)]);
          element = rounded<T>(rounded<T>(element) + Bounded{d.elements[at]});
          element = rounded<T>(element + Bounded{c.elements[at]});
        }
      std::string problem = launched.ok() ? compare(device_c, expected, m, n)
                                          : std::string(launched.message().c_str());
      if (problem.empty() && !device_c.gaps_are_untouched())
        problem = "wrote between the rows";
      check(text("fused_result<%s> TM=%d TN=%d TK=%d %d x %d x %d", type, tile.TM, tile.TN, tile.TK,
                 m, n, k),
            problem);
    }
}

template <typename T, test_kernels::A a, test_kernels::B b>
void fused_prefetches(const char *type) {
  using Kernel = test_kernels::fused_prefetch<T, a, b>;
  for (const auto &tile : Kernel::variants())
    for (int k_tiles : {0, 1, 2, 3, 7})
      if (is_selected())
        check(text("fused_prefetch<%s, %d, %d> TM=%d TK=%d, %d K tiles", type, int(a), int(b),
                   tile.TM, tile.TK, k_tiles),
              test_matmul<Kernel, T>(tile, {.m = 2 * tile.TM,
                                            .n = 3 * tile.TN,
                                            .k = k_tiles * tile.TK,
                                            .gap = 8,
                                            .a_transposed = a == test_kernels::A::T,
                                            .b_transposed = b == test_kernels::B::T}));
}

template <typename T> void fused_prefetches(const char *type) {
  fused_prefetches<T, test_kernels::A::N, test_kernels::B::N>(type);
  fused_prefetches<T, test_kernels::A::N, test_kernels::B::T>(type);
  fused_prefetches<T, test_kernels::A::T, test_kernels::B::N>(type);
  fused_prefetches<T, test_kernels::A::T, test_kernels::B::T>(type);
}

template <typename T> void transpositions(const char *type) {
  using Kernel = test_kernels::transpose<T>;
  for (const auto &tile : Kernel::variants())
    for (auto [m, n] :
         {std::pair(1, 1), std::pair(129, 77), std::pair(64, 128), std::pair(200, 3)}) {
      Matrix x = random_matrix<T>(m, n), y = transposed(x);
      DeviceMatrix<T> from(m, n, n + 5, 0), to(n, m, m + 3, 0);
      from.write(x);
      to.poison();
      tritonc::status launched = Kernel::launch(
          {}, {.X = from.data(), .Y = to.data(), .M = m, .N = n, .ldx = n + 5, .ldy = m + 3}, tile);
      require(tritonc::synchronize(), "transpose");
      to.read();
      std::vector<Bounded> expected;
      for (double element : y.elements)
        expected.push_back({element, 0});
      std::string problem =
          launched.ok() ? compare(to, expected, n, m) : std::string(launched.message().c_str());
      if (problem.empty() && !to.gaps_are_untouched())
        problem = "wrote between the rows";
      check(text("transpose<%s> TM=%d TN=%d %d x %d", type, tile.TM, tile.TN, m, n), problem);
    }
}

void gathers() {
  using Kernel = test_kernels::gather_and_scan;
  std::uniform_real_distribution<float> term(-0.2f, 1);
  for (const auto &tile : Kernel::variants())
    for (auto [n, count, limit] :
         {std::tuple(1, 3, 9), std::tuple(1000, 7, 7), std::tuple(513, 9, 4), std::tuple(200, 0, 5),
          std::tuple(200, 5, 0)}) {
      std::vector<float> table(n + count), expected(n), result(n);
      std::vector<int> index(n);
      for (float &value : table)
        value = term(generator);
      for (int i = 0; i < n; i++) {
        index[i] = int(generator() % n);
        for (int j = 0; j < std::min(count, limit) && table[index[i] + j] >= 0; j++)
          expected[i] += table[index[i] + j];
      }
      tritonc::buffer<float> device_table, device_y;
      tritonc::buffer<int> device_index;
      require(device_table.allocate(table.size()), "allocation");
      require(device_y.allocate(result.size()), "allocation");
      require(device_index.allocate(index.size()), "allocation");
      require(device_table.copy_from(table.data()), "copy");
      require(device_index.copy_from(index.data()), "copy");
      require(device_y.fill(0xff), "fill");
      tritonc::status launched = Kernel::launch({},
                                                {.table = device_table.data(),
                                                 .index = device_index.data(),
                                                 .y = device_y.data(),
                                                 .N = n,
                                                 .count = count,
                                                 .limit = limit},
                                                tile);
      require(tritonc::synchronize(), "gather_and_scan");
      require(device_y.copy_to(result.data()), "copy");
      std::string problem = launched.ok() ? "" : launched.message().c_str();
      // Bit-exact: the kernel adds the same terms in the same order.
      for (int i = 0; i < n && problem.empty(); i++)
        if (!(result[i] == expected[i]))
          problem = text("element %d is %g, not %g", i, result[i], expected[i]);
      check(text("gather_and_scan TILE=%d n=%d count=%d limit=%d", tile.TILE, n, count, limit),
            problem);
    }
}

// The value of type T nearest to x; ties go to the even code.
template <typename T> float nearest(double x) {
  auto value = [](int code) {
    T element;
    element.bits = std::uint8_t(code);
    return double(float(element));
  };
  int code = 0;
  while (std::isfinite(value(code + 1)) && value(code + 1) <= std::fabs(x))
    code++;
  double below = std::fabs(x) - value(code), above = value(code + 1) - std::fabs(x);
  if (std::isfinite(above) && (above < below || (above == below && code % 2)))
    code++;
  return float(std::copysign(value(code), x));
}

// Values in T's range, and above and below it. Half of them lie on or near a rounding tie.
double value_to_round() {
  double digits = double(generator() % 2 ? 16 + generator() % 16 : generator() % 0x1000000);
  double nearly = generator() % 4 ? 0 : 0x1p-30;
  return std::ldexp((digits + nearly) * (generator() % 2 ? 1 : -1), int(generator() % 40) - 26);
}

template <typename T> void conversions(const char *type) {
  using Kernel = test_kernels::convert<T>;
  const int n = 10000;
  for (const auto &tile : Kernel::variants()) {
    std::vector<float> x(n), sum(n);
    std::vector<double> y(n);
    std::vector<T> small[3] = {std::vector<T>(n), std::vector<T>(n), std::vector<T>(n)};
    std::vector<int> whole(n);
    for (int i = 0; i < n; i++) {
      x[i] = float(value_to_round());
      y[i] = value_to_round();
    }
    tritonc::buffer<float> device_x, device_sum;
    tritonc::buffer<double> device_y;
    tritonc::buffer<T> device_small[3];
    tritonc::buffer<int> device_whole;
    require(device_x.allocate(n), "allocation");
    require(device_y.allocate(n), "allocation");
    require(device_sum.allocate(n), "allocation");
    require(device_whole.allocate(n), "allocation");
    for (tritonc::buffer<T> &one : device_small)
      require(one.allocate(n), "allocation");
    require(device_x.copy_from(x.data()), "copy");
    require(device_y.copy_from(y.data()), "copy");
    tritonc::status launched = Kernel::launch({},
                                              {.x = device_x.data(),
                                               .y = device_y.data(),
                                               .of_float = device_small[0].data(),
                                               .of_double = device_small[1].data(),
                                               .of_half = device_small[2].data(),
                                               .sum = device_sum.data(),
                                               .whole = device_whole.data(),
                                               .n = n},
                                              tile);
    require(tritonc::synchronize(), "conversions");
    std::string problem = launched.ok() ? "" : launched.message().c_str();
    for (int which = 0; which < 3; which++)
      require(device_small[which].copy_to(small[which].data()), "copy");
    require(device_sum.copy_to(sum.data()), "copy");
    require(device_whole.copy_to(whole.data()), "copy");
    for (int i = 0; i < n && problem.empty(); i++) {
      float a = nearest<T>(x[i]), b = nearest<T>(y[i]);
      float of_half = nearest<T>(i % 3 == 0 ? float(tritonc::half(x[i])) : 0.3f);
      bool good = float(small[0][i]) == a && float(small[1][i]) == b &&
                  float(small[2][i]) == of_half && sum[i] == a * 0.5f - b &&
                  whole[i] == int(std::max(a, b)) + (a != 0 ? 1000 : 0);
      if (!good)
        problem = text("of %.17g and %.17g: %g %g %g %g %d", x[i], y[i], float(small[0][i]),
                       float(small[1][i]), float(small[2][i]), sum[i], whole[i]);
    }
    check(text("convert<%s> SIZE=%d", type, tile.SIZE), problem);
  }
}

} // namespace

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2)
    if (std::strcmp(arguments[i], "--every") == 0)
      every = std::max(1, std::atoi(arguments[i + 1]));
    else if (std::strcmp(arguments[i], "--seed") == 0)
      generator.seed(std::strtoull(arguments[i + 1], nullptr, 10));
  if (!find_device())
    return 77;
  masked_matmuls<tritonc::half, test_kernels::LD::any>("half", 1);
  masked_matmuls<tritonc::half, test_kernels::LD::aligned>("half", 8);
  masked_matmuls<tritonc::bfloat16, test_kernels::LD::any>("bfloat16", 1);
  masked_matmuls<float, test_kernels::LD::any>("float", 1);
  if (every == 1)
    chains();
  unusual_strides<test_kernels::LD::any>();
  unusual_strides<test_kernels::LD::aligned>();
  if (every == 1) {
    large_strides();
    many_elements();
  }
  overlapping_results();
  tf32_matmuls<test_kernels::A::N, test_kernels::B::N>();
  tf32_matmuls<test_kernels::A::N, test_kernels::B::T>();
  tf32_matmuls<test_kernels::A::T, test_kernels::B::N>();
  tf32_matmuls<test_kernels::A::T, test_kernels::B::T>();
  fused_results<tritonc::half>("half");
  fused_results<tritonc::bfloat16>("bfloat16");
  fused_prefetches<tritonc::half>("half");
  fused_prefetches<float>("float");
  transpositions<tritonc::half>("half");
  transpositions<float>("float");
  gathers();
  conversions<tritonc::float8_e4m3>("e4m3");
  conversions<tritonc::float8_e5m2>("e5m2");
  return report();
}
