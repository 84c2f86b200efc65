// The descriptors of a library as bytes at addresses, with the pointers between them.
//
// An object, a program and a self-contained header all become such a memory (elf_memory.h,
// header_memory.h). One reader and one checksum serve the three.

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tritonc {

/// Thrown for a damaged file. read_object and read_header catch it.
struct Damage {
  std::string reason;
};

class DescriptorMemory {
public:
  /// The target of a pointer to data in another file. It is not null, and has no bytes.
  static constexpr uint64_t elsewhere = 1;

  /// Adds bytes that the caller keeps.
  void place(uint64_t address, std::string_view bytes);
  /// Adds bytes and keeps them.
  void own(uint64_t address, std::string bytes);
  void set_pointer(uint64_t slot, uint64_t target) { pointers_[slot] = target; }
  /// Says that the bytes of a slot are its pointer, unless set_pointer changed it. By default, such
  /// a pointer is null.
  void use_bytes_as_pointers() { bytes_are_pointers_ = true; }

  bool has_bytes(uint64_t address, uint64_t size) const;
  /// The bytes from an address to the end of its section; Damage if there are none.
  std::string_view bytes_from(uint64_t address) const;
  std::string_view bytes(uint64_t address, uint64_t size) const;
  template <typename T> T number(uint64_t address) const {
    T value;
    std::memcpy(&value, bytes(address, sizeof value).data(), sizeof value);
    return value;
  }
  /// The target of the pointer in a slot; 0 = null.
  uint64_t pointer(uint64_t slot) const;
  /// The string to which the pointer in a slot leads, without its zero.
  std::string_view text(uint64_t slot) const;

  std::vector<uint64_t> kernels; // addresses of the abi::kernel structs, as they were emitted

private:
  /// As bytes_from, but empty if there are none.
  std::string_view find(uint64_t address) const;

  std::map<uint64_t, std::string_view> sections_;
  std::unordered_map<uint64_t, uint64_t> pointers_; // slot to target
  bool bytes_are_pointers_ = false;
  std::deque<std::string> owned_; // a deque: elements never move
};

/// Throws Damage for descriptors of another abi::abi_version.
void require_abi_version(uint64_t version);

} // namespace tritonc
