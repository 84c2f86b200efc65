// Tests interpreter/host.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

Ran ran(const std::string &operations, std::array<int, 3> grid, int num_sms = 3) {
  Launch launch;
  launch.grid = grid;
  launch.num_sms = num_sms;
  return Ran("%one = constant {value = 1} : i32\n %two = constant {value = 2} : i32\n" + operations,
             "i32", "", launch);
}

// Stores %v to y[%b].
const std::string store = "%to = addptr %y, %b : ptr<i32>\n store %to, %v\n";
const std::string block = "%b = block_id {axis = 0} : i32\n";

std::vector<double> padded(std::vector<double> values) {
  values.resize(8, std::nan(""));
  return values;
}

void check_y(const Ran &ran, const std::vector<double> &expected) {
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  for (size_t i = 0; i < 8; i++)
    CHECK((y[i] == padded(expected)[i] || (std::isnan(y[i]) && std::isnan(padded(expected)[i]))));
}

} // namespace

TEST_CASE("host: one block per program, with the same index") {
  check_y(ran("%b = program_id {axis = 1} : i32\n %c = block_id {axis = 1} : i32\n"
              "%d = num_blocks {axis = 1} : i32\n %e = mul %c, %d : i32\n"
              "%f = num_programs {axis = 1} : i32\n %v = add %e, %f : i32\n" +
                  store,
              {1, 3, 1}),
          {3, 6, 9});
}

TEST_CASE("launch_blocks: sets the blocks, keeps the program grid") {
  const std::string two_each = "%m = num_sms : i32\n %all = num_programs {axis = 0} : "
                               "i32\n %blocks = min %m, %all : i32\n launch_blocks %blocks\n"
                               "%count = host_value %all : i32\n" +
                               block +
                               "%c = num_blocks {axis = 0} : i32\n %ten = constant {value = 10} : "
                               "i32\n %d = mul %c, %ten : i32\n %v = add %d, %count : i32\n" +
                               store;
  check_y(ran(two_each, {8, 1, 1}, 3), {38, 38, 38});
  check_y(ran(two_each, {8, 1, 1}, 5), {58, 58, 58, 58, 58});
  check_y(ran(two_each, {2, 1, 1}, 5), {22, 22});
  check_y(ran(two_each, {0, 1, 1}, 5), {});
  check_y(ran("launch_blocks %one, %two, %two {cluster = 1}\n %y1 = block_id {axis = 1} : i32\n"
              "%z = block_id {axis = 2} : i32\n %z2 = mul %z, %two : i32\n"
              "%b = add %y1, %z2 : i32\n %v = block_id {axis = 0} : i32\n" +
                  store,
              {1, 1, 1}),
          {0, 0, 0, 0});
}

TEST_CASE("program_id: reported after a launch_blocks") {
  const std::string program =
      "%b = program_id {axis = 0} : i32\n %v = add %b, %two : i32\n" + store;
  check_y(ran("launch_blocks %two\n" + program, {2, 1, 1}), {2, 3});
  Ran fewer = ran("launch_blocks %one\n" + program, {2, 1, 1});
  REQUIRE_FALSE(fewer.kinds().empty());
  CHECK(fewer.kinds()[0] == Kind::no_program);
  CHECK(ran("launch_blocks %two, %one\n" + program, {2, 2, 1}).kinds()[0] == Kind::no_program);
}

TEST_CASE("host_value: the block reads only passed values") {
  const std::string use = "%b = block_id {axis = 0} : i32\n" + store;
  check_y(ran("%m = num_sms : i32\n %v = host_value %m : i32\n" + use, {1, 1, 1}), {3});
  CHECK(ran("%v = num_sms : i32\n" + use, {1, 1, 1}).kinds() == std::vector{Kind::poison_store});
  const std::string grid = "launch_blocks %one\n %g = num_programs {axis = 0} : i32\n";
  check_y(ran(grid + "%v = host_value %g : i32\n" + use, {2, 1, 1}), {2});
  check_y(ran(grid + "%v = add %g, %one : i32\n" + use, {1, 1, 1}), {2});
  CHECK(ran(grid + "%v = add %g, %one : i32\n" + use, {2, 1, 1}).kinds() ==
        std::vector{Kind::poison_store});
}

TEST_CASE("host_value: only integer formulas of host inputs") {
  const std::string use = "%h = host_value %v : i32\n %yes = constant {value = 1} : i1";
  const char *const formulas[] = {
      "%v = mul %n, %two : i32\n",
      "%w = cast %n : i64\n %u = div %w, %w : i64\n %v = cast %u : i32\n",
      "%w = neg %n : i32\n %u = max %w, %one : i32\n %t = rem %u, %n : i32\n %v = sub %t, %n : "
      "i32\n",
      "%w = num_programs {axis = 2} : i32\n %v = host_value %w : i32\n",
  };
  for (const std::string formula : formulas) {
    CAPTURE(formula);
    CHECK(ran(formula + use, {1, 1, 1}).text() == "");
  }
  const char *const others[] = {
      "%v = program_id {axis = 0} : i32\n",
      "%b = block_id {axis = 0} : i32\n %v = add %b, %n : i32\n",
      "%v = num_blocks {axis = 0} : i32\n",
      "%v = load %x : i32\n",
      "%f = constant {number = 1.0} : f32\n %v = cast %f : i32\n",
      "%v = add %n, %n {unsigned = 1} : i32\n",
      "%v = stage_index %n {offset = 0, stages = 2} : i32\n",
      "%v = for_loop %n, %one : i32 {\n (%t: i32, %k: i32)\n yield %k\n}\n",
  };
  for (const std::string other : others) {
    CAPTURE(other);
    CHECK(ran(other + use, {1, 1, 1}).kinds() == std::vector{Kind::not_on_host});
    CHECK(ran(other + "launch_blocks %v\n", {1, 1, 1}).kinds()[0] == Kind::not_on_host);
  }
}

TEST_CASE("launch_blocks: reports invalid numbers of blocks") {
  const std::string y = block + "%v = add %b, %one : i32\n" + store;
  auto kinds = [&](const std::string &blocks) { return ran(blocks + y, {4, 1, 1}).kinds(); };
  CHECK(kinds("launch_blocks %two {cluster = 2}\n").empty());
  CHECK(kinds("launch_blocks %n {cluster = 2}\n") == std::vector{Kind::bad_launch});
  CHECK(kinds("%none = sub %one, %one : i32\n launch_blocks %two, %none\n") ==
        std::vector{Kind::bad_launch});
  CHECK(kinds("%none = sub %one, %one : i32\n %u = div %one, %none : i32\n launch_blocks %u\n") ==
        std::vector{Kind::bad_launch});
  Ran none = ran("launch_blocks %n {cluster = 2}\n" + y, {4, 1, 1});
  CHECK(none.text().find("3 blocks in clusters of 2") != std::string::npos);
  CHECK(none.memory[1].elements[0].poison); // no block ran
}

TEST_CASE("launch_requires: reported if it does not hold") {
  check_y(ran("%three = add %one, %two : i32\n launch_requires %n, %three {text = \"a\"}\n %m = "
              "num_sms : i32\n"
              "launch_requires %m, %n {text = \"a\"}\n" +
                  block + "%v = add %b, %one : i32\n" + store,
              {2, 1, 1}),
          {1, 2});
  CHECK(ran("launch_requires %n, %two {text = \"a\"}\n", {2, 1, 1}).kinds() ==
        std::vector{Kind::not_launched});
  CHECK(ran("%m = num_sms : i32\n launch_requires %one, %m {text = \"a\"}\n", {1, 1, 1}).kinds() ==
        std::vector{Kind::not_launched});
  // A division by zero has no value.
  CHECK(ran("%none = sub %one, %one : i32\n %u = div %one, %none : i32\n"
            "launch_requires %u, %u {text = \"a\"}\n",
            {1, 1, 1})
            .kinds() == std::vector{Kind::not_launched});
  CHECK(ran("%id = program_id {axis = 0} : i32\n launch_requires %id, %id {text = \"a\"}\n",
            {1, 1, 1})
            .kinds()[0] == Kind::not_on_host);
}

TEST_CASE("workspace: shared by the launch, sized by the host, poison") {
  const std::string size = "%f = constant {value = 4} : i64\n %w = cast %n : i64\n"
                           "%bytes = mul %f, %w : i64\n";
  auto at = [](const std::string &offset) {
    return "%far = constant {value = " + offset + "} : i32\n %there = addptr %s, %far : ptr<i32>\n";
  };
  const std::string s = size + "%s = workspace %bytes : ptr<i32>\n";
  const std::string read = block + "%v = load %there : i32\n" + store;
  check_y(ran(s + at("2") + "store %there, %two\n" + read, {1, 1, 1}), {2});
  CHECK(ran(s + at("2") + read, {1, 1, 1}).kinds() == std::vector{Kind::poison_store});
  CHECK(ran(s + at("3") + read, {1, 1, 1}).kinds() ==
        std::vector{Kind::out_of_bounds, Kind::poison_store});
  // It may hold values that were never there.
  CHECK(ran(s + at("2") + "%none = load %there : i32\n store %there, %none\n", {1, 1, 1})
            .kinds()
            .empty());
  // Blocks share it.
  check_y(ran(s + at("2") +
                  "%id = block_id {axis = 0} : i32\n %none = sub %one, %one : i32\n"
                  "%is_first = cmp %id, %none {pred = \"eq\"} : i1\n"
                  "if_else %is_first {\n store %there, %two\n yield\n} {\n yield\n}\n" +
                  read,
              {2, 1, 1}),
          {2, 2});
  auto of_bytes = [&](const std::string &bytes) {
    return ran("%bytes = constant {value = " + bytes +
                   "} : i64\n%s = workspace %bytes : ptr<i32>\n",
               {1, 1, 1})
        .kinds();
  };
  CHECK(of_bytes("0").empty());
  for (const char *bytes : {"-4", "6"}) // less than nothing, or a part of an element
    CHECK(of_bytes(bytes) == std::vector{Kind::bad_launch});
}
