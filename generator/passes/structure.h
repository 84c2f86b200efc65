// A structure: how the blocks of a GPU are to carry out a kernel. A kernel may be compiled in
// several; the launch takes the one that suits the problem.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct Structure {
  /// Some warps only copy, and the others multiply what has come, by wgmma, or by mma where the GPU
  /// has none. Else all warps of a program do the same.
  bool specialized = false;

  /// So many warps copy the factors, each thread some elements; 0: one thread does, by tensor maps.
  int copying_warps = 0;

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

  /// Which of the pieces of work a launch does: two launches may share them. The first does as many
  /// as keep all multiprocessors busy a number of times, the second, in smaller ones, those left.
  enum class Share : uint8_t { all, full_rounds, rest };
  Share share = Share::all;

  /// How many blocks a multiprocessor runs at once: more than one, and they hide each other's
  /// latencies, but each has less shared memory to run ahead in.
  int residency = 1;

  /// How many pieces of a result have a place in shared memory on their way out of a specialised
  /// block: with one, it has to have been read before the next is written.
  int64_t staged_pieces = 2;

  /// What a launch in it takes, for the host to compare; nothing: it is not known.
  std::optional<Expr> cost = {};

  /// "128x256x64 specialized", "128x128x64 specialized, split 8"; "128x256x64" for a bundle of
  /// programs; "" for the plain one.
  std::string name;
};

/// The structures worth compiling for a function as translated, the best one first. The last is the
/// plain one, which makes no demands. Behind one that does full rounds is the one for the rest.
std::vector<Structure> structures_for(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
