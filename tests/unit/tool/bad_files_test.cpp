// Tests every command with bad files: each INPUT and each OUTPUT that --help lists gets each kind of
// bad file. The tool must end with the right exit code and one clear message, and write nothing.
//
// The options come from --help, so a new option is tested without a change here. A new command
// needs a row in valid_calls().

#include "support/child_process.h"
#include "support/result.h"

#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace tritonc;

namespace {

namespace fs = std::filesystem;

using Argument = std::pair<std::string, std::string>; // option or positional argument, value
using Call = std::vector<Argument>;

// Calls that succeed, per command. A file name without a folder is in the test's folder. An option
// is tested in the first call that has it, or else added to the first call.
const std::map<std::string, std::vector<Call>> &valid_calls() {
  static const Argument source = {"SOURCES", "scale.tc"}, arch = {"--arch", "80"},
                        header = {"--header", "out.hpp"}, object = {"--object", "out.o"};
  static const std::map<std::string, std::vector<Call>> calls = {
      {"compile",
       {{source, arch, header, object},
        {source, arch, header, object, {"--embed", "bundle"}, {"--bundle", "out.tcb"}},
        {source, arch, header, object, {"--emulate", "80"}, {"--host-code", "out.a"}},
        {source, arch, {"--variants", "TYPE=float;SIZE=128"}, {"--emit", "ptx"}, {"-o", "out.ptx"}},
        {source, arch, {"--shard", "0/1"}, {"--codes-to", "out.codes"}}}},
      {"plan", {{source}}},
      {"report", {{source, arch, {"-o", "out.html"}}}},
      {"doctor", {{}}},
      {"cache", {{{"status", ""}}}},
      {"inspect", {{{"FILES", "built.o"}}}},
      {"verify", {{{"FILES", "built.o"}}}},
      {"tune",
       {{{"TUNER", "tuner"}, {"--problems", "n=1"}, {"-o", "out.json"}},
        {{"TUNER", "tuner"}, {"--problems", "n=1"}, {"--plan-to", "out.plan"}}}},
      {"bench", {{{"TUNER", "tuner"}, {"--problems", "n=1"}}}},
      {"check", {{{"TUNER", "tuner"}, {"--problems", "n=1"}}}},
  };
  return calls;
}

constexpr const char *tuner = R"sh(#!/bin/sh
if [ "$1" = describe ]; then
  printf 'kernel\tadd\tTYPE=half\ti32 n\nvariant\tSIZE=1\n'
  exit
fi
printf 'gpu\tNVIDIA H200\t90\t132\n'
while IFS="$(printf '\t')" read -r word kernel types name arguments; do
  printf 'problem\t%s\t%s\ti32 n\t%s\twarm\n' "$kernel" "$types" "$name"
  printf 'time\tSIZE=1\t7\t-\tbaseline\nchoice\tSIZE=1\nend\n'
done
)sh";

// A folder with the inputs of valid_calls().
class Project {
public:
  Project() {
    files.write("scale.tc", scale_source);
    files.write("tuner", tuner);
    fs::permissions(files.path("tuner"), fs::perms::owner_all);
    REQUIRE(
        run({"compile", "scale.tc", "--arch", "80", "--header", "built.hpp", "--object", "built.o"})
            .code == 0);
    fs::create_directory(files.path("directory"));
    fs::create_symlink("loop", files.path("loop"));
    REQUIRE(mkfifo(files.path("pipe").c_str(), 0600) == 0);
    files.write("empty", "");
    std::string noise;
    for (unsigned i = 0, bits = 1; i < 4096; i++, bits = bits * 1664525 + 1013904223)
      noise += char(bits >> 24);
    files.write("noise", noise);
    files.write("huge", "");
    fs::resize_file(files.path("huge"), uintmax_t(5) << 30); // takes no room on the disk
    before = names();
  }

  // Runs the tool in the folder.
  ToolRun run(const std::vector<std::string> &arguments) const {
    std::vector<std::string> command = {"/usr/bin/env", "-C", files.path(),
                                        "TRITONC_CACHE_DIR=" + files.path("cache"), TRITONC_TOOL};
    command.insert(command.end(), arguments.begin(), arguments.end());
    ChildResult child = run_child(command, files.path(), {.time = std::chrono::minutes(1)});
    CHECK(child.end == ChildResult::End::exited); // not killed, no timeout
    return {child.code, child.output};
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(files.path()))
      if (entry.path().filename() != "cache")
        names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryFolder files;
  std::set<std::string> before; // names
};

// The subcommands in the help of tritonc.
std::vector<std::string> commands_in(const std::string &help) {
  std::vector<std::string> commands;
  std::istringstream lines(help.substr(std::min(help.find("Subcommands:"), help.size())));
  static const std::regex row("^  ([a-z]+) .*");
  for (std::string line; std::getline(lines, line);)
    if (std::smatch match; std::regex_match(line, match, row))
      commands.push_back(match[1]);
  return commands;
}

// The options and positional arguments of a type in the help of a command.
std::vector<std::string> options_in(const std::string &help, const std::string &type) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  const std::regex row("^ +(-[-A-Za-z]+|[A-Z]+)(, *[-A-Za-z]+)* " + type + "\\b.*");
  for (std::string line; std::getline(lines, line);)
    if (std::smatch match; std::regex_match(line, match, row))
      options.push_back(match[1]);
  return options;
}

// A call of the command in which the option has this value.
std::vector<std::string> with(const std::string &command, const std::string &option,
                              const std::string &value) {
  const std::vector<Call> &calls = valid_calls().at(command);
  auto has_option = [&](const Call &call) {
    return std::any_of(call.begin(), call.end(),
                       [&](const Argument &a) { return a.first == option; });
  };
  auto found = std::find_if(calls.begin(), calls.end(), has_option);
  Call call = found == calls.end() ? calls.front() : *found;
  if (found == calls.end())
    call.emplace_back(option, "");
  std::vector<std::string> arguments = {command};
  for (const auto &[name, usual] : call) {
    if (name[0] == '-' || usual.empty())
      arguments.push_back(name);
    if (std::string given = name == option ? value : usual; !given.empty())
      arguments.push_back(given);
  }
  return arguments;
}

std::string text_of(const std::vector<std::string> &arguments) {
  std::string text = "tritonc";
  for (const std::string &argument : arguments)
    text += " " + argument;
  return text;
}

// Calls test(command, option) for each option of the type. Returns the number of options.
int for_each_option(const Project &project, const std::string &type,
                    const std::function<void(const std::string &, const std::string &)> &test) {
  int count = 0;
  for (const auto &[command, calls] : valid_calls())
    for (const std::string &option : options_in(project.run({command, "--help"}).output, type)) {
      test(command, option);
      count++;
    }
  return count;
}

// Checks that the run has one message, and that it wrote nothing.
void check_message(const Project &project, const ToolRun &run) {
  CHECK(contains(run.output, "error: "));
  CHECK(run.output.size() < 8192);
  CHECK_FALSE(contains(run.output, "internal error"));
  CHECK(project.names() == project.before);
}

} // namespace

TEST_CASE("commands: each has a valid call in this test") {
  Project project;
  std::vector<std::string> commands = commands_in(project.run({"--help"}).output);
  CHECK(commands.size() == valid_calls().size());
  for (const std::string &command : commands) {
    CAPTURE(command);
    REQUIRE(valid_calls().count(command) == 1);
    for (const Call &call : valid_calls().at(command)) {
      ToolRun run = project.run(
          with(command, call.empty() ? "" : call[0].first, call.empty() ? "" : call[0].second));
      CAPTURE(run.output);
      CHECK((run.code == 0 || command == "doctor")); // doctor: depends on this machine
      for (const std::string &name : project.names())
        if (!project.before.count(name))
          fs::remove(project.files.path(name));
    }
  }
}

TEST_CASE("commands: a bad input is one error, nothing is written") {
  Project project;
  // An empty file of measurements is valid: nothing was measured.
  const std::set<std::string> may_be_empty = {"tune --from", "bench --from", "check --from"};
  int count =
      for_each_option(project, "INPUT", [&](const std::string &command, const std::string &option) {
        for (const char *bad :
             {"missing", "directory", "directory/missing", "scale.tc/x", "/dev/zero", "/dev/full",
              "pipe", "loop", "empty", "noise", "huge"}) {
          if (bad == std::string("empty") && may_be_empty.count(command + " " + option))
            continue;
          std::vector<std::string> arguments = with(command, option, bad);
          CAPTURE(text_of(arguments));
          ToolRun run = project.run(arguments);
          CAPTURE(run.output);
          CHECK((run.code >= 1 && run.code <= 6));
          CHECK(contains(run.output, bad));
          check_message(project, run);
        }
      });
  CHECK(count >= 20);
}

TEST_CASE("commands: a bad output is one error, nothing is written") {
  Project project;
  int count = for_each_option(
      project, "OUTPUT", [&](const std::string &command, const std::string &option) {
        for (const char *bad :
             {"directory", "missing/out", "scale.tc/out", "loop", "pipe", "/dev/full"}) {
          // No byte is written to a stamp, nor to messages if there is none. The messages are
          // written after the outputs.
          if ((bad == std::string("/dev/full") &&
               (option == "--stamp" || option == "--diagnostics-to")) ||
              (bad == std::string("pipe") && option == "--diagnostics-to"))
            continue;
          std::vector<std::string> arguments = with(command, option, bad);
          CAPTURE(text_of(arguments));
          ToolRun run = project.run(arguments);
          CAPTURE(run.output);
          // tune -o reads the file first.
          CHECK((run.code == 3 || (run.code == 2 && command == "tune" && option == "-o")));
          CHECK(contains(run.output, bad));
          CHECK(std::count(run.output.begin(), run.output.end(), '\n') == 1);
          check_message(project, run);
        }
      });
  CHECK(count >= 15);
}

TEST_CASE("commands: an output is never an input of the same call") {
  Project project;
  project.files.write("included.tch", "#define ONE 1\n");
  project.files.write("scale.tc", "#include \"included.tch\"\n" + std::string(scale_source));
  project.before = project.names();
  int count = for_each_option(
      project, "OUTPUT", [&](const std::string &command, const std::string &option) {
        std::vector<std::string> inputs = {"./scale.tc", "directory/../included.tch"};
        if (command == "tune")
          inputs = {"./tuner"};
        for (const std::string &input : inputs) {
          std::vector<std::string> arguments = with(command, option, input);
          CAPTURE(text_of(arguments));
          const std::string content = project.files.read(input);
          ToolRun run = project.run(arguments);
          CAPTURE(run.output);
          CHECK(run.code == 2);
          CHECK(contains(run.output, "error: output `" + input + "` is also an input"));
          CHECK(project.files.read(input) == content);
          check_message(project, run);
        }
      });
  CHECK(count >= 15);
}

TEST_CASE("commands: two spellings of one output are an error") {
  Project project;
  for (const char *second : {"out.hpp", "./out.hpp", "directory/../out.hpp"}) {
    CAPTURE(second);
    ToolRun run = project.run(
        {"compile", "scale.tc", "--arch", "80", "--header", "out.hpp", "--object", second});
    CHECK(run.code == 2);
    CHECK(contains(run.output, std::string("error: output `") + second + "` is given twice"));
    check_message(project, run);
  }
}

TEST_CASE("commands: full standard output is code 3") {
  Project project;
  for (const std::string arguments :
       {"--help", "--version", "compile --help", "plan scale.tc", "plan scale.tc --json",
        "inspect built.o", "inspect --json built.o", "verify built.o", "cache status", "doctor",
        "tune tuner --problems n=1 -o -", "bench tuner --problems n=1",
        "check tuner --problems n=1", "report scale.tc --arch 80 -o -",
        "compile scale.tc --arch 80 --variants 'TYPE=float;SIZE=128' --emit ptx -o -",
        "compile scale.tc --arch 80 --name k --header -"}) {
    CAPTURE(arguments);
    for (auto [redirection, reason] :
         {std::pair(">/dev/full", "No space left on device"), {">&-", "it is closed"}}) {
      ToolRun run =
          run_shell("cd " + project.files.path() + " && TRITONC_CACHE_DIR=off " TRITONC_TOOL " " +
                    arguments + " " + redirection);
      CAPTURE(run.output);
      CHECK(run.code == 3);
      CHECK(contains(run.output,
                     std::string("error: cannot write `standard output`: ") + reason + "\n"));
      CHECK(project.names() == project.before);
    }
  }
}

namespace {

// Starts a compilation whose output is a pipe that is full and that no process reads. Waits until
// the tool has a temporary file (a little later it blocks), runs the script with the tool's process in $tool, and waits for the tool.
ToolRun wait_for_reader(const Project &project, const std::string &env_options,
                        const std::string &script) {
  return run_shell(
      "cd " + project.files.path() +
      " && exec 3<>pipe && head -c 65536 /dev/zero >&3 && "
      "{ env " +
      env_options +
      " TRITONC_CACHE_DIR=off " TRITONC_TOOL
      " compile scale.tc --arch 80 --header pipe --object out.o 3<&- & } && tool=$! && "
      "until ls -A | grep -q tritonc-tmp; do sleep 0.05; done; sleep 0.3; " +
      script + "; { wait $tool; code=$?; } 2>/dev/null; echo ended with $code");
}

} // namespace

TEST_CASE("commands: a signal ends a tool that waits for a reader") {
  Project project;
  for (auto [signal, number] : {std::pair("INT", 2), {"TERM", 15}, {"HUP", 1}}) {
    CAPTURE(signal);
    ToolRun run =
        wait_for_reader(project, "--default-signal", std::string("kill -") + signal + " $tool");
    CAPTURE(run.output);
    CHECK(run.output == "ended with " + std::to_string(128 + number) + "\n");
    CHECK(project.names() == project.before);
  }
}

TEST_CASE("commands: SIGHUP does not end the tool under nohup") {
  Project project;
  ToolRun run = wait_for_reader(project, "--default-signal --ignore-signal=HUP",
                                "kill -HUP $tool; sleep 0.2; kill -TERM $tool");
  CAPTURE(run.output);
  CHECK(run.output == "ended with 143\n");
}
