// Why a kernel has no warp-specialized schedule with TMA, for `--explain`.

#pragma once

#include "analysis/tensor_access.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

/// Why a kernel cannot be warp-specialized with TMA.
enum class RejectReason {
  checks,          // `assert` or `print`
  gpu,             // no tensor maps
  no_matmul,       // no dot, or no loop that carries its accumulator
  several_matmuls, // and no wgmma
  not_loaded,      // an operand is computed from loaded tiles
  loops,           // not only for loops around the matmul
  own_order,       // atomic operations, or barriers of the source
  type,            // of the operands or the accumulator
  tile,            // no tile of a block is a multiple of the source's tile
  access,          // an operand is not a box of a tensor: `access` gives the reason
  not_along_k,     // operands not contiguous along K; wgmma allows one, 16-bit operands may both be
  stored_to,       // the kernel stores to an operand
  computed,        // the address of an operand depends on more than parameters and counters
  shared_memory,   // too small for two stages
  stores,          // in a loop of several matmuls; or such a loop is in a branch
  unlike,          // several matmuls: the shapes of their results
};

struct MissedSchedule {
  RejectReason kind;
  std::string operand = {}; // the parameter through which the kernel loads it; empty = none
  NoTensor access = NoTensor::not_affine;
};

/// The first reason; nothing if there is such a schedule.
std::optional<MissedSchedule> find_missed_schedule(const ir::Function &fn, const Gpu &gpu);

/// Integer parameters that must be multiples of a number for TMA, without an assumption that they
/// are, and that number. The host checks them at each launch.
std::vector<std::pair<std::string, int64_t>> undeclared_multiples(const ir::Function &fn);

} // namespace tritonc
