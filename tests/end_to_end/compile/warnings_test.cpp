// Tests the warnings of generator/compile.cpp that need layouts or machine code.

#include "backend/toolchain.h"
#include "compile.h"
#include "support/contains.h"
#include "support/temporary_folder.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// Transposes a tile through shared memory, without bank conflicts.
constexpr const char *transpose_source =
    "__global__ void turn(half *p __readonly, half *q) {\n"
    "  int i[64] = 0 ... 64;\n"
    "  int j[128] = 0 ... 128;\n"
    "  half a[64, 128] = *(p + i[:, newaxis] * 128 + j[newaxis, :]);\n"
    "  *(q + j[:, newaxis] * 64 + i[newaxis, :]) = ^a;\n"
    "}\n";

// Stores the sums of columns in another layout than that of the scan, with bank conflicts.
constexpr const char *scan_source =
    "__global__ void turn(half *p __readonly, half *q) {\n"
    "  int i[64] = 0 ... 64;\n"
    "  int j[128] = 0 ... 128;\n"
    "  half a[64, 128] = *(p + i[:, newaxis] * 128 + j[newaxis, :]);\n"
    "  *(q + i[:, newaxis] * 128 + j[newaxis, :]) = a[scan(+), :];\n"
    "}\n";

// Accumulators that need more registers than a thread has.
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

// A matmul of masked tiles. `attributes` are those of N, the leading dimension of W and Y.
std::string masked_matmul_source(const std::string &attributes) {
  return "__global__ void layer(half *X __readonly, half *W __readonly, half *Y, int M, int N " +
         attributes +
         ",\n"
         "                      int K __multipleof(32)) {\n"
         "  int rm[64] = get_program_id(0) * 64 + 0 ... 64;\n"
         "  int rn[64] = get_program_id(1) * 64 + 0 ... 64;\n"
         "  int rk[32] = 0 ... 32;\n"
         "  half *px[64, 32] = X + rm[:, newaxis] * K + rk[newaxis, :];\n"
         "  half *pw[32, 64] = W + rk[:, newaxis] * N + rn[newaxis, :];\n"
         "  float sum[64, 64] = 0;\n"
         "  for (int k = 0; k < K; k += 32, px += 32, pw += 32 * N) {\n"
         "    half x[64, 32] = rm[:, newaxis] < M ? *px : 0;\n"
         "    half w[32, 64] = rn[newaxis, :] < N ? *pw : 0;\n"
         "    sum += x @ w;\n"
         "  }\n"
         "  half *py[64, 64] = Y + rm[:, newaxis] * N + rn[newaxis, :];\n"
         "  *?(rm[:, newaxis] < M && rn[newaxis, :] < N)py = sum;\n"
         "}\n";
}

CompileResult compiled(const std::string &source, std::vector<std::string> off) {
  TemporaryFolder files;
  CompileOptions options = {
      .sources = {files.write("k.tc", source)}, .gpus = {find_gpu("80")}, .stage = Stage::cubin};
  options.messages.off = std::move(off);
  return compile(options);
}

} // namespace

TEST_CASE("-Wbank-conflicts: locates the conflict, off by default") {
  CompileResult result = compiled(scan_source, {});
  REQUIRE(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics_text,
                 "k.tc:5:46: warning: `turn` for sm_80: bank conflicts slow down a load of "
                 "f16[64,128] in shared memory by a factor of "));
  CHECK(contains(result.diagnostics_text, " [-Wbank-conflicts]\n"));
  CHECK(contains(result.diagnostics_text,
                 "= a[scan(+), :];\n      |                                              "
                 "^\nnote: other threads need the elements, so they go through shared memory, "));
  CHECK(compiled(scan_source, DiagnosticOptions().off).diagnostics_text == "");
  CHECK(compiled(transpose_source, {}).diagnostics_text == "");
}

TEST_CASE("-Wfallback-schedule: names what to change, off by default") {
  auto warned = [](const std::string &copied, const std::string &gpu, bool is_on = true) {
    TemporaryFolder files;
    CompileOptions options{.sources = {files.write("k.tc", R"(
#pragma tritonc grid(cdiv(M, 64))
__global__ void scaled(half *A __readonly, half *B __readonly, float *C, int M, int n, int ld __multipleof(8)) {
  int i[64] = 0 ... 64;
  int row = get_program_id(0) * 64;
  float sum[64, 64] = 0;
  for (int k = 0; k < n; k++) {
    half a[64, 64] = *(A + (row + i)[:, newaxis] * ld + (k * 64 + i)[newaxis, :]);
    half b[64, 64] = *(B + (k * 64 + i)[:, newaxis] * ld + i[newaxis, :]);
    sum += )" + copied + R"( @ b;
  }
  *(C + (row + i)[:, newaxis] * 64 + i[newaxis, :]) = sum;
})")},
                           .gpus = {find_gpu(gpu)},
                           .stage = Stage::library};
    if (is_on)
      options.messages.off = {};
    CompileResult result = compile(options);
    CAPTURE(result.diagnostics_text);
    REQUIRE(result.code == ExitCode::ok);
    return result.diagnostics_text;
  };
  const std::string computed = warned("(a + a)", "90a");
  CHECK(contains(computed, ": warning: `scaled` for sm_90a has no warp-specialized schedule: its "
                           "warps copy and multiply in turn [-Wfallback-schedule]\n"));
  CHECK(contains(computed, "10 |     sum += (a + a) @ b;\n"));
  CHECK(contains(computed,
                 "note: no warp specialization: an operand of the matmul is computed after "
                 "its load, or has other uses\n"));
  CHECK_FALSE(contains(warned("a", "90a"), "fallback"));
  CHECK_FALSE(contains(warned("(a + a)", "80"), "fallback")); // no GPU of its kind has more
  CHECK_FALSE(contains(warned("(a + a)", "90a", false), "fallback"));
}

TEST_CASE("-Wspills: locates the largest tile, notes its registers") {
  CompileResult result = compiled(large_source, {"multiple-unknown"});
  REQUIRE(result.code == ExitCode::ok);
  REQUIRE(result.diagnostics.size() == 1);
  const Diagnostic &warning = result.diagnostics[0];
  CHECK(warning.name == "spills");
  CHECK(contains(warning.text, "`large` for sm_80 spills "));
  CHECK(contains(warning.text, " bytes per thread (stores and loads); its tiles need "));
  CHECK(warning.at.line == 6);
  REQUIRE(warning.notes.size() == 2);
  CHECK(warning.notes[0].text == "`sum` (f32[256,256]) takes 128 registers");
  CHECK(warning.notes[0].at.line == 6);
  CHECK(contains(warning.notes[1].text, "--require \"spills == 0\""));
  CHECK_FALSE(contains(compiled(transpose_source, {}).diagnostics_text, "spills"));
}

TEST_CASE("-Wmultiple-unknown: no warning if the compiler adds code for multiples") {
  for (std::string attributes : {"", "__multipleof(8)"}) {
    CompileResult result = compiled(masked_matmul_source(attributes), DiagnosticOptions().off);
    REQUIRE(result.code == ExitCode::ok);
    CHECK(result.diagnostics_text == "");
  }
}

TEST_CASE("compile: cached warning follows the line of its cause") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("k.tc", scan_source)},
                            .gpus = {find_gpu("80")},
                            .cache = {.directory = files.path("cache")}};
  options.messages.off = {};
  CompileResult first = compile(options);
  REQUIRE(first.diagnostics.size() == 1);
  CHECK(first.diagnostics[0].at.line == 5);
  CHECK(first.diagnostics[0].at.column == 46);
  files.write("k.tc", std::string("// One line more.\n") + scan_source);
  CompileResult second = compile(options);
  REQUIRE(second.diagnostics.size() == 1);
  CHECK(second.times.count(Step::ptxas) == 0); // all code is from the cache
  CHECK(second.diagnostics[0].at.line == 6);
  CHECK(second.diagnostics[0].text == first.diagnostics[0].text);
}

TEST_CASE("shared-too-large: notes name the largest tiles") {
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
  REQUIRE(result.diagnostics.size() == 1);
  const Diagnostic &error = result.diagnostics[0];
  CHECK(error.name == "shared-too-large");
  CHECK(error.at.line == 1);
  REQUIRE(error.notes.size() == 3); // not the tiles that reuse this memory after the loop
  CHECK(error.notes[0].text == "131072 bytes for one tile of f16[256,256]");
  CHECK(error.notes[0].at.line == 6);
  CHECK(error.notes[1].text == error.notes[0].text);
  CHECK(contains(error.notes[2].text, "use smaller tiles"));
}

TEST_CASE("-Wbank-conflicts: inlined code is reported at the call") {
  TemporaryFolder files;
  files.write("turn.h", "void put(half *q, half a[64, 128], int i[64], int j[128]) {\n"
                        "  *(q + i[:, newaxis] * 128 + j[newaxis, :]) = a[scan(+), :];\n}\n");
  std::string source = scan_source;
  source.replace(source.find("  *(q"), std::string::npos, "  put(q, a, i, j);\n}\n");
  CompileOptions options = {.sources = {files.write("k.tc", "#include \"turn.h\"\n" + source)},
                            .gpus = {find_gpu("80")},
                            .stage = Stage::cubin};
  options.messages.off = {};
  CompileResult result = compile(options);
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].at.file == files.path("k.tc"));
  CHECK(result.diagnostics[0].at.line == 6);
}

TEST_CASE("ptxas: advisory warns for a baseline, drops a schedule") {
  FakeTool ptxas("ptxas",
                 "\"" + find_toolchain({})->ptxas +
                     "\" \"$@\"; code=$?; case \"$*\" in *--version*) ;; *) echo 'ptxas info    : "
                     "(C7510) Potential Performance Loss: waits';; esac; exit $code");
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("k.tc", transpose_source)},
                            .gpus = {find_gpu("80")},
                            .stage = Stage::cubin};
  options.tools.ptxas = ptxas.path();
  CompileResult baseline = compile(options);
  REQUIRE(baseline.code == ExitCode::ok);
  REQUIRE(baseline.diagnostics.size() == 1);
  CHECK(baseline.diagnostics[0].name == "slow-code");
  CHECK(baseline.diagnostics[0].text == "ptxas performance advisory for `turn` (sm_80): (C7510) "
                                        "Potential Performance Loss: waits");
  CHECK(baseline.diagnostics[0].at.line == 1); // there is no matmul

  options.sources = {TRITONC_TESTS_DIR "/../kernels/matmul.tc"};
  options.gpus = {find_gpu("90a")};
  options.variants = "TYPE=half;A=N;B=N;TM=128;TN=128;TK=64";
  options.explain = true;
  CompileResult matmul = compile(options);
  REQUIRE_MESSAGE(matmul.code == ExitCode::ok, matmul.diagnostics_text);
  REQUIRE(matmul.diagnostics.size() == 1);
  CHECK(matmul.diagnostics[0].name == "schedule-left-out");
  CHECK(matmul.diagnostics[0].at.line > 1);
  CHECK(contains(matmul.printed, " warp-specialized: dropped, because ptxas would wait after every "
                                 "wgmma\n"));
}
