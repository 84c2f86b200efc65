// Machine code, or PTX, to the compressed image that is embedded, by fatbinary.
#pragma once

#include "backend/toolchain.h"
#include "target/gpu.h"

#include <string>
#include <vector>

namespace tritonc {

/// Wraps each cubin for `gpu`, or PTX if it stands for that, into the driver's own compressed
/// format, which it unpacks by itself. In one run: fatbinary takes longer to start than to
/// compress.
Result<std::vector<std::string>>
compress(const Toolchain &tools, const std::vector<const std::string *> &codes, const Gpu &gpu);

/// What is wrong with `bytes` as an image of one cubin or text of `code_bytes`; empty if nothing
/// is.
std::string check_image(const std::string &bytes, size_t code_bytes);

/// Whether an image holds PTX, and not a cubin.
bool holds_ptx(const std::string &image);

/// The cubin or PTX in an image. False, and what is wrong in `problem`, if there is none.
bool unpack(const std::string &image, std::string &code, std::string &problem);

} // namespace tritonc
