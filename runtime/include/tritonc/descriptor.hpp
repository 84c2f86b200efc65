// How compiled kernels are described to the runtime: plain constant data.
//
// The generator writes these structs, into an object file or as initialisers in a header, and the
// runtime reads them. They hold everything that a launch needs beyond its arguments: the code for
// each GPU, what the arguments must satisfy, and how the grid follows from them. Changing any of
// this changes `abi_version`, which is part of every link symbol, so that parts of different age
// don't link.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tritonc {
inline namespace v1 {

/// What the GPU's assembler reported of one variant on one GPU. Where the compiler made it in
/// several forms for a GPU, each has an entry, and the launch takes the cheapest that fits its
/// arguments.
struct image_info {
  const char *gpu;                  // "sm_90a"; "compute_80": PTX, and figures of sm_80
  const char *form;                 // "128x256x64 wgmma"; "" for the plain one
  std::int32_t threads;             // per block
  std::int32_t registers;           // per thread
  std::int32_t shared_bytes;        // per block, said at the launch
  std::int32_t static_shared_bytes; // per block, built in
  std::int32_t spill_stores;        // bytes; 0 unless registers ran out
  std::int32_t spill_loads;
  std::int32_t stack_bytes;
  std::int32_t cubin_bytes; // of the code, or the PTX, before compression
  /// Under which hints it was compiled, "lda % 8 && ldb % 8": it runs only for arguments of which
  /// they are true. "" for the code that takes all.
  const char *hints;
};

namespace abi {

inline constexpr std::uint32_t abi_version = 10;

// ---- images ----

/// What precedes the bytes of an image, so that damage is found before the driver, which crashes or
/// hangs on some of it, sees them. 64 bytes: the image itself stays aligned.
struct image_header {
  char magic[8]; // "TritonC\n"
  std::uint32_t version;
  std::uint32_t reserved; // zero
  std::uint64_t length;   // of the bytes that follow
  std::uint64_t checksum; // of the bytes that follow
  char padding[32];       // zero
};
static_assert(sizeof(image_header) == 64, "the image behind it is aligned to 64");

inline constexpr char image_magic[8] = {'T', 'r', 'i', 't', 'o', 'n', 'C', '\n'};
inline constexpr std::uint32_t image_version = 1;

/// Finds accidental damage (not malice), eight bytes at a time: some 10 microseconds for 40 KB.
/// Each step is a bijection of the state, so no single damaged word goes unseen.
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

/// A file with the images of a library, beside the program or shared library that has the kernels.
/// It begins with a header, and then has each image behind its own, aligned to 64. 64 bytes.
struct bundle_header {
  char magic[8]; // "TritonCB"
  std::uint32_t version;
  std::uint32_t image_count;
  std::uint64_t length;    // of the file
  std::uint64_t digest[2]; // of all that is behind this header: the first half of its SHA-256
  char padding[24];        // zero
};
static_assert(sizeof(bundle_header) == 64, "the images behind it are aligned to 64");

inline constexpr char bundle_magic[8] = {'T', 'r', 'i', 't', 'o', 'n', 'C', 'B'};
inline constexpr std::uint32_t bundle_version = 1;

/// The bundle that a library was made with; another one of the same name won't do.
struct bundle {
  const char *name; // "gemm.tcb"
  std::uint64_t length;
  std::uint64_t digest[2];
};

/// What changes when an image is first used. Zero before that.
struct image_state {
  std::atomic<void *> kernel;         // the driver's handle, good on all devices
  std::atomic<void *> library;        // of the code that the kernel is in
  std::atomic<std::uint64_t> devices; // bit i: device i allows this much shared memory
};

// ---- host code ----
//
// A kernel may also be compiled for the CPU (EMULATE of triton_add_kernels): one function that does
// what one thread of the GPU does, and calls whoever runs it, the emulator, for what only a GPU
// has. All of it is constant data.

/// Where in the source an operation comes from.
struct host_site {
  const char *file;   // as the generator was given it; "" if unknown
  std::uint32_t line; // from 1; 0 if unknown
  std::uint32_t column;
};

/// An operation of the GPU, done on the host `count` times. Each time has a record: its operands in
/// order and then its result, each at the next multiple of its own alignment, as in a C struct; a
/// vector is an array of its elements. Records lie one behind the other, each as large as such a
/// struct is, and aligned to 4 at least. They don't depend on each other.
///
/// A few operations are told of what the code is about to do itself: `load_shared`, `store_shared`,
/// `atomic_shared`, the same for `global`, and for `generic` where the code does not know which.
/// For them `records` is the address, and `count` the number of bytes | the alignment relied on
/// << 16. `out_of_steps` (`records` is null) says that `steps_left` fell below zero.
using host_operation = void (*)(void *thread, void *records, std::uint32_t count,
                                const host_site *site);

/// What host code itself reads and writes of the thread that it runs as; whoever runs it may keep
/// more behind it.
struct host_thread {
  std::int64_t steps_left;   // one less at each turn of a loop; calls `out_of_steps` below zero
  std::uint32_t shared_base; // address of the block's dynamic shared memory; a multiple of 256 KiB
  std::uint32_t reserved;
  const void *constants; // constant memory, if there is some
};

struct host_parameter {
  const char *name;
  std::uint32_t bytes;
  std::uint32_t is_pointer;
};

/// A part of dynamic shared memory, for reports.
struct host_buffer {
  const char *name;
  std::uint32_t offset; // from shared_base
  std::uint32_t bytes;
};

inline constexpr char host_code_magic[8] = {'T', 'C', ' ', 'h', 'o', 's', 't', '\n'};
inline constexpr std::uint32_t host_code_version = 2;

/// One kernel of one variant for one GPU, as a function of this machine.
struct host_code {
  char magic[8];
  std::uint32_t version; // host_code_version
  std::uint32_t operation_count;
  /// What the code calls: "ldmatrix_x4 v4i32(i32)". The table handed to `entry` is in this order.
  const char *const *operations;
  /// Runs one thread to its end. arguments[i] points to the value of parameter i.
  void (*entry)(const host_operation *operations, host_thread *thread, void *const *arguments);
  const char *name; // the kernel
  const char *gpu;  // "sm_90a"
  const host_parameter *parameters;
  const host_buffer *buffers;
  const host_site *sites; // every site that the code hands to an operation is one of these
  std::uint32_t parameter_count;
  std::uint32_t buffer_count;
  std::uint32_t site_count;
  std::uint32_t threads;      // per block
  std::uint32_t shared_bytes; // dynamic, per block
  std::uint32_t cluster_size; // blocks per cluster; 1: there are no clusters
  const void *constants;      // constant memory as it is before somebody fills it; null: none
  std::uint32_t constant_bytes;
  std::uint32_t reserved;
};

// ---- launch plans ----

/// An expression over the arguments in postfix form, as a sequence of words. Each result and each
/// intermediate is a 64-bit integer; `/` and `%` round towards zero, as in C.
enum class op : std::int64_t {
  end,             // the one value left is the result
  constant,        // pushes the next word
  parameter,       // pushes the argument whose index is the next word
  programs,        // in forms: pushes the size of the grid along the axis that the next word is
  multiprocessors, // in forms: pushes how many the device has
  neg,
  logical_not,
  add,
  sub,
  mul,
  div,
  rem,
  ceil_div, // rounds up
  min,
  max,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and, // 0 and an operand that cannot be computed is 0
  logical_or,  // 1 or an operand that cannot be computed is 1
};

/// The most values that an expression may hold at once; the generator refuses deeper ones.
inline constexpr int max_stack = 32;

struct requirement {
  const std::int64_t *condition;
  const char *text; // as a person would write it: "M % 128 == 0"
};

enum class parameter_kind : std::uint8_t { pointer, u8, i8, u16, i16, u32, i32, u64, i64, other };

struct parameter {
  const char *name;
  std::uint32_t offset;  // in the struct of arguments
  std::uint32_t aligned; // of pointers: what the code relies on
  parameter_kind kind;
  bool nullable;
  std::uint8_t bytes; // in the struct: 1, 2, 4 or 8
  char padding[5];
};

/// The most parameters that a kernel may have; the generator refuses more.
inline constexpr int max_parameters = 256;

// ---- forms ----
//
// How the blocks of a GPU carry out the programs of the grid. The expressions are computed with the
// grid of programs and the device at hand.

/// A tensor as the GPU's copy engine is told of it: arguments of cuTensorMapEncodeTiled, whose
/// numbers these are. The axis of neighbours comes first. What is outside is read as zero.
struct tensor_map {
  std::uint32_t parameter;       // index of the pointer
  std::uint8_t data_type;        // CUtensorMapDataType
  std::uint8_t element_bytes;    // of that type
  std::uint8_t swizzle;          // CUtensorMapSwizzle
  std::uint8_t rank;             // 1 to 5
  const std::int64_t *offset;    // elements from the pointer to the tensor's first
  const std::int64_t *size[5];   // elements along each axis
  const std::int64_t *stride[4]; // in elements, of the axes after the first
  std::uint32_t box[5];          // elements that one copy moves, along each axis
  std::uint32_t reserved;
};

enum class hidden_kind : std::uint32_t { i32, i64, tensor_map, scratch };

/// What a kernel is given behind its own parameters: a number, the 128 bytes of a tensor map, or
/// the address of the form's scratch memory.
struct hidden_parameter {
  const std::int64_t *value; // of a number
  const char *text;          // of a number, for people: "cdiv(M, 128)"
  const tensor_map *map;     // of a map
  hidden_kind kind;
  std::uint32_t reserved;
};

/// The most hidden parameters that a form may have, and the most of them that may be tensor maps.
inline constexpr int max_hidden = 16;
inline constexpr int max_tensor_maps = 8;

/// Which part of the work a launch does: all of it; or one of two that share it, the first of which
/// has the form of an image, and the second, which is never taken alone, that of the next image.
enum class form_share : std::uint32_t { all, first, rest };

struct form {
  const requirement *guards;      // besides: the driver must take every tensor map
  const hidden_parameter *hidden; // in order
  const std::int64_t *cost;       // the least is taken; null: only if no form with a cost fits
  const std::int64_t *blocks[3];  // all null: the grid of programs; null after the first: 1
  /// Bytes of memory that nobody else has until the launch is done; null: none. Two launches that
  /// share the work have the same, as many as the first says.
  const std::int64_t *scratch;
  std::uint32_t guard_count;
  std::uint32_t hidden_count;
  std::uint32_t cluster; // blocks per cluster, along the first axis
  form_share share;
  std::uint32_t starts_early; // 1: its blocks wait themselves for the launch in front of it
  std::uint32_t reserved;
};

// ---- constant memory ----

/// An array in constant memory, which the host fills. Each image has its own, in one block under
/// this name.
struct constant {
  const char *name;
  std::uint32_t offset; // in the block
  std::uint32_t bytes;
};

inline constexpr char constant_block[] = "tritonc_constants";

// ---- kernels ----

/// In place of a GPU's suffix. Drivers compile PTX for the device that it is loaded on.
inline constexpr std::int32_t ptx_suffix = 'p';

/// The code of one variant for one GPU, in one form.
struct image {
  const char *bytes; // an image_header and what it announces; null: it is in the bundle
  std::uint64_t size;
  image_state *state;
  std::int32_t sm;           // 90
  std::int32_t suffix;       // 'a', 'f' or 0; ptx_suffix: PTX for this GPU and all after it
  const host_code *host;     // the same for the CPU; null unless asked for
  const abi::form *form;     // null: a block for each program, and nothing hidden
  const abi::bundle *bundle; // where it is, if not in the program
  std::uint64_t offset;      // in the bundle
};

/// The code of one choice of values. What was compiled under hints besides is such a variant too,
/// with more requirements; of those and the general one, which comes last, a launch takes the first
/// whose requirements its arguments meet.
struct variant {
  const char *entry;           // the kernel's symbol in its images
  const std::int64_t *grid[3]; // all null: the caller says the grid; null after the first: 1
  const requirement *requirements;
  const parameter *parameters;
  const image *images;
  const image_info *infos; // as many as images, in the same order; then those of `specialized`
  std::uint32_t requirement_count;
  std::uint32_t image_count;
  const variant *specialized; // none of them has such itself
  std::uint32_t specialized_count;
  std::uint32_t constant_count;
  const constant *constants;
};

// ---- tuning ----

/// 1024 times the logarithm to the base 2, rounded down; of what is less than 1, as of 1/2. Integer
/// arithmetic: the generator and every machine get the same.
constexpr std::int32_t logarithm(std::int64_t value) noexcept {
  if (value < 1)
    return -1024;
  std::int32_t result = 63 - __builtin_clzll(std::uint64_t(value));
  // Between 1 and 2, with 31 binary places: each squaring gives a binary place of the logarithm.
  std::uint64_t mantissa = (std::uint64_t(value) << (63 - result)) >> 32;
  for (int place = 0; place < 10; place++) {
    mantissa = mantissa * mantissa >> 31;
    result = 2 * result + std::int32_t(mantissa >> 32);
    mantissa >>= mantissa >> 32;
  }
  return result;
}

/// How long the variants took on one kind of GPU, for problems that were measured. All numbers are
/// such logarithms: what is twice as large, or takes twice as long, is always as far away.
struct tuning {
  const char *gpu; // "NVIDIA H200"
  std::int32_t sm; // 90
  std::int32_t multiprocessors;
  const std::uint32_t *axes;    // the arguments that make up a problem
  const std::int32_t *problems; // problem i has problems[i * axis_count ...]
  /// Problem i has times[i * variant_count ...]: beside the costs of the forms that were launched,
  /// if `beside_costs`, else beside the fastest variant.
  const std::int16_t *times;
  const std::int16_t *costs;  // likewise: those costs; null unless `beside_costs`
  const std::uint16_t *forms; // likewise: which of the names
  const char *const *form_names;
  std::uint32_t axis_count;
  std::uint32_t problem_count;
  std::uint32_t form_name_count;
  std::uint32_t beside_costs;
};

/// The time of a variant that was not measured for a problem.
inline constexpr std::int16_t not_measured = INT16_MIN;

/// The variants behind one C++ type, in their order of preference.
struct kernel {
  std::uint32_t version; // abi_version
  std::uint32_t parameter_count;
  const char *name; // "gemm::dot<half, N, T>"
  const char *gpus; // "sm_80, sm_90a"
  const variant *variants;
  const std::int32_t *choices; // variant i has choices[i * axis_count ...]
  std::uint32_t variant_count;
  std::uint32_t axis_count;
  /// How many bytes of their struct the arguments fill, if there is no gap between them; else 0.
  std::uint32_t argument_bytes;
  std::uint32_t tuning_count;
  const tuning *tunings;
};

/// In a generated header: whether a combination of template arguments was compiled. Those that
/// were, with variants, have an array of them, as in `kernel::choices`.
struct not_compiled {
  static constexpr bool is_compiled = false;
  static const kernel &get() noexcept; // never defined: the header's static_assert speaks first
};
struct compiled {
  static constexpr bool is_compiled = true;
};

} // namespace abi
} // namespace v1
} // namespace tritonc
