// Compresses cubins or PTX into the images that TritonC embeds, by running fatbinary.
#pragma once

#include "backend/toolchain.h"
#include "target/gpu.h"

#include <string>
#include <vector>

namespace tritonc {

/// Wraps each code into the driver's compressed format, which the driver unpacks. The codes are
/// cubins for `gpu`, or PTX if gpu.is_ptx(). One fatbinary run does all: fatbinary takes longer to
/// start than to compress.
Result<std::vector<std::string>>
compress(const Toolchain &tools, const std::vector<const std::string *> &codes, const Gpu &gpu);

/// The problem with `bytes` as an image of one cubin or PTX text of size `code_bytes`; empty if
/// valid.
std::string check_image(const std::string &bytes, size_t code_bytes);

/// Whether an image holds PTX; otherwise it holds a cubin.
bool holds_ptx(const std::string &image);

/// Extracts the cubin or PTX from an image into `code`. On failure returns false and sets
/// `problem`.
bool unpack(const std::string &image, std::string &code, std::string &problem);

} // namespace tritonc
