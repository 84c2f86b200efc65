// Tests generator/support/progress.cpp: with a fake clock, and in `tritonc compile`.

#include "support/progress.h"

#include "backend/toolchain.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace tritonc;

namespace {

using std::chrono::milliseconds;

// Records the output. The clock is fake.
struct Waiting {
  explicit Waiting(bool is_terminal)
      : progress(
            is_terminal, [this](const std::string &text) { written += text; },
            [this] { return time; }) {}

  void after(int count, bool is_variant_done = false) {
    time += milliseconds(count);
    progress.job_done(is_variant_done);
  }
  std::string take() { return std::exchange(written, ""); }

  Progress::Time time = {};
  std::string written;
  Progress progress;
};

// The command of a compilation with four slow jobs.
std::string slow_compilation(const TemporaryFolder &files, const FakeTool &ptxas) {
  std::ofstream(files.path("scale.tc")) << scale_source;
  return std::string(TRITONC_TOOL) + " compile " + files.path("scale.tc") +
         " --arch 80 --jobs 1 --header " + files.path("scale.hpp") + " --object " +
         files.path("scale.o") + " --ptxas " + ptxas.path();
}

std::string slow_ptxas(const char *seconds) {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  return std::string("case \"$*\" in *--version*) ;; *) sleep ") + seconds + " ;; esac\nexec " +
         tools->ptxas + " \"$@\"";
}

} // namespace

TEST_CASE("Progress: updates one line on a terminal, erases it at end") {
  Waiting waiting(true);
  waiting.progress.start(10, 2, 24);
  waiting.after(300);
  CHECK(waiting.take() == "");
  waiting.after(300, true);
  CHECK(waiting.take() == "\r\033[Kcompiled 3 of 10 variants, about 6 s left");
  waiting.after(50, true); // too soon
  CHECK(waiting.take() == "");
  waiting.after(4350);
  CHECK(waiting.take() == "\r\033[Kcompiled 4 of 10 variants, about 25 s left");
  waiting.after(595'000, true);
  CHECK(waiting.take() == "\r\033[Kcompiled 5 of 10 variants, about 38 min 0 s left");
  waiting.after(7'000'000, true);
  CHECK(waiting.take() == "\r\033[Kcompiled 6 of 10 variants, about 6 h 20 min left");
  waiting.progress.finish();
  CHECK(waiting.take() == "\r\033[K");
  waiting.progress.finish();
  CHECK(waiting.take() == "");
}

TEST_CASE("Progress: writes a line every 10 seconds to a log") {
  Waiting waiting(false);
  waiting.progress.start(4, 0, 8);
  for (int i = 0; i < 3; i++)
    waiting.after(3000, i == 1);
  CHECK(waiting.take() == "");
  waiting.after(3000);
  CHECK(waiting.take() == "compiled 1 of 4 variants, about 12 s left\n");
  waiting.after(3000);
  waiting.after(3000);
  CHECK(waiting.take() == "");
  waiting.after(4000, true);
  CHECK(waiting.take() == "compiled 2 of 4 variants, about 3 s left\n");
  waiting.after(30'000, true); // the last variant: nothing is left
  waiting.progress.finish();
  CHECK(waiting.take() == "");
}

TEST_CASE("Progress: prints nothing for a short run") {
  for (bool is_terminal : {false, true}) {
    Waiting waiting(is_terminal);
    waiting.progress.start(4, 4, 0);
    waiting.progress.finish();
    waiting.progress.start(4, 0, 4);
    for (int i = 0; i < 4; i++)
      waiting.after(100, true);
    waiting.progress.finish();
    CHECK(waiting.take() == "");
  }
}

TEST_CASE("tritonc compile: a long run prints progress to a log") {
  TemporaryFolder files;
  FakeTool slow("ptxas", slow_ptxas("5.1"));
  std::string command = "exec " + slow_compilation(files, slow);
  ChildResult child = run_child({"/bin/sh", "-c", command}, "/tmp");
  REQUIRE(child.end == ChildResult::End::exited);
  CHECK(child.code == 0);
  CHECK(contains(child.output, "compiled "));
  CHECK(contains(child.output, " of 4 variants, about "));
  CHECK(child.output.back() == '\n');
}

TEST_CASE("tritonc compile: progress on a terminal, none with --quiet") {
  TemporaryFolder files;
  FakeTool slow("ptxas", slow_ptxas("0.4"));
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  std::string name = ptsname(terminal);
  int other_end = open(name.c_str(), O_RDWR | O_NOCTTY); // keeps the written text
  REQUIRE(other_end >= 0);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  auto shown = [&](const std::string &command) {
    ChildResult child = run_child({"/bin/sh", "-c", "exec " + command + " 2>" + name}, "/tmp");
    CHECK(child.code == 0);
    // The operating system delivers the text late, and in several parts.
    std::string text;
    pollfd readable = {.fd = terminal, .events = POLLIN, .revents = 0};
    char buffer[4096];
    while (poll(&readable, 1, 300) > 0) {
      ssize_t count = read(terminal, buffer, sizeof buffer);
      if (count <= 0)
        break;
      text.append(buffer, size_t(count));
    }
    return text;
  };
  std::string text = shown(slow_compilation(files, slow));
  CAPTURE(text);
  CHECK(contains(text, "\r\033[Kcompiled 2 of 4 variants, about "));
  CHECK(text.substr(text.size() - 4) == "\r\033[K");
  CHECK(shown(slow_compilation(files, slow) + " --quiet") == "");
  close(other_end);
  close(terminal);
}
