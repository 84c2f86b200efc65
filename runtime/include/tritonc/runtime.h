// The runtime for programs in C, and in languages that can call C. Include the C header of your
// kernels (tritonc compile --c-header); it includes this header. C11; C++ compilers accept it too.
//
// A program launches kernels through the generated functions, which call the functions below. On
// first use the runtime opens the CUDA driver with dlopen: the library that the environment
// variable TRITONC_DRIVER names, else libcuda.so.1. So a program also starts on machines without a
// GPU.
//
// Every function:
//
// - is thread-safe: any number of threads may call it at the same time;
// - reports errors only through the tritonc_status that it returns;
// - never prints, exits or allocates host memory.

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

/// Any CUDA stream; cudaStream_t and CUstream are the same type. Null is the legacy default stream
/// of the thread's current context. If the thread has no current context, null is the legacy
/// default stream of the primary context of device 0.
typedef struct CUstream_st *tritonc_stream;

/// The number of programs along each axis. x is at most 2^31 - 1; y and z are at most 65535. If one
/// of them is 0, a launch succeeds and runs nothing.
typedef struct tritonc_grid {
  int64_t x, y, z;
} tritonc_grid;

// Storage for 16-bit and 8-bit floating-point values, with the bits of CUDA's types.

/// IEEE binary16, as CUDA's __half.
typedef struct tritonc_half {
  uint16_t bits;
} tritonc_half;
/// The upper 16 bits of a float, as CUDA's __nv_bfloat16.
typedef struct tritonc_bfloat16 {
  uint16_t bits;
} tritonc_bfloat16;
/// 4 exponent bits, 3 mantissa bits, no infinity, maximum 448; as CUDA's __nv_fp8_e4m3.
typedef struct tritonc_float8_e4m3 {
  uint8_t bits;
} tritonc_float8_e4m3;
/// 5 exponent bits, 2 mantissa bits; as CUDA's __nv_fp8_e5m2.
typedef struct tritonc_float8_e5m2 {
  uint8_t bits;
} tritonc_float8_e5m2;

// Conversions. To a narrow type: round to nearest, ties to even. A value above the type's maximum
// becomes infinity, or 448 in float8_e4m3; NaN stays NaN. To float: exact.
tritonc_half tritonc_to_half(float number);
tritonc_bfloat16 tritonc_to_bfloat16(float number);
tritonc_float8_e4m3 tritonc_to_float8_e4m3(float number);
tritonc_float8_e5m2 tritonc_to_float8_e5m2(float number);
float tritonc_from_half(tritonc_half number);
float tritonc_from_bfloat16(tritonc_bfloat16 number);
float tritonc_from_float8_e4m3(tritonc_float8_e4m3 number);
float tritonc_from_float8_e5m2(tritonc_float8_e5m2 number);

// ---- status ----

/// Values of tritonc_status::code. "argument" is the result of tritonc_status_argument.
enum {
  TRITONC_OK,

  // This machine cannot run the kernel. A program may take another path.
  TRITONC_NO_DRIVER,           // the runtime cannot open the driver library, or it is not a driver
  TRITONC_DRIVER_TOO_OLD,      // the driver is older than CUDA 12.0 or lacks a needed function
  TRITONC_WRONG_EMULATOR,      // TRITONC_DRIVER names an emulator of another TritonC version
  TRITONC_NO_DEVICE,           // no such device: none is installed, or none is visible
  TRITONC_NO_IMAGE_FOR_DEVICE, // no code for this GPU, or too little shared memory for the code
  TRITONC_NO_HOST_CODE,        // the emulator is in use, but the kernel is compiled only for GPUs

  // The call is wrong. The runtime enqueued nothing.
  TRITONC_NO_VARIANT,         // `choice` names a variant that was not compiled
  TRITONC_REQUIREMENT_FAILED, // argument: the requirement ("M % 128 == 0") that does not hold
  TRITONC_NULL_POINTER,       // argument: the parameter that must not be null
  TRITONC_MISALIGNED_POINTER, // argument: the parameter
  TRITONC_INVALID_ARGUMENT,   // the grid or a value is out of range, or overflows 64 bits
  TRITONC_UNSUITABLE_TENSOR,  // argument: the parameter; TMA cannot address its tensor
  TRITONC_NOT_PREPARED,       // not prepared, or prepared for another device than the stream's
  TRITONC_INVALID_CONSTANT,   // argument: constant memory that does not exist or is too small
  TRITONC_CAPTURING,          // argument: constant memory; the stream is being captured

  // The program is damaged or incomplete.
  TRITONC_CORRUPT_IMAGE,  // argument: the GPU whose embedded code is damaged
  TRITONC_NO_BUNDLE,      // argument: the file with the code; the runtime cannot read it
  TRITONC_WRONG_BUNDLE,   // argument: the file; it belongs to another build, or is no bundle
  TRITONC_CORRUPT_BUNDLE, // argument: the file; it is damaged or truncated

  // The driver refused.
  TRITONC_NOT_PRELOADED_IN_CAPTURE, // first use during graph capture, driver before CUDA 12.3
  TRITONC_FORKED_CHILD,             // the driver was in use when this process was forked
  TRITONC_OUT_OF_MEMORY,            // argument: the driver function
  TRITONC_DEVICE_LOST,              // an earlier kernel failed; restart the process
  TRITONC_CUDA                      // any other driver error; argument: the driver function
};

/// A compiled kernel. Generated headers declare one object per kernel. It is constant data of the
/// program or shared library, and must stay loaded until the process ends.
typedef struct tritonc_kernel tritonc_kernel;

/// The result of a call. Read `code`; use the functions below for the other members. A status is
/// plain data. Its pointers point to constant data of the program, and in one case to the `name`
/// that the caller passed to tritonc_set_constant.
typedef struct tritonc_status {
  const tritonc_kernel *kernel;
  const char *argument;
  int32_t code; // TRITONC_OK or another value of the enum above
  int32_t detail;
} tritonc_status;

/// Returns the code as a word, for example "misaligned_pointer". Never null.
const char *tritonc_status_name(tritonc_status status);
/// Returns the kernel's name, for example "gemm::dot<half, N, T>"; "" if no kernel is involved.
const char *tritonc_status_kernel(tritonc_status status);
/// Returns the argument, requirement, file or driver function that caused the error; "" if none.
const char *tritonc_status_argument(tritonc_status status);
/// Returns the driver's CUresult for TRITONC_CUDA, TRITONC_OUT_OF_MEMORY and TRITONC_DEVICE_LOST
/// (then the first cause); 0 for all other codes.
int tritonc_status_cuda_result(tritonc_status status);
/// Writes one sentence with kernel, cause and fix into `buffer`, like snprintf: at most `size`
/// bytes, including the final NUL. Returns the length of the whole sentence without the NUL.
/// `buffer` may be null if `size` is 0.
size_t tritonc_status_message(tritonc_status status, char *buffer, size_t size);

// ---- kernels: the functions that generated headers call ----
//
// Parameters that these functions share:
//
// kernel     the kernel object of the generated header
// stream     where the work is enqueued; it also determines the device and the context
// arguments  the generated struct with the kernel's arguments; the call copies it
// choice     the variant: one value per parameter of `params`, in order; null: the runtime chooses
//            by the rule that the generated header states
// extent     the number of programs; null if the kernel declares its grid

/// Resources of one variant's code for one GPU and one schedule, as the GPU's assembler reported
/// them. All strings are constant data of the program.
typedef struct tritonc_image_info {
  const char *gpu;      // "sm_90a"; "compute_80": PTX, with the resources of sm_80
  const char *schedule; // "128x256x64 warp-specialized", "baseline"
  /// Threads per block, registers per thread, bytes of dynamic and of static shared memory per
  /// block.
  int32_t threads, registers, shared_bytes, static_shared_bytes;
  /// Bytes. Spills are 0 if the registers suffice. cubin_bytes: the cubin or PTX before
  /// compression.
  int32_t spill_stores, spill_loads, stack_bytes, cubin_bytes;
  const char *specialization; // "lda % 8 && ldb % 8"; "" for code that takes all arguments
} tritonc_image_info;

/// A launch that tritonc_prepare made ready; about 3 KB. It owns nothing, so it needs no release
/// and may be copied. Any number of threads may launch one object at the same time.
typedef struct tritonc_prepared_launch {
  const tritonc_kernel *code;                   // null: not prepared
  TRITONC_ALIGNAS(64) unsigned char rest[3200]; // private to the runtime
} tritonc_prepared_launch;

/// A value for `device`: the device of the thread's current context. If the thread has no current
/// context, device 0.
#define TRITONC_CURRENT_DEVICE (-1)

/// Checks the arguments, chooses variant and schedule, loads the code on first use, and enqueues
/// the kernel. Returns when the kernel is enqueued, not when it is done: errors of a running kernel
/// appear in later calls. An empty grid succeeds without a launch.
tritonc_status tritonc_launch(const tritonc_kernel *kernel, tritonc_stream stream,
                              const void *arguments, const int32_t *choice,
                              const tritonc_grid *extent) TRITONC_NODISCARD;
/// Does everything that tritonc_launch does except the launch, and stores the result in `*ready`.
/// After an error, `*ready` is not prepared. `*ready` stays valid until the context is destroyed or
/// reset.
tritonc_status tritonc_prepare(const tritonc_kernel *kernel, tritonc_stream stream,
                               const void *arguments, const int32_t *choice,
                               const tritonc_grid *extent,
                               tritonc_prepared_launch *ready) TRITONC_NODISCARD;
/// Launches `*ready`. `arguments` must have the same values as in tritonc_prepare. `stream` may be
/// any stream of the same device; another device returns TRITONC_NOT_PREPARED. The context of
/// tritonc_prepare is fastest.
tritonc_status tritonc_launch_prepared(const tritonc_prepared_launch *ready, tritonc_stream stream,
                                       const void *arguments) TRITONC_NODISCARD;
/// Loads the code of one variant, or of all variants if `choice` is null, so that the first launch
/// does not load it. `device` is a CUDA device ordinal or TRITONC_CURRENT_DEVICE. The code is
/// loaded into the current context if it belongs to `device`, else into the primary context of
/// `device`, which then stays retained until the process ends.
tritonc_status tritonc_preload(const tritonc_kernel *kernel, const int32_t *choice,
                               int device) TRITONC_NODISCARD;
/// Copies `count` elements of `element_bytes` bytes each (greater than 0) from host memory `values`
/// to the start of the constant array `name`, in all variants, for the context of `stream`. The
/// copies are ordered in `stream`. A variant with a smaller array gets only the elements that fit.
/// Pageable `values` may be reused when the call returns; page-locked `values` must stay unchanged
/// until the copies are done, as with cudaMemcpyAsync. Errors: TRITONC_INVALID_CONSTANT if no
/// variant has an array `name` that holds `count` elements; TRITONC_CAPTURING while `stream` is
/// being captured.
tritonc_status tritonc_set_constant(const tritonc_kernel *kernel, tritonc_stream stream,
                                    const char *name, const void *values, size_t count,
                                    size_t element_bytes) TRITONC_NODISCARD;
/// Returns the variants in order of preference and sets `*count` to their number. Each variant is
/// one int32_t per parameter of `params`, in order, without gaps. Constant data; needs no driver.
const int32_t *tritonc_variants(const tritonc_kernel *kernel, size_t *count);
/// Returns the entries of one variant, one per GPU, schedule and specialization, and sets `*count`
/// to their number. A null `choice` is the first variant. If the variant was not compiled, `*count`
/// is 0. Constant data; needs no driver.
const tritonc_image_info *tritonc_info(const tritonc_kernel *kernel, const int32_t *choice,
                                       size_t *count);

// ---- hooks: callbacks for logs ----
//
// The runtime itself prints nothing. Each program and each shared library with kernels has its own
// copy of the runtime, and so its own hooks.

/// The runtime loaded code; this happens once for all devices. The event is valid during the
/// callback; its strings are constant data of the program.
typedef struct tritonc_load_event {
  /// kernel: "gemm::dot<half, N, T>". gpu: "sm_90a", or "compute_80" for PTX. schedule:
  /// "baseline" or longer. specialization: "" for code that takes all arguments.
  const char *kernel, *gpu, *schedule, *specialization;
  uint64_t bytes;      // size of the code
  int64_t nanoseconds; // time that the driver took
} tritonc_load_event;

/// The runtime chose the code of a launch: in each tritonc_prepare, and in each tritonc_launch that
/// does not repeat a recent launch. Valid during the callback, like tritonc_load_event.
typedef struct tritonc_choice_event {
  const char *kernel;
  const int32_t *variant;                      // the values of `params`, in order
  size_t variant_count;                        // the number of these values
  const char *gpu, *schedule, *specialization; // as in tritonc_load_event
  tritonc_grid programs;
  int64_t cost; // the compiler's estimate for the schedule; -1: unknown
} tritonc_choice_event;

/// Callbacks; a null pointer disables one. The thread in which the event happens calls it, and
/// holds no lock, so a callback may launch kernels. Several threads may call a callback at the same
/// time.
typedef struct tritonc_hooks {
  /// A function of the section "kernels" returns an error.
  void (*on_error)(const tritonc_status *what, void *data);
  void (*on_load)(const tritonc_load_event *what, void *data);
  void (*on_choice)(const tritonc_choice_event *what, void *data);
  /// In addition to on_load, for PTX: the driver compiled it now, or found it in its cache.
  void (*on_jit)(const tritonc_load_event *what, void *data);
  void *data; // the last argument of each callback
} tritonc_hooks;

/// Replaces the hooks. `*hooks` must stay valid and unchanged until the process ends. Null removes
/// the hooks; calls that have already begun may still use the old ones.
void tritonc_set_hooks(const tritonc_hooks *hooks);

// ---- device memory and synchronization, for programs that do not use CUDA otherwise ----
//
// These functions use the thread's current context. If the thread has none, they make the primary
// context of device 0 current and leave it current. They report no errors to hooks.

typedef struct tritonc_device_info {
  char name[128];   // NUL-terminated: "NVIDIA H200"
  int major, minor; // compute capability
  int num_sms;      // number of SMs
  bool emulated;    // true: no GPU, TRITONC_DRIVER names the emulator
} tritonc_device_info;

/// Describes the device of the current context. Returns TRITONC_NO_DRIVER or TRITONC_NO_DEVICE on a
/// machine without a GPU.
tritonc_status tritonc_current_device(tritonc_device_info *info) TRITONC_NODISCARD;
/// Allocates device memory, aligned to 256 bytes; 0 bytes count as 1. Sets `*memory` to its device
/// address, or to null after an error. Free it with tritonc_release.
tritonc_status tritonc_allocate(void **memory, size_t bytes) TRITONC_NODISCARD;
/// Frees memory of tritonc_allocate; ignores null.
tritonc_status tritonc_release(void *memory) TRITONC_NODISCARD;
/// Copies `bytes` bytes from host memory to device memory. `from` may be reused when the call
/// returns.
tritonc_status tritonc_copy_to_device(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;
/// Copies `bytes` bytes from device memory to host memory, and waits for the copy.
tritonc_status tritonc_copy_to_host(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;
/// Sets `bytes` bytes of device memory to `value`.
tritonc_status tritonc_fill(void *memory, unsigned char value, size_t bytes) TRITONC_NODISCARD;
/// Waits until all work in `stream` is done. Returns errors of earlier kernels.
tritonc_status tritonc_synchronize(tritonc_stream stream) TRITONC_NODISCARD;

#ifdef __cplusplus
}
#endif
