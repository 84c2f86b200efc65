/// @file
/// Hooks: callbacks for logs. They report errors, loaded code, and the variant of a launch.
///
/// The runtime itself prints nothing. Each program and each shared library with kernels has its own
/// copy of the runtime, and so its own hooks.
///
/// @par Example
/// @code{.cpp}
/// #include <tritonc/hooks.hpp>
/// #include <vectors.hpp> // triton_add_kernels(vectors SOURCES vector_add.tc ...)
///
/// #include <cstdio>
///
/// void log_error(const tritonc::status &what, void *) {
///   std::printf("%s\n", what.message().c_str()); // argument `x` is null
/// }
/// void log_load(const tritonc::load_event &what, void *) {
///   std::printf("loaded code for %s\n", what.gpu); // loaded code for sm_90a
/// }
///
/// int main() {
///   static const tritonc::hooks log = {.on_error = log_error, .on_load = log_load};
///   tritonc::set_hooks(&log);
///   tritonc::status preloaded = vectors::vector_add<float>::preload();
///   vectors::vector_add<float>::args args{};
///   args.n = 1000; // the pointers are null
///   tritonc::status launched = vectors::vector_add<float>::launch({}, args);
///   return preloaded.ok() && !launched.ok() ? 0 : 1;
/// }
/// @endcode

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc {
inline namespace v1 {

/// The runtime loaded code. The event happens once per code, for all devices.
///
/// The struct is valid during the callback. Its strings are constant data of the program.
struct load_event {
  const char *kernel;         ///< "gemm::dot<half, N, T>".
  const char *gpu;            ///< The code's GPU: "sm_90a"; "compute_80": PTX for sm_80 and later.
  const char *schedule;       ///< "baseline", "128x256x64 warp-specialized".
  const char *specialization; ///< "lda % 8 && ldb % 8"; "" for code that takes all arguments.
  std::uint64_t bytes;        ///< Size of the code as stored in the program, in bytes.
  std::int64_t nanoseconds;   ///< Time that the driver took, in nanoseconds.
};

/// The runtime chose the code of a launch. The event happens in each `prepare`, and in each launch
/// that does not repeat a recent launch.
///
/// The struct is valid during the callback. Its pointers refer to constant data of the program.
struct choice_event {
  const char *kernel;         ///< "gemm::dot<half, N, T>".
  span<std::int32_t> variant; ///< The values of `params`, in order.
  const char *gpu;            ///< The code's GPU: "sm_90a"; "compute_80": PTX.
  const char *schedule;       ///< "baseline", "128x256x64 warp-specialized".
  const char *specialization; ///< "lda % 8 && ldb % 8"; "" for code that takes all arguments.
  grid programs;              ///< The grid of the launch.
  std::int64_t cost;          ///< The compiler's estimate in nanoseconds; -1: unknown.
};

/// Callbacks; a null pointer disables one callback.
///
/// The thread in which the event happens calls it. Several threads may call a callback at the same
/// time. The runtime holds no lock during the call, so a callback may launch kernels. A callback
/// must not throw.
struct hooks {
  /// `launch`, `prepare`, `prepared::launch`, `preload` or the function that fills constant memory
  /// returns the error `what`. `what` is valid during the callback.
  void (*on_error)(const status &what, void *data) = nullptr;
  /// The runtime loaded code.
  void (*on_load)(const load_event &what, void *data) = nullptr;
  /// The runtime chose the code of a launch.
  void (*on_choice)(const choice_event &what, void *data) = nullptr;
  /// In addition to on_load, for PTX: the program has no code for this GPU. The driver compiled the
  /// PTX now, or found the compiled code in its cache.
  void (*on_jit)(const load_event &what, void *data) = nullptr;
  void *data = nullptr; ///< The last argument of each callback. The runtime does not read it.
};

/// Replaces the hooks of this program or shared library. Thread-safe.
///
/// @param callbacks must stay valid and unchanged until the process ends. Null removes the hooks.
/// Calls that have already begun may still use the old hooks.
void set_hooks(const hooks *callbacks) noexcept;

} // namespace v1
} // namespace tritonc
