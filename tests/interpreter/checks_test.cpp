// Tests interpreter/checks.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;
using Lines = std::vector<std::string>;

namespace {

// %m is true for the first three elements, %no is false, %u is poison.
const std::string values = "%ns = splat %n : i32[8]\n %m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n"
                           "%no = constant {value = 0} : i1\n %yes = constant {value = 1} : i1\n";

} // namespace

TEST_CASE("print: shows text and values like the emulator") {
  Ran ran("%a = load %p : f32[8]\n %s = load %x : f32\n"
          "print %a, %n {text = \"a = {}, n = {u}\"}\n print {text = \"{{}}\"}\n"
          "print %s {text = \"{}\"}");
  CHECK(ran.kinds().empty());
  CHECK(ran.result.printed == Lines{"program (0, 0, 0): a = [0, 1, 2, 3, 4, 5, 6, 7], n = 3",
                                    "program (0, 0, 0): {}", "program (0, 0, 0): 0"});
}

TEST_CASE("print: shows poison as ?, without a report") {
  Ran ran(values + "%a = load %p, %m : f32[8]\n print %a {text = \"{}\"}");
  CHECK(ran.kinds().empty());
  CHECK(ran.result.printed == Lines{"program (0, 0, 0): [0, 1, 2, ?, ?, ?, ?, ?]"});
}

TEST_CASE("print: each program, each execution") {
  Launch launch;
  launch.grid = {2, 1, 1};
  const std::string loop = "%r = for_loop %n, %zero : i32 {\n(%t: i32, %k: i32)\n"
                           "print %t {text = \"{}\"}\n yield %k\n}";
  CHECK(Ran(loop, "f32", "", launch).result.printed ==
        Lines{"program (0, 0, 0): 0", "program (0, 0, 0): 1", "program (0, 0, 0): 2",
              "program (1, 0, 0): 0", "program (1, 0, 0): 1", "program (1, 0, 0): 2"});
  launch.max_lines = 2;
  CHECK(Ran(loop, "f32", "", launch).result.printed.size() == 2);
}

TEST_CASE("assert: no report when it holds") {
  Ran ran(values +
              "assert %yes {text = \"a\"}\n%three = constant {value = 8} : i32\n"
              "%eight = splat %three : i32[8]\n %all = cmp %i, %eight {pred = \"lt\"} : i1[8]\n"
              "assert %all {text = \"b\"}\n store %q, %i",
          "i32");
  CHECK(ran.kinds().empty());
  CHECK(ran.y()[7] == 7);
}

TEST_CASE("assert: a failure ends only its program") {
  Launch launch;
  launch.grid = {2, 1, 1};
  Ran ran(values + "assert %no {text = \"assertion `no` failed\"}\n store %q, %i", "i32", "",
          launch);
  CHECK(ran.kinds() == std::vector(2, Kind::assertion_failed));
  CHECK(ran.result.reports[0].element == -1);
  CHECK(ran.memory[1].elements[0].poison);
  CHECK(ran.text().find("assertion `no` failed\n") != std::string::npos);
}

TEST_CASE("assert: names the first failing element of a tile") {
  Ran ran(values + "assert %m {text = \"too large\"}");
  CHECK(ran.kinds() == std::vector{Kind::assertion_failed});
  CHECK(ran.result.reports[0].element == 3);
  CHECK(ran.result.reports[0].text == "too large");
}

TEST_CASE("assert: reports a poison condition") {
  Ran ran(values + "%a = load %p, %m : f32[8]\n %b = cmp %a, %a {pred = \"eq\"} : i1[8]\n"
                   "assert %b {text = \"\"}");
  CHECK(ran.kinds() == std::vector{Kind::poison_condition});
  CHECK(ran.result.reports[0].element == 3);
}
