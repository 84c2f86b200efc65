// Tests emit/cpp/c_header.cpp: compares the C header with a golden file, compiles it as C and C++,
// and runs its kernels from a C program.

#include "emit/cpp/c_header.h"
#include "unit/emit/golden.h"
#include "unit/emit/host_compiler.h"
#include "unit/emit/sample_library.h"
#include "unit/runtime/fake_driver.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace tritonc;
using test::GeneratedFiles;
using test::Outcome;

namespace {

std::string header_of(const Library &library) {
  return c_header(library, *make_interface(library));
}

const char *const uses_everything = R"(
#include "gemm.h"
#include <stdio.h>

static int say(tritonc_status status) {
  char text[512];
  if (status.code == TRITONC_OK)
    return 1;
  tritonc_status_message(status, text, sizeof text);
  printf("%s %s %s %s %d\n", text, tritonc_status_name(status), tritonc_status_kernel(status),
         tritonc_status_argument(status), tritonc_status_cuda_result(status));
  return 0;
}

int run(tritonc_stream stream) {
  gemm_dot_half_N_args args = {0};
  gemm_dot_params which = {32};
  gemm_dot_half_N_prepared ready;
  args.M = args.N = 128;
  args.lda = 8;
  args.A = (const tritonc_half *)0;
  int good = say(gemm_dot_half_N_launch(stream, &args)) &&
             say(gemm_dot_half_N_launch_variant(stream, &args, &which)) &&
             say(gemm_dot_half_N_prepare(stream, &args, &ready)) &&
             say(gemm_dot_half_N_prepare_variant(stream, &args, &which, &ready)) &&
             say(gemm_dot_half_N_launch_prepared(&ready, stream)) &&
             say(gemm_dot_half_N_preload(TRITONC_CURRENT_DEVICE)) &&
             say(gemm_dot_half_N_preload_variant(&which, 0));
  size_t count = 0, infos = 0;
  const gemm_dot_params *variants = gemm_dot_half_N_variants(&count);
  for (size_t i = 0; i < count; i++) {
    const tritonc_image_info *info = gemm_dot_half_N_info(&variants[i], &infos);
    good = good && infos != 0 && info->spill_stores == 0;
  }
  gemm_scale_args scale = {0};
  gemm_scale_prepared ready_scale;
  tritonc_grid grid = {1, 2, 3};
  scale.bias = (const tritonc_bfloat16 *)0;
  return good && say(gemm_scale_launch(stream, &grid, &scale)) &&
         say(gemm_scale_prepare(stream, &grid, &scale, &ready_scale)) &&
         say(gemm_scale_launch_prepared(&ready_scale, stream)) && gemm_scale_info(&infos) != 0;
}
)";

/// A folder with gemm.h and gemm.o, and the C compilers of this machine.
class CFiles {
public:
  explicit CFiles(const Library &library) : files_(library) {
    folder_.write("gemm.h", header_of(library));
  }

  Outcome compile(const std::string &compiler, const std::string &source, const std::string &flags,
                  const char *name = "program.c") const {
    std::string file = folder_.write(name, source);
    return test::run(compiler +
                     " -Wall -Wextra -Wpedantic -Werror -I" TRITONC_RUNTIME_INCLUDE_DIR " -I" +
                     folder_.path() + " " + file + " " + flags);
  }
  std::string object() const { return files_.path("gemm.o"); }
  std::string path(const std::string &name) const { return folder_.path() + "/" + name; }

private:
  GeneratedFiles files_;
  TemporaryFolder folder_;
};

void check_compiles(const Library &library, const std::string &source) {
  CFiles files(library);
  for (const std::string &compiler : test::host_c_compilers())
    for (const char *standard : {"-std=c11", "-std=gnu17"}) {
      Outcome outcome =
          files.compile(compiler, source, std::string(standard) + " -O2 -c -o /dev/null");
      CAPTURE(compiler);
      CAPTURE(standard);
      CHECK_MESSAGE(outcome.status == 0, outcome.output);
    }
}

int last = 0;
void note(const abi::host_operation *, abi::host_thread *, void *const *arguments) {
  std::memcpy(&last, arguments[3], sizeof last);
}

} // namespace

TEST_CASE("c_header: matches the golden file gemm.h.txt") {
  test::check_expected("gemm.h.txt", header_of(sample_library()));
}

TEST_CASE("c_header: compiles without warnings as C11 and GNU C17") {
  check_compiles(sample_library(), uses_everything);
}

TEST_CASE("c_header: compiles as C++17 and C++23") {
  CFiles files(sample_library());
  for (const std::string &compiler : test::host_compilers())
    for (const char *standard : {"-std=c++17", "-std=c++2b"}) {
      Outcome outcome = files.compile(
          compiler, "#include \"gemm.h\"\nint main() { return gemm_scale_preload(0).code; }\n",
          std::string(standard) + " -fsyntax-only", "program.cpp");
      CAPTURE(compiler);
      CHECK_MESSAGE(outcome.status == 0, outcome.output);
    }
}

TEST_CASE("c_header: warns about an unused status") {
  CFiles files(sample_library());
  Outcome outcome = files.compile(test::host_c_compilers().front(),
                                  "#include \"gemm.h\"\nvoid f(void) { gemm_scale_preload(0); }\n",
                                  "-std=c11 -c -o /dev/null");
  CHECK(outcome.status != 0);
  CHECK(outcome.output.find("warn_unused_result") != std::string::npos);
}

TEST_CASE("c_header: escapes names and texts of a kernel") {
  Library library = sample_library();
  library.name = "my::gemm";
  library.source_file = "a.tc\n#error injected \\";
  library.tool = "tool */ \xe2\x80\xae ?\?/";
  KernelEntry &kernel = library.kernels[0];
  kernel.axes[1].values[0].name = "\"; }\n#error injected";
  kernel.axes[1].values[1].name = "-1";
  kernel.axes[2] = {"restrict", true, {{"row", {}}, {"column", {}}}}; // tuned, with named values
  for (Variant &variant : kernel.variants) {
    variant.parameters[0].name = "restrict";
    variant.parameters[1].name = "_Bool";
    variant.parameters[2].name = "class";
    variant.entry = "entry\"\n\\";
  }
  library.kernels[1].name = "dot_params";
  library.kernels[1].variants[0].parameters.clear();
  check_compiles(library, R"(
#include "gemm.h"
int f(void) {
  my_gemm_dot_half__1_args args = {0};
  my_gemm_dot_params which = {my_gemm_restrict_column};
  my_gemm_dot_params_args none = {0};
  tritonc_grid grid = {1, 1, 1};
  args.restrict_ = args._Bool_;
  args.class_ = which.restrict_;
  return my_gemm_dot_half__1_launch_variant(0, &args, &which).code +
         my_gemm_dot_params_launch(0, &grid, &none).code;
}
)");
}

TEST_CASE("c_header: renames functions if two kernels clash") {
  Library library = sample_library();
  library.kernels.erase(library.kernels.begin());
  library.kernels.push_back(library.kernels[0]);
  library.kernels[1].name = "scale_launch"; // both kernels would have gemm_scale_launch_prepared
  check_compiles(library, R"(
#include "gemm.h"
int f(const gemm_scale_prepared *first, const gemm_scale_launch__prepared *second) {
  return gemm_scale_launch_prepared(first, 0).code + gemm_scale_launch__launch_prepared(second, 0).code;
}
)");
}

TEST_CASE("c_header: C program runs kernels and links without libstdc++") {
  CFiles files(emulated_library(note));
  setenv("TRITONC_DRIVER", TRITONC_EMULATOR_LIBRARY, 1);
  StandIn driver(TRITONC_EMULATOR_LIBRARY);
  driver.configure("missing=tritoncEmulatorVersion,gpu=80");
  for (const std::string &compiler : test::host_c_compilers()) {
    CAPTURE(compiler);
    std::string plug_in_path = files.path("plug_in_" + compiler + ".so");
    Outcome outcome =
        files.compile(compiler, R"(
#include "gemm.h"
#include <string.h>
static int errors, loads, choices;
static void on_error(const tritonc_status *what, void *data) {
  errors += data == &errors && what->code == TRITONC_NULL_POINTER &&
            strcmp(tritonc_status_argument(*what), "values") == 0;
}
static void on_load(const tritonc_load_event *what, void *data) {
  loads += data == &errors && strcmp(what->kernel, "gemm::scale") == 0 &&
           strcmp(what->gpu, "sm_80") == 0 && strcmp(what->schedule, "baseline") == 0 &&
           !*what->specialization && what->bytes > 0 && what->nanoseconds >= 0;
}
static void on_choice(const tritonc_choice_event *what, void *data) {
  choices += data == &errors && strcmp(what->kernel, "gemm::scale") == 0 &&
             what->variant_count == 0 && strcmp(what->gpu, "sm_80") == 0 &&
             strcmp(what->schedule, "baseline") == 0 && !*what->specialization && what->programs.x == 1 && what->programs.z == 1;
}
static const tritonc_hooks hooks = {on_error, on_load, on_choice, 0, &errors};
int hooked(void) { return errors * 100 + loads * 10 + choices; }
int run(void *values, int n) {
  gemm_scale_args args = {0};
  gemm_scale_prepared ready;
  tritonc_grid grid = {1, 1, 1};
  tritonc_set_hooks(&hooks);
  if (gemm_scale_launch(0, &grid, &args).code != TRITONC_NULL_POINTER)
    return 0;
  args.values = values;
  args.n = n;
  if (gemm_scale_launch(0, &grid, &args).code != TRITONC_OK)
    return 0;
  args.n = n + 1;
  if (gemm_scale_prepare(0, &grid, &args, &ready).code != TRITONC_OK)
    return 0;
  args.n = 0;
  tritonc_set_hooks(0);
  if (gemm_scale_launch(0, &grid, &args).code != TRITONC_OK)
    return 0;
  return gemm_scale_launch_prepared(&ready, 0).code == TRITONC_OK;
}
)",
                      "-std=c11 -O1 -fPIC -shared -Wl,--no-undefined " + files.object() +
                          " " TRITONC_RUNTIME_LIBRARY " -ldl -o " + plug_in_path);
    REQUIRE_MESSAGE(outcome.status == 0, outcome.output);
    void *plug_in = dlopen(plug_in_path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(plug_in, dlerror());
    void *symbol = dlsym(plug_in, "run");
    REQUIRE(symbol);
    auto run = reinterpret_cast<int (*)(void *, int)>(symbol);
    alignas(16) static char values[16];
    int before = driver.launches();
    last = 0;
    CHECK(run(values, 41) == 1);
    CHECK(last == 42);
    CHECK(driver.launches() == before + 3);
    symbol = dlsym(plug_in, "hooked");
    REQUIRE(symbol);
    auto hooked = reinterpret_cast<int (*)()>(symbol);
    CHECK(hooked() == 112);          // 1 error, 1 load, 2 choices; then no hooks
    CHECK(run(values + 1, 41) == 0); // misaligned
    CHECK(driver.launches() == before + 3);
  }
}
