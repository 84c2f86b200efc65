// Implements channels between partitions.
//
// A stage of a channel is empty, put, full or got. Its buffers hold nothing while it is empty: a put
// and a get_done make them poison. A number that is not the next one of its stage, or an operation in
// another state, ends the program with a report.
//
// Copies to a channel land as those to mbarriers do (mbarriers.cpp).
//
// Tested by tests/interpreter/channels_test.cpp.

#include "interpreter/machine.h"

#include <algorithm>

namespace tritonc::interpreter {

using namespace ir;

void Machine::channel(const Op &op) {
  Channel channel{&op, std::vector<Slot>(size_t(op.result()->type.shape[0])), {}};
  for (const Value *buffer : op.operands)
    channel.buffers.push_back(int(scalar(buffer).integer));
  for (const Op *use : users_of(*fn_.body, op.result()))
    channel.is_released |= use->is(Opcode::get_done_);
  channels_.push_back(std::move(channel));
  define(op, Element::of_integer(int64_t(channels_.size()) - 1));
}

std::optional<Machine::Wait> Machine::turn_of(const Op &op) {
  const Element &number = scalar(op.operand(1));
  if (number.poison) {
    ended_ = true;
    find(Report::Kind::poison_condition, op, -1, "its number was never there");
    return std::nullopt;
  }
  const int channel = int(scalar(op.operand(0)).integer);
  const auto stages = int64_t(channels_[size_t(channel)].slots.size());
  const int64_t n = number.integer + op.get(attr::offset_);
  return Wait{&op, {channel, size_t((n % stages + stages) % stages), true}, n};
}

// Whether the number follows the one that its stage held last. Reports it if not.
bool Machine::in_order(const Wait &turn) {
  const Slot &here = slot(turn.at);
  const auto stages = int64_t(channels_[size_t(turn.at.buffer)].slots.size());
  const int64_t next = here.number < 0 ? int64_t(turn.at.stage) : here.number + stages;
  if (turn.parity == next)
    return true;
  misuse(*turn.op,
         "puts number " + std::to_string(turn.parity) + ", and the next one of the stage is " +
             std::to_string(next),
         Report::Kind::bad_channel);
  return false;
}

void Machine::clear(At at) {
  const Channel &channel = channels_[size_t(at.buffer)];
  for (int number : channel.buffers) {
    SharedBuffer &buffer = shared_[size_t(number)];
    const size_t each = buffer.elements.size() / size_t(buffer.stages);
    std::fill_n(buffer.elements.begin() + int64_t(at.stage * each), each, Element::no_value());
  }
}

bool Machine::is_put_over(const Wait &wait) {
  return !channels_[size_t(wait.at.buffer)].is_released ||
         slot(wait.at).state == Slot::State::empty;
}

void Machine::put(const Op &op) {
  std::optional<Wait> turn = turn_of(op);
  if (!turn || !in_order(*turn))
    return;
  wait_for(*turn);
  Slot &here = slot(turn->at);
  if (ended_)
    return;
  if (here.state != Slot::State::empty && here.state != Slot::State::got)
    return misuse(op, "number " + std::to_string(here.number) + " was never got",
                  Report::Kind::bad_channel);
  here = {Slot::State::put, turn->parity};
  clear(turn->at);
  define(op, Element::of_integer(int64_t(turn->at.stage)));
}

void Machine::put_done(const Op &op) {
  std::optional<Wait> turn = turn_of(op);
  if (!turn)
    return;
  Slot &here = slot(turn->at);
  const Channel &channel = channels_[size_t(turn->at.buffer)];
  if (channel.buffers.empty()) {
    if (!in_order(*turn))
      return;
    if (here.state == Slot::State::full)
      return misuse(op, "number " + std::to_string(here.number) + " was never got",
                    Report::Kind::bad_channel);
    here.number = turn->parity;
  } else if (here.state != Slot::State::put || here.number != turn->parity) {
    return misuse(op, "number " + std::to_string(turn->parity) + " was not put",
                  Report::Kind::bad_channel);
  }
  here.state = Slot::State::full;
  if (channel.buffers.empty() || here.is_copied)
    return;
  unfenced_[running_].clear(); // threads fence what they wrote
  unfenced_reads_[running_].clear();
}

bool Machine::is_get_over(const Wait &wait) {
  const Slot &here = slot(wait.at);
  bool is_full = here.state == Slot::State::full || here.state == Slot::State::got;
  return wait.parity < 0 || here.number > wait.parity ||
         (here.number == wait.parity && is_full && here.copies == 0);
}

void Machine::get(const Op &op) {
  std::optional<Wait> turn = turn_of(op);
  if (!turn)
    return;
  wait_for(*turn);
  if (ended_)
    return;
  Slot &here = slot(turn->at);
  if (turn->parity >= 0 && here.number != turn->parity)
    return misuse(op,
                  "number " + std::to_string(turn->parity) + " has given way to " +
                      std::to_string(here.number),
                  Report::Kind::bad_channel);
  if (turn->parity >= 0)
    here.state = Slot::State::got;
  define(op, Element::of_integer(int64_t(turn->at.stage)));
}

void Machine::get_done(const Op &op) {
  std::optional<Wait> turn = turn_of(op);
  if (!turn)
    return;
  Slot &here = slot(turn->at);
  if (here.state != Slot::State::got || here.number != turn->parity)
    return misuse(op, "number " + std::to_string(turn->parity) + " was not got",
                  Report::Kind::bad_channel);
  here.state = Slot::State::empty;
  clear(turn->at);
}

// Reports numbers that nobody has got. The last one of a channel without buffers is for nobody.
void Machine::check_channels(const Op &last) {
  for (const Channel &channel : channels_)
    for (const Slot &here : channel.slots)
      if (!channel.buffers.empty() &&
          (here.state == Slot::State::put || here.state == Slot::State::full))
        find(Report::Kind::bad_channel, last, -1,
             "number " + std::to_string(here.number) + " of %" + channel.op->result()->name +
                 " was never got");
}

} // namespace tritonc::interpreter
