// Tests source/diagnostics.cpp.

#include "diagnostics/diagnostics.h"
#include "language/preprocessor.h"
#include "support/kernel_file.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("a message without a place is one line") {
  CHECK(message(Message::cannot_read, {"a.tc", "Permission denied"}) ==
        "error: cannot read `a.tc`: Permission denied");
  CHECK(message(Message::unclosed, {"("}) == "note: to match this `(`");
}

TEST_CASE("arguments are put in as they are") {
  CHECK(message(Message::expected, {"100%1", "%0"}) == "error: expected 100%1, found %0");
  CHECK(message(Message::expected, {"only one"}) == "error: expected only one, found ");
}

TEST_CASE("a place is drawn with its line, a caret and marks") {
  KernelFile kernel("int a = b + c;\n");
  Diagnostics diagnostics;
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

TEST_CASE("a place in a macro of the host shows the kernel and the macro") {
  KernelFile kernel("int a = SUM;\n", {{"SUM", "b + c"}});
  Diagnostics diagnostics;
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

TEST_CASE("a note on the same place is not drawn again") {
  KernelFile kernel("x\n");
  Diagnostics diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  diagnostics.report(Message::undeclared, source.tokens[0].at, {"x"});
  diagnostics.report(Message::define_it, source.tokens[0].at, {"x"});
  CHECK(diagnostics.text().find("\nnote: if `x` is a macro") != std::string::npos);
}

TEST_CASE("after 20 errors it stops") {
  KernelFile kernel("x\n");
  Diagnostics diagnostics;
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

TEST_CASE("after 100 warnings there are only errors") {
  KernelFile kernel("x\ny\n");
  Diagnostics diagnostics;
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

TEST_CASE("silence is kept while it is asked for") {
  Diagnostics diagnostics;
  diagnostics.set_silent(true);
  diagnostics.report(Message::undeclared, {}, {"x"});
  diagnostics.set_silent(false);
  CHECK(diagnostics.errors() == 0);
  CHECK(diagnostics.text().empty());
  diagnostics.report(Message::undeclared, {}, {"x"});
  CHECK(diagnostics.text() == "error: undeclared identifier `x`\n");
}
