// mbarriers: barriers in shared memory that count arrivals and bytes (PTX ISA, "Asynchronous
// Operations: mbarrier").
//
// An mbarrier goes through phases. A phase ends after its count of arrivals and its expected bytes;
// then the next phase begins. A thread waits for the end of the phase of a given parity: the
// current phase, or the previous phase, which has ended.
//
// This state is not in the mbarrier's 8 bytes, which are opaque to programs. While an mbarrier is
// live, any write to its bytes is an error.

#pragma once

#include "../clocks.h"
#include "../reports.h"
#include "../shared_memory.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tritonc::emulator {
struct Block;
struct Warp;
} // namespace tritonc::emulator

namespace tritonc::emulator::ops {

struct Mbarrier {
  uint32_t address = 0;
  uint32_t count = 0;   // arrivals per phase
  uint32_t missing = 0; // arrivals that this phase still needs
  int32_t bytes = 0;    // expected by this phase minus copied
  uint64_t phase = 0;   // number of ended phases
  Clock arriving;       // released by the arrivals of this phase
  Clock ended;          // acquired by threads that wait for the end of a phase
  std::vector<Thread *> waiting;

  // The initializing thread, and its fence that publishes the mbarrier to cluster and TMA units.
  Actor initializer = 0;
  Epoch initialized = 0, fenced = 0;
  /// Publication through cluster_arrive_relaxed after the fence: a thread that has waited for this
  /// many phases of the cluster's barrier may use the mbarrier. 0 = not published this way.
  uint64_t announced = 0;
  const Site *site = nullptr;
  std::vector<Epoch> uses; // [actor]: epoch of its last use, for mbarrier_inval
};

/// The live mbarriers of a block.
struct Mbarriers {
  std::vector<std::unique_ptr<Mbarrier>> live;

  Mbarrier *find(uint32_t address) const {
    for (const auto &mbarrier : live)
      if (mbarrier->address == address)
        return mbarrier.get();
    return nullptr;
  }
  void reset() { live.clear(); }
};

/// Max arrivals per phase, and max bytes in either direction.
inline constexpr uint32_t mbarrier_limit = (1u << 20) - 1;

/// Initializes an mbarrier with `count` arrivals per phase. Before other threads use it, they need
/// a barrier; other blocks and TMA units also need fence_mbarrier_init.
void mbarrier_init(Thread &thread, const Site &site, uint32_t address, uint32_t count);
void mbarrier_inval(Thread &thread, const Site &site, uint32_t address);
void mbarrier_arrive(Thread &thread, const Site &site, uint32_t address);
void mbarrier_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes);
void mbarrier_arrive_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes);
/// Arrives at an mbarrier of any block of the cluster.
void mbarrier_arrive_cluster(Thread &thread, const Site &site, uint32_t address);
void mbarrier_wait(Thread &thread, const Site &site, uint32_t address, uint32_t parity);
/// Returns 1 if that phase has ended; if not, runs other threads and returns 0.
uint32_t mbarrier_test(Thread &thread, const Site &site, uint32_t address, uint32_t parity);

// ---- for other operations ----

/// Checks the mbarrier at `address` for an asynchronous operation of `thread` that will count on
/// it. `any_block`: of any block of the cluster, not only the own one. Ends the launch if no
/// mbarrier is there. `proxy`: cp.async uses the generic proxy, so its mbarrier needs no fence.
void check_mbarrier_for_copy(Thread &thread, const Site &site, const char *what, uint32_t address,
                             bool any_block, Proxy proxy);
/// An asynchronous copy of `bytes` has finished; threads that wait acquire `done`.
void complete_bytes(Thread &thread, const Site &site, const char *what, uint32_t address,
                    uint32_t bytes, const Clock &done);
/// One arrival by `thread`, or by an operation that it issued; `done` as above.
void arrive_now(Thread &thread, const Site &site, const char *what, uint32_t address);
void arrive_later(Thread &thread, const Site &site, const char *what, uint32_t address,
                  const Clock &done);
/// Whether a thread waits for the mbarrier at `address`.
bool is_awaited(Thread &thread, uint32_t address);
/// The warp arrives at the cluster's barrier in phase `phase`.
void announce_mbarriers(Warp &warp, uint64_t phase);
/// `thread` executes a fence that publishes its mbarriers to other blocks and copies.
void fence_mbarriers(Thread &thread);
/// Call after all threads of the block have exited. Reports expected bytes that were not copied.
void check_mbarriers_at_end(Block &block);

} // namespace tritonc::emulator::ops
