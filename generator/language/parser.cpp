// The parser's token access, error recovery and top-level loop. See parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/parser.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tritonc::ast {
namespace {

const Token no_token;

std::string describe(const Token &token) {
  switch (token.kind) {
  case TokenKind::end:
    return "the end of the file";
  case TokenKind::pragma:
    return "`#pragma tritonc " + std::string(token.spelling) + "`";
  default:
    return "`" + std::string(token.spelling) + "`";
  }
}

} // namespace

// Whether the token can be the name of something.
bool Parser::is_name(const Token &token) {
  constexpr std::array<std::string_view, 9> statements = {
      "if", "else", "for", "while", "do", "break", "continue", "return", "static_assert"};
  return token.is(TokenKind::identifier) &&
         std::find(statements.begin(), statements.end(), token.spelling) == statements.end();
}

const Token &Parser::peek(size_t ahead) const {
  if (panic_ || position_ + ahead >= tokens_.size())
    return no_token;
  if (position_ + ahead == corrected_at_)
    return corrected_;
  return tokens_[position_ + ahead];
}

Token Parser::next() {
  Token token = peek();
  if (!token.is(TokenKind::end)) {
    last_ = token.at;
    position_++;
  }
  return token;
}

bool Parser::accept(std::string_view punctuator) {
  if (!peek().is(punctuator))
    return false;
  next();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!peek().is_word(word))
    return false;
  next();
  return true;
}

bool Parser::expect(std::string_view punctuator, std::string_view what) {
  if (accept(punctuator))
    return true;
  fail_expected("`" + std::string(punctuator) + "` " + std::string(what));
  return false;
}

bool Parser::is_on_next_line(const Token &token) const {
  return diagnostics_.line_column(last_).line != diagnostics_.line_column(token.at).line;
}

// Expects the `;` of a statement. If the `;` is missing at the end of a line or a block, the parser
// reports it and continues as if the `;` were there.
bool Parser::expect_end(std::string_view what) {
  if (panic_ || accept(";"))
    return !panic_;
  Token found = peek();
  bool is_missing = found.is("}") || (!found.is(TokenKind::end) && is_on_next_line(found));
  std::vector<Edit> edits;
  if (is_missing)
    edits = {Edit::insert_behind(last_, ";")};
  fail_expected("`;` " + std::string(what), std::move(edits));
  panic_ = !is_missing;
  return false;
}

bool Parser::expect_closing(std::string_view punctuator, std::string_view what,
                            const Token &opening) {
  if (panic_ || accept(punctuator))
    return !panic_;
  // If the token cannot be inside the brackets, only the closing bracket is missing.
  Token found = peek();
  bool is_missing = (punctuator == ")" && (found.is("{") || found.is(";"))) ||
                    (punctuator == "]" && (found.is("=") || found.is(";") || found.is(")")));
  std::vector<Edit> edits;
  if (is_missing)
    edits = {Edit::insert_behind(last_, std::string(punctuator))};
  fail_expected("`" + std::string(punctuator) + "` " + std::string(what), std::move(edits));
  note(Message::unclosed, opening.at, {std::string(opening.spelling)});
  panic_ = !is_missing;
  return false;
}

void Parser::fail(Message id, Location at, std::vector<std::string> arguments,
                  std::vector<Edit> edits) {
  dropped_ = panic_;
  if (!panic_)
    diagnostics_.report(id, at, std::move(arguments), {}, std::move(edits));
  panic_ = true;
  gave_up_ |= id == Message::too_deep;
}

void Parser::note(Message id, Location at, std::vector<std::string> arguments,
                  std::vector<Edit> edits) {
  if (!dropped_)
    diagnostics_.report(id, at, std::move(arguments), {}, std::move(edits));
}

void Parser::correct(const Token &word, std::string_view meant) {
  std::string name(meant);
  diagnostics_.report(Message::undeclared, word.at, {std::string(word.spelling)}, {},
                      {Edit::replace(word.at, name)});
  diagnostics_.report(Message::similar_word, word.at, {name});
  corrected_ = word;
  corrected_.spelling = meant;
  if (!std::isalpha((unsigned char)meant[0])) // `and` becomes `&&`
    corrected_.kind = TokenKind::punctuator;
  corrected_at_ = position_;
}

void Parser::fail_expected(std::string_view what, std::vector<Edit> edits) {
  const Token &token = peek();
  if (token.is(TokenKind::stray)) { // no second message
    panic_ = dropped_ = true;
    return;
  }
  fail(Message::expected, panic_ ? last_ : token.at, {std::string(what), describe(token)},
       std::move(edits));
  note_empty_macros(token);
}

// The empty macros directly before the current token, on its line.
std::vector<const EmptyMacro *> Parser::empty_macros_before(const Token &token) const {
  auto is_before = [](const EmptyMacro &macro, size_t wanted) { return macro.token < wanted; };
  auto first = std::lower_bound(empty_macros_.begin(), empty_macros_.end(), position_, is_before);
  std::vector<const EmptyMacro *> found;
  for (auto macro = first; macro != empty_macros_.end() && macro->token == position_; ++macro)
    if (diagnostics_.line_column(macro->at).line == diagnostics_.line_column(token.at).line)
      found.push_back(&*macro);
  return found;
}

// Names the empty macros before the current token: their missing value may be the cause of the
// error.
void Parser::note_empty_macros(const Token &token) {
  for (const EmptyMacro *macro : empty_macros_before(token))
    note(macro->is_define ? Message::empty_define : Message::empty_macro, macro->at, {macro->name});
}

// Skips to after the `;` that ends the statement, or to before the `}` that ends the block. At the
// start of a kernel (`__global__`) it stays in panic mode, which suppresses the errors about blocks
// that are still open.
void Parser::recover() {
  if (gave_up_)
    return;
  panic_ = false;
  for (int depth = 0; !peek().is(TokenKind::end); next()) {
    if (peek().is_word("__global__")) {
      panic_ = true;
      return;
    }
    if (depth == 0 && peek().is("}"))
      return;
    if (depth == 0 && accept(";"))
      return;
    depth += peek().is("{") - peek().is("}");
    if (depth == 0 && peek().is("}")) { // ends a block that belongs to the statement
      next();
      return;
    }
  }
}

// Skips to after the current function or declaration.
void Parser::recover_outside() {
  recover();
  panic_ = gave_up_;
  accept("}");
}

// Skips a function's body whose `{` is missing.
void Parser::skip_body() {
  panic_ = gave_up_;
  for (int depth = 1; depth > 0 && !peek().is(TokenKind::end); next()) {
    if (peek().is_word("__global__"))
      return;
    depth += peek().is("{") - peek().is("}");
  }
}

Program Parser::program() {
  Program program;
  while (!peek().is(TokenKind::end)) {
    external_declaration(program);
    if (panic_) {
      pending_.clear(); // their kernel may be the function that the parser skips
      recover_outside();
    }
  }
  if (gave_up_)
    return program;
  choose_kernels(program);
  place_trailing_pragmas(program);
  return program;
}

} // namespace tritonc::ast
