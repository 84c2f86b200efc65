// Finds tiles that several loops load, one loop after the other.

#pragma once

#include "ir/builder.h"

#include <optional>
#include <utility>
#include <vector>

namespace tritonc {

/// Loops of the function's body with the same number of iterations, which load the same tiles: in
/// iteration t each of the loops loads the same elements, and no store in between changes them.
struct RepeatedLoads {
  ir::Op *first; // the first of the loops
  /// For each tile, its loads: one of `first`, others of `first`, and those of later loops in order. A
  /// load belongs to one tile. All tiles have one type.
  std::vector<std::vector<ir::Op *>> tiles;
};

/// `fn`: a result of canonical_form, or of try_batching. The loads are those of the first loop that
/// has some. The host can compute the number of iterations. Pointers and masks of the loads depend
/// only on the loop counter and on values from before the loop.
std::optional<RepeatedLoads> find_repeated_loads(ir::Function &fn);

/// The first operation of the function's body, not after `found.first`, before which all loads of
/// `found.first` that `found` has can be made.
ir::Op *earliest_place(const ir::Function &fn, const RepeatedLoads &found);

/// Whether `load`, of the body of a loop, depends only on the loop counter and on values from before the
/// loop. A load with a cache hint does not count: its hint says how often it reads memory.
bool depends_on_counter_only(const ir::Op &load, const ir::Block &body);

/// Whether `op`, or an operation in it, may change elements that `load` reads.
bool may_change(const ir::Function &fn, const ir::Op &op, const ir::Op &load);

/// Whether no operation of the loop that changes memory comes before `load`, a load of its body, or
/// is of another iteration and to the same elements.
bool can_load_first(const ir::Function &fn, const ir::Op &load);

/// Pairs of loads of tiles of the function's body, outside of loops: a load, and the first earlier load
/// of the same elements. No store in between changes them.
std::vector<std::pair<ir::Op *, ir::Op *>> find_repeated_loads_of_body(ir::Function &fn);

/// Loads what `load`, of the body of a loop, loads in `iteration`, if `exists`; null: always. `other`: the
/// masked-off elements; null: any. The view and the mask depend on the loop counter only.
ir::Value *load_in_iteration(ir::Builder &builder, const ir::Op &load, ir::Value *iteration,
                             ir::Value *exists, ir::Value *other);

/// The result of `repeat` from the `elements` that `load` gives. The two loads may have different
/// values for the elements that their mask turns off.
ir::Value *emit_repeat(ir::Builder &builder, ir::Value *elements, const ir::Op &load,
                       const ir::Op &repeat);

} // namespace tritonc
