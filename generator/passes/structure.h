// A structure: how the blocks of a GPU are to carry out a kernel. A kernel may be compiled in
// several; the launch takes the one that suits the problem.

#pragma once

#include "ir/ir.h"
#include "passes/program_costs.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// How many blocks divide a sum, of a launch that stores its parts in memory; another adds them.
struct DividedSum {
  /// How many programs a block of the first launch carries out at once, as Structure::bundle; and
  /// the rows and columns of their sums together.
  std::vector<int64_t> bundle;
  int64_t rows, columns;

  /// The axis of the grid along which sums lie one below the other, and that along which they lie
  /// side by side.
  size_t rows_axis, columns_axis;
  size_t third_axis() const { return 3 - rows_axis - columns_axis; }

  /// Of a part, along K.
  static constexpr int64_t least_steps = 4;
};

struct Structure {
  /// Some warps only copy, and the others multiply what has come, by wgmma, or by mma where the GPU
  /// has none. Else all warps of a program do the same.
  bool specialized = false;

  /// So many warps copy the factors, each thread some elements; 0: one thread does, by tensor maps.
  int copying_warps = 0;

  /// So many teams of warps multiply, each for a program or bundle of its own, one after the other:
  /// while one stores its results the next multiplies.
  int teams = 1;

  /// All warps of a block copy the factors, by cp.async, and multiply them by wgmma. It starts
  /// sooner than a specialised one.
  bool together = false;

  /// Without specialised warps: a block has a multiprocessor for itself, with all of its shared
  /// memory to copy ahead into. Else two share it.
  bool alone = false;

  /// How many programs a block carries out at once, along each axis of the grid; empty: one.
  std::vector<int64_t> bundle = {};

  /// How much of K one step of the product takes; 0: as much as in the source. A specialised one
  /// takes at least as much as in the source.
  int64_t step = 0;

  /// The product's transpose is computed: what was its right factor comes first, and so may lie in
  /// memory as it likes.
  bool swapped = false;

  /// How many blocks divide the sum of a product among them, as a cluster. If more than one, a
  /// cluster carries out one program (or bundle) and ends.
  int64_t splits = 1;

  /// If not empty: how many pieces along each axis each piece of a larger structure is cut into.
  /// These come one after another, in the order of the larger ones.
  std::vector<int64_t> cuts = {};

  /// Which of the work a launch does: two launches may share it. The first does as many pieces as
  /// keep all multiprocessors busy a number of times, the second, in smaller ones, those left. Or
  /// the first stores the parts of `divided` sums, and the second adds them.
  enum class Share : uint8_t { all, full_rounds, rest, parts, sum_of_parts };
  Share share = Share::all;
  std::optional<DividedSum> divided = {};

  bool is_second() const { return share == Share::rest || share == Share::sum_of_parts; }
  bool is_first() const { return share == Share::full_rounds || share == Share::parts; }

  /// How many blocks a multiprocessor runs at once: more than one, and they hide each other's
  /// latencies, but each has less shared memory to run ahead in.
  int residency = 1;

  /// How many pieces of a result have a place in shared memory on their way out of a specialised
  /// block: with one, it has to have been read before the next is written.
  int64_t staged_pieces = 2;

  /// What a launch in it takes, for the host to compare; nothing: it is not known.
  std::optional<Expr> cost = {};

  /// What the cost is reckoned from where it also depends on how many programs a multiprocessor has
  /// at once: cost_of_programs_apart, once there is code.
  std::optional<ProgramWork> work = {};

  /// "128x256x64 specialized", "128x128x64 specialized, split 8"; "128x256x64" for a bundle of
  /// programs; "" for the plain one.
  std::string name;
};

/// The structures worth compiling for a function as translated, the best one first. The last is the
/// plain one, which makes no demands. Behind the first of two that share the work is the second.
std::vector<Structure> structures_for(const ir::Function &fn, const Gpu &gpu);

/// Of these those that are compiled for a GPU: with `assert` or `print` the plain one alone. What
/// warps say is said by functions of the driver, which take registers that specialised warps may
/// have given away.
std::vector<Structure> structures_for_code(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
