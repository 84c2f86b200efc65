// Finds and runs ptxas and fatbinary.
//
// Do not trust exit code 0: the tool may have written half a file (ptxas 13.0 exits 0 on a full
// disk). The caller must check the file itself.
//
// Tested by tests/unit/backend/toolchain_test.cpp.

#include "backend/toolchain.h"

#include "support/child_process.h"
#include "support/temporary_directory.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace tritonc {
namespace {

namespace fs = std::filesystem;

// The oldest toolkit whose fatbinary supports `--compress-mode`.
constexpr int oldest_major = 12, oldest_minor = 4;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool is_program(const std::string &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string file_name(const std::string &path) { return fs::path(path).filename().string(); }

// The user sets `named` and the variable. If the file does not exist, this function does not search
// elsewhere.
Result<std::string> find_tool(const std::string &tool, const std::string &named,
                              const char *variable_name, std::vector<std::string> folders) {
  for (const std::string &path : {named, variable(variable_name)}) {
    if (path.empty())
      continue;
    if (!is_program(path))
      return Error{Message::tool_not_a_program, {tool, path}};
    return fs::absolute(path).string();
  }
  for (const std::string &folder : folders)
    if (is_program(folder + "/" + tool))
      return folder + "/" + tool;
  return Error{Message::tool_missing, {tool, variable_name}};
}

// A line that a message can show.
std::string shortened(const std::string &line) {
  constexpr size_t max_length = 500;
  return line.size() <= max_length ? line : line.substr(0, max_length) + "...";
}

// The most useful line of a tool's output: the first line with "error" or "fatal", else the first
// line.
std::string telling_line(const std::string &output) {
  std::istringstream lines(output);
  std::string first, line;
  while (std::getline(lines, line)) {
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos)
      return shortened(line);
    if (first.empty())
      first = line;
  }
  return first.empty() ? "it printed nothing" : shortened(first);
}

// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88".
std::string parse_version(const std::string &output) {
  size_t at = output.find(", V");
  if (at == std::string::npos)
    return "";
  size_t end = output.find_first_not_of("0123456789.", at + 3);
  return output.substr(at + 3, end == std::string::npos ? end : end - at - 3);
}

bool is_new_enough(const std::string &version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2)
    return false;
  return major > oldest_major || (major == oldest_major && minor >= oldest_minor);
}

Result<std::string> ask_version(const std::string &ptxas, std::chrono::seconds time_limit) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory)
    return directory.error();
  Result<std::string> output =
      run_tool({ptxas, "--version"}, directory->path(), time_limit, "the question for its version");
  if (!output)
    return output.error();
  std::string version = parse_version(*output);
  if (version.empty())
    return Error{Message::tool_unusable, {ptxas, telling_line(*output)}};
  if (!is_new_enough(version))
    return Error{Message::tool_too_old, {ptxas, version}};
  return version;
}

// A driver runs code from every toolkit of its own major version and of older major versions.
bool runs_code_of(int driver, const std::string &version) {
  return std::atoi(version.c_str()) <= driver / 1000;
}

std::string shown_driver(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

} // namespace

std::vector<std::string> tool_folders() {
  std::vector<std::string> folders;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = variable(name); !root.empty())
      folders.push_back(root + "/bin");
  std::istringstream path(variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (!folder.empty())
      folders.push_back(folder);
  folders.push_back("/usr/local/cuda/bin");
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    fs::path folder = self.parent_path();
    folders.push_back(folder.string());
    folders.push_back((folder / "../../cuda/bin").lexically_normal().string()); // cmake/setup.sh
  }
  return folders;
}

Result<Toolchain> find_toolchain(const ToolchainOptions &options) {
  std::vector<std::string> folders = tool_folders();
  Result<std::string> ptxas = find_tool("ptxas", options.ptxas, "TRITONC_PTXAS", folders);
  if (!ptxas)
    return ptxas.error();

  folders.insert(folders.begin(), fs::path(*ptxas).parent_path().string());
  Result<std::string> fatbinary =
      find_tool("fatbinary", options.fatbinary, "TRITONC_FATBINARY", folders);
  if (!fatbinary)
    return fatbinary.error();

  Result<std::string> version = ask_version(*ptxas, options.time_limit);
  if (!version)
    return version.error();
  if (options.oldest_driver && !runs_code_of(options.oldest_driver, *version))
    return Error{Message::tool_too_new,
                 {*ptxas, *version, version->substr(0, version->find('.')),
                  shown_driver(options.oldest_driver)}};
  return Toolchain{
      *ptxas, *fatbinary, *version, options.time_limit, options.ptxas_options, options.compression};
}

Result<std::string> run_tool(const std::vector<std::string> &command, const std::string &directory,
                             std::chrono::seconds time_limit, const std::string &subject) {
  ChildResult child = run_child(command, directory, {.time = time_limit});
  std::string tool = file_name(command[0]);
  switch (child.end) {
  case ChildResult::End::not_started:
    return Error{Message::tool_not_started, {command[0], std::strerror(child.code)}};
  case ChildResult::End::timed_out:
    return Error{Message::tool_timed_out, {tool, subject, std::to_string(time_limit.count())}};
  case ChildResult::End::signalled:
    return Error{Message::tool_crashed, {tool, subject, strsignal(child.code)}};
  case ChildResult::End::exited:
    break;
  }
  if (child.code != 0)
    return Error{Message::tool_failed, {tool, subject, telling_line(child.output)}};
  return std::move(child.output);
}

Result<std::string> read_tool_output(const std::string &tool, const std::string &path,
                                     const std::string &subject) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return bad_output(tool, subject, "it wrote nothing");
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file.bad() || contents.bad())
    return bad_output(tool, subject, "what it wrote cannot be read");
  return contents.str();
}

Result<std::monostate> write_tool_input(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    return Error{Message::cannot_write, {path, std::strerror(errno)}};
  return std::monostate();
}

Error bad_output(const std::string &tool, const std::string &subject, const std::string &problem) {
  return {Message::tool_bad_output, {tool, subject, problem + " (is the disk full?)"}};
}

} // namespace tritonc
