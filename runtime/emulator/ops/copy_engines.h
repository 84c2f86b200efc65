// Copies by copy engines: what bulk copies and tensor copies have in common.
//
// One thread issues a copy. A copy to shared memory counts its bytes on an mbarrier. One from
// shared memory belongs to a *bulk group* of that thread. Both go through the async proxy, read and
// write at any time until somebody has waited for them, and not in order with one another: each is
// an event of one of 16 copy engines, which take turns. A copy out of shared memory is two events,
// the reading and, later, the writing.

#pragma once

#include "../pending.h"
#include "../shared_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tritonc::emulator::ops {

/// The data of a copy to shared memory.
class Source {
public:
  virtual ~Source() = default;
  /// Writes them all to `to`, a pointer to shared memory; reads global memory as `access`.
  virtual void read(const Access &access, std::byte *to) = 0;
};

/// Where the data of a copy from shared memory go.
class Destination {
public:
  virtual ~Destination() = default;
  /// Writes the bytes at `from` to global memory as `access`. `from` is where shared address
  /// `address` was.
  virtual void write(const Access &access, const std::byte *from) = 0;
};

/// A copy as its thread issues it. `bytes` in shared memory, at an address that is a multiple of
/// `alignment`.
struct Issue {
  Thread &thread;
  const Site &site;
  const char *what;
  uint32_t address, bytes, alignment;
};

/// Checks what is known when a copy to `issue.address` that will count on `mbarrier` is issued. A
/// bit set in `blocks`: the copy is (also) for the block of that rank, to the places that have the
/// same offsets there. 0: for the own block. May end the launch, so nothing should own memory yet.
void check_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks = 0);
/// Starts it. `sources`: one for each block.
void start_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks,
                   std::vector<std::unique_ptr<Source>> sources);

/// The same for a copy from `issue.address`.
void check_copy_out(const Issue &issue);
void start_copy_out(const Issue &issue, std::unique_ptr<Destination> destination);

} // namespace tritonc::emulator::ops
