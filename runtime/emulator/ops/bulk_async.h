// Copies by TMA units: the code that bulk copies and tensor copies share.
//
// One thread issues a copy. A copy to shared memory counts its bytes on an mbarrier. A copy from
// shared memory belongs to a *bulk group* of the thread. Both go through the async proxy. They may
// read and write at any time until a thread has waited for them. They are not ordered with each
// other: each is an event of one of 16 TMA units, which take turns. A copy from shared memory is
// two events, a read and a later write.

#pragma once

#include "../in_flight.h"
#include "../shared_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tritonc::emulator::ops {

/// The source of a copy to shared memory.
class Source {
public:
  virtual ~Source() = default;
  /// Writes all data to `to`, a pointer to shared memory. Reads global memory as `access`.
  virtual void read(const Access &access, std::byte *to) = 0;
};

/// The destination of a copy from shared memory.
class Destination {
public:
  virtual ~Destination() = default;
  /// Writes the bytes at `from` to global memory as `access`. `from` holds a copy of the shared
  /// memory.
  virtual void write(const Access &access, const std::byte *from) = 0;
};

/// A copy as its thread issues it. `address` is in shared memory and a multiple of `alignment`.
struct Issue {
  Thread &thread;
  const Site &site;
  const char *what;
  uint32_t address, bytes, alignment;
};

/// Checks a copy to `issue.address` that will count on `mbarrier`, when it is issued. `blocks` is a
/// mask of ranks: the copy goes to the same offsets in each of these blocks. 0 = the own block. May
/// end the launch, so the caller must not own memory.
void check_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks = 0);
/// Starts the copy. `sources`: one per block.
void start_copy_in(const Issue &issue, uint32_t mbarrier, uint32_t blocks,
                   std::vector<std::unique_ptr<Source>> sources);

/// Check and start a copy from `issue.address`.
void check_copy_out(const Issue &issue);
void start_copy_out(const Issue &issue, std::unique_ptr<Destination> destination);

} // namespace tritonc::emulator::ops
