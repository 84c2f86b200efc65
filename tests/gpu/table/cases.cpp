// The cases of the table test. See cases.h.

#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace table {

// --- Inputs --------------------------------------------------------------------------------------

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Number> edges(Type type) {
  std::vector<Number> out;
  int bits = info(type).bits;
  if (!is_float(type)) {
    for (uint64_t value :
         {uint64_t(0), uint64_t(1), uint64_t(2), ~uint64_t(0), ~uint64_t(1),
          uint64_t(1) << (bits - 1), (uint64_t(1) << (bits - 1)) - 1,
          (uint64_t(1) << (bits - 1)) + 1, uint64_t(1) << (bits / 2), uint64_t(100)})
      out.push_back(convert(Type::uint64, type, of_integer(int64_t(value))));
    return out;
  }
  const TypeInfo &format = info(type);
  double least = std::ldexp(1, format.least),
         last = std::ldexp(1, format.least - format.digits + 1);
  for (double value : {0.0, 1.0, 0.5, 1.5, 2.5, 0.25, 3.0, 100.0, format.largest, least, last,
                       least - last, 1 + std::ldexp(1, 1 - format.digits), infinity})
    for (double sign : {1.0, -1.0})
      out.push_back(of_real(rounded(type, sign * value)));
  out.push_back(of_real(std::numeric_limits<double>::quiet_NaN()));
  return out;
}

Number any(Type type, std::mt19937_64 &generator) {
  if (!is_float(type)) { // all magnitudes are equally frequent
    uint64_t bits = generator() >> generator() % 64;
    return convert(Type::uint64, type, of_integer(int64_t(generator() % 2 ? bits : -bits)));
  }
  double fraction = std::uniform_real_distribution<double>(-2, 2)(generator);
  int most = generator() % 2 ? 6 : std::min(-info(type).least, 250);
  int exponent = int(generator() % uint64_t(2 * most + 1)) - most;
  return of_real(rounded(type, std::ldexp(fraction, exponent)));
}

Number drawn(Type type, Region region, std::mt19937_64 &generator) {
  auto integer = [&](int64_t value) {
    return convert(Type::int32, type, of_integer(type == Type::bool_ ? value & 1 : value));
  };
  switch (region) {
  case moderate:
    if (is_float(type))
      return of_real(rounded(type, std::uniform_real_distribution<double>(-8, 8)(generator)));
    return integer(int64_t(generator() % 8));
  case small:
    return integer(int64_t(generator() % 4));
  case ones:
    return integer(generator() % 8 ? 1 : 2);
  default:
    return any(type, generator);
  }
}

} // namespace

Inputs::Inputs(uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (int t = 0; t < type_count; t++)
    for (int region = 0; region < region_count; region++) {
      std::vector<Number> &numbers = numbers_[t][region];
      while (int(numbers.size()) < count)
        numbers.push_back(drawn(Type(t), Region(region), generator));
      if (region > wide_too)
        continue;
      std::vector<Number> first = edges(Type(t)); // some for each program
      for (size_t i = 0; i < first.size(); i++)
        for (int k = 0; k < 4; k++)
          numbers[generator() % count] = first[i];
    }
}

std::vector<unsigned char> Inputs::bytes(Type type) const {
  std::vector<unsigned char> out(size_t(region_count * count * bytes_of(type)));
  size_t at = 0;
  for (const std::vector<Number> &region : numbers_[size_t(type)])
    for (const Number &number : region) {
      write(type, number, &out[at]);
      at += size_t(bytes_of(type));
    }
  return out;
}

// --- Forms of operands ---------------------------------------------------------------------------

namespace {

constexpr Type all_types[] = {Type::bool_,    Type::int8,   Type::uint8,  Type::int16,
                              Type::uint16,   Type::int32,  Type::uint32, Type::int64,
                              Type::uint64,   Type::e4m3,   Type::e5m2,   Type::half,
                              Type::bfloat16, Type::float_, Type::double_};

std::string name(Type type) { return info(type).name; }

std::string start(Type type, Region region) {
  return "in_" + name(type) + " + " + std::to_string(int(region) * count) + " + base";
}

// Two tiles; a tile and a scalar; two scalars; a column and a row; two tiles of five axes.
enum class Form { tiles, tile_number, number_tile, numbers, column_row, five_axes };
constexpr Form all_forms[] = {Form::tiles,   Form::tile_number, Form::number_tile,
                              Form::numbers, Form::column_row,  Form::five_axes};
const char *name_of(Form form) {
  constexpr const char *names[] = {"tiles",   "tile-scalar", "scalar-tile",
                                   "scalars", "column-row",  "five axes"};
  return names[size_t(form)];
}

const std::string five = "[2, 2, 4, 2, 2]";

// `T name... = ` the operand in this form. second: the right operand.
std::string operand(const std::string &variable, Type type, Region region, Form form, bool second) {
  std::string t = name(type), from = start(type, region);
  bool is_number =
      form == Form::numbers || form == (second ? Form::tile_number : Form::number_tile);
  if (is_number)
    return t + " " + variable + " = *(" + from + " + " + (second ? "3" : "5") + ");\n";
  if (form == Form::column_row && !second)
    return t + " " + variable + "[8, 1] = (*(" + from + " + r))[:, newaxis];\n";
  if (form == Form::column_row)
    return t + " " + variable + "[1, 8] = (*(" + from + " + 8 + r))[newaxis, :];\n";
  if (form == Form::five_axes)
    return t + " " + variable + five + " = (" + t + five + ")*(" + from + " + i);\n";
  return t + " " + variable + "[64] = *(" + from + " + i);\n";
}

// The index of the operand's element for result `i`, in the program's part of a region.
int index_of(Form form, bool second, int i) {
  if (form == Form::numbers || form == (second ? Form::tile_number : Form::number_tile))
    return second ? 3 : 5;
  if (form == Form::column_row)
    return second ? 8 + i % 8 : i / 8;
  return i;
}

// The statement that stores `value` of this type, in this form.
std::string stored(Type type, Form form, const std::string &value) {
  if (form == Form::numbers)
    return "*(OUT) = " + value + ";\n";
  if (form == Form::column_row)
    return "*(OUT + 8 * r[:, newaxis] + r[newaxis, :]) = " + value + ";\n";
  if (form == Form::five_axes)
    return "*(OUT + i) = (" + name(type) + "[64])(" + value + ");\n";
  return "*(OUT + i) = " + value + ";\n";
}

int results_of(Form form) { return form == Form::numbers ? 1 : tile; }

// --- Binary operators ----------------------------------------------------------------------------

using Cases = std::vector<Case>;

bool is_comparison(const std::string &op) {
  return op[0] == '<' ? op != "<<" : op[0] == '>' ? op != ">>" : op == "==" || op == "!=";
}
bool is_logical(const std::string &op) { return op == "&&" || op == "||"; }
bool is_shift(const std::string &op) { return op == "<<" || op == ">>"; }
bool is_of_bits(const std::string &op) { return op == "&" || op == "|" || op == "^"; }
bool needs_integers(const std::string &op) { return op == "%" || is_shift(op) || is_of_bits(op); }

// The type that an operator computes in.
Type computed_in(const std::string &op, Type a, Type b) {
  if (is_logical(op))
    return Type::bool_;
  if (is_shift(op))
    return promoted(a);
  if (is_of_bits(op) && a == Type::bool_ && b == Type::bool_)
    return Type::bool_;
  return common(a, b);
}

Number evaluate(const std::string &op, Type a, Type b, const Number &x, const Number &y) {
  Type type = computed_in(op, a, b);
  Number left = convert(a, type, x), right = convert(b, type, y);
  if (op == "&&" || op == "||")
    return of_integer(op == "&&" ? left.integer & right.integer : left.integer | right.integer);
  return binary(op, type, left, right);
}

std::string written(const std::string &op, const std::string &x, const std::string &y) {
  return op == "min" || op == "max" ? op + "(" + x + ", " + y + ")" : x + " " + op + " " + y;
}

void add_binary(Cases &cases, const std::string &op, Type a, Type b, Form form) {
  Type result = is_comparison(op) ? Type::bool_ : computed_in(op, a, b);
  Region second = is_shift(op) ? moderate : wide_too;
  Case made;
  made.name = op + " of " + name(a) + ", " + name(b) + ", " + name_of(form);
  made.result = result;
  made.results = results_of(form);
  made.body = operand("x", a, wide, form, false) + operand("y", b, second, form, true) +
              stored(result, form, written(op, "x", "y"));
  made.expected = [=](const Inputs &in, int program, int i) {
    int base = program * tile;
    return Expected{evaluate(op, a, b, in.at(a, wide, base + index_of(form, false, i)),
                             in.at(b, second, base + index_of(form, true, i)))};
  };
  cases.push_back(std::move(made));
}

// `x op= y`
void add_compound(Cases &cases, const std::string &op, Type a, Type b, Form form) {
  Region second = is_shift(op) ? moderate : wide_too;
  Case made;
  made.name = op + "= of " + name(a) + ", " + name(b) + ", " + name_of(form);
  made.result = a;
  made.results = results_of(form);
  made.body = operand("x", a, wide, form, false) + operand("y", b, second, form, true) + "x " + op +
              "= y;\n" + stored(a, form, "x");
  made.expected = [=](const Inputs &in, int program, int i) {
    int base = program * tile;
    Type type = computed_in(op, a, b);
    Number value = evaluate(op, a, b, in.at(a, wide, base + index_of(form, false, i)),
                            in.at(b, second, base + index_of(form, true, i)));
    return Expected{convert(type, a, value)};
  };
  cases.push_back(std::move(made));
}

void add_operators(Cases &cases) {
  size_t next = 0;
  for (const char *op : {"+", "-",  "*", "/",  "%",  "&",  "|",  "^",  "<<",  ">>",
                         "<", "<=", ">", ">=", "==", "!=", "&&", "||", "min", "max"})
    for (Type a : all_types)
      for (Type b : all_types) {
        if (needs_integers(op) && (is_float(a) || is_float(b)))
          continue;
        if (a == b) { // in every form
          for (Form form : all_forms)
            add_binary(cases, op, a, b, form);
          continue;
        }
        add_binary(cases, op, a, b, Form::tiles);
        add_binary(cases, op, a, b, all_forms[1 + next++ % 5]);
      }
  for (const char *op : {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"})
    for (Type a : all_types)
      for (Type b : all_types)
        if (!needs_integers(op) || (!is_float(a) && !is_float(b)))
          add_compound(cases, op, a, b, next++ % 4 ? Form::tiles : Form::numbers);
}

// --- Unary operators, conversions, `?:` ----------------------------------------------------------

void add_unary(Cases &cases) {
  for (std::string op : {"-", "+", "~", "!", "abs", "fabs"})
    for (Type type : all_types)
      for (Form form : {Form::tiles, Form::numbers, Form::five_axes}) {
        if (op == "~" && is_float(type))
          continue;
        Type result = op == "!" ? Type::bool_ : promoted(type);
        Case made;
        made.name = op + " of " + name(type) + ", " + name_of(form);
        made.result = result;
        made.results = results_of(form);
        made.body = operand("x", type, wide, form, false) +
                    stored(result, form, op + (op.size() > 1 ? "(x)" : "x"));
        made.expected = [=](const Inputs &in, int program, int i) {
          const Number &x = in.at(type, wide, program * tile + index_of(form, false, i));
          if (op == "!")
            return Expected{of_integer(!is_true(type, x))};
          return Expected{
              table::unary(op == "fabs" ? "abs" : op, result, convert(type, result, x))};
        };
        cases.push_back(std::move(made));
      }
}

void add_conversions(Cases &cases) {
  for (Type from : all_types)
    for (Type to : all_types)
      for (bool is_cast : {true, false})
        for (Form form : {Form::tiles, Form::numbers}) {
          Case made;
          made.name = std::string(is_cast ? "cast of " : "assignment of ") + name(from) + " to " +
                      name(to) + ", " + name_of(form);
          made.result = to;
          made.results = results_of(form);
          std::string shape = form == Form::tiles ? "[64]" : "";
          made.body = operand("x", from, wide, form, false);
          if (!is_cast)
            made.body += name(to) + " y" + shape + " = x;\n";
          made.body += stored(to, form, is_cast ? "(" + name(to) + ")x" : "y");
          made.expected = [=](const Inputs &in, int program, int i) {
            return Expected{
                convert(from, to, in.at(from, wide, program * tile + index_of(form, false, i)))};
          };
          cases.push_back(std::move(made));
        }
  for (Type from : all_types)
    for (Type to : all_types)
      for (Form form : {Form::tiles, Form::numbers}) {
        if (info(from).bits != info(to).bits || from == Type::bool_ || to == Type::bool_)
          continue;
        Case made;
        made.name = "bitcast of " + name(from) + " to " + name(to) + ", " + name_of(form);
        made.result = to;
        made.results = results_of(form);
        std::string shape = form == Form::tiles ? "[64]" : "";
        made.body = operand("x", from, wide, form, false) +
                    stored(to, form, "bitcast<" + name(to) + shape + ">(x)");
        made.expected = [=](const Inputs &in, int program, int i) {
          unsigned char bytes[8];
          write(from, in.at(from, wide, program * tile + index_of(form, false, i)), bytes);
          return Expected{read(to, bytes)};
        };
        cases.push_back(std::move(made));
      }
}

void add_conditionals(Cases &cases) {
  for (Type a : all_types)
    for (Type b : all_types)
      for (int kind = 0; kind < 4; kind++) {
        // Tile condition; scalar condition; a load in the second arm; without a first arm.
        const char *kinds[] = {"tile ? x : y", "scalar ? x : y", "tile ? x : load", "x ?: y"};
        bool both_bool = a == Type::bool_ && b == Type::bool_;
        Type result = both_bool ? Type::bool_ : common(a, b);
        Case made;
        made.name = std::string(kinds[kind]) + " of " + name(a) + ", " + name(b);
        made.result = result;
        made.body = operand("x", a, wide, Form::tiles, false);
        if (kind != 2)
          made.body += operand("y", b, wide_too, Form::tiles, true);
        if (kind == 1)
          made.body += "bool m = *(" + start(Type::bool_, wide) + " + 1);\n";
        else if (kind != 3)
          made.body += operand("m", Type::bool_, wide, Form::tiles, false);
        made.body += stored(result, Form::tiles,
                            kind == 2   ? "m ? x : *(" + start(b, wide_too) + " + i)"
                            : kind == 3 ? "x ?: y"
                                        : "m ? x : y");
        made.expected = [=](const Inputs &in, int program, int i) {
          int base = program * tile;
          const Number &x = in.at(a, wide, base + i), &y = in.at(b, wide_too, base + i);
          bool chosen = kind == 3
                            ? is_true(a, x)
                            : in.at(Type::bool_, wide, base + (kind == 1 ? 1 : i)).integer != 0;
          return Expected{chosen ? convert(a, result, x) : convert(b, result, y)};
        };
        cases.push_back(std::move(made));
      }
}

// --- Functions -----------------------------------------------------------------------------------

struct Function {
  const char *name;
  int arguments;
  double (*of)(double, double);
  long double (*of_long)(long double, long double);
  double units, double_units; // max error in units in the last place; -1, -2: see expected_of
  bool positive;              // the argument is abs(x)
};

const Function functions[] = {
    {"exp", 1, [](double x, double) { return std::exp(x); },
     [](long double x, long double) { return std::exp(x); }, -1, 2, false},
    {"exp2", 1, [](double x, double) { return std::exp2(x); },
     [](long double x, long double) { return std::exp2(x); }, 2, 2, false},
    {"log", 1, [](double x, double) { return std::log(x); },
     [](long double x, long double) { return std::log(x); }, -2, 2, true},
    {"log2", 1, [](double x, double) { return std::log2(x); },
     [](long double x, long double) { return std::log2(x); }, -2, 3, true},
    {"sqrt", 1, [](double x, double) { return std::sqrt(x); },
     [](long double x, long double) { return (long double)std::sqrt(double(x)); }, 0.501, 0.501,
     true},
    {"rsqrt", 1, [](double x, double) { return 1 / std::sqrt(x); },
     [](long double x, long double) { return 1 / std::sqrt(x); }, 2, 2, true},
    {"sin", 1, [](double x, double) { return std::sin(x); },
     [](long double x, long double) { return std::sin(x); }, 2, 2, false},
    {"cos", 1, [](double x, double) { return std::cos(x); },
     [](long double x, long double) { return std::cos(x); }, 2, 2, false},
    {"tanh", 1, [](double x, double) { return std::tanh(x); },
     [](long double x, long double) { return std::tanh(x); }, 4, 3, false},
    {"erf", 1, [](double x, double) { return std::erf(x); },
     [](long double x, long double) { return std::erf(x); }, 4, 2, false},
    {"floor", 1, [](double x, double) { return std::floor(x); },
     [](long double x, long double) { return std::floor(x); }, 0, 0, false},
    {"ceil", 1, [](double x, double) { return std::ceil(x); },
     [](long double x, long double) { return std::ceil(x); }, 0, 0, false},
    {"trunc", 1, [](double x, double) { return std::trunc(x); },
     [](long double x, long double) { return std::trunc(x); }, 0, 0, false},
    {"round", 1, [](double x, double) { return std::round(x); },
     [](long double x, long double) { return std::round(x); }, 0, 0, false},
    {"pow", 2, [](double x, double y) { return std::pow(x, y); },
     [](long double x, long double y) { return std::pow(x, y); }, 1, 2, true},
    {"fma", 2, [](double x, double y) { return std::fma(x, y, x); },
     [](long double x, long double y) {
       return (long double)std::fma(double(x), double(y), double(x));
     },
     0.501, 0.501, false},
};

// One unit in the last place of a value of this type.
double unit(Type type, double right) {
  const TypeInfo &format = info(type);
  int exponent =
      right == 0 || std::isinf(right) ? format.least : std::max(std::ilogb(right), format.least);
  return std::ldexp(1, exponent - (format.digits - 1));
}

Expected expected_of(const Function &function, Type type, double x, double y) {
  double right = type == Type::double_ ? double(function.of_long(x, y)) : function.of(x, y);
  double one = unit(type, right),
         units = type == Type::double_ ? function.double_units : function.units;
  double error = units * one;
  if (type == Type::float_ && units == -1)
    error = (2 + 1.3 * std::fabs(x)) * one;
  if (type == Type::float_ && units == -2)
    error = x > 0.5 && x < 2 ? 0x1p-22 : 5 * one;
  // The smallest values may have larger errors (ex2.approx).
  if (units != 0 && type == Type::float_)
    error = std::max(error, std::ldexp(units == 0.501 ? 0.501 : 4.0, -149));
  Number number = of_real(units == 0 || std::isnan(right) ? rounded(type, right) : right);
  return {number, std::isfinite(right) ? error : 0};
}

void add_functions(Cases &cases) {
  for (const Function &function : functions)
    for (Type a : all_types)
      for (Form form : {Form::tiles, Form::numbers}) {
        Type type = a == Type::double_ ? a : Type::float_;
        Case made;
        made.name = std::string(function.name) + " of " + name(a) + ", " + name_of(form);
        made.result = type;
        made.results = results_of(form);
        made.body = operand("x", a, moderate, form, false);
        std::string x = function.positive ? "abs(x)" : "x", more;
        if (function.arguments == 2) {
          made.body += operand("y", a, moderate, form, true);
          more = function.name == std::string("fma") ? ", y, x" : ", y";
        }
        made.body += stored(type, form, function.name + ("(" + x + more + ")"));
        made.expected = [=, &function](const Inputs &in, int program, int i) {
          int base = program * tile;
          Number x = convert(a, promoted(a), in.at(a, moderate, base + index_of(form, false, i)));
          if (function.positive)
            x = table::unary("abs", promoted(a), x);
          double number = convert(promoted(a), type, x).real;
          double other = convert(a, type, in.at(a, moderate, base + index_of(form, true, i))).real;
          return expected_of(function, type, number, other);
        };
        cases.push_back(std::move(made));
      }
}

// --- Reductions ----------------------------------------------------------------------------------

// The shape of the operand, and the axis of the reduction; -1 = all axes.
struct Reduced {
  const char *what;
  std::vector<int> shape;
  int axis;
};

const Reduced reduced_forms[] = {
    {"rows", {4, 16}, 1},
    {"columns", {16, 4}, 0},
    {"all of one axis", {64}, 0},
    {"all of two axes", {8, 8}, -1},
    {"the middle axis", {2, 8, 4}, 1},
    {"one of five axes", {2, 2, 4, 2, 2}, 2},
};

std::string text_of(const std::vector<int> &shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); d++)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

// The indices of the elements that result `i` reduces.
std::vector<int> members(const Reduced &form, int i) {
  std::vector<int> out;
  int inner = 1, extent = form.axis < 0 ? tile : form.shape[size_t(form.axis)];
  for (size_t d = size_t(form.axis) + 1; form.axis >= 0 && d < form.shape.size(); d++)
    inner *= form.shape[d];
  for (int k = 0; k < extent; k++)
    out.push_back((i / inner * extent + k) * inner + i % inner);
  return out;
}

Number reduce(const std::string &op, Type from, Type type, const std::vector<Number> &numbers) {
  if (op == "any" || op == "all") {
    auto is = [&](const Number &number) { return is_true(from, number); };
    return of_integer(op == "any" ? std::any_of(numbers.begin(), numbers.end(), is)
                                  : std::all_of(numbers.begin(), numbers.end(), is));
  }
  std::vector<Number> converted;
  for (const Number &number : numbers)
    converted.push_back(convert(from, type, number));
  if (op == "argmax" || op == "argmin") {
    Type wide = promoted(from);
    Number best = convert(from, wide, numbers[0]);
    for (const Number &number : numbers)
      best = binary(op.substr(3), wide, best, convert(from, wide, number));
    for (size_t k = 0; k < numbers.size(); k++)
      if (binary("==", wide, best, convert(from, wide, numbers[k])).integer)
        return of_integer(int64_t(k));
    return of_integer(int64_t(numbers.size()) - 1);
  }
  Type wide = type == Type::half || type == Type::bfloat16 ? Type::float_
              : is_float(type)                             ? type
                                                           : Type::int64;
  Number sum = convert(type, wide, converted[0]);
  for (size_t k = 1; k < converted.size(); k++)
    sum = binary(op == "prod" ? "*" : op, op == "max" || op == "min" ? type : wide, sum,
                 op == "max" || op == "min" ? converted[k] : convert(type, wide, converted[k]));
  if (op == "max" || op == "min")
    return sum;
  Number result = convert(wide, type, sum);
  if (!is_float(type)) // undefined if the sum does not fit
    result.known = sum.known && convert(type, wide, result).integer == sum.integer;
  return result;
}

void add_reductions(Cases &cases) {
  for (std::string op : {"+", "prod", "max", "min", "any", "all", "argmax", "argmin"})
    for (Type type : all_types)
      for (const Reduced &form : reduced_forms) {
        bool is_arg = op[0] == 'a' && op[1] == 'r', asks = op == "any" || op == "all";
        bool chooses = op == "max" || op == "min";
        if (is_arg && form.axis < 0)
          continue;
        Type result = is_arg                                                      ? Type::int32
                      : asks                                                      ? Type::bool_
                      : is_small_float(type) || (type == Type::bool_ && !chooses) ? promoted(type)
                                                                                  : type;
        Region region = op == "+" || asks ? small : op == "prod" ? ones : wide;
        Case made;
        made.name = op + " of " + name(type) + ", " + form.what;
        made.result = result;
        int extent = form.axis < 0 ? tile : form.shape[size_t(form.axis)];
        made.results = tile / extent;
        std::string subscript, t = name(type);
        for (size_t d = 0; d < form.shape.size(); d++)
          subscript +=
              (d ? ", " : "") + (form.axis < 0 || int(d) == form.axis ? op : std::string(":"));
        made.body = t + " x" + text_of(form.shape) + " = (" + t + text_of(form.shape) + ")*(" +
                    start(type, region) + " + i);\n";
        std::string n = std::to_string(made.results);
        made.body += made.results == 1 ? "*(OUT) = x[" + subscript + "];\n"
                                       : "*(OUT + 0 ... " + n + ") = (" + name(result) + "[" + n +
                                             "])(x[" + subscript + "]);\n";
        made.expected = [=, &form](const Inputs &in, int program, int i) {
          std::vector<Number> numbers;
          for (int member : members(form, i))
            numbers.push_back(in.at(type, region, program * tile + member));
          return Expected{reduce(op, type, result, numbers)};
        };
        cases.push_back(std::move(made));
      }
}

// `x[:, scan(op)]`: inclusive scans.
void add_scans(Cases &cases) {
  for (std::string op : {"+", "prod", "max", "min", "any", "all"})
    for (Type type : all_types)
      for (const Reduced &form : reduced_forms) {
        if (form.axis < 0)
          continue;
        bool asks = op == "any" || op == "all", chooses = op == "max" || op == "min";
        Type result = asks                                                        ? Type::bool_
                      : is_small_float(type) || (type == Type::bool_ && !chooses) ? promoted(type)
                                                                                  : type;
        Region region = op == "+" || asks ? small : op == "prod" ? ones : wide;
        Case made;
        made.name = "scan(" + op + ") of " + name(type) + ", " + form.what;
        made.result = result;
        std::string subscript, t = name(type);
        for (size_t d = 0; d < form.shape.size(); d++)
          subscript += (d ? ", " : "") + (int(d) == form.axis ? "scan(" + op + ")" : ":");
        made.body = t + " x" + text_of(form.shape) + " = (" + t + text_of(form.shape) + ")*(" +
                    start(type, region) + " + i);\n*(OUT + i) = (" + name(result) + "[64])(x[" +
                    subscript + "]);\n";
        made.expected = [=, &form](const Inputs &in, int program, int i) {
          std::vector<Number> numbers;
          int inner = 1, extent = form.shape[size_t(form.axis)];
          for (size_t d = size_t(form.axis) + 1; d < form.shape.size(); d++)
            inner *= form.shape[d];
          int first = i / (inner * extent) * inner * extent + i % inner;
          for (int member = first; member <= i; member += inner)
            numbers.push_back(in.at(type, region, program * tile + member));
          return Expected{reduce(op, type, result, numbers)};
        };
        cases.push_back(std::move(made));
      }
}

// --- Matmuls -------------------------------------------------------------------------------------

struct Matmul {
  int m, n, k, batch;
  bool transposed;
};

const Matmul matmuls[] = {{16, 16, 16, 1, false}, {32, 32, 16, 1, false}, {16, 16, 32, 1, true},
                          {32, 8, 16, 1, false},  {8, 8, 4, 1, true},     {16, 16, 8, 2, false},
                          {8, 8, 4, 4, false}};

void add_matmuls(Cases &cases) {
  for (Type type : all_types)
    for (const Matmul &form : matmuls)
      for (bool adds : {false, true}) {
        Type sum = type == Type::double_ ? type : is_float(type) ? Type::float_ : promoted(type);
        Case made;
        std::string m = std::to_string(form.m), n = std::to_string(form.n),
                    k = std::to_string(form.k);
        std::string t = name(type), b = std::to_string(form.batch);
        made.name = std::string(adds ? "+= @" : "@") + " of " + t + ", " + m + " x " + n + " x " +
                    k + (form.transposed ? ", transposed" : "") +
                    (form.batch > 1 ? ", " + b + " of them" : "");
        made.result = sum;
        made.results = form.m * form.n * form.batch;
        // Element [i, j, b] of an operand has index (i * columns + j) * batch + b in its region.
        std::string tail = form.batch > 2 ? ", 2, 1, 2" : form.batch > 1 ? ", " + b : "";
        auto loaded = [&](const char *variable, const std::string &rows, const std::string &columns,
                          int number) {
          bool flips = form.transposed && number == 0;
          std::string r = flips ? columns : rows, c = flips ? rows : columns;
          std::string all = "0 ... " + std::to_string(std::stoi(r) * std::stoi(c) * form.batch);
          std::string shape = "[" + r + ", " + c + tail + "]";
          return t + " " + variable + shape + " = (" + t + shape + ")*(in_" + t + " + " +
                 std::to_string(int(small) * count) + " + 16 * program + " +
                 std::to_string(number * 32) + " + (" + all + "));\n";
        };
        made.body = loaded("a", m, k, 0) + loaded("b", k, n, 1);
        std::string a = form.transposed ? "^a" : "a", shape = "[" + m + ", " + n + tail + "]";
        made.body += name(sum) + " c" + shape + (adds ? " = 1;\nc += " : " = ") + a + " @ b;\n";
        made.body += "*(OUT + (0 ... " + std::to_string(made.results) + ")) = (" + name(sum) + "[" +
                     std::to_string(made.results) + "])c;\n";
        made.expected = [=](const Inputs &in, int program, int result) {
          int batch = result % form.batch, column = result / form.batch % form.n,
              row = result / form.batch / form.n;
          double value = adds;
          for (int l = 0; l < form.k; l++) {
            int at_a = form.transposed ? l * form.m + row : row * form.k + l,
                at_b = l * form.n + column;
            auto number = [&](int at, int which) {
              const Number &element =
                  in.at(type, small, 16 * program + which * 32 + at * form.batch + batch);
              return is_float(type) ? element.real : double(element.integer);
            };
            value += number(at_a, 0) * number(at_b, 1); // exact: all are small integers
          }
          return Expected{is_float(sum) ? of_real(value) : of_integer(int64_t(value))};
        };
        cases.push_back(std::move(made));
      }
}

// --- Memory and shapes ---------------------------------------------------------------------------

void add_memory(Cases &cases) {
  struct Form {
    const char *what, *body;
    std::function<int(int i, bool mask, int program)>
        index; // in region wide; 64 + i = element i of wide_too
  };
  // T = the type; X and Y = the addresses of its regions wide and wide_too.
  static const Form forms[] = {
      {"masked store", "*(OUT + i) = *(Y + i);\n*?(m)(OUT + i) = *(X + i);\n",
       [](int i, bool mask, int) { return mask ? i : 64 + i; }},
      {"masked load", "*(OUT + i) = m ? *(X + i) : *(Y + i);\n",
       [](int i, bool mask, int) { return mask ? i : 64 + i; }},
      {"load through a mask", "T v[64] = *?(m)(X + i);\n*(OUT + i) = m ? v : *(Y + i);\n",
       [](int i, bool mask, int) { return mask ? i : 64 + i; }},
      {"gather", "*(OUT + i) = *(X + (i * 5) % 64);\n",
       [](int i, bool, int) { return i * 5 % 64; }},
      {"scatter", "*(OUT + (i * 5) % 64) = *(X + i);\n",
       [](int i, bool, int) { return i * 13 % 64; }},
      {"transposition", "T v[8, 8] = (T[8, 8])*(X + i);\n*(OUT + i) = (T[64])(^v);\n",
       [](int i, bool, int) { return i % 8 * 8 + i / 8; }},
      {"permutation",
       "T v[4, 8, 2] = (T[4, 8, 2])*(X + i);\n*(OUT + i) = (T[64])(v[^2, ^0, ^1]);\n",
       [](int i, bool, int) { return (i / 8 % 4 * 8 + i % 8) * 2 + i / 32; }},
      {"permutation of five axes",
       "T v[2, 2, 4, 2, 2] = (T[2, 2, 4, 2, 2])*(X + i);\n*(OUT + i) = (T[64])(v[^4, ^0, ^1, ^2, "
       "^3]);\n",
       [](int i, bool, int) { return i % 32 * 2 + i / 32; }},
      {"elements",
       "T v[4, 8, 2] = (T[4, 8, 2])*(X + i);\nT w[64] = *(X + i);\n*(OUT + i) = *(X + i);\n"
       "*(OUT + 8) = v[program % 4, 5, 1];\n*(OUT + (0 ... 8)) = v[2, :, 0];\n*(OUT + 9) = "
       "w[63];\n",
       [](int i, bool, int program) {
         return i < 8 ? (16 + i) * 2 : i == 8 ? (program % 4 * 8 + 5) * 2 + 1 : i == 9 ? 63 : i;
       }},
      {"gather of elements",
       "T v[8, 8] = (T[8, 8])*(X + i);\nT w[8, 8] = v[:, gather((3 * r[newaxis, :] + r[:, "
       "newaxis]) % 8)];\n"
       "*(OUT + i) = (T[64])w[gather(7 - r[:, newaxis]), :];\n",
       [](int i, bool, int) {
         int row = 7 - i / 8;
         return row * 8 + (3 * (i % 8) + row) % 8;
       }},
      {"repetition", "T v[8] = *(X + r);\n*(OUT + i) = (T[64])(T[8, 8])v[:, newaxis];\n",
       [](int i, bool, int) { return i / 8; }},
      {"pointer cast",
       "unsigned char *p = (unsigned char *)(X);\n*(OUT + i) = *((const T *)p + i);\n",
       [](int i, bool, int) { return i; }},
      {"function", "*(OUT + i) = same_T(*(X + i), *(Y + i), m);\n",
       [](int i, bool mask, int) { return mask ? i : 64 + i; }},
      {"loop and switch",
       "T v[64] = *(Y + i);\nfor (int k = 0; k < 4; k++) {\nswitch (k + program % 2) {\ncase 1: "
       "continue;\n"
       "case 3: v = *(X + i); break;\n}\nif (k == 3) break;\n}\n*(OUT + i) = v;\n",
       [](int i, bool, int) { return i; }},
  };
  for (const Form &form : forms)
    for (Type type : all_types) {
      Case made;
      made.name = std::string(form.what) + " of " + name(type);
      made.result = type;
      made.body = operand("m", Type::bool_, wide, table::Form::tiles, false);
      std::string with = form.body;
      const std::pair<const char *, std::string> places[] = {
          {"X", start(type, wide)}, {"Y", start(type, wide_too)}, {"T", name(type)}};
      for (size_t at = 0; at < with.size(); at++)
        for (const auto &[place, text] : places) {
          auto is_letter = [&](size_t k) {
            return k < with.size() && std::isalpha((unsigned char)with[k]);
          };
          if (with[at] != *place || is_letter(at + 1) || (at > 0 && is_letter(at - 1)))
            continue;
          with.replace(at, 1, text);
          at += text.size() - 1;
          break;
        }
      made.body += with;
      made.expected = [=, &form](const Inputs &in, int program, int i) {
        bool mask = in.at(Type::bool_, wide, program * tile + i).integer != 0;
        int index = form.index(i, mask, program);
        return Expected{index < 64 ? in.at(type, wide, program * tile + index)
                                   : in.at(type, wide_too, program * tile + index - 64)};
      };
      cases.push_back(std::move(made));
    }
}

// --- Atomic operations ---------------------------------------------------------------------------

Number combined(const std::string &op, Type type, const Number &was, const Number &x) {
  if (op == "xchg")
    return x;
  const char *name = op == "add"   ? "+"
                     : op == "and" ? "&"
                     : op == "or"  ? "|"
                     : op == "xor" ? "^"
                                   : op.c_str();
  Number result = binary(name, type, was, x);
  result.known = true; // integers wrap
  return result;
}

bool has_atomic(const std::string &op, Type type) {
  if (op == "add" && (type == Type::half || type == Type::bfloat16))
    return true;
  bool of_bits = op == "and" || op == "or" || op == "xor";
  return info(type).bits >= 32 && !(of_bits && is_float(type));
}

void add_atomics(Cases &cases) {
  // Results: the values after the operation, then the old values. Region moderate: each float sum
  // is rounded once.
  const char *forms[] = {"tile", "masked", "scalar", "many to one"};
  for (std::string op : {"add", "min", "max", "and", "or", "xor", "xchg", "cas"})
    for (Type type : all_types)
      for (int form = 0; form < 4; form++) {
        if (!has_atomic(op, type) || (form == 3 && (op == "xchg" || op == "cas")))
          continue;
        Case made;
        made.name = "atomic_" + op + " of " + name(type) + ", " + forms[form];
        made.result = type;
        made.results = 2 * tile;
        Region region = form == 3 ? small : moderate;
        std::string x = "*(" + start(type, region) + " + i)",
                    y = "*(" + start(type, small) + " + i)";
        made.body = operand("m", Type::bool_, wide, Form::tiles, false);
        made.body += "*(OUT + i) = " + x + ";\n*(OUT + 64 + i) = " + x + ";\n__debug_barrier();\n";
        std::string values = op == "cas" ? "*(" + start(type, region) + " + (i & 62)), " + y : y;
        if (form < 2)
          made.body += name(type) + " old[64] = atomic_" + op + "(OUT + i, " + values +
                       (form == 1 ? ", m" : "") + ");\n*" + (form == 1 ? "?(m)" : "") +
                       "(OUT + 64 + i) = old;\n";
        else if (form == 3)
          made.body += "atomic_" + op + "(OUT + (i & 7), " + y + ");\n";
        else
          made.body += "*(OUT + 64 + 5) = atomic_" + op + "(OUT + 5, " +
                       (op == "cas" ? "*(" + start(type, region) + " + 4), " : std::string()) +
                       "*(" + start(type, small) + " + 5));\n";
        made.expected = [=](const Inputs &in, int program, int i) {
          int base = program * tile, at = i % tile;
          auto of = [&](Region from, int index) { return in.at(type, from, base + index); };
          Number was = of(region, at);
          bool is_on = form == 0 || (form == 1 && in.at(Type::bool_, wide, base + at).integer) ||
                       (form == 2 && at == 5);
          if (i >= tile) // the old values
            return Expected{was};
          if (form == 3) {
            for (int k = at; at < 8 && k < tile; k += 8)
              was = combined(op, type, was, of(small, k));
            return Expected{was};
          }
          if (!is_on)
            return Expected{was};
          if (op == "cas")
            return Expected{same(type, was, of(region, at & 62)) ? of(small, at) : was};
          return Expected{combined(op, type, was, of(small, at))};
        };
        cases.push_back(std::move(made));
      }
}

} // namespace

std::vector<Case> all_cases() {
  Cases cases;
  add_operators(cases);
  add_unary(cases);
  add_conversions(cases);
  add_conditionals(cases);
  add_functions(cases);
  add_reductions(cases);
  add_scans(cases);
  add_matmuls(cases);
  add_memory(cases);
  add_atomics(cases);
  return cases;
}

} // namespace table
