// What a program may be told, for its logs: errors, loads, and which variant a launch came to.
//
// The runtime itself prints nothing. Hooks are of this copy of the runtime: each program and shared
// library with kernels has its own.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc {
inline namespace v1 {

/// Code that was loaded, once for all devices.
struct load_event {
  const char *kernel; // "gemm::dot<half, N, T>"
  const char *gpu;    // that it is compiled for; "compute_80": PTX for it and later ones
  const char *form;   // "" for the plain one
  const char *hints;  // under which it was compiled; "" if under none
  std::uint64_t bytes;
  std::int64_t nanoseconds; // that the driver took
};

/// What a launch came to: one that `prepare` makes ready, or one that isn't a recent launch again.
struct choice_event {
  const char *kernel;
  span<std::int32_t> variant; // the values of `params`, in order
  const char *gpu;
  const char *form;
  const char *hints; // under which the code was compiled; "" if under none
  grid programs;
  std::int64_t cost; // of the form, as the compiler reckons it; -1: not known
};

/// They are called by the thread in which it happens, without a lock held, so they may launch. They
/// must not throw, and all may be called by several threads at once. Null: not told.
struct hooks {
  void (*on_error)(const status &what, void *data) = nullptr; // that a launch, ... returns
  void (*on_load)(const load_event &what, void *data) = nullptr;
  void (*on_choice)(const choice_event &what, void *data) = nullptr;
  /// Besides on_load, of PTX: no code was made for this GPU, and the driver compiled it now, or
  /// found in its cache what it had compiled before.
  void (*on_jit)(const load_event &what, void *data) = nullptr;
  void *data = nullptr; // handed to each of them
};

/// `told` stays where it is, and as it is, until the process ends; null: nobody is told any more,
/// but for those calls that have begun.
void set_hooks(const hooks *told) noexcept;

} // namespace v1
} // namespace tritonc
