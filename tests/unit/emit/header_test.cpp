// Tests emit/cpp/header.cpp: compares the headers with golden files and compiles them.

#include "emit/cpp/header.h"
#include "unit/emit/golden.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using test::GeneratedFiles;
using test::Outcome;

namespace {

const char *const uses_everything = R"(
#include <gemm.hpp>

template <typename Kernel> tritonc::status run(tritonc::stream stream) {
  typename Kernel::args args{};
  args.M = args.N = 128;
  args.lda = 8;
  for (const typename Kernel::params &variant : Kernel::variants()) {
    tritonc::status status = Kernel::launch(stream, args, variant);
    if (!status.ok())
      return status;
    for (const tritonc::image_info &info : Kernel::info(variant))
      if (info.spill_stores != 0)
        return {};
  }
  typename Kernel::prepared ready;
  tritonc::status status = Kernel::prepare(stream, args, ready);
  if (status.ok())
    status = ready.launch(stream);
  using fixed = typename Kernel::template variant<32>;
  static_assert(fixed::value.TM == 32, "");
  if (status.ok())
    status = Kernel::prepare(stream, args, {64}, ready);
  if (status.ok())
    status = fixed::prepare(stream, args, ready);
  if (status.ok() && !fixed::info().empty())
    status = fixed::launch(stream, args);
  const tritonc::status all_loaded[] = {Kernel::preload(),     Kernel::preload({64}),
                                        Kernel::preload_on(0), Kernel::preload_on(1, {32}),
                                        fixed::preload(),      fixed::preload_on(1)};
  for (const tritonc::status &loaded : all_loaded)
    if (!loaded.ok())
      return loaded;
  return status.ok() ? Kernel::launch(stream, args) : status;
}

int main() {
  using dot = gemm::dot<tritonc::half, gemm::A::N>;
  static_assert(sizeof(dot::args) == 32, "");
  static_assert(sizeof(dot::params) == 4, "");
  CUstream_st *stream = nullptr;
  bool all = run<dot>(stream).ok() && run<gemm::dot<tritonc::half, gemm::A::T>>({}).ok() &&
             run<gemm::dot<float, gemm::A::N>>({}).ok() && run<gemm::dot<float, gemm::A::T>>({}).ok();
  gemm::scale::args args{nullptr, nullptr, 2.0, 5};
  gemm::scale::prepared ready;
  all = all && gemm::scale::prepare({}, {1, 2, 3}, args, ready).ok();
  const gemm::scale::prepared copy = ready;
  return all && copy.launch({}).ok() && gemm::scale::launch({}, {1, 2, 3}, args).ok() ? 0 : 1;
}
)";

void check_compiles(const GeneratedFiles &files, const std::string &source) {
  for (const char *mode : {"object", "self_contained"})
    for (const char *standard : {"-std=c++17", "-std=c++20"}) {
      Outcome outcome = files.compile(mode, source, std::string(standard) + " -fsyntax-only");
      CAPTURE(mode);
      CAPTURE(standard);
      CHECK_MESSAGE(outcome.status == 0, outcome.output);
    }
}

std::string object_mode(const Library &library) {
  return object_mode_header(library, *make_interface(library));
}

} // namespace

TEST_CASE("object_mode_header: matches the golden file gemm.hpp.txt") {
  test::check_expected("gemm.hpp.txt", object_mode(sample_library()));
}

TEST_CASE("self_contained_header: matches its golden file") {
  Library library = sample_library();
  Interface interface = *make_interface(library);
  test::check_expected("gemm_self_contained.hpp.txt",
                       self_contained_header(library, interface, *make_tables(interface)));
}

TEST_CASE("object_mode_header: is independent of code generation") {
  Library library = sample_library();
  std::string before = object_mode(library);
  for (KernelEntry &kernel : library.kernels)
    for (Variant &variant : kernel.variants) {
      variant.entry += "_renamed";
      variant.preference = -variant.preference;
      variant.images.clear();
    }
  CHECK(object_mode(library) == before);
  library = schedules_library();
  before = object_mode(library);
  for (Image &image : library.kernels[0].variants[0].images)
    image.launch = {.schedule = {.kind = Schedule::Kind::multistage, .tile = {1, 2, 3}},
                    .guards = {},
                    .cost = Expr::constant(7)};
  CHECK(object_mode(library) == before);
}

TEST_CASE("header: compiles without warnings as C++17, C++20 and C++23") {
  GeneratedFiles files(sample_library());
  std::vector<std::string> compilers = test::host_compilers();
  REQUIRE(!compilers.empty());
  for (const std::string &compiler : compilers)
    for (const char *mode : {"object", "self_contained"})
      for (const char *standard : {"-std=c++17", "-std=c++20", "-std=c++2b"}) {
        Outcome outcome = files.compile(mode, uses_everything,
                                        std::string(standard) + " -O2 -c -o /dev/null", compiler);
        CAPTURE(compiler);
        CAPTURE(mode);
        CAPTURE(standard);
        CHECK_MESSAGE(outcome.status == 0, outcome.output);
      }
}

TEST_CASE("header: args and params accept designated initializers") {
  GeneratedFiles files(sample_library());
  Outcome outcome = files.compile("object", R"(
#include <gemm.hpp>
int main() {
  tritonc::half *a = nullptr;
  return gemm::dot<tritonc::half, gemm::A::N>::launch({}, {.A = a, .C = a, .M = 64, .N = 64, .lda = 8},
                                                      {.TM = 32}).ok();
})",
                                  "-std=c++20 -fsyntax-only");
  CHECK_MESSAGE(outcome.status == 0, outcome.output);
}

namespace {

size_t errors_in(const std::string &output) {
  size_t errors = 0;
  for (size_t at = 0; (at = output.find(" error: ", at)) != std::string::npos; at++)
    errors++;
  return errors;
}

} // namespace

TEST_CASE("header: missing instantiation is one error with a list") {
  Library library = sample_library();
  library.kernels[0].variants.resize(6); // no float with A = T
  GeneratedFiles files(library);
  for (const char *use : {"launch({}, args)", "variant<64>::launch({}, args)"}) {
    std::string kernel = "gemm::dot<float, gemm::A::T>::";
    Outcome outcome = files.compile("object",
                                    "#include <gemm.hpp>\nint main() {\n  " + kernel +
                                        "args args{};\n  return " + kernel + use + ".ok();\n}",
                                    "-std=c++17 -fsyntax-only");
    CHECK(outcome.status != 0);
    CHECK(outcome.output.find("gemm::dot<TYPE, A> is compiled for <tritonc::half, A::N>, "
                              "<tritonc::half, A::T>, <float, A::N>") != std::string::npos);
    CHECK_MESSAGE(errors_in(outcome.output) == 1, outcome.output);
  }
}

TEST_CASE("header: missing variant is one error with a list") {
  Library library = sample_library();
  auto compile = [&](const std::string &variant) {
    return GeneratedFiles(library).compile("object",
                                           "#include <gemm.hpp>\nint main() {\n"
                                           "  using dot = gemm::dot<float, gemm::A::T>;\n"
                                           "  return dot::variant<" +
                                               variant + ">::preload().ok();\n}",
                                           "-std=c++17 -fsyntax-only");
  };
  CHECK(compile("64").status == 0);
  Outcome outcome = compile("48");
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("gemm::dot<TYPE, A>::variant<TM> is compiled for <64>, <32>") !=
        std::string::npos);
  CHECK_MESSAGE(errors_in(outcome.output) == 1, outcome.output);

  library.kernels[0].variants.pop_back(); // no 32 of float with A = T
  CHECK(compile("64").status == 0);
  outcome = compile("32");
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("<64>, <32>, not all of them with each of the former") !=
        std::string::npos);
}

TEST_CASE("header: warns about an unused status") {
  GeneratedFiles files(sample_library());
  Outcome outcome = files.compile(
      "object", "#include <gemm.hpp>\nint main() { gemm::scale::launch({}, {1}, {}); }\n",
      "-std=c++17 -fsyntax-only");
  CHECK(outcome.output.find("nodiscard") != std::string::npos);
}

TEST_CASE("header: escapes names and texts of a kernel") {
  Library library = sample_library();
  library.source_file = "a.tc\n#error injected \\";
  library.tool = "tool */ \xe2\x80\xae ?\?/";
  KernelEntry &kernel = library.kernels[0];
  kernel.name = "class";
  kernel.axes[1].values[0].name = "\"; }\n#error injected";
  kernel.axes[1].values[1].name = "delete";
  kernel.axes[2].name = "params";
  for (Variant &variant : kernel.variants) {
    variant.parameters[0].name = "operator";
    variant.parameters[1].name = "args";
    variant.parameters[2].name = "A";
    variant.parameters[3].name = "NULL";
    variant.parameters[4].name = "half";
    variant.plan.requirements[0].text = "M % 64 == 0 \\\n#error injected \"";
    variant.entry = "entry\"\n\\";
  }
  GeneratedFiles files(library);
  check_compiles(files, R"(
#include <gemm.hpp>
int main() {
  using kernel = gemm::class_<tritonc::half, gemm::A::delete_>;
  kernel::args args{};
  args.operator_ = nullptr;
  args.args_ = nullptr;
  args.A = args.NULL_ = args.half = 1;
  kernel::params params{};
  params.params_ = 64;
  return kernel::launch({}, args, params).ok();
}
)");
}

TEST_CASE("header: members may have the name of an axis, enum or type") {
  Library library = sample_library();
  KernelEntry &kernel = library.kernels[0];
  kernel.axes[2] = {"ORDER", true, {{"row", {}}, {"column", {}}}}; // tuned, with named values
  for (Variant &variant : kernel.variants) {
    variant.parameters[2].name = "A_";
    variant.parameters[3].name = "ORDER";
    variant.parameters[4].name = "int32_t";
  }
  check_compiles(GeneratedFiles(library), R"(
#include <gemm.hpp>
int main() {
  gemm::dot<float, gemm::A::T>::args args{};
  args.A_ = args.ORDER = args.int32_t = 1;
  gemm::dot<float, gemm::A::T>::params params{gemm::ORDER::column};
  using fixed = gemm::dot<float, gemm::A::T>::variant<gemm::ORDER::column>;
  static_assert(fixed::value.ORDER == gemm::ORDER::column, "");
  return gemm::dot<float, gemm::A::T>::launch({}, args, params).ok() && fixed::preload().ok();
}
)");
}

TEST_CASE("header: instantiations may have different parameters") {
  Library library = sample_library();
  for (Variant &variant : library.kernels[0].variants)
    if (variant.values[1] == 1) // A = T has one more parameter
      variant.parameters.push_back(variant.parameters[4]), variant.parameters[5].name = "ldat";
  check_compiles(GeneratedFiles(library), R"(
#include <gemm.hpp>
#include <cstddef>
int main() {
  gemm::dot<float, gemm::A::N>::args few{};
  gemm::dot<tritonc::half, gemm::A::T>::args many{};
  static_assert(offsetof(decltype(many), lda) + 4 == offsetof(decltype(many), ldat), "");
  const float *a = few.A;
  const tritonc::half *b = many.A;
  return a == nullptr && b == nullptr && many.ldat == few.lda;
}
)");
}

TEST_CASE("header: no parameters, nested namespace, integer axis") {
  Library library = sample_library();
  library.name = "my::gemm";
  library.kernels[0].axes[1].values = {{"3", {}}, {"-1", {}}};
  library.kernels[1].variants[0].parameters.clear();
  check_compiles(GeneratedFiles(library), R"(
#include <gemm.hpp>
int main() {
  my::gemm::dot<float, -1>::args args{};
  return my::gemm::dot<float, -1>::launch({}, args).ok() && my::gemm::scale::launch({}, {7}, {}).ok();
}
)");
}

TEST_CASE("header: tuned kernel without grid requires grid and params") {
  Library library = sample_library();
  for (Variant &variant : library.kernels[0].variants)
    variant.plan.grid.clear();
  GeneratedFiles files(library);
  check_compiles(files, R"(
#include <gemm.hpp>
int main() {
  using dot = gemm::dot<float, gemm::A::N>;
  dot::prepared ready;
  return dot::launch({}, {4, 4}, dot::args{}, dot::params{64}).ok() &&
         dot::prepare({}, {4, 4}, {}, dot::params{64}, ready).ok() &&
         dot::variant<64>::launch({}, {4, 4}, {}).ok() &&
         dot::variant<64>::prepare({}, {4, 4}, {}, ready).ok();
}
)");
  Outcome outcome = files.compile("object", R"(
#include <gemm.hpp>
int main() { return gemm::dot<float, gemm::A::N>::launch({}, {4, 4}, {}).ok(); }
)",
                                  "-std=c++17 -fsyntax-only");
  CHECK(outcome.status != 0);
}
