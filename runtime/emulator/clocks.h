// Vector clocks: which of two events comes first, for everyone who accesses the memory of a
// cluster.
//
// An *actor* does things in an order of its own: a thread; one of the 16 copy engines that take
// the asynchronous copies in turn; the tensor core of a warp. It counts epochs; each access carries
// its actor and the actor's epoch. A *clock* says, for every actor, up to which epoch its events
// came before. Synchronisation passes clocks on: who arrives somewhere *releases*, adding what it
// has seen to the clock of that place, and starts a new epoch; who waits there *acquires*.
//
//     race:  X at epoch e of actor a, then Y by b; nothing is between them; b's clock has a < e
//
// Most threads have seen the same: everything up to the block's last barrier. So a clock is a
// reference to a vector that may have many owners, and becomes one's own when it is changed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tritonc::emulator {

/// Number of an actor in its cluster: first all threads, block by block, then the copy engines,
/// then the tensor cores, one per warp.
using Actor = uint16_t;
using Epoch = uint32_t;

inline constexpr unsigned copy_engines = 16;

class Clocks;

/// What somebody had seen at some moment; empty: nothing. A value; copying is cheap. It must not
/// live on a fiber's stack while that is suspended, nor longer than its cluster.
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
  /// Of epochs, one per actor, behind the struct; aligned so that joining takes whole SIMD words.
  struct alignas(64) Vector {
    Clocks *home = nullptr;
    uint32_t references = 0;
    Epoch issuer_knew = 0; // of asynchronous operations: the engine's epochs before it
    Epoch *epochs() { return reinterpret_cast<Epoch *>(this + 1); }
    const Epoch *epochs() const { return reinterpret_cast<const Epoch *>(this + 1); }
  };
  explicit Clock(Vector *vector) : vector_(vector) {}
  Vector *vector_ = nullptr;
};

/// An actor at a moment, as marks on memory need it. Valid until that actor's clock changes.
struct View {
  Actor actor = 0;
  Epoch epoch = 0;             // of what it does now
  Epoch own = 0;               // its own epochs up to this came before; a thread's: all
  const Epoch *seen = nullptr; // [actor]; null: races are not looked for
  /// Whether what `other` did at epoch `then` came before, or is a part of the same.
  bool after(Actor other, Epoch then) const {
    return other == actor ? then <= own || then == epoch : then <= seen[other];
  }
};

/// The clocks of one cluster. Everything is for the OS thread that runs the cluster, and does
/// nothing while races are not looked for.
class Clocks {
public:
  Clocks();
  ~Clocks();
  Clocks(const Clocks &) = delete;
  Clocks &operator=(const Clocks &) = delete;

  /// Before a cluster runs: everything earlier lies before everything of now. `threads` is a
  /// multiple of 32. True if epochs were counted so far that they start from 1 again: whoever
  /// remembers some has to forget them. All `Clock`s must be gone.
  bool start(unsigned threads, bool enabled);
  bool enabled() const { return enabled_; }

  unsigned threads() const { return threads_; }
  unsigned actors() const { return actors_; }
  Actor copy_engine(unsigned i) const { return Actor(threads_ + i); }
  Actor tensor_core(unsigned warp) const { return Actor(threads_ + copy_engines + warp); }
  bool is_thread(Actor actor) const { return actor < threads_; }

  View view(Actor actor) const {
    if (!enabled_)
      return {actor, 0, 0, nullptr};
    const State &state = states_[actor];
    return {actor, state.epoch, UINT32_MAX, state.seen->epochs()};
  }

  /// What `actor` has seen and done up to now is in `to`; it starts a new epoch.
  void release(Actor actor, Clock &to) { release(&actor, 1, to); }
  void release(const Actor *actors, size_t count, Clock &to);
  /// What is in `from` now comes before what `actor` does.
  void acquire(Actor actor, const Clock &from);
  /// Release and acquire by all of `actors`, at one place, where `others` had released.
  void meet(const Actor *actors, size_t count, Clock others = {});
  /// Adds `from` to `to`.
  void join(Clock &to, const Clock &from);

  // ---- asynchronous operations ----

  /// An operation given to copy engine or tensor core `engine` by someone who had seen `issued`: it
  /// comes after that, and gets an epoch of its own. `clock` becomes what there is to acquire when
  /// it has finished.
  void issue(Actor engine, const Clock &issued, Clock &clock);
  /// The operation itself, for marking its accesses; `clock` as `issue` made it.
  View view(Actor engine, const Clock &clock) const;
  /// What `engine` has done up to `epoch`, and nothing else that it had seen, comes before what
  /// `actors` do.
  void learn(const Actor *actors, size_t count, Actor engine, Epoch epoch);
  /// The next copy engine in turn: two copies in flight are not ordered by being done by one.
  Actor next_copy_engine();

  // ---- proxy fences ----

  /// `thread` executes fence.proxy.async: what it wrote before is good for the async proxy, for
  /// those who acquire a later release of it.
  void fence(Actor thread);
  /// Whether `thread` executed a fence after its epoch `written` that `by` has learned of.
  bool fenced(Actor thread, Epoch written, const View &by) const;

private:
  friend class Clock;
  using Vector = Clock::Vector;
  struct State {
    Vector *seen = nullptr; // may be others' too
    Epoch epoch = 0;
    std::vector<Epoch> fences; // the epochs that fences ended, ascending
  };

  Vector *make();
  Vector *make_copy(const Vector *from);
  void drop(Vector *vector);
  void join(Vector *to, const Vector *from) const;
  Vector *own(Vector *&vector); // copies it if others have it

  // The last acquire: who has seen the same and acquires the same gets the same, and goes on
  // sharing it with the others. Holds references.
  struct Acquired {
    Vector *seen = nullptr, *from = nullptr, *result = nullptr;
  };
  void forget_acquired();

  Acquired acquired_;
  bool enabled_ = false;
  unsigned threads_ = 0, actors_ = 0;
  size_t padded_ = 0; // actors, a multiple of 16
  unsigned turn_ = 0;
  Epoch first_ = 1; // everything before belongs to clusters that are done
  std::vector<State> states_;
  std::vector<Vector *> free_;
};

} // namespace tritonc::emulator
