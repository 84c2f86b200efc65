// Runs the partitions of a warp_specialize: each of their groups is a part, and a fiber.
//
// Before every operation, `Launch::turns` decides which part runs next. A part that waits for an
// mbarrier continues when its wait is over. If all parts wait, a copy lands that one of them waits
// for. If there is no such copy, it is a deadlock.
//
// Tested by tests/interpreter/warp_specialize_test.cpp.

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

// The part that runs next; nullopt if no part can continue.
std::optional<size_t> Machine::whose_turn() {
  size_t first = launch_.turns == Turns::producer_first  ? parts_.size() - 1
                 : launch_.turns == Turns::workers_first ? 0
                                                         : running_ + 1;
  for (size_t i = 0; i < parts_.size(); i++)
    if (size_t part = (first + i) % parts_.size(); can_go_on(parts_[part]))
      return part;
  return std::nullopt;
}

// Switches to specialize(), which resumes this part on its next turn.
void Machine::leave() {
  Part &part = parts_[running_];
  part.home = std::move(part.home).resume();
}

void Machine::exchange(Own &own) {
  values_.swap(own.values);
  allocated_.swap(own.allocated);
  started_.swap(own.started);
  groups_.swap(own.groups);
  copies_out_.swap(own.copies_out);
  products_.swap(own.products);
  std::swap(finished_, own.finished);
}

void Machine::go_on(size_t part) {
  running_ = part;
  exchange(parts_[part].own);
  parts_[part].fiber = std::move(parts_[part].fiber).resume();
  exchange(parts_[part].own);
}

// Moves the parts' pending operations to the program.
void Machine::join_parts() {
  exchange(parts_[0].own);
  for (size_t i = 1; i < parts_.size(); i++) {
    Own &own = parts_[i].own;
    std::move(own.started.begin(), own.started.end(), std::back_inserter(started_));
    std::move(own.groups.begin(), own.groups.end(), std::back_inserter(groups_));
    std::move(own.copies_out.begin(), own.copies_out.end(), std::back_inserter(copies_out_));
    std::move(own.products.begin() + int64_t(own.finished), own.products.end(),
              std::back_inserter(products_));
  }
  parts_.clear();
  running_ = 0;
}

void Machine::specialize(const Op &op) {
  for (const Partition &partition : partitions_of(op))
    for (int group = 0; group < partition.groups; group++) {
      parts_.emplace_back();
      parts_.back().partition = partition;
      parts_.back().group = group;
    }
  for (size_t i = 0; i < parts_.size(); i++) {
    const Block *own = parts_[i].partition.block;
    if (i > 0)
      parts_[i].own = {values_, allocated_, {}, {}, {}, {}, 0};
    parts_[i].fiber =
        fiber(std::allocator_arg, boost::context::protected_fixedsize_stack(stack_bytes),
              [this, own, i](fiber &&home) {
                parts_[i].home = std::move(home);
                block(*own);
                parts_[i].is_done = true;
                return std::move(parts_[i].home);
              });
  }
  exchange(parts_[0].own); // with its pending operations
  auto is_done = [](const Part &part) { return part.is_done; };
  while (!std::all_of(parts_.begin(), parts_.end(), is_done)) {
    if (std::optional<size_t> next = whose_turn()) {
      go_on(*next);
      continue;
    }
    std::vector<Wait> waits;
    for (const Part &part : parts_)
      if (!part.is_done)
        waits.push_back(part.wait);
    if (std::none_of(waits.begin(), waits.end(), [&](const Wait &wait) { return land_for(wait); }))
      stuck(waits);
  }
  join_parts();
}

void Machine::not_by_one_thread(const Op &op) {
  if (is_one_thread())
    find(Report::Kind::wrong_warps, op, -1, "one thread runs the partition");
}

} // namespace tritonc::interpreter
