// Tests diagnostics/source_file.cpp.

#include "diagnostics/source_file.h"
#include "support/kernel_file.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace tritonc;
using namespace tritonc::test;

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
