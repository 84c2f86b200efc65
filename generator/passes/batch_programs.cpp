// batch_programs: lets a block run several adjacent programs side by side.
//
//     %p = program_id {axis = 0}                launch_blocks (%p0 + 3) / 4, %p1, %p2
//     %f = mul %p, %ld                          %p = block_id {axis = 0}
//     %v = view %A, %f, %one                    %v = view %A, %p*4*%ld, %ld, %one
//     %x = load %v : f32[64]              =>    %x = load %v, row < %p0 - %p*4 : f32[4,64]
//     %s = reduce %x {axis = 0} : f32           %s = reduce %x {axis = 1} : f32[4]
//     %b = splat %s : f32[64]                   %b = broadcast (expand %s) : f32[4,64]
//     ...                                       ...
//
// A program of a row kernel computes one row. A block for a short row has few elements: most of its
// threads have nothing to do, and too few bytes are in flight. Programs are independent of each
// other, so a block can run several of them: each value gets a first axis for the programs. A
// reduction along a row then stays within fewer warps.
//
// Method:  A value varies if it depends on the program. A varying integer or pointer that is linear
//          in the index of the program is an index: the pass makes it again from its affine form,
//          where it is used. All other varying values get the first axis. The mask of each of their
//          accesses is off for programs that do not exist.
// Needs:   form_views; candidate_schedules has checked schedule.coarsening by try_batching.
// Ensures: no program_id is left; there is a launch_blocks; only the host uses num_programs.
// Limits:  no dot, while loop, atomic operation, assert or print; no loop count or branch that
//          depends on the program; tiles of at most four axes; only the first axis of the grid.
//          Without a batched schedule nothing happens.
//
// Tested by tests/unit/passes/batch_programs/ and batch_programs_test.cpp.

#include "passes/batch_programs.h"

#include "analysis/memory_access.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"
#include "passes/grid_of_blocks.h"
#include "passes/remove_dead_code.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// Which values depend on the program, and which of them are linear in its index. The forms are
// those of the source: the pass changes operations while it asks for them.
class Varying {
public:
  Varying(const Value *id, Block &body) : id_(id) {
    varies_.insert(id);
    while (mark(body))
      ;
    for (const Value *value : varies_)
      if (std::optional<Affine> form = linear_form(value))
        forms_.emplace(value, std::move(*form));
  }

  bool operator()(const Value *value) const { return varies_.contains(value); }

  bool any_operand(const Op &op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](const Value *operand) { return (*this)(operand); });
  }

  // The form of a varying value that is linear in the index of the program; null: it is not linear.
  const Affine *index_form(const Value *value) const {
    auto found = forms_.find(value);
    return found == forms_.end() ? nullptr : &found->second;
  }

  // The step of `poly` from one program to the next. Nothing if it is not the same for all
  // programs.
  std::optional<Poly> step(const Poly &poly) const {
    for (const auto &[monomial, coefficient] : poly.terms) {
      int64_t ids = std::count(monomial.begin(), monomial.end(), id_);
      int64_t varying = std::count_if(monomial.begin(), monomial.end(),
                                      [&](const Value *symbol) { return (*this)(symbol); });
      if (ids > 1 || varying > ids)
        return std::nullopt;
    }
    return poly.substitute(id_, Poly::symbol(id_) + Poly::constant(1)) - poly;
  }

private:
  std::optional<Affine> linear_form(const Value *value) const {
    bool has_index = value->type.is_number() ? is_integer(value->type.elem) : true;
    if (!has_index || !is_index(value))
      return std::nullopt;
    std::optional<Affine> form = affine_of(value);
    bool is_linear = form && !(form->base && (*this)(form->base)) && step(form->offset) &&
                     std::all_of(form->strides.begin(), form->strides.end(), [&](const Poly &poly) {
                       std::optional<Poly> growth = step(poly);
                       return growth && growth->is_zero();
                     });
    return is_linear ? form : std::nullopt;
  }

  // Whether `value` is computed from the id and from values that do not vary.
  bool is_index(const Value *value) const {
    if (value == id_ || !(*this)(value))
      return true;
    const Op *op = value->op;
    return op && info(op->code).effect == Effect::pure &&
           std::all_of(op->operands.begin(), op->operands.end(),
                       [&](const Value *operand) { return is_index(operand); });
  }

  // Returns whether it marked a value that was not marked before.
  bool mark(const Value *value, bool varies) { return varies && varies_.insert(value).second; }

  bool mark(Block &block) {
    bool more = false;
    for (Op *op : block.ops) {
      if (op->is(Opcode::for_loop_)) {
        more |= mark_loop(*op);
        continue;
      }
      bool varies = any_operand(*op);
      for (Block *inner : op->blocks) {
        more |= mark(*inner);
        varies |= inner->terminator() && any_operand(*inner->terminator());
      }
      for (const Value *result : op->results)
        more |= mark(result, varies);
    }
    return more;
  }

  bool mark_loop(Op &loop) {
    Block &body = *loop.blocks[0];
    bool more = mark(body);
    for (size_t i = 0; i < loop.results.size(); i++) {
      bool varies = (*this)(loop.operand(i + 1)) || (*this)(body.terminator()->operand(i));
      more |= mark(body.arguments[i + 1], varies);
      more |= mark(loop.results[i], varies);
    }
    return more;
  }

  const Value *const id_;
  std::set<const Value *> varies_;
  std::map<const Value *, Affine> forms_;
};

class Batch {
public:
  Batch(Function &fn, Value *id, Value *programs, int64_t times)
      : fn_(fn), id_(id), programs_(programs), times_(times), varies_(id, *fn.body) {}

  bool run() { return block(*fn_.body); }

private:
  Shape batched(Shape shape) const {
    shape.insert(shape.begin(), times_);
    return shape;
  }

  // The formula for the first program of the block.
  Poly of_first(const Poly &poly) const {
    return poly.substitute(id_, Poly::symbol(id_) * Poly::constant(times_));
  }

  void set_type(Value *value) { value->type = value->type.with_shape(batched(value->type.shape)); }

  // --- Operands ---

  // `value` with the axis of the programs. `source` is its shape without this axis.
  Value *with_axis(Builder &builder, Value *value, const Shape &source) {
    if (!varies_(value)) {
      if (value->type.is_scalar())
        return builder.splat(value, batched(source));
      return builder.broadcast(builder.expand(value, 0), batched(source));
    }
    if (const Affine *form = varies_.index_form(value))
      return elements(builder, *form, value->type);
    return spread(builder, value, source);
  }

  // A value per program becomes a tile of `source` per program.
  Value *spread(Builder &builder, Value *value, const Shape &source) {
    if (value->type.shape == batched(source))
      return value;
    for (size_t d = 0; d < source.size(); d++)
      value = builder.expand(value, int(d) + 1);
    return builder.broadcast(value, batched(source));
  }

  // The elements of an index of `type` in all programs.
  Value *elements(Builder &builder, const Affine &form, const Type &type) {
    const Shape shape = batched(type.shape);
    Value *sum = builder.splat(emit(builder, of_first(form.offset)), shape);
    std::vector<Poly> strides = form.strides;
    strides.insert(strides.begin(), *varies_.step(form.offset));
    for (size_t d = 0; d < shape.size(); d++)
      if (!strides[d].is_zero())
        sum = builder.add(sum, along(builder, emit(builder, strides[d]), shape, int(d)));
    if (form.base)
      return builder.addptr(builder.splat(const_cast<Value *>(form.base), shape), sum);
    return type.elem == Elem::i64 ? sum : builder.cast(sum, type.elem);
  }

  // The tile of `shape` whose elements are their index along `axis` times `stride`.
  Value *along(Builder &builder, Value *stride, const Shape &shape, int axis) {
    const int64_t extent = shape[size_t(axis)];
    Value *index = builder.cast(builder.range(0, extent), Elem::i64);
    Value *tile = builder.mul(index, builder.splat(stride, {extent}));
    for (int d = 0; d < int(shape.size()); d++)
      if (d != axis)
        tile = builder.expand(tile, d);
    return builder.broadcast(tile, shape);
  }

  // --- Memory ---

  // The mask of an access with `old` as its mask in the source: off for programs that do not exist.
  Value *mask(Builder &builder, Value *old, const Shape &source) {
    const Shape shape = batched(source);
    std::vector<Bound> bounds;
    Poly first = Poly::symbol(id_) * Poly::constant(times_);
    const Bound exists{0, first - Poly::symbol(programs_)};
    if (!old)
      return emit_mask(builder, shape, {exists});
    if (std::optional<std::vector<Bound>> found = linear_bounds(old)) {
      found->push_back(exists);
      return emit_mask(builder, shape, *found);
    }
    Value *in_grid = emit_mask(builder, shape, {exists});
    Value *of_source = spread(builder, with_axis(builder, old, shape_in_source(old)), source);
    return builder.binary(Opcode::and_, in_grid, of_source);
  }

  // The bounds of a mask that is the same in all programs.
  std::optional<std::vector<Bound>> linear_bounds(Value *old) const {
    if (old->type.is_scalar() || varies_(old))
      return std::nullopt;
    std::optional<std::vector<Bound>> bounds = bounds_of(old, old->type.rank());
    if (bounds)
      for (Bound &bound : *bounds)
        bound.axis++;
    return bounds;
  }

  // The pointers of a varying access: a view if they are linear, else a tile of pointers.
  Value *pointers(Builder &builder, Value *value) {
    if (const Affine *form = varies_.index_form(value)) {
      std::vector<Value *> operands = {const_cast<Value *>(form->base),
                                       emit(builder, of_first(form->offset)),
                                       emit(builder, *varies_.step(form->offset))};
      for (const Poly &stride : form->strides)
        operands.push_back(emit(builder, stride));
      Type type = Type::view(value->type.elem, batched(value->type.shape));
      return builder.create(Opcode::view_, operands, {type})->result();
    }
    if (!value->type.is_view())
      return value;
    const Op &view = *value->op;
    const Shape shape = batched(value->type.shape);
    auto of_programs = [&](Value *scalar) {
      return spread(builder, with_axis(builder, scalar, {}), value->type.shape);
    };
    Value *base = of_programs(view.operand(0)), *offset = of_programs(view.operand(1));
    for (size_t d = 2; d < view.operands.size(); d++) {
      if (varies_(view.operand(d)))
        return nullptr;
      offset = builder.add(offset, along(builder, view.operand(d), shape, int(d) - 1));
    }
    return builder.addptr(base, offset);
  }

  bool load(Op &op) {
    if (!varies_.any_operand(op))
      return true;
    if (!varies_(op.operand(0)))
      return false; // only the mask varies
    Builder builder = builder_before(op);
    const Shape source = op.result()->type.shape;
    if (int(source.size()) >= max_rank)
      return false;
    Value *from = pointers(builder, op.operand(0));
    if (!from)
      return false;
    Value *on = mask(builder, op.operand_or_null(1), source), *other = op.operand_or_null(2);
    set_type(op.result());
    if (other)
      other = with_axis(builder, other, source);
    else if (op.result()->type.is_number())
      other = builder.filled(op.result()->type, 0);
    op.operands = {from, on};
    if (other)
      op.operands.push_back(other);
    return true;
  }

  bool store(Op &op) {
    if (!varies_(op.operand(0)))
      return false; // all programs store to the same place
    Builder builder = builder_before(op);
    const Shape source = shape_in_source(op.operand(1));
    if (int(source.size()) >= max_rank)
      return false;
    Value *to = pointers(builder, op.operand(0));
    if (!to)
      return false;
    Value *value = with_axis(builder, op.operand(1), source);
    op.operands = {to, value, mask(builder, op.operand_or_null(2), source)};
    return true;
  }

  // --- Everything else ---

  Builder builder_before(Op &op) {
    Builder builder = Builder::before(fn_, &op);
    builder.set_location(op.location);
    return builder;
  }

  bool pure(Op &op) {
    if (!varies_.any_operand(op) || varies_.index_form(op.result()))
      return true;
    if (op.result()->type.rank() >= max_rank)
      return false;
    const Shape source = op.result()->type.shape;
    Builder builder = builder_before(op);
    switch (op.code) {
    case Opcode::view_:
      return true; // its accesses make the pointers
    case Opcode::dot_:
    case Opcode::extract_:
    case Opcode::in_bounds_:
      return false;
    case Opcode::splat_:
      return splat(op);
    case Opcode::reduce_:
    case Opcode::scan_:
    case Opcode::expand_:
    case Opcode::gather_:
      op.set(attr::axis_, op.get(attr::axis_) + 1);
      break;
    case Opcode::trans_: {
      std::vector<int64_t> perm = {0};
      for (int64_t axis : op.get(attr::perm_))
        perm.push_back(axis + 1);
      op.set(attr::perm_, perm);
      break;
    }
    case Opcode::broadcast_:
    case Opcode::reshape_:
      break;
    case Opcode::select_: // a scalar selects whole tiles
      op.operands[0] = spread(
          builder, with_axis(builder, op.operand(0), shape_in_source(op.operand(0))), source);
      for (size_t i : {1, 2})
        op.operands[i] = with_axis(builder, op.operand(i), source);
      set_type(op.result());
      return true;
    default:
      for (Value *&operand : op.operands)
        operand = with_axis(builder, operand, source);
      set_type(op.result());
      return true;
    }
    for (Value *&operand : op.operands)
      operand = with_axis(builder, operand, shape_in_source(operand));
    set_type(op.result());
    return true;
  }

  // A value per program becomes a tile per program.
  bool splat(Op &op) {
    Builder builder = builder_before(op);
    const Shape source = op.result()->type.shape;
    Value *scalars = with_axis(builder, op.operand(0), {});
    for (size_t d = 0; d < source.size(); d++)
      scalars = builder.expand(scalars, int(d) + 1);
    op.code = Opcode::broadcast_;
    op.operands = {scalars};
    set_type(op.result());
    return true;
  }

  // The shape of `value` in one program.
  Shape shape_in_source(const Value *value) const {
    Shape shape = value->type.shape;
    if (varies_(value) && !varies_.index_form(value))
      shape.erase(shape.begin());
    return shape;
  }

  bool loop(Op &op) {
    Block &body = *op.blocks[0];
    if (varies_(op.operand(0)))
      return false;
    Builder builder = builder_before(op);
    for (size_t i = 0; i < op.results.size(); i++) {
      if (!varies_(op.results[i]))
        continue;
      op.operands[i + 1] =
          with_axis(builder, op.operand(i + 1), shape_in_source(op.operand(i + 1)));
      set_type(body.arguments[i + 1]);
      set_type(op.results[i]);
    }
    return block(body) && yield(body, op.results);
  }

  bool branch(Op &op) {
    if (varies_(op.operand(0)))
      return false;
    for (Value *result : op.results)
      if (varies_(result))
        set_type(result);
    for (Block *inner : op.blocks)
      if (!block(*inner) || !yield(*inner, op.results))
        return false;
    return true;
  }

  // The values that a block returns to varying `results`.
  bool yield(Block &body, const std::vector<Value *> &results) {
    Op &end = *body.terminator();
    Builder builder = builder_before(end);
    for (size_t i = 0; i < results.size(); i++)
      if (varies_(results[i]))
        end.operands[i] = with_axis(builder, end.operand(i), shape_in_source(end.operand(i)));
    return true;
  }

  bool operation(Op &op) {
    switch (op.code) {
    case Opcode::load_:
      return load(op);
    case Opcode::store_:
      return store(op);
    case Opcode::for_loop_:
      return loop(op);
    case Opcode::if_else_:
      return branch(op);
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
  const int64_t times_;
  const Varying varies_;
};

} // namespace

bool try_batching(Function &fn, int64_t times) {
  GridOfBlocks blocks = launch_grid_of_blocks(fn, {times, 1, 1});
  if (!Batch(fn, blocks.ids[0], blocks.programs[0], times).run())
    return false;
  remove_dead_code(fn); // the indices, and the views of one program
  return true;
}

void batch_programs(Function &fn, const Schedule &schedule) {
  if (schedule.kind != Schedule::Kind::batched)
    return;
  [[maybe_unused]] bool done = try_batching(fn, schedule.coarsening[0]);
  assert(done && "candidate_schedules has tried it");
}

} // namespace tritonc
