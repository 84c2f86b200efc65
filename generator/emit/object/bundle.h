// Writes a bundle: the images of a library in a separate file, which the runtime reads. Use it if
// the variants are too large for an object or a program.
//
// The object identifies the file by name, length and digest (abi::bundle), and an image by its
// offset.

#pragma once

#include "emit/tables.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

struct Bundle {
  std::string name;              // "gemm.tcb"
  std::string bytes;             // contents of the file
  std::vector<uint64_t> offsets; // offset of each image of Tables::images
  uint64_t digest[2] = {};
};

Bundle make_bundle(const Tables &tables, const std::string &name);

/// Whether a file begins with the magic number of a bundle.
bool is_bundle(const std::string &bytes);

/// The problem with the bytes as a bundle; empty if valid. Does not check the images.
std::string check_bundle(const std::string &bytes);

/// The images of a bundle, each with its abi::image_header.
std::vector<std::string> images_of_bundle(const std::string &bytes);

} // namespace tritonc
