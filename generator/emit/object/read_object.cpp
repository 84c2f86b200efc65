// Reads the descriptors of an object file or a program, as the runtime would see them.
//
// In an object, a pointer is a relocation with a symbol. In a program, the linker has computed it:
// the pointer is in the bytes, or in a relocation without a symbol if the loader adds the load
// address. The reader converts both to addresses in one address space. Sections of a program have
// addresses there; sections of an object get addresses here.
//
// The reader finds kernels by their symbols: the name begins with `tritonc_`, and the size is the
// size of a descriptor.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/read_library.h"

#include <tritonc/descriptor.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <set>

namespace tritonc {

namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

/// Thrown for a damaged file; read_object catches it.
struct Damage {
  std::string reason;
};

template <typename T> T value_of(llvm::Expected<T> expected) {
  if (!expected)
    throw Damage{llvm::toString(expected.takeError())};
  return std::move(*expected);
}

/// Checks a count against a limit that no undamaged file exceeds.
uint32_t sane(uint32_t count, uint32_t max_value) {
  if (count > max_value)
    throw Damage{"it counts " + std::to_string(count) + " where at most " +
                 std::to_string(max_value) + " can be"};
  return count;
}

class ObjectReader {
public:
  explicit ObjectReader(const std::string &bytes) : elf_(value_of(Elf::create(bytes))) {
    is_linked_ = elf_.getHeader().e_type != llvm::ELF::ET_REL;
    place_sections();
    collect_pointers();
  }

  /// The kernels in the order of their addresses, which is the order in which they were emitted.
  /// Linkers do not keep the order of the symbols.
  std::vector<KernelContents> kernels() {
    std::set<uint64_t> addresses;
    for (const Elf::Elf_Shdr &table : value_of(elf_.sections())) {
      if (table.sh_type != llvm::ELF::SHT_SYMTAB)
        continue;
      llvm::StringRef names = value_of(elf_.getStringTableForSymtab(table));
      for (const Elf::Elf_Sym &symbol : value_of(elf_.symbols(&table)))
        if (symbol.getType() == llvm::ELF::STT_OBJECT && symbol.st_size == sizeof(abi::kernel) &&
            value_of(symbol.getName(names)).starts_with("tritonc_"))
          addresses.insert(address_of(symbol));
    }
    std::vector<KernelContents> kernels;
    for (uint64_t address : addresses)
      kernels.push_back(kernel(address));
    return kernels;
  }

private:
  // ---- memory ----

  void place_sections() {
    auto sections = value_of(elf_.sections());
    for (size_t i = 0; i < sections.size(); i++) {
      const Elf::Elf_Shdr &section = sections[i];
      if (!(section.sh_flags & llvm::ELF::SHF_ALLOC) || section.sh_type == llvm::ELF::SHT_NOBITS)
        continue;
      llvm::ArrayRef<uint8_t> contents = value_of(elf_.getSectionContents(section));
      memory_[place_of(i, section)] =
          llvm::StringRef(reinterpret_cast<const char *>(contents.data()), contents.size());
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

  void collect_pointers() {
    for (const Elf::Elf_Shdr &table : value_of(elf_.sections())) {
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
      for (const Elf::Elf_Rela &rela : value_of(elf_.relas(table))) {
        uint64_t target = uint64_t(rela.r_addend);
        if (uint32_t number = rela.getSymbol(false)) {
          auto symbol = value_of(elf_.getEntry<Elf::Elf_Sym>(*symbols, number));
          if (symbol->st_shndx == llvm::ELF::SHN_UNDEF)
            continue; // host code, which another file defines
          if (symbol->st_shndx >= llvm::ELF::SHN_LORESERVE)
            continue;
          target += address_of(*symbol);
        }
        pointers_[base + rela.r_offset] = target;
      }
    }
  }

  /// The bytes from an address to the end of its section.
  llvm::StringRef bytes_at(uint64_t address) const {
    auto after = memory_.upper_bound(address);
    if (after != memory_.begin()) {
      const auto &[begin, bytes] = *std::prev(after);
      if (address - begin < bytes.size())
        return bytes.drop_front(address - begin);
    }
    throw Damage{"a pointer leads nowhere"};
  }

  template <typename T> T number(uint64_t address) const {
    llvm::StringRef bytes = bytes_at(address);
    if (bytes.size() < sizeof(T))
      throw Damage{"a descriptor is cut off"};
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  uint64_t pointer(uint64_t address) const {
    auto found = pointers_.find(address);
    return found != pointers_.end() ? found->second : number<uint64_t>(address);
  }

  std::string text(uint64_t address) const {
    llvm::StringRef bytes = bytes_at(pointer(address));
    size_t end = bytes.find('\0');
    if (end == llvm::StringRef::npos)
      throw Damage{"a text has no end"};
    return bytes.take_front(end).str();
  }

  // ---- descriptors ----

  KernelContents kernel(uint64_t at) const {
    using S = abi::kernel;
    uint32_t version = number<uint32_t>(at + offsetof(S, version));
    if (version != abi::abi_version)
      throw Damage{"its descriptors have version " + std::to_string(version) + ", not " +
                   std::to_string(abi::abi_version)};
    KernelContents result = {.name = text(at + offsetof(S, name))};
    uint32_t parameters =
        sane(number<uint32_t>(at + offsetof(S, parameter_count)), abi::max_parameters);
    uint32_t variants = sane(number<uint32_t>(at + offsetof(S, variant_count)), 1 << 20);
    uint32_t axes = sane(number<uint32_t>(at + offsetof(S, axis_count)), 1 << 10);
    for (uint32_t i = 0; i < variants; i++) {
      std::vector<int32_t> choices;
      for (uint32_t axis = 0; axis < axes; axis++)
        choices.push_back(
            number<int32_t>(pointer(at + offsetof(S, choices)) + 4 * (i * axes + axis)));
      add_variants(pointer(at + offsetof(S, variants)) + i * sizeof(abi::variant), parameters,
                   choices, result);
    }
    uint32_t tunings = sane(number<uint32_t>(at + offsetof(S, tuning_count)), 1 << 10);
    for (uint32_t i = 0; i < tunings && variants; i++)
      result.tunings.push_back(
          tuning(pointer(at + offsetof(S, tunings)) + i * sizeof(abi::tuning), result));
    return result;
  }

  TuningContents tuning(uint64_t at, const KernelContents &kernel) const {
    using S = abi::tuning;
    TuningContents result = {.gpu = text(at + offsetof(S, gpu)),
                             .sm = number<int32_t>(at + offsetof(S, sm)),
                             .num_sms = number<int32_t>(at + offsetof(S, num_sms)),
                             .arguments = {},
                             .problems = number<uint32_t>(at + offsetof(S, problem_count))};
    uint32_t axes = sane(number<uint32_t>(at + offsetof(S, axis_count)), abi::max_parameters);
    for (uint32_t i = 0; i < axes; i++)
      result.arguments.push_back(name_of_parameter(
          kernel, number<uint32_t>(pointer(at + offsetof(S, axes)) + i * sizeof(uint32_t))));
    return result;
  }

  static std::string name_of_parameter(const KernelContents &kernel, uint32_t index) {
    const std::vector<ParameterContents> &parameters = kernel.variants.front().parameters;
    if (index >= parameters.size())
      throw Damage{"tuning data are about an argument that there is not"};
    return parameters[index].name;
  }

  /// The specializations for some choices, then their general variant.
  void add_variants(uint64_t at, uint32_t parameters, const std::vector<int32_t> &choices,
                    KernelContents &kernel) const {
    using S = abi::variant;
    uint32_t count = sane(number<uint32_t>(at + offsetof(S, specialized_count)), 1 << 10);
    for (uint32_t i = 0; i <= count; i++) {
      uint64_t place =
          i == count ? at : pointer(at + offsetof(S, specialized)) + i * sizeof(abi::variant);
      kernel.variants.push_back(variant(place, parameters));
      kernel.variants.back().choices = choices;
    }
  }

  VariantContents variant(uint64_t at, uint32_t parameters) const {
    using S = abi::variant;
    VariantContents result = {.entry = text(at + offsetof(S, entry))};
    for (uint32_t i = 0; i < parameters; i++) {
      uint64_t row = pointer(at + offsetof(S, parameters)) + i * sizeof(abi::parameter);
      result.parameters.push_back({text(row + offsetof(abi::parameter, name)),
                                   number<uint8_t>(row + offsetof(abi::parameter, bytes))});
    }
    uint32_t constants = sane(number<uint32_t>(at + offsetof(S, constant_count)), 1 << 16);
    for (uint32_t i = 0; i < constants; i++) {
      using C = abi::constant;
      uint64_t row = pointer(at + offsetof(S, constants)) + i * sizeof(C);
      result.constants.push_back({text(row + offsetof(C, name)),
                                  number<uint32_t>(row + offsetof(C, offset)),
                                  number<uint32_t>(row + offsetof(C, bytes))});
    }
    uint32_t images = sane(number<uint32_t>(at + offsetof(S, image_count)), 1 << 16);
    for (uint32_t i = 0; i < images; i++) {
      uint64_t info = pointer(at + offsetof(S, infos)) + i * sizeof(image_info);
      result.images.push_back(
          image(pointer(at + offsetof(S, images)) + i * sizeof(abi::image), info));
      result.specialization = text(info + offsetof(image_info, specialization));
    }
    return result;
  }

  ImageContents image(uint64_t at, uint64_t info) const {
    using S = abi::image;
    using I = image_info;
    auto fact = [&](size_t offset) { return number<int32_t>(info + offset); };
    ImageContents result = {
        .gpu = text(info + offsetof(I, gpu)),
        .schedule = text(info + offsetof(I, schedule)),
        .threads = fact(offsetof(I, threads)),
        .registers = fact(offsetof(I, registers)),
        .shared_bytes = fact(offsetof(I, shared_bytes)),
        .static_shared = fact(offsetof(I, static_shared_bytes)),
        .spill_stores = fact(offsetof(I, spill_stores)),
        .spill_loads = fact(offsetof(I, spill_loads)),
        .stack_bytes = fact(offsetof(I, stack_bytes)),
        .cubin_bytes = fact(offsetof(I, cubin_bytes)),
    };
    if (uint64_t launch = pointer(at + offsetof(S, launch))) {
      uint32_t count = sane(number<uint32_t>(launch + offsetof(abi::launch_config, hidden_count)),
                            uint32_t(abi::max_hidden));
      for (uint32_t i = 0; i < count; i++) {
        uint64_t row = pointer(launch + offsetof(abi::launch_config, hidden)) +
                       i * sizeof(abi::hidden_parameter);
        result.hidden.push_back(
            hidden_bytes(number<uint32_t>(row + offsetof(abi::hidden_parameter, kind))));
      }
    }
    uint64_t size = number<uint64_t>(at + offsetof(S, size));
    if (uint64_t bundle = pointer(at + offsetof(S, bundle))) {
      using B = abi::bundle;
      result.bundle = text(bundle + offsetof(B, name));
      result.bundle_length = number<uint64_t>(bundle + offsetof(B, length));
      for (size_t i = 0; i < 2; i++)
        result.bundle_digest[i] = number<uint64_t>(bundle + offsetof(B, digest) + i * 8);
      result.offset = number<uint64_t>(at + offsetof(S, offset));
      result.size = size;
      return result;
    }
    llvm::StringRef bytes = bytes_at(pointer(at + offsetof(S, bytes)));
    if (size > bytes.size())
      throw Damage{"an image is cut off"};
    result.sealed = bytes.take_front(size).str();
    return result;
  }

  Elf elf_;
  bool is_linked_ = false;
  std::map<uint64_t, llvm::StringRef> memory_;
  std::map<uint64_t, uint64_t> pointers_;
};

} // namespace

Result<std::vector<KernelContents>> read_object(const std::string &path, const std::string &bytes) {
  try {
    return ObjectReader(bytes).kernels();
  } catch (const Damage &damage) {
    return Error{Message::file_damaged, {path, damage.reason}};
  }
}

} // namespace tritonc
