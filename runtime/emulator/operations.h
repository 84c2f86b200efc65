// The operations that host code may call, by name: those of generator/backend/target_ops.def, and
// the hooks around accesses to memory.

#pragma once

#include "emulator.h"
#include "record.h"

#include <span>
#include <string_view>

namespace tritonc::emulator {

struct NamedOperation {
  /// "ldmatrix_x4 v4i32(i32)": name, result, operands, as the table spells them but without blanks.
  std::string_view signature;
  Operation operation;
};

/// All, in the order of the table; the hooks at the end, with `operands` and `stride` 0.
std::span<const NamedOperation> all_operations();

/// Null if there is none of this name and types.
abi::host_operation find_operation(std::string_view signature);

} // namespace tritonc::emulator
