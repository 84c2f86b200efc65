// Names that were misspelt.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tritonc {

/// How many letters must be inserted, removed, replaced or swapped with their neighbours to make
/// one name the other.
size_t edit_distance(std::string_view a, std::string_view b);

/// Whether two names differ by so little that one is the other misspelt: one letter, of names of
/// six letters two, of ten three. Names of one or two letters resemble everything.
bool is_misspelt(std::string_view name, std::string_view known);

/// The one of `known` that `name` is misspelt; nothing if it is none or may be several.
std::optional<std::string_view> nearest(std::string_view name,
                                        const std::vector<std::string_view> &known);

} // namespace tritonc
