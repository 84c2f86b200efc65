// Tests interpreter/partials.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// Program 0 runs `first`, program 1 `second`. %a is x: 0, 1, 2...
Ran programs(const std::string &first, const std::string &second) {
  Launch launch;
  launch.grid = {2, 1, 1};
  return Ran("%id = program_id {axis = 0} : i32\n"
             "%is_first = cmp %id, %zero {pred = \"eq\"} : i1\n"
             "%a = load %p : f32[8]\n"
             "if_else %is_first {\n" +
                 first + "\nyield\n} {\n" + second + "\nyield\n}",
             "f32", "", launch);
}

const std::string leave = "store_partial %y, %a\n barrier\n signal %x";
const std::string add =
    "wait_signal %x\n barrier\n %sum = add_partial %y, %a : f32[8]\n store %q, %sum";

} // namespace

TEST_CASE("add_partial: adds what another block has stored") {
  Ran ran = programs(leave, add);
  CHECK(ran.text() == "");
  CHECK(ran.y() == std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("wait_signal: takes the signal of a block before it") {
  CHECK(programs(leave, add + "\nwait_signal %x").kinds() == std::vector{Kind::deadlock});
  CHECK(programs(leave, add + "\nsignal %x").kinds().empty());
  CHECK(programs(leave + "\nsignal %x", add).kinds() == std::vector{Kind::deadlock});
  CHECK(programs("", "wait_signal %x").kinds() == std::vector{Kind::deadlock});
  CHECK(programs("wait_signal %x", "signal %x").kinds() == std::vector{Kind::deadlock});
}

TEST_CASE("store_partial, add_partial: stay inside of a buffer") {
  const std::string behind = "%four = constant {value = 4} : i32\n"
                             "%at = addptr %y, %four : ptr<f32>\n";
  auto is_outside = [&](const std::string &operation) {
    const std::vector<Kind> kinds = programs(behind + operation, "").kinds();
    return !kinds.empty() && kinds[0] == Kind::out_of_bounds;
  };
  CHECK(is_outside("store_partial %at, %a"));
  CHECK(is_outside("%sum = add_partial %at, %a : f32[8]"));
}
