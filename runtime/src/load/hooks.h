// The program's hooks, as set by set_hooks.

#pragma once

#include <tritonc/hooks.hpp>

#include <atomic>

namespace tritonc::v1 {

extern std::atomic<const hooks *> current_hooks;

/// Returns the hooks; null if there are none.
inline const hooks *get_hooks() noexcept { return current_hooks.load(std::memory_order_acquire); }

/// Calls the hook on_error.
void report_error(const status &what) noexcept;
/// Reports the status if it is an error, and returns it.
inline status reported(const status &what) noexcept {
  if (!what.ok())
    report_error(what);
  return what;
}

} // namespace tritonc::v1
