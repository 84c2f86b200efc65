// Computes a tile part by part. See tile_slices.h.
//
//     %b = load %v : f16[256]                     %v0 = view part of %v : view<f16>[64]
//     %e = expand %b {axis = 0}                   %b0 = load %v0 : f16[64]
//     %r = broadcast %e : f16[128,256]      =>    %e0 = expand %b0 {axis = 0}
//     %y = add %x, %r                             %r0 = broadcast %e0 : f16[128,64]
//                                                 %x0 = the part of %x (a leaf)
//                                                 %y0 = add %x0, %r0
//
// A load moves to the store of its part. That changes nothing if no other store of the kernel
// writes to its memory, and this store at most to the same elements.
//
// Tested by tests/unit/passes/stage_epilogue/.

#include "passes/tile_slices.h"

#include "analysis/memory_access.h"
#include "analysis/tensor_access.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Whether an element of the result depends on the elements of the operands at the same index, or,
// for expand and broadcast, on one element of the operand.
bool is_by_element(const Op &op) {
  return op.is(Opcode::expand_) || op.is(Opcode::broadcast_) ||
         (is_elementwise(op) && !op.operands.empty());
}

// The part of operand `i` of `op` from which `part` of the result is computed.
Part part_of_operand(const Op &op, size_t i, const Part &part) {
  const Shape &shape = op.operand(i)->type.shape;
  Part result = part;
  if (shape.empty())
    return {};
  if (op.is(Opcode::expand_)) {
    const auto axis = ptrdiff_t(op.get(attr::axis_));
    result.shape.erase(result.shape.begin() + axis);
    result.origin.erase(result.origin.begin() + axis);
  }
  if (op.is(Opcode::broadcast_))
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d] == 1) {
        result.shape[d] = 1;
        result.origin[d] = 0;
      }
  return result;
}

// Emits the part of the result of `op` from the parts of its operands.
Value *copy_part(Builder &builder, const Op &op, std::vector<Value *> operands, const Part &part) {
  Op *copy =
      builder.create(op.code, std::move(operands), {op.result()->type.with_shape(part.shape)});
  copy->attributes = op.attributes;
  if (copy->is(Opcode::range_))
    copy->set(attr::start_, copy->get(attr::start_) + part.origin[0]);
  if (copy->is(Opcode::in_bounds_))
    for (size_t d = 0; d < part.origin.size(); d++)
      copy->operands[d] = builder.sub(copy->operands[d], builder.i64(part.origin[d]));
  return copy->result();
}

bool is_index(const Value *tile, std::map<const Value *, bool> &known) {
  if (tile->type.is_scalar())
    return true;
  if (auto found = known.find(tile); found != known.end())
    return found->second;
  const Op *op = tile->op;
  return known[tile] =
             op && (op->is(Opcode::range_) ||
                    (is_by_element(*op) &&
                     std::all_of(op->operands.begin(), op->operands.end(),
                                 [&](const Value *operand) { return is_index(operand, known); })));
}

bool are_same_elements(const Op &load, const Op &store) {
  if (!store.is(Opcode::store_))
    return false;
  std::optional<Affine> from = affine_of(load.operand(0)), to = affine_of(store.operand(0));
  return from && to && from->base == to->base && from->offset == to->offset &&
         from->strides == to->strides &&
         load.operand(0)->type.shape == store.operand(0)->type.shape;
}

// Whether the load may be made just before the store of each part.
bool may_move(Function &fn, const Op &load, const Op &store) {
  bool may = load.operand(0)->type.is_view() && load.parent == store.parent;
  for_each_op(*fn.body, [&](const Op &op) {
    if (info(op.code).effect != Effect::write)
      return;
    Overlap overlap = overlap_of(fn, load, op);
    may &= overlap == Overlap::none ||
           (&op == &store && (overlap == Overlap::same_index || are_same_elements(load, store)));
  });
  return may;
}

} // namespace

Value *part_of_view(Builder &builder, const Value &whole, const Part &part) {
  std::vector<Value *> operands = whole.op->operands;
  for (size_t d = 2; d < operands.size(); d++)
    if (!constant_of(operands[d]))
      operands[d] = builder.no_hoist(operands[d]);
  for (size_t d = 0; d < part.origin.size(); d++)
    if (part.origin[d])
      operands[1] =
          builder.add(operands[1], builder.mul(builder.i64(part.origin[d]), operands[2 + d]));
  Op *view = builder.create(Opcode::view_, operands, {whole.type.with_shape(part.shape)});
  view->copy(attr::ragged_, *whole.op);
  return view->result();
}

Value *part_of_bounds(Builder &builder, const Value *mask, const Part &part) {
  std::optional<std::vector<Bound>> bounds = bounds_of(mask, int(part.shape.size()));
  if (!bounds)
    return nullptr;
  for (Bound &bound : *bounds)
    bound.before = bound.before + Poly::constant(part.origin[size_t(bound.axis)]);
  return builder.in_bounds(emit_limits(builder, part.shape, *bounds), part.shape);
}

bool is_index_tile(const Value *tile) {
  std::map<const Value *, bool> known;
  return is_index(tile, known);
}

Value *IndexParts::of(Builder &builder, Value *tile, const Part &part) {
  if (tile->type.is_scalar())
    return tile;
  if (auto found = emitted_.find({tile, part}); found != emitted_.end())
    return found->second;
  const Op &op = *tile->op;
  std::vector<Value *> operands;
  for (size_t i = 0; i < op.operands.size(); i++)
    operands.push_back(of(builder, op.operand(i), part_of_operand(op, i, part)));
  return emitted_[{tile, part}] = copy_part(builder, op, std::move(operands), part);
}

Shape piece_of_store(const Op &store, int axis) {
  const Type &tile = store.operand(1)->type;
  const Value *pointers = store.operand(0), *mask = store.operand_or_null(2);
  const int64_t piece_bytes = pointers->type.is_view() ? 128 : 32; // of a row
  Shape piece = tile.shape;
  int64_t &extent = piece[size_t(axis)];
  extent = std::min<int64_t>(extent, piece_bytes / bytes_of(tile.elem));
  bool is_cut = mask ? bounds_of(mask, tile.rank()) || is_index_tile(mask) : piece != tile.shape;
  return is_cut && (pointers->type.is_view() || is_index_tile(pointers)) ? piece : Shape();
}

SlicedTiles::SlicedTiles(Function &fn, const std::vector<Op *> &stores) : threads_(32 * fn.warps) {
  Users users(*fn.body);
  std::set<const Block *> blocks;
  for (const Op *store : stores) {
    only_stored_.insert(store);
    blocks.insert(store->parent);
    for (const Op *load : store->parent->ops)
      if (load->is(Opcode::load_) && may_move(fn, *load, *store))
        movable_.insert({load, store});
  }
  for (const Block *block : blocks)
    for (auto at = block->ops.rbegin(); at != block->ops.rend(); ++at) {
      const Op &op = **at;
      if (op.results.size() != 1 || (!is_by_element(op) && !op.is(Opcode::load_)))
        continue;
      const std::vector<Op *> &all = users.of(op.result());
      if (std::all_of(all.begin(), all.end(),
                      [&](const Op *user) { return only_stored_.count(user); }))
        only_stored_.insert(&op);
    }
}

bool SlicedTiles::fits_twice(const Part &part) const {
  constexpr int64_t max_elements = 32; // each takes a register until it is packed
  return element_count(part.shape) <= max_elements * threads_;
}

bool SlicedTiles::contains(const Value *tile, const Part &part, const Op &store) const {
  auto [at, is_new] = found_.emplace(std::tuple(tile, part.shape, &store), false);
  if (is_new)
    at->second = finds(tile, part, store);
  return at->second;
}

bool SlicedTiles::finds(const Value *tile, const Part &part, const Op &store) const {
  const Op *op = tile->op;
  if (!op || tile->type.is_view())
    return false;
  if (op->is(Opcode::range_))
    return true;
  const Shape &full = store.operand(1)->type.shape;
  if (tile->type.shape == full && !only_stored_.count(op) && !is_index_tile(tile))
    return false;
  if (op->is(Opcode::load_) ? !movable_.count({op, &store}) : !is_by_element(*op))
    return false;
  for (size_t i = 0; i < op->operands.size(); i++) {
    const Value *operand = op->operand(i);
    Part of_operand = part_of_operand(*op, i, part);
    bool is_available = operand->type.is_scalar() || operand->type.is_view() ||
                        operand->type.shape == full || of_operand.shape == operand->type.shape ||
                        contains(operand, of_operand, store);
    if (!is_available)
      return false;
  }
  return true;
}

bool Slice::is_full(const Value *tile) const {
  return tile->type.shape == store_.operand(1)->type.shape;
}

bool Slice::is_uncut(const Value *tile, const Part &part) const {
  return tile->type.is_scalar() || (part.shape == tile->type.shape && !is_full(tile));
}

void Slice::load(Builder &builder, Value *tile, const Part &part) {
  if (is_uncut(tile, part) || !sliced_.contains(tile, part, store_))
    return;
  const Op &op = *tile->op;
  if (op.is(Opcode::load_)) {
    if (sliced_.fits_twice(part))
      loaded(builder, tile, part);
    return;
  }
  for (size_t i = 0; i < op.operands.size(); i++)
    load(builder, op.operand(i), part_of_operand(op, i, part));
}

Value *Slice::loaded(Builder &builder, Value *tile, const Part &part) {
  Value *&result = loaded_[{tile, part}];
  if (result)
    return result;
  const Op &op = *tile->op;
  Value *mask = op.operand_or_null(1), *other = op.operand_or_null(2);
  if (mask && !mask->type.is_scalar()) {
    Value *bounds = part_of_bounds(builder, mask, part);
    mask = bounds ? bounds : compute(builder, mask, part);
  }
  if (other)
    other = compute(builder, other, part);
  result = builder.load(part_of_view(builder, *op.operand(0), part), mask, other);
  keep_cache_hint(*result->op, op);
  return result;
}

Value *Slice::compute(Builder &builder, Value *tile, const Part &part) {
  if (is_uncut(tile, part))
    return tile;
  if (auto found = computed_.find({tile, part}); found != computed_.end())
    return found->second;
  Value *result;
  if (!sliced_.contains(tile, part, store_)) {
    result = leaf_(builder, tile, part);
  } else if (tile->op->is(Opcode::load_)) {
    result = loaded(builder, tile, part);
    if (is_full(tile))
      result = leaf_(builder, result, first(part));
  } else {
    std::vector<Value *> operands;
    for (size_t i = 0; i < tile->op->operands.size(); i++)
      operands.push_back(
          compute(builder, tile->op->operand(i), part_of_operand(*tile->op, i, part)));
    result = copy_part(builder, *tile->op, std::move(operands), part);
  }
  return computed_[{tile, part}] = result;
}

} // namespace tritonc
