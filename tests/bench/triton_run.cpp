#include "triton_run.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bench {

namespace {

std::string quoted(const std::string &word) {
  std::string result = "'";
  for (char c : word)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// A temporary folder, removed by the destructor.
class TemporaryFolder {
public:
  TemporaryFolder()
      : path(std::filesystem::temp_directory_path() /
             ("bench_matmul." + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  const std::filesystem::path path;
};

} // namespace

bool read_file(const std::string &path, std::string &text, std::string &error) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  text = content.str();
  if (!file || text.empty())
    error = path + " cannot be read";
  return error.empty();
}

bool run_triton_peer(const std::string &python, const std::string &request, std::string &text,
                     std::string &error) {
  if (request.empty()) {
    error = "no row is compared with it";
    return false;
  }
  std::filesystem::path script =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "triton_peer.py";
  if (!std::filesystem::exists(script)) {
    error = script.string() + " is missing";
    return false;
  }
  TemporaryFolder folder;
  std::filesystem::path rows = folder.path / "rows", results = folder.path / "results";
  std::ofstream(rows) << request;
  std::string command = quoted(python) + " " + quoted(script) + " --rows " + quoted(rows) +
                        " --out " + quoted(results);
  int status = std::system(command.c_str());
  std::string unread;
  if (read_file(results, text, unread))
    return true; // also partial results
  error = "triton_peer.py failed with status " + std::to_string(status);
  return false;
}

} // namespace bench
