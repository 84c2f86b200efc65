// Tests generator/variants/variant_plan.cpp and generator/variants/variant_file.cpp: the variants
// of each kernel for each GPU.

#include "compile.h"

#include "support/contains.h"
#include "support/messages.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include "llvm/ADT/StringExtras.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

std::vector<std::string> choices(const CompileOptions &options) {
  Plan result = plan(options.rules());
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  std::vector<std::string> texts;
  for (const SourcePlan &source : result.sources)
    for (const VariantChoice &choice : source.choices)
      texts.push_back(choice.text);
  return texts;
}

using Texts = std::vector<std::string>;

// Two kernels that use the same axis.
const char *two_kernels = R"(
#pragma tritonc tune(SIZE: 128, 256)
#pragma tritonc grid(n / SIZE)
__global__ void one(float *x, int n) {
  float *p[SIZE] = x + get_program_id(0) * SIZE + 0 ... SIZE;
  *p = 1;
}
#pragma tritonc grid(n / SIZE)
__global__ void two(float *x, int n) {
  float *p[SIZE] = x + get_program_id(0) * SIZE + 0 ... SIZE;
  *p = 2;
}
)";

// The variants of each kernel for each GPU: "one sm_80: SIZE=128, SIZE=256; ...".
std::string wanted(CompileOptions options) {
  if (options.gpus.empty())
    options.gpus = {find_gpu("80"), find_gpu("90a")};
  Plan result = plan(options.rules());
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  Texts lines;
  for (const SourcePlan &source : result.sources)
    for (const std::string &kernel : source.kernels)
      for (const Gpu *gpu : options.gpus) {
        Texts texts;
        for (const VariantChoice &choice : source.choices)
          if (source.wants(choice, kernel, gpu))
            texts.push_back(choice.text);
        lines.push_back(kernel + " " + std::string(gpu->name) + ": " + llvm::join(texts, ", "));
      }
  return llvm::join(lines, "; ");
}

std::string problem(const CompileOptions &options) {
  Plan result = plan(options.rules());
  CHECK(result.code == ExitCode::usage);
  return result.diagnostics_text;
}

} // namespace

TEST_CASE("plan: variants are all combinations, last axis fastest") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CHECK(choices({.sources = {path}}) == Texts{"TYPE=half SIZE=128", "TYPE=half SIZE=256",
                                              "TYPE=float SIZE=128", "TYPE=float SIZE=256"});
}

TEST_CASE("plan: source without axes has one unnamed variant") {
  TemporaryFolder files;
  std::string path = files.write("none.tc", "__global__ void f(float *p) { *p = 1; }");
  CHECK(choices({.sources = {path}}) == Texts{""});
}

TEST_CASE("--variants, -D: restrict the values of an axis") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CHECK(choices({.sources = {path}, .variants = "TYPE=float; SIZE=256"}) ==
        Texts{"TYPE=float SIZE=256"});
  CHECK(choices({.sources = {path}, .defines = {{"TYPE", "half"}, {"OTHER", "1"}}}) ==
        Texts{"TYPE=half SIZE=128", "TYPE=half SIZE=256"});
  // If the values of an axis are single tokens, other values are also valid.
  CHECK(choices({.sources = {path}, .variants = "TYPE=bfloat16;SIZE=512"}) ==
        Texts{"TYPE=bfloat16 SIZE=512"});
}

TEST_CASE("--variants: undeclared axis is tuned if it has integers") {
  TemporaryFolder files;
  std::string path = files.write("f.tc", "__global__ void f(float *p) { *p = N; }");
  Plan result = plan({.sources = {path}, .variants = "N=1,2;OP=add,mul"});
  REQUIRE(result.sources.size() == 1);
  REQUIRE(result.sources[0].axes.size() == 2);
  CHECK(result.sources[0].axes[0].tuned);
  CHECK_FALSE(result.sources[0].axes[1].tuned);
  CHECK(result.sources[0].choices.size() == 4);
}

TEST_CASE("compile: warns about an axis that no source uses") {
  TemporaryFolder files;
  CompileOptions options = {.gpus = {find_gpu("80")}};
  options.variants = "TYP=half;TYPE=float;SIZE=64;TM=32,64;KIND=a,b";
  options.sources = {files.write("a.tc", R"(
#pragma tritonc tune(SIZE: 64, 128) tune(TM: 32, 64) variant(KIND: a = {HAS=1}, b = {HASNT=1})
#if HASNT
#endif
__global__ void one(float *x) { *(x + 0 ... SIZE) = 1; }
)"),
                     files.write("b.tc", "__global__ void two(TYPE *x) { *x = 1; }")};
  CHECK(llvm::join(test::texts_of(compile(options).diagnostics_text, "warning"), "\n") ==
        "no source uses axis `TM`: all its values give the same code\n"
        "no source uses axis `TYP`: all its values give the same code");
}

TEST_CASE("--variants: rejects unknown values and wrong syntax") {
  TemporaryFolder files;
  std::string path =
      files.write("f.tc", "#pragma tritonc variant(A: N = { X = 1 }, T = { X = 2 })\n"
                          "__global__ void f(float *p) { *p = X; }");
  struct {
    const char *variants, *text;
  } cases[] = {
      {"A=Q", "axis `A` has no value `Q`; known values: N, T"},
      {"A=N,N", "axis `A` has the value `N` twice"},
      {"A", "invalid --variants `"},
      {"A=", "invalid --variants `"},
      {"=1", "invalid --variants `"},
      {"B=1,,2", "invalid --variants `"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.variants);
    Plan result = plan({.sources = {path}, .variants = expected.variants});
    CHECK(result.code == ExitCode::usage);
    CHECK(contains(result.diagnostics_text, expected.text));
  }
}

TEST_CASE("--variants: rejects too many variants") {
  TemporaryFolder files;
  std::string path = files.write("f.tc", "__global__ void f(float *p) { *p = 1; }");
  std::string variants;
  for (char axis = 'A'; axis < 'F'; axis++)
    variants += std::string(1, axis) + "=1,2,3,4,5,6;";
  CHECK(plan({.sources = {path}, .variants = variants}).code == ExitCode::usage);
}

TEST_CASE("--variants: [kernel] or [gpu] replaces the general values") {
  TemporaryFolder files;
  std::string path = files.write("two.tc", two_kernels);
  CHECK(wanted({.sources = {path}}) ==
        "one sm_80: SIZE=128, SIZE=256; one sm_90a: SIZE=128, SIZE=256; "
        "two sm_80: SIZE=128, SIZE=256; two sm_90a: SIZE=128, SIZE=256");
  CHECK(wanted({.sources = {path}, .variants = "[two]SIZE=512"}) ==
        "one sm_80: SIZE=128, SIZE=256; one sm_90a: SIZE=128, SIZE=256; "
        "two sm_80: SIZE=512; two sm_90a: SIZE=512");
  CHECK(wanted({.sources = {path}, .variants = "SIZE=128;[sm_90a]SIZE=256;[ two ]SIZE=64"}) ==
        "one sm_80: SIZE=128; one sm_90a: SIZE=256; two sm_80: SIZE=64; two sm_90a: SIZE=256");
  CHECK(wanted({.sources = {path}, .variants = "[two,sm_90a]SIZE=64;[sm_90a]SIZE=256"}) ==
        "one sm_80: SIZE=128, SIZE=256; one sm_90a: SIZE=256; "
        "two sm_80: SIZE=128, SIZE=256; two sm_90a: SIZE=64");
  // The later of two equally specific rules wins.
  CHECK(wanted({.sources = {path}, .variants = "[one]SIZE=64;[one]SIZE=32;SIZE=128"}) ==
        "one sm_80: SIZE=32; one sm_90a: SIZE=32; two sm_80: SIZE=128; two sm_90a: SIZE=128");
}

TEST_CASE("--variants: [sm_80] also applies to PTX for compute_80") {
  TemporaryFolder files;
  CompileOptions options = {.sources = {files.write("scale.tc", scale_source)},
                            .variants = "TYPE=half;SIZE=128;[sm_80]SIZE=256;[sm_90a]SIZE=64",
                            .gpus = {find_gpu("80"), find_gpu("90a"), find_ptx("80")}};
  CHECK(wanted(options) == "scale sm_80: TYPE=half SIZE=256; scale sm_90a: TYPE=half SIZE=64; "
                           "scale compute_80: TYPE=half SIZE=256");
  options.gpus[2] = find_ptx("90");
  CHECK(wanted(options) == "scale sm_80: TYPE=half SIZE=256; scale sm_90a: TYPE=half SIZE=64; "
                           "scale compute_90: TYPE=half SIZE=128");
  options.variants = "TYPE=half";
  options.variant_file =
      files.write("v.json", R"([{"SIZE": 512, "arch": "sm_90"}, {"SIZE": 64, "arch": "sm_80"}])");
  CHECK(wanted(options) == "scale sm_80: TYPE=half SIZE=64; "
                           "scale sm_90a: TYPE=half SIZE=128, TYPE=half SIZE=256; "
                           "scale compute_90: TYPE=half SIZE=512");
}

TEST_CASE("--kernels: selects kernels by name") {
  TemporaryFolder files;
  std::string path = files.write("two.tc", two_kernels);
  CHECK(wanted({.sources = {path}, .kernels = {"two"}}) ==
        "one sm_80: ; one sm_90a: ; two sm_80: SIZE=128, SIZE=256; two sm_90a: SIZE=128, SIZE=256");
  CompileResult result =
      compile({.sources = {path}, .kernels = {"two"}, .gpus = {find_gpu("80")}, .name = "library"});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  REQUIRE(result.library.kernels.size() == 1);
  CHECK(result.library.kernels[0].name == "two");
  result = compile({.sources = {path}, .kernels = {"tow"}, .gpus = {find_gpu("80")}});
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "unknown kernel `tow`; known kernels: one, two"));
}

TEST_CASE("compile: library has only selected variants and values") {
  TemporaryFolder files;
  std::string path = files.write("two.tc", two_kernels);
  CompileResult result = compile({.sources = {path},
                                  .variants = "[one,sm_80]SIZE=64;[two]SIZE=32",
                                  .gpus = {find_gpu("80"), find_gpu("90a")},
                                  .name = "library"});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  Texts found;
  for (const KernelEntry &kernel : result.library.kernels)
    for (const Variant &variant : kernel.variants)
      for (const Image &image : variant.images)
        found.push_back(kernel.name + " " + kernel.axes[0].values[size_t(variant.values[0])].name +
                        " " + image.gpu);
  CHECK(found ==
        Texts{"one 128 sm_90a", "one 256 sm_90a", "one 64 sm_80", "two 32 sm_80", "two 32 sm_90a"});
  CHECK(result.library.kernels[0].axes[0].values.size() == 3);
  CHECK(result.library.kernels[1].axes[0].values.size() == 1);

  result = compile(
      {.sources = {path}, .where = {"kernel == one"}, .gpus = {find_gpu("80")}, .name = "library"});
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "exclude all variants of kernel `two`"));
}

TEST_CASE("compile: omits a variant whose requirements no arguments meet") {
  TemporaryFolder files;
  const std::string source = R"(
#pragma tritonc tune(SIZE: 64, 128, 256)
#pragma tritonc require(SIZE == LEAST || (SIZE < 200 && n > 5))
#pragma tritonc grid(n / SIZE)
__global__ void one(float *x, int n) {
  float *p[SIZE] = x + get_program_id(0) * SIZE + 0 ... SIZE;
  *p = 1;
}
)";
  auto compiled = [&](const char *least) {
    return compile({.sources = {files.write("one.tc", source)},
                    .defines = {{"LEAST", least}},
                    .variants = least == std::string("0") ? "SIZE=256" : "",
                    .gpus = {find_gpu("80")},
                    .name = "library"});
  };
  CompileResult result = compiled("64");
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  Texts found;
  for (const Variant &variant : result.library.kernels[0].variants) {
    std::string text = std::to_string(variant.values[0]);
    for (const Requirement &requirement : variant.plan.requirements)
      text += "; " + requirement.text;
    found.push_back(text);
  }
  // The requirement of SIZE = 64 always holds.
  CHECK(found == Texts{"0; n % 64 == 0", "1; n > 5; n % 128 == 0"});
  result = compiled("0");
  CHECK(result.code == ExitCode::usage);
  CHECK(contains(result.diagnostics_text, "no arguments meet the requirements of kernel `one`"));
}

TEST_CASE("--variant-file: lists variants") {
  TemporaryFolder files;
  std::string path = files.write("two.tc", two_kernels);
  std::string list = files.write("v.json", R"([{"SIZE": [64, "32"], "kernel": "one"},
                                             {"SIZE": 128, "kernel": "one", "arch": ["90a"]},
                                             {"EXTRA": 7}])");
  // The last entry is for all kernels and does not restrict SIZE.
  CHECK(wanted({.sources = {path}, .variant_file = list}) ==
        "one sm_80: SIZE=128 EXTRA=7, SIZE=256 EXTRA=7, SIZE=64 EXTRA=7, SIZE=32 EXTRA=7; "
        "one sm_90a: SIZE=128 EXTRA=7, SIZE=256 EXTRA=7, SIZE=64 EXTRA=7, SIZE=32 EXTRA=7; "
        "two sm_80: SIZE=128 EXTRA=7, SIZE=256 EXTRA=7; "
        "two sm_90a: SIZE=128 EXTRA=7, SIZE=256 EXTRA=7");
  files.write("v.json", R"([{"SIZE": [64, 32], "kernel": "one"},
                          {"SIZE": 128, "kernel": "one", "arch": "sm_90a"}])");
  CHECK(wanted({.sources = {path}, .variant_file = list}) ==
        "one sm_80: SIZE=64, SIZE=32; one sm_90a: SIZE=128, SIZE=64, SIZE=32; "
        "two sm_80: SIZE=128, SIZE=256; two sm_90a: SIZE=128, SIZE=256");
  CHECK(plan({.sources = {path}, .variant_file = list}).dependencies == Texts{list});
  // Two variants that are not all combinations of some axis values.
  std::string scale = files.write("scale.tc", scale_source);
  files.write("v.json", R"([{"TYPE": "half", "SIZE": 128}, {"TYPE": "float", "SIZE": 512}])");
  CHECK(choices({.sources = {scale}, .variant_file = list}) ==
        Texts{"TYPE=half SIZE=128", "TYPE=float SIZE=512"});
}

TEST_CASE("--variant-file: rejects malformed files") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  struct {
    const char *json, *text;
  } cases[] = {
      {"[{", "cannot read variants from"},
      {"{}", "it is not a list of objects"},
      {"[]", "it is not a list of objects"},
      {"[{\"SIZE\": 64}, 3]", "in entry 2, expected an object, found `3`"},
      {"[{\"SIZE\": [64, 1.5]}]", "in entry 1, expected integers or words for `SIZE`, found `1.5`"},
      {"[{\"SIZE\": []}]", "in entry 1, expected integers or words for `SIZE`, found `[]`"},
      {"[{\"arch\": \"sm_12345\"}]", "unknown architecture `sm_12345`"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.json);
    std::string list = files.write("v.json", expected.json);
    CHECK(contains(problem({.sources = {path}, .variant_file = list}), expected.text));
  }
  CHECK(contains(problem({.sources = {path}, .variant_file = files.path("none.json")}),
                 "cannot read"));
}

TEST_CASE("--where: excludes variants and gives the reason") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CHECK(choices({.sources = {path}, .where = {"SIZE * 2 <= 256", "TYPE != half"}}) ==
        Texts{"TYPE=float SIZE=128"});
  Plan result = plan({.sources = {path}, .where = {"SIZE > 128", "TYPE == half"}});
  REQUIRE(result.sources[0].left_out.size() == 3);
  CHECK(result.sources[0].left_out[0].text == "TYPE=half SIZE=128");
  CHECK(result.sources[0].left_out[0].because == "SIZE > 128");
  CHECK(result.sources[0].left_out[2].because == "TYPE == half");

  CHECK(contains(problem({.sources = {path}, .where = {"SIZE > 1000"}}), "exclude all 4 variants"));
  CHECK(contains(problem({.sources = {path}, .where = {"SIZ > 1"}}),
                 "condition `SIZ > 1`, column 1: unknown axis `SIZ`; did you mean `SIZE`?"));
  CHECK(contains(problem({.sources = {path}, .where = {"TYPE == haff"}}),
                 "column 9: `TYPE` is never `haff`; known values: half, float"));
  CHECK(contains(problem({.sources = {path}, .where = {"kernel == scael"}}),
                 "column 11: `kernel` is never `scael`; known values: scale"));
  CHECK(contains(problem({.sources = {path}, .where = {"arch > 80"}}), "`arch` needs --arch"));
  // A condition on an axis does not restrict a source without this axis.
  std::string other = files.write("other.tc", "__global__ void f(float *p) { *p = 1; }");
  CHECK(choices({.sources = {path, other}, .where = {"SIZE < 200 && TYPE == half"}}) ==
        Texts{"TYPE=half SIZE=128", ""});
}

TEST_CASE("--variants: rejects wrong brackets") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  std::vector<const Gpu *> gpus = {find_gpu("80")};
  CHECK(contains(problem({.sources = {path}, .variants = "[]SIZE=1", .gpus = gpus}),
                 "invalid --variants `"));
  CHECK(contains(problem({.sources = {path}, .variants = "[scale]", .gpus = gpus}),
                 "invalid --variants `"));
  CHECK(contains(problem({.sources = {path}, .variants = "[sm_1]SIZE=1", .gpus = gpus}),
                 "unknown architecture `sm_1`"));
  CHECK(contains(problem({.sources = {path}, .variants = "[sm_90a]SIZE=128", .gpus = gpus}),
                 "--variants names sm_90a, which is not in --arch"));
}
