/// @file
/// **Internal**: the constant data that describes compiled kernels to the runtime.
///
/// Programs do not use the namespace `abi` of this header. The generator writes its structs into an
/// object file, or as initializers into a header. The runtime reads them. They hold everything that
/// a launch needs beyond its arguments: the code for each GPU, the requirements on the arguments,
/// and how the grid follows from the arguments. All data must stay at its address until the process
/// ends.
///
/// The only public type is `tritonc::image_info`, the resources of compiled code.
///
/// @par Example
/// @code{.cpp}
/// #include <vectors.hpp> // triton_add_kernels(vectors SOURCES vector_add.tc ...)
///
/// #include <cstdio>
///
/// int main() {
///   using vector_add = vectors::vector_add<float>;
///   for (const vector_add::params &variant : vector_add::variants()) {
///     std::printf("SIZE = %d\n", variant.SIZE); // SIZE = 256
///     for (const tritonc::image_info &code : vector_add::info(variant))
///       std::printf("%s: %d spilled bytes\n", code.gpu, code.spill_stores); // sm_90a: 0
///   }
/// }
/// @endcode

// Increase `abi_version` with every change of a struct. It is part of every link symbol, so objects
// of different versions do not link.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tritonc {
inline namespace v1 {

/// The resources of one variant's code for one GPU and one schedule, as the GPU's assembler
/// reported them. Constant data of the program, including the strings.
///
/// If a variant has several schedules for a GPU, each has an entry. The launch takes the cheapest
/// schedule that fits its arguments.
struct image_info {
  const char *gpu;                  ///< "sm_90a"; "compute_80": PTX, with the resources of sm_80.
  const char *schedule;             ///< "128x256x64 warp-specialized", "baseline".
  std::int32_t threads;             ///< Threads per block.
  std::int32_t registers;           ///< Registers per thread.
  std::int32_t shared_bytes;        ///< Max dynamic shared memory per block, in bytes.
  std::int32_t static_shared_bytes; ///< Static shared memory per block, in bytes.
  std::int32_t spill_stores;        ///< Spill stores per thread, in bytes; 0 if registers suffice.
  std::int32_t spill_loads;         ///< Spill loads per thread, in bytes; 0 if registers suffice.
  std::int32_t stack_bytes;         ///< Stack frame per thread, in bytes.
  std::int32_t cubin_bytes;         ///< Size of the cubin or PTX before compression, in bytes.
  /// The conditions under which the compiler specialized the code: "lda % 8 && ldb % 8". A launch
  /// uses the code only if all conditions hold. "" for code that takes all arguments.
  const char *specialization;
};

namespace abi {

/// The version of these structs.
inline constexpr std::uint32_t abi_version = 13;

// ---- images ----

/// The header before the bytes of an image. With it the runtime finds damage before the driver
/// loads the image: the driver crashes or hangs on some damaged images. 64 bytes, so that the image
/// stays aligned.
struct image_header {
  char magic[8];          ///< "TritonC\n"
  std::uint32_t version;  ///< image_version
  std::uint32_t reserved; ///< zero
  std::uint64_t length;   ///< of the image after the header; bytes
  std::uint64_t checksum; ///< of the image after the header
  char padding[32];       ///< zero
};
static_assert(sizeof(image_header) == 64, "the image after it is aligned to 64");

/// The value of image_header::magic.
inline constexpr char image_magic[8] = {'T', 'r', 'i', 't', 'o', 'n', 'C', '\n'};
/// The value of image_header::version.
inline constexpr std::uint32_t image_version = 1;

/// Returns a checksum that finds accidental damage, not attacks. It reads eight bytes per step and
/// takes about 10 microseconds for 40 KB. Each step is a bijection of the state, so the checksum
/// finds every single damaged word.
inline std::uint64_t checksum(const char *bytes, std::size_t length) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u; // 2^64 divided by the golden ratio
  std::uint64_t state = length * odd;
  auto step = [&](std::uint64_t word) {
    state = (state ^ word) * odd;
    state ^= state >> 29;
  };
  for (; length >= 8; bytes += 8, length -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    step(word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes, length);
  step(rest);
  step(0);
  return state;
}

/// The header of a bundle: a file with the images of a library, beside the program or shared
/// library that has the kernels. After this header come the images, each after its own
/// image_header, aligned to 64 bytes. 64 bytes.
struct bundle_header {
  char magic[8];             ///< "TritonCB"
  std::uint32_t version;     ///< bundle_version
  std::uint32_t image_count; ///< number of images in the file
  std::uint64_t length;      ///< of the file; bytes
  std::uint64_t digest[2];   ///< first half of the SHA-256 of everything after this header
  char padding[24];          ///< zero
};
static_assert(sizeof(bundle_header) == 64, "the images after it are aligned to 64");

/// The value of bundle_header::magic.
inline constexpr char bundle_magic[8] = {'T', 'r', 'i', 't', 'o', 'n', 'C', 'B'};
/// The value of bundle_header::version.
inline constexpr std::uint32_t bundle_version = 1;

/// The bundle that was built with a library. The runtime refuses another file of the same name.
struct bundle {
  const char *name;        ///< "gemm.tcb"
  std::uint64_t length;    ///< of the file; bytes
  std::uint64_t digest[2]; ///< as in bundle_header
};

/// The mutable state of an image. Zero before the first use.
struct image_state {
  std::atomic<void *> kernel;         ///< the driver's CUkernel; valid on all devices
  std::atomic<void *> library;        ///< the driver's CUlibrary that contains the kernel
  std::atomic<std::uint64_t> devices; ///< bit i: the shared memory limit is raised on device i
};

// ---- host code ----
//
// EMULATE of triton_add_kernels also compiles a kernel for the CPU. Host code is one function that
// does the work of one GPU thread. It calls the emulator for the operations that only a GPU has.
// All of it is constant data.

/// The source position of an operation.
struct host_site {
  const char *file;     ///< the path that was passed to the generator; "" if unknown
  std::uint32_t line;   ///< from 1; 0 if unknown
  std::uint32_t column; ///< from 1; 0 if unknown
};

/// A GPU operation that the emulator does on the host `count` times, once per record.
///
/// A record holds the operands in order and then the result, laid out as in a C struct. A vector is
/// an array of its elements. Records are contiguous, each padded to the size of the struct, and
/// aligned to at least 4 bytes. Records are independent of each other.
///
/// Some operations only announce an access that the host code then makes itself: `load_shared`,
/// `store_shared`, `atomic_shared`, the same for `global`, and for `generic` if the code does not
/// know the address space. There `records` is the address, and `count` is the number of bytes | the
/// assumed alignment << 16. `out_of_steps` reports that `steps_left` is below zero; `records` is
/// null.
using host_operation = void (*)(void *thread, void *records, std::uint32_t count,
                                const host_site *site);

/// The state of a thread that host code itself reads and writes. The emulator may keep more state
/// after it.
struct host_thread {
  std::int64_t steps_left;   ///< host code subtracts 1 per loop iteration; < 0: `out_of_steps`
  std::uint32_t shared_base; ///< address of the block's dynamic shared memory; multiple of 256 KiB
  std::uint32_t reserved;    ///< zero
  const void *constants;     ///< constant memory; null: none
};

/// A parameter of host code.
struct host_parameter {
  const char *name;         ///< "lda"
  std::uint32_t bytes;      ///< size of the value
  std::uint32_t is_pointer; ///< 0 or 1
};

/// A named part of dynamic shared memory, for reports.
struct host_buffer {
  const char *name;     ///< of the tile or the barrier
  std::uint32_t offset; ///< from shared_base; bytes
  std::uint32_t bytes;  ///< size
};

/// The value of host_code::magic.
inline constexpr char host_code_magic[8] = {'T', 'C', ' ', 'h', 'o', 's', 't', '\n'};
/// The value of host_code::version.
inline constexpr std::uint32_t host_code_version = 2;

/// One kernel of one variant for one GPU, compiled to a function of the host's CPU.
struct host_code {
  char magic[8];                 ///< host_code_magic
  std::uint32_t version;         ///< host_code_version
  std::uint32_t operation_count; ///< entries of `operations`
  /// The operations that the code calls, with their types: "ldmatrix_x4 v4i32(i32)". The table that
  /// `entry` takes has the same order.
  const char *const *operations;
  /// Runs one thread to its end. arguments[i] points to the value of parameter i.
  void (*entry)(const host_operation *operations, host_thread *thread, void *const *arguments);
  const char *name;                 ///< of the kernel
  const char *gpu;                  ///< "sm_90a"
  const host_parameter *parameters; ///< parameter_count entries
  const host_buffer *buffers;       ///< buffer_count entries
  const host_site *sites;           ///< all sites that the code passes to operations
  std::uint32_t parameter_count;    ///< entries of `parameters`
  std::uint32_t buffer_count;       ///< entries of `buffers`
  std::uint32_t site_count;         ///< entries of `sites`
  std::uint32_t threads;            ///< per block
  std::uint32_t shared_bytes;       ///< dynamic, per block
  std::uint32_t cluster_size;       ///< blocks per cluster; 1: no clusters
  const void *constants;            ///< initial contents of constant memory; null: none
  std::uint32_t constant_bytes;     ///< size of `constants`
  std::uint32_t blocks_per_sm;      ///< that share the registers of an SM; 0: one
};

// ---- launch plans ----

/// An operation of an expression over the arguments. An expression is a sequence of 64-bit words in
/// postfix order. All values are signed 64-bit integers. `/` and `%` round toward zero, as in C. A
/// value that overflows, or a division by zero, makes the result unknown.
enum class op : std::int64_t {
  end,       ///< ends the expression; the result is the only value on the stack
  constant,  ///< pushes the next word
  parameter, ///< pushes the argument whose index is the next word
  programs,  ///< in schedules: pushes the grid size along the axis in the next word
  num_sms,   ///< in schedules: pushes the number of SMs of the device
  neg,
  logical_not,
  add,
  sub,
  mul,
  div,
  rem,
  ceil_div, ///< rounds up
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and, ///< 0 if an operand is 0, even if the other one is unknown
  logical_or,  ///< 1 if an operand is not 0, even if the other one is unknown
};

/// The max stack depth of an expression. The generator rejects deeper expressions.
inline constexpr int max_stack = 32;

/// A condition on the arguments.
struct requirement {
  const std::int64_t *condition; ///< an expression; 0 = does not hold
  const char *text;              ///< for messages: "M % 128 == 0"
};

/// The type of a parameter. `other`: a type that no expression reads.
enum class parameter_kind : std::uint8_t { pointer, u8, i8, u16, i16, u32, i32, u64, i64, other };

/// A parameter of a kernel.
struct parameter {
  const char *name;      ///< "lda"
  std::uint32_t offset;  ///< in the struct of arguments; bytes
  std::uint32_t aligned; ///< pointers: the alignment that the code assumes; bytes
  parameter_kind kind;   ///< type of the value
  bool nullable;         ///< pointers: null is allowed
  std::uint8_t bytes;    ///< size in the struct: 1, 2, 4 or 8
  char padding[5];       ///< zero
};

/// The max number of parameters of a kernel. The generator rejects more.
inline constexpr int max_parameters = 256;

// ---- schedules ----
//
// A schedule is how the blocks of a GPU carry out the programs of the grid. launch_config describes
// its launch. Its expressions may also use the grid of programs and the number of SMs.

/// A tensor that TMA reads or writes: the arguments of cuTensorMapEncodeTiled, with its enum
/// values. The first axis is the contiguous one. TMA reads elements outside the tensor as zero.
struct tensor_map {
  std::uint32_t parameter;       ///< index of the pointer parameter
  std::uint8_t data_type;        ///< CUtensorMapDataType
  std::uint8_t element_bytes;    ///< size of that type
  std::uint8_t swizzle;          ///< CUtensorMapSwizzle
  std::uint8_t rank;             ///< 1 to 5
  const std::int64_t *offset;    ///< elements from the pointer to the tensor's first element
  const std::int64_t *size[5];   ///< elements along each axis
  const std::int64_t *stride[4]; ///< elements; axes 1 to 4
  std::uint32_t box[5];          ///< elements per copy, along each axis
  std::uint32_t reserved;        ///< zero
};

/// The kind of a hidden parameter.
enum class hidden_kind : std::uint32_t { i32, i64, tensor_map, workspace };

/// A kernel parameter after the user's own parameters: an integer, a tensor map of 128 bytes, or
/// the address of the workspace.
struct hidden_parameter {
  const std::int64_t *value; ///< integers: an expression
  const char *text;          ///< integers: for messages: "cdiv(M, 128)"
  const tensor_map *map;     ///< tensor maps
  hidden_kind kind;          ///< which of these
  std::uint32_t reserved;    ///< zero
};

/// The max number of hidden parameters of a schedule.
inline constexpr int max_hidden = 16;
/// The max number of tensor maps among them.
inline constexpr int max_tensor_maps = 8;

/// The part of the work that a launch does. `first` and `second` are a pair of launches that share
/// the work: image i has `first` and image i + 1 has `second`. The runtime never launches `second`
/// alone.
enum class launch_part : std::uint32_t { whole, first, second };

/// The launch of a schedule.
struct launch_config {
  const requirement *guards;      ///< in addition, the driver must accept every tensor map
  const hidden_parameter *hidden; ///< in order
  const std::int64_t *cost;      ///< the runtime takes the lowest cost; null: after all known costs
  const std::int64_t *blocks[3]; ///< all null: one block per program; null after the first: 1
  /// Bytes of device memory that only this launch uses until it is done; null or 0: none. The two
  /// launches of a pair share the workspace; its size is that of `first`.
  const std::int64_t *workspace;
  /// Dynamic shared memory per block, in bytes; at most image_info::shared_bytes. Null: that of
  /// image_info.
  const std::int64_t *shared_bytes;
  std::uint32_t guard_count;  ///< entries of `guards`
  std::uint32_t hidden_count; ///< entries of `hidden`
  std::uint32_t cluster;      ///< blocks per cluster, along the first axis
  launch_part part;           ///< whole, or one of a pair
  std::uint32_t starts_early; ///< 1: programmatic dependent launch; blocks wait for the one before
  std::uint32_t reserved;     ///< zero
};

// ---- constant memory ----

/// An array in constant memory, which the host fills. Each image has its own copy, in one block
/// named `constant_block`.
struct constant {
  const char *name;     ///< of the array in the source
  std::uint32_t offset; ///< in the block; bytes
  std::uint32_t bytes;  ///< size of the array
};

/// The name of the block in an image.
inline constexpr char constant_block[] = "tritonc_constants";

// ---- kernels ----

/// A value of image::suffix: the image is PTX, which the driver compiles for the device.
inline constexpr std::int32_t ptx_suffix = 'p';

/// The code of one variant for one GPU and one schedule.
struct image {
  const char *bytes;                ///< an image_header and the image after it; null: in the bundle
  std::uint64_t size;               ///< of header and image; bytes
  image_state *state;               ///< zero before the first use
  std::int32_t sm;                  ///< 90
  std::int32_t suffix;              ///< 'a', 'f' or 0; ptx_suffix: PTX for `sm` and later GPUs
  const host_code *host;            ///< the same kernel for the CPU; null without EMULATE
  const abi::launch_config *launch; ///< null: one block per program and no hidden parameters
  const abi::bundle *bundle;        ///< the file with the image; null: embedded
  std::uint64_t offset;             ///< in the bundle; bytes
};

/// The code for one choice of values of `params`. Specialized code is also a variant, with more
/// requirements. A launch takes the first of `specialized`, and then this variant itself, whose
/// requirements hold.
struct variant {
  const char *entry;               ///< the kernel's symbol in its images
  const std::int64_t *grid[3];     ///< all null: the caller sets the grid; null after the first: 1
  const requirement *requirements; ///< requirement_count entries
  const parameter *parameters;     ///< kernel::parameter_count entries
  const image *images;             ///< image_count entries
  const image_info *infos; ///< one per image, in the same order; then those of `specialized`
  std::uint32_t requirement_count; ///< entries of `requirements`
  std::uint32_t image_count;       ///< entries of `images`
  const variant *specialized;      ///< not nested: their `specialized` is empty
  std::uint32_t specialized_count; ///< entries of `specialized`
  std::uint32_t constant_count;    ///< entries of `constants`
  const constant *constants;       ///< arrays in constant memory
};

// ---- tuning ----

/// Returns 1024 * log2(value), rounded down; -1024 for values below 1. Uses integer arithmetic, so
/// that the generator and every machine compute the same result.
constexpr std::int32_t logarithm(std::int64_t value) noexcept {
  if (value < 1)
    return -1024;
  std::int32_t result = 63 - __builtin_clzll(std::uint64_t(value));
  // The mantissa in [1, 2), with 31 fraction bits. Each squaring gives one bit of the logarithm.
  std::uint64_t mantissa = (std::uint64_t(value) << (63 - result)) >> 32;
  for (int place = 0; place < 10; place++) {
    mantissa = mantissa * mantissa >> 31;
    result = 2 * result + std::int32_t(mantissa >> 32);
    mantissa >>= mantissa >> 32;
  }
  return result;
}

/// Measured times of the variants on one GPU model, for some problems. All values are results of
/// `logarithm`, so equal ratios are equal differences.
struct tuning {
  const char *gpu;              ///< "NVIDIA H200"
  std::int32_t sm;              ///< 90
  std::int32_t num_sms;         ///< number of SMs
  const std::uint32_t *axes;    ///< indices of the arguments that define a problem
  const std::int32_t *problems; ///< problem i: problems[i * axis_count ...]
  /// Problem i: times[i * variant_count ...], or `not_measured`. With `beside_costs`, a time is
  /// relative to the cost of the measured schedule, else relative to the fastest variant.
  const std::int16_t *times;
  const std::int16_t *costs;      ///< same layout: costs of the schedules; null: not beside_costs
  const std::uint16_t *schedules; ///< same layout: indices into schedule_names
  const char *const *schedule_names; ///< schedule_name_count entries
  std::uint32_t axis_count;          ///< arguments that define a problem
  std::uint32_t problem_count;       ///< number of problems
  std::uint32_t schedule_name_count; ///< entries of `schedule_names`
  std::uint32_t beside_costs;        ///< 0 or 1
};

/// In tuning::times: the variant was not measured for the problem.
inline constexpr std::int16_t not_measured = INT16_MIN;

/// The variants behind one C++ type, in order of preference.
struct kernel {
  std::uint32_t version;         ///< abi_version
  std::uint32_t parameter_count; ///< parameters in the source
  const char *name;              ///< "gemm::dot<half, N, T>"
  const char *gpus;              ///< for messages: "sm_80, sm_90a"
  const variant *variants;       ///< variant_count entries
  const std::int32_t *choices;   ///< variant i: choices[i * axis_count ...]
  std::uint32_t variant_count;   ///< entries of `variants`
  std::uint32_t axis_count;      ///< parameters of `params`
  /// Bytes that the arguments fill in their struct, if there is no gap between them; else 0.
  std::uint32_t argument_bytes;
  std::uint32_t tuning_count; ///< entries of `tunings`
  const tuning *tunings;      ///< one per measured GPU model
  // For `tritonc verify`; launches do not read these two.
  image_state *states;    ///< of the library: image::state is an element
  std::uint64_t checksum; ///< of everything above and behind the pointers, except image contents
};

/// A base class in generated headers: this combination of template arguments was not compiled.
struct not_compiled {
  static constexpr bool is_compiled = false; ///< For the static_assert of generated headers.
  /// Never defined: the header's static_assert fails first.
  static const kernel &get() noexcept;
};
/// A base class in generated headers: this combination was compiled. If the kernel has variants,
/// the class has an array `variants` of their values, as in `kernel::choices`.
struct compiled {
  static constexpr bool is_compiled = true; ///< For the static_assert of generated headers.
};

} // namespace abi
} // namespace v1
} // namespace tritonc
