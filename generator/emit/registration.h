// The source that makes a library's kernels known to a runner for tuning (<tritonc/tuner.hpp>).

#pragma once

#include "emit/interface.h"

#include <string>

namespace tritonc {

/// To be included behind the library's header, object mode or not.
std::string registration(const Interface &interface, bool self_contained);

/// What callers hand over, in one line: "const f16 *A, f16 *C, f32 *bias = null, i32 M". Tuning
/// data say for which parameters they were measured.
std::string signature_of(const std::vector<Parameter> &parameters);

/// "TYPE=half A=N": what callers choose of a variant; those axes that the library chooses along if
/// `tuned`.
std::string choice_text(const std::vector<Axis> &axes, const std::vector<int> &values, bool tuned);

} // namespace tritonc
