// What stands in the way of the best structures for a kernel, for `--explain` to say.

#pragma once

#include "analysis/tensor_access.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

/// What stands in the way of a specialised structure in which the copy engine brings the factors.
enum class ObstacleKind {
  checks,     // `assert` or `print`
  gpu,        // has no tensor maps
  no_product, // no dot, or not in a loop whose sum is carried
  several_products,
  not_loaded,    // a factor is computed from what is loaded
  loops,         // something else than counted loops around the product
  own_order,     // atomic operations, or barriers of the source
  type,          // of the factors or the sum
  tile,          // the source's, that no block's tile is a multiple of
  access,        // a factor is no box of a tensor: `access` says why
  not_along_k,   // one factor may have neighbours along M or N, by mma none, but for 16-bit ones
  stored_to,     // a factor
  computed,      // where a factor is depends on more than parameters and counters
  shared_memory, // has no place for two steps
};

struct Obstacle {
  ObstacleKind kind;
  std::string factor = {}; // the parameter that it is loaded through
  NoTensor access = NoTensor::not_affine;
};

/// The first one; nothing if there is such a structure.
std::optional<Obstacle> find_obstacle(const ir::Function &fn, const Gpu &gpu);

/// The integer parameters that have to be multiples of something for the copy engine to take the
/// factors and the result, but don't promise it, and of what. The host looks at each launch.
std::vector<std::pair<std::string, int64_t>> unpromised_multiples(const ir::Function &fn);

} // namespace tritonc
