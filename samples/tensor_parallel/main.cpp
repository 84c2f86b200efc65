// C = A B on several GPUs. Each GPU has a part of K: it multiplies these columns of A by these rows
// of B, and gets the sum of all GPUs' results. In a feed-forward layer, the GPU itself has computed
// its columns of A, so the GPUs exchange only C.
//
// The program checks a small matmul against double precision. A large matmul is from a layer of a
// language model with 70 billion weights. The program compares it with the result of one GPU, and
// prints the times. On the emulator it omits the large matmul, because times mean nothing there.
//
// Exit code: 0 = all results are right, or there is no GPU; 1 = a wrong result or an error.

#include "driver.h"
#include "sum.h"

#include <products.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using tritonc::half;
using product = products::matmul<half, products::A::N, products::B::N>;

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "tensor_parallel: %s\n", status.message().c_str());
  std::exit(1);
}

struct Sizes {
  std::int32_t m, n, k;
};
constexpr Sizes small = {128, 192, 512}, large = {4096, 8192, 28672};
constexpr std::int32_t largest_step = 64; // the largest TK of the variants

/// A matrix with contiguous rows.
struct Matrix {
  std::int32_t rows, columns;
  std::vector<half> elements;

  Matrix(std::int32_t rows, std::int32_t columns)
      : rows(rows), columns(columns), elements(std::size_t(rows) * std::size_t(columns)) {}

  half *row(std::int32_t number) {
    return elements.data() + std::size_t(number) * std::size_t(columns);
  }
  const half *row(std::int32_t number) const { return const_cast<Matrix *>(this)->row(number); }
};

/// Uniform numbers in [-1, 1], the same in each run.
class Random {
public:
  Matrix matrix(std::int32_t rows, std::int32_t columns) {
    Matrix result(rows, columns);
    for (half &element : result.elements)
      element = half(next());
    return result;
  }

private:
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return float(std::int32_t(state_ >> 32)) * 0x1p-31f;
  }
  std::uint64_t state_ = 1;
};

Matrix part_of_columns(const Matrix &matrix, std::int32_t first, std::int32_t count) {
  Matrix part(matrix.rows, count);
  for (std::int32_t row = 0; row < matrix.rows; row++)
    std::copy_n(matrix.row(row) + first, count, part.row(row));
  return part;
}

Matrix part_of_rows(const Matrix &matrix, std::int32_t first, std::int32_t count) {
  Matrix part(count, matrix.columns);
  std::copy_n(matrix.row(first), part.elements.size(), part.row(0));
  return part;
}

/// Two matrices on a GPU, and memory for their product.
class Product {
public:
  Product(const Gpu &gpu, const Matrix &a, const Matrix &b)
      : gpu_(gpu), m_(a.rows), n_(b.columns), k_(a.columns) {
    gpu.enter();
    require(a_.allocate(a.elements.size()));
    require(a_.copy_from(a.elements.data()));
    require(b_.allocate(b.elements.size()));
    require(b_.copy_from(b.elements.data()));
    require(c_.allocate(std::size_t(m_) * std::size_t(n_)));
    require(c_.fill(0xff));          // NaN, to detect elements that the kernel does not write
    require(tritonc::synchronize()); // the stream does not wait for the default stream
  }
  Product(Product &&) = default;
  ~Product() { gpu_.enter(); }

  /// Launches on the GPU of the stream, whichever GPU is current.
  void launch() const {
    require(product::launch(gpu_.stream(), {.A = a_.data(),
                                            .B = b_.data(),
                                            .C = c_.data(),
                                            .M = m_,
                                            .N = n_,
                                            .K = k_,
                                            .lda = k_,
                                            .ldb = n_,
                                            .ldc = n_}));
  }

  half *result() const { return c_.data(); }
  Matrix read() const {
    Matrix c(m_, n_);
    gpu_.enter();
    require(tritonc::synchronize(gpu_.stream()));
    require(c_.copy_to(c.elements.data()));
    return c;
  }

private:
  const Gpu &gpu_;
  std::int32_t m_, n_, k_;
  tritonc::buffer<half> a_, b_, c_;
};

/// The same matmul, with a part of K on each GPU.
class DividedProduct {
public:
  DividedProduct(const Gpus &gpus, Sum &sum, const Matrix &a, const Matrix &b)
      : sum_(sum), count_(std::size_t(a.rows) * std::size_t(b.columns)) {
    std::int32_t share = a.columns / std::int32_t(gpus.size());
    parts_.reserve(gpus.size());
    for (std::size_t gpu = 0; gpu < gpus.size(); gpu++) {
      std::int32_t first = share * std::int32_t(gpu);
      parts_.emplace_back(*gpus[gpu], part_of_columns(a, first, share),
                          part_of_rows(b, first, share));
      results_.push_back(parts_.back().result());
    }
  }

  void launch() {
    for (const Product &part : parts_)
      part.launch();
    sum_.enqueue(results_, count_);
  }

  const std::vector<Product> &parts() const { return parts_; }

private:
  Sum &sum_;
  std::size_t count_;
  std::vector<Product> parts_;
  std::vector<half *> results_;
};

/// The matmul of `a` and `b` in double precision.
std::vector<double> exact_product(const Matrix &a, const Matrix &b) {
  std::vector<double> c(std::size_t(a.rows) * std::size_t(b.columns));
  for (std::int32_t row = 0; row < a.rows; row++)
    for (std::int32_t step = 0; step < a.columns; step++)
      for (std::int32_t column = 0; column < b.columns; column++)
        c[std::size_t(row) * std::size_t(b.columns) + std::size_t(column)] +=
            double(float(a.row(row)[step])) * float(b.row(step)[column]);
  return c;
}

std::vector<double> numbers_of(const Matrix &matrix) {
  std::vector<double> numbers;
  numbers.reserve(matrix.elements.size());
  for (half element : matrix.elements)
    numbers.push_back(float(element));
  return numbers;
}

/// Whether the results of all GPUs are as expected, except for rounding.
bool check(const char *what, const DividedProduct &divided, const std::vector<double> &expected) {
  bool all_right = true;
  std::printf("%s: relative error", what);
  for (const Product &part : divided.parts()) {
    Matrix result = part.read();
    double distance = 0, length = 0; // Frobenius norm
    for (std::size_t i = 0; i < expected.size(); i++) {
      double difference = float(result.elements[i]) - expected[i];
      distance += difference * difference;
      length += expected[i] * expected[i];
    }
    double error = std::sqrt(distance / length);
    bool is_right = error < 2e-3; // false for NaN
    all_right = all_right && is_right;
    std::printf(" %.1e%s", error, is_right ? "" : " WRONG");
  }
  std::printf("\n");
  return all_right;
}

bool check_small(const Gpus &gpus, Sum &sum) {
  Random random;
  Matrix a = random.matrix(small.m, small.k), b = random.matrix(small.k, small.n);
  DividedProduct divided(gpus, sum, a, b);
  divided.launch();
  return check("against double precision", divided, exact_product(a, b));
}

/// The time of one launch, by the host's clock: the mean of several consecutive launches.
template <typename Launch> double milliseconds(const Gpus &gpus, const Launch &launch) {
  constexpr int warm_up = 3, timed = 20;
  auto wait = [&] {
    for (const auto &gpu : gpus) {
      gpu->enter();
      require(tritonc::synchronize(gpu->stream()));
    }
  };
  for (int i = 0; i < warm_up; i++)
    launch();
  wait();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < timed; i++)
    launch();
  wait();
  auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(took).count() / timed;
}

bool check_and_time_large(const Gpus &gpus, Sum &sum) {
  Random random;
  Matrix a = random.matrix(large.m, large.k), b = random.matrix(large.k, large.n);
  Product whole(*gpus[0], a, b);
  DividedProduct divided(gpus, sum, a, b);
  whole.launch();
  divided.launch();
  bool is_right = check("against one GPU", divided, numbers_of(whole.read()));
  double alone = milliseconds(gpus, [&] { whole.launch(); });
  double together = milliseconds(gpus, [&] { divided.launch(); });
  double parts = milliseconds(gpus, [&] {
    for (const Product &part : divided.parts())
      part.launch();
  });
  std::printf("%d x %d x %d: one GPU %.3f ms, %zu GPUs %.3f ms, %.2f times as fast; "
              "without the sum %.3f ms\n",
              large.m, large.n, large.k, alone, gpus.size(), together, alone / together, parts);
  return is_right;
}

} // namespace

int main() {
  tritonc::device_info device;
  tritonc::status found = tritonc::current_device(device);
  if (found.code() == tritonc::status_code::no_driver ||
      found.code() == tritonc::status_code::no_device) {
    std::printf("tensor_parallel: no GPU here (%s), so nothing was run\n", found.message().c_str());
    return 0;
  }
  require(found);
  // The largest power of two for which each part of K is a multiple of TK.
  int count = int(std::bit_floor(unsigned(gpu_count())));
  while (small.k % (count * largest_step) != 0 || large.k % (count * largest_step) != 0)
    count /= 2;
  if (count < 2) {
    std::printf("tensor_parallel: one GPU here (%s), so there is nothing to divide\n", device.name);
    return 0;
  }
  Gpus gpus;
  for (int number = 0; number < count; number++)
    gpus.push_back(std::make_unique<Gpu>(number));
#ifdef HAS_NCCL
  bool has_nccl = !device.emulated;
  std::unique_ptr<Sum> sum = has_nccl ? sum_by_nccl(gpus) : sum_by_host(gpus);
#else
  bool has_nccl = false;
  std::unique_ptr<Sum> sum = sum_by_host(gpus);
#endif
  std::printf("product on %d x %s, sum by %s\n", count, device.name,
              has_nccl ? "NCCL" : "the host");

  bool all_right = check_small(gpus, *sum);
  if (!device.emulated)
    all_right = check_and_time_large(gpus, *sum) && all_right;
  return all_right ? 0 : 1;
}
