// The parser: tokens in, syntax tree out, by recursive descent.
//
// C's grammar, with these differences (from tight to loose):
//
//   declarator  := name attribute* [ '[' extent (',' extent)* ']' ]
//   postfix     := primary { '[' subscript (',' subscript)* ']' | '(' arguments ')' | '++' | '--' }
//   subscript   := ':' | 'newaxis' | '^' conditional | '+' | 'prod' | 'max' | 'min' | 'any' | 'all'
//                | 'argmax' | 'argmin' | 'scan' '(' reduction ')' | 'gather' '(' assignment ')' |
//                conditional
//   unary       := ('+' | '-' | '~' | '!' | '^' | '*') cast | '*' '?' '(' mask ')' cast | ...
//   cast        := '(' type ')' cast | 'bitcast' '<' type '>' '(' expression ')' | unary
//   range       := cast [ '...' cast ]
//   matmul      := range { '@' range }
//   then        * / %   + -   << >>   < <= > >=   == !=   &   ^   |   &&   ||   ?:   =   ,
//
// Outside of functions a declarator with `__constant__` may be followed by `= calloc(bytes)` or
// `= { conditional, ... }`.
// `case` and `default` stand only in the block of a `switch` itself.
// `assert` and `print` are statements: like calls, but with texts among their arguments.
//
// After a mistake it goes on behind the next `;` or before the next `}`, so that one mistake is one
// message. Nesting is limited, so that no source can exhaust the stack of this or a later stage.

#pragma once

#include "language/ast.h"
#include "language/pragma_words.h"
#include "language/token.h"

#include <set>

namespace tritonc::ast {

class Parser {
public:
  /// `path` is for messages about the whole file.
  Parser(const std::vector<Token> &tokens, std::string path, Diagnostics &diagnostics)
      : tokens_(tokens), path_(std::move(path)), diagnostics_(diagnostics) {}

  Program program();

private:
  // Tokens. In panic mode there are no more, so that everything returns.
  const Token &peek(size_t ahead = 0) const;
  Token next();
  static bool is_name(const Token &token);
  bool accept(std::string_view punctuator);
  bool accept_word(std::string_view word);
  bool expect(std::string_view punctuator, std::string_view what);
  /// `expect`, with a note on the token that needs it.
  bool expect_closing(std::string_view punctuator, std::string_view what, const Token &opening);

  // Mistakes. `fail` starts panic mode; what is reported in panic mode is dropped.
  void fail(Message id, Location at, std::vector<std::string> arguments = {},
            std::vector<Edit> edits = {});
  void note(Message id, Location at, std::vector<std::string> arguments = {},
            std::vector<Edit> edits = {});
  void fail_expected(std::string_view what, std::vector<Edit> edits = {});
  bool is_on_next_line(const Token &token) const;
  /// Reports that a word was misspelt, and reads it as the other from here on.
  void correct(const Token &word, std::string_view meant);
  /// The statement's first word that was meant, if the one there is none and looks like it.
  std::string_view misspelt_statement() const;
  size_t behind_parentheses(size_t ahead) const;
  void recover();
  bool expect_end(std::string_view what);
  void recover_outside();
  void skip_body();

  class Nesting;

  // Declarations: parse_declaration.cpp.
  void external_declaration(Program &program);
  void function_or_constant(Program &program);
  void type_definition();
  void enumeration();
  StmtPtr enumerators();
  void shape(TypeName &type_name);
  std::vector<Declarator> parameters(bool is_promise);
  bool starts_type(const Token &token) const;
  bool starts_declaration() const;
  void unknown_type(const Token &token);
  bool skip_foreign_word();
  bool is_foreign_start();
  void fail_pragma(const Token &name, const PragmaWord &word);
  bool unsupported_type(const Token &token);
  TypeName type_specifiers();
  Scalar scalar_named(const std::vector<std::string> &words, const Range &range);
  void pointers(TypeName &type_name, bool *no_alias = nullptr);
  TypeName abstract_type();
  void declarators(const TypeName &base, std::vector<Declarator> &out);
  Declarator declarator(const TypeName &base, bool needs_name = true);
  void values(Declarator &declarator);
  bool attribute(Declarator &declarator);
  bool unknown_attribute();
  bool correct_attribute();
  bool attribute_named(Declarator &declarator, const Token &name);
  std::vector<ExprPtr> extents();
  Pragma pragma();
  void take_pragma();
  void choose_kernels(Program &program);
  void place_trailing_pragmas(Program &program);

  // Statements: parse_statement.cpp.
  StmtPtr statement();
  StmtPtr block();
  StmtPtr branch();
  StmtPtr for_loop();
  StmtPtr while_loop();
  StmtPtr do_loop();
  StmtPtr choice();
  void label(Stmt &alternative);
  void end_of_block();
  StmtPtr declaration();
  StmtPtr assertion(Stmt::Kind kind);
  StmtPtr print();
  std::string text();
  std::string written_since(size_t position) const;
  StmtPtr jump(Stmt::Kind kind);
  StmtPtr make_stmt(Stmt::Kind kind);

  // Expressions: parse_expression.cpp.
  ExprPtr expression();
  ExprPtr assignment();
  ExprPtr conditional();
  ExprPtr binary(int least_precedence);
  ExprPtr range();
  ExprPtr cast();
  ExprPtr unary();
  ExprPtr dereference();
  void take_hint(std::string &hint);
  ExprPtr postfix();
  bool take_cuda_position(ExprPtr &expr);
  bool take_module(ExprPtr &expr);
  bool is_foreign_member(const Expr &expr);
  ExprPtr primary();
  bool is_list_of_values();
  ExprPtr name_or_call();
  ExprPtr old_atomic_add(const Token &name);
  bool take_old_shape(Expr &call);
  ExprPtr number();
  ExprPtr character();
  ExprPtr bitcast();
  ExprPtr size_of();
  ExprPtr subscript(ExprPtr tile);
  Subscript subscript_position(std::vector<ExprPtr> &operands);
  Subscript scan_position();
  Subscript index_position(std::vector<ExprPtr> &operands);
  std::vector<ExprPtr> arguments(const Token &opening);
  ExprPtr make(Expr::Kind kind, Location at, Range range, std::vector<ExprPtr> operands = {});
  ExprPtr make_binary(Operator op, Location at, ExprPtr a, ExprPtr b);
  ExprPtr make_assign(Operator op, Location at, ExprPtr target, ExprPtr value);
  ExprPtr make_increment(const Token &token, ExprPtr target, bool is_postfix);
  ExprPtr make_error();

  const std::vector<Token> &tokens_;
  std::string path_;
  Diagnostics &diagnostics_;
  size_t position_ = 0;
  Location last_;         // of the token read last
  Location unknown_type_; // the last one
  bool panic_ = false, dropped_ = false, gave_up_ = false;
  int depth_ = 0;
  Token corrected_; // read in place of the token at this position
  size_t corrected_at_ = size_t(-1);
  struct NamedType {
    std::string name;
    Type type;
    size_t extents_token = 0; // where the extents of a tile stand
    int blocks = 0;           // around it
  };
  std::vector<NamedType> typedefs_;             // names of unknown types too, as errors
  int blocks_ = 0;                              // that we are in
  std::vector<Declarator> enumerators_;         // read, and not yet declared
  std::set<std::string, std::less<>> declared_; // variables of this function so far
  std::set<std::string, std::less<>> lists_;    // macros that were said to have several values
  std::vector<Pragma> pending_;                 // pragmas that wait for their kernel
};

} // namespace tritonc::ast
