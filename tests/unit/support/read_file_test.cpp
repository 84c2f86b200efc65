// Tests generator/support/read_file.cpp: which files the compiler reads, and its errors.

#include "support/kernel_file.h"
#include "support/read_file.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("read_file: returns all bytes") {
  TemporaryFolder folder;
  const std::string bytes("a\0b\r\n", 5);
  Result<std::string> content = read_file(folder.write("a", bytes), 5);
  REQUIRE(content);
  CHECK(*content == bytes);
}

TEST_CASE("read_file: rejects a file above the limit") {
  TemporaryFolder folder;
  std::string path = folder.write("a", std::string((1 << 20) + 1, 'x'));
  CHECK(read_file(path, (1 << 20) + 1));
  Result<std::string> content = read_file(path, 1 << 20);
  REQUIRE_FALSE(content);
  CHECK(text(content.error()) == "error: cannot read `" + path + "`: file exceeds 1 MiB");
}

TEST_CASE("read_file: rejects missing files, directories, devices, pipes") {
  TemporaryFolder folder;
  std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  auto error_of = [](const std::string &path) {
    Result<std::string> content = read_file(path, max_source_bytes);
    return content ? "" : text(content.error());
  };
  CHECK(error_of(folder.path() + "/none") ==
        "error: cannot read `" + folder.path() + "/none`: No such file or directory");
  CHECK(error_of(folder.path()) ==
        "error: cannot read `" + folder.path() + "`: it is a directory, not a regular file");
  CHECK(error_of("/dev/zero") ==
        "error: cannot read `/dev/zero`: it is a device, not a regular file");
  CHECK(error_of(pipe) == "error: cannot read `" + pipe + "`: it is a pipe, not a regular file");
}
