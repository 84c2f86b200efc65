// Tests source_mutants.cpp: each mutation operator, and what does not change.

#include "mutate/source_mutants.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

namespace {

using Edits = std::vector<std::string>;

std::vector<Mutant> mutants_in(const std::string &text) {
  std::string problem;
  std::vector<Mutant> mutants = mutants_of({"/x/f.cpp", "f.cpp", text, {"-std=c++20"}}, problem);
  CHECK(problem == "");
  for (const Mutant &mutant : mutants) {
    CAPTURE(id_of(mutant));
    CHECK(planted(text, mutant).has_value());
  }
  return mutants;
}

// The edits by one mutation operator: "before -> after".
Edits edits(const std::string &change, const std::string &text) {
  Edits found;
  for (const Mutant &mutant : mutants_in(text))
    if (mutant.change == change)
      found.push_back(mutant.before + " -> " + mutant.after);
  return found;
}

// The sources that one mutation operator makes.
Edits sources(const std::string &change, const std::string &text) {
  Edits found;
  for (const Mutant &mutant : mutants_in(text))
    if (mutant.change == change)
      found.push_back(planted(text, mutant).value_or(""));
  return found;
}

} // namespace

TEST_CASE("comparison: orders change at the bound, == and != swap") {
  CHECK(
      edits("comparison", "bool f(int a, int b) { return a < b || a <= b || a > b || a >= b; }") ==
      Edits{"< -> <=", "<= -> <", "> -> >=", ">= -> >"});
  CHECK(edits("comparison", "bool f(int *a, int *b) { return a == b || *a != *b; }") ==
        Edits{"== -> !=", "!= -> =="});
}

TEST_CASE("comparison: overloaded == and !=") {
  const std::string type = "struct S { bool operator==(const S &) const; };\n";
  CHECK(edits("comparison", type + "bool f(S a, S b) { return a == b; }") == Edits{"== -> !="});
  CHECK(edits("comparison", type + "bool f(S a, S b) { return a != b; }") == Edits{"!= -> =="});
}

TEST_CASE("comparison: in templates and lambdas") {
  CHECK(edits("comparison", "template <typename T> bool f(T a) { return a < 1; }") ==
        Edits{"< -> <="});
  CHECK(edits("comparison", "auto f = [](int a) { return a < 1; };") == Edits{"< -> <="});
}

TEST_CASE("comparison: not orders of floats") {
  CHECK(edits("comparison", "bool f(float a, int b) { return a < b; }").empty());
  CHECK(edits("comparison", "bool f(float a, int b) { return a == b; }") == Edits{"== -> !="});
}

TEST_CASE("arithmetic: each integer operator") {
  CHECK(edits("arithmetic", "int f(int a, int b) { return a + b - a * b / a % b; }") ==
        Edits{"+ -> -", "- -> +", "* -> /", "/ -> *", "% -> /"});
  CHECK(edits("arithmetic", "int f(int a, int b) { return (a << b | a >> b) & (a ^ b); }") ==
        Edits{"<< -> >>", "| -> &", ">> -> <<", "& -> |", "^ -> |"});
}

TEST_CASE("arithmetic: assignments") {
  CHECK(edits("arithmetic", "void f(int a, bool b) { a += 2; a <<= 1; b |= a == 3; }") ==
        Edits{"+= -> -=", "<<= -> >>=", "|= -> &="});
}

TEST_CASE("arithmetic: not floats, pointers, overloaded operators") {
  CHECK(edits("arithmetic", "float f(float a, float b) { a += b; return a * b; }").empty());
  CHECK(edits("arithmetic", "int *f(int *a, int b) { return a + b; }").empty());
  CHECK(edits("arithmetic", "long f(int *a, int *b) { return a - b; }").empty());
  CHECK(edits("arithmetic", "struct S { S operator+(S); }; S f(S a) { return a + a; }").empty());
}

TEST_CASE("logical: && and || swap") {
  CHECK(edits("logical", "bool f(bool a, bool b) { return a && (a || b); }") ==
        Edits{"&& -> ||", "|| -> &&"});
}

TEST_CASE("dropped operand: the left or the right one") {
  CHECK(sources("dropped operand", "bool f(bool a, bool b) { return a && b; }") ==
        Edits{"bool f(bool a, bool b) { return b; }", "bool f(bool a, bool b) { return a; }"});
  CHECK(sources("dropped operand", "bool f(int a) { return (a < 1) || a == 3; }") ==
        Edits{"bool f(int a) { return a == 3; }", "bool f(int a) { return (a < 1); }"});
}

TEST_CASE("negation: removed") {
  CHECK(sources("negation", "bool f(bool a) { return !a; }") ==
        Edits{"bool f(bool a) { return a; }"});
}

TEST_CASE("integer: plus and minus 1") {
  CHECK(edits("integer", "int f() { return 16; }") == Edits{"16 -> 17", "16 -> 15"});
  CHECK(edits("integer", "int f() { return 0; }") == Edits{"0 -> 1", "0 -> (-1)"});
  CHECK(edits("integer", "int f() { return 0x0f; }") == Edits{"0x0f -> 16", "0x0f -> 14"});
  CHECK(edits("integer", "long f() { return 1'000ull; }") ==
        Edits{"1'000ull -> 1001ull", "1'000ull -> 999ull"});
}

TEST_CASE("integer: not in types, case labels, enumerations") {
  CHECK(edits("integer", "int a[4]; template <int n> struct S {}; S<3> s; enum E { e = 5 };")
            .empty());
  CHECK(edits("integer", "static_assert(sizeof(int) == 4); alignas(8) int a;").empty());
  CHECK(edits("integer", "int f(int a) { switch (a) { case 3: return a; } return a; }").empty());
  CHECK(edits("integer", "int f(int a) { if constexpr (sizeof(a) == 4) return a; return -a; }")
            .empty());
  CHECK(edits("integer", "int *f() { return 0; }").empty());
}

TEST_CASE("integer: after a case label, in a constant") {
  CHECK(edits("integer", "int f(int a) { switch (a) { case 3: return 7; } return a; }") ==
        Edits{"7 -> 8", "7 -> 6"});
  CHECK(edits("integer", "constexpr int a = 4; int b[a];") == Edits{"4 -> 5", "4 -> 3"});
}

TEST_CASE("boolean: true and false swap") {
  CHECK(edits("boolean", "bool f(bool a) { a = true; return false; }") ==
        Edits{"true -> false", "false -> true"});
}

TEST_CASE("condition: of if, while and ?: is negated") {
  CHECK(edits("condition", "void f(int a) { if (a < 1) a = 3; while (a > 2) a--; }") ==
        Edits{"a < 1 -> !(a < 1)", "a > 2 -> !(a > 2)"});
  CHECK(edits("condition", "int f(bool a) { return a ? 1 : 2; }") == Edits{"a -> !(a)"});
}

TEST_CASE("condition: not if a smaller edit negates it") {
  CHECK(edits("condition", "void f(int a) { if (a == 1) a = 3; while (!a) a++; }").empty());
  CHECK(edits("condition", "int f(int a) { return (a != 1) ? 1 : 2; }").empty());
}

TEST_CASE("condition: not if it declares a variable") {
  CHECK(edits("condition", "int f(int a) { if (int b = a) return b; return a; }").empty());
  CHECK(edits("dropped condition", "int f(int a) { if (int b = a) return b; return a; }").empty());
}

TEST_CASE("dropped condition: the statement always runs, an exit never") {
  CHECK(edits("dropped condition", "void f(int a) { if (a) a = 3; }") == Edits{"a -> true"});
  CHECK(edits("dropped condition", "void f(int a) { if (a) return; a++; }") == Edits{"a -> false"});
  CHECK(edits("dropped condition", "int f(int a) { if (a) { a++; return a; } return 1; }") ==
        Edits{"a -> false"});
  CHECK(edits("dropped condition", "int f(int a) { if (a) return 1; else return 2; }") ==
        Edits{"a -> true"});
}

TEST_CASE("return: a bool is inverted") {
  CHECK(edits("return", "bool f(int a, int b) { return a < b; }") == Edits{"a < b -> !(a < b)"});
  CHECK(edits("return", "bool g(int); bool f(int a) { return g(a); }") == Edits{"g(a) -> !(g(a))"});
}

TEST_CASE("return: not other types, not if a smaller edit inverts it") {
  CHECK(edits("return", "int f(int a) { return a; }").empty());
  CHECK(edits("return", "bool f(int a) { if (a == 1) return true; return !a; }").empty());
  CHECK(edits("return", "void f() { return; }").empty());
}

TEST_CASE("removed call: a void call that is a statement") {
  CHECK(sources("removed call", "void g(int); void f(int a) { if (a) g(1); else { g(2); } }") ==
        Edits{"void g(int); void f(int a) { if (a) (void)0; else { g(2); } }",
              "void g(int); void f(int a) { if (a) g(1); else { (void)0; } }"});
  CHECK(edits("removed call", "struct S { void g(); }; void f(S s) { for (;;) s.g(); }") ==
        Edits{"s.g() -> (void)0"});
}

TEST_CASE("removed call: not a value, a part, a call that ends the program") {
  CHECK(edits("removed call", "int g(int); void f(int a) { g(a); }").empty());
  CHECK(edits("removed call", "void g(); void f(int a) { a ? g() : g(); }").empty());
  CHECK(edits("removed call", "[[noreturn]] void g(); void f() { g(); }").empty());
  CHECK(edits("removed call", "void g(); void f() { return g(); }").empty());
}

TEST_CASE("removed jump: continue and break that are not alone") {
  CHECK(
      edits("removed jump", "void f(int a) { while (a) { if (a > 3) { a--; continue; } a++; } }") ==
      Edits{"continue -> (void)0"});
  CHECK(edits("removed jump", "void f(int a) { for (; a;) { if (a > 3) { a--; break; } a++; } }") ==
        Edits{"break -> (void)0"});
}

TEST_CASE("removed jump: not alone, in a switch, in an endless loop") {
  CHECK(edits("removed jump", "void f(int a) { while (a) { if (a > 3) break; a++; } }").empty());
  CHECK(edits("removed jump", "void f(int a) { switch (a) { case 1: { a++; break; } } }").empty());
  CHECK(edits("removed jump", "void f(int a) { for (;;) { a++; break; } }").empty());
  CHECK(edits("removed jump", "void f(int a) { while (true) { a++; break; } }").empty());
}

TEST_CASE("min and max: of the standard library swap") {
  const std::string library = "namespace std { int min(int, int); int max(int, int); }\n";
  CHECK(edits("min and max", library + "int f(int a) { return std::min(a, std::max(a, a)); }") ==
        Edits{"min -> max", "max -> min"});
  CHECK(edits("min and max", "int min(int, int); int f(int a) { return min(a, a); }").empty());
}

TEST_CASE("mutants_of: nothing in asserts and other macros") {
  CHECK(mutants_in("#define assert(x) ((x) ? void() : void(1 / 0))\n"
                   "void f(int a) { assert(a < 3 && !a); }")
            .empty());
  CHECK(mutants_in("#define SIZE 3\n"
                   "int f() { return SIZE; }")
            .empty());
}

TEST_CASE("mutants_of: nothing in arguments of printing and reserving calls") {
  CHECK(mutants_in("int printf(const char *, ...); void f(int a) { printf(\"%d\", a + 1); }")
            .empty());
  CHECK(mutants_in("struct S { void reserve(int); }; void f(S &s) { s.reserve(3); }").empty());
  CHECK(mutants_in("auto say = [](int) {}; void f(int a) { say(a + 1); }").empty());
}

TEST_CASE("mutants_of: nothing in comments, strings, headers, declarations") {
  CHECK(mutants_in("// a < b\n/* !a */ const char *text = \"a + 1\"; int f(int a);").empty());
  CHECK(mutants_in("#include <initializer_list>\n").empty());
}

TEST_CASE("mutants_of: place and order") {
  std::vector<Mutant> mutants = mutants_in("bool f(int a) {\n  return a < 1;\n}\n");
  REQUIRE(mutants.size() == 4);
  for (const Mutant &mutant : mutants)
    CHECK(mutant.line == 2);
  CHECK(mutants[0].change == "return");
  CHECK(mutants[1].change == "comparison");
  CHECK(mutants[1].column == 12);
  CHECK(mutants[1].file == "f.cpp");
  CHECK(mutants[2].change == "integer");
}

TEST_CASE("mutants_of: names clang's error") {
  std::string problem;
  mutants_of({"/x/f.cpp", "f.cpp", "int f() { return b; }", {}}, problem);
  CHECK(problem.find("'b'") != std::string::npos);
}
