// coarsen_programs: lets a block run several adjacent programs at once, or a part of one.
//
//     %x = program_id {axis = 1}                 launch_blocks %p0, (%p1 + 1) / 2, %p2
//     %v = view %B, k*ldb + %x*128, ldb, 1       %x = block_id {axis = 1}
//     %b = load %v : f16[64,128]                 %v = view %B, k*ldb + %x*256, ldb, 1
//     %d = dot %a, %b, %c : f32[128,128]   =>    %end = %p1*128 - %x*256
//     store %w, %d                               %b = load %v, column < %end : f16[64,256]
//                                                %d = dot %a, %b, %c : f32[128,256]
//                                                store %w, %d, column < %end
//
// The tile of a program is the one that suits the source. The tile of a block should be as large as
// its registers allow, since a larger tile loads fewer bytes per accumulator. Programs are
// independent of each other, so one block can run two of them. Where both read the same tile, the
// block reads it once. Where their tiles are adjacent, they become one tile of twice the extent.
// With an odd grid size the second program of the last block does not exist, so its part is masked.
//
// Method:  Every value is of one of three kinds:
//
//            same       has the same value in all programs that the block runs
//            index      an integer that depends on the program; other values are computed from it
//            stacked    the tiles of the programs, side by side along one axis
//
//          Indices end in views and masks. The pass makes these again from their affine forms. From
//          one program to the next, an affine form must advance by exactly the extent of its tile.
//          If any value is of none of the three kinds, try_coarsening returns false, and the
//          compiler drops the schedule.
//
//          schedule.division is the reverse: several blocks share the tile of a program. The same
//          values are stacked, but their tiles become shorter, and the affine forms advance by less
//          from one block to the next. No part lies outside of the grid, so there are no new masks:
//
//              %x = program_id {axis = 1}                %x = block_id {axis = 1}
//              %v = view %B, k*ldb + %x*64, ldb, 1   =>  %v = view %B, k*ldb + %x*32, ldb, 1
//              %b = load %v : f16[64,64]                 %b = load %v : f16[64,32]
//
//          The last blocks may lie behind the end of the result, which the masks of the stores
//          give. The host does not launch these blocks: a block of 32 columns computes 8 columns.
//
//              launch_blocks %p0, %p1       =>           launch_blocks %p0, min(%p1*2, (%N+31)/32)
//
// Needs:   form_views; candidate_schedules has checked schedule.coarsening and schedule.division by
//          try_coarsening.
// Ensures: no program_id is left; there is a launch_blocks; only the host uses num_programs.
// Limits:  no branches, no while loops, no atomic operations, no reductions along the stacked axis,
//          no loads with a value other than zero where the mask is off. Without
//          schedule.coarsening nothing happens.
//
// Tested by tests/unit/passes/coarsen_programs/ and coarsen_programs_test.cpp.

#include "passes/coarsen_programs.h"

#include "analysis/tensor_access.h"
#include "ir/builder.h"
#include "passes/grid_of_blocks.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// How a value differs between the programs that a block runs.
struct Kind {
  enum { same, index, stacked } kind = same;
  int axis = -1; // of `stacked`; else -1

  bool operator==(const Kind &) const = default;
  bool is_stacked() const { return kind == stacked; }
};

// Coarsens or divides the programs along one axis of the grid.
class Bundle {
public:
  Bundle(Function &fn, Value *id, Value *programs, int64_t times, int64_t division)
      : fn_(fn), id_(id), programs_(programs), times_(times), division_(division) {}

  bool run() {
    kinds_[id_] = {Kind::index};
    return block(*fn_.body);
  }

  // Reduces the number of blocks to those with a tile before the end of a store.
  void omit_idle_blocks(Value *&blocks) {
    if (stored_.empty() ||
        !std::all_of(stored_.begin(), stored_.end(), [](const Stored &each) { return each.end; }))
      return;
    Builder host = Builder::before(fn_, launch_of(fn_));
    host.set_location(fn_.location);
    Value *needed = host.i64(1);
    for (const Stored &each : stored_) {
      Value *end = emit(host, *each.end);
      Value *rounded = host.add(end, host.i64(each.extent - 1));
      Value *of_store = host.binary(Opcode::div_, rounded, host.i64(each.extent));
      needed = host.binary(Opcode::max_, needed, of_store);
    }
    Value *all = host.cast(blocks, Elem::i64);
    blocks = host.cast(host.binary(Opcode::min_, all, needed), Elem::i32);
  }

private:
  Kind kind_of(const Value *value) const {
    auto found = kinds_.find(value);
    return found == kinds_.end() ? Kind() : found->second;
  }

  void stack(Value *value, int axis) {
    value->type = value->type.with_shape(stretched(value->type.shape, axis));
    kinds_[value] = {Kind::stacked, axis};
  }

  Shape stretched(Shape shape, int axis) const {
    int64_t &extent = shape[size_t(axis)];
    extent = extent * times_ / division_;
    return shape;
  }

  // The index of the program from the index of the block. `poly` advances by a multiple of
  // division_ per program.
  Poly moved(const Poly &poly) const {
    const Poly step = *growth(poly), first = poly - step * Poly::symbol(id_);
    Poly of_block;
    for (const auto &[monomial, coefficient] : step.terms)
      of_block.terms[monomial] = coefficient * times_ / division_;
    return first + of_block * Poly::symbol(id_);
  }

  // The step of `poly` from one program to the next; nothing if the step depends on the program, as
  // that of a quotient does.
  std::optional<Poly> growth(const Poly &poly) const {
    Poly step = poly.substitute(id_, Poly::symbol(id_) + Poly::constant(1)) - poly;
    for (const auto &[monomial, coefficient] : step.terms)
      if (std::count(monomial.begin(), monomial.end(), id_))
        return std::nullopt;
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial)
        if (symbol != id_ && kind_of(symbol) != Kind())
          return std::nullopt;
    return step;
  }

  // Whether the host can compute `poly` before the launch.
  static bool is_of_parameters(const Poly &poly) {
    for (const auto &[monomial, coefficient] : poly.terms)
      for (const Value *symbol : monomial)
        if (symbol->op || symbol->block)
          return false;
    return true;
  }

  // --- Views and masks ---

  // The axis along which the tiles of adjacent programs are adjacent.
  std::optional<int> stacking_axis(const Affine &form, const Shape &shape) const {
    std::optional<Poly> step = growth(form.offset);
    for (size_t d = 0; step && d < shape.size(); d++)
      if (form.strides[d] * Poly::constant(shape[d]) == *step && shape[d] % division_ == 0)
        return int(d);
    return std::nullopt;
  }

  bool view(Op &op) {
    if (std::none_of(op.operands.begin(), op.operands.end(),
                     [&](const Value *operand) { return kind_of(operand).kind == Kind::index; }))
      return true;
    Affine form = *affine_of(op.result());
    std::optional<int> axis = stacking_axis(form, op.result()->type.shape);
    if (!axis || kind_of(op.operand(0)).kind != Kind::same)
      return false;
    for (const Poly &stride : form.strides)
      if (!growth(stride) || !growth(stride)->is_zero())
        return false;
    Builder builder = Builder::before(fn_, &op);
    builder.set_location(op.location);
    op.operands[1] = emit(builder, moved(form.offset));
    stack(op.result(), *axis);
    return true;
  }

  // Gives an access, stacked along `axis`, its mask and, of a load, the value 0 where it is off.
  // Returns false if there is no such mask.
  bool set_mask(Op &access, size_t number, const Shape &shape, int axis) {
    const int64_t part = shape[size_t(axis)], extent = part * division_ / times_; // in the source
    std::vector<Bound> bounds;
    if (const Value *old = access.operand_or_null(number)) {
      std::optional<std::vector<Bound>> found = bounds_of(old, int(shape.size()));
      if (!found)
        return false;
      bounds = *found;
    }
    for (Bound &bound : bounds) {
      std::optional<Poly> step = growth(bound.before);
      if (!step || !(bound.axis == axis ? step->is_constant(extent) : step->is_zero()))
        return false;
      bound.before = moved(bound.before);
      const Poly end = Poly::symbol(id_) * Poly::constant(part) - bound.before; // of all blocks
      if (access.is(Opcode::store_) && bound.axis == axis && is_of_parameters(end))
        stored_.back().end = end;
    }
    if (division_ == 1) { // the last block may have fewer programs
      Poly first = Poly::symbol(id_) * Poly::constant(times_ * extent);
      bounds.push_back({axis, first - Poly::symbol(programs_) * Poly::constant(extent)});
    }
    access.operands.resize(number);
    if (bounds.empty())
      return true;
    Builder builder = Builder::before(fn_, &access);
    builder.set_location(access.location);
    access.operands.push_back(emit_mask(builder, shape, bounds));
    if (access.is(Opcode::load_))
      access.operands.push_back(builder.filled(access.result()->type, 0));
    return true;
  }

  bool load(Op &op) {
    Kind pointers = kind_of(op.operand(0));
    bool depends = std::any_of(op.operands.begin(), op.operands.end(),
                               [&](const Value *operand) { return kind_of(operand) != Kind(); });
    if (!depends)
      return true;
    Value *other = op.operand_or_null(2);
    if (!pointers.is_stacked() || (other && !is_zero(other)))
      return false;
    int axis = pointers.axis;
    stack(op.result(), axis);
    return set_mask(op, 1, op.result()->type.shape, axis);
  }

  bool store(Op &op) {
    Kind pointers = kind_of(op.operand(0));
    if (!pointers.is_stacked() || !demand(op, 1, pointers.axis))
      return false;
    stored_.push_back({op.operand(0)->type.shape[size_t(pointers.axis)]});
    return set_mask(op, 2, op.operand(0)->type.shape, pointers.axis);
  }

  // --- Everything else ---

  // Makes operand `i` stacked along `axis`. An operand that is the same in all programs becomes
  // longer, if it is also the same along that axis.
  bool demand(Op &op, size_t i, int axis) {
    Kind kind = kind_of(op.operand(i));
    if (kind.is_stacked())
      return kind.axis == axis;
    Builder builder = Builder::before(fn_, &op);
    Value *longer = kind.kind == Kind::same ? lengthened(builder, op.operand(i), axis) : nullptr;
    if (longer)
      op.operands[i] = longer;
    return longer != nullptr;
  }

  // The tile `value`, longer along `axis`. Null if its elements may differ along `axis`.
  Value *lengthened(Builder &builder, Value *value, int axis) {
    if (!value->op)
      return nullptr;
    Op &op = *value->op;
    Shape shape = stretched(value->type.shape, axis);
    if (op.is(Opcode::splat_))
      return builder.splat(op.operand(0), shape);
    if (op.is(Opcode::broadcast_) && op.operand(0)->type.shape[size_t(axis)] == 1)
      return builder.broadcast(op.operand(0), shape);
    Value *inner = op.is(Opcode::cast_) ? lengthened(builder, op.operand(0), axis) : nullptr;
    if (!inner)
      return nullptr;
    Op *copy = builder.create(op.code, {inner}, {value->type.with_shape(shape)});
    copy->attributes = op.attributes;
    return copy->result();
  }

  // The stacked axis of the result of `op`, whose only tile operand is stacked along `axis`.
  static std::optional<int> result_axis(const Op &op, int axis) {
    switch (op.code) {
    case Opcode::expand_:
      return axis + (op.get(attr::axis_) <= axis);
    case Opcode::broadcast_:
      return axis;
    case Opcode::trans_: {
      std::vector<int64_t> perm = op.get(attr::perm_);
      return int(std::find(perm.begin(), perm.end(), axis) - perm.begin());
    }
    case Opcode::reduce_:
      if (op.get(attr::axis_) == axis)
        return std::nullopt;
      return axis - (op.get(attr::axis_) < axis);
    case Opcode::scan_:
      if (op.get(attr::axis_) == axis)
        return std::nullopt;
      return axis;
    default:
      return std::nullopt;
    }
  }

  bool dot(Op &op) {
    bool left = kind_of(op.operand(0)) == Kind{Kind::stacked, 0};
    bool right = kind_of(op.operand(1)) == Kind{Kind::stacked, 1};
    bool plain = kind_of(op.operand(left ? 1 : 0)) == Kind();
    if (left == right || !plain || !demand(op, 2, left ? 0 : 1))
      return false;
    stack(op.result(), left ? 0 : 1);
    return true;
  }

  // Whether an element of the result depends on operand elements at other indices.
  static bool moves_along_axis(const Op &op) {
    return op.is(Opcode::reduce_) || op.is(Opcode::scan_) || op.is(Opcode::gather_);
  }

  bool pure(Op &op) {
    bool is_index = false;
    std::optional<int> axis;
    for (const Value *operand : op.operands) {
      Kind kind = kind_of(operand);
      is_index |= kind.kind == Kind::index;
      if (kind.is_stacked())
        axis = kind.axis;
    }
    if (is_index) { // must end in a view or a mask
      kinds_[op.result()] = {Kind::index};
      return !axis;
    }
    if (!axis)
      return true;
    if (op.is(Opcode::dot_))
      return dot(op);
    if (std::optional<int> moved = result_axis(op, *axis)) {
      stack(op.result(), *moved);
      return true;
    }
    bool elementwise = op.result()->type.shape.size() == op.operand(0)->type.shape.size() &&
                       !op.is(Opcode::reshape_) && !moves_along_axis(op);
    for (size_t i = 0; elementwise && i < op.operands.size(); i++)
      elementwise = demand(op, i, *axis);
    if (elementwise)
      stack(op.result(), *axis);
    return elementwise;
  }

  bool loop(Op &op) {
    Block &body = *op.blocks[0];
    if (kind_of(op.operand(0)) != Kind())
      return false;
    // An accumulator starts the same in all programs and becomes stacked in the first iteration.
    for (size_t i = 0; i < op.results.size(); i++) {
      if (kind_of(op.operand(i + 1)).kind == Kind::index)
        return false;
      std::optional<int> axis = carried_axis(op, i);
      if (!axis)
        continue;
      if (!demand(op, i + 1, *axis))
        return false;
      stack(body.arguments[i + 1], *axis);
      stack(op.results[i], *axis);
    }
    if (!block(body))
      return false;
    for (size_t i = 0; i < op.results.size(); i++)
      if (kind_of(body.terminator()->operand(i)) != kind_of(body.arguments[i + 1]))
        return false;
    return true;
  }

  // The axis along which carried value `i` of `op` will be stacked: that of the operands of the dot
  // that accumulates into it.
  std::optional<int> carried_axis(const Op &op, size_t i) const {
    if (kind_of(op.operand(i + 1)).is_stacked())
      return kind_of(op.operand(i + 1)).axis;
    const Op *next = op.blocks[0]->terminator()->operand(i)->op;
    if (!next || !next->is(Opcode::dot_))
      return std::nullopt;
    for (int operand : {0, 1})
      if (std::optional<int> axis = axis_to_be(next->operand(size_t(operand))); axis == operand)
        return operand;
    return std::nullopt;
  }

  // The axis along which a loaded tile will be stacked, seen through transposes.
  std::optional<int> axis_to_be(const Value *tile) const {
    const Op *op = tile->op;
    if (op && op->is(Opcode::trans_)) {
      std::optional<int> inner = axis_to_be(op->operand(0));
      return inner ? result_axis(*op, *inner) : std::nullopt;
    }
    if (!op || !op->is(Opcode::load_) || !op->operand(0)->type.is_view())
      return std::nullopt;
    std::optional<Affine> form = affine_of(op->operand(0));
    if (!growth(form->offset) || growth(form->offset)->is_zero())
      return std::nullopt;
    return stacking_axis(*form, tile->type.shape);
  }

  bool operation(Op &op) {
    switch (op.code) {
    case Opcode::view_:
      return view(op);
    case Opcode::load_:
      return load(op);
    case Opcode::store_:
      return store(op);
    case Opcode::for_loop_:
      return loop(op);
    case Opcode::yield_:
    case Opcode::return_:
    case Opcode::launch_blocks_:
      return true;
    default:
      return info(op.code).effect == Effect::pure && op.results.size() == 1 && pure(op);
    }
  }

  bool block(Block &block) {
    std::vector<Op *> ops = block.ops; // a copy: operation() inserts into the block
    return std::all_of(ops.begin(), ops.end(), [&](Op *op) { return operation(*op); });
  }

  Function &fn_;
  Value *const id_, *const programs_;
  const int64_t times_, division_;
  std::map<const Value *, Kind> kinds_;

  // A store: the extent of its tile, and where a mask ends all tiles along the stacked axis.
  struct Stored {
    int64_t extent;
    std::optional<Poly> end = std::nullopt;
  };
  std::vector<Stored> stored_;
};

} // namespace

bool try_coarsening(Function &fn, const std::vector<int64_t> &times,
                    const std::vector<int64_t> &division) {
  GridOfBlocks blocks = launch_grid_of_blocks(fn, times, division);
  for (size_t axis = 0; axis < 3; axis++) {
    const int64_t parts = division.empty() ? 1 : division[axis];
    if (times[axis] == 1 && parts == 1)
      continue;
    Bundle bundle(fn, blocks.ids[axis], blocks.programs[axis], times[axis], parts);
    if (!bundle.run())
      return false;
    if (parts > 1)
      bundle.omit_idle_blocks(launch_of(fn)->operands[axis]);
  }
  return true;
}

void coarsen_programs(Function &fn, const Schedule &schedule) {
  if (schedule.coarsening.empty() || schedule.kind == Schedule::Kind::batched ||
      schedule.kind == Schedule::Kind::program_per_warp)
    return;
  [[maybe_unused]] bool done = try_coarsening(fn, schedule.coarsening, schedule.division);
  assert(done && "candidate_schedules has tried it");
}

} // namespace tritonc
