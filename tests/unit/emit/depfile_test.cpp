// Tests emit/report/depfile.cpp: the escapes of Make, Ninja and CMake.

#include "emit/report/depfile.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("depfile: sorts dependencies and removes duplicates") {
  CHECK(*depfile({"b.stamp", "b.hpp"}, {"k.tc", "a.tch", "k.tc"}) ==
        "b.stamp b.hpp: \\\n  a.tch \\\n  k.tc\n");
  CHECK(*depfile({"b.stamp"}, {}) == "b.stamp:\n");
}

TEST_CASE("depfile: escapes special characters") {
  struct {
    const char *path, *expected;
  } cases[] = {
      {"/a b/c", "/a\\ b/c"},
      {"a#b", "a\\#b"},
      {"a$b", "a$$b"},
      {"a\tb", "a\\\tb"},
      {"a\\b", "a\\b"},       // a literal backslash
      {"a\\ b", "a\\\\\\ b"}, // doubled before an escaped blank
      {"\xc3\xa9;'(&)%*~", "\xc3\xa9;'(&)%*~"},
  };
  for (auto &c : cases) {
    CAPTURE(c.path);
    CHECK(*depfile({"t"}, {c.path}) == std::string("t: \\\n  ") + c.expected + "\n");
    CHECK(*depfile({c.path}, {}) == std::string(c.expected) + ":\n");
  }
}

TEST_CASE("depfile: rejects a name with a line break") {
  Result<std::string> result = depfile({"t"}, {"a\nb"});
  REQUIRE_FALSE(result);
  CHECK(result.error().id == Message::line_break_in_path);
}
