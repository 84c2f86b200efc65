// What the tensor cores of a warpgroup are doing: wgmma that were issued and not yet waited for
// (warpgroups.h has the operations).

#pragma once

#include "../clocks.h"
#include "../findings.h"
#include "../models/wgmma.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tritonc::emulator::ops {

/// The part of a warp.
struct TensorCoreQueue {
  struct Commit {
    uint64_t issued; // how many wgmma there had been
    Epoch epoch;     // of the last of them, as an event of the warp's tensor core
  };
  uint64_t computed = 0;       // how many wgmma of the warpgroup have been, for this warp
  uint64_t waited = 0;         // ... and waited for
  std::vector<Commit> commits; // not waited for
  Epoch last = 0;              // of the last wgmma
  bool used = false;
  bool fenced = false;       // wgmma_fence since the threads could last use accumulators
  bool fenced_group = false; // ... since the last commit

  void reset() {
    if (used)
      *this = TensorCoreQueue();
  }
};

/// Registers that wgmma write, while the threads hold something else: the identity of the last
/// wgmma that was issued to them.
struct Accumulators {
  uint32_t identity = 0;  // 0: these are free
  uint32_t registers = 0; // per thread
  bool integer = false;
  uint64_t last = 0;       // number of that wgmma
  unsigned under_way = 0;  // wgmma to these that aren't computed
  unsigned handed_out = 0; // mask of warps that have the result
  bool abandoned = false;  // nobody will ask for the result
  size_t capacity = 0;
  std::unique_ptr<std::byte[]> values; // [128][registers] of float or int32_t

  template <typename T> T *of_thread(unsigned thread) const {
    return reinterpret_cast<T *>(values.get()) + size_t(thread) * registers;
  }
  bool is_free() const {
    return identity == 0 || (under_way == 0 && (abandoned || handed_out == 0xf));
  }
};

/// A wgmma that some warp's tensor core has not computed.
struct WgmmaUnderWay {
  uint64_t number = 0;
  models::Wgmma instruction;
  models::MatrixDescriptor a, b;
  std::vector<std::array<uint32_t, 4>> a_registers; // [128] if A comes from there
  Accumulators *accumulators = nullptr;
  unsigned left = 0xf; // mask of the warps
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
