// What a device can do, and which code it runs.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tritonc::emulator::driver {

struct Gpu {
  int sm; // 90
  int multiprocessors;
  int threads; // per multiprocessor
  int blocks;  // per multiprocessor
  int shared_bytes;
  int shared_bytes_of_block;

  /// The most that its code may ask for: "sm_90a" has all that compute capability 9.0 has.
  std::string architecture() const;
  bool has_clusters() const { return sm >= 90; }
  bool has_tensor_maps() const { return sm >= 90; }
};

/// The device that a name means: "90a", "sm_80". Null if there is none.
const Gpu *find_gpu(std::string_view name);

/// "75, 80, 86, ..."
std::string known_gpus();

/// Whether code for an architecture ("sm_90a") runs on a device: with the suffix `a` on exactly
/// that one, with `f` and without a suffix also on later ones of the same major number; PTX
/// ("compute_80") on it and all later ones.
bool runs_on(std::string_view architecture, const Gpu &gpu);

/// What the driver says of code for an architecture once it is loaded: 80 and 80 of "sm_80", 80 and
/// 90 of "compute_80" on a 9.0.
struct CodeVersions {
  int ptx, binary;
};
CodeVersions versions_of(std::string_view architecture, const Gpu &gpu);

} // namespace tritonc::emulator::driver
