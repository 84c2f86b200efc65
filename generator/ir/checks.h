// What a kernel says about itself: the operations `print` and `assert`.
//
// They are in functions that become code for the host, and in those that become code for a GPU only
// where it is asked for (`--checks`). In the {text} of `print`, `{}` is a place for the next
// operand, `{u}` for the next one as an unsigned integer, and `{{` and `}}` are braces. The {text}
// of `assert` is just text. Whoever runs the code reads a format that says the types too.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

/// Whether there is any `print` or `assert`.
bool has_checks(const Function &fn);

/// `text` with its braces doubled.
std::string without_places(std::string_view text);

/// How many places {text} of a `print` has.
size_t places_in(std::string_view text);

/// The {text} of a `print` with types in its places: "n = {u32}, acc = {f32[2,2]}".
std::string print_format(const Op &print);

/// What is reported of an `assert` that fails. Of a tile with the place for the element at fault:
/// "assertion `x >= 0` failed, at element {[4,8]}".
std::string assertion_format(const Op &assertion);

} // namespace tritonc::ir
