// Writes the archive of a library's host code: one object for each variant and GPU with host code.
//
// Link it together with the library's object. The object's descriptors refer to its symbols.

#pragma once

#include "emit/library.h"
#include "support/result.h"

#include <string>

namespace tritonc {

/// A static library ("ar") with a symbol table. The same library gives the same bytes.
Result<std::string> host_archive(const Library &library);

} // namespace tritonc
