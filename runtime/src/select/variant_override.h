// TRITONC_FORCE_VARIANT: the environment names the variant of launches that name none.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1 {

/// Returns whether TRITONC_FORCE_VARIANT names this kernel. If so, `number` is the index of the
/// variant, or variant_count if no such variant was compiled.
bool find_forced(const abi::kernel &code, std::uint32_t &number) noexcept;

} // namespace tritonc::v1
