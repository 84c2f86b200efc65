// Tests generator/support/owner_lock.cpp.

#include "support/owner_lock.h"

#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tritonc;

namespace {

// Creates a temporary file and a temporary directory with a file, and locks both.
struct Temporaries {
  explicit Temporaries(const std::string &folder)
      : file(temporary_name_in(folder)), directory(temporary_name_in(folder)) {
    file_descriptor = mkostemp(file.data(), O_CLOEXEC);
    REQUIRE(mkdtemp(directory.data()));
    std::ofstream(directory + "/kernel.ptx") << "text";
    directory_descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~Temporaries() { release(); }

  bool lock() const {
    return lock_as_owner(file_descriptor) && lock_as_owner(directory_descriptor);
  }
  void release() {
    close(file_descriptor);
    close(directory_descriptor);
    file_descriptor = directory_descriptor = -1;
  }
  int count() const {
    return std::filesystem::exists(file) + std::filesystem::exists(directory + "/kernel.ptx");
  }

  std::string file, directory;
  int file_descriptor, directory_descriptor;
};

} // namespace

TEST_CASE("remove_abandoned: keeps a locked file, removes it unlocked") {
  TemporaryFolder folder;
  Temporaries temporaries(folder.path());
  REQUIRE(temporaries.lock());
  remove_abandoned(folder.path());
  CHECK(temporaries.count() == 2);
  temporaries.release();
  remove_abandoned(folder.path());
  CHECK(temporaries.count() == 0);
  CHECK(folder.count() == 0);
}

TEST_CASE("remove_abandoned: removes the files of a killed process") {
  TemporaryFolder folder;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Temporaries temporaries(folder.path());
    char is_locked = temporaries.lock();
    if (write(ends[1], &is_locked, 1) != 1)
      _exit(1);
    for (;;)
      pause();
  }
  char is_locked = 0;
  REQUIRE(read(ends[0], &is_locked, 1) == 1);
  CHECK(is_locked);
  remove_abandoned(folder.path());
  CHECK(folder.count() == 2);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  remove_abandoned(folder.path());
  CHECK(folder.count() == 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("remove_abandoned: keeps all other files") {
  TemporaryFolder folder;
  for (const char *name : {"tritonc-tmp-abcdef", ".tritonc-tmp-abcdefg", ".tritonc-tmp-", "x.tmp"})
    folder.write(name, "text");
  std::filesystem::create_symlink("x.tmp", folder.path(".tritonc-tmp-abcdef"));
  REQUIRE(mkfifo(folder.path(".tritonc-tmp-ABCDEF").c_str(), 0600) == 0);
  remove_abandoned(folder.path());
  CHECK(folder.count() == 6);
  remove_abandoned(folder.path("missing"));
}

TEST_CASE("lock_as_owner: false after another process removed the file") {
  TemporaryFolder folder;
  Temporaries temporaries(folder.path());
  remove_abandoned(folder.path());
  CHECK_FALSE(lock_as_owner(temporaries.file_descriptor));
  CHECK_FALSE(lock_as_owner(temporaries.directory_descriptor));
}
