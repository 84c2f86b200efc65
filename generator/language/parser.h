// The parser: a recursive descent parser that turns tokens into the syntax tree.
//
// The grammar is C's with these differences (tightest binding first):
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
//   - At file scope, `= calloc(bytes)` or `= { conditional, ... }` may follow a `__constant__`
//     declarator.
//   - `case` and `default` stand only directly in the block of a `switch`.
//   - `assert` and `print` are statements. They look like calls, but accept string literals.
//   - A subscript may also be Python's slice `first:last`, which the checker reports.
//
// After a syntax error the parser continues after the next `;` or before the next `}`, so one
// mistake gives one message. A limit on the nesting protects the stack of this and later stages.

#pragma once

#include "language/ast.h"
#include "language/pragma_words.h"
#include "language/token.h"

#include <set>

namespace tritonc::ast {

class Parser {
public:
  /// Messages about the whole file name `path`. `empty_macros` is in the order of the tokens.
  Parser(const std::vector<Token> &tokens, std::string path, DiagnosticEngine &diagnostics,
         std::vector<EmptyMacro> empty_macros = {})
      : tokens_(tokens), path_(std::move(path)), diagnostics_(diagnostics),
        empty_macros_(std::move(empty_macros)) {}

  Program program();

private:
  // Tokens. In panic mode peek() returns the end token, so every parse function returns.
  const Token &peek(size_t ahead = 0) const;
  Token next();
  static bool is_name(const Token &token);
  bool accept(std::string_view punctuator);
  bool accept_word(std::string_view word);
  bool expect(std::string_view punctuator, std::string_view what);
  /// Like `expect`, but adds a note at the opening token.
  bool expect_closing(std::string_view punctuator, std::string_view what, const Token &opening);

  // Errors. `fail` starts panic mode; panic mode drops all further messages.
  void fail(Message id, Location at, std::vector<std::string> arguments = {},
            std::vector<Edit> edits = {});
  void note(Message id, Location at, std::vector<std::string> arguments = {},
            std::vector<Edit> edits = {});
  void fail_expected(std::string_view what, std::vector<Edit> edits = {});
  std::vector<const EmptyMacro *> empty_macros_before(const Token &token) const;
  void note_empty_macros(const Token &token);
  bool is_on_next_line(const Token &token) const;
  /// Reports a misspelled word and continues as if the source said `meant`.
  void correct(const Token &word, std::string_view meant);
  /// The statement keyword that the current word probably misspells; empty if none.
  std::string_view misspelt_statement() const;
  size_t after_parentheses(size_t ahead) const;
  void recover();
  bool expect_end(std::string_view what);
  void recover_outside();
  void skip_body();

  class Nesting;

  // Types: parse_type.cpp.
  void enumeration();
  StmtPtr enumerators();
  void shape(TypeName &type_name);
  bool starts_type(const Token &token) const;
  bool starts_declaration() const;
  bool lacks_type() const;
  void unknown_type(const Token &token);
  bool skip_foreign_word();
  bool unsupported_type(const Token &token);
  TypeName type_specifiers();
  Scalar scalar_named(const std::vector<std::string> &words, const Range &range);
  void pointers(TypeName &type_name, bool *no_alias = nullptr);
  TypeName abstract_type();
  std::vector<ExprPtr> extents();

  // Pragmas: parse_pragma.cpp.
  void fail_pragma(const Token &name, const PragmaWord &word);
  Pragma pragma();
  void take_pragma();
  void choose_kernels(Program &program);
  void place_trailing_pragmas(Program &program);

  // Declarations: parse_declaration.cpp.
  void external_declaration(Program &program);
  void function_or_constant(Program &program);
  void type_definition();
  std::vector<Declarator> parameters(bool is_prototype);
  bool is_foreign_start();
  void declarators(const TypeName &base, std::vector<Declarator> &out);
  Declarator declarator(const TypeName &base, bool needs_name = true);
  void values(Declarator &declarator);
  bool attribute(Declarator &declarator);
  bool unknown_attribute();
  bool correct_attribute();
  bool attribute_named(Declarator &declarator, const Token &name);

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
  ExprPtr binary(int min_precedence);
  ExprPtr range();
  ExprPtr cast();
  ExprPtr unary();
  ExprPtr dereference();
  void take_hint(std::string &hint);
  ExprPtr postfix();
  bool take_cuda_index(ExprPtr &expr);
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
  Subscript one_subscript(std::vector<ExprPtr> &operands);
  Subscript scan_subscript();
  bool is_slice_colon() const;
  Subscript slice(ExprPtr first);
  Subscript index_subscript(std::vector<ExprPtr> &operands);
  std::vector<ExprPtr> arguments(const Token &opening);
  ExprPtr make(Expr::Kind kind, Location at, Range range, std::vector<ExprPtr> operands = {});
  ExprPtr make_binary(Operator op, Location at, ExprPtr a, ExprPtr b);
  ExprPtr make_assign(Operator op, Location at, ExprPtr target, ExprPtr value);
  ExprPtr make_increment(const Token &token, ExprPtr target, bool is_postfix);
  ExprPtr make_error();

  const std::vector<Token> &tokens_;
  std::string path_;
  DiagnosticEngine &diagnostics_;
  size_t position_ = 0;
  Location last_;         // of the last token read
  Location unknown_type_; // of the last unknown type name
  bool panic_ = false, dropped_ = false, gave_up_ = false;
  int depth_ = 0;
  Token corrected_; // replaces the token at corrected_at_
  size_t corrected_at_ = size_t(-1);
  struct NamedType {
    std::string name;
    Type type;
    size_t extents_token = 0; // token of the `[` of a tile's extents; 0 = no tile
    int blocks = 0;           // enclosing blocks; 0 = file scope
  };
  std::vector<NamedType> typedefs_;              // also unknown type names, with an error type
  int blocks_ = 0;                               // enclosing blocks
  std::vector<Declarator> enumerators_;          // parsed but not yet declared
  std::set<std::string, std::less<>> constants_; // names at file scope so far
  std::set<std::string, std::less<>> declared_;  // also variables of the current function so far
  std::set<std::string, std::less<>> lists_;     // macros already reported to hold a list of values
  std::vector<Pragma> pending_;                  // pragmas before their kernel
  bool in_pragma_ = false;                       // in the arguments of a pragma
  std::vector<EmptyMacro> empty_macros_;         // in the order of the tokens
};

/// Max depth of parentheses, operators and blocks together.
inline constexpr int max_nesting = 256;
/// Max height of an expression tree: `a + b + c + ...` adds one level per operator.
inline constexpr int max_tree_depth = 1024;

class Parser::Nesting {
public:
  explicit Nesting(Parser &parser) : parser_(parser) {
    if (++parser_.depth_ > max_nesting)
      parser_.fail(Message::too_deep, parser_.peek().at, {std::to_string(max_nesting)});
  }
  ~Nesting() { parser_.depth_--; }
  Nesting(const Nesting &) = delete;

private:
  Parser &parser_;
};

} // namespace tritonc::ast
