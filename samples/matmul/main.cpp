// Multiplies random matrices on the GPU, in two types and four layouts. Checks each result against
// double precision, and prints the speed of large matmuls. On the emulator it only checks, because
// the emulator has no realistic speed.
//
// Exit code: 0 = all results are right, or there is no GPU; 1 = a wrong result or an error.

#include <gemm.hpp>
#include <tritonc/device.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace {

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "matmul: %s\n", status.message().c_str());
  std::exit(1);
}

/// Uniform numbers in [-1, 1], the same in each run.
class Random {
public:
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return float(std::int32_t(state_ >> 32)) * 0x1p-31f;
  }

private:
  std::uint64_t state_ = 1;
};

template <typename T> std::vector<T> random_elements(int count, Random &random) {
  std::vector<T> elements(count);
  for (T &element : elements)
    element = T(random.next());
  return elements;
}

/// The transpose of a rows x columns matrix with contiguous rows.
template <typename T>
std::vector<T> transposed(const std::vector<T> &matrix, int rows, int columns) {
  std::vector<T> result(matrix.size());
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

/// The matmul of `a` (m x k) and `b` (k x n), in double precision.
template <typename T>
std::vector<double> reference(const std::vector<T> &a, const std::vector<T> &b, int m, int n,
                              int k) {
  std::vector<double> b_wide(b.size()), c(m * n);
  for (std::size_t i = 0; i < b.size(); ++i)
    b_wide[i] = float(b[i]);
  for (int row = 0; row < m; ++row)
    for (int step = 0; step < k; ++step) {
      double factor = float(a[row * k + step]);
      for (int column = 0; column < n; ++column)
        c[row * n + column] += factor * b_wide[step * n + column];
    }
  return c;
}

/// The norm of result - expected, relative to the norm of expected (Frobenius norms).
template <typename T>
double relative_error(const std::vector<T> &result, const std::vector<double> &expected) {
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    double difference = float(result[i]) - expected[i];
    distance += difference * difference;
    length += expected[i] * expected[i];
  }
  return std::sqrt(distance / length); // NaN if any element is NaN
}

template <typename T> tritonc::buffer<T> on_device(const std::vector<T> &elements) {
  tritonc::buffer<T> memory;
  require(memory.allocate(elements.size()));
  require(memory.copy_from(elements.data()));
  return memory;
}

constexpr int check_m = 256, check_n = 384, check_k = 320; // different, to detect exchanged sizes
constexpr int large = 4096;

/// A matrix whose rows start `stride` elements apart.
template <typename T> struct Matrix {
  std::vector<T> elements;
  int stride;
};

/// Launches one matmul, and returns its error.
template <typename Kernel, typename T>
double error_of(const Matrix<T> &a, const Matrix<T> &b, const std::vector<double> &expected) {
  tritonc::buffer<T> a_memory = on_device(a.elements), b_memory = on_device(b.elements), c_memory;
  require(c_memory.allocate(expected.size()));
  require(c_memory.fill(0xff)); // NaN, to detect elements that the kernel does not write
  typename Kernel::args arguments{.A = a_memory.data(),
                                  .B = b_memory.data(),
                                  .C = c_memory.data(),
                                  .M = check_m,
                                  .N = check_n,
                                  .K = check_k,
                                  .lda = a.stride,
                                  .ldb = b.stride,
                                  .ldc = check_n};
  require(Kernel::launch({}, arguments));

  std::vector<T> result(expected.size());
  require(c_memory.copy_to(result.data()));
  return relative_error(result, expected);
}

/// Two large square matrices, and memory for their product.
template <typename T> struct LargeProduct {
  tritonc::buffer<T> a, b, c;

  explicit LargeProduct(Random &random)
      : a(on_device(random_elements<T>(large * large, random))),
        b(on_device(random_elements<T>(large * large, random))) {
    require(c.allocate(large * large));
  }
};

/// The speed in TFLOP/s.
template <typename Kernel, typename T> double speed_of(const LargeProduct<T> &product) {
  typename Kernel::args arguments{.A = product.a.data(),
                                  .B = product.b.data(),
                                  .C = product.c.data(),
                                  .M = large,
                                  .N = large,
                                  .K = large,
                                  .lda = large,
                                  .ldb = large,
                                  .ldc = large};
  constexpr int warm_up = 3, timed = 20;
  for (int i = 0; i < warm_up; ++i)
    require(Kernel::launch({}, arguments));
  tritonc::timer timer;
  require(timer.start());
  for (int i = 0; i < timed; ++i)
    require(Kernel::launch({}, arguments));
  require(timer.stop());
  float milliseconds = 0;
  require(timer.milliseconds(milliseconds));
  return 2.0 * large * large * large * timed / (milliseconds * 1e-3) * 1e-12;
}

/// The matmuls of one type in all layouts. run() returns whether all errors are small enough.
template <typename T> class TypeRun {
public:
  TypeRun(const char *type, double tolerance, bool is_timed)
      : type_(type), tolerance_(tolerance), is_timed_(is_timed) {}

  bool run() {
    using gemm::A, gemm::B;
    Random random;
    Matrix<T> a{random_elements<T>(check_m * check_k, random), check_k};
    Matrix<T> b{random_elements<T>(check_k * check_n, random), check_n};
    Matrix<T> a_transposed{transposed(a.elements, check_m, check_k), check_m};
    Matrix<T> b_transposed{transposed(b.elements, check_k, check_n), check_k};
    expected_ = reference(a.elements, b.elements, check_m, check_n, check_k);
    if (is_timed_)
      large_product_.emplace(random);

    layout<gemm::matmul<T, A::N, B::N>>("NN", a, b);
    layout<gemm::matmul<T, A::N, B::T>>("NT", a, b_transposed);
    layout<gemm::matmul<T, A::T, B::N>>("TN", a_transposed, b);
    layout<gemm::matmul<T, A::T, B::T>>("TT", a_transposed, b_transposed);
    return all_right_;
  }

private:
  template <typename Kernel> void layout(const char *name, const Matrix<T> &a, const Matrix<T> &b) {
    double error = error_of<Kernel>(a, b, expected_);
    bool right = error < tolerance_;
    all_right_ = all_right_ && right;
    std::printf("%-5s  %-6s  %8.1e %-5s", type_, name, error, right ? "" : "WRONG");
    if (is_timed_)
      std::printf("  %7.1f", speed_of<Kernel>(*large_product_));
    std::printf("\n");
  }

  const char *type_;
  double tolerance_;
  bool is_timed_;
  bool all_right_ = true;
  std::vector<double> expected_;
  std::optional<LargeProduct<T>> large_product_;
};

} // namespace

int main() {
  tritonc::device_info device;
  tritonc::status found = tritonc::current_device(device);
  if (found.code() == tritonc::status_code::no_driver ||
      found.code() == tritonc::status_code::no_device) {
    std::printf("matmul: no GPU here (%s), so nothing was run\n", found.message().c_str());
    return 0;
  }
  require(found);

  bool is_timed = !device.emulated;
  std::printf("%s, compute capability %d.%d\n\n", device.name, device.major, device.minor);
  std::printf("type   layout  relative error");
  if (is_timed)
    std::printf("  TFLOP/s at %d x %d x %d", large, large, large);
  std::printf("\n");
  bool half_right = TypeRun<tritonc::half>("half", 1e-3, is_timed).run();
  bool float_right = TypeRun<float>("float", 1e-5, is_timed).run();
  return half_right && float_right ? 0 : 1;
}
