// Tests ir/ir.cpp: clones, uses and definitions.

#include "ir/builder.h"
#include "ir/printer.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

const char *nested = R"(
  layout #0 [8] reg lane (1) (2) (4) (0) (0) warp
  func @f(%p: ptr<f32> aligned 4 no_alias, %n: i32 multiple_of 8 unsigned) constants (t: i32[2] at 0 = [7]) warps 1 shared 1024 blocks_per_sm 3 {
    %x = constant {number = 0.0} : f32
    %s = for_loop %n, %x : f32 {
      (%t: i32, %acc: f32)
      %c = cmp %t, %n {pred = "lt"} : i1
      %y = if_else %c : f32 {
        %z = add %acc, %x : f32
        yield %z
      } {
        yield %acc
      }
      yield %y
    }
    %v = splat %s : f32[8] #0
    %r = range {start = 0} : i32[8] #0
    %ps = splat %p : ptr<f32>[8] #0
    %q = addptr %ps, %r : ptr<f32>[8] #0
    store %q, %v {vector = 1}
    return
  })";

} // namespace

TEST_CASE("clone: copy is valid and prints the same") {
  Function fn = parsed(nested);
  fn.plan.grid = {Expr::parameter(1)};
  Function copy = clone(fn);
  check_rules(copy);
  CHECK(print(copy) == print(fn));
  CHECK(copy.plan.grid.size() == 1);
}

TEST_CASE("clone: copy shares nothing with the original") {
  Function fn = parsed(nested);
  std::string before = print(fn);
  Function copy = clone(fn);
  replace_uses(*copy.body, value_named(copy, "acc"), value_named(copy, "x"));
  copy.parameters[0].value->name = "changed";
  erase(copy.body->ops[0]);
  CHECK(print(fn) == before);
}

TEST_CASE("replace_uses: covers nested blocks, as count_uses does") {
  Function fn = parsed(nested);
  Value *x = value_named(fn, "x"), *acc = value_named(fn, "acc");
  CHECK(count_uses(*fn.body, x) == 2);
  CHECK(users_of(*fn.body, x).size() == 2);
  CHECK(count_uses(*fn.body, value_named(fn, "q")) == 1);
  replace_uses(*x->op->parent, x, value_named(fn, "s"));
  CHECK(count_uses(*fn.body, x) == 0);
  CHECK(count_uses(*fn.body, acc) == 2);
}

TEST_CASE("users_of: lists an operation once") {
  Function fn = parsed("func @f(%a: i32) {\n %b = add %a, %a : i32\n return\n}");
  CHECK(count_uses(*fn.body, value_named(fn, "a")) == 2);
  CHECK(users_of(*fn.body, value_named(fn, "a")).size() == 1);
}

TEST_CASE("Users: agrees with users_of for every value") {
  Function fn = parsed(nested);
  Users users(*fn.body);
  for (const char *name : {"p", "n", "x", "s", "acc", "c", "y", "z", "v", "r", "ps", "q"}) {
    CAPTURE(name);
    CHECK(!users.of(value_named(fn, name)).empty());
    CHECK(users.of(value_named(fn, name)) == users_of(*fn.body, value_named(fn, name)));
  }
  CHECK(Users(*value_named(fn, "s")->op->blocks[0]).of(value_named(fn, "n")).size() == 1);
  CHECK(users.of(fn.new_value(Type::scalar(Elem::i32))).empty());
  fn = parsed("func @f(%a: i32) {\n %b = add %a, %a : i32\n return\n}");
  CHECK(Users(*fn.body).of(value_named(fn, "a")).size() == 1);
}

TEST_CASE("replace_uses: changes only the given users") {
  Function fn = parsed(nested);
  Value *x = value_named(fn, "x"), *n = value_named(fn, "n");
  Value *z = value_named(fn, "z");
  replace_uses({z->op}, x, n);
  CHECK(z->op->operand(1) == n);
  CHECK(count_uses(*fn.body, x) == 1);
}

TEST_CASE("position_of: finds operations after changes of the block") {
  Function fn = parsed("func @f(%a: i32) {\n %b = add %a, %a : i32\n %c = add %b, %a : i32\n"
                       " %d = add %c, %a : i32\n %e = add %d, %a : i32\n return\n}");
  Block &body = *fn.body;
  std::vector<Op *> ops = body.ops;
  for (size_t from = 0; from < ops.size(); from++)
    for (size_t to = 0; to < ops.size(); to++) {
      CHECK(body.position_of(ops[from]) == from);
      CHECK(body.position_of(ops[to]) == to);
    }
  CHECK(body.position_of(ops.back()) == 4);
  erase(ops.back());
  erase(ops[3]);
  CHECK(body.position_of(ops[0]) == 0);
  CHECK(body.position_of(ops[2]) == 2);
  CHECK(body.position_of(ops[3]) == body.ops.size()); // not there
  Builder(fn, &body, size_t(0)).i32(1);
  CHECK(body.position_of(ops[2]) == 3);
  body.ops.clear();
  CHECK(body.position_of(ops[2]) == 0);
}

TEST_CASE("defined_outside: is false inside nested blocks") {
  Function fn = parsed(nested);
  Block *loop = value_named(fn, "s")->op->blocks[0];
  CHECK(defined_outside(value_named(fn, "n"), loop));
  CHECK(defined_outside(value_named(fn, "x"), loop));
  CHECK_FALSE(defined_outside(value_named(fn, "t"), loop));
  CHECK_FALSE(defined_outside(value_named(fn, "c"), loop));
  CHECK_FALSE(defined_outside(value_named(fn, "z"), loop)); // in a block inside
  CHECK(defined_outside(value_named(fn, "acc"), value_named(fn, "y")->op->blocks[0]));
}

TEST_CASE("clone_computation: copies operands defined inside the block") {
  Function fn = parsed(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %r = for_loop %n, %n : i32 {
        (%t: i32, %k: i32)
        %two = constant {value = 2} : i32
        %a = mul %t, %two : i32
        %b = add %a, %n : i32
        %l = load %p : i32
        %m = add %b, %l : i32
        yield %m
      }
      return
    })");
  Block *loop = value_named(fn, "r")->op->blocks[0];
  Value *t = value_named(fn, "t");
  CHECK(can_clone(value_named(fn, "b"), loop, {t}));
  CHECK_FALSE(can_clone(value_named(fn, "b"), loop, {}));  // needs the counter
  CHECK_FALSE(can_clone(value_named(fn, "m"), loop, {t})); // needs memory
  CHECK_FALSE(can_clone(value_named(fn, "k"), loop, {t})); // needs the previous iteration
  CHECK(can_clone(value_named(fn, "n"), loop, {}));

  Builder builder = Builder::before(fn, loop->parent);
  Value *five = builder.i32(5);
  Copies copies = {{t, five}};
  Value *copy = clone_computation(builder, value_named(fn, "b"), loop, copies);
  CHECK(copy == clone_computation(builder, value_named(fn, "b"), loop, copies));
  check_rules(fn);
  CHECK(print(fn) == text(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %0 = constant {value = 5} : i32
      %two = constant {value = 2} : i32
      %a = mul %0, %two : i32
      %b = add %a, %n : i32
      %r = for_loop %n, %n : i32 {
        (%t: i32, %k: i32)
        %two.1 = constant {value = 2} : i32
        %a.1 = mul %t, %two.1 : i32
        %b.1 = add %a.1, %n : i32
        %l = load %p : i32
        %m = add %b.1, %l : i32
        yield %m
      }
      return
    })"));
}

TEST_CASE("constant_of: looks through splat, expand and broadcast") {
  Function fn = parsed(R"(
    func @f(%n: i32) {
      %two = constant {value = 2} : i32
      %row = splat %two : i32[4]
      %column = expand %row {axis = 1} : i32[4,1]
      %tile = broadcast %column : i32[4,8]
      %half = constant {number = 0.5} : f32
      %no = splat %n : i32[4]
      %nothing = constant {number = 0.0} : f32
      %narrow = cast %nothing : f16
      %zeros = splat %narrow : f16[4]
      %zero = constant {value = 0} : i32
      return
    })");
  CHECK(constant_of(value_named(fn, "tile")) == 2);
  CHECK_FALSE(constant_of(value_named(fn, "no")));
  CHECK_FALSE(constant_of(value_named(fn, "half")));
  CHECK(is_zero(value_named(fn, "zeros")));
  CHECK(is_zero(value_named(fn, "zero")));
  CHECK_FALSE(is_zero(value_named(fn, "tile")));
  CHECK_FALSE(is_zero(value_named(fn, "half")));
  CHECK_FALSE(is_zero(value_named(fn, "no")));
}
