// Pending asynchronous operations: issued, but not landed yet.
//
// The thread that issues an operation either lets it land at once (Async::early) or queues it here.
// A queued operation lands when a wait demands it, when no thread can run (as late as possible), or
// at a random switch between threads.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace tritonc::emulator {

class Pending {
public:
  virtual ~Pending() = default;
  /// Moves the data, marks the accesses, and wakes the waiting threads. Called once, on the stack
  /// of any running thread. Must not suspend that thread or land other operations. May end the
  /// launch (`fatal`, in the name of the issuing thread).
  virtual void land() = 0;
  /// Whether the operation may land now: false while an operation that must land before it is
  /// pending.
  virtual bool may_land() const { return true; }
  /// Whether a thread waits for the operation now.
  virtual bool wanted() const { return false; }
};

/// The pending operations of a cluster, in the order of issue.
class PendingOperations {
public:
  void add(std::unique_ptr<Pending> operation) { queue_.push_back(std::move(operation)); }
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }

  /// Lands the first wanted operation that may land; if there is none, the first that may land.
  /// Returns false if no operation may land.
  bool land_first();
  /// Lands one operation that may land; `choice` is a random number. Returns false if none may.
  bool land_any(size_t choice);
  /// Lands `operation` if it is still pending.
  bool land(const Pending *operation);
  /// Drops all pending operations.
  void clear() {
    queue_.clear();
    landing_.reset();
  }

private:
  void land_at(size_t i);
  std::vector<std::unique_ptr<Pending>> queue_;
  std::unique_ptr<Pending> landing_; // a member because `land` may abandon the fiber and its stack
};

} // namespace tritonc::emulator
