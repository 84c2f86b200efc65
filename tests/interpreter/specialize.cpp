// The two parts of a specialize: the program's warps and the helper, each a fiber.
//
// Before every operation it is decided whose turn it is (`Launch::turns`). A part that waits for an
// mbarrier goes on when that wait is over. If both wait, a copy lands that one of them waits for;
// if there is none, nothing will ever happen.
//
// Tested by tests/interpreter/specialize_test.cpp.

#include "interpreter/machine.h"

#include <boost/context/protected_fixedsize_stack.hpp>

namespace tritonc::interpreter {

using namespace ir;
using boost::context::fiber;

namespace {

constexpr size_t stack_bytes = 1 << 20;

} // namespace

bool Machine::can_go_on(const Part &part) {
  return !part.is_done && (ended_ || !part.wait.op || is_over(part.wait));
}

// Nothing if nobody can go on.
std::optional<size_t> Machine::whose_turn() {
  size_t first = launch_.turns == Turns::helper_first    ? helper
                 : launch_.turns == Turns::workers_first ? workers
                                                         : 1 - running_;
  for (size_t part : {first, 1 - first})
    if (can_go_on(parts_[part]))
      return part;
  return std::nullopt;
}

// Back to specialize(), which goes on here when it is this part's turn again.
void Machine::leave() {
  Part &part = parts_[running_];
  part.home = std::move(part.home).resume();
}

void Machine::specialize(const Op &op) {
  parts_ = std::vector<Part>(2);
  helpers_ = op.has("all_helpers") ? fn_.helper_warps : 1;
  for (size_t i : {workers, helper})
    parts_[i].fiber =
        fiber(std::allocator_arg, boost::context::protected_fixedsize_stack(stack_bytes),
              [this, &op, i](fiber &&home) {
                parts_[i].home = std::move(home);
                block(*op.blocks[i]);
                parts_[i].is_done = true;
                return std::move(parts_[i].home);
              });
  while (!parts_[workers].is_done || !parts_[helper].is_done) {
    if (std::optional<size_t> next = whose_turn()) {
      running_ = *next;
      parts_[running_].fiber = std::move(parts_[running_].fiber).resume();
      continue;
    }
    std::vector<Wait> waits;
    for (const Part &part : parts_)
      if (!part.is_done)
        waits.push_back(part.wait);
    if (!land_for(waits.front()) && !land_for(waits.back()))
      stuck(waits);
  }
  parts_.clear();
  running_ = workers;
}

void Machine::not_by_helper(const Op &op) {
  if (is_helper())
    find(Finding::Kind::wrong_warps, op, -1, "the helper is one thread");
}

} // namespace tritonc::interpreter
