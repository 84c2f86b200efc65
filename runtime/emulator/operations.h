// Looks up by name the operations that host code may call: the rows of
// generator/backend/target_ops.def and the hooks before memory accesses.

#pragma once

#include "emulator.h"
#include "record.h"

#include <span>
#include <string_view>

namespace tritonc::emulator {

struct NamedOperation {
  /// "ldmatrix_x4 v4i32(i32)": name, result, operands, spelled as in the table without blanks.
  std::string_view signature;
  Operation operation;
};

/// All operations in the order of the table, then the hooks with `operands` and `stride` 0.
std::span<const NamedOperation> all_operations();

/// Returns null if no operation has this name and these types.
abi::host_operation find_operation(std::string_view signature);

} // namespace tritonc::emulator
