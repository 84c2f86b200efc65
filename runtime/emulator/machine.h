// The machine that a cluster of blocks runs on: threads, warps, blocks.
//
// One OS thread runs one cluster at a time (a launch without clusters has clusters of one block),
// so nothing here needs a lock. The structs are made once per OS thread and used again and again.
//
// An operation runs on the stack of the thread that calls it. It may suspend that thread:
//
//     block_on(thread, {"mbarrier at %u", address, 0, &site});   // returns once somebody did
//     wake(thread)
//
// Fibers are abandoned when a launch ends, never unwound. So across a suspension nothing that owns
// memory may be on the stack: no vector, no string, no Clock. Such things live in ops::ThreadState
// and so on.

#pragma once

#include "clocks.h"
#include "emulator.h"
#include "fiber.h"
#include "findings.h"
#include "global_access.h"
#include "ops/state.h"
#include "pending.h"
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

/// Loop iterations after which a thread looks up: whether it made too many, whether others wait.
inline constexpr int64_t step_slice = 1 << 10;

/// What a thread waits for, for the report of a deadlock.
struct Waiting {
  const char *format = nullptr; // of printf, with up to two unsigned: "named barrier %u"
  uint32_t first = 0, second = 0;
  const Site *site = nullptr;
  /// Says it better than `format`, if there is one.
  void (*describe)(const Thread &, const Waiting &, Text &) = nullptr;
};

/// A CUDA thread. What host code gets as `thread`.
struct Thread : abi::host_thread {
  Context context = nullptr; // where it goes on, while another runs
  Warp *warp = nullptr;
  Block *block = nullptr;
  Cluster *cluster = nullptr;
  uint32_t id = 0;   // in the block: threadIdx.x
  uint32_t lane = 0; // in the warp
  Actor actor = 0;   // in the cluster
  Waiting waiting;
  int64_t steps_granted = 0; // steps_left when it was last set
  int64_t steps_taken = 0;   // before that
  ops::ThreadState ops;

  /// In the warpgroup: 0 to 127.
  uint32_t warpgroup_lane() const { return id % warpgroup_size; }
};

/// Threads of a warp or a warpgroup that come together for one operation; record.h.
struct Rendezvous {
  abi::host_operation operation = nullptr;
  const Site *site = nullptr;
  uint32_t count = 0;   // of records
  uint32_t arrived = 0; // threads
};

struct Warp {
  Block *block = nullptr;
  Thread *threads = nullptr; // the first of 32
  uint32_t number = 0;       // in the cluster
  uint32_t live = 0;         // lanes that have not exited
  bool suspended = false;    // the operation being done makes its threads wait: for `waiting`
  Waiting waiting;
  Rendezvous rendezvous;
  void *records[warp_size] = {};
  ops::WarpState ops;

  /// In the block.
  uint32_t id() const { return threads->id / warp_size; }
};

struct Warpgroup {
  Rendezvous rendezvous;
  void *records[warpgroup_size] = {};
  ops::WarpgroupState ops;
};

/// One of a block's 16 barriers (PTX ISA, `barrier.cta`).
struct NamedBarrier {
  uint32_t expected = 0; // threads; 0: nobody has come
  uint32_t arrived = 0;
  Clock clock;                 // of those who only arrive
  std::vector<Warp *> waiting; // warps whose threads wait

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
  std::vector<Warpgroup> warpgroups; // whole ones only
  uint32_t live = 0;                 // threads that have not exited
  NamedBarrier barriers[16];
  std::unique_ptr<Prints> prints; // null: nothing is printed
  ops::BlockState ops;
};

/// What has been reported of a cluster.
struct Reported {
  const Site *site, *other;
  Finding::Kind kind;
  friend bool operator==(const Reported &, const Reported &) = default;
};

class Cluster {
public:
  explicit Cluster(Stacks &stacks) : scheduler(*this), stacks_(stacks) {}
  Cluster(const Cluster &) = delete;
  Cluster &operator=(const Cluster &) = delete;

  LaunchState *launch = nullptr; // what all clusters of the launch have in common
  uint64_t index = 0;            // in the launch: order of findings
  bool races = false;            // as Options; `clocks` then does something
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

  /// Runs the cluster of this number to its end.
  void run(LaunchState &state, uint64_t number);

  // For the scheduler: the thread has come to its end; whether all have; nobody can run, which
  // ends the launch with a finding that says who waits where.
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

/// Suspends the running thread until `wake`. Others run; if none can, what is pending lands, and if
/// nothing is, the launch ends with a deadlock.
void block_on(Thread &thread, const Waiting &waiting);
/// The thread, which waits, may run again. It does when its turn comes, not now.
void wake(Thread &thread);
/// The same for all threads of a warp, which wait.
void wake_warp(Warp &warp);
/// For operations that poll in a loop: lets others run.
void yield(Thread &thread);

/// The thread's access to memory, through the generic proxy.
inline Access access_by(Thread &thread, const Site &site, const char *what) {
  return {thread, site, what, thread.cluster->clocks.view(thread.actor)};
}

/// Number of a site in the code of the launch; PastAccess::unknown_site if it is none of its.
unsigned site_index(const Cluster &cluster, const Site &site);
const Site &site_at(const Cluster &cluster, unsigned index);
/// The name of an operation of the launch's code: "ldmatrix_x4".
std::string_view operation_name(const Cluster &cluster, abi::host_operation operation);

} // namespace tritonc::emulator
