// The images of a library in a file of their own, which the runtime reads them from: for grids of
// variants that are too large for an object or a program.
//
// The object names the file by its name, length and digest (abi::bundle), and images by where they
// are in it.

#pragma once

#include "emit/tables.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

struct Bundle {
  std::string name;              // "gemm.tcb"
  std::string bytes;             // of the file
  std::vector<uint64_t> offsets; // of each of Tables::images
  uint64_t digest[2] = {};
};

Bundle make_bundle(const Tables &tables, const std::string &name);

/// Whether a file begins like a bundle.
bool is_bundle(const std::string &bytes);

/// What is wrong with the bytes as a bundle, besides what may be wrong with its images; empty if
/// nothing is.
std::string check_bundle(const std::string &bytes);

/// Its images, each behind its abi::image_header.
std::vector<std::string> images_of_bundle(const std::string &bytes);

} // namespace tritonc
