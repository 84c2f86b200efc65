// The machine that runs a cluster of blocks: its threads, warps, and blocks.
//
// One OS thread runs one cluster at a time, so nothing here needs a lock. (A launch without
// clusters has clusters of one block.) Each OS thread makes the structs once and reuses them.
//
// An operation runs on the stack of the thread that calls it. It may suspend that thread:
//
//     block_on(thread, {"mbarrier at %u", address, 0, &site});   // returns after another thread's
//     wake(thread)
//
// The emulator never unwinds fibers; it abandons them when a launch ends. So no object that owns
// memory may be on the stack during a suspension: no vector, no string, no Clock. Keep such objects
// in ops::ThreadState and the other structs of ops/state.h.

#pragma once

#include "clocks.h"
#include "emulator.h"
#include "fiber.h"
#include "global_access.h"
#include "in_flight.h"
#include "ops/state.h"
#include "reports.h"
#include "scheduler.h"
#include "shared_memory.h"

#include <tritonc/descriptor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tritonc::emulator {

class Cluster;
struct Warp;
struct Block;
class Prints;
struct LaunchState;

inline constexpr unsigned warp_size = 32, warpgroup_size = 128;
inline constexpr uint32_t all_lanes = 0xffffffffu;

/// Loop iterations between two calls of out_of_steps, which checks the limit and runs other
/// threads.
inline constexpr int64_t step_slice = 1 << 10;

/// A thread's wait, as the deadlock report describes it.
struct Waiting {
  const char *format = nullptr; // printf format with up to two unsigned: "named barrier %u"
  uint32_t first = 0, second = 0;
  const Site *site = nullptr;
  /// If not null, writes the description instead of `format`.
  void (*describe)(const Thread &, const Waiting &, Text &) = nullptr;
};

/// A CUDA thread. Host code receives it as `thread`.
struct Thread : abi::host_thread {
  Context context = nullptr; // where it resumes; valid while it does not run
  Warp *warp = nullptr;
  Block *block = nullptr;
  Cluster *cluster = nullptr;
  uint32_t id = 0;   // in the block: threadIdx.x
  uint32_t lane = 0; // in the warp
  Actor actor = 0;   // in the cluster
  Waiting waiting;
  int64_t steps_granted = 0; // value that steps_left was last set to
  int64_t steps_taken = 0;   // before steps_left was last set
  ops::ThreadState ops;

  /// Index in the warpgroup: 0 to 127.
  uint32_t warpgroup_lane() const { return id % warpgroup_size; }
};

/// Threads of a warp or a warpgroup that meet for one collective operation; see record.h.
struct Rendezvous {
  abi::host_operation operation = nullptr;
  const Site *site = nullptr;
  uint32_t count = 0;   // records per thread
  uint32_t arrived = 0; // threads
};

struct Warp {
  Block *block = nullptr;
  Thread *threads = nullptr; // the first of 32
  uint32_t number = 0;       // in the cluster
  uint32_t live = 0;         // mask of lanes that have not exited
  bool suspended = false;    // the current operation makes the warp's threads wait for `waiting`
  Waiting waiting;
  Rendezvous rendezvous;
  void *records[warp_size] = {};
  ops::WarpState ops;

  /// Index in the block.
  uint32_t id() const { return threads->id / warp_size; }
};

struct Warpgroup {
  Rendezvous rendezvous;
  void *records[warpgroup_size] = {};
  ops::WarpgroupState ops;
};

/// One of a block's 16 barriers (PTX ISA, `barrier.cta`).
struct NamedBarrier {
  uint32_t expected = 0; // threads; 0 = no thread has arrived
  uint32_t arrived = 0;
  Clock clock;                 // of the threads that only arrive
  std::vector<Warp *> waiting; // warps that wait

  void reset() {
    expected = arrived = 0;
    clock = {};
    waiting.clear();
  }
};

struct Block {
  Block();
  ~Block();

  Cluster *cluster = nullptr;
  Dim3 id;           // blockIdx
  uint32_t rank = 0; // in the cluster
  Thread *threads = nullptr;
  Warp *warps = nullptr;
  std::vector<Warpgroup> warpgroups; // only complete warpgroups
  uint32_t live = 0;                 // threads that have not exited
  NamedBarrier barriers[16];
  std::unique_ptr<Prints> prints; // null = the block has printed nothing
  ops::BlockState ops;
};

/// The key of a report; a cluster makes each report once.
struct Reported {
  const Site *site, *other;
  Report::Kind kind;
  friend bool operator==(const Reported &, const Reported &) = default;
};

class Cluster {
public:
  explicit Cluster(Stacks &stacks) : scheduler(*this), stacks_(stacks) {}
  Cluster(const Cluster &) = delete;
  Cluster &operator=(const Cluster &) = delete;

  LaunchState *launch = nullptr; // shared by all clusters of the launch
  uint64_t index = 0;            // in the launch; orders reports
  bool races = false;            // Options::races; if false, `clocks` does nothing
  Async async = Async::early;
  std::vector<Block> blocks;   // by rank
  std::vector<Warp> warps;     // of all blocks
  std::vector<Thread> threads; // of all blocks
  Clocks clocks;
  SharedMemory shared;
  GlobalAccess global;
  Scheduler scheduler;
  PendingOperations pending;
  std::vector<Reported> reported;
  ops::ClusterState ops;

  /// Runs cluster `number` to its end.
  void run(LaunchState &state, uint64_t number);

  // For the scheduler. `exited`: the thread has ended. `deadlock`: no thread can run; ends the
  // launch with a report of which threads wait where.
  void exited(Thread &thread);
  bool all_exited() const { return live_ == 0; }
  [[noreturn]] void deadlock();

  unsigned threads_per_block() const { return unsigned(threads.size() / blocks.size()); }
  bool on_own_stack(const Thread &thread, const void *address) const;

private:
  void set_up(const LaunchState &state);
  void start();
  void finish();

  Stacks &stacks_;
  uint32_t launch_number_ = 0;
  size_t live_ = 0; // threads that have not exited
};

/// Suspends the running thread until `wake`, and runs other threads. If no thread can run, pending
/// operations land. If none is pending, the launch ends with a deadlock report.
void block_on(Thread &thread, const Waiting &waiting);
/// Makes a waiting thread ready. It runs when the scheduler picks it, not now.
void wake(Thread &thread);
/// Makes all threads of a waiting warp ready.
void wake_warp(Warp &warp);
/// Runs other threads; for operations that poll in a loop.
void yield(Thread &thread);

/// A memory access by the thread through the generic proxy.
inline Access access_by(Thread &thread, const Site &site, const char *what) {
  return {thread, site, what, thread.cluster->clocks.view(thread.actor)};
}

/// Index of a site in the launch's code; PastAccess::unknown_site if the code does not have it.
unsigned site_index(const Cluster &cluster, const Site &site);
const Site &site_at(const Cluster &cluster, unsigned index);
/// The name of an operation that the launch's code calls: "ldmatrix_x4".
std::string_view operation_name(const Cluster &cluster, abi::host_operation operation);

} // namespace tritonc::emulator
