// Cache policies: how the L2 cache treats the data of an access.

#pragma once

#include <cstdint>

namespace tritonc::cache_policy {

// The results of `createpolicy` for all of an access (CUTLASS, cute/arch/copy_sm90_desc.hpp,
// TMA::CacheHintSm90).
inline constexpr int64_t evict_normal = 0x1000000000000000, evict_first = 0x12F0000000000000,
                         evict_last = 0x14F0000000000000;

} // namespace tritonc::cache_policy
