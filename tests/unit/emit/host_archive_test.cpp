// Tests emit/object/host_archive.cpp.

#include "emit/object/host_archive.h"
#include "unit/emit/sample_library.h"

#include "llvm/Object/Archive.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The members, as a linker reads them: "a.o: 7 bytes".
std::vector<std::string> members(const std::string &archive) {
  auto read =
      llvm::cantFail(llvm::object::Archive::create(llvm::MemoryBufferRef(archive, "host.a")));
  std::vector<std::string> texts;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : read->children(error))
    texts.push_back(llvm::cantFail(child.getName()).str() + ": " +
                    std::to_string(llvm::cantFail(child.getSize())) + " bytes");
  llvm::cantFail(std::move(error));
  return texts;
}

} // namespace

TEST_CASE("host_archive: one object per host symbol, without duplicates") {
  Library library = sample_library();
  std::vector<Variant> &variants = library.kernels[0].variants;
  variants[0].images[0].host_symbol = "first";
  variants[0].images[0].host_object = "object";
  variants[1].images[0].host_symbol = "second";
  variants[1].images[0].host_object = "another one";
  variants[2].images[0].host_symbol = "first";
  variants[2].images[0].host_object = "object";
  Result<std::string> archive = host_archive(library);
  REQUIRE(archive);
  CHECK(members(*archive) == std::vector<std::string>{"first.o: 6 bytes", "second.o: 11 bytes"});
  CHECK(*archive == *host_archive(library));
}

TEST_CASE("host_archive: is empty without host code") {
  Result<std::string> archive = host_archive(sample_library());
  REQUIRE(archive);
  CHECK(members(*archive).empty());
}
