// Writes the C++ header: typed launch functions for the kernels of a library.
//
// The header is for readers: an example call comes first, and data comes last. In object mode it
// uses only facts from the front end. So a change inside a kernel changes only the object, and no
// C++ is recompiled. In header mode it also contains the GPU code.

#pragma once

#include "emit/interface.h"
#include "emit/tables.h"

#include <string>

namespace tritonc {

/// Object mode: the header for an object file.
std::string object_mode_header(const Library &library, const Interface &interface);

/// Header mode: the header that needs no object file.
std::string self_contained_header(const Library &library, const Interface &interface,
                                  const Tables &tables);

} // namespace tritonc
