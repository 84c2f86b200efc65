// Tests language/preprocessor.cpp.

#include "language/preprocessor.h"
#include "support/kernel_file.h"
#include "support/messages.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string spell(const std::vector<Token> &tokens) {
  std::string text;
  for (const Token &token : tokens)
    if (!token.is(TokenKind::end))
      text += (text.empty() ? "" : " ") + std::string(token.is(TokenKind::pragma) ? "#" : "") +
              std::string(token.spelling);
  return text;
}

// The tokens of a text, or the first message.
std::string tokens_of(const std::string &text, std::vector<Define> defines = {}) {
  KernelFile kernel(text, std::move(defines));
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  REQUIRE(source.tokens.back().is(TokenKind::end));
  std::vector<ToldMessage> messages = read_messages(diagnostics.text());
  return messages.empty() ? spell(source.tokens) : messages[0].severity + ": " + messages[0].text;
}

} // namespace

TEST_CASE("preprocess: host macro may be any tokens") {
  CHECK(tokens_of("USE_A @ b", {{"USE_A", "^a"}}) == "^ a @ b");
  CHECK(tokens_of("a[SHAPE]", {{"SHAPE", "TM, TK"}, {"TM", "128"}, {"TK", "8"}}) ==
        "a [ 128 , 8 ]");
  CHECK(tokens_of("r[B]", {{"B", "newaxis, :"}}) == "r [ newaxis , : ]");
  CHECK(tokens_of("x EMPTY y", {{"EMPTY", ""}}) == "x y");
}

TEST_CASE("preprocess: host macro is one line and one name") {
  CHECK(tokens_of("A", {{"A", "1\n#error injected\r\n2"}}) == "1 # error injected 2");
  CHECK(tokens_of("A", {{"1A", "1"}}) ==
        "error: `1A` is not a macro name: -D takes NAME or NAME=VALUE");
  CHECK(tokens_of("A", {{"", "1"}}) ==
        "error: `` is not a macro name: -D takes NAME or NAME=VALUE");
  CHECK(tokens_of("A", {{"A(x)", "x"}}) ==
        "error: `A(x)` is not a macro name: -D takes NAME or NAME=VALUE");
}

TEST_CASE("preprocess: end of a host macro does not affect the next") {
  for (std::string value : {"1 \\", "1 \\ ", "1 \\\r\n", "1 ?\?/"}) {
    CAPTURE(value);
    KernelFile kernel("A B", {{"A", value}, {"B", "2"}});
    DiagnosticEngine diagnostics;
    std::string tokens = spell(preprocess(kernel.input, diagnostics).tokens);
    CHECK(tokens.substr(0, 1) == "1");
    CHECK(tokens.substr(tokens.size() - 2) == " 2");
  }
  CHECK(tokens_of("A B", {{"A", "/*"}, {"B", "2"}}) == "error: unterminated /* comment");
  CHECK(tokens_of("A B", {{"A", "1 // 3"}, {"B", "2"}}) == "1 2");
}

TEST_CASE("preprocess: supports the C preprocessor") {
  CHECK(tokens_of("#define CAT(a, b) a##b\nCAT(x, 1) CAT(, y)") == "x1 y");
  CHECK(tokens_of("#if TM > 64 && defined(TM)\nlarge\n#else\nsmall\n#endif", {{"TM", "128"}}) ==
        "large");
  CHECK(tokens_of("#if true\nyes\n#endif") == "yes");
  CHECK(tokens_of("#define F(...) __VA_ARGS__\nF(a, b)") == "a , b");
  CHECK(tokens_of("a // b\n/* c */ d \\\n e <: :>") == "a d e [ ]");
  CHECK(tokens_of("__LINE__") == "1");
  CHECK(tokens_of("#error wrong\n") == "error: wrong");
}

TEST_CASE("preprocess: warns if the source redefines a host macro") {
  CHECK(tokens_of("#define TM 8\nTM", {{"TM", "128"}}) == "warning: 'TM' macro redefined");
}

TEST_CASE("preprocess: pragma is tokens, expanded unless it names axes") {
  std::vector<Define> defines = {{"TM", "32"}, {"half", "wrong"}};
  CHECK(tokens_of("a\n#pragma tritonc grid(M / TM, 1)\nb", defines) == "a #grid ( M / 32 , 1 ) b");
  CHECK(tokens_of("#pragma tritonc variant(TYPE: half) tune(TM: 1, 2)", defines) ==
        "#variant ( TYPE : half ) #tune ( TM : 1 , 2 )");
  CHECK(tokens_of("_Pragma(\"tritonc grid(TM)\") x", defines) == "#grid ( 32 ) x");
  CHECK(tokens_of("#pragma unroll\nx") == "x");
  CHECK(tokens_of("#pragma tritonc\nx") == "error: unknown pragma `tritonc `");
  CHECK(tokens_of("#pragma tritonc grid M\nx") == "error: expected `(` after `grid`, found `M`");
}

TEST_CASE("preprocess: host grid follows the source and sees its macros") {
  KernelFile kernel("#define TM 32\nx");
  kernel.input.grid = "M / TM";
  DiagnosticEngine diagnostics;
  CHECK(spell(preprocess(kernel.input, diagnostics).tokens) == "x #host_grid ( M / 32 )");
  CHECK(diagnostics.text().empty());
}

TEST_CASE("preprocess: lists expansions of empty macros") {
  KernelFile kernel("#define NOTHING\n"
                    "#define OTHER(x) NOTHING\n"
                    "#if defined(TYPE) && 1 TYPE\n"
                    "#endif\n"
                    "a TYPE b OTHER(1) c ONE d\n",
                    {{"TYPE", ""}, {"ONE", "1"}});
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  CHECK(spell(source.tokens) == "a b c 1 d");
  REQUIRE(source.empty_macros.size() == 3);
  const EmptyMacro &directive = source.empty_macros[0], &type = source.empty_macros[1],
                   &nothing = source.empty_macros[2];
  CHECK(diagnostics.line_column(directive.at).line == 3);
  CHECK(type.token == 1);
  CHECK(type.name == "TYPE");
  CHECK(type.is_define);
  CHECK(diagnostics.line_column(type.at).line == 5);
  CHECK(nothing.token == 2);
  CHECK(nothing.name == "NOTHING");
  CHECK_FALSE(nothing.is_define);
}

TEST_CASE("preprocess: lists at most four empty macros per token") {
  KernelFile kernel("#define E\na E E E E E E b E c\n");
  DiagnosticEngine diagnostics;
  CHECK(preprocess(kernel.input, diagnostics).empty_macros.size() == 5);
}

TEST_CASE("preprocess: lists unused host macros") {
  KernelFile kernel("#ifdef B\n#endif\n#define TWICE(x) (x, C)\nA \"D\" TWICE(1)\n#define E 1");
  kernel.input.grid = "F";
  for (const char *name : {"A", "B", "C", "D", "F", "G"})
    kernel.input.defines.push_back({name, "1"});
  DiagnosticEngine diagnostics;
  CHECK(preprocess(kernel.input, diagnostics).unused_macros == std::vector<std::string>{"D", "G"});
}

TEST_CASE("preprocess: lists each opened file once, in order") {
  KernelFile kernel("#include \"a.h\"\n#include \"b.h\"\n#include \"a.h\"\nx");
  std::string a = kernel.folder.write("a.h", "#include <c.h>\na");
  std::string b = kernel.folder.write("b.h", "b");
  std::string c = kernel.folder.write("sub/c.h", "c");
  kernel.input.include_dirs = {kernel.folder.path() + "/sub", kernel.folder.path() + "/none"};
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  CHECK(spell(source.tokens) == "c a b c a x");
  CHECK(source.files == std::vector<std::string>{kernel.input.path, a, c, b});
}

TEST_CASE("preprocess: reads only regular files") {
  KernelFile kernel("#include \"pipe.h\"\n");
  REQUIRE(mkfifo((kernel.folder.path() + "/pipe.h").c_str(), 0600) == 0);
  DiagnosticEngine diagnostics;
  preprocess(kernel.input, diagnostics);
  CHECK(diagnostics.errors() == 1);

  DiagnosticEngine of_folder;
  kernel.input.path = kernel.folder.path();
  CHECK(preprocess(kernel.input, of_folder).files.empty());
  std::string expected = "error: cannot read `FOLDER`: it is a directory, not a regular file\n";
  CHECK(of_folder.text() == expected.replace(expected.find("FOLDER"), 6, kernel.input.path));

  DiagnosticEngine of_nothing;
  kernel.input.path += "/none.tc";
  preprocess(kernel.input, of_nothing);
  CHECK(texts_of(of_nothing.text(), "error") ==
        std::vector<std::string>{"cannot read `" + kernel.input.path +
                                 "`: No such file or directory"});
}

TEST_CASE("preprocess: token knows whether blanks precede it") {
  KernelFile kernel("a+ b");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  CHECK_FALSE(source.tokens[1].spaced);
  CHECK(source.tokens[2].spaced);
}

// --- Limits
// ---------------------------------------------------------------------------------------

namespace {

// The errors for a text, and whether the preprocessor stopped there.
struct Read {
  std::vector<std::string> errors;
  bool is_all;
};

Read read(const std::string &text) {
  KernelFile kernel(text);
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(kernel.input, diagnostics);
  return {texts_of(diagnostics.text(), "error"), source.is_too_much};
}

} // namespace

TEST_CASE("preprocess: stops files that include each other") {
  TemporaryFolder folder;
  FrontEndInput input;
  input.path = folder.write("a.tc", "#include \"b.tc\"\nint a;\n");
  folder.write("b.tc", "#include \"a.tc\"\nint b;\n");
  DiagnosticEngine diagnostics;
  Preprocessed source = preprocess(input, diagnostics);
  CHECK(texts_of(diagnostics.text(), "error") ==
        std::vector<std::string>{"`#include` is nested more than 64 levels deep"});
  CHECK(texts_of(diagnostics.text(), "note").back() ==
        "add `#pragma once` to the file to include it only once");
  CHECK(source.is_too_much);

  folder.write("f0.h", "int last;\n");
  for (int i = 1; i < 63; i++)
    folder.write("f" + std::to_string(i) + ".h", "#include \"f" + std::to_string(i - 1) + ".h\"\n");
  input.path = folder.write("c.tc", "#include \"f62.h\"\n");
  DiagnosticEngine others;
  CHECK(spell(preprocess(input, others).tokens) == "int last ;");
  CHECK(others.text() == "");
}

TEST_CASE("preprocess: rejects a file that is too large") {
  TemporaryFolder folder;
  FrontEndInput input;
  std::string large = "// " + std::string(17 << 20, 'x') + "\n";
  input.path = folder.write("a.tc", large);
  DiagnosticEngine diagnostics;
  preprocess(input, diagnostics);
  CHECK(diagnostics.text() == "error: cannot read `" + input.path + "`: file exceeds 16 MiB\n");

  folder.write("large.h", large);
  input.path = folder.write("b.tc", "#include \"large.h\"\n");
  DiagnosticEngine of_include;
  preprocess(input, of_include);
  CHECK(of_include.text().find("File too large") != std::string::npos);

  input.path = folder.write("c.tc", std::string(1 << 20, ' ') + "x\n");
  DiagnosticEngine small;
  CHECK(preprocess(input, small).tokens.size() == 2);
  CHECK(small.text() == "");
}

TEST_CASE("preprocess: rejects invisible characters, also in comments") {
  for (std::string text : {"int a; // \xe2\x80\xae", "int a\xe2\x80\x8b;", "/* \xe2\x81\xa6 */",
                           "\"\xef\xbb\xbf\"", "\xd8\x9c"}) {
    CAPTURE(text);
    Read source = read(text);
    REQUIRE(source.errors.size() == 1);
    CHECK(source.errors[0].rfind("invisible character U+", 0) == 0);
    CHECK(source.is_all);
  }
  CHECK(read(std::string("a \0 b", 5)).errors ==
        std::vector<std::string>{"invisible character U+0000"});
  CHECK(tokens_of("\xef\xbb\xbf"
                  "a // \xc3\xa4 \xe2\x82\xac\r\n") == "a"); // a BOM, letters, CRLF
}
