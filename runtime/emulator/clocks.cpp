// Implements the vector clocks. See clocks.h.
//
// Tested by tests/unit/emulator/clocks_test.cpp.

#include "clocks.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

namespace tritonc::emulator {

Clock::Clock(const Clock &other) : vector_(other.vector_) {
  if (vector_)
    vector_->references++;
}

Clock::~Clock() {
  if (vector_)
    vector_->home->drop(vector_);
}

Clocks::Clocks() = default;

Clocks::~Clocks() {
  forget_acquired();
  for (State &state : states_)
    if (state.seen)
      drop(state.seen);
  for (Vector *vector : free_)
    ::operator delete(vector, std::align_val_t(alignof(Vector)));
}

Clocks::Vector *Clocks::make() {
  Vector *vector;
  if (free_.empty()) {
    void *memory =
        ::operator new(sizeof(Vector) + padded_ * sizeof(Epoch), std::align_val_t(alignof(Vector)));
    vector = new (memory) Vector;
    vector->home = this;
  } else {
    vector = free_.back();
    free_.pop_back();
  }
  vector->references = 1;
  return vector;
}

Clocks::Vector *Clocks::make_copy(const Vector *from) {
  Vector *vector = make();
  std::memcpy(vector->epochs(), from->epochs(), padded_ * sizeof(Epoch));
  return vector;
}

void Clocks::drop(Vector *vector) {
  if (--vector->references == 0)
    free_.push_back(vector);
}

void Clocks::join(Vector *to, const Vector *from) const {
  Epoch *a = to->epochs();
  const Epoch *b = from->epochs();
  for (size_t i = 0; i < padded_; i++)
    a[i] = std::max(a[i], b[i]);
}

Clocks::Vector *Clocks::own(Vector *&vector) {
  if (vector->references > 1) {
    Vector *copy = make_copy(vector);
    drop(vector);
    vector = copy;
  }
  return vector;
}

bool Clocks::start(unsigned threads, bool enabled) {
  enabled_ = enabled;
  forget_acquired();
  threads_ = threads;
  unsigned actors = threads + async_agents + threads / 32;
  assert(actors < 0xfff0 && "an Actor has 16 bits");
  for (State &state : states_) {
    first_ = std::max(first_, state.epoch + 1);
    if (state.seen)
      drop(std::exchange(state.seen, nullptr));
    state.fences.clear();
  }
  bool again = first_ > 1u << 31;
  if (again)
    first_ = 1;
  if (actors != actors_) {
    for (Vector *vector : free_)
      ::operator delete(vector, std::align_val_t(alignof(Vector)));
    free_.clear();
    actors_ = actors;
    padded_ = (actors + 15) / 16 * 16;
  }
  turn_ = 0;
  if (!enabled)
    return again;

  states_.resize(actors);
  Vector *nothing = make();
  std::fill_n(nothing->epochs(), padded_, first_ - 1);
  nothing->references = actors;
  for (State &state : states_) {
    state.seen = nothing;
    state.epoch = first_;
  }
  return again;
}

void Clocks::release(const Actor *actors, size_t count, Clock &to) {
  if (!enabled_)
    return;
  const Vector *joined = nullptr;
  for (size_t i = 0; i < count; i++) {
    State &state = states_[actors[i]];
    if (!to.vector_)
      to.vector_ = make_copy(state.seen);
    else if (state.seen != joined)
      join(own(to.vector_), state.seen);
    joined = state.seen;
  }
  Epoch *epochs = own(to.vector_)->epochs();
  for (size_t i = 0; i < count; i++) {
    State &state = states_[actors[i]];
    epochs[actors[i]] = state.epoch++;
  }
}

std::vector<Epoch> Clocks::release(Actor actor) {
  if (!enabled_)
    return {};
  State &state = states_[actor];
  std::vector<Epoch> epochs(state.seen->epochs(), state.seen->epochs() + actors_);
  epochs[actor] = state.epoch++;
  return epochs;
}

void Clocks::acquire(Actor actor, const Clock &from) {
  if (!enabled_ || !from.vector_)
    return;
  State &state = states_[actor];
  if (state.seen == from.vector_)
    return;
  if (state.seen == acquired_.seen && from.vector_ == acquired_.from) {
    acquired_.result->references++;
    drop(std::exchange(state.seen, acquired_.result));
    return;
  }
  forget_acquired();
  Vector *seen = state.seen;
  if (seen->references == 1) { // not shared, so no other actor can reuse the result
    join(seen, from.vector_);
    return;
  }
  Vector *result = make_copy(seen); // acquired_ takes the reference to `seen`
  join(result, from.vector_);
  result->references++;
  from.vector_->references++;
  state.seen = result;
  acquired_ = {seen, from.vector_, result};
}

void Clocks::forget_acquired() {
  Acquired old = std::exchange(acquired_, {});
  if (!old.seen)
    return;
  drop(old.seen);
  drop(old.from);
  drop(old.result);
}

void Clocks::meet(const Actor *actors, size_t count, Clock others) {
  if (!enabled_ || count == 0)
    return;
  release(actors, count, others);
  // No actor's clock exceeds the joined clock, so all can share it.
  Vector *vector = std::exchange(others.vector_, nullptr);
  vector->references = uint32_t(count);
  for (size_t i = 0; i < count; i++) {
    State &state = states_[actors[i]];
    drop(state.seen);
    state.seen = vector;
  }
}

void Clocks::join(Clock &to, const Clock &from) {
  if (!enabled_ || !from.vector_ || to.vector_ == from.vector_)
    return;
  if (!to.vector_)
    to = from;
  else
    join(own(to.vector_), from.vector_);
}

void Clocks::issue(Actor engine, const Clock &issued, Clock &clock) {
  if (!enabled_)
    return;
  Vector *vector = issued.vector_ ? make_copy(issued.vector_) : make_copy(states_[engine].seen);
  vector->issuer_knew = vector->epochs()[engine];
  vector->epochs()[engine] = states_[engine].epoch++;
  clock = Clock(vector);
}

View Clocks::view(Actor engine, const Clock &clock) const {
  if (!enabled_)
    return {engine, 0, 0, nullptr};
  const Vector *vector = clock.vector_;
  return {engine, vector->epochs()[engine], vector->issuer_knew, vector->epochs()};
}

void Clocks::learn(const Actor *actors, size_t count, Actor engine, Epoch epoch) {
  if (!enabled_)
    return;
  // Many actors share a clock; keep it shared.
  const Vector *before = nullptr;
  Vector *after = nullptr;
  for (size_t i = 0; i < count; i++) {
    State &state = states_[actors[i]];
    if (state.seen->epochs()[engine] >= epoch)
      continue;
    if (state.seen == before) {
      drop(state.seen);
      state.seen = after;
      after->references++;
      continue;
    }
    before = state.seen->references > 1 ? state.seen : nullptr;
    after = own(state.seen);
    after->epochs()[engine] = epoch;
  }
}

Actor Clocks::next_async_agent() { return async_agent(turn_++ % async_agents); }

void Clocks::fence(Actor thread) {
  if (!enabled_)
    return;
  State &state = states_[thread];
  state.fences.push_back(state.epoch++);
}

bool Clocks::fenced(Actor thread, Epoch written, const View &by) const {
  if (!enabled_ || written < first_)
    return true;
  // A fence that ended epoch f comes after the events of f. An actor whose clock exceeds f comes
  // after the fence.
  Epoch known = by.actor == thread ? UINT32_MAX : by.seen[thread];
  const std::vector<Epoch> &fences = states_[thread].fences;
  auto fence = std::lower_bound(fences.begin(), fences.end(), written);
  return fence != fences.end() && *fence < known;
}

} // namespace tritonc::emulator
