// Parses types, declarators, functions and pragmas. See parser.h.
//
// Tested by tests/language/parser_test.cpp.

#include "language/parser.h"
#include "language/spelling.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tritonc::ast {
namespace {

struct NamedScalar {
  std::string_view name;
  Scalar scalar;
};

// Types with one name. `scalar_named` combines C's type words.
constexpr NamedScalar named_scalars[] = {
    {"half", Scalar::half},       {"bfloat16", Scalar::bfloat16}, {"int8", Scalar::int8},
    {"uint8", Scalar::uint8},     {"int16", Scalar::int16},       {"uint16", Scalar::uint16},
    {"int32", Scalar::int32},     {"uint32", Scalar::uint32},     {"int64", Scalar::int64},
    {"uint64", Scalar::uint64},   {"int8_t", Scalar::int8},       {"uint8_t", Scalar::uint8},
    {"int16_t", Scalar::int16},   {"uint16_t", Scalar::uint16},   {"int32_t", Scalar::int32},
    {"uint32_t", Scalar::uint32}, {"int64_t", Scalar::int64},     {"uint64_t", Scalar::uint64},
    {"size_t", Scalar::uint64},   {"ptrdiff_t", Scalar::int64},   {"e4m3", Scalar::e4m3},
    {"e5m2", Scalar::e5m2},
};

constexpr std::array<std::string_view, 12> scalar_words = {
    "void", "bool",   "_Bool",    "char",  "short",  "int",
    "long", "signed", "unsigned", "float", "double", "__int64"};

// Words before a type that the parser ignores.
constexpr std::array<std::string_view, 6> ignored_words = {"volatile", "static",   "inline",
                                                           "extern",   "register", "auto"};

constexpr std::array<std::string_view, 3> unsupported_words = {"struct", "union", "_Atomic"};

constexpr std::string_view constant_word = "__constant__";

template <typename Words> bool contains(const Words &words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const NamedScalar *named_scalar(std::string_view name) {
  for (const NamedScalar &row : named_scalars)
    if (row.name == name)
      return &row;
  return nullptr;
}

// Types of CUDA and Python that Triton-C has under another name.
struct OtherType {
  std::string_view name, here;
};
constexpr OtherType other_types[] = {
    {"__half", "half"},   {"__nv_bfloat16", "bfloat16"}, {"nv_bfloat16", "bfloat16"},
    {"float16", "half"},  {"__nv_fp8_e4m3", "e4m3"},     {"__nv_fp8_e5m2", "e5m2"},
    {"float32", "float"}, {"float64", "double"},         {"uint", "unsigned"},
};

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

bool is_restrict(std::string_view word) {
  return word == "restrict" || word == "__restrict" || word == "__restrict__";
}

bool is_const(std::string_view word) { return word == "const" || word == "constexpr"; }

bool is_attribute(std::string_view word) {
  return word == "__multipleof" || word == "__aligned" || word == "__noalias" ||
         word == "__readonly" || word == "__writeonly" || word == "__retune" ||
         word == "__attribute__";
}

} // namespace

bool Parser::starts_type(const Token &token) const {
  if (!token.is(TokenKind::identifier))
    return false;
  std::string_view word = token.spelling;
  if (is_const(word) || word == constant_word || word == "typedef" || word == "enum" ||
      is_restrict(word) || contains(scalar_words, word) || contains(ignored_words, word) ||
      contains(unsupported_words, word) || named_scalar(word))
    return true;
  return std::any_of(typedefs_.begin(), typedefs_.end(),
                     [&](const NamedType &known) { return known.name == word; });
}

// An unknown name starts a declaration if the tokens after it allow no other meaning. The usual
// cause is a type macro that the command line does not define.
bool Parser::starts_declaration() const {
  if (starts_type(peek()))
    return true;
  if (!is_name(peek()))
    return false;
  if (is_name(peek(1)))
    return true;
  const Token &behind = peek(3);
  if (declared_.count(peek().spelling))
    return false;
  return peek(1).is("*") && peek(2).is(TokenKind::identifier) &&
         (behind.is("[") || behind.is("=") || behind.is(";") || behind.is(",") ||
          (behind.is(TokenKind::identifier) && is_attribute(behind.spelling)));
}

// Reports an unknown type and accepts the name as a type from here on.
void Parser::unknown_type(const Token &token) {
  std::string name(token.spelling);
  unknown_type_ = token.at;
  std::vector<std::string_view> known(scalar_words.begin(), scalar_words.end());
  for (const NamedScalar &row : named_scalars)
    known.push_back(row.name);
  for (const NamedType &row : typedefs_)
    if (!row.type.is_error()) // skips unknown type names
      known.push_back(row.name);
  std::optional<std::string_view> meant = nearest(name, known);
  for (const OtherType &row : other_types)
    if (row.name == name)
      meant = row.here;
  if (meant) {
    diagnostics_.report(Message::unknown_type, token.at, {name}, {},
                        {Edit::replace(token.at, std::string(*meant))});
    diagnostics_.report(Message::similar_word, token.at, {std::string(*meant)});
  } else {
    diagnostics_.report(Message::unknown_type, token.at, {name});
    diagnostics_.report(Message::define_it, token.at, {name});
  }
  typedefs_.push_back({name, Type()});
}

// Reports and skips CUDA words before a type. They have no meaning in Triton-C.
bool Parser::skip_foreign_word() {
  struct Row {
    std::string_view word;
    Message why;
  };
  constexpr Row rows[] = {{"__shared__", Message::no_storage},
                          {"__local__", Message::no_storage},
                          {"__device__", Message::functions_inlined},
                          {"__host__", Message::functions_inlined},
                          {"__forceinline__", Message::functions_inlined},
                          {"__noinline__", Message::functions_inlined},
                          {"__launch_bounds__", Message::no_bounds}};
  Token word = peek();
  if (word.is(TokenKind::string) && word.spelling == "\"C\"") { // after `extern`
    next();
    diagnostics_.report(Message::foreign_word, word.at, {std::string(word.spelling)}, {},
                        {Edit::replace(word.at, "")});
    diagnostics_.report(Message::no_linkage, word.at);
    return true;
  }
  auto row = std::find_if(std::begin(rows), std::end(rows),
                          [&](const Row &one) { return one.word == word.spelling; });
  if (row == std::end(rows) || !word.is(TokenKind::identifier))
    return false;
  next();
  if (row->why == Message::no_bounds && peek().is("("))
    for (int depth = 0; !peek().is(TokenKind::end) && !peek().is("{");) {
      depth += peek().is("(") - peek().is(")");
      next();
      if (depth == 0)
        break;
    }
  diagnostics_.report(Message::foreign_word, word.at, {std::string(word.spelling)}, {},
                      {Edit::replace({word.at, last_}, "")});
  diagnostics_.report(row->why, word.at);
  return true;
}

bool Parser::unsupported_type(const Token &token) {
  if (!token.is(TokenKind::identifier) || !contains(unsupported_words, token.spelling))
    return false;
  fail(Message::not_supported, token.at, {"`" + std::string(token.spelling) + "`"});
  if (token.spelling == "struct" || token.spelling == "union")
    note(Message::no_members, token.at);
  return true;
}

// The type that C's type words mean, in any order.
Scalar Parser::scalar_named(const std::vector<std::string> &words, const Range &range) {
  std::multiset<std::string> rest(words.begin(), words.end());
  auto take = [&](const char *word) {
    auto found = rest.find(word);
    if (found == rest.end())
      return false;
    rest.erase(found);
    return true;
  };
  bool is_unsigned = take("unsigned");
  bool has_sign = take("signed") || is_unsigned;
  Scalar scalar = Scalar::error;
  if (take("char"))
    scalar = is_unsigned ? Scalar::uint8 : Scalar::int8;
  else if (take("short"))
    scalar = is_unsigned ? Scalar::uint16 : Scalar::int16;
  else if (take("long") || take("__int64"))
    scalar = is_unsigned ? Scalar::uint64 : Scalar::int64;
  else if (rest.count("int") || (has_sign && rest.empty()))
    scalar = is_unsigned ? Scalar::uint32 : Scalar::int32;
  if (scalar == Scalar::int64 || scalar == Scalar::uint64)
    take("long"); // long long
  if (scalar != Scalar::error && scalar != Scalar::int8 && scalar != Scalar::uint8)
    take("int");
  if (!has_sign && scalar == Scalar::error)
    scalar = take("void")                    ? Scalar::void_
             : take("bool") || take("_Bool") ? Scalar::bool_
             : take("float")                 ? Scalar::float_
             : take("double")                ? Scalar::double_
                                             : Scalar::error;
  if (scalar != Scalar::error && rest.empty())
    return scalar;
  std::string spelling;
  for (const std::string &word : words)
    spelling += (spelling.empty() ? "" : " ") + word;
  diagnostics_.report(Message::bad_type_words, range.begin, {spelling}, {range});
  diagnostics_.report(Message::known_types, range.begin);
  return Scalar::error;
}

TypeName Parser::type_specifiers() {
  TypeName out;
  out.range.begin = peek().at;
  std::vector<std::string> words;
  bool is_named = false;
  std::optional<Token> automatic; // `auto`: C++ and C23 allow it without a type
  for (;; next()) {
    const Token &token = peek();
    if (!token.is(TokenKind::identifier) || unsupported_type(token))
      break;
    std::string_view word = token.spelling;
    if (is_const(word))
      out.is_const = out.type.to_const = true; // `pointers` keeps only one of them
    else if (word == constant_word)
      out.in_constant = out.type.to_constant = true; // see above
    else if (word == "enum" && words.empty() && !is_named) {
      enumeration();
      out.type.scalar = Scalar::int32;
      is_named = true;
    } else if (contains(scalar_words, word))
      words.emplace_back(word);
    else if (!words.empty() || is_named) {
      if (!contains(ignored_words, word))
        break;
    } else if (const NamedScalar *named = named_scalar(word)) {
      out.type.scalar = named->scalar;
      is_named = true;
    } else if (!contains(ignored_words, word) && !is_restrict(word)) {
      auto known = std::find_if(typedefs_.rbegin(), typedefs_.rend(),
                                [&](const NamedType &entry) { return entry.name == word; });
      if (known == typedefs_.rend()) {
        if (automatic && !is_name(peek(1)) && !peek(1).is("*"))
          break; // the declared name
        unknown_type(token);
        known = typedefs_.rbegin();
      }
      Type before = out.type;
      out.type = known->type;
      out.type.to_const |= before.to_const;
      out.type.to_constant |= before.to_constant;
      out.extents_token = known->extents_token;
      is_named = true;
    } else if (word == "auto")
      automatic = token;
  }
  out.range.end = last_;
  if (!words.empty())
    out.type.scalar = scalar_named(words, out.range);
  else if (!is_named && automatic && !panic_ && (is_name(peek()) || peek().is("*"))) {
    diagnostics_.report(Message::no_deduction, automatic->at, {}, {out.range});
    diagnostics_.report(Message::write_type, automatic->at);
    out.type = Type();
  } else if (!is_named && !panic_)
    fail_expected("a type");
  return out;
}

// Parses `*` and its qualifiers. The parser does not track a `const` of the pointer itself.
void Parser::pointers(TypeName &type_name, bool *no_alias) {
  for (; peek().is("*"); next()) {
    if (type_name.type.pointer) {
      Location at = peek().at;
      fail(Message::not_supported, at, {"pointers to pointers"});
      note(Message::one_pointer, at);
    }
    type_name.type.pointer = true;
    while (peek(1).is_word("const") || peek(1).is_word("volatile") ||
           (peek(1).is(TokenKind::identifier) && is_restrict(peek(1).spelling))) {
      next();
      if (no_alias && is_restrict(peek().spelling))
        *no_alias = true;
    }
  }
  if (type_name.type.pointer)
    type_name.is_const = type_name.in_constant = false;
  else
    type_name.type.to_const = type_name.type.to_constant = false;
}

// Parses the extents of a tile, from this declarator or from the typedef of its type.
void Parser::shape(TypeName &type_name) {
  size_t named = type_name.extents_token;
  if (named > 0 && (type_name.type.pointer || peek().is("[")))
    return fail(Message::not_supported, peek().at, {"pointers to tiles, and tiles of tiles"});
  if (named > 0) {
    size_t here = std::exchange(position_, named);
    Location last = last_;
    type_name.extents = extents();
    position_ = here;
    last_ = last;
  } else if (peek().is("[")) {
    type_name.extents = extents();
  }
}

// Parses `enum name { A, B = 3, C }` up to, but not including, its last token. Each constant
// without a value is its predecessor plus 1. As a type, an enumeration is an int.
void Parser::enumeration() {
  next();
  if (!peek().is("{")) {
    if (!is_name(peek()))
      return fail_expected("the name of an enumeration");
    if (!peek(1).is("{"))
      return;
    next();
  }
  next();
  std::string before;
  while (!peek().is("}") && !panic_) {
    if (!is_name(peek()))
      return fail_expected("the name of a constant");
    Token name = next();
    Declarator made;
    made.type_name.type = Type::of(Scalar::int32);
    made.type_name.range = {name.at, name.at};
    made.name = name.spelling;
    made.at = name.at;
    made.is_const = true;
    if (accept("=")) {
      made.init = conditional();
    } else {
      made.init = make(Expr::Kind::integer, name.at, {name.at, name.at});
      made.init->type = Type::of(Scalar::int32);
      made.init->integer = before.empty() ? 0 : 1;
      if (!before.empty()) {
        ExprPtr last = make(Expr::Kind::name, name.at, {name.at, name.at});
        last->text = before;
        made.init = make_binary(Operator::add, name.at, std::move(last), std::move(made.init));
      }
    }
    before = made.name;
    enumerators_.push_back(std::move(made));
    if (!peek().is("}"))
      expect(",", "after the constant");
  }
}

// Returns the pending enumerators as a declaration statement.
StmtPtr Parser::enumerators() {
  StmtPtr stmt = make_stmt(Stmt::Kind::declare);
  stmt->declarators = std::move(enumerators_);
  enumerators_.clear();
  return stmt;
}

TypeName Parser::abstract_type() {
  TypeName out = type_specifiers();
  pointers(out);
  shape(out);
  out.range.end = last_;
  return out;
}

std::vector<ExprPtr> Parser::extents() {
  Token opening = next();
  std::vector<ExprPtr> out;
  do
    out.push_back(conditional());
  while (accept(","));
  expect_closing("]", "after the tile's extents", opening);
  if (peek().is("[")) {
    Token second = peek();
    fail(Message::arrays, second.at, {}, {Edit::replace({last_, second.at}, ", ")});
    note(Message::one_bracket, second.at);
  }
  return out;
}

namespace {

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

// Reports a clause without `#pragma tritonc`: `tune(TM: 32, 64);`.
void Parser::fail_pragma(const Token &name, const PragmaWord &word) {
  fail(Message::outside_pragma, name.at, {std::string(name.spelling)});
  note(Message::write_pragma, name.at, {std::string(word.example)});
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
  size_t behind_base = position_;
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
    position_ = behind_base; // parse it like a declaration in a function
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
  declared_.clear();
  bool is_promise = peek(behind_parentheses(0)).is(";");
  Token opening = next();
  made.parameters = parameters(is_promise);
  expect_closing(")", "after the parameters", opening);
  if (accept(";")) // a prototype: the parser drops it; a call reports a missing definition
    return;
  if (!peek().is("{")) {
    bool had_failed = panic_;
    fail_expected("`{` with the body of `" + made.name + "`");
    if (!had_failed)
      skip_body();
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
std::vector<Declarator> Parser::parameters(bool is_promise) {
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
    out.push_back(declarator(base, /*needs_name=*/!is_promise));
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

void Parser::take_pragma() {
  Pragma made = pragma();
  // read_declarations() has already read the axes.
  if (made.name != "variant" && made.name != "tune" && !panic_)
    pending_.push_back(std::move(made));
}

Pragma Parser::pragma() {
  Pragma out;
  out.token = position_;
  Token name = next();
  out.name = name.spelling;
  out.at = name.at;
  Token opening = next();
  if (out.name == "variant" || out.name == "tune") {
    for (int depth = 1; depth > 0 && !peek().is(TokenKind::end);) {
      depth += peek().is("(") - peek().is(")");
      next();
    }
    return out;
  }
  do
    out.arguments.push_back(conditional());
  while (accept(","));
  expect_closing(")", "after the arguments", opening);
  return out;
}

// Decides which functions are kernels. The only function of a file is a kernel even without
// `__global__`. If the file marks some functions, all other functions are device functions.
void Parser::choose_kernels(Program &program) {
  std::vector<Function> &functions = program.functions;
  bool is_marked = std::any_of(functions.begin(), functions.end(),
                               [](const Function &f) { return f.is_kernel; });
  if (functions.empty() && diagnostics_.errors() == 0) {
    diagnostics_.report(Message::no_kernel, {}, {path_});
    diagnostics_.report(Message::write_kernel, {});
  }
  if (functions.size() == 1 && !is_marked)
    functions[0].is_kernel = true;
  else if (!is_marked && !functions.empty()) {
    diagnostics_.report(Message::mark_kernels, functions[0].at, {functions[0].name});
    diagnostics_.report(Message::add_global, functions[0].at);
    for (Function &function : functions)
      function.is_kernel = true; // the checker then checks them as kernels
  }
  // Pragmas before a device function belong to the next kernel.
  for (size_t i = functions.size(); i-- > 0;) {
    std::vector<Pragma> &pragmas = functions[i].pragmas;
    if (functions[i].is_kernel || pragmas.empty())
      continue;
    std::vector<Pragma> &next = i + 1 < functions.size() ? functions[i + 1].pragmas : pending_;
    next.insert(next.begin(), std::make_move_iterator(pragmas.begin()),
                std::make_move_iterator(pragmas.end()));
    pragmas.clear();
  }
}

// Pragmas after the last function belong to the only kernel. The command line's grid belongs to
// every kernel, so the parser parses it again for each kernel.
void Parser::place_trailing_pragmas(Program &program) {
  std::vector<Function *> kernels;
  for (Function &function : program.functions)
    if (function.is_kernel)
      kernels.push_back(&function);
  for (Pragma &trailing : pending_) {
    bool is_host = trailing.name == "host_grid";
    if (!is_host && kernels.size() == 1)
      kernels[0]->pragmas.push_back(std::move(trailing));
    else if (!is_host)
      diagnostics_.report(Message::pragma_without_kernel, trailing.at, {trailing.name});
    for (Function *kernel : kernels) {
      if (!is_host)
        continue;
      auto is_grid = [](const Pragma &p) { return p.name == "grid"; };
      kernel->pragmas.erase(std::remove_if(kernel->pragmas.begin(), kernel->pragmas.end(), is_grid),
                            kernel->pragmas.end());
      position_ = trailing.token;
      kernel->pragmas.push_back(pragma());
      kernel->pragmas.back().name = "grid";
    }
  }
  pending_.clear();
}

} // namespace tritonc::ast
