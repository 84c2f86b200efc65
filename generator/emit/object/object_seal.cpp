// Seals an object and checks the seal. See object_seal.h.
//
// Tested by tests/unit/emit/object_seal_test.cpp.

#include "emit/object/object_seal.h"

#include "emit/object/descriptor_checksum.h"
#include "emit/object/elf_memory.h"

#include <tritonc/descriptor.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace tritonc {

namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

struct Section {
  std::string name;
  uint64_t offset = 0, size = 0; // in the file; bytes
};

/// The sections of an ELF file; nothing if they cannot be read.
std::optional<std::vector<Section>> sections_of(const std::string &bytes) {
  auto failed = [](llvm::Error error) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  };
  llvm::Expected<Elf> elf = Elf::create(bytes);
  if (!elf)
    return failed(elf.takeError());
  auto headers = elf->sections();
  if (!headers)
    return failed(headers.takeError());
  std::vector<Section> sections;
  for (const Elf::Elf_Shdr &header : *headers) {
    llvm::Expected<llvm::StringRef> name = elf->getSectionName(header);
    if (!name)
      return failed(name.takeError());
    sections.push_back({name->str(), header.sh_offset, header.sh_size});
  }
  return sections;
}

/// The offset of the seal in the file.
std::optional<size_t> place_of_seal(const std::string &bytes) {
  for (const Section &section : sections_of(bytes).value_or(std::vector<Section>()))
    if (section.name == seal_section && section.size == sizeof(uint64_t) &&
        section.offset <= bytes.size() && bytes.size() - section.offset >= section.size)
      return section.offset;
  return std::nullopt;
}

void write(std::string &bytes, size_t offset, uint64_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// The offset and the value of each kernel's checksum.
std::map<size_t, uint64_t> checksums_of(const std::string &object) {
  std::map<size_t, uint64_t> checksums;
  DescriptorMemory memory = elf_memory(object);
  for (uint64_t kernel : memory.kernels) {
    const char *place =
        memory.bytes(kernel + offsetof(abi::kernel, checksum), sizeof(uint64_t)).data();
    checksums[size_t(place - object.data())] = descriptor_checksum(memory, kernel);
  }
  return checksums;
}

} // namespace

void seal_object(std::string &object) {
  for (auto [offset, value] : checksums_of(object))
    write(object, offset, value);
  std::optional<size_t> seal = place_of_seal(object);
  assert(seal && "object_file writes the section");
  write(object, *seal, abi::checksum(object.data(), object.size()));
}

bool has_valid_seal(const std::string &object) {
  std::optional<size_t> seal = place_of_seal(object);
  if (!seal)
    return false;
  uint64_t stored;
  std::memcpy(&stored, object.data() + *seal, sizeof stored);
  std::string unsealed = object;
  write(unsealed, *seal, 0);
  return abi::checksum(unsealed.data(), unsealed.size()) == stored;
}

bool is_object(const std::string &bytes) {
  llvm::ELF::Elf64_Ehdr header;
  if (bytes.size() < sizeof header)
    return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.checkMagic() && header.e_type == llvm::ELF::ET_REL;
}

bool has_tritonc_sections(const std::string &object) {
  std::optional<std::vector<Section>> sections = sections_of(object);
  if (!sections || sections->empty())
    return true;
  for (const Section &section : *sections)
    if (llvm::StringRef(section.name).ends_with(".tritonc") || section.name == seal_section)
      return true;
  return false;
}

} // namespace tritonc
