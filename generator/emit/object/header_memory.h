// The descriptors in a self-contained header.

#pragma once

#include "emit/object/descriptor_memory.h"

#include <string>

namespace tritonc {

/// The memory that a compiler would make of the header's data; without kernels if `text` has no
/// data. Throws Damage.
DescriptorMemory header_memory(const std::string &text);

} // namespace tritonc
