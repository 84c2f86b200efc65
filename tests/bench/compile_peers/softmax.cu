// Softmax of rows in CUDA C++: x and y are M x N with leading dimensions ldx and ldy. Any N.
//
// One block computes one row, and reads it twice. As in kernels/softmax.tc, each thread has its own max
// and sum, which the block combines after the first loop.

#include <cuda_fp16.h>

constexpr int warp_size = 32, max_warps = 32;
constexpr float lowest = -3.402823466e38f;

// Replaces a max and a sum by those of both arguments.
__device__ void combine(float &largest, float &sum, float other_largest, float other_sum) {
  float larger = fmaxf(largest, other_largest);
  sum = sum * expf(largest - larger) + other_sum * expf(other_largest - larger);
  largest = larger;
}

__device__ void combine_warp(float &largest, float &sum) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
    float other_largest = __shfl_xor_sync(0xffffffffu, largest, distance);
    float other_sum = __shfl_xor_sync(0xffffffffu, sum, distance);
    combine(largest, sum, other_largest, other_sum);
  }
}

// The number of threads is a multiple of the warp size.
extern "C" __global__ void softmax(const __half *__restrict__ x, __half *__restrict__ y, int N,
                                   int ldx, int ldy) {
  const __half *px = x + size_t(blockIdx.x) * ldx;
  float largest = lowest, sum = 0;
  for (int n = threadIdx.x; n < N; n += blockDim.x) {
    float value = __half2float(px[n]);
    float larger = fmaxf(largest, value);
    sum = sum * expf(largest - larger) + expf(value - larger);
    largest = larger;
  }

  __shared__ float warp_largest[max_warps], warp_sum[max_warps];
  int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size,
      warps = blockDim.x / warp_size;
  combine_warp(largest, sum);
  if (lane == 0) {
    warp_largest[warp] = largest;
    warp_sum[warp] = sum;
  }
  __syncthreads();
  largest = lane < warps ? warp_largest[lane] : lowest;
  sum = lane < warps ? warp_sum[lane] : 0;
  combine_warp(largest, sum);

  float factor = 1 / sum;
  __half *py = y + size_t(blockIdx.x) * ldy;
  for (int n = threadIdx.x; n < N; n += blockDim.x)
    py[n] = __float2half(expf(__half2float(px[n]) - largest) * factor);
}
