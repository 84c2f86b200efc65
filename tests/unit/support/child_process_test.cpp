// Tests generator/support/child_process.cpp.

#include "support/child_process.h"

#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tritonc;
using namespace std::chrono_literals;
using End = ChildResult::End;

namespace {

ChildResult shell(const std::string &script, const ChildLimits &limits = {}) {
  return run_child({"/bin/sh", "-c", script}, "/tmp", limits);
}

// Whether the process with this id is alive; false for a zombie.
bool is_alive(const std::string &number) {
  std::ifstream file("/proc/" + number + "/stat");
  std::string id, name, state;
  return bool(file >> id >> name >> state) && state != "Z";
}

// Waits until the condition holds; false after a minute. The machine may be busy.
template <typename Condition> bool comes_true(const Condition &condition) {
  for (int i = 0; i < 12000; i++) {
    if (condition())
      return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

// Whether a killed process dies. The kernel needs a moment after the signal.
bool dies(const std::string &number) {
  return comes_true([&] { return !is_alive(number); });
}

} // namespace

TEST_CASE("run_child: returns exit code and both outputs") {
  ChildResult child = shell("echo out; echo err >&2; exit 7");
  CHECK(child.end == End::exited);
  CHECK(child.code == 7);
  CHECK(child.output == "out\nerr\n");
}

TEST_CASE("run_child: reports a signal") {
  ChildResult child = shell("kill -SEGV $$");
  CHECK(child.end == End::signalled);
  CHECK(child.code == SIGSEGV);
}

TEST_CASE("run_child: reports a missing program") {
  ChildResult child = run_child({"/nowhere/ptxas"}, "/tmp");
  CHECK(child.end == End::not_started);
  CHECK(child.code == ENOENT);
}

TEST_CASE("run_child: stops a child and its children at the time limit") {
  ChildResult child = shell("sleep 10000 & echo $!; wait", {.time = 3s});
  CHECK(child.end == End::timed_out);
  REQUIRE(!child.output.empty());
  CHECK(dies(child.output.substr(0, child.output.find('\n'))));
}

TEST_CASE("run_child: stops a background process that holds the pipe") {
  ChildResult child = shell("sleep 10000 & echo $!", {.time = 10min});
  CHECK(child.end == End::exited);
  CHECK(child.code == 0);
  CHECK(dies(child.output.substr(0, child.output.find('\n'))));
}

TEST_CASE("run_child: waits after the child closes its outputs") {
  ChildResult child = shell("exec >&- 2>&-; sleep 0.2; exit 3");
  CHECK(child.end == End::exited);
  CHECK(child.code == 3);
}

TEST_CASE("run_child: cuts output at the limit without blocking") {
  ChildResult child = shell("head -c 3000000 /dev/zero", {.output_bytes = 1000});
  CHECK(child.end == End::exited);
  CHECK(child.output.size() == 1000);
}

TEST_CASE("run_child: environment is small and fixed") {
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  setenv("TRITONC_TEST_SECRET", "secret", 1);
  ChildResult child = run_child({"/usr/bin/env"}, "/somewhere");
  CHECK(child.output.find("LC_ALL=C\n") != std::string::npos);
  CHECK(child.output.find("TMPDIR=/somewhere\n") != std::string::npos);
  CHECK(child.output.find("secret") == std::string::npos);
  unsetenv("LC_ALL");
  unsetenv("TRITONC_TEST_SECRET");
}

TEST_CASE("start_child: keeps the environment and redirects to files") {
  TemporaryFolder files;
  std::string in = files.path("in"), out = files.path("out"), err = files.path("err");
  auto run = [&](const std::string &script, const std::string &input) {
    int pid = 0;
    REQUIRE(start_child({"/bin/sh", "-c", script}, {input, out, err}, pid) == 0);
    std::optional<ChildResult> ended;
    while (!(ended = ended_child(pid)))
      std::this_thread::sleep_for(5ms);
    return *ended;
  };
  auto contents = [](const std::string &path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  std::ofstream(in) << "what it reads\n";
  setenv("TRITONC_TEST_SECRET", "secret", 1);
  ChildResult child = run("cat; echo $TRITONC_TEST_SECRET; echo wrong >&2; exit 7", in);
  CHECK(child.end == End::exited);
  CHECK(child.code == 7);
  CHECK(contents(out) == "what it reads\nsecret\n");
  CHECK(contents(err) == "wrong\n");
  unsetenv("TRITONC_TEST_SECRET");
  child = run("cat; sleep 100 & echo $!; kill -SEGV $$", "");
  CHECK(child.end == End::signalled);
  CHECK(child.code == SIGSEGV);
  std::string left = contents(out);
  CHECK(dies(left.substr(0, left.find('\n'))));
  int pid = 0;
  CHECK(start_child({"/nowhere/runner"}, {"", out, err}, pid) == ENOENT);
}

TEST_CASE("end_child: kills a child of start_child with its children") {
  TemporaryFolder files;
  std::string out = files.path("out");
  int pid = 0;
  REQUIRE(start_child({"/bin/sh", "-c", "sleep 10000 & echo $!; wait"},
                      {"", out, files.path("err")}, pid) == 0);
  CHECK(comes_true([&] { return files.read("out").find('\n') != std::string::npos; }));
  end_child(pid);
  std::string left = files.read("out");
  CHECK(dies(left.substr(0, left.find('\n'))));
  CHECK(dies(std::to_string(pid)));
}

TEST_CASE("kill_children: ends running children and blocks new ones") {
  TemporaryFolder files;
  ChildResult child;
  std::atomic<bool> returned = false, second_ended = false;
  std::thread waiting([&] {
    child = shell("touch " + files.path("started") + "; sleep 10000", {.time = 10min});
    returned = true;
    shell("true");
    second_ended = true;
  });
  CHECK(comes_true([&] { return files.exists("started"); }));
  {
    auto no_more_children = kill_children();
    std::this_thread::sleep_for(50ms);
    CHECK_FALSE(returned);
  }
  waiting.join();
  CHECK(child.end == End::signalled);
  CHECK(child.code == SIGKILL);
  CHECK(second_ended);
}

TEST_CASE("run_child, start_child: SIGKILL of the parent kills the child") {
  for (bool is_run : {true, false}) {
    CAPTURE(is_run);
    int ends[2];
    REQUIRE(pipe(ends) == 0); // all descendants inherit the write end
    const std::vector<std::string> command = {"/bin/sh", "-c",
                                              "echo $$ >/proc/self/fd/" + std::to_string(ends[1]) +
                                                  "; exec sleep 10000"};
    pid_t parent = fork();
    if (parent == 0) {
      int pid = 0;
      if (is_run) // in a thread, like the compiler
        std::thread([&] { run_child(command, "/tmp", {.time = 10min}); }).join();
      else if (start_child(command, {"", "/dev/null", "/dev/null"}, pid) == 0)
        pause();
      _exit(1);
    }
    close(ends[1]);
    char said[32] = {};
    REQUIRE(read(ends[0], said, sizeof said - 1) > 0);
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    pollfd end = {ends[0], POLLIN, 0};
    bool is_dead = poll(&end, 1, 60'000) == 1; // the pipe ends with the last descendant
    CHECK(is_dead);
    if (!is_dead)
      kill(std::atoi(said), SIGKILL);
    close(ends[0]);
  }
}

TEST_CASE("start_child: the child outlives other threads") {
  TemporaryFolder files;
  REQUIRE(mkfifo(files.path("fifo").c_str(), 0600) == 0);
  int fifo = open(files.path("fifo").c_str(), O_RDWR | O_CLOEXEC);
  int pid = 0;
  REQUIRE(start_child({"/bin/sh", "-c", "read code; exit $code"},
                      {files.path("fifo"), "/dev/null", "/dev/null"}, pid) == 0);
  std::thread([] {}).join();
  CHECK_FALSE(ended_child(pid));
  REQUIRE(write(fifo, "7\n", 2) == 2);
  std::optional<ChildResult> ended;
  CHECK(comes_true([&] { return (ended = ended_child(pid)).has_value(); }));
  close(fifo);
  REQUIRE(ended);
  CHECK(ended->end == End::exited);
  CHECK(ended->code == 7);
}

TEST_CASE("run_child, start_child: report a missing file and leave no process") {
  TemporaryFolder files;
  int pid = 0;
  CHECK(start_child({"/bin/true"}, {"", "/nowhere/out", files.path("err")}, pid) == ENOENT);
  CHECK(start_child({"/bin/true"}, {files.path("none"), files.path("out"), files.path("err")},
                    pid) == ENOENT);
  CHECK(start_child({"/nowhere/runner"}, {"", files.path("out"), files.path("err")}, pid) ==
        ENOENT);
  CHECK(run_child({"/dev/null"}, "/tmp").code == EACCES);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}
