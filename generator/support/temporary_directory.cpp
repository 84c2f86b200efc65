// Implements temporary directories in memory. See temporary_directory.h.
//
// A directory holds a few KiB for a short time. Memory saves seconds for hundreds of variants and
// also works when the disk is full.
//
// A killed process leaves its directories behind, and they would occupy memory. So the first make()
// of a process removes directories that are older than a day.
//
// Tested by tests/unit/support/temporary_directory_test.cpp.

#include "support/temporary_directory.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace tritonc {
namespace {

constexpr const char *in_memory = "/dev/shm";
constexpr const char *prefix = "tritonc-";
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

// No tool runs for a day, so older directories are unused.
constexpr auto age_of_leftovers = std::chrono::hours(24);

bool is_leftover(const std::filesystem::directory_entry &entry) {
  struct stat status;
  if (entry.path().filename().string().rfind(prefix, 0) != 0 ||
      lstat(entry.path().c_str(), &status) != 0)
    return false;
  auto age = std::chrono::system_clock::now() -
             std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && age > age_of_leftovers;
}

void remove(const std::string &path) {
  std::error_code ignored; // the result does not depend on the removal
  std::filesystem::remove_all(path, ignored);
}

void remove_leftovers(const std::string &parent) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(parent, ignored), end; !ignored && at != end;
       at.increment(ignored))
    if (is_leftover(*at))
      remove(at->path().string());
}

} // namespace

Result<TemporaryDirectory> TemporaryDirectory::make() {
  std::string path = parent_directory() + "/" + prefix + "XXXXXX";
  std::lock_guard lock(alive_mutex);
  static std::once_flag removed;
  std::call_once(removed, remove_leftovers, parent_directory());
  if (!mkdtemp(path.data()))
    return Error{Message::no_temporary_directory, {parent_directory(), std::strerror(errno)}};
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
