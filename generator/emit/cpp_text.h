// Text as it may stand in C++: identifiers, literals, comments, lines.
//
// Whatever reaches a generated header goes through here, so that no name or value can end a
// literal or a comment, or mean something else to the C++ compiler than to us.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

/// Letters, digits and underscores, not beginning with a digit.
bool is_identifier(std::string_view text);

/// `name` as an identifier of C++: what it cannot contain becomes `_`, a keyword, a name that the
/// standard library or a system header makes a macro, or one in `taken` (a space-separated list)
/// gets a `_` behind it, and one that begins with a digit a `_` before it.
std::string cpp_identifier(std::string_view name, std::string_view taken = "");

/// A string literal with its quotes. Any bytes, in pieces of a length that every compiler accepts.
std::string string_literal(std::string_view bytes, std::string_view indent = "");

/// One line for a `//` comment, printable ASCII: no end of line, no continuation, no marks that
/// turn the direction of reading.
std::string comment_text(std::string_view text);

std::string join(const std::vector<std::string> &parts, std::string_view separator);

/// `parts` behind `first`, broken between parts where the line is full; later lines start with
/// `next`.
std::string wrapped(std::string first, const std::string &next,
                    const std::vector<std::string> &parts, std::string_view separator);

} // namespace tritonc
