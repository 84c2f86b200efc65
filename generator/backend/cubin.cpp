// Reads cubins.
//
// A cubin is an ELF file. The section `.text.<kernel>` has the code of a kernel. The sections
// `.nv.info.<kernel>` (one kernel) and `.nv.info` (all kernels) have entries: u8 format, u8
// attribute, u16 value. In format 4 the value is the size of the data after it. The reader uses
// these attributes:
//
//   0x17  a parameter: u32, u16 number, u16 offset, u32 with the size in its upper 14 bits
//   0x19  the value is the size of all parameters
//   0x2f  (in .nv.info) u32 symbol of the kernel, u32 registers
//   0x11  (in .nv.info) u32 symbol of the kernel, u32 stack
//
// The flags of the ELF header have the number of the GPU, but do not distinguish sm_90 from sm_90a.
// ptxas writes a note with its command line, which has the full name.
//
// Tested by tests/unit/backend/cubin_test.cpp.

#include "backend/cubin.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <map>
#include <set>

namespace tritonc {
namespace {

using namespace llvm::support::endian;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

enum Attribute : uint8_t {
  stack_size = 0x11,
  parameter = 0x17,
  all_parameters = 0x19,
  register_count = 0x2f,
};

// An entry of .nv.info.
struct Info {
  uint8_t attribute;
  uint16_t value;
  llvm::StringRef data;

  uint32_t word(size_t i) const { return read32le(data.data() + 4 * i); }
};

// False if the entries do not end at the end of the section.
bool parse_info(llvm::StringRef bytes, std::vector<Info> &entries) {
  constexpr uint8_t sized = 4;
  while (bytes.size() >= 4) {
    Info entry = {uint8_t(bytes[1]), read16le(bytes.data() + 2), ""};
    uint8_t format = uint8_t(bytes[0]);
    bytes = bytes.drop_front(4);
    if (format == sized) {
      if (entry.value > bytes.size())
        return false;
      entry.data = bytes.take_front(entry.value);
      bytes = bytes.drop_front(entry.value);
    }
    entries.push_back(entry);
  }
  return bytes.empty();
}

// The word after "-arch " in the command line of ptxas.
std::string gpu_in_note(llvm::StringRef note) {
  size_t at = note.find("-arch ");
  if (at == llvm::StringRef::npos)
    return "";
  return note.drop_front(at + 6)
      .take_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
      .str();
}

class CubinReader {
public:
  explicit CubinReader(const std::string &bytes) : bytes_(bytes) {}

  CubinReading read() {
    CubinReading result;
    result.problem = read(result.contents);
    return result;
  }

private:
  std::string read(CubinContents &contents) {
    llvm::Expected<Elf> elf = Elf::create(bytes_);
    if (!elf)
      return llvm::toString(elf.takeError());
    if (elf->getHeader().e_machine != llvm::ELF::EM_CUDA)
      return "it is not code for a GPU";
    if (std::string problem = read_sections(*elf); !problem.empty())
      return problem;

    llvm::Expected<Elf::Elf_Phdr_Range> segments = elf->program_headers();
    if (!segments)
      return llvm::toString(segments.takeError());

    constexpr uint8_t oldest_abi_with_flags = 8;
    uint32_t flags = elf->getHeader().e_flags;
    bool is_new = elf->getHeader().e_ident[llvm::ELF::EI_ABIVERSION] >= oldest_abi_with_flags;
    contents.sm = int(is_new ? flags >> 8 & 0xff : flags & 0xff);
    std::string number = "sm_" + std::to_string(contents.sm);
    contents.gpu = llvm::StringRef(gpu_).starts_with(number) ? gpu_ : number;
    for (const auto &[name, kernel] : kernels_)
      contents.kernels.push_back(kernel);
    contents.calls.assign(calls_.begin(), calls_.end());
    return "";
  }

  std::string read_sections(const Elf &elf) {
    llvm::Expected<Elf::Elf_Shdr_Range> sections = elf.sections();
    if (!sections)
      return llvm::toString(sections.takeError());
    // First the kernels, then their attributes.
    for (bool is_about : {false, true})
      for (const Elf::Elf_Shdr &section : *sections) {
        if (section.sh_type == llvm::ELF::SHT_NOBITS)
          continue;
        llvm::Expected<llvm::StringRef> name = elf.getSectionName(section);
        if (!name)
          return llvm::toString(name.takeError());
        llvm::Expected<llvm::ArrayRef<uint8_t>> contents = elf.getSectionContents(section);
        if (!contents)
          return llvm::toString(contents.takeError());
        llvm::StringRef text(reinterpret_cast<const char *>(contents->data()), contents->size());
        if (!is_about)
          add_kernel(*name, text);
        else if (std::string problem = add_facts(elf, section, *name, text); !problem.empty())
          return problem;
        if (is_about && section.sh_type == llvm::ELF::SHT_SYMTAB)
          if (std::string problem = add_calls(elf, section); !problem.empty())
            return problem;
      }
    return "";
  }

  // An undefined function is a function of the driver.
  std::string add_calls(const Elf &elf, const Elf::Elf_Shdr &section) {
    llvm::Expected<Elf::Elf_Sym_Range> symbols = elf.symbols(&section);
    if (!symbols)
      return llvm::toString(symbols.takeError());
    llvm::Expected<llvm::StringRef> names = elf.getStringTableForSymtab(section);
    if (!names)
      return llvm::toString(names.takeError());
    for (const Elf::Elf_Sym &symbol : *symbols) {
      if (symbol.st_shndx != llvm::ELF::SHN_UNDEF || symbol.getType() != llvm::ELF::STT_FUNC)
        continue;
      llvm::Expected<llvm::StringRef> name = symbol.getName(*names);
      if (!name)
        return llvm::toString(name.takeError());
      calls_.insert(name->str());
    }
    return "";
  }

  void add_kernel(llvm::StringRef section, llvm::StringRef code) {
    if (!section.consume_front(".text."))
      return;
    kernels_[section.str()] = {.name = section.str(), .code_bytes = int(code.size())};
  }

  std::string add_facts(const Elf &elf, const Elf::Elf_Shdr &section, llvm::StringRef name,
                        llvm::StringRef contents) {
    if (name == ".note.nv.tkinfo")
      gpu_ = gpu_in_note(contents);
    if (!name.consume_front(".nv.info") || (!name.empty() && !name.consume_front(".")))
      return "";
    std::vector<Info> entries;
    if (!parse_info(contents, entries))
      return "its section .nv.info is cut off";
    for (const Info &entry : entries) {
      if (!name.empty())
        add_parameter(kernels_[name.str()], entry);
      else if (entry.data.size() >= 8)
        add_resource(elf, section, entry);
    }
    return "";
  }

  static void add_parameter(CubinKernel &kernel, const Info &entry) {
    if (entry.attribute == all_parameters)
      kernel.parameter_bytes = entry.value;
    if (entry.attribute != parameter || entry.data.size() < 12)
      return;
    size_t number = entry.word(1) & 0xffff;
    kernel.parameters.resize(std::max(kernel.parameters.size(), number + 1));
    kernel.parameters[number] = {entry.word(1) >> 16, entry.word(2) >> 18};
  }

  void add_resource(const Elf &elf, const Elf::Elf_Shdr &section, const Info &entry) {
    std::string name = symbol_name(elf, section.sh_link, entry.word(0));
    auto kernel = kernels_.find(name);
    if (kernel == kernels_.end())
      return;
    if (entry.attribute == register_count)
      kernel->second.registers = int(entry.word(1));
    if (entry.attribute == stack_size)
      kernel->second.stack_bytes = int(entry.word(1));
  }

  static std::string symbol_name(const Elf &elf, uint32_t table, uint32_t number) {
    auto symbols = elf.getSection(table);
    if (!symbols)
      return llvm::consumeError(symbols.takeError()), "";
    auto symbol = elf.getEntry<Elf::Elf_Sym>(**symbols, number);
    if (!symbol)
      return llvm::consumeError(symbol.takeError()), "";
    auto strings = elf.getStringTableForSymtab(**symbols);
    if (!strings)
      return llvm::consumeError(strings.takeError()), "";
    auto name = (*symbol)->getName(*strings);
    if (!name)
      return llvm::consumeError(name.takeError()), "";
    return name->str();
  }

  const std::string &bytes_;
  std::map<std::string, CubinKernel> kernels_;
  std::set<std::string> calls_;
  std::string gpu_;
};

} // namespace

CubinReading read_cubin(const std::string &bytes) { return CubinReader(bytes).read(); }

} // namespace tritonc
