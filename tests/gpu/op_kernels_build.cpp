// op_kernels_build <archive> <table> <cubins>: compiles the one-operation kernels (op_kernels.h)
// for Hopper and for this machine. Cubin and host code of a kernel come from the same module.
//
// Writes
//
// - <archive>: the static library of their host code,
// - <table>: a C++ source with the kernel table (op_table.h), which includes <cubins>,
// - <cubins>: the cubins, one after the other.

#include "op_kernels.h"

#include "backend/host_object.h"
#include "backend/ptx.h"
#include "backend/ptxas.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>

namespace {

using namespace tritonc;
using namespace tritonc::test;

struct Built {
  OpKernel kernel;
  std::string symbol, object, cubin;
};

[[noreturn]] void fail(const std::string &what) {
  std::cerr << "op_kernels_build: " << what << "\n";
  std::exit(1);
}

template <typename T> T must(Result<T> result, const std::string &what) {
  if (!result)
    fail(what + ": " + text(result.error()));
  return std::move(*result);
}

Built build(const Toolchain &tools, const Gpu &gpu, TargetOp op,
            const std::vector<unsigned> &immediates) {
  llvm::LLVMContext context;
  llvm::Module module("op", context);
  prepare_module(module);
  Built built;
  built.kernel = add_op_kernel(module, op, immediates);
  const std::string &name = built.kernel.name;
  must(optimize(module, gpu), name);

  HostKernel host;
  host.name = name;
  host.gpu = gpu.name;
  host.parameters = {{"in", true}, {"out", true}};
  if (built.kernel.takes_map)
    host.parameters.push_back({"maps", false});
  host.threads = built.kernel.threads;
  host.shared_bytes = built.kernel.shared_bytes;
  host.cluster_size = built.kernel.blocks;
  built.symbol = "tritonc_op_" + name;
  built.object = must(host_object(module, host, built.symbol), name);

  std::string ptx = must(generate_ptx(module, gpu), name);
  built.cubin = must(assemble(tools, ptx, name, gpu), name).bytes;
  return built;
}

std::string archive_of(const std::deque<Built> &all) {
  std::vector<llvm::NewArchiveMember> members;
  std::deque<std::string> names;
  for (const Built &each : all) {
    names.push_back(each.symbol + ".o");
    members.emplace_back(llvm::MemoryBufferRef(each.object, names.back()));
  }
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, true, false);
  if (!archive)
    fail(llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}

template <typename Values> std::string list(const Values &values) {
  std::string result = "{";
  for (unsigned value : values)
    result += std::to_string(value) + ", ";
  return result + "}";
}

std::string table_of(const std::deque<Built> &all, const std::string &cubins) {
  std::string declarations, rows;
  size_t begin = 0;
  for (const Built &each : all) {
    const OpKernel &kernel = each.kernel;
    declarations += "extern \"C\" __attribute__((visibility(\"hidden\"))) const "
                    "tritonc::abi::host_code " +
                    each.symbol + ";\n";
    rows += "    {\"" + kernel.name + "\", \"" + target_op_info(kernel.op).name.str() + "\", " +
            list(kernel.immediates);
    for (unsigned value : {kernel.threads, kernel.blocks, kernel.shared_bytes, kernel.image_bytes,
                           kernel.memory_bytes})
      rows += ", " + std::to_string(value);
    rows += kernel.takes_map ? ", true, " : ", false, ";
    rows += std::to_string(kernel.operand_offsets.size()) + ", " + list(kernel.operand_offsets);
    for (size_t value :
         {size_t(kernel.record_bytes), size_t(kernel.result_bytes), begin, each.cubin.size()})
      rows += ", " + std::to_string(value);
    rows += ", &" + each.symbol + "},\n";
    begin += each.cubin.size();
  }
  return "// Written by op_kernels_build.\n#include \"op_table.h\"\n\n" + declarations +
         "\nasm(\".section .rodata\\n.balign 64\\n.global op_cubins\\nop_cubins: .incbin \\\"" +
         cubins +
         "\\\"\\n.text\");\n\nnamespace tritonc::test {\nnamespace {\nconst OpEntry entries[] = "
         "{\n" +
         rows + "};\n}\nconst std::span<const OpEntry> op_entries = entries;\n}\n";
}

void write(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file)
    fail("cannot write " + path);
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4)
    fail("usage: op_kernels_build <archive> <table> <cubins>");
  Toolchain tools = must(find_toolchain({}), "ptxas");
  const Gpu &gpu = *find_gpu("90a");
  std::deque<Built> all;
  std::string cubins;
  for (const TargetOpInfo &op : all_target_ops())
    if (has_op_kernel(op.op))
      for (const std::vector<unsigned> &immediates : immediates_to_try(op.op)) {
        all.push_back(build(tools, gpu, op.op, immediates));
        // The driver requires aligned cubins.
        all.back().cubin.resize((all.back().cubin.size() + 63) / 64 * 64);
        cubins += all.back().cubin;
      }
  write(arguments[1], archive_of(all));
  write(arguments[2], table_of(all, arguments[3]));
  write(arguments[3], cubins);
}
