// Implements mbarriers, and the TMA loads that count on them.
//
// A phase of an mbarrier ends after all its arrivals and all its expected bytes. A wait for parity
// P ends when the current phase has the other parity. The first phase has parity 0, so on a fresh
// mbarrier a wait for parity 1 returns at once.
//
// A tma_load_async makes its destination in the stage poison. It lands as late as possible: when a
// part waits for its mbarrier and no part can continue. As with async_copy, elements that change in
// global memory between start and landing become poison. A consumer warp that copies needs a
// proxy_fence after its reads of the stage.
//
// Tested by tests/interpreter/mbarriers_test.cpp.

#include "interpreter/machine.h"

#include <algorithm>

namespace tritonc::interpreter {

using namespace ir;

void Machine::mbarriers(const Op &op) {
  Mbarriers buffer;
  buffer.arrivals = op.get(attr::arrivals_);
  buffer.stages.assign(size_t(op.result()->type.shape[0]), Mbarrier{buffer.arrivals});
  mbarriers_.push_back(std::move(buffer));
  define(op, Element::of_integer(int64_t(mbarriers_.size()) - 1));
}

void Machine::stage_phase(const Op &op) {
  Element phase = scalar(op.operand(0));
  if (!phase.poison)
    phase.integer = (phase.integer + op.get(attr::offset_)) / op.get(attr::stages_) % 2;
  define(op, phase);
}

// The mbarrier of operands `first` and `first + 1`; nullopt, after a report, if the stage does not
// exist.
std::optional<Machine::At> Machine::mbarrier_of(const Op &op, size_t first) {
  At at{int(scalar(op.operand(first)).integer), 0};
  const Element &stage = scalar(op.operand(first + 1));
  if (!is_stage(op, stage, int64_t(mbarriers_[size_t(at.buffer)].stages.size())))
    return std::nullopt;
  at.stage = size_t(stage.integer);
  return at;
}

// Reports a misuse and ends the program, because later errors would only repeat it.
void Machine::misuse(const Op &op, std::string text, Report::Kind kind) {
  ended_ = true;
  find(kind, op, -1, std::move(text));
}

// Ends the phase if it is complete. `op` is the operation that may have completed it.
void Machine::settle(const Op &op, At at) {
  Mbarrier &here = mbarrier(at);
  if (here.to_arrive > 0)
    return;
  if (here.started > here.announced)
    return misuse(op, "a phase in which copies of " + std::to_string(here.started) +
                          " bytes have started announces " + std::to_string(here.announced));
  if (here.landed == here.announced)
    here = {mbarriers_[size_t(at.buffer)].arrivals, here.phases + 1};
}

void Machine::mbarrier_arrive(const Op &op) {
  std::optional<At> at = mbarrier_of(op, 0);
  if (!at)
    return;
  Mbarrier &here = mbarrier(*at);
  here.announced += op.get(attr::bytes_);
  int arrivals = op.has(attr::bytes_) ? 1
                 : part()             ? part()->partition.arrivals()
                                      : std::max(fn_.warps, 1); // one per warp
  // Blocks run one after another. Those of a cluster do the same at the same time, and a block loads
  // all of a tile of which it would copy a part.
  arrivals *= int(op.get(attr::cluster_, 1));
  int64_t phase = here.phases;
  for (int i = 0; i < arrivals && !ended_; i++) {
    if (here.to_arrive == 0 || here.phases != phase)
      return misuse(op, "more arrivals than the " +
                            std::to_string(mbarriers_[size_t(at->buffer)].arrivals) +
                            " that a phase expects");
    here.to_arrive--;
    settle(op, *at);
  }
}

bool Machine::is_over(const Wait &wait) {
  if (wait.at.is_channel)
    return wait.op->is(Opcode::put_) ? is_put_over(wait) : is_get_over(wait);
  return mbarrier(wait.at).phases % 2 != wait.parity;
}

void Machine::wait_for(const Wait &wait) {
  if (!parts_.empty() && !is_over(wait)) {
    parts_[running_].wait = wait;
    leave();
    parts_[running_].wait = {};
  }
  while (parts_.empty() && !ended_ && !is_over(wait))
    if (!land_for(wait))
      stuck({wait});
}

void Machine::mbarrier_wait(const Op &op) {
  std::optional<At> at = mbarrier_of(op, 0);
  const Element &parity = scalar(op.operand(2));
  if (!at || parity.poison) {
    ended_ = true;
    return find(Report::Kind::poison_condition, op, -1, "waits for what was never there");
  }
  if (parity.integer != 0 && parity.integer != 1)
    return misuse(op, "parity " + std::to_string(parity.integer));
  wait_for({&op, *at, parity.integer});
}

// Lands the oldest copy that counts on the awaited mbarrier or channel. Returns false if there is none.
bool Machine::land_for(const Wait &wait) {
  auto copy = std::find_if(tma_load_asyncs_.begin(), tma_load_asyncs_.end(),
                           [&](const MapCopy &copy) { return copy.at == wait.at; });
  if (copy == tma_load_asyncs_.end())
    return false;
  MapCopy landing = std::move(*copy);
  tma_load_asyncs_.erase(copy);
  for (const Copy &element : landing.elements)
    land(element);
  if (landing.at.is_channel) {
    slot(landing.at).copies--;
    return true;
  }
  mbarrier(landing.at).landed += landing.bytes;
  settle(*landing.op, landing.at);
  return true;
}

void Machine::tma_load_async(const Op &op) {
  Element *to = stage(op, op.operand(1), op.operand(2));
  const bool to_channel = op.operand(3)->type.is_channel();
  std::optional<At> at = to_channel ? At{int(scalar(op.operand(3)).integer),
                                         size_t(scalar(op.operand(4)).integer), true}
                                    : mbarrier_of(op, 3);
  if (!to || !at)
    return;
  // One thread waits until the others have used what they read.
  if (!is_one_thread() && unfenced_reads_[running_].count(place_of(op.operand(1), to)))
    find(Report::Kind::not_fenced, op, -1, "no proxy_fence since its stage was read");
  check_box(op, 5, false);
  const Type &type = op.operand(1)->type;
  Shape tile(type.shape.begin() + 1, type.shape.end());
  std::vector<std::optional<Element>> pointers = mapped(op, tile, 5);
  MapCopy copy{&op, *at, element_count(tile) * bytes_of(type.elem), {}};
  auto [into, first] = place_of(op.operand(1), to);
  bool to_tf32 = op.operand(0)->op->has(attr::tf32_);
  for (size_t i = 0; i < pointers.size(); i++) {
    Copy one{into, first + i, Element(), Element::no_value(), to_tf32}; // zero
    if (is_predicated_off(op, tile, 5, i)) {
      one.value = Element::no_value();
    } else if (pointers[i]) {
      const Element *element = accessed(op, i, *pointers[i], "copies");
      one.value = element ? *element : Element::no_value();
      one.from = element ? *pointers[i] : Element::no_value();
    }
    to[i] = Element::no_value();
    copy.elements.push_back(one);
  }
  tma_load_asyncs_.push_back(std::move(copy));
  if (to_channel) {
    slot(*at).copies++;
    slot(*at).is_copied = true;
    return;
  }
  mbarrier(*at).started += tma_load_asyncs_.back().bytes;
  settle(op, *at);
}

// Reports a deadlock: no part can continue, and no pending copy would change that.
void Machine::stuck(const std::vector<Wait> &waits) {
  std::string text;
  for (const Wait &wait : waits) {
    const std::string &name = wait.op->operand(0)->name;
    const std::string of = name.empty() ? "" : " of %" + name;
    const std::optional<Partition> partition = partition_of(*wait.op);
    text += (text.empty() ? "" : "; ") + std::string(partition && partition->is_one_thread
                                                         ? "the producer warp waits"
                                                         : "the program's warps wait");
    if (wait.at.is_channel) {
      text += std::string(wait.op->is(Opcode::put_) ? " to put" : " to get") + " number " +
              std::to_string(wait.parity) + of;
      continue;
    }
    const Mbarrier &here = mbarrier(wait.at);
    text += " for parity " + std::to_string(wait.parity) + " of stage " +
            std::to_string(wait.at.stage) + of + " (" + std::to_string(here.to_arrive) +
            " arrivals and " + std::to_string(here.announced - here.landed) + " bytes to come)";
  }
  ended_ = true;
  found_at_ = -1; // so that this report is not taken for a repetition
  find(Report::Kind::deadlock, *waits[0].op, -1, text);
}

} // namespace tritonc::interpreter
