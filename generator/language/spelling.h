// Finds the known name that a misspelled name probably means.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tritonc {

/// The Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of adjacent
/// letters.
size_t edit_distance(std::string_view a, std::string_view b);

/// Whether `name` is probably a misspelling of `known`. The max edit distance is 1 from three
/// letters on, 2 from six and 3 from ten. Names of one or two letters never match, because such
/// names resemble everything.
bool is_misspelt(std::string_view name, std::string_view known);

/// The nearest name in `known` that `name` may misspell; nullopt if none matches or several are
/// equally near.
std::optional<std::string_view> nearest(std::string_view name,
                                        const std::vector<std::string_view> &known);

} // namespace tritonc
