// How kernels are described to a tuner. The generator writes these structs for each library of
// triton_add_tuner. The library TritonC::tuner has the tuner's main(). All data is constant and
// lives until the process ends.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>
#include <cstdint>

namespace tritonc {
inline namespace v1 {
namespace tuner {

struct parameter {
  const char *name;
  const char *element; // type of the value or of the pointer's elements: "f16", "i32", "u8", ...
  bool is_written;     // pointers: the kernel writes through it
};

struct variant {
  const char *name;           // "TM=64 TN=128"
  const std::int32_t *values; // one per parameter of `params`, in order
};

/// The variants behind one C++ type.
struct kernel {
  const abi::kernel *code;
  const char *name;            // "matmul"
  const char *types;           // template arguments: "TYPE=half A=N B=T"
  const char *signature;       // "const f16 *A, f16 *C, i32 M"
  const parameter *parameters; // code->parameter_count entries
  const variant *variants;     // variant_count entries
  std::size_t variant_count;
};

/// Registers kernels with the tuner. Objects are global; their constructors run at program start.
/// Not thread-safe.
class registration {
public:
  /// `kernels` must stay valid until the process ends.
  registration(const kernel *kernels, std::size_t count) noexcept;
  registration(const registration &) = delete;

  /// Returns the first registration of a linked list; null if there is none.
  static const registration *first() noexcept;
  const registration *next() const noexcept { return next_; }
  span<kernel> kernels() const noexcept { return kernels_; }

private:
  span<kernel> kernels_;
  const registration *next_;
};

} // namespace tuner
} // namespace v1
} // namespace tritonc
