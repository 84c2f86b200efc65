// Writes all output files, or none. See write_files.h.
//
// Tested by tests/unit/support/write_files_test.cpp.

#include "support/write_files.h"

#include "support/owner_lock.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace tritonc {

namespace {

namespace fs = llvm::sys::fs;

Error cannot_write(const std::string &path, const std::string &reason) {
  return {Message::cannot_write, {path, reason}};
}

Error cannot_write(const std::string &path, int error) {
  return cannot_write(path, std::strerror(error));
}

/// The target of `path` if it is a symbolic link: the rename must not replace the link.
std::string behind_links(const std::string &path) {
  llvm::SmallString<256> real;
  return fs::real_path(path, real) ? path : std::string(real);
}

std::string folder_of(const std::string &path) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// Standard output, a terminal, a pipe, /dev/null: a rename would replace it by a regular file.
bool is_special(const std::string &path) {
  struct stat status;
  return path == "-" ||
         (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

bool has_content(const std::string &path, const std::string &content) {
  auto old = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return old && (*old)->getBuffer() == content;
}

int write_all(int descriptor, const std::string &content) {
  for (size_t done = 0; done < content.size();) {
    ssize_t written = write(descriptor, content.data() + done, content.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    done += size_t(written);
  }
  return 0;
}

Error no_standard_output(int error) {
  return cannot_write("standard output", error == EBADF ? "it is closed" : std::strerror(error));
}

std::optional<Error> write_special(const OutputFile &file) {
  if (file.path == "-") {
    if (int error = write_all(STDOUT_FILENO, file.content))
      return no_standard_output(error);
    return std::nullopt;
  }
  // Without O_NONBLOCK, open() waits until another process reads the pipe.
  int descriptor = open(file.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0 && errno == ENXIO)
    return cannot_write(file.path, "it is a pipe that no process reads");
  if (descriptor < 0)
    return cannot_write(file.path, errno);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  int error = write_all(descriptor, file.content);
  if (close(descriptor) != 0 && !error)
    error = errno;
  if (error)
    return cannot_write(file.path, error);
  return std::nullopt;
}

/// The mode for a new file, by the user's umask. A process can read its umask only by changing it,
/// for all threads, so this reads it once.
unsigned usual_mode() {
  static const mode_t mask = [] {
    mode_t mask = umask(0);
    umask(mask);
    return mask;
  }();
  return 0666 & ~mask;
}

// Guards the list of temporary files and the renames.
std::mutex files_mutex;
std::list<std::string> temporary_files;

/// A file with its content but still a temporary name. The destructor removes it.
class PendingFile {
public:
  explicit PendingFile(const OutputFile &file) : file_(file), path_(behind_links(file.path)) {}
  PendingFile(const PendingFile &) = delete;
  ~PendingFile() {
    std::lock_guard lock(files_mutex);
    if (has_temporary_name_)
      unlink(name_->c_str());
    forget();
    if (descriptor_ >= 0)
      close(descriptor_);
  }

  std::optional<Error> create() {
    do {
      if (int error = create_once())
        return cannot_write(file_.path, error);
    } while (!lock_as_owner(descriptor_));
    fchmod(descriptor_, usual_mode()); // fails on file systems without modes, which is harmless
    return std::nullopt;
  }

  std::optional<Error> fill() {
    if (int error = write_all(descriptor_, file_.content))
      return cannot_write(file_.path, error);
    return std::nullopt;
  }

  std::optional<Error> force_to_disk() {
    if (fsync(descriptor_) != 0)
      return cannot_write(file_.path, errno);
    return std::nullopt;
  }

  /// Requires a lock of files_mutex.
  std::optional<Error> rename() {
    if (::rename(name_->c_str(), path_.c_str()) != 0)
      return cannot_write(file_.path, errno);
    forget();
    return std::nullopt;
  }

  void take_back() const { unlink(path_.c_str()); }

private:
  // Returns 0 or an errno.
  int create_once() {
    std::list<std::string> entry = {temporary_name_in(folder_of(path_))};
    std::lock_guard lock(files_mutex);
    forget();
    if (descriptor_ >= 0)
      close(descriptor_);
    descriptor_ = mkostemp(entry.front().data(), O_CLOEXEC);
    if (descriptor_ < 0)
      return errno;
    // Does not allocate: the handler for lack of memory locks files_mutex.
    name_ = entry.begin();
    temporary_files.splice(temporary_files.end(), entry);
    has_temporary_name_ = true;
    return 0;
  }

  void forget() {
    if (has_temporary_name_)
      temporary_files.erase(name_);
    has_temporary_name_ = false;
  }

  const OutputFile &file_;
  std::string path_;
  int descriptor_ = -1;
  bool has_temporary_name_ = false;
  std::list<std::string>::iterator name_; // in temporary_files; if has_temporary_name_
};

/// Renames all files, in this order. After an error each file is unchanged or deleted.
std::optional<Error> rename_all(const std::vector<std::unique_ptr<PendingFile>> &files) {
  std::lock_guard lock(files_mutex);
  for (size_t i = 0; i < files.size(); i++) {
    std::optional<Error> failure = files[i]->rename();
    if (!failure)
      continue;
    for (size_t j = 0; j < i; j++) // do not leave a mix of old and new files
      files[j]->take_back();
    return failure;
  }
  return std::nullopt;
}

/// Removes temporary files of killed runs, once per folder.
void tidy(const std::string &folder) {
  static std::mutex mutex;
  static std::set<std::string> tidied;
  {
    std::lock_guard lock(mutex);
    if (!tidied.insert(folder).second)
      return;
  }
  remove_abandoned(folder);
}

} // namespace

std::optional<Error> check_writable(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    struct stat status;
    if (path != "-" && stat(path.c_str(), &status) != 0 && errno == ELOOP)
      return cannot_write(path, ELOOP);
    if (is_special(path)) {
      if (path != "-" && access(path.c_str(), W_OK) != 0)
        return cannot_write(path, errno);
      continue;
    }
    if (fs::is_directory(path))
      return cannot_write(path, EISDIR);
    std::string folder = folder_of(behind_links(path));
    if (!fs::exists(folder))
      return cannot_write(path, "there is no folder `" + folder + "`");
    if (!fs::is_directory(folder))
      return cannot_write(path, ENOTDIR);
    if (access(folder.c_str(), W_OK | X_OK) != 0)
      return cannot_write(path, errno);
  }
  return std::nullopt;
}

std::optional<Error> write_files(const std::vector<OutputFile> &files) {
  std::vector<std::unique_ptr<PendingFile>> pending;
  std::vector<const OutputFile *> special;
  for (const OutputFile &file : files) {
    if (is_special(file.path)) {
      special.push_back(&file);
      continue;
    }
    if (!file.even_if_unchanged && has_content(file.path, file.content))
      continue;
    tidy(folder_of(behind_links(file.path)));
    pending.push_back(std::make_unique<PendingFile>(file));
    if (std::optional<Error> failure = pending.back()->create())
      return failure;
    if (std::optional<Error> failure = pending.back()->fill())
      return failure;
  }
  // Sync after all writes: most file systems then sync the other files together with the first.
  for (const std::unique_ptr<PendingFile> &file : pending)
    if (std::optional<Error> failure = file->force_to_disk())
      return failure;
  // Without a lock of files_mutex, so that an interrupt ends a process that waits for a reader.
  for (const OutputFile *file : special)
    if (std::optional<Error> failure = write_special(*file))
      return failure;
  return rename_all(pending);
}

std::unique_lock<std::mutex> remove_temporary_files() {
  std::unique_lock lock(files_mutex);
  for (const std::string &path : temporary_files)
    unlink(path.c_str());
  return lock;
}

} // namespace tritonc
