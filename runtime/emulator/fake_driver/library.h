// Queries about kernels and functions, for the other files of the fake driver.

#pragma once

#include "driver.h"

namespace tritonc::emulator::driver {

/// A kernel of CUlibrary, or a function; null if the handle is neither.
Kernel *find_kernel(Kernel *handle);

/// Max bytes of dynamic shared memory per block on the device: 48 KiB until the program raises the
/// limit.
int max_dynamic_shared_bytes(const Kernel &kernel, Device device);

/// The kernel's constant memory in the context. Null = the kernel has none, or no program has asked
/// for its address.
const void *constants_in(const Context &context, const Kernel &kernel);

/// Offset of a parameter in the packed buffer of all parameters; -1 = no such parameter.
std::ptrdiff_t parameter_offset(const abi::host_code &code, std::size_t index);

/// Whether the device runs the kernel's code, or accepts code for any GPU.
bool runs_on(const Kernel &kernel, Device device);

} // namespace tritonc::emulator::driver
