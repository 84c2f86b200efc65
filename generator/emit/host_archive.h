// The archive of a library's host code: an object for each variant and GPU that has one.
//
// It goes with the library's object, whose descriptors refer to what the archive defines.

#pragma once

#include "backend/result.h"
#include "emit/library.h"

#include <string>

namespace tritonc {

/// A static library ("ar") with a table of its symbols. Same library, same bytes.
Result<std::string> host_archive(const Library &library);

} // namespace tritonc
