// Implements the host's work before the launch: the number of blocks, and host values.
//
// The host computes on integers: parameters, the grid of programs, the number of SMs, and signed
// arithmetic on them. A block can read only host_values. In a block, the number of SMs is poison.
// The grid of programs is also poison if blocks are not programs.
//
// Tested by tests/interpreter/host_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"
#include "ir/printer.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::program_id(const Op &op) {
  bool is_program = blocks_ == launch_.grid;
  if (!is_program)
    find(Report::Kind::no_program, op, -1, "the blocks are not those of the grid of programs");
  size_t axis = size_t(op.get(attr::axis_));
  define(op, is_program ? Element::of_integer(block_[axis]) : Element::no_value());
}

void Machine::num_programs(const Op &op) {
  size_t axis = size_t(op.get(attr::axis_));
  define(op,
         blocks_ == launch_.grid ? Element::of_integer(launch_.grid[axis]) : Element::no_value());
}

// The value as computed by the host; nullopt if the host cannot compute it.
std::optional<Element> Machine::formula(const Value *value) {
  if (auto known = formulas_.find(value); known != formulas_.end())
    return known->second;
  return formulas_[value] = computed(value);
}

std::optional<Element> Machine::computed(const Value *value) {
  const Type &type = value->type;
  if (!type.is_scalar() || !type.is_number() || !is_integer(type.elem))
    return std::nullopt;
  if (!value->op)
    return value->block ? std::nullopt : std::optional(launch_.arguments[size_t(value->index)]);
  const Op &op = *value->op;
  if (op.has(attr::unsigned_))
    return std::nullopt;
  std::vector<Element> operands;
  for (const Value *operand : op.operands) {
    std::optional<Element> element = formula(operand);
    if (!element)
      return std::nullopt;
    operands.push_back(*element);
  }
  switch (op.code) {
  case Opcode::constant_:
    return Element::of_integer(op.get(attr::value_));
  case Opcode::num_programs_:
    return Element::of_integer(launch_.grid[size_t(op.get(attr::axis_))]);
  case Opcode::num_sms_:
    return Element::of_integer(launch_.num_sms);
  case Opcode::host_value_:
    return operands[0];
  case Opcode::cast_:
    return convert(op.operand(0)->type.elem, type.elem, false, operands[0]);
  case Opcode::neg_:
    return unary(op.code, type.elem, operands[0]);
  case Opcode::add_:
  case Opcode::sub_:
  case Opcode::mul_:
  case Opcode::div_:
  case Opcode::rem_:
  case Opcode::min_:
  case Opcode::max_:
    return binary(op.code, type.elem, operands[0], operands[1]);
  default:
    return std::nullopt;
  }
}

// The same for an operand of `op`. If the host cannot compute it, reports that and returns poison.
Element Machine::on_host(const Op &op, const Value *value) {
  std::optional<Element> element = formula(value);
  if (!element) {
    std::string what = value->op ? "`" + print(*value->op) + "`" : "%" + value->name;
    find(Report::Kind::not_on_host, op, -1, "the host can't compute " + what);
  }
  return element.value_or(Element::no_value());
}

void Machine::host_value(const Op &op) { define(op, on_host(op, op.operand(0))); }

void Machine::workspace(const Op &op) {
  Element bytes = on_host(op, op.operand(0));
  if (bytes.poison)
    return define(op, Element::no_value());
  Elem elem = op.result()->type.elem;
  int buffer = -1;
  if (bytes.integer >= 0 && bytes.integer % bytes_of(elem) == 0)
    buffer = memory_.workspace(elem, size_t(bytes.integer / bytes_of(elem)));
  if (buffer < 0)
    find(Report::Kind::bad_launch, op, -1, std::to_string(bytes.integer) + " bytes of workspace");
  define(op, buffer < 0 ? Element::no_value() : Element::pointer(buffer));
}

void Machine::check_requirement(const Op &op) {
  Element left = on_host(op, op.operand(0)), right = on_host(op, op.operand(1));
  if (left.poison || right.poison || left.integer != right.integer)
    find(Report::Kind::not_launched, op, -1, "the launch does not meet the requirement");
}

std::array<int, 3> Machine::blocks_to_launch() {
  const Op *launch = nullptr;
  for (const Op *op : fn_.body->ops) {
    if (op->is(Opcode::launch_blocks_))
      launch = op;
    if (op->is(Opcode::launch_requires_))
      check_requirement(*op);
  }
  if (!launch || launch_.grid[0] < 1 || launch_.grid[1] < 1 || launch_.grid[2] < 1)
    return launch_.grid;
  std::array<int, 3> blocks = {1, 1, 1};
  for (size_t axis = 0; axis < launch->operands.size(); axis++) {
    Element count = on_host(*launch, launch->operand(axis));
    blocks[axis] = count.poison ? 0 : int(count.integer);
    if (blocks[axis] < 1)
      find(Report::Kind::bad_launch, *launch, -1,
           count.poison
               ? "a number of blocks that was never there"
               : std::to_string(count.integer) + " blocks along axis " + std::to_string(axis));
  }
  int64_t cluster = launch->get(attr::cluster_, 1);
  if (blocks[0] % cluster != 0) {
    find(Report::Kind::bad_launch, *launch, -1,
         std::to_string(blocks[0]) + " blocks in clusters of " + std::to_string(cluster));
    blocks = {0, 0, 0};
  }
  return blocks;
}

} // namespace tritonc::interpreter
