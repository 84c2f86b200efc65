// lower_to_tma: loads the operands of a matmul, and stores its output tile, by TMA.
//
//                                                   %m = tensor_map %A, 0, M, K, lda, 1
//     for_loop %n, %sum {                           for_loop %n, %sum {
//       (%t, %acc)                                    (%t, %acc)
//       %v = view %A, pm*128*lda + t*64, lda, 1  =>   %a = tma_load %m, pm*128, t*64 : f16[128,64]
//       %a = load %v : f16[128,64]                    ...
//       ...
//
// With a tensor map, one instruction of one thread loads a whole tile. Elements outside the tensor
// read as zero, so the size of the tensor replaces the masks.
//
// Method:  A tensor map holds the address, sizes, and strides of a tensor; the host makes it before
//          the launch. One copy moves a box of the tensor (here map<f16>[128,64]): a panel of the
//          destination buffer (panel_layout), at most 256 rows of at most 128 bytes.
//
//          A tensor may have more axes than the tile, up to five: in a batch of matmuls, the matrix
//          is an axis of its own, before those of the tile (tensor_access):
//
//            %m = tensor_map %A, 0, matrices, M, K, batch_a, lda, 1 : map<f16>[1,128,64]
//            %a = tma_load %m, pb, pm*128, t*64 : f16[128,64]
//
//          TMA takes longer for rows outside of the tensor than for rows of it (target/tma_boxes.h).
//          If no element of the result that they contribute to is used (clipped_result), a copy of
//          several boxes leaves out those outside, from the extent of the tensor on:
//
//            %limit = host_value min(M, 2147483647)
//            %a = tma_load %m, pm*128, t*64, %limit {predicated = 0} : f16[128,64]
//
//          With schedule.multicast, adjacent programs that share an operand run in one cluster. Each
//          block then copies some boxes of the operand's tile to all blocks, so that the GPU reads a
//          row from L2 once per cluster. The tile has {multicast}, and a multiple of so many boxes.
//
//          Output tiles with the shape of the matmul become tma_store, where TMA can store them.
//
//          Residuals: a tile of the matmul's shape from which only a tma_store is computed, element
//          by element, becomes a tma_load. stage_epilogue loads it piece by piece, to where
//          the pieces of the stored tile are. So their elements have the same size. Of several such
//          tiles the first one is loaded this way, others by threads. A launch must be able to make
//          the map, or it could not use the schedule: the strides are multiples of 16 bytes, or
//          strides of the operands.
// Needs:   form_views; a warp-specialized schedule with producer_warps = 0, for which
//          candidate_schedules has checked the accesses.
// Ensures: the operands of the dots that are loaded are results of tma_load.
// Limits:  with other schedules nothing happens. Threads still store an output tile
//            - that is stored column by column,
//            - whose rows do not end at a multiple of 16 bytes,
//            - in a loop or a branch,
//            - through a parameter with other accesses,
//            - of split-K.
//
// Tested by tests/unit/passes/lower_to_tma/ and lower_to_tma_test.cpp.

#include "passes/lower_to_tma.h"

#include "analysis/clipped_result.h"
#include "analysis/grid_axes.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "analysis/operand_loads.h"
#include "ir/builder.h"
#include "passes/tile_slices.h"
#include "target/tma_boxes.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t bytes_of_piece = 128; // of a row of an output tile, see stage_epilogue

// Whether the access stores whole panels along the last axis. TMA writes 16 bytes at a time. So
// each row of the tensor must end at a multiple of 16 bytes, or TMA would write past its end.
bool fits_copies_out(const TensorAccess &access, const Type &tile, const Function &fn) {
  const int64_t bytes = bytes_of(tile.elem), chunk = 16 / bytes; // elements
  const TensorExtent &extent = access.extents[size_t(access.contiguous)];
  bool ends_at_chunk = extent.known && extent.touched % chunk == 0;
  for (const Poly &bound : extent.bounds)
    ends_at_chunk &= divisor_of(bound, fn) % chunk == 0;
  for (const TensorExtent::Repeated &repeated : extent.repeated)
    ends_at_chunk &= repeated.step % chunk == 0;
  return access.contiguous == 1 && ends_at_chunk && starts_at_chunks(access, tile.elem, fn) &&
         panel_row_bytes(tile.shape, access.contiguous, int(bytes)) > 0;
}

struct State {
  Function &fn;
  std::vector<Poly> strides_of_operands = {}; // which a launch checks: multiples of 8
  size_t maps = 0; // operations for maps at the start of the function so far

  void remember_strides(const Op &load) {
    if (auto access = tensor_access(load.operand(0), load.operand_or_null(1)).access;
        access && bytes_of(load.result()->type.elem) == 2)
      strides_of_operands.insert(strides_of_operands.end(), access->strides.begin(),
                                 access->strides.end());
  }

  // `parts`: the number of copies of one tile is a multiple of it. `predicated`: an axis.
  Value *map_for(const TensorAccess &access, const Type &tile, int64_t parts = 1,
                 std::optional<int> predicated = std::nullopt) {
    constexpr int64_t max_rows = 256;
    int row = panel_row_bytes(tile.shape, access.contiguous, bytes_of(tile.elem));
    Shape box = tile.shape;
    for (int64_t &extent : box)
      extent = std::min(extent, max_rows);
    if (predicated)
      box[size_t(*predicated)] = std::min(box[size_t(*predicated)], predicated_box_rows);
    box[size_t(access.contiguous)] = row / bytes_of(tile.elem);
    if (tile.elements() / element_count(box) % parts != 0)
      box[size_t(1 - access.contiguous)] /= parts;
    size_t before = fn.body->ops.size();
    Value *map = emit_tensor_map(fn, maps, access, tile.elem, std::move(box), row);
    maps += fn.body->ops.size() - before;
    return map;
  }

  static void add_coordinates(Builder &builder, const TensorAccess &access,
                              std::vector<Value *> &operands) {
    auto add = [&](const Poly &coordinate) {
      operands.push_back(builder.cast(emit(builder, coordinate), Elem::i32));
    };
    for (const OuterAxis &axis : access.outer)
      add(axis.coordinate);
    for (const Poly &coordinate : access.coordinates)
      add(coordinate);
  }

  // Gives the copy a limit along `axis` of its tile: the extent of the tensor.
  void predicate(Op &copy, int axis) {
    Op *map = copy.operand(0)->op;
    const int outer = map->result()->type.rank() - copy.result()->type.rank();
    Builder builder = Builder::after(fn, map);
    builder.set_location(copy.location);
    Value *extent = map->operand(2 + size_t(outer + axis));
    Value *most = builder.i64(std::numeric_limits<int32_t>::max());
    extent = builder.cast(builder.binary(Opcode::min_, extent, most), Elem::i32);
    copy.operands.push_back(
        builder.create(Opcode::host_value_, {extent}, {extent->type})->result());
    copy.set(attr::predicated_, int64_t(outer + axis));
  }

  // `copied`: what one copy moves, the tile or a piece of it. `multicast`: the number of blocks that
  // share the tile. `clipped`: the axis along which elements outside of the tensor are not used.
  // Returns the tile's map.
  Op *rewrite_load(Op *load, const Type &copied, int64_t multicast = 1,
                   std::optional<int> clipped = std::nullopt) {
    const Type &tile = load->result()->type;
    std::optional<TensorAccess> access =
        tensor_access(load->operand(0), load->operand_or_null(1)).access;
    assert(access && "candidate_schedules has looked");
    std::vector<Value *> operands = {map_for(*access, copied, multicast, clipped)};
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    add_coordinates(builder, *access, operands);
    Value *moved = builder.create(Opcode::tma_load_, operands, {tile})->result();
    keep_cache_hint(*moved->op, *load);
    if (multicast > 1)
      moved->op->set(attr::multicast_, multicast);
    const Shape &box = operands[0]->type.shape;
    if (clipped &&
        box[box.size() - tile.shape.size() + size_t(*clipped)] < tile.shape[size_t(*clipped)])
      predicate(*moved->op, *clipped);
    moved->name = load->result()->name;
    replace_uses(*fn.body, load->result(), moved);
    erase(load);
    return operands[0]->op;
  }

  // Whether another operation accesses memory through the parameter: it would have to wait for TMA,
  // or TMA for it.
  bool is_accessed_elsewhere(const Op *store, const Value *base) {
    bool found = false;
    for_each_op(*fn.body, [&](const Op &op) {
      if ((!op.is(Opcode::load_) && !op.is(Opcode::store_) && !op.is(Opcode::tma_store_)) ||
          &op == store)
        return;
      if (op.is(Opcode::tma_store_)) {
        found |= op.operand(0)->op->operand(0) == base;
        return;
      }
      const Value *root = root_of(op.operand(0));
      found |= !root || root == base;
    });
    return found;
  }

  // Leaves a store that TMA cannot do unchanged, and then returns false.
  bool rewrite_store(Op *store, const Value &accumulator) {
    const Type &tile = store->operand(1)->type;
    std::optional<int> columns =
        axis_of_columns(store->operand(1), accumulator.type.shape, &accumulator);
    if (!columns || store->parent != fn.body)
      return false;
    std::optional<TensorAccess> access =
        tensor_access(store->operand(0), store->operand_or_null(2)).access;
    if (!access || !fits_copies_out(*access, tile, fn) ||
        is_accessed_elsewhere(store, access->base))
      return false;
    // stage_epilogue cuts the tile along the columns of the matmul. If they are along the rows of
    // the stored tile, a piece has several panels.
    Type piece = tile;
    int64_t &extent = piece.shape[size_t(*columns)];
    extent = std::min(extent, bytes_of_piece / bytes_of(tile.elem));
    std::vector<Value *> operands = {map_for(*access, piece), store->operand(1)};
    Builder builder = Builder::before(fn, store);
    builder.set_location(store->location);
    add_coordinates(builder, *access, operands);
    Op *copy = builder.create(Opcode::tma_store_, operands);
    erase(store);
    rewrite_addend(*copy, piece);
    return true;
  }

  // Whether TMA can load pieces of the tile to a buffer for pieces of a stored tile. TMA stores
  // them from the same place, so there their rows must be contiguous, too.
  bool fits_staging_buffer(const Op &load, const Type &piece, const Op &store) {
    const Type &tile = load.result()->type;
    const Value *other = load.operand_or_null(2);
    std::optional<TensorAccess> access =
        tensor_access(load.operand(0), load.operand_or_null(1)).access;
    if (!access || (other && !is_zero(other)) || bytes_of(tile.elem) != bytes_of(piece.elem) ||
        access->contiguous != 1 || !starts_at_chunks(*access, tile.elem, fn) ||
        panel_row_bytes(piece.shape, 1, bytes_of(tile.elem)) == 0 ||
        root_of(load.operand(0)) == root_of(store.operand(0)))
      return false;
    // If a launch found no map for this tile only, it could not use the schedule.
    const int64_t chunk = 16 / bytes_of(tile.elem); // elements
    auto is_aligned = [&](const Poly &distance) {
      return divisor_of(distance, fn) % chunk == 0 ||
             (chunk <= 8 && std::find(strides_of_operands.begin(), strides_of_operands.end(),
                                      distance) != strides_of_operands.end());
    };
    bool are_aligned = divisor_of(access->offset, fn) % chunk == 0;
    for (size_t d = 0; d < access->strides.size(); d++)
      are_aligned &= int(d) == access->contiguous || is_aligned(access->strides[d]);
    for (const OuterAxis &axis : access->outer)
      are_aligned &= is_aligned(axis.stride);
    return are_aligned;
  }

  // Loads one tile of those that the stored tile is computed from, such as the residual of a layer.
  // stage_epilogue loads it piece by piece, to where it then writes the pieces of the result.
  void rewrite_addend(const Op &store, const Type &piece) {
    const SlicedTiles sliced(fn, {const_cast<Op *>(&store)});
    const Part part = {piece.shape, std::vector<int64_t>(piece.shape.size(), 0)};
    for (Op *load : std::vector<Op *>(store.parent->ops)) {
      if (!load->is(Opcode::load_) || load->result()->type.shape != store.operand(1)->type.shape ||
          !sliced.is_only_stored(*load) || !sliced.contains(load->result(), part, store) ||
          !fits_staging_buffer(*load, piece, store))
        continue;
      rewrite_load(load, load->result()->type.with_shape(piece.shape));
      return;
    }
  }
};

// The operands of a matmul. One of them may be shared by the blocks of a cluster, and rows outside of
// a tensor may be left out.
void load_matmul(State &state, MatmulLoop &matmul, const Schedule &schedule) {
  Function &fn = state.fn;
  std::optional<SharedOperand> shared;
  if (schedule.multicast > 1)
    shared = find_shared_operand(matmul);
  const bool is_clipped[] = {is_clipped_to_operand(fn, matmul, 0),
                             is_clipped_to_operand(fn, matmul, 1)};
  for (int i : {0, 1}) {
    const LoadedOperand &operand = matmul.operands[i];
    const Type tile = operand.load->result()->type;
    state.remember_strides(*operand.load);
    Op *map = state.rewrite_load(
        operand.load, tile, shared && shared->operand == i ? schedule.multicast : 1,
        is_clipped[i] ? std::optional(int(operand.perm[size_t(i)])) : std::nullopt);
    if (tile.elem == Elem::f32) // rounds; the tensor cores would truncate
      map->set(attr::tf32_);
  }
}

} // namespace

void lower_to_tma(Function &fn, const Schedule &schedule) {
  if (!schedule.is_warp_specialized() || schedule.producer_warps)
    return;
  State state{fn};
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  const bool is_matmul = matmul.has_value();
  if (is_matmul) {
    load_matmul(state, *matmul, schedule);
  } else {
    for (const OperandLoad &operand : operand_loads(fn)) {
      state.remember_strides(*operand.load);
      state.rewrite_load(operand.load, operand.load->result()->type);
    }
  }
  if (schedule.split_k > 1 || schedule.is_first())
    return; // threads store partials, and the sum of a cluster
  std::vector<Op *> stores;
  std::vector<const Value *> accumulators;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::store_))
      stores.push_back(&op);
    if (op.is(Opcode::dot_))
      if (const Value *accumulator = accumulator_after_loop(op))
        accumulators.push_back(accumulator);
  });
  for (Op *store : stores)
    for (const Value *accumulator : accumulators)
      // In a matmul, other stored tiles of this shape get the layout of the accumulator.
      if ((is_matmul || is_from_transposed_accumulator(store->operand(1), accumulator)) &&
          state.rewrite_store(store, *accumulator))
        break;
}

} // namespace tritonc
