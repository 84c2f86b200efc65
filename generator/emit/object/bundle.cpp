// Writes and checks bundles. See bundle.h.
//
// Tested by tests/unit/emit/bundle_test.cpp.

#include "emit/object/bundle.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <cstring>

namespace tritonc {
namespace {

constexpr size_t alignment = 64;

size_t aligned(size_t size) { return (size + alignment - 1) / alignment * alignment; }

// The digest of the bytes after the header.
void digest_of(llvm::StringRef contents, uint64_t (&digest)[2]) {
  llvm::SHA256 hash;
  hash.update(contents);
  std::memcpy(digest, hash.final().data(), sizeof digest);
}

abi::bundle_header header_of(const std::string &bytes) {
  abi::bundle_header header = {};
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  return header;
}

} // namespace

Bundle make_bundle(const Tables &tables, const std::string &name) {
  Bundle bundle = {.name = name, .bytes = std::string(sizeof(abi::bundle_header), '\0')};
  for (const std::string &image : tables.images) {
    bundle.offsets.push_back(bundle.bytes.size());
    bundle.bytes += image;
    bundle.bytes.resize(aligned(bundle.bytes.size()));
  }
  digest_of(llvm::StringRef(bundle.bytes).drop_front(sizeof(abi::bundle_header)), bundle.digest);
  abi::bundle_header header = {};
  std::memcpy(header.magic, abi::bundle_magic, sizeof header.magic);
  header.version = abi::bundle_version;
  header.image_count = uint32_t(tables.images.size());
  header.length = bundle.bytes.size();
  std::memcpy(header.digest, bundle.digest, sizeof header.digest);
  std::memcpy(bundle.bytes.data(), &header, sizeof header);
  return bundle;
}

bool is_bundle(const std::string &bytes) {
  return llvm::StringRef(bytes).starts_with(
      llvm::StringRef(abi::bundle_magic, sizeof abi::bundle_magic));
}

std::string check_bundle(const std::string &bytes) {
  abi::bundle_header header = header_of(bytes);
  if (bytes.size() < sizeof header || !is_bundle(bytes))
    return "it does not begin like a bundle";
  if (header.version != abi::bundle_version)
    return "it has version " + std::to_string(header.version);
  if (header.length != bytes.size())
    return "its header says " + std::to_string(header.length) + " bytes, it has " +
           std::to_string(bytes.size());
  const char unused[sizeof header.padding] = {};
  uint64_t digest[2];
  digest_of(llvm::StringRef(bytes).drop_front(sizeof header), digest);
  if (std::memcmp(digest, header.digest, sizeof digest) != 0 ||
      std::memcmp(unused, header.padding, sizeof unused) != 0)
    return "its digest is wrong";
  if (images_of_bundle(bytes).size() != header.image_count)
    return "it has more or fewer images than its header says";
  return "";
}

std::vector<std::string> images_of_bundle(const std::string &bytes) {
  std::vector<std::string> images;
  for (size_t at = sizeof(abi::bundle_header); at < bytes.size();) {
    abi::image_header header;
    if (bytes.size() - at < sizeof header)
      break;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (std::memcmp(header.magic, abi::image_magic, sizeof header.magic) != 0 ||
        header.length > bytes.size() - at - sizeof header)
      break;
    images.push_back(bytes.substr(at, sizeof header + header.length));
    at = aligned(at + images.back().size());
  }
  return images;
}

} // namespace tritonc
