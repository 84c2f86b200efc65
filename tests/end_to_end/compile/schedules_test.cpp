// Tests how generator/compile.cpp compiles a kernel in several schedules, and their machine code:
// accumulators stay in the same registers, ptxas has no performance advisory, and the narrow loads of
// an iteration come together.

#include "backend/sass_stats.h"
#include "compile.h"
#include "emit/expression.h"

#include "support/contains.h"
#include "support/lines.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

using namespace tritonc;

namespace {

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    found++;
  return found;
}

const std::string kernel = TRITONC_KERNELS_DIR "/matmul.tc";

std::string variant(int m, int n, int k, const char *type = "half", const char *a = "N",
                    const char *b = "N") {
  return std::string("TYPE=") + type + ";A=" + a + ";B=" + b + ";TM=" + std::to_string(m) +
         ";TN=" + std::to_string(n) + ";TK=" + std::to_string(k);
}

std::string compiled(const std::string &variants, const char *gpu, Stage stage) {
  CompileResult result = compile({.sources = {kernel},
                                  .variants = variants,
                                  .gpus = {find_gpu(gpu)},
                                  .stage = stage,
                                  .verify_each = true});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK_MESSAGE(result.diagnostics_text == "", variants); // no spills, no ptxas advisory
  return result.stage_output;
}

// The names of the registers in the braces of a line.
std::set<std::string> registers_in(const std::string &line) {
  std::set<std::string> registers;
  size_t begin = line.find('{') + 1;
  std::istringstream list(line.substr(begin, line.find('}') - begin));
  for (std::string name; std::getline(list, name, ',');)
    registers.insert(name.substr(name.find('%')));
  return registers;
}

} // namespace

TEST_CASE("compile: matmul has images of all schedules, best first") {
  CompileResult result = compile({.sources = {kernel},
                                  .variants = variant(64, 128, 64),
                                  .gpus = {find_gpu("80"), find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  REQUIRE(result.library.kernels.size() == 1);
  REQUIRE(result.library.kernels[0].variants.size() == 1);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  std::vector<std::string> schedules;
  for (const Image &image : images) {
    schedules.push_back(image.gpu + " " + text_of(image.launch.schedule));
    bool is_second = image.launch.part == LaunchConfig::Part::second;
    bool is_per_program = image.launch.schedule.is_baseline();
    bool is_specialized = !is_per_program && !is_second && image.gpu == "sm_90a";
    CHECK(image.launch.cost.has_value() == !is_second);
    bool is_split_k = image.launch.schedule.split_k > 1,
         has_workspace = image.launch.workspace.has_value();
    bool stores_partials = has_workspace && !image.launch.schedule.stream_k;
    CHECK((image.launch.cluster > 1) == (is_split_k || image.launch.schedule.multicast > 1));
    if (is_split_k)
      CHECK(contains(text_of(image.launch.schedule),
                     "split-K " + std::to_string(image.launch.cluster)));
    CHECK(image.launch.blocks.size() == (is_per_program ? 0 : is_specialized ? 1 : 3));
    int maps = 0;
    for (const HiddenParameter &hidden : image.launch.hidden)
      maps += hidden.map.has_value();
    // The operands A and B, and the result C.
    CHECK(maps == (!is_specialized ? 0 : is_split_k || stores_partials ? 2 : 3));
    CHECK((!image.launch.hidden.empty()) == (!is_per_program || has_workspace));
  }
  CHECK(schedules ==
        std::vector<std::string>{
            "sm_80 128x256x64 multistage", "sm_80 baseline", "sm_90a 128x256x64 warp-specialized",
            "sm_90a 128x256x64 warp-specialized, stream-K",
            "sm_90a 128x256x64 warp-specialized, multicast 2",
            "sm_90a 128x128x64 warp-specialized, ping-pong", "sm_90a 64x128x64 warp-specialized",
            "sm_90a 64x128x64 warp-specialized, split-K partials",
            "sm_90a 64x128x64 split-K reduction",
            "sm_90a 128x128x64 warp-specialized, split-K partials",
            "sm_90a 128x128x64 split-K reduction", "sm_90a baseline"});
  CHECK(result.diagnostics_text == ""); // no ptxas advisory
  CHECK(images[2].threads == 384);
  CHECK(images[6].threads == 256);
  std::set<std::string> codes;
  for (const Image &image : images)
    CHECK(codes.insert(image.bytes).second);
}

TEST_CASE("compile: without wgmma, warp-specialized first, no spills") {
  struct {
    const char *gpu, *name;
    int shared_bytes;
  } cases[] = {{"90", "128x256x64 warp-specialized", 230400},
               {"120", "128x256x32 warp-specialized", 91136}};
  for (const auto &[gpu, name, shared_bytes] : cases)
    for (const char *a : {"N", "T"})
      for (const char *b : {"N", "T"}) {
        CAPTURE(gpu);
        CAPTURE(a);
        CAPTURE(b);
        CompileResult result = compile({.sources = {kernel},
                                        .variants = variant(64, 64, 32, "half", a, b),
                                        .gpus = {find_gpu(gpu)}});
        REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
        CHECK(result.diagnostics_text == "");
        const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
        REQUIRE(images.size() == 3);
        CHECK(text_of(images[0].launch.schedule) == name);
        CHECK(images[0].threads == 288);
        CHECK(images[0].shared_bytes == shared_bytes);
        CHECK(images[0].launch.blocks.size() == 1); // the number of SMs
        int maps = 0;
        for (const HiddenParameter &hidden : images[0].launch.hidden)
          maps += hidden.map.has_value();
        CHECK(maps == 3);
        CHECK_FALSE(contains(text_of(images[1].launch.schedule), "specialized"));
        for (const Image &image : images) {
          CHECK(image.spill_stores == 0);
          CHECK(image.launch.cost.has_value());
        }
      }
}

TEST_CASE("setmaxnreg: only on architectures that support it") {
  for (const char *gpu : {"90", "100", "120", "120a"}) {
    std::string ptx = compiled(variant(64, 64, 64), gpu, Stage::ptx);
    CHECK(contains(ptx, "cp.async.bulk.tensor.2d"));
    CHECK(contains(ptx, "mma.sync.aligned.m16n8k16"));
    CHECK_FALSE(contains(ptx, "setmaxnreg"));
    CHECK_FALSE(contains(ptx, "wgmma"));
  }
}

TEST_CASE("compile: PTX has only schedules that all later GPUs can run") {
  auto schedules = [](const char *gpu, const Gpu *target) {
    CAPTURE(gpu);
    CompileResult result =
        compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {target}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    std::string names;
    for (const Image &image : result.library.kernels[0].variants[0].images) {
      names += text_of(image.launch.schedule) + ";";
      for (const Gpu &later : all_gpus())
        if (later.sm >= target->sm)
          CHECK(image.shared_bytes + image.static_shared <= later.max_shared_bytes);
    }
    return names;
  };
  CHECK(schedules("80", find_ptx("80")) == schedules("86", find_gpu("86")));
  CHECK(schedules("90", find_ptx("90")) == schedules("120", find_gpu("120")));
  CHECK(schedules("75", find_ptx("75")) == "baseline;");
}

TEST_CASE("stream-K: one launch with a workspace, only if a wave is not full") {
  CompileResult result =
      compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  const LaunchConfig *found = nullptr;
  for (const Image &image : result.library.kernels[0].variants[0].images)
    if (image.launch.schedule.stream_k)
      found = &image.launch;
  REQUIRE(found);
  CHECK(text_of(found->schedule) == "128x256x64 warp-specialized, stream-K");
  CHECK(found->part == LaunchConfig::Part::whole);
  CHECK(found->cost.has_value());
  REQUIRE(found->workspace);
  auto bytes = [&](int64_t rows, int64_t columns) { // of tiles; in programs of 64 x 64
    LaunchFacts facts = {.num_sms = 132};
    facts.programs = {2 * rows, 4 * columns, 1};
    return value_of(*found->workspace, facts);
  };
  CHECK(bytes(12, 11) == 0);
  CHECK(bytes(24, 11) == 0);
  CHECK(bytes(1, 1) == 132 * (128 * 256 * 4 + 8));
  CHECK(bytes(12, 12) == 132 * (128 * 256 * 4 + 8));
}

TEST_CASE("split-K partials: two launches share one workspace") {
  CompileResult result =
      compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  std::vector<const LaunchConfig *> schedules;
  for (const Image &image : images)
    if (image.launch.part != LaunchConfig::Part::whole)
      schedules.push_back(&image.launch);
  REQUIRE(schedules.size() == 4);
  CHECK(text_of(schedules[0]->schedule) == "64x128x64 warp-specialized, split-K partials");
  CHECK(schedules[0]->part == LaunchConfig::Part::first);
  CHECK(schedules[0]->cost.has_value());
  CHECK(text_of(schedules[1]->schedule) == "64x128x64 split-K reduction");
  CHECK(schedules[1]->part == LaunchConfig::Part::second);
  CHECK_FALSE(schedules[1]->cost.has_value());
  CHECK(schedules[1]->blocks.size() == 3); // several blocks per program
  for (const LaunchConfig *schedule : schedules)
    CHECK(std::count_if(schedule->hidden.begin(), schedule->hidden.end(),
                        [](const HiddenParameter &h) { return h.is_workspace; }) == 1);
}

TEST_CASE("starts_early: set on GPUs with dependent launches") {
  for (const char *gpu : {"80", "90", "90a", "120"}) {
    CompileResult result =
        compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu(gpu)}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    for (const Image &image : result.library.kernels[0].variants[0].images)
      CHECK(image.launch.starts_early == find_gpu(gpu)->has_dependent_launches);
  }
}

TEST_CASE("compile: equal code of several variants is assembled once") {
  auto compiled = [](const std::string &variants, const char *gpu) {
    CompileResult result =
        compile({.sources = {kernel}, .variants = variants, .gpus = {find_gpu(gpu)}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    return result;
  };
  auto images_of = [](const CompileResult &result) {
    std::vector<std::string> images;
    for (const Variant &variant : result.library.kernels[0].variants)
      for (const Image &image : variant.images)
        images.push_back(image.bytes);
    return images;
  };
  CompileResult shared = compiled("TYPE=half;A=N;B=N;TM=64;TN=64,128;TK=16", "90a");
  std::vector<std::string> images = images_of(shared);
  std::set<std::string> codes(images.begin(), images.end());
  CHECK(images.size() == 30);
  CHECK(codes.size() < images.size() - 4);
  CHECK(shared.times.count(Step::passes) == int(images.size()));
  for (Step step : {Step::optimize, Step::ptx, Step::ptxas})
    CHECK(shared.times.count(step) == int(codes.size()));
  CHECK(shared.times.count(Step::fatbinary) == 2); // once per variant

  CompileResult unshared = compiled("TYPE=half,float;A=N;B=N;TM=64;TN=64;TK=16", "75");
  CHECK(images_of(unshared).size() == 2);
  CHECK(unshared.times.count(Step::ptxas) == 2);
}

TEST_CASE("compile: float matmul has only the baseline") {
  CompileResult result = compile(
      {.sources = {kernel}, .variants = variant(64, 64, 64, "float"), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  REQUIRE(images.size() == 1);
  CHECK(images[0].launch.schedule.is_baseline());
}

TEST_CASE("host code: only the baseline if a kernel asserts an operand") {
  auto source = [](const std::string &check) {
    return R"(
#pragma tritonc grid(M / 64, N / 64)
__global__ void matmul(half *A __readonly, half *B __readonly, half *C, int M, int N, int K,
                        int lda __multipleof(8), int ldb __multipleof(8), int ldc __multipleof(8)) {
  int rm[64] = get_program_id(0) * 64 + 0 ... 64;
  int rn[64] = get_program_id(1) * 64 + 0 ... 64;
  int rk[64] = 0 ... 64;
  float sum[64, 64] = 0;
  for (int k = 0; k < K; k += 64) {
    half a[64, 64] = *(A + k + rk[newaxis, :] + rm[:, newaxis] * lda);
    half b[64, 64] = *(B + k * ldb + rk[:, newaxis] * ldb + rn[newaxis, :]);
    )" + check +
           R"(
    sum += a @ b;
  }
  *(C + rn[newaxis, :] + rm[:, newaxis] * ldc) = sum;
}
)";
  };
  TemporaryFolder files;
  for (bool checked : {false, true}) {
    CAPTURE(checked);
    std::string path = files.write("matmul.tc", source(checked ? "assert(a == a);" : ""));
    CompileOptions options = {
        .sources = {path}, .gpus = {find_gpu("90a")}, .emulate = {find_gpu("90a")}};
    CompileResult result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
    CHECK(images.size() == 20); // same code for GPUs
    for (const Image &image : images) {
      bool has_host_code = !checked || image.launch.schedule.is_baseline();
      CHECK(image.host_symbol.empty() == !has_host_code);
      CHECK(image.host_object.empty() == !has_host_code);
    }
    options.checks = true;
    result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    const std::vector<Image> &with_checks = result.library.kernels[0].variants[0].images;
    CHECK(with_checks.size() == (checked ? 1 : 20));
    CHECK(with_checks.back().launch.schedule.is_baseline());
    CHECK(with_checks.back().has_checks == checked);
    CHECK_FALSE(with_checks.back().host_symbol.empty());
    options = {.sources = {path}, .gpus = {find_gpu("90a")}, .stage = Stage::host_llvm};
    result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK(contains(result.stage_output, "@matmul("));
    CHECK(contains(result.stage_output, "wgmma") == !checked);
  }
}

TEST_CASE("compile: variants with another TK have the same schedules") {
  CompileResult result = compile({.sources = {kernel},
                                  .variants = "TYPE=half;A=N;B=N;TM=64;TN=64;TK=32,64",
                                  .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  const std::vector<Variant> &variants = result.library.kernels[0].variants;
  REQUIRE(variants.size() == 2);
  REQUIRE(variants[0].images.size() == variants[1].images.size());
  CHECK(variants[0].images.back().bytes != variants[1].images.back().bytes); // the baselines
}

TEST_CASE("--emit: prints the stage of the best schedule") {
  std::string hopper = compiled(variant(64, 64, 64), "90a", Stage::ptx);
  CHECK(contains(hopper, "wgmma.mma_async"));
  CHECK_FALSE(contains(hopper, "mma.sync"));
  for (const char *gpu : {"80", "90"}) {
    std::string ptx = compiled(variant(64, 64, 64), gpu, Stage::ptx);
    CHECK(contains(ptx, "mma.sync"));
    CHECK_FALSE(contains(ptx, "wgmma"));
  }
}

TEST_CASE("compile: without wgmma, all schedules and no spills") {
  struct {
    const char *source, *axes, *gpu;
    std::vector<std::string> schedules;
  } cases[] = {
      {"matmul.tc", "TYPE=half", "75", {"baseline"}},
      {"matmul.tc", "TYPE=half", "80", {"128x256x64 multistage", "baseline"}},
      {"matmul.tc", "TYPE=half", "86", {"128x256x32 multistage", "baseline"}},
      {"matmul.tc", "TYPE=bfloat16", "89", {"128x256x32 multistage", "baseline"}},
      {"matmul_int8.tc", "TYPE=int8", "75", {"baseline"}},
      {"matmul_int8.tc", "TYPE=int8", "80", {"baseline"}},
      {"matmul_int8.tc", "TYPE=int8", "86", {"baseline"}},
      {"matmul_float8.tc", "TYPE=e4m3", "89", {"baseline"}},
  };
  for (const auto &[source, axes, gpu, schedules] : cases)
    for (const char *layouts : {";A=N;B=N", ";A=N;B=T"}) {
      if (axes[5] != 'h' && axes[5] != 'b' && layouts[7] == 'N')
        continue; // packs 8-bit elements one by one: not contiguous along K
      CAPTURE(source);
      CAPTURE(gpu);
      CAPTURE(layouts);
      CompileResult result =
          compile({.sources = {TRITONC_KERNELS_DIR "/" + std::string(source)},
                   .variants = axes + std::string(layouts) + ";TM=128;TN=128;TK=64",
                   .gpus = {find_gpu(gpu)}});
      REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
      CHECK(result.diagnostics_text == "");
      std::vector<std::string> found;
      for (const Image &image : result.library.kernels[0].variants[0].images) {
        found.push_back(text_of(image.launch.schedule));
        CHECK(image.spill_stores == 0);
      }
      CHECK(found == schedules);
    }
}

TEST_CASE("compile: masked rows keep all tiles without TMA, no spills") {
  CompileResult result = compile({.sources = {TRITONC_KERNELS_DIR "/matmul_masked.tc"},
                                  .variants = "TYPE=half;A=N;B=N;SIZES=any;TM=64;TN=128;TK=32",
                                  .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  std::set<std::string> schedules;
  for (const Image &image : result.library.kernels[0].variants[0].images) {
    schedules.insert(text_of(image.launch.schedule));
    CHECK(image.spill_stores == 0);
  }
  for (const char *tile : {"128x256x64", "128x128x64", "64x128x64"})
    CHECK(schedules.count(tile + std::string(" warp-specialized, without TMA")) == 1);
}

TEST_CASE("--print-after: prints the pass for every schedule") {
  CompileOptions options = {.sources = {kernel},
                            .variants = variant(64, 64, 64),
                            .gpus = {find_gpu("90a")},
                            .print_after = "select_mma"};
  CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(count(result.printed, "// after select_mma for sm_90a") == 20);
  CHECK(count(result.printed, " warp-specialized\n") == 6);
  CHECK(count(result.printed, ", split-K ") == 6);
  CHECK(count(result.printed, ", ping-pong\n") == 2);
  options.gpus = {find_gpu("80")};
  CHECK(count(compile(options).printed, "// after select_mma") == 2);
  options.gpus = {find_gpu("75")};
  CHECK(count(compile(options).printed, "// after select_mma") == 1);
}

TEST_CASE("wgmma: accumulators stay in the same registers") {
  for (const char *a : {"N", "T"})
    for (const char *b : {"N", "T"}) {
      std::string variants = variant(64, 64, 64, "half", a, b);
      CAPTURE(variants);
      std::vector<std::string> lines = lines_of(compiled(variants, "90a", Stage::ptx));
      std::set<std::string> accumulators;
      size_t label = 0, first = 0, last = 0, wgmmas = 0;
      for (size_t i = 0; i < lines.size(); i++) {
        if (lines[i].rfind("$L", 0) == 0 && !wgmmas)
          label = i;
        if (!contains(lines[i], "wgmma.mma_async"))
          continue;
        first = wgmmas++ ? first : label;
        last = i;
        std::set<std::string> registers = registers_in(lines[i]);
        CHECK(registers.size() == 128);
        CHECK((accumulators.empty() || registers == accumulators));
        accumulators = registers;
      }
      CHECK(wgmmas == 4); // per warpgroup: 64 x 256 with K = 16
      // From the start of the loop to the wait after the loop.
      while (last < lines.size() && !contains(lines[last], "wgmma.wait_group.sync.aligned 0"))
        last++;
      REQUIRE(last < lines.size());
      for (size_t i = first; i < last; i++) {
        std::string line = lines[i];
        bool moves = line.rfind("\tmov", 0) == 0;
        for (const std::string &name : accumulators)
          CHECK_FALSE_MESSAGE((moves && (contains(line, name + ",") || contains(line, name + ";"))),
                              line);
      }
    }
}

TEST_CASE("ptxas: no advisory for a warp-specialized matmul") {
  for (const std::string &variants :
       {variant(64, 64, 64), variant(64, 64, 16), variant(128, 128, 64), variant(128, 64, 32),
        variant(64, 128, 64, "half", "T", "T"), variant(128, 128, 32, "bfloat16")})
    CHECK(contains(compiled(variants, "90a", Stage::cubin), "ELF"));
}

TEST_CASE("ptxas: no advisory if an operand comes from registers") {
  struct {
    const char *a, *b;
    size_t images;
  } cases[] = {{"N", "T", 20}, {"N", "N", 18}, {"T", "T", 18}, {"T", "N", 1}};
  for (const auto &[a, b, images] : cases) {
    CAPTURE(a);
    CAPTURE(b);
    CompileResult result =
        compile({.sources = {TRITONC_TESTS_DIR "/test_kernels/gpu/tf32_matmul.tc"},
                 .variants = std::string("A=") + a + ";B=" + b + ";TM=64;TN=64;TK=32",
                 .gpus = {find_gpu("90a")}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK(result.diagnostics_text == "");
    CHECK(result.library.kernels[0].variants[0].images.size() == images);
  }
}

TEST_CASE("ptxas: issues the narrow loads of an iteration together") {
  // An iteration loads 32 elements. Without the sched_barrier, ptxas puts additions between them.
  for (const char *gpu : {"75", "80", "90a", "100", "120"}) {
    CAPTURE(gpu);
    CompileResult result = compile({.sources = {TRITONC_KERNELS_DIR "/moments.tc"},
                                    .variants = "TYPE=float;AXIS=last;TQ=8;SIZE=4096",
                                    .specialize = {"[moments]"},
                                    .gpus = {find_gpu(gpu)},
                                    .stage = Stage::cubin});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    std::vector<std::string> code;
    for (const std::string &name : list_instructions(result.stage_output, "moments"))
      if (name == "LDG.32" || name == "FADD" || name == "PMTRIG")
        code.push_back(name);
    const auto barrier = std::find(code.begin(), code.end(), "PMTRIG");
    REQUIRE(barrier - code.begin() >= 32);
    CHECK(std::count(barrier - 32, barrier, "LDG.32") == 32);
    CHECK(std::count(barrier, code.end(), "LDG.32") == 0);
  }
}
