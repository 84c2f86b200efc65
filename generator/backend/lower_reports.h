// lower_reports: see lower_reports.cpp.

#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace tritonc {

/// Which elements of a tile a GPU prints, as runtime/emulator/prints.h says for the emulator: all
/// of a tile with no more than so many; else all along an axis that is no longer than this, and so
/// many at each end of others.
constexpr uint32_t most_printed_in_full = 256;
constexpr uint32_t longest_axis_printed_in_full = 6;
constexpr uint32_t printed_at_each_end = 3;

/// Makes calls of the driver's functions of what a kernel says about itself. Before
/// lower_target_ops.
void lower_reports(llvm::Module &module);

} // namespace tritonc
