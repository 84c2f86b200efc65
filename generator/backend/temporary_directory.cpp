// Private directories for child processes. A few KiB go in and come out again at once, so memory is
// the place for them: with hundreds of variants it saves seconds, and a full disk cannot hurt.
//
// Tested by tests/backend/temporary_directory_test.cpp.

#include "backend/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <sys/statvfs.h>
#include <unistd.h>

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
  std::error_code ignored; // nothing better could be done, and the result does not depend on it
  std::filesystem::remove_all(path, ignored);
}

} // namespace

Result<TemporaryDirectory> TemporaryDirectory::make() {
  std::string path = parent_directory() + "/tritonc-XXXXXX";
  std::lock_guard lock(alive_mutex);
  if (!mkdtemp(path.data()))
    return Failure{Message::no_temporary_directory, {parent_directory(), std::strerror(errno)}};
  alive.insert(path);
  return TemporaryDirectory(path);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (path_.empty())
    return;
  std::lock_guard lock(alive_mutex);
  remove(path_);
  alive.erase(path_);
}

std::unique_lock<std::mutex> remove_temporary_directories() {
  std::unique_lock lock(alive_mutex);
  for (const std::string &path : alive)
    remove(path);
  return lock;
}

} // namespace tritonc
