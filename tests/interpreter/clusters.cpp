// Implements cluster_reduce. Each block of the cluster stores its partial sum, and all but the last
// end there. From then on all blocks would do the same, so the last block does it for all.
//
// Tested by tests/interpreter/clusters_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::join(const Op &op, Tile own) {
  int blocks = int(op.get(attr::blocks_)), rank = block_[0] % blocks;
  size_t elements = own.size();
  parts_of_sum_[block_] = std::move(own);
  if (rank + 1 < blocks) {
    joined_ = true;
    return;
  }
  std::vector<Tile> parts;
  for (int part = 0; part < blocks; part++) {
    std::array<int, 3> block = block_;
    block[0] += part - rank;
    // A block that a report has ended stores no partial sum.
    auto left = parts_of_sum_.extract(block);
    parts.push_back(left ? std::move(left.mapped()) : Tile(elements, Element::no_value()));
  }
  Elem elem = op.result()->type.elem;
  define(op, [&](size_t i) {
    Element sum = parts[0][i];
    for (size_t part = 1; part < parts.size(); part++)
      sum = binary(Opcode::add_, elem, sum, parts[part][i]);
    return sum;
  });
}

void Machine::cluster_reduce(const Op &op) {
  not_by_producer(op);
  join(op, tile(op.operand(0)));
}

void Machine::cluster_load_reduce(const Op &op) {
  not_by_producer(op);
  size_t elements = size_t(op.result()->type.elements());
  const Element *first = stage(op, op.operand(0), op.operand(1));
  join(op, first ? Tile(first, first + elements) : Tile(elements, Element::no_value()));
}

} // namespace tritonc::interpreter
