// A variant that the environment names for launches that name none.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1 {

/// Whether TRITONC_FORCE_VARIANT is about the kernel; then `number` is that of the variant, or the
/// number of variants if it names none that there is.
bool find_forced(const abi::kernel &code, std::uint32_t &number) noexcept;

} // namespace tritonc::v1
