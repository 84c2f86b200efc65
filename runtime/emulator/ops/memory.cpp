// Implements the hooks before memory accesses and the loop limit. See memory.h.
//
// Tested by tests/unit/emulator/reports_of_errors_test.cpp, global_memory_test.cpp and
// schedule_test.cpp.

#include "memory.h"

#include "../launch_state.h"
#include "../record.h"

#include <algorithm>

namespace tritonc::emulator::ops {
namespace {

enum class Space { shared, global };

const char *name_of(AccessKind kind) {
  switch (kind) {
  case AccessKind::read:
    return "load";
  case AccessKind::write:
    return "store";
  case AccessKind::atomic:
    return "atomic operation";
  }
  return "";
}

template <Space space, AccessKind kind>
void access(Thread &thread, void *address, uint32_t count, const Site *site, Reach reach) {
  Cluster &cluster = *thread.cluster;
  Access access = access_by(thread, site ? *site : record::unknown_site, name_of(kind));
  access.reach = reach;
  uint32_t bytes = count & 0xffff, alignment = std::max(count >> 16, 1u);
  if constexpr (space == Space::shared) {
    auto place = uint32_t(reinterpret_cast<uintptr_t>(address));
    if constexpr (kind == AccessKind::read)
      cluster.shared.read(access, place, bytes, alignment);
    else if constexpr (kind == AccessKind::write)
      cluster.shared.write(access, place, bytes, alignment);
    else
      cluster.shared.atomic(access, place, bytes, alignment);
  } else {
    if constexpr (kind == AccessKind::read)
      cluster.global.read(access, address, bytes, alignment);
    else if constexpr (kind == AccessKind::write)
      cluster.global.write(access, address, bytes, alignment);
    else
      cluster.global.atomic(access, address, bytes, alignment);
  }
}

// Another thread may run before the check, but not between the check and the access.
template <Space space, AccessKind kind>
void hook(void *pointer, void *address, uint32_t count, const Site *site) {
  Thread &thread = *static_cast<Thread *>(pointer);
  thread.cluster->scheduler.maybe_interrupt(thread);
  access<space, kind>(thread, address, count, site, Reach::block);
}

template <AccessKind kind>
void generic_hook(void *pointer, void *address, uint32_t count, const Site *site) {
  Thread &thread = *static_cast<Thread *>(pointer);
  thread.cluster->scheduler.maybe_interrupt(thread);
  if (thread.cluster->shared.contains(reinterpret_cast<uintptr_t>(address)))
    access<Space::shared, kind>(thread, address, count, site, Reach::cluster);
  else if (!thread.cluster->on_own_stack(thread, address))
    access<Space::global, kind>(thread, address, count, site, Reach::block);
}

} // namespace

void load_shared(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::shared, AccessKind::read>(thread, address, count, site);
}
void store_shared(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::shared, AccessKind::write>(thread, address, count, site);
}
void atomic_shared(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::shared, AccessKind::atomic>(thread, address, count, site);
}
void load_global(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::global, AccessKind::read>(thread, address, count, site);
}
void store_global(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::global, AccessKind::write>(thread, address, count, site);
}
void *hinted_address(Thread &, const Site &, void *address) { return address; }
void *address_of_policy(Thread &, const Site &, void *address, uint64_t) { return address; }

void atomic_global(void *thread, void *address, uint32_t count, const Site *site) {
  hook<Space::global, AccessKind::atomic>(thread, address, count, site);
}
void load_generic(void *thread, void *address, uint32_t count, const Site *site) {
  generic_hook<AccessKind::read>(thread, address, count, site);
}
void store_generic(void *thread, void *address, uint32_t count, const Site *site) {
  generic_hook<AccessKind::write>(thread, address, count, site);
}
void atomic_generic(void *thread, void *address, uint32_t count, const Site *site) {
  generic_hook<AccessKind::atomic>(thread, address, count, site);
}

void out_of_steps(void *pointer, void *, uint32_t, const Site *site) {
  Thread &thread = *static_cast<Thread *>(pointer);
  Cluster &cluster = *thread.cluster;
  LaunchState &launch = *cluster.launch;
  if (cluster.index > launch.last) // the launch ends with an earlier cluster
    cluster.scheduler.leave();
  thread.steps_taken += thread.steps_granted - thread.steps_left; // including this iteration
  int64_t more = launch.options.max_steps - thread.steps_taken;
  if (more < 0)
    fatal(thread, site ? *site : record::unknown_site, Report::Kind::too_many_steps,
          "a thread has executed more than %lld loop iterations: raise max_steps unless the loop "
          "is endless",
          static_cast<long long>(launch.options.max_steps));
  thread.steps_granted = thread.steps_left = std::min(more, step_slice);
  // The thread may poll for a copy that lands only when no thread can run. This thread always can,
  // so land one now, but rarely, or no copy would ever be late.
  if (thread.steps_taken >> 16 != (thread.steps_taken - step_slice) >> 16)
    cluster.pending.land_first();
  yield(thread);
}

} // namespace tritonc::emulator::ops
