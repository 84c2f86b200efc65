/// @file
/// The runtime for C11 programs, and for languages that can call C. C++ compilers accept it too.
///
/// Include the C header of your kernels, which includes this header. `tritonc compile --c-header`
/// and the argument `C_HEADER` of `triton_add_kernels` write it. Link the CMake target of the
/// kernels, or `TritonC::runtime`.
///
/// @par Example
/// The kernel is `vector_add` of `kernels/vector_add.tc`, compiled as the library `vectors`.
/// @code{.c}
/// #include "vectors.h" // triton_add_kernels(vectors ... C_HEADER vectors.h)
///
/// #include <stdio.h>
/// #include <stdlib.h>
///
/// static void require(tritonc_status status) {
///   char text[512];
///   if (status.code == TRITONC_OK)
///     return;
///   tritonc_status_message(status, text, sizeof text);
///   fprintf(stderr, "%s\n", text);
///   exit(1);
/// }
///
/// int main(void) {
///   static float x[1000], z[1000];
///   for (int i = 0; i < 1000; i++)
///     x[i] = (float)i;
///   void *x_memory, *z_memory;
///   require(tritonc_allocate(&x_memory, sizeof x));
///   require(tritonc_allocate(&z_memory, sizeof z));
///   require(tritonc_copy_to_device(x_memory, x, sizeof x));
///
///   vectors_vector_add_float_args args = {
///       .x = x_memory, .y = x_memory, .z = z_memory, .n = 1000};
///   tritonc_stream stream = NULL; // the default stream; or any cudaStream_t
///   require(vectors_vector_add_float_launch(stream, &args));
///
///   require(tritonc_copy_to_host(z, z_memory, sizeof z)); // waits for the kernel
///   printf("%g\n", z[999]); // 1998
///   require(tritonc_release(x_memory));
///   require(tritonc_release(z_memory));
///   return 0;
/// }
/// @endcode
///
/// @par Driver
/// The first call that needs the CUDA driver opens it with dlopen, so a program also starts on
/// machines without a GPU. The runtime opens the library that the environment variable
/// `TRITONC_DRIVER` names. If the variable is not set, the runtime opens `libcuda.so.1`.
///
/// @par Threads and errors
/// Every function is thread-safe: any number of threads may call it at the same time. A function
/// that can fail returns a ::tritonc_status. No function prints, exits or allocates host memory
/// with malloc. A pointer parameter must not be null, unless its description allows null.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// @cond
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
/// @endcond

/// @defgroup c_values Streams, grids and numbers
/// @{

/// Any CUDA stream: `cudaStream_t` and `CUstream` are the same type.
///
/// Null is the legacy default stream of the thread's current context. If the thread has no current
/// context, null is the legacy default stream of the primary context of device 0. A call uses the
/// stream but does not own it.
typedef struct CUstream_st *tritonc_stream;

/// The number of programs along each axis.
///
/// If a member is 0, a launch succeeds and runs nothing. A launch returns
/// ::TRITONC_INVALID_ARGUMENT if a member is negative or above its maximum.
typedef struct tritonc_grid {
  int64_t x; ///< Programs along axis 0; max 2^31 - 1.
  int64_t y; ///< Programs along axis 1; max 65535.
  int64_t z; ///< Programs along axis 2; max 65535.
} tritonc_grid;

/// A 16-bit floating-point value: IEEE binary16, as CUDA's `__half`. Storage only, no arithmetic.
typedef struct tritonc_half {
  uint16_t bits; ///< 1 sign bit, 5 exponent bits, 10 mantissa bits.
} tritonc_half;

/// A 16-bit floating-point value: the upper half of a float, as CUDA's `__nv_bfloat16`. Storage
/// only.
typedef struct tritonc_bfloat16 {
  uint16_t bits; ///< 1 sign bit, 8 exponent bits, 7 mantissa bits.
} tritonc_bfloat16;

/// An 8-bit floating-point value without infinity, maximum 448, as CUDA's `__nv_fp8_e4m3`. Storage
/// only.
typedef struct tritonc_float8_e4m3 {
  uint8_t bits; ///< 1 sign bit, 4 exponent bits, 3 mantissa bits.
} tritonc_float8_e4m3;

/// An 8-bit floating-point value: the upper half of a binary16, as CUDA's `__nv_fp8_e5m2`. Storage
/// only.
typedef struct tritonc_float8_e5m2 {
  uint8_t bits; ///< 1 sign bit, 5 exponent bits, 2 mantissa bits.
} tritonc_float8_e5m2;

/// Rounds to nearest, ties to even. A value that rounds above 65504 becomes infinity. NaN stays
/// NaN.
tritonc_half tritonc_to_half(float number);

/// Rounds to nearest, ties to even. A value that rounds above the maximum becomes infinity. NaN
/// stays NaN.
tritonc_bfloat16 tritonc_to_bfloat16(float number);

/// Rounds to nearest, ties to even. A value above 448, also infinity, becomes 448. NaN stays NaN.
tritonc_float8_e4m3 tritonc_to_float8_e4m3(float number);

/// Rounds to nearest, ties to even. A value that rounds above 57344 becomes infinity. NaN stays
/// NaN.
tritonc_float8_e5m2 tritonc_to_float8_e5m2(float number);

/// Returns the same value as a float. Exact.
float tritonc_from_half(tritonc_half number);

/// Returns the same value as a float. Exact.
float tritonc_from_bfloat16(tritonc_bfloat16 number);

/// Returns the same value as a float. Exact.
float tritonc_from_float8_e4m3(tritonc_float8_e4m3 number);

/// Returns the same value as a float. Exact.
float tritonc_from_float8_e5m2(tritonc_float8_e5m2 number);

/// @}
/// @defgroup c_status Status
/// @{

/// The values of tritonc_status::code. "Argument" is the result of
/// tritonc_status_argument(). If a description does not name it, it is "" or a driver function.
enum {
  /// Success.
  TRITONC_OK,

  // This machine cannot run the kernel. A program may take another path.

  /// The runtime cannot open the driver library, or the library is not a driver. Argument: the
  /// library that `TRITONC_DRIVER` names; "" for `libcuda.so.1`.
  TRITONC_NO_DRIVER,
  /// The driver is older than CUDA 12.0, or lacks a function. Argument: the function.
  TRITONC_DRIVER_TOO_OLD,
  /// `TRITONC_DRIVER` names an emulator of another TritonC version.
  TRITONC_WRONG_EMULATOR,
  /// No such device: none is installed, or none is visible.
  TRITONC_NO_DEVICE,
  /// No code for this GPU, or too little shared memory for the code.
  TRITONC_NO_IMAGE_FOR_DEVICE,
  /// The emulator is in use, but the kernel is compiled only for GPUs.
  TRITONC_NO_HOST_CODE,

  // The call is wrong. The runtime enqueued nothing.

  /// The call or `TRITONC_FORCE_VARIANT` names a variant that was not compiled. Argument:
  /// "TRITONC_FORCE_VARIANT", or "".
  TRITONC_NO_VARIANT,
  /// The arguments do not meet a requirement. Argument: the requirement, "M % 128 == 0". If the
  /// runtime tried several variants, it is a requirement of the last variant.
  TRITONC_REQUIREMENT_FAILED,
  /// A pointer is null. Argument: the parameter.
  TRITONC_NULL_POINTER,
  /// A pointer is not aligned as the kernel requires. Argument: the parameter.
  TRITONC_MISALIGNED_POINTER,
  /// The grid or a value is out of range, or overflows 64 bits. Argument: its name.
  TRITONC_INVALID_ARGUMENT,
  /// TMA cannot address a tensor. Argument: the pointer parameter.
  TRITONC_UNSUITABLE_TENSOR,
  /// Not prepared, or prepared for another device than the stream's.
  TRITONC_NOT_PREPARED,
  /// The constant memory does not exist or is too small. Argument: its name.
  TRITONC_INVALID_CONSTANT,
  /// Constant memory cannot be filled while the stream is being captured. Argument: its name.
  TRITONC_CAPTURING,

  // The program is damaged or incomplete.

  /// The embedded code is damaged. Argument: the GPU of the code.
  TRITONC_CORRUPT_IMAGE,
  /// The runtime cannot read the file with the code. Argument: the file.
  TRITONC_NO_BUNDLE,
  /// The file belongs to another build, or is no bundle. Argument: the file.
  TRITONC_WRONG_BUNDLE,
  /// The file with the code is damaged or truncated. Argument: the file.
  TRITONC_CORRUPT_BUNDLE,

  // The driver refused.

  /// First use of the kernel during graph capture, with a driver before CUDA 12.3. Call
  /// tritonc_preload() before the capture.
  TRITONC_NOT_PRELOADED_IN_CAPTURE,
  /// The driver was in use when this process was forked.
  TRITONC_FORKED_CHILD,
  /// Out of device memory. Argument: the driver function.
  TRITONC_OUT_OF_MEMORY,
  /// An earlier kernel failed. Restart the process.
  TRITONC_DEVICE_LOST,
  /// Any other error of the driver. Argument: the driver function.
  TRITONC_CUDA
};

/// A compiled kernel. Generated headers declare one object per kernel.
///
/// It is constant data of the program or shared library. It must stay loaded until the process
/// ends.
typedef struct tritonc_kernel tritonc_kernel;

/// The result of a call: 24 bytes of plain data, which you may copy.
///
/// Compare `code` with ::TRITONC_OK. Read the other members with the functions below. The pointers
/// point to constant data of the program. Only the status of tritonc_set_constant() may point to
/// the caller's `name`.
typedef struct tritonc_status {
  const tritonc_kernel *kernel; ///< See tritonc_status_kernel(). Null: no kernel.
  const char *argument;         ///< See tritonc_status_argument(). Null: no argument.
  int32_t code;                 ///< ::TRITONC_OK or another value of the enum above.
  int32_t detail;               ///< Private to the runtime.
} tritonc_status;

/// Returns the code as a word, for example "misaligned_pointer". Never null; a constant string.
/// `status` must come from the runtime.
const char *tritonc_status_name(tritonc_status status);

/// Returns the kernel's name, for example "gemm::dot<half, N, T>"; "" if no kernel is involved.
/// Never null; a constant string.
const char *tritonc_status_kernel(tritonc_status status);

/// Returns the argument, requirement, file or driver function that caused the error; "" if none.
/// Never null. The string lives as long as the strings of tritonc_status.
const char *tritonc_status_argument(tritonc_status status);

/// Returns the driver's `CUresult` for ::TRITONC_CUDA, ::TRITONC_OUT_OF_MEMORY and
/// ::TRITONC_DEVICE_LOST. For ::TRITONC_DEVICE_LOST it is the first cause. Returns 0 for all other
/// codes.
int tritonc_status_cuda_result(tritonc_status status);

/// Writes one sentence with kernel, cause and fix into `buffer`, like snprintf.
///
/// @param buffer receives at most `size` bytes, including the final NUL; null if `size` is 0
/// @param size bytes in `buffer`; 512 suffice for almost every sentence
/// @return the length of the whole sentence in bytes, without the NUL
size_t tritonc_status_message(tritonc_status status, char *buffer, size_t size);

/// @}
/// @defgroup c_kernels Kernels
/// Generated headers call these functions. Programs call the generated functions instead. Their
/// names begin with the library, the kernel and its template arguments, for example
/// `vectors_vector_add_float_launch`. A generated function that ends with `_variant` also takes the
/// variant.
///
/// These parameters have the same meaning in all functions:
///
/// - `kernel`: the kernel object that the generated header declares.
/// - `stream`: the stream in which the work is enqueued. It also determines device and context.
/// - `arguments`: the generated struct with the kernel's arguments. The call copies it. Memory that
///   its pointers point to must stay valid until the kernel is done.
/// - `choice`: the variant, one value per parameter of `params`, in order. Null: the runtime
///   chooses the variant. The generated header states the rule.
/// - `extent`: the number of programs. Null if the kernel declares its grid; then the call ignores
///   `extent`.
/// @{

/// The resources of one variant's code for one GPU and one schedule, as the GPU's assembler
/// reported them. Constant data of the program, including the strings.
typedef struct tritonc_image_info {
  const char *gpu;             ///< "sm_90a"; "compute_80": PTX, with the resources of sm_80.
  const char *schedule;        ///< "128x256x64 warp-specialized", "baseline".
  int32_t threads;             ///< Threads per block.
  int32_t registers;           ///< Registers per thread.
  int32_t shared_bytes;        ///< Max dynamic shared memory per block, in bytes.
  int32_t static_shared_bytes; ///< Static shared memory per block, in bytes.
  int32_t spill_stores;        ///< Spill stores per thread, in bytes; 0 if the registers suffice.
  int32_t spill_loads;         ///< Spill loads per thread, in bytes; 0 if the registers suffice.
  int32_t stack_bytes;         ///< Stack frame per thread, in bytes.
  int32_t cubin_bytes;         ///< Size of the cubin or PTX before compression, in bytes.
  const char *specialization;  ///< "lda % 8 && ldb % 8"; "" for code that takes all arguments.
} tritonc_image_info;

/// A launch that tritonc_prepare() made ready.
///
/// It has about 3 KB, owns nothing, needs no release, and may be copied. Its alignment is 64 bytes:
/// on the heap, allocate it with aligned_alloc. Any number of threads may launch one object at the
/// same time.
typedef struct tritonc_prepared_launch {
  const tritonc_kernel *code;                   ///< The kernel. Null: not prepared.
  TRITONC_ALIGNAS(64) unsigned char rest[3200]; ///< Private to the runtime.
} tritonc_prepared_launch;

/// A value for the parameter `device`: the device of the thread's current context. If the thread
/// has no current context, device 0.
#define TRITONC_CURRENT_DEVICE (-1)

/// Checks the arguments, chooses variant and schedule, loads the code on first use, and enqueues
/// the kernel.
///
/// Returns when the kernel is enqueued, not when it is done. Later calls report errors of a running
/// kernel, for example tritonc_synchronize(). An empty grid succeeds without a launch.
///
/// @return any code except ::TRITONC_NOT_PREPARED, ::TRITONC_INVALID_CONSTANT and
/// ::TRITONC_CAPTURING. After an error nothing runs, with one exception: some schedules enqueue two
/// kernels, and only the second may fail.
tritonc_status tritonc_launch(const tritonc_kernel *kernel, tritonc_stream stream,
                              const void *arguments, const int32_t *choice,
                              const tritonc_grid *extent) TRITONC_NODISCARD;

/// Does everything that tritonc_launch() does except the launch, and stores the result in `*ready`.
///
/// `*ready` holds the addresses and values of `arguments`: prepare again for other arguments. It
/// stays valid until the stream's context is destroyed or reset.
///
/// @param ready receives the prepared launch; not prepared after an error
/// @return the same codes as tritonc_launch()
tritonc_status tritonc_prepare(const tritonc_kernel *kernel, tritonc_stream stream,
                               const void *arguments, const int32_t *choice,
                               const tritonc_grid *extent,
                               tritonc_prepared_launch *ready) TRITONC_NODISCARD;

/// Launches `*ready`. Checks nothing and chooses nothing, so it costs little more than the driver's
/// launch.
///
/// @param ready the result of tritonc_prepare()
/// @param stream any stream of the device of tritonc_prepare(). A stream of the same context is
/// fastest.
/// @param arguments the same values as in tritonc_prepare()
/// @return ::TRITONC_NOT_PREPARED if `*ready` is not prepared, or is prepared for another device;
/// or an error of the driver
tritonc_status tritonc_launch_prepared(const tritonc_prepared_launch *ready, tritonc_stream stream,
                                       const void *arguments) TRITONC_NODISCARD;

/// Loads code ahead, so that the first launch does not load it. Call it before a graph capture, or
/// if the first launch must be as fast as later launches.
///
/// Loads into the current context if it belongs to `device`. Otherwise loads into the primary
/// context of `device`, and retains this context until the process ends.
///
/// @param choice the variant; null: all variants
/// @param device a CUDA device ordinal, or ::TRITONC_CURRENT_DEVICE
/// @return ::TRITONC_NO_VARIANT, an error about the machine or the program, or an error of the
/// driver
tritonc_status tritonc_preload(const tritonc_kernel *kernel, const int32_t *choice,
                               int device) TRITONC_NODISCARD;

/// Copies host memory to the start of a constant array, in all variants, for the context of
/// `stream`.
///
/// The copies are ordered in `stream`: later launches in it read the new values. A variant with a
/// smaller array gets only the elements that fit. Loads the code that it fills, like
/// tritonc_preload().
///
/// @param name the array's name in the kernel's source
/// @param values host memory. Pageable memory may be reused when the call returns. Page-locked
/// memory must stay unchanged until the copies are done, as with `cudaMemcpyAsync`.
/// @param count the number of elements; 0 copies nothing
/// @param element_bytes the size of an element in bytes, greater than 0
/// @return ::TRITONC_INVALID_CONSTANT if no variant has an array `name` with `count` elements;
/// ::TRITONC_NULL_POINTER if `values` is null and `count` is not 0; ::TRITONC_CAPTURING while
/// `stream` is being captured; or an error of tritonc_preload()
tritonc_status tritonc_set_constant(const tritonc_kernel *kernel, tritonc_stream stream,
                                    const char *name, const void *values, size_t count,
                                    size_t element_bytes) TRITONC_NODISCARD;

/// Returns the variants in order of preference. Needs no driver.
///
/// @param count receives the number of variants
/// @return constant data: one `int32_t` per parameter of `params` for each variant, in order,
/// without gaps
const int32_t *tritonc_variants(const tritonc_kernel *kernel, size_t *count);

/// Returns the resources of one variant: one entry per GPU, schedule and specialization. Needs no
/// driver.
///
/// @param choice the variant; null: the first variant
/// @param count receives the number of entries; 0 if the variant was not compiled
/// @return constant data; null if `*count` is 0
const tritonc_image_info *tritonc_info(const tritonc_kernel *kernel, const int32_t *choice,
                                       size_t *count);

/// @}
/// @defgroup c_hooks Hooks
/// Callbacks for logs: the runtime itself prints nothing. Each program and each shared library with
/// kernels has its own copy of the runtime, and so its own hooks.
/// @{

/// The runtime loaded code. The event happens once per code, for all devices.
///
/// The struct is valid during the callback. Its strings are constant data of the program.
typedef struct tritonc_load_event {
  const char *kernel;         ///< "gemm::dot<half, N, T>".
  const char *gpu;            ///< The GPU of the code: "sm_90a"; "compute_80" for PTX.
  const char *schedule;       ///< "baseline", "128x256x64 warp-specialized".
  const char *specialization; ///< "lda % 8"; "" for code that takes all arguments.
  uint64_t bytes;             ///< Size of the code as stored in the program, in bytes.
  int64_t nanoseconds;        ///< Time that the driver took, in nanoseconds.
} tritonc_load_event;

/// The runtime chose the code of a launch. The event happens in each tritonc_prepare(), and in each
/// tritonc_launch() that does not repeat a recent launch.
///
/// The struct is valid during the callback. Its pointers point to constant data of the program.
typedef struct tritonc_choice_event {
  const char *kernel;         ///< "gemm::dot<half, N, T>".
  const int32_t *variant;     ///< The values of `params`, in order.
  size_t variant_count;       ///< The number of these values.
  const char *gpu;            ///< The GPU of the code: "sm_90a"; "compute_80" for PTX.
  const char *schedule;       ///< "baseline", "128x256x64 warp-specialized".
  const char *specialization; ///< "lda % 8"; "" for code that takes all arguments.
  tritonc_grid programs;      ///< The grid of the launch.
  int64_t cost;               ///< The compiler's estimate in nanoseconds; -1: unknown.
} tritonc_choice_event;

/// Callbacks; a null pointer disables one callback.
///
/// The thread in which the event happens calls it. Several threads may call a callback at the same
/// time. The runtime holds no lock during the call, so a callback may launch kernels.
typedef struct tritonc_hooks {
  /// A function of the section "Kernels" returns the error `*what`. `*what` is valid during the
  /// callback.
  void (*on_error)(const tritonc_status *what, void *data);
  /// The runtime loaded code.
  void (*on_load)(const tritonc_load_event *what, void *data);
  /// The runtime chose the code of a launch.
  void (*on_choice)(const tritonc_choice_event *what, void *data);
  /// In addition to on_load, for PTX: the driver compiled it now, or found it in its cache.
  void (*on_jit)(const tritonc_load_event *what, void *data);
  void *data; ///< The last argument of each callback. The runtime does not read it.
} tritonc_hooks;

/// Replaces the hooks of this program or shared library.
///
/// @param hooks must stay valid and unchanged until the process ends. Null removes the hooks. Calls
/// that have already begun may still use the old hooks.
void tritonc_set_hooks(const tritonc_hooks *hooks);

/// @}
/// @defgroup c_device Device memory and synchronization
/// For programs that do not use CUDA otherwise. These functions use the thread's current context.
/// If the thread has none, they make the primary context of device 0 current and leave it current.
/// Hooks do not get their errors.
///
/// Every function may return an error about the machine: ::TRITONC_NO_DRIVER,
/// ::TRITONC_DRIVER_TOO_OLD, ::TRITONC_NO_DEVICE, ::TRITONC_FORKED_CHILD. Every function may return
/// an error of the driver, also of an earlier kernel.
/// @{

/// The properties of a device.
typedef struct tritonc_device_info {
  char name[128]; ///< The device's name, NUL-terminated: "NVIDIA H200".
  int major;      ///< Compute capability, major number.
  int minor;      ///< Compute capability, minor number.
  int num_sms;    ///< The number of SMs.
  bool emulated;  ///< True: no GPU; `TRITONC_DRIVER` names the emulator.
} tritonc_device_info;

/// Describes the device of the current context.
///
/// @param info receives the properties
/// @return ::TRITONC_NO_DRIVER or ::TRITONC_NO_DEVICE on a machine without a GPU
tritonc_status tritonc_current_device(tritonc_device_info *info) TRITONC_NODISCARD;

/// Allocates device memory in the current context. Free it with tritonc_release().
///
/// @param memory receives the device address, aligned to 256 bytes; null after an error
/// @param bytes 0 counts as 1
/// @return ::TRITONC_OUT_OF_MEMORY if the device has too little free memory
tritonc_status tritonc_allocate(void **memory, size_t bytes) TRITONC_NODISCARD;

/// Frees device memory. Call it when no enqueued work uses the memory any more.
///
/// @param memory a result of tritonc_allocate(), or null, which does nothing
tritonc_status tritonc_release(void *memory) TRITONC_NODISCARD;

/// Copies host memory to device memory. `from` may be reused when the call returns.
///
/// The copy runs in the legacy default stream. It waits for blocking streams, but not for streams
/// made with `cudaStreamNonBlocking`: synchronize them first.
///
/// @param to device memory with room for `bytes` bytes
/// @param from host memory
/// @param bytes 0 copies nothing and needs no driver
tritonc_status tritonc_copy_to_device(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;

/// Copies device memory to host memory, and waits for the copy. The order of streams is that of
/// tritonc_copy_to_device().
///
/// @param to host memory with room for `bytes` bytes
/// @param from device memory
/// @param bytes 0 copies nothing and needs no driver
tritonc_status tritonc_copy_to_host(void *to, const void *from, size_t bytes) TRITONC_NODISCARD;

/// Sets device memory to a value. May return before the memory has the value. The order of streams
/// is that of tritonc_copy_to_device().
///
/// @param memory device memory
/// @param value the value of each byte
/// @param bytes 0 sets nothing and needs no driver
tritonc_status tritonc_fill(void *memory, unsigned char value, size_t bytes) TRITONC_NODISCARD;

/// Waits until all work in `stream` is done. Returns errors of earlier kernels, for example
/// ::TRITONC_DEVICE_LOST.
tritonc_status tritonc_synchronize(tritonc_stream stream) TRITONC_NODISCARD;

/// @}

#ifdef __cplusplus
}
#endif
