// The hooks of abi::host_operation: host code calls one before each of its own memory accesses.
// `count` is bytes | alignment << 16.

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

void load_shared(void *thread, void *address, uint32_t count, const Site *site);
void store_shared(void *thread, void *address, uint32_t count, const Site *site);
void atomic_shared(void *thread, void *address, uint32_t count, const Site *site);
void load_global(void *thread, void *address, uint32_t count, const Site *site);
void store_global(void *thread, void *address, uint32_t count, const Site *site);
void atomic_global(void *thread, void *address, uint32_t count, const Site *site);
/// The address may be in shared or global memory, or on the thread's own stack.
void load_generic(void *thread, void *address, uint32_t count, const Site *site);
void store_generic(void *thread, void *address, uint32_t count, const Site *site);
void atomic_generic(void *thread, void *address, uint32_t count, const Site *site);

/// Return the address: the emulator has no caches.
void *hinted_address(Thread &thread, const Site &site, void *address);
void *address_of_policy(Thread &thread, const Site &site, void *address, uint64_t policy);

/// The thread has used its granted loop iterations. Grants more, up to Options::max_steps, and runs
/// other threads first, because the thread may poll for one of them.
void out_of_steps(void *thread, void *, uint32_t, const Site *site);

} // namespace tritonc::emulator::ops
