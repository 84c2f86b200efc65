// The runtime for programs in C, and in languages that can call C. Include the C header of your
// kernels (tritonc compile --c-header); it includes this.
//
// The same functions as in tritonc/runtime.hpp and tritonc/device.hpp, and the same promises: none
// prints, exits or allocates; all may be called from any number of threads. C11, and C++ takes it,
// too.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TRITONC_STATIC_ASSERT static_assert
#define TRITONC_ALIGNAS alignas
extern "C" {
#else
#define TRITONC_STATIC_ASSERT _Static_assert
#define TRITONC_ALIGNAS _Alignas
#endif
#if defined(__GNUC__)
#define TRITONC_NODISCARD __attribute__((warn_unused_result))
#else
#define TRITONC_NODISCARD
#endif

// ---- values ----

/// Any CUDA stream: cudaStream_t and CUstream are the same type. Null: the legacy default stream.
typedef struct CUstream_st *tritonc_stream;

/// How many programs run along each axis.
typedef struct tritonc_grid {
  int64_t x, y, z;
} tritonc_grid;

// Storage for narrow numbers, bit for bit CUDA's.
typedef struct tritonc_half {
  uint16_t bits;
} tritonc_half;
typedef struct tritonc_bfloat16 {
  uint16_t bits;
} tritonc_bfloat16;
typedef struct tritonc_float8_e4m3 {
  uint8_t bits;
} tritonc_float8_e4m3;
typedef struct tritonc_float8_e5m2 {
  uint8_t bits;
} tritonc_float8_e5m2;

// Narrowing rounds to nearest, ties to even; widening is exact.
tritonc_half tritonc_to_half(float number);
tritonc_bfloat16 tritonc_to_bfloat16(float number);
tritonc_float8_e4m3 tritonc_to_float8_e4m3(float number);
tritonc_float8_e5m2 tritonc_to_float8_e5m2(float number);
float tritonc_from_half(tritonc_half number);
float tritonc_from_bfloat16(tritonc_bfloat16 number);
float tritonc_from_float8_e4m3(tritonc_float8_e4m3 number);
float tritonc_from_float8_e5m2(tritonc_float8_e5m2 number);

// ---- status ----

/// The codes of tritonc/status.hpp, which says more of each.
enum {
  TRITONC_OK,
  TRITONC_NO_DRIVER,
  TRITONC_DRIVER_TOO_OLD,
  TRITONC_WRONG_EMULATOR,
  TRITONC_NO_DEVICE,
  TRITONC_NO_IMAGE_FOR_DEVICE,
  TRITONC_NO_HOST_CODE,
  TRITONC_NO_VARIANT,
  TRITONC_REQUIREMENT_FAILED,
  TRITONC_NULL_POINTER,
  TRITONC_MISALIGNED_POINTER,
  TRITONC_INVALID_ARGUMENT,
  TRITONC_UNSUITABLE_TENSOR,
  TRITONC_NOT_PREPARED,
  TRITONC_INVALID_CONSTANT,
  TRITONC_CAPTURING,
  TRITONC_CORRUPT_IMAGE,
  TRITONC_NO_BUNDLE,
  TRITONC_WRONG_BUNDLE,
  TRITONC_CORRUPT_BUNDLE,
  TRITONC_NOT_PRELOADED_IN_CAPTURE,
  TRITONC_FORKED_CHILD,
  TRITONC_OUT_OF_MEMORY,
  TRITONC_DEVICE_LOST,
  TRITONC_CUDA
};

/// A compiled kernel: what generated headers declare.
typedef struct tritonc_kernel tritonc_kernel;

/// What became of a call. `code` is for programs to read, the rest for these functions.
typedef struct tritonc_status {
  const tritonc_kernel *kernel;
  const char *subject;
  int32_t code;
  int32_t detail;
} tritonc_status;

/// The code as a word: "misaligned_pointer".
const char *tritonc_status_name(tritonc_status status);
/// The kernel's name, and the argument, requirement or function at fault; empty if there is none.
const char *tritonc_status_kernel(tritonc_status status);
const char *tritonc_status_subject(tritonc_status status);
/// The driver's CUresult where it is at fault, else 0.
int tritonc_status_cuda_result(tritonc_status status);
/// One sentence with kernel, cause and remedy, cut to `size` with its final zero. Returns the
/// length of the whole sentence.
size_t tritonc_status_message(tritonc_status status, char *buffer, size_t size);

// ---- kernels: what generated headers call ----

/// What the GPU's assembler reported of one variant on one GPU, in one form.
typedef struct tritonc_image_info {
  const char *gpu;
  const char *form;
  int32_t threads, registers, shared_bytes, static_shared_bytes;
  int32_t spill_stores, spill_loads, stack_bytes, cubin_bytes;
  const char *hints; // under which it was compiled: "lda % 8 && ldb % 8"; "" if under none
} tritonc_image_info;

/// A launch made ready; what is in it is the runtime's.
typedef struct tritonc_prepared_launch {
  const tritonc_kernel *code;
  TRITONC_ALIGNAS(64) unsigned char rest[3200];
} tritonc_prepared_launch;

/// In place of a device's number: that of the thread's current context.
#define TRITONC_CURRENT_DEVICE (-1)

tritonc_status tritonc_launch(const tritonc_kernel *kernel, tritonc_stream stream,
                              const void *arguments, const int32_t *choice,
                              const tritonc_grid *extent) TRITONC_NODISCARD;
tritonc_status tritonc_prepare(const tritonc_kernel *kernel, tritonc_stream stream,
                               const void *arguments, const int32_t *choice,
                               const tritonc_grid *extent,
                               tritonc_prepared_launch *ready) TRITONC_NODISCARD;
tritonc_status tritonc_launch_prepared(const tritonc_prepared_launch *ready, tritonc_stream stream,
                                       const void *arguments) TRITONC_NODISCARD;
tritonc_status tritonc_preload(const tritonc_kernel *kernel, const int32_t *choice,
                               int device) TRITONC_NODISCARD;
tritonc_status tritonc_set_constant(const tritonc_kernel *kernel, tritonc_stream stream,
                                    const char *name, const void *values, size_t count,
                                    size_t element_bytes) TRITONC_NODISCARD;
const int32_t *tritonc_variants(const tritonc_kernel *kernel, size_t *count);
const tritonc_image_info *tritonc_info(const tritonc_kernel *kernel, const int32_t *choice,
                                       size_t *count);

// ---- hooks: what a program may be told, as in tritonc/hooks.hpp ----

/// Code that was loaded, once for all devices.
typedef struct tritonc_load_event {
  const char *kernel, *gpu, *form, *hints;
  uint64_t bytes;
  int64_t nanoseconds; // that the driver took
} tritonc_load_event;

/// What a launch came to: one that was prepared, or one that isn't a recent launch again.
typedef struct tritonc_choice_event {
  const char *kernel;
  const int32_t *variant; // the values of `params`, in order
  size_t variant_count;
  const char *gpu, *form, *hints;
  tritonc_grid programs;
  int64_t cost; // of the form, as the compiler reckons it; -1: not known
} tritonc_choice_event;

/// They are called by the thread in which it happens, without a lock held, so they may launch; all
/// may be called by several threads at once. Null: not told.
typedef struct tritonc_hooks {
  void (*on_error)(const tritonc_status *what, void *data);
  void (*on_load)(const tritonc_load_event *what, void *data);
  void (*on_choice)(const tritonc_choice_event *what, void *data);
  void (*on_jit)(const tritonc_load_event *what, void *data); // the driver compiled PTX
  void *data;                                                 // handed to each of them
} tritonc_hooks;

/// `told` stays where it is, and as it is, until the process ends; null: nobody is told any more.
void tritonc_set_hooks(const tritonc_hooks *told);

// ---- memory and time, for programs that have no other way to them ----

typedef struct tritonc_device_info {
  char name[128];
  int major, minor; // compute capability
  int multiprocessors;
  bool emulated; // no GPU: TRITONC_DRIVER names the emulator
} tritonc_device_info;

tritonc_status tritonc_current_device(tritonc_device_info *info) TRITONC_NODISCARD;
tritonc_status tritonc_allocate(void **memory, size_t bytes) TRITONC_NODISCARD;
tritonc_status tritonc_release(void *memory) TRITONC_NODISCARD; // null is ignored
tritonc_status tritonc_copy_to_device(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;
tritonc_status tritonc_copy_to_host(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;
tritonc_status tritonc_fill(void *memory, unsigned char value, size_t bytes) TRITONC_NODISCARD;
tritonc_status tritonc_synchronize(tritonc_stream stream) TRITONC_NODISCARD;

#ifdef __cplusplus
}
#endif
