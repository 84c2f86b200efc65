// Scratch memory: what two launches that share the work have for themselves on the device.
//
// It is allocated before the first and freed behind the second, both when the stream gets there. So
// launches on other streams have other memory, and the driver gives the same memory out again as
// soon as it is free. It comes from a pool of our own, which keeps what it once had: the driver's
// default pool gives it back whenever somebody synchronises. In a captured graph the two are nodes.

#pragma once

#include "driver.h"

namespace tritonc::v1::cuda {

/// Makes the pool of a device that has such, unless it is there. Allocating needs it.
status make_scratch_pool(const Driver &driver, const abi::kernel &kernel, Device device) noexcept;

/// In the order of the stream.
Result allocate_scratch(const Driver &driver, Device device, Stream stream, std::int64_t bytes,
                        Pointer &memory) noexcept;
Result free_scratch(const Driver &driver, Stream stream, Pointer memory) noexcept;

} // namespace tritonc::v1::cuda
