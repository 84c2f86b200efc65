// Tests generator/main.cpp and generator/tool/command_line.cpp: the messages, exit codes and files
// of the tool when a build calls it.

#include "backend/toolchain.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_directory.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"
#include "unit/backend/fake_tool.h"

#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <sys/stat.h>
#include <thread>

using namespace tritonc;

namespace {

ToolRun tritonc_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TRITONC_TOOL);
  return run_program(arguments);
}

int lines_of(const std::string &text) { return int(std::count(text.begin(), text.end(), '\n')); }

// A source with one kernel, and a command that compiles it into the same directory.
class Project {
public:
  explicit Project(const char *source = scale_source) { files.write("scale.tc", source); }

  // With --quiet: a slow machine would show progress.
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> result = {
        "compile",  files.path("scale.tc"), "--arch", "80", "--header", files.path("scale.hpp"),
        "--object", files.path("scale.o"),  "--quiet"};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }
  ToolRun compile(std::vector<std::string> more = {}) const { return tritonc_with(command(more)); }

  TemporaryFolder files;
};

} // namespace

TEST_CASE("tritonc compile: writes the requested files and no others") {
  Project project;
  ToolRun run = project.compile({"--manifest", project.files.path("m.json"), "--report",
                                 project.files.path("r.txt"), "--depfile", project.files.path("d"),
                                 "--stamp", project.files.path("stamp")});
  CHECK(run.output == "");
  CHECK(run.code == 0);
  for (const char *name : {"scale.hpp", "scale.o", "m.json", "r.txt", "d", "stamp"}) {
    CAPTURE(name);
    CHECK(project.files.exists(name));
  }
  CHECK(project.files.count() == 7); // and the source
  CHECK(contains(project.files.read("d"), "scale.tc"));
  CHECK(contains(project.files.read("d"), project.files.path("stamp") + ":"));
}

TEST_CASE("--jobs: any number gives the same bytes, no absolute path") {
  Project project, other;
  REQUIRE(project.compile({"--jobs", "1", "--manifest", project.files.path("m")}).code == 0);
  REQUIRE(other.compile({"--jobs", "5", "--manifest", other.files.path("m")}).code == 0);
  for (const char *name : {"scale.hpp", "scale.o", "m"}) {
    CAPTURE(name);
    CHECK(project.files.read(name) == other.files.read(name));
    CHECK_FALSE(contains(project.files.read(name), "tritonc-"));
  }
}

TEST_CASE("--host-code: same archive for any --jobs, no absolute path") {
  Project project, other;
  for (const Project *one : {&project, &other}) {
    ToolRun run = one->compile({"--emulate", "80", "--host-code", one->files.path("host.a"),
                                "--jobs", one == &project ? "1" : "5"});
    CHECK(run.output == "");
    REQUIRE(run.code == 0);
  }
  std::string archive = project.files.read("host.a");
  CHECK(archive.rfind("!<arch>\n", 0) == 0);
  CHECK(archive == other.files.read("host.a"));
  CHECK(project.files.read("scale.o") == other.files.read("scale.o"));
  CHECK_FALSE(contains(archive, "tritonc-")); // the folder of the source
}

TEST_CASE("--ptx: auto takes the oldest suitable GPU, default is none") {
  Project project;
  auto gpus = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"plan", project.files.path("scale.tc"), "--variants", "TYPE=half;SIZE=128"});
    ToolRun run = tritonc_with(arguments);
    CHECK(run.code == 0);
    std::string names;
    for (size_t at = 0; (at = run.output.find(" for ", at)) != std::string::npos; at++)
      if (size_t end = run.output.find(": ", at); end < run.output.find('\n', at))
        names += run.output.substr(at + 5, end - at - 5) + " ";
    return names;
  };
  CHECK(gpus({"--arch", "90a,86,80"}) == "sm_90a sm_86 sm_80 ");
  CHECK(gpus({"--arch", "90a,86,80", "--ptx", "auto"}) == "sm_90a sm_86 sm_80 compute_80 ");
  CHECK(gpus({"--arch", "90a,120", "--ptx", "auto"}) == "sm_90a sm_120 compute_120 ");
  CHECK(gpus({"--arch", "100a,90a", "--ptx", "auto"}) == "sm_100a sm_90a compute_90 ");
  CHECK(gpus({"--arch", "90a", "--ptx", "75,90"}) == "sm_90a compute_75 compute_90 ");
  CHECK(gpus({"--ptx", "80", "--ptx", "compute_80"}) == "compute_80 ");
}

TEST_CASE("--embed bundle: same bytes for any --jobs, verify checks it") {
  Project project, other;
  for (const Project *one : {&project, &other}) {
    ToolRun run =
        one->compile({"--embed", "bundle", "--bundle", one->files.path("scale.tcb"), "--manifest",
                      one->files.path("m.json"), "--jobs", one == &project ? "1" : "5"});
    CHECK(run.output == "");
    REQUIRE(run.code == 0);
  }
  for (const char *name : {"scale.o", "scale.tcb", "scale.hpp", "m.json"}) {
    CAPTURE(name);
    CHECK(project.files.read(name) == other.files.read(name));
  }
  std::string object = project.files.path("scale.o"), bundle = project.files.path("scale.tcb");
  ToolRun verified = tritonc_with({"verify", object, "--manifest", project.files.path("m.json")});
  CHECK(verified.output == "4 images, all valid\n");
  verified = tritonc_with({"verify", bundle, "--manifest", project.files.path("m.json")});
  CHECK(verified.output == "4 images, all valid\n");
  ToolRun inspected = tritonc_with({"inspect", object});
  CHECK(inspected.code == 0);
  CHECK(contains(inspected.output, " ok "));
  CHECK(contains(tritonc_with({"inspect", bundle}).output, "sm_80"));
  CHECK(contains(tritonc_with({"inspect", "--json", object}).output, "\"bundle\": \"scale.tcb\""));

  // The header does not depend on the place of the code.
  std::string header = project.files.read("scale.hpp");
  REQUIRE(project.compile().code == 0);
  CHECK(project.files.read("scale.hpp") == header);

  // `tritonc verify` rejects a damaged, missing, unreadable or wrong bundle.
  REQUIRE(project.compile({"--embed", "bundle", "--bundle", bundle}).code == 0);
  std::string whole = project.files.read("scale.tcb");
  auto problem = [&](const std::string &state) {
    ToolRun run = tritonc_with({"verify", object});
    CHECK(run.code == 6);
    CHECK(contains(tritonc_with({"inspect", object}).output, " " + state + " "));
    return run.output.substr(0, run.output.find('\n'));
  };
  project.files.write("scale.tcb", whole.substr(0, whole.size() - 1));
  CHECK(contains(problem("damaged"), "is damaged: it is in scale.tcb: its header says "));
  ToolRun damaged = tritonc_with({"verify", bundle});
  CHECK(damaged.code == 6);
  CHECK(contains(damaged.output, "; generate it again\n"));
  std::string flipped = whole;
  flipped[200] ^= 1;
  project.files.write("scale.tcb", flipped);
  CHECK(contains(problem("damaged"), "is damaged: it is in scale.tcb: its digest is wrong"));
  std::filesystem::remove(bundle);
  const std::string unreadable =
      "`" + object + "` needs its bundle: cannot read `" + bundle + "`: ";
  CHECK(contains(problem("unreadable"), unreadable + "No such file or directory"));
  std::filesystem::create_directory(bundle);
  CHECK(contains(problem("unreadable"), unreadable + "it is a directory, not a regular file"));
  std::filesystem::remove(bundle);
  Project another(R"(__global__ void scale(float *p) { *p = 1; })");
  REQUIRE(another.compile({"--embed", "bundle", "--bundle", bundle}).code == 0);
  CHECK(contains(problem("damaged"), "it is in scale.tcb, which is from another build"));
}

TEST_CASE("--header: unchanged header keeps its modification time") {
  Project project;
  REQUIRE(project.compile().code == 0);
  auto time = std::filesystem::last_write_time(project.files.path("scale.hpp"));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(project.compile({"--stamp", project.files.path("stamp")}).code == 0);
  CHECK(std::filesystem::last_write_time(project.files.path("scale.hpp")) == time);
}

TEST_CASE("--embed header: needs no --object") {
  Project project;
  ToolRun run = tritonc_with({"compile", project.files.path("scale.tc"), "--arch", "80", "--embed",
                              "header", "--header", project.files.path("scale.hpp")});
  CHECK(run.code == 0);
  CHECK(project.files.count() == 2);
}

TEST_CASE("command line: an error is one line and code 2, no output") {
  Project project;
  std::string source = project.files.path("scale.tc"), header = project.files.path("scale.hpp");
  auto axis = [](std::string name, int count) {
    for (int i = 1; i <= count; i++)
      name += (i == 1 ? "=" : ",") + std::to_string(i);
    return name;
  };
  struct {
    std::vector<std::string> arguments;
    std::string text;
  } cases[] = {
      {{"compile", source, "--arch", "80", "--header", header, "--variants",
        axis("A", 1000) + ";" + axis("B", 1000)},
       "too many variants: more than 65536, but at most 65536 per call; exclude some with "
       "--where"},
      {{"compile", source, "--arch", "80", "--header", header, "--variants",
        "TYPE=half;" + axis("A", 4097)},
       "too many variants: 8194, but at most 4096 per call"},
      {{"compile", source, "--arch", "sm_12345", "--header", header},
       "unknown architecture `sm_12345`; known architectures: 75, 80"},
      {{"compile", source, "--arch", "80,", "--header", header, "--grid"}, "--grid"},
      {{"compile", source, "--arch", "80", "--ptx", "90a", "--header", header},
       "later GPUs cannot run this PTX; write --ptx 90"},
      {{"compile", source, "--arch", "80", "--ptx", "1", "--header", header},
       "unknown architecture `1`"},
      {{"compile", source, "--ptx", "auto", "--header", header}, "--ptx auto needs --arch"},
      {{"compile", source, "--header", header}, "missing --arch"},
      {{"compile", source, "--arch", "80"}, "nothing to write"},
      {{"compile", project.files.path("no.tc"), "--arch", "80", "--header", header}, "cannot read"},
      {{"compile", "/dev/null", "--arch", "80", "--header", header}, "cannot read `/dev/null`"},
      {{"compile", source, "--arch", "80", "--header", source}, "is also an input"},
      {{"compile", source, "--arch", "80", "--header", header, "--object", header}, "given twice"},
      {{"compile", source, "--arch", "80", "--header", header, "--embed", "object"},
       "needs --object"},
      {{"compile", source, "--arch", "80", "--object", header, "--embed", "bundle"},
       "--embed bundle and --bundle FILE go together"},
      {{"compile", source, "--arch", "80", "--object", header, "--bundle", header + ".tcb"},
       "--embed bundle and --bundle FILE go together"},
      {{"compile", source, "--arch", "80", "--header", header, "--embed", "bundle", "--bundle",
        header + ".tcb"},
       "--embed bundle needs --object FILE"},
      {{"compile", source, "--arch", "80", "--header", header, "--c-header", header + ".h"},
       "--c-header needs --object FILE"},
      {{"compile", source, "--arch", "80", "--c-header", header, "--object", header},
       "given twice"},
      {{"compile", source, "--arch", "80", "--header", header, "--emit", "ptx", "-o", "-"},
       "cannot use --emit with --header"},
      {{"compile", source, "--arch", "80", "--object", header, "--emulate", "80"},
       "--emulate and --host-code FILE.a go together"},
      {{"compile", source, "--arch", "80", "--object", header, "--host-code", "/tmp/x.a"},
       "--emulate and --host-code FILE.a go together"},
      {{"compile", source, "--arch", "80", "--header", header, "--emulate", "80", "--host-code",
        "/tmp/x.a"},
       "--emulate needs --object FILE"},
      {{"compile", source, "--arch", "80", "--object", header, "--emulate", "75,80", "--host-code",
        "/tmp/x.a"},
       "--emulate names sm_75, which is not in --arch"},
      {{"compile", source, "--arch", "80", "--object", header, "--emulate", "1", "--host-code",
        "/tmp/x.a"},
       "unknown architecture `1`"},
      {{"compile", source, "--arch", "80", "--emit", "ptx"}, "-o FILE"},
      {{"compile", source, "--arch", "80", "--emit", "ptx", "-o", "-"},
       "select one with --variants"},
      {{"compile", source, "--arch", "80", "--emit", "nonsense", "-o", "-"}, "nonsense"},
      {{"compile", source, "--arch", "80", "--header", header, "--print-after", "x"},
       "unknown pass `x`"},
      {{"compile", source, "--arch", "80", "--header", header, "--name", "1a"},
       "`1a` is not a valid"},
      {{"compile", source, "--arch", "80", "--header", header, "--name", "\xc3\xa9"},
       "`\xc3\xa9` is not a valid C++ namespace"},
      {{"compile", source, "--arch", "80", "--header", header, "--name", "a\x1b[2J"},
       "`a?[2J` is not a valid C++ namespace"},
      {{"compile", source, "--arch", "80", "--header", header, "-I", "/dev/zero"},
       "cannot search `/dev/zero` for included files: it is not a directory"},
      {{"compile", source, "--arch", "80", "--header", header, "-j", "-1"}, "-1 not in range"},
      {{"compile", source, "--arch", "80", "--header", header, "--variants", "SIZE"}, "NAME=VALUE"},
      {{"compile", source, "--arch", "80", "--header", header, "--where", "SIZE <"},
       "condition `SIZE <`, column 7: expected an axis, a value or `(`, found the end"},
      {{"compile", source, "--arch", "80", "--header", header, "--kernels", "scael"},
       "unknown kernel `scael`; known kernels: scale"},
      {{"plan", source, "--variants", "[scael]SIZE=128"},
       "unknown kernel `scael`; known kernels: scale"},
      {{"compile", source, "--arch", "80", "--header", header, "--keep", "ptx"},
       "--keep STAGE,... and --keep-in FOLDER go together"},
      {{"compile", source, "--arch", "80", "--emit", "ptx", "-o", header, "--keep", "ptx",
        "--keep-in", "/tmp"},
       "cannot use --keep with --emit"},
      {{"compile", source, "--arch", "80", "--header", header, "-o", "-"},
       "-o needs --emit; write a library with --header and --object"},
      {{"compile", source, "--arch", "80", "--header", header, "--object", header + ".o", "--embed",
        "header"},
       "--embed header puts the code into the header; remove --object"},
      {{"compile", source, "--arch", "80", "--object", header, "--registration", header + ".cpp"},
       "--registration needs --header FILE, which declares the kernels"},
      {{"compile", source, "--arch", "80", "--header", header, "--compress", "zip"}, "zip"},
      {{"compile", source, "--arch", "80", "--header", header, "--require", "spill == 0"},
       "quantities: spills, regs"},
      {{"compile", source, "--arch", "80", "--object", header, "--emulate", "80", "--host-code",
        "/tmp/x.a", "--target", "aarch64-linux-gnu"},
       "cannot use --emulate with --target"},
      {{"compile", source, "--arch", "80", "--shard", "0/2"}, "--shard I/N and --codes-to FILE"},
      {{"compile", source, "--arch", "80", "--shard", "2/2", "--codes-to", header},
       "invalid --shard 2/2: expected I/N"},
      {{"compile", source, "--arch", "80", "--shard", "0/2", "--codes-to", header, "--object",
        header + ".o"},
       "--shard writes only machine code"},
      {{"compile", source, "--arch", "80", "--shard", "0/2", "--codes-to", header, "--emit", "ptx"},
       "--shard writes only machine code"},
      {{"compile", source, "--arch", "80", "--shard", "0/2", "--codes-to", header, "--keep", "ptx"},
       "--shard writes only machine code"},
      {{"compile", source, "--arch", "80", "--shard", "half", "--codes-to", header},
       "invalid --shard half: expected I/N"},
      {{"compile", source, "--arch", "80", "--header", header, "--codes", source},
       "it is not an intact output of `tritonc compile --shard`"},
      {{"compile", source, "--arch", "80", "--header", header, "--min-driver", "525"},
       "invalid --min-driver 525: expected a CUDA version, 12.0 or later"},
      {{"compile", source, "--arch", "80", "--header", header, "--min-driver", "11.8"},
       "--min-driver 11.8: expected a CUDA version"},
      {{"compile", source, "--arch", "80", "--header", header, "--min-driver", "12.3", "--compress",
        "size"},
       "--compress size requires a driver for CUDA 12.4 or later, but --min-driver is 12.3; use "
       "speed"},
      {{"compile", source, "--arch", "80", "--header", header, "-Wnonsense"},
       "unknown warning `-Wnonsense`; known warnings: "},
      {{"compile", source, "--arch", "80", "--header", header, "--memory-limit", "much"},
       "`much` is not a size in bytes"},
      {{"compile", source, "--arch", "80", "--header", header, "--cache-limit", "lots"},
       "`lots` is not a size in bytes"},
      {{"cache", "status", "--cache-limit", "lots"}, "`lots` is not a size in bytes"},
      {{"report", source, "-o", header}, "missing --arch"},
      {{"report", source, "-o", header, "--arch", "1"}, "unknown architecture `1`"},
      {{"plan", source, "--arch", "1"}, "unknown architecture `1`"},
      {{"tune", "/bin/true", "--problems", "n=1"},
       "tritonc tune needs -o FILE.json, or --plan-to FILE"},
      {{"tune", "--problems", "n=1", "-o", header},
       "tritonc tune needs a tuner, which triton_add_tuner() builds, or --from"},
      {{"tune", "--from", source, "--plan-to", header}, "--plan-to needs a tuner"},
      {{"bench", "--problems", "n=1"}, "missing tuner, which triton_add_tuner() builds"},
      {{"check"}, "missing tuner, which triton_add_tuner() builds"},
      {{"bench", "/bin/true"}, "`/bin/true` is not a tuner"},
      {{"bench", "--from", "/none/times.json"},
       "cannot read `/none/times.json`: No such file or directory"},
      {{"check", "--from", "/dev/zero"},
       "cannot read `/dev/zero`: it is a device, not a regular file"},
      {{"compile", source, "--arch", "80", "--header", header, "--tuning", "/dev/zero"},
       "cannot read `/dev/zero`: it is a device"},
      {{"compile", source, "--arch", "80", "--header", header, "--codes", "/dev/zero"},
       "cannot read `/dev/zero`: it is a device"},
      {{"compile", source, "--arch", "80", "--header", header, "--variant-file", "/dev/zero"},
       "cannot read `/dev/zero`: it is a device"},
      {{"inspect", "/dev/zero"}, "cannot read `/dev/zero`: it is a device"},
      {{"compile", source, "--nonsense"}, "nonsense"},
      {{"compile"}, "SOURCES"},
      {{"nonsense"}, "subcommand"},
      {{}, "A subcommand is required; see tritonc --help"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.text);
    ToolRun run = tritonc_with(expected.arguments);
    CAPTURE(run.output);
    CHECK(run.code == 2);
    CHECK(contains(run.output, expected.text));
    CHECK(run.output.rfind("error: ", 0) == 0);
    CHECK(lines_of(run.output) == 1);
    CHECK(project.files.count() == 1);
  }
}

TEST_CASE("check_outputs: unwritable output is code 3 before any work") {
  Project project;
  for (const std::string &path : {project.files.path("no/such/folder.hpp"), std::string("/tmp"),
                                  project.files.path("scale.tc") + "/x.hpp"}) {
    CAPTURE(path);
    ToolRun run = tritonc_with({"compile", project.files.path("scale.tc"), "--arch", "80",
                                "--header", path, "--ptxas", "/nowhere"});
    CAPTURE(run.output);
    CHECK(run.code == 3);
    CHECK(contains(run.output, "cannot write `" + path + "`"));
    CHECK(lines_of(run.output) == 1);
  }
  CHECK(project.files.count() == 1);
}

TEST_CASE("tritonc compile: full disk is code 3, no partial file") {
  Project project;
  ToolRun run = tritonc_with(
      {"compile", project.files.path("scale.tc"), "--arch", "80", "--header", "/dev/full"});
  CHECK(run.code == 3);
  CHECK(contains(run.output, "cannot write `/dev/full`"));

  // A file size limit simulates a disk that becomes full during the write.
  run = run_shell("ulimit -f 8; exec " TRITONC_TOOL " compile " + project.files.path("scale.tc") +
                  " --arch 80 --embed header --header " + project.files.path("scale.hpp"));
  CAPTURE(run.output);
  CHECK(run.code == 3);
  CHECK(project.files.count() == 1);
}

TEST_CASE("tritonc compile: messages do not end in an output if stderr is closed") {
  Project project("__global__ void f(float *p) { *p = *p * 2.5; }\n"); // a warning
  REQUIRE(contains(project.compile().output, "warning: "));
  const std::string header = project.files.read("scale.hpp"),
                    object = project.files.read("scale.o");
  for (const char *name : {"scale.hpp", "scale.o"})
    std::filesystem::remove(project.files.path(name));
  std::string command = "exec " TRITONC_TOOL;
  for (const std::string &argument : project.command())
    command += " " + argument;
  for (const char *closed : {" 2>&-", " <&- >&- 2>&-"}) {
    CAPTURE(closed);
    CHECK(run_shell(command + closed).code == 0);
    CHECK((project.files.read("scale.hpp") == header));
    CHECK((project.files.read("scale.o") == object));
    CHECK(run_shell(command + " --werror" + closed).code == 5);
  }
  CHECK(project.files.count() == 3);
}

TEST_CASE("--diagnostics-to: a document that cannot be written is code 3") {
  Project project;
  ToolRun run = project.compile({"--diagnostics-format", "json", "--diagnostics-to", "/dev/full"});
  CHECK(run.code == 3);
  CHECK(run.output == "error: cannot write `/dev/full`: No space left on device\n");
  project.files.write("scale.tc", "__global__ void broken(");
  run = project.compile({"--diagnostics-format", "json", "--diagnostics-to", "/dev/full"});
  CHECK(run.code == 1); // the first error counts
  CHECK(contains(run.output, "error: cannot write `/dev/full`: No space left on device\n"));
}

TEST_CASE("--diagnostics-format: standard error has nothing beside the document") {
  Project project;
  const std::string document = project.files.path("messages.json");
  for (const char *option : {"--time-report", "--explain", "--print-after=all"}) {
    CAPTURE(option);
    ToolRun run = project.compile({option, "--diagnostics-format", "sarif"});
    CHECK(run.code == 2);
    CHECK(contains(run.output,
                   "--time-report, --explain and --print-after write text to standard error, like "
                   "--diagnostics-format sarif; add --diagnostics-to FILE"));
    CHECK(project.files.count() == 1);
    run = project.compile({option, "--diagnostics-format", "sarif", "--diagnostics-to", document});
    CHECK(run.code == 0);
    CHECK(run.output != "");
    for (const char *name : {"scale.hpp", "scale.o", "messages.json"})
      std::filesystem::remove(project.files.path(name));
  }
}

TEST_CASE("tritonc: a crash is code 70 and one line") {
  Project project;
  FakeTool fatbinary("fatbinary", "exit 0");
  for (const char *signal : {"SEGV", "BUS", "ILL", "FPE", "ABRT"}) {
    CAPTURE(signal);
    // While the fake ptxas reads from the pipe, the tool waits. The crash leaves this ptxas behind
    // for a moment, so each round has its own pipe.
    TemporaryFolder marks;
    const std::string pipe = marks.path("pipe");
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    FakeTool ptxas("ptxas",
                   "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n"
                   "read -r line <" +
                       pipe);
    std::string command = TRITONC_TOOL;
    for (const std::string &argument :
         project.command({"--ptxas", ptxas.path(), "--fatbinary", fatbinary.path(), "--jobs", "1"}))
      command += " " + argument;
    // Opening the pipe to write waits until the fake ptxas opens it to read.
    ToolRun run = run_shell(command + " & tool=$!; exec 3>" + pipe + "; kill -" + signal +
                            " $tool; wait $tool; echo ended with $?");
    CHECK(run.output == "error: internal error: tritonc crashed; please report it with the "
                        "command\nended with 70\n");
    CHECK(project.files.count() == 1);
  }
}

TEST_CASE("--keep: writes stages of all kernels, removes stale files") {
  Project project;
  std::filesystem::create_directory(project.files.path("kept"));
  std::vector<std::string> keep = {"--keep", "tile-ir,llvm,ptx,cubin,sass-stats", "--keep-in",
                                   project.files.path("kept"), "--variants"};
  auto with = [&](const char *variants) {
    std::vector<std::string> arguments = keep;
    arguments.push_back(variants);
    ToolRun run = project.compile(arguments);
    CHECK(run.output == "");
    CHECK(run.code == 0);
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(project.files.path("kept")))
      names.push_back(entry.path().filename().string());
    return names;
  };
  CHECK(with("TYPE=half;SIZE=128,256").size() == 11);
  std::vector<std::string> names = with("TYPE=half;SIZE=256");
  CHECK(names.size() == 6);
  CHECK(with("TYPE=half;SIZE=256") == names);
  std::string index = project.files.read("kept/index.json");
  struct {
    const char *extension, *text;
  } stages[] = {{".tile-ir", "func @scale("},
                {".ll", "define ptx_kernel void @scale("},
                {".ptx", ".entry scale("},
                {".cubin", "ELF"},
                {".sass-stats", "scale for sm_80"}};
  for (const auto &stage : stages) {
    CAPTURE(stage.extension);
    auto named = std::find_if(names.begin(), names.end(), [&](const std::string &name) {
      return std::filesystem::path(name).extension() == stage.extension;
    });
    REQUIRE(named != names.end());
    CHECK(named->size() == std::string("scale-0123456789ab").size() + strlen(stage.extension));
    CHECK(contains(project.files.read("kept/" + *named), stage.text));
    CHECK(contains(index, *named));
  }
  CHECK(contains(index, "TYPE=half SIZE=256"));
  CHECK_FALSE(contains(index, "SIZE=128"));
}

TEST_CASE("--line-info: code has lines, same bytes in every folder") {
  Project plain, first, second;
  std::vector<std::string> options = {"--compress", "none", "--variants", "TYPE=half;SIZE=128"};
  REQUIRE(plain.compile(options).code == 0);
  options.push_back("--line-info");
  REQUIRE(first.compile(options).code == 0);
  REQUIRE(second.compile(options).code == 0);
  CHECK_FALSE(contains(plain.files.read("scale.o"), ".debug_line"));
  CHECK(contains(first.files.read("scale.o"), ".debug_line"));
  CHECK(contains(first.files.read("scale.o"), "scale.tc"));
  CHECK_FALSE(contains(first.files.read("scale.o"), "tritonc-")); // the folder of the source
  CHECK(first.files.read("scale.o") == second.files.read("scale.o"));
}

TEST_CASE("--target, --depfile-target: set machine and target name") {
  Project project;
  ToolRun run =
      project.compile({"--target", "aarch64-linux-gnu", "--depfile", project.files.path("d"),
                       "--depfile-target", "some/stamp", "--ptxas-option=-O2"});
  CHECK(run.output == "");
  REQUIRE(run.code == 0);
  CHECK(project.files.read("scale.o")[18] == char(183)); // EM_AARCH64
  CHECK(project.files.read("d").rfind("some/stamp:", 0) == 0);
  run = project.compile({"--target", "nonsense"});
  CHECK(run.code == 3);
  CHECK(contains(run.output, "cannot write object files for `"));
}

TEST_CASE("--depfile: without a stamp or a library, names the output of --emit") {
  Project project;
  std::string out = project.files.path("scale.ptx");
  ToolRun run = tritonc_with({"compile", project.files.path("scale.tc"), "--arch", "80",
                              "--variants", "TYPE=half;SIZE=128", "--emit", "ptx", "-o", out,
                              "--depfile", project.files.path("d"), "--quiet"});
  CHECK(run.output == "");
  CHECK(run.code == 0);
  CHECK(project.files.read("d").rfind(out + ":", 0) == 0);
}

TEST_CASE("--depfile: a source with a line break in its name is code 2, no output") {
  Project project;
  std::string source = project.files.write("sc\nale.tc", scale_source);
  std::vector<std::string> command = {"compile", source,  "--arch",   "80",
                                      "--name",  "scale", "--header", project.files.path("h")};
  CHECK(tritonc_with(command).code == 0);
  std::filesystem::remove(project.files.path("h"));
  command.insert(command.end(), {"--depfile", project.files.path("d")});
  ToolRun run = tritonc_with(command);
  CHECK(run.code == 2);
  CHECK(run.output.rfind("error: cannot write a depfile: the file name `", 0) == 0);
  CHECK(contains(run.output, "contains a line break\n"));
  CHECK(project.files.count() == 2); // the sources
}

TEST_CASE("--namespace: replaces --name as the C++ namespace") {
  Project project;
  REQUIRE(project.compile({"--name", "first"}).code == 0);
  CHECK(contains(project.files.read("scale.hpp"), "\nnamespace first {\n"));
  REQUIRE(project.compile({"--name", "first", "--namespace", "a::b"}).code == 0);
  CHECK(contains(project.files.read("scale.hpp"), "\nnamespace a::b {\n"));
  CHECK_FALSE(contains(project.files.read("scale.hpp"), "namespace first"));
}

TEST_CASE("tritonc compile: parameters that depend on a tuned axis are code 1") {
  std::string source = scale_source;
  source.replace(source.find("variant(TYPE"), 7, "tune");
  Project project(source.c_str());
  ToolRun run = project.compile();
  CHECK(run.code == 1);
  CHECK(run.output == "error: the parameters of kernel `scale` depend on a tuned axis: declare the "
                      "axis with `variant`, so that the caller chooses its value\n");
  CHECK(project.files.count() == 1);
}

TEST_CASE("tritonc compile: source error is code 1, old outputs stay") {
  Project project("__global__ void f(float *p) {\n  *p = q;\n}\n");
  project.files.write("scale.hpp", "old");
  ToolRun run = project.compile();
  CHECK(run.code == 1);
  CHECK(contains(run.output, "scale.tc:2:8: error: undeclared identifier `q`"));
  CHECK(project.files.read("scale.hpp") == "old");
  CHECK(project.files.count() == 2);
}

TEST_CASE("--ptxas: missing or failing is one line and code 3 or 4") {
  Project project;
  std::string version = "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n"
                        "for last; do :; done\n";
  struct {
    std::string script;
    int code;
    const char *text;
  } cases[] = {
      {"echo 'ptxas fatal: no'; exit 255", 4,
       "`ptxas` failed for `scale` for sm_80: ptxas fatal: no"},
      {"kill -SEGV $$", 4, "a signal killed `ptxas` on `scale` for sm_80"},
      {"sleep 100", 4, "--timeout"},
      {"exit 0", 3, "it wrote nothing"},
      {"head -c 4096 /dev/zero >$last", 3, "reported success"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.script);
    FakeTool ptxas("ptxas", version + expected.script);
    FakeTool fatbinary("fatbinary", "exit 0");
    ToolRun run = project.compile({"--ptxas", ptxas.path(), "--fatbinary", fatbinary.path(),
                                   "--timeout", "1", "--variants", "TYPE=half;SIZE=128"});
    CAPTURE(run.output);
    CHECK(run.code == expected.code);
    CHECK(contains(run.output, expected.text));
    CHECK(lines_of(run.output) == 1);
    CHECK(project.files.count() == 1);
  }
  ToolRun run = project.compile({"--ptxas", "/nowhere/ptxas"});
  CHECK(run.code == 3);
  CHECK(contains(run.output, "/nowhere/ptxas"));
}

TEST_CASE("--ptxas: an error quotes at most 500 characters of its output") {
  Project project;
  std::string ptxas = project.files.write(
      "ptxas",
      "#!/bin/sh\n"
      "[ $1 = --version ] && echo 'Cuda compilation tools, release 13.0, V13.0.88' && exit\n"
      "printf 'error: '; head -c 1000000 /dev/zero | tr '\\0' x; exit 1\n");
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  ToolRun run = project.compile({"--ptxas", ptxas, "--cache-dir", "off"});
  CHECK(run.code == 4);
  CHECK(contains(run.output, "error: xxxxx"));
  CHECK(run.output.size() < 4000);
}

TEST_CASE("--min-driver: older driver gets --compress speed") {
  Project project;
  std::string ptxas = find_toolchain({})->ptxas;
  FakeTool older("ptxas", "case $* in *--version*) echo 'Cuda tools, release 12.9, V12.9.1';; "
                          "*) exec " +
                              ptxas + " \"$@\";; esac");
  auto object = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--cache-dir", "off", "--ptxas", older.path(), "--fatbinary",
                             find_toolchain({})->fatbinary});
    ToolRun run = project.compile(more);
    CHECK(run.output == "");
    REQUIRE(run.code == 0);
    return project.files.read("scale.o");
  };
  std::string speed = object({"--compress", "speed"}), balance = object({});
  CHECK((speed != balance));
  CHECK((object({"--min-driver", "12.3"}) == speed));
  CHECK((object({"--min-driver", "12.4"}) == balance));
  CHECK((object({"--min-driver", "12.0", "--compress", "none"}).size() > speed.size()));
}

TEST_CASE("--time-report: prints all steps, also after a failure") {
  Project project;
  CHECK(project.compile().output == "");
  ToolRun run = project.compile({"--time-report"});
  CHECK(run.code == 0);
  CAPTURE(run.output);
  CHECK(lines_of(run.output) == 13); // heading, 11 steps, total
  CHECK(contains(run.output, "      1  files\n"));
  CHECK(contains(run.output, " times the time of ptxas\n"));
  // A failed compilation reports the steps until the failure.
  run = project.compile({"--time-report", "-D", "half=nothing"});
  CHECK(run.code == 1);
  CHECK(contains(run.output, "      0  files\n"));
}

TEST_CASE("tritonc compile: out of memory is code 3 and no output") {
  Project project;
  auto limited = [](int mib, const std::vector<std::string> &arguments) {
    std::string script =
        "ulimit -c 0; ulimit -v " + std::to_string(mib << 10) + "; '" TRITONC_TOOL "'";
    for (const std::string &argument : arguments)
      script += " '" + argument + "'";
    return run_shell(script);
  };
  int failures = 0, successes = 0;
  // Below some limit the program does not start; above some limit the compilation succeeds.
  for (int mib = 40; mib < 400 && successes < 4; mib += 4) {
    if (limited(mib, {"--version"}).code != 0)
      continue;
    ToolRun run = limited(mib, project.command({"--cache-dir", "off", "-j", "1"}));
    CAPTURE(mib);
    CAPTURE(run.output);
    bool is_done = run.code == 0;
    CHECK((is_done || run.code == 3));
    CHECK((is_done || lines_of(run.output) == 1));
    CHECK((is_done || contains(run.output, "error: out of memory; ") ||
           contains(run.output, "error: cannot start a thread: ")));
    CHECK(project.files.count() == (is_done ? 3 : 1));
    (is_done ? successes : failures)++;
    for (const char *name : {"scale.hpp", "scale.o"})
      std::filesystem::remove(project.files.path(name));
  }
  MESSAGE(failures, " times too little");
}

TEST_CASE("tritonc compile: a kernel too large for the memory is code 3 and no output") {
  // The first steps take more memory than the limit, far more than the small kernel.
  std::string source = "__global__ void f(float *p) {\n  float v = *p;\n";
  for (int i = 0; i < 30000; i++)
    source += "  v = pow(v, " + std::to_string(i) + ".0f);\n";
  Project large((source + "  *p = v;\n}\n").c_str()), small;
  auto compile = [](const Project &project) {
    std::string script = "ulimit -c 0; ulimit -v 204800; exec '" TRITONC_TOOL "'";
    for (const std::string &argument :
         project.command({"--memory-limit", "0", "--time-limit", "0", "--jobs", "1"}))
      script += " '" + argument + "'";
    return run_shell(script);
  };
  if (compile(small).code != 0) {
    MESSAGE("skipped: this build of the tool needs more memory"); // with sanitizers
    return;
  }
  ToolRun run = compile(large);
  CHECK(run.code == 3);
  CHECK(run.output ==
        "error: out of memory; run fewer jobs with -j, or compile fewer variants at a "
        "time\n");
  CHECK(large.files.count() == 1);
}

TEST_CASE("--ptxas: same error of all variants appears once") {
  Project project;
  FakeTool ptxas("ptxas",
                 "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n"
                 "echo 'ptxas fatal: no'; exit 1");
  FakeTool fatbinary("fatbinary", "exit 0");
  ToolRun run = project.compile({"--ptxas", ptxas.path(), "--fatbinary", fatbinary.path()});
  CHECK(run.code == 4);
  CHECK(lines_of(run.output) == 1);
}

TEST_CASE("tritonc compile: SIGTERM stops ptxas and leaves no files") {
  Project project;
  TemporaryFolder marks;
  FakeTool ptxas("ptxas",
                 "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n"
                 "echo $$ $TMPDIR >" +
                     marks.path("running") + "; sleep 100");
  FakeTool fatbinary("fatbinary", "exit 0");
  std::string command = "exec " TRITONC_TOOL;
  for (const std::string &argument :
       project.command({"--ptxas", ptxas.path(), "--fatbinary", fatbinary.path(), "--jobs", "1"}))
    command += " " + argument;
  ToolRun run =
      run_shell("(" + command +
                ") & child=$!\n"
                "for i in $(seq 100); do [ -s " +
                marks.path("running") +
                " ] && break; sleep 0.05; done\n"
                "kill -TERM $child; wait $child; echo ended with $?\n"
                "read pid folder <" +
                marks.path("running") +
                "\n"
                "sleep 0.1; [ -d /proc/$pid ] && ! grep -q ' Z ' /proc/$pid/stat && echo alive\n"
                "[ -e $folder ] && echo $folder is left\n"
                "true");
  CAPTURE(run.output);
  CHECK(contains(run.output, "ended with 143\n"));
  CHECK_FALSE(contains(run.output, "alive"));
  CHECK_FALSE(contains(run.output, "is left"));
  CHECK(project.files.count() == 1);
}

TEST_CASE("--emit: writes the stage to standard output with -o -") {
  Project project;
  ToolRun run = tritonc_with({"compile", project.files.path("scale.tc"), "--arch", "80",
                              "-DTYPE=float", "-DSIZE=128", "--emit", "ptx", "-o", "-"});
  CHECK(run.code == 0);
  CHECK(contains(run.output, ".entry scale("));
  run = tritonc_with({"compile", project.files.path("scale.tc"), "--arch", "80", "-DTYPE=float",
                      "-DSIZE=128", "--emit", "host-llvm", "-o", "-"});
  CHECK(run.code == 0);
  CHECK(contains(run.output, "@scale(ptr %operations, ptr %thread, ptr %arguments)"));
  CHECK(project.files.count() == 1);
}

TEST_CASE("--require: violated limit is code 5 and no output") {
  Project project;
  ToolRun run = project.compile(
      {"--variants", "TYPE=half;SIZE=128", "--require", "spills == 0", "--require", "threads < 2"});
  CHECK(run.code == 5);
  CHECK(contains(run.output, "`scale` for sm_80, TYPE=half SIZE=128: threads is "));
  CHECK(lines_of(run.output) == 1);
  CHECK(project.files.count() == 1);
}

TEST_CASE("tritonc plan, doctor, --version: output and exit codes") {
  Project project;
  ToolRun run = tritonc_with({"plan", project.files.path("scale.tc"), "--variants", "TYPE=half"});
  CHECK(run.code == 0);
  CHECK(contains(run.output, "TYPE=half SIZE=128\n"));
  CHECK(contains(run.output, "2 variants\n"));

  run = tritonc_with({"plan", project.files.path("scale.tc"), "--arch", "80,90a", "--where",
                      "SIZE < 256 || TYPE == half", "--where", "SIZE == 128 || arch == 90"});
  CHECK(run.code == 0);
  CHECK(contains(run.output, "TYPE=half SIZE=128\n  scale for sm_80: 1 schedule\n"
                             "  scale for sm_90a: 1 schedule\n"));
  CHECK(contains(run.output, "TYPE=half SIZE=256\n  scale for sm_90a: 1 schedule\n"));
  CHECK(contains(run.output, "3 variants for 2 architectures, with code generated at most "
                             "5 times\n"
                             "1 variant excluded by SIZE < 256 || TYPE == half\n"));
  CHECK(project.files.count() == 1);

  run = tritonc_with({"plan", project.files.path("scale.tc"), "--arch", "80", "--json",
                      "--variants", "TYPE=half", "--where", "SIZE < 256"});
  CHECK(run.code == 0);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(run.output);
  REQUIRE(bool(json));
  const llvm::json::Object &root = *json->getAsObject();
  CHECK(root.getInteger("codes_at_most") == 1);
  const llvm::json::Object &planned = *(*root.getArray("sources"))[0].getAsObject();
  CHECK(llvm::formatv("{0}", (*planned.getArray("variants"))[0]).str() ==
        R"({"kernels":[{"gpu":"sm_80","kernel":"scale","schedules":["baseline"]}],)"
        R"("values":{"SIZE":"128","TYPE":"half"}})");
  CHECK(llvm::formatv("{0}", (*planned.getArray("left_out"))[0]).str() ==
        R"({"because":"SIZE < 256","variant":"TYPE=half SIZE=256"})");
  CHECK_FALSE(contains(run.output, "specialization"));
  run = tritonc_with(
      {"plan", project.files.path("scale.tc"), "--arch", "80", "--json", "--specialize", "n % 8"});
  CHECK(contains(run.output, "\"specialization\": \"n % 8\""));
  // A requirement that no arguments meet.
  const std::string source = project.files.write(
      "narrow.tc", "#pragma tritonc tune(SIZE: 64, 128) grid(1) require(SIZE < 100)\n"
                   "__global__ void f(float *p) { float *q[SIZE] = p + 0 ... SIZE; *q = 1; }\n");
  run = tritonc_with({"plan", source, "--arch", "80"});
  CHECK(contains(run.output, "SIZE=64\n  f for sm_80: 1 schedule\n"
                             "1 variant for 1 architecture, with code generated at most 1 time\n"
                             "1 variant excluded by require\n"));

  run = tritonc_with({"doctor"});
  CHECK(run.code == 0);
  CHECK(contains(run.output, "ptxas"));
  CHECK(contains(run.output, "fatbinary"));
  run = tritonc_with({"doctor", "--ptxas", "/nowhere"});
  CHECK(run.code == 3);
  CHECK(contains(run.output, "/nowhere"));

  run = tritonc_with({"--version"});
  CHECK(run.code == 0);
  CHECK(run.output.rfind("tritonc ", 0) == 0);
  CHECK(tritonc_with({"--help"}).code == 0);
}

TEST_CASE("tritonc report: writes a page only if all code compiles") {
  Project project;
  auto report = [&](const std::string &out, std::vector<std::string> more = {}) {
    std::vector<std::string> command = {"report", project.files.path("scale.tc"), "-o", out};
    command.insert(command.end(), more.begin(), more.end());
    return tritonc_with(command);
  };
  std::string page = project.files.path("page.html");
  CHECK(report(page).code == 2); // --arch is missing
  CHECK(report(project.files.path("scale.tc"), {"--arch", "80"}).code == 2);
  ToolRun run = report(page, {"--arch", "80"});
  CHECK(run.code == 0);
  CHECK(run.output == "");
  CHECK(contains(project.files.read("page.html"), "<h2>scale</h2>"));
  CHECK(contains(report("-", {"--arch", "80"}).output, "<h2>scale</h2>"));
  project.files.write("scale.tc", "__global__ void broken(");
  CHECK(report(project.files.path("other.html"), {"--arch", "80"}).code == 1);
  CHECK_FALSE(project.files.exists("other.html"));
}
