// Tests backend/lower_device_printf_assert.cpp: the code for print and assert, and its output with
// fake driver functions.

#include "backend/lower_device_printf_assert.h"

#include "backend/cubin.h"
#include "backend/ptx.h"
#include "backend/ptx_contents.h"
#include "backend/ptxas.h"
#include "emulator/device_printf.h"
#include "support/contains.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace tritonc;

static_assert(max_printed_in_full == emulator::max_elements_in_full);
static_assert(longest_axis_printed_in_full == emulator::longest_axis_in_full);
static_assert(printed_at_each_end == emulator::shown_at_each_end);

namespace {

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    found++;
  return found;
}

const char *const declarations = R"(
  declare void @tritonc.print(ptr, i32, i32, i32, i64)
  declare void @tritonc.assert_fail(ptr, ptr, i32, i32)
)";

std::string constant(const std::string &name, const std::string &text) {
  return "@" + name + " = private constant [" + std::to_string(text.size() + 1) + " x i8] c\"" +
         text + "\\00\"\n";
}

// A function with parameters %i (thread or element) and %x (bits), and constants @a and @b.
std::string function(const std::string &a, const std::string &b, const std::string &body) {
  return constant("a", a) + constant("b", b) + declarations + "define void @f(i32 %i, i64 %x) {\n" +
         body + "\n  ret void\n}";
}

std::unique_ptr<llvm::Module> lowered_module(const std::string &ir, llvm::LLVMContext &context) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  lower_device_printf_assert(*module);
  std::string problem;
  llvm::raw_string_ostream out(problem);
  CHECK_FALSE(llvm::verifyModule(*module, &out));
  CHECK(problem == "");
  return module;
}

std::string lowered(const std::string &ir) {
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream(text) << *lowered_module(ir, context);
  return text;
}

// --- Execution
// ------------------------------------------------------------------------------------

std::string said;

// Reads the values as the driver does: each at a multiple of its size.
int print_said(const char *format, const char *values) {
  size_t at = 0;
  auto next = [&](auto like) {
    at = (at + sizeof like - 1) / sizeof like * sizeof like;
    std::memcpy(&like, values + at, sizeof like);
    at += sizeof like;
    return like;
  };
  char text[64];
  while (*format) {
    if (*format != '%') {
      said += *format++;
      continue;
    }
    std::string conversion(1, *format++);
    do
      conversion += *format++;
    while (!std::strchr("%dugs", conversion.back()));
    if (conversion == "%%")
      said += '%';
    else if (conversion == "%s")
      said += next((const char *)nullptr);
    else if (conversion == "%lld" || conversion == "%llu")
      std::snprintf(text, sizeof text, conversion.c_str(), next(0ull)), said += text;
    else if (conversion == "%d" || conversion == "%u")
      std::snprintf(text, sizeof text, conversion.c_str(), next(0u)), said += text;
    else
      std::snprintf(text, sizeof text, conversion.c_str(), next(0.0)), said += text;
  }
  return 0;
}

void note_failure(const char *message, const char *file, uint32_t line, const char *kernel,
                  uint64_t bytes) {
  said += std::string(file) + ":" + std::to_string(line) + ": " + kernel + ": Assertion `" +
          message + "` failed." + (bytes == 1 ? "" : "?") + "\n";
}

// Runs the function in program (7, 1, 0) and returns its output.
class Running {
public:
  explicit Running(const std::string &ir) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> module = lowered_module(ir, *context);
    uint32_t program[] = {7, 1, 0};
    for (auto [i, name] :
         {std::pair(0, "tritonc.ctaid_x"), {1, "tritonc.ctaid_y"}, {2, "tritonc.ctaid_z"}})
      if (llvm::Function *id = module->getFunction(name)) {
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(*context, "", id));
        builder.CreateRet(builder.getInt32(program[i]));
        id->setAttributes({});
      }
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::orc::SymbolMap driver;
    auto add = [&](const char *name, auto *function) {
      driver[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                             llvm::JITSymbolFlags::Exported};
    };
    add("vprintf", print_said);
    add("__assertfail", note_failure);
    llvm::cantFail(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(driver))));
    llvm::cantFail(
        jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    function_ = llvm::cantFail(jit_->lookup("f")).toPtr<void (*)(uint32_t, uint64_t)>();
  }

  std::string operator()(uint32_t element, uint64_t bits) {
    said = "";
    function_(element, bits);
    return said;
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  void (*function_)(uint32_t, uint64_t);
};

const char *const line_of_scalar = R"(
  call void @tritonc.print(ptr @a, i32 0, i32 -1, i32 0, i64 0)
  call void @tritonc.print(ptr @a, i32 0, i32 0, i32 0, i64 %x)
)";

const char *const element = "call void @tritonc.print(ptr @a, i32 0, i32 0, i32 %i, i64 %x)";

} // namespace

TEST_CASE("lower_device_printf_assert: one statement prints one line") {
  std::string text = lowered(function("n = {i32}, u = {u64}", "", R"(
    call void @tritonc.print(ptr @a, i32 0, i32 -1, i32 0, i64 0)
    call void @tritonc.print(ptr @a, i32 0, i32 0, i32 0, i64 %x)
    %y = add i64 %x, 1
    call void @tritonc.print(ptr @a, i32 0, i32 1, i32 0, i64 %y)
  )"));
  CHECK(contains(text, "call void @tritonc_print(i64 %x, i64 %y)"));
  CHECK(contains(text, "define internal void @tritonc_print(i64 %0, i64 %1)"));
  CHECK(contains(text, "call i32 @vprintf("));
  CHECK(contains(text, R"(c"program (%u, %u, %u): n = %d, u = %llu\0A\00")"));
  CHECK_FALSE(contains(text, "@tritonc.print"));
  CHECK_FALSE(contains(text, "@a"));
}

TEST_CASE("lower_device_printf_assert: each statement prints its own line") {
  std::string text = lowered(function("one", "two", R"(
    call void @tritonc.print(ptr @a, i32 0, i32 -1, i32 0, i64 0)
    call void @tritonc.print(ptr @b, i32 1, i32 -1, i32 0, i64 0)
    call void @tritonc.print(ptr @b, i32 1, i32 -1, i32 0, i64 0)
  )"));
  CHECK(count(text, "call i32 @vprintf(") == 3);
  CHECK(contains(text, R"(one\0A\00")"));
  CHECK(contains(text, R"(two\0A\00")"));
}

TEST_CASE("lower_device_printf_assert: elements of a value share a function") {
  std::string text = lowered(function("x = {f32[64]}, y = {f32[64]}", "", R"(
    call void @tritonc.print(ptr @a, i32 0, i32 0, i32 %i, i64 %x)
    call void @tritonc.print(ptr @a, i32 0, i32 0, i32 8, i64 %x)
    call void @tritonc.print(ptr @a, i32 0, i32 1, i32 %i, i64 %x)
  )"));
  CHECK(count(text, "call void @tritonc_element(") == 2);
  CHECK(count(text, "call i32 @vprintf(") == 2);
}

TEST_CASE("lower_device_printf_assert: does nothing without print or assert") {
  std::string body = "define void @f(ptr %p) {\n  store i32 1, ptr %p, align 4\n  ret void\n}\n";
  CHECK(contains(lowered(body), body));
  CHECK_FALSE(contains(lowered(body), "vprintf"));
  CHECK_FALSE(contains(lowered(body), "__assertfail"));
}

TEST_CASE("lower_device_printf_assert: scalars print as on the emulator") {
  struct {
    const char *type;
    std::vector<uint64_t> bits;
  } cases[] = {
      {"i1", {0, 1}},
      {"i8", {0, 0x7f, 0x80, 0xff}},
      {"u8", {0, 0x7f, 0x80, 0xff}},
      {"i16", {0x7fff, 0x8000}},
      {"u16", {0x7fff, 0x8000}},
      {"i32", {0x7fffffff, 0x80000000, 0xffffffff}},
      {"u32", {0x7fffffff, 0x80000000, 0xffffffff}},
      {"i64", {1ull << 63, ~0ull, 5}},
      {"u64", {1ull << 63, ~0ull, 5}},
      {"f16", {0, 0x3c00, 0xc100, 0x7c00, 0xfc00, 0xfe00, 0x7e01}},
      {"bf16", {0, 0x3f80, 0xff80, 0x7fc0, 0xffc0, 0xc040}},
      {"e5m2", {0x7b, 0xfc, 0x7c, 0x7f, 0xff, 0x80, 0x3c, 0x34}},
      {"f32", {0x3f800000, 0xbf000000, 0x7f800000, 0xffc00000, 0x80000000, 0x4b000001}},
      {"f64", {0x3ff8000000000000, 0xfff8000000000000, 0x7ff0000000000000, 0xc000000000000000}},
  };
  for (const auto &c : cases) {
    std::string format = "x = {" + std::string(c.type) + "}";
    Running running(function(format, "", line_of_scalar));
    for (uint64_t bits : c.bits) {
      CAPTURE(format);
      CAPTURE(bits);
      CHECK(running(0, bits) ==
            "program (7, 1, 0): " + emulator::PrintFormat(format).text({bits}, {true}) + "\n");
    }
  }
}

TEST_CASE("lower_device_printf_assert: prints every e4m3 value") {
  Running running(function("{e4m3}", "", line_of_scalar));
  for (uint64_t code = 0; code < 256; code++) {
    std::string line = running(0, code);
    double of_gpu = std::atof(line.substr(line.find(": ") + 2).c_str());
    std::string text = emulator::PrintFormat("{e4m3}").text({code}, {true});
    CAPTURE(code);
    CHECK(contains(line, "nan") == (text == "nan"));
    if (text != "nan")
      CHECK(float(of_gpu) == std::strtof(text.c_str(), nullptr));
  }
}

TEST_CASE("lower_device_printf_assert: floats print all significant digits") {
  Running running(function("{f32}", "", line_of_scalar));
  CHECK(running(0, std::bit_cast<uint32_t>(0.1f)) == "program (7, 1, 0): 0.100000001\n");
  Running of_double(function("{f64}", "", line_of_scalar));
  CHECK(of_double(0, std::bit_cast<uint64_t>(0.1)) == "program (7, 1, 0): 0.10000000000000001\n");
}

TEST_CASE("lower_device_printf_assert: tile prints shape and elements") {
  Running running(function("100 %, step {i32}, sum = {f32[4,8]} {{}}", "", R"(
    call void @tritonc.print(ptr @a, i32 0, i32 -1, i32 0, i64 0)
    call void @tritonc.print(ptr @a, i32 0, i32 0, i32 0, i64 3)
    call void @tritonc.print(ptr @a, i32 0, i32 1, i32 %i, i64 %x)
  )"));
  CHECK(running(11, 0x3f800000) == "program (7, 1, 0): 100 %, step 3, sum = f32[4, 8] {}\n"
                                   "program (7, 1, 0): sum[1, 3] = 1\n");
}

TEST_CASE("lower_device_printf_assert: text before a tile is its name") {
  CHECK(Running(function("after {u8[4]}", "", element))(2, 200) ==
        "program (7, 1, 0): after[2] = 200\n");
  CHECK(Running(function("{i1[2,2,2]}", "", element))(5, 1) ==
        "program (7, 1, 0): [1, 0, 1] = true\n");
}

TEST_CASE("lower_device_printf_assert: large tile prints the same elements") {
  for (std::vector<uint32_t> shape :
       {std::vector<uint32_t>{256}, {512}, {16, 32}, {4, 128}, {128, 4}, {8, 8, 8}}) {
    std::string text;
    uint32_t elements = 1;
    for (uint32_t extent : shape) {
      text += (text.empty() ? "" : ",") + std::to_string(extent);
      elements *= extent;
    }
    CAPTURE(text);
    Running running(function("{u32[" + text + "]}", "", element));
    std::vector<uint64_t> bits;
    for (uint32_t i = 0; i < elements; i++)
      bits.push_back(1'000'000 + i);
    std::string emulated =
        emulator::PrintFormat("{u32[" + text + "]}").text(bits, std::vector<bool>(elements, true));
    size_t shown = 0, wrong = 0;
    for (uint32_t i = 0; i < elements; i++) {
      bool is_shown = !running(i, bits[i]).empty();
      shown += is_shown;
      wrong += is_shown != contains(emulated, std::to_string(bits[i]));
    }
    CHECK(wrong == 0);
    CHECK(shown == count(emulated, "1000"));
    CHECK((shown == elements) == (elements <= 256));
  }
}

TEST_CASE("lower_device_printf_assert: assert prints the element and fails") {
  const char *fail = "call void @tritonc.assert_fail(ptr @a, ptr @b, i32 12, i32 %i)";
  Running of_tile(function("assertion `x % 2 == 0` failed: odd, at element {[4,8]}", "k.tc", fail));
  CHECK(of_tile(11, 0) ==
        "k.tc:12: error: assertion `x % 2 == 0` failed: odd, at element (1, 3) [kernel f, "
        "program (7, 1, 0)]\n"
        "k.tc:12: f: Assertion `x % 2 == 0: odd` failed.\n");
  Running of_scalar(function("assertion `n > 0` failed", "k.tc", fail));
  CHECK(of_scalar(0, 0) ==
        "k.tc:12: error: assertion `n > 0` failed [kernel f, program (7, 1, 0)]\n"
        "k.tc:12: f: Assertion `n > 0` failed.\n");
  Running of_position(function("`gather` from outside, at element {[8]}", "", fail));
  CHECK(contains(of_position(2, 0), "Assertion ``gather` from outside` failed."));
}

TEST_CASE("lower_device_printf_assert: asserts of one line share a function") {
  std::string text = lowered(function("no", "k.tc", R"(
    call void @tritonc.assert_fail(ptr @a, ptr @b, i32 12, i32 %i)
    call void @tritonc.assert_fail(ptr @a, ptr @b, i32 12, i32 1)
    call void @tritonc.assert_fail(ptr @a, ptr @b, i32 13, i32 0)
  )"));
  CHECK(count(text, "call void @__assertfail(") == 2);
}

TEST_CASE("lower_device_printf_assert: ptxas accepts the PTX, for every GPU") {
  std::string ir = constant("a", "n = {i1}, acc = {f16[512]}") +
                   constant("b", "assertion `m` failed, at element {[8]}") + constant("c", "k.tc") +
                   declarations + R"(
    define ptx_kernel void @k(i32 %i, i64 %x) {
      call void @tritonc.print(ptr @a, i32 0, i32 -1, i32 0, i64 0)
      call void @tritonc.print(ptr @a, i32 0, i32 0, i32 0, i64 %x)
      call void @tritonc.print(ptr @a, i32 0, i32 1, i32 %i, i64 %x)
      call void @tritonc.assert_fail(ptr @b, ptr @c, i32 12, i32 %i)
      ret void
    })";
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
    REQUIRE_MESSAGE(module, error.getMessage().str());
    prepare_module(*module);
    Result<std::string> ptx = emit_ptx(*module, gpu);
    REQUIRE_MESSAGE(ptx, text(ptx.error()));
    CHECK(contains(*ptx, ".extern .func"));
    CHECK(contains(*ptx, "vprintf"));
    CHECK(contains(*ptx, "__assertfail"));
    Result<Cubin> cubin = assemble(*tools, *ptx, "k", gpu);
    REQUIRE_MESSAGE(cubin, text(cubin.error()));
    CHECK(cubin->resources.advice.empty());
    CHECK(cubin->resources.registers > 0);
    CHECK(cubin->resources.stack_bytes > 0);
    CubinReading reading = read_cubin(cubin->bytes);
    CHECK(reading.contents.calls == std::vector<std::string>{"__assertfail", "vprintf"});
    CHECK(reading.contents.kernels.size() == 1);
    if (!gpu.suffix) // read_ptx rejects PTX for one GPU only
      CHECK(read_ptx(*ptx).contents.calls == reading.contents.calls);
  }
}
