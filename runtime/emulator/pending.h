// Asynchronous operations under way: what has been issued and has not landed.
//
// Who issues one either lets it land at once (Async::early) or hands it over. Then it lands when a
// wait demands it, when no thread can run (so late as possible), or at a random switch from one
// thread to another.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace tritonc::emulator {

class Pending {
public:
  virtual ~Pending() = default;
  /// Does it: moves the data, marks the accesses, tells those who wait. Called once, on the stack
  /// of whichever thread runs; must neither suspend it nor let others land. May end the launch
  /// (`fatal`, in the name of the thread that issued it).
  virtual void land() = 0;
  /// Whether it may land now: false where it comes after another one that hasn't landed.
  virtual bool may_land() const { return true; }
  /// Whether a thread waits for it now.
  virtual bool wanted() const { return false; }
};

/// Those of a cluster, in the order of issue.
class PendingOperations {
public:
  void add(std::unique_ptr<Pending> operation) { queue_.push_back(std::move(operation)); }
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }

  /// Lets the first that may land, of those that are wanted if there are any; false if there is
  /// none.
  bool land_first();
  /// Lets one that may land; `choice` is random. False if there is none.
  bool land_any(size_t choice);
  /// Lets this one land, if it is still under way.
  bool land(const Pending *operation);
  /// Forgets them.
  void clear() {
    queue_.clear();
    landing_.reset();
  }

private:
  void land_at(size_t i);
  std::vector<std::unique_ptr<Pending>> queue_;
  std::unique_ptr<Pending> landing_; // here, not on the stack of a fiber that it may end
};

} // namespace tritonc::emulator
