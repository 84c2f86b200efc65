// Tests generator/support/watchdog.cpp, and --time-limit and --memory-limit of the tool.

#include "support/watchdog.h"

#include "support/child_process.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>

using namespace tritonc;

namespace {

constexpr std::chrono::seconds patience{1000}; // a busy machine gives little CPU time

// The watchdog's error; empty if none. Waits at most `patience` if `is_exceeded`, else 1 s.
template <typename Work> std::string said(Budget budget, bool is_exceeded, Work work) {
  std::atomic<bool> has_said = false;
  std::string text_said;
  {
    Watchdog watchdog(budget, [&](const Error &failure) {
      text_said = text(failure);
      has_said = true;
    });
    Watchdog::Task task(&watchdog, "`f`");
    auto end =
        std::chrono::steady_clock::now() + (is_exceeded ? patience : std::chrono::seconds(1));
    while (!has_said && std::chrono::steady_clock::now() < end)
      work();
  }
  return text_said;
}

void compute() {
  volatile unsigned number = 0;
  for (unsigned i = 0; i < 100000; i++)
    number = number + i;
}
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

} // namespace

TEST_CASE("Watchdog: names a task that exceeds its CPU time") {
  CHECK(said({.seconds = 1, .bytes = 0}, true, compute) ==
        "error: time limit exceeded: 1 seconds of CPU time on `f`; increase the limit with "
        "--time-limit");
}

TEST_CASE("Watchdog: ignores a waiting task and limit 0") {
  CHECK(said({.seconds = 1, .bytes = 0}, false, rest) == "");
  CHECK(said({.seconds = 0, .bytes = 0}, false, compute) == "");
  CHECK(said({.seconds = 60, .bytes = 1ll << 40}, false, compute) == "");
}

TEST_CASE("Watchdog: reports memory over the limit") {
  std::string text = said({.seconds = 0, .bytes = 1 << 20}, true, rest);
  CHECK(text.rfind("error: memory limit exceeded: ", 0) == 0);
  CHECK(text.find(" MiB in use; increase the limit with --memory-limit, or run fewer jobs with "
                  "-j") != text.npos);
}

TEST_CASE("Watchdog: no report for a null watchdog or without a task") {
  Watchdog::Task task(nullptr, "`f`");
  bool has_said = false;
  {
    Watchdog watchdog({.seconds = 0, .bytes = 1}, [&](const Error &) { has_said = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  CHECK_FALSE(has_said);
}

TEST_CASE("--time-limit, --memory-limit: tool stops with code 3") {
  TemporaryFolder files;
  // LLVM needs more than 10 seconds for these millions of operations, 128 powers a thread and line. So
  // few lines need far less than 1 s before that, with sanitizers too. An exponent of 0 would make all
  // values constants, which takes LLVM a second.
  std::string source = "__global__ void f(float *p) {\n"
                       "  int i[16384] = 0 ... 16384;\n"
                       "  float v[16384] = *(p + i);\n";
  for (int i = 0; i < 300; i++)
    source += "  v = pow(v, " + std::to_string(i) + ".5f);\n";
  std::string path = files.write("f.tc", source + "  *(p + i) = v;\n}\n");
  auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {TRITONC_TOOL, "compile", path,  "--arch", "80", "--emit",
                                          "ptx",        "-o",      "out", "-j",     "1"};
    arguments[8] = files.path("out");
    arguments.insert(arguments.end(), more.begin(), more.end());
    ChildResult child = run_child(arguments, "/tmp");
    REQUIRE(child.end == ChildResult::End::exited);
    CHECK(child.code == 3);
    CHECK_FALSE(files.exists("out"));
    return child.output;
  };
  CHECK(run({"--memory-limit", "20M"}).find("error: memory limit exceeded: ") == 0);
  CHECK(run({"--time-limit", "1"}) ==
        "error: time limit exceeded: 1 seconds of CPU time on `f` for sm_80; increase the limit "
        "with --time-limit\n");
}
