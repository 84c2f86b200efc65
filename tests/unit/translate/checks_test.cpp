// Tests translate_statement.cpp and translate.cpp: the translation of print and assert.

#include "ir/checks.h"
#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string kernel(const std::string &statements) {
  return "__global__ void f(float *p, half *h, int *q, int n, unsigned u) {" + statements + "}";
}

FrontEndResult result_of(const std::string &statements) {
  FrontEndResult result = translate_source(KernelFile(kernel(statements), {}).input);
  INFO(result.diagnostics_text);
  REQUIRE(result.errors == 0);
  REQUIRE(result.kernels.size() == 1);
  REQUIRE(result.checked.size() == 1);
  CHECK(ir::verify(result.checked[0]) == "");
  return result;
}

// The tile IR with checks, without the function header.
std::string checked(const std::string &statements) {
  std::string text = ir::print(result_of(statements).checked[0]);
  text = text.substr(text.find('\n') + 1);
  return text.substr(0, text.rfind("  return"));
}

std::string for_gpu(const std::string &statements) {
  return ir::print(result_of(statements).kernels[0]);
}

} // namespace

TEST_CASE("translate: assert has its condition and message") {
  CHECK(checked("assert(n > 0);") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    assert %1 {text = "assertion `n > 0` failed"}
  )"));
  CHECK(checked("assert( n%8==0 , \"whole \" \"tiles\");") == expected(R"(
    %0 = constant {value = 8} : i32
    %1 = rem %n, %0 : i32
    %2 = constant {value = 0} : i32
    %3 = cmp %1, %2 {pred = "eq"} : i1
    assert %3 {text = "assertion `n%8==0` failed: whole tiles"}
  )"));
}

TEST_CASE("translate: assert takes a whole tile") {
  CHECK(checked("assert(0 ... 8 < n);") == expected(R"(
    %0 = range {start = 0} : i32[8]
    %1 = splat %n : i32[8]
    %2 = cmp %0, %1 {pred = "lt"} : i1[8]
    assert %2 {text = "assertion `0 ... 8 < n` failed"}
  )"));
}

TEST_CASE("translate: print separates texts and values by blanks") {
  CHECK(checked("print(\"n is\", n, \"and u {}\", u, u > 1);") == expected(R"(
    %0 = constant {value = 1} : i32
    %1 = cmp %u, %0 {pred = "ugt"} : i1
    print %n, %u, %1 {text = "n is {} and u {{}} {u} {}"}
  )"));
  CHECK(checked("print(\"here\\n\");") == expected("print {text = \"here\\x0a\"}"));
}

TEST_CASE("translate: print without text shows the names of its values") {
  CHECK(checked("print(n, 0 ... 4);") == expected(R"(
    %0 = range {start = 0} : i32[4]
    print %n, %0 {text = "n = {}, 0 ... 4 = {}"}
  )"));
}

TEST_CASE("translate: GPU code is the same without print and assert") {
  struct {
    const char *with, *without;
  } cases[] = {
      {"assert(n > 0); *q = n;", "*q = n;"},
      {"*q = n; print(*p, *h);", "*q = n;"},
      {"int i = n; assert(i * i == u); print(i); *q = i;", "int i = n; *q = i;"},
      {"if (n) { assert(u); *q = 1; } else print(n);", "if (n) { *q = 1; } else ;"},
      // Statements after a jump need a flag, but a check does not.
      {"for (int i = 0; i < n; i++) { if (i > 3) { if (u) break; *q = i; } assert(i < 9); }",
       "for (int i = 0; i < n; i++) { if (i > 3) { if (u) break; *q = i; } }"},
      {"if (n) { if (u) return; *q = 1; } print(n);", "if (n) { if (u) return; *q = 1; }"},
      {"while (n > 0) { n -= 1; { { print(n); } } }", "while (n > 0) { n -= 1; { { } } }"},
      {"do print(n); while (n > 0);", "do ; while (n > 0);"},
      {"float x[8] = *(p + 0 ... 8); assert(x == x); *(p + 0 ... 8) = x;",
       "float x[8] = *(p + 0 ... 8); *(p + 0 ... 8) = x;"},
  };
  for (auto [with, without] : cases) {
    CAPTURE(with);
    CHECK(for_gpu(with) == for_gpu(without));
    CHECK(ir::has_checks(result_of(with).checked[0]));
    CHECK_FALSE(ir::has_checks(result_of(with).kernels[0]));
  }
}

TEST_CASE("translate: host code checks variable indices") {
  CHECK(checked("float x[8] = *(p + 0 ... 8); *p = x[n];").find("assert %") != std::string::npos);
  CHECK_FALSE(ir::has_checks(result_of("float x[8] = *(p + 0 ... 8); *p = x[n];").kernels[0]));
  CHECK_FALSE(ir::has_checks(result_of("float x[8] = *(p + 0 ... 8); *p = x[7];").checked[0]));
  for (const char *statements :
       {"int i[8] = 0 ... 8; i = i[gather(i)];", "int i[8] = (0 ... 8)[gather(n)];",
        "for (int k = (0 ... 8)[n]; k < 3; k++) ;", "if ((0 ... 8)[n] > 3) *q = 1;",
        "for (; n < 3; n += (0 ... 8)[n]) ;", "*q = (0 ... 4)[n] + 1;"}) {
    CAPTURE(statements);
    CHECK(ir::has_checks(result_of(statements).checked[0]));
    CHECK_FALSE(ir::has_checks(result_of(statements).kernels[0]));
  }
}

TEST_CASE("translate: kernel without checks is equal in both lists") {
  FrontEndResult result = result_of("for (int i = 0; i < n; i++) *q = i;");
  CHECK(ir::print(result.kernels[0]) == ir::print(result.checked[0]));
}

TEST_CASE("translate: reports an error or warning in a check once") {
  FrontEndResult result = result_of("int i; assert(i > 0); *q = i;");
  CHECK(result.warnings == 1);
  result = translate_source(KernelFile(kernel("assert(x);"), {}).input);
  CHECK(result.errors == 1);
  CHECK(result.kernels.empty());
  CHECK(result.checked.empty());
}
