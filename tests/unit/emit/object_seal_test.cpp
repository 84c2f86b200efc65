// Tests the checksums of emit/object: object_seal.cpp and descriptor_checksum.cpp. Flips the bits of
// objects, programs and headers one at a time.

#include "emit/object/object_seal.h"

#include "emit/cpp/header.h"
#include "emit/object/bundle.h"
#include "emit/object/elf_memory.h"
#include "emit/object/header_memory.h"
#include "emit/object/object.h"
#include "emit/object/read_library.h"
#include "emit/tables.h"
#include "support/temporary_folder.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"
#include "unit/emit/written_library.h"

#include <tritonc/descriptor.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"

#include <doctest/doctest.h>

#include <cctype>
#include <cstddef>
#include <cstring>
#include <functional>

using namespace tritonc;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

namespace {

using Kernels = std::vector<KernelContents>;

/// Whether everything that a launch reads is undamaged.
bool is_launchable(const Result<Kernels> &kernels, size_t count) {
  if (!kernels || kernels->size() != count)
    return false;
  for (const KernelContents &kernel : *kernels) {
    if (kernel.is_damaged)
      return false;
    std::string image, problem;
    for (const VariantContents &variant : kernel.variants)
      for (const ImageContents &of_variant : variant.images)
        if (of_variant.bundle.empty() && !unseal(of_variant.sealed, image, problem))
          return false;
  }
  return true;
}

std::vector<uint64_t> checksums(const DescriptorMemory &memory) {
  std::vector<uint64_t> found;
  for (uint64_t kernel : memory.kernels)
    found.push_back(memory.number<uint64_t>(kernel + offsetof(abi::kernel, checksum)));
  return found;
}

/// The part of a file with a section's contents.
struct Extent {
  size_t begin = 0, end = 0;
};

Extent section(const std::string &bytes, const std::string &name) {
  Elf elf = llvm::cantFail(Elf::create(bytes));
  for (const Elf::Elf_Shdr &header : llvm::cantFail(elf.sections()))
    if (llvm::cantFail(elf.getSectionName(header)) == name)
      return {header.sh_offset, header.sh_offset + header.sh_size};
  return {};
}

/// The offsets of the bytes of `extent` with a flip that `is_valid` does not notice.
std::vector<size_t> unnoticed(std::string bytes, Extent extent,
                              const std::function<bool(const std::string &)> &is_valid) {
  REQUIRE(is_valid(bytes));
  REQUIRE(extent.begin < extent.end);
  std::vector<size_t> found;
  for (size_t at = extent.begin; at < extent.end; at++) {
    const char bit = char(1 << at * 5 % 8);
    bytes[at] ^= bit;
    if (is_valid(bytes))
      found.push_back(at);
    bytes[at] ^= bit;
  }
  return found;
}

/// Whether all bytes are zeros that only align the data after them.
bool are_padding(const std::string &bytes, const std::vector<size_t> &places, Extent extent) {
  for (size_t i = 0; i < places.size(); i++) {
    bool is_last = i + 1 == places.size() || places[i + 1] != places[i] + 1;
    if (bytes[places[i]] != 0)
      return false;
    if (is_last && places[i] + 1 != extent.end && (places[i] + 1) % 2 != 0)
      return false;
  }
  return true;
}

/// Whether all bytes are in pointers to empty strings. Another pointer can lead to an equal string,
/// because any zero is one.
bool lead_to_empty_strings(const std::string &bytes, const std::vector<size_t> &places,
                           Extent extent) {
  DescriptorMemory memory = elf_memory(bytes);
  for (size_t place : places) {
    uint64_t pointer;
    std::memcpy(&pointer, &bytes[place - (place - extent.begin) % sizeof pointer], sizeof pointer);
    if (!memory.has_bytes(pointer, 1) || memory.number<char>(pointer) != 0)
      return false;
  }
  return true;
}

/// Whether another digit in a header's data can be harmless: in a type, in an alignment, in the
/// number of states, in the name of a table of which another has the same entries.
bool is_harmless(const std::string &header, size_t at) {
  size_t begin = at;
  while (isalnum(header[begin - 1]) || header[begin - 1] == '_')
    begin--;
  const std::string token = header.substr(begin, at - begin);
  auto follows = [&](const std::string &text) {
    return header.compare(begin - text.size(), text.size(), text) == 0;
  };
  if (token.empty() || !isalpha(token[0]))
    return follows("alignas(") || follows("image_state states[");
  for (const char *name : {"code_", "map_", "hidden_", "launch_", "image_"})
    if (token.rfind(name, 0) == 0)
      return false;
  return true;
}

/// Links an object with nothing else, and returns the bytes.
std::string linked(const std::string &object, const std::string &flags,
                   const std::string &source = "") {
  test::GeneratedFiles files(sample_library());
  TemporaryFolder folder;
  std::string program = folder.path("program");
  test::Outcome outcome = files.compile("object", source,
                                        folder.write("linked.o", object) +
                                            " -std=c++17 -nostdlib " + flags + " -o " + program);
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  return folder.read("program");
}

const char *const as_program = "-static -Wl,-e,0";
const char *const as_shared_library = "-shared -fPIC";
const char *const as_packed_library = "-shared -fPIC -Wl,-z,pack-relative-relocs"; // RELR

} // namespace

TEST_CASE("has_valid_seal: accepts objects as object_file writes them") {
  for (const Library &library :
       {sample_library(), schedules_library(), specialized_library(), measured_library()})
    for (const char *triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
      std::string bytes = object(library, triple);
      CHECK(is_object(bytes));
      CHECK(has_tritonc_sections(bytes));
      CHECK(has_valid_seal(bytes));
    }
  Library library = sample_library();
  Interface interface = *make_interface(library);
  Tables tables = *make_tables(interface);
  Bundle bundle = make_bundle(tables, "gemm.tcb");
  CHECK(has_valid_seal(*object_file(tables, "", &bundle)));
}

TEST_CASE("has_valid_seal: notices a flip in every byte of an object") {
  for (const Library &library : {schedules_library(), measured_library()}) {
    std::string bytes = object(library);
    CHECK(unnoticed(bytes, {0, bytes.size()}, has_valid_seal).empty());
    CHECK_FALSE(has_valid_seal(bytes + '\0'));
    CHECK_FALSE(has_valid_seal(bytes.substr(0, bytes.size() - 1)));
  }
  CHECK_FALSE(has_valid_seal(""));
  CHECK_FALSE(has_valid_seal("int main() {}"));
}

TEST_CASE("read_object: damaged objects fail or are noticed, never crash") {
  std::string bytes = object(schedules_library());
  auto is_valid = [](const std::string &changed) {
    bool launchable = is_launchable(read_object("x.o", changed), 1);
    return launchable && has_valid_seal(changed);
  };
  CHECK(unnoticed(bytes, {0, bytes.size()}, is_valid).empty());
}

TEST_CASE("has_valid_seal: rejects objects that another tool rewrote") {
  TemporaryFolder folder;
  std::string bytes = object(sample_library());
  auto after = [&](const std::string &command) {
    folder.write("x.o", bytes);
    test::Outcome outcome = test::run("cd " + folder.path() + " && " + command);
    REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
    return folder.read("x.o");
  };
  CHECK(has_valid_seal(after("true")));
  for (const char *command : {"strip --strip-debug x.o", "ld -r x.o -o y.o && mv y.o x.o",
                              "objcopy --remove-section=.tritonc.seal x.o"}) {
    CAPTURE(command);
    std::string rewritten = after(command);
    CHECK_FALSE(has_valid_seal(rewritten));
    // Launches still work.
    CHECK(is_launchable(read_object("x.o", rewritten), 5));
  }
}

TEST_CASE("seal_object: linkers drop the seal") {
  std::string bytes = object(sample_library());
  CHECK(section(bytes, seal_section).end - section(bytes, seal_section).begin == 8);
  for (const char *how : {as_program, as_shared_library})
    CHECK(section(linked(bytes, how), seal_section).end == 0);
}

TEST_CASE("is_object, has_tritonc_sections: distinguish files") {
  TemporaryFolder folder;
  test::Outcome outcome = test::run(TRITONC_CXX " -c -x c++ /dev/null -o " + folder.path("x.o"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  CHECK(is_object(folder.read("x.o")));
  CHECK_FALSE(has_tritonc_sections(folder.read("x.o")));
  CHECK(has_tritonc_sections("no ELF")); // it cannot be excluded
  CHECK_FALSE(is_object(linked(object(sample_library()), as_program)));
  CHECK_FALSE(is_object(""));
  CHECK_FALSE(is_object(header(sample_library())));
}

TEST_CASE("descriptor_checksum: equal in objects, programs and headers") {
  for (const Library &library :
       {sample_library(), schedules_library(), specialized_library(), measured_library()}) {
    std::string bytes = object(library), text = header(library);
    std::vector<uint64_t> expected = checksums(elf_memory(bytes));
    REQUIRE_FALSE(expected.empty());
    CHECK(checksums(elf_memory(object(library, "aarch64-linux-gnu"))) == expected);
    CHECK(checksums(header_memory(text)) == expected);
    CHECK(is_launchable(read_object("x.o", bytes), expected.size()));
    CHECK(is_launchable(read_header("x.hpp", text), expected.size()));
    for (const char *how : {as_program, as_shared_library, as_packed_library}) {
      CAPTURE(how);
      std::string program = linked(bytes, how);
      CHECK(checksums(elf_memory(program)) == expected);
      CHECK(is_launchable(read_object("program", program), expected.size()));
    }
  }
}

TEST_CASE("descriptor_checksum: notices flips in a linked program") {
  for (const Library &library : {schedules_library(), measured_library(), specialized_library()}) {
    std::string bytes = object(library);
    const size_t kernels = elf_memory(bytes).kernels.size();
    auto is_valid = [&](const std::string &program) {
      return is_launchable(read_object("program", program), kernels);
    };
    // The linker has written every pointer, so each byte counts.
    std::string program = linked(bytes, as_program);
    Extent descriptors = section(program, ".data.rel.ro");
    CHECK(lead_to_empty_strings(program, unnoticed(program, descriptors, is_valid), descriptors));
    Extent constants = section(program, ".rodata");
    CHECK(are_padding(program, unnoticed(program, constants, is_valid), constants));
    // The loader writes every pointer, as relocations say.
    std::string shared = linked(bytes, as_shared_library);
    Extent relocations = section(shared, ".rela.dyn");
    CHECK(lead_to_empty_strings(shared, unnoticed(shared, relocations, is_valid), relocations));
  }
}

TEST_CASE("descriptor_checksum: notices host code that is none") {
  Library library = sample_library();
  library.kernels[1].variants[0].images[0].host_symbol = "tritonc_host_0123";
  std::string bytes = object(library);
  CHECK(is_launchable(read_object("x.o", bytes), 5));
  CHECK(checksums(elf_memory(bytes)) != checksums(elf_memory(object(sample_library()))));
  for (bool is_host_code : {true, false}) {
    std::string source = "struct Code { char magic[8]; unsigned version; };\n"
                         "extern \"C\" __attribute__((visibility(\"hidden\"))) const Code "
                         "tritonc_host_0123;\nconst Code tritonc_host_0123 = {{";
    for (size_t i = 0; i < 7; i++)
      source += std::string("'") + (is_host_code ? "TC host"[i] : 'x') + "', ";
    source += "'\\n'}, " + std::to_string(abi::host_code_version) + "};\n";
    for (const char *how : {as_program, as_shared_library}) {
      CAPTURE(how);
      CAPTURE(is_host_code);
      std::string program = linked(bytes, how, source);
      CHECK(is_launchable(read_object("program", program), 5) == is_host_code);
    }
  }
}

TEST_CASE("descriptor_checksum: notices another digit in a header's data") {
  for (const Library &library : {schedules_library(), measured_library()}) {
    std::string text = header(library);
    const size_t kernels = header_memory(text).kernels.size();
    auto is_valid = [&](const std::string &changed) {
      return is_launchable(read_header("x.hpp", changed), kernels);
    };
    REQUIRE(is_valid(text));
    size_t begin = text.find("namespace data {"), end = text.find("} // namespace data");
    int changes = 0;
    for (size_t at = begin; at < end; at++) {
      if (!isdigit(text[at]) || is_harmless(text, at))
        continue;
      text[at] ^= 1;
      CAPTURE(text.substr(at - 30, 60));
      CHECK_FALSE(is_valid(text));
      text[at] ^= 1;
      changes++;
    }
    CHECK(changes > 300);
    for (size_t at = end; (at = text.find("return data::kernel_", at)) != text.npos; at += 20) {
      text[at + 20] ^= 1;
      CHECK_FALSE(is_valid(text));
      text[at + 20] ^= 1;
    }
  }
}

TEST_CASE("read_object, read_header: name the version of older descriptors") {
  std::string text = header(sample_library());
  size_t kernel = text.find("abi::kernel kernel_0 = {");
  std::string current = std::to_string(abi::abi_version) + ", ";
  text.replace(text.find(current, kernel), current.size(), "11, ");
  std::string said = ": its descriptors have version 11, not " + std::to_string(abi::abi_version);
  Result<Kernels> kernels = read_header("x", text);
  REQUIRE_FALSE(kernels);
  CHECK(tritonc::text(kernels.error()).find(said) != std::string::npos);

  // Version 11 had no checksum, so its descriptors were smaller.
  std::string bytes = object(sample_library());
  Extent symbols = section(bytes, ".symtab");
  const size_t descriptors = section(bytes, ".data.rel.ro.tritonc").begin;
  for (size_t at = symbols.begin; at < symbols.end; at += sizeof(llvm::ELF::Elf64_Sym)) {
    llvm::ELF::Elf64_Sym symbol;
    std::memcpy(&symbol, &bytes[at], sizeof symbol);
    if (symbol.st_size != sizeof(abi::kernel))
      continue;
    symbol.st_size = offsetof(abi::kernel, states);
    std::memcpy(&bytes[at], &symbol, sizeof symbol);
    bytes[descriptors + symbol.st_value] = 11;
  }
  kernels = read_object("x", bytes);
  REQUIRE_FALSE(kernels);
  CHECK(tritonc::text(kernels.error()).find(said) != std::string::npos);
}

TEST_CASE("archive_members: returns the members of a static library") {
  TemporaryFolder folder;
  folder.write("gemm.o", object(sample_library()));
  folder.write("a_file_with_a_very_long_name.txt", "text");
  test::Outcome outcome = test::run("cd " + folder.path() +
                                    " && ar rc lib.a gemm.o a_file_with_a_very_long_name.txt"
                                    " && ar rcT thin.a gemm.o");
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  std::string bytes = folder.read("lib.a");
  CHECK(is_archive(bytes));
  Result<std::vector<ArchiveMember>> members = archive_members("lib.a", bytes);
  REQUIRE(members);
  REQUIRE(members->size() == 2);
  CHECK((*members)[0].name == "gemm.o");
  CHECK((*members)[0].bytes == folder.read("gemm.o"));
  CHECK((*members)[1].name == "a_file_with_a_very_long_name.txt");
  CHECK(is_archive(folder.read("thin.a")));
  CHECK(archive_members("thin.a", folder.read("thin.a"))->empty());
  CHECK_FALSE(is_archive(folder.read("gemm.o")));
  CHECK_FALSE(is_archive(""));
  for (size_t length = 8; length < 200; length++)
    (void)archive_members("lib.a", bytes.substr(0, length)); // does not crash
  CHECK_FALSE(archive_members("lib.a", bytes.substr(0, bytes.size() - 100)));
}
