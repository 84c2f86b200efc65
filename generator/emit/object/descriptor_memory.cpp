// The descriptors of a library as bytes at addresses. See descriptor_memory.h.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/descriptor_memory.h"

#include <tritonc/descriptor.hpp>

namespace tritonc {

void DescriptorMemory::place(uint64_t address, std::string_view bytes) {
  if (!bytes.empty()) // an empty section can have the address of the next section
    sections_[address] = bytes;
}

void DescriptorMemory::own(uint64_t address, std::string bytes) {
  owned_.push_back(std::move(bytes));
  place(address, owned_.back());
}

bool DescriptorMemory::has_bytes(uint64_t address, uint64_t size) const {
  return find(address).size() >= size;
}

std::string_view DescriptorMemory::find(uint64_t address) const {
  auto after = sections_.upper_bound(address);
  if (after == sections_.begin())
    return {};
  const auto &[begin, bytes] = *std::prev(after);
  return address - begin < bytes.size() ? bytes.substr(address - begin) : std::string_view();
}

std::string_view DescriptorMemory::bytes_from(uint64_t address) const {
  std::string_view found = find(address);
  if (found.empty())
    throw Damage{"a pointer leads nowhere"};
  return found;
}

std::string_view DescriptorMemory::bytes(uint64_t address, uint64_t size) const {
  std::string_view rest = bytes_from(address);
  if (rest.size() < size)
    throw Damage{"a descriptor is cut off"};
  return rest.substr(0, size);
}

uint64_t DescriptorMemory::pointer(uint64_t slot) const {
  auto found = pointers_.find(slot);
  if (found != pointers_.end())
    return found->second;
  uint64_t value = number<uint64_t>(slot);
  return bytes_are_pointers_ ? value : 0;
}

std::string_view DescriptorMemory::text(uint64_t slot) const {
  std::string_view rest = bytes_from(pointer(slot));
  size_t end = rest.find('\0');
  if (end == rest.npos)
    throw Damage{"a string has no end"};
  return rest.substr(0, end);
}

void require_abi_version(uint64_t version) {
  if (version != abi::abi_version)
    throw Damage{"its descriptors have version " + std::to_string(version) + ", not " +
                 std::to_string(abi::abi_version)};
}

} // namespace tritonc
