// What a runner for tuning is told of kernels. The generator writes one of these for each library
// (triton_add_tuner); the library TritonC::tuner has the runner's main().

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>
#include <cstdint>

namespace tritonc {
inline namespace v1 {
namespace tuner {

struct parameter {
  const char *name;
  const char *element; // "f16", "i32", "u8", ...
  bool is_written;     // of pointers
};

struct variant {
  const char *name;           // "TM=64 TN=128"
  const std::int32_t *values; // as `params` and the runtime hold them
};

/// The variants behind one C++ type.
struct kernel {
  const abi::kernel *code;
  const char *name;            // "matmul"
  const char *types;           // "TYPE=half A=N B=T": what its callers choose
  const char *signature;       // "const f16 *A, f16 *C, i32 M": what its callers hand over
  const parameter *parameters; // as many as `code` says
  const variant *variants;
  std::size_t variant_count;
};

/// Makes kernels known to the runner, while the program starts.
class registration {
public:
  registration(const kernel *kernels, std::size_t count) noexcept;
  registration(const registration &) = delete;

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
