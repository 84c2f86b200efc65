// Tests interpreter/constant_memory.cpp.

#include "interpreter/interpreter.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;

namespace {

// y[0..3], the values that `load` reads at these offsets.
std::vector<double> read(const std::string &constants, const std::string &type,
                         const std::string &offsets, std::vector<uint8_t> filled = {}) {
  ir::Function fn = test::parsed(
      "func @k(%y: ptr<" + type + ">) constants (" + constants +
      ") {\n  %r = range {start = 0} : i32[4]\n" + offsets + "  %v = constant_load %o : " + type +
      "[4]\n  %s = splat %y : ptr<" + type + ">[4]\n  %p = addptr %s, %r : ptr<" + type +
      ">[4]\n  store %p, %v\n  return\n}\n");
  Memory memory;
  Launch launch;
  launch.arguments = {Element::pointer(memory.add_unwritten("y", *ir::elem_named(type), 4))};
  launch.constants = std::move(filled);
  Result result = run(fn, launch, memory);
  REQUIRE(result.reports.empty());
  std::vector<double> values;
  for (const Element &element : memory[0].elements)
    values.push_back(ir::is_float(*ir::elem_named(type)) ? element.number
                                                         : double(element.integer));
  return values;
}

const std::string by_four = "  %c = constant {value = 4} : i32\n  %f = splat %c : i32[4]\n"
                            "  %o = mul %r, %f : i32[4]\n";

} // namespace

TEST_CASE("constant_load: initial values, then zeros") {
  CHECK(read("a: i32[4] at 0 = [5, -6]", "i32", by_four) == std::vector<double>{5, -6, 0, 0});
  CHECK(read("a: f32[4] at 0 = [0.5, 2.0, 0.1]", "f32", by_four) ==
        std::vector<double>{0.5, 2, double(0.1f), 0});
}

TEST_CASE("constant_load: bytes filled by the host") {
  std::vector<uint8_t> bytes(16, 0);
  bytes[0] = 7, bytes[5] = 1, bytes[8] = bytes[9] = bytes[10] = bytes[11] = 255;
  CHECK(read("a: i8[16] at 0 = [1]", "i32", by_four, bytes) == std::vector<double>{7, 256, -1, 0});
}

TEST_CASE("constant_load: several constants, other types") {
  // a has bytes 0 to 15 of the block; b begins at byte 16.
  std::string beyond = by_four + "  %k = constant {value = 16} : i32\n  %l = splat %k : i32[4]\n"
                                 "  %q = add %o, %l : i32[4]\n";
  beyond.replace(beyond.find("%o = "), 5, "%z = ");
  beyond.replace(beyond.find("add %o"), 6, "add %z");
  beyond.replace(beyond.find("%q = "), 5, "%o = ");
  CHECK(read("a: i8[3] at 0, b: f32[4] at 16 = [1.0]", "i32", beyond) ==
        std::vector<double>{0x3f800000, 0, 0, 0});
}

TEST_CASE("constant_load: out-of-bounds offsets wrap around") {
  const std::string around = "  %c = constant {value = 14} : i32\n  %f = splat %c : i32[4]\n"
                             "  %o = mul %r, %f : i32[4]\n"; // 0, 14, 28, 42 of 16
  CHECK(read("a: i32[4] at 0 = [1, 2, 3, 4]", "i32", around) ==
        std::vector<double>{1, 4, 4, 3}); // 0, 12, 12, 8
}

TEST_CASE("constant_load: reports constants of the wrong size") {
  ir::Function fn = test::parsed("func @k() constants (a: i32[4] at 0) {\n  return\n}\n");
  Memory memory;
  Launch launch;
  launch.constants.resize(8);
  CHECK(run(fn, launch, memory).reports.at(0).kind == Report::Kind::invalid_arguments);
  launch.constants.resize(16);
  CHECK(run(fn, launch, memory).reports.empty());
}
