// Lands pending asynchronous operations. See in_flight.h.

#include "in_flight.h"

#include <algorithm>
#include <utility>

namespace tritonc::emulator {

void PendingOperations::land_at(size_t i) {
  landing_ = std::move(queue_[i]);
  queue_.erase(queue_.begin() + std::ptrdiff_t(i));
  landing_->land();
  landing_.reset();
}

bool PendingOperations::land_first() {
  size_t first = queue_.size();
  for (size_t i = 0; i < queue_.size(); i++) {
    if (!queue_[i]->may_land())
      continue;
    if (queue_[i]->wanted()) {
      first = i;
      break;
    }
    first = std::min(first, i);
  }
  if (first == queue_.size())
    return false;
  land_at(first);
  return true;
}

bool PendingOperations::land_any(size_t choice) {
  for (size_t tried = 0; tried < queue_.size(); tried++) {
    size_t i = (choice + tried) % queue_.size();
    if (queue_[i]->may_land()) {
      land_at(i);
      return true;
    }
  }
  return false;
}

bool PendingOperations::land(const Pending *operation) {
  for (size_t i = 0; i < queue_.size(); i++)
    if (queue_[i].get() == operation) {
      land_at(i);
      return true;
    }
  return false;
}

} // namespace tritonc::emulator
