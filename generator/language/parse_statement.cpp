// The parser's statements. See parser.h.

#include "language/parser_nesting.h"

#include <algorithm>
#include <array>

namespace tritonc::ast {
namespace {

using Kind = Stmt::Kind;

constexpr std::array<std::string_view, 5> unsupported_statements = {"switch", "case", "default",
                                                                    "goto", "asm"};

} // namespace

StmtPtr Parser::make_stmt(Kind kind) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->at = peek().at;
  stmt->keyword = peek().spelling;
  return stmt;
}

StmtPtr Parser::statement() {
  Nesting nesting(*this);
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
  if (token.is_word("break"))
    return jump(Kind::jump_break);
  if (token.is_word("continue"))
    return jump(Kind::jump_continue);
  if (token.is_word("return"))
    return jump(Kind::jump_return);
  if (token.is_word("static_assert") || token.is_word("_Static_assert"))
    return assertion();
  if (token.is(TokenKind::identifier) &&
      std::find(unsupported_statements.begin(), unsupported_statements.end(), token.spelling) !=
          unsupported_statements.end()) {
    fail(Message::not_supported, token.at, {"`" + std::string(token.spelling) + "`"});
    return make_stmt(Kind::empty);
  }
  if (starts_declaration())
    return declaration();
  StmtPtr stmt = make_stmt(peek().is(";") ? Kind::empty : Kind::expression);
  if (stmt->is(Kind::expression))
    stmt->value = expression();
  expect(";", "behind the statement");
  return stmt;
}

StmtPtr Parser::block() {
  StmtPtr stmt = make_stmt(Kind::block);
  Token opening = next();
  while (!peek().is("}") && !peek().is(TokenKind::end)) {
    stmt->body.push_back(statement());
    if (panic_)
      recover();
  }
  expect_closing("}", "at the end of the block", opening);
  return stmt;
}

StmtPtr Parser::branch() {
  StmtPtr stmt = make_stmt(Kind::branch);
  next();
  Token opening = peek();
  expect("(", "behind `if`");
  stmt->value = expression();
  expect_closing(")", "behind the condition", opening);
  stmt->body.push_back(statement());
  if (accept_word("else"))
    stmt->body.push_back(statement());
  return stmt;
}

StmtPtr Parser::for_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  next();
  Token opening = peek();
  expect("(", "behind `for`");
  if (starts_declaration()) {
    stmt->init = declaration();
  } else {
    stmt->init = make_stmt(peek().is(";") ? Kind::empty : Kind::expression);
    if (stmt->init->is(Kind::expression))
      stmt->init->value = expression();
    expect(";", "behind the loop's first expression");
  }
  if (!peek().is(";"))
    stmt->value = expression();
  expect(";", "behind the loop's condition");
  if (!peek().is(")"))
    stmt->step = expression();
  expect_closing(")", "behind the loop's last expression", opening);
  stmt->body.push_back(statement());
  return stmt;
}

StmtPtr Parser::while_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  next();
  Token opening = peek();
  expect("(", "behind `while`");
  stmt->value = expression();
  expect_closing(")", "behind the condition", opening);
  stmt->body.push_back(statement());
  return stmt;
}

StmtPtr Parser::do_loop() {
  StmtPtr stmt = make_stmt(Kind::loop);
  stmt->tests_first = false;
  next();
  stmt->body.push_back(statement());
  if (!accept_word("while")) {
    fail_expected("`while` behind the body of `do`");
    return stmt;
  }
  Token opening = peek();
  expect("(", "behind `while`");
  stmt->value = expression();
  expect_closing(")", "behind the condition", opening);
  expect(";", "behind the statement");
  return stmt;
}

StmtPtr Parser::jump(Kind kind) {
  StmtPtr stmt = make_stmt(kind);
  next();
  if (kind == Kind::jump_return && !peek().is(";"))
    stmt->value = expression();
  expect(";", "behind `" + stmt->keyword + "`");
  return stmt;
}

StmtPtr Parser::assertion() {
  StmtPtr stmt = make_stmt(Kind::assertion);
  next();
  Token opening = peek();
  expect("(", "behind `" + stmt->keyword + "`");
  stmt->value = conditional();
  if (accept(",")) {
    if (!peek().is(TokenKind::string))
      fail_expected("a string");
    else
      while (peek().is(TokenKind::string)) { // "a" "b" is one string
        std::string_view text = next().spelling;
        stmt->text += text.size() >= 2 ? text.substr(1, text.size() - 2) : text;
      }
  }
  expect_closing(")", "behind the assertion", opening);
  expect(";", "behind the assertion");
  return stmt;
}

StmtPtr Parser::declaration() {
  StmtPtr stmt = make_stmt(Kind::declare);
  if (peek().is_word("typedef")) {
    fail(Message::not_supported, peek().at, {"`typedef` inside of a function"});
    return stmt;
  }
  TypeName base = type_specifiers();
  if (peek().is(";")) {
    fail_expected("a name");
    return stmt;
  }
  do
    stmt->declarators.push_back(declarator(base));
  while (accept(","));
  expect(";", "behind the declaration");
  return stmt;
}

} // namespace tritonc::ast
