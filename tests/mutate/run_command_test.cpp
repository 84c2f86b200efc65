// Tests run_command.cpp.

#include "mutate/run_command.h"
#include "mutate/source_copy.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

namespace {

Command command(const tritonc::TemporaryFolder &folder, const std::string &text) {
  return {text, folder.path(), folder.path("log"), {}};
}

} // namespace

TEST_CASE("run_command: passed and failed by the exit code") {
  tritonc::TemporaryFolder folder;
  CHECK(run_command(command(folder, "true")) == End::passed);
  CHECK(run_command(command(folder, "false")) == End::failed);
  CHECK(run_command(command(folder, "bash -c 'kill -SEGV $$'")) == End::failed);
}

TEST_CASE("run_command: logs both outputs of a command in its folder") {
  tritonc::TemporaryFolder folder;
  folder.write("file", "text\n");
  CHECK(run_command(command(folder, "bash -c 'cat file && echo warning >&2'")) == End::passed);
  CHECK(folder.read("log") == "text\nwarning\n");
}

TEST_CASE("run_command: kills a command after its time") {
  tritonc::TemporaryFolder folder;
  Command endless = command(folder, "sleep 1000");
  endless.time = std::chrono::duration<double>(0.05);
  CHECK(run_command(endless) == End::timed_out);
}

TEST_CASE("run_command: limits memory and files only if asked") {
  tritonc::TemporaryFolder folder;
  // bash holds 50 MB in a variable.
  Command large =
      command(folder, "bash -c 'text=$(head -c 50000000 /dev/zero | tr \"\\\\0\" x); true'");
  CHECK(run_command(large) == End::passed);
  large.max_bytes = size_t(20) << 20;
  CHECK(run_command(large) == End::failed);
  CHECK(run_command(command(folder, "truncate -s 300000000 file")) == End::passed);
  Command long_file = command(folder, "truncate -s 300000000 other_file");
  long_file.max_bytes = size_t(8) << 30;
  CHECK(run_command(long_file) == End::failed);
}
