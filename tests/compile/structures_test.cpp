// Tests what compile.cpp makes of a kernel in several structures, and that the code of the
// specialised one is what it is meant to be: accumulators stay where they are, and ptxas has
// nothing to complain about.

#include "compile.h"

#include "source_files.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace tritonc;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

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
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK_MESSAGE(result.diagnostics == "", variants); // neither spills nor advice of ptxas
  return result.stage_output;
}

// Lines of a text.
std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

// The registers in the braces of a line.
std::set<std::string> registers_in(const std::string &line) {
  std::set<std::string> registers;
  size_t begin = line.find('{') + 1;
  std::istringstream list(line.substr(begin, line.find('}') - begin));
  for (std::string name; std::getline(list, name, ',');)
    registers.insert(name.substr(name.find('%')));
  return registers;
}

} // namespace

TEST_CASE("a library has specialised images, bundles and a plain one, the better first") {
  CompileResult result = compile({.sources = {kernel},
                                  .variants = variant(64, 128, 64),
                                  .gpus = {find_gpu("80"), find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  REQUIRE(result.library.kernels.size() == 1);
  REQUIRE(result.library.kernels[0].variants.size() == 1);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  std::vector<std::string> forms;
  for (const Image &image : images) {
    forms.push_back(image.gpu + " " + image.form.name);
    bool is_second = image.form.share == LaunchForm::Share::rest;
    bool is_plain = image.form.name == "" || is_second;
    bool is_specialized = !is_plain && image.gpu == "sm_90a";
    CHECK(image.form.cost.has_value() == !is_second);
    bool is_divided = contains(image.form.name, "split"), is_part = image.form.scratch.has_value();
    CHECK((image.form.cluster > 1) == is_divided);
    if (is_divided)
      CHECK(contains(image.form.name, "split " + std::to_string(image.form.cluster)));
    CHECK(image.form.blocks.size() == (is_plain ? 0 : is_specialized ? 1 : 3));
    int maps = 0;
    for (const HiddenParameter &hidden : image.form.hidden)
      maps += hidden.map.has_value();
    CHECK(maps == (is_plain ? 0 : is_divided || is_part ? 2 : is_specialized ? 3 : 0)); // A, B, C
    CHECK((!image.form.hidden.empty()) == (!is_plain || is_part));
  }
  CHECK(forms == std::vector<std::string>{
                     "sm_80 128x256x64", "sm_80 ", "sm_90a 128x256x64 specialized",
                     "sm_90a 128x128x64 specialized, ping-pong", "sm_90a 64x256x64 specialized",
                     "sm_90a 64x128x64 specialized", "sm_90a 128x128x64 specialized, split 4",
                     "sm_90a 64x128x64 specialized, split 2",
                     "sm_90a 64x128x64 specialized, in parts",
                     "sm_90a sum of the parts of 64x128x64 specialized", "sm_90a "});
  CHECK(result.diagnostics == ""); // ptxas has no advice about any
  CHECK(images[2].threads == 384);
  CHECK(images[5].threads == 256);
  std::set<std::string> codes;
  for (const Image &image : images)
    CHECK(codes.insert(image.bytes).second);
}

TEST_CASE("without wgmma a specialised image comes before the bundle, and neither spills") {
  struct {
    const char *gpu, *name;
    int shared_bytes;
  } cases[] = {{"90", "128x256x64 specialized", 230400}, {"120", "128x256x32 specialized", 91136}};
  for (const auto &[gpu, name, shared_bytes] : cases)
    for (const char *a : {"N", "T"})
      for (const char *b : {"N", "T"}) {
        CAPTURE(gpu);
        CAPTURE(a);
        CAPTURE(b);
        CompileResult result = compile({.sources = {kernel},
                                        .variants = variant(64, 64, 32, "half", a, b),
                                        .gpus = {find_gpu(gpu)}});
        REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
        CHECK(result.diagnostics == "");
        const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
        REQUIRE(images.size() == 3);
        CHECK(images[0].form.name == name);
        CHECK(images[0].threads == 288);
        CHECK(images[0].shared_bytes == shared_bytes);
        CHECK(images[0].form.blocks.size() == 1); // as many as there are multiprocessors
        int maps = 0;
        for (const HiddenParameter &hidden : images[0].form.hidden)
          maps += hidden.map.has_value();
        CHECK(maps == 3);
        CHECK_FALSE(contains(images[1].form.name, "specialized"));
        for (const Image &image : images) {
          CHECK(image.spill_stores == 0);
          CHECK(image.form.cost.has_value());
        }
      }
}

TEST_CASE("no registers are moved where the architecture may not") {
  for (const char *gpu : {"90", "100", "120", "120a"}) {
    std::string ptx = compiled(variant(64, 64, 64), gpu, Stage::ptx);
    CHECK(contains(ptx, "cp.async.bulk.tensor.2d"));
    CHECK(contains(ptx, "mma.sync.aligned.m16n8k16"));
    CHECK_FALSE(contains(ptx, "setmaxnreg"));
    CHECK_FALSE(contains(ptx, "wgmma"));
  }
}

TEST_CASE("PTX has the structures that all GPUs from its own on can run, within their limits") {
  auto forms = [](const char *gpu, const Gpu *target) {
    CAPTURE(gpu);
    CompileResult result =
        compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {target}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    std::string names;
    for (const Image &image : result.library.kernels[0].variants[0].images) {
      names += image.form.name + ";";
      for (const Gpu &later : all_gpus())
        if (later.sm >= target->sm)
          CHECK(image.shared_bytes + image.static_shared <= later.max_shared_bytes);
    }
    return names;
  };
  CHECK(forms("80", find_ptx("80")) == forms("86", find_gpu("86")));
  CHECK(forms("90", find_ptx("90")) == forms("120", find_gpu("120")));
  CHECK(forms("75", find_ptx("75")) == ";");
}

TEST_CASE("two launches share the work where there are small pieces: the second is as large a "
          "one's code") {
  CompileResult result =
      compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  std::vector<size_t> firsts;
  for (size_t i = 0; i < images.size(); i++)
    if (images[i].form.share == LaunchForm::Share::first && !images[i].form.scratch)
      firsts.push_back(i);
  REQUIRE(firsts.size() == 1);
  const Image &first = images[firsts[0]], &rest = images[firsts[0] + 1];
  CHECK(first.form.name == "128x256x64 specialized, full rounds");
  CHECK(first.bytes == images[0].bytes); // it is the host that hands over less
  CHECK(first.form.cost.has_value());
  CHECK(rest.form.share == LaunchForm::Share::rest);
  CHECK(rest.form.name == "64x64x128 specialized, for the rest of 128x256x64 specialized");
  CHECK_FALSE(rest.form.cost.has_value());
  // Nothing is shared where the smallest pieces are no smaller than that.
  result =
      compile({.sources = {kernel}, .variants = variant(64, 128, 64), .gpus = {find_gpu("90a")}});
  for (const Image &image : result.library.kernels[0].variants[0].images)
    CHECK((image.form.share == LaunchForm::Share::all || image.form.scratch));
}

TEST_CASE("two launches divide a sum through scratch memory, whose place both are handed") {
  CompileResult result =
      compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  std::vector<const LaunchForm *> forms;
  for (const Image &image : images)
    if (image.form.scratch)
      forms.push_back(&image.form);
  REQUIRE(forms.size() == 2);
  CHECK(forms[0]->name == "64x128x64 specialized, in parts");
  CHECK(forms[0]->share == LaunchForm::Share::first);
  CHECK(forms[0]->cost.has_value());
  CHECK(forms[1]->name == "sum of the parts of 64x128x64 specialized");
  CHECK(forms[1]->share == LaunchForm::Share::rest);
  CHECK_FALSE(forms[1]->cost.has_value());
  CHECK(forms[1]->blocks.empty()); // one for each program
  for (const LaunchForm *form : forms)
    CHECK(std::count_if(form->hidden.begin(), form->hidden.end(),
                        [](const HiddenParameter &h) { return h.is_scratch; }) == 1);
}

TEST_CASE("launches start early on GPUs that can let them") {
  for (const char *gpu : {"80", "90", "90a", "120"}) {
    CompileResult result =
        compile({.sources = {kernel}, .variants = variant(64, 64, 64), .gpus = {find_gpu(gpu)}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    for (const Image &image : result.library.kernels[0].variants[0].images)
      CHECK(image.form.starts_early == find_gpu(gpu)->has_dependent_launches);
  }
}

TEST_CASE("structures that become the same code in several variants are optimised and assembled "
          "once") {
  auto compiled = [](const std::string &variants, const char *gpu) {
    CompileResult result =
        compile({.sources = {kernel}, .variants = variants, .gpus = {find_gpu(gpu)}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
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
  CHECK(images.size() == 22);
  CHECK(codes.size() < images.size() - 4);
  CHECK(shared.times.count(Step::passes) == int(images.size()));
  for (Step step : {Step::optimize, Step::ptx, Step::ptxas})
    CHECK(shared.times.count(step) == int(codes.size()));
  CHECK(shared.times.count(Step::fatbinary) == 2); // once for each variant

  CompileResult unshared = compiled("TYPE=half,float;A=N;B=N;TM=64;TN=64;TK=16", "75");
  CHECK(images_of(unshared).size() == 2);
  CHECK(unshared.times.count(Step::ptxas) == 2);
}

TEST_CASE("what cannot be specialised has one image") {
  CompileResult result = compile(
      {.sources = {kernel}, .variants = variant(64, 64, 64, "float"), .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
  REQUIRE(images.size() == 1);
  CHECK(images[0].form.name == "");
}

TEST_CASE("host code of a kernel that says something about a factor is of the plain structure") {
  auto source = [](const std::string &check) {
    return R"(
#pragma tritonc grid(M / 64, N / 64)
__global__ void product(half *A __readonly, half *B __readonly, half *C, int M, int N, int K,
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
  SourceFiles files;
  for (bool checked : {false, true}) {
    CAPTURE(checked);
    std::string path = files.add("product.tc", source(checked ? "assert(a == a);" : ""));
    CompileOptions options = {
        .sources = {path}, .gpus = {find_gpu("90a")}, .emulate = {find_gpu("90a")}};
    CompileResult result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    const std::vector<Image> &images = result.library.kernels[0].variants[0].images;
    CHECK(images.size() == 13); // the code for GPUs is the same
    for (const Image &image : images) {
      bool has_host_code = !checked || image.form.name == "";
      CHECK(image.host_symbol.empty() == !has_host_code);
      CHECK(image.host_object.empty() == !has_host_code);
    }
    options.checks = true;
    result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    const std::vector<Image> &with_checks = result.library.kernels[0].variants[0].images;
    CHECK(with_checks.size() == (checked ? 1 : 13));
    CHECK(with_checks.back().form.name == "");
    CHECK(with_checks.back().has_checks == checked);
    CHECK_FALSE(with_checks.back().host_symbol.empty());
    options = {.sources = {path}, .gpus = {find_gpu("90a")}, .stage = Stage::host_llvm};
    result = compile(options);
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    CHECK(contains(result.stage_output, "@product("));
    CHECK(contains(result.stage_output, "wgmma") == !checked);
  }
}

TEST_CASE("variants that differ in the source's tile alone share code") {
  CompileResult result = compile({.sources = {kernel},
                                  .variants = "TYPE=half;A=N;B=N;TM=64;TN=64;TK=32,64",
                                  .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  const std::vector<Variant> &variants = result.library.kernels[0].variants;
  REQUIRE(variants.size() == 2);
  REQUIRE(variants[0].images.size() == variants[1].images.size());
  CHECK(variants[0].images.back().bytes != variants[1].images.back().bytes); // the plain ones
}

TEST_CASE("a stage is shown of the best structure") {
  std::string hopper = compiled(variant(64, 64, 64), "90a", Stage::ptx);
  CHECK(contains(hopper, "wgmma.mma_async"));
  CHECK_FALSE(contains(hopper, "mma.sync"));
  for (const char *gpu : {"80", "90"}) {
    std::string ptx = compiled(variant(64, 64, 64), gpu, Stage::ptx);
    CHECK(contains(ptx, "mma.sync"));
    CHECK_FALSE(contains(ptx, "wgmma"));
  }
}

TEST_CASE("without wgmma nothing spills, and each structure that suits the type is there") {
  struct {
    const char *source, *axes, *gpu;
    std::vector<std::string> forms;
  } cases[] = {
      {"matmul.tc", "TYPE=half", "75", {""}},
      {"matmul.tc", "TYPE=half", "80", {"128x256x64", ""}},
      {"matmul.tc", "TYPE=half", "86", {"128x256x32", ""}},
      {"matmul.tc", "TYPE=bfloat16", "89", {"128x256x32", ""}},
      {"matmul_int8.tc", "TYPE=int8", "75", {""}},
      {"matmul_int8.tc", "TYPE=int8", "80", {""}},
      {"matmul_int8.tc", "TYPE=int8", "86", {""}},
      {"matmul_float8.tc", "TYPE=e4m3", "89", {""}},
  };
  for (const auto &[source, axes, gpu, forms] : cases)
    for (const char *layouts : {";A=N;B=N", ";A=N;B=T"}) {
      if (axes[5] != 'h' && axes[5] != 'b' && layouts[7] == 'N')
        continue; // bytes that are no neighbours along K are packed one by one
      CAPTURE(source);
      CAPTURE(gpu);
      CAPTURE(layouts);
      CompileResult result =
          compile({.sources = {TRITONC_KERNELS_DIR "/" + std::string(source)},
                   .variants = axes + std::string(layouts) + ";TM=128;TN=128;TK=64",
                   .gpus = {find_gpu(gpu)}});
      REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
      CHECK(result.diagnostics == "");
      std::vector<std::string> found;
      for (const Image &image : result.library.kernels[0].variants[0].images) {
        found.push_back(image.form.name);
        CHECK(image.spill_stores == 0);
      }
      CHECK(found == forms);
    }
}

TEST_CASE("where threads copy masked rows, no tile is left out because it spills") {
  CompileResult result = compile({.sources = {TRITONC_TESTS_DIR "/bench/kernels/matmul_masked.tc"},
                                  .include_dirs = {TRITONC_KERNELS_DIR},
                                  .variants = "TYPE=half;TM=64;TN=128;TK=32",
                                  .gpus = {find_gpu("90a")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  std::set<std::string> forms;
  for (const Image &image : result.library.kernels[0].variants[0].images)
    forms.insert(image.form.name);
  for (const char *tile : {"128x256x64", "128x128x64", "64x128x64"})
    CHECK(forms.count(tile + std::string(" specialized, copied by threads")) == 1);
}

TEST_CASE("passes are printed of the structures that there are") {
  CompileOptions options = {.sources = {kernel},
                            .variants = variant(64, 64, 64),
                            .gpus = {find_gpu("90a")},
                            .print_after = "choose_dots"};
  CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK(count(result.printed, "// after choose_dots for sm_90a") == 13);
  CHECK(count(result.printed, " specialized\n") == 6);
  CHECK(count(result.printed, ", split ") == 3);
  CHECK(count(result.printed, ", ping-pong\n") == 1);
  options.gpus = {find_gpu("80")};
  CHECK(count(compile(options).printed, "// after choose_dots") == 2);
  options.gpus = {find_gpu("75")};
  CHECK(count(compile(options).printed, "// after choose_dots") == 1);
}

TEST_CASE("accumulators stay where they are, from one product to the next") {
  for (const char *a : {"N", "T"})
    for (const char *b : {"N", "T"}) {
      std::string variants = variant(64, 64, 64, "half", a, b);
      CAPTURE(variants);
      std::vector<std::string> lines = lines_of(compiled(variants, "90a", Stage::ptx));
      std::set<std::string> accumulators;
      size_t label = 0, first = 0, last = 0, products = 0;
      for (size_t i = 0; i < lines.size(); i++) {
        if (lines[i].rfind("$L", 0) == 0 && !products)
          label = i;
        if (!contains(lines[i], "wgmma.mma_async"))
          continue;
        first = products++ ? first : label;
        last = i;
        std::set<std::string> registers = registers_in(lines[i]);
        CHECK(registers.size() == 128);
        CHECK((accumulators.empty() || registers == accumulators));
        accumulators = registers;
      }
      CHECK(products == 4); // of 64 x 256 by each warpgroup, 16 deep
      // From the start of the loop to the wait behind it.
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

TEST_CASE("ptxas has no advice about the code of a specialised product") {
  for (const std::string &variants :
       {variant(64, 64, 64), variant(64, 64, 16), variant(128, 128, 64), variant(128, 64, 32),
        variant(64, 128, 64, "half", "T", "T"), variant(128, 128, 32, "bfloat16")})
    CHECK(contains(compiled(variants, "90a", Stage::cubin), "ELF"));
}

TEST_CASE("ptxas has no advice where a factor comes from registers, in any structure") {
  struct {
    const char *a, *b;
    size_t images;
  } cases[] = {{"N", "T", 13}, {"N", "N", 10}, {"T", "T", 13}, {"T", "N", 1}};
  for (const auto &[a, b, images] : cases) {
    CAPTURE(a);
    CAPTURE(b);
    CompileResult result =
        compile({.sources = {TRITONC_TESTS_DIR "/device/forms/tf32_product.tc"},
                 .variants = std::string("A=") + a + ";B=" + b + ";TM=64;TN=64;TK=32",
                 .gpus = {find_gpu("90a")}});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    CHECK(result.diagnostics == "");
    CHECK(result.library.kernels[0].variants[0].images.size() == images);
  }
}
