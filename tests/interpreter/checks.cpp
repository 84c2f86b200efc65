// Implements print and assert.
//
// Tested by tests/interpreter/checks_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

#include "emulator/device_printf.h"
#include "ir/checks.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::show(const Op &op) {
  std::vector<uint64_t> bits;
  std::vector<bool> there;
  for (const Value *operand : op.operands)
    for (const Element &element : tile(operand)) {
      bits.push_back(element.poison ? 0 : bits_of(operand->type.elem, element));
      there.push_back(!element.poison);
    }
  if (result_.printed.size() == launch_.max_lines)
    return;
  auto [x, y, z] = block_;
  std::string text = emulator::PrintFormat(print_format(op)).text(bits, there);
  result_.printed.push_back(emulator::print_line(uint32_t(x), uint32_t(y), uint32_t(z), text));
}

void Machine::assertion(const Op &op) {
  const Tile &condition = tile(op.operand(0));
  bool is_tile = op.operand(0)->type.is_tile();
  for (size_t i = 0; i < condition.size() && !ended_; i++) {
    bool is_poison = condition[i].poison;
    if (!is_poison && condition[i].integer)
      continue;
    ended_ = true;
    find(is_poison ? Report::Kind::poison_condition : Report::Kind::assertion_failed, op,
         is_tile ? int64_t(i) : -1,
         is_poison ? "depends on a value that was never there" : std::string(op.get(attr::text_)));
  }
}

} // namespace tritonc::interpreter
