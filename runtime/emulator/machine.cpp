// Sets up the machine of a cluster, suspends its threads, and runs their rendezvous. See machine.h
// and record.h.

#include "machine.h"

#include "device_printf.h"
#include "launch_state.h"
#include "ops/clusters.h"
#include "record.h"

#include <algorithm>
#include <cstring>

namespace tritonc::emulator {

const Site record::unknown_site = {"", 0, 0};

// ---- suspending ----

void block_on(Thread &thread, const Waiting &waiting) {
  thread.waiting = waiting;
  Scheduler &scheduler = thread.cluster->scheduler;
  scheduler.set_waiting(thread.warp->number, 1u << thread.lane);
  scheduler.switch_from(thread);
}

void wake(Thread &thread) {
  thread.cluster->scheduler.set_ready(thread.warp->number, 1u << thread.lane);
}

void wake_warp(Warp &warp) { warp.block->cluster->scheduler.set_ready(warp.number, all_lanes); }

void yield(Thread &thread) { thread.cluster->scheduler.yield(thread); }

// ---- rendezvous ----

namespace {

// "threads 3, 5-7 have" for the set bits of `lanes`; lane 0 is thread `first`.
Text lanes_text(uint32_t lanes, uint32_t first) {
  bool is_one = (lanes & (lanes - 1)) == 0;
  Text text;
  text.add(is_one ? "thread " : "threads ");
  const char *separator = "";
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if (!(lanes >> lane & 1))
      continue;
    unsigned last = lane;
    while (last + 1 < warp_size && (lanes >> (last + 1) & 1))
      last++;
    text.add(lane == last ? "%s%u" : "%s%u-%u", separator, first + lane, first + last);
    separator = ", ";
    lane = last;
  }
  text.add(is_one ? " has" : " have");
  return text;
}

// The name of an operation without its types.
struct Name {
  std::string_view text;
  explicit Name(const Cluster &cluster, abi::host_operation operation)
      : text(operation_name(cluster, operation)) {}
  int length() const { return int(text.size()); }
  const char *data() const { return text.data(); }
};

void check_same(Thread &thread, const Rendezvous &others, abi::host_operation operation,
                uint32_t count, const Site &site, const char *whole) {
  const Cluster &cluster = *thread.cluster;
  Name theirs(cluster, others.operation), own(cluster, operation);
  if (others.operation != operation || others.site != &site)
    fatal_beside(thread, site, *others.site, Report::Kind::divergence,
                 "thread %u is at %.*s while other threads of its %s are at %.*s: all of these "
                 "threads must execute the same operation together",
                 thread.id, own.length(), own.data(), whole, theirs.length(), theirs.data());
  if (others.count != count)
    fatal_beside(thread, site, *others.site, Report::Kind::divergence,
                 "threads of a %s execute %.*s different numbers of times: %u and %u", whole,
                 own.length(), own.data(), others.count, count);
}

void check_all_live(Thread &thread, const Warp &warp, abi::host_operation operation,
                    const Site &site, const char *whole) {
  if (warp.live == all_lanes)
    return;
  Name name(*thread.cluster, operation);
  fatal(thread, site, Report::Kind::divergence, "%.*s needs all threads of a %s, but %s exited",
        name.length(), name.data(), whole, lanes_text(~warp.live, warp.threads->id).c_str());
}

} // namespace

namespace record {

bool meet_warp(Thread &thread, abi::host_operation operation, void *records, uint32_t count,
               const Site &site) {
  Warp &warp = *thread.warp;
  Rendezvous &meeting = warp.rendezvous;
  if (meeting.arrived == 0) {
    check_all_live(thread, warp, operation, site, "warp");
    meeting.operation = operation;
    meeting.site = &site;
    meeting.count = count;
  } else if (meeting.operation != operation || meeting.site != &site || meeting.count != count) {
    check_same(thread, meeting, operation, count, site, "warp");
  }
  warp.records[thread.lane] = records;
  meeting.arrived |= 1u << thread.lane;
  if (meeting.arrived == all_lanes) {
    meeting.arrived = 0;
    return true;
  }
  block_on(thread, {nullptr, 0, 0, &site});
  return false;
}

void leave_warp(Thread &thread) {
  Warp &warp = *thread.warp;
  Scheduler &scheduler = thread.cluster->scheduler;
  if (warp.suspended) {
    warp.suspended = false;
    for (unsigned lane = 0; lane < warp_size; lane++)
      warp.threads[lane].waiting = warp.waiting;
    block_on(thread, warp.waiting);
    return;
  }
  scheduler.set_ready(warp.number, all_lanes);
  scheduler.maybe_interrupt(thread);
}

bool meet_warpgroup(Thread &thread, abi::host_operation operation, void *records, uint32_t count,
                    const Site &site) {
  Block &block = *thread.block;
  unsigned group = thread.id / warpgroup_size, member = thread.id % warpgroup_size;
  if (group >= block.warpgroups.size()) {
    Name name(*thread.cluster, operation);
    fatal(thread, site, Report::Kind::misuse,
          "%.*s needs a warpgroup of 128 threads, but the last %u threads of the block do not form "
          "a warpgroup",
          name.length(), name.data(), unsigned(thread.cluster->threads_per_block() % 128));
  }
  Warpgroup &warpgroup = block.warpgroups[group];
  Rendezvous &meeting = warpgroup.rendezvous;
  check_all_live(thread, *thread.warp, operation, site, "warpgroup");
  // No other thread of the own warp may be at an operation of the warp.
  if (thread.warp->rendezvous.arrived)
    check_same(thread, thread.warp->rendezvous, operation, count, site, "warp");
  if (meeting.arrived == 0) {
    meeting.operation = operation;
    meeting.site = &site;
    meeting.count = count;
  } else if (meeting.operation != operation || meeting.site != &site || meeting.count != count) {
    check_same(thread, meeting, operation, count, site, "warpgroup");
  }
  warpgroup.records[member] = records;
  if (++meeting.arrived == warpgroup_size) {
    meeting.arrived = 0;
    return true;
  }
  block_on(thread, {nullptr, 1, 0, &site});
  return false;
}

void leave_warpgroup(Thread &thread) {
  Block &block = *thread.block;
  Scheduler &scheduler = thread.cluster->scheduler;
  Warp *first = block.warps + thread.id / warpgroup_size * 4;
  if (first->suspended) {
    first->suspended = false;
    for (unsigned i = 0; i < warpgroup_size; i++)
      first->threads[i].waiting = first->waiting;
    block_on(thread, first->waiting);
    return;
  }
  for (unsigned warp = 0; warp < 4; warp++)
    scheduler.set_ready(first[warp].number, all_lanes);
  scheduler.maybe_interrupt(thread);
}

} // namespace record

// ---- running a cluster ----

Block::Block() = default;
Block::~Block() = default;

bool Cluster::on_own_stack(const Thread &thread, const void *address) const {
  return stacks_.contains(unsigned(&thread - threads.data()), address);
}

// Makes the structs for the sizes of this launch, unless the last launch had the same sizes.
void Cluster::set_up(const LaunchState &state) {
  const Launch &what = state.launch;
  size_t per_block = what.threads;
  size_t block_count = size_t(what.cluster.x) * what.cluster.y * what.cluster.z;
  if (blocks.size() == block_count && threads.size() == per_block * block_count)
    return;
  shared.reset(); // its cells refer to actors of the old sizes
  blocks = std::vector<Block>(block_count);
  threads = std::vector<Thread>(block_count * per_block);
  warps = std::vector<Warp>(threads.size() / warp_size);
  for (size_t i = 0; i < threads.size(); i++) {
    Thread &thread = threads[i];
    thread.cluster = this;
    thread.block = &blocks[i / per_block];
    thread.warp = &warps[i / warp_size];
    thread.id = uint32_t(i % per_block);
    thread.lane = uint32_t(i % warp_size);
    thread.actor = Actor(i);
  }
  for (size_t i = 0; i < warps.size(); i++) {
    warps[i].threads = &threads[i * warp_size];
    warps[i].block = warps[i].threads->block;
    warps[i].number = uint32_t(i);
  }
  for (size_t i = 0; i < blocks.size(); i++) {
    Block &block = blocks[i];
    block.cluster = this;
    block.rank = uint32_t(i);
    block.threads = &threads[i * per_block];
    block.warps = block.threads->warp;
    block.warpgroups = std::vector<Warpgroup>(per_block / warpgroup_size);
  }
}

// Resets all state to that before the first instruction.
void Cluster::start() {
  const Launch &what = launch->launch;
  const Options &options = launch->options;
  pending.clear();
  reported.clear();
  ops.reset();
  live_ = threads.size();
  for (Thread &thread : threads) {
    thread.context = Scheduler::make_context(stacks_.top(thread.actor));
    thread.shared_base = shared.base(thread.block->rank);
    thread.constants = what.constants ? what.constants : launch->code.constants;
    thread.steps_taken = 0;
    thread.steps_granted = thread.steps_left = std::min(options.max_steps, step_slice);
    thread.ops.reset();
    thread.ops.may_be_early = what.starts_early;
  }
  for (Warp &warp : warps) {
    warp.live = all_lanes;
    warp.suspended = false;
    warp.rendezvous = {};
    warp.ops.reset();
  }
  Dim3 of_cluster = what.cluster;
  Dim3 clusters = {what.grid.x / of_cluster.x, what.grid.y / of_cluster.y,
                   what.grid.z / of_cluster.z};
  Dim3 first = {uint32_t(index % clusters.x) * of_cluster.x,
                uint32_t(index / clusters.x % clusters.y) * of_cluster.y,
                uint32_t(index / clusters.x / clusters.y) * of_cluster.z};
  for (Block &block : blocks) {
    uint32_t rank = block.rank;
    block.id = {first.x + rank % of_cluster.x, first.y + rank / of_cluster.x % of_cluster.y,
                first.z + rank / of_cluster.x / of_cluster.y};
    block.live = what.threads;
    for (Warpgroup &warpgroup : block.warpgroups) {
      warpgroup.rendezvous = {};
      warpgroup.ops.reset();
    }
    for (NamedBarrier &barrier : block.barriers)
      barrier.reset();
    block.prints.reset();
    block.ops.reset();
  }
}

void Cluster::run(LaunchState &state, uint64_t number) {
  if (launch_number_ != state.number) {
    launch_number_ = state.number;
    launch = &state;
    set_up(state);
  }
  index = number;
  async = state.options.async;
  races = state.options.races;
  start();
  if (clocks.start(unsigned(threads.size()), races))
    shared.reset();
  shared.start(clocks, unsigned(blocks.size()), state.launch.shared_bytes,
               state.options.uninitialized);
  global.start(state.memory, clocks, state.number, uint32_t(index), state.options.uninitialized);
  // The seed depends on the cluster, not on the OS thread that runs it.
  uint64_t seed = Random(state.options.seed ^ index * 0xd1342543de82ef95u).next();
  scheduler.start(unsigned(warps.size()), state.options.order, async, seed);
  scheduler.run();
  finish();
}

// Hands the printed lines and the statistics to the launch.
void Cluster::finish() {
  std::string lines;
  for (const Block &block : blocks)
    if (block.prints)
      for (const std::string &line : block.prints->lines())
        lines += print_line(block.id.x, block.id.y, block.id.z, line) + "\n";
  if (!lines.empty())
    launch->add_lines(index, std::move(lines));
  launch->add_switches(scheduler.switches());
}

void Cluster::exited(Thread &thread) {
  live_--;
  Warp &warp = *thread.warp;
  warp.live &= ~(1u << thread.lane);
  thread.block->live--;
  ops::thread_exited(thread);
  if (warp.rendezvous.arrived == 0)
    return;
  Thread *waits = warp.threads;
  while (!(warp.rendezvous.arrived >> waits->lane & 1))
    waits++;
  check_all_live(*waits, warp, warp.rendezvous.operation, *warp.rendezvous.site, "warp");
}

// ---- the code's tables ----

unsigned site_index(const Cluster &cluster, const Site &site) {
  const abi::host_code &code = cluster.launch->code;
  size_t index = size_t(&site - code.sites);
  return index < std::min<size_t>(code.site_count, PastAccess::unknown_site)
             ? unsigned(index)
             : PastAccess::unknown_site;
}

const Site &site_at(const Cluster &cluster, unsigned index) {
  const abi::host_code &code = cluster.launch->code;
  return index < code.site_count ? code.sites[index] : record::unknown_site;
}

std::string_view operation_name(const Cluster &cluster, abi::host_operation operation) {
  const LaunchState &launch = *cluster.launch;
  for (size_t i = 0; i < launch.operations.size(); i++)
    if (launch.operations[i] == operation) {
      std::string_view signature = launch.code.operations[i];
      return signature.substr(0, signature.find(' '));
    }
  return "an operation";
}

} // namespace tritonc::emulator
