// Copies the tile interpreter's memory to emulator memory, so that both can run the same launch.

#pragma once

#include "emulator.h"
#include "global_memory.h"
#include "interpreter/interpreter.h"
#include "support/host_side.h"

#include <optional>
#include <vector>

namespace tritonc::test {

/// Buffers with the same sizes and contents; a poison element stays unwritten.
class TileMemory {
public:
  explicit TileMemory(const interpreter::Memory &memory);

  emulator::GlobalMemory &memory() { return memory_; }

  /// The emulator's launch of `code` for the interpreter's `launch` of `fn`, in the schedule of
  /// `fn`. Returns nullopt if the driver would refuse a tensor map. Valid until the next call, and
  /// as long as this object.
  std::optional<emulator::Launch> launch(const abi::host_code &code, const ir::Function &fn,
                                         const interpreter::Launch &launch);

  /// Copies back to interpreter memory; unwritten elements become poison.
  interpreter::Memory read() const;

private:
  uint64_t bits(const ir::Type &type, const interpreter::Element &element) const;

  interpreter::Memory shape_; // names and types
  std::vector<std::byte *> buffers_;
  void *workspace_ = nullptr; // allocated by the first launch that needs it
  emulator::GlobalMemory memory_;
  std::vector<uint64_t> values_;
  std::optional<HostSide> host_;
  std::vector<void *> arguments_;
};

} // namespace tritonc::test
