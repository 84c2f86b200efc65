// Tests emit/cpp_text.cpp: no text of a kernel ends a literal, a comment or a name.

#include "emit/cpp_text.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

TEST_CASE("cpp_identifier: keeps valid names") {
  for (const char *name : {"dot", "A", "lda", "matmul_f16", "_x", "Class"})
    CHECK(cpp_identifier(name) == name);
}

TEST_CASE("cpp_identifier: changes keywords and invalid characters") {
  struct {
    const char *name, *expected;
  } cases[] = {
      {"class", "class_"},
      {"new", "new_"},
      {"co_await", "co_await_"},
      {"errno", "errno_"},
      {"linux", "linux_"},
      {"NULL", "NULL_"},
      {"std", "std_"},
      {"tritonc", "tritonc_"},
      {"3x3", "_3x3"},
      {"a-b c", "a_b_c"},
      {"", "_"},
      {"a\"*/b", "a___b"},
      {"caf\xc3\xa9", "caf__"},
  };
  for (auto &c : cases)
    CHECK(cpp_identifier(c.name) == c.expected);
  CHECK(cpp_identifier("args", "args params") == "args_");
  CHECK(cpp_identifier("arg", "args params") == "arg");
}

TEST_CASE("string_literal: escapes all special bytes") {
  struct {
    std::string bytes, expected;
  } cases[] = {
      {"plain", R"("plain")"},
      {"", R"("")"},
      {"a\"b\\c", R"("a\42b\134c")"},
      {"?\?/", R"("\77\77/")"}, // avoids a trigraph
      {std::string("\0x", 2), R"("\0x")"},
      {std::string("\0"
                   "1",
                   2),
       R"("\0001")"}, // a following digit must not extend the escape
      {std::string("\1"
                   "8",
                   2),
       R"("\0018")"}, // the same for a digit that is not octal
      {"\n\t", R"("\12\11")"},
      {"\xff"
       "9",
       R"("\3779")"},
      {"\x7f", R"("\177")"},
  };
  for (auto &c : cases)
    CHECK(string_literal(c.bytes) == c.expected);
}

TEST_CASE("string_literal: splits a long literal into pieces of 4 KiB") {
  std::string zeros(10000, '\0');
  std::string text = string_literal(zeros, "  ");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("\"\n  \"") != std::string::npos);
  // A digit at the start of a piece must not extend the last escape of the piece before it.
  std::string before_digit = std::string(4095, 'a') + std::string(1, '\1') + "7";
  CHECK(string_literal(before_digit).find("a\\1\"\n\"7\"") != std::string::npos);
}

TEST_CASE("comment_text: keeps a comment in one line, left to right") {
  CHECK(comment_text("M / TM") == "M / TM");
  CHECK(comment_text("a\nint b;") == "a.int b;");
  CHECK(comment_text("a\r\v\f") == "a...");
  CHECK(comment_text("ends in \\") == "ends in /");
  CHECK(comment_text("?\?/") == "...");
  CHECK(comment_text("\xe2\x80\xae") == "..."); // right-to-left override
}
