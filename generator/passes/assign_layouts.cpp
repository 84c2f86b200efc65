// assign_layouts: decides which thread holds which element of every tile.
//
//     %a = load %v : f32[64,64]                  %a = load %v {vector = 4} : f32[64,64] #0
//     %d = dot ..., %a : f32[64,64]        =>    %a1 = convert_layout %a : f32[64,64] #1
//     store %w, %d                               %d = dot ..., %a1 : f32[64,64] #1
//                                                store %w, %d {vector = 2}
//
// Each operation runs best, or only, in certain layouts, and moving a tile between threads is
// expensive. Index tiles have no layout of their own: computing an index again is cheaper than
// moving it between threads.
//
// Method:  `natural` finds the layout of a value, from its operation and its operands:
//
//            load              adjacent threads access adjacent memory, or the nearest; of a tile
//                              that producer warps copy to shared memory, or that is gathered:
//                              whole 32-bit words per thread, or chunks of adjacent rows; of a
//                              vector that is broadcast along the rows of a tile: the layout of the
//                              tile, if the accesses stay as wide; of a tile that is stored along
//                              another axis: blocks of the vectors of load and store
//            dot, wgmma        the fragments of the instruction
//            shared_load       those of the dot whose operand it is, or from which it is computed
//                              element by element
//            reduce, scan      one in which one warp holds the whole axis
//            gather            the layout of the indices
//            rows in shared    adjacent lanes have a row, several elements each
//            memory
//            element-wise      the layout of the first operand that has one
//            for, while, if    the layout of the yielded value
//            trans             of a warpgroup's accumulator: each thread keeps its elements
//            extract, reshape  each thread keeps its elements
//            add_partial       that of the sum before
//            cluster_reduce    the memory layout of the store after it, over all threads of the
//                              cluster
//            atomic            that of its value, or a coalesced one if a thread has several
//                              adjacent elements of the value
//
//          Ranges, splats, broadcasts, transposes, and arithmetic on nothing else are index tiles:
//          of a broadcast, only the smaller tile has a layout. So are loads after a cluster_reduce,
//          since no instruction could bring them to another block.
//
//          Then the pass walks each block once. It replaces every operand by a value in the layout
//          that the operation needs: an index tile is computed again in that layout, any other
//          value gets a convert_layout, before the loops in which it stays the same. A store keeps
//          the layout of its value if that fills the 32-byte sectors of memory; otherwise it needs
//          the layout of memory. A store along another axis than the load has blocks of both
//          vectors, too: with many registers in common, the conversion accesses shared memory in
//          whole vectors. print and assert take any layout.
// Needs:   select_mma; form_views: affine pointers are views.
// Ensures: every used tile of values or pointers has a layout; loads and stores of tiles have
//          {vector}. remove_dead_code drops the originals of index tiles.
// Limits:  decides value by value; does not search for the fewest conversions.
//
// Tested by tests/unit/passes/assign_layouts/ and assign_layouts_test.cpp.

#include "passes/assign_layouts.h"

#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "analysis/nearest_axis.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

using Layout = std::shared_ptr<const LinearLayout>;

Layout shared(LinearLayout layout) {
  return std::make_shared<const LinearLayout>(std::move(layout));
}

// Whether `op` only reorders or repeats elements: its users choose the layout.
bool is_transparent(const Op &op) {
  switch (op.code) {
  case Opcode::undef_:
  case Opcode::range_:
  case Opcode::splat_:
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::trans_:
  case Opcode::reshape_:
    return true;
  default:
    return false;
  }
}

bool is_tile(const Value *value) {
  return value->type.is_tile() && (value->type.is_number() || value->type.is_pointer());
}

std::vector<int> last_axis_first(int rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Whether the operands need the layout of the result.
bool keeps_layout(const Op &op) { return is_elementwise(op) || op.is(Opcode::funnel_shift_); }

// The cluster_reduce without {to_all} of a function, if it has one, and the operations after it,
// which all blocks of the cluster run together.
bool is_joining(const Op &op) { return op.is(Opcode::cluster_reduce_) && !op.has(attr::to_all_); }

struct Joint {
  const Value *sum = nullptr;
  std::set<const Op *> ops = {};
};

Joint find_joint(Function &fn) {
  Joint joint;
  for_each_op(*fn.body, [&](const Op &op) {
    if (!is_joining(op))
      return;
    joint.sum = op.result();
    joint.ops.insert(op.parent->ops.begin() + op.parent->position_of(&op) + 1,
                     op.parent->ops.end());
  });
  return joint;
}

struct State {
  Function &fn;
  Joint joint;
  Users users;                              // before the first conversion
  std::map<const Value *, Layout> naturals; // null: no layout, or in progress
  std::vector<const Value *> unknown;       // null until the query of a loop's argument has ended
  int queries = 0;                          // of `natural`, in progress
  std::map<const Value *, bool> cheap;
  std::map<const Value *, std::vector<Value *>> made;           // for the current operand
  std::map<const Value *, std::vector<Value *>> invariant = {}; // conversions before loops
  struct Crossing {
    Layout of_load, of_store;
  };
  std::map<const Op *, Crossing> crossings = {}; // of stores; see layout_to_transpose

  Layout default_layout(const Type &type) {
    return shared(blocked_layout(type.shape, last_axis_first(type.rank()), 1, fn.warps));
  }

  // Lanes and registers along `axis`, `vector` contiguous elements per thread; warps along the
  // other axes.
  Layout reduction_layout(const Type &type, int axis, int vector = 1) {
    std::vector<int> order = last_axis_first(type.rank());
    order.erase(std::find(order.begin(), order.end(), axis));
    LinearLayout others = blocked_layout(type.shape, order, 1, 1);
    LinearLayout layout = blocked_layout(type.shape, {axis}, vector, 1);
    // `layout` covers only `axis`. Assign the bits of the other axes to free lanes, then to warps,
    // then to registers.
    std::vector<FlatIndex> bits = others.lane;
    bits.insert(bits.end(), others.reg.begin(), others.reg.end());
    std::erase(bits, 0u);
    size_t next = 0;
    for (FlatIndex &lane : layout.lane)
      if (!lane && next < bits.size())
        lane = bits[next++];
    layout.warp.assign(log2_exact(fn.warps), 0);
    for (FlatIndex &warp : layout.warp)
      if (next < bits.size())
        warp = bits[next++];
    layout.reg.insert(layout.reg.end(), bits.begin() + next, bits.end());
    return shared(std::move(layout));
  }

  bool crosses_warps(const LinearLayout &layout, int axis) {
    return std::any_of(layout.warp.begin(), layout.warp.end(),
                       [&](FlatIndex basis) { return unflatten(layout.shape, basis)[axis] != 0; });
  }

  Layout layout_for_reduction(const Op &reduce) {
    int axis = int(reduce.get(attr::axis_));
    const Value *operand = reduce.operand(0);
    Layout own = natural(operand);
    return own && !crosses_warps(*own, axis) ? own : reduction_layout(operand->type, axis);
  }

  // A scan combines elements whose indices differ in one bit. So each register bit and each lane
  // bit must be one bit of the index. A thread holds adjacent elements, which need no shuffle.
  Layout layout_for_scan(const Op &scan) {
    int axis = int(scan.get(attr::axis_));
    const Type &tile = scan.operand(0)->type;
    auto is_one_bit = [](FlatIndex basis) { return (basis & (basis - 1)) == 0; };
    Layout own = natural(scan.operand(0));
    if (own && !crosses_warps(*own, axis) &&
        std::all_of(own->reg.begin(), own->reg.end(), is_one_bit) &&
        std::all_of(own->lane.begin(), own->lane.end(), is_one_bit))
      return own;
    constexpr int64_t lanes = 32;
    return reduction_layout(tile, axis, int(std::max<int64_t>(1, tile.shape[axis] / lanes)));
  }

  // The result has the layout of the indices; the gathered tile may have any layout.
  Layout layout_of_gathered(const Op &gather) {
    Layout positions = natural(gather.operand(1));
    return positions ? positions : default_layout(gather.result()->type);
  }

  // Whether `value` is an index tile: only arithmetic on scalars, ranges and broadcasts, and loads
  // after a cluster_reduce.
  bool is_cheap(const Value *value) {
    if (!is_tile(value))
      return true;
    const Op *op = value->op;
    bool is_pure = op && (info(op->code).effect == Effect::pure || is_joint_load(*op));
    if (!is_pure || op->is(Opcode::dot_) || op->is(Opcode::reduce_) || op->is(Opcode::extract_) ||
        op->is(Opcode::scan_) || op->is(Opcode::gather_))
      return false;
    if (op->is(Opcode::broadcast_))
      return true;
    if (auto known = cheap.find(value); known != cheap.end())
      return known->second;
    return cheap[value] = std::all_of(op->operands.begin(), op->operands.end(),
                                      [&](const Value *operand) { return is_cheap(operand); });
  }

  bool is_joint_load(const Op &op) { return op.is(Opcode::load_) && joint.ops.count(&op); }

  // The layout in which a larger tile needs `value`, which is broadcast to it, maybe after
  // arithmetic; null: there is no such tile.
  Layout layout_for_broadcast(const Value *value) {
    for (const Op *user : users.of(value)) {
      if (info(user->code).effect != Effect::pure || user->results.size() != 1)
        continue;
      const Value *result = user->result();
      Layout layout;
      if (user->is(Opcode::broadcast_))
        layout = layout_of_users(result);
      else if (user->is(Opcode::expand_) || result->type.shape == value->type.shape)
        layout = layout_for_broadcast(result);
      if (layout)
        return operand_layout_for(*user, value, *layout);
    }
    return nullptr;
  }

  // The layout of the arithmetic that uses an index tile.
  Layout layout_of_users(const Value *value) {
    for (const Op *user : users.of(value))
      if (info(user->code).effect == Effect::pure && user->results.size() == 1 &&
          !is_transparent(*user) && user->result()->type.shape == value->type.shape)
        if (Layout layout = natural(user->result()))
          return layout;
    return nullptr;
  }

  // A store of elements that were loaded along another axis. Its own axis and that of the load, in
  // the store; and its own axis in the load.
  struct TransposingStore {
    const Op *op;
    int own, across, own_in_load;
  };

  // The store of `value`, maybe after transposes and elementwise operations, if its axis is not
  // `contiguous`.
  std::optional<TransposingStore> transposing_store(const Value *value, int contiguous) {
    for (const Op *user : users.of(value)) {
      if (user->is(Opcode::store_) && user->operand(1) == value) {
        std::optional<int> own = contiguous_axis(user->operand(0), fn);
        if (own && *own != contiguous)
          return TransposingStore{user, *own, contiguous, *own};
      } else if (user->is(Opcode::trans_)) {
        const std::vector<int64_t> perm = user->get(attr::perm_);
        auto moved = std::find(perm.begin(), perm.end(), contiguous) - perm.begin();
        if (auto found = transposing_store(user->result(), int(moved))) {
          found->own_in_load = int(perm[size_t(found->own_in_load)]);
          return found;
        }
      } else if (keeps_layout(*user) && user->result()->type.shape == value->type.shape) {
        if (auto found = transposing_store(user->result(), contiguous))
          return found;
      }
    }
    return std::nullopt;
  }

  // The layout of a tile that a store moves along another axis; null: there is no such store.
  Layout layout_to_transpose(const Op &load) {
    const Value *from = load.operand(0);
    std::optional<int> axis = contiguous_axis(from, fn);
    if (!axis)
      return nullptr;
    std::optional<TransposingStore> store = transposing_store(load.result(), *axis);
    if (!store)
      return nullptr;
    const Value *to = store->op->operand(0);
    const int loaded = access_elements(from, mask_of(load), fn);
    const int stored = access_elements(to, mask_of(*store->op), fn);
    Crossing crossing;
    crossing.of_load = shared(
        crossing_layout(from->type.shape, {*axis, loaded}, {store->own_in_load, stored}, fn.warps));
    crossing.of_store = shared(
        crossing_layout(to->type.shape, {store->own, stored}, {store->across, loaded}, fn.warps));
    crossings[store->op] = crossing;
    return crossing.of_load;
  }

  Layout layout_of_load(const Op &load) {
    const Value *pointers = load.operand(0), *mask = load.operand_or_null(1);
    if (Layout block = layout_to_transpose(load))
      return block;
    Layout memory = shared(memory_layout(pointers, mask, fn));
    Layout wanted = layout_for_broadcast(load.result());
    bool is_as_wide = wanted && access_width(*wanted, pointers, mask, fn) >=
                                    access_width(*memory, pointers, mask, fn);
    return is_as_wide ? wanted : memory;
  }

  // A coalesced layout for an atomic operation on a value of which each thread has at least four
  // adjacent elements. In the layout of the value, an instruction would access one word in each of
  // many sectors. Null: the layout of the value is fine.
  Layout coalesced_layout(const Op &atomic) {
    const Value *pointers = atomic.operand(0);
    std::optional<int> axis = is_tile(pointers) ? contiguous_axis(pointers, fn) : std::nullopt;
    Layout own = axis && !natural(pointers) ? natural(atomic.operand(1)) : nullptr;
    if (!own || partition_of(atomic))
      return nullptr;
    const int shift = axis_shift(own->shape, *axis);
    auto has = [&](FlatIndex elements) {
      return std::count(own->reg.begin(), own->reg.end(), elements << shift) > 0;
    };
    return has(1) && has(2) ? shared(vector_layout(own->shape, *axis, 1, fn)) : nullptr;
  }

  // Whether a buffer is that of stage_repeated_loads.
  static bool is_staged(const Value &buffer) {
    return buffer.op && buffer.op->has_variable_stages();
  }

  // The memory layout of a store in the same loop, which then needs no conversion. Else vectors as
  // wide as an access can be.
  Layout layout_of_staged(const Op &load) {
    constexpr int access_bytes = 16;
    const Type &tile = load.result()->type;
    for (const Op *op : load.parent->ops)
      if (op->is(Opcode::store_) && op->operand(0)->type.shape == tile.shape)
        return shared(memory_layout(op->operand(0), op->operand_or_null(2), fn));
    int contiguous = tile.rank() - 1;
    for (int axis = 0; axis < tile.rank(); axis++)
      if (tile.shape[size_t(axis)] > 1 && has_neighbors(load.operand(0)->type, axis))
        contiguous = axis;
    return shared(vector_layout(tile.shape, contiguous, access_bytes / bytes_of(tile.elem), fn));
  }

  // The memory layout of the tile that the cluster stores.
  Layout layout_for_cluster(const Op &sum) {
    const auto &ops = sum.parent->ops;
    auto store = std::find_if(ops.begin() + sum.parent->position_of(&sum), ops.end(),
                              [](const Op *op) { return op->is(Opcode::store_); });
    assert(store != ops.end() && "split_k_in_cluster has looked");
    return shared(memory_layout((*store)->operand(0), (*store)->operand_or_null(2), fn,
                                int(sum.get(attr::blocks_))));
  }

  // The loop argument that `value` becomes: as an operand of the loop, or as an operand of its
  // yield.
  static const Value *carried_from(const Op &loop, const Value *value) {
    auto at = std::find(loop.operands.begin(), loop.operands.end(), value);
    return loop.blocks[0]->arguments[size_t(at - loop.operands.begin())];
  }
  static const Value *carried_to(const Op &yield, const Value *value) {
    auto at = std::find(yield.operands.begin(), yield.operands.end(), value);
    return yield.parent->arguments[size_t(at - yield.operands.begin()) + 1];
  }

  // The layout of an operand fragment for the matmul that uses it, maybe in the next iteration, or
  // of a tile for the epilogue, or of memory for the store that uses it.
  Layout layout_of_fragment(const Value *value) {
    for (const Op *user : users.of(value)) {
      if (user->is(Opcode::for_loop_) && user->operand(0) != value)
        return layout_of_fragment(carried_from(*user, value));
      if (user->is(Opcode::yield_) && user->parent->parent->is(Opcode::for_loop_))
        return layout_of_fragment(carried_to(*user, value));
      if (user->is(Opcode::wgmma_rs_))
        return layout_of_fragment(*user);
      if (user->is(Opcode::extract_))
        return layout_to_extract_from(*user);
      for (int operand : {0, 1})
        if (user->is(Opcode::dot_) && user->operand(operand) == value)
          return shared(operand_layout(*user, operand));
      if (user->is(Opcode::store_))
        return shared(memory_layout(user->operand(0), user->operand_or_null(2), fn));
    }
    std::set<const Value *> seen;
    if (const Op *matmul = wgmma_computed_from(value, seen))
      return layout_of_fragment(*matmul);
    return default_layout(value->type);
  }

  // A wgmma_rs whose operand A is computed from `value`, element by element; null: none.
  const Op *wgmma_computed_from(const Value *value, std::set<const Value *> &seen) {
    if (!seen.insert(value).second)
      return nullptr;
    for (const Op *user : users.of(value)) {
      if (user->is(Opcode::wgmma_rs_) && user->operand(0) == value)
        return user;
      bool is_elementwise = info(user->code).effect == Effect::pure && user->results.size() == 1 &&
                            !is_transparent(*user) && !user->is(Opcode::dot_) &&
                            user->result()->type.shape == value->type.shape;
      if (is_elementwise)
        if (const Op *matmul = wgmma_computed_from(user->result(), seen))
          return matmul;
    }
    return nullptr;
  }

  Layout layout_of_fragment(const Op &wgmma_rs) {
    const Type &operand = wgmma_rs.operand(0)->type;
    return shared(
        fragment_layout(operand.shape, bytes_of(operand.elem), matmul_division(wgmma_rs)));
  }

  // extract takes parts of a tile in the layout of an accumulator, or of its transpose.
  Layout layout_to_extract_from(const Op &op) {
    Shape shape = op.operand(0)->type.shape;
    if (!op.has(attr::perm_))
      return shared(accumulator_layout(shape, op));
    std::reverse(shape.begin(), shape.end());
    return shared(accumulator_layout(shape, op).permute({1, 0}));
  }

  // The buffer to which `value` is stored, maybe in the next iteration; null: it has other uses.
  const Value *buffer_of(const Value *value) {
    const Value *buffer = nullptr;
    for (const Op *user : users.of(value)) {
      const Op *outer = user->parent->parent;
      if (user->is(Opcode::shared_store_))
        buffer = user->operand(1);
      else if (user->is(Opcode::for_loop_) && user->operand(0) != value)
        buffer = buffer_of(carried_from(*user, value));
      else if (user->is(Opcode::yield_) && outer->is(Opcode::for_loop_) && value->op)
        buffer = buffer_of(carried_to(*user, value));
      else
        return nullptr;
      if (!buffer)
        return nullptr;
    }
    return buffer;
  }

  // The buffer to which `load` only copies: by producer warps, or of a gathered tile. Null: it does
  // more.
  const Value *buffer_of_copy(const Op &load) {
    const Value *pointers = load.operand(0);
    const bool is_gather = !pointers->type.is_view() && !contiguous_axis(pointers, fn);
    return (partition_of(load) || is_gather) && pointers->type.rank() == 2
               ? buffer_of(load.result())
               : nullptr;
  }

  // The axis along which adjacent threads load: the contiguous one, or the nearest one. If that is
  // unknown, the last axis of a view, and of a gathered tile the axis across `rows` of shared
  // memory.
  int loading_axis(const Value *pointers, int rows) {
    if (std::optional<int> contiguous = contiguous_axis(pointers, fn))
      return *contiguous;
    if (std::optional<int> nearest = nearest_axis(pointers))
      return *nearest;
    return pointers->type.is_view() ? pointers->type.rank() - 1 : 1 - rows;
  }

  // Threads store whole 32-bit words to shared memory, even where they can load only parts of a
  // word. Where adjacent threads load different rows of shared memory, each stores a whole chunk of
  // its row.
  Layout layout_to_copy(const Op &load, const Value &buffer) {
    constexpr int word_bytes = 4;
    const std::optional<Partition> partition = partition_of(load);
    const int warps = partition ? partition->warps : fn.warps;
    const Value *pointers = load.operand(0);
    const Type &tile = load.result()->type;
    const int bytes = bytes_of(tile.elem);
    const int rows = has_neighbors(buffer.type, 1) ? 1 : 0;
    const int along = loading_axis(pointers, rows);
    if (along != rows && !contiguous_axis(pointers, fn))
      return shared(
          crossing_layout(tile.shape, {along, 1}, {rows, int(widest_access_bytes) / bytes}, warps));
    const int vector =
        std::max(vector_elements(pointers, load.operand_or_null(1), fn), word_bytes / bytes);
    std::vector<int> order = last_axis_first(tile.rank());
    std::swap(order[0], *std::find(order.begin(), order.end(), along));
    return shared(blocked_layout(tile.shape, order, vector, warps));
  }

  Layout first_of(std::initializer_list<const Value *> values, const Type &type) {
    for (const Value *value : values)
      if (Layout layout = natural(value))
        return layout;
    return default_layout(type);
  }

  Layout compute_natural(const Value *value) {
    if (!value->op) {
      if (!value->block)
        return nullptr;
      const Op &loop = *value->block->parent;
      size_t skip = loop.is(Opcode::for_loop_) ? 1 : 0;
      size_t carried = value->index - skip;
      const Block &body = *loop.blocks.back();
      // Both blocks of a while_loop have the carried values as arguments; the body's decides.
      if (value->block != &body)
        return natural(body.arguments[value->index]);
      return first_of({body.terminator()->operand(carried), loop.operand(value->index)},
                      value->type);
    }
    const Op &op = *value->op;
    switch (op.code) {
    case Opcode::cluster_reduce_:
      if (is_joining(op))
        return layout_for_cluster(op);
      break;
    case Opcode::load_:
      if (is_joint_load(op)) {
        // Pointers or a mask computed from the cluster's sum fix the layout of the load.
        for (const Value *operand : op.operands)
          if (Layout layout = natural(operand))
            return layout;
        return nullptr;
      }
      if (const Value *buffer = buffer_of_copy(op))
        return layout_to_copy(op, *buffer);
      if (Layout pointers = natural(op.operand(0)))
        return pointers;
      return layout_of_load(op);
    case Opcode::dot_:
      return shared(accumulator_layout(op));
    case Opcode::shared_load_:
      return is_staged(*op.operand(0)) ? layout_of_staged(op) : layout_of_fragment(value);
    case Opcode::shared_load_rows_:
      return shared(rows_layout(value->type.shape, op.operand(0)->type.shape[1], fn.warps));
    case Opcode::wgmma_ss_:
    case Opcode::wgmma_rs_:
    case Opcode::wgmma_wait_:
      return shared(matmul_layout(op.result()->type.shape, matmul_division(op)));
    case Opcode::trans_:
      if (is_from_transposed_accumulator(value)) {
        std::vector<int64_t> perm = op.get(attr::perm_);
        return shared(natural(op.operand(0))->permute({perm.begin(), perm.end()}));
      }
      break;
    case Opcode::reshape_:
      if (Layout own = natural(op.operand(0))) {
        LinearLayout same = *own;
        same.shape = op.result()->type.shape;
        return shared(std::move(same));
      }
      break;
    case Opcode::extract_:
      return shared(part_layout(*layout_to_extract_from(op), op.result()->type.shape));
    case Opcode::reduce_:
      return shared(layout_for_reduction(op)->slice(int(op.get(attr::axis_)), false));
    case Opcode::scan_:
      return layout_for_scan(op);
    case Opcode::gather_:
      return layout_of_gathered(op);
    case Opcode::add_partial_: {
      const Value *sum = op.operand(1); // of a loop: the value with which it starts
      return natural(sum->block ? sum->block->parent->operand(size_t(sum->index)) : sum);
    }
    case Opcode::atomic_:
      if (Layout coalesced = coalesced_layout(op))
        return coalesced;
      break;
    case Opcode::for_loop_:
    case Opcode::while_loop_:
      return natural(
          op.blocks.back()->arguments[value->index + (op.is(Opcode::for_loop_) ? 1 : 0)]);
    case Opcode::if_else_:
      return first_of({op.blocks[0]->terminator()->operand(value->index),
                       op.blocks[1]->terminator()->operand(value->index)},
                      value->type);
    default:
      break;
    }
    if (is_without_layout(value))
      return nullptr;
    bool is_known = true;
    for (const Value *operand : op.operands) {
      if (Layout layout = natural(operand))
        return layout;
      is_known &= !is_tile(operand) || is_without_layout(operand);
    }
    return is_known ? default_layout(value->type) : nullptr;
  }

  // Whether the users of `value` choose its layout.
  bool is_without_layout(const Value *value) {
    return value->op && (is_transparent(*value->op) || is_cheap(value));
  }

  /// The layout of `value`; null for index tiles, which are computed in any layout that is needed.
  Layout natural(const Value *value) {
    if (!is_tile(value))
      return nullptr;
    auto [entry, is_new] = naturals.emplace(value, nullptr);
    if (is_new) {
      queries++;
      Layout layout = compute_natural(value);
      queries--;
      naturals[value] = layout;
      // Other values always have a layout. A null means that the query has reached itself around a
      // loop. The query of the loop's argument will find the layout, so the null is not kept longer.
      if (!layout && !is_without_layout(value))
        unknown.push_back(value);
      if (value->block || queries == 0) {
        for (const Value *one : unknown)
          naturals.erase(one);
        unknown.clear();
      }
      return layout;
    }
    return entry->second;
  }

  // The layout that `operand` of a transparent operation needs for a result in `layout`.
  Layout operand_layout_for(const Op &op, const Value *operand, const LinearLayout &layout) {
    LinearLayout result = layout;
    switch (op.code) {
    case Opcode::expand_:
    case Opcode::reshape_:
      // The flat index does not change: an axis of extent 1 has no bits.
      result.shape = operand->type.shape;
      break;
    case Opcode::broadcast_:
      for (int d = 0; d < operand->type.rank(); d++)
        if (operand->type.shape[d] == 1)
          result = result.slice(d, true);
      break;
    case Opcode::trans_: {
      std::vector<int64_t> perm = op.get(attr::perm_);
      std::vector<int> inverse(perm.size());
      for (size_t d = 0; d < perm.size(); d++)
        inverse[perm[d]] = int(d);
      result = layout.permute(inverse);
      break;
    }
    default:
      break;
    }
    return shared(std::move(result));
  }

  /// Returns `value` in `layout`; creates it at `builder` if needed.
  Value *demand(Builder &builder, Value *value, const Layout &layout) {
    if (!is_tile(value))
      return value;
    Layout own = natural(value);
    if (own && *own == *layout)
      return value;
    for (Value *form : made[value])
      if (*form->type.layout == *layout)
        return form;
    Value *form = make(builder, value, layout);
    made[value].push_back(form);
    return form;
  }

  // The outermost loop around `block` in which `value` stays the same; null: there is none.
  static Op *loop_without(const Value *value, const Block *block) {
    Op *found = nullptr;
    for (Op *loop = block->parent; loop; loop = loop->parent->parent) {
      const bool is_loop = loop->is(Opcode::for_loop_) || loop->is(Opcode::while_loop_);
      if (!is_loop || !std::all_of(loop->blocks.begin(), loop->blocks.end(),
                                   [&](const Block *body) { return defined_outside(value, body); }))
        break;
      found = loop;
    }
    return found;
  }

  static bool encloses(const Block *outer, const Block *block) {
    while (block != outer && block->parent)
      block = block->parent->parent;
    return block == outer;
  }

  Value *convert(Builder &builder, Value *value, const Layout &layout) {
    Op *loop = loop_without(value, builder.block());
    if (loop)
      for (Value *form : invariant[value]) // of an earlier loop
        if (*form->type.layout == *layout && encloses(form->op->parent, loop->parent))
          return form;
    const Type type = value->type.with_layout(layout);
    if (!loop)
      return builder.create(Opcode::convert_layout_, {value}, {type})->result();
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    Value *form = before.create(Opcode::convert_layout_, {value}, {type})->result();
    invariant[value].push_back(form);
    return form;
  }

  Value *make(Builder &builder, Value *value, const Layout &layout) {
    if (natural(value))
      return convert(builder, value, layout);
    const Op &op = *value->op;
    std::vector<Value *> operands;
    for (Value *operand : op.operands)
      operands.push_back(demand(builder, operand, operand_layout_for(op, operand, *layout)));
    Op *copy = builder.create(op.code, operands, {value->type.with_layout(layout)});
    copy->attributes = op.attributes;
    copy->location = op.location;
    if (op.is(Opcode::load_))
      set_vector(*copy, op.operand(0), op.operand_or_null(1), *layout);
    return copy->result();
  }

  // Later passes may compute the pointers in other ways, so the access keeps their axis.
  void set_vector(Op &access, const Value *pointers, const Value *mask,
                  const LinearLayout &layout) {
    int width = access_width(layout, pointers, mask, fn);
    access.set(attr::vector_, int64_t(width));
    if (width > 1 && !pointers->type.is_view())
      access.set(attr::axis_, int64_t(*contiguous_axis(pointers, fn)));
  }

  void demand_operand(Op *op, size_t i, const Layout &layout) {
    if (i >= op->operands.size() || !is_tile(op->operand(i)))
      return;
    Builder builder = Builder::before(fn, op);
    builder.set_location(op->location);
    made.clear();
    op->operands[i] = demand(builder, op->operand(i), layout);
  }

  void settle(Value *value) {
    if (Layout layout = natural(value))
      value->type = value->type.with_layout(layout);
  }

  // Whether consumer warps store each element by itself, if its mask is on. If they stored elements
  // of accumulators so, ptxas would wait after every wgmma (C7514). Elements that pass through
  // shared memory are no problem.
  bool is_store_of_elements(const Op &store) {
    const Value *pointers = store.operand(0);
    return partition_of(store) && mask_of(store) && pointers->type.rank() == 2 &&
           !contiguous_axis(pointers, fn);
  }

  void rewrite_store(Op *op) {
    Value *pointers = op->operand(0), *value = op->operand(1), *mask = op->operand_or_null(2);
    Layout layout = natural(pointers);
    if (!layout)
      layout = natural(value);
    if (joint.ops.count(op))
      layout = natural(joint.sum);
    else if (auto found = crossings.find(op);
             found != crossings.end() && (!layout || *layout == *found->second.of_load))
      layout = found->second.of_store;
    else if (!layout || !fills_sectors(*layout, pointers, fn))
      layout = shared(memory_layout(pointers, mask, fn));
    else if (is_store_of_elements(*op))
      layout = shared(transposing_layout(pointers->type.shape, {0, 1}, fn.warps));
    set_vector(*op, pointers, mask, *layout);
    for (size_t i : {0, 1, 2})
      demand_operand(op, i, layout);
  }

  void rewrite_load(Op *op) {
    Layout layout = natural(op->result());
    set_vector(*op, op->operand(0), op->operand_or_null(1), *layout);
    for (size_t i : {0, 1, 2})
      demand_operand(op, i, layout);
  }

  void rewrite_copy(Op *op) {
    Value *view = op->operand(0);
    std::vector<int> order = last_axis_first(view->type.rank());
    if (std::optional<int> contiguous = contiguous_axis(view, fn)) {
      order.erase(std::find(order.begin(), order.end(), *contiguous));
      order.insert(order.begin(), *contiguous);
    }
    bool transposes = !has_neighbors(op->operand(1)->type, order[0]);
    Layout layout = shared(transposes ? transposing_layout(view->type.shape, order, fn.warps)
                                      : blocked_layout(view->type.shape, order,
                                                       int(op->get(attr::vector_)), fn.warps));
    if (view->type.is_view())
      view->type = view->type.with_layout(layout);
    else if (op->get(attr::vector_) > 1)
      op->set(attr::axis_, int64_t(order[0]));
    demand_operand(op, 0, layout); // a tile of pointers
    demand_operand(op, 4, layout);
  }

  void rewrite_check(Op *op) {
    for (size_t i = 0; i < op->operands.size(); i++) {
      Layout layout = natural(op->operand(i));
      demand_operand(op, i, layout ? layout : default_layout(op->operand(i)->type));
    }
  }

  void rewrite_loop(Op *op) {
    size_t skip = op->is(Opcode::for_loop_) ? 1 : 0;
    for (size_t i = 0; i < op->results.size(); i++) {
      demand_operand(op, skip + i, natural(op->results[i])); // scalars have no layout
      settle(op->results[i]);
      for (Block *block : op->blocks)
        settle(block->arguments[skip + i]);
    }
    for (Block *block : op->blocks)
      rewrite(*block);
  }

  void rewrite_yield(Op *op) {
    for (size_t i = 0; i < op->operands.size(); i++)
      demand_operand(op, i, natural(op->parent->parent->results[i]));
  }

  void rewrite_op(Op *op) {
    switch (op->code) {
    case Opcode::for_loop_:
    case Opcode::while_loop_:
      return rewrite_loop(op);
    case Opcode::if_else_:
      for (Value *result : op->results)
        settle(result);
      for (Block *block : op->blocks)
        rewrite(*block);
      return;
    case Opcode::warp_specialize_:
      for (Block *block : op->blocks)
        rewrite(*block);
      return;
    case Opcode::yield_:
      return rewrite_yield(op);
    case Opcode::store_:
      return op->operand(0)->type.is_tile() ? rewrite_store(op) : void();
    case Opcode::async_copy_:
      return rewrite_copy(op);
    case Opcode::print_:
    case Opcode::assert_:
      return rewrite_check(op);
    case Opcode::shared_store_: {
      Layout layout = natural(op->operand(0));
      return demand_operand(op, 0, layout ? layout : default_layout(op->operand(0)->type));
    }
    case Opcode::shared_store_rows_: {
      const Value *rows = op->operand(0);
      Layout layout = natural(rows);
      return demand_operand(
          op, 0,
          layout ? layout
                 : shared(rows_layout(rows->type.shape, op->operand(1)->type.shape[1], fn.warps)));
    }
    default:
      break;
    }
    if (op->results.empty() || !natural_of_result(op))
      return;
    settle(op->result());
    Layout layout = op->result()->type.layout;
    if (is_joining(*op)) // its operand has another layout
      return;
    if (op->is(Opcode::load_))
      return rewrite_load(op);
    if (op->is(Opcode::reduce_))
      return demand_operand(op, 0, layout_for_reduction(*op));
    if (op->is(Opcode::gather_)) {
      Layout own = natural(op->operand(0));
      demand_operand(op, 0, own ? own : default_layout(op->operand(0)->type));
      return demand_operand(op, 1, layout);
    }
    if (op->is(Opcode::extract_))
      return demand_operand(op, 0, layout_to_extract_from(*op));
    if (op->is(Opcode::trans_) || op->is(Opcode::reshape_))
      return demand_operand(op, 0, operand_layout_for(*op, op->operand(0), *layout));
    if (op->is(Opcode::wgmma_rs_)) {
      demand_operand(op, 0, layout_of_fragment(*op));
      return demand_operand(op, 3, layout);
    }
    if (op->is(Opcode::dot_)) {
      demand_operand(op, 0, shared(operand_layout(*op, 0)));
      demand_operand(op, 1, shared(operand_layout(*op, 1)));
      return demand_operand(op, 2, layout);
    }
    for (size_t i = 0; i < op->operands.size(); i++)
      demand_operand(op, i, layout);
  }

  // A reduction to a scalar has no layout, but its operand needs one.
  bool natural_of_result(Op *op) {
    if (op->is(Opcode::reduce_) && !is_tile(op->result()))
      demand_operand(op, 0, layout_for_reduction(*op));
    return natural(op->result()) != nullptr;
  }

  void rewrite(Block &block) {
    std::vector<Op *> ops = block.ops; // a copy: rewrite_op inserts into the block
    for (Op *op : ops)
      rewrite_op(op);
  }
};

} // namespace

void assign_layouts(Function &fn) {
  State{fn, find_joint(fn), Users(*fn.body), {}, {}, {}}.rewrite(*fn.body);
}

} // namespace tritonc
