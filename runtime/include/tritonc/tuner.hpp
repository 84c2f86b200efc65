/// @file
/// The description of kernels for a tuner.
///
/// The generator writes these structs for each library of `triton_add_tuner`. The CMake target
/// `TritonC::tuner` has the tuner's main(). Include this header only in a tuner of your own. All
/// data is constant and lives until the process ends.
///
/// @par Example
/// A program that lists the kernels which are linked into it.
/// @code{.cpp}
/// #include <tritonc/tuner.hpp>
///
/// #include <cstdio>
///
/// int main() {
///   using tritonc::tuner::registration;
///   for (const registration *all = registration::first(); all; all = all->next())
///     for (const tritonc::tuner::kernel &kernel : all->kernels())
///       std::printf("%s, %s\n", kernel.name, kernel.types); // vector_add, TYPE=float
/// }
/// @endcode

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>
#include <cstdint>

namespace tritonc {
inline namespace v1 {
namespace tuner {

/// A parameter of a kernel.
struct parameter {
  const char *name;    ///< "lda".
  const char *element; ///< The type of the value or of the pointer's elements: "f16", "i32", "u8".
  bool is_written;     ///< Pointers: the kernel writes through it. Other parameters: false.
};

/// A variant of a kernel.
struct variant {
  const char *name;           ///< "TM=64 TN=128".
  const std::int32_t *values; ///< One value per parameter of `params`, in order.
};

/// The variants of one C++ type of a generated header.
struct kernel {
  const abi::kernel *code;     ///< The kernel for `abi::launch`.
  const char *name;            ///< "matmul".
  const char *types;           ///< The template arguments: "TYPE=half A=N B=T".
  const char *signature;       ///< "const f16 *A, f16 *C, i32 M".
  const parameter *parameters; ///< code->parameter_count entries.
  const variant *variants;     ///< variant_count entries, in order of preference.
  std::size_t variant_count;   ///< The number of variants.
};

/// Registers kernels with the tuner.
///
/// Objects are global; their constructors run at program start. Construction is not thread-safe.
class registration {
public:
  /// Adds the object to the list that `first` returns.
  ///
  /// @param kernels must stay valid until the process ends
  /// @param count the number of kernels
  registration(const kernel *kernels, std::size_t count) noexcept;
  registration(const registration &) = delete;

  /// Returns the first registration of the program's list; null if there is none.
  static const registration *first() noexcept;
  /// Returns the next registration of the list; null after the last.
  const registration *next() const noexcept { return next_; }
  /// Returns the kernels of this registration.
  span<kernel> kernels() const noexcept { return kernels_; }

private:
  span<kernel> kernels_;
  const registration *next_;
};

} // namespace tuner
} // namespace v1
} // namespace tritonc
