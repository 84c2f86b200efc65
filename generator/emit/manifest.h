// The manifest: what was compiled and what came out, as JSON (schema 1).
//
// Sorted, without times and absolute paths, so that it can be committed and its changes read.

#pragma once

#include "emit/bundle.h"
#include "emit/library.h"

#include <string>

namespace tritonc {

/// With the name, size and digest of the `bundle` that images are in, if they are.
std::string manifest(const Library &library, const Bundle *bundle = nullptr);

/// What the manifest knows an image by: its SHA-256, in hexadecimal.
std::string sha256(const std::string &bytes);

} // namespace tritonc
