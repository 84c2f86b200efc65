// The program's hooks. See hooks.h.

#include "load/hooks.h"

namespace tritonc {
inline namespace v1 {

std::atomic<const hooks *> current_hooks{nullptr};

void set_hooks(const hooks *hooks) noexcept {
  current_hooks.store(hooks, std::memory_order_release);
}

void report_error(const status &what) noexcept {
  if (const hooks *hooks = get_hooks(); hooks && hooks->on_error)
    hooks->on_error(what, hooks->data);
}

} // namespace v1
} // namespace tritonc
