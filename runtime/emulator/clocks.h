// Vector clocks: the happens-before order of all actors that access the memory of a cluster.
//
// An *actor* has its own sequential order. It is a thread, one of the 16 TMA units that take the
// asynchronous copies in turn, or the tensor core of a warp. An actor counts epochs; each access
// carries its actor and that actor's epoch. A *clock* holds, for every actor, the last epoch whose
// events came before. Synchronization passes clocks on. An actor that arrives *releases*: it adds
// its clock to the clock of the synchronization object and starts a new epoch. An actor that waits
// *acquires*.
//
//     race:  X at epoch e of actor a, then Y by b; no access in between; b's clock has a < e
//
// Most threads have the same clock: everything up to the block's last barrier. So a clock is a
// shared reference to a vector, copied on write.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tritonc::emulator {

/// Index of an actor in its cluster: first all threads, block by block, then the TMA units, then
/// the tensor cores, one per warp.
using Actor = uint16_t;
using Epoch = uint32_t;

inline constexpr unsigned async_agents = 16;

class Clocks;

/// A vector clock as a value; copying is cheap. Empty = no event. It must not be on a fiber's stack
/// during a suspension, and must not outlive its cluster.
class Clock {
public:
  Clock() = default;
  Clock(const Clock &other);
  Clock(Clock &&other) noexcept : vector_(std::exchange(other.vector_, nullptr)) {}
  Clock &operator=(Clock other) noexcept {
    std::swap(vector_, other.vector_);
    return *this;
  }
  ~Clock();
  explicit operator bool() const { return vector_ != nullptr; }

private:
  friend class Clocks;
  /// A header; one epoch per actor follows it. Aligned so that `join` uses whole SIMD words.
  struct alignas(64) Vector {
    Clocks *home = nullptr;
    uint32_t references = 0;
    Epoch issuer_knew = 0; // of an asynchronous operation: the engine's last epoch before it
    Epoch *epochs() { return reinterpret_cast<Epoch *>(this + 1); }
    const Epoch *epochs() const { return reinterpret_cast<const Epoch *>(this + 1); }
  };
  explicit Clock(Vector *vector) : vector_(vector) {}
  Vector *vector_ = nullptr;
};

/// An actor's clock for marking accesses. Valid until that clock changes.
struct View {
  Actor actor = 0;
  Epoch epoch = 0;             // the current one
  Epoch own = 0;               // last own epoch that came before; for a thread: all
  const Epoch *seen = nullptr; // [actor]; null = race checks are off
  /// Whether epoch `then` of `other` came before, or is the same epoch.
  bool after(Actor other, Epoch then) const {
    return other == actor ? then <= own || then == epoch : then <= seen[other];
  }
};

/// The clocks of one cluster. Only the OS thread that runs the cluster may call them. They do
/// nothing while race checks are off.
class Clocks {
public:
  Clocks();
  ~Clocks();
  Clocks(const Clocks &) = delete;
  Clocks &operator=(const Clocks &) = delete;

  /// Call before a cluster runs. All earlier events come before all events of this cluster.
  /// `threads` is a multiple of 32. Requires that no `Clock` exists. Returns true if the epochs
  /// restart from 1; then all stored epochs must be dropped.
  bool start(unsigned threads, bool enabled);
  bool enabled() const { return enabled_; }

  unsigned threads() const { return threads_; }
  unsigned actors() const { return actors_; }
  Actor async_agent(unsigned i) const { return Actor(threads_ + i); }
  Actor tensor_core(unsigned warp) const { return Actor(threads_ + async_agents + warp); }
  bool is_thread(Actor actor) const { return actor < threads_; }

  View view(Actor actor) const {
    if (!enabled_)
      return {actor, 0, 0, nullptr};
    const State &state = states_[actor];
    return {actor, state.epoch, UINT32_MAX, state.seen->epochs()};
  }

  /// Adds the clock and the events of `actor` to `to`. The actor then starts a new epoch.
  void release(Actor actor, Clock &to) { release(&actor, 1, to); }
  void release(const Actor *actors, size_t count, Clock &to);
  /// The same, as an epoch of each actor; empty while race checks are off.
  std::vector<Epoch> release(Actor actor);
  /// All events in `from` come before the next events of `actor`.
  void acquire(Actor actor, const Clock &from);
  /// All of `actors` release and acquire at one point, where `others` had been released.
  void meet(const Actor *actors, size_t count, Clock others = {});
  /// Adds `from` to `to`.
  void join(Clock &to, const Clock &from);

  // ---- asynchronous operations ----

  /// Issues an operation to the TMA unit or tensor core `engine`, from an actor with clock
  /// `issued`. The operation comes after `issued` and gets its own epoch. `clock` becomes the clock
  /// to acquire when the operation has finished.
  void issue(Actor engine, const Clock &issued, Clock &clock);
  /// The view of the operation, for marking its accesses; `clock` is from `issue`.
  View view(Actor engine, const Clock &clock) const;
  /// The events of `engine` up to `epoch` come before the next events of `actors`. Other events in
  /// the clock of `engine` do not.
  void learn(const Actor *actors, size_t count, Actor engine, Epoch epoch);
  /// The next TMA unit in turn, so that one unit does not order two copies in flight.
  Actor next_async_agent();

  // ---- proxy fences ----

  /// `thread` executes fence.proxy.async. Async-proxy accesses of actors that acquire a later
  /// release of `thread` then see the writes before the fence.
  void fence(Actor thread);
  /// Whether `thread` executed a fence after its epoch `written`, and `by` comes after that fence.
  bool fenced(Actor thread, Epoch written, const View &by) const;

private:
  friend class Clock;
  using Vector = Clock::Vector;
  struct State {
    Vector *seen = nullptr; // may be shared
    Epoch epoch = 0;
    std::vector<Epoch> fences; // epochs that a fence ended, ascending
  };

  Vector *make();
  Vector *make_copy(const Vector *from);
  void drop(Vector *vector);
  void join(Vector *to, const Vector *from) const;
  Vector *own(Vector *&vector); // copies it if shared

  // A cache of the last acquire: an actor with the same clock that acquires the same clock gets the
  // same result, and keeps sharing it. Holds references.
  struct Acquired {
    Vector *seen = nullptr, *from = nullptr, *result = nullptr;
  };
  void forget_acquired();

  Acquired acquired_;
  bool enabled_ = false;
  unsigned threads_ = 0, actors_ = 0;
  size_t padded_ = 0; // actors, a multiple of 16
  unsigned turn_ = 0;
  Epoch first_ = 1; // earlier epochs belong to finished clusters
  std::vector<State> states_;
  std::vector<Vector *> free_;
};

} // namespace tritonc::emulator
