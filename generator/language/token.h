// Tokens after preprocessing: all macros are expanded, all directives done.

#pragma once

#include "source/diagnostics.h"

#include <cstdint>
#include <string_view>

namespace tritonc {

enum class TokenKind : uint8_t {
  end,
  identifier, // keywords too: the parser tells them apart
  number,     // a preprocessing number, unchecked
  string,
  character,
  punctuator, // digraphs are spelled as what they stand for
  stray,      // reported already
  pragma,     // `#pragma tritonc NAME`, spelled NAME; its parenthesised arguments follow
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool spaced = false; // blanks stand before it
  Location at;
  std::string_view spelling; // lives as long as the Preprocessed it is in

  bool is(TokenKind k) const { return kind == k; }
  /// Whether it is this punctuator.
  bool is(std::string_view text) const { return kind == TokenKind::punctuator && spelling == text; }
  /// Whether it is this word.
  bool is_word(std::string_view word) const {
    return kind == TokenKind::identifier && spelling == word;
  }
};

} // namespace tritonc
