// Tests ir/builder.cpp: result types and insertion positions.

#include "ir/builder.h"
#include "ir/printer.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

TEST_CASE("Builder: result types follow from the operands") {
  Function fn;
  fn.name = "f";
  Value *p = fn.add_parameter("p", Type::pointer(Elem::f16));
  Value *n = fn.add_parameter("n", Type::scalar(Elem::i32));
  Builder b(fn, fn.body);
  Value *r = b.range(4, 8);
  Value *ns = b.splat(n, {8});
  Value *mask = b.cmp("lt", r, ns);
  Value *ps = b.addptr(b.splat(p, {8}), r);
  Value *zero = b.filled(Type::tile(Elem::f16, {8}), 0);
  Value *x = b.load(ps, mask, zero);
  Value *wide = b.cast(x, Elem::f32);
  Value *column = b.expand(wide, 1);
  Value *block = b.broadcast(column, {8, 16});
  Value *turned = b.trans(block, {1, 0});
  Value *sum = b.reduce(turned, 0, "add");
  Value *chosen = b.select(mask, sum, wide);
  b.store(ps, b.cast(chosen, Elem::f16), mask);
  Value *folded = b.reshape(wide, {2, 4});
  Value *bits = b.bitcast(wide, Elem::i32);
  b.return_op();
  check_rules(fn);

  auto type = [](const Value *value) { return text_of(value->type); };
  CHECK(type(r) == "i32[8]");
  CHECK(type(ns) == "i32[8]");
  CHECK(type(mask) == "i1[8]");
  CHECK(type(ps) == "ptr<f16>[8]");
  CHECK(type(x) == "f16[8]");
  CHECK(type(wide) == "f32[8]");
  CHECK(type(column) == "f32[8,1]");
  CHECK(type(block) == "f32[8,16]");
  CHECK(type(turned) == "f32[16,8]");
  CHECK(type(sum) == "f32[8]");
  CHECK(type(folded) == "f32[2,4]");
  CHECK(type(bits) == "i32[8]");
}

TEST_CASE("Builder: cmp of pointers returns i1") {
  Function fn;
  Value *p = fn.add_parameter("p", Type::pointer(Elem::f16));
  CHECK(Builder(fn, fn.body).cmp("eq", p, p)->type == Type::scalar(Elem::i1));
}

TEST_CASE("Builder: float constants have a number, others a value") {
  Function fn;
  Builder b(fn, fn.body);
  CHECK(b.i32(7)->op->get(attr::value_) == 7);
  CHECK(b.i64(7)->type == Type::scalar(Elem::i64));
  CHECK(b.constant(Type::scalar(Elem::f32), 2)->op->get(attr::number_) == 2);
  CHECK(b.filled(Type::scalar(Elem::i8), 3)->op->get(attr::value_) == 3);
  CHECK(constant_of(b.filled(Type::tile(Elem::i32, {4}), 9)) == 9);
}

TEST_CASE("Builder: inserts before, after and at a position") {
  Function fn = parsed("func @f() {\n %a = constant {value = 1} : i32\n return\n}");
  Op *a = value_named(fn, "a")->op;
  Builder::before(fn, a).i32(0);
  Builder::after(fn, a).i32(2);
  Builder(fn, fn.body, 0).i32(-1);
  Builder in_order = Builder::before(fn, fn.body->terminator());
  in_order.i32(3);
  in_order.i32(4);
  check_rules(fn);
  std::string values;
  for (const Op *op : fn.body->ops)
    if (op->is(Opcode::constant_))
      values += std::to_string(op->get(attr::value_)) + " ";
  CHECK(values == "-1 0 1 2 3 4 ");
}

TEST_CASE("Builder: loops and branches have their blocks") {
  Function fn;
  fn.name = "f";
  Value *n = fn.add_parameter("n", Type::scalar(Elem::i32));
  Builder b(fn, fn.body);
  Op *counted = b.for_loop(n, {n});
  Builder body(fn, counted->blocks[0]);
  body.yield({body.add(counted->blocks[0]->arguments[1], counted->blocks[0]->arguments[0])});
  Op *loop = b.while_loop({counted->results[0]});
  Builder test(fn, loop->blocks[0]);
  test.condition(test.cmp("gt", loop->blocks[0]->arguments[0], test.i32(0)));
  Builder(fn, loop->blocks[1]).yield({loop->blocks[1]->arguments[0]});
  Op *branch = b.if_else(b.cmp("eq", n, n), {n->type});
  Builder(fn, branch->blocks[0]).yield({n});
  Builder(fn, branch->blocks[1]).yield({loop->results[0]});
  b.return_op();
  check_rules(fn);
  CHECK(print(fn) == text(R"(
    func @f(%n: i32) {
      %0 = for_loop %n, %n : i32 {
        (%1: i32, %2: i32)
        %3 = add %2, %1 : i32
        yield %3
      }
      %4 = while_loop %0 : i32 {
        (%5: i32)
        %6 = constant {value = 0} : i32
        %7 = cmp %5, %6 {pred = "gt"} : i1
        condition %7
      } {
        (%8: i32)
        yield %8
      }
      %9 = cmp %n, %n {pred = "eq"} : i1
      %10 = if_else %9 : i32 {
        yield %n
      } {
        yield %4
      }
      return
    })"));
}

TEST_CASE("Builder: operations take the current location") {
  Function fn;
  Builder b(fn, fn.body);
  b.set_location({3, 14});
  CHECK(b.i32(0)->op->location.line == 3);
  CHECK(b.i32(0)->op->location.column == 14);
}

TEST_CASE("Op: attributes are sorted by name and unique") {
  Function fn;
  Op *op = Builder(fn, fn.body).create(Opcode::constant_, {}, {Type::scalar(Elem::i32)});
  op->set(attr::value_, int64_t(2));
  op->set(attr::axis_, int64_t(1));
  op->set(attr::value_, int64_t(3));
  CHECK(op->attributes.size() == 2);
  CHECK(op->attributes[0].first == AttributeName::axis_);
  CHECK(op->get(attr::value_) == 3);
  CHECK(op->get(attr::stages_, 5) == 5);
  CHECK(op->get(attr::cache_).empty());
  CHECK(op->get(attr::perm_).empty());
  op->erase(attr::value_);
  CHECK_FALSE(op->has(attr::value_));
}
