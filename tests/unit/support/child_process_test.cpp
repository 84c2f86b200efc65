// Tests generator/support/child_process.cpp.

#include "support/child_process.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
  auto begin = std::chrono::steady_clock::now();
  ChildResult child = shell("sleep 100 & echo $!; wait", {.time = 200ms});
  CHECK(child.end == End::timed_out);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  REQUIRE(!child.output.empty());
  std::this_thread::sleep_for(50ms);
  CHECK_FALSE(is_alive(child.output.substr(0, child.output.find('\n'))));
}

TEST_CASE("run_child: stops a background process that holds the pipe") {
  auto begin = std::chrono::steady_clock::now();
  ChildResult child = shell("sleep 100 & echo $!", {.time = 20s});
  CHECK(child.end == End::exited);
  CHECK(child.code == 0);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  std::this_thread::sleep_for(50ms);
  CHECK_FALSE(is_alive(child.output.substr(0, child.output.find('\n'))));
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
  char folder[] = "/tmp/child_process_test.XXXXXX";
  REQUIRE(mkdtemp(folder));
  std::string in = folder + std::string("/in"), out = folder + std::string("/out"),
              err = folder + std::string("/err");
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
  std::this_thread::sleep_for(50ms);
  std::string left = contents(out);
  CHECK_FALSE(is_alive(left.substr(0, left.find('\n'))));
  int pid = 0;
  CHECK(start_child({"/nowhere/runner"}, {"", out, err}, pid) == ENOENT);
  std::filesystem::remove_all(folder);
}

TEST_CASE("kill_children: ends running children and blocks new ones") {
  ChildResult child;
  std::atomic<bool> returned = false, second_ended = false;
  std::thread waiting([&] {
    child = shell("sleep 100", {.time = 60s});
    returned = true;
    shell("true");
    second_ended = true;
  });
  std::this_thread::sleep_for(200ms);
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
