// CUB's reductions of one vector, for cub.py.
//
// As in CUB, a call without temporary storage only writes the size of the storage. The result is a
// cudaError_t.

#include <cub/device/device_reduce.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

// Sums are in float for all types, as in reduce.tc. DeviceReduce::Sum would add in the type itself.
template <typename T>
int sum(void *storage, size_t *size, const T *x, T *y, int n, cudaStream_t stream) {
  return cub::DeviceReduce::Reduce(storage, *size, x, y, n, cuda::std::plus<float>{}, 0.0f, stream);
}

template <typename T>
int max(void *storage, size_t *size, const T *x, T *y, int n, cudaStream_t stream) {
  return cub::DeviceReduce::Max(storage, *size, x, y, n, stream);
}

template <typename T>
int min(void *storage, size_t *size, const T *x, T *y, int n, cudaStream_t stream) {
  return cub::DeviceReduce::Min(storage, *size, x, y, n, stream);
}

} // namespace

#define REDUCTION(op, name, type)                                                                  \
  int cub_##op##_##name(void *storage, size_t *size, const type *x, type *y, int n,                \
                        cudaStream_t stream) {                                                     \
    return op(storage, size, x, y, n, stream);                                                     \
  }

// The largest or smallest element, and its index.
#define EXTREMUM(op, function, name, type)                                                         \
  int cub_##op##_##name(void *storage, size_t *size, const type *x, type *y, int *index, int n,    \
                        cudaStream_t stream) {                                                     \
    return cub::DeviceReduce::function(storage, *size, x, y, index, n, stream);                    \
  }

#define ALL(name, type)                                                                            \
  REDUCTION(sum, name, type)                                                                       \
  REDUCTION(max, name, type)                                                                       \
  REDUCTION(min, name, type)                                                                       \
  EXTREMUM(argmax, ArgMax, name, type)                                                             \
  EXTREMUM(argmin, ArgMin, name, type)

extern "C" {
ALL(half, __half)
ALL(bfloat16, __nv_bfloat16)
ALL(float, float)
}
