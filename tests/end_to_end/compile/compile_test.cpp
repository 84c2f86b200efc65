// Tests generator/compile.cpp and generator/jobs/preferences.cpp: variants, messages, and the
// results of whole compilations.

#include "compile.h"
#include "jobs/preferences.h"

#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

using namespace tritonc;

namespace {

// A kernel variant with one tuned value, for preferences().
Variant variant(int value, int spilled = 0) {
  Variant result;
  result.values = {value};
  result.images.resize(1);
  result.images[0].spill_stores = spilled;
  return result;
}

} // namespace

TEST_CASE("compile: makes a library for two GPUs") {
  TemporaryFolder files;
  CompileResult result = compile({.sources = {files.write("scale.tc", scale_source)},
                                  .gpus = {find_gpu("80"), find_gpu("90a")},
                                  .name = "scaling"});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(result.diagnostics_text == "");
  CHECK(result.library.name == "scaling");
  CHECK(result.library.source_file == "scale.tc");
  REQUIRE(result.library.kernels.size() == 1);
  const KernelEntry &kernel = result.library.kernels[0];
  CHECK(kernel.name == "scale");
  REQUIRE(kernel.variants.size() == 4);
  for (const Variant &variant : kernel.variants) {
    REQUIRE(variant.images.size() == 2);
    CHECK(variant.images[0].gpu == "sm_80");
    CHECK(variant.images[1].gpu == "sm_90a");
    CHECK(variant.images[0].registers > 0);
    CHECK(variant.images[0].threads >= 32);
    CHECK(variant.images[0].bytes.size() > 0);
    CHECK(variant.parameters.size() == 4);
    CHECK(variant.parameters[0].read_only);
    CHECK(variant.parameters[3].element == "f32");
    CHECK(variant.plan.grid.size() == 1);
  }
  // The larger tile comes first.
  CHECK(kernel.variants[1].preference < kernel.variants[0].preference);
  REQUIRE(result.dependencies.size() == 3);
  CHECK(contains(result.dependencies[0], "ptxas"));
  CHECK(contains(result.dependencies[1], "fatbinary"));
  CHECK(contains(result.dependencies[2], "scale.tc"));
}

TEST_CASE("compile: adds PTX to the machine code") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .require = {"cubin <= 10000", "spills == 0"},
                            .gpus = {find_gpu("80"), find_ptx("80")},
                            .emulate = {find_ptx("80")},
                            .name = "scaling"};
  CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  for (const Variant &variant : result.library.kernels[0].variants) {
    REQUIRE(variant.images.size() == 2);
    const Image &code = variant.images[0], &ptx = variant.images[1];
    CHECK(ptx.gpu == "compute_80");
    CHECK(ptx.sm == 80);
    CHECK(ptx.is_ptx());
    CHECK_FALSE(code.is_ptx());
    CHECK(ptx.registers == code.registers);
    CHECK(ptx.threads == code.threads);
    CHECK(ptx.cubin_bytes != code.cubin_bytes);
    CHECK(ptx.host_symbol != "");
    CHECK(code.host_symbol == "");
  }
  options.tools.compression = "none";
  result = compile(options);
  REQUIRE(result.code == ExitCode::ok);
  const Variant &variant = result.library.kernels[0].variants[0];
  const std::string &ptx = variant.images[1].bytes;
  CHECK(contains(ptx, ".version 7.0\n.target sm_80\n")); // the lowest version with sm_80
  CHECK(contains(ptx, ".entry scale("));
  CHECK_FALSE(contains(variant.images[0].bytes, ".target"));
}

TEST_CASE("compile: each variant lists its nullable pointers") {
  TemporaryFolder files;
  std::string path = files.write("k.tc", "#pragma tritonc variant(BIAS: none = { ADD = 0 }, "
                                         "perhaps = { ADD = 1 }, there = { ADD = 2 })\n"
                                         "__global__ void k(float *x, float *bias, float *sums) {\n"
                                         "  int i[128] = 0 ... 128;\n"
                                         "  float sum[128] = *(x + i);\n"
                                         "#if ADD == 1\n"
                                         "  if (bias) sum += *(bias + i);\n"
                                         "#elif ADD == 2\n"
                                         "  sum += *(bias + i);\n"
                                         "#endif\n"
                                         "  *?(sums)(sums + i) = sum;\n"
                                         "  *(x + i) = sum;\n"
                                         "}\n");
  CompileResult result = compile({.sources = {path}, .gpus = {find_gpu("80")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  std::string nullable;
  for (const Variant &variant : result.library.kernels.at(0).variants)
    for (const Parameter &parameter : variant.parameters)
      nullable += parameter.nullable ? parameter.name + " " : "- ";
  CHECK(nullable == "- bias sums - bias sums - - sums ");
}

TEST_CASE("compile: number of jobs does not change the images") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  auto images = [&](int jobs) {
    CompileResult result = compile({.sources = {path}, .gpus = {find_gpu("80")}, .jobs = jobs});
    REQUIRE(result.code == ExitCode::ok);
    std::string all;
    for (const Variant &variant : result.library.kernels[0].variants)
      all += variant.images[0].bytes;
    return all;
  };
  CHECK(images(1) == images(7));
}

TEST_CASE("compile: host code only for the GPUs in emulate") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  const Gpu *sm_75 = find_gpu("75"), *sm_80 = find_gpu("80");
  auto compiled = [&](std::vector<const Gpu *> emulate, int jobs) {
    CompileResult result = compile(
        {.sources = {path}, .gpus = {sm_75, sm_80}, .emulate = std::move(emulate), .jobs = jobs});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    return result.library;
  };
  Library none = compiled({}, 2), some = compiled({sm_80}, 2), again = compiled({sm_80}, 1);
  std::set<std::string> symbols;
  for (size_t v = 0; v < 4; v++) {
    const std::vector<Image> &images = some.kernels[0].variants[v].images;
    CHECK(none.kernels[0].variants[v].images[1].host_symbol.empty());
    CHECK(none.kernels[0].variants[v].images[1].bytes == images[1].bytes);
    CHECK(images[0].host_symbol.empty());
    CHECK(images[0].host_object.empty());
    CHECK(images[1].host_symbol.substr(0, 13) == "tritonc_host_");
    symbols.insert(images[1].host_symbol);
    CHECK(contains(images[1].host_object, "ELF"));
    CHECK(contains(images[1].host_object, "scale.tc"));
    CHECK_FALSE(contains(images[1].host_object, path)); // the absolute path
    CHECK(images[1].host_symbol == again.kernels[0].variants[v].images[1].host_symbol);
    CHECK(images[1].host_object == again.kernels[0].variants[v].images[1].host_object);
  }
  CHECK(symbols.size() == 4);
}

TEST_CASE("compile: error of several variants appears once") {
  TemporaryFolder files;
  std::string path = files.write("f.tc", "#pragma tritonc tune(SIZE: 2, 3, 4, 6)\n"
                                         "__global__ void f(float *p) {\n"
                                         "  float *q[SIZE] = p + 0 ... SIZE;\n"
                                         "  *q = 1;\n"
                                         "  *r = 1;\n"
                                         "}\n");
  CompileResult result = compile({.sources = {path}, .gpus = {find_gpu("80")}});
  CHECK(result.code == ExitCode::source_error);
  CAPTURE(result.diagnostics_text);
  size_t first = result.diagnostics_text.find("undeclared identifier `r`");
  REQUIRE(first != std::string::npos);
  CHECK(result.diagnostics_text.find("undeclared identifier `r`", first + 1) == std::string::npos);
  CHECK(contains(result.diagnostics_text,
                 "\nnote: in 2 of 4 variants (SIZE=3 or 6)\n"
                 "note: values differ between variants; shown for SIZE=3\n"));
  CHECK_FALSE(contains(result.diagnostics_text, "tile extent 6"));
}

TEST_CASE("compile: two sources make one library, unique kernel names") {
  TemporaryFolder files;
  std::string first = files.write("first.tc", "__global__ void f(float *p) { *p = 1; }");
  std::string second = files.write("second.tc", "__global__ void g(float *p) { *p = 1; }");
  std::string third = files.write("third.tc", "__global__ void f(float *p) { *p = 2; }");
  CompileResult both =
      compile({.sources = {first, second}, .gpus = {find_gpu("80")}, .name = "lib"});
  REQUIRE_MESSAGE(both.code == ExitCode::ok, both.diagnostics_text);
  CHECK(both.library.kernels.size() == 2);
  CompileResult twice =
      compile({.sources = {first, third}, .gpus = {find_gpu("80")}, .name = "lib"});
  CHECK(twice.code == ExitCode::source_error);
  CHECK(contains(twice.diagnostics_text, "kernel `f` is in `first.tc` and in `third.tc`"));
  CHECK(twice.diagnostics.back().name == "kernel-twice");
}

TEST_CASE("compile: prints each stage of one variant") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  struct {
    Stage stage;
    const char *text;
  } cases[] = {{Stage::tile_ir, "func @scale("},
               {Stage::llvm, "define ptx_kernel void @scale("},
               {Stage::ptx, ".entry scale("},
               {Stage::host_llvm, "define internal void @scale(ptr %operations"},
               {Stage::cubin, "ELF"},
               {Stage::sass_stats, "scale for sm_80"}};
  for (const auto &expected : cases) {
    CompileResult result = compile({.sources = {path},
                                    .variants = "TYPE=float;SIZE=128",
                                    .gpus = {find_gpu("80")},
                                    .stage = expected.stage});
    CHECK_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK(contains(result.stage_output, expected.text));
    CHECK(result.times.count(Step::front_end) == 1);
    CHECK(result.times.count(Step::passes) == (expected.stage != Stage::tile_ir));
  }
  CHECK(compile({.sources = {path}, .gpus = {find_gpu("80")}, .stage = Stage::ptx}).code ==
        ExitCode::usage);
}

TEST_CASE("compile: cache hints appear in the PTX") {
  TemporaryFolder files;
  auto ptx = [&](const std::string &load, const std::string &store, const char *gpu) {
    std::string source = "#pragma tritonc grid(n / 256)\n"
                         "__global__ void copy(float *x, float *y, int n) {\n"
                         "  int i[256] = get_program_id(0) * 256 + 0 ... 256;\n"
                         "  bool m[256] = i < n;\n  " +
                         store + "(y + i) = " + load + "(x + i);\n}\n";
    CompileResult result = compile({.sources = {files.write("copy.tc", source)},
                                    .gpus = {find_gpu(gpu)},
                                    .stage = Stage::ptx});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    return result.stage_output;
  };
  struct {
    const char *hint, *text; // the text is for load and store
  } cases[] = {{"__cg", ".global.cg."},
               {"__cs", ".global.cs."},
               {"__no_allocate", ".global.L1::no_allocate."},
               {"__evict_first", ".global.L1::evict_first."},
               {"__evict_last", ".global.L1::evict_last."}};
  for (const char *gpu : {"75", "80", "90a"})
    for (const auto &[hint, text] : cases) {
      CAPTURE(gpu);
      CAPTURE(hint);
      std::string both =
          ptx("*?(" + std::string(hint) + ")", "*?(m, " + std::string(hint) + ")", gpu);
      CHECK(contains(both, std::string("ld") + text));
      CHECK(contains(both, std::string("st") + text));
      bool has_policy = std::string(hint).rfind("__evict", 0) == 0 && gpu != std::string("75");
      CHECK(contains(both, "L2::cache_hint") == has_policy);
    }
  CHECK(contains(ptx("*?(m, __cv)", "*?(__wt)", "80"), "ld.global.cv."));
  CHECK(contains(ptx("*?(m, __cv)", "*?(__wt)", "80"), "st.global.wt."));
  CHECK(ptx("*?(__ca)", "*?(m, __wb)", "80") == ptx("*", "*?(m)", "80"));
  for (const char *text : {"L1::", "L2::", ".cg", ".cs", ".cv", ".wt"})
    CHECK_FALSE(contains(ptx("*", "*?(m)", "80"), text));
}

TEST_CASE("compile: print_after prints the tile IR after a pass") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CompileOptions options = {.sources = {path},
                            .variants = "TYPE=float;SIZE=128",
                            .gpus = {find_gpu("80")},
                            .stage = Stage::llvm,
                            .print_after = "form_views"};
  CompileResult result = compile(options);
  CHECK(contains(result.printed, "// after form_views for sm_80, TYPE=float SIZE=128\n"));
  CHECK(contains(result.printed, "func @scale("));

  options.print_after = "nothing";
  result = compile(options);
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "unknown pass `nothing`; known passes: "));
  CHECK(contains(result.diagnostics_text, "form_views"));
}

TEST_CASE("compile: an error of the options stops before the kernels") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source),
              no_json = files.write("data.json", "[1");
  auto check_stopped = [](const CompileOptions &options, ExitCode code, const std::string &text) {
    CompileResult result = compile(options);
    CHECK(result.code == code);
    CAPTURE(result.diagnostics_text);
    CHECK(result.diagnostics.size() == 1);
    CHECK(contains(result.diagnostics_text, text));
    CHECK(result.library.kernels.empty());
    CHECK(result.dependencies.empty());
  };
  const CompileOptions good = {.sources = {path}, .gpus = {find_gpu("80")}};
  CompileOptions options = good;
  options.require = {"spills == 0", "spilz == 0"};
  check_stopped(options, ExitCode::usage, "invalid --require `spilz == 0`");
  options = good;
  options.specialize = {"n % 0"};
  check_stopped(options, ExitCode::usage, "specialization `n % 0`, column ");
  options = good;
  options.tuning = {no_json};
  check_stopped(options, ExitCode::usage, "cannot read tuning data from `" + no_json + "`");
  options = good;
  options.tools.ptxas = files.path("none");
  check_stopped(options, ExitCode::environment, files.path("none"));
}

TEST_CASE("compile: a stage before the machine code needs no tools") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .variants = "TYPE=float;SIZE=128",
                            .gpus = {find_gpu("80")}};
  options.tools.ptxas = files.path("none");
  for (auto [stage, code] : {std::pair(Stage::tile_ir, ExitCode::ok),
                             {Stage::ptx, ExitCode::ok},
                             {Stage::cubin, ExitCode::environment}}) {
    options.stage = stage;
    CompileResult result = compile(options);
    CHECK(result.code == code);
    CHECK(result.stage_output.empty() == (code != ExitCode::ok));
  }
}

TEST_CASE("compile: a stage needs one variant of one kernel") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .variants = "TYPE=float",
                            .gpus = {find_gpu("80")},
                            .stage = Stage::ptx};
  CompileResult result = compile(options);
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "--emit needs exactly one variant of one kernel for one "
                                          "architecture, but found 2; "));
  CHECK(result.stage_output.empty());
  options.variants = "TYPE=float;SIZE=128";
  CHECK(compile(options).code == ExitCode::ok);
}

TEST_CASE("compile: reports bad names and files before it makes code") {
  TemporaryFolder files;
  CompileOptions good = {.sources = {files.write("scale.tc", scale_source)},
                         .variants = "TYPE=float;SIZE=128",
                         .gpus = {find_gpu("80")}};
  good.tools.ptxas = find_toolchain({})->ptxas;
  CompileOptions options = good;
  options.name = "no name";
  CompileResult result = compile(options);
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "`no name` is not a valid C++ namespace"));
  options = good;
  options.code_files = {files.path("none")};
  result = compile(options);
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "cannot read `" + files.path("none") + "`"));
  CHECK(result.library.kernels[0].variants[0].images.empty());
  CHECK(compile(good).code == ExitCode::ok);
}

TEST_CASE("compile: an error of the machine appears once, without variants") {
  TemporaryFolder files;
  FakeTool ptxas("ptxas",
                 "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88';; esac; exit 0");
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .gpus = {find_gpu("80")}};
  options.tools.ptxas = ptxas.path();
  CompileResult result = compile(options);
  CHECK(result.code == ExitCode::environment);
  CAPTURE(result.diagnostics_text);
  REQUIRE(result.diagnostics.size() == 1); // of four variants
  CHECK(contains(result.diagnostics_text, "error: `ptxas` reported success for `scale` for sm_80"));
  CHECK(result.diagnostics[0].notes.empty());
}

TEST_CASE("--explain: prints each kernel once per GPU and variant") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .variants = "TYPE=float",
                            .gpus = {find_gpu("80"), find_gpu("90a")},
                            .explain = true};
  CompileResult result = compile(options);
  REQUIRE(result.code == ExitCode::ok);
  std::vector<std::string> headings;
  std::istringstream lines(result.printed);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("`scale` for ", 0) == 0)
      headings.push_back(line);
  std::sort(headings.begin(), headings.end());
  CHECK(headings == std::vector<std::string>{"`scale` for sm_80, TYPE=float SIZE=128:",
                                             "`scale` for sm_80, TYPE=float SIZE=256:",
                                             "`scale` for sm_90a, TYPE=float SIZE=128:",
                                             "`scale` for sm_90a, TYPE=float SIZE=256:"});
  options.explain = false;
  CHECK(compile(options).printed == "");
}

TEST_CASE("plan_kernels: lists each kernel, or returns the error of a compilation") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  const CompileOptions good = {.sources = {path}, .gpus = {find_gpu("80"), find_gpu("90a")}};
  PlannedKernels planned = plan_kernels(good);
  REQUIRE(planned.code == ExitCode::ok);
  CHECK(planned.diagnostics_text == "");
  REQUIRE(planned.kernels.size() == 8); // four variants, two GPUs
  CHECK(planned.kernels[0].source == path);
  CHECK(planned.kernels[0].kernel == "scale");
  CHECK(planned.kernels[0].specialization == "");
  CHECK(planned.kernels[0].schedules == std::vector<std::string>{"baseline"});
  CHECK(planned.dependencies == std::vector<std::string>{path});

  auto check_failed = [](const CompileOptions &options, ExitCode code, const std::string &text) {
    PlannedKernels failed = plan_kernels(options);
    CHECK(failed.code == code);
    CAPTURE(failed.diagnostics_text);
    CHECK(contains(failed.diagnostics_text, text));
    CHECK(failed.kernels.empty());
  };
  CompileOptions options = good;
  options.sources = {files.path("none.tc")};
  check_failed(options, ExitCode::usage, "cannot read `" + files.path("none.tc") + "`");
  options.sources = {files.write("wrong.tc", "__global__ void f(float *p) { *p = q; }")};
  check_failed(options, ExitCode::source_error, "undeclared identifier `q`");
  options.sources = {path, files.write("again.tc", "__global__ void scale(float *p) { *p = 1; }")};
  check_failed(options, ExitCode::source_error, "kernel `scale` is in ");
  options = good;
  options.specialize = {"[skale]n % 8"};
  check_failed(options, ExitCode::usage, "unknown kernel `skale`");
}

TEST_CASE("preferences: no spills, then larger tiles, then source order") {
  std::vector<Axis> axes = {{"TM", true, {{"32", {}}, {"128", {}}, {"64", {}}}}};
  CHECK(preferences(axes, {variant(0), variant(1), variant(2)}) == std::vector<int>{2, 0, 1});
  CHECK(preferences(axes, {variant(0), variant(1, 8), variant(2)}) == std::vector<int>{1, 2, 0});
  CHECK(preferences(axes, {variant(1), variant(1)}) == std::vector<int>{0, 1});
  axes[0].tuned = false; // the caller chooses this axis
  CHECK(preferences(axes, {variant(0), variant(1)}) == std::vector<int>{0, 1});
}

TEST_CASE("preferences: only the first image for a GPU decides about spills") {
  std::vector<Axis> axes = {{"TM", true, {{"32", {}}, {"128", {}}}}};
  auto with_images = [](int value, const char *first, const char *second) {
    Variant result = variant(value);
    result.images.push_back(result.images[0]);
    result.images[0].gpu = first;
    result.images[1].gpu = second;
    result.images[1].spill_stores = 8;
    return result;
  };
  CHECK(preferences(axes, {variant(0), with_images(1, "sm_90a", "sm_90a")}) ==
        std::vector<int>{1, 0});
  CHECK(preferences(axes, {variant(0), with_images(1, "sm_90a", "sm_80")}) ==
        std::vector<int>{0, 1});
}

TEST_CASE("preferences: default first, same rank if specialized") {
  std::vector<Axis> axes = {{"TM", true, {{"16", {}}, {"64", {}}, {"32", {}}}}};
  std::vector<Variant> variants = {variant(0, 8), variant(1), variant(2)};
  CHECK(preferences(axes, variants, {{"TM", "16"}}) == std::vector<int>{0, 1, 2});
  CHECK(preferences(axes, variants, {{"TN", "16"}}) == preferences(axes, variants));
  variants.insert(variants.begin() + 2, variant(2));
  variants[2].plan.specialization = "n % 8";
  CHECK(preferences(axes, variants, {{"TM", "32"}}) == std::vector<int>{2, 1, 0, 0});
}

TEST_CASE("--default-variant: rejects unknown axes and values") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  auto said = [&](const std::string &text, const std::string &variants = "") {
    CompileResult result = compile({.sources = {path},
                                    .variants = variants,
                                    .default_variant = text,
                                    .gpus = {find_gpu("80")}});
    CHECK((result.code == ExitCode::usage) == !result.diagnostics_text.empty());
    return result.diagnostics_text;
  };
  CHECK(said("SIZE=128") == "");
  CHECK(said("SIZE=128;TYPE=half") == "");
  CHECK(contains(said("SIZE=64"), "axis `SIZE` has no value `64`; known values: 128, 256"));
  CHECK(contains(said("TM=64"), "unknown axis `TM`; known axes: TYPE, SIZE"));
  CHECK(contains(said("SIZE=128,256"), "expected NAME=VALUE;NAME=VALUE, found `SIZE=128,256`"));
  CHECK(contains(said("SIZE"), "invalid --default-variant"));
  CompileResult result = compile({.sources = {path},
                                  .where = {"SIZE == 128 || TYPE == half"},
                                  .default_variant = "SIZE=256;TYPE=float",
                                  .gpus = {find_gpu("80")}});
  CHECK(
      contains(result.diagnostics_text, "no kernel has the default variant `SIZE=256;TYPE=float`"));
}

TEST_CASE("--default-variant: a launch tries this variant first") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CompileResult result =
      compile({.sources = {path}, .default_variant = "SIZE=128", .gpus = {find_gpu("80")}});
  REQUIRE(result.code == ExitCode::ok);
  const std::vector<Variant> &variants = result.library.kernels[0].variants;
  CHECK(variants[0].preference < variants[1].preference); // has the larger tile
}

TEST_CASE("--werror: treats warnings as errors") {
  TemporaryFolder files;
  std::string warned = files.write("warned.tc", "__global__ void f(float *p) { *p = *p * 2.5; }"),
              clean = files.write("clean.tc", "__global__ void f(float *p) { *p = *p * 2.5f; }");
  auto compiled = [](const std::string &path, bool warnings_are_errors,
                     std::vector<std::string> specialization = {}) {
    return compile({.sources = {path},
                    .specialize = std::move(specialization),
                    .gpus = {find_gpu("80")},
                    .warnings_are_errors = warnings_are_errors});
  };
  CompileResult result = compiled(warned, false);
  CHECK(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics_text, "warning: "));
  result = compiled(warned, true);
  CHECK(result.code == ExitCode::gate);
  CHECK(contains(result.diagnostics_text, "warning: "));
  CHECK(contains(result.diagnostics_text, "error: -Werror treats warnings as errors (1 found)"));
  CHECK(compiled(clean, true).code == ExitCode::ok);
  CHECK(compiled(clean, true, {"p % 8"}).code == ExitCode::gate); // specialization without effect
}

TEST_CASE("compile: code of its own for arguments that allow wide accesses") {
  TemporaryFolder files;
  auto source = [&](const std::string &promise) {
    return files.write("copy.tc", "#pragma tritonc grid(1)\n"
                                  "__global__ void copy(half *x __readonly, half *y, int N" +
                                      promise +
                                      ") {\n"
                                      "  int i[64] = 0 ... 64;\n"
                                      "  for (int n = 0; n < N; n += 64)\n"
                                      "    *?(i < N - n)(y + n + i) = *?(i < N - n)(x + n + i);\n"
                                      "}\n");
  };
  auto specializations = [&](const std::string &promise, std::vector<std::string> options) {
    CompileResult result = compile(
        {.sources = {source(promise)}, .specialize = std::move(options), .gpus = {find_gpu("80")}});
    CHECK(result.diagnostics_text == "");
    std::vector<std::string> found;
    for (const Variant &variant : result.library.kernels.at(0).variants)
      found.push_back(variant.plan.specialization);
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(specializations("", {}) == Names{"N % 8", ""});
  CHECK(specializations(" __multipleof(8)", {}) == Names{""});
  // The user's own specializations replace it.
  CHECK(specializations("", {"N % 2", "N == 64"}) == Names{"N % 2", "N == 64", ""});
  CHECK(specializations("", {"[copy]"}) == Names{""});
  // One stage of one kernel is that of the general code.
  CompileResult general =
      compile({.sources = {source("")}, .gpus = {find_gpu("80")}, .stage = Stage::tile_ir});
  CHECK(contains(general.stage_output, "%N: i32)"));
}

TEST_CASE("compile: assert and print do not change GPU code by default") {
  const std::string kernel = R"(
__global__ void f(half *A __readonly, half *B __readonly, half *C, int K __multipleof(32)) {
  int r[32] = 0 ... 32;
  half *pa[32, 32] = A + r[:, newaxis] * K + r[newaxis, :];
  half *pb[32, 32] = B + r[:, newaxis] * 32 + r[newaxis, :];
  float sum[32, 32] = 0;
  CHECK_BEFORE
  for (int k = 0; k < K; k += 32) {
    half a[32, 32] = *pa, b[32, 32] = *pb;
    CHECK_INSIDE
    sum += a @ b;
    if (K > 4096) {
      CHECK_INSIDE
    }
    pa += 32;
    pb += 32 * 32;
  }
  *(C + r[:, newaxis] * 32 + r[newaxis, :]) = sum;
  CHECK_BEHIND
}
)";
  TemporaryFolder files;
  std::string path = files.write("f.tc", kernel);
  auto ptx = [&](std::vector<Define> checks, Stage stage) {
    CompileResult result =
        compile({.sources = {path}, .defines = checks, .gpus = {find_gpu("80")}, .stage = stage});
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK(result.diagnostics_text == "");
    return result.stage_output;
  };
  std::vector<Define> none = {{"CHECK_BEFORE", ""}, {"CHECK_INSIDE", ""}, {"CHECK_BEHIND", ""}};
  std::vector<Define> all = {
      {"CHECK_BEFORE", "int only_checked = K / 32; assert(K % 32 == 0); print(\"K\", K);"},
      {"CHECK_INSIDE", "float rows[32] = a[:, +]; assert(a == a, \"no NaN\"); print(k, rows, b);"},
      {"CHECK_BEHIND", "assert(only_checked > 0 && *(B + r) > 0); print(sum[+, +]);"}};
  for (Stage stage : {Stage::ptx, Stage::cubin})
    CHECK(ptx(none, stage) == ptx(all, stage));
}

TEST_CASE("--checks: GPU code has assert and print") {
  TemporaryFolder files;
  std::string path = files.write("f.tc", R"(
__global__ void said(half *x, int n) {
  int i[512] = 0 ... 512;
  assert(i < n, "whole tiles");
  print("n", n, *(x + i));
}
__global__ void silent(half *x) {
  *x = 1;
}
)");
  std::vector<const Gpu *> gpus = {find_ptx("80")};
  for (const Gpu &gpu : all_gpus())
    gpus.push_back(&gpu);
  CompileOptions options = {.sources = {path},
                            .keep = {Stage::ptx},
                            .gpus = gpus,
                            .tools = {.compression = "none"},
                            .jobs = 2};
  CompileResult without = compile(options);
  REQUIRE_MESSAGE(without.code == ExitCode::ok, without.diagnostics_text);
  options.checks = true;
  CompileResult with = compile(options);
  REQUIRE_MESSAGE(with.code == ExitCode::ok, with.diagnostics_text);
  CHECK(with.diagnostics_text == "");
  REQUIRE(with.kept.size() == without.kept.size());
  for (size_t i = 0; i < with.kept.size(); i++) {
    CAPTURE(with.kept[i].name);
    bool is_said = with.kept[i].name.rfind("said", 0) == 0;
    for (const char *called : {"vprintf", "__assertfail"}) {
      CHECK(contains(with.kept[i].content, called) == is_said);
      CHECK_FALSE(contains(without.kept[i].content, called));
    }
    if (!is_said)
      CHECK(with.kept[i].content == without.kept[i].content);
  }
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < gpus.size(); i++) {
      const Image &image = with.library.kernels[k].variants[0].images[i];
      const Image &other = without.library.kernels[k].variants[0].images[i];
      CAPTURE(image.gpu);
      bool is_said = with.library.kernels[k].name == "said";
      CHECK(image.has_checks == is_said);
      CHECK_FALSE(other.has_checks);
      CHECK((image.bytes == other.bytes) == !is_said);
    }
}
