// The limits of a device, and the code that it can run.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tritonc::emulator::driver {

struct Gpu {
  int sm; // 90
  int num_sms;
  int threads; // per SM
  int blocks;  // per SM
  int shared_bytes;
  int shared_bytes_of_block;

  /// The most specific architecture that it runs: "sm_90a" for compute capability 9.0.
  std::string architecture() const;
  bool has_clusters() const { return sm >= 90; }
  bool has_tensor_maps() const { return sm >= 90; }
};

/// The device of a name: "90a", "sm_80". Null if unknown.
const Gpu *find_gpu(std::string_view name);

/// "75, 80, 86, ..."
std::string known_gpus();

/// Whether code for an architecture ("sm_90a") runs on a device:
///
///     suffix `a`             only on exactly this compute capability
///     suffix `f`, no suffix  also on later ones with the same major number
///     PTX ("compute_80")     on this and all later ones
bool runs_on(std::string_view architecture, const Gpu &gpu);

/// The PTX and binary versions that the driver returns for loaded code: 80 and 80 for "sm_80", 80
/// and 90 for "compute_80" on a device of compute capability 9.0.
struct CodeVersions {
  int ptx, binary;
};
CodeVersions versions_of(std::string_view architecture, const Gpu &gpu);

} // namespace tritonc::emulator::driver
