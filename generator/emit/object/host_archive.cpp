// Writes the archive of a library's host code. See host_archive.h.
//
// Tested by tests/unit/emit/host_archive_test.cpp.

#include "emit/object/host_archive.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <set>
#include <vector>

namespace tritonc {

Result<std::string> host_archive(const Library &library) {
  std::vector<llvm::NewArchiveMember> members;
  std::set<std::string> names; // an object that two variants share comes once
  for (const KernelEntry &kernel : library.kernels)
    for (const Variant &variant : kernel.variants)
      for (const Image &image : variant.images) {
        if (image.host_symbol.empty())
          continue;
        auto [name, is_new] = names.insert(image.host_symbol + ".o");
        if (is_new)
          members.emplace_back(llvm::MemoryBufferRef(image.host_object, *name));
      }
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return Error{Message::internal_error, {"host code", llvm::toString(archive.takeError())}};
  return (*archive)->getBuffer().str();
}

} // namespace tritonc
