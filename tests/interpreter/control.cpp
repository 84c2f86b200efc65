// Implements blocks, loops, and branches.
//
// Tested by tests/interpreter/control_test.cpp.

#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::block(const Block &block) {
  for (const Op *op : block.ops) {
    if (!parts_.empty() && whose_turn() != running_)
      leave();
    if (ended_ || (joined_ && (!part() || part()->partition.block == joined_in_)))
      return;
    if (result_.steps >= launch_.max_steps) {
      ended_ = true;
      found_at_ = -1; // so that this report is not taken for a repetition
      return find(Report::Kind::too_many_steps, *op, -1,
                  "stopped after " + std::to_string(launch_.max_steps) + " steps");
    }
    result_.steps++;
    execute(*op);
  }
}

std::vector<Machine::Held> Machine::values_of(const std::vector<Value *> &values,
                                              size_t first) const {
  std::vector<Held> held;
  for (size_t i = first; i < values.size(); i++)
    held.push_back(values_.at(values[i]));
  return held;
}

void Machine::assign(const std::vector<Value *> &to, size_t first, std::vector<Held> &&values) {
  for (size_t i = 0; i < values.size(); i++)
    values_[to[first + i]] = std::move(values[i]);
}

int64_t Machine::decision(const Op &op, const Value *condition) {
  const Element &element = scalar(condition);
  if (!element.poison)
    return element.integer;
  ended_ = true;
  find(Report::Kind::poison_condition, op, -1, "depends on a value that was never there");
  return 0;
}

void Machine::for_loop(const Op &op) {
  const Block &body = *op.blocks[0];
  int64_t iterations = decision(op, op.operand(0));
  std::vector<Held> carried = values_of(op.operands, 1);
  for (int64_t t = 0; t < iterations && !ended_; t++) {
    values_[body.arguments[0]] = {{Element::of_integer(t)}};
    assign(body.arguments, 1, std::move(carried));
    block(body);
    if (!ended_)
      carried = values_of(body.terminator()->operands, 0);
  }
  assign(op.results, 0, std::move(carried));
}

void Machine::while_loop(const Op &op) {
  const Block &test = *op.blocks[0], &body = *op.blocks[1];
  std::vector<Held> carried = values_of(op.operands, 0);
  while (!ended_) {
    assign(test.arguments, 0, std::vector<Held>(carried));
    block(test);
    if (ended_ || !decision(*test.terminator(), test.terminator()->operand(0)))
      break;
    assign(body.arguments, 0, std::move(carried));
    block(body);
    if (!ended_)
      carried = values_of(body.terminator()->operands, 0);
  }
  assign(op.results, 0, std::move(carried));
}

void Machine::if_else(const Op &op) {
  int64_t condition = decision(op, op.operand(0));
  if (ended_)
    return;
  const Block &side = *op.blocks[condition ? 0 : 1];
  block(side);
  if (!ended_)
    assign(op.results, 0, values_of(side.terminator()->operands, 0));
}

} // namespace tritonc::interpreter
