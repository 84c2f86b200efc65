// Tests passes/batch_programs.cpp. The folder batch_programs/ has more cases, and
// batch_programs_results_test.cpp interprets batched functions.

#include "matmul_kernel.h"
#include "passes/batch_programs.h"
#include "row_kernel.h"
#include "support/contains.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Whether the pass can batch the kernel. If it can, the function is valid and has no program_id.
bool can_batch(const std::string &operations, int64_t times = 4) {
  ir::Function fn = parsed(row_kernel(operations));
  if (!try_batching(fn, times))
    return false;
  check_rules(fn);
  std::string result = printed(fn);
  CHECK_FALSE(contains(result, "program_id"));
  CHECK(count(result, "launch_blocks") == 1);
  return true;
}

// The shape of %y after the pass.
ir::Shape shape_of_y(const std::string &operations) {
  ir::Function fn = parsed(row_kernel(operations));
  REQUIRE(try_batching(fn, 4));
  check_rules(fn);
  return value_named(fn, "y")->type.shape;
}

} // namespace

TEST_CASE("batch_programs: inserts the axis of the programs before all others") {
  for (const auto &[operations, shape] : row_operations()) {
    CAPTURE(operations);
    CHECK(can_batch(operations));
    CHECK(shape_of_y(operations) == shape);
  }
}

TEST_CASE("batch_programs: moves the axes of an operation behind the axis of the programs") {
  ir::Function fn = parsed(row_kernel(R"(
      %r = reshape %x : f32[8,4]
      %t = trans %r {perm = [1,0]} : f32[4,8]
      %c = scan %t {axis = 1, op = "add"} : f32[4,8]
      %m = reduce %c {axis = 1, op = "max"} : f32[4]
      %e = expand %m {axis = 1} : f32[4,1]
      %b = broadcast %e : f32[4,8]
      %y = reshape %b : f32[32]
      store %w, %y)"));
  REQUIRE(try_batching(fn, 2));
  check_rules(fn);
  auto axis = [&](const char *name) { return value_named(fn, name)->op->get(ir::attr::axis_); };
  CHECK(axis("c") == 2);
  CHECK(axis("m") == 2);
  CHECK(axis("e") == 2);
  CHECK(value_named(fn, "t")->op->get(ir::attr::perm_) == std::vector<int64_t>{0, 2, 1});
}

TEST_CASE("batch_programs: a value that is the same for all programs keeps its type") {
  ir::Function fn = parsed(row_kernel("%twice = add %same, %same : f32[32]\n"
                                      "%y = mul %x, %twice : f32[32]\n store %w, %y"));
  REQUIRE(try_batching(fn, 8));
  check_rules(fn);
  CHECK(value_named(fn, "same")->type.shape == ir::Shape{32});
  CHECK(value_named(fn, "same")->op->operands.size() == 1); // no mask
  CHECK(value_named(fn, "twice")->type.shape == ir::Shape{32});
  CHECK(value_named(fn, "x")->op->operands.size() == 3);
  CHECK(value_named(fn, "y")->type.shape == ir::Shape{8, 32});
}

TEST_CASE("batch_programs: a loop carries the tiles and scalars of all programs") {
  ir::Function fn = parsed(row_kernel(R"(
      %last, %sum, %top, %at = for_loop %n, %same, %same, %none, %f : f32[32], f32[32], f32, i64 {
        (%t: i32, %twice: f32[32], %acc: f32[32], %max: f32, %place: i64)
        %more = add %acc, %x : f32[32]
        %larger = max %max, %s : f32
        %double = add %twice, %twice : f32[32]
        %next = add %place, %one : i64
        yield %double, %more, %larger, %next
      }
      %es = splat %top : f32[32]
      %y = add %sum, %es : f32[32]
      %z = add %y, %last : f32[32]
      %c.v = view %C, %at, %one : view<f32>[32]
      store %c.v, %z)"));
  REQUIRE(try_batching(fn, 4));
  check_rules(fn);
  auto shape = [&](const char *name) { return value_named(fn, name)->type.shape; };
  CHECK(shape("last") == ir::Shape{32});
  CHECK(shape("acc") == ir::Shape{4, 32}); // the start is the same for all programs
  CHECK(shape("sum") == ir::Shape{4, 32});
  CHECK(shape("top") == ir::Shape{4});
  CHECK(shape("at") == ir::Shape{4}); // it is no formula of the program
}

TEST_CASE("batch_programs: branches on a condition that is the same for all programs") {
  const std::string branch = R"(
      %y, %z = if_else CONDITION : f32[32], i32 {
        %a = add %x, %same : f32[32]
        yield %a, %p
      } {
        yield %same, %two
      }
      store %w, %y
      store %to.int, %z)";
  CHECK(can_batch(with(branch, "CONDITION", "%odd")));
  CHECK(can_batch("if_else %odd {\n store %w, %x\n yield\n } {\n yield\n }"));
  ir::Function fn = parsed(row_kernel(with(branch, "CONDITION", "%odd")));
  REQUIRE(try_batching(fn, 4));
  CHECK(value_named(fn, "y")->type.shape == ir::Shape{4, 32});
  CHECK(value_named(fn, "z")->type.shape == ir::Shape{4});
}

TEST_CASE("batch_programs: accepts addresses that are not linear in the program") {
  // A label is part of the address.
  const std::string label = "%l = cast %label : i64\n";
  CHECK(can_batch(label + "%u = view %A, %l, %one : view<f32>[32]\n %y = load %u : f32[32]\n"
                          "store %w, %y"));
  CHECK(can_batch(label + "%at = add %f, %l : i64\n %u = view %A, %at, %ld : view<f32>[32]\n"
                          "%y = load %u : f32[32]\n store %u, %y"));
  CHECK(can_batch(label + "%q = addptr %A, %l : ptr<f32>\n %y = load %q : f32\n store %q, %y"));
  // Pointers that are a tile: a gather.
  CHECK(can_batch("%As = splat %A : ptr<f32>[32]\n %j = cast %x : i32[32]\n"
                  "%q = addptr %As, %j : ptr<f32>[32]\n %y = load %q : f32[32]\n store %w, %y"));
  // The quotient and the remainder.
  for (std::string code : {"div", "rem", "and", "min"}) {
    CAPTURE(code);
    CHECK(can_batch("%r = " + code +
                    " %p.wide, %ld : i64\n %u = view %A, %r, %one : view<f32>[32]\n"
                    "%y = load %u : f32[32]\n store %w, %y"));
  }
}

TEST_CASE("batch_programs: accepts addresses with the square of the program's index") {
  const std::string square = "%square = mul %p.wide, %p.wide : i64\n";
  CHECK(can_batch(square + "%u = view %A, %square, %one : view<f32>[32]\n"
                           "%y = load %u : f32[32]\n store %w, %y"));
}

TEST_CASE("batch_programs: accepts a pointer per program") {
  const std::string chosen = "%b = cmp %s, %none {pred = \"lt\"} : i1\n"
                             "%P = select %b, %A, %C : ptr<f32>\n";
  for (std::string offset : {"%zero", "%f", "%p.wide"}) {
    CAPTURE(offset);
    CHECK(can_batch(chosen + "%u = view %P, " + offset +
                    ", %one : view<f32>[32]\n%y = load %u : f32[32]\n store %w, %y"));
  }
  CHECK(can_batch(chosen + "%q = addptr %P, %p : ptr<f32>\n %y = load %q : f32\n store %q, %y"));
  CHECK(can_batch("%P = select %odd, %A, %C : ptr<f32>\n %u = view %P, %f, %one : view<f32>[32]\n"
                  "%y = load %u : f32[32]\n store %w, %y"));
}

TEST_CASE("batch_programs: the mask combines the programs that exist with the source's mask") {
  const std::string masked = "%on = cmp %i, %limit {pred = \"PRED\"} : i1[32]\n"
                             "%y = load %v, %on : f32[32]\n store %w, %y, %on";
  auto masks = [&](const std::string &limit, const std::string &pred) {
    ir::Function fn = parsed(row_kernel(limit + "\n" + with(masked, "PRED", pred)));
    REQUIRE(try_batching(fn, 2));
    check_rules(fn);
    const ir::Op &load = *value_named(fn, "y")->op;
    REQUIRE(load.operands.size() == 3); // elements that are off become zeros
    CHECK(load.operand(1)->op->is(ir::Opcode::and_));
    return load.operand(1)->op->operand(1)->op->code; // behind the programs or the first bound
  };
  CHECK(masks("%limit = splat %n : i32[32]", "lt") == ir::Opcode::broadcast_); // of a bound
  CHECK(masks("%limit = splat %n : i32[32]", "ne") == ir::Opcode::broadcast_);
  CHECK(masks("%limit = splat %p : i32[32]", "lt") == ir::Opcode::cmp_);
}

TEST_CASE("batch_programs: rejects operations and control flow") {
  const std::string cases[] = {
      // Operations with an effect.
      "%old = atomic %to, %s {op = \"add\"} : f32\n store %w, %x",
      "%old = atomic %C, %none {op = \"add\"} : f32\n store %w, %x",
      "barrier\n store %w, %x",
      "print {text = \"done\"}\n store %w, %x",
      "assert %odd {text = \"odd\"}\n store %w, %x",
      // Loops and branches that depend on the program.
      "while_loop {\n condition %odd\n } {\n store %w, %x\n yield\n }",
      "for_loop %p {\n (%t: i32)\n store %w, %x\n yield\n }",
      "for_loop %label {\n (%t: i32)\n store %w, %x\n yield\n }",
      "%b = cmp %p, %n {pred = \"lt\"} : i1\n if_else %b {\n store %w, %x\n yield\n } {\n yield\n "
      "}",
      "%b = cmp %s, %none {pred = \"lt\"} : i1\n"
      "if_else %b {\n store %w, %x\n yield\n } {\n yield\n }",
      // The counts and conditions inside of loops.
      "for_loop %n {\n (%t: i32)\n for_loop %p {\n (%u: i32)\n store %w, %x\n yield\n }\n yield\n "
      "}",
      // A count that a loop carries.
      "%last = for_loop %n, %p : i32 {\n (%t: i32, %q: i32)\n for_loop %q {\n (%u: i32)\n"
      "store %w, %x\n yield\n }\n yield %q\n }",
  };
  for (const std::string &operations : cases) {
    CAPTURE(operations);
    CHECK_FALSE(can_batch(operations));
  }
  CHECK(can_batch("for_loop %n {\n (%t: i32)\n store %w, %x\n yield\n }"));
}

TEST_CASE("batch_programs: rejects a dot") {
  const std::string dot = R"(
      %tile.v = view %A, AT, %ld, %one : view<f32>[32,32]
      %tile = load %tile.v : f32[32,32]
      %zeros = splat %none : f32[32,32]
      %d = dot %tile, %tile, %zeros : f32[32,32]
      %r = reduce %d {axis = 1, op = "add"} : f32[32]
      %y = add %r, %x : f32[32]
      store %w, %y)";
  CHECK_FALSE(can_batch(with(dot, "AT", "%f")));
  CHECK(can_batch(with(dot, "AT", "%zero"))); // it is the same for all programs
}

TEST_CASE("batch_programs: rejects accesses that it cannot mask or address") {
  const std::string cases[] = {
      // All programs store to the same place, whatever they store.
      "store %same.v, %x",
      "store %same.v, %same",
      "store %C, %s",
      "%b = cmp %s, %none {pred = \"lt\"} : i1\n store %C, %none, %b",
      // Only the mask of a load varies.
      "%b = cmp %s, %none {pred = \"lt\"} : i1\n %y = load %same.v, %b : f32[32]\n store %w, %y",
      // The stride of the elements is not the same for all programs.
      "%u = view %A, %f, %p.wide : view<f32>[32]\n %y = load %u : f32[32]\n store %w, %y",
  };
  for (const std::string &operations : cases) {
    CAPTURE(operations);
    CHECK_FALSE(can_batch(operations));
  }
}

TEST_CASE("batch_programs: rejects tiles of five axes") {
  const std::string five = "f32[2,2,2,2,2]";
  // A result of an operation, a loaded tile and a stored tile.
  CHECK_FALSE(can_batch("%y = reshape %x : " + five +
                        "\n %z = reshape %y : f32[32]\n"
                        "store %w, %z"));
  CHECK(can_batch("%y = reshape %x : f32[2,2,2,4]\n %z = reshape %y : f32[32]\n store %w, %z"));
  CHECK_FALSE(can_batch("%u = view %A, %f, %one, %ld, %one, %one, %one : view<f32>[2,2,2,2,2]\n"
                        "%y = load %u : " +
                        five + "\n %r = reshape %y : f32[32]\n store %w, %r"));
}
