// start_products: let the tensor cores multiply from a ring while the warps copy on.
//
//     async_wait {pending = 2}                  async_wait {pending = 2}
//     async_copy ..., %sa, slot t+3             proxy_fence
//     async_copy ..., %sb, slot t+3             %p = shared_product %sa, slot t, %sb, slot t, %acc
//     async_commit                              async_copy ..., %sa, slot t+3
//     %a = shared_load %sa, slot t      =>      async_copy ..., %sb, slot t+3
//     %b = shared_load %sb, slot t              async_commit
//     %d = dot %a, %b, %acc                     %d = product_wait %p {pending = 1}
//     yield %d                                  yield %d
//
// and behind the loop a product_wait {pending = 0}. wgmma reads its factors where they lie, so
// nobody loads them. One product is under way when the next is started: who has waited for that
// knows that the one before has been read, and may copy into its slot in the trip after. That is
// why the ring has a slot more (pipeline_loops), and one barrier in each trip is enough: it stands
// between the fence, by which the tensor cores see what threads have copied, and the product.
//
// The loop makes one trip at least: what has not been copied is zero.
//
// Needs:   pipeline_loops; a structure whose warps copy and multiply together, for which
//          structures_for has looked whether all factors are copied ahead.
// Ensures: no dot is left whose instruction is wgmma.
// Limits:  both factors have neighbours along K, or elements of 16 bits.
//
// Tested by tests/passes/start_products_test.cpp.

#include "passes/start_products.h"

#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

void move_behind(Op *op, Op *place) {
  Block &block = *place->parent;
  erase(op);
  op->parent = &block;
  block.ops.insert(block.ops.begin() + ptrdiff_t(block.position_of(place)) + 1, op);
}

struct State {
  Function &fn;
  Op *dot;
  Block &body = *dot->parent;
  Op *loop = body.parent;
  std::vector<int64_t> warpgroups = dot->list("warpgroups");

  Value *wait(Builder &builder, Value *sum, int64_t pending) {
    Op *op = builder.create(Opcode::product_wait_, {sum}, {sum->type});
    op->set("pending", pending);
    op->set("warpgroups", warpgroups);
    return op->result();
  }

  // The product, right behind the wait for what it reads.
  Op *start(Builder &builder) {
    const Op *loads[2] = {dot->operand(0)->op, dot->operand(1)->op};
    std::vector<Value *> operands;
    std::vector<int64_t> perms;
    for (const Op *load : loads) {
      operands.insert(operands.end(), {load->operand(0), load->operand(1)});
      std::vector<int64_t> perm = load->list("perm");
      perms.insert(perms.end(), perm.begin(), perm.end());
    }
    operands.push_back(dot->operand(2));
    Op *product =
        builder.create(Opcode::shared_product_, std::move(operands), {dot->result()->type});
    product->set("perms", perms);
    product->set("warpgroups", warpgroups);
    if (dot->has("precision"))
      product->set("precision", std::string(dot->text("precision")));
    if (dot->has("unsigned"))
      product->set("unsigned", int64_t(1));
    return product;
  }

  // Behind the loop: the last one is done.
  void finish(Value *unfinished) {
    Builder builder = Builder::after(fn, loop);
    builder.set_location(dot->location);
    Value *sum = fn.new_value(unfinished->type); // what others use
    replace_uses(*loop->parent, unfinished, sum);
    Value *finished = wait(builder, unfinished, 0);
    finished->name = unfinished->name;
    replace_uses(*loop->parent, sum, finished);
  }

  void run() {
    std::vector<Op *> copies; // and the commit behind them
    Op *waited = nullptr;
    for (Op *op : body.ops) {
      if (op->is(Opcode::async_copy_) || op->is(Opcode::async_commit_))
        copies.push_back(op);
      if (op->is(Opcode::async_wait_))
        waited = op;
    }
    assert(waited && "structures_for has looked");
    // A way round the loop would make the sum something else than wgmma's, for which ptxas lets all
    // of them wait for each other (C7515). So there always is a trip: copies that are none are
    // zeros, and so is their product.
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    loop->operands[0] = before.binary(Opcode::max_, loop->operand(0), before.i32(1));
    Builder fence = Builder::after(fn, waited);
    fence.set_location(dot->location);
    fence.create(Opcode::proxy_fence_, {});
    Builder builder = Builder::before(fn, dot);
    builder.set_location(dot->location);
    Op *product = start(builder);
    for (auto copy = copies.rbegin(); copy != copies.rend(); copy++)
      move_behind(*copy, product);
    Builder behind = Builder::before(fn, dot);
    behind.set_location(dot->location);
    Value *sum = wait(behind, product->result(), 1);
    sum->name = dot->result()->name;
    std::vector<Value *> &next = body.terminator()->operands;
    auto carried = std::find(next.begin(), next.end(), dot->result());
    assert(carried != next.end() && "the loop carries the sum");
    *carried = sum;
    finish(loop->results[size_t(carried - next.begin())]);
    erase(dot);
  }
};

} // namespace

void start_products(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_) && op.text("instruction") == "wgmma")
      dots.push_back(&op);
  });
  for (Op *dot : dots)
    State{fn, dot}.run();
}

} // namespace tritonc
