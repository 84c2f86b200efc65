// Converts arbitrary text to C++ identifiers, string literals, comments and wrapped lines.
//
// All text in a generated header goes through these functions. Otherwise a name or a value could
// end a literal or a comment, or have another meaning for the C++ compiler.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

/// Whether `text` has only letters, digits and underscores, and does not begin with a digit.
bool is_identifier(std::string_view text);

/// `name` as a C++ identifier.
/// - Other characters become `_`.
/// - A name that begins with a digit gets a `_` before it.
/// - A keyword, a macro name of the standard library or a system header, and a name in `taken` (a
///   space-separated list) get a `_` after them.
std::string cpp_identifier(std::string_view name, std::string_view taken = "");

/// A string literal with quotes, for any bytes. It splits long literals to a length that every
/// compiler accepts.
std::string string_literal(std::string_view bytes, std::string_view indent = "");

/// One line for a `//` comment, only printable ASCII: no line break, no line continuation, no
/// bidirectional control characters.
std::string comment_text(std::string_view text);

std::string join(const std::vector<std::string> &parts, std::string_view separator);

/// `first` and then `parts`, wrapped between parts at 100 columns. Each following line starts with
/// `next`.
std::string wrapped(std::string first, const std::string &next,
                    const std::vector<std::string> &parts, std::string_view separator);

} // namespace tritonc
