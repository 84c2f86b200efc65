// Writes the source file that registers a library's kernels with a tuner (<tritonc/tuner.hpp>).

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// The text of the source file. The tuner includes it after the library's header, in both modes.
std::string registration(const Interface &interface, bool self_contained);

/// The parameters in one line: "const f16 *A, f16 *C, f32 *bias = null, i32 M". Tuning data contain
/// this line, so that they match only a kernel with these parameters.
std::string signature_of(const std::vector<Parameter> &parameters);

} // namespace tritonc
