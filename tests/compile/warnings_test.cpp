// Tests the warnings that are known only once a kernel has layouts, or machine code.

#include "backend/fake_tool.h"
#include "backend/toolchain.h"
#include "compile.h"
#include "source_files.h"

using namespace tritonc;

namespace {

// Turns a tile in shared memory. Rows of a store of 2-byte elements are as far apart as banks are.
constexpr const char *turn_source =
    "__global__ void turn(half *p __readonly, half *q) {\n"
    "  int i[64] = 0 ... 64;\n"
    "  int j[128] = 0 ... 128;\n"
    "  half a[64, 128] = *(p + i[:, newaxis] * 128 + j[newaxis, :]);\n"
    "  *(q + j[:, newaxis] * 64 + i[newaxis, :]) = ^a;\n"
    "}\n";

// Sums of more elements than a thread has registers.
const std::string large_source =
    "__global__ void large(float *p __readonly, float *q, int n) {\n"
    "  int i[256] = 0 ... 256;\n"
    "  int k[8] = 0 ... 8;\n"
    "  float sum[256, 256] = 0;\n"
    "  for (int t = 0; t < n; t++)\n"
    "    sum += *(p + i[:, newaxis] * 8 + k[newaxis, :]) @ *(q + k[:, newaxis] * 256 + i[newaxis, "
    ":]);\n"
    "  *(q + i[:, newaxis] * 256 + i[newaxis, :]) = sum;\n"
    "}\n";

CompileResult compiled(const std::string &source, std::vector<std::string> off) {
  SourceFiles files;
  CompileOptions options = {
      .sources = {files.add("k.tc", source)}, .gpus = {find_gpu("80")}, .stage = Stage::cubin};
  options.messages.off = std::move(off);
  return compile(options);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a bank conflict that is left, for those who ask") {
  CompileResult result = compiled(turn_source, {});
  REQUIRE(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics, "k.tc:5:45: warning: `turn` for sm_80: bank conflicts slow "));
  CHECK(contains(result.diagnostics, "`a` (f16[64,128]) in shared memory by a factor of "));
  CHECK(contains(result.diagnostics, " [-Wbank-conflicts]\n"));
  CHECK(contains(result.diagnostics,
                 "= ^a;\n      |                                             "
                 "^\nnote: other threads need the elements, so they go through shared memory, "));
  CHECK(compiled(turn_source, DiagnosticOptions().off).diagnostics == "");
}

TEST_CASE("what spills is said where a thread holds most, with what it holds") {
  CompileResult result = compiled(large_source, {"multiple-unknown"});
  REQUIRE(result.code == ExitCode::ok);
  REQUIRE(result.findings.size() == 1);
  const Diagnostic &warning = result.findings[0];
  CHECK(warning.name == "spills");
  CHECK(contains(warning.text, "`large` for sm_80 spills "));
  CHECK(contains(warning.text, " bytes per thread; its tiles need "));
  CHECK(warning.at.line == 6);
  REQUIRE(warning.notes.size() == 2);
  CHECK(warning.notes[0].text == "`sum` (f32[256,256]) takes 128 registers");
  CHECK(warning.notes[0].at.line == 6);
  CHECK(contains(warning.notes[1].text, "--require \"spills == 0\""));
  CHECK_FALSE(contains(compiled(turn_source, {}).diagnostics, "spills"));
}

TEST_CASE("a warning that was kept in the cache is where the source has its cause now") {
  SourceFiles files;
  CompileOptions options = {.sources = {files.add("k.tc", turn_source)},
                            .gpus = {find_gpu("80")},
                            .cache = {.directory = files.path("cache")}};
  options.messages.off = {};
  CompileResult first = compile(options);
  REQUIRE(first.findings.size() == 1);
  CHECK(first.findings[0].at.line == 5);
  CHECK(first.findings[0].at.column == 45);
  files.add("k.tc", std::string("// One line more.\n") + turn_source);
  CompileResult second = compile(options);
  REQUIRE(second.findings.size() == 1);
  CHECK(second.times.count(Step::ptxas) == 0); // all came from the cache
  CHECK(second.findings[0].at.line == 6);
  CHECK(second.findings[0].text == first.findings[0].text);
}

TEST_CASE("what takes too much shared memory is said with what takes most of it") {
  CompileResult result =
      compiled("__global__ void big(half *p __readonly, half *q, int n) {\n"
               "  int i[256] = 0 ... 256;\n"
               "  half *at[256, 256] = p + i[:, newaxis] * 256 + i[newaxis, :];\n"
               "  float s[256, 256] = 0;\n"
               "  for (int t = 0; t < n; t++, at += 65536)\n"
               "    s += *at @ *(at + 65536 * n);\n"
               "  *(q + i[:, newaxis] * 256 + i[newaxis, :]) = s;\n"
               "}\n",
               {});
  CHECK(result.code != ExitCode::ok);
  REQUIRE(result.findings.size() == 1);
  const Diagnostic &error = result.findings[0];
  CHECK(error.name == "shared-too-large");
  CHECK(error.at.line == 1);
  REQUIRE(error.notes.size() == 3); // not what has their place after the loop
  CHECK(error.notes[0].text == "131072 bytes for one tile of f16[256,256]");
  CHECK(error.notes[0].at.line == 6);
  CHECK(error.notes[1].text == error.notes[0].text);
  CHECK(contains(error.notes[2].text, "use smaller tiles"));
}

TEST_CASE("what is inlined from another file is warned about where it is called") {
  SourceFiles files;
  files.add("turn.h", "half[128, 64] turned(half a[64, 128]) {\n  return ^a;\n}\n");
  std::string source = turn_source;
  source.replace(source.find("^a"), 2, "turned(a)");
  CompileOptions options = {.sources = {files.add("k.tc", "#include \"turn.h\"\n" + source)},
                            .gpus = {find_gpu("80")},
                            .stage = Stage::cubin};
  options.messages.off = {};
  CompileResult result = compile(options);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].at.file == files.path("k.tc"));
  CHECK(result.findings[0].at.line == 6);
}

TEST_CASE("what ptxas advises about a plain kernel, and the schedules that do without it") {
  FakeTool ptxas("ptxas",
                 "\"" + find_toolchain({})->ptxas +
                     "\" \"$@\"; code=$?; case \"$*\" in *--version*) ;; *) echo 'ptxas info    : "
                     "(C7510) Potential Performance Loss: waits';; esac; exit $code");
  SourceFiles files;
  CompileOptions options = {
      .sources = {files.add("k.tc", turn_source)}, .gpus = {find_gpu("80")}, .stage = Stage::cubin};
  options.tools.ptxas = ptxas.path();
  CompileResult plain = compile(options);
  REQUIRE(plain.code == ExitCode::ok);
  REQUIRE(plain.findings.size() == 1);
  CHECK(plain.findings[0].name == "slow-code");
  CHECK(plain.findings[0].text == "ptxas performance advisory for `turn` (sm_80): (C7510) "
                                  "Potential Performance Loss: waits");
  CHECK(plain.findings[0].at.line == 1); // there is no matmul

  options.sources = {TRITONC_TESTS_DIR "/../kernels/matmul.tc"};
  options.gpus = {find_gpu("90a")};
  options.variants = "TYPE=half;A=N;B=N;TM=128;TN=128;TK=64";
  CompileResult product = compile(options);
  REQUIRE_MESSAGE(product.code == ExitCode::ok, product.diagnostics);
  REQUIRE(product.findings.size() == 1);
  CHECK(product.findings[0].name == "schedule-left-out");
  CHECK(product.findings[0].at.line > 1);
}
