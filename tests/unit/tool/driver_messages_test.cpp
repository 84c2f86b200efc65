// Tests generator/main.cpp and generator/tool/command_line.cpp: the exact text of messages without
// a source location, and their exit codes.

#include "backend/toolchain.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

ToolRun tool(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TRITONC_TOOL);
  return run_program(arguments);
}

} // namespace

TEST_CASE("command line: an error says what to write") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  std::string header = files.path("out.hpp");
  struct {
    std::vector<std::string> arguments;
    const char *text;
  } cases[] = {
      {{"compile", path, "--arch", "80"},
       "error: nothing to write: give --header, --object or --emit with -o\n"},
      {{"plan", path, "--variants", "SIZE"},
       "error: invalid --variants `SIZE`: expected NAME=VALUE,VALUE;NAME=...\n"},
      {{"plan", path, "--where", "SIZE > 1000000"},
       "error: --variants, --variant-file, --where and --kernels exclude all 4 variants; run "
       "tritonc plan --json to see the reasons\n"},
      {{"plan", path, "--where", "arch > 80"},
       "error: condition `arch > 80`, column 1: `arch` needs --arch\n"},
      {{"compile", path, "--arch", "80", "--header", header, "--require", "spilz == 0"},
       "error: invalid --require `spilz == 0`: expected a quantity, a comparison and a number, "
       "such as `spills == 0` or `shared <= 100k`; quantities: spills, regs, shared, stack, "
       "threads, cubin, embedded, total\n"},
      {{"compile", path, "--arch", "80", "--emit", "ptx", "-o", files.path("out")},
       "error: --emit needs exactly one variant of one kernel for one architecture, but found 4; "
       "select one with --variants and --arch\n"},
      {{"plan", path, "--memory-limit", "much"},
       "error: `much` is not a size in bytes, such as 500M or 2G\n"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.text);
    ToolRun run = tool(expected.arguments);
    CHECK(run.code == 2);
    CHECK(run.output == expected.text);
  }
  CHECK(files.count() == 1); // the tool wrote no file
}

TEST_CASE("-Wslow-code: quotes the performance advisory of ptxas") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  FakeTool ptxas("ptxas", "'" + tools->ptxas +
                              "' \"$@\" || exit 1\n"
                              "case \"$*\" in *--version*) exit 0;; esac\n"
                              "echo 'ptxas info    : (C7510) Potential Performance Loss: all'\n");
  std::vector<std::string> arguments = {"compile",     path,
                                        "--arch",      "80",
                                        "--variants",  "TYPE=half;SIZE=128",
                                        "--header",    files.path("out.hpp"),
                                        "--ptxas",     ptxas.path(),
                                        "--cache-dir", "off",
                                        "--quiet"};
  ToolRun run = tool(arguments);
  CHECK(run.code == 0);
  CHECK(contains(run.output, "warning: ptxas performance advisory for `scale` (sm_80): "));
  CHECK(contains(run.output, "Potential Performance Loss: all"));
  CHECK(contains(run.output, "[-Wslow-code]\n"));
  arguments.push_back("-Wno-slow-code");
  arguments.push_back("--werror");
  run = tool(arguments);
  CHECK(run.code == 0);
  CHECK(run.output == "");
}

TEST_CASE("--header: -D and --name cannot inject code") {
  TemporaryFolder files;
  std::string path = files.write("a \\ b.tc", "__global__ void f(int *p) { *p = N; }\n");
  for (std::string value :
       {"1 /* */", "1 // \\", "1 \\", "1 ?\?/", "(\"*/\"[0], 1)", "1\n#error injected\n"}) {
    CAPTURE(value);
    ToolRun run = tool({"compile", path, "--arch", "80", "-DN=" + value, "--name", "lib",
                        "--header", files.path("out.hpp"), "--cache-dir", "off"});
    if (run.code == 1) // the value is invalid; the tool writes no header
      continue;
    REQUIRE_MESSAGE(run.code == 0, run.output);
    std::string header = files.read("out.hpp");
    for (size_t begin = 0; begin < header.size();) {
      size_t end = std::min(header.find('\n', begin), header.size());
      std::string line = header.substr(begin, end - begin);
      CHECK(line.rfind("#error", 0) == std::string::npos);
      CHECK((line.empty() || line.back() != '\\'));
      CHECK_FALSE(contains(line, "?\?/"));
      begin = end + 1;
    }
  }
  for (const char *name : {"a b", "class", "a\"b", "a*/b", "1a", "a\nb"}) {
    CAPTURE(name);
    ToolRun run = tool({"compile", path, "--arch", "80", "-DN=1", "--name", name, "--header",
                        files.path("out.hpp"), "--cache-dir", "off"});
    CHECK(run.code == 2);
    CHECK(contains(run.output, "is not a valid C++ namespace; set another name with --name"));
  }
}
