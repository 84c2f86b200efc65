// What the other files ask about kernels and functions.

#pragma once

#include "driver.h"

namespace tritonc::emulator::driver {

/// A kernel of CUlibrary, or a function; null if the handle is neither.
Kernel *find_kernel(Kernel *handle);

/// Bytes of dynamic shared memory that a block of it may have on the device: 48 KiB until more was
/// asked for.
int most_dynamic_shared_bytes(const Kernel &kernel, Device device);

/// The context's constant memory of the kernel, as a program may have filled it; null: nobody has
/// asked where it is, or there is none.
const void *constants_in(const Context &context, const Kernel &kernel);

/// Offset of a parameter in a packed buffer of all; -1: there is no such parameter.
std::ptrdiff_t parameter_offset(const abi::host_code &code, std::size_t index);

/// Whether the device runs the code, or takes code for any.
bool runs_on(const Kernel &kernel, Device device);

} // namespace tritonc::emulator::driver
