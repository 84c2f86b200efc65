// The generated header: typed launch functions for the kernels of a library.
//
// It is written for the person who opens it: how to call comes first, bytes come last. In object
// mode it depends on nothing but what the front end knows, so that a change inside a kernel changes
// the object and no C++ is compiled again; in header mode it contains the code as well.

#pragma once

#include "emit/interface.h"
#include "emit/tables.h"

#include <string>

namespace tritonc {

/// The header that belongs to an object file.
std::string object_mode_header(const Library &library, const Interface &interface);

/// The header that needs no object file.
std::string self_contained_header(const Library &library, const Interface &interface,
                                  const Tables &tables);

} // namespace tritonc
