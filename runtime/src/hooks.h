// Who is told what happens.

#pragma once

#include <tritonc/hooks.hpp>

#include <atomic>

namespace tritonc::v1 {

extern std::atomic<const hooks *> told;

/// The hooks, if there are any.
inline const hooks *hooks_told() noexcept { return told.load(std::memory_order_acquire); }

/// Says of a status, if it is an error.
void report_error(const status &what) noexcept;
inline status reported(const status &what) noexcept {
  if (!what.ok())
    report_error(what);
  return what;
}

} // namespace tritonc::v1
