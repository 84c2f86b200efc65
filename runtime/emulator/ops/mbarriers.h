// mbarriers: barriers in shared memory that count arrivals and bytes (PTX ISA, "Asynchronous
// Operations: mbarrier").
//
// An mbarrier goes through phases. A phase ends when as many have arrived as the mbarrier was made
// for, and as many bytes have been copied as were expected; then the next begins. Waiting is for
// the end of the phase of a parity: of the current one, or the one before, which has ended.
//
// Nothing of this is in the 8 bytes themselves, which programs may not look into. While an
// mbarrier is live any write to them is an error.

#pragma once

#include "../clocks.h"
#include "../findings.h"
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
  uint32_t count = 0;   // of arrivals to each phase
  uint32_t missing = 0; // arrivals to this phase
  int32_t bytes = 0;    // expected by this phase, less those that have come
  uint64_t phase = 0;   // how many have ended
  Clock arriving;       // what those who arrived in this phase have seen
  Clock ended;          // what those who wait for the end of a phase learn of
  std::vector<Thread *> waiting;

  // Who made it, and the fence after that which tells the cluster and the copy engines.
  Actor initializer = 0;
  Epoch initialized = 0, fenced = 0;
  /// The fence is worth something even with cluster_arrive_relaxed: whoever has waited for so many
  /// phases of the cluster's barrier knows of the mbarrier. 0: nobody by this.
  uint64_t announced = 0;
  const Site *site = nullptr;
  std::vector<Epoch> uses; // [actor]: its last, for who ends or reuses the mbarrier
};

/// The live ones of a block.
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

/// Largest count of arrivals, and of bytes in either direction.
inline constexpr uint32_t mbarrier_limit = (1u << 20) - 1;

/// `count` arrivals to a phase. Whoever else uses it has to be told: other threads by a barrier,
/// other blocks and copy engines also by fence_mbarrier_init.
void mbarrier_init(Thread &thread, const Site &site, uint32_t address, uint32_t count);
void mbarrier_inval(Thread &thread, const Site &site, uint32_t address);
void mbarrier_arrive(Thread &thread, const Site &site, uint32_t address);
void mbarrier_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes);
void mbarrier_arrive_expect_tx(Thread &thread, const Site &site, uint32_t address, uint32_t bytes);
/// At an mbarrier of any block of the cluster.
void mbarrier_arrive_cluster(Thread &thread, const Site &site, uint32_t address);
void mbarrier_wait(Thread &thread, const Site &site, uint32_t address, uint32_t parity);
/// 1 if that phase has ended. If not, others run before this returns.
uint32_t mbarrier_test(Thread &thread, const Site &site, uint32_t address, uint32_t parity);

// ---- for other operations ----

/// An asynchronous operation of `thread` is going to count on the mbarrier at `address`, of the
/// block or of any. Ends the launch if there is none. `proxy`: cp.async goes the generic way, so
/// that the mbarrier needs no fence.
void check_mbarrier_for_copy(Thread &thread, const Site &site, const char *what, uint32_t address,
                             bool any_block, Proxy proxy);
/// What it announced: `bytes` have come. `done`: what there is to learn from it.
void complete_bytes(Thread &thread, const Site &site, const char *what, uint32_t address,
                    uint32_t bytes, const Clock &done);
/// One arrival, of `thread`, or of what it has issued; `done` as above.
void arrive_now(Thread &thread, const Site &site, const char *what, uint32_t address);
void arrive_later(Thread &thread, const Site &site, const char *what, uint32_t address,
                  const Clock &done);
/// Whether somebody waits there.
bool is_awaited(Thread &thread, uint32_t address);
/// The warp arrives at the cluster's barrier, in its phase number `phase`.
void announce_mbarriers(Warp &warp, uint64_t phase);
/// `thread` executes a fence after which other blocks and copies may know of the mbarriers it made.
void fence_mbarriers(Thread &thread);
/// The block's threads have all exited. Reports bytes that were expected and haven't come.
void check_mbarriers_at_end(Block &block);

} // namespace tritonc::emulator::ops
