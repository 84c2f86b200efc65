// Implements the restricted file system and the check of a source file. See source_file.h.
//
// Tested by tests/unit/diagnostics/source_file_test.cpp.

#include "diagnostics/source_file.h"

#include "llvm/Support/FileSystem.h"

namespace tritonc {
namespace {

const char *kind_name(llvm::sys::fs::file_type type) {
  using llvm::sys::fs::file_type;
  switch (type) {
  case file_type::directory_file:
    return "a directory";
  case file_type::block_file:
  case file_type::character_file:
    return "a device";
  case file_type::fifo_file:
    return "a pipe";
  case file_type::socket_file:
    return "a socket";
  default:
    return "a special file";
  }
}

// Checks the file type before it opens the file, because opening a pipe waits for the other end.
class RegularFiles : public llvm::vfs::ProxyFileSystem {
public:
  RegularFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine &path) override {
    llvm::ErrorOr<llvm::vfs::Status> status = ProxyFileSystem::status(path);
    if (status && !status->isRegularFile() && !status->isDirectory())
      return std::make_error_code(std::errc::operation_not_permitted);
    return status;
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &path) override {
    llvm::ErrorOr<llvm::vfs::Status> found = status(path);
    if (!found)
      return found.getError();
    if (found->isRegularFile() && found->getSize() > max_source_bytes)
      return std::make_error_code(std::errc::file_too_large);
    return ProxyFileSystem::openFileForRead(path);
  }
};

} // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files() {
  return llvm::makeIntrusiveRefCnt<RegularFiles>();
}

FileProblem problem_with(const std::string &path, uint64_t max_bytes) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return {error.message(), ""};
  if (!llvm::sys::fs::is_regular_file(status))
    return {"", kind_name(status.type())};
  if (status.getSize() > max_bytes)
    return {"", "", /*is_too_large=*/true};
  llvm::Expected<llvm::sys::fs::file_t> file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return {llvm::errorToErrorCode(file.takeError()).message(), ""};
  llvm::sys::fs::closeFile(*file);
  return {};
}

} // namespace tritonc
