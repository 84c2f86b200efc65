// Parses types: specifiers, pointers, extents, enumerations. Recognizes types of CUDA and Python. See
// parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/declaration_words.h"
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

constexpr std::array<std::string_view, 3> unsupported_words = {"struct", "union", "_Atomic"};

constexpr std::string_view constant_word = "__constant__";

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
  if (starts_type(peek()) || lacks_type())
    return true;
  if (!is_name(peek()))
    return false;
  if (is_name(peek(1)))
    return true;
  const Token &third = peek(3);
  if (declared_.count(peek().spelling))
    return false;
  return peek(1).is("*") && peek(2).is(TokenKind::identifier) &&
         (third.is("[") || third.is("=") || third.is(";") || third.is(",") ||
          (third.is(TokenKind::identifier) && is_attribute(third.spelling)));
}

// Whether an empty macro is in the place of a declaration's type: `TYPE x[64] = 0;`. The name must be
// new, because an empty macro may also precede an assignment.
bool Parser::lacks_type() const {
  const size_t at = peek().is("*") ? 1 : 0;
  const Token &name = peek(at), &third = peek(at + 1);
  bool is_declarator = third.is("[") || third.is("=") || third.is(";") || third.is(",") ||
                       (third.is(TokenKind::identifier) && is_attribute(third.spelling));
  return is_declarator && is_name(name) && !declared_.count(name.spelling) &&
         !empty_macros_before(peek()).empty();
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
        bool is_last = !is_name(peek(1)) && !peek(1).is("*");
        if (is_last && (automatic || !empty_macros_before(token).empty()))
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
  } else if (!is_named && !panic_) {
    bool is_empty = !empty_macros_before(peek()).empty();
    fail_expected("a type");
    panic_ = !is_empty; // else an unknown type, to suppress follow-up errors
  }
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
    (blocks_ == 0 ? constants_ : declared_).insert(made.name);
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

} // namespace tritonc::ast
