// The descriptors in an ELF file: an object, or a program or shared library that links one.

#pragma once

#include "emit/object/descriptor_memory.h"

#include <string>

namespace tritonc {

/// `bytes` must outlive the result. Throws Damage.
DescriptorMemory elf_memory(const std::string &bytes);

} // namespace tritonc
