// Finds images in files and checks them against their headers. See read_library.h.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/read_library.h"

#include <tritonc/descriptor.hpp>

#include <cstring>

namespace tritonc {

uint32_t hidden_bytes(uint32_t kind) {
  switch (abi::hidden_kind(kind)) {
  case abi::hidden_kind::i32:
    return 4;
  case abi::hidden_kind::i64:
  case abi::hidden_kind::workspace:
    return 8;
  case abi::hidden_kind::tensor_map:
    return 128;
  }
  return 0;
}

std::vector<std::string> find_images(const std::string &bytes) {
  std::vector<std::string> images;
  const std::string magic(abi::image_magic, sizeof abi::image_magic);
  for (size_t at = 0; (at = bytes.find(magic, at)) != bytes.npos; at++) {
    abi::image_header header;
    if (bytes.size() - at < sizeof header)
      break;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    // Skips a magic number without an image: this program itself contains one.
    if (header.version == abi::image_version && header.reserved == 0 &&
        header.length <= bytes.size() - at - sizeof header)
      images.push_back(bytes.substr(at, sizeof header + header.length));
  }
  return images;
}

void take_from_bundle(ImageContents &image, const std::string &bundle) {
  abi::bundle_header header = {};
  std::memcpy(&header, bundle.data(), std::min(bundle.size(), sizeof header));
  bool is_ours = std::memcmp(header.digest, image.bundle_digest, sizeof header.digest) == 0 &&
                 header.length == image.bundle_length;
  if (!is_ours)
    image.problem = "it is in " + image.bundle + ", which is from another build";
  else if (image.offset > bundle.size() || image.size > bundle.size() - image.offset)
    image.problem = "it is after the end of " + image.bundle;
  else
    image.sealed = bundle.substr(image.offset, image.size);
}

bool unseal(const std::string &sealed, std::string &image, std::string &problem) {
  abi::image_header header;
  problem = "";
  if (sealed.size() < sizeof header)
    problem = "it is only " + std::to_string(sealed.size()) + " bytes long";
  if (!problem.empty())
    return false;
  std::memcpy(&header, sealed.data(), sizeof header);
  image = sealed.substr(sizeof header);
  if (std::memcmp(header.magic, abi::image_magic, sizeof header.magic) != 0)
    problem = "it does not begin like an image";
  else if (header.version != abi::image_version)
    problem = "it has version " + std::to_string(header.version);
  else if (header.length != image.size())
    problem = "its header says " + std::to_string(header.length) + " bytes, it has " +
              std::to_string(image.size());
  else if (header.checksum != abi::checksum(image.data(), image.size()))
    problem = "its checksum is wrong";
  return problem.empty();
}

} // namespace tritonc
