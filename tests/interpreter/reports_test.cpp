// Tests interpreter/interpreter.cpp: each kind of report, and programs without reports.

#include "interpreter/programs.h"

#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

const std::string shifted = "%one = constant {value = 1} : i32\n %ones = splat %one : i32[8]\n"
                            "%far = addptr %p, %ones : ptr<f32>[8]\n";
// %u is poison.
const std::string unknown = "%no = constant {value = 0} : i1\n %u = load %x, %no : i32\n";

} // namespace

TEST_CASE("reports: none for a correct program") {
  Ran ran("%a = load %p : f32[8]\n store %q, %a");
  CHECK(ran.result.reports.empty());
  CHECK(ran.result.steps == 9);
}

TEST_CASE("reports: a read past the end names op, program, element") {
  Ran ran(shifted + "%a = load %far : f32[8]\n %ns = splat %n : i32[8]\n"
                    "%m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n store %q, %a, %m");
  REQUIRE(ran.result.reports.size() == 1);
  const Report &report = ran.result.reports[0];
  CHECK(report.kind == Kind::out_of_bounds);
  CHECK(report.element == 7);
  CHECK(report.program == std::array{0, 0, 0});
  CHECK(ran.text() ==
        "program (0, 0, 0), element 7 of `%a = load %far : f32[8]`: reads x[8], which "
        "has 8 elements\n");
}

TEST_CASE("reports: a write past the end and before the start") {
  Ran past(shifted + "%a = load %p : f32[8]\n store %far, %a");
  CHECK(past.kinds() == std::vector{Kind::out_of_bounds});
  CHECK(past.memory[0].elements[7].number == 6); // the other elements are written
  Ran before("%a = load %x : f32\n %k = constant {value = -1} : i32\n"
             "%r = addptr %y, %k : ptr<f32>\n store %r, %a");
  CHECK(before.kinds() == std::vector{Kind::out_of_bounds});
}

TEST_CASE("reports: an access with another type") {
  ir::Function fn =
      parsed("func @f(%x: ptr<i32>) {\n%a = load %x : i32\n store %x, %a\n return\n}");
  Memory memory;
  Launch launch;
  launch.arguments = {Element::pointer(memory.add("x", ir::Elem::f32, {1}))};
  Result result = run(fn, launch, memory);
  REQUIRE(result.reports.size() == 2);
  CHECK(result.reports[0].kind == Kind::wrong_type);
  CHECK(memory[0].elements[0].number == 1);
}

TEST_CASE("reports: poison pointer, mask or stage") {
  CHECK(Ran(unknown + "%r = addptr %x, %u : ptr<i32>\n %a = load %r : i32", "i32").kinds() ==
        std::vector{Kind::poison_address});
  CHECK(Ran(unknown + "%c = cmp %u, %zero {pred = \"eq\"} : i1\n %a = load %x, %c : i32", "i32")
            .kinds() == std::vector{Kind::poison_address});
  CHECK(Ran(unknown + "%s = shared_alloc : shared<i32>[2,8]\n"
                      "%a = shared_load %s, %u {origin = [0], perm = [0]} : i32[8]",
            "i32")
            .kinds() == std::vector{Kind::poison_address});
}

TEST_CASE("reports: a poison condition ends only its program") {
  Launch launch;
  launch.grid = {2, 1, 1};
  const std::string branch =
      "%c = cmp %u, %zero {pred = \"eq\"} : i1\n"
      "if_else %c {\n yield\n} {\n yield\n}\n %a = load %x : i32\n store %y, %a";
  Ran ran(unknown + branch, "i32", "", launch);
  CHECK(ran.kinds() == std::vector(2, Kind::poison_condition));
  CHECK(ran.result.reports[1].program == std::array{1, 0, 0});
  CHECK(ran.memory[1].elements[0].poison);
  Ran loop(unknown + "%r = for_loop %u, %zero : i32 {\n(%t: i32, %k: i32)\n yield %k\n}", "i32");
  CHECK(loop.kinds() == std::vector{Kind::poison_condition});
  Ran conditional(unknown +
                      "%r = while_loop %u : i32 {\n(%k: i32)\n"
                      "%c = cmp %k, %zero {pred = \"eq\"} : i1\n condition %c\n} {\n(%l: i32)\n"
                      " yield %l\n}",
                  "i32");
  CHECK(conditional.kinds() == std::vector{Kind::poison_condition});
}

TEST_CASE("reports: stored poison; none for unused poison") {
  Ran ran(unknown + "store %y, %u", "i32");
  CHECK(ran.kinds() == std::vector{Kind::poison_store});
  CHECK(Ran(unknown + "%v = add %u, %n : i32\n store %y, %n", "i32").kinds().empty());
  // One report per tile, about its first element.
  Ran tile("%a = load %q : f32[8]\n store %p, %a");
  REQUIRE(tile.kinds() == std::vector{Kind::poison_store});
  CHECK(tile.result.reports[0].element == 0);
}

TEST_CASE("reports: a stage out of range") {
  Ran ran("%s = shared_alloc : shared<f32>[3,8]\n %a = load %p : f32[8]\n shared_store %a, %s, %n");
  CHECK(ran.kinds() == std::vector{Kind::bad_slot});
  CHECK(ran.text().find("stage 3 of 3") != std::string::npos);
}

TEST_CASE("reports: copies without a wait") {
  const std::string copy =
      "%s = shared_alloc : shared<f32>[1,8]\n %z = constant {value = 0} : i64\n"
      "%o = constant {value = 1} : i64\n %yes = constant {value = 1} : i1\n"
      "%v = view %x, %z, %o : view<f32>[8]\n"
      "async_copy %v, %s, %zero, %yes {vector = 1}\n async_commit\n";
  CHECK(Ran(copy).kinds() == std::vector{Kind::copy_not_awaited});
  CHECK(Ran(copy + "async_wait {pending = 0}").kinds().empty());
}

TEST_CASE("max_steps: ends an endless loop and the run") {
  Launch launch;
  launch.grid = {3, 1, 1};
  launch.max_steps = 1000;
  Ran ran("%r = while_loop %n : i32 {\n(%k: i32)\n %c = cmp %n, %zero {pred = \"gt\"} : i1\n"
          "condition %c\n} {\n(%l: i32)\n yield %l\n}",
          "f32", "", launch);
  CHECK(ran.kinds() == std::vector{Kind::too_many_steps});
  CHECK(ran.result.steps == 1000);
}

TEST_CASE("run: rejects a wrong number of arguments") {
  ir::Function fn = parsed("func @f(%x: i32) {\n return\n}");
  Memory memory;
  Result result = run(fn, Launch(), memory);
  REQUIRE(result.reports.size() == 1);
  CHECK(result.reports[0].kind == Kind::invalid_arguments);
  CHECK(result.reports[0].text == "@f has 1 parameters, not 0");
}

TEST_CASE("reports: at most max_reports") {
  Launch launch;
  launch.grid = {5, 1, 1};
  launch.max_reports = 2;
  CHECK(Ran(unknown + "store %y, %u", "i32", "", launch).kinds().size() == 2);
}
