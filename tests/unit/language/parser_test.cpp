// Tests language/parser.cpp and its parts.

#include "parsed.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ast::Expr;
using ast::Stmt;

namespace {

std::string text_of(const Expr &expr);

std::string operands_of(const Expr &expr) {
  std::string text;
  for (const ast::ExprPtr &operand : expr.operands)
    text += " " + text_of(*operand);
  return text;
}

std::string text_of(const ast::Subscript &position, const Expr &subscript) {
  constexpr const char *names[] = {":",   "newaxis", "+",      "prod",   "max", "min",  "any",
                                   "all", "argmax",  "argmin", "gather", "^",   "index"};
  std::string text = names[int(position.kind)];
  if (position.scans)
    return "scan(" + text + ")";
  if (position.operand)
    return text + text_of(*subscript.operands[position.operand]);
  return position.axis ? text + text_of(*position.axis) : text;
}

// The tree, with parentheses around every operator.
std::string text_of(const Expr &expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
  case Kind::error:
    return "error";
  case Kind::integer:
  case Kind::boolean:
    return std::to_string(expr.integer);
  case Kind::real:
  case Kind::name:
    return expr.text;
  case Kind::unary:
  case Kind::binary:
    return std::string("(") + spelling_of(expr.op) + operands_of(expr) + ")";
  case Kind::transpose:
    return "(^" + operands_of(expr) + ")";
  case Kind::deref:
    return (expr.operands.size() == 2 ? "(*?" : "(*") + expr.text + operands_of(expr) + ")";
  case Kind::matmul:
    return "(@" + operands_of(expr) + ")";
  case Kind::range:
    return "(..." + operands_of(expr) + ")";
  case Kind::conditional:
    return "(?" + operands_of(expr) + ")";
  case Kind::assign:
    return std::string(expr.is_postfix ? "(post=" : "(=") + operands_of(expr) + ")";
  case Kind::given:
    return "(given" + operands_of(expr) + ")";
  case Kind::current:
    return "$";
  case Kind::cast:
    return "(cast" + operands_of(expr) + ")";
  case Kind::bitcast:
    return "(bitcast" + operands_of(expr) + ")";
  case Kind::size_of:
    return "(sizeof" + operands_of(expr) + ")";
  case Kind::subscript: {
    std::string text = "([] " + text_of(*expr.operands[0]);
    for (const ast::Subscript &position : expr.subscripts)
      text += " " + text_of(position, expr);
    return text + ")";
  }
  case Kind::call:
    return "(" + expr.text + operands_of(expr) + ")";
  case Kind::atomic:
    return "(atomic" + operands_of(expr) + ")";
  case Kind::barrier:
    return "(barrier)";
  case Kind::inlined:
    return "(inlined" + operands_of(expr) + ")";
  case Kind::comma:
    return "(," + operands_of(expr) + ")";
  case Kind::convert:
    return "(convert" + operands_of(expr) + ")";
  }
  return "";
}

std::string parse(const std::string &expression) {
  Parsed parsed("__global__ void f() { " + expression + "; }");
  if (parsed.diagnostics.errors() > 0)
    return parsed.message();
  return text_of(*parsed.statements()[0]->value);
}

} // namespace

TEST_CASE("parser: operator precedence") {
  struct {
    const char *source, *tree;
  } cases[] = {
      {"pm * 8 + 0 ... 8", "(+ (* pm 8) (... 0 8))"},
      {"c += a @ b", "(= c (+ $ (@ a b)))"},
      {"^a @ b", "(@ (^ a) b)"},
      {"a @ ^b", "(@ a (^ b))"},
      {"x * a @ b", "(* x (@ a b))"},
      {"a @ b @ c", "(@ (@ a b) c)"},
      {"a - b - c * d", "(- (- a b) (* c d))"},
      {"a << b + c < d", "(< (<< a (+ b c)) d)"},
      {"a & b ^ c | d && e || f", "(|| (&& (| (^ (& a b) c) d) e) f)"},
      {"a == b < c", "(== a (< b c))"},
      {"a ? b : c ? d : e", "(? a b (? c d e))"},
      {"a ?: b ? c : d", "(given a (? $ $ (? b c d)))"},
      {"a = b = c", "(= a (= b c))"},
      {"a <<= b", "(= a (<< $ b))"},
      {"a, b", "(, a b)"},
      {"(0 ... 8) % 4", "(% (... 0 8) 4)"},
      {"-a * ~b", "(* (- a) (~ b))"},
      {"!a && b", "(&& (! a) b)"},
      {"a++ + ++b", "(+ (post= a (+ $ 1)) (= b (+ $ 1)))"},
      {"--*p", "(= (* p) (- $ 1))"},
  };
  for (const auto &[source, tree] : cases) {
    CAPTURE(source);
    CHECK(parse(source) == tree);
  }
}

TEST_CASE("parser: pointers, subscripts, casts and calls") {
  struct {
    const char *source, *tree;
  } cases[] = {
      {"*?(m)p = *q", "(= (*? p m) (* q))"},
      {"*?(a && b)(p + r)", "(*? (+ p r) (&& a b))"},
      {"(*p)[newaxis, :]", "([] (* p) newaxis :)"},
      {"*?(m, __cg)p = *?(__cs)q", "(= (*?__cg p m) (*__cs q))"},
      {"x[+]", "([] x +)"},
      {"x[:, max, min]", "([] x : max min)"},
      {"x[any, prod, argmax]", "([] x any prod argmax)"},
      {"x[any(i), all + 1]", "([] x index(any i) index(+ all 1))"},
      {"x[scan(+), scan(max), scan]", "([] x scan(+) scan(max) indexscan)"},
      {"x[:, gather(i = j), gather]", "([] x : gather(= i j) indexgather)"},
      {"x[3, n][gather(a + b)]", "([] ([] x index3 indexn) gather(+ a b))"},
      {"x[^1, ^0]", "([] x ^1 ^0)"},
      {"atomic_add(float, TM, 8)(p, v, m)", "(atomic_add p v m)"},
      {"atomic_add_half_64x32(p, v, m)", "(atomic_add p v m)"},
      {"x[i + 1]", "([] x index(+ i 1))"},
      {"x[+1]", "([] x index(+ 1))"},
      {"(float[2, 4])x", "(cast x)"},
      {"(float[8]) - INFINITY", "(cast (- INFINITY))"},
      {"-(float[8]) * px", "(- (cast (* px)))"},
      {"(unsigned long)a + b", "(+ (cast a) b)"},
      {"(a) - b", "(- a b)"},
      {"bitcast<int[4]>(x) + 1", "(+ (bitcast x) 1)"},
      {"min(a, b)[:]", "([] (min a b) :)"},
      {"exp(x)[+]", "([] (exp x) +)"},
      {"sizeof(half) * sizeof x", "(* (sizeof) (sizeof x))"},
      {"m ? *p : 0", "(? m (* p) 0)"},
  };
  for (const auto &[source, tree] : cases) {
    CAPTURE(source);
    CHECK(parse(source) == tree);
  }
}

TEST_CASE("parser: C type names") {
  struct {
    const char *source, *type;
  } cases[] = {
      {"char", "int8"},
      {"unsigned char", "uint8"},
      {"short int", "short"},
      {"long unsigned int", "unsigned long"},
      {"long long", "long"},
      {"unsigned", "unsigned"},
      {"int signed", "int"},
      {"const half *", "const half *"},
      {"half const *restrict", "const half *"},
      {"uint16_t", "unsigned short"},
      {"_Bool", "bool"},
      {"bfloat16", "bfloat16"},
      {"e4m3", "e4m3"},
      {"e5m2", "e5m2"},
      {"volatile float", "float"},
  };
  for (const auto &[source, type] : cases) {
    CAPTURE(source);
    Parsed parsed("__global__ void f(" + std::string(source) + " x) {}");
    CHECK(parsed.message() == "");
    CHECK(name_of(parsed.program.functions[0].parameters[0].type_name.type) == type);
  }
}

TEST_CASE("parser: typedef") {
  Parsed parsed("typedef unsigned int uint;\ntypedef const half *input;\n"
                "__global__ void f(uint a, input b) { uint c = (uint)a; }");
  CHECK(parsed.message() == "");
  CHECK(name_of(parsed.program.functions[0].parameters[0].type_name.type) == "unsigned");
  CHECK(name_of(parsed.program.functions[0].parameters[1].type_name.type) == "const half *");
}

TEST_CASE("parser: typedef has block scope") {
  Parsed parsed("typedef float row[4], *at;\n__global__ void f(at p) {\n"
                "  { typedef int row; row x; }\n  row y;\n}");
  REQUIRE(parsed.message() == "");
  const std::vector<ast::StmtPtr> &body = parsed.statements();
  const ast::TypeName &inner = body[0]->body[1]->declarators[0].type_name;
  CHECK(inner.type.scalar == Scalar::int32);
  CHECK(inner.extents.empty());
  const ast::TypeName &outer = body[1]->declarators[0].type_name;
  CHECK(outer.type.scalar == Scalar::float_);
  CHECK(outer.extents.size() == 1);
}

TEST_CASE("parser: switch alternatives and labels") {
  Parsed parsed(
      "__global__ void f(int n) { switch (n) { case 1: case 2: n = 3; n = 4; default: } }");
  REQUIRE(parsed.message() == "");
  const Stmt &choice = *parsed.statements()[0];
  REQUIRE(choice.is(Stmt::Kind::choice));
  REQUIRE(choice.body.size() == 2);
  CHECK(choice.body[0]->labels.size() == 2);
  CHECK(choice.body[0]->body.size() == 2);
  CHECK_FALSE(choice.body[0]->is_default);
  CHECK(choice.body[1]->labels.empty());
  CHECK(choice.body[1]->is_default);
}

TEST_CASE("parser: attributes before or after the name, or GNU style") {
  for (const char *source :
       {"int *p __noalias __readonly __aligned(32)", "__noalias __readonly __aligned(32) int *p",
        "int *restrict p __readonly __aligned(32)",
        "int *p __attribute__((noalias, readonly, aligned(32)))"}) {
    CAPTURE(source);
    Parsed parsed("__global__ void f(" + std::string(source) + ") {}");
    CHECK(parsed.message() == "");
    const ast::Declarator &p = parsed.program.functions[0].parameters[0];
    CHECK(p.no_alias);
    CHECK(p.read_only);
    CHECK_FALSE(p.write_only);
    REQUIRE(p.aligned);
    CHECK(p.aligned->integer == 32);
  }
}

TEST_CASE("parser: declared functions need no parameter names") {
  for (const char *promise :
       {"extern int get_program_id(int);", "int g(int, const float * __noalias);",
        "extern void add(float *[64, 2], float[64, 2], bool n);", "char __constant__ *f(void);"}) {
    CAPTURE(promise);
    CHECK(Parsed(std::string(promise) + " void f() {}").message() == "");
  }
  CHECK(Parsed("void f(int, float *p) {}").message() == "error: expected a name, found `,`");
  CHECK(Parsed("void f(int) {} int g(int);").message() == "error: expected a name, found `)`");
}

TEST_CASE("parser: selects the kernels") {
  Parsed one("void f() {}");
  CHECK(one.program.functions[0].is_kernel);
  Parsed marked("__global__ void f() {} void g() {} static __global__ void h() {}");
  CHECK(marked.program.functions[0].is_kernel);
  CHECK_FALSE(marked.program.functions[1].is_kernel);
  CHECK(marked.program.functions[2].is_kernel);
  Parsed none("typedef int i;");
  CHECK(none.message() == "error: no kernel in `kernel.tc`");
  CHECK(none.diagnostics.text().find(
            "note: define a kernel as `__global__ void name(...) { ... }`") != std::string::npos);
}

TEST_CASE("parser: pragma belongs to the next or the only kernel") {
  Parsed parsed("#pragma tritonc grid(M) require(M > 0)\n__global__ void f(int M) {\n"
                "#pragma tritonc precision(tf32)\n}\n"
                "__global__ void g(int M) {}\n");
  CHECK(parsed.message() == "");
  CHECK(parsed.program.functions[0].pragmas.size() == 3);
  CHECK(parsed.program.functions[1].pragmas.empty());
  Parsed behind("void f(int M) {}\n#pragma tritonc grid(M)\n");
  CHECK(behind.program.functions[0].pragmas.size() == 1);
  Parsed before("#pragma tritonc grid(M)\nvoid f() {}\n#pragma tritonc require(M > 0)\n"
                "void g() {}\n__global__ void h(int M) {}\n");
  REQUIRE(before.program.functions[2].pragmas.size() == 2);
  CHECK(before.program.functions[2].pragmas[0].name == "grid");
}

TEST_CASE("parser: host grid replaces the grids of all kernels") {
  KernelFile kernel("#pragma tritonc grid(M)\n#pragma tritonc require(M > 0)\n"
                    "__global__ void f(int M) {}\n__global__ void g(int M) {}\n");
  kernel.input.grid = "M / 2, 3";
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  ast::Program program = ast::Parser(source.tokens, "kernel.tc", diagnostics).program();
  CHECK(diagnostics.text() == "");
  REQUIRE(program.functions[0].pragmas.size() == 2);
  CHECK(program.functions[0].pragmas[0].name == "require");
  CHECK(program.functions[0].pragmas[1].name == "grid");
  REQUIRE(program.functions[1].pragmas.size() == 1);
  CHECK(program.functions[1].pragmas[0].arguments.size() == 2);
}

TEST_CASE("parser: limits nesting") {
  auto repeated = [](const std::string &text, int count) {
    std::string out;
    for (int i = 0; i < count; i++)
      out += text;
    return out;
  };
  std::string begin = "__global__ void f(int n) { ";
  for (const std::string &text :
       {begin + "n = " + repeated("(", 100000) + "n" + repeated(")", 100000) + "; }",
        begin + "n = " + repeated("-", 100001) + "n; }", begin + repeated("{", 100000),
        begin + repeated("if (n) ", 100000) + "n = 0; }",
        begin + "n = " + repeated("n ? ", 100000) + "n; }",
        begin + repeated("n = ", 100000) + "n; }",
        begin + "n = " + repeated("(int)", 100000) + "n; }",
        begin + repeated("if (n) ; else ", 100000) + "; }"}) {
    CAPTURE(text.substr(0, 60));
    Parsed parsed(text);
    CHECK(parsed.message() == "error: nested more than 256 levels deep");
    CHECK(parsed.diagnostics.errors() == 1);
  }
  CHECK(Parsed(begin + "n = n" + repeated(" + n", 100000) + "; }").message() ==
        "error: nested more than 1024 levels deep");
  CHECK(Parsed(begin + "n = n" + repeated("++", 100000) + "; }").message() ==
        "error: nested more than 1024 levels deep");
  CHECK(Parsed(begin + "n = n" + repeated(" + n", 200) + "; }").message() == "");
  CHECK(Parsed(begin + "n = " + repeated("(", 60) + "n" + repeated(")", 60) + "; }").message() ==
        "");
}

TEST_CASE("parser: continues at the next statement after an error") {
  Parsed parsed("__global__ void f(int n) { n = ; n = (1; if (n { n = 2; } for (;;;) { } n 3; }\n"
                "__global__ void g(int) {}\n__global__ void h(int n) { n = 1 }");
  CHECK(parsed.diagnostics.errors() == 8);
  CHECK(parsed.program.functions.size() == 2);
}

TEST_CASE("parser: print and assert take texts and values in any order") {
  Parsed parsed(
      "__global__ void f(int n) { print(\"a\" \"b\", n + 1, \"c\"); assert(n<1 , \"d\"); }");
  CHECK(parsed.message() == "");
  REQUIRE(parsed.statements().size() == 2);
  const Stmt &print = *parsed.statements()[0], &assertion = *parsed.statements()[1];
  REQUIRE(print.is(Stmt::Kind::print));
  REQUIRE(print.shown.size() == 3);
  CHECK(print.shown[0].text == "ab");
  CHECK_FALSE(print.shown[0].value);
  CHECK(print.shown[1].text == "n + 1");
  CHECK(text_of(*print.shown[1].value) == "(+ n 1)");
  CHECK(print.shown[2].text == "c");
  REQUIRE(assertion.is(Stmt::Kind::assertion));
  CHECK(assertion.written == "n<1");
  CHECK(assertion.text == "d");
}

TEST_CASE("remove_checks: removes print and assert") {
  Parsed parsed("__global__ void f(int n) { print(n); if (n) assert(n); else { n = 1; print(n); } "
                "for (;;) { { assert(n); } } }");
  REQUIRE(parsed.message() == "");
  CHECK(ast::remove_checks(parsed.program));
  REQUIRE(parsed.statements().size() == 2);
  const Stmt &branch = *parsed.statements()[0], &loop = *parsed.statements()[1];
  CHECK(branch.body[0]->is(Stmt::Kind::empty));
  CHECK(branch.body[1]->body.size() == 1);
  REQUIRE(loop.body[0]->body.size() == 1);
  CHECK(loop.body[0]->body[0]->body.empty());
  CHECK_FALSE(ast::remove_checks(parsed.program)); // nothing left to remove
}
