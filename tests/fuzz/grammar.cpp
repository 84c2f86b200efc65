// Fuzz target `grammar`: sources generated from a grammar. See targets.h.
//
// Each byte of the input decides one choice, so a mutation by libFuzzer changes one part of a
// kernel. After the last byte, the grammar takes the shortest choice. Most types and shapes are
// valid. So an error reaches the check for it, and the front end also checks the rest of the
// kernel.

#include "fuzz/source_input.h"
#include "fuzz/targets.h"
#include "fuzz/words.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tritonc::fuzz {
namespace {

using Shape = std::vector<int64_t>; // the number of elements may exceed int

class Grammar {
public:
  explicit Grammar(std::string_view bytes) : bytes_(bytes) {}

  std::string source() {
    if (choose(8) == 7)
      text_ += "//! define T " + of(types) + "\n";
    if (choose(8) == 7)
      text_ += "//! grid " + launch_expression(3) + "\n";
    for (size_t count = choose(4); count > 0; count--)
      outside();
    kernel();
    if (choose(8) == 7)
      kernel();
    return std::move(text_);
  }

private:
  struct Variable {
    std::string name, type;
    Shape shape;
    bool is_pointer;
  };
  struct Called {
    std::string name;
    size_t parameters;
  };

  static inline const std::vector<std::string> types = {
      "float", "int",    "half",   "bool",   "double",   "long",          "int8",  "uint8",
      "short", "uint16", "uint32", "uint64", "char",     "unsigned",      "e4m3",  "e5m2",
      "T",     "int32",  "int64",  "int16",  "bfloat16", "unsigned char", "size_t"};
  static inline const std::vector<std::string> binaries = {"+",  "-",  "*",  "/",  "%", "<", "<=",
                                                           ">",  ">=", "==", "!=", "&", "|", "^",
                                                           "<<", ">>", "&&", "||", ","};
  static inline const std::vector<std::string> assignments = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  static inline const std::vector<std::string> functions = {
      "exp",  "log", "sqrt",  "abs",  "exp2",  "log2",  "rsqrt", "sin", "cos",
      "tanh", "erf", "floor", "ceil", "round", "trunc", "fabs",  "expf"};
  static inline const std::vector<std::string> two_argument_functions = {"min", "max", "pow",
                                                                         "cdiv", "fmaxf"};
  static inline const std::vector<std::string> reductions = {"+",   "max", "min",    "prod",
                                                             "any", "all", "argmax", "argmin"};
  static inline const std::vector<std::string> atomics = {"add", "min", "max",  "and",
                                                          "or",  "xor", "xchg", "exch"};
  static inline const std::vector<std::string> hints = {
      "__ca", "__cg",          "__cs",          "__cv",        "__wb",
      "__wt", "__no_allocate", "__evict_first", "__evict_last"};

  // A number below `count` from the next byte; 0 after the last byte.
  size_t choose(size_t count) {
    if (bytes_.empty())
      return 0;
    size_t value = (unsigned char)bytes_[0];
    bytes_.remove_prefix(1);
    return value % count;
  }
  bool seldom() { return choose(64) == 63; }
  const std::string &of(const std::vector<std::string> &list) { return list[choose(list.size())]; }

  std::string literal() {
    static const std::vector<std::string> literals = {"1",           "0",
                                                      "2",           "16",
                                                      "3.5f",        "-1",
                                                      "1e9",         "true",
                                                      "false",       "0x7fffffff",
                                                      "4294967295u", "9223372036854775807l",
                                                      "1.0",         "0.5",
                                                      "'a'",         "F32_INFINITY",
                                                      "31",          "32",
                                                      "1e-40f",      "64",
                                                      "(half)2",     "18446744073709551615ul",
                                                      "2147483648",  "1e400",
                                                      "sizeof(int)"};
    return of(literals);
  }

  static std::string brackets(const Shape &shape) {
    if (shape.empty())
      return "";
    std::string text = "[";
    for (size_t d = 0; d < shape.size(); d++)
      text += (d ? ", " : "") + std::to_string(shape[d]);
    return text + "]";
  }

  Shape shape() {
    static const std::vector<Shape> shapes = {
        {},       {16},         {4},      {16, 16}, {32, 16},   {1},
        {16, 32}, {4, 2},       {64, 64}, {1, 16},  {16, 1},    {2, 2, 4},
        {128},    {16, 16, 2},  {1024},   {3},      {1, 1, 1},  {2, 2, 2, 2},
        {0},      {1048576, 2}, {64, 32}, {32, 64}, {128, 128}, {2, 2, 2, 2, 2, 2}};
    return shapes[choose(shapes.size())];
  }

  const Variable *variable(const Shape &shape, bool is_pointer) {
    std::vector<const Variable *> fitting;
    for (const Variable &variable : variables_)
      if (variable.is_pointer == is_pointer && (variable.shape == shape || variable.shape.empty()))
        fitting.push_back(&variable);
    return fitting.empty() ? nullptr : fitting[choose(fitting.size())];
  }

  // --- Expressions.

  std::string number(const Shape &shape, int depth) {
    if (seldom())
      return odd(shape, depth);
    if (depth <= 0 || bytes_.empty()) {
      const Variable *known = variable(shape, false);
      return known ? known->name : literal();
    }
    depth--;
    switch (choose(29)) {
    case 24:
      return "select(" + number(operand_shape(shape), depth) + ", " + number(shape, depth) + ", " +
             number(operand_shape(shape), depth) + ")";
    case 25:
      return transposed(shape, depth);
    case 26:
      return "*" + access(shape, depth) + pointer(shape, depth);
    case 27:
      return constant_element(shape, depth);
    case 0:
      if (const Variable *known = variable(shape, false))
        return known->name;
      return literal();
    case 1:
      return literal();
    case 2:
    case 3:
    case 4:
      return "(" + number(operand_shape(shape), depth) + " " + of(binaries) + " " +
             number(shape, depth) + ")";
    case 5:
      return std::string(1, "-~!+"[choose(4)]) + number(shape, depth);
    case 6:
      return of(functions) + "(" + number(shape, depth) + ")";
    case 7:
      return of(two_argument_functions) + "(" + number(shape, depth) + ", " +
             number(operand_shape(shape), depth) + ")";
    case 8:
      return "*" + pointer(shape, depth);
    case 9:
      return "*?(" + number(operand_shape(shape), depth) + ")" + pointer(shape, depth);
    case 10:
      return "(" + number(operand_shape(shape), depth) + " ? " + number(shape, depth) + " : " +
             number(operand_shape(shape), depth) + ")";
    case 11:
      return reduced(shape, depth);
    case 12:
      return repeated(shape, depth);
    case 13:
      return "(" + of(types) + (choose(4) == 3 ? brackets(shape) : "") + ")" + number(shape, depth);
    case 14:
      if (shape.size() == 1)
        return "(" + std::to_string(choose(4)) + " ... " + std::to_string(shape[0]) + ")";
      if (shape.size() >= 2)
        return matmul(shape, depth);
      return "get_program_id(" + std::to_string(choose(3)) + ")";
    case 15:
      if (shape.size() >= 2)
        return matmul(shape, depth);
      return "get_num_programs(" + std::to_string(choose(4)) + ")";
    case 16:
      if (shape.size() >= 2)
        return "^" + number(Shape(shape.rbegin(), shape.rend()), depth);
      return "bitcast<" + of(types) + ">(" + number(shape, depth) + ")";
    case 17:
      return atomic(shape, depth);
    case 18:
      return call(shape, depth);
    case 19:
      return choose(2) ? "philox(" + number({}, depth) + ", " + number(shape, depth) +
                             (choose(2) ? ", " + std::to_string(choose(5)) : "") + ")"
                       : "random_uniform(" + number(operand_shape(shape), depth) + ", " +
                             number(shape, depth) + ")";
    case 20:
      return "(" + pointer(shape, depth) + (choose(2) ? " - " : " < ") +
             pointer(operand_shape(shape), depth) + ")";
    case 22:
    case 23:
      return indexed(shape, depth);
    case 21:
      return "(" + number(shape, depth) + " ?: " + number(operand_shape(shape), depth) + ")";
    default:
      return "fma(" + number(shape, depth) + ", " + number(shape, depth) + ", " +
             number(shape, depth) + ")";
    }
  }

  // A shape that broadcasts to `shape`.
  Shape operand_shape(const Shape &shape) {
    if (choose(3) == 0)
      return {};
    Shape smaller = shape;
    if (!smaller.empty() && choose(4) == 3)
      smaller[choose(smaller.size())] = 1;
    return smaller;
  }

  std::string reduced(const Shape &shape, int depth) {
    Shape whole = shape;
    size_t axis = choose(shape.size() + 1);
    whole.insert(whole.begin() + int(axis), choose(2) ? 16 : 4);
    std::string text = "(" + number(whole, depth) + ")[";
    for (size_t d = 0; d < whole.size(); d++)
      text += (d ? ", " : "") + (d == axis ? of(reductions) : ":");
    return text + "]";
  }

  // Scans, gathers and single elements.
  std::string indexed(const Shape &shape, int depth) {
    Shape whole = shape;
    size_t axis = choose(shape.size() + 1);
    size_t kind = axis < shape.size() ? choose(3) : 2;
    if (kind == 2)
      whole.insert(whole.begin() + int(axis), choose(2) ? 16 : 4);
    std::string text = "(" + number(whole, depth) + ")[", at;
    for (size_t d = 0; d < whole.size(); d++) {
      at = d != axis   ? ":"
           : kind == 0 ? "scan(" + of(reductions) + ")"
           : kind == 1 ? "gather(" + number(operand_shape(shape), depth) + ")"
                       : number({}, depth);
      text += (d ? ", " : "") + at;
    }
    return text + "]";
  }

  // Broadcasts a tile with fewer axes.
  std::string repeated(const Shape &shape, int depth) {
    if (shape.empty())
      return number(shape, depth);
    Shape part;
    std::string text;
    for (int64_t extent : shape) {
      bool is_new = choose(2) || (extent == shape.back() && part.empty());
      text += (text.empty() ? "" : ", ") + std::string(is_new ? "newaxis" : ":");
      if (!is_new)
        part.push_back(extent);
    }
    return "(" + number(part, depth) + ")[" + text + "]";
  }

  std::string matmul(const Shape &shape, int depth) {
    Shape left = shape, right = shape;
    left[1] = right[0] = choose(2) ? 16 : 32;
    return "(" + number(left, depth) + " @ " + number(right, depth) + ")";
  }

  std::string pointer(const Shape &shape, int depth) {
    const Variable *known = variable(shape, true);
    if (choose(16) == 15)
      return "((" + of(types) + " *)" + pointer(shape, depth - 1) + ")";
    if (!known || seldom())
      return "(" + number(shape, depth) + ")";
    if (choose(32) == 31)
      return "(" + number(operand_shape(shape), depth - 1) + " ? " + known->name + " : " +
             pointer(shape, depth - 1) + ")";
    if (depth <= 0 || (known->shape == shape && choose(3) == 0))
      return known->name;
    return "(" + known->name + (choose(8) == 7 ? " - " : " + ") + number(shape, depth - 1) + ")";
  }

  // A mask, a cache hint, or both.
  std::string access(const Shape &shape, int depth) {
    std::string mask = choose(3) ? number(operand_shape(shape), depth) : "";
    std::string hint = mask.empty() || choose(2) ? of(hints) : "";
    return "?(" + mask + (mask.empty() || hint.empty() ? "" : ", ") + hint + ")";
  }

  // A permutation of axes, or a cast to another shape.
  std::string transposed(const Shape &shape, int depth) {
    if (shape.empty() || choose(2)) {
      Shape flat = {1};
      for (int64_t extent : shape)
        flat[0] *= extent;
      return "(" + of(types) + brackets(shape) + ")" + number(flat, depth);
    }
    Shape from(shape.size());
    std::string axes;
    size_t first = choose(shape.size());
    for (size_t d = 0; d < shape.size(); d++) {
      size_t axis = (d + first) % shape.size();
      from[axis] = shape[d];
      axes += (d ? ", ^" : "^") + std::to_string(axis);
    }
    return "(" + number(from, depth) + ")[" + axes + "]";
  }

  std::string constant_element(const Shape &shape, int depth) {
    if (constants_.empty())
      return literal();
    const Variable &table = constants_[choose(constants_.size())];
    std::string base = table.is_pointer && choose(4)
                           ? "((" + of(types) + " __constant__ *)" + table.name + ")"
                           : table.name;
    return "*(" + base + " + " + number(shape, depth) + ")";
  }

  std::string atomic(const Shape &shape, int depth) {
    if (choose(16) == 15) // the syntax of the old compiler
      return (choose(2)
                  ? "f32_atomic_add"
                  : "atomic_add" + (choose(2) ? "_float_16x16" : "(" + of(types) + ", 16, 16)")) +
             "(" + pointer(shape, depth) + ", " + number(shape, depth) + ", " +
             number(operand_shape(shape), depth) + ")";
    std::string mask = choose(3) == 2 ? ", " + number(operand_shape(shape), depth) : "";
    if (choose(4) == 3)
      return "atomic_cas(" + pointer(shape, depth) + ", " + number(shape, depth) + ", " +
             number(shape, depth) + mask + ")";
    return "atomic_" + of(atomics) + "(" + pointer(shape, depth) + ", " + number(shape, depth) +
           mask + ")";
  }

  std::string call(const Shape &shape, int depth) {
    if (called_.empty())
      return literal();
    const Called &function = called_[choose(called_.size())];
    std::string text = function.name + "(";
    for (size_t i = 0; i < function.parameters; i++)
      text += (i ? ", " : "") + number(shape, depth);
    return text + ")";
  }

  // An expression that is often invalid here.
  std::string odd(const Shape &shape, int depth) {
    switch (choose(6)) {
    case 0:
      return of(source_words());
    case 1:
      return number(this->shape(), depth);
    case 2:
      return pointer(shape, depth);
    case 3:
      return "sizeof(" + of(types) + ")";
    case 4:
      return "";
    default: {
      std::string name = variables_.empty() ? "q" : variables_[choose(variables_.size())].name;
      return choose(2) ? name + "++" : "(" + name + " = " + number(shape, depth) + ")";
    }
    }
  }

  // --- Statements.

  void statement(int depth) {
    if (text_.size() > 2000)
      return;
    switch (depth <= 0 ? choose(7) : choose(19)) {
    case 0: {
      const Variable *known = variable({}, true);
      Shape shape = this->shape();
      text_ += "*" + (choose(2) ? access(shape, 1) : std::string()) + pointer(shape, 1) + " " +
               (choose(4) == 3 ? of(assignments) : "=") + " " + number(shape, 3) + ";\n";
      (void)known;
      return;
    }
    case 1:
    case 2:
    case 3:
      return declaration();
    case 4:
    case 5: {
      if (variables_.empty())
        return;
      Variable to = variables_[choose(variables_.size())];
      text_ += to.name + " " + (to.is_pointer ? "+=" : of(assignments)) + " " +
               number(to.shape, 3) + ";\n";
      return;
    }
    case 6:
      text_ += (choose(2) ? atomic(shape(), 2) : call(shape(), 2)) + ";\n";
      return;
    case 7:
      text_ += "if (" + number({}, 2) + ")\n";
      block(depth);
      if (choose(2)) {
        text_ += "else\n";
        block(depth);
      }
      return;
    case 8:
    case 9: {
      std::string counter = "i" + std::to_string(names_++);
      text_ += "for (int " + counter + " = " + literal() + "; " + counter + " < " + number({}, 1) +
               "; " + counter + (choose(2) ? "++" : " += 16") + ")\n";
      variables_.push_back({counter, "int", {}, false});
      block(depth);
      return;
    }
    case 10:
      text_ += "while (" + number({}, 2) + ")\n";
      return block(depth);
    case 11:
      text_ += "do\n";
      block(depth);
      text_ += "while (" + number({}, 2) + ");\n";
      return;
    case 12:
      text_ += choose(2) ? "break;\n" : "continue;\n";
      return;
    case 13:
      text_ += !in_function_ || seldom() ? "return;\n" : returned();
      return;
    case 17: // spins on a lock or on other programs
      text_ += "while (" + atomic({}, 1) + " " + of(binaries) + " " + literal() + ")\n;\n";
      return;
    case 14:
      return selection(depth);
    case 15:
      text_ += "assert(" + number(shape(), 2) + ", \"text\");\n";
      return;
    case 16:
      text_ += choose(2) ? "static_assert(" + number({}, 2) + ", \"x\");\n"
                         : "print(\"x\", " + number(shape(), 2) + ", " + number({}, 1) + ");\n";
      return;
    default:
      text_ += choose(2) ? "__debug_barrier();\n" : of(source_words()) + "\n";
    }
  }

  void block(int depth) {
    size_t known = variables_.size();
    text_ += "{\n";
    for (size_t count = choose(4); count > 0; count--)
      statement(depth - 1);
    text_ += "}\n";
    variables_.resize(std::min(known, variables_.size()));
  }

  void selection(int depth) {
    text_ += "switch (" + number({}, 2) + ") {\n";
    for (size_t count = choose(4); count > 0; count--) {
      text_ += choose(4) == 3 ? "default:\n" : "case " + literal() + ":\n";
      statement(depth - 1);
      text_ += choose(2) ? "break;\n" : "";
    }
    text_ += "}\n";
  }

  void declaration() {
    Variable made = {"v" + std::to_string(names_++), of(types), shape(), choose(4) == 3};
    bool to_constant = made.is_pointer && !constants_.empty() && choose(4) == 3;
    text_ += (seldom() ? "const " : "") + made.type + (to_constant ? " __constant__" : "") +
             (made.is_pointer ? " *" : " ") + made.name + brackets(made.shape);
    if (to_constant) {
      text_ += " = " + constants_[choose(constants_.size())].name + " + " + number(made.shape, 1) +
               ";\n";
      variables_.push_back(made);
      return;
    }
    if (choose(8) != 7)
      text_ += " = " + (made.is_pointer ? pointer(made.shape, 2) : number(made.shape, 4));
    text_ += ";\n";
    variables_.push_back(made);
  }

  // --- Declarations at file scope.

  std::string launch_expression(int depth) {
    if (depth == 0 || choose(3) == 0)
      return choose(2) ? "n0" : literal();
    if (choose(3) == 2)
      return "cdiv(" + launch_expression(depth - 1) + ", " + launch_expression(depth - 1) + ")";
    return "(" + launch_expression(depth - 1) + " " + of(binaries) + " " +
           launch_expression(depth - 1) + ")";
  }

  void outside() {
    switch (choose(12)) {
    case 10:
      return constant_memory();
    case 8:
      text_ += "enum { E" + std::to_string(names_) + " = " + number({}, 1) + ", E };\n";
      return;
    case 9:
      text_ += "static const " + of(types) + " C" + std::to_string(names_++) + " = " +
               number({}, 2) + ";\n";
      return;
    case 0:
      text_ += "#pragma tritonc grid(" + launch_expression(2) + ")\n";
      return;
    case 1:
      text_ += "#pragma tritonc require(" + launch_expression(2) + ")\n";
      return;
    case 2:
      text_ += "#pragma tritonc " + std::string(choose(2) ? "variant" : "tune") +
               "(T: " + of(types) + ", " + of(types) + ")\n";
      return;
    case 3:
      text_ +=
          "#define " + of(source_words()) + (choose(2) ? "(x) x " : " ") + number({}, 1) + "\n";
      return;
    case 4:
      text_ += "typedef " + of(types) + " T;\n";
      return;
    case 5:
      text_ += "#pragma tritonc precision(tf32)\n";
      return;
    default:
      return function();
    }
  }

  void parameters(size_t count, bool is_kernel) {
    static const std::vector<std::string> attributes = {"",
                                                        "",
                                                        "",
                                                        " __readonly",
                                                        " __multipleof(8)",
                                                        " __noalias",
                                                        " __writeonly",
                                                        " __aligned(16)",
                                                        " __multipleof(16)",
                                                        " __aligned(n)"};
    for (size_t i = 0; i < count; i++) {
      Variable made = {"", of(types), {}, i % 2 == 0};
      if (!made.is_pointer && is_kernel && choose(4) != 3)
        made.type = "int";
      if (!is_kernel && choose(2))
        made = {"", made.type, shape(), false};
      made.name = (made.is_pointer ? "p" : "n") + std::to_string(names_++);
      text_ += (i ? ", " : "") + made.type + (made.is_pointer ? " *" : " ") + made.name +
               of(attributes) + brackets(made.shape);
      variables_.push_back(made);
    }
  }

  void body() {
    text_ += ") {\n";
    for (size_t count = 2 + choose(12); count > 0; count--)
      statement(3);
    if (in_function_ && has_result_ && !seldom())
      text_ += returned();
    text_ += "}\n";
    variables_.clear();
  }

  void constant_memory() {
    Variable made = {"c" + std::to_string(names_++), of(types), {}, choose(3) == 2};
    if (made.is_pointer) {
      text_ += "char __constant__ *" + made.name + " = calloc(" + number({}, 1) + ");\n";
    } else {
      std::string values;
      for (size_t count = choose(5); count > 0; count--)
        values += (values.empty() ? "" : ", ") + literal();
      bool is_counted = values.empty() || choose(2);
      text_ += "__constant__ " + made.type + " " + made.name + "[" +
               (is_counted ? number({}, 1) : "") + "]" +
               (values.empty() ? "" : " = {" + values + "}") + ";\n";
    }
    constants_.push_back(made);
  }

  std::string returned() {
    return has_result_ ? "return " + number(result_, 2) + ";\n" : "return;\n";
  }

  void function() {
    Called made = {"f" + std::to_string(called_.size()), choose(4)};
    has_result_ = choose(2);
    result_ = has_result_ && choose(2) ? shape() : Shape();
    text_ += (has_result_ ? of(types) + brackets(result_) : "void") + " " + made.name + "(";
    in_function_ = true;
    parameters(made.parameters, false);
    body();
    in_function_ = false;
    called_.push_back(made);
  }

  void kernel() {
    text_ += "__global__ void k" + std::to_string(names_++) + "(";
    parameters(2 + choose(6), true);
    body();
  }

  std::string_view bytes_;
  std::string text_;
  std::vector<Variable> variables_;
  std::vector<Variable> constants_; // pointers: bytes
  std::vector<Called> called_;
  int names_ = 0;
  bool in_function_ = false, has_result_ = false;
  Shape result_;
};

} // namespace

void grammar(std::string_view bytes) {
  std::string source = Grammar(bytes).source();
  static const bool shows = std::getenv("TRITONC_FUZZ_SHOW");
  if (shows)
    std::fprintf(stderr, "%s", source.c_str());
  run_front_end(SourceInput(source));
}

} // namespace tritonc::fuzz
