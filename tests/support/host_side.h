// Does the host's work before a kernel launch on the emulator: grid, tensor maps, workspace. See
// analysis/launch_config.h.

#pragma once

#include "emulator.h"
#include "ir/ir.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tritonc::test {

class HostSide {
public:
  /// For `fn` with these arguments (values or addresses), a grid of programs, and a number of SMs.
  HostSide(const ir::Function &fn, const std::vector<int64_t> &arguments,
           const std::array<int, 3> &grid, int num_sms);
  HostSide(const HostSide &) = delete; // `hidden` points into it

  /// Whether the guards hold, and the driver accepts the tensor maps and the shared memory. If not,
  /// this schedule is not launched.
  bool fits() const { return fits_; }

  /// Pointers to the kernel's hidden arguments, valid as long as this object.
  const std::vector<void *> &hidden() const { return hidden_; }
  std::array<uint32_t, 3> blocks() const { return blocks_; }

  /// Workspace of the launch in bytes; 0 = none. Set its address before the launch.
  size_t workspace_bytes() const { return workspace_bytes_; }
  void put_workspace_at(const void *memory) { workspace_ = int64_t(uintptr_t(memory)); }
  uint32_t cluster() const { return cluster_; }
  bool starts_early() const { return starts_early_; }

  /// Dynamic shared memory of a block in bytes; none: that of the code.
  std::optional<uint32_t> shared_bytes() const { return shared_bytes_; }

private:
  struct alignas(64) MapBytes {
    std::byte bytes[128];
  };

  bool fits_ = true;
  size_t workspace_bytes_ = 0;
  int64_t workspace_ = 0;
  std::optional<uint32_t> shared_bytes_;
  std::deque<int64_t> values_;
  std::deque<MapBytes> maps_;
  std::vector<void *> hidden_;
  std::array<uint32_t, 3> blocks_;
  uint32_t cluster_ = 1;
  bool starts_early_ = false;
};

} // namespace tritonc::test
