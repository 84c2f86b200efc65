// The tile interpreter's memory as memory of the emulator, so that one run can be done by both.

#pragma once

#include "emulated/host_side.h"
#include "emulator.h"
#include "global_memory.h"
#include "interpreter/interpreter.h"

#include <optional>
#include <vector>

namespace tritonc::test {

/// Buffers of exactly the same sizes and contents; an element without a value was never written.
class TileMemory {
public:
  explicit TileMemory(const interpreter::Memory &memory);

  emulator::GlobalMemory &memory() { return memory_; }

  /// What the emulator is to launch for `code` where the interpreter launched `launch` of `fn`, in
  /// the form that `fn` has; nothing if a tensor map would be none that the driver takes. As long
  /// as this lives, and until the next call.
  std::optional<emulator::Launch> launch(const abi::host_code &code, const ir::Function &fn,
                                         const interpreter::Launch &launch);

  /// Back again: what nobody wrote is poison.
  interpreter::Memory read() const;

private:
  uint64_t bits(const ir::Type &type, const interpreter::Element &element) const;

  interpreter::Memory shape_; // names and types
  std::vector<std::byte *> buffers_;
  void *scratch_ = nullptr; // that of the first launch that needed some
  emulator::GlobalMemory memory_;
  std::vector<uint64_t> values_;
  std::optional<HostSide> host_;
  std::vector<void *> arguments_;
};

} // namespace tritonc::test
