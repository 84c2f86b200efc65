// The tile interpreter: the grid, the dispatch of operations, findings. See interpreter.h.
//
// Tested by tests/interpreter/findings_test.cpp; each family of operations has its own test.

#include "interpreter/interpreter.h"

#include "interpreter/machine.h"
#include "ir/printer.h"

namespace tritonc::interpreter {

using namespace ir;

std::string text_of(const Finding &finding) {
  auto [x, y, z] = finding.program;
  std::string text =
      "program (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  if (finding.element >= 0)
    text += ", element " + std::to_string(finding.element);
  if (!finding.operation.empty())
    text += (finding.element >= 0 ? " of `" : ", `") + finding.operation + "`";
  if (finding.location.line)
    text += " (line " + std::to_string(finding.location.line) + ")";
  return text + ": " + finding.text;
}

void Machine::find(Finding::Kind kind, const Op &op, int64_t element, std::string text) {
  bool again = found_at_ == result_.steps; // the same operation, another element
  found_at_ = result_.steps;
  if (!again && result_.findings.size() < launch_.max_findings)
    result_.findings.push_back({kind, print(op), op.location, program_, element, std::move(text)});
}

void Machine::execute(const Op &op) {
  switch (op.code) {
  case Opcode::constant_:
    return constant(op);
  case Opcode::program_id_:
    return define(op, Element::of_integer(program_[size_t(op.integer("axis"))]));
  case Opcode::num_programs_:
    return define(op, Element::of_integer(launch_.grid[size_t(op.integer("axis"))]));
  case Opcode::range_:
    return range(op);
  case Opcode::splat_:
    return splat(op);
  case Opcode::expand_:
  case Opcode::reshape_:
  case Opcode::convert_layout_: // in row-major order these change nothing
    return define(op, Tile(tile(op.operand(0))));
  case Opcode::broadcast_:
    return broadcast(op);
  case Opcode::trans_:
    return trans(op);
  case Opcode::view_:
    return view(op);
  case Opcode::load_:
    return load(op);
  case Opcode::store_:
    return store(op);
  case Opcode::dot_:
    return dot(op);
  case Opcode::reduce_:
    return reduce(op);
  case Opcode::while_loop_:
    return while_loop(op);
  case Opcode::for_loop_:
    return for_loop(op);
  case Opcode::if_else_:
    return if_else(op);
  case Opcode::condition_:
  case Opcode::yield_:
  case Opcode::return_:
  case Opcode::barrier_:
    return; // terminators are read by the operation around them; a program is one thread here
  case Opcode::print_:
    return show(op);
  case Opcode::assert_:
    return assertion(op);
  case Opcode::shared_alloc_:
    return shared_alloc(op);
  case Opcode::ring_slot_:
    return ring_slot(op);
  case Opcode::shared_store_:
    return shared_store(op);
  case Opcode::shared_load_:
    return shared_load(op);
  case Opcode::async_copy_:
    return async_copy(op);
  case Opcode::async_commit_:
    return async_commit();
  case Opcode::async_wait_:
    return async_wait(op);
  default:
    return elementwise(op);
  }
}

bool Machine::run() {
  for (const Parameter &parameter : fn_.parameters)
    values_[parameter.value] = {launch_.arguments[size_t(parameter.value->index)]};
  block(*fn_.body);
  if (!ended_ && (!started_.empty() || !groups_.empty()))
    find(Finding::Kind::copy_not_awaited, *fn_.body->terminator(), -1,
         "copies in the background are still under way");
  return result_.steps < launch_.max_steps;
}

Result run(const Function &fn, const Launch &launch, Memory &memory) {
  Result result;
  if (launch.arguments.size() != fn.parameters.size()) {
    std::string text = "@" + fn.name + " has " + std::to_string(fn.parameters.size()) +
                       " parameters, not " + std::to_string(launch.arguments.size());
    result.findings.push_back({Finding::Kind::invalid_arguments, "", {}, {}, -1, text});
    return result;
  }
  auto [x_end, y_end, z_end] = launch.grid;
  for (int z = 0; z < z_end; z++)
    for (int y = 0; y < y_end; y++)
      for (int x = 0; x < x_end; x++)
        if (!Machine(fn, launch, memory, result, {x, y, z}).run())
          return result;
  return result;
}

} // namespace tritonc::interpreter
