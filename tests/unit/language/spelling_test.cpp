// Tests language/spelling.cpp.

#include "language/spelling.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("edit_distance: insert, delete, replace and swap count 1") {
  CHECK(edit_distance("return", "return") == 0);
  CHECK(edit_distance("retturn", "return") == 1);
  CHECK(edit_distance("retrn", "return") == 1);
  CHECK(edit_distance("rexurn", "return") == 1);
  CHECK(edit_distance("retrun", "return") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "xyz") == 3);
}

TEST_CASE("is_misspelt: short names must be closer") {
  CHECK(is_misspelt("whlie", "while"));
  CHECK(is_misspelt("fro", "for"));
  CHECK_FALSE(is_misspelt("xx", "xy"));
  CHECK_FALSE(is_misspelt("while", "while"));
  CHECK_FALSE(is_misspelt("white", "wh"));
  CHECK_FALSE(is_misspelt("abxy", "abcd"));
  CHECK(is_misspelt("atomicAdd", "atomic_add"));
}

TEST_CASE("nearest: returns the single nearest name") {
  CHECK(nearest("argmx", {"argmin", "argmax", "max"}) == "argmax");
  CHECK(nearest("sizd", {"size", "side"}) == "size"); // `side` is two letters away
  CHECK_FALSE(nearest("tine", {"time", "line"}));
  CHECK(nearest("time", {"tine"}) == "tine");
  CHECK_FALSE(nearest("rows", {"columns"}));
  CHECK_FALSE(nearest("rows", {}));
  CHECK(nearest("colums", {"columns", "columns"}) == "columns"); // same name in two scopes
}
