// A structure: how the blocks of a GPU are to carry out a kernel. A kernel may be compiled in
// several; the launch takes the one that suits the problem.

#pragma once

#include "analysis/tensor_access.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

struct Structure {
  /// Some warps only copy, and the others multiply what has come, by wgmma. Else all warps of a
  /// program do the same.
  bool specialized = false;

  /// So many warps copy the factors, each thread some elements; 0: one thread does, by tensor maps.
  int copying_warps = 0;

  /// How many programs a block carries out at once, along each axis of the grid; empty: one.
  std::vector<int64_t> bundle = {};

  /// How much of K one step of the product takes, at least; 0: as much as in the source.
  int64_t step = 0;

  /// How many blocks a multiprocessor runs at once: more than one, and they hide each other's
  /// latencies, but each has less shared memory to run ahead in.
  int residency = 1;

  /// What a launch in it takes, for the host to compare; nothing: it is not known.
  std::optional<Expr> cost = {};

  /// "128x256x64 specialized"; "" for the plain one.
  std::string name;
};

/// What stands in the way of a specialised structure in which the copy engine brings the factors.
enum class ObstacleKind {
  gpu,        // has no wgmma
  no_product, // no dot, or not in a loop whose sum is carried
  several_products,
  not_loaded,    // a factor is computed from what is loaded
  loops,         // something else than counted loops around the product
  type,          // of the factors or the sum
  tile,          // the source's, that no block's tile is a multiple of
  access,        // a factor is no box of a tensor: `access` says why
  not_along_k,   // only 16-bit factors may have neighbours along M or N
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

/// The structures worth compiling for a function as translated, the best one first. The last is the
/// plain one, which makes no demands.
std::vector<Structure> structures_for(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
