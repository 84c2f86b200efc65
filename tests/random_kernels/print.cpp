// Prints a random kernel as source text. See print.h.

#include "random_kernels/print.h"

#include <cmath>
#include <cstdio>

namespace tritonc::random {
namespace {

using Kind = Expr::Kind;

// Precedence levels; larger binds tighter.
enum Tightness { loosest, choice = 1, binary_least = 2, ranges = 13, prefix = 14, primary = 15 };

int tightness_of(Op op) {
  switch (op) {
  case Op::logical_or:
    return 2;
  case Op::logical_and:
    return 3;
  case Op::bit_or:
    return 4;
  case Op::bit_xor:
    return 5;
  case Op::bit_and:
    return 6;
  case Op::eq:
  case Op::ne:
    return 7;
  case Op::lt:
  case Op::le:
  case Op::gt:
  case Op::ge:
    return 8;
  case Op::shl:
  case Op::shr:
    return 9;
  case Op::add:
  case Op::sub:
    return 10;
  default:
    return 11;
  }
}
constexpr int dot_tightness = 12;

std::string real_text(double value, bool is_float) {
  if (std::isinf(value))
    return value < 0 ? "-INFINITY" : "INFINITY";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, is_float ? "%.9g" : "%.17g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == text.npos)
    text += ".0";
  return text + (is_float ? "f" : "");
}

struct Text {
  std::string text;
  int tightness;
};

Text literal_text(const Expr &expr) {
  Scalar scalar = expr.type.scalar;
  if (scalar == Scalar::bool_)
    return {expr.integer ? "true" : "false", primary};
  if (scalar == Scalar::float_ || scalar == Scalar::double_) {
    std::string text = real_text(expr.real, scalar == Scalar::float_);
    return {text, text[0] == '-' ? prefix : primary};
  }
  if (is_float(scalar)) {
    std::string number = expr.real == std::floor(expr.real) && std::fabs(expr.real) < 1e6
                             ? std::to_string(int64_t(expr.real))
                             : real_text(expr.real, true);
    return {"(" + std::string(name_of(scalar)) + ")" + number, prefix};
  }
  std::string suffix = scalar == Scalar::uint32   ? "u"
                       : scalar == Scalar::int64  ? "l"
                       : scalar == Scalar::uint64 ? "ul"
                                                  : "";
  bool is_small = bits_of(scalar) < 32;
  std::string text =
      is_signed(scalar) ? std::to_string(expr.integer) : std::to_string(uint64_t(expr.integer));
  if (is_small)
    return {"(" + std::string(name_of(scalar)) + ")" + text, prefix};
  bool is_least = (scalar == Scalar::int32 && expr.integer == INT32_MIN) ||
                  (scalar == Scalar::int64 && expr.integer == INT64_MIN);
  if (is_least)
    return {"(" + std::to_string(expr.integer + 1) + suffix + " - 1)", primary};
  return {text + suffix, text[0] == '-' ? prefix : primary};
}

class Printer {
public:
  explicit Printer(const Kernel &kernel) : kernel_(kernel) {}

  // The expression, in parentheses if its precedence is below `least`.
  std::string expr(const Expr &e, int least) const {
    Text text = bare(e);
    return text.tightness < least ? "(" + text.text + ")" : text.text;
  }

  std::string kernel() {
    text_ = kernel_.tf32 ? "#pragma tritonc precision(tf32)\n" : "";
    std::string parameters;
    for (const Parameter &each : kernel_.parameters)
      if (each.role == Parameter::Role::constant)
        constant_memory(each);
      else
        parameters += (parameters.empty() ? "" : ",\n                  ") + parameter(each);
    for (const Function &each : kernel_.functions)
      function(each);
    text_ += "__global__ void k(" + parameters + ") {\n";
    for (const Stmt &stmt : kernel_.body)
      statement(stmt, 1);
    return text_ + "}\n";
  }

private:
  std::string name(int variable) const { return kernel_.variables[size_t(variable)].name; }

  // Its values are those of a buffer of a parameter with this name.
  void constant_memory(const Parameter &parameter) {
    Scalar scalar = kernel_.type_of(parameter.variable).scalar;
    uint64_t stream = stream_of(kernel_.data_seed, name(parameter.variable));
    text_ += "__constant__ " + std::string(name_of(scalar)) + " " + name(parameter.variable) + "[" +
             std::to_string(parameter.count) + "] = {";
    for (int64_t i = 0; i < parameter.count; i++) {
      DataValue value = value_of(parameter.data, stream, i);
      text_ += (i ? ", " : "") +
               (is_float(scalar)
                    ? real_text(value.real, scalar != Scalar::double_)
                    : expr(literal(scalar == Scalar::bool_ ? scalar : Scalar::int64, value.integer),
                           choice));
    }
    text_ += "};\n";
  }

  std::string declared(int variable) const {
    const Type &type = kernel_.type_of(variable);
    return (type.to_const ? "const " : "") + std::string(name_of(type.scalar)) +
           (type.to_constant ? " __constant__" : "") + (type.pointer ? " *" : " ") +
           name(variable) + text_of(type.shape);
  }

  void function(const Function &function) {
    text_ += name_of(function.result.scalar) + text_of(function.result.shape) + " " +
             function.name + "(";
    for (size_t i = 0; i < function.parameters.size(); i++)
      text_ += (i ? ", " : "") + declared(function.parameters[i]);
    text_ += ") {\n";
    for (const Stmt &stmt : function.body)
      statement(stmt, 1);
    text_ += "}\n";
  }

  std::string parameter(const Parameter &parameter) const {
    const Type &type = kernel_.type_of(parameter.variable);
    std::string text = (type.to_const ? "const " : "") + std::string(name_of(type.scalar)) +
                       (type.pointer ? " *" : " ") + name(parameter.variable);
    if (parameter.read_only)
      text += " __readonly";
    if (parameter.write_only)
      text += " __writeonly";
    if (parameter.no_alias)
      text += " __noalias";
    if (parameter.aligned)
      text += " __aligned(" + std::to_string(parameter.aligned) + ")";
    if (parameter.multiple_of)
      text += " __multipleof(" + std::to_string(parameter.multiple_of) + ")";
    return text;
  }

  Text bare(const Expr &e) const {
    switch (e.kind) {
    case Kind::literal:
      return literal_text(e);
    case Kind::variable:
      return {name(int(e.integer)), primary};
    case Kind::program_id:
      return {"get_program_id(" + std::to_string(e.integer) + ")", primary};
    case Kind::num_programs:
      return {"get_num_programs(" + std::to_string(e.integer) + ")", primary};
    case Kind::range:
      return {std::to_string(e.integer) + " ... " + std::to_string(e.integer + e.type.shape[0]),
              ranges};
    case Kind::unary:
      return unary(e);
    case Kind::binary:
      return binary(e);
    case Kind::load:
      return {access(e.operands[0], e.operands.size() == 2 ? &e.operands[1] : nullptr, e.hint),
              prefix};
    case Kind::conditional:
      return {expr(e.operands[0], binary_least) + " ? " + expr(e.operands[1], choice) + " : " +
                  expr(e.operands[2], choice),
              choice};
    case Kind::cast:
      return {"(" + target(e) + ")" + expr(e.operands[0], prefix), prefix};
    case Kind::bitcast:
      return {"bitcast<" + target(e) + ">(" + expr(e.operands[0], loosest) + ")", primary};
    case Kind::transpose:
      return {"^" + expr(e.operands[0], prefix), prefix};
    case Kind::permute:
      return {expr(e.operands[0], primary) + permutation(e), primary};
    case Kind::subscript:
      return {expr(e.operands[0], primary) + positions(e), primary};
    case Kind::dot:
      return {expr(e.operands[0], dot_tightness) + " @ " + expr(e.operands[1], dot_tightness + 1),
              dot_tightness};
    case Kind::fma:
      return {"fma" + arguments(e.operands), primary};
    case Kind::gather:
    case Kind::element:
      return {expr(e.operands[0], primary) + positions_along(e), primary};
    case Kind::philox: {
      std::string word = e.integer < 0 ? "" : ", " + std::to_string(e.integer);
      return {"philox" + arguments(e.operands, word), primary};
    }
    case Kind::uniform:
      return {"random_uniform" + arguments(e.operands), primary};
    case Kind::call:
      return {kernel_.functions[size_t(e.integer)].name + arguments(e.operands), primary};
    }
    return {};
  }

  std::string arguments(const std::vector<Expr> &list, const std::string &more = "") const {
    std::string text = "(";
    for (const Expr &argument : list)
      text += (text.size() > 1 ? ", " : "") + expr(argument, choice);
    return text + more + ")";
  }

  std::string positions_along(const Expr &e) const {
    std::string text, at = expr(e.operands[1], choice);
    for (size_t d = 0; d < e.operands[0].type.shape.size(); d++) {
      text += d ? ", " : "[";
      text += int64_t(d) != e.integer ? ":" : e.is(Kind::gather) ? "gather(" + at + ")" : at;
    }
    return text + "]";
  }

  // `- -x` must not become `--x`.
  Text unary(const Expr &e) const {
    std::string sign = spelling_of(e.op), operand = expr(e.operands[0], prefix);
    if (e.op >= Op::abs)
      return {sign + "(" + expr(e.operands[0], choice) + ")", primary};
    if (operand[0] == sign[0])
      operand = "(" + operand + ")";
    return {sign + operand, prefix};
  }

  Text binary(const Expr &e) const {
    std::string op = spelling_of(e.op);
    if (e.op == Op::min || e.op == Op::max)
      return {op + "(" + expr(e.operands[0], choice) + ", " + expr(e.operands[1], choice) + ")",
              primary};
    int tightness = tightness_of(e.op);
    return {expr(e.operands[0], tightness) + " " + op + " " + expr(e.operands[1], tightness + 1),
            tightness};
  }

  std::string access(const Expr &pointer, const Expr *mask, Hint hint) const {
    static constexpr const char *hints[] = {
        "",     "__cg", "__cs", "__no_allocate", "__evict_first", "__evict_last",
        "__ca", "__cv", "__wb", "__wt"};
    std::string said = hints[size_t(hint)];
    std::string inside = mask ? expr(*mask, choice) + (said.empty() ? "" : ", " + said) : said;
    std::string star = inside.empty() ? "*" : "*?(" + inside + ")";
    return star + expr(pointer, prefix);
  }

  // A cast without a shape keeps its operand's shape, but turns a one-element tile into a scalar.
  std::string target(const Expr &e) const {
    const Shape &from = e.operands[0].type.shape, &to = e.type.shape;
    bool has_shape = to != from || (e.type.elements() == 1 && e.type.is_tile());
    return name_of(e.type.scalar) + (has_shape ? text_of(to) : "");
  }

  static std::string permutation(const Expr &e) {
    std::string text;
    for (int axis : e.axes)
      text += (text.empty() ? "[^" : ", ^") + std::to_string(axis);
    return text + "]";
  }

  static std::string positions(const Expr &e) {
    std::string text;
    static constexpr const char *spellings[] = {
        ":",         "newaxis",    "+",         "max",      "min",     "prod",
        "any",       "all",        "argmax",    "argmin",   "scan(+)", "scan(max)",
        "scan(min)", "scan(prod)", "scan(any)", "scan(all)"};
    for (Position position : e.positions)
      text += (text.empty() ? "[" : ", ") + std::string(spellings[size_t(position)]);
    return text + "]";
  }

  // Without the semicolon, for use in the head of a `for`.
  std::string simple(const Stmt &stmt) const {
    std::string equals = std::string(" ") + spelling_of(stmt.op) + "= ";
    switch (stmt.kind) {
    case Stmt::Kind::declare: {
      std::string text = declared(stmt.variable);
      return stmt.value.empty() ? text : text + " = " + expr(stmt.value[0], choice);
    }
    case Stmt::Kind::assign:
      return name(stmt.variable) + equals + expr(stmt.value[0], choice);
    case Stmt::Kind::increment:
      return name(stmt.variable) + (stmt.op == Op::add ? "++" : "--");
    case Stmt::Kind::store:
      return access(stmt.value[0], stmt.value.size() == 3 ? &stmt.value[2] : nullptr, stmt.hint) +
             equals + expr(stmt.value[1], choice);
    case Stmt::Kind::leave:
      return "break";
    case Stmt::Kind::proceed:
      return "continue";
    case Stmt::Kind::atomic: {
      std::string said = stmt.op == Op::bit_and   ? "and"
                         : stmt.op == Op::bit_or  ? "or"
                         : stmt.op == Op::bit_xor ? "xor"
                         : stmt.op == Op::add     ? "add"
                                                  : spelling_of(stmt.op);
      return (stmt.variable < 0 ? "" : declared(stmt.variable) + " = ") + "atomic_" + said +
             arguments(stmt.value);
    }
    case Stmt::Kind::check:
      return "assert(" + expr(stmt.value[0], choice) + ")";
    default:
      return stmt.value.empty() ? "return" : "return " + expr(stmt.value[0], choice);
    }
  }

  void line(int depth, const std::string &text) {
    text_ += std::string(size_t(depth) * 2, ' ') + text + "\n";
  }

  void body(const std::vector<Stmt> &list, int depth) {
    for (const Stmt &stmt : list)
      statement(stmt, depth + 1);
  }

  void statement(const Stmt &stmt, int depth) {
    switch (stmt.kind) {
    case Stmt::Kind::branch:
      line(depth, "if (" + expr(stmt.value[0], choice) + ") {");
      body(stmt.body, depth);
      if (!stmt.other.empty()) {
        line(depth, "} else {");
        body(stmt.other, depth);
      }
      return line(depth, "}");
    case Stmt::Kind::for_loop:
      line(depth, "for (" + simple(stmt.head[0]) + "; " + expr(stmt.value[0], choice) + "; " +
                      simple(stmt.head[1]) + ") {");
      body(stmt.body, depth);
      return line(depth, "}");
    case Stmt::Kind::while_loop:
      line(depth, "while (" + expr(stmt.value[0], choice) + ") {");
      body(stmt.body, depth);
      return line(depth, "}");
    case Stmt::Kind::do_loop:
      line(depth, "do {");
      body(stmt.body, depth);
      return line(depth, "} while (" + expr(stmt.value[0], choice) + ");");
    case Stmt::Kind::block:
      line(depth, "{");
      body(stmt.body, depth);
      return line(depth, "}");
    default:
      return line(depth, simple(stmt) + ";");
    }
  }

  const Kernel &kernel_;
  std::string text_;
};

} // namespace

std::string source_of(const Kernel &kernel) { return Printer(kernel).kernel(); }

std::string text_of(const Kernel &kernel, const Expr &expr) {
  return Printer(kernel).expr(expr, loosest);
}

} // namespace tritonc::random
