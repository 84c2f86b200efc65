// Reads the axes of a source from its `variant` and `tune` pragmas, and finds the kernel names:
//
//   variant(NAME: value, value, ...)      tune(NAME: value, value, ...)
//   value := word | number                           defines NAME=value
//          | word = { MACRO=tokens, MACRO=tokens }   defines these macros
//
// The tokens of a macro may contain commas, as in `SHAPE=TM, TK`: only a comma before `MACRO=`
// ends them. A string literal defines the macro as the tokens inside the string.
//
// Tested by tests/unit/language/declarations_test.cpp.

#include "language/front_end.h"

#include "language/preprocessor.h"

#include <algorithm>

namespace tritonc {
namespace {

class AxisReader {
public:
  AxisReader(const std::vector<Token> &tokens, DiagnosticEngine &diagnostics)
      : tokens_(tokens), diagnostics_(diagnostics) {}

  std::vector<Axis> read() {
    while (!peek().is(TokenKind::end)) {
      Token token = next();
      if (token.is(TokenKind::pragma) && (token.spelling == "variant" || token.spelling == "tune"))
        axis(token.spelling == "tune");
    }
    return std::move(axes_);
  }

private:
  const Token &peek(size_t ahead = 0) const {
    return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
  }

  const Token &next() {
    const Token &token = peek();
    position_ += !token.is(TokenKind::end);
    return token;
  }

  bool expect(std::string_view punctuator, const std::string &what) {
    if (peek().is(punctuator)) {
      next();
      return true;
    }
    diagnostics_.report(
        Message::expected, peek().at,
        {"`" + std::string(punctuator) + "` " + what, "`" + std::string(peek().spelling) + "`"});
    return false;
  }

  void axis(bool tuned) {
    next(); // `(`: the preprocessor has checked it
    Axis axis;
    Token name = next();
    axis.name = name.spelling;
    axis.tuned = tuned;
    if (!name.is(TokenKind::identifier)) {
      diagnostics_.report(Message::expected, name.at,
                          {"the name of an axis", "`" + axis.name + "`"});
      return;
    }
    if (!expect(":", "after the name of the axis"))
      return;
    if (peek().is(")")) {
      diagnostics_.report(Message::axis_without_values, name.at, {axis.name});
      return;
    }
    do
      if (!value(axis))
        return;
    while (next().is(","));
    auto has_name = [&](const Axis &known) { return known.name == axis.name; };
    if (std::any_of(axes_.begin(), axes_.end(), has_name))
      diagnostics_.report(Message::axis_twice, name.at, {axis.name});
    axes_.push_back(std::move(axis));
  }

  bool value(Axis &axis) {
    Token first = peek();
    AxisValue value;
    if (first.is(TokenKind::identifier) && peek(1).is("=")) {
      value.name = next().spelling;
      next();
      if (!definitions(value.defines))
        return false;
    } else {
      std::string text = tokens_until_end_of_value();
      bool is_name = (first.is(TokenKind::identifier) || first.is(TokenKind::number)) &&
                     text == first.spelling;
      if (!is_name) {
        diagnostics_.report(Message::axis_value_name, first.at, {text, axis.name});
        diagnostics_.report(Message::name_the_value, first.at, {axis.name});
        return false;
      }
      value.name = text;
      value.defines.push_back({axis.name, text});
    }
    auto has_name = [&](const AxisValue &known) { return known.name == value.name; };
    if (std::any_of(axis.values.begin(), axis.values.end(), has_name))
      diagnostics_.report(Message::axis_value_twice, first.at, {axis.name, value.name});
    axis.values.push_back(std::move(value));
    if (peek().is(",") || peek().is(")"))
      return true;
    return expect(",", "after the value");
  }

  // Parses `{ MACRO=tokens, ... }`, including the closing brace.
  bool definitions(std::vector<Define> &defines) {
    if (!expect("{", "before the macros of the value"))
      return false;
    while (!peek().is("}")) {
      Token name = next();
      if (!name.is(TokenKind::identifier)) {
        diagnostics_.report(Message::expected, name.at,
                            {"the name of a macro", "`" + std::string(name.spelling) + "`"});
        return false;
      }
      if (!expect("=", "after the name of the macro"))
        return false;
      defines.push_back({std::string(name.spelling), macro_tokens()});
      if (peek().is(",") || peek().is(";"))
        next();
      else if (!peek().is("}"))
        return expect("}", "after the macros of the value");
    }
    next();
    return true;
  }

  std::string macro_tokens() {
    return collect([&] {
      bool starts_next = peek(1).is(TokenKind::identifier) && peek(2).is("=");
      return peek().is("}") || peek().is(";") ||
             (peek().is(",") && (starts_next || peek(1).is("}")));
    });
  }

  std::string tokens_until_end_of_value() {
    return collect([&] { return peek().is(",") || peek().is(")"); });
  }

  // The text of the tokens until `at_end` holds outside parentheses and brackets.
  template <typename AtEnd> std::string collect(AtEnd at_end) {
    std::string text;
    size_t count = 0;
    bool is_string = peek().is(TokenKind::string);
    for (int depth = 0; !peek().is(TokenKind::end) && !(depth == 0 && at_end()); count++) {
      const Token &token = next();
      depth += token.is("(") + token.is("[") - token.is(")") - token.is("]");
      text += (count > 0 && token.spaced ? " " : "") + std::string(token.spelling);
    }
    return is_string && count == 1 ? text.substr(1, text.size() - 2) : text;
  }

  const std::vector<Token> &tokens_;
  DiagnosticEngine &diagnostics_;
  size_t position_ = 0;
  std::vector<Axis> axes_;
};

// Finds every `void NAME (` outside braces and parentheses. If the source uses `__global__`, counts
// only functions marked `__global__`.
std::vector<std::string> kernel_names(const std::vector<Token> &tokens) {
  std::vector<std::string> all, marked;
  bool is_marked = false;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); i++) {
    const Token &token = tokens[i];
    is_marked = (is_marked && !token.is("}") && !token.is(";")) || token.spelling == "__global__";
    bool is_name = depth == 0 && i > 0 && i + 1 < tokens.size() &&
                   tokens[i - 1].spelling == "void" && token.is(TokenKind::identifier) &&
                   tokens[i + 1].is("(");
    if (is_name)
      (is_marked ? marked : all).push_back(std::string(token.spelling));
    depth += token.is("(") + token.is("{") - token.is(")") - token.is("}");
  }
  return marked.empty() ? all : marked;
}

} // namespace

Declarations read_declarations(const FrontEndInput &input) {
  DiagnosticEngine diagnostics(input.messages);
  Preprocessed source = preprocess(input, diagnostics, /*quiet=*/true);
  Declarations out;
  out.axes = AxisReader(source.tokens, diagnostics).read();
  out.kernels = kernel_names(source.tokens);
  out.dependencies = std::move(source.files);
  out.diagnostics = diagnostics.diagnostics();
  out.diagnostics_text = diagnostics.text();
  out.failed = diagnostics.errors() > 0;
  return out;
}

} // namespace tritonc
