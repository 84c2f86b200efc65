// Implements reductions over a cluster. Each block of a cluster is a fiber. The blocks run in turns,
// in the order of their ranks, from one wait for the cluster to the next.
//
// After a reduction without {to_all}, all blocks would do the same. So the last block does it for
// all, and the others end.
//
// Tested by tests/interpreter/clusters_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"

#include <boost/context/protected_fixedsize_stack.hpp>

namespace tritonc::interpreter {

using namespace ir;
using boost::context::fiber;

int cluster_of(const Function &fn) {
  int64_t blocks = 1;
  for_each_op(*fn.body, [&](const Op &op) {
    blocks = std::max({blocks, op.get(attr::cluster_, 1), op.get(attr::blocks_, 1)});
  });
  return int(blocks);
}

void run_cluster(std::deque<Machine> &blocks) {
  if (blocks.size() == 1)
    return blocks[0].run();
  bool is_running = true;
  while (is_running) {
    is_running = false;
    for (Machine &block : blocks)
      is_running |= block.run_to_wait();
  }
}

bool Machine::run_to_wait() {
  constexpr size_t stack_bytes = 1 << 20;
  if (is_done_)
    return false;
  if (!fiber_)
    fiber_ = fiber(std::allocator_arg, boost::context::protected_fixedsize_stack(stack_bytes),
                   [this](fiber &&home) {
                     home_ = std::move(home);
                     run();
                     is_done_ = true;
                     return std::move(home_);
                   });
  fiber_ = std::move(fiber_).resume();
  return !is_done_;
}

void Machine::wait_for_cluster() {
  if (home_)
    home_ = std::move(home_).resume();
}

void Machine::combine(const Op &op, Tile own) {
  const int blocks = int(op.get(attr::blocks_)), rank = block_[0] % blocks;
  const size_t elements = own.size(), number = reductions_++;
  parts_of_cluster_[block_].push_back(std::move(own));
  if (op.has(attr::to_all_) || op.is(Opcode::cluster_receive_)) {
    wait_for_cluster();
  } else if (rank + 1 < blocks) {
    joined_ = true;
    joined_in_ = part() ? part()->partition.block : nullptr;
    return;
  }
  std::vector<Tile> parts;
  for (int part = 0; part < blocks; part++) {
    std::array<int, 3> block = block_;
    block[0] += part - rank;
    // A block that a report has ended stores no part.
    const std::vector<Tile> &stored = parts_of_cluster_[block];
    parts.push_back(number < stored.size() ? stored[number] : Tile(elements, Element::no_value()));
  }
  const Elem elem = op.result()->type.elem;
  const Opcode how = *combining_op(op.get(attr::op_));
  define(op, [&](size_t i) {
    Element total = parts[0][i];
    for (size_t part = 1; part < parts.size(); part++)
      total = binary(how, elem, total, parts[part][i]);
    return total;
  });
}

void Machine::cluster_reduce(const Op &op) {
  not_by_one_thread(op);
  combine(op, tile(op.operand(0)));
}

void Machine::cluster_load_reduce(const Op &op) {
  not_by_one_thread(op);
  size_t elements = size_t(op.result()->type.elements());
  const Element *first = stage(op, op.operand(0), op.operand(1));
  combine(op, first ? Tile(first, first + elements) : Tile(elements, Element::no_value()));
}

void Machine::cluster_send(const Op &op) {
  not_by_one_thread(op);
  const std::optional<At> at = mbarrier_of(op, 3);
  const Element &rank = scalar(op.operand(2));
  if (!at)
    return;
  if (!blocks_are_there_)
    return misuse(op, "sends to blocks that may not have started");
  if (rank.poison || rank.integer != block_[0] % op.get(attr::blocks_))
    return misuse(op, "sends to a stage that is not that of its rank");
  const Type &tile = op.operand(0)->type;
  Mbarrier &here = mbarrier(*at);
  const int64_t bytes = tile.elements() * bytes_of(tile.elem) * op.get(attr::blocks_);
  here.started += bytes; // as many as arrive: all blocks do the same
  here.landed += bytes;
  sent_[op.operand(1)] = this->tile(op.operand(0));
  settle(op, *at);
}

void Machine::cluster_receive(const Op &op) {
  not_by_one_thread(op);
  auto sent = sent_.find(op.operand(0));
  if (sent == sent_.end())
    return misuse(op, "reads what no block sends");
  combine(op, sent->second);
}

void Machine::cluster_arrive(const Op &op) {
  not_by_one_thread(op);
  has_arrived_ = true;
}

void Machine::cluster_wait(const Op &op) {
  not_by_one_thread(op);
  if (!has_arrived_)
    return misuse(op, "waits without a cluster_arrive");
  blocks_are_there_ = true;
  wait_for_cluster();
}

void Machine::cluster_barrier(const Op &op) {
  not_by_one_thread(op);
  wait_for_cluster();
}

} // namespace tritonc::interpreter
