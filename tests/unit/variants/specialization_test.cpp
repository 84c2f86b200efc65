// Tests generator/variants/specialization.cpp, and how generator/compile.cpp uses specializations:
// their syntax, the kernels that they apply to, and the compiled code.

#include "compile.h"
#include "support/temporary_folder.h"
#include "variants/specialization.h"

#include "ir/printer.h"
#include "ir/verifier.h"
#include "support/contains.h"
#include "support/kernel_file.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

FrontEndResult translated(const std::string &source) {
  KernelFile kernel(source);
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  return result;
}

// A kernel with parameters of all kinds.
const char *copy_source = "__global__ void copy(float *x __aligned(4), int n, int stride "
                          "__multipleof(4), bool fast, uint8 small, float factor) {\n"
                          "  int i[32] = 0 ... 32;\n"
                          "  float *p[32] = x + i * stride;\n"
                          "  if (fast) *?(i < n) p = factor + (float)small;\n"
                          "}\n";

Specialization parsed(const std::string &text) {
  Result<Specialization> specialization = Specialization::parse(text);
  REQUIRE_MESSAGE(specialization, (specialization ? "" : tritonc::text(specialization.error())));
  return *specialization;
}

std::string problem(const std::string &specialization) {
  Result<Specialization> result = Specialization::parse(specialization);
  if (!result)
    return text(result.error());
  FrontEndResult kernel = translated(copy_source);
  REQUIRE(result->is_about(kernel.kernels[0]));
  std::optional<Error> failure = result->problem_with(kernel.kernels[0]);
  return failure ? text(*failure) : "";
}

CompileOptions matmul_options(const std::string &path, std::vector<std::string> specialization) {
  CompileOptions options;
  options.sources = {path};
  options.specialize = std::move(specialization);
  options.gpus = {find_gpu("80")};
  return options;
}

} // namespace

TEST_CASE("Specialization: text has one canonical spelling") {
  CHECK(parsed("lda%8").text() == "lda % 8");
  CHECK(parsed(" lda % 8 == 0 &&n==1 ").text() == "lda % 8 && n == 1");
  CHECK(parsed("n == -3").text() == "n == -3");
  CHECK(parsed("n == 0x10").text() == "n == 16");
}

TEST_CASE("Specialization: parse reports the column and the fix") {
  CHECK(problem("") == "error: specialization ``, column 1: expected the name of a parameter, "
                       "found the end; example: `lda % 8 && n == 1`");
  CHECK(contains(problem("n"), "column 2: expected `%` or `==`, found the end"));
  CHECK(contains(problem("n = 1"), "column 3: expected `%` or `==`, found `=`"));
  CHECK(contains(problem("n % x"), "column 5: expected a number, found `x`"));
  CHECK(contains(problem("n == 1 n % 8"), "column 8: expected `&&`, found `n`"));
  CHECK(contains(problem("n % 8 == 1"), "column 10: expected 0, as in `n % 8 == 0`, found `1`"));
  CHECK(contains(problem("8 % n"), "column 1: expected the name of a parameter, found `8`"));
  CHECK(contains(problem("n == 99999999999999999999"), "expected a number"));
}

TEST_CASE("Specialization: rejects contradictions and no-ops") {
  CHECK(contains(problem("n % 1"), "`n % 1` has no effect"));
  CHECK(contains(problem("n % 0"), "has no effect"));
  CHECK(contains(problem("n == 1 && n == 2"), "`n == 2` and `n == 1` are never both true"));
  CHECK(contains(problem("n % 8 && n == 4"), "column 10: `n == 4` and `n % 8` are never both"));
  CHECK(contains(problem("n % 8 && n % 8"), "`n % 8` occurs twice"));
  CHECK(problem("n % 8 && n == 16") == "");
  CHECK(problem("n % 8 && n % 12") == "");
  Result<std::vector<Specialization>> twice =
      parse_specializations({"n%8", "n == 1", "n % 8 == 0"});
  REQUIRE_FALSE(twice);
  CHECK(contains(text(twice.error()),
                 "`n % 8 == 0`, column 1: an earlier specialization has the same assumptions"));
  CHECK(twice.error().id == Message::specialization_impossible);
}

TEST_CASE("Specialization: problem_with rejects impossible assumptions") {
  CHECK(contains(problem("x == 0"),
                 "`x` of kernel `copy` is a pointer, which can only have an alignment: `x % 16`"));
  CHECK(contains(problem("x % 24"), "24 bytes are not a power of two"));
  CHECK(contains(problem("factor % 8"),
                 "`factor` of kernel `copy` is neither an integer nor a pointer"));
  CHECK(contains(problem("fast % 2"), "is a `bool`, which has no multiples; write `fast == 1`"));
  CHECK(contains(problem("fast == 2"), "is never 2: the range of its type is 0 to 1"));
  CHECK(contains(problem("small == 256"), "the range of its type is 0 to 255"));
  CHECK(contains(problem("n == 3000000000"), "its type is -2147483648 to 2147483647"));
  CHECK(contains(problem("stride == 6"), "is never 6: it is declared `__multipleof(4)`"));
  CHECK(contains(problem("stride % 2147483647"), "the combined multiple is too large"));
  for (const char *good : {"x % 16", "n == -1", "n % 3", "stride % 6", "stride == 8", "fast == 1",
                           "small == 255 && small % 5"})
    CHECK(problem(good) == "");
}

TEST_CASE("Specialization: apply_to uses and requires assumptions") {
  FrontEndResult kernel = translated(copy_source);
  std::optional<ir::Function> specialized =
      parsed("x % 16 && n == 24 && stride % 6 && fast == 1").apply_to(kernel.kernels[0]);
  REQUIRE(specialized);
  CHECK(ir::verify(*specialized) == "");
  CHECK(specialized->parameters[0].aligned_bytes == 16);
  CHECK(specialized->parameters[2].multiple_of == 12);
  CHECK(specialized->plan.specialization == "x % 16 && n == 24 && stride % 6 && fast == 1");
  REQUIRE(specialized->plan.requirements.size() == kernel.kernels[0].plan.requirements.size() + 2);
  CHECK(specialized->plan.requirements[0].text == "n == 24");
  CHECK(specialized->plan.requirements[1].text == "fast == 1");
  CHECK(ir::count_uses(*specialized->body, specialized->parameters[1].value) == 0);
  CHECK(ir::count_uses(*specialized->body, specialized->parameters[2].value) > 0);
  // The general kernel is unchanged.
  CHECK(kernel.kernels[0].plan.specialization == "");
  CHECK(kernel.kernels[0].parameters[2].multiple_of == 4);
  CHECK(ir::count_uses(*kernel.kernels[0].body, kernel.kernels[0].parameters[1].value) > 0);
}

TEST_CASE("Specialization: apply_to needs a new assumption") {
  FrontEndResult kernel = translated(copy_source);
  CHECK_FALSE(parsed("stride % 4").apply_to(kernel.kernels[0]));
  CHECK_FALSE(parsed("x % 4 && stride % 2").apply_to(kernel.kernels[0]));
  CHECK(parsed("x % 4 && stride % 8").apply_to(kernel.kernels[0]));
}

TEST_CASE("--specialize: library has general and specialized code") {
  TemporaryFolder files;
  std::string path = files.write("copy.tc", copy_source);
  CompileResult result = compile(matmul_options(path, {"stride % 16 && x % 16", "n == 32"}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK_FALSE(contains(result.diagnostics_text, "specialization"));
  const std::vector<Variant> &variants = result.library.kernels.at(0).variants;
  REQUIRE(variants.size() == 3);
  CHECK(variants[0].plan.specialization == "stride % 16 && x % 16");
  CHECK(variants[1].plan.specialization == "n == 32");
  CHECK(variants[2].plan.specialization == "");
  for (const Variant &variant : variants) {
    CHECK(variant.images.size() == 1);
    CHECK(variant.preference == 0);
  }
  CHECK(variants[0].images[0].bytes != variants[2].images[0].bytes);
  CHECK(variants[1].images[0].bytes != variants[2].images[0].bytes);
}

TEST_CASE("compile: only general code without --specialize") {
  TemporaryFolder files;
  std::string path = files.write("copy.tc", copy_source);
  CompileResult result = compile(matmul_options(path, {}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(result.library.kernels.at(0).variants.size() == 1);
}

TEST_CASE("--specialize: applies to kernels with all parameters") {
  TemporaryFolder files;
  std::string path =
      files.write("two.tc", "__global__ void one(float *x, int n, int m) { if (n) *x = m; }\n"
                            "__global__ void two(float *x, int n) { if (n) *x = 1; }\n");
  CompileResult result = compile(matmul_options(path, {"m % 8 && n == 1"}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(result.library.kernels.at(0).variants.size() == 2);
  CHECK(result.library.kernels.at(1).variants.size() == 1);

  CompileResult unknown = compile(matmul_options(path, {"k % 8"}));
  CHECK(unknown.code == ExitCode::usage);
  CHECK(contains(unknown.diagnostics_text,
                 "column 1: no kernel has a parameter `k`; did you mean `"));
  CompileOptions only_two = matmul_options(path, {"m % 8"});
  only_two.kernels = {"two"};
  CHECK(contains(compile(only_two).diagnostics_text, "no kernel has a parameter `m`"));
  path = files.write("apart.tc", "__global__ void one(float *x, int n) { if (n) *x = 1; }\n"
                                 "__global__ void two(float *x, int m) { if (m) *x = 1; }\n");
  CHECK(contains(compile(matmul_options(path, {"m % 8 && n % 8"})).diagnostics_text,
                 "no kernel has all of these parameters; give one specialization per kernel"));
}

TEST_CASE("--specialize: [kernel] replaces the general assumptions") {
  TemporaryFolder files;
  std::string path =
      files.write("two.tc", "__global__ void one(float *x, int n, int m) { if (n) *x = m; }\n"
                            "__global__ void two(float *x, int n) { if (n) *x = 1; }\n");
  auto specialization_of = [&](std::vector<std::string> specialization, size_t kernel) {
    CompileResult result = compile(matmul_options(path, std::move(specialization)));
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
    CHECK_FALSE(contains(result.diagnostics_text, "specialization"));
    std::string all;
    for (const Variant &variant : result.library.kernels.at(kernel).variants)
      all += variant.plan.specialization + ";";
    return all;
  };
  for (const auto &[own, of_one, of_two] :
       {std::tuple("[one]m % 8", "m % 8;;", "n == 1;n % 8;;"),
        std::tuple(" [ one ] n == 1", "n == 1;;", "n == 1;n % 8;;"),
        std::tuple("[two]", "n == 1;n % 8;;", ";"), std::tuple("[one]", ";", "n == 1;n % 8;;")}) {
    CHECK(specialization_of({"n == 1", own, "n % 8"}, 0) == of_one);
    CHECK(specialization_of({"n == 1", own, "n % 8"}, 1) == of_two);
  }
  CHECK(specialization_of({"[one]n == 1", "[one]m == 1"}, 0) == "n == 1;m == 1;;");
  CHECK(specialization_of({"[one]n == 1", "[one]m == 1"}, 1) == ";");
  // Not an error: only kernel `one` has parameter `m`, and it has a separate specialization.
  CHECK(specialization_of({"m == 1", "[one]n == 1"}, 0) == "n == 1;;");

  auto said = [&](std::vector<std::string> specialization) {
    CompileResult result = compile(matmul_options(path, std::move(specialization)));
    CHECK(result.code == ExitCode::usage);
    return result.diagnostics_text;
  };
  CHECK(contains(said({"[onne]n == 1"}), "column 2: unknown kernel `onne`; did you mean `one`"));
  CHECK(contains(said({"[two]m == 1"}), "column 6: `two` has no parameter `m`; did you mean `"));
  CHECK(contains(said({"[two n == 1"}), "column 6: expected `]`, found `n`"));
  CHECK(contains(said({"[]n == 1"}), "column 2: expected the name of a kernel, found `]`"));
  CHECK(contains(said({"[two]n", ""}), "column 7: expected `%` or `==`, found the end"));
  CHECK(contains(said({"[two]n == 1", "[two]n==1"}), "an earlier specialization has the same"));
  CHECK(contains(said({"[two]n == 1", "[two]"}),
                 "`two` has a specialization with assumptions and one without"));
}

TEST_CASE("--specialize: warns about assumptions without effect") {
  TemporaryFolder files;
  std::string path = files.write("copy.tc", copy_source);
  CompileResult result = compile(matmul_options(path, {"stride % 2"}));
  CHECK(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics_text, "warning: specialization `stride % 2` has no effect"));
  CHECK(result.library.kernels.at(0).variants.size() == 1);
}

TEST_CASE("--emit: prints the stage of the specialized kernel") {
  TemporaryFolder files;
  CompileOptions options = matmul_options(files.write("copy.tc", copy_source), {"stride % 16"});
  options.stage = Stage::tile_ir;
  CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  CHECK(contains(result.stage_output, "16"));
  options.specialize = {};
  CHECK_FALSE(contains(compile(options).stage_output, "16"));
}

TEST_CASE("--explain: names the specialization") {
  TemporaryFolder files;
  CompileOptions options = matmul_options(files.write("copy.tc", copy_source), {"stride % 16"});
  options.explain = true;
  CompileResult result = compile(options);
  REQUIRE(result.code == ExitCode::ok);
  CHECK(contains(result.printed, "`copy` for sm_80, under stride % 16:\n"));
  CHECK(contains(result.printed, "`copy` for sm_80:\n"));
}

TEST_CASE("compile: shards have specialized code") {
  TemporaryFolder files;
  CompileOptions options =
      matmul_options(files.write("copy.tc", copy_source), {"stride % 16", "n == 32"});
  CompileResult whole = compile(options);
  REQUIRE(whole.code == ExitCode::ok);
  size_t codes = 0;
  std::vector<std::string> parts;
  for (int shard = 0; shard < 2; shard++) {
    CompileOptions part = options;
    part.shard = shard;
    part.shards = 2;
    CompileResult result = compile(part);
    REQUIRE(result.code == ExitCode::ok);
    codes += result.codes.size();
    std::string name = "part" + std::to_string(shard);
    files.write(name, shard_file(std::move(result.codes)));
    parts.push_back(files.path(name));
  }
  CHECK(codes == 2); // the general code equals the code of one specialization
  options.code_files = parts;
  CompileResult divided = compile(options);
  REQUIRE_MESSAGE(divided.code == ExitCode::ok, divided.diagnostics_text);
  for (size_t i = 0; i < 3; i++)
    CHECK(divided.library.kernels[0].variants[i].images[0].bytes ==
          whole.library.kernels[0].variants[i].images[0].bytes);
}

TEST_CASE("compile: cache has specialized code") {
  TemporaryFolder files;
  CompileOptions options = matmul_options(files.write("copy.tc", copy_source), {"n == 32"});
  options.cache.directory = files.path("cache");
  CompileResult first = compile(options), second = compile(options);
  REQUIRE(second.code == ExitCode::ok);
  const std::vector<Variant> &before = first.library.kernels[0].variants,
                             &after = second.library.kernels[0].variants;
  REQUIRE(after.size() == 2);
  for (size_t i = 0; i < 2; i++) {
    CHECK(before[i].images[0].bytes == after[i].images[0].bytes);
    CHECK(before[i].plan.specialization == after[i].plan.specialization);
  }
  CHECK(after[0].images[0].bytes != after[1].images[0].bytes);
}

TEST_CASE("plan_kernels: lists specialized kernels") {
  TemporaryFolder files;
  std::string path = files.write("copy.tc", copy_source);
  PlannedKernels planned = plan_kernels(matmul_options(path, {"stride % 16", "n == 32"}));
  REQUIRE(planned.code == ExitCode::ok);
  std::string specialization;
  for (const PlannedKernel &kernel : planned.kernels)
    specialization += kernel.specialization + ";";
  CHECK(specialization == "stride % 16;n == 32;;");
}
