// Tests language/checker.cpp and its parts: the types of expressions. tests/diagnostics tests the
// messages.

#include "parsed.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ast::Expr;

namespace {

// The type of an expression over some variables, or the first message.
std::string type_of(const std::string &expression) {
  Parsed parsed(
      "__global__ void f(half *h, const float *f, bool *b, int n, unsigned u, long l, char c,\n"
      "                  float s, double d, half hs, bfloat16 bs, e4m3 e, e5m2 g) {\n"
      "  int r[8] = 0 ... 8; float t[4, 8] = 0; half ht[4, 8] = 0; bool m[8] = r < 3;\n"
      "  half k[8, 4] = 0; float one[1] = 0;\n"
      "  " +
      expression + "; }");
  parsed.check();
  if (parsed.diagnostics.errors() > 0)
    return parsed.message();
  return name_of(parsed.statements().back()->value->type);
}

// Whether the operands of every operation have the same type.
bool agrees(const Expr &expr) {
  bool is_good = true;
  for_each_expr(expr, [&](const Expr &e) {
    bool is_shift = e.op == ast::Operator::shift_left || e.op == ast::Operator::shift_right;
    if (e.is(Expr::Kind::binary) && !e.operands[0]->type.is_pointer() && !is_shift)
      is_good &= e.operands[0]->type == e.operands[1]->type;
    if (e.is(Expr::Kind::conditional))
      is_good &= e.operands[1]->type == e.type && e.operands[2]->type == e.type;
    if (e.is(Expr::Kind::assign))
      is_good &= e.operands[0]->type == e.operands[1]->type;
  });
  return is_good;
}

} // namespace

TEST_CASE("checker: types of expressions") {
  struct {
    const char *source, *type;
  } cases[] = {
      // Arithmetic.
      {"n + u", "unsigned"},
      {"u + l", "long"},
      {"c + c", "int"},
      {"-c", "int"},
      {"true + true", "int"},
      {"hs + n", "half"},
      {"hs * hs", "half"},
      {"hs * bs", "float"},
      {"hs * s", "float"},
      // 8-bit types are computed in float.
      {"e + e", "float"},
      {"e * g", "float"},
      {"e * hs", "float"},
      {"e + n", "float"},
      {"e * d", "double"},
      {"-e", "float"},
      {"abs(g)", "float"},
      {"min(e, e)", "float"},
      {"e < g", "bool"},
      {"n ? e : 0", "e4m3"},
      {"n ? e : 0.5", "e4m3"},
      {"n ? e : g", "float"},
      {"((e4m3[4, 8])e)[+, :]", "float[8]"},
      {"((e4m3[4, 8])e)[:, newaxis, :]", "e4m3[4, 1, 8]"},
      {"(e4m3)d", "e4m3"},
      {"bitcast<int8>(g)", "int8"},
      {"sizeof(e)", "unsigned long"},
      {"(e4m3[16, 32])e @ (e4m3[32, 8])e", "float[16, 8]"},
      {"(int8[16, 32])n @ (int8[32, 8])n", "int[16, 8]"},
      {"(uint8[16, 32])n @ (uint8[32, 8])n", "int[16, 8]"},
      {"(double[16, 32])n @ (double[32, 8])n", "double[16, 8]"},
      {"s * 2.0f", "float"},
      {"s * 2", "float"},
      {"d * s", "double"},
      {"c << l", "int"},
      {"u >> 1", "unsigned"},
      {"n < l", "bool"},
      {"m & m", "bool[8]"},
      {"m & n", "int[8]"},
      {"!n", "bool"},
      {"!r", "bool[8]"},
      {"~c", "int"},
      {"r && n", "bool[8]"},
      // Shapes.
      {"t + r", "float[4, 8]"},
      {"t + r[newaxis, :]", "float[4, 8]"},
      {"r[:, newaxis] + r[newaxis, :]", "int[8, 8]"},
      {"r[:, newaxis, newaxis]", "int[8, 1, 1]"},
      {"t[^1, ^0]", "float[8, 4]"},
      {"^t", "float[8, 4]"},
      {"t[+, :]", "float[8]"},
      {"t[:, max]", "float[4]"},
      {"t[+, +]", "float"},
      {"t[min, newaxis, :]", "float[1, 8]"},
      {"ht[+, :]", "half[8]"},
      {"0 ... 16", "int[16]"},
      {"16 ... 32", "int[16]"},
      // Matmuls.
      {"ht @ k", "float[4, 4]"},
      {"^ht @ ^k", "float[8, 8]"},
      {"t @ ^t", "float[4, 4]"},
      // Pointers.
      {"h + r", "half *[8]"},
      {"r + h", "half *[8]"},
      {"h - n", "half *"},
      {"h + r[newaxis, :] + r[:, newaxis] * n", "half *[8, 8]"},
      {"f + u", "const float *"},
      {"*h", "half"},
      {"*(h + r)", "half[8]"},
      {"*?(m)(h + n)", "half[8]"},
      {"*?(n)(h + r)", "half[8]"},
      {"*b", "bool"},
      {"h += n", "half *"},
      {"*h = d", "half"},
      {"*(h + r) += 1", "half[8]"},
      {"h++", "half *"},
      // Conditionals.
      {"n ? r : 0", "int[8]"},
      {"m ? 1 : 2", "int[8]"},
      {"m ? ht : 0", "half[4, 8]"},
      {"n ? *h : 0.0", "half"},
      {"n ? *h : -1", "half"},
      {"n ? 1.0 : *f", "float"},
      {"m ? *h : 0", "half[8]"},
      {"n ? hs : s", "float"},
      {"n ? h : h + 1", "half *"},
      {"n ? m : true", "bool[8]"},
      {"select(m, r, 0)", "int[8]"},
      // Casts and calls.
      {"(float)ht", "float[4, 8]"},
      {"(float[4, 8])n", "float[4, 8]"},
      {"(float[2, 4, 8])r", "float[2, 4, 8]"},
      {"(float[32])t", "float[32]"},
      {"(float)one", "float"},
      {"bitcast<unsigned>(s)", "unsigned"},
      {"bitcast<int>(t)", "int[4, 8]"},
      {"bitcast<short[32]>(ht)", "short[32]"},
      {"sizeof(half *)", "unsigned long"},
      {"get_program_id(2)", "int"},
      {"get_num_programs(0)", "int"},
      {"min(r, l)", "long[8]"},
      {"max(hs, 0)", "half"},
      {"exp(ht)", "float[4, 8]"},
      {"log(d)", "double"},
      {"sqrt(n)", "float"},
      {"abs(c)", "int"},
      {"fabs(ht)", "half[4, 8]"},
      {"F16_INFINITY", "half"},
      {"-F32_INFINITY", "float"},
      {"(n, s)", "float"},
      {"'a'", "int"},
  };
  for (const auto &[source, type] : cases) {
    CAPTURE(source);
    CHECK(type_of(source) == type);
  }
}

TEST_CASE("checker: operands of an operation have one type") {
  for (const char *source : {"t = ht * r + n", "m ? *(h + r) : s", "*(h + r) = t[+, :] * 2 + l",
                             "n = s > 3 && r[max]", "h + r + u * n", "t += r", "u <<= l"}) {
    CAPTURE(source);
    Parsed parsed(
        "__global__ void f(half *h, int n, unsigned u, long l, float s) {\n"
        "  int r[8] = 0 ... 8; float t[4, 8] = 0; half ht[4, 8] = 0; bool m[8] = r < 3;\n" +
        std::string(source) + "; }");
    parsed.check();
    CHECK(parsed.message() == "");
    CHECK(agrees(*parsed.statements().back()->value));
  }
}

TEST_CASE("checker: scopes follow C") {
  Parsed parsed("__global__ void f(int n) {\n"
                "  int a = 1;\n"
                "  { float a = 2; a = 3; }\n"
                "  for (int a = 0; a < n; a++) { half a = 1; a = 2; }\n"
                "  a = 4;\n"
                "}");
  parsed.check();
  CHECK(parsed.message() == "");
  CHECK(name_of(parsed.statements()[3]->value->type) == "int");
  Parsed gone("__global__ void f(int n) { if (n) int a = 1; n = a; }");
  gone.check();
  CHECK(gone.message() == "error: undeclared identifier `a`");
}

TEST_CASE("checker: missing macro gives one message") {
  Parsed parsed("__global__ void f(int n) { int a[TM] = 0 ... TM; int b[TM] = a + TM; n = a[+]; }");
  parsed.check();
  CHECK(parsed.diagnostics.errors() == 1);
  CHECK(parsed.message() == "error: undeclared identifier `TM` used as a tile extent");
}

TEST_CASE("checker: wrong macro gives one message") {
  Parsed parsed("__global__ void f(int n) { int a[TM] = 0 ... TM; int b[TM, TN] = 0; n = a[+]; }",
                {{"TM", "48"}, {"TN", "32"}});
  parsed.check();
  CHECK(parsed.diagnostics.errors() == 1);
}
