// Tests backend/host_object.cpp.

#include "backend/host_object.h"

#include "backend/ptx.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <set>

using namespace tritonc;

namespace {

// All operations that could need a library function.
const char *const all_arithmetic = R"(
  declare float @llvm.exp2.f32(float)
  declare half @llvm.fma.f16(half, half, half)
  declare bfloat @llvm.sqrt.bf16(bfloat)
  define ptx_kernel void @k(ptr addrspace(1) %p, double %d, i64 %i, float %f) {
    %h = fptrunc double %d to half
    %b = fptrunc double %d to bfloat
    %hi = sitofp i64 %i to half
    %bi = uitofp i64 %i to bfloat
    %h2 = fadd half %h, %hi
    %b2 = fmul bfloat %b, %bi
    %h3 = call half @llvm.fma.f16(half %h2, half %h, half %h)
    %b3 = call bfloat @llvm.sqrt.bf16(bfloat %b2)
    %hd = fpext half %h3 to double
    %bd = fpext bfloat %b3 to double
    %hu = fptoui half %h3 to i64
    %bs = fptosi bfloat %b3 to i64
    %x = call float @llvm.exp2.f32(float %f)
    %v = load <8 x half>, ptr addrspace(1) %p
    %w = load <8 x bfloat>, ptr addrspace(1) %p
    %e = extractelement <8 x half> %v, i32 3
    %g = extractelement <8 x bfloat> %w, i32 3
    %ef = fpext half %e to float
    %gf = fpext bfloat %g to float
    %w2 = insertelement <8 x bfloat> %w, bfloat %b3, i32 2
    store double %hd, ptr addrspace(1) %p
    store double %bd, ptr addrspace(1) %p
    store i64 %hu, ptr addrspace(1) %p
    store i64 %bs, ptr addrspace(1) %p
    store float %x, ptr addrspace(1) %p
    store float %ef, ptr addrspace(1) %p
    store float %gf, ptr addrspace(1) %p
    store <8 x bfloat> %w2, ptr addrspace(1) %p
    ret void
  })";

std::string object_of(const char *text, const std::string &triple = "") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  prepare_module(*module);
  HostKernel kernel = {.name = "k",
                       .gpu = "sm_80",
                       .parameters = {{"p", true}, {"d"}, {"i"}, {"f"}},
                       .buffers = {{"a", 0, 64}},
                       .threads = 32,
                       .shared_bytes = 64};
  Result<std::string> object = host_object(*module, kernel, "the_code", triple);
  REQUIRE(object);
  return *object;
}

struct Symbols {
  std::set<std::string> undefined, visible;
  bool hidden = true; // for all visible symbols

  explicit Symbols(const std::string &object) {
    auto file = llvm::cantFail(
        llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(object, "k.o")));
    for (llvm::object::ELFSymbolRef symbol : file.symbols()) {
      std::string name = llvm::cantFail(symbol.getName()).str();
      uint32_t flags = llvm::cantFail(symbol.getFlags());
      if (flags & llvm::object::SymbolRef::SF_Undefined) {
        undefined.insert(name);
      } else if (flags & llvm::object::SymbolRef::SF_Global) {
        visible.insert(name);
        hidden &= (symbol.getOther() & 3) == llvm::ELF::STV_HIDDEN;
      }
    }
  }
};

} // namespace

TEST_CASE("host_object: needs only <math.h>, exports only its description") {
  for (std::string triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    CAPTURE(triple);
    Symbols symbols(object_of(all_arithmetic, triple));
    symbols.undefined.erase("");
    for (const std::string &name : symbols.undefined)
      CAPTURE(name);
    CHECK(symbols.undefined == std::set<std::string>{"exp2f"});
    CHECK(symbols.visible == std::set<std::string>{"the_code"});
    CHECK(symbols.hidden);
  }
}

TEST_CASE("host_object: same module gives the same bytes") {
  CHECK(object_of(all_arithmetic) == object_of(all_arithmetic));
}

TEST_CASE("host_object: does not change the module") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("define ptx_kernel void @k() { ret void }", error, context);
  prepare_module(*module);
  auto text = [&] {
    std::string out;
    llvm::raw_string_ostream(out) << *module;
    return out;
  };
  std::string before = text();
  REQUIRE(host_object(*module, {.name = "k"}, "code"));
  CHECK(text() == before);
}

TEST_CASE("host_object: reports an unsupported target") {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  for (const char *triple : {"riscv64-linux-gnu", "x86_64-apple-darwin", "powerpc-linux-gnu"}) {
    Result<std::string> object = host_object(module, {}, "code", triple);
    REQUIRE_FALSE(object);
    CHECK(object.error().id == Message::no_host_object);
  }
}

TEST_CASE("host_object: unsupported call is an internal error") {
  for (const char *text : {
           "declare void @f() define ptx_kernel void @k() { call void @f() ret void }",
           "define ptx_kernel void @k() { call void asm sideeffect \"x\", \"\"() ret void }",
           "declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1) "
           "define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) { call void "
           "@llvm.memcpy.p1.p1.i64(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 4, i1 0) ret void "
           "}",
       }) {
    CAPTURE(text);
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
    REQUIRE_MESSAGE(module, error.getMessage().str());
    prepare_module(*module);
    Result<std::string> object = host_object(*module, {.name = "k"}, "code");
    REQUIRE_FALSE(object);
    CHECK(object.error().id == Message::internal_error);
  }
}

TEST_CASE("host_text: returns the LLVM IR") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString("define ptx_kernel void @k() { ret void }", error, context);
  prepare_module(*module);
  Result<std::string> text = host_text(*module, {.name = "k"}, "code");
  REQUIRE(text);
  CHECK(text->find("define internal void @k(ptr %operations, ptr %thread, ptr %arguments)") !=
        std::string::npos);
  CHECK(text->find("@code = hidden constant") != std::string::npos);
}
