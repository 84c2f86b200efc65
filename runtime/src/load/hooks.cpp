// The program's hooks. See hooks.h.

#include "load/hooks.h"

namespace tritonc {
inline namespace v1 {

std::atomic<const hooks *> told{nullptr};

void set_hooks(const hooks *who) noexcept { told.store(who, std::memory_order_release); }

void report_error(const status &what) noexcept {
  if (const hooks *told = hooks_told(); told && told->on_error)
    told->on_error(what, told->data);
}

} // namespace v1
} // namespace tritonc
