// Estimates along which axis adjacent elements of a tile of pointers are nearest in memory.
//
//     X + (p / Q * W + p % Q)[:, newaxis] + (c * (H * W))[newaxis, :]
//     => axis 0: mostly 1 element apart; axis 1: H * W elements apart
//
// Adjacent threads should access adjacent memory. Where no axis is contiguous (axis_info.h), this
// estimate says which axis comes closest. It decides only about speed.

#pragma once

#include "ir/ir.h"

#include <optional>

namespace tritonc {

/// The axis of `pointers`, a tile or a view, along which adjacent elements are nearest. A product
/// of unknown numbers counts as farther than a product of fewer. nullopt: no axis is nearer than
/// all others, or the addresses are loaded.
std::optional<int> nearest_axis(const ir::Value *pointers);

} // namespace tritonc
