// The seal of an object: the checksum of the whole file, in a section that linkers drop.
//
// It covers the bytes that only a linker reads: headers, symbols, relocations. The checksum of the
// descriptors (descriptor_checksum.h) covers the data that a launch reads. Tools that rewrite the
// object, such as `strip`, `objcopy` and `ld -r`, break the seal but not the descriptors' checksum.

#pragma once

#include <string>

namespace tritonc {

/// 8 bytes: abi::checksum of the file with zeros in their place.
inline constexpr char seal_section[] = ".tritonc.seal";

/// Sets the checksum of every kernel, and then the seal. Their places must be zero.
void seal_object(std::string &object);

/// Whether the file is the object that seal_object left.
bool has_valid_seal(const std::string &object);

/// Whether the file is an ELF file that is not linked.
bool is_object(const std::string &bytes);

/// Whether an object contains a section that object_file writes. True also if its sections cannot
/// be read.
bool has_tritonc_sections(const std::string &object);

} // namespace tritonc
