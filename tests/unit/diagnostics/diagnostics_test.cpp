// Tests diagnostics/diagnostics.cpp.

#include "diagnostics/diagnostics.h"
#include "language/preprocessor.h"
#include "support/kernel_file.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("message: is one line without a location") {
  CHECK(message(Message::cannot_read, {"a.tc", "Permission denied"}) ==
        "error: cannot read `a.tc`: Permission denied");
  CHECK(message(Message::unclosed, {"("}) == "note: to match this `(`");
}

TEST_CASE("message: inserts arguments verbatim") {
  CHECK(message(Message::expected, {"100%1", "%0"}) == "error: expected 100%1, found %0");
  CHECK(message(Message::expected, {"only one"}) == "error: expected only one, found ");
}

TEST_CASE("report: shows the source line, a caret and ranges") {
  KernelFile kernel("int a = b + c;\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  Location b = source.tokens[3].at, plus = source.tokens[4].at, c = source.tokens[5].at;
  diagnostics.report(Message::bad_operands, plus, {"+", "int", "half *"}, {{b, b}, {c, c}});
  CHECK(diagnostics.text() == kernel.input.path +
                                  ":1:11: error: `+` does not apply to `int` and `half *`\n"
                                  "    1 | int a = b + c;\n"
                                  "      |         ~ ^ ~\n");
  CHECK(diagnostics.errors() == 1);
  CHECK(diagnostics.line_column(plus).line == 1);
  CHECK(diagnostics.line_column(plus).column == 11);
  CHECK(diagnostics.file_of(plus) == kernel.input.path);
  CHECK(diagnostics.file_of({}) == "");
}

TEST_CASE("report: shows the expansion and the command-line macro") {
  KernelFile kernel("int a = SUM;\n", {{"SUM", "b + c"}});
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  Location plus = source.tokens[4].at;
  diagnostics.report(Message::bad_operand, plus, {"+", "int"});
  CHECK(diagnostics.text() == kernel.input.path +
                                  ":1:9: error: `+` does not apply to `int`\n"
                                  "    1 | int a = SUM;\n"
                                  "      |         ^\n"
                                  "<command line>:1:15: note: expanded from macro 'SUM'\n"
                                  "    1 | #define SUM b + c\n"
                                  "      |               ^\n");
  CHECK(diagnostics.line_column(plus).column == 9);
}

TEST_CASE("text_at: returns a range as written, in one line") {
  KernelFile kernel("#define D 64\na + (D *\n     2) b\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  auto text = [&](size_t first, size_t last) {
    return diagnostics.text_at({source.tokens[first].at, source.tokens[last].at});
  };
  CHECK(text(2, 6) == "(D * 2)");
  CHECK(text(3, 3) == "D");
  CHECK(diagnostics.text_at({}) == "");
}

TEST_CASE("report: omits the source line of a note at the same location") {
  KernelFile kernel("x\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  diagnostics.report(Message::undeclared, source.tokens[0].at, {"x"});
  diagnostics.report(Message::define_it, source.tokens[0].at, {"x"});
  CHECK(diagnostics.text().find("\nnote: if `x` is a macro") != std::string::npos);
}

TEST_CASE("report: stops after 20 errors") {
  KernelFile kernel("x\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  for (int i = 0; i < 25; i++)
    diagnostics.report(Message::undeclared, source.tokens[0].at, {std::to_string(i)});
  CHECK(diagnostics.errors() == 20);
  std::string text = diagnostics.text();
  CHECK(text.find("`19`") != std::string::npos);
  CHECK(text.find("`20`") == std::string::npos);
  std::string last = "\nnote: too many errors: only the first 20 are shown; change the limit with "
                     "--max-errors\n";
  CHECK(text.substr(text.size() - last.size()) == last);
}

TEST_CASE("report: omits warnings after 100") {
  KernelFile kernel("x\ny\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  auto warn = [&](int count) {
    for (int i = 0; i < count; i++) {
      diagnostics.report(Message::specialization_without_effect, source.tokens[0].at,
                         {std::to_string(i)});
      diagnostics.report(Message::declared_here, source.tokens[1].at, {std::to_string(i)});
    }
  };
  warn(100);
  CHECK(diagnostics.text().find("more than") == std::string::npos);
  CHECK(diagnostics.text().find("`99` is declared here") != std::string::npos);
  size_t before = diagnostics.text().size();
  warn(50);
  CHECK(diagnostics.text().substr(before) == "note: too many warnings: only 100 are shown\n");
  CHECK(diagnostics.warnings() == 100);
  diagnostics.report(Message::undeclared, source.tokens[0].at, {"x"});
  diagnostics.report(Message::define_it, source.tokens[1].at, {"x"});
  CHECK(diagnostics.errors() == 1);
  CHECK(diagnostics.text().find("define it with -D x=") != std::string::npos);
}

TEST_CASE("set_silent: suppresses messages") {
  DiagnosticEngine diagnostics;
  diagnostics.set_silent(true);
  diagnostics.report(Message::undeclared, {}, {"x"});
  diagnostics.set_silent(false);
  CHECK(diagnostics.errors() == 0);
  CHECK(diagnostics.text().empty());
  diagnostics.report(Message::undeclared, {}, {"x"});
  CHECK(diagnostics.text() == "error: undeclared identifier `x`\n");
}
