// Calls a function for every value that passes through a loop or a branch. See value_flow.h.
//
//     %last = for_loop %n, %first : i32 {   %last and %now may be %first
//       (%i: i32, %now: i32)
//       %next = ...
//       yield %next                         or %next
//     }
//
// Tested by tests/unit/analysis/parameter_accesses_test.cpp and null_pointers_test.cpp.

#include "analysis/value_flow.h"

namespace tritonc {

using namespace ir;

void for_each_flow(const Op &op,
                   const std::function<void(const Value *to, const Value *from)> &visit) {
  if (op.blocks.empty())
    return;
  const size_t skipped = op.is(Opcode::for_loop_) ? 1 : 0; // iteration count and loop counter
  const bool is_loop = !op.is(Opcode::if_else_);
  for (size_t i = 0; i < op.results.size(); i++) {
    if (is_loop)
      visit(op.results[i], op.operand(i + skipped));
    for (const Block *block : op.blocks)
      if (const Op *end = block->terminator(); end && end->is(Opcode::yield_))
        visit(op.results[i], end->operand(i));
    for (const Block *block : op.blocks)
      if (is_loop)
        visit(block->arguments[i + skipped], op.results[i]);
  }
}

} // namespace tritonc
