// Parses expressions. See parser.h.
//
// Tested by tests/unit/language/parser_test.cpp.

#include "language/foreign_words.h"
#include "language/literal.h"
#include "language/parser.h"
#include "language/spelling.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

struct BinaryOperator {
  std::string_view spelling;
  int precedence; // larger binds tighter
  Operator op;    // none = `@`
};

constexpr BinaryOperator binary_operators[] = {
    {"@", 12, Operator::none},       {"*", 11, Operator::multiply},
    {"/", 11, Operator::divide},     {"%", 11, Operator::remainder},
    {"+", 10, Operator::add},        {"-", 10, Operator::subtract},
    {"<<", 9, Operator::shift_left}, {">>", 9, Operator::shift_right},
    {"<", 8, Operator::less},        {"<=", 8, Operator::less_equal},
    {">", 8, Operator::greater},     {">=", 8, Operator::greater_equal},
    {"==", 7, Operator::equal},      {"!=", 7, Operator::not_equal},
    {"&", 6, Operator::bit_and},     {"^", 5, Operator::bit_xor},
    {"|", 4, Operator::bit_or},      {"&&", 3, Operator::logical_and},
    {"||", 2, Operator::logical_or},
};

const BinaryOperator *binary_operator(const Token &token) {
  for (const BinaryOperator &row : binary_operators)
    if (token.is(row.spelling))
      return &row;
  return nullptr;
}

// The operator of `+=`, `*=`, ...; Operator::none for `=`; nullopt for other tokens.
std::optional<Operator> assignment_operator(const Token &token) {
  if (!token.is(TokenKind::punctuator) || token.spelling.back() != '=')
    return std::nullopt;
  std::string_view without = token.spelling.substr(0, token.spelling.size() - 1);
  if (without.empty())
    return Operator::none;
  for (const BinaryOperator &row : binary_operators)
    if (row.precedence >= 4 && row.precedence != 8 && row.precedence != 7 &&
        row.spelling == without)
      return row.op;
  return std::nullopt;
}

struct NamedSubscript {
  std::string_view spelling;
  Subscript::Kind kind;
};

// Subscript entries that are one token.
constexpr NamedSubscript named_positions[] = {
    {":", Subscript::Kind::keep},        {"newaxis", Subscript::Kind::newaxis},
    {"+", Subscript::Kind::sum},         {"prod", Subscript::Kind::prod},
    {"max", Subscript::Kind::max},       {"min", Subscript::Kind::min},
    {"any", Subscript::Kind::any},       {"all", Subscript::Kind::all},
    {"argmax", Subscript::Kind::argmax}, {"argmin", Subscript::Kind::argmin},
};

const NamedSubscript *named_subscript(const Token &token) {
  for (const NamedSubscript &row : named_positions)
    if (token.spelling == row.spelling)
      return &row;
  return nullptr;
}

// Functions of other languages, with the note that says what to write instead.
struct ForeignCall {
  const char *name;
  Message instead;
};

constexpr ForeignCall foreign_calls[] = {
    {"malloc", Message::memory_is_passed},
    {"printf", Message::write_print},
    {"__syncthreads", Message::no_waiting},
    {"__syncwarp", Message::no_waiting},
};

// Members of tensors in Python, with the note that says what to write instead.
constexpr ForeignCall foreign_members[] = {
    {"T", Message::write_transpose},   {"sum", Message::write_reduction},
    {"max", Message::write_reduction}, {"min", Message::write_reduction},
    {"to", Message::write_cast},       {"astype", Message::write_cast},
};

// Python modules and C++ namespaces.
constexpr std::array<std::string_view, 7> modules = {"tl",    "np",     "numpy", "math",
                                                     "torch", "triton", "std"};

const ForeignCall *foreign_call(std::string_view name) {
  for (const ForeignCall &row : foreign_calls)
    if (name == row.name)
      return &row;
  return nullptr;
}

} // namespace

ExprPtr Parser::make(Kind kind, Location at, Range range, std::vector<ExprPtr> operands) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  expr->range = range;
  for (const ExprPtr &operand : operands)
    expr->depth = std::max(expr->depth, operand->depth + 1);
  expr->operands = std::move(operands);
  if (expr->depth > max_tree_depth)
    fail(Message::too_deep, at, {std::to_string(max_tree_depth)});
  return expr;
}

ExprPtr Parser::make_error() { return make(Kind::error, last_, {last_, last_}); }

ExprPtr Parser::make_binary(Operator op, Location at, ExprPtr a, ExprPtr b) {
  Range range{a->range.begin, b->range.end};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  ExprPtr expr =
      make(op == Operator::none ? Kind::matmul : Kind::binary, at, range, std::move(operands));
  expr->op = op;
  return expr;
}

// `target op= value` becomes `target = current op value`, which evaluates the target once.
ExprPtr Parser::make_assign(Operator op, Location at, ExprPtr target, ExprPtr value) {
  Range range{target->range.begin, value->range.end};
  if (op != Operator::none)
    value = make_binary(op, at, make(Kind::current, target->at, target->range), std::move(value));
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(target));
  operands.push_back(std::move(value));
  return make(Kind::assign, at, range, std::move(operands));
}

ExprPtr Parser::make_increment(const Token &token, ExprPtr target, bool is_postfix) {
  ExprPtr one = make(Kind::integer, token.at, {token.at, token.at});
  one->integer = 1;
  one->type = Type::of(Scalar::int32);
  Operator op = token.is("++") ? Operator::add : Operator::subtract;
  Range range = target->range;
  (is_postfix ? range.end : range.begin) = token.at;
  ExprPtr expr = make_assign(op, token.at, std::move(target), std::move(one));
  expr->is_postfix = is_postfix;
  expr->range = range;
  return expr;
}

ExprPtr Parser::expression() {
  ExprPtr expr = assignment();
  while (peek().is(",")) {
    Token comma = next();
    ExprPtr right = assignment();
    Range range{expr->range.begin, right->range.end};
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(expr));
    operands.push_back(std::move(right));
    expr = make(Kind::comma, comma.at, range, std::move(operands));
  }
  return panic_ ? make_error() : std::move(expr);
}

ExprPtr Parser::assignment() {
  Nesting nesting(*this);
  ExprPtr target = conditional();
  if (panic_) // an incomplete expression would cause follow-up errors
    return make_error();
  std::optional<Operator> op = assignment_operator(peek());
  if (!op)
    return target;
  Token token = next();
  ExprPtr value = assignment();
  return make_assign(*op, token.at, std::move(target), std::move(value));
}

ExprPtr Parser::conditional() {
  Nesting nesting(*this);
  ExprPtr condition = binary(0);
  if (!peek().is("?"))
    return condition;
  Token question = next();
  // `a ?: b` means `a ? a : b`, but evaluates `a` once.
  ExprPtr given;
  if (peek().is(":")) {
    given = std::move(condition);
    condition = make(Kind::current, given->at, given->range);
  }
  ExprPtr yes = given ? make(Kind::current, given->at, given->range) : expression();
  expect_closing(":", "between the two values", question);
  ExprPtr no = conditional();
  Range range{condition->range.begin, no->range.end};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(condition));
  operands.push_back(std::move(yes));
  operands.push_back(std::move(no));
  ExprPtr expr = make(Kind::conditional, question.at, range, std::move(operands));
  if (!given)
    return expr;
  std::vector<ExprPtr> both;
  both.push_back(std::move(given));
  both.push_back(std::move(expr));
  return make(Kind::given, question.at, range, std::move(both));
}

ExprPtr Parser::binary(int min_precedence) {
  ExprPtr left = range();
  // A word cannot follow an operand, so `and` and `or` here mean the operators.
  for (auto [word, meant] : {std::pair("and", "&&"), std::pair("or", "||")})
    if (peek().is_word(word))
      correct(peek(), meant);
  while (const BinaryOperator *row = binary_operator(peek())) {
    if (row->precedence < min_precedence)
      break;
    Token token = next();
    ExprPtr right = binary(row->precedence + 1);
    left = make_binary(row->op, token.at, std::move(left), std::move(right));
  }
  return left;
}

ExprPtr Parser::range() {
  ExprPtr first = cast();
  if (!peek().is("..."))
    return first;
  Token dots = next();
  ExprPtr last = cast();
  Range range{first->range.begin, last->range.end};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(first));
  operands.push_back(std::move(last));
  return make(Kind::range, dots.at, range, std::move(operands));
}

ExprPtr Parser::cast() {
  if (!peek().is("(") || !starts_type(peek(1)))
    return unary();
  Nesting nesting(*this);
  Token opening = next();
  TypeName type_name = abstract_type();
  expect_closing(")", "after the type", opening);
  if (Token brace = peek(); brace.is("{")) {
    fail(Message::not_supported, brace.at, {"compound literals"});
    note(Message::one_value, brace.at);
  }
  ExprPtr value = cast();
  Range range{opening.at, value->range.end};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(value));
  ExprPtr expr = make(Kind::cast, opening.at, range, std::move(operands));
  expr->type_name = std::move(type_name);
  return expr;
}

ExprPtr Parser::unary() {
  Nesting nesting(*this);
  Token token = peek();
  if (token.is("*"))
    return dereference();
  if (token.is("++") || token.is("--")) {
    next();
    ExprPtr target = unary();
    return make_increment(token, std::move(target), /*is_postfix=*/false);
  }
  if (token.is("&")) {
    fail(Message::not_supported, token.at, {"the address operator `&`"});
    note(Message::write_sum, token.at);
    return make_error();
  }
  if (token.is_word("sizeof"))
    return size_of();
  if (token.is_word("not") && (is_name(peek(1)) || peek(1).is(TokenKind::number))) {
    correct(token, "!");
    token = peek();
  }
  Operator op = token.is("+")   ? Operator::plus
                : token.is("-") ? Operator::minus
                : token.is("~") ? Operator::bit_not
                : token.is("!") ? Operator::logical_not
                                : Operator::none;
  if (op == Operator::none && !token.is("^"))
    return postfix();
  next();
  std::vector<ExprPtr> operands;
  operands.push_back(cast());
  Range range{token.at, operands[0]->range.end};
  Kind kind = op == Operator::none ? Kind::transpose : Kind::unary;
  ExprPtr expr = make(kind, token.at, range, std::move(operands));
  expr->op = op;
  return expr;
}

namespace {

std::optional<std::string_view> meant_hint(std::string_view name) {
  return nearest(name, {"__no_allocate", "__evict_first", "__evict_last"});
}

} // namespace

ExprPtr Parser::dereference() {
  Token star = next();
  ExprPtr mask;
  std::string hint;
  if (accept("?")) {
    Token opening = peek();
    expect("(", "before the mask");
    do {
      bool is_alone = peek(1).is(",") || peek(1).is(")");
      bool is_hint = is_alone && peek().is(TokenKind::identifier) &&
                     (cache_hint(peek().spelling) || meant_hint(peek().spelling));
      if (is_hint || mask || !hint.empty())
        take_hint(hint);
      else
        mask = assignment();
    } while (accept(","));
    expect_closing(")", "after the mask", opening);
  }
  ExprPtr pointer = cast();
  Range range{star.at, pointer->range.end};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(pointer));
  if (mask)
    operands.push_back(std::move(mask));
  ExprPtr expr = make(Kind::deref, star.at, range, std::move(operands));
  expr->text = std::move(hint);
  return expr;
}

// Parses a cache hint, after the mask or in its place.
void Parser::take_hint(std::string &hint) {
  Token token = next();
  std::string name(token.spelling);
  if (!cache_hint(name)) {
    std::vector<Edit> edits;
    if (auto meant = meant_hint(name))
      edits = {Edit::replace(token.at, std::string(*meant))};
    fail(Message::unknown_cache_hint, token.at, {name}, std::move(edits));
    return note(Message::known_cache_hints, token.at);
  }
  if (!hint.empty())
    fail(Message::cache_hint_twice, token.at, {hint, name});
  hint = name;
}

ExprPtr Parser::size_of() {
  Token word = next();
  ExprPtr expr;
  if (peek().is("(") && starts_type(peek(1))) {
    Token opening = next();
    TypeName type_name = abstract_type();
    expect_closing(")", "after the type", opening);
    expr = make(Kind::size_of, word.at, {word.at, last_});
    expr->type_name = std::move(type_name);
    return expr;
  }
  std::vector<ExprPtr> operands;
  operands.push_back(unary());
  Range range{word.at, operands[0]->range.end};
  return make(Kind::size_of, word.at, range, std::move(operands));
}

ExprPtr Parser::postfix() {
  ExprPtr expr = primary();
  for (;;) {
    Token token = peek();
    if (token.is("[")) {
      expr = subscript(std::move(expr));
    } else if (token.is("++") || token.is("--")) {
      next();
      expr = make_increment(token, std::move(expr), /*is_postfix=*/true);
    } else if (token.is("(")) {
      fail(Message::not_supported, token.at, {"calls of expressions that are not a name"});
    } else if (token.is("::") && take_module(expr)) {
      continue;
    } else if (token.is(".") || token.is("->")) {
      if (!take_cuda_index(expr) && !take_module(expr) && !is_foreign_member(*expr)) {
        fail(Message::not_supported, token.at, {"struct and union"});
        note(Message::no_members, token.at);
      }
    } else {
      return expr;
    }
  }
}

// Handles CUDA's `blockIdx.x` and similar names; returns false for anything else.
bool Parser::take_cuda_index(ExprPtr &expr) {
  const Token dot = peek(), axis = peek(1);
  const bool is_axis = axis.is_word("x") || axis.is_word("y") || axis.is_word("z");
  const std::string name = expr->is(Kind::name) ? expr->text : "";
  const bool has_threads = name == "threadIdx" || name == "blockDim";
  if (!dot.is(".") || !is_axis || (!has_threads && name != "blockIdx" && name != "gridDim"))
    return false;
  next();
  next();
  std::string text = name + "." + std::string(axis.spelling);
  if (has_threads) {
    fail(Message::foreign_word, expr->at, {text});
    note(Message::no_threads, expr->at);
    return true;
  }
  std::string call = name == "blockIdx" ? "get_program_id(" : "get_num_programs(";
  call += std::string(1, char('0' + axis.spelling[0] - 'x')) + ")";
  diagnostics_.report(Message::foreign_word, expr->at, {text}, {},
                      {Edit::replace({expr->at, axis.at}, call)});
  diagnostics_.report(Message::write_instead, expr->at, {call});
  expr = make(Kind::integer, expr->at, {expr->at, axis.at});
  expr->type = Type::of(Scalar::int32);
  return true;
}

// Handles functions in a module or namespace: reads `tl.exp` and `std::min` as `exp` and `min`. For
// `tl.load` and similar functions it reports what to write instead.
bool Parser::take_module(ExprPtr &expr) {
  const Token dot = peek(), name = peek(1);
  bool is_module = expr->is(Kind::name) &&
                   std::find(modules.begin(), modules.end(), expr->text) != modules.end();
  if (!is_module || declared_.count(expr->text) || dot.is("->") || !is_name(name))
    return false;
  std::string prefix = expr->text + std::string(dot.spelling);
  if (std::optional<OtherWay> way = other_way(name.spelling, in_pragma_)) {
    fail(Message::foreign_word, expr->at, {prefix + std::string(name.spelling)});
    note(way->note, expr->at, {std::string(way->argument)});
    return true;
  }
  diagnostics_.report(Message::foreign_word, expr->at, {prefix}, {},
                      {Edit::replace({expr->at, dot.at}, "")});
  diagnostics_.report(Message::write_instead, expr->at, {std::string(name.spelling)});
  next();
  expr = name_or_call();
  return true;
}

// Reports `x.sum()` and `0 .. 64`.
bool Parser::is_foreign_member(const Expr &expr) {
  const Token dot = peek(), behind = peek(1);
  if (dot.is(".") && behind.is(".")) {
    fail(Message::foreign_word, dot.at, {".."}, {Edit::replace({dot.at, behind.at}, "...")});
    note(Message::write_instead, dot.at, {"..."});
    return true;
  }
  for (const ForeignCall &row : foreign_members)
    if (dot.is(".") && behind.is_word(row.name)) {
      fail(Message::foreign_word, dot.at, {"." + std::string(row.name)});
      note(row.instead, expr.at);
      return true;
    }
  return false;
}

ExprPtr Parser::primary() {
  Token token = peek();
  if (token.is("(")) {
    next();
    ExprPtr expr = expression();
    expect_closing(")", "after the expression", token);
    expr->range = {token.at, last_};
    return expr;
  }
  if (token.is(TokenKind::number))
    return number();
  if (token.is(TokenKind::character))
    return character();
  if (token.is(TokenKind::string)) {
    fail(Message::not_supported, token.at, {"strings"});
    note(Message::format_places, token.at);
    return make_error();
  }
  if (token.is_word("bitcast"))
    return bitcast();
  if (is_name(token) && !starts_type(token))
    return name_or_call();
  if (!is_list_of_values())
    fail_expected("an expression");
  return make_error();
}

// Reports, once per macro, a macro whose value is a list: `-D "TM=[32, 64]"`. The oldest kernels
// used such macros.
bool Parser::is_list_of_values() {
  const Token token = peek();
  if (!token.is("["))
    return false;
  const std::string macro = diagnostics_.token_at(
      diagnostics_.at(diagnostics_.line_column(token.at), diagnostics_.file_of(token.at)));
  if (macro.empty() || macro == "[")
    return false;
  if (!lists_.insert(macro).second) {
    panic_ = dropped_ = true;
    return true;
  }
  fail_expected("an expression");
  note(Message::one_value_each, token.at, {macro});
  return true;
}

ExprPtr Parser::name_or_call() {
  Token name = next();
  Range range{name.at, name.at};
  if (name.spelling == "true" || name.spelling == "false") {
    ExprPtr expr = make(Kind::boolean, name.at, range);
    expr->integer = name.spelling == "true";
    expr->type = Type::of(Scalar::bool_);
    return expr;
  }
  if (!peek().is("(")) {
    ExprPtr expr = make(Kind::name, name.at, range);
    expr->text = name.spelling;
    return expr;
  }
  if (name.spelling == "print" || name.spelling == "assert") {
    fail(Message::not_an_expression, name.at, {std::string(name.spelling)});
    return make_error();
  }
  if (std::optional<PragmaWord> word = pragma_word(name.spelling); word && peek(2).is(":")) {
    fail_pragma(name, *word);
    return make_error();
  }
  if (const ForeignCall *row = foreign_call(name.spelling)) {
    fail(Message::foreign_word, name.at, {row->name});
    note(row->instead, name.at);
    return make_error();
  }
  if (name.spelling == "atomic_add" && starts_type(peek(1)))
    return old_atomic_add(name);
  Token opening = next();
  std::vector<ExprPtr> operands = arguments(opening);
  ExprPtr expr = make(Kind::call, name.at, {name.at, last_}, std::move(operands));
  expr->text = name.spelling;
  return take_old_shape(*expr) ? std::move(expr) : make_error();
}

// Parses the old compiler's macro `atomic_add(TYPE, M, N)(pointers, values, mask)`.
ExprPtr Parser::old_atomic_add(const Token &name) {
  Token opening = next();
  TypeName type_name = type_specifiers();
  while (accept(","))
    type_name.extents.push_back(conditional());
  expect_closing(")", "after the shape", opening);
  opening = peek();
  expect("(", "before the arguments");
  std::vector<ExprPtr> operands = arguments(opening);
  ExprPtr expr = make(Kind::call, name.at, {name.at, last_}, std::move(operands));
  expr->text = name.spelling;
  expr->type_name = std::move(type_name);
  return expr;
}

// Turns `atomic_add_TYPE_MxN(...)`, the expansion of that macro, into a call of atomic_add with a
// shape. Reports an error and returns false if only the prefix `atomic_add_` matches.
bool Parser::take_old_shape(Expr &call) {
  constexpr std::string_view prefix = "atomic_add_";
  if (call.text.rfind(prefix, 0) != 0)
    return true;
  char type[16] = {};
  unsigned rows = 0, columns = 0;
  int read = 0;
  const char *rest = call.text.c_str() + prefix.size();
  bool fits =
      std::sscanf(rest, "%15[a-z0-9]_%9ux%9u%n", type, &rows, &columns, &read) == 3 && !rest[read];
  std::string word = type;
  if (!fits || (word != "float" && word != "half")) {
    fail(Message::not_supported, call.at, {"`" + call.text + "`"});
    return false;
  }
  call.text = "atomic_add";
  call.type_name.type.scalar = word == "half" ? Scalar::half : Scalar::float_;
  call.type_name.range = call.range;
  for (unsigned extent : {rows, columns}) {
    ExprPtr literal = make(Kind::integer, call.at, {call.at, call.at});
    literal->integer = extent;
    literal->type = Type::of(Scalar::int32);
    call.type_name.extents.push_back(std::move(literal));
  }
  return true;
}

std::vector<ExprPtr> Parser::arguments(const Token &opening) {
  std::vector<ExprPtr> operands;
  if (accept(")"))
    return operands;
  do
    operands.push_back(assignment());
  while (accept(","));
  expect_closing(")", "after the arguments", opening);
  return operands;
}

ExprPtr Parser::number() {
  Token token = next();
  std::string spelling(token.spelling);
  size_t dots = spelling.find("..");
  if (dots != spelling.npos) { // `0...64`; also `0..64` of other languages
    size_t rest_at = std::min(spelling.find_first_not_of('.', dots), spelling.size());
    std::string first = spelling.substr(0, dots), rest = spelling.substr(rest_at);
    fail(Message::range_needs_blanks, token.at, {spelling},
         {Edit::replace(token.at, first + " ... " + rest)});
    note(Message::write_blanks, token.at, {first + " ... " + rest});
    return make_error();
  }
  auto parsed = parse_number(spelling);
  if (Message *problem = std::get_if<Message>(&parsed)) {
    fail(*problem, token.at, {spelling});
    if (*problem == Message::bad_number)
      note(Message::number_syntax, token.at);
    return make_error();
  }
  const Number &value = std::get<Number>(parsed);
  Kind kind = is_float(value.scalar) ? Kind::real : Kind::integer;
  ExprPtr expr = make(kind, token.at, {token.at, token.at});
  expr->text = spelling;
  expr->integer = value.integer;
  expr->real = value.real;
  expr->has_suffix = value.has_suffix;
  expr->type = Type::of(value.scalar);
  return expr;
}

ExprPtr Parser::character() {
  Token token = next();
  std::optional<int> value = parse_character(token.spelling);
  if (!value) {
    fail(Message::bad_character, token.at, {std::string(token.spelling)});
    return make_error();
  }
  ExprPtr expr = make(Kind::integer, token.at, {token.at, token.at});
  expr->integer = uint64_t(int64_t(*value));
  expr->type = Type::of(Scalar::int32);
  return expr;
}

ExprPtr Parser::bitcast() {
  Token word = next();
  expect("<", "after `bitcast`");
  TypeName type_name = abstract_type();
  expect(">", "after the type");
  Token opening = peek();
  expect("(", "before the value");
  std::vector<ExprPtr> operands;
  operands.push_back(expression());
  expect_closing(")", "after the value", opening);
  ExprPtr expr = make(Kind::bitcast, word.at, {word.at, last_}, std::move(operands));
  expr->type_name = std::move(type_name);
  return expr;
}

ExprPtr Parser::subscript(ExprPtr tile) {
  Token opening = next();
  Range range{tile->range.begin, last_};
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(tile));
  std::vector<Subscript> subscripts;
  do
    subscripts.push_back(one_subscript(operands));
  while (accept(","));
  expect_closing("]", "after the subscript", opening);
  range.end = last_;
  ExprPtr expr = make(Kind::subscript, opening.at, range, std::move(operands));
  expr->subscripts = std::move(subscripts);
  return expr;
}

// A reduction name counts only as a whole entry: `+1` is a number and `any(x)` is a call.
Subscript Parser::one_subscript(std::vector<ExprPtr> &operands) {
  using Where = Subscript::Kind;
  Token token = peek();
  if (accept("^"))
    return {.kind = Where::axis, .axis = conditional(), .at = token.at};
  bool is_alone = peek(1).is("]") || peek(1).is(",");
  if (const NamedSubscript *row = is_alone ? named_subscript(token) : nullptr) {
    next();
    return {.kind = row->kind, .at = token.at};
  }
  if (token.is_word("scan") && peek(1).is("("))
    return scan_subscript();
  return index_subscript(operands);
}

// Parses `scan(+)`.
Subscript Parser::scan_subscript() {
  Token word = next(), opening = next(), token = peek();
  const NamedSubscript *row = named_subscript(token);
  if (!row || row->kind < Subscript::Kind::sum || row->kind > Subscript::Kind::all)
    fail_expected("`+`, `prod`, `max`, `min`, `any` or `all`");
  else
    next();
  expect_closing(")", "after the operation of `scan`", opening);
  return {.kind = row ? row->kind : Subscript::Kind::keep, .at = word.at, .scans = true};
}

// Whether the token separates the parts of a slice.
bool Parser::is_slice_colon() const { return peek().is(":") || peek().is("::"); }

// Parses the rest of Python's `first:last:step`. `first` may be null. `0:32` becomes a range. For
// `:32`, the first operand of the range is a zero at the place of the colon.
Subscript Parser::slice(ExprPtr first) {
  Location colon = peek().at, begin = first ? first->range.begin : colon;
  int colons = 0;
  ExprPtr last;
  while (is_slice_colon()) {
    colons += next().is("::") ? 2 : 1;
    if (!is_slice_colon() && !peek().is("]") && !peek().is(","))
      last = conditional();
  }
  if (!first) {
    first = make(Kind::integer, colon, {colon, colon});
    first->type = Type::of(Scalar::int32);
  }
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(first));
  bool is_range = colons == 1 && last;
  if (is_range)
    operands.push_back(std::move(last));
  Kind kind = is_range ? Kind::range : Kind::error;
  return {.kind = Subscript::Kind::slice,
          .axis = make(kind, colon, {begin, last_}, std::move(operands)),
          .at = begin};
}

// Parses `gather(indices)`, the index of one element, or a slice.
Subscript Parser::index_subscript(std::vector<ExprPtr> &operands) {
  Token token = peek();
  if (is_slice_colon())
    return slice(nullptr);
  if (token.is("-") && (peek(1).is("]") || peek(1).is(","))) {
    fail(Message::reduction_by_minus, token.at);
    note(Message::negate_sum, token.at);
  }
  if (token.is("]"))
    fail_expected("`:`, `newaxis`, `^axis`, an index or a reduction in the subscript");
  bool gathers = token.is_word("gather") && peek(1).is("(");
  Token opening;
  if (gathers) {
    next();
    opening = next();
  }
  ExprPtr index = gathers ? assignment() : conditional();
  if (!gathers && is_slice_colon())
    return slice(std::move(index));
  operands.push_back(std::move(index));
  if (gathers)
    expect_closing(")", "after the positions", opening);
  return {.kind = gathers ? Subscript::Kind::gather : Subscript::Kind::index,
          .at = token.at,
          .operand = operands.size() - 1,
          .is_checked = true};
}

} // namespace tritonc::ast
