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
  HostSide(const HostSide &) = delete; // pointers point into it

  /// Whether the driver takes the tensor maps. If not, the kernel is not launched in this form.
  bool fits() const { return fits_; }

  /// Pointers to what the kernel gets behind its parameters. They live as long as this.
  const std::vector<void *> &hidden() const { return hidden_; }
  std::array<uint32_t, 3> blocks() const { return blocks_; }

  /// How much scratch memory the launch needs; 0: none. Where it is has to be said before it.
  size_t scratch_bytes() const { return scratch_bytes_; }
  void put_scratch_at(const void *memory) { scratch_ = int64_t(uintptr_t(memory)); }
  uint32_t cluster() const { return cluster_; }
  bool starts_early() const { return starts_early_; }

private:
  struct alignas(64) MapBytes {
    std::byte bytes[128];
  };

  bool fits_ = true;
  size_t scratch_bytes_ = 0;
  int64_t scratch_ = 0;
  std::deque<int64_t> values_;
  std::deque<MapBytes> maps_;
  std::vector<void *> hidden_;
  std::array<uint32_t, 3> blocks_;
  uint32_t cluster_ = 1;
  bool starts_early_ = false;
};

} // namespace tritonc::test
