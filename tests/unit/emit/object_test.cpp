// Tests emit/object/object.cpp: the contents of the object, and programs that link it.

#include "emit/object/object.h"
#include "unit/emit/golden.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

using namespace tritonc;
using llvm::object::ELF64LEObjectFile;
using test::GeneratedFiles;
using test::Outcome;

namespace {

std::string made_for(const std::string &triple, const Library &library = sample_library()) {
  Interface interface = *make_interface(library);
  Result<std::string> object = object_file(*make_tables(interface), triple);
  REQUIRE(object);
  return *object;
}

struct ReadBack {
  explicit ReadBack(std::string from)
      : bytes(std::move(from)),
        file(llvm::cantFail(ELF64LEObjectFile::create(llvm::MemoryBufferRef(bytes, "gemm.o")))) {
    for (llvm::object::ELFSectionRef section : file.sections())
      sections.emplace(llvm::cantFail(section.getName()).str(), section);
  }
  std::string bytes;
  ELF64LEObjectFile file;
  std::map<std::string, llvm::object::ELFSectionRef> sections;
};

/// Prints the variants, their facts and the statuses of wrong calls. It needs no driver.
const char *const program = R"(
#include <gemm.hpp>
#include <cstdio>
void say(tritonc::status status) { std::puts(status.message().c_str()); }
int main() {
  using dot = gemm::dot<tritonc::half, gemm::A::T>;
  for (dot::params variant : dot::variants())
    for (const tritonc::image_info &info : dot::info(variant))
      std::printf("%d %s: %d registers, %d threads\n", variant.TM, info.gpu, info.registers, info.threads);
  for (const tritonc::image_info &info : gemm::scale::info())
    std::printf("%s: %d bytes\n", info.gpu, info.cubin_bytes);
  dot::args args{};
  say(dot::launch({}, args));
  args.M = 128, args.N = 96, args.lda = 12;
  say(dot::launch({}, args));
  args.lda = 16;
  say(dot::launch({}, args));
  say(dot::launch({}, args, dot::params{64}));
  say(dot::launch({}, args, dot::params{16}));
  say(gemm::scale::launch({}, {1 << 20, 1 << 20}, gemm::scale::args{}));
  say(gemm::scale::launch({}, {1}, gemm::scale::args{}));
}
)";

const char *const expected_output = R"(64 sm_80: 96 registers, 128 threads
64 sm_90a: 96 registers, 128 threads
32 sm_80: 96 registers, 128 threads
32 sm_90a: 96 registers, 128 threads
sm_80: 20000 bytes
ok
gemm::dot<half, T>: none of 2 variants accepts these arguments: the last one requires `lda % 8 == 0`
gemm::dot<half, T>: argument `A` is null
gemm::dot<half, T>: the arguments do not satisfy `N % 64 == 0`
gemm::dot<half, T>: this variant was not compiled: variants() lists the variants
gemm::scale: `grid` is negative, exceeds a limit of the device, or overflows 64 bits
gemm::scale: argument `values` is null
)";

std::string link_flags(const GeneratedFiles &files, const std::string &object) {
  return "-std=c++17 " + object + " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + files.path("program");
}

} // namespace

TEST_CASE("object_file: ELF sections and symbols for x86-64 and AArch64") {
  struct {
    const char *triple;
    unsigned machine, relocation;
  } targets[] = {{"x86_64-linux-gnu", llvm::ELF::EM_X86_64, llvm::ELF::R_X86_64_64},
                 {"aarch64-linux-gnu", llvm::ELF::EM_AARCH64, llvm::ELF::R_AARCH64_ABS64}};
  for (auto &target : targets) {
    CAPTURE(target.triple);
    ReadBack object(made_for(target.triple));
    CHECK(object.file.getELFFile().getHeader().e_machine == target.machine);
    REQUIRE(object.sections.count(".rodata.tritonc"));
    REQUIRE(object.sections.count(".data.rel.ro.tritonc"));
    REQUIRE(object.sections.count(".bss.tritonc"));
    REQUIRE(object.sections.count(".note.GNU-stack")); // else the stack is executable
    CHECK(object.sections.at(".rodata.tritonc").getFlags() == llvm::ELF::SHF_ALLOC);
    CHECK(object.sections.at(".rodata.tritonc").getAlignment() == llvm::Align(64));
    CHECK(object.sections.at(".bss.tritonc").getSize() == 13 * sizeof(abi::image_state));
    for (auto &[name, section] : object.sections)
      for (llvm::object::ELFRelocationRef relocation : section.relocations())
        CHECK(relocation.getType() == target.relocation);
    size_t visible = 0;
    for (llvm::object::ELFSymbolRef symbol : object.file.symbols()) {
      if (symbol.getBinding() != llvm::ELF::STB_GLOBAL)
        continue;
      visible++;
      CHECK(symbol.getOther() == llvm::ELF::STV_HIDDEN);
      CHECK(symbol.getELFType() == llvm::ELF::STT_OBJECT);
      CHECK(symbol.getSize() == sizeof(abi::kernel));
      CHECK(llvm::cantFail(symbol.getName()).starts_with("tritonc_gemm_"));
    }
    CHECK(visible == 5);
  }
}

TEST_CASE("object_file: holds each image once, aligned to 64 bytes") {
  ReadBack object(made_for("x86_64-linux-gnu"));
  llvm::StringRef data = llvm::cantFail(object.sections.at(".rodata.tritonc").getContents());
  Library library = sample_library();
  Interface interface = *make_interface(library);
  Tables tables = *make_tables(interface);
  for (const std::string &image : tables.images) {
    size_t at = data.find(image);
    REQUIRE(at != data.npos);
    CHECK(at % 64 == 0);
    CHECK(data.find(image, at + 1) == data.npos);
  }
}

TEST_CASE("object_file: refers to the host code of an image") {
  Library library = sample_library();
  library.kernels[0].variants[0].images[0].host_symbol = "tritonc_host_0123";
  for (const char *triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    ReadBack object(made_for(triple, library));
    int undefined = 0, relocations = 0;
    for (llvm::object::ELFSymbolRef symbol : object.file.symbols()) {
      if (!(llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) ||
          symbol.getBinding() != llvm::ELF::STB_GLOBAL)
        continue;
      undefined++;
      CHECK(llvm::cantFail(symbol.getName()) == "tritonc_host_0123");
      CHECK(symbol.getOther() == llvm::ELF::STV_HIDDEN);
    }
    for (auto &[name, section] : object.sections)
      for (llvm::object::ELFRelocationRef relocation : section.relocations())
        relocations += llvm::cantFail(relocation.getSymbol()->getName()) == "tritonc_host_0123";
    CHECK(undefined == 1);
    CHECK(relocations == 1);
  }
}

TEST_CASE("object_file: equal libraries give equal bytes") {
  CHECK(made_for("x86_64-linux-gnu") == made_for("x86_64-linux-gnu"));
}

TEST_CASE("object_file: rejects unsupported triples") {
  Library library = sample_library();
  Interface interface = *make_interface(library);
  for (const char *triple : {"x86_64-pc-windows-msvc", "arm64-apple-macos", "i686-linux-gnu",
                             "riscv64-linux-gnu", "nonsense"}) {
    CAPTURE(triple);
    Result<std::string> object = object_file(*make_tables(interface), triple);
    REQUIRE_FALSE(object);
    CHECK(object.error().id == Message::no_host_object);
  }
}

TEST_CASE("object_file, self_contained_header: same infos and statuses") {
  GeneratedFiles files(sample_library());
  Outcome with_object = files.compile("object", program, link_flags(files, files.path("gemm.o")));
  REQUIRE_MESSAGE(with_object.status == 0, with_object.output);
  CHECK(test::run(files.path("program")).output == expected_output);
  Outcome without = files.compile("self_contained", program, link_flags(files, ""));
  REQUIRE_MESSAGE(without.status == 0, without.output);
  CHECK(test::run(files.path("program")).output == expected_output);
}

TEST_CASE("object_file, self_contained_header: same schedules") {
  const char *const prints_schedules = R"(
#include <gemm.hpp>
#include <cstdio>
using namespace tritonc;
void print(const char *title, const std::int64_t *code) {
  std::printf(" %s", title);
  for (int skip = 0; code; code++) {
    std::printf(" %lld", (long long)*code);
    abi::op op = abi::op(*code);
    if (skip == 0 && op == abi::op::end)
      break;
    bool has_word = op == abi::op::constant || op == abi::op::parameter || op == abi::op::programs;
    skip = skip ? 0 : has_word;
  }
  std::puts(code ? "" : " none");
}
int main() {
  const abi::variant &variant = schedules::dot::code::get().variants[0];
  for (const image_info &info : schedules::dot::info())
    std::printf("%s [%s]\n", info.gpu, info.schedule);
  for (unsigned i = 0; i < variant.image_count; i++) {
    const abi::launch_config *launch = variant.images[i].launch;
    std::printf("image %u\n", i);
    if (!launch)
      continue;
    std::printf(" cluster %u, part %d, starts early %u\n", launch->cluster, int(launch->part),
                launch->starts_early);
    print("workspace", launch->workspace);
    print("shared", launch->shared_bytes);
    print("cost", launch->cost);
    for (const std::int64_t *axis : launch->blocks)
      print("blocks", axis);
    for (unsigned g = 0; g < launch->guard_count; g++)
      print(launch->guards[g].text, launch->guards[g].condition);
    for (unsigned h = 0; h < launch->hidden_count; h++) {
      const abi::hidden_parameter &hidden = launch->hidden[h];
      const abi::tensor_map *map = hidden.map;
      if (hidden.kind == abi::hidden_kind::workspace) {
        std::printf(" workspace, %d %d %d\n", hidden.value == nullptr, hidden.text == nullptr,
                    map == nullptr);
        continue;
      }
      if (!map) {
        print(hidden.kind == abi::hidden_kind::i32 ? "i32" : "i64", hidden.value);
        std::printf("  %s\n", hidden.text);
        continue;
      }
      std::printf(" map %d of parameter %u: type %u, %u bytes, swizzle %u, rank %u\n", int(hidden.kind),
                  map->parameter, map->data_type, map->element_bytes, map->swizzle, map->rank);
      print("offset", map->offset);
      for (int axis = 0; axis < 5; axis++) {
        print("size", map->size[axis]);
        std::printf("  box %u\n", map->box[axis]);
      }
      for (const std::int64_t *stride : map->stride)
        print("stride", stride);
    }
  }
  const abi::parameter *parameters = variant.parameters;
  std::printf("bytes %d %d of %u\n", parameters[0].bytes, parameters[4].bytes,
              schedules::dot::code::get().argument_bytes);
}
)";
  Library library = schedules_library();
  std::vector<Image> &images = library.kernels[0].variants[0].images;
  Image first = images[2], second = images[2];
  first.bytes = "first$";
  first.launch = {.schedule = {.kind = Schedule::Kind::multistage, .tile = {1, 2, 3}}};
  first.launch.hidden = {{.value = {}, .map = {}, .is_workspace = true}};
  first.launch.workspace = Expr::parameter(2);
  first.launch.part = LaunchConfig::Part::first;
  first.launch.starts_early = true;
  second.bytes = "second$";
  second.launch = first.launch;
  second.launch.part = LaunchConfig::Part::second;
  second.launch.starts_early = false;
  images.insert(images.end(), {first, second});
  GeneratedFiles files(library);
  Outcome with_object =
      files.compile("object", prints_schedules, link_flags(files, files.path("gemm.o")));
  REQUIRE_MESSAGE(with_object.status == 0, with_object.output);
  std::string text = test::run(files.path("program")).output;
  test::check_expected("schedules.txt", text);
  Outcome without = files.compile("self_contained", prints_schedules, link_flags(files, ""));
  REQUIRE_MESSAGE(without.status == 0, without.output);
  CHECK(test::run(files.path("program")).output == text);
}

TEST_CASE("object_file: symbols stay hidden in a shared library") {
  GeneratedFiles files(sample_library());
  Outcome outcome =
      files.compile("object",
                    "#include <gemm.hpp>\nextern \"C\" int run() { return gemm::scale::launch({}, "
                    "{1}, {}).ok(); }\n",
                    "-std=c++17 -fPIC -shared -Wl,-z,defs -Wl,-z,text " + files.path("gemm.o") +
                        " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + files.path("libgemm.so"));
  REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
  std::string symbols = test::run("nm -D --defined-only " + files.path("libgemm.so")).output;
  CHECK(symbols.find(" run") != std::string::npos);
  CHECK_MESSAGE(symbols.find("gemm") == std::string::npos, symbols);
  CHECK_MESSAGE(symbols.find("abi") == std::string::npos, symbols);
}

TEST_CASE("object_file: link fails with the header of another build") {
  GeneratedFiles files(sample_library());
  Library changed = sample_library();
  for (Variant &variant : changed.kernels[0].variants)
    std::swap(variant.parameters[2], variant.parameters[3]);
  GeneratedFiles newer(changed);
  Outcome outcome = newer.compile("object", program, link_flags(newer, files.path("gemm.o")));
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("undefined") != std::string::npos);
  CHECK(outcome.output.find("tritonc_gemm_dot_") != std::string::npos);
}

TEST_CASE("object_file, self_contained_header: same specializations") {
  const char *const prints_specialization = R"(
#include <gemm.hpp>
#include <cstdio>
using namespace tritonc;
int main() {
  using dot = gemm::dot;
  for (dot::params variant : dot::variants()) {
    std::printf("TM=%d:", variant.TM);
    for (const image_info &info : dot::info(variant))
      std::printf(" %s [%s]", info.gpu, info.specialization);
    std::puts("");
  }
  const abi::kernel &code = dot::code::get();
  for (unsigned i = 0; i < code.variant_count; i++) {
    const abi::variant &general = code.variants[i];
    for (unsigned j = 0; j < general.specialized_count; j++) {
      const abi::variant &specialized = general.specialized[j];
      std::printf("%d %s:", code.choices[i], specialized.infos[0].specialization);
      for (unsigned r = 0; r < specialized.requirement_count; r++)
        std::printf(" %s,", specialized.requirements[r].text);
      std::printf(" %u images\n", specialized.image_count);
    }
  }
  static_assert(sizeof(dot::code::variants) == 8, "two variants");
}
)";
  const char *const expected =
      "TM=64: sm_80 [] sm_90a [] sm_80 [lda % 16] sm_90a [lda % 16] sm_80 [M == 64]\n"
      "TM=32: sm_80 [] sm_90a []\n"
      "64 lda % 16: lda % 16 == 0, M % 64 == 0, N % 64 == 0, 2 images\n"
      "64 M == 64: lda % 8 == 0, M % 64 == 0, N % 64 == 0, M == 64, 1 images\n";
  GeneratedFiles files(specialized_library());
  Outcome with_object =
      files.compile("object", prints_specialization, link_flags(files, files.path("gemm.o")));
  REQUIRE_MESSAGE(with_object.status == 0, with_object.output);
  CHECK(test::run(files.path("program")).output == expected);
  Outcome without = files.compile("self_contained", prints_specialization, link_flags(files, ""));
  REQUIRE_MESSAGE(without.status == 0, without.output);
  CHECK(test::run(files.path("program")).output == expected);
}
