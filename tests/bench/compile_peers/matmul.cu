// C = A B in CUDA C++, with sums in float: A is M x K, B is K x N, C is M x N, without transposition.
//
// M, N and K are multiples of 64, 64 and 16. One block of 256 threads computes a tile of 64 x 64. Each
// thread computes 4 x 4 elements of it, from tiles of A and B in shared memory.

#include <cuda_fp16.h>

constexpr int TM = 64, TN = 64, TK = 16, side = 16, part = TM / side;
constexpr int threads = side * side;

extern "C" __global__ void __launch_bounds__(threads)
    matmul(const __half *__restrict__ A, const __half *__restrict__ B, __half *__restrict__ C,
           int K, int lda, int ldb, int ldc) {
  __shared__ float a[TK][TM + 1]; // transposed; a column more prevents bank conflicts
  __shared__ float b[TK][TN];
  A += size_t(blockIdx.x) * TM * lda;
  B += size_t(blockIdx.y) * TN;
  C += size_t(blockIdx.x) * TM * ldc + size_t(blockIdx.y) * TN;
  int row = threadIdx.x / side, column = threadIdx.x % side;

  float sum[part][part] = {};
  for (int k = 0; k < K; k += TK) {
    for (int i = threadIdx.x; i < TM * TK; i += threads)
      a[i % TK][i / TK] = __half2float(A[size_t(i / TK) * lda + k + i % TK]);
    for (int i = threadIdx.x; i < TK * TN; i += threads)
      b[i / TN][i % TN] = __half2float(B[size_t(k + i / TN) * ldb + i % TN]);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < TK; step++)
#pragma unroll
      for (int m = 0; m < part; m++)
#pragma unroll
        for (int n = 0; n < part; n++)
          sum[m][n] += a[step][row + m * side] * b[step][column + n * side];
    __syncthreads();
  }

#pragma unroll
  for (int m = 0; m < part; m++)
#pragma unroll
    for (int n = 0; n < part; n++)
      C[size_t(row + m * side) * ldc + column + n * side] = __float2half(sum[m][n]);
}
