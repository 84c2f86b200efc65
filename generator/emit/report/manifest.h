// Writes the manifest: the inputs and outputs of a compilation, as JSON (schema 1).
//
// It is sorted and has no times and no absolute paths, so that you can commit it and review its
// changes.

#pragma once

#include "emit/library.h"
#include "emit/object/bundle.h"

#include <string>

namespace tritonc {

/// With a `bundle`, the manifest has its name, size and digest.
std::string manifest(const Library &library, const Bundle *bundle = nullptr);

/// The SHA-256 in hexadecimal, by which the manifest identifies an image.
std::string sha256(const std::string &bytes);

} // namespace tritonc
