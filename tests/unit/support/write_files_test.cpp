// Tests support/write_files.cpp: writes all outputs or none.

#include "support/kernel_file.h"
#include "support/write_files.h"

#include <doctest/doctest.h>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tritonc;

namespace {

std::string content_of(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t files_in(const TemporaryFolder &folder) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder.path()))
    count += !entry.is_directory();
  return count;
}

} // namespace

TEST_CASE("write_files: creates and replaces files") {
  TemporaryFolder folder;
  std::string old_file = folder.write("old", "before"), new_file = folder.path() + "/new";
  CHECK_FALSE(write_files({{old_file, "after"}, {new_file, std::string("\0\1", 2)}}));
  CHECK(content_of(old_file) == "after");
  CHECK(content_of(new_file) == std::string("\0\1", 2));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("write_files: keeps the time of an unchanged file") {
  TemporaryFolder folder;
  std::string path = folder.write("file", "same");
  auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(path, long_ago);
  CHECK_FALSE(write_files({{path, "same"}}));
  CHECK(std::filesystem::last_write_time(path) == long_ago);
  CHECK_FALSE(write_files({{path, "same", /*even_if_unchanged=*/true}}));
  CHECK(std::filesystem::last_write_time(path) > long_ago);
}

TEST_CASE("write_files: new files respect the umask") {
  TemporaryFolder folder;
  std::string path = folder.path() + "/file";
  pid_t child = fork(); // write_files reads the umask of a process only once
  REQUIRE(child >= 0);
  if (child == 0) {
    umask(027);
    _exit(execl(TRITONC_TOOL, TRITONC_TOOL, "plan", "/nowhere", "--diagnostics-to", path.c_str(),
                nullptr));
  }
  int result = -1;
  REQUIRE(waitpid(child, &result, 0) == child);
  struct stat status;
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("write_files: writes through a symbolic link") {
  TemporaryFolder folder;
  std::string target = folder.write("target", "before"), link = folder.path() + "/link";
  std::filesystem::create_symlink("target", link);
  CHECK_FALSE(write_files({{link, "after"}}));
  CHECK(std::filesystem::is_symlink(link));
  CHECK(content_of(target) == "after");
}

TEST_CASE("write_files: writes to a device without replacing it") {
  CHECK_FALSE(check_writable({"/dev/null"}));
  CHECK_FALSE(write_files({{"/dev/null", "text"}}));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("write_files: any character in a path stands for itself") {
  TemporaryFolder folder;
  for (const char *name :
       {"100%", "p%d", "%%%%%%%%", "a*?[b]", "$HOME ;&|'\"\\", "-", "\xc3\xa9"}) {
    CAPTURE(name);
    std::string path = folder.path() + "/" + name + "/" + name;
    std::filesystem::create_directory(folder.path() + "/" + name);
    CHECK_FALSE(check_writable({path}));
    CHECK_FALSE(write_files({{path, "text"}}));
    CHECK(content_of(path) == "text");
  }
  CHECK(files_in(folder) == 7);
}

TEST_CASE("write_files: refuses a pipe that no process reads") {
  TemporaryFolder folder;
  std::string pipe = folder.path() + "/pipe", file = folder.path() + "/file";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::optional<Error> failure = write_files({{file, "text"}, {pipe, "text"}});
  REQUIRE(failure);
  CHECK(text(*failure) == "error: cannot write `" + pipe + "`: it is a pipe that no process reads");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("write_files: writes all bytes to a pipe with a reader") {
  TemporaryFolder folder;
  std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string content(300'000, 'x'); // more than a pipe holds
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  fcntl(reader, F_SETFL, 0);
  std::optional<Error> failure;
  std::thread writer([&] { failure = write_files({{pipe, content}}); });
  std::string received;
  char buffer[65536];
  while (received.size() < content.size()) {
    ssize_t count = read(reader, buffer, sizeof buffer);
    if (count > 0)
      received.append(buffer, size_t(count));
  }
  writer.join();
  close(reader);
  CHECK_FALSE(failure);
  CHECK(received == content);
}

TEST_CASE("write_files: reports a full device") {
  std::optional<Error> failure = write_files({{"/dev/full", "text"}});
  REQUIRE(failure);
  CHECK(text(*failure) == "error: cannot write `/dev/full`: No space left on device");
}

TEST_CASE("write_files: removes temporary files of killed runs") {
  TemporaryFolder folder;
  folder.write(".tritonc-tmp-abcdef", "half of a file");
  CHECK_FALSE(write_files({{folder.path() + "/file", "text"}}));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("remove_temporary_files: blocks new files") {
  TemporaryFolder folder;
  std::string path = folder.path() + "/file";
  std::thread writer;
  {
    auto no_more_files = remove_temporary_files();
    writer = std::thread([&] { CHECK_FALSE(write_files({{path, "text"}})); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(files_in(folder) == 0);
  }
  writer.join();
  CHECK(content_of(path) == "text");
}

TEST_CASE("write_files: writes no file if one cannot be written") {
  TemporaryFolder folder;
  std::string good = folder.write("good", "before");
  std::string bad = folder.path() + "/missing/file";
  std::optional<Error> failure = write_files({{good, "after"}, {bad, "text"}});
  REQUIRE(failure);
  CHECK(failure->id == Message::cannot_write);
  CHECK(failure->args[0] == bad);
  CHECK(content_of(good) == "before");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("write_files: undoes all renames if one fails") {
  TemporaryFolder folder;
  std::string first = folder.path() + "/first", blocked = folder.path() + "/blocked";
  std::filesystem::create_directories(blocked + "/inside");
  CHECK(write_files({{first, "text"}, {blocked, "text"}}));
  CHECK(files_in(folder) == 0);
}

TEST_CASE("write_files: full disk leaves no partial file") {
  TemporaryFolder folder;
  std::string path = folder.path() + "/file";
  pid_t child = fork(); // the limit applies to the whole process
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(write_files({{path, std::string(5000, 'x')}}) ? 0 : 1);
  }
  int result = -1;
  REQUIRE(waitpid(child, &result, 0) == child);
  CHECK(result == 0);
  CHECK(files_in(folder) == 0);
}

TEST_CASE("check_writable: returns the reason and writes nothing") {
  TemporaryFolder folder;
  auto reason = [](const std::string &path) {
    std::optional<Error> failure = check_writable({path});
    return failure ? text(*failure) : "";
  };
  CHECK(reason(folder.path() + "/file") == "");
  CHECK(reason("file_in_the_current_folder") == "");
  CHECK(reason(folder.path()) == "error: cannot write `" + folder.path() + "`: Is a directory");
  CHECK(reason(folder.path() + "/no/file") == "error: cannot write `" + folder.path() +
                                                  "/no/file`: there is no folder `" +
                                                  folder.path() + "/no`");
  std::filesystem::create_symlink("loop", folder.path() + "/loop");
  CHECK(reason(folder.path() + "/loop") ==
        "error: cannot write `" + folder.path() + "/loop`: Too many levels of symbolic links");
  std::filesystem::remove(folder.path() + "/loop");
  std::string file = folder.write("file", "");
  CHECK(reason(file + "/below").find("cannot write") != std::string::npos);
  CHECK(files_in(folder) == 1); // the check writes no file
}

TEST_CASE("check_writable: rejects a read-only folder" *
          doctest::skip(geteuid() == 0)) { // root may write to every folder
  TemporaryFolder folder;
  chmod(folder.path().c_str(), 0555);
  CHECK(check_writable({folder.path() + "/file"}));
  chmod(folder.path().c_str(), 0755);
}
