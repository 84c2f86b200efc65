// assign_layouts: decide which thread holds which element of every tile.
//
//     %a = load %v : f32[64,64]                  %a = load %v {vector = 4} : f32[64,64] #0
//     %d = dot ..., %a : f32[64,64]        =>    %a1 = convert_layout %a : f32[64,64] #1
//     store %w, %d                               %d = dot ..., %a1 : f32[64,64] #1
//                                                store %w, %d {vector = 2}
//
// Some operations want a layout: a load the one in which neighbouring threads access neighbouring
// memory, a dot the fragments of its instruction, a reduction or a scan one whose threads can reach
// each other, a gather that of its positions. Element-wise operations take the layout of their
// first operand that has one; what a loop carries takes that of what it yields.
//
// Index tiles have none. Ranges, splats, broadcasts, transpositions, and arithmetic on nothing else
// are computed anew in whatever layout somebody asks for, because computing an index is cheaper
// than moving it between threads. Where a value with a layout is asked for in another, a
// convert_layout goes in. The transpose of a warpgroup's product stays where the product is.
//
// What is printed or asserted is taken as it lies. What helper warps load to store it to shared
// memory is divided among them, and so that a thread has whole words.
//
// The result of a cluster_sum is spread over the threads of the whole cluster as memory wants it
// that it is stored to. Everything behind it is in layouts of the cluster, and what is loaded
// there, in whatever layout somebody asks for: nothing could bring it to another block.
//
// A store takes the value as it lies if that fills the 32-byte sectors of memory, otherwise it asks
// for the layout of memory.
//
// Method. `natural` answers what layout a value has, by looking through its operands; then each
// block is walked once, and every operand is replaced by a form of it in the layout that is needed.
//
// Needs:   choose_dots; views where pointers are affine.
// Ensures: every tile of numbers or pointers that is still used has a layout; {vector} on loads and
//          stores of tiles. remove_dead_code drops the originals of what was computed anew.
//
// Tested by tests/passes/assign_layouts_test.cpp.

#include "passes/assign_layouts.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
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

// Only reorders or repeats elements: has a layout only in the eye of its user.
bool is_transparent(const Op &op) {
  switch (op.code) {
  case Opcode::undefined_:
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
  return value->type.is_tile() && !value->type.is_view() && !value->type.is_shared();
}

std::vector<int> last_axis_first(int rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Whether `value` is what a loop or a branch carries or gives.
bool is_carried(const Value *value) {
  return value->block || (value->op && !value->op->blocks.empty());
}

// The cluster_sum of a function, if it has one, and the operations behind it: what all blocks of
// the cluster do together.
struct Joint {
  const Value *sum = nullptr;
  std::set<const Op *> ops = {};
};

Joint find_joint(Function &fn) {
  Joint joint;
  for_each_op(*fn.body, [&](const Op &op) {
    if (!op.is(Opcode::cluster_sum_))
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
  Users users;                              // before anything was converted
  std::map<const Value *, Layout> naturals; // null: none, or being computed
  std::map<const Value *, bool> cheap;
  std::map<const Value *, std::vector<Value *>> made; // for the operand that is being replaced

  Layout default_layout(const Type &type) {
    return shared(blocked_layout(type.shape, last_axis_first(type.rank()), 1, fn.warps));
  }

  // Lanes and registers along `axis`, of which a thread has `vector` side by side; warps along the
  // others.
  Layout reduction_layout(const Type &type, int axis, int vector = 1) {
    std::vector<int> order = last_axis_first(type.rank());
    order.erase(std::find(order.begin(), order.end(), axis));
    LinearLayout others = blocked_layout(type.shape, order, 1, 1);
    LinearLayout layout = blocked_layout(type.shape, {axis}, vector, 1);
    // blocked_layout without an axis leaves it out: give its bits of the other axes to lanes that
    // are free, then to warps, then to registers.
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
    int axis = int(reduce.integer("axis"));
    const Value *operand = reduce.operand(0);
    Layout own = natural(operand);
    return own && !crosses_warps(*own, axis) ? own : reduction_layout(operand->type, axis);
  }

  // A scan combines what differs in one bit of the position at a time, so each bit of an index is
  // to be that of a register or a lane. Threads have neighbours, which they combine by themselves.
  Layout layout_for_scan(const Op &scan) {
    int axis = int(scan.integer("axis"));
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

  // Positions are where the elements are to be. The tile may lie as it likes.
  Layout layout_of_gathered(const Op &gather) {
    Layout positions = natural(gather.operand(1));
    return positions ? positions : default_layout(gather.result()->type);
  }

  // Whether computing `value` takes nothing but arithmetic on scalars and ranges.
  bool is_cheap(const Value *value) {
    if (!is_tile(value))
      return true;
    const Op *op = value->op;
    bool is_pure = op && (info(op->code).effect == Effect::pure || is_joint_load(*op));
    if (!is_pure || op->is(Opcode::dot_) || op->is(Opcode::reduce_) || op->is(Opcode::extract_) ||
        op->is(Opcode::scan_) || op->is(Opcode::gather_))
      return false;
    if (auto known = cheap.find(value); known != cheap.end())
      return known->second;
    return cheap[value] = std::all_of(op->operands.begin(), op->operands.end(),
                                      [&](const Value *operand) { return is_cheap(operand); });
  }

  bool is_joint_load(const Op &op) { return op.is(Opcode::load_) && joint.ops.count(&op); }

  // As memory wants what the cluster stores.
  Layout layout_for_cluster(const Op &sum) {
    const auto &ops = sum.parent->ops;
    auto store = std::find_if(ops.begin() + sum.parent->position_of(&sum), ops.end(),
                              [](const Op *op) { return op->is(Opcode::store_); });
    assert(store != ops.end() && "split_sums has looked");
    return shared(memory_layout((*store)->operand(0), (*store)->operand_or_null(2), fn,
                                int(sum.integer("blocks"))));
  }

  // What a loop that starts with `value`, or goes on with it, carries it as.
  static const Value *carried_from(const Op &loop, const Value *value) {
    auto at = std::find(loop.operands.begin(), loop.operands.end(), value);
    return loop.blocks[0]->arguments[size_t(at - loop.operands.begin())];
  }
  static const Value *carried_to(const Op &yield, const Value *value) {
    auto at = std::find(yield.operands.begin(), yield.operands.end(), value);
    return yield.parent->arguments[size_t(at - yield.operands.begin()) + 1];
  }

  // The layout of a fragment, by the product that uses it, perhaps in the next iteration.
  Layout layout_of_fragment(const Value *value) {
    for (const Op *user : users.of(value)) {
      if (user->is(Opcode::for_loop_) && user->operand(0) != value)
        return layout_of_fragment(carried_from(*user, value));
      if (user->is(Opcode::yield_) && user->parent->parent->is(Opcode::for_loop_))
        return layout_of_fragment(carried_to(*user, value));
      if (user->is(Opcode::fragment_product_))
        return factor_layout(*user);
      for (int operand : {0, 1})
        if (user->is(Opcode::dot_) && user->operand(operand) == value)
          return shared(operand_layout(*user, operand));
    }
    return default_layout(value->type);
  }

  Layout factor_layout(const Op &fragment_product) {
    const Type &factor = fragment_product.operand(0)->type;
    return shared(
        fragment_layout(factor.shape, bytes_of(factor.elem), product_division(fragment_product)));
  }

  // Parts are taken of a tile that lies as a product does, or as its transpose.
  Layout layout_to_extract_from(const Op &op) {
    Shape shape = op.operand(0)->type.shape;
    if (!op.has("perm"))
      return shared(sum_layout(shape, op));
    std::reverse(shape.begin(), shape.end());
    return shared(sum_layout(shape, op).permute({1, 0}));
  }

  // Whether the warps beside the program's do it.
  static bool is_by_helpers(const Op &op) {
    const Block *block = op.parent;
    while (block->parent && !block->parent->is(Opcode::specialize_))
      block = block->parent->parent;
    return block->parent && block == block->parent->blocks[1];
  }

  // What is loaded to be stored to shared memory is to be words there, even if it can only be
  // loaded in halves of them.
  Layout layout_to_copy(const Op &load) {
    constexpr int word_bytes = 4;
    const Value *view = load.operand(0);
    const Type &tile = load.result()->type;
    int vector = std::max(vector_elements(view, load.operand_or_null(1), fn),
                          word_bytes / bytes_of(tile.elem));
    std::vector<int> order = last_axis_first(tile.rank());
    if (std::optional<int> axis = contiguous_axis(view))
      std::swap(order[0], *std::find(order.begin(), order.end(), *axis));
    return shared(blocked_layout(tile.shape, order, vector, fn.helper_warps));
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
      // Both blocks of a while_loop have the carried values as arguments; ask the body's.
      if (value->block != &body)
        return natural(body.arguments[value->index]);
      return first_of({body.terminator()->operand(carried), loop.operand(value->index)},
                      value->type);
    }
    const Op &op = *value->op;
    switch (op.code) {
    case Opcode::cluster_sum_:
      return layout_for_cluster(op);
    case Opcode::load_:
      if (is_joint_load(op)) {
        // Only where the sum says which elements does it lie as the sum does.
        for (const Value *operand : op.operands)
          if (Layout layout = natural(operand))
            return layout;
        return nullptr;
      }
      if (is_by_helpers(op))
        return layout_to_copy(op);
      if (Layout pointers = natural(op.operand(0)))
        return pointers;
      return shared(memory_layout(op.operand(0), op.operand_or_null(1), fn));
    case Opcode::dot_:
      return shared(accumulator_layout(op));
    case Opcode::shared_load_:
      return layout_of_fragment(value);
    case Opcode::shared_product_:
    case Opcode::fragment_product_:
    case Opcode::product_wait_:
      return shared(product_layout(op.result()->type.shape, product_division(op)));
    case Opcode::trans_:
      if (is_from_transposed_sum(value)) {
        std::vector<int64_t> perm = op.list("perm");
        return shared(natural(op.operand(0))->permute({perm.begin(), perm.end()}));
      }
      break;
    case Opcode::extract_:
      return shared(part_layout(*layout_to_extract_from(op), op.result()->type.shape));
    case Opcode::reduce_:
      return shared(layout_for_reduction(op)->slice(int(op.integer("axis")), false));
    case Opcode::scan_:
      return layout_for_scan(op);
    case Opcode::gather_:
      return layout_of_gathered(op);
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
    if (is_transparent(op) || is_cheap(value))
      return nullptr;
    for (const Value *operand : op.operands)
      if (Layout layout = natural(operand))
        return layout;
    return default_layout(value->type);
  }

  /// The layout that `value` has of itself; null if it is computed in whatever layout is asked for.
  Layout natural(const Value *value) {
    if (!is_tile(value))
      return nullptr;
    auto [entry, is_new] = naturals.emplace(value, nullptr);
    if (is_new) {
      Layout layout = compute_natural(value);
      // What loops carry always has a layout. Without one the question came round to itself, and
      // whoever asked it first will find the answer.
      if (!layout && is_carried(value))
        naturals.erase(value);
      else
        naturals[value] = layout;
      return layout;
    }
    return entry->second;
  }

  // What operand `operand` of a transparent operation must be in for the result to be in `layout`.
  Layout operand_layout_for(const Op &op, const Value *operand, const LinearLayout &layout) {
    LinearLayout result = layout;
    switch (op.code) {
    case Opcode::expand_:
    case Opcode::reshape_:
      // The flat index stays: an axis of extent 1 has no bits.
      result.shape = operand->type.shape;
      break;
    case Opcode::broadcast_:
      for (int d = 0; d < operand->type.rank(); d++)
        if (operand->type.shape[d] == 1)
          result = result.slice(d, true);
      break;
    case Opcode::trans_: {
      std::vector<int64_t> perm = op.list("perm");
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

  /// `value` in `layout`, made where `builder` is.
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

  Value *make(Builder &builder, Value *value, const Layout &layout) {
    if (natural(value))
      return builder.create(Opcode::convert_layout_, {value}, {value->type.with_layout(layout)})
          ->result();
    const Op &op = *value->op;
    std::vector<Value *> operands;
    for (Value *operand : op.operands)
      operands.push_back(demand(builder, operand, operand_layout_for(op, operand, *layout)));
    Op *copy = builder.create(op.code, operands, {value->type.with_layout(layout)});
    copy->attributes = op.attributes;
    copy->location = op.location;
    if (op.is(Opcode::load_))
      copy->set("vector", int64_t(access_width(*layout, op.operand(0), op.operand_or_null(1), fn)));
    return copy->result();
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

  void rewrite_store(Op *op) {
    Value *pointers = op->operand(0), *value = op->operand(1), *mask = op->operand_or_null(2);
    Layout layout = natural(pointers);
    if (!layout)
      layout = natural(value);
    if (joint.ops.count(op))
      layout = natural(joint.sum);
    else if (!layout || !fills_sectors(*layout, pointers, fn))
      layout = shared(memory_layout(pointers, mask, fn));
    op->set("vector", int64_t(access_width(*layout, pointers, mask, fn)));
    for (size_t i : {0, 1, 2})
      demand_operand(op, i, layout);
  }

  void rewrite_load(Op *op) {
    Layout layout = natural(op->result());
    op->set("vector", int64_t(access_width(*layout, op->operand(0), op->operand_or_null(1), fn)));
    for (size_t i : {0, 1, 2})
      demand_operand(op, i, layout);
  }

  void rewrite_copy(Op *op) {
    Value *view = op->operand(0);
    std::vector<int> order = last_axis_first(view->type.rank());
    if (std::optional<int> contiguous = contiguous_axis(view)) {
      order.erase(std::find(order.begin(), order.end(), *contiguous));
      order.insert(order.begin(), *contiguous);
    }
    bool transposes = !has_neighbours(op->operand(1)->type, order[0]);
    Layout layout = shared(
        transposes ? transposing_layout(view->type.shape, order, fn.warps)
                   : blocked_layout(view->type.shape, order, int(op->integer("vector")), fn.warps));
    view->type = view->type.with_layout(layout);
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
      Layout layout = natural(op->results[i]);
      if (!layout)
        continue;
      demand_operand(op, skip + i, layout);
      settle(op->results[i]);
      for (Block *block : op->blocks)
        settle(block->arguments[skip + i]);
    }
    for (Block *block : op->blocks)
      rewrite(*block);
  }

  void rewrite_yield(Op *op) {
    for (size_t i = 0; i < op->operands.size(); i++)
      if (Layout layout = natural(op->parent->parent->results[i]))
        demand_operand(op, i, layout);
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
    case Opcode::specialize_:
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
    default:
      break;
    }
    if (op->results.empty() || !natural_of_result(op))
      return;
    settle(op->result());
    Layout layout = op->result()->type.layout;
    if (op->is(Opcode::cluster_sum_)) // its operand lies otherwise
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
    if (op->is(Opcode::trans_))
      return demand_operand(op, 0, operand_layout_for(*op, op->operand(0), *layout));
    if (op->is(Opcode::fragment_product_)) {
      demand_operand(op, 0, factor_layout(*op));
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
    std::vector<Op *> ops = block.ops; // demands insert into the block
    for (Op *op : ops)
      rewrite_op(op);
  }
};

} // namespace

void assign_layouts(Function &fn) {
  State{fn, find_joint(fn), Users(*fn.body), {}, {}, {}}.rewrite(*fn.body);
}

} // namespace tritonc
