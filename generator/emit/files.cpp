// Writes all output files, or none. See files.h.
//
// Tested by tests/unit/emit/files_test.cpp.

#include "emit/files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
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

/// A terminal, a pipe, /dev/null: a rename would replace it by a regular file.
bool is_special(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
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

std::optional<Error> write_special(const OutputFile &file) {
  int descriptor = open(file.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannot_write(file.path, errno);
  int error = write_all(descriptor, file.content);
  if (close(descriptor) != 0 && !error)
    error = errno;
  if (error)
    return cannot_write(file.path, error);
  return std::nullopt;
}

/// A file with its content but still a temporary name. LLVM deletes it if a signal ends the
/// process.
class PendingFile {
public:
  PendingFile(const OutputFile &file, fs::TempFile temporary)
      : file_(file), path_(behind_links(file.path)), temporary_(std::move(temporary)) {}
  PendingFile(PendingFile &&) = default;
  ~PendingFile() {
    if (!is_kept_)
      llvm::consumeError(temporary_.discard());
  }

  std::optional<Error> fill() {
    if (int error = write_all(temporary_.FD, file_.content))
      return cannot_write(file_.path, error);
    return std::nullopt;
  }

  std::optional<Error> force_to_disk() {
    if (fsync(temporary_.FD) != 0)
      return cannot_write(file_.path, errno);
    return std::nullopt;
  }

  // Not TempFile::keep: if it cannot rename, it copies, and a reader could see half of the file.
  std::optional<Error> rename() {
    if (::rename(temporary_.TmpName.c_str(), path_.c_str()) != 0)
      return cannot_write(file_.path, errno);
    llvm::consumeError(temporary_.keep()); // the rename is done; this only closes it
    is_kept_ = true;
    return std::nullopt;
  }

  void take_back() const { fs::remove(path_); }

private:
  const OutputFile &file_;
  std::string path_;
  fs::TempFile temporary_;
  bool is_kept_ = false;
};

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

} // namespace

std::optional<Error> check_writable(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    if (is_special(path)) {
      if (access(path.c_str(), W_OK) != 0)
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
  std::vector<PendingFile> pending;
  pending.reserve(files.size());
  std::vector<const OutputFile *> special;
  for (const OutputFile &file : files) {
    if (is_special(file.path)) {
      special.push_back(&file);
      continue;
    }
    if (!file.even_if_unchanged && has_content(file.path, file.content))
      continue;
    auto temporary = fs::TempFile::create(behind_links(file.path) + ".%%%%%%%%.tmp", usual_mode());
    if (!temporary)
      return cannot_write(file.path, llvm::toString(temporary.takeError()));
    pending.emplace_back(file, std::move(*temporary));
    if (std::optional<Error> failure = pending.back().fill())
      return failure;
  }
  // Sync after all writes: most file systems then sync the other files together with the first.
  for (PendingFile &file : pending)
    if (std::optional<Error> failure = file.force_to_disk())
      return failure;
  for (const OutputFile *file : special)
    if (std::optional<Error> failure = write_special(*file))
      return failure;
  for (size_t i = 0; i < pending.size(); i++) {
    std::optional<Error> failure = pending[i].rename();
    if (!failure)
      continue;
    for (size_t j = 0; j < i; j++) // do not leave a mix of old and new files
      pending[j].take_back();
    return failure;
  }
  return std::nullopt;
}

} // namespace tritonc
