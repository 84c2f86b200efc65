// Hooks: callbacks for logs. They report errors, loaded code, and the variant of a launch.
//
// The runtime itself prints nothing. Each program and each shared library with kernels has its own
// copy of the runtime, and so its own hooks.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc {
inline namespace v1 {

/// The runtime loaded code; this happens once for all devices. The event is valid during the
/// callback; its strings are constant data of the program.
struct load_event {
  const char *kernel;         // "gemm::dot<half, N, T>"
  const char *gpu;            // the code's GPU: "sm_90a"; "compute_80": PTX for sm_80 and later
  const char *schedule;       // "baseline", ...
  const char *specialization; // "lda % 8 && ldb % 8"; "" for code that takes all arguments
  std::uint64_t bytes;        // size of the code
  std::int64_t nanoseconds;   // time that the driver took
};

/// The runtime chose the code of a launch: in each `prepare`, and in each launch that does not
/// repeat a recent launch. Valid during the callback, like load_event.
struct choice_event {
  const char *kernel;
  span<std::int32_t> variant; // the values of `params`, in order
  const char *gpu;            // the code's GPU
  const char *schedule;       // "baseline", ...
  const char *specialization; // "" for code that takes all arguments
  grid programs;
  std::int64_t cost; // the compiler's estimate for the schedule; -1: unknown
};

/// Callbacks; a null pointer disables one. The thread in which the event happens calls it, and
/// holds no lock, so a callback may launch kernels. A callback must not throw. Several threads may
/// call a callback at the same time.
struct hooks {
  /// launch, prepare, launch_prepared, preload or set_constant returns an error.
  void (*on_error)(const status &what, void *data) = nullptr;
  void (*on_load)(const load_event &what, void *data) = nullptr;
  void (*on_choice)(const choice_event &what, void *data) = nullptr;
  /// In addition to on_load, for PTX: the program has no code for this GPU. The driver compiled the
  /// PTX now, or found the compiled code in its cache.
  void (*on_jit)(const load_event &what, void *data) = nullptr;
  void *data = nullptr; // the last argument of each callback
};

/// Replaces the hooks. `*callbacks` must stay valid and unchanged until the process ends. Null removes
/// the hooks; calls that have already begun may still use the old ones.
void set_hooks(const hooks *callbacks) noexcept;

} // namespace v1
} // namespace tritonc
