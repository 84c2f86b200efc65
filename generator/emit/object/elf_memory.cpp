// Reads the descriptors of an object file or a program, as the runtime would see them.
//
// In an object, a pointer is a relocation with a symbol. In a program, the linker has computed it.
// If the program has a fixed address, the pointer is in the bytes. Otherwise the loader adds the
// load address, so a relocation without a symbol has the pointer, or names a place with the pointer
// in its bytes (RELR). The reader converts all of them to addresses in one address space. Sections
// of a program have addresses there; sections of an object get addresses here.
//
// The reader finds kernels by their symbols: the name begins with `tritonc_`, and the size is the
// size of a descriptor.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/elf_memory.h"

#include <tritonc/descriptor.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <set>

namespace tritonc {

namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

// sizeof(abi::kernel) up to version 11. The reader reports these kernels as too old.
constexpr uint64_t old_kernel_bytes = 64;

template <typename T> T value_of(llvm::Expected<T> expected) {
  if (!expected)
    throw Damage{llvm::toString(expected.takeError())};
  return std::move(*expected);
}

class ElfReader {
public:
  explicit ElfReader(const std::string &bytes) : elf_(value_of(Elf::create(bytes))) {
    is_linked_ = elf_.getHeader().e_type != llvm::ELF::ET_REL;
    if (is_linked_ && elf_.getHeader().e_phnum == 0)
      throw Damage{"it is neither an object nor a program"};
  }

  DescriptorMemory read() {
    place_sections();
    set_pointers();
    find_kernels();
    return std::move(memory_);
  }

private:
  void place_sections() {
    auto sections = value_of(elf_.sections());
    for (size_t i = 0; i < sections.size(); i++) {
      const Elf::Elf_Shdr &section = sections[i];
      if (!(section.sh_flags & llvm::ELF::SHF_ALLOC) || section.sh_type == llvm::ELF::SHT_NOBITS)
        continue;
      llvm::ArrayRef<uint8_t> contents = value_of(elf_.getSectionContents(section));
      memory_.place(place_of(i, section),
                    {reinterpret_cast<const char *>(contents.data()), contents.size()});
    }
  }

  uint64_t place_of(size_t index, const Elf::Elf_Shdr &section) const {
    return is_linked_ ? uint64_t(section.sh_addr) : uint64_t(index + 1) << 40;
  }

  uint64_t address_of(const Elf::Elf_Sym &symbol) const {
    if (is_linked_)
      return symbol.st_value;
    auto section = value_of(elf_.getSection(uint32_t(symbol.st_shndx)));
    return place_of(symbol.st_shndx, *section) + symbol.st_value;
  }

  /// Whether a relocation stores a whole address, as all relocations of descriptors do.
  bool is_address(uint32_t type) const {
    switch (elf_.getHeader().e_machine) {
    case llvm::ELF::EM_X86_64:
      return type == llvm::ELF::R_X86_64_64 || type == llvm::ELF::R_X86_64_RELATIVE;
    case llvm::ELF::EM_AARCH64:
      return type == llvm::ELF::R_AARCH64_ABS64 || type == llvm::ELF::R_AARCH64_RELATIVE;
    }
    return false;
  }

  void set_pointers() {
    if (elf_.getHeader().e_type == llvm::ELF::ET_EXEC)
      memory_.use_bytes_as_pointers();
    for (const Elf::Elf_Shdr &table : value_of(elf_.sections())) {
      if (table.sh_type == llvm::ELF::SHT_RELR && is_linked_)
        set_relative_pointers(table);
      if (table.sh_type != llvm::ELF::SHT_RELA)
        continue;
      uint64_t base = 0;
      if (!is_linked_) {
        auto section = value_of(elf_.getSection(uint32_t(table.sh_info)));
        if (!(section->sh_flags & llvm::ELF::SHF_ALLOC))
          continue;
        base = place_of(table.sh_info, *section);
      }
      auto symbols = value_of(elf_.getSection(uint32_t(table.sh_link)));
      for (const Elf::Elf_Rela &rela : value_of(elf_.relas(table)))
        if (is_address(rela.getType(false)))
          memory_.set_pointer(base + rela.r_offset, target_of(rela, *symbols));
    }
  }

  /// The loader adds the load address at these places. Places outside of sections with bytes, which
  /// other data can have, are of no interest.
  void set_relative_pointers(const Elf::Elf_Shdr &table) {
    for (const Elf::Elf_Rel &place : elf_.decode_relrs(value_of(elf_.relrs(table))))
      if (memory_.has_bytes(place.r_offset, 8))
        memory_.set_pointer(place.r_offset, memory_.number<uint64_t>(place.r_offset));
  }

  uint64_t target_of(const Elf::Elf_Rela &rela, const Elf::Elf_Shdr &symbols) const {
    uint64_t addend = uint64_t(rela.r_addend);
    uint32_t number = rela.getSymbol(false);
    if (number == 0)
      return addend;
    auto symbol = value_of(elf_.getEntry<Elf::Elf_Sym>(symbols, number));
    bool is_here =
        symbol->st_shndx != llvm::ELF::SHN_UNDEF && symbol->st_shndx < llvm::ELF::SHN_LORESERVE;
    return is_here ? address_of(*symbol) + addend : DescriptorMemory::elsewhere;
  }

  /// Finds the kernels in the order of their addresses, which is the order in which they were
  /// emitted. Linkers do not keep the order of the symbols.
  void find_kernels() {
    std::set<uint64_t> addresses;
    for (const Elf::Elf_Shdr &table : value_of(elf_.sections())) {
      if (table.sh_type != llvm::ELF::SHT_SYMTAB)
        continue;
      llvm::StringRef names = value_of(elf_.getStringTableForSymtab(table));
      for (const Elf::Elf_Sym &symbol : value_of(elf_.symbols(&table))) {
        bool has_size = symbol.st_size == sizeof(abi::kernel) || symbol.st_size == old_kernel_bytes;
        if (has_size && symbol.getType() == llvm::ELF::STT_OBJECT &&
            value_of(symbol.getName(names)).starts_with("tritonc_"))
          addresses.insert(address_of(symbol));
      }
    }
    memory_.kernels.assign(addresses.begin(), addresses.end());
  }

  Elf elf_;
  bool is_linked_ = false;
  DescriptorMemory memory_;
};

} // namespace

DescriptorMemory elf_memory(const std::string &bytes) { return ElfReader(bytes).read(); }

} // namespace tritonc
