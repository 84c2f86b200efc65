// Tokens after preprocessing, with all macros expanded and all directives executed.

#pragma once

#include "diagnostics/diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tritonc {

enum class TokenKind : uint8_t {
  end,
  identifier, // keywords too: the parser tells them apart
  number,     // a preprocessing number; not yet parsed
  string,
  character,
  punctuator, // a digraph has the spelling of its main form
  stray,      // already reported
  pragma,     // `#pragma tritonc NAME`, spelled NAME; its parenthesized arguments follow
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool spaced = false; // white space precedes the token
  Location at;
  std::string_view spelling; // lives as long as the Preprocessed that contains the token

  bool is(TokenKind k) const { return kind == k; }
  /// Whether the token is this punctuator.
  bool is(std::string_view text) const { return kind == TokenKind::punctuator && spelling == text; }
  /// Whether the token is this word.
  bool is_word(std::string_view word) const {
    return kind == TokenKind::identifier && spelling == word;
  }
};

/// An expansion of a macro with an empty value.
struct EmptyMacro {
  size_t token = 0; // index of the next token
  Location at;      // of the name
  std::string name;
  bool is_define = false; // whether the command line or a variant defines it
};

} // namespace tritonc
