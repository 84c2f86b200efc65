// The checksum of all data that a launch of one kernel reads, after relocation.
//
// It does not depend on addresses, so a kernel has the same checksum in an object, in a program
// that links it, and in a self-contained header. abi::kernel::checksum stores it. It covers an
// image by its abi::image_header, which has the checksum of the image itself.

#pragma once

#include "emit/object/descriptor_memory.h"

#include <cstdint>

namespace tritonc {

/// The checksum of the kernel whose abi::kernel is at an address. Throws Damage if a pointer leads
/// nowhere.
uint64_t descriptor_checksum(const DescriptorMemory &memory, uint64_t kernel);

/// Whether the kernel has the checksum that it stores.
bool has_valid_checksum(const DescriptorMemory &memory, uint64_t kernel);

} // namespace tritonc
