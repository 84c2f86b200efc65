// Tests emit/cpp_text.cpp: nothing from a kernel ends a literal, a comment or a name.

#include "emit/cpp_text.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

TEST_CASE("names that C++ takes stay") {
  for (const char *name : {"dot", "A", "lda", "matmul_f16", "_x", "Class"})
    CHECK(cpp_identifier(name) == name);
}

TEST_CASE("names that C++ does not take are changed, visibly") {
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

TEST_CASE("a literal means its bytes") {
  struct {
    std::string bytes, expected;
  } cases[] = {
      {"plain", R"("plain")"},
      {"", R"("")"},
      {"a\"b\\c", R"("a\42b\134c")"},
      {"?\?/", R"("\77\77/")"}, // else a trigraph
      {std::string("\0x", 2), R"("\0x")"},
      {std::string("\0"
                   "1",
                   2),
       R"("\0001")"}, // a digit must not join the escape
      {std::string("\1"
                   "8",
                   2),
       R"("\0018")"}, // nor one that isn't octal
      {"\n\t", R"("\12\11")"},
      {"\xff"
       "9",
       R"("\3779")"},
      {"\x7f", R"("\177")"},
  };
  for (auto &c : cases)
    CHECK(string_literal(c.bytes) == c.expected);
}

TEST_CASE("a long literal is written in pieces of 4 KiB") {
  std::string zeros(10000, '\0');
  std::string text = string_literal(zeros, "  ");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("\"\n  \"") != std::string::npos);
  // A piece's last escape is not lengthened by a digit in the next one.
  std::string before_digit = std::string(4095, 'a') + std::string(1, '\1') + "7";
  CHECK(string_literal(before_digit).find("a\\1\"\n\"7\"") != std::string::npos);
}

TEST_CASE("a comment stays one line, to be read from left to right") {
  CHECK(comment_text("M / TM") == "M / TM");
  CHECK(comment_text("a\nint b;") == "a.int b;");
  CHECK(comment_text("a\r\v\f") == "a...");
  CHECK(comment_text("ends in \\") == "ends in /");
  CHECK(comment_text("?\?/") == "...");
  CHECK(comment_text("\xe2\x80\xae") == "..."); // right-to-left override
}
