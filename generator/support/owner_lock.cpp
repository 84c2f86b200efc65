// Implements the locks of temporary files with flock. See owner_lock.h.
//
// Tested by tests/unit/support/owner_lock_test.cpp.

#include "support/owner_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tritonc {
namespace {

constexpr std::string_view prefix = ".tritonc-tmp-";
constexpr std::string_view random_part = "XXXXXX";

bool has_temporary_name(const std::filesystem::path &path) {
  std::string name = path.filename().string();
  return name.size() == prefix.size() + random_part.size() && name.rfind(prefix, 0) == 0;
}

// Does not block on a pipe and does not follow a symbolic link.
int open_own(const std::string &path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || status.st_uid != geteuid() ||
      !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
    return -1;
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void remove_if_abandoned(const std::string &path) {
  int descriptor = open_own(path);
  if (descriptor < 0)
    return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored; // another run may remove it at the same time
    std::filesystem::remove_all(path, ignored);
  }
  close(descriptor);
}

} // namespace

std::string temporary_name_in(const std::string &folder) {
  return folder + "/" + std::string(prefix) + std::string(random_part);
}

bool lock_as_owner(int descriptor) {
  while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  // remove_abandoned could take the lock between the creation and this lock.
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

void remove_abandoned(const std::string &folder) {
  std::error_code ignored; // files may vanish during the iteration
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored))
    if (has_temporary_name(at->path()))
      remove_if_abandoned(at->path().string());
}

} // namespace tritonc
