// The part of the CUDA driver API that the runtime uses, and the functions that open the driver.
//
// The types are declared here with the driver's layout, so that the build needs no cuda.h. The
// runtime requests each function with the version of that function's interface, not with a toolkit
// version. The driver refuses versions above its own, and with a fixed version the layout of a
// struct cannot change.

#pragma once

#include <tritonc/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tritonc::v1::cuda {

using Result = int;
using Device = int;
using Context = struct CUctx_st *;
using Stream = ::CUstream_st *;
using Library = struct CUlib_st *;
using Kernel = struct CUkern_st *;
using Function = struct CUfunc_st *;
using Event = struct CUevent_st *;
using Pool = struct CUmemPoolHandle_st *;
using Pointer = unsigned long long; // device memory

/// A CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::uint64_t words[16];
};

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int is_on;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "the driver's layout");

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  const LaunchAttribute *attributes;
  unsigned attribute_count;
};

/// CUmemPoolProps. Zero means the driver's default.
struct PoolProperties {
  int allocation, handles;
  int location_kind, location; // location: the device ordinal
  void *security;
  std::size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(PoolProperties) == 88, "the driver's layout");

enum : Result {
  success = 0,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  unsupported_ptx_version = 222,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  context_is_destroyed = 709,
  assertion_failed = 710,
};

enum DeviceAttribute {
  multiprocessor_count = 16,
  capability_major = 75,
  capability_minor = 76,
  max_shared_bytes = 97, // per block, with a raised limit
  has_memory_pools = 115
};
enum PoolChoice { pinned_allocation = 1, location_is_device = 1, release_threshold = 4 };
enum FunctionAttribute { max_dynamic_shared_size = 8 };
enum CaptureMode { capture_relaxed = 2 };
enum LaunchAttributeId { cluster_dimension = 4, programmatic_serialization = 6 };
/// L2 fetches 128 bytes at a time for a box. With 256, boxes whose rows are not 256-byte aligned
/// fetch bytes that they do not use: matmuls with such rows took up to 18 % longer (H200).
enum TensorMapChoice { interleave_none = 0, l2_promotion_128 = 2, fill_with_zero = 0 };

/// Required functions: name, version of the interface, parameters.
#define TRITONC_REQUIRED_FUNCTIONS(F)                                                              \
  F(cuLaunchKernelEx, 11060, (const LaunchConfig *, Function, void **, void **))                   \
  F(cuInit, 2000, (unsigned))                                                                      \
  F(cuDriverGetVersion, 2020, (int *))                                                             \
  F(cuGetErrorName, 6000, (Result, const char **))                                                 \
  F(cuGetErrorString, 6000, (Result, const char **))                                               \
  F(cuDeviceGetCount, 2000, (int *))                                                               \
  F(cuDeviceGetAttribute, 2000, (int *, int, Device))                                              \
  F(cuDevicePrimaryCtxRetain, 7000, (Context *, Device))                                           \
  F(cuDevicePrimaryCtxGetState, 7000, (Device, unsigned *flags, int *is_active))                   \
  F(cuCtxGetCurrent, 4000, (Context *))                                                            \
  F(cuCtxPushCurrent, 4000, (Context))                                                             \
  F(cuCtxPopCurrent, 4000, (Context *))                                                            \
  F(cuCtxGetDevice, 2000, (Device *))                                                              \
  F(cuStreamGetCtx, 9020, (Stream, Context *))                                                     \
  F(cuLibraryLoadData, 12000,                                                                      \
    (Library *, const void *, int *, void **, unsigned, int *, void **, unsigned))                 \
  F(cuLibraryUnload, 12000, (Library))                                                             \
  F(cuLibraryGetKernel, 12000, (Kernel *, Library, const char *))                                  \
  F(cuKernelGetFunction, 12000, (Function *, Kernel))                                              \
  F(cuKernelSetAttribute, 12000, (int, int, Kernel, Device))

/// Optional functions. A missing function is null, so each use must check it.
#define TRITONC_OPTIONAL_FUNCTIONS(F)                                                              \
  F(cuStreamIsCapturing, 10000, (Stream, int *))                                                   \
  F(cuThreadExchangeStreamCaptureMode, 10010, (int *))                                             \
  F(cuStreamGetDevice, 12080, (Stream, Device *))                                                  \
  F(cuFuncLoad, 12040, (Function))                                                                 \
  F(cuTensorMapEncodeTiled, 12000,                                                                 \
    (TensorMapBytes *, int type, std::uint32_t rank, void *address, const std::uint64_t *sizes,    \
     const std::uint64_t *strides, const std::uint32_t *box, const std::uint32_t *steps,           \
     int interleave, int swizzle, int l2_promotion, int fill))                                     \
  F(cuMemPoolCreate, 11020, (Pool *, const PoolProperties *))                                      \
  F(cuMemPoolDestroy, 11020, (Pool))                                                               \
  F(cuMemPoolSetAttribute, 11020, (Pool, int, void *))                                             \
  F(cuMemAllocFromPoolAsync, 11020, (Pointer *, std::size_t, Pool, Stream))                        \
  F(cuMemFreeAsync, 11020, (Pointer, Stream))                                                      \
  F(cuLibraryGetGlobal, 12000, (Pointer *, std::size_t *, Library, const char *))                  \
  F(cuMemcpyHtoDAsync, 3020, (Pointer, const void *, std::size_t, Stream))                         \
  F(cuDeviceGetName, 2000, (char *, int, Device))                                                  \
  F(cuMemAlloc, 3020, (Pointer *, std::size_t))                                                    \
  F(cuMemFree, 3020, (Pointer))                                                                    \
  F(cuMemcpyHtoD, 3020, (Pointer, const void *, std::size_t))                                      \
  F(cuMemcpyDtoH, 3020, (void *, Pointer, std::size_t))                                            \
  F(cuMemsetD8, 3020, (Pointer, unsigned char, std::size_t))                                       \
  F(cuStreamSynchronize, 2000, (Stream))                                                           \
  F(cuEventCreate, 2000, (Event *, unsigned))                                                      \
  F(cuEventDestroy, 4000, (Event))                                                                 \
  F(cuEventRecord, 2000, (Event, Stream))                                                          \
  F(cuEventQuery, 2000, (Event))                                                                   \
  F(cuEventSynchronize, 2000, (Event))                                                             \
  F(cuEventElapsedTime, 2000, (float *, Event, Event))                                             \
  F(tritoncEmulatorVersion, 12000, (int *version, int *takes_any_gpu))

/// The opened driver. The members that each launch reads come first.
struct alignas(64) Driver {
  /// True if a launch that was prepared for one device is valid on all of them. Then launches need
  /// not ask for the device of a stream.
  mutable std::atomic<bool> devices_are_alike{false};
#define TRITONC_MEMBER(name, version, parameters) Result(*name) parameters = nullptr;
  TRITONC_REQUIRED_FUNCTIONS(TRITONC_MEMBER)
  TRITONC_OPTIONAL_FUNCTIONS(TRITONC_MEMBER)
#undef TRITONC_MEMBER
  int version = 0; // 12040 for CUDA 12.4
  int process = 0; // the process that initialized the driver; a forked child cannot use it
  int devices = 0; // number of devices; constant until the process ends

  /// Returns whether the driver supports stream-ordered allocation that does not invalidate the
  /// captures of other threads (CaptureAllowed). A device may still lack memory pools.
  bool has_pools() const {
    return version >= 12030 && cuThreadExchangeStreamCaptureMode && cuMemPoolCreate &&
           cuMemPoolDestroy && cuMemPoolSetAttribute && cuMemAllocFromPoolAsync && cuMemFreeAsync;
  }

  /// The library is the emulator, which runs host code instead of images.
  bool is_emulator = false;
  bool takes_any_gpu = false; // the emulator accepts code for every GPU
};

/// Opens and initializes the driver. Returns null and sets `why` on failure. Cheap after the first
/// success. A missing or too old library is remembered; other failures are retried.
const Driver *open_driver(status &why) noexcept;

/// The opened driver; null before. The thread that opens the driver sets it once.
extern std::atomic<const Driver *> opened;

/// Returns the driver if a thread has opened it; else null.
inline const Driver *opened_driver() noexcept { return opened.load(std::memory_order_acquire); }

/// Returns the driver as soon as its functions are resolved, even before cuInit: it can already
/// describe its errors. Else null.
const Driver *resolved_driver() noexcept;

/// Converts the result of a failed call to a status. The first sticky error is remembered and
/// reported for all later ones.
status failure(const Driver &driver, Result result, const abi::kernel *kernel,
               const char *argument) noexcept;

} // namespace tritonc::v1::cuda
