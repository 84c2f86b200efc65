// Tests generator/jobs/left_out.cpp: variants and images that a library lacks, because a launch has
// a better choice.

#include "compile.h"
#include "jobs/shard_file.h"
#include "support/contains.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

// With T = 256, the tiles need too much shared memory. W has no effect.
constexpr const char *wide_source = "__global__ void wide(half *p __readonly, half *q, int n) {\n"
                                    "  int i[T] = 0 ... T;\n"
                                    "  half *at[T, T] = p + i[:, newaxis] * T + i[newaxis, :];\n"
                                    "  float s[T, T] = 0;\n"
                                    "  for (int t = 0; t < n; t += W, at += T * T)\n"
                                    "    s += *at @ *(at + T * T * n);\n"
                                    "  *(q + i[:, newaxis] * T + i[newaxis, :]) = s;\n"
                                    "}\n";

// With T = 256, the accumulators need more registers than a thread has. With W = 512, the tiles need
// too much shared memory.
constexpr const char *deep_source =
    "__global__ void deep(float *p __readonly, float *q, int n) {\n"
    "  int i[T] = 0 ... T;\n"
    "  int k[W] = 0 ... W;\n"
    "  float sum[T, T] = 0;\n"
    "  for (int t = 0; t < n; t++)\n"
    "    sum += *(p + i[:, newaxis] * W + k[newaxis, :]) @ *(q + k[:, newaxis] * T + i[newaxis, "
    ":]);\n"
    "  *(q + i[:, newaxis] * T + i[newaxis, :]) = sum;\n"
    "}\n";

// A matmul whose baseline has a cost. With T = 256, it spills.
constexpr const char *product_source =
    "__global__ void product(half *A __readonly, half *B __readonly, float *C, int M, int N,\n"
    "                        int K __multipleof(16), int lda __multipleof(8), int ldb "
    "__multipleof(8),\n"
    "                        int ldc __multipleof(8)) {\n"
    "  int rm[T] = get_program_id(0) * T + 0 ... T;\n"
    "  int rn[T] = get_program_id(1) * T + 0 ... T;\n"
    "  int rk[16] = 0 ... 16;\n"
    "  half *pa[T, 16] = A + rm[:, newaxis] * lda + rk[newaxis, :];\n"
    "  half *pb[16, T] = B + rk[:, newaxis] * ldb + rn[newaxis, :];\n"
    "  float sum[T, T] = 0;\n"
    "  for (int k = 0; k < K; k += 16, pa += 16, pb += 16 * ldb)\n"
    "    sum += *pa @ *pb;\n"
    "  *(C + rm[:, newaxis] * ldc + rn[newaxis, :]) = sum;\n"
    "}\n";

// With T = 256, the code for any n needs too much shared memory. The specialization "n % 4" spills.
constexpr const char *square_source =
    "__global__ void square(float *p __readonly, float *q, int n) {\n"
    "  int i[T] = 0 ... T;\n"
    "  int k[8] = 0 ... 8;\n"
    "  float a[T, 8] = i[:, newaxis] < n ? *(p + i[:, newaxis] * 8 + k[newaxis, :]) : 0;\n"
    "  float b[8, T] = i[newaxis, :] < n ? *(p + k[:, newaxis] * n + i[newaxis, :]) : 0;\n"
    "  float sum[T, T] = 0;\n"
    "  for (int t = 0; t < n; t++)\n"
    "    sum += a @ b;\n"
    "  *?(i[:, newaxis] < n && i[newaxis, :] < n)(q + i[:, newaxis] * n + i[newaxis, :]) = sum;\n"
    "}\n";

const std::string attention = TRITONC_KERNELS_DIR "/attention.tc";

// Options for `source` with these axes: "tune(T: 256, 64)".
CompileOptions options_for(TemporaryFolder &files, const std::string &axes, const char *source) {
  CompileOptions options = {
      .sources = {files.write("k.tc", "#pragma tritonc " + axes + "\n" + source)},
      .gpus = {find_gpu("80")}};
  options.messages.off = {"multiple-unknown", "variant-left-out"};
  return options;
}

CompileResult compiled(const std::string &axes, const char *source,
                       const std::vector<std::string> &off = {"multiple-unknown",
                                                              "variant-left-out"}) {
  TemporaryFolder files;
  CompileOptions options = options_for(files, axes, source);
  options.messages.off = off;
  options.explain = true;
  return compile(options);
}

// The images of each variant, in the order of the axes: "none; sm_80 baseline".
std::string images_of(const CompileResult &result) {
  std::string text;
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  for (const KernelEntry &kernel : result.library.kernels)
    for (const Variant &variant : kernel.variants) {
      text += text.empty() ? "" : "; ";
      for (const Image &image : variant.images)
        text += (&image == &variant.images[0] ? "" : ", ") + image.gpu + " " +
                text_of(image.launch.schedule);
      text += variant.images.empty() ? "none" : "";
    }
  return text;
}

// The lines of the explanation about what was dropped.
std::string dropped(const CompileResult &result) {
  std::string lines;
  for (size_t begin = 0; begin < result.printed.size();) {
    const size_t end = result.printed.find('\n', begin) + 1;
    const std::string line = result.printed.substr(begin, end - begin);
    lines += contains(line, "dropped") ? line : "";
    begin = end;
  }
  return lines;
}

} // namespace

TEST_CASE("left out: a tuned variant that needs too much shared memory") {
  const CompileResult result = compiled("tune(T: 256, 64) tune(W: 1)", wide_source);
  CHECK(images_of(result) == "none; sm_80 baseline");
  CHECK(result.diagnostics_text == "");
  CHECK(dropped(result) ==
        "note: `wide` for sm_80, T=256 W=1, baseline: dropped, because it needs 262144 "
        "bytes of shared memory, but a block has at most 166912\n");
  // Nothing happens.
  const CompileResult small = compiled("tune(T: 128, 64) tune(W: 1)", wide_source);
  CHECK(images_of(small) == "sm_80 baseline; sm_80 baseline");
  CHECK(dropped(small) == "");
}

TEST_CASE("-Wvariant-left-out: locates the kernel, notes the largest tiles, off by default") {
  const std::vector<std::string> &off = DiagnosticOptions().off;
  CHECK(std::find(off.begin(), off.end(), "variant-left-out") != off.end());
  const CompileResult result =
      compiled("tune(T: 256, 64) tune(W: 1)", wide_source, {"multiple-unknown"});
  CHECK(images_of(result) == "none; sm_80 baseline");
  REQUIRE(result.diagnostics.size() == 1);
  const Diagnostic &warning = result.diagnostics[0];
  CHECK(warning.severity == Severity::warning);
  CHECK(warning.name == "variant-left-out");
  CHECK(warning.text == "`wide` for sm_80: dropped this variant, because it needs 262144 bytes of "
                        "shared memory, but a block has at most 166912; a launch chooses another "
                        "variant");
  CHECK(warning.at.line == 2);
  CHECK(contains(result.diagnostics_text, "131072 bytes for one tile of f16[256,256]"));
  CHECK(contains(result.diagnostics_text, "in 1 of 2 variants (T=256)"));
  // Also as an error.
  TemporaryFolder files;
  CompileOptions options = options_for(files, "tune(T: 256, 64) tune(W: 1)", wide_source);
  options.messages.off = {"multiple-unknown"};
  options.messages.errors = {"variant-left-out"};
  CHECK(compile(options).code != ExitCode::ok);
}

TEST_CASE("left out: no variant without another one that fits") {
  // No other variant; none that fits; only one that users would have to choose.
  for (std::string axes : {"tune(T: 256) tune(W: 1)", "tune(T: 256, 512) tune(W: 1)",
                           "variant(T: 256, 64) tune(W: 1)", "variant(T: 256, 64) tune(W: 1, 2)"}) {
    CAPTURE(axes);
    const CompileResult result = compiled(axes, wide_source);
    CHECK(result.code != ExitCode::ok);
    REQUIRE(result.diagnostics.size() == 1);
    CHECK(result.diagnostics[0].name == "shared-too-large");
    CHECK(contains(result.diagnostics[0].text, "262144"));
  }
  // The choices of users have one replacement each.
  CHECK(images_of(compiled("variant(W: 1, 2) tune(T: 256, 64)", wide_source)) ==
        "none; sm_80 baseline; none; sm_80 baseline");
}

TEST_CASE("left out: specialized code goes with its variant") {
  TemporaryFolder files;
  CompileOptions options = options_for(files, "tune(T: 256, 64) tune(W: 1)", wide_source);
  options.specialize = {"n % 8"};
  options.messages.off = {"multiple-unknown"};
  const CompileResult result = compile(options);
  CHECK(images_of(result) == "none; none; sm_80 baseline; sm_80 baseline");
  CHECK(result.diagnostics.size() == 1);
}

TEST_CASE("left out: a baseline that spills, beside a tuned variant that does not") {
  const CompileResult result = compiled("tune(T: 256, 64) tune(W: 8)", deep_source);
  CHECK(images_of(result) == "none; sm_80 baseline");
  CHECK(result.diagnostics_text == ""); // no -Wspills
  CHECK(contains(dropped(result), "note: `deep` for sm_80, T=256 W=8, baseline: dropped, because a "
                                  "thread spills "));
  CHECK(contains(dropped(result), " bytes; smaller tiles need fewer registers\n"));
  // Other variants spill, too, or users would have to choose them.
  for (auto [axes, images] :
       {std::pair("tune(T: 256) tune(W: 8)", "sm_80 baseline"),
        std::pair("tune(T: 256) tune(W: 8, 4)", "sm_80 baseline; sm_80 baseline"),
        std::pair("variant(T: 256, 64) tune(W: 8)", "sm_80 baseline; sm_80 baseline")}) {
    CAPTURE(axes);
    const CompileResult kept = compiled(axes, deep_source);
    CHECK(images_of(kept) == images);
    CHECK(dropped(kept) == "");
    REQUIRE(kept.diagnostics.size() == 1);
    CHECK(kept.diagnostics[0].name == "spills");
  }
}

TEST_CASE("left out: no baseline with a cost") {
  const CompileResult result = compiled("tune(T: 256, 64) grid(M / T, N / T)", product_source);
  CHECK(images_of(result) == "sm_80 baseline; sm_80 128x256x64 multistage, sm_80 baseline");
  CHECK(result.library.kernels[0].variants[0].images[0].spill_stores > 0);
  CHECK(dropped(result) == "");
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].name == "spills");
}

TEST_CASE("left out: the explanation has the figures of each image") {
  const CompileResult result = compiled("tune(T: 256, 64)", square_source);
  const std::string lines = dropped(result);
  CAPTURE(lines);
  CHECK(
      contains(lines, "T=256, baseline: dropped, because it needs 262144 bytes of shared memory"));
  CHECK_FALSE(contains(lines, "under n % 4, baseline: dropped, because it needs "));
  const std::vector<Variant> &variants = result.library.kernels[0].variants;
  for (const Variant &variant : variants)
    CHECK(variant.images.empty() == (&variant < &variants[variants.size() / 2]));
}

TEST_CASE("left out: a variant that was left out replaces no other one") {
  // The first variant is too large, and the second one spills.
  for (std::string widths : {"512, 8", "8, 512"}) {
    CAPTURE(widths);
    const CompileResult result = compiled("tune(T: 256) tune(W: " + widths + ")", deep_source);
    const bool is_first = widths == "8, 512";
    CHECK(images_of(result) == (is_first ? "sm_80 baseline; none" : "none; sm_80 baseline"));
    REQUIRE(result.diagnostics.size() == 1);
    CHECK(result.diagnostics[0].name == "spills");
    CHECK(contains(dropped(result), "W=512, baseline: dropped, because it needs "));
    CHECK_FALSE(contains(dropped(result), "spills"));
  }
}

TEST_CASE("left out: per GPU") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {attention},
                            .variants = "TYPE=half;D=64;SEEN=all",
                            .gpus = {find_gpu("75"), find_gpu("80"), find_gpu("90a")},
                            .explain = true};
  const CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(result.diagnostics_text == "");
  const std::vector<Variant> &variants = result.library.kernels[0].variants;
  REQUIRE(variants.size() == 2); // TM = 64, and 128
  // Of the larger tiles, only the schedules with wgmma are worth having.
  CHECK(variants[1].images.size() >= 2);
  for (const Image &image : variants[1].images) {
    CHECK(image.gpu == "sm_90a");
    CHECK_FALSE(image.launch.schedule.is_baseline());
    CHECK(image.spill_stores == 0);
  }
  std::vector<std::string> baselines;
  for (const Image &image : variants[0].images)
    if (image.launch.schedule.is_baseline())
      baselines.push_back(image.gpu);
  CHECK(baselines == std::vector<std::string>{"sm_75", "sm_80", "sm_90a"});
  const std::string lines = dropped(result);
  const std::string larger = "TYPE=half D=64 SEEN=all TM=128 TN=128, baseline: dropped, because ";
  CHECK(contains(lines, "note: `attention` for sm_75, " + larger +
                            "it needs 81920 bytes of shared "
                            "memory, but a block has at most "
                            "65536\n"));
  CHECK(contains(lines, "note: `attention` for sm_80, " + larger + "a thread spills "));
  CHECK(contains(lines, "note: `attention` for sm_90a, " + larger + "a thread spills "));
}

TEST_CASE("left out: the same results from shards") {
  for (const auto &[axes, source] : {std::pair("tune(T: 256, 64) tune(W: 1)", wide_source),
                                     std::pair("tune(T: 256, 64) tune(W: 8)", deep_source)}) {
    CAPTURE(axes);
    TemporaryFolder files;
    CompileOptions options = options_for(files, axes, source);
    const CompileResult whole = compile(options);
    for (int shard : {0, 1}) {
      CompileOptions part = options;
      part.shard = shard;
      part.shards = 2;
      CompileResult result = compile(part);
      REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
      CHECK(result.diagnostics_text == "");
      options.code_files.push_back(
          files.write("codes" + std::to_string(shard), shard_file(std::move(result.codes))));
    }
    const CompileResult collected = compile(options);
    CHECK(images_of(collected) == images_of(whole));
    CHECK(collected.diagnostics_text == whole.diagnostics_text);
  }
}

TEST_CASE("left out: the same results from the cache") {
  struct {
    const char *axes, *source;
  } cases[] = {{"tune(T: 256, 64) tune(W: 1)", wide_source},
               {"tune(T: 256) tune(W: 1)", wide_source}, // an error
               {"variant(T: 256, 64) tune(W: 1)", wide_source},
               {"tune(T: 256, 64) tune(W: 8)", deep_source},
               {"tune(T: 256) tune(W: 8)", deep_source}};
  for (const auto &[axes, source] : cases) {
    CAPTURE(axes);
    TemporaryFolder files;
    CompileOptions options = options_for(files, axes, source);
    options.messages.off = {"multiple-unknown"};
    options.explain = true;
    options.cache = {.directory = files.path("cache")};
    const CompileResult first = compile(options), second = compile(options);
    CHECK(first.times.count(Step::passes) > 0);
    CHECK(second.times.count(Step::passes) == 0);
    CHECK(second.code == first.code);
    CHECK(second.diagnostics_text == first.diagnostics_text);
    CHECK(second.printed == first.printed);
    if (first.code != ExitCode::ok)
      continue;
    CHECK(images_of(second) == images_of(first));
    const std::vector<Variant> &variants = first.library.kernels[0].variants;
    for (size_t v = 0; v < variants.size(); v++)
      for (size_t i = 0; i < variants[v].images.size(); i++)
        CHECK(second.library.kernels[0].variants[v].images[i].bytes == variants[v].images[i].bytes);
  }
}

TEST_CASE("left out: a cached error becomes a variant that is left out") {
  TemporaryFolder files;
  CompileOptions options = options_for(files, "tune(T: 256, 64) tune(W: 1)", wide_source);
  options.cache = {.directory = files.path("cache")};
  options.variants = "T=256;W=1";
  CHECK(compile(options).code != ExitCode::ok);
  options.variants = "";
  CHECK(images_of(compile(options)) == "none; sm_80 baseline");
  // And back.
  options.variants = "T=256;W=1";
  const CompileResult alone = compile(options);
  CHECK(alone.code != ExitCode::ok);
  REQUIRE(alone.diagnostics.size() == 1);
  CHECK(alone.diagnostics[0].name == "shared-too-large");
}
