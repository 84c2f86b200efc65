// Tests diagnostics/diagnostics.cpp.

#include "diagnostics/diagnostics.h"
#include "language/preprocessor.h"
#include "support/kernel_file.h"

#include <doctest/doctest.h>

#include <algorithm>

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

TEST_CASE("report: max_errors sets the number of errors, 0 shows all") {
  for (int limit : {0, 1, 3}) {
    DiagnosticEngine diagnostics({.off = {}, .errors = {}, .max_errors = limit});
    for (int i = 0; i < 30; i++)
      diagnostics.report(Message::undeclared, {}, {std::to_string(i)});
    CHECK(int(diagnostics.diagnostics().size()) == (limit ? limit : 30));
    bool is_cut = diagnostics.text().find("too many errors") != std::string::npos;
    CHECK(is_cut == (limit > 0));
  }
}

TEST_CASE("report: a disabled warning is not shown, and neither are its notes") {
  KernelFile kernel("x y\n");
  auto reported = [&](DiagnosticOptions options) {
    DiagnosticEngine diagnostics(std::move(options));
    Preprocessed source = preprocess(kernel.input, diagnostics);
    diagnostics.report(Message::specialization_without_effect, source.tokens[0].at, {"n % 8"});
    diagnostics.report(Message::declared_here, source.tokens[1].at, {"y"});
    return diagnostics.diagnostics();
  };
  CHECK(reported({.off = {"specialization-without-effect"}}).empty());
  CHECK(reported({.off = {}, .errors = {}, .no_warnings = true}).empty());
  std::vector<Diagnostic> others = reported({.off = {"bank-conflicts"}});
  REQUIRE(others.size() == 1);
  CHECK(others[0].severity == Severity::warning);
  CHECK(others[0].name == "specialization-without-effect");
  CHECK(others[0].notes.size() == 1);
}

TEST_CASE("DiagnosticOptions: -Werror=NAME concerns the warnings of this name") {
  DiagnosticOptions options = {.off = {}, .errors = {"reads-past"}};
  Diagnostic message = {
      .severity = Severity::warning, .name = "reads-past", .text = "", .drawn = ""};
  CHECK(options.is_error(message));
  message.severity = Severity::note;
  CHECK_FALSE(options.is_error(message));
  message = {.severity = Severity::warning, .name = "spills", .text = "", .drawn = ""};
  CHECK_FALSE(options.is_error(message));
}

TEST_CASE("is_warning_name: knows the warnings of TritonC and of clang") {
  CHECK(is_warning_name("reads-past"));
  CHECK(is_warning_name("macro-redefined"));
  CHECK_FALSE(is_warning_name("cannot-read")); // an error
  CHECK_FALSE(is_warning_name("reads_past"));
  CHECK_FALSE(is_warning_name(""));
  std::vector<std::string> names = warning_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
}

TEST_CASE("at: finds a place of an opened file, and nothing else") {
  KernelFile kernel("int a;\n  b\n");
  DiagnosticEngine diagnostics;
  const std::string &path = kernel.input.path;
  CHECK_FALSE(diagnostics.at({1, 1}, path)); // not open yet
  Preprocessed source = preprocess(kernel.input, diagnostics);
  CHECK(diagnostics.at({1, 5}, path).id == source.tokens[1].at.id);
  CHECK(diagnostics.at({2, 3}, path).id == source.tokens[3].at.id);
  CHECK(diagnostics.token_at(diagnostics.at({2, 3}, path)) == "b");
  for (LineColumn place : {LineColumn{0, 1}, {1, 0}, {-1, 1}, {9, 1}})
    CHECK_FALSE(diagnostics.at(place, path));
  CHECK_FALSE(diagnostics.at({1, 1}, kernel.folder.path("none.tc")));
}

TEST_CASE("token_at: is empty inside a macro, spelling leads to its definition") {
  KernelFile kernel("#define SUM b + c\nint a = SUM;\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  CHECK(diagnostics.token_at(source.tokens[0].at) == "int");
  Location plus = source.tokens[4].at;
  CHECK(diagnostics.token_at(plus) == "");
  CHECK(diagnostics.token_at(diagnostics.spelling(plus)) == "+");
  CHECK(diagnostics.line_column(diagnostics.spelling(plus)).line == 1);
  CHECK(diagnostics.line_column(plus).line == 2);
  CHECK(diagnostics.token_at({}) == "");
}

TEST_CASE("report: a range in two files has no mark and no text") {
  KernelFile kernel("#include \"other.tch\"\na\n");
  kernel.folder.write("other.tch", "b\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  Location b = source.tokens[0].at, a = source.tokens[1].at;
  REQUIRE(diagnostics.token_at(b) == "b");
  REQUIRE(diagnostics.token_at(a) == "a");
  diagnostics.report(Message::bad_operand, a, {"+", "int"}, {{b, a}, {b, b}, {{}, a}});
  const Diagnostic &found = diagnostics.diagnostics()[0];
  REQUIRE(found.marks.size() == 1);
  CHECK(found.marks[0].file == kernel.folder.path("other.tch"));
  CHECK(found.at.file == kernel.input.path);
  CHECK(diagnostics.text_at({b, a}) == "");
  CHECK(diagnostics.text_at({b, b}) == "b");
}

TEST_CASE("report: keeps a fix only if all of its edits can be made in one file") {
  KernelFile kernel("#include \"other.tch\"\n#define TWO 2\na = TWO;\n");
  kernel.folder.write("other.tch", "b\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  Location b = source.tokens[0].at, a = source.tokens[1].at, two = source.tokens[3].at,
           end = source.tokens[4].at;
  auto fix_of = [&](std::vector<Edit> edits) {
    diagnostics.report(Message::undeclared, a, {"a"}, {}, std::move(edits));
    std::string text;
    for (const Replacement &edit : diagnostics.diagnostics().back().fix)
      text += std::to_string(edit.at.line) + ":" + std::to_string(edit.at.column) + "-" +
              std::to_string(edit.at.end_column) + " `" + edit.text + "`, ";
    return text;
  };
  CHECK(fix_of({Edit::replace(a, "x")}) == "3:1-2 `x`, ");
  CHECK(fix_of({Edit::replace(Range{a, end}, "x")}) == "3:1-9 `x`, ");
  CHECK(fix_of({Edit::insert_before(a, "int "), Edit::insert_behind(a, "[2]")}) ==
        "3:1-1 `int `, 3:2-2 `[2]`, ");
  CHECK(fix_of({Edit::erase(a, 3)}) == "3:1-4 ``, ");
  CHECK(fix_of({Edit::replace(b, "x")}) == "1:1-2 `x`, ");
  CHECK(fix_of({Edit::replace(a, "x"), Edit::replace(b, "x")}) == "");
  CHECK(fix_of({Edit::replace(Range{b, a}, "x")}) == "");
  CHECK(fix_of({Edit::replace(two, "3")}) == ""); // inside a macro
  CHECK(fix_of({Edit::replace(a, "x"), Edit::replace(two, "3")}) == "");
  CHECK(fix_of({}) == "");
}

TEST_CASE("report: columns count characters, without a byte order mark") {
  KernelFile kernel("\xef\xbb\xbf/* \xc3\xa4\xe2\x82\xac */ a\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  diagnostics.report(Message::undeclared, source.tokens[0].at, {"a"});
  const Span &at = diagnostics.diagnostics()[0].at;
  CHECK(at.line == 1);
  CHECK(at.column == 10);
  CHECK(at.end_column == 11);
}
