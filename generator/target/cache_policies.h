// Cache policies: how the L2 cache treats the data of an access.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tritonc::cache_policy {

// The results of `createpolicy` for all of an access (CUTLASS, cute/arch/copy_sm90_desc.hpp,
// TMA::CacheHintSm90).
inline constexpr int64_t evict_first = 0x12F0000000000000, evict_last = 0x14F0000000000000;

/// The policy of a cache hint of tile IR: evict_first or evict_last. Nothing for all other hints.
inline std::optional<int64_t> of_hint(std::string_view hint) {
  if (hint == "evict_first")
    return evict_first;
  if (hint == "evict_last")
    return evict_last;
  return std::nullopt;
}

} // namespace tritonc::cache_policy
