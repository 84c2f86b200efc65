// Tests progress.cpp: by a clock of its own, and as whoever calls the tool sees it.

#include "support/progress.h"

#include "backend/fake_tool.h"
#include "backend/toolchain.h"
#include "source_files.h"
#include "support/child_process.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace tritonc;

namespace {

using std::chrono::milliseconds;

// What is written, and a clock that is set.
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

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// A compilation of four jobs, each of which takes a while.
std::string slow_compilation(const SourceFiles &files, const FakeTool &ptxas) {
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

TEST_CASE("on a terminal: a line that is written over, and gone at the end") {
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

TEST_CASE("in a log: lines, ten seconds apart") {
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
  waiting.after(30'000, true); // the last one: there is nothing left
  waiting.progress.finish();
  CHECK(waiting.take() == "");
}

TEST_CASE("nothing to say of what is done at once") {
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

TEST_CASE("a short compilation says nothing in a log, a long one does") {
  SourceFiles files;
  FakeTool quick("ptxas", slow_ptxas("0")), slow("ptxas", slow_ptxas("5.1"));
  auto run = [&](const std::string &command) {
    ChildResult child = run_child({"/bin/sh", "-c", "exec " + command}, "/tmp");
    REQUIRE(child.end == ChildResult::End::exited);
    CHECK(child.code == 0);
    return child.output;
  };
  CHECK(run(slow_compilation(files, quick)) == "");
  std::string said = run(slow_compilation(files, slow));
  CHECK(said.rfind("compiled 2 of 4 variants, about 1", 0) == 0);
  CHECK(said.find('\n') == said.size() - 1);
}

TEST_CASE("a terminal shows how far it is, unless the tool is to be quiet") {
  SourceFiles files;
  FakeTool slow("ptxas", slow_ptxas("0.4"));
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  std::string name = ptsname(terminal);
  int other_end = open(name.c_str(), O_RDWR | O_NOCTTY); // so that what was written stays
  REQUIRE(other_end >= 0);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  auto shown = [&](const std::string &command) {
    ChildResult child = run_child({"/bin/sh", "-c", "exec " + command + " 2>" + name}, "/tmp");
    CHECK(child.code == 0);
    // The kernel hands on what was written in its own time, in pieces.
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
