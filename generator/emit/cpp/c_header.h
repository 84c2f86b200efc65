// Writes the C header: the kernels of a library as C functions.
//
// It refers to the same descriptors as the object-mode C++ header and has no GPU code. A program in
// C, or in a language that calls C, links the object and the runtime.

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// The text of the header: C11, which C++ compilers also accept.
std::string c_header(const Library &library, const Interface &interface);

} // namespace tritonc
