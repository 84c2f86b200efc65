// What host code says of its own accesses to memory, before each: the hooks of abi::host_operation.
// `address` is the address, `count` is bytes | alignment << 16.

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

void load_shared(void *thread, void *address, uint32_t count, const Site *site);
void store_shared(void *thread, void *address, uint32_t count, const Site *site);
void atomic_shared(void *thread, void *address, uint32_t count, const Site *site);
void load_global(void *thread, void *address, uint32_t count, const Site *site);
void store_global(void *thread, void *address, uint32_t count, const Site *site);
void atomic_global(void *thread, void *address, uint32_t count, const Site *site);
/// The address may be of either, or of the thread's own stack.
void load_generic(void *thread, void *address, uint32_t count, const Site *site);
void store_generic(void *thread, void *address, uint32_t count, const Site *site);
void atomic_generic(void *thread, void *address, uint32_t count, const Site *site);

/// The address itself: there are no caches here.
void *hinted_address(Thread &thread, const Site &site, void *address);
void *address_of_policy(Thread &thread, const Site &site, void *address, uint64_t policy);

/// The thread has made the loop iterations that it was granted. It may make more of them, up to
/// Options::max_steps; others get their turn first, for it may be waiting for one of them.
void out_of_steps(void *thread, void *, uint32_t, const Site *site);

} // namespace tritonc::emulator::ops
