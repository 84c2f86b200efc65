// use_tensor_maps: let the copy engine load the factors of a product, by tensor maps.
//
//                                                    %m = tensor_map %A, 0, M, K, lda, 1 :
//                                                    map<f16>[128,64]
//     for_loop %n, %sum {                            for_loop %n, %sum {
//       (%t, %acc)                                     (%t, %acc)
//       %v = view %A, pm*128*lda + t*64, lda, 1  =>    %a = map_load %m, pm*128, t*64 : f16[128,64]
//       %a = load %v : f16[128,64]                     ...
//       ...
//
// A tensor map says where a tensor starts and ends and how far its rows are apart; the host makes
// it before the launch. Loading by it takes one instruction of one thread for a whole tile, and
// what lies outside of the tensor is zero: masks become the tensor's size.
//
// The box that one copy moves is a panel of the buffer that it goes to (panel_layout): a row of at
// most 128 bytes, at most 256 of them.
//
// Results of the product's shape are stored the same way, where the copy engine can: map_store.
//
// Needs:   form_views; a structure that is specialised and in which no threads copy, for which
//          structures_for has looked whether the accesses are such.
// Ensures: the factors of the product are results of map_load.
// Limits:  a result stored column by column, or in rows that end within 16 bytes, is stored by
// threads.
//
// Tested by tests/passes/use_tensor_maps_test.cpp.

#include "passes/use_tensor_maps.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t bytes_of_piece = 128; // of a row of the product, see stage_results

// Whether whole panels are stored, along the last axis. The copy engine writes 16 bytes at a time,
// so where a row of the tensor ends within them it would write behind it: the end has to be such a
// multiple.
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
  size_t maps = 0; // operations at the top of the function so far

  Value *map_for(const TensorAccess &access, const Type &tile) {
    constexpr int64_t most_rows = 256;
    int row = panel_row_bytes(tile.shape, access.contiguous, bytes_of(tile.elem));
    Shape box = tile.shape;
    for (int64_t &extent : box)
      extent = std::min(extent, most_rows);
    box[size_t(access.contiguous)] = row / bytes_of(tile.elem);
    size_t before = fn.body->ops.size();
    Value *map = emit_tensor_map(fn, maps, access, tile.elem, std::move(box), row);
    maps += fn.body->ops.size() - before;
    return map;
  }

  static void add_coordinates(Builder &builder, const TensorAccess &access,
                              std::vector<Value *> &operands) {
    for (const Poly &coordinate : access.coordinates)
      operands.push_back(builder.cast(emit(builder, coordinate), Elem::i32));
  }

  void rewrite_load(Op *load) {
    const Type &tile = load->result()->type;
    std::optional<TensorAccess> access =
        tensor_access(load->operand(0), load->operand_or_null(1)).access;
    assert(access && "structures_for has looked");
    std::vector<Value *> operands = {map_for(*access, tile)};
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    add_coordinates(builder, *access, operands);
    if (tile.elem == Elem::f32) // the tensor cores would cut off what they don't take
      operands[0]->op->set("tf32", int64_t(1));
    Value *moved = builder.create(Opcode::map_load_, operands, {tile})->result();
    keep_hint(*moved->op, *load);
    moved->name = load->result()->name;
    replace_uses(*fn.body, load->result(), moved);
    erase(load);
  }

  // Whether anything else is read or stored through the parameter: it would have to wait for the
  // copy engine, or the copy engine for it.
  bool is_accessed_elsewhere(const Op *store, const Value *base) {
    bool found = false;
    for_each_op(*fn.body, [&](const Op &op) {
      if ((!op.is(Opcode::load_) && !op.is(Opcode::store_) && !op.is(Opcode::map_store_)) ||
          &op == store)
        return;
      if (op.is(Opcode::map_store_)) {
        found |= op.operand(0)->op->operand(0) == base;
        return;
      }
      const Value *root = root_of(op.operand(0));
      found |= !root || root == base;
    });
    return found;
  }

  // A store that the copy engine cannot do stays what it is.
  void rewrite_store(Op *store, const Shape &shape, const Value *sum) {
    const Type &tile = store->operand(1)->type;
    std::optional<int> columns = axis_of_columns(store->operand(1), shape, sum);
    std::optional<TensorAccess> access =
        tensor_access(store->operand(0), store->operand_or_null(2)).access;
    if (!columns || !access || !fits_copies_out(*access, tile, fn) || store->parent != fn.body ||
        is_accessed_elsewhere(store, access->base))
      return;
    // The columns of the product tell pieces apart. If they are along the rows of what is stored, a
    // piece has several panels.
    Type piece = tile;
    int64_t &extent = piece.shape[size_t(*columns)];
    extent = std::min(extent, bytes_of_piece / bytes_of(tile.elem));
    std::vector<Value *> operands = {map_for(*access, piece), store->operand(1)};
    Builder builder = Builder::before(fn, store);
    builder.set_location(store->location);
    add_coordinates(builder, *access, operands);
    builder.create(Opcode::map_store_, operands);
    erase(store);
  }
};

} // namespace

void use_tensor_maps(Function &fn, const Structure &structure) {
  if (!structure.specialized || structure.copying_warps)
    return;
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  assert(product && "structures_for has looked");
  State state{fn};
  for (const LoadedFactor &factor : product->factors)
    state.rewrite_load(factor.load);
  if (structure.splits > 1 || structure.divided)
    return; // each block has its part of a result, and in no shared memory
  std::vector<Op *> stores;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::store_))
      stores.push_back(&op);
  });
  for (Op *store : stores)
    state.rewrite_store(store, product->dot->result()->type.shape,
                        product->loop->results[product->carried]);
}

} // namespace tritonc
