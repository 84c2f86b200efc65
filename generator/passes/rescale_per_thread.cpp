// rescale_per_thread: lets a thread rescale its sum once per iteration, not once per element.
//
//     %m, %s = for_loop %n, %low, %zero {       %m, %s = for_loop %n, %low.1, %zero.1 {
//       (%t, %key, %sum)                          (%t, %key, %sum)
//       %x = load ... : f32[1024]                 %x = load ... : f32[1024]
//       %larger = max %key, %x                    %most = reduce %x by thread {op = "max"}
//       %old = mul %sum, exp(%key - %larger)      %larger = max %key, %most : f32[128]
//       %y = exp(%x - %larger)                    %old = mul %sum, exp(%key - %larger)
//       %next = add %old, %y                =>    %y = exp(%x - %larger repeated)
//       yield %larger, %next                      %more = reduce %y by thread {op = "add"}
//     }                                           %next = add %old, %more
//     %top = reduce %m {op = "max"}               yield %larger, %next
//     %scaled = mul %s, exp(%m - %top)          }
//     %r = reduce %scaled {op = "add"}          ... the same for 128 elements
//
// A softmax in one loop keeps a max and a sum per element of its tile, so it computes two
// exponentials per element. But only the totals of the whole tile count. A thread that holds eight
// elements computes nine exponentials with one max and one sum, and needs fewer registers.
//
// Method:  The elements of a thread are those of the memory layout of the loop's load. The tile is
//          reshaped to [registers, threads, registers]: the reductions of the first and of the last
//          axis stay within a thread.
// Needs:   select_mma: the number of warps; rescaled sums (associative_loop.h).
// Ensures: nothing that other passes need.
// Limits:  nothing happens unless all totals of a loop are reduced along one axis, and a thread
//          holds several elements along it.
//
// Tested by tests/unit/passes/rescale_per_thread/. The results: rescaled_sums_test.cpp.

#include "passes/rescale_per_thread.h"

#include "analysis/associative_loop.h"
#include "analysis/layouts.h"
#include "passes/remove_dead_code.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// An axis of a tile, divided: each thread holds the elements of `high` and `low`.
struct Parts {
  int axis;
  Shape whole;
  int64_t high, threads, low;

  // The shape of a tile with one element per thread.
  Shape of_threads() const {
    Shape shape = whole;
    shape[size_t(axis)] = threads;
    return shape;
  }

  Shape divided() const {
    Shape shape = of_threads();
    shape.insert(shape.begin() + axis + 1, low);
    shape.insert(shape.begin() + axis, high);
    return shape;
  }

  // The elements of each thread, combined by `op`.
  Value *reduced(Builder &builder, Value *tile, const char *op) const {
    Value *value = builder.reshape(tile, divided());
    value = builder.reduce(value, axis, op);
    return builder.reduce(value, axis + 1, op);
  }

  // The opposite: each thread has the element for all of its elements.
  Value *repeated(Builder &builder, Value *tile) const {
    Value *value = builder.expand(tile, axis + 1);
    value = builder.expand(value, axis);
    return builder.reshape(builder.broadcast(value, divided()), whole);
  }
};

// The load whose layout is that of the arithmetic; null: none.
const Op *load_of(const Block &body, const Shape &shape) {
  auto found = std::find_if(body.ops.begin(), body.ops.end(), [&](const Op *op) {
    return op->is(Opcode::load_) && op->result()->type.shape == shape;
  });
  return found == body.ops.end() ? nullptr : *found;
}

std::optional<Parts> parts_of(const Op &load, int axis, const Function &fn) {
  const LinearLayout layout = memory_layout(load.operand(0), load.operand_or_null(1), fn);
  const Shape &shape = layout.shape;
  const int shift = axis_shift(shape, axis);
  auto is_of_register = [&](int64_t bit) {
    return std::count(layout.reg.begin(), layout.reg.end(), FlatIndex(bit) << shift) != 0;
  };
  Parts parts{axis, shape, 1, shape[size_t(axis)], 1};
  while (parts.threads > 1 && is_of_register(parts.low)) {
    parts.low *= 2;
    parts.threads /= 2;
  }
  while (parts.threads > 1 && is_of_register(parts.low * parts.threads / 2)) {
    parts.high *= 2;
    parts.threads /= 2;
  }
  const bool has_rank = shape.size() + 2 <= max_rank;
  return has_rank && parts.high * parts.low > 1 ? std::optional(parts) : std::nullopt;
}

// The axis along which `total` is the only reduction of its tile, after arithmetic; -1: none.
int axis_of(const AssociativeLoop::Total &total) {
  const Op *op = total.value->op;
  const bool is_one = op->is(Opcode::reduce_) && !op->operand(0)->op->is(Opcode::reduce_);
  return is_one ? int(op->get(attr::axis_)) : -1;
}

// A loop with rescaled sums.
struct RescaledLoop {
  Function &fn;
  Op *loop;
  std::vector<RescaledSum> sums = find_rescaled_sums(*loop);
  std::vector<AssociativeLoop::Total> totals = {};
  std::optional<Parts> parts = {};

  // Whether a thread holds several elements that belong to one total.
  bool find() {
    auto found = sums.empty() ? std::nullopt : find_totals(fn, *loop);
    if (!found)
      return false;
    totals = std::move(*found);
    const Type &type = loop->results[sums[0].sum]->type;
    const int axis = axis_of(totals[sums[0].sum]);
    const Op *load = load_of(*loop->blocks[0], type.shape);
    const bool are_alike = std::all_of(sums.begin(), sums.end(), [&](const RescaledSum &sum) {
      return is_alike(sum.sum, type.shape, axis) && is_alike(sum.key, type.shape, axis);
    });
    if (axis >= 0 && load && are_alike)
      parts = parts_of(*load, axis, fn);
    return parts.has_value();
  }

  void run() {
    std::set<size_t> keys;
    for (const RescaledSum &sum : sums) {
      narrow(sum.sum);
      if (keys.insert(sum.key).second)
        reduce_key(sum);
    }
    for (const RescaledSum &sum : sums) {
      reduce_sum(sum);
      reduce_total(sum);
    }
    remove_dead_code(fn);
  }

private:
  Value *carried(size_t i) const { return loop->blocks[0]->arguments[i + 1]; }
  Value *&next(size_t i) const { return loop->blocks[0]->terminator()->operands[i]; }

  // The factor of a guarded sum must not be NaN for keys of -infinity.
  static Value *rescaled(Builder &builder, const RescaledSum &sum, Value *value, Value *own,
                         Value *key) {
    return sum.is_guarded ? emit_rescaled(builder, sum.rescaling, value, own, key)
                          : builder.mul(value, emit_factor(builder, sum.rescaling, own, key));
  }

  // Whether carried value `i` starts from one number, and has a total along `axis`.
  bool is_alike(size_t i, const Shape &shape, int axis) const {
    return loop->results[i]->type.shape == shape && axis_of(totals[i]) == axis &&
           scalar_of(loop->operand(i + 1))->type.is_scalar();
  }

  void narrow(size_t i) {
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    Value *start = const_cast<Value *>(scalar_of(loop->operand(i + 1)));
    Value *narrow = builder.splat(start, parts->of_threads());
    loop->operands[i + 1] = narrow;
    carried(i)->type = loop->results[i]->type = narrow->type;
  }

  void reduce_key(const RescaledSum &sum) {
    Op *max = sum.larger->op;
    Value *own = carried(sum.key);
    Value *elements = max->operand(max->operand(0) == own ? 1 : 0);
    narrow(sum.key);
    Builder builder = Builder::after(fn, max);
    builder.set_location(max->location);
    Value *most = parts->reduced(builder, elements, "max");
    Value *larger = builder.binary(Opcode::max_, own, most);
    larger->name = sum.larger->name;
    replace_uses(*loop->blocks[0], sum.larger, parts->repeated(builder, larger));
    next(sum.key) = larger;
  }

  void reduce_sum(const RescaledSum &sum) {
    Builder builder = Builder::before(fn, loop->blocks[0]->terminator());
    builder.set_location(next(sum.sum)->op->location);
    Value *old = rescaled(builder, sum, carried(sum.sum), carried(sum.key), next(sum.key));
    Value *all = builder.add(old, parts->reduced(builder, sum.terms, "add"));
    all->name = next(sum.sum)->name;
    next(sum.sum) = all;
  }

  // The reduction after the loop: the key's is right as it is.
  void reduce_total(const RescaledSum &sum) {
    Op *reduce = totals[sum.sum].value->op;
    Value *key = totals[sum.key].value;
    const Shape shape = parts->of_threads();
    Builder builder = Builder::before(fn, reduce);
    builder.set_location(reduce->operand(0)->op->location);
    Value *top = key->type.is_scalar() ? builder.splat(key, shape)
                                       : builder.broadcast(builder.expand(key, parts->axis), shape);
    Value *scaled = rescaled(builder, sum, loop->results[sum.sum], loop->results[sum.key], top);
    scaled->name = reduce->operand(0)->name;
    reduce->operands[0] = scaled;
  }
};

} // namespace

void rescale_per_thread(Function &fn) {
  std::vector<Op *> loops;
  std::copy_if(fn.body->ops.begin(), fn.body->ops.end(), std::back_inserter(loops),
               [](const Op *op) { return op->is(Opcode::for_loop_); });
  for (Op *loop : loops)
    if (RescaledLoop rescaled{fn, loop}; rescaled.find())
      rescaled.run();
}

} // namespace tritonc
