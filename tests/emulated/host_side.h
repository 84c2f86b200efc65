// What the host does for a kernel before it launches it on the emulator: see
// analysis/launch_form.h.

#pragma once

#include "emulator.h"
#include "ir/ir.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tritonc::test {

class HostSide {
public:
  /// For `fn` with these arguments, numbers or addresses, and a grid of programs, on a GPU with so
  /// many multiprocessors.
  HostSide(const ir::Function &fn, const std::vector<int64_t> &arguments,
           const std::array<int, 3> &grid, int multiprocessors);

  /// Whether the driver takes the tensor maps. If not, the kernel is not launched in this form.
  bool fits() const { return fits_; }

  /// Pointers to what the kernel gets behind its parameters. They live as long as this.
  const std::vector<void *> &hidden() const { return hidden_; }
  std::array<uint32_t, 3> blocks() const { return blocks_; }
  uint32_t cluster() const { return cluster_; }

private:
  struct alignas(64) MapBytes {
    std::byte bytes[128];
  };

  bool fits_ = true;
  std::deque<int64_t> values_;
  std::deque<MapBytes> maps_;
  std::vector<void *> hidden_;
  std::array<uint32_t, 3> blocks_;
  uint32_t cluster_ = 1;
};

} // namespace tritonc::test
