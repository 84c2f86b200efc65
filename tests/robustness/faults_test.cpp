// Tests generator/support/write_files.cpp and generator/jobs/cache.cpp: the outputs of a build after a
// failure. Also tests what `tritonc doctor` says about failures that only a faked system call shows.
//
// The failures are:
//   - each system call of the tool fails once;
//   - a signal kills the tool at any moment;
//   - two builds write the same files.
//
// After each failure, an output is the complete old file, the complete new file, or missing. The
// tool never reports success after a failure.
//
// TRITONC_KILLS sets how often the tool is killed; the default is 20.

#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tritonc;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> outputs = {"scale.hpp", "scale.o", "scale.json", "scale.d"};

// A source, its outputs, and a cache.
class Project {
public:
  explicit Project(const std::string &source = scale_source) { files.write("scale.tc", source); }

  /// Runs the tool in a shell; `before` is the shell text before the command.
  ToolRun compile(const std::string &before = "exec") const {
    std::string script = before +
                         " " TRITONC_TOOL " compile scale.tc --arch 80 --jobs 1 "
                         "--variants 'TYPE=half;SIZE=128' --header scale.hpp "
                         "--object scale.o --manifest scale.json --depfile scale.d "
                         "--stamp stamp --cache-dir " +
                         cache;
    ChildResult child =
        run_child({"/bin/sh", "-c", "cd " + files.path("") + " && " + script}, "/tmp");
    // A signal that kills the tool gives 128 plus its number, as in a shell.
    if (child.end == ChildResult::End::signalled)
      return {128 + child.code, child.output};
    REQUIRE(child.end == ChildResult::End::exited);
    return {child.code, child.output};
  }

  /// A run in which one system call fails. `path` is the argument of this call; empty if the tool
  /// makes fewer calls.
  struct FaultyRun : ToolRun {
    bool was_hit;
    std::string path;
  };
  FaultyRun compile_with_fault(const std::string &kind, int n, const std::string &how) const {
    fs::remove(files.path("report"));
    ToolRun run =
        compile("exec env LD_PRELOAD=" TRITONC_FAILING_CALLS " TRITONC_FAULT=" + kind + ":" +
                std::to_string(n) + ":" + how + " TRITONC_FAULT_REPORT=" + files.path("report"));
    std::string path = files.read("report");
    return {run, !path.empty(), path.substr(0, path.find('\n'))};
  }

  std::vector<std::string> contents() const {
    std::vector<std::string> contents;
    for (const std::string &name : outputs)
      contents.push_back(files.exists(name) ? files.read(name) : "none");
    return contents;
  }

  void make_old() const {
    for (const std::string &name : outputs)
      std::ofstream(files.path(name)) << "old";
    fs::remove(files.path("stamp"));
  }

  int count_temporary_files() const {
    int count = 0;
    for (const auto &entry : fs::recursive_directory_iterator(files.path("")))
      count += entry.path().filename().string().rfind(".tritonc-tmp-", 0) == 0;
    return count;
  }

  TemporaryFolder files;
  std::string cache = "off";
};

// The outputs of a build without failures.
std::vector<std::string> expected(const char *source = scale_source) {
  Project project(source);
  ToolRun run = project.compile();
  REQUIRE_MESSAGE(run.code == 0, run.output);
  return project.contents();
}

// Checks the conditions that hold after every failure.
void check_after(const Project &project, const Project::FaultyRun &run,
                 const std::vector<std::string> &right) {
  CAPTURE(run.path);
  CAPTURE(run.output);
  std::vector<std::string> found = project.contents();
  if (run.code == 0) {
    CHECK((found == right));
    CHECK(project.files.exists("stamp"));
  } else {
    CHECK((run.code >= 1 && run.code <= 3)); // 1: cannot read an included file
    CHECK(run.output.rfind("error: ", 0) == 0);
    for (const std::string &content : found)
      CHECK((content == "old" || content == "none"));
    CHECK_FALSE(project.files.exists("stamp"));
  }
  CHECK(project.count_temporary_files() == 0);
}

bool is_in_cache(const std::string &path) {
  return path.rfind("cache/", 0) == 0 || path.find("/cache/") != std::string::npos;
}

// Lets each call of the kind fail once. Returns the number of calls.
int for_each_call(const std::string &kind, const std::string &how, const std::string &cache) {
  const std::vector<std::string> right = expected();
  for (int n = 1;; n++) {
    CAPTURE(kind);
    CAPTURE(n);
    Project project;
    project.cache = cache;
    project.make_old();
    Project::FaultyRun run = project.compile_with_fault(kind, n, how);
    if (!run.was_hit) {
      CHECK(run.code == 0);
      return n - 1;
    }
    check_after(project, run, right);
    // A failure in the cache is harmless. A failure in an output is an error.
    if (is_in_cache(run.path)) {
      CHECK(run.code == 0);
      if (kind != "open")
        CHECK(run.output.find("warning: cannot store code in the cache `") == 0);
    } else if (kind != "open")
      CHECK(run.code == 3);
    // The next build succeeds.
    ToolRun next = project.compile();
    CHECK(next.code == 0);
    CHECK(next.output == "");
    CHECK((project.contents() == right));
  }
}

int kills() {
  const char *text = std::getenv("TRITONC_KILLS");
  return text ? std::atoi(text) : 10;
}

std::string error(int number) { return std::to_string(number); }

} // namespace

TEST_CASE("tritonc compile: reports failed write, fsync, rename or exec") {
  for (const char *cache : {"off", "cache"}) {
    CAPTURE(cache);
    // write: all outputs, and the inputs of ptxas and fatbinary. fsync, rename: all outputs.
    CHECK(for_each_call("write", error(ENOSPC), cache) >= 6);
    CHECK(for_each_call("fsync", error(EIO), cache) >= 5);
    CHECK(for_each_call("rename", error(EACCES), cache) >= 5);
    CHECK(for_each_call("exec", error(EAGAIN), cache) == 3); // ptxas twice, fatbinary once
  }
}

TEST_CASE("tritonc compile: reports failed open") {
  CHECK(for_each_call("open", error(EMFILE), "cache") >= 12);
}

TEST_CASE("tritonc compile: writes no file without temporary directory") {
  Project project;
  project.make_old();
  Project::FaultyRun run = project.compile_with_fault("mkdtemp", 1, std::to_string(ENOSPC));
  REQUIRE(run.was_hit);
  CHECK(run.code == 3);
  CHECK(run.output.find("error: cannot create a temporary directory in `") == 0);
  CHECK(run.output.find("No space left on device; set TMPDIR to another directory\n") !=
        run.output.npos);
  CHECK(project.contents() == std::vector<std::string>(outputs.size(), "old"));
}

TEST_CASE("tritonc compile: continues interrupted and short writes") {
  const std::vector<std::string> right = expected();
  for (const char *how : {"4", "short"}) // EINTR
    for (int n = 1;; n++) {
      CAPTURE(how);
      CAPTURE(n);
      Project project;
      Project::FaultyRun run = project.compile_with_fault("write", n, how);
      CHECK(run.code == 0);
      CHECK((project.contents() == right));
      if (!run.was_hit) {
        CHECK(n > 6);
        break;
      }
    }
}

TEST_CASE("SIGKILL at each call: outputs are old or new files") {
  const std::vector<std::string> right = expected();
  int between = 0;
  for (const char *kind : {"open", "write", "fsync", "rename", "exec"})
    for (int n = 1;; n++) {
      CAPTURE(kind);
      CAPTURE(n);
      Project project;
      project.cache = "cache";
      project.make_old();
      Project::FaultyRun run = project.compile_with_fault(kind, n, "kill");
      CHECK(run.code == (run.was_hit ? 137 : 0));
      std::vector<std::string> found = project.contents();
      int news = 0;
      for (size_t i = 0; i < found.size(); i++) {
        CHECK((found[i] == "old" || found[i] == right[i]));
        news += found[i] == right[i];
      }
      between += news != 0 && news != int(found.size());
      if (project.files.exists("stamp"))
        CHECK(news == int(found.size()));
      ToolRun next = project.compile();
      CHECK(next.code == 0);
      CHECK(next.output == "");
      CHECK((project.contents() == right));
      CHECK(project.count_temporary_files() == 0);
      if (!run.was_hit)
        break;
    }
  CHECK(between >= 3); // the stamp detects this case
}

TEST_CASE("SIGKILL at any moment: outputs are old or new files") {
  std::string changed = scale_source;
  changed.insert(changed.find("* factor"), "+ 1 ");
  const std::vector<std::string> right[] = {expected(), expected(changed.c_str())};
  REQUIRE(right[0][1] != right[1][1]);
  Project project;
  project.cache = "cache";
  double takes[2]; // seconds, with all code in the cache and with none
  for (bool is_cold : {true, false}) {
    auto start = std::chrono::steady_clock::now();
    REQUIRE(project.compile().code == 0);
    takes[is_cold] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::mt19937 random(7);
  int killed = 0, mixed = 0, now = 1; // index of the source
  // More rounds if the tool ends before the kill, because the machine was busy during the measurement.
  const int max_rounds = 10 * kills();
  int round = 0;
  for (; killed < kills() && round < max_rounds; round++) {
    CAPTURE(round);
    bool is_cold = round % 2;
    if (is_cold)
      fs::remove_all(project.files.path("cache"));
    project.files.write("scale.tc", now ? changed : scale_source);
    fs::remove(project.files.path("stamp"));
    double seconds = takes[is_cold] * double(random() % 1000 + 1) / 1000;
    ToolRun run = project.compile("exec timeout -s KILL " + std::to_string(seconds));
    killed += run.code != 0;
    CHECK((run.code == 0 || run.code == 137));
    std::vector<std::string> found = project.contents();
    int news = 0, olds = 0; // outputs that differ
    for (size_t i = 0; i < found.size(); i++) {
      CHECK((found[i] == right[0][i] || found[i] == right[1][i]));
      news += found[i] != right[!now][i];
      olds += found[i] != right[now][i];
    }
    mixed += news != 0 && olds != 0;
    if (project.files.exists("stamp"))
      CHECK(olds == 0);
    ToolRun next = project.compile();
    CHECK(next.code == 0);
    CHECK(next.output == "");
    CHECK((project.contents() == right[now]));
    CHECK(project.count_temporary_files() == 0);
    now = !now;
  }
  MESSAGE("killed ", killed, " of ", round, " times, ", mixed, " of them between two outputs");
  CHECK(killed == kills());
}

TEST_CASE("SIGKILL of the tool kills its ptxas") {
  Project project;
  const std::string fifo = project.files.path("fifo"), ptxas = project.files.path("ptxas");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  project.files.write("ptxas", "#!/bin/sh\n"
                               "[ \"$1\" = --version ] && echo ', V13.0.88' && exit\n"
                               "exec 9>" +
                                   fifo + "\necho $$ >&9\nexec sleep 10000\n");
  fs::permissions(ptxas, fs::perms::owner_all);
  int reading = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto has_more = [&] {
    pollfd event = {reading, POLLIN, 0};
    return poll(&event, 1, 60'000) == 1;
  };
  int tool = 0;
  REQUIRE(start_child({TRITONC_TOOL, "compile", project.files.path("scale.tc"), "--arch", "80",
                       "--variants", "TYPE=half;SIZE=128", "--jobs", "2", "--cache-dir", "off",
                       "--ptxas", ptxas, "--object", project.files.path("scale.o"), "--header",
                       project.files.path("scale.hpp")},
                      {"", "/dev/null", project.files.path("err")}, tool) == 0);
  bool has_started = has_more();
  CHECK_MESSAGE(has_started, project.files.read("err"));
  char said[32] = {};
  CHECK(read(reading, said, sizeof said - 1) > 0);
  kill(tool, SIGKILL);       // the tool alone, not its group
  bool is_dead = has_more(); // the pipe ends with its last writer
  CHECK(is_dead);
  if (!is_dead)
    kill(std::atoi(said), SIGKILL);
  end_child(tool);
  close(reading);
}

TEST_CASE("parallel builds: same outputs and same cache") {
  const std::vector<std::string> right = expected();
  for (int round = 0; round < 5; round++) {
    CAPTURE(round);
    Project project;
    project.cache = "cache";
    project.make_old();
    ToolRun runs[3];
    std::vector<std::thread> threads;
    for (ToolRun &run : runs)
      threads.emplace_back([&] { run = project.compile(); });
    for (std::thread &thread : threads)
      thread.join();
    for (const ToolRun &run : runs) {
      CHECK(run.code == 0);
      CHECK(run.output == "");
    }
    CHECK((project.contents() == right));
    CHECK(project.count_temporary_files() == 0);
  }
}

TEST_CASE("parallel builds: each output comes from one of the sources") {
  std::string changed = scale_source;
  changed.insert(changed.find("* factor"), "+ 1 ");
  Project project, other(changed);
  const std::vector<std::string> right[] = {expected(), expected(changed.c_str())};
  // The other build writes to the same folder.
  for (const std::string &name : outputs)
    fs::create_symlink(project.files.path(name), other.files.path(name));
  for (int round = 0; round < 5; round++) {
    project.make_old();
    ToolRun runs[2];
    std::thread thread([&] { runs[0] = other.compile(); });
    runs[1] = project.compile();
    thread.join();
    std::vector<std::string> found = project.contents();
    for (size_t i = 0; i < found.size(); i++)
      CHECK((found[i] == right[0][i] || found[i] == right[1][i]));
    for (const ToolRun &run : runs)
      CHECK_MESSAGE(run.code == 0, run.output);
    CHECK(project.count_temporary_files() == 0);
  }
}

namespace {

// Runs `tritonc doctor` with a fault, as for TRITONC_FAULT.
ToolRun doctor_with_fault(const std::string &fault, const std::string &environment,
                          const std::string &options = "") {
  return run_shell("exec env LD_PRELOAD=" TRITONC_FAILING_CALLS " TRITONC_FAULT=" + fault +
                   " TRITONC_FAULT_REPORT=/dev/null TRITONC_CACHE_DIR=off " + environment +
                   " " TRITONC_TOOL " doctor " + options);
}

// What the report says in the line that begins with `what`.
std::string said_about(const std::string &report, const std::string &what) {
  size_t begin = report.find("\n" + what + " ");
  if (begin == report.npos)
    return "";
  begin = report.find_first_not_of(' ', begin + 1 + what.size());
  return report.substr(begin, report.find('\n', begin) - begin);
}

} // namespace

TEST_CASE("tritonc doctor: no ptxas in any folder, with the fix") {
  ToolRun run = doctor_with_fault("access:0:" + error(ENOENT), "CUDA_HOME=/toolkit PATH=/a:/b");
  CAPTURE(run.output);
  CHECK(run.code == 3);
  CHECK(said_about(run.output, "ptxas, fatbinary") ==
        "error: cannot find `ptxas`: install the CUDA Toolkit, or set the path with --ptxas or "
        "TRITONC_PTXAS");
  CHECK(said_about(run.output, "searched").rfind("/toolkit/bin:/a:/b:/usr/local/cuda/bin:", 0) ==
        0);
  CHECK(contains(run.output, "  fix: apt-get install cuda-nvcc-13-0 from NVIDIA's packages, or "));
  CHECK(said_about(run.output, "architectures").rfind("75 80 ", 0) == 0);

  run = doctor_with_fault("access:9999:" + error(ENOENT), "");
  CHECK(run.code == 0);
  CHECK(said_about(run.output, "ptxas") != "");
  CHECK(said_about(run.output, "searched") == "");
  CHECK_FALSE(contains(run.output, "fix: apt-get"));
}

TEST_CASE("TemporaryDirectory: is in TMPDIR if memory has no room") {
  const std::string fault = "statvfs:0:" + error(ENOSPC);
  TemporaryFolder files;
  ToolRun run = doctor_with_fault(fault, "TMPDIR=" + files.path());
  CAPTURE(run.output);
  CHECK(run.code == 0);
  CHECK(said_about(run.output, "temporary directories") == files.path());
  CHECK(files.count() == 0);
  CHECK(said_about(doctor_with_fault(fault, "TMPDIR=").output, "temporary directories") == "/tmp");

  std::error_code failure;
  bool has_room = fs::space("/dev/shm", failure).available >= uintmax_t(64) << 20 && !failure;
  run = doctor_with_fault("statvfs:9999:" + error(ENOSPC), "TMPDIR=" + files.path());
  CHECK(said_about(run.output, "temporary directories") == (has_room ? "/dev/shm" : files.path()));
}

TEST_CASE("tritonc doctor: no temporary directory is code 3, one fix") {
  ToolRun run = doctor_with_fault("statvfs:0:" + error(ENOSPC), "TMPDIR=/nowhere",
                                  "--launcher no_such_program");
  CAPTURE(run.output);
  CHECK(run.code == 3);
  CHECK(said_about(run.output, "temporary directories") ==
        "error: cannot create a temporary directory in `/nowhere`: No such file or directory; set "
        "TMPDIR to another directory");
  CHECK(contains(run.output,
                 "  fix: export TMPDIR=/tmp, or another writable directory with free space\n"));
  CHECK_FALSE(contains(run.output, "fix: apt-get")); // ptxas is there, but could not run
  CHECK_FALSE(contains(run.output, "launcher"));     // neither could the launcher
}
