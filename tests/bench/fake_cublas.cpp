// A fake cuBLAS for bench_emulated. It has only the functions that the benchmark calls. It computes
// on the host, which can access the device memory of the emulator.

#include <tritonc/numbers.hpp>

#include <cstddef>
#include <cstdint>

namespace {

// A column-major matrix, or its transpose.
template <typename T> struct Matrix {
  const T *elements;
  std::ptrdiff_t ld;
  bool transposed;

  T at(int row, int column) const {
    return transposed ? elements[row * ld + column] : elements[column * ld + row];
  }
};

template <typename T, typename Result, typename Sum> struct Gemm {
  static Sum wide(T number) { return Sum(number); }

  static int run(bool a_transposed, bool b_transposed, int m, int n, int k, const void *a, int lda,
                 const void *b, int ldb, void *c, int ldc) {
    Matrix<T> first = {static_cast<const T *>(a), lda, a_transposed};
    Matrix<T> second = {static_cast<const T *>(b), ldb, b_transposed};
    auto *out = static_cast<Result *>(c);
    for (int column = 0; column < n; column++)
      for (int row = 0; row < m; row++) {
        Sum sum = 0;
        for (int i = 0; i < k; i++)
          sum += wide(first.at(row, i)) * wide(second.at(i, column));
        out[std::ptrdiff_t(column) * ldc + row] = Result(sum);
      }
    return 0;
  }
};

} // namespace

extern "C" {

int cublasCreate_v2(void **handle) {
  static int something;
  *handle = &something;
  return 0;
}
int cublasSetWorkspace_v2(void *, void *, std::size_t) { return 0; }
int cublasGetVersion_v2(void *, int *version) {
  *version = 0;
  return 0;
}

int cublasGemmEx(void *, int op_a, int op_b, int m, int n, int k, const void *, const void *a,
                 int a_type, int lda, const void *b, int, int ldb, const void *, void *c, int,
                 int ldc, int, int) {
  bool a_transposed = op_a != 0, b_transposed = op_b != 0;
  auto run = [&](auto gemm) {
    return gemm.run(a_transposed, b_transposed, m, n, k, a, lda, b, ldb, c, ldc);
  };
  switch (a_type) { // cudaDataType
  case 0:
    return run(Gemm<float, float, float>());
  case 1:
    return run(Gemm<double, double, double>());
  case 2:
    return run(Gemm<tritonc::half, tritonc::half, float>());
  case 3:
    return run(Gemm<std::int8_t, std::int32_t, std::int32_t>());
  case 14:
    return run(Gemm<tritonc::bfloat16, tritonc::bfloat16, float>());
  default:
    return 15; // not supported
  }
}

} // extern "C"
