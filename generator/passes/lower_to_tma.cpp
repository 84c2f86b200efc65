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
//          Output tiles with the shape of the matmul become tma_store, where TMA can store them.
// Needs:   form_views; a warp-specialized schedule with producer_warps = 0, for which
//          candidate_schedules has checked the accesses.
// Ensures: the operands of the matmul are results of tma_load.
// Limits:  with other schedules nothing happens. Threads still store an output tile
//            - that is stored column by column,
//            - whose rows do not end at a multiple of 16 bytes,
//            - in a loop or a branch,
//            - through a parameter with other accesses,
//            - of split-K.
//
// Tested by tests/unit/passes/lower_to_tma/ and lower_to_tma_test.cpp.

#include "passes/lower_to_tma.h"

#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

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
  size_t maps = 0; // operations for maps at the start of the function so far

  Value *map_for(const TensorAccess &access, const Type &tile) {
    constexpr int64_t max_rows = 256;
    int row = panel_row_bytes(tile.shape, access.contiguous, bytes_of(tile.elem));
    Shape box = tile.shape;
    for (int64_t &extent : box)
      extent = std::min(extent, max_rows);
    box[size_t(access.contiguous)] = row / bytes_of(tile.elem);
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

  void rewrite_load(Op *load) {
    const Type &tile = load->result()->type;
    std::optional<TensorAccess> access =
        tensor_access(load->operand(0), load->operand_or_null(1)).access;
    assert(access && "candidate_schedules has looked");
    std::vector<Value *> operands = {map_for(*access, tile)};
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    add_coordinates(builder, *access, operands);
    if (tile.elem == Elem::f32) // rounds; the tensor cores would truncate
      operands[0]->op->set(attr::tf32_);
    Value *moved = builder.create(Opcode::tma_load_, operands, {tile})->result();
    keep_cache_hint(*moved->op, *load);
    moved->name = load->result()->name;
    replace_uses(*fn.body, load->result(), moved);
    erase(load);
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

  // Leaves a store that TMA cannot do unchanged.
  void rewrite_store(Op *store, const Shape &shape, const Value *sum) {
    const Type &tile = store->operand(1)->type;
    std::optional<int> columns = axis_of_columns(store->operand(1), shape, sum);
    std::optional<TensorAccess> access =
        tensor_access(store->operand(0), store->operand_or_null(2)).access;
    if (!columns || !access || !fits_copies_out(*access, tile, fn) || store->parent != fn.body ||
        is_accessed_elsewhere(store, access->base))
      return;
    // stage_epilogue cuts the tile along the columns of the matmul. If they are along the rows of
    // the stored tile, a piece has several panels.
    Type piece = tile;
    int64_t &extent = piece.shape[size_t(*columns)];
    extent = std::min(extent, bytes_of_piece / bytes_of(tile.elem));
    std::vector<Value *> operands = {map_for(*access, piece), store->operand(1)};
    Builder builder = Builder::before(fn, store);
    builder.set_location(store->location);
    add_coordinates(builder, *access, operands);
    builder.create(Opcode::tma_store_, operands);
    erase(store);
  }
};

} // namespace

void lower_to_tma(Function &fn, const Schedule &schedule) {
  if (!schedule.is_warp_specialized() || schedule.producer_warps)
    return;
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  assert(matmul && "candidate_schedules has looked");
  State state{fn};
  for (const LoadedOperand &operand : matmul->operands)
    state.rewrite_load(operand.load);
  if (schedule.split_k > 1 || schedule.partials)
    return; // threads store split-K partials and their sum
  std::vector<Op *> stores;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::store_))
      stores.push_back(&op);
  });
  for (Op *store : stores)
    state.rewrite_store(store, matmul->dot->result()->type.shape,
                        matmul->loop->results[matmul->carried]);
}

} // namespace tritonc
