// Words with a meaning in declarations, for the files of the parser that read types and declarations.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tritonc::ast {

/// Words before a type that the parser ignores.
constexpr std::string_view ignored_words[] = {"volatile", "static",   "inline",
                                              "extern",   "register", "auto"};

template <typename Words> bool contains(const Words &words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

inline bool is_restrict(std::string_view word) {
  return word == "restrict" || word == "__restrict" || word == "__restrict__";
}

inline bool is_const(std::string_view word) { return word == "const" || word == "constexpr"; }

inline bool is_attribute(std::string_view word) {
  return word == "__multipleof" || word == "__aligned" || word == "__noalias" ||
         word == "__readonly" || word == "__writeonly" || word == "__retune" ||
         word == "__attribute__";
}

} // namespace tritonc::ast
