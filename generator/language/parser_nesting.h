// The parser's guard against sources that nest too deeply. See parser.h.

#pragma once

#include "language/parser.h"

namespace tritonc::ast {

/// Levels of parentheses, operators and blocks, together.
inline constexpr int most_nesting = 256;
/// Levels of an expression's tree: `a + b + c + ...` is one level deeper per operator.
inline constexpr int most_tree_depth = 1024;

class Parser::Nesting {
public:
  explicit Nesting(Parser &parser) : parser_(parser) {
    if (++parser_.depth_ > most_nesting)
      parser_.fail(Message::too_deep, parser_.peek().at, {std::to_string(most_nesting)});
  }
  ~Nesting() { parser_.depth_--; }
  Nesting(const Nesting &) = delete;

private:
  Parser &parser_;
};

} // namespace tritonc::ast
