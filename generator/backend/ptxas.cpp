// Runs ptxas and checks the cubin that it writes.
//
// On a full disk ptxas exits 0 and leaves a truncated cubin. The driver takes no length, so it
// would read past the end of the cubin, in the user's program. So `check_cubin` checks the ELF
// header, that every section lies inside the file, and that the kernel has code.
//
// Tested by tests/unit/backend/ptxas_test.cpp.

#include "backend/ptxas.h"

#include "support/temporary_directory.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <cstdio>
#include <sstream>

namespace tritonc {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

// An llvm::Error as text. LLVM aborts on an error that the caller ignores.
std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

bool starts_with(const std::string &line, std::string_view beginning) {
  return line.compare(0, beginning.size(), beginning) == 0;
}

// The number before `what`: "..., 400 bytes smem" -> 400.
bool number_before(const std::string &line, std::string_view what, int &number) {
  size_t at = line.find(what);
  if (at == std::string::npos || at == 0)
    return false;
  size_t begin = line.find_last_not_of("0123456789", at - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return std::sscanf(line.c_str() + begin, "%d", &number) == 1;
}

} // namespace

std::string check_cubin(const std::string &bytes, const std::string &kernel) {
  llvm::Expected<Elf> elf = Elf::create(bytes);
  if (!elf)
    return text(elf.takeError());
  if (elf->getHeader().e_machine != llvm::ELF::EM_CUDA)
    return "it is not code for a GPU";

  llvm::Expected<Elf::Elf_Shdr_Range> sections = elf->sections();
  if (!sections)
    return text(sections.takeError());
  bool has_code = false;
  for (const Elf::Elf_Shdr &section : *sections) {
    llvm::Expected<llvm::StringRef> name = elf->getSectionName(section);
    if (!name)
      return text(name.takeError());
    if (section.sh_type == llvm::ELF::SHT_NOBITS)
      continue;
    llvm::Expected<llvm::ArrayRef<uint8_t>> contents = elf->getSectionContents(section);
    if (!contents)
      return text(contents.takeError());
    has_code |= *name == ".text." + kernel && !contents->empty();
  }
  llvm::Expected<Elf::Elf_Phdr_Range> segments = elf->program_headers();
  if (!segments)
    return text(segments.takeError());
  return has_code ? "" : "it has no code for `" + kernel + "`";
}

bool parse_report(const std::string &report, const std::string &kernel, Resources &resources) {
  std::istringstream lines(report);
  std::string line;
  bool ours = false, properties = false, used = false;
  while (std::getline(lines, line)) {
    if (size_t code = line.find("(C75"); code != std::string::npos)
      resources.advice.push_back(line.substr(code));
    if (starts_with(line, "ptxas info    : Function properties for "))
      ours = line.substr(line.rfind(' ') + 1) == kernel;
    if (!ours)
      continue;
    if (number_before(line, " bytes stack frame", resources.stack_bytes))
      properties = number_before(line, " bytes spill stores", resources.spill_stores) &&
                   number_before(line, " bytes spill loads", resources.spill_loads);
    if (number_before(line, " registers", resources.registers)) {
      used = true;
      number_before(line, " bytes smem", resources.static_shared);
    }
  }
  return properties && used;
}

Result<Cubin> assemble(const Toolchain &tools, const std::string &ptx, const std::string &kernel,
                       const Gpu &gpu, const std::string &optimization, bool line_info) {
  std::string subject = "`" + kernel + "` for " + std::string(gpu.name);
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory)
    return directory.error();
  std::string input = directory->file("kernel.ptx"), output = directory->file("kernel.cubin");
  if (auto written = write_tool_input(input, ptx); !written)
    return written.error();

  std::vector<std::string> command = {tools.ptxas, optimization, "-v",
                                      "-arch=" + std::string(gpu.machine)};
  if (line_info)
    command.push_back("-lineinfo");
  command.insert(command.end(), tools.ptxas_options.begin(), tools.ptxas_options.end());
  command.insert(command.end(), {input, "-o", output});
  Result<std::string> report = run_tool(command, directory->path(), tools.time_limit, subject);
  if (!report)
    return report.error();

  Result<std::string> bytes = read_tool_output("ptxas", output, subject);
  if (!bytes)
    return bytes.error();
  if (std::string problem = check_cubin(*bytes, kernel); !problem.empty())
    return bad_output("ptxas", subject, "the code is damaged: " + problem);

  Cubin cubin = {std::move(*bytes), {}};
  if (!parse_report(*report, kernel, cubin.resources))
    return Error{Message::tool_bad_output, {"ptxas", subject, "its report cannot be read"}};
  return cubin;
}

} // namespace tritonc
