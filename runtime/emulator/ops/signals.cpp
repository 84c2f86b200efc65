// Implements signals between blocks. See signals.h.
//
// Tested by tests/unit/emulator/signals_test.cpp.

#include "signals.h"

#include "../launch_state.h"

#include <thread>

namespace tritonc::emulator::ops {
namespace {

constexpr uint32_t signal_bytes = 8;

void locate(Thread &thread, const Site &site, const char *what, const void *address) {
  thread.cluster->global.locate(access_by(thread, site, what), address, signal_bytes, signal_bytes);
}

} // namespace

void signal(Thread &thread, const Site &site, void *address) {
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  locate(thread, site, "signal", address);
  if (!cluster.launch->give_signal(address, {cluster.index, cluster.clocks.release(thread.actor)}))
    fatal(thread, site, Report::Kind::misuse, "signal at %s: no block has waited for the last one",
          global_place(thread, address).c_str());
}

void wait_signal(Thread &thread, const Site &site, void *address) {
  Cluster &cluster = *thread.cluster;
  cluster.scheduler.maybe_interrupt(thread);
  locate(thread, site, "wait for a signal", address);
  for (;;) {
    const bool is_first = cluster.launch->is_first_running(cluster.index);
    if (cluster.global.take_signal(*cluster.launch, thread.actor, address))
      return;
    if (is_first)
      fatal(thread, site, Report::Kind::deadlock,
            "wait for a signal at %s: all blocks before this one have ended",
            global_place(thread, address).c_str());
    std::this_thread::yield(); // another OS thread runs the block that signals
    yield(thread);
  }
}

} // namespace tritonc::emulator::ops
