// Source files in memory. See memory_files.h.

#include "fuzz/memory_files.h"

#include "diagnostics/source_file.h"

namespace tritonc {
namespace fuzz {
namespace {

std::vector<std::pair<std::string, std::string>> &files() {
  static std::vector<std::pair<std::string, std::string>> files;
  return files;
}

} // namespace

void set_files(std::vector<std::pair<std::string, std::string>> all) { files() = std::move(all); }

} // namespace fuzz

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files() {
  auto system = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  system->setCurrentWorkingDirectory("/");
  for (const auto &[path, content] : fuzz::files())
    system->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(content, path));
  return system;
}

FileProblem problem_with(const std::string &path, uint64_t) {
  for (const auto &file : fuzz::files())
    if (file.first == path)
      return {};
  return {"No such file or directory", ""};
}

} // namespace tritonc
