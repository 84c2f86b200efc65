// Tests analysis/register_pressure.cpp. The layout gives each thread 32 elements of a tile.

#include "analysis/layouts.h"
#include "analysis/register_pressure.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

ir::Function function_of(const std::string &body) {
  const ir::Shape shape = {64, 64};
  return parsed("layout #0 [64,64] " + blocked_layout(shape, {1, 0}, 4, 4).text() +
                "\nfunc @f(%n: i32, %p: ptr<f32>) warps 4 {\n"
                "  %zero = constant {number = 0.0} : f32\n"
                "  %zeros = splat %zero : f32[64,64] #0\n"
                "  %a = exp %zeros : f32[64,64] #0\n" +
                body + "  return\n}");
}

std::string names_of(const Pressure &pressure) {
  std::string names;
  for (const HeldTile &tile : pressure.tiles)
    names += (names.empty() ? "" : " ") + tile.value->name + ":" + std::to_string(tile.registers);
  return names;
}

} // namespace

TEST_CASE("highest_pressure: operands overlap, a result reuses registers") {
  ir::Function fn = function_of("  %b = exp %a : f32[64,64] #0\n"
                                "  %c = add %a, %b : f32[64,64] #0\n"
                                "  %d = exp %c : f32[64,64] #0\n");
  Pressure pressure = highest_pressure(fn);
  CHECK(pressure.registers == 64);
  REQUIRE(pressure.at);
  CHECK(pressure.at->is(ir::Opcode::add_));
  CHECK(names_of(pressure) == "a:32 b:32");
}

TEST_CASE("highest_pressure: value used in a loop is live to its end") {
  std::string loop = "  %s = for_loop %n, %a : f32[64,64] #0 {\n"
                     "    (%t: i32, %sum: f32[64,64] #0)\n"
                     "    %x = exp %OTHER : f32[64,64] #0\n"
                     "    %y = exp %x : f32[64,64] #0\n"
                     "    %next = add %sum, %y : f32[64,64] #0\n"
                     "    yield %next\n"
                     "  }\n"
                     "  %r = exp %s : f32[64,64] #0\n";
  auto held = [&](const std::string &other) {
    std::string text = loop;
    text.replace(text.find("OTHER"), 5, other);
    return names_of(highest_pressure(function_of("  %b = exp %a : f32[64,64] #0\n" + text)));
  };
  CHECK(held("b") == "b:32 sum:32 x:32");
  CHECK(held("sum") == "sum:32 x:32"); // no value from before the loop
}

TEST_CASE("highest_pressure: trans and constants take no registers") {
  ir::Function fn = function_of("  %b = trans %a {perm = [1,0]} : f32[64,64] #0\n"
                                "  %c = add %b, %zeros : f32[64,64] #0\n"
                                "  %d = exp %c : f32[64,64] #0\n");
  Pressure pressure = highest_pressure(fn);
  CHECK(pressure.registers == 32);
  CHECK(names_of(pressure) == "a:32");
}

TEST_CASE("highest_pressure: is 0 without tiles") {
  ir::Function fn = parsed("func @f(%n: i32) {\n  return\n}");
  CHECK(highest_pressure(fn).at == nullptr);
  CHECK(highest_pressure(fn).registers == 0);
}
