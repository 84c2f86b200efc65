// Functions and constants of CUDA, OpenCL and Python, and how Triton-C writes them.

#pragma once

#include "diagnostics/diagnostics.h"

#include <optional>
#include <string_view>

namespace tritonc::ast {

/// The Triton-C name of a function or a constant that has another name in other languages; nullopt
/// if there is none.
std::optional<std::string_view> other_name(std::string_view name, bool is_call);

/// The note that says how to write a function of other languages without a call of that name.
struct OtherWay {
  Message note;
  std::string_view argument; // of the note; may be empty
};

/// Returns nullopt if `name` is not such a function. Pragmas have `cdiv`, kernels do not.
std::optional<OtherWay> other_way(std::string_view name, bool in_pragma);

/// Whether `name` is a division that rounds up: cdiv, or its name in other languages.
bool is_ceiling_division(std::string_view name);

} // namespace tritonc::ast
