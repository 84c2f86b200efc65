// Finds the operations `print` and `assert` of a kernel, and makes their format strings.
//
// Functions that become host code keep these operations. Functions that become GPU code have them
// only with `--checks`. In the {text} of `print`, `{}` is the place of the next operand, `{u}` the
// place of the next operand as an unsigned integer, and `{{` and `}}` are braces. The {text} of
// `assert` has no places. Whatever runs the code reads the format, which also has the types.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

/// Returns whether the function has a `print` or `assert`.
bool has_checks(const Function &fn);

/// Returns `text` with every brace doubled.
std::string without_places(std::string_view text);

/// Counts the places in the {text} of a `print`.
size_t places_in(std::string_view text);

/// The {text} of a `print` with the types in its places: "n = {u32}, acc = {f32[2,2]}".
std::string print_format(const Op &print);

/// The report of a failed `assert`. For a tile, it has a place for the index of the failed element:
/// "assertion `x >= 0` failed, at element {[4,8]}".
std::string assertion_format(const Op &assertion);

} // namespace tritonc::ir
