// Tests argument_hints.cpp, and what compile.cpp does with hints: what they say, of which kernels,
// and which code there is then.

#include "argument_hints.h"
#include "compile.h"
#include "source_files.h"

#include "ir/printer.h"
#include "ir/verifier.h"
#include "support/kernel_file.h"
#include "translate/translate.h"

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

FrontEndResult translated(const std::string &source) {
  KernelFile kernel(source);
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics);
  REQUIRE(result.kernels.size() == 1);
  return result;
}

// A kernel whose parameters are of all kinds.
const char *copy_source = "__global__ void copy(float *x __aligned(4), int n, int stride "
                          "__multipleof(4), bool fast, uint8 small, float factor) {\n"
                          "  int i[32] = 0 ... 32;\n"
                          "  float *p[32] = x + i * stride;\n"
                          "  if (fast) *?(i < n) p = factor + (float)small;\n"
                          "}\n";

ArgumentHints parsed(const std::string &text) {
  Result<ArgumentHints> hints = ArgumentHints::parse(text);
  REQUIRE_MESSAGE(hints, (hints ? "" : tritonc::text(hints.failure())));
  return *hints;
}

std::string problem(const std::string &hints) {
  Result<ArgumentHints> result = ArgumentHints::parse(hints);
  if (!result)
    return text(result.failure());
  FrontEndResult kernel = translated(copy_source);
  REQUIRE(result->is_about(kernel.kernels[0]));
  std::optional<Failure> failure = result->problem_with(kernel.kernels[0]);
  return failure ? text(*failure) : "";
}

CompileOptions product_options(const std::string &path, std::vector<std::string> hints) {
  CompileOptions options;
  options.sources = {path};
  options.specialize = std::move(hints);
  options.gpus = {find_gpu("80")};
  return options;
}

} // namespace

TEST_CASE("hints have one spelling") {
  CHECK(parsed("lda%8").text() == "lda % 8");
  CHECK(parsed(" lda % 8 == 0 &&n==1 ").text() == "lda % 8 && n == 1");
  CHECK(parsed("n == -3").text() == "n == -3");
  CHECK(parsed("n == 0x10").text() == "n == 16");
}

TEST_CASE("what does not read as hints, with the place and the remedy") {
  CHECK(problem("") == "error: hint ``, column 1: expected the name of a parameter, found its end; "
                       "hints are written as `lda % 8 && n == 1`");
  CHECK(contains(problem("n"), "column 2: expected `%` or `==`, found its end"));
  CHECK(contains(problem("n = 1"), "column 3: expected `%` or `==`, found `=`"));
  CHECK(contains(problem("n % x"), "column 5: expected a number, found `x`"));
  CHECK(contains(problem("n == 1 n % 8"), "column 8: expected `&&`, found `n`"));
  CHECK(contains(problem("n % 8 == 1"), "column 10: expected 0, as in `n % 8 == 0`, found `1`"));
  CHECK(contains(problem("8 % n"), "column 1: expected the name of a parameter, found `8`"));
  CHECK(contains(problem("n == 99999999999999999999"), "expected a number"));
}

TEST_CASE("hints that contradict each other, or say nothing") {
  CHECK(contains(problem("n % 1"), "`n % 1` says nothing"));
  CHECK(contains(problem("n % 0"), "says nothing"));
  CHECK(contains(problem("n == 1 && n == 2"), "`n == 2` and `n == 1` are never both true"));
  CHECK(contains(problem("n % 8 && n == 4"), "column 10: `n == 4` and `n % 8` are never both"));
  CHECK(contains(problem("n % 8 && n % 8"), "`n % 8` is there twice"));
  CHECK(problem("n % 8 && n == 16") == "");
  CHECK(problem("n % 8 && n % 12") == "");
  Result<std::vector<ArgumentHints>> twice = parse_hints({"n%8", "n == 1", "n % 8 == 0"});
  REQUIRE_FALSE(twice);
  CHECK(contains(text(twice.failure()), "`n % 8 == 0`, column 1: the same hints are given before"));
  CHECK(twice.failure().id == Message::hint_impossible);
}

TEST_CASE("hints that cannot be true of a kernel's arguments") {
  CHECK(contains(problem("x == 0"), "`x` of kernel `copy` is a pointer, of which only how it is "
                                    "aligned can be said: `x % 16`"));
  CHECK(contains(problem("x % 24"), "24 bytes are no power of two"));
  CHECK(contains(problem("factor % 8"), "`factor` of kernel `copy` is no integer and no pointer"));
  CHECK(contains(problem("fast % 2"), "is a `bool`, and no multiple; say `fast == 1`"));
  CHECK(contains(problem("fast == 2"), "is never 2: its type has 0 to 1"));
  CHECK(contains(problem("small == 256"), "its type has 0 to 255"));
  CHECK(contains(problem("n == 3000000000"), "its type has -2147483648 to 2147483647"));
  CHECK(contains(problem("stride == 6"), "is never 6: it is declared `__multipleof(4)`"));
  CHECK(contains(problem("stride % 2147483647"), "a number that is too large"));
  for (const char *good : {"x % 16", "n == -1", "n % 3", "stride % 6", "stride == 8", "fast == 1",
                           "small == 255 && small % 5"})
    CHECK(problem(good) == "");
}

TEST_CASE("a kernel under hints relies on them, and requires them") {
  FrontEndResult kernel = translated(copy_source);
  std::optional<ir::Function> hinted =
      parsed("x % 16 && n == 24 && stride % 6 && fast == 1").apply_to(kernel.kernels[0]);
  REQUIRE(hinted);
  CHECK(ir::verify(*hinted) == "");
  CHECK(hinted->parameters[0].aligned_bytes == 16);
  CHECK(hinted->parameters[2].multiple_of == 12);
  CHECK(hinted->plan.hints == "x % 16 && n == 24 && stride % 6 && fast == 1");
  REQUIRE(hinted->plan.requirements.size() == kernel.kernels[0].plan.requirements.size() + 2);
  CHECK(hinted->plan.requirements[0].text == "n == 24");
  CHECK(hinted->plan.requirements[1].text == "fast == 1");
  CHECK(ir::count_uses(*hinted->body, hinted->parameters[1].value) == 0);
  CHECK(ir::count_uses(*hinted->body, hinted->parameters[2].value) > 0);
  // The kernel itself is as it was.
  CHECK(kernel.kernels[0].plan.hints == "");
  CHECK(kernel.kernels[0].parameters[2].multiple_of == 4);
  CHECK(ir::count_uses(*kernel.kernels[0].body, kernel.kernels[0].parameters[1].value) > 0);
}

TEST_CASE("what a kernel relies on anyway makes no other kernel of it") {
  FrontEndResult kernel = translated(copy_source);
  CHECK_FALSE(parsed("stride % 4").apply_to(kernel.kernels[0]));
  CHECK_FALSE(parsed("x % 4 && stride % 2").apply_to(kernel.kernels[0]));
  CHECK(parsed("x % 4 && stride % 8").apply_to(kernel.kernels[0]));
}

TEST_CASE("a library has the general code and what is compiled under each of the hints") {
  SourceFiles files;
  std::string path = files.add("copy.tc", copy_source);
  CompileResult result = compile(product_options(path, {"stride % 16 && x % 16", "n == 32"}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK_FALSE(contains(result.diagnostics, "hint"));
  const std::vector<Variant> &variants = result.library.kernels.at(0).variants;
  REQUIRE(variants.size() == 3);
  CHECK(variants[0].plan.hints == "stride % 16 && x % 16");
  CHECK(variants[1].plan.hints == "n == 32");
  CHECK(variants[2].plan.hints == "");
  for (const Variant &variant : variants) {
    CHECK(variant.images.size() == 1);
    CHECK(variant.preference == 0);
  }
  CHECK(variants[0].images[0].bytes != variants[2].images[0].bytes);
  CHECK(variants[1].images[0].bytes != variants[2].images[0].bytes);
}

TEST_CASE("without hints there is only the general code") {
  SourceFiles files;
  std::string path = files.add("copy.tc", copy_source);
  CompileResult result = compile(product_options(path, {}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK(result.library.kernels.at(0).variants.size() == 1);
}

TEST_CASE("hints are for the kernels that have the parameters") {
  SourceFiles files;
  std::string path =
      files.add("two.tc", "__global__ void one(float *x, int n, int m) { if (n) *x = m; }\n"
                          "__global__ void two(float *x, int n) { if (n) *x = 1; }\n");
  CompileResult result = compile(product_options(path, {"m % 8 && n == 1"}));
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK(result.library.kernels.at(0).variants.size() == 2);
  CHECK(result.library.kernels.at(1).variants.size() == 1);

  CompileResult unknown = compile(product_options(path, {"k % 8"}));
  CHECK(unknown.code == ExitCode::usage);
  CHECK(contains(unknown.diagnostics, "column 1: no kernel has a parameter `k`; did you mean `"));
  CompileOptions only_two = product_options(path, {"m % 8"});
  only_two.kernels = {"two"};
  CHECK(contains(compile(only_two).diagnostics, "no kernel has a parameter `m`"));
  path = files.add("apart.tc", "__global__ void one(float *x, int n) { if (n) *x = 1; }\n"
                               "__global__ void two(float *x, int m) { if (m) *x = 1; }\n");
  CHECK(contains(compile(product_options(path, {"m % 8 && n % 8"})).diagnostics,
                 "no kernel has all of these parameters; give hints for each kernel"));
}

TEST_CASE("a kernel has hints of its own in place of those for all") {
  SourceFiles files;
  std::string path =
      files.add("two.tc", "__global__ void one(float *x, int n, int m) { if (n) *x = m; }\n"
                          "__global__ void two(float *x, int n) { if (n) *x = 1; }\n");
  auto hints_of = [&](std::vector<std::string> hints, size_t kernel) {
    CompileResult result = compile(product_options(path, std::move(hints)));
    REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
    CHECK_FALSE(contains(result.diagnostics, "hint"));
    std::string all;
    for (const Variant &variant : result.library.kernels.at(kernel).variants)
      all += variant.plan.hints + ";";
    return all;
  };
  for (const auto &[own, of_one, of_two] :
       {std::tuple("[one]m % 8", "m % 8;;", "n == 1;n % 8;;"),
        std::tuple(" [ one ] n == 1", "n == 1;;", "n == 1;n % 8;;"),
        std::tuple("[two]", "n == 1;n % 8;;", ";"), std::tuple("[one]", ";", "n == 1;n % 8;;")}) {
    CHECK(hints_of({"n == 1", own, "n % 8"}, 0) == of_one);
    CHECK(hints_of({"n == 1", own, "n % 8"}, 1) == of_two);
  }
  CHECK(hints_of({"[one]n == 1", "[one]m == 1"}, 0) == "n == 1;m == 1;;");
  CHECK(hints_of({"[one]n == 1", "[one]m == 1"}, 1) == ";");
  // Whoever gives all kernels that have the parameter hints of their own has nothing compiled
  // twice.
  CHECK(hints_of({"m == 1", "[one]n == 1"}, 0) == "n == 1;;");

  auto said = [&](std::vector<std::string> hints) {
    CompileResult result = compile(product_options(path, std::move(hints)));
    CHECK(result.code == ExitCode::usage);
    return result.diagnostics;
  };
  CHECK(
      contains(said({"[onne]n == 1"}), "column 2: there is no kernel `onne`; did you mean `one`"));
  CHECK(contains(said({"[two]m == 1"}), "column 6: `two` has no parameter `m`; did you mean `"));
  CHECK(contains(said({"[two n == 1"}), "column 6: expected `]`, found `n`"));
  CHECK(contains(said({"[]n == 1"}), "column 2: expected the name of a kernel, found `]`"));
  CHECK(contains(said({"[two]n", ""}), "column 7: expected `%` or `==`, found its end"));
  CHECK(contains(said({"[two]n == 1", "[two]n==1"}), "the same hints are given before"));
  CHECK(contains(said({"[two]n == 1", "[two]"}), "`two` has hints, and has none"));
}

TEST_CASE("hints that change nothing are said to") {
  SourceFiles files;
  std::string path = files.add("copy.tc", copy_source);
  CompileResult result = compile(product_options(path, {"stride % 2"}));
  CHECK(result.code == ExitCode::ok);
  CHECK(contains(result.diagnostics, "warning: hint `stride % 2`: the kernels rely on it without"));
  CHECK(result.library.kernels.at(0).variants.size() == 1);
}

TEST_CASE("a stage is shown under the hints") {
  SourceFiles files;
  CompileOptions options = product_options(files.add("copy.tc", copy_source), {"stride % 16"});
  options.stage = Stage::tile_ir;
  CompileResult result = compile(options);
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  CHECK(contains(result.stage_output, "16"));
  options.specialize = {};
  CHECK_FALSE(contains(compile(options).stage_output, "16"));
}

TEST_CASE("--explain says under which hints") {
  SourceFiles files;
  CompileOptions options = product_options(files.add("copy.tc", copy_source), {"stride % 16"});
  options.explain = true;
  CompileResult result = compile(options);
  REQUIRE(result.code == ExitCode::ok);
  CHECK(contains(result.printed, "`copy` for sm_80, under stride % 16:\n"));
  CHECK(contains(result.printed, "`copy` for sm_80:\n"));
}

TEST_CASE("shards compile what is under hints, too, and the library has it from them") {
  SourceFiles files;
  CompileOptions options =
      product_options(files.add("copy.tc", copy_source), {"stride % 16", "n == 32"});
  CompileResult whole = compile(options);
  REQUIRE(whole.code == ExitCode::ok);
  size_t codes = 0;
  for (int shard = 0; shard < 2; shard++) {
    CompileOptions part = options;
    part.shard = shard;
    part.shards = 2;
    CompileResult result = compile(part);
    REQUIRE(result.code == ExitCode::ok);
    codes += result.codes.size();
    std::string name = "part" + std::to_string(shard);
    files.add(name, code_file(std::move(result.codes)));
    options.code_files.push_back(files.path(name));
  }
  CHECK(codes == 3);
  CompileResult divided = compile(options);
  REQUIRE_MESSAGE(divided.code == ExitCode::ok, divided.diagnostics);
  for (size_t i = 0; i < 3; i++)
    CHECK(divided.library.kernels[0].variants[i].images[0].bytes ==
          whole.library.kernels[0].variants[i].images[0].bytes);
}

TEST_CASE("a second compilation finds what is under hints in the cache") {
  SourceFiles files;
  CompileOptions options = product_options(files.add("copy.tc", copy_source), {"n == 32"});
  options.cache.directory = files.path("cache");
  CompileResult first = compile(options), second = compile(options);
  REQUIRE(second.code == ExitCode::ok);
  const std::vector<Variant> &before = first.library.kernels[0].variants,
                             &after = second.library.kernels[0].variants;
  REQUIRE(after.size() == 2);
  for (size_t i = 0; i < 2; i++) {
    CHECK(before[i].images[0].bytes == after[i].images[0].bytes);
    CHECK(before[i].plan.hints == after[i].plan.hints);
  }
  CHECK(after[0].images[0].bytes != after[1].images[0].bytes);
}

TEST_CASE("the plan says what is compiled under hints") {
  SourceFiles files;
  std::string path = files.add("copy.tc", copy_source);
  PlannedKernels planned = plan_kernels(product_options(path, {"stride % 16", "n == 32"}));
  REQUIRE(planned.code == ExitCode::ok);
  std::string hints;
  for (const PlannedKernel &kernel : planned.kernels)
    hints += kernel.hints + ";";
  CHECK(hints == "stride % 16;n == 32;;");
}
