// The generated header for C: the kernels of a library as functions.
//
// It names the same descriptors as the C++ header of object mode, and holds no code: a program in
// C, or in a language that calls C, links the object and the runtime.

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// C11; C++ compilers take it, too.
std::string c_header(const Library &library, const Interface &interface);

} // namespace tritonc
