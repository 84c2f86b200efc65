// Tests generator/compile.cpp and generator/support/write_files.h: the same sources, options and
// tools give the same bytes. User, folder, time and number of builds do not matter.
//
//     test_reproducible              # each setting with one of the choices, by the seed of the day
//     test_reproducible --no-skip    # each setting with all choices

#include "support/child_process.h"
#include "support/sample.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

namespace fs = std::filesystem;

// A matmul has many schedules for sm_90a, so the order in which the jobs end varies.
const char *matmul_source = R"(
#pragma tritonc tune(TM: 32, 64)
#pragma tritonc grid(M / TM, N / 64)
#pragma tritonc require(K % 32 == 0)
__global__ void matmul(half *A __readonly, half *B __readonly, half *C, int M, int N __multipleof(8),
                        int K __multipleof(8)) {
  int rm[TM] = get_program_id(0) * TM + 0 ... TM;
  int rn[64] = get_program_id(1) * 64 + 0 ... 64;
  int rk[32] = 0 ... 32;
  half *pa[TM, 32] = A + rm[:, newaxis] * K + rk[newaxis, :];
  half *pb[32, 64] = B + rk[:, newaxis] * N + rn[newaxis, :];
  float sum[TM, 64] = 0;
  for (int k = 0; k < K; k += 32) {
    half a[TM, 32] = *pa;
    half b[32, 64] = *pb;
    assert(a == a, "numbers");
    sum += a @ b;
    pa += 32;
    pb += 32 * N;
  }
  half *pc[TM, 64] = C + rm[:, newaxis] * N + rn[newaxis, :];
  *pc = sum;
}
)";

// The differences between two builds.
struct Setting {
  std::string before = "";          // shell commands before the build
  std::string folder = "";          // subfolder of a new folder
  std::string options = "--jobs 1"; // options without an effect on the outputs
  std::string tool = TRITONC_TOOL;
};

// All outputs of a build, each after its name. `choice` has the options that change outputs.
std::string build(const Setting &setting, const std::string &choice) {
  TemporaryFolder files;
  std::string folder = files.path("place" + setting.folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/scale.tc") << scale_source;
  std::ofstream(folder + "/matmul.tc") << matmul_source;
  fs::create_directories(folder + "/out");
  std::string script = "cd '" + folder +
                       "' && export TRITONC_CACHE_DIR=off CACHE=" + files.path("cache") + "\n" +
                       setting.before + "\nexec " + setting.tool + " compile scale.tc matmul.tc " +
                       choice + " --name both --header out/both.hpp --manifest out/both.json " +
                       "--report out/both.txt --depfile out/both.d --quiet " + setting.options;
  ChildResult child = run_child({"/bin/sh", "-c", script}, "/tmp");
  REQUIRE(child.end == ChildResult::End::exited);
  REQUIRE_MESSAGE(child.code == 0, child.output);
  std::string outputs = "said\n" + child.output;
  for (const char *name : {"both.hpp", "both.o", "both.a", "both.json", "both.txt", "both.d"}) {
    std::ifstream file(folder + "/out/" + name, std::ios::binary);
    outputs += name + std::string((std::istreambuf_iterator<char>(file)), {});
  }
  return outputs;
}

// The text before the first difference; empty if the outputs are equal.
std::string difference(const std::string &a, const std::string &b) {
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at])
    at++;
  if (at == a.size() && at == b.size())
    return "";
  return "at " + std::to_string(at) + ": " + a.substr(at - std::min<size_t>(at, 200), 220);
}

const Setting settings[] = {
    {.before = "# once more"},
    {.options = "--jobs 2"},
    {.options = "--jobs 7"},
    {.folder = "/of another name/with a space"},
    {.before = "export LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 LC_NUMERIC=fr_FR"},
    {.before = "export TZ=Pacific/Kiritimati; touch -d '1999-01-01' *.tc"},
    {.before = "export HOME=/nonexistent USER=nobody LOGNAME=nobody XDG_CACHE_HOME=/nonexistent"},
    {.before = "umask 077"},
    {.before = "umask 0"},
    {.before = "export COLUMNS=20 TERM=xterm-256color SOURCE_DATE_EPOCH=0 TMPDIR=/tmp PADDING=" +
               std::string(5000, 'x')},
    {.before = "ln -s " TRITONC_TOOL " other-name", .tool = "./other-name"},
    {.options = "--jobs 2 --time-report 2>/dev/null"},
    {.options = "--jobs 2 --verify-each"},
    {.options = "--jobs 2 --cache-dir $CACHE"}, // the cache is empty
    {.before = TRITONC_TOOL " compile scale.tc matmul.tc $CHOICE --name both "
                            "--header out/both.hpp --cache-dir $CACHE && rm out/* || exit 9",
     .options = "--jobs 2 --cache-dir $CACHE"}, // the cache has all code
};

// Options that change outputs.
const std::string choices[] = {
    "--arch 80,90a --emulate 80,90a --host-code out/both.a --object out/both.o",
    "--arch 75,90 --embed header",
    "--arch 80,90a --line-info --object out/both.o",
    "--arch 80,90a --checks --object out/both.o",
};

// The settings take turns over the choices, beginning at a random choice.
std::vector<Setting> settings_for(size_t choice) {
  test::Sample sample = test::sample_of_this_run("reproducible", 100 / int(std::size(choices)));
  std::vector<Setting> chosen;
  for (size_t i = 0; i < std::size(settings); i++)
    if (sample.is_full() || (sample.number("turn") + i) % std::size(choices) == choice)
      chosen.push_back(settings[i]);
  return chosen;
}

void check_all(size_t number) {
  const std::string &choice = choices[number];
  std::string first = build({}, choice);
  CHECK(first.find("/tritonc-") == std::string::npos); // the folder of this test
  for (Setting setting : settings_for(number)) {
    CAPTURE(setting.before.substr(0, 200));
    CAPTURE(setting.folder);
    CAPTURE(setting.options);
    if (size_t at = setting.before.find("$CHOICE"); at != std::string::npos)
      setting.before.replace(at, 7, choice);
    CHECK(difference(first, build(setting, choice)) == "");
  }
}

} // namespace

TEST_CASE("same bytes: object and host code for the emulator") { check_all(0); }
TEST_CASE("same bytes: self-contained header") { check_all(1); }
TEST_CASE("same bytes: --line-info, which names the source") { check_all(2); }
TEST_CASE("same bytes: --checks, which names the source") { check_all(3); }

TEST_CASE("different bytes: -D, --arch, --line-info and --checks") {
  std::string first = build({}, "--arch 80 --embed header");
  CHECK(difference(first, build({}, "--arch 80 --embed header -D half=bfloat16")) != "");
  CHECK(difference(first, build({}, "--arch 86 --embed header")) != "");
  CHECK(difference(first, build({}, "--arch 80 --embed header --line-info")) != "");
  CHECK(difference(first, build({}, "--arch 80 --embed header --checks")) != "");
}
