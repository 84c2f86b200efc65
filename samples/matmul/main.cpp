// Multiplies random matrices on the GPU, in two types and four layouts, checks every product
// against one in double precision, and prints how fast large ones go.
//
// Exits with 0 if all results are right, also where there is no GPU; with 1 otherwise.

#include <gemm.hpp>
#include <tritonc/device.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "matmul: %s\n", status.message().c_str());
  std::exit(1);
}

/// Uniform in [-1, 1], the same numbers in every run.
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

/// rows x columns, row by row.
template <typename T>
std::vector<T> transposed(const std::vector<T> &matrix, int rows, int columns) {
  std::vector<T> result(matrix.size());
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

/// The product of the m x k matrix `a` and the k x n matrix `b`, in double precision.
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

/// The distance between both, relative to the length of the second (Frobenius norm).
template <typename T>
double relative_error(const std::vector<T> &result, const std::vector<double> &expected) {
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    double difference = float(result[i]) - expected[i];
    distance += difference * difference;
    length += expected[i] * expected[i];
  }
  return std::sqrt(distance / length); // NaN, if any element is
}

template <typename T> tritonc::buffer<T> on_device(const std::vector<T> &elements) {
  tritonc::buffer<T> memory;
  require(memory.allocate(elements.size()));
  require(memory.copy_from(elements.data()));
  return memory;
}

constexpr int check_m = 384, check_n = 640, check_k = 512; // all different: a mixed-up size shows
constexpr int large = 4096;

/// One product with known result.
template <typename Kernel, typename T>
double error_of(const std::vector<T> &a, int lda, const std::vector<T> &b, int ldb,
                const std::vector<double> &expected) {
  tritonc::buffer<T> a_memory = on_device(a), b_memory = on_device(b), c_memory;
  require(c_memory.allocate(expected.size()));
  require(c_memory.fill(0xff)); // NaN: an element that isn't written shows
  typename Kernel::args arguments{.A = a_memory.data(),
                                  .B = b_memory.data(),
                                  .C = c_memory.data(),
                                  .M = check_m,
                                  .N = check_n,
                                  .K = check_k,
                                  .lda = lda,
                                  .ldb = ldb,
                                  .ldc = check_n};
  require(Kernel::launch({}, arguments));

  std::vector<T> result(expected.size());
  require(c_memory.copy_to(result.data()));
  return relative_error(result, expected);
}

/// Tera floating-point operations per second for large square matrices.
template <typename Kernel, typename T>
double speed_of(const tritonc::buffer<T> &a, const tritonc::buffer<T> &b, tritonc::buffer<T> &c) {
  typename Kernel::args arguments{.A = a.data(),
                                  .B = b.data(),
                                  .C = c.data(),
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

/// All layouts of one type. Returns whether every product is as exact as it should be.
template <typename T> bool run_type(const char *type, double tolerance) {
  using gemm::A, gemm::B;
  Random random;
  std::vector<T> a = random_elements<T>(check_m * check_k, random);
  std::vector<T> b = random_elements<T>(check_k * check_n, random);
  std::vector<T> a_transposed = transposed(a, check_m, check_k);
  std::vector<T> b_transposed = transposed(b, check_k, check_n);
  std::vector<double> expected = reference(a, b, check_m, check_n, check_k);

  tritonc::buffer<T> large_a = on_device(random_elements<T>(large * large, random));
  tritonc::buffer<T> large_b = on_device(random_elements<T>(large * large, random));
  tritonc::buffer<T> large_c;
  require(large_c.allocate(large * large));

  bool all_right = true;
  auto report = [&](const char *layout, double error, double speed) {
    bool right = error < tolerance;
    all_right = all_right && right;
    std::printf("%-5s  %-6s  %8.1e %-5s  %7.1f\n", type, layout, error, right ? "" : "WRONG",
                speed);
  };
  using NN = gemm::matmul<T, A::N, B::N>;
  using NT = gemm::matmul<T, A::N, B::T>;
  using TN = gemm::matmul<T, A::T, B::N>;
  using TT = gemm::matmul<T, A::T, B::T>;
  report("NN", error_of<NN>(a, check_k, b, check_n, expected),
         speed_of<NN>(large_a, large_b, large_c));
  report("NT", error_of<NT>(a, check_k, b_transposed, check_k, expected),
         speed_of<NT>(large_a, large_b, large_c));
  report("TN", error_of<TN>(a_transposed, check_m, b, check_n, expected),
         speed_of<TN>(large_a, large_b, large_c));
  report("TT", error_of<TT>(a_transposed, check_m, b_transposed, check_k, expected),
         speed_of<TT>(large_a, large_b, large_c));
  return all_right;
}

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

  std::printf("%s, compute capability %d.%d\n\n", device.name, device.major, device.minor);
  std::printf("type   layout  relative error  TFLOP/s at %d x %d x %d\n", large, large, large);
  bool half_right = run_type<tritonc::half>("half", 1e-3);
  bool float_right = run_type<float>("float", 1e-5);
  return half_right && float_right ? 0 : 1;
}
