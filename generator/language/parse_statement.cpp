// Parses statements. See parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/literal.h"
#include "language/parser.h"
#include "language/spelling.h"

namespace tritonc::ast {
namespace {

using Kind = Stmt::Kind;

bool is_label(const Token &token) { return token.is_word("case") || token.is_word("default"); }

} // namespace

StmtPtr Parser::make_stmt(Kind kind) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->at = peek().at;
  stmt->keyword = peek().spelling;
  return stmt;
}

// Takes the distance to a `(` in tokens; returns the distance to the token after its matching `)`.
size_t Parser::after_parentheses(size_t ahead) const {
  int depth = 0;
  do {
    depth += peek(ahead).is("(") - peek(ahead).is(")");
    if (peek(ahead++).is(TokenKind::end))
      return ahead;
  } while (depth > 0);
  return ahead;
}

// Returns a keyword only if the tokens after the word cannot follow a name.
std::string_view Parser::misspelt_statement() const {
  const Token &word = peek(), &behind = peek(1);
  if (!is_name(word) || starts_type(word) || declared_.count(word.spelling))
    return {};
  if (behind.is("(") && peek(after_parentheses(1)).is("{"))
    return nearest(word.spelling, {"while", "for", "switch", "if"}).value_or("");
  if (behind.is("{"))
    return nearest(word.spelling, {"do"}).value_or("");
  if (behind.is(";"))
    return nearest(word.spelling, {"break", "continue", "return"}).value_or("");
  bool is_value = behind.is(TokenKind::number) || is_name(behind);
  return is_value ? nearest(word.spelling, {"return"}).value_or("") : "";
}

StmtPtr Parser::statement() {
  Nesting nesting(*this);
  while (skip_foreign_word()) {
  }
  if (std::string_view meant = misspelt_statement(); !meant.empty())
    correct(peek(), meant);
  const Token &token = peek();
  if (token.is("{"))
    return block();
  if (token.is(TokenKind::pragma)) {
    take_pragma();
    return make_stmt(Kind::empty);
  }
  if (token.is_word("if"))
    return branch();
  if (token.is_word("for"))
    return for_loop();
  if (token.is_word("while"))
    return while_loop();
  if (token.is_word("do"))
    return do_loop();
  if (token.is_word("switch"))
    return choice();
  if (token.is_word("break"))
    return jump(Kind::jump_break);
  if (token.is_word("continue"))
    return jump(Kind::jump_continue);
  if (token.is_word("return"))
    return jump(Kind::jump_return);
  if (token.is_word("static_assert") || token.is_word("_Static_assert"))
    return assertion(Kind::static_assertion);
  bool is_call = peek(1).is("(");
  if (token.is_word("assert") && is_call)
    return assertion(Kind::assertion);
  if (token.is_word("print") && is_call)
    return print();
  if (token.is_word("goto")) {
    fail(Message::no_goto, token.at);
    note(Message::use_jumps, token.at);
    return make_stmt(Kind::empty);
  }
  if (token.is_word("asm")) {
    fail(Message::not_supported, token.at, {"`asm`"});
    return make_stmt(Kind::empty);
  }
  if (is_label(token)) {
    fail(Message::outside_switch, token.at, {std::string(token.spelling)});
    return make_stmt(Kind::empty);
  }
  if (starts_declaration())
    return declaration();
  StmtPtr stmt = make_stmt(peek().is(";") ? Kind::empty : Kind::expression);
  if (stmt->is(Kind::expression))
    stmt->value = expression();
  expect_end("after the statement");
  if (panic_ && stmt->is(Kind::expression)) // an incomplete statement would cause follow-up errors
    stmt->kind = Kind::empty;
  return stmt;
}

StmtPtr Parser::block() {
  StmtPtr stmt = make_stmt(Kind::block);
  Token opening = next();
  blocks_++;
  while (!peek().is("}") && !peek().is(TokenKind::end) && !peek().is_word("__global__")) {
    stmt->body.push_back(statement());
    if (!panic_)
      continue;
    recover();
    if (!panic_)
      accept_word("else"); // belongs to a skipped `if`
  }
  end_of_block();
  expect_closing("}", "at the end of the block", opening);
  return stmt;
}

// Removes the typedefs of the block that ends.
void Parser::end_of_block() {
  std::erase_if(typedefs_, [&](const NamedType &known) { return known.blocks == blocks_; });
  blocks_--;
}

StmtPtr Parser::branch() {
  StmtPtr stmt = make_stmt(Kind::branch);
  next();
  Token opening = peek();
  expect("(", "after `if`");
  stmt->value = expression();
  expect_closing(")", "after the condition", opening);
  stmt->body.push_back(statement());
  const Token &word = peek();
  bool has_block = peek(1).is("{") || peek(1).is_word("if");
  if (has_block && word.is(TokenKind::identifier) && is_misspelt(word.spelling, "else"))
    correct(word, "else");
  if (word.is_word("elif") && peek(1).is("(")) { // parse as `if` after an `else`
    correct(word, "else if");
    corrected_.spelling = "if";
    stmt->body.push_back(statement());
  } else if (accept_word("else")) {
    stmt->body.push_back(statement());
  }
  return stmt;
}

StmtPtr Parser::for_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  next();
  Token opening = peek();
  expect("(", "after `for`");
  if (starts_declaration()) {
    stmt->init = declaration();
  } else {
    stmt->init = make_stmt(peek().is(";") ? Kind::empty : Kind::expression);
    if (stmt->init->is(Kind::expression))
      stmt->init->value = expression();
    expect(";", "after the loop's first expression");
  }
  if (!peek().is(";"))
    stmt->value = expression();
  expect(";", "after the loop's condition");
  if (!peek().is(")"))
    stmt->step = expression();
  expect_closing(")", "after the loop's last expression", opening);
  stmt->body.push_back(statement());
  return stmt;
}

StmtPtr Parser::while_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  next();
  Token opening = peek();
  expect("(", "after `while`");
  stmt->value = expression();
  expect_closing(")", "after the condition", opening);
  stmt->body.push_back(statement());
  return stmt;
}

StmtPtr Parser::do_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  stmt->tests_first = false;
  next();
  stmt->body.push_back(statement());
  if (!accept_word("while")) {
    fail_expected("`while` after the body of `do`");
    return stmt;
  }
  Token opening = peek();
  expect("(", "after `while`");
  stmt->value = expression();
  expect_closing(")", "after the condition", opening);
  expect_end("after the statement");
  return stmt;
}

StmtPtr Parser::choice() {
  StmtPtr stmt = make_stmt(Kind::choice);
  next();
  Token opening = peek();
  expect("(", "after `switch`");
  stmt->value = expression();
  expect_closing(")", "after the value", opening);
  opening = peek();
  if (!expect("{", "before the cases"))
    return stmt;
  blocks_++;
  while (!peek().is("}") && !peek().is(TokenKind::end)) {
    if (is_label(peek())) {
      StmtPtr alternative = make_stmt(Kind::alternative);
      while (is_label(peek()))
        label(*alternative);
      stmt->body.push_back(std::move(alternative));
    } else if (stmt->body.empty()) {
      fail(Message::before_case, peek().at);
    } else {
      stmt->body.back()->body.push_back(statement());
    }
    if (panic_)
      recover();
  }
  end_of_block();
  expect_closing("}", "at the end of the block", opening);
  return stmt;
}

// Parses `case constant:` or `default:`.
void Parser::label(Stmt &alternative) {
  Token word = next();
  if (word.is_word("case")) {
    alternative.labels.push_back(conditional());
  } else if (alternative.is_default) {
    fail(Message::case_twice, word.at, {"default"});
  } else {
    alternative.is_default = true;
  }
  expect(":", "after `" + std::string(word.spelling) + "`");
}

StmtPtr Parser::jump(Kind kind) {
  StmtPtr stmt = make_stmt(kind);
  next();
  if (kind == Kind::jump_return && !peek().is(";") && !peek().is("}"))
    stmt->value = expression();
  expect_end("after `" + stmt->keyword + "`");
  return stmt;
}

// Parses `assert` and `static_assert`.
StmtPtr Parser::assertion(Kind kind) {
  StmtPtr stmt = make_stmt(kind);
  next();
  Token opening = peek();
  expect("(", "after `" + stmt->keyword + "`");
  size_t start = position_;
  stmt->value = assignment();
  stmt->written = written_since(start);
  if (accept(",")) {
    if (peek().is(TokenKind::string))
      stmt->text = text();
    else
      fail_expected("a string");
  }
  expect_closing(")", "after the assertion", opening);
  expect_end("after the assertion");
  return stmt;
}

StmtPtr Parser::print() {
  StmtPtr stmt = make_stmt(Kind::print);
  next();
  Token opening = next();
  do {
    Shown &shown = stmt->shown.emplace_back();
    size_t start = position_;
    if (peek().is(TokenKind::string)) {
      shown.text = text();
      continue;
    }
    shown.value = assignment();
    shown.text = written_since(start);
  } while (accept(","));
  expect_closing(")", "after the arguments of `print`", opening);
  expect_end("after the statement");
  return stmt;
}

// Parses adjacent string literals as one string: "a" "b".
std::string Parser::text() {
  std::string text;
  while (peek().is(TokenKind::string)) {
    Token token = next();
    if (std::optional<std::string> part = parse_string(token.spelling))
      text += *part;
    else
      fail(Message::bad_string, token.at, {std::string(token.spelling)});
  }
  return text;
}

// The source text of the tokens from `position` on; each white space becomes one blank.
std::string Parser::written_since(size_t position) const {
  std::string text;
  for (size_t i = position; i < position_; i++) {
    text += i > position && tokens_[i].spaced ? " " : "";
    text += tokens_[i].spelling;
  }
  return text;
}

StmtPtr Parser::declaration() {
  StmtPtr stmt = make_stmt(Kind::declare);
  if (peek().is_word("typedef")) {
    type_definition();
    return enumerators();
  }
  TypeName base = type_specifiers();
  stmt->declarators = std::move(enumerators_);
  enumerators_.clear();
  if (peek().is(";")) {
    if (stmt->declarators.empty())
      fail_expected("a name");
    else
      next();
    return stmt;
  }
  declarators(base, stmt->declarators);
  return stmt;
}

} // namespace tritonc::ast
