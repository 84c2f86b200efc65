// Parses declarators, attributes, functions and constants. See parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/declaration_words.h"
#include "language/parser.h"
#include "language/spelling.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tritonc::ast {
namespace {

// First words of file-scope constructs of Python and C++. The parser cannot read the rest of the
// file.
struct ForeignStart {
  std::string_view word;
  Message instead;
};
constexpr ForeignStart foreign_starts[] = {{"def", Message::write_kernel},
                                           {"import", Message::write_kernel},
                                           {"from", Message::write_kernel},
                                           {"template", Message::no_templates}};

/// Copies the specifiers that all declarators of a declaration share, without `*` and extents.
TypeName copy_specifiers(const TypeName &base) {
  return {base.type, {}, base.range, base.is_const, base.in_constant, base.extents_token};
}

} // namespace

// Parses the declarators after a type: `x = 1, *p = q;`
void Parser::declarators(const TypeName &base, std::vector<Declarator> &out) {
  do {
    bool is_known = peek().is(TokenKind::identifier) && declared_.count(peek().spelling);
    out.push_back(declarator(base));
    if (blocks_ == 0)
      constants_.insert(out.back().name);
    bool is_end = peek().is(",") || peek().is(";") || peek().is("}");
    if (is_known && !is_end && !is_on_next_line(peek())) // an expression, not a second variable
      out.pop_back();
  } while (accept(","));
  expect_end("after the declaration");
}

Declarator Parser::declarator(const TypeName &base, bool needs_name) {
  Declarator out;
  out.type_name = copy_specifiers(base);
  pointers(out.type_name, &out.no_alias);
  out.is_const = out.type_name.is_const;
  while (attribute(out)) {
  }
  if (is_name(peek())) {
    Token name = next();
    out.name = name.spelling;
    out.at = name.at;
    declared_.insert(out.name);
  } else if (needs_name) {
    if (last_.id == unknown_type_.id && !panic_) { // it may not be a declaration
      typedefs_.pop_back();
      panic_ = dropped_ = true;
    }
    fail_expected("a name");
    return out;
  }
  while (attribute(out) || unknown_attribute()) {
  }
  if (out.type_name.in_constant && peek().is("[") && peek(1).is("]")) {
    out.takes_size_of_values = true;
    next();
    next();
  }
  shape(out.type_name);
  while (attribute(out) || unknown_attribute()) {
  }
  if (panic_) { // an incomplete type would cause follow-up errors
    out.type_name.type = Type();
    out.type_name.extents.clear();
  }
  if (!accept("="))
    return out;
  bool names_memory = out.type_name.type.to_constant && blocks_ == 0;
  if (out.type_name.in_constant && peek().is("{")) {
    values(out);
  } else if (names_memory && peek().is_word("calloc") && peek(1).is("(")) {
    next();
    Token opening = next();
    out.bytes = conditional();
    expect_closing(")", "after the number of bytes", opening);
  } else {
    if (Token brace = peek(); brace.is("{")) {
      fail(Message::not_supported, brace.at, {"lists of initial values"});
      note(Message::one_value, brace.at);
    }
    out.init = assignment();
  }
  return out;
}

// Parses `{1, 2, 3}`, the initial values of constant memory. A trailing comma is allowed.
void Parser::values(Declarator &declarator) {
  Token opening = next();
  while (!peek().is("}") && !panic_) {
    declarator.values.push_back(conditional());
    if (!accept(","))
      break;
  }
  expect_closing("}", "after the values", opening);
}

// Parses `__multipleof(8)` or GNU's long form `__attribute__((multipleof(8)))`.
bool Parser::attribute(Declarator &declarator) {
  if (!peek().is(TokenKind::identifier) || !is_attribute(peek().spelling))
    return false;
  Token word = next();
  if (word.spelling != "__attribute__")
    return attribute_named(declarator, word);
  expect("(", "after `__attribute__`");
  expect("(", "after `__attribute__(`");
  do
    attribute_named(declarator, next());
  while (accept(","));
  expect(")", "after the attribute");
  return expect(")", "after the attribute");
}

// Reports a misspelled attribute and replaces it with the nearest attribute.
bool Parser::correct_attribute() {
  Token word = peek();
  auto meant = nearest(word.spelling,
                       {"__multipleof", "__aligned", "__noalias", "__readonly", "__writeonly"});
  if (!meant)
    return false;
  std::string name(*meant);
  diagnostics_.report(Message::unknown_attribute, word.at, {std::string(word.spelling)}, {},
                      {Edit::replace(word.at, name)});
  diagnostics_.report(Message::similar_word, word.at, {name});
  corrected_ = word;
  corrected_.spelling = *meant;
  corrected_at_ = position_;
  return true;
}

// After a name, a word like `__packed` can only be an attribute. Reports and skips it.
bool Parser::unknown_attribute() {
  if (!peek().is(TokenKind::identifier) || peek().spelling.substr(0, 2) != "__")
    return false;
  if (correct_attribute())
    return true;
  Token word = next();
  diagnostics_.report(Message::unknown_attribute, word.at, {std::string(word.spelling)});
  diagnostics_.report(Message::known_attributes, word.at);
  if (peek().is("(")) {
    Token opening = next();
    arguments(opening);
  }
  return true;
}

bool Parser::attribute_named(Declarator &declarator, const Token &name) {
  std::string_view kind = name.spelling;
  if (kind.substr(0, 2) == "__")
    kind.remove_prefix(2);
  if (kind == "noalias")
    declarator.no_alias = true;
  else if (kind == "readonly")
    declarator.read_only = true;
  else if (kind == "writeonly")
    declarator.write_only = true;
  else if (kind == "multipleof" || kind == "aligned") {
    Token opening = peek();
    expect("(", "after `" + std::string(name.spelling) + "`");
    (kind == "aligned" ? declarator.aligned : declarator.multiple_of) = conditional();
    return expect_closing(")", "after the attribute's argument", opening);
  } else if (kind != "retune") // `__retune` has no effect: no tuning at run time
    fail(Message::unknown_attribute, name.at, {std::string(name.spelling)});
  return !panic_;
}

void Parser::external_declaration(Program &program) {
  if (peek().is(TokenKind::pragma))
    return take_pragma();
  if (accept(";"))
    return;
  if (std::optional<PragmaWord> word = pragma_word(peek().spelling); word && peek(1).is("("))
    return fail_pragma(peek(), *word);
  if (peek().is_word("static_assert") || peek().is_word("_Static_assert"))
    return program.declarations.push_back(assertion(Stmt::Kind::static_assertion));
  if (peek().is_word("typedef")) {
    type_definition();
    return program.declarations.push_back(enumerators());
  }
  function_or_constant(program);
}

// `typedef float tile[TM, TN], *pointer;`
void Parser::type_definition() {
  next();
  TypeName base = type_specifiers();
  do {
    TypeName named;
    named.type = base.type;
    named.extents_token = base.extents_token;
    pointers(named);
    Token name = peek();
    if (!is_name(name))
      return fail_expected("a name");
    next();
    bool is_tile = peek().is("[");
    if (base.extents_token > 0 && (named.type.pointer || is_tile))
      return fail(Message::not_supported, name.at, {"pointers to tiles, and tiles of tiles"});
    if (is_tile) {
      named.extents_token = position_;
      extents(); // each use of the name parses them again
    }
    typedefs_.push_back({std::string(name.spelling), named.type, named.extents_token, blocks_});
  } while (accept(","));
  expect(";", "after the type definition");
}

// Reports file-scope Python or C++ once and stops the parser.
bool Parser::is_foreign_start() {
  const Token token = peek();
  auto row = std::find_if(std::begin(foreign_starts), std::end(foreign_starts),
                          [&](const ForeignStart &one) { return token.is_word(one.word); });
  bool is_decorator = token.is("@");
  if (!is_decorator &&
      (row == std::end(foreign_starts) || !(peek(1).is(TokenKind::identifier) || peek(1).is("<"))))
    return false;
  fail(Message::foreign_word, token.at, {std::string(token.spelling)});
  note(is_decorator ? Message::write_kernel : row->instead, token.at);
  gave_up_ = true;
  return true;
}

void Parser::function_or_constant(Program &program) {
  Function made;
  auto is_skipped = [&](const Token &token) { // type_specifiers() handles `auto`
    return token.is_word("__global__") ||
           (contains(ignored_words, token.spelling) && !token.is_word("auto"));
  };
  while (is_skipped(peek()) || skip_foreign_word())
    if (is_skipped(peek()))
      made.is_kernel |= next().is_word("__global__");
  if (is_foreign_start())
    return;
  if (!starts_type(peek()) && !peek().is(TokenKind::identifier))
    return fail_expected("a function");
  size_t start = position_;
  if (made.is_kernel && !starts_type(peek()) && peek(1).is("(")) {
    fail_expected("`void`", {Edit::insert_before(peek().at, "void ")});
    panic_ = false;
    made.result.type = Type::of(Scalar::void_);
  } else {
    made.result = type_specifiers();
  }
  program.declarations.push_back(enumerators());
  if (!program.declarations.back()->declarators.empty() && accept(";"))
    return;
  bool is_const = made.result.is_const;
  while (skip_foreign_word() || accept_word("__global__"))
    made.is_kernel |= tokens_[position_ - 1].is_word("__global__");
  TypeName base = copy_specifiers(made.result);
  size_t after_base = position_;
  pointers(made.result);
  if (peek().is("[") || made.result.extents_token > 0) // returns a tile: `float[TM, TN] f(...)`
    shape(made.result);
  made.result.range.end = last_;
  Token name = peek();
  if (!name.is(TokenKind::identifier))
    return fail_expected("a name");
  next();
  if (!peek().is("(")) {
    bool is_constant_memory = made.result.in_constant || made.result.type.to_constant;
    bool is_right = is_constant_memory || (is_const && !made.result.type.pointer);
    if (!is_right) {
      std::vector<Edit> edits;
      if (!is_const)
        edits = {Edit::insert_before(tokens_[start].at, "const ")};
      fail(Message::global_variable, name.at, {std::string(name.spelling)});
      note(Message::write_const, is_const ? name.at : tokens_[start].at, {}, std::move(edits));
      panic_ = dropped_;
    }
    position_ = after_base; // parse it like a declaration in a function
    StmtPtr stmt = make_stmt(Stmt::Kind::declare);
    declarators(base, stmt->declarators);
    for (Declarator &declarator : stmt->declarators)
      if (!is_right) { // suppresses follow-up errors about its uses
        declarator.type_name.type = Type();
        declarator.type_name.extents.clear();
        declarator.init = nullptr;
      }
    return program.declarations.push_back(std::move(stmt));
  }
  made.name = name.spelling;
  made.at = name.at;
  declared_ = constants_;
  bool is_prototype = peek(after_parentheses(0)).is(";");
  Token opening = next();
  made.parameters = parameters(is_prototype);
  expect_closing(")", "after the parameters", opening);
  if (accept(";")) // a prototype: the parser drops it; a call reports a missing definition
    return;
  if (!peek().is("{")) {
    bool had_failed = panic_;
    fail_expected("`{` with the body of `" + made.name + "`");
    if (!had_failed) {
      pending_.clear();
      skip_body();
    }
    return;
  }
  made.has_body = true;
  made.body = block();
  made.pragmas = std::move(pending_);
  pending_.clear();
  program.functions.push_back(std::move(made));
}

// Parses the parameters of a function. A prototype, `int f(int, float *[32]);`, may omit their
// names.
std::vector<Declarator> Parser::parameters(bool is_prototype) {
  std::vector<Declarator> out;
  if (peek().is(")"))
    return out;
  if (peek().is_word("void") && peek(1).is(")")) {
    next();
    return out;
  }
  do {
    Declarator early; // attributes before the type
    while (attribute(early)) {
    }
    bool no_alias = peek().is(TokenKind::identifier) && is_restrict(peek().spelling);
    TypeName base = type_specifiers();
    out.push_back(declarator(base, /*needs_name=*/!is_prototype));
    out.back().no_alias |= no_alias || early.no_alias;
    out.back().read_only |= early.read_only;
    out.back().write_only |= early.write_only;
    if (early.multiple_of)
      out.back().multiple_of = std::move(early.multiple_of);
    if (early.aligned)
      out.back().aligned = std::move(early.aligned);
  } while (accept(","));
  return out;
}

} // namespace tritonc::ast
