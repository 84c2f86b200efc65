// Tests tests/bench/json.cpp.

#include "json.h"

#include <doctest/doctest.h>

#include <cmath>

using bench::Json;

TEST_CASE("Json: one line per member and per array element") {
  Json json;
  json.begin_object();
  json.field("name", "a");
  json.begin_array("rows");
  for (int i = 1; i <= 2; i++) {
    json.begin_object();
    json.field("n", i);
    json.begin_array("times");
    json.value(0.5);
    json.value(1e-9);
    json.end();
    json.end();
  }
  json.end();
  json.end();
  CHECK(json.text() == R"({
  "name": "a",
  "rows": [
    {"n": 1, "times": [0.5, 1e-09]},
    {"n": 2, "times": [0.5, 1e-09]}
  ]
}
)");
}

TEST_CASE("Json: writes an empty array without a line break") {
  Json json;
  json.begin_array();
  json.end();
  CHECK(json.text() == "[]\n");
}

TEST_CASE("Json: escapes quotes, backslashes and control characters") {
  Json json;
  json.begin_array();
  json.value("a \"b\" \\ \n");
  json.end();
  CHECK(json.text() == "[\n  \"a \\\"b\\\" \\\\ \\u000a\"\n]\n");
}

TEST_CASE("Json: writes NaN as null") {
  Json json;
  json.begin_array();
  json.value(std::nan(""));
  json.end();
  CHECK(json.text() == "[\n  null\n]\n");
}
