// Tests language/macro_limits.cpp.

#include "language/macro_limits.h"
#include "language/preprocessor.h"
#include "support/kernel_file.h"
#include "support/messages.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Limited {
  explicit Limited(const std::string &text)
      : kernel(text), source(preprocess(kernel.input, diagnostics)) {}

  std::string error() const {
    std::vector<std::string> errors = texts_of(diagnostics.text(), "error");
    CHECK(source.is_too_much == !errors.empty());
    return errors.empty() ? "" : errors[0];
  }

  KernelFile kernel;
  DiagnosticEngine diagnostics;
  Preprocessed source;
};

std::string error_of(const std::string &text) { return Limited(text).error(); }

std::string repeated(const std::string &text, int times) {
  std::string result;
  for (; times > 0; times--)
    result += text;
  return result;
}

// Macros up to `A29` for 29 doublings: it expands to 2^29 times `1 +`.
std::string doubled(int doublings) {
  std::string text = "#define A0 1 +\n";
  for (int i = 1; i <= doublings; i++) {
    std::string before = " A" + std::to_string(i - 1);
    text += "#define A" + std::to_string(i) + before + before + "\n";
  }
  return text;
}

std::string nested(const std::string &macro, int levels) {
  return repeated(macro + "(", levels) + "x" + repeated(")", levels);
}

} // namespace

TEST_CASE("macro_limits: accepts ordinary macros") {
  CHECK(error_of(doubled(14) + "A14 1\n") == "");
  CHECK(Limited(doubled(14) + "A14 1\n").source.tokens.size() == 2 * (1 << 14) + 2);
  CHECK(error_of("#define D(x) x + x\n" + nested("D", 10)) == "");
  CHECK(error_of("#define I(x) x\n" + nested("I", 100)) == "");
  CHECK(error_of("#define A B\n#define B A\nA B") == "");
  CHECK(error_of("#define F(...) G(__VA_ARGS__)\n#define G(a, b) a##b #a\nF(1, 2) F") == "");
  CHECK(error_of("#define LINE p[__LINE__] = 1;\n" + repeated("LINE\n", 10000)) == "");
  CHECK(error_of(doubled(8) + "#if A8 1\n#endif\n") == "");
  CHECK(error_of(doubled(8) + repeated("#if A8 1\n#elif A8 2\n#endif\n", 100)) == "");
  CHECK(error_of("#if " + repeated("(", 500) + "1" + repeated(")", 500) + "\n#endif\n") == "");
}

TEST_CASE("macro_limits: limits the size of an expansion") {
  CHECK(error_of(doubled(29) + "A29 1\n") == "macro `A29` expands to too many tokens");
  CHECK(error_of(doubled(29) + "#if A29 1\n#endif\n") == "macro `A29` expands to too many tokens");
  CHECK(error_of("#define D(x) x + x\n" + nested("D", 30)) == "macro `D` expands to too many "
                                                              "tokens");
  CHECK(error_of("#define C(x) x##x\n#define D(x) C(x)\n" + nested("D", 30)) ==
        "macro `D` expands to too many tokens");
  CHECK(error_of("#define S(x) #x\n#define D(x) S(x)\n" + nested("D", 30)) ==
        "macro `D` expands to too many tokens");
  CHECK(error_of("#define D(x) x + x\n#define CALL(f, x) f(x)\n" + repeated("CALL(D, ", 30) + "x" +
                 repeated(")", 30)) != "");
  CHECK(error_of("#define I(x) x\n" + nested("I", 20000)) ==
        "macro `I` expands to too many tokens");
  CHECK(error_of(doubled(16) + repeated("#define B A16 A16\nB\n", 1000)) != "");
}

TEST_CASE("macro_limits: limits the number of tokens") {
  CHECK(error_of(repeated("+ ", (1 << 20) - 10)) == "");
  CHECK(error_of(repeated("+ ", (1 << 20) + 10)) ==
        "more than 1048576 tokens after macro expansion");
}

TEST_CASE("macro_limits: limits the nesting of #if conditions") {
  for (const char *opening : {"(", "!", "- ", "~ "})
    CHECK(error_of("#if " + repeated(opening, 200000) + "1\n#endif\nx") ==
          "nested more than 1000 levels deep");
  CHECK(error_of("  %: \\\n if " + repeated("(", 2000) + "1\n#endif\nx") ==
        "nested more than 1000 levels deep");
  CHECK(error_of("#define P " + repeated("(", 2000) + "\n#if P P P P\n#endif\n") ==
        "macro `P` expands to too many tokens");
  CHECK(error_of(repeated("(", 20000)) == ""); // the parser rejects it
}
