// lower_device_printf_assert: lowers print and assert to the driver's functions. See
// lower_device_printf_assert.cpp.

#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace tritonc {

/// Which elements of a tile a GPU prints. runtime/emulator/device_printf.h has the same rules for
/// the emulator.
/// - A tile with at most `max_printed_in_full` elements: all.
/// - A larger tile, along an axis no longer than `longest_axis_printed_in_full`: all.
/// - A larger tile, along a longer axis: `printed_at_each_end` elements at each end.
constexpr uint32_t max_printed_in_full = 256;
constexpr uint32_t longest_axis_printed_in_full = 6;
constexpr uint32_t printed_at_each_end = 3;

/// Lowers print and assert operations to calls of the driver's functions. Run it before
/// lower_target_ops.
void lower_device_printf_assert(llvm::Module &module);

} // namespace tritonc
