// Implements temporary directories in memory. See temporary_directory.h.
//
// A directory holds a few KiB for a short time. Memory saves seconds for hundreds of variants and
// also works when the disk is full.
//
// A killed process leaves its directories behind, and they would occupy memory. So the first make()
// of a process removes directories without an owner.
//
// Tested by tests/unit/support/temporary_directory_test.cpp and tests/robustness/faults_test.cpp.

#include "support/temporary_directory.h"

#include "support/owner_lock.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <set>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace tritonc {
namespace {

constexpr const char *in_memory = "/dev/shm";
constexpr unsigned long long room_in_memory = 64ull << 20;

std::mutex alive_mutex;
std::set<std::string> alive;

bool has_room(const char *directory) {
  struct statvfs system;
  if (access(directory, W_OK | X_OK) != 0 || statvfs(directory, &system) != 0)
    return false;
  return static_cast<unsigned long long>(system.f_bavail) * system.f_frsize >= room_in_memory;
}

std::string parent_directory() {
  if (has_room(in_memory))
    return in_memory;
  const char *chosen = std::getenv("TMPDIR");
  return chosen && *chosen ? chosen : "/tmp";
}

void remove(const std::string &path) {
  std::error_code ignored; // the result does not depend on the removal
  std::filesystem::remove_all(path, ignored);
}

} // namespace

Result<TemporaryDirectory> TemporaryDirectory::make() {
  const std::string parent = parent_directory();
  std::lock_guard lock(alive_mutex);
  static std::once_flag tidied;
  std::call_once(tidied, remove_abandoned, parent);
  for (;;) {
    std::string path = temporary_name_in(parent);
    if (!mkdtemp(path.data()))
      return Error{Message::no_temporary_directory, {parent, std::strerror(errno)}};
    int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 && errno != ENOENT) {
      Error failure = {Message::no_temporary_directory, {parent, std::strerror(errno)}};
      remove(path);
      return failure;
    }
    if (descriptor >= 0 && lock_as_owner(descriptor)) {
      alive.insert(path);
      return TemporaryDirectory(path, descriptor);
    }
    close(descriptor); // another process removed the directory before the lock
  }
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other)
    : path_(std::exchange(other.path_, "")), descriptor_(std::exchange(other.descriptor_, -1)) {}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) {
    std::lock_guard lock(alive_mutex);
    remove(path_);
    alive.erase(path_);
  }
  if (descriptor_ >= 0)
    close(descriptor_);
}

std::unique_lock<std::mutex> remove_temporary_directories() {
  std::unique_lock lock(alive_mutex);
  for (const std::string &path : alive)
    remove(path);
  return lock;
}

} // namespace tritonc
