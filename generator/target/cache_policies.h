// How the L2 cache is to treat what an access brings there.

#pragma once

#include <cstdint>

namespace tritonc::cache_policy {

// What `createpolicy` gives for all of an access (CUTLASS, cute/arch/copy_sm90_desc.hpp,
// TMA::CacheHintSm90).
inline constexpr int64_t evict_normal = 0x1000000000000000, evict_first = 0x12F0000000000000,
                         evict_last = 0x14F0000000000000;

} // namespace tritonc::cache_policy
