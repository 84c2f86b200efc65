// Tests diagnostics/source_file.cpp.

#include "diagnostics/source_file.h"
#include "support/kernel_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

/// Writes a file of this size, without contents.
std::string write_sparse(const TemporaryFolder &folder, const std::string &name, uint64_t bytes) {
  std::string path = folder.write(name, "");
  REQUIRE(truncate(path.c_str(), off_t(bytes)) == 0);
  return path;
}

/// While it exists, the process cannot open files.
class NoMoreFiles {
public:
  NoMoreFiles() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit none = {0, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles &) = delete;

private:
  rlimit before_ = {};
};

} // namespace

TEST_CASE("problem_with: regular file has no problem") {
  TemporaryFolder folder;
  CHECK_FALSE(problem_with(folder.write("a.tc", "")));
}

TEST_CASE("problem_with: returns the error or the kind of file") {
  TemporaryFolder folder;
  CHECK(problem_with(folder.path() + "/none.tc").error == "No such file or directory");
  CHECK(problem_with(folder.path()).kind == "a directory");
  CHECK(problem_with("/dev/null").kind == "a device");
  std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(problem_with(pipe).kind == "a pipe");

  std::string path = folder.path() + "/socket";
  sockaddr_un address = {AF_UNIX, {}};
  REQUIRE(path.size() < sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(bind(socket_file, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
  CHECK(problem_with(path).kind == "a socket");
  close(socket_file);
}

TEST_CASE("problem_with: a file above the limit is too large") {
  TemporaryFolder folder;
  std::string file = folder.write("a.tc", "12345");
  CHECK_FALSE(problem_with(file, 5));
  FileProblem problem = problem_with(file, 4);
  CHECK(problem);
  CHECK(problem.is_too_large);
  CHECK(problem.error.empty());
  CHECK(problem.kind.empty());
  CHECK_FALSE(problem_with(write_sparse(folder, "limit.tc", max_source_bytes)));
  CHECK(problem_with(write_sparse(folder, "large.tc", max_source_bytes + 1)).is_too_large);
}

TEST_CASE("problem_with: returns the error of a file that does not open") {
  TemporaryFolder folder;
  std::string file = folder.write("a.tc", "");
  FileProblem problem;
  {
    NoMoreFiles limit;
    problem = problem_with(file);
  }
  CHECK(problem.error == "Too many open files");
  CHECK_FALSE(problem_with(file));
}

TEST_CASE("regular_files: opens only regular files and folders") {
  TemporaryFolder folder;
  std::string file = folder.write("a.tc", "text");
  std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  auto files = regular_files();
  CHECK(files->status(file));
  CHECK(files->openFileForRead(file));
  CHECK(files->status(folder.path()));
  CHECK_FALSE(files->status(pipe));
  CHECK_FALSE(files->openFileForRead(pipe)); // and does not wait for a writer
  CHECK_FALSE(files->openFileForRead("/dev/zero"));
}

TEST_CASE("regular_files: opens files up to the limit") {
  TemporaryFolder folder;
  auto files = regular_files();
  CHECK(files->openFileForRead(write_sparse(folder, "limit.tc", max_source_bytes)));
  auto file = files->openFileForRead(write_sparse(folder, "large.tc", max_source_bytes + 1));
  REQUIRE_FALSE(file);
  CHECK(file.getError() == std::errc::file_too_large);
  CHECK(files->openFileForRead(folder.path() + "/none.tc").getError() ==
        std::errc::no_such_file_or_directory);
}
