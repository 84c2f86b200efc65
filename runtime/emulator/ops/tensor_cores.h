// The pending wgmma of a warpgroup: issued, but not waited for (warpgroups.h has the operations).

#pragma once

#include "../clocks.h"
#include "../models/wgmma.h"
#include "../reports.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tritonc::emulator::ops {

/// The state of one warp's tensor core.
struct TensorCoreQueue {
  struct Commit {
    uint64_t issued; // wgmma issued until the commit
    Epoch epoch;     // of the last of them, in the warp's tensor core
  };
  uint64_t computed = 0;       // wgmma of the warpgroup that are computed for this warp
  uint64_t waited = 0;         // wgmma that this warp has waited for
  std::vector<Commit> commits; // pending
  Epoch last = 0;              // of the last wgmma
  bool used = false;
  bool fenced = false;       // wgmma_fence since the threads last could use accumulators
  bool fenced_group = false; // wgmma_fence since the last commit

  void reset() {
    if (used)
      *this = TensorCoreQueue();
  }
};

/// Accumulators that pending wgmma write. Meanwhile the threads' registers hold poison with the
/// identity of the last wgmma issued to these accumulators.
struct Accumulators {
  uint32_t identity = 0;  // 0 = free
  uint32_t registers = 0; // per thread
  bool integer = false;
  uint64_t last = 0;       // number of that wgmma
  unsigned under_way = 0;  // wgmma to these that are not computed
  unsigned handed_out = 0; // mask of warps that have the result
  bool abandoned = false;  // no wait will ask for the result
  size_t capacity = 0;
  std::unique_ptr<std::byte[]> values; // [128][registers] of float or int32_t

  template <typename T> T *of_thread(unsigned thread) const {
    return reinterpret_cast<T *>(values.get()) + size_t(thread) * registers;
  }
  bool is_free() const {
    return identity == 0 || (under_way == 0 && (abandoned || handed_out == 0xf));
  }
};

/// A wgmma that the tensor core of at least one warp has not computed.
struct WgmmaUnderWay {
  uint64_t number = 0;
  models::Wgmma instruction;
  models::MatrixDescriptor a, b;
  std::vector<std::array<uint32_t, 4>> a_registers; // [128] if A is in registers
  Accumulators *accumulators = nullptr;
  unsigned left = 0xf; // mask of the warps that have not computed it
  std::array<Clock, 4> clocks;
  const Site *site = nullptr;
  const char *what = nullptr;
};

struct TensorCores {
  uint64_t issued = 0;
  std::deque<WgmmaUnderWay> under_way; // in the order of issue
  std::vector<std::unique_ptr<Accumulators>> accumulators;

  void reset() {
    if (issued == 0)
      return;
    issued = 0;
    under_way.clear();
    for (auto &each : accumulators)
      each->identity = 0;
  }
};

} // namespace tritonc::emulator::ops
