// Workspace: device memory in which the blocks of a launch, or of a pair of launches, pass data on.
//
// The runtime allocates it before the launches and frees it after them, both in stream order. So launches on different streams have different workspaces, and the driver reuses memory
// as soon as it is free. The memory comes from a pool of the runtime, which keeps freed memory. The
// driver's default pool returns freed memory to the system at every synchronization. In a captured
// graph, allocation and free are nodes.

#pragma once

#include "load/driver.h"

namespace tritonc::v1::cuda {

/// Makes the workspace pool of a device on first use. The device must support memory pools. Call
/// this before allocate_workspace.
status make_workspace_pool(const Driver &driver, const abi::kernel &kernel, Device device) noexcept;

/// Allocates `bytes` bytes from the pool of `device`, in stream order, and sets `memory`.
Result allocate_workspace(const Driver &driver, Device device, Stream stream, std::int64_t bytes,
                          Pointer &memory) noexcept;
/// Frees `memory` in stream order.
Result free_workspace(const Driver &driver, Stream stream, Pointer memory) noexcept;

} // namespace tritonc::v1::cuda
