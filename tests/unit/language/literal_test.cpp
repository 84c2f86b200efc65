// Tests language/literal.cpp.

#include "language/literal.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("parse_number: integers have C types and values") {
  struct {
    const char *text;
    Scalar scalar;
    uint64_t value;
  } cases[] = {
      {"0", Scalar::int32, 0},
      {"2147483647", Scalar::int32, 2147483647},
      {"2147483648", Scalar::int64, 2147483648},
      {"0x7fffffff", Scalar::int32, 0x7fffffff},
      {"0xffffffff", Scalar::uint32, 0xffffffff},
      {"0x1ffffffff", Scalar::int64, 0x1ffffffff},
      {"18446744073709551615", Scalar::uint64, 18446744073709551615u},
      {"017", Scalar::int32, 15},
      {"0b101", Scalar::int32, 5},
      {"1'000", Scalar::int32, 1000},
      {"1u", Scalar::uint32, 1},
      {"1L", Scalar::int64, 1},
      {"1ull", Scalar::uint64, 1},
  };
  for (const auto &[text, scalar, value] : cases) {
    CAPTURE(text);
    auto parsed = parse_number(text);
    REQUIRE(std::holds_alternative<Number>(parsed));
    CHECK(std::get<Number>(parsed).scalar == scalar);
    CHECK(std::get<Number>(parsed).integer == value);
  }
}

TEST_CASE("parse_number: real numbers round once") {
  struct {
    const char *text;
    Scalar scalar;
    double value;
  } cases[] = {
      {"1.5", Scalar::double_, 1.5},     {"1.f", Scalar::float_, 1},
      {".5F", Scalar::float_, 0.5},      {"1e3", Scalar::double_, 1000},
      {"0.1", Scalar::double_, 0.1},     {"0.1f", Scalar::float_, double(0.1f)},
      {"0x1p-2", Scalar::double_, 0.25}, {"16777217.0000001f", Scalar::float_, 16777218},
  };
  for (const auto &[text, scalar, value] : cases) {
    CAPTURE(text);
    auto parsed = parse_number(text);
    REQUIRE(std::holds_alternative<Number>(parsed));
    CHECK(std::get<Number>(parsed).scalar == scalar);
    CHECK(std::get<Number>(parsed).real == value);
  }
}

TEST_CASE("parse_number: rejects malformed numbers") {
  for (const char *text : {"12abc", "1.2.3", "08", "0b2", "0x", "1uu", "1e", "0...TM", "1.0g"}) {
    CAPTURE(text);
    auto parsed = parse_number(text);
    REQUIRE(std::holds_alternative<Message>(parsed));
    CHECK(std::get<Message>(parsed) == Message::bad_number);
  }
  CHECK(std::get<Message>(parse_number("18446744073709551616")) == Message::number_too_large);
  CHECK(std::get<Message>(parse_number("1e999")) == Message::number_too_large);
}

TEST_CASE("parse_character: returns the character code") {
  CHECK(parse_character("'a'") == 'a');
  CHECK(parse_character("'\\n'") == '\n');
  CHECK(parse_character("'\\0'") == 0);
  CHECK(parse_character("'\\x41'") == 'A');
  CHECK(parse_character("'\\101'") == 'A');
  CHECK(parse_character("'\\?'") == '?');
  CHECK_FALSE(parse_character("''"));
  CHECK_FALSE(parse_character("'ab'"));
  CHECK_FALSE(parse_character("'\\q'"));
  CHECK_FALSE(parse_character("'\\x'"));
  CHECK_FALSE(parse_character("'\\400'"));
  CHECK_FALSE(parse_character("'\\1011'"));
}

TEST_CASE("parse_string: replaces escapes") {
  CHECK(parse_string("\"a b\"") == "a b");
  CHECK(parse_string("\"\"") == "");
  CHECK(parse_string("\"\\\"\\\\\\t'\"") == "\"\\\t'");
  CHECK(parse_string("\"\\1011\\x41g\"") == "A1Ag");
  CHECK_FALSE(parse_string("\"\\q\""));
  CHECK_FALSE(parse_string("\"\\\""));
  CHECK_FALSE(parse_string("u8\"a\""));
}
