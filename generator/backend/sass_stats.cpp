// Counts machine instructions without a disassembler.
//
// Since Volta an instruction has 16 bytes, little endian:
//
//     bits 0 to 8     operation
//     bits 9 to 11    where the operands are
//     bits 73 to 75   width of a memory access
//
// NVIDIA does not document the encoding. We compared the operations below with nvdisasm 13.0 for
// sm_75, sm_80, sm_90a and sm_100. Only reports and test gates ("no LDL") use these counts;
// compiled code does not depend on them.
//
// Tested by tests/unit/backend/sass_stats_test.cpp.

#include "backend/sass_stats.h"

#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

#include <sstream>

namespace tritonc {
namespace {

struct Operation {
  unsigned code; // the low 9 bits
  const char *name;
  bool has_width = false;
};

constexpr Operation operations[] = {
    {0x001, "PMTRIG"},    {0x020, "FMUL"},      {0x021, "FADD"},      {0x023, "FFMA"},
    {0x029, "DADD"},      {0x02b, "DFMA"},      {0x031, "HFMA2"},     {0x037, "IMMA"},
    {0x03b, "LDSM"},      {0x03c, "HMMA"},      {0x03f, "DMMA"},      {0x044, "STSM"},
    {0x11a, "DEPBAR"},    {0x11d, "BAR"},       {0x147, "BRA"},       {0x181, "LDG", true},
    {0x182, "LDC"},       {0x183, "LDL", true}, {0x184, "LDS", true}, {0x186, "STG", true},
    {0x187, "STL", true}, {0x188, "STS", true}, {0x189, "SHFL"},      {0x1ae, "LDGSTS"},
    {0x1af, "LDGDEPBAR"}, {0x1f0, "HGMMA"},     {0x1f1, "IGMMA"},     {0x1f3, "QGMMA"},
};

constexpr const char *widths[] = {".8", ".8", ".16", ".16", ".32", ".64", ".128", ""};

std::string name_of(uint64_t low, uint64_t high) {
  for (const Operation &operation : operations)
    if ((low & 0x1ff) == operation.code)
      return std::string(operation.name) + (operation.has_width ? widths[high >> 9 & 7] : "");
  return "other";
}

// The bytes of a section; empty if missing. check_cubin has already checked the cubin.
llvm::ArrayRef<uint8_t> find_section(const std::string &cubin, const std::string &wanted) {
  auto elf = llvm::cantFail(llvm::object::ELFFile<llvm::object::ELF64LE>::create(cubin));
  for (const auto &section : llvm::cantFail(elf.sections()))
    if (llvm::cantFail(elf.getSectionName(section)) == wanted)
      return llvm::cantFail(elf.getSectionContents(section));
  return {};
}

} // namespace

std::vector<std::string> list_instructions(const std::string &cubin, const std::string &kernel) {
  std::vector<std::string> names;
  llvm::ArrayRef<uint8_t> code = find_section(cubin, ".text." + kernel);
  for (; code.size() >= 16; code = code.drop_front(16))
    names.push_back(name_of(llvm::support::endian::read64le(code.data()),
                            llvm::support::endian::read64le(code.data() + 8)));
  return names;
}

std::map<std::string, int> count_instructions(const std::string &cubin, const std::string &kernel) {
  std::map<std::string, int> counts;
  for (const std::string &name : list_instructions(cubin, kernel))
    counts[name]++;
  return counts;
}

std::string sass_stats(const Cubin &cubin, const std::string &kernel, const Gpu &gpu) {
  const Resources &resources = cubin.resources;
  std::ostringstream out;
  auto line = [&](const std::string &name, size_t value) {
    out << name << std::string(16 - std::min<size_t>(name.size(), 15), ' ') << value << "\n";
  };
  out << kernel << " for " << gpu.name << "\n";
  line("registers", resources.registers);
  line("spill stores", resources.spill_stores);
  line("spill loads", resources.spill_loads);
  line("stack", resources.stack_bytes);
  line("static shared", resources.static_shared);
  line("cubin bytes", cubin.bytes.size());
  for (const auto &[name, count] : count_instructions(cubin.bytes, kernel))
    line(name, count);
  for (const std::string &advice : resources.advice)
    out << advice << "\n";
  return out.str();
}

} // namespace tritonc
