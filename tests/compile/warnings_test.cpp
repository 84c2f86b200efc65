// Tests the warnings that are known only once a kernel has layouts, or machine code.

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
constexpr const char *large_source =
    "__global__ void large(float *p __readonly, float *q, int n) {\n"
    "  int i[256] = 0 ... 256;\n"
    "  int k[8] = 0 ... 8;\n"
    "  float sum[256, 256] = 0;\n"
    "  for (int t = 0; t < n; t++)\n"
    "    sum += *(p + i[:, newaxis] * 8 + k[newaxis, :]) @ *(q + k[:, newaxis] * 256 + i[newaxis, "
    ":]);\n"
    "  *(q + i[:, newaxis] * 256 + i[newaxis, :]) = sum;\n"
    "}\n";

CompileResult compiled(const char *source, std::vector<std::string> off) {
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
  CHECK(contains(result.diagnostics, "warning: `turn` for sm_80: a "));
  CHECK(contains(result.diagnostics, "in shared memory takes "));
  CHECK(contains(result.diagnostics, " times as long as it could, since lanes want different words "
                                     "of a bank at once [-Wbank-conflicts]\n"));
  CHECK(compiled(turn_source, DiagnosticOptions().off).diagnostics == "");
}

TEST_CASE("a tile that spills is named, with what it takes") {
  CompileResult result = compiled(large_source, {"multiple-unknown"});
  REQUIRE(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics, "warning: `large` for sm_80 has too few registers"));
  CHECK(contains(result.diagnostics, "its largest tile, "));
  CHECK(contains(result.diagnostics, "f32[256,256], takes "));
  CHECK(contains(result.diagnostics, "--require \"spills == 0\" [-Wspills]\n"));
  CHECK_FALSE(contains(compiled(turn_source, {}).diagnostics, "spills"));
}
