// Tests ir/verifier.cpp: breaks each rule of verifier.h once, and checks that valid IR has no
// error.

#include "ir/builder.h"
#include "ir/parser.h"
#include "ir/verifier.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// The verifier's errors for a function with some parameters and these operations.
std::string errors_of(const std::string &operations, const std::string &layouts = "") {
  std::string text = layouts + R"(
    func @f(%p: ptr<f16>, %n: i32, %l: i64, %x: f32, %c: i1, %ps: ptr<f16>[8], %i: i32[8],
            %h: f16[8], %f: f32[8], %m: i1[8], %a: f16[16,8], %b: f16[8,4], %s: f32[16,4],
            %sh: shared<f16>[2,16,8]) {
    )" + operations + "\n return\n}";
  ParseResult result = parse(text);
  REQUIRE_MESSAGE(result.function, result.error, text);
  return verify(*result.function);
}

void check_named(const std::string &operations, const std::string &rule,
                 const std::string &layouts = "") {
  CAPTURE(operations);
  std::string errors = errors_of(operations, layouts);
  CAPTURE(errors);
  CHECK(errors.find(": " + rule + "\n") != std::string::npos);
}

} // namespace

TEST_CASE("verify: valid operations have no error") {
  const char *const operations[] = {
      "",
      "%1 = add %n, %n : i32",
      "%1 = splat %n : i32[8]\n %2 = mul %1, %i : i32[8]",
      "%1 = cmp %i, %i {pred = \"lt\"} : i1[8]\n %2 = select %1, %f, %f : f32[8]",
      "%1 = cmp %s, %s {pred = \"lt\", axis = 1, vector = 4} : i1[16,4]",
      "%1 = shared_alloc : shared<f16>[4,8]\n %2 = shared_alloc %n : shared<f16>[4,8]",
      "%1 = select %c, %f, %f : f32[8]",
      "%1 = shared_alloc : shared<f32>[1,64]\n %2 = shared_load_rows %1, %n, %n, %n : f32[16,4]\n"
      "shared_store_rows %s, %1, %n, %n, %n\n %3 = shared_load_rows %1, %n, %n, %n : f32[1,8]",
      "%1 = load %ps : f16[8]",
      "%1 = load %ps, %m, %h : f16[8]",
      "%1 = load %ps, %c {cache = \"cv\"} : f16[8]\n store %ps, %1 {cache = \"wt\"}",
      "store_partial %p, %h\n signal %p\n wait_signal %p\n %1 = add_partial %p, %h : f16[8]",
      "%1 = load %p {cache = \"evict_last\"} : f16\n store %p, %1 {cache = \"cg\"}",
      "%1 = load %ps, %c : f16[8]",
      "%1 = load %p : f16\n store %p, %1, %c",
      "store %ps, %h, %m",
      "%1 = view %p, %l, %l : view<f16>[8]\n %2 = load %1 : f16[8]",
      "%1 = dot %a, %b, %s : f32[16,4]",
      "%1 = reduce %s {axis = 0, op = \"add\"} : f32[4]",
      "%1 = scan %s {axis = 1, op = \"max\"} : f32[16,4]",
      "%1 = gather %f, %i {axis = 0} : f32[8]",
      "%1 = range {start = 0} : i32[32]\n %2 = reshape %1 : i32[16,2]\n"
      "%3 = gather %s, %2 {axis = 1} : f32[16,2]\n"
      "%4 = shared_gather %sh, %n, %2 {axis = 1} : f16[16,2]\n"
      "%5 = gather %ps, %i {axis = 0} : ptr<f16>[8]",
      "%1 = trans %s {perm = [1,0]} : f32[4,16]",
      "%1 = expand %i {axis = 0} : i32[1,8]\n %2 = broadcast %1 : i32[4,8]",
      "%1 = reshape %s : f32[64]",
      "if_else %c {\n yield\n} {\n yield\n}",
      "%1 = while_loop %n : i32 {\n (%k: i32)\n condition %c\n} {\n (%k2: i32)\n yield %k2\n}",
      "%1 = for_loop %n, %x : f32 {\n (%t: i32, %y: f32)\n yield %y\n}",
      "%1 = cast %f : f16[8]\n %2 = bitcast %1 : i16[8]",
      "print %n, %f {text = \"{} {u}\"}\n assert %m {text = \"\"}\n assert %c {text = \"{}\"}",
      "print {text = \"{{}}\"}",
      "%1 = in_bounds %l, %l : i1[8,4]\n %2 = no_hoist %l : i64\n %3 = no_hoist %n : i32",
      "%1 = reshape %f : f32[8,1]\n %2 = cast %1 : f16[8,1]\n"
      "shared_store %2, %sh, %n {origin = [8,7]}",
  };
  for (const std::string text : operations) {
    CAPTURE(text);
    CHECK(errors_of(text) == "");
  }
}

TEST_CASE("verify: number of operands, results and blocks") {
  check_named("%1 = add %n : i32", "wrong number of operands");
  check_named("%1 = add %n, %n, %n : i32", "wrong number of operands");
  check_named("%1 = constant {value = 1} : i32\n condition %c",
              "a block has one terminator, at its end");
  check_named("add %n, %n", "wrong number of results");
  check_named("%1, %2 = add %n, %n : i32, i32", "wrong number of results");
  check_named("%1 = barrier : i32", "wrong number of results");
  check_named("%1 = store %ps, %h : i32", "wrong number of results");
}

TEST_CASE("verify: operand must be defined before its use") {
  Function fn = parsed("func @f() {\n %a = constant {value = 1} : i32\n"
                       " %b = neg %a : i32\n return\n}");
  std::swap(fn.body->ops[0], fn.body->ops[1]);
  CHECK(verify(fn) == "%b = neg %a : i32: an operand is not available here\n");
}

TEST_CASE("verify: value of a branch is not available after it") {
  Function fn = parsed(R"(
    func @f(%c: i1) {
      if_else %c {
        %a = constant {value = 1} : i32
        yield
      } {
        yield
      }
      %b = constant {value = 2} : i32
      %d = neg %b : i32
      return
    })");
  value_named(fn, "d")->op->operands[0] = value_named(fn, "a");
  CHECK(verify(fn).find("an operand is not available here") != std::string::npos);
}

TEST_CASE("verify: loop cannot use its own results") {
  Function fn = parsed(R"(
    func @f(%n: i32) {
      %s = for_loop %n, %n : i32 {
        (%t: i32, %k: i32)
        yield %k
      }
      return
    })");
  Op *loop = value_named(fn, "s")->op;
  loop->blocks[0]->terminator()->operands[0] = loop->results[0];
  CHECK(verify(fn).find("an operand is not available here") != std::string::npos);
}

TEST_CASE("verify: parent links") {
  Function fn = parsed("func @f() {\n %a = constant {value = 1} : i32\n return\n}");
  fn.body->ops[0]->parent = nullptr;
  CHECK(verify(fn).find("the parent link is wrong") != std::string::npos);
}

TEST_CASE("verify: blocks end in their terminator") {
  check_named("return\n %1 = neg %n : i32", "a block has one terminator, at its end");
  check_named("if_else %c {\n yield\n} {\n return\n}", "a block ends in `yield`");
  check_named("%1 = while_loop %n : i32 {\n (%k: i32)\n yield %k\n} {\n (%k2: i32)\n yield %k2\n}",
              "a block ends in `condition`");
  Function fn = parsed("func @f() {\n return\n}");
  fn.body->ops.clear();
  CHECK(verify(fn) == "@f: a function ends in `return`\n");
  fn = parsed("func @f(%c: i1) {\n if_else %c {\n yield\n } {\n yield\n }\n return\n}");
  fn.body->ops[0]->blocks[0]->ops.clear();
  CHECK(verify(fn).find("a block ends in `yield`") != std::string::npos);
}

TEST_CASE("verify: yield has the types of the carried values") {
  check_named("%1 = if_else %c : i32 {\n yield\n} {\n yield %n\n}",
              "`yield` has one operand per result");
  check_named("%1 = if_else %c : i32 {\n yield %x\n} {\n yield %n\n}",
              "the operands of `yield` have the types of the results");
  check_named("%1 = for_loop %n, %n : i32 {\n (%t: i32)\n yield %t\n}",
              "operands, block arguments and results match the loop-carried values");
  check_named("%1 = for_loop %n, %n : i32 {\n (%t: i32, %k: f32)\n yield %t\n}",
              "a loop-carried value keeps its type");
  check_named("%1 = for_loop %l, %n : i32 {\n (%t: i32, %k: i32)\n yield %t\n}",
              "the number of iterations is an i32");
  check_named("%1 = for_loop %n, %n : i32 {\n (%t: i64, %k: i32)\n yield %k\n}",
              "the induction variable is an i32");
  check_named("if_else %n {\n yield\n} {\n yield\n}", "the condition is a scalar i1");
  check_named(
      "%1 = while_loop %n : i32 {\n (%k: i32)\n condition %m\n} {\n (%k2: i32)\n yield %k2\n}",
      "the condition is a scalar i1");
}

TEST_CASE("verify: tile size and power-of-two extents") {
  check_named("%1 = splat %x : f32[1,2147483648,4294967296]", "a tile has at most 2^20 elements");
  check_named("%1 = splat %n : i32[3]", "extents are powers of two");
  check_named("%1 = splat %n : i32[0]", "extents are powers of two");
  check_named("%1 = splat %n : i32[-2]", "extents are powers of two");
  check_named("%1 = splat %n : i32[1024,2048]", "a tile has at most 2^20 elements");
  check_named("%1 = splat %n : i32[1,1,1,1,1,1]", "a tile has at most 5 axes");
  CHECK(errors_of("%1 = splat %n : i32[1024,1024]") == "");
  CHECK(errors_of("%1 = shared_alloc : shared<f16>[3,8]") == "");
  check_named("%1 = shared_alloc : shared<f16>[3,6]", "extents are powers of two");
  check_named("%1 = shared_alloc : shared<f16>[0,8]", "a buffer has at least one stage");
  check_named("%1 = shared_alloc : shared<f16>", "a buffer has an axis of stages");
  for (auto &[type, rule] : {std::pair("i32[3]", "extents are powers of two"),
                             std::pair("shared<f16>", "a buffer has an axis of stages")}) {
    ParseResult result = parse("func @f(%p: " + std::string(type) + ") {\n return\n}");
    CHECK(verify(*result.function) == "@f: " + std::string(rule) + "\n");
  }
}

TEST_CASE("verify: types of operands and results") {
  struct {
    std::string operations, rule;
  } cases[] = {
      {"%1 = add %n, %x : i32", "operands and result have one type"},
      {"%1 = add %i, %n : i32[8]", "operands and result have one type"},
      {"%1 = neg %f : f16[8]", "operands and result have one type"},
      {"%1 = splat %i : i32[8,8]", "only a scalar is splat"},
      {"%1 = splat %n : f32[8]", "the element type does not change"},
      {"%1 = expand %i {axis = 0} : i32[8]",
       "the result has one more axis, of extent 1, at {axis}"},
      {"%1 = expand %i {axis = 0} : i32[2,8]",
       "the result has one more axis, of extent 1, at {axis}"},
      {"%1 = expand %i {axis = 1} : i32[1,8]",
       "the result has one more axis, of extent 1, at {axis}"},
      {"%1 = expand %i {axis = 0} : f32[1,8]", "the element type does not change"},
      {"%1 = broadcast %i : i32[4,8]", "only axes of extent 1 are broadcast"},
      {"%1 = broadcast %b : f16[16,4]", "only axes of extent 1 are broadcast"},
      {"%1 = trans %b {perm = [1,0]} : f16[8,4]", "{perm} permutes the axes"},
      {"%1 = trans %b {perm = [0,0]} : f16[8,8]", "{perm} permutes the axes"},
      {"%1 = trans %b {perm = [1,2]} : f16[4,8]", "{perm} permutes the axes"},
      {"%1 = trans %b : f16[4,8]", "{perm} is missing"},
      {"%1 = trans %b {perm = [1,0,2]} : f16[4,8]", "{perm} permutes the axes"},
      {"%1 = trans %n {perm = []} : i32", "{perm} permutes the axes"},
      {"%1 = trans %b {perm = [0]} : f16[8,4]", "{perm} permutes the axes"},
      {"%1 = reshape %b : f16[8]", "the number of elements does not change"},
      {"%1 = range {start = 0} : i32", "a range is an i32 tile of one axis"},
      {"%1 = range {start = 0} : i64[8]", "a range is an i32 tile of one axis"},
      {"%1 = cmp %n, %x {pred = \"lt\"} : i1", "compares values of one type to i1"},
      {"%1 = cmp %n, %n {pred = \"lt\"} : i32", "compares values of one type to i1"},
      {"%1 = cmp %i, %i {pred = \"lt\"} : i1", "operands and result have one shape and layout"},
      {"%1 = cmp %n, %n {pred = \"before\"} : i1",
       "{pred} is one of eq ne lt le gt ge ult ule ugt uge"},
      {"%1 = cmp %n, %n {pred = \"\"} : i1", "{pred} is one of eq ne lt le gt ge ult ule ugt uge"},
      {"%1 = cmp %i, %i {pred = \"lt\", vector = 4} : i1[8]",
       "a group of equal results has a power of two of elements along an axis"},
      {"%1 = cmp %i, %i {pred = \"lt\", axis = 1, vector = 4} : i1[8]",
       "a group of equal results has a power of two of elements along an axis"},
      {"%1 = cmp %i, %i {pred = \"lt\", axis = 0, vector = 6} : i1[8]",
       "a group of equal results has a power of two of elements along an axis"},
      {"%1 = cmp %n, %n {pred = \"lt\", axis = 0, vector = 4} : i1",
       "a group of equal results has a power of two of elements along an axis"},
      {"%1 = shared_alloc %l : shared<f16>[4,8]", "the number of stages is an i32"},
      {"%1 = shared_alloc %i : shared<f16>[4,8]", "the number of stages is an i32"},
      {"%1 = select %n, %x, %x : f32", "the condition is i1, a scalar or of the result's shape"},
      {"%1 = select %m, %x, %x : f32", "the condition is i1, a scalar or of the result's shape"},
      {"%1 = select %c, %x, %n : f32", "operands and result have one type"},
      {"%1 = cast %f : f16", "operands and result have one shape and layout"},
      {"%1 = addptr %p, %x : ptr<f16>",
       "the offset is an integer, and the result has the type of the pointer"},
      {"%1 = addptr %n, %n : i32",
       "the offset is an integer, and the result has the type of the pointer"},
      {"%1 = addptr %ps, %n : ptr<f16>[8]", "operands and result have one shape and layout"},
      {"%1 = view %ps, %l, %l : view<f16>[8]",
       "the base of a view is a scalar pointer to its element type"},
      {"%1 = view %p, %l, %l : view<f32>[8]",
       "the base of a view is a scalar pointer to its element type"},
      {"%1 = view %p, %l : view<f16>[8]", "one stride per axis"},
      {"%1 = view %p, %n, %l : view<f16>[8]", "offset and strides are i64"},
      {"%1 = load %i : i32[8]", "memory is accessed through pointers"},
      {"%1 = load %ps : f32[8]", "the value has the pointers' shape and element type"},
      {"%1 = load %ps : f16", "the value has the pointers' shape and element type"},
      {"%1 = load %ps, %i : f16[8]", "a mask is an i1 scalar or an i1 tile of the pointers' shape"},
      {"%1 = load %p, %m : f16", "a mask is an i1 scalar or an i1 tile of the pointers' shape"},
      {"%1 = load %ps, %m, %f : f16[8]",
       "the value of masked-off elements has the type of the result"},
      {"store %ps, %f", "the value has the pointers' shape and element type"},
      {"store %ps, %h, %n", "a mask is an i1 scalar or an i1 tile of the pointers' shape"},
      {"%1 = atomic %i, %i {op = \"add\"} : i32[8]", "memory is accessed through pointers"},
      {"%1 = atomic %ps, %h {op = \"mul\"} : f16[8]",
       "{op} is one of add, min, max, umin, umax, and, or, xor, exchange"},
      {"%1 = atomic %ps, %f {op = \"add\"} : f16[8]", "the values have the type of the result"},
      {"atomic %ps, %h {op = \"add\"}", "wrong number of results"},
      {"%1 = atomic_cas %ps, %h, %f : f16[8]", "the values have the type of the result"},
      {"%1 = atomic_cas %ps, %h, %h, %n : f16[8]",
       "a mask is an i1 scalar or an i1 tile of the pointers' shape"},
      {"%1 = store %ps, %h : f16[8]", "wrong number of results"},
      {"store_partial %ps, %h",
       "a partial is a tile of numbers, at a scalar pointer to its element type"},
      {"store_partial %p, %f",
       "a partial is a tile of numbers, at a scalar pointer to its element type"},
      {"store_partial %p, %x",
       "a partial is a tile of numbers, at a scalar pointer to its element type"},
      {"%1 = add_partial %p, %h : f32[8]", "the sum has the type of the tile"},
      {"signal %ps", "a signal is at a scalar pointer"},
      {"wait_signal %n", "a signal is at a scalar pointer"},
      {"%1 = load %ps {axis = 1} : f16[8]", "{axis} is an axis of the pointers"},
      {"%1 = view %p, %l, %l : view<f16>[8]\n %2 = load %1 {axis = 0} : f16[8]",
       "{axis} is an axis of the pointers"},
      {"%1 = load %ps {cache = \"wt\"} : f16[8]",
       "{cache} is one of cg, cs, no_allocate, evict_first, evict_last, cv (loads), wt (stores)"},
      {"store %ps, %h {cache = \"cv\"}",
       "{cache} is one of cg, cs, no_allocate, evict_first, evict_last, cv (loads), wt (stores)"},
      {"%1 = dot %b, %a, %s : f32[16,4]", "[M,K] times [K,N] plus [M,N]"},
      {"%1 = dot %a, %h, %s : f32[16,4]", "[M,K] times [K,N] plus [M,N]"},
      {"%1 = cast %b : f32[8,4]\n %2 = dot %a, %1, %s : f32[16,4]",
       "both operands have one element type"},
      {"%1 = dot %a, %b, %s : f16[16,4]", "the accumulator has the type of the result"},
      {"%1 = reduce %s {axis = 0, op = \"add\"} : f32[16]",
       "the result has the tile's shape without {axis}"},
      {"%1 = reduce %s {axis = 2, op = \"add\"} : f32[4]",
       "the result has the tile's shape without {axis}"},
      {"%1 = reduce %s {axis = 0, op = \"add\"} : f16[4]", "the element type does not change"},
      {"%1 = reduce %s {axis = 0, op = \"times\"} : f32[4]",
       "{op} is one of add, mul, min, max, umin, umax, and, or, xor"},
      {"%1 = reduce %s {axis = 0, op = \"umax\"} : f32[4]",
       "umin, umax, and, or, xor require integers"},
      {"%1 = scan %s {axis = 2, op = \"add\"} : f32[16,4]",
       "the result has the tile's shape, and {axis} is one of its axes"},
      {"%1 = scan %s {axis = 0, op = \"add\"} : f32[4]",
       "the result has the tile's shape, and {axis} is one of its axes"},
      {"%1 = scan %s {axis = 0, op = \"add\"} : f16[16,4]", "the element type does not change"},
      {"%1 = scan %s {axis = 0, op = \"or\"} : f32[16,4]",
       "umin, umax, and, or, xor require integers"},
      {"%1 = gather %f, %f {axis = 0} : f32[8]", "indices are integers"},
      {"%1 = gather %f, %m {axis = 0} : f32[8]", "indices are integers"},
      {"%1 = gather %f, %i {axis = 1} : f32[8]",
       "the result has the indices' shape, and the tile's extents along all axes except {axis}"},
      {"%1 = gather %s, %i {axis = 0} : f32[8]",
       "the result has the indices' shape, and the tile's extents along all axes except {axis}"},
      {"%1 = gather %f, %i {axis = 0} : f16[8]", "the element type does not change"},
      {"%1 = shared_gather %sh, %n, %i {axis = 0} : f16[8]",
       "the result has the indices' shape, and the tile's extents along all axes except {axis}"},
      {"%1 = shared_load_rows %sh, %n, %n, %n : f16[16,8]",
       "the tile has two axes, and the element type of a stage, which has one axis and at least as "
       "many elements"},
      {"%1 = shared_alloc : shared<f16>[1,64]\n shared_store_rows %s, %1, %n, %n, %n",
       "the tile has two axes, and the element type of a stage, which has one axis and at least as "
       "many elements"},
      {"%1 = shared_alloc : shared<f32>[1,32]\n shared_store_rows %s, %1, %n, %n, %n",
       "the tile has two axes, and the element type of a stage, which has one axis and at least as "
       "many elements"},
      {"%1 = shared_alloc : shared<f32>[1,64]\n shared_store_rows %s, %1, %n, %n, %l",
       "the length of a row and the first element are i32"},
      {"%1 = shared_alloc : shared<f32>[1,64]\n"
       "shared_store_rows %s, %1, %n, %n, %n {origin = [1,0]}",
       "the {origin} is in the first row"},
      {"%1 = shared_alloc : shared<f32>[1,64]\n shared_store_rows %s, %1, %l, %n, %n",
       "a stage index is an i32"},
      {"%1 = stage_index %n {offset = 0, stages = 0} : i32", "{stages} is positive"},
      {"shared_store %b, %sh, %n", "the tile has the element type and shape of a stage"},
      {"%1 = cast %a : f32[16,8]\n shared_store %1, %sh, %n",
       "the tile has the element type and shape of a stage"},
      {"%1 = extract %a {origin = [0,4]} : f16[16,4]\n"
       "shared_store %1, %sh, %n {origin = [0,2]}",
       "the tile lies inside a stage, at a multiple of its size"},
      {"shared_store %a, %sh, %n {origin = [16,0]}",
       "the tile lies inside a stage, at a multiple of its size"},
      {"shared_store %a, %sh, %n {origin = [0]}",
       "the tile lies inside a stage, at a multiple of its size"},
      {"%1 = add %ps, %ps : ptr<f16>[8]", "arithmetic requires numbers"},
      {"%1 = neg %p : ptr<f16>", "arithmetic requires numbers"},
      {"%1 = in_bounds %l : i1[8,4]", "an i1 tile with one limit per axis"},
      {"%1 = in_bounds %l : i32[8]", "an i1 tile with one limit per axis"},
      {"%1 = in_bounds %l : i1", "an i1 tile with one limit per axis"},
      {"%1 = in_bounds %n : i1[8]", "limits are i64"},
      {"%1 = no_hoist %n : i64", "operands and result have one type"},
      {"%1 = no_hoist %x : f32", "`no_hoist` takes an i32 or i64"},
      {"%1 = no_hoist %i : i32[8]", "`no_hoist` takes an i32 or i64"},
      {"shared_store %a, %a, %n", "shared memory is accessed through a buffer"},
      {"shared_store %a, %sh, %l", "a stage index is an i32"},
      {"%1 = shared_load %sh, %n {origin = [0,0], perm = [1,0]} : f16[16,8]",
       "the tile lies inside a stage"},
      {"%1 = shared_load %sh, %n {origin = [12,0], perm = [0,1]} : f16[8,8]",
       "the tile lies inside a stage"},
      {"%1 = shared_load %sh, %n : f16[16,8]", "the tile lies inside a stage"},
      {"%1 = shared_load %sh, %n {origin = [9223372036854775807,0], perm = [0,1]} : f16[8,8]",
       "the tile lies inside a stage"},
      {"async_copy %a, %sh, %n, %c", "async_copy reads a view or a tile of pointers"},
  };
  for (const auto &[operations, rule] : cases)
    check_named(operations, rule);
  CHECK(errors_of("shared_store %a, %sh, %n") == "");
  CHECK(errors_of("%1 = shared_load %sh, %n {origin = [8,0], perm = [1,0]} : f16[8,16]") != "");
  CHECK(errors_of("%1 = shared_load %sh, %n {origin = [0,8], perm = [1,0]} : f16[8,8]") == "");
}

TEST_CASE("verify: attribute names and types of ops.def") {
  const char *const operations[] = {
      "%1 = constant {value = 1.5} : i32",
      "%1 = constant {number = 1} : f32",
      "%1 = program_id {axis = [1]} : i32",
      "%1 = range {start = \"0\"} : i32[8]",
      "%1 = reduce %s {axis = 0, op = 1} : f32[4]",
      "%1 = trans %s {perm = 1} : f32[4,16]",
      "%1 = load %ps {vector = [4]} : f16[8]",
      "%1 = dot %a, %b, %s {thread_tile = 4} : f32[16,4]",
  };
  for (const char *operation : operations)
    check_named(operation, "an attribute has the type that attributes.def says");
  CHECK(errors_of("%1 = dot %a, %b, %s {thread_tile = [4,4]} : f32[16,4]") == "");
  check_named("%1 = constant {number = 1.0, op = \"x\"} : f32", "unknown attribute {op}");
  check_named("%1 = range : i32[8]", "{start} is missing");
}

TEST_CASE("verify: layout has the tile's shape and covers it") {
  const char *const good = "layout #0 [8] reg (1) lane (2) (4) (0) (0) (0) warp\n";
  CHECK(errors_of("%1 = splat %x : f32[8] #0", good) == "");
  check_named("%1 = splat %x : f32[16] #0", "the layout has the shape of the tile", good);
  check_named("%1 = splat %x : f32[8] #0", "the layout covers the tile",
              "layout #0 [8] reg (1) lane (2) (0) (0) (0) (0) warp\n");
  check_named("%1 = splat %x : f32[8] #0", "the layout covers the tile",
              "layout #0 [8] reg (1) lane (2) (3) (0) (0) (0) warp\n");
  const char *const buffer = "layout #0 [8] offset (1) (2) (4)\n";
  CHECK(errors_of("%1 = shared_alloc : shared<f16>[2,8] #0", buffer) == "");
  check_named("%1 = splat %x : f32[8] #0",
              "a buffer has a shared layout, and a tile in registers a register layout", buffer);
  check_named("%1 = shared_alloc : shared<f16>[2,8] #0",
              "a buffer has a shared layout, and a tile in registers a register layout", good);
}

TEST_CASE("verify: arithmetic has one layout") {
  const char *const layouts = "layout #0 [8] reg (1) (2) (4) lane (0) (0) (0) (0) (0) warp\n"
                              "layout #1 [8] reg lane (1) (2) (4) (0) (0) warp\n";
  check_named("%1 = splat %x : f32[8] #0\n %2 = splat %x : f32[8] #1\n %3 = add %1, %2 : f32[8] #0",
              "operands and result have one type", layouts);
  check_named("%1 = splat %x : f32[8] #0\n %2 = cast %1 : f16[8] #1",
              "operands and result have one shape and layout", layouts);
  CHECK(errors_of("%1 = splat %x : f32[8] #0\n %2 = convert_layout %1 : f32[8] #1", layouts) == "");
  check_named("%1 = splat %x : f32[8] #0\n %2 = convert_layout %1 : f16[8] #1",
              "only the layout changes", layouts);
}

TEST_CASE("verify: print takes numbers, assert takes i1") {
  check_named("print %ps {text = \"{}\"}", "only numbers are printed");
  check_named("print %n {text = \"n\"}", "{text} has one placeholder per operand");
  check_named("print {text = \"{}\"}", "{text} has one placeholder per operand");
  check_named("print", "{text} is missing");
  check_named("assert %c", "{text} is missing");
  check_named("assert %n {text = \"\"}", "the asserted condition is i1");
  check_named("%1 = print %n {text = \"{}\"} : i32", "wrong number of results");
  check_named("assert %c, %c {text = \"\"}", "wrong number of operands");
}

namespace {

// The same for a function with producer warps, tensor maps, mbarriers and buffers.
std::string errors_for_hopper(const std::string &operations) {
  std::string text = R"(
    func @f(%p: ptr<f16>, %n: i32, %l: i64, %x: f32, %c: i1, %a: f16[16,8], %s: f32[16,4],
            %s4: f32[4,4], %given: map<f16>[16,8]) warps 4 {
      %one = constant {value = 1} : i64
      %map = tensor_map %p, %l, %l, %l, %l, %one {swizzle = 32} : map<f16>[16,8]
      %small = tensor_map %p, %l, %l, %l, %l, %one : map<f16>[8,8]
      %as = shared_alloc : shared<f16>[2,16,8]
      %bs = shared_alloc : shared<f16>[2,8,4]
      %fs = shared_alloc : shared<bf16>[2,8,4]
      %bar = mbarriers {arrivals = 4} : shared<i64>[2,1]
    )" + operations + "\n return\n}";
  ParseResult result = parse(text);
  REQUIRE_MESSAGE(result.function, result.error, text);
  return verify(*result.function);
}

void check_for_hopper(const std::string &operations, const std::string &rule) {
  CAPTURE(operations);
  std::string errors = errors_for_hopper(operations);
  CAPTURE(errors);
  CHECK(errors.find(": " + rule + "\n") != std::string::npos);
}

} // namespace

TEST_CASE("verify: valid Hopper operations have no error") {
  const std::string operations[] = {
      "%1 = block_id {axis = 2} : i32\n %2 = num_blocks {axis = 0} : i32",
      "%1 = num_sms : i32\n %2 = host_value %1 : i32\n %3 = host_value %l : i64\n"
      "launch_blocks %2, %n, %n {cluster = 2}",
      "%1 = num_programs {axis = 0} : i32\n %2 = host_value %1 : i32\n"
      "launch_warps %2 {programs = 4}",
      "%1 = num_sms : i32\n launch_requires %1, %n {text = \"a\"}\n launch_requires %n, %1 {text = "
      "\"a\"}",
      "%1 = workspace %l : ptr<f32>\n dependency_wait\n launch_dependents",
      "%1 = tensor_map %p, %l, %l, %one {swizzle = 128} : map<f16>[64]",
      "%1 = tensor_map %p, %l, %l, %l, %one, %l : map<f16>[8,8]",
      "%1 = tma_load %map, %n, %n : f16[16,8]\n tma_store %small, %1, %n, %n",
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n mbarrier_wait %bar, %n, %n\n "
      "yield\n} {\n"
      "mbarrier_arrive %bar, %n {bytes = 256}\n tma_load_async %map, %as, %n, %bar, %n, %n, %n\n"
      "tma_load_async %small, %as, %n, %bar, %n, %n, %n\n yield\n}",
      "tma_prefetch %map\n proxy_fence\n tma_store_async %map, %as, %n, %n, %n\n tma_store_async "
      "%small, "
      "%as, %n, %n, %n\n"
      "tma_store_wait {pending = 1}",
      "%1 = extract %s {origin = [8,0]} : f32[8,4]\n %2 = extract %s {origin = [4,2]} : f32[4,2]",
      "%1 = stage_phase %n {offset = 0, stages = 3} : i32",
      "%1 = wgmma_ss %as, %n, %bs, %n, %s {perms = [0,1,0,1]} : f32[16,4]\n"
      "%2 = wgmma_wait %1 {pending = 0} : f32[16,4]",
      "%1 = wgmma_ss %bs, %n, %bs, %n, %s4 {perms = [1,0,0,1]} : f32[4,4]",
      "%1 = wgmma_rs %a, %bs, %n, %s {perm = [0,1], origin = [0,0]} : f32[16,4]\n"
      "%2 = extract %a {origin = [0,4]} : f16[16,4]\n"
      "%3 = wgmma_rs %2, %bs, %n, %1, %c {perm = [0,1], origin = [4,0]} : f32[16,4]",
  };
  for (const std::string &text : operations) {
    CAPTURE(text);
    CHECK(errors_for_hopper(text) == "");
  }
}

TEST_CASE("verify: blocks and host values") {
  const std::string in_branch = "if_else %c {\n ", end = "\n yield\n} {\n yield\n}";
  const char *const top = "a host operation is at the top level of a function";
  check_for_hopper("%1 = block_id {axis = 3} : i32",
                   "the result is an i32, and {axis} is 0, 1 or 2");
  check_for_hopper("%1 = block_id : i32", "{axis} is missing");
  check_for_hopper("%1 = block_id {axis = 3} : i32",
                   "the result is an i32, and {axis} is 0, 1 or 2");
  check_for_hopper("%1 = num_blocks {axis = 0} : i64",
                   "the result is an i32, and {axis} is 0, 1 or 2");
  check_for_hopper("%1 = num_sms : i64", "the result is an i32");
  check_for_hopper("%1 = host_value %n : i64", "operands and result have one type");
  check_for_hopper("%1 = host_value %x : f32", "the host computes i32 and i64");
  check_for_hopper(in_branch + "%1 = host_value %n : i32" + end, top);
  check_for_hopper(in_branch + "%1 = tensor_map %p, %l, %l, %one : map<f16>[64]" + end, top);
  check_for_hopper(in_branch + "launch_blocks %n" + end, top);
  check_for_hopper(in_branch + "%1 = workspace %l : ptr<f32>" + end, top);
  check_for_hopper("%1 = workspace %n : ptr<f32>", "a number of bytes is an i64");
  check_for_hopper("%1 = workspace %l : f32", "the result is a scalar pointer");
  check_for_hopper("%1 = workspace %l : ptr<f32>[8]", "the result is a scalar pointer");
  check_for_hopper("launch_blocks %n\n launch_blocks %n",
                   "a function has at most one `launch_blocks`");
  check_for_hopper("launch_blocks %n {cluster = 0}", "{cluster} is positive");
  check_for_hopper("launch_blocks %l", "numbers of blocks are i32");
  check_for_hopper("launch_blocks", "wrong number of operands");
  const std::string count = "%1 = host_value %n : i32\n ", warps = "launch_warps %1 {programs = 4}";
  check_for_hopper(count + in_branch + warps + end, top);
  for (const char *other : {"launch_blocks %n", "launch_warps %1 {programs = 2}"})
    check_for_hopper(count + warps + "\n " + other,
                     "a function has at most one `launch_warps`, and no `launch_blocks` beside it");
  check_for_hopper(count + "launch_warps %1 {programs = 1}", "{programs} is more than one");
  check_for_hopper(count + "launch_warps %1", "{programs} is missing");
  check_for_hopper("%1 = host_value %l : i64\n " + warps, "the number of programs is an i32");
  check_for_hopper("launch_warps %n {programs = 4}", "the number of programs is a host_value");
  check_for_hopper(in_branch + "launch_requires %n, %n {text = \"a\"}" + end, top);
  check_for_hopper("launch_requires %n, %l {text = \"a\"}",
                   "both sides of a requirement are integers of one type");
  check_for_hopper("launch_requires %l, %n {text = \"a\"}",
                   "both sides of a requirement are integers of one type");
  check_for_hopper("launch_requires %n", "wrong number of operands");
  check_for_hopper("%1 = launch_blocks %n : i32", "wrong number of results");
}

TEST_CASE("verify: tensor maps and TMA") {
  struct {
    std::string operations, rule;
  } cases[] = {
      {"%1 = tensor_map %p, %l, %l, %one : map<bf16>[64]",
       "the base of a map is a scalar pointer to its element type"},
      {"%1 = tensor_map %p, %l, %l, %one : f16[64]",
       "the base of a map is a scalar pointer to its element type"},
      {"%1 = tensor_map %p, %l, %l, %l, %one : map<f16>[64]", "one size and one stride per axis"},
      {"%1 = tensor_map %p, %l, %l, %one : map<f16>[8,8]", "one size and one stride per axis"},
      {"%1 = tensor_map %p, %n, %l, %one : map<f16>[64]", "offset, sizes and strides are i64"},
      {"%1 = tensor_map %p, %l, %l, %l : map<f16>[64]", "one stride is the constant 1"},
      {"%1 = tensor_map %p, %one, %one, %l : map<f16>[64]", "one stride is the constant 1"},
      {"%1 = tensor_map %p, %l, %l, %one {swizzle = 16} : map<f16>[64]",
       "{swizzle} is 0, 32, 64 or 128"},
      {"%1 = tma_load %map, %n, %n : bf16[16,8]",
       "the map has the element type of the tile, and at least its rank"},
      {"%1 = tma_load %map, %n, %n : f16[16,1,8]",
       "the map has the element type of the tile, and at least its rank"},
      {"%1 = tma_load %p, %n, %n : f16[16,8]", "a tensor map is a result of `tensor_map`"},
      {"%1 = tma_load %map, %n, %n : f16[8]", "a tile consists of whole boxes of the map"},
      {"tma_store %given, %a, %n, %n", "a tensor map is a result of `tensor_map`"},
      {"%1 = tma_load %map, %n, %n : f16[8,8]", "a tile consists of whole boxes of the map"},
      {"%1 = tma_load %map, %n : f16[16,8]", "one coordinate per axis"},
      {"%1 = tma_load %map, %n, %l : f16[16,8]", "coordinates are i32"},
      {"%1 = tma_load %map, %n, %n, %n : f16[16,8]", "one coordinate per axis"},
      {"%1 = tma_load %map, %n, %n {predicated = 0} : f16[16,8]",
       "one coordinate per axis, then the limit"},
      {"%1 = tma_load %map, %n, %n, %l {predicated = 0} : f16[16,8]", "a limit is an i32"},
      {"%1 = tma_load %map, %n, %n, %n {predicated = 2} : f16[16,8]",
       "{predicated} is an axis of the map"},
      {"tma_store %map, %s, %n, %n",
       "the map has the element type of the tile, and at least its rank"},
      {"tma_store %map, %a, %n", "one coordinate per axis"},
      {"tma_store %map, %a, %n, %n, %n", "one coordinate per axis"},
      {"tma_load_async %map, %a, %n, %bar, %n, %n, %n",
       "shared memory is accessed through a buffer"},
      {"tma_load_async %map, %as, %l, %bar, %n, %n, %n", "a stage index is an i32"},
      {"tma_load_async %map, %as, %n, %as, %n, %n, %n", "mbarriers are a result of `mbarriers`"},
      {"tma_load_async %map, %as, %n, %bar, %l, %n, %n", "a stage index is an i32"},
      {"tma_load_async %map, %bs, %n, %bar, %n, %n, %n",
       "a tile consists of whole boxes of the map"},
      {"tma_load_async %map, %fs, %n, %bar, %n, %n, %n",
       "the map has the element type of the tile, and at least its rank"},
      {"tma_load_async %map, %as, %n, %bar, %n, %n", "one coordinate per axis"},
      {"tma_load_async %map, %as, %n, %bar, %n, %n, %l", "coordinates are i32"},
      {"tma_store_async %map, %a, %n, %n, %n", "shared memory is accessed through a buffer"},
      {"tma_store_async %map, %as, %l, %n, %n", "a stage index is an i32"},
      {"tma_prefetch %given", "a tensor map is a result of `tensor_map`"},
      {"tma_store_async %given, %as, %n, %n, %n", "a tensor map is a result of `tensor_map`"},
      {"tma_store_async %map, %bs, %n, %n, %n", "a tile consists of whole boxes of the map"},
      {"tma_store_async %map, %fs, %n, %n, %n",
       "the map has the element type of the tile, and at least its rank"},
      {"tma_store_async %map, %as, %n, %n", "one coordinate per axis"},
      {"tma_store_async %map, %as, %n, %n, %l", "coordinates are i32"},
      {"%1 = tma_store_async %map, %as, %n, %n, %n : i32", "wrong number of results"},
      {"%1 = tma_store_wait {pending = 0} : i32", "wrong number of results"},
  };
  for (const auto &[operations, rule] : cases)
    check_for_hopper(operations, rule);
}

TEST_CASE("verify: funnel_shift") {
  CHECK(errors_of("%1 = funnel_shift %f, %f, %n {vector = 4} : f32[8]") == "");
  for (const char *wrong : {"%1 = funnel_shift %f, %f, %n {vector = 3} : f32[8]",
                            "%1 = funnel_shift %f, %f, %n {vector = 16} : f32[8]",
                            "%1 = funnel_shift %f, %f, %l {vector = 4} : f32[8]"})
    check_named(wrong, "tiles of one axis, in groups of a power of two of elements, and an i32");
  check_named("%1 = funnel_shift %f, %i, %n {vector = 4} : f32[8]",
              "both tiles have the type of the result");
}

TEST_CASE("verify: extract") {
  const char *const inside = "the part lies inside the tile, at a multiple of its size";
  for (const char *wrong :
       {"{origin = [8,0]} : f16[8,4]", "{origin = [8,0]} : f32[16,4]",
        "{origin = [16,0]} : f32[8,4]", "{origin = [4,0]} : f32[8,4]",
        "{origin = [0,1]} : f32[8,2]", "{origin = [-8,0]} : f32[8,4]", "{origin = [8]} : f32[8,4]",
        "{origin = [9223372036854775800,0]} : f32[8,4]", "{origin = [0,0]} : f32[8]",
        "{origin = [0,0]} : f32[16,8]"})
    check_for_hopper(std::string("%1 = extract %s ") + wrong, inside);
  check_for_hopper("%1 = extract %s : f32[8,4]", "{origin} is missing");
}

TEST_CASE("verify: warp_specialize at the top, without values") {
  const std::string parts =
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield\n} {\n yield\n}";
  CHECK(errors_for_hopper(parts) == "");
  check_for_hopper("if_else %c {\n " + parts + "\n yield\n} {\n yield\n}",
                   "`warp_specialize` is at the top level of a function");
  check_for_hopper("%1 = warp_specialize {warps = [4,4]} : i32 {\n yield %n\n} {\n yield %n\n}",
                   "`warp_specialize` has no results");
  check_for_hopper(
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield %n\n} {\n yield\n}",
      "`yield` has one operand per result");
  check_for_hopper(
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield\n} {\n yield %n\n}",
      "`yield` has one operand per result");
  check_for_hopper(
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield\n} {\n condition %c\n}",
      "a block ends in `yield`");
}

TEST_CASE("verify: each partition has warps") {
  auto parts = [](const std::string &attributes) {
    return "warp_specialize {" + attributes + "} {\n yield\n} {\n yield\n} {\n yield\n}";
  };
  CHECK(errors_for_hopper(parts("warps = [4,4,1]")) == "");
  CHECK(errors_for_hopper(parts("groups = [2,1,1], one_thread = [0,0,1], registers = [200,100,24], "
                                "warps = [4,4,4]")) == "");
  const char *const lists = "{warps} and the other lists have one number per partition";
  for (const char *attributes :
       {"warps = [4,4]", "groups = [2,1], warps = [4,4,4]", "one_thread = [1], warps = [4,4,4]",
        "registers = [232,40], warps = [4,4,4]"})
    check_for_hopper(parts(attributes), lists);
  check_for_hopper("warp_specialize {\n yield\n}", lists);
  check_for_hopper(parts("warps = [4,0,4]"), "a partition has warps, and groups");
  check_for_hopper(parts("groups = [0,1,1], warps = [4,4,4]"), "a partition has warps, and groups");
  check_for_hopper(parts("groups = [4,1,1], warps = [8,4,4]"), "a block has at most 32 warps");
}

TEST_CASE("verify: consumer_group_id in a partition") {
  const char *const wrong = "`consumer_group_id` is in a partition";
  CHECK(errors_for_hopper("warp_specialize {one_thread = [0,1], warps = [4,4]} {\n %t = "
                          "consumer_group_id : i32\n yield\n} {\n yield\n}") == "");
  CHECK(errors_for_hopper("warp_specialize {one_thread = [0,1], warps = [4,4]} {\n for_loop %n {\n "
                          "(%i: i32)\n %t = consumer_group_id : i32\n yield\n"
                          "}\n yield\n} {\n yield\n}") == "");
  check_for_hopper("%t = consumer_group_id : i32", wrong);
}

TEST_CASE("verify: cluster operations outside of loops") {
  const std::string buffer = "%parts = shared_alloc : shared<f32>[2,16,4]\n";
  auto sum = [](const std::string &blocks) {
    return "%1 = cluster_reduce %s {blocks = " + blocks + ", op = \"add\"} : f32[16,4]";
  };
  auto load = [&](const std::string &from, const std::string &type) {
    return buffer + "%1 = cluster_load_reduce " + from + " {blocks = 2, op = \"add\"} : " + type;
  };
  for (const char *blocks : {"2", "4", "8", "16"})
    CHECK(errors_for_hopper(sum(blocks)) == "");
  CHECK(errors_for_hopper(load("%parts, %n", "f32[16,4]")) == "");
  CHECK(errors_for_hopper("cluster_barrier") == "");
  CHECK(errors_for_hopper("warp_specialize {one_thread = [0,1], warps = [4,4]} {\n " + sum("2") +
                          "\n yield\n} {\n yield\n}") == "");

  for (const char *blocks : {"0", "1", "3", "32", "-2"})
    check_for_hopper(sum(blocks), "a cluster has 2, 4, 8 or 16 {blocks}");
  check_for_hopper("%1 = cluster_reduce %s : f32[16,4]", "{blocks} is missing");
  check_for_hopper(buffer + "%1 = cluster_load_reduce %parts, %n : f32[16,4]",
                   "{blocks} is missing");
  const char *const outside = "cluster reductions are outside of loops and branches";
  check_for_hopper("for_loop %n {\n (%t: i32)\n " + sum("2") + "\n yield\n}", outside);
  check_for_hopper("if_else %c {\n " + sum("2") + "\n yield\n} {\n yield\n}", outside);
  check_for_hopper(
      "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n for_loop %n {\n (%t: i32)\n " +
          sum("2") + "\n yield\n}\n yield\n} {\n yield\n}",
      outside);
  check_for_hopper("%1 = cluster_reduce %a {blocks = 2, op = \"add\"} : f16[16,8]",
                   "a cluster reduction has f32 or i32 elements");
  check_for_hopper("%1 = cluster_reduce %s {blocks = 2, op = \"add\"} : f32[4,16]",
                   "only the layout changes");
  check_for_hopper("%1 = cluster_reduce %s {blocks = 2, op = \"sub\"} : f32[16,4]",
                   "{op} is one of add, mul, min, max, umin, umax, and, or, xor");
  check_for_hopper("%1 = cluster_reduce %s {blocks = 2} : f32[16,4]", "{op} is missing");
  check_for_hopper("%1 = cluster_load_reduce %as, %n {blocks = 2, op = \"add\"} : f16[16,8]",
                   "a cluster reduction has f32 or i32 elements");
  check_for_hopper("%1 = cluster_load_reduce %as, %n {blocks = 2, op = \"add\"} : f32[16,8]",
                   "the tile is a whole stage");
  check_for_hopper(load("%parts, %n", "f32[8,4]"), "the tile is a whole stage");
  check_for_hopper(load("%parts, %l", "f32[16,4]"), "a stage index is an i32");
  check_for_hopper(load("%s, %n", "f32[16,4]"), "shared memory is accessed through a buffer");
  check_for_hopper("%1 = cluster_barrier : i32", "wrong number of results");
}

TEST_CASE("verify: cluster_send and cluster_receive") {
  const std::string made = "%parts = shared_alloc : shared<f32>[2,16,4]\n"
                           "%m = mbarriers {arrivals = 1} : shared<i64>[1,1]\n";
  const std::string send = made + "cluster_send %s, %parts, %n, %m, %n {blocks = 2}";
  const std::string receive =
      made + "%1 = cluster_receive %parts, %n {blocks = 2, op = \"add\"} : f32[16,4]";
  auto with = [](std::string text, const std::string &old, const std::string &now) {
    const size_t at = text.rfind(old);
    REQUIRE(at != std::string::npos);
    return text.replace(at, old.size(), now);
  };
  CHECK(errors_for_hopper(send) == "");
  CHECK(errors_for_hopper(receive) == "");
  CHECK(errors_for_hopper("cluster_arrive\n cluster_wait") == "");
  for (const std::string &text : {send, receive}) {
    check_for_hopper(with(text, "blocks = 2", "blocks = 4"), "the buffer has a tile per block");
    check_for_hopper(with(text, "blocks = 2", "blocks = 3"),
                     "a cluster has 2, 4, 8 or 16 {blocks}");
    check_for_hopper(with(text, "%parts, %n", "%parts, %l"), "a stage index is an i32");
    check_for_hopper(with(text, "%parts,", "%s,"), "shared memory is accessed through a buffer");
  }
  check_for_hopper(with(send, "%m, %n", "%parts, %n"), "mbarriers are a result of `mbarriers`");
  check_for_hopper(with(send, "%m, %n", "%m, %l"), "a stage index is an i32");
  check_for_hopper(with(receive, "f32[16,4]", "f32[4,16]"), "the buffer has a tile per block");
  check_for_hopper(with(receive, ", op = \"add\"", ""), "{op} is missing");
  check_for_hopper(with(send, "%s,", "%a,"), "a cluster reduction has f32 or i32 elements");
  check_for_hopper(with("for_loop %n {\n (%t: i32)\n " + send + "\n yield\n}", made, made),
                   "cluster reductions are outside of loops and branches");
}

TEST_CASE("verify: operations on channels") {
  check_for_hopper("%1 = channel %as : channel[3]", "the buffers of a channel have its stages");
  check_for_hopper("%1 = channel : i32", "the result is a channel");
  check_for_hopper("%1 = channel : channel[2,2]", "the result is a channel");
  check_for_hopper("%1 = channel : channel[2]\n put_done %1, %n", "a partition puts or gets");
  auto in_producer = [](const std::string &text) {
    return "%1 = channel %as : channel[2]\n warp_specialize {one_thread = [0,1], warps = [4,4]} "
           "{\n yield\n} {\n" +
           text + "\n yield\n}";
  };
  check_for_hopper(in_producer("put_done %as, %n"), "a channel is a result of `channel`");
  check_for_hopper(in_producer("put_done %1, %l"), "a number is an i32");
  check_for_hopper(in_producer("%2 = put %1, %n : i64"), "the index of a stage is an i32");
  check_for_hopper(in_producer("put %1, %n"), "wrong number of results");
  check_for_hopper(in_producer("tma_load_async %map, %as, %n, %1, %n, %n, %n"),
                   "copies to a channel go to a stage of its buffers that was put");
}

TEST_CASE("verify: mbarriers") {
  const char *const own = "mbarriers are i64, and {arrivals} is positive";
  check_for_hopper("%1 = mbarriers : shared<i64>[2,1]", "{arrivals} is missing");
  check_for_hopper("%1 = mbarriers {arrivals = 0} : shared<i64>[2,1]", own);
  check_for_hopper("%1 = mbarriers {arrivals = 1} : shared<i32>[2,1]", own);
  check_for_hopper("%1 = mbarriers {arrivals = 1} : shared<i64>[2,8]", own);
  check_for_hopper("%1 = mbarriers {arrivals = 1} : i64", own);
  check_for_hopper("%1 = mbarriers {arrivals = 1} : shared<i64>", "a buffer has an axis of stages");
  check_for_hopper("%1 = stage_phase %n {offset = 0, stages = 0} : i32", "{stages} is positive");
  const char *const buffers = "mbarriers are a result of `mbarriers`";
  check_for_hopper("mbarrier_wait %as, %n, %n", buffers);
  check_for_hopper("mbarrier_arrive %as, %n", buffers);
  check_for_hopper("mbarrier_wait %bar, %l, %n", "a stage index is an i32");
  check_for_hopper("mbarrier_wait %bar, %n, %c", "a parity is an i32");
  check_for_hopper("mbarrier_arrive %bar, %l", "a stage index is an i32");
  check_for_hopper("mbarrier_arrive %bar", "wrong number of operands");
}

TEST_CASE("verify: wgmma_ss") {
  const std::string shapes = "[M,K] times [K,N] plus [M,N]";
  auto product = [](const std::string &factors, const std::string &perms,
                    const std::string &sum = "%s", const std::string &type = "f32[16,4]") {
    return "%1 = wgmma_ss " + factors + ", " + sum + " {perms = " + perms + "} : " + type;
  };
  const std::string factors = "%as, %n, %bs, %n", straight = "[0,1,0,1]";
  CHECK(errors_for_hopper(product(factors, straight)) == "");
  check_for_hopper(product("%a, %n, %bs, %n", straight),
                   "shared memory is accessed through a buffer");
  check_for_hopper(product("%as, %l, %bs, %n", straight), "a stage index is an i32");
  check_for_hopper(product("%as, %n, %bs, %l", straight), "a stage index is an i32");
  check_for_hopper(product(factors, straight, "%s4"), "the accumulator has the type of the result");
  check_for_hopper(product("%as, %n, %fs, %n", straight), "both operands have one element type");
  check_for_hopper(product(factors, "[0,1]"), shapes);
  check_for_hopper(product(factors, "[0,1,1,0]"), shapes);
  check_for_hopper(product("%bs, %n, %as, %n", straight), shapes);
  check_for_hopper(product(factors, straight, "%s4", "f32[4,4]"), shapes);
  check_for_hopper(product(factors, straight, "%x", "f32"), shapes);
  check_for_hopper(product(factors, "[0,1,0,0]"), "{perms} permutes the axes of each operand");
  check_for_hopper(product(factors, "[2,-1,0,1]"), "{perms} permutes the axes of each operand");
  check_for_hopper("%1 = wgmma_wait %s {pending = 0} : f32[4,4]",
                   "operands and result have one type");
}

TEST_CASE("verify: wgmma_rs") {
  const std::string shapes = "[M,K] times [K,N] plus [M,N]";
  auto product = [](const std::string &operands, const std::string &perm = "[0,1]",
                    const std::string &origin = "[0,0]", const std::string &type = "f32[16,4]") {
    return "%h = extract %a {origin = [0,0]} : f16[16,4]\n%1 = wgmma_rs " + operands +
           " {perm = " + perm + ", origin = " + origin + "} : " + type;
  };
  const std::string operands = "%a, %bs, %n, %s", inside = "the part lies inside the stage";
  CHECK(errors_for_hopper(product(operands)) == "");
  CHECK(errors_for_hopper(product("%h, %bs, %n, %s", "[0,1]", "[2,0]")) == "");
  check_for_hopper(product("%a, %a, %n, %s"), "shared memory is accessed through a buffer");
  check_for_hopper(product("%a, %bs, %l, %s"), "a stage index is an i32");
  check_for_hopper(product("%a, %bs, %n, %s4"), "the accumulator has the type of the result");
  check_for_hopper(product("%a, %bs, %n, %s, %n"), "the accumulate condition is a scalar i1");
  check_for_hopper(product("%a, %fs, %n, %s"), "both operands have one element type");
  check_for_hopper(product("%x, %bs, %n, %s"), shapes);
  check_for_hopper(product(operands, "[1,0]"), shapes);
  check_for_hopper(product(operands, "[0,0]"), "{perm} permutes the axes of the operand");
  check_for_hopper(product(operands, "[0,1]", "[0]"), shapes);
  check_for_hopper(product("%a, %bs, %n, %s4", "[0,1]", "[0,0]", "f32[4,4]"), shapes);
  check_for_hopper(product(operands, "[0,1]", "[4,0]"), inside);
  check_for_hopper(product("%h, %bs, %n, %s", "[0,1]", "[-1,0]"), inside);
  check_for_hopper(product("%h, %bs, %n, %s", "[0,1]", "[0,1]"), inside);
}

TEST_CASE("verify: constant memory") {
  auto errors = [](const std::string &constants, const std::string &op = "") {
    ParseResult result =
        parse("func @f(%n: i32, %l: i64, %x: f32)" + constants + " {\n" + op + "\nreturn\n}\n");
    REQUIRE_MESSAGE(result.function, result.error);
    return verify(*result.function);
  };
  auto has = [](const std::string &errors, const std::string &rule) {
    return errors.find(rule) != std::string::npos;
  };
  const std::string load = "%v = constant_load %n : f32";
  const std::string one = " constants (t: f32[4] at 0 = [1.0])";
  CHECK(errors(one, load) == "");
  CHECK(errors(" constants (t: i8[65536] at 0)", load) == "");
  CHECK(errors(" constants (t: i8[3] at 0, u: f64[2] at 16)", load) == "");
  CHECK(has(errors("", load), "only a function with constant memory reads it"));
  CHECK(has(errors(one, "%v = constant_load %l : f32"), "offsets are i32"));
  CHECK(has(errors(one, "%v = constant_load %n : ptr<f32>"), "the elements are numbers"));
  CHECK(has(errors(one, "%v = constant_load %n : f32[4]"), "shape"));
  CHECK(has(errors(" constants (t: i8[65537] at 0)"), "has elements"));
  CHECK(has(errors(" constants (t: f32[16385] at 0)"), "at most 64 KiB"));
  CHECK(has(errors(" constants (t: f32[0] at 0)"), "has elements"));
  CHECK(has(errors(" constants (t: f32[1] at 0 = [1.0, 2.0])"), "at most as many values"));
  CHECK(has(errors(" constants (t: f32[8] at 0, u: i8[1] at 16)"), "are in order"));
  CHECK(has(errors(" constants (t: f32[8] at 4)"), "multiples of 16 bytes"));
  CHECK(has(errors(" constants (t: f32[8] at 9223372036854775792)"), "are in order"));
}
