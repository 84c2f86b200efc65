// Computes the axis info of index and pointer tiles. See axis_info.h.
//
// Method: A value with an affine form has the info of the form. Any other value has the info that
//         follows from its operands, by one rule per operation. A carried value starts with the
//         info of its initial value, and loses what the next iteration does not keep, up to a
//         fixpoint.
//
// Tested by tests/unit/analysis/axis_info_test.cpp.

#include "analysis/axis_info.h"

#include <algorithm>
#include <bit>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t no_limit = 1 << 20; // larger than any extent
// Alignment of cuMemAlloc and others, CUDA C++ Programming Guide 5.3.2.
constexpr int64_t workspace_bytes = 256;
constexpr int max_depth = 500;     // of nested operations; deeper ones are unknown
constexpr int max_assumptions = 3; // more carried values that need each other are unknown
constexpr int max_rounds = 4;      // a carried value that still changes is unknown

// The largest power of two that divides `n`; no_limit for 0.
int64_t power_of_two_in(int64_t n) {
  constexpr uint64_t limit = no_limit;
  return n ? int64_t(std::min(uint64_t(n) & (0 - uint64_t(n)), limit)) : no_limit;
}

int64_t product(int64_t a, int64_t b) { return std::min(a * b, no_limit); }

// Bytes or numbers from one contiguous element to the next.
int64_t step_of(const Type &type) { return type.is_number() ? 1 : bytes_of(type.elem); }

// The largest known divisor of the first elements of all groups of `size`. A group inside a
// contiguous group starts a multiple of its size after it.
int64_t divisor_of_groups(const AxisInfo &info, int64_t size, int64_t step = 1) {
  return size < info.contiguity ? std::min(info.divisibility, size * step) : info.divisibility;
}

// The largest known divisor of every element.
int64_t divisor_of_all(const AxisInfo &info, int64_t step = 1) {
  return divisor_of_groups(info, 1, step);
}

// The size of the groups of contiguous elements of `a` that start at their multiples, where `b` is
// constant and a multiple of it, too.
int64_t aligned_groups(const AxisInfo &a, const AxisInfo &b) {
  return std::min({a.contiguity, a.divisibility, b.divisibility, b.constancy});
}

// The same elements, in contiguous groups of at most `size`.
AxisInfo in_groups_of(AxisInfo info, int64_t size, int64_t step = 1) {
  info.divisibility = divisor_of_groups(info, size, step);
  info.contiguity = std::min(info.contiguity, size);
  return info;
}

// The info of arithmetic that may wrap: only groups that start at their multiples cannot cross the
// largest number.
AxisInfo without_wrap(const AxisInfo &info, Elem elem) {
  int64_t half_range = int64_t(1) << std::min(bits_of(elem) - 1, 62);
  return in_groups_of(info, std::min(info.divisibility, half_range));
}

// What holds for both.
AxisInfo meet(const AxisInfo &a, const AxisInfo &b, int64_t step) {
  int64_t contiguity = std::min(a.contiguity, b.contiguity);
  return {contiguity,
          std::min(divisor_of_groups(a, contiguity, step), divisor_of_groups(b, contiguity, step)),
          std::min(a.constancy, b.constancy)};
}

// Sum and difference: contiguous plus constant is contiguous; constant plus constant is constant;
// contiguous minus contiguous is constant.
AxisInfo sum(const AxisInfo &a, const AxisInfo &b, bool subtract, int64_t step = 1) {
  int64_t contiguity = std::min(a.contiguity, b.constancy);
  int64_t constancy = std::min(a.constancy, b.constancy);
  if (subtract)
    constancy = std::max(constancy, std::min(a.contiguity, b.contiguity));
  else
    contiguity = std::max(contiguity, std::min(a.constancy, b.contiguity));
  int64_t size = std::max(contiguity, constancy);
  return {contiguity, std::min(divisor_of_groups(a, size, step), divisor_of_groups(b, size, step)),
          constancy};
}

// Whether the result has the shape of the operands, and is computed element by element.
bool keeps_shape(const Op &op) {
  if (!is_elementwise(op))
    return false;
  const Shape &shape = op.result()->type.shape;
  bool has_tile = false;
  for (const Value *operand : op.operands) {
    if (!operand->type.is_scalar() && operand->type.shape != shape)
      return false;
    has_tile |= operand->type.shape == shape;
  }
  return has_tile;
}

// The argument of the loop's body whose last value is result number `at`.
const Value *carried_of(const Op &loop, size_t at) {
  return loop.blocks.back()->arguments[at + (loop.is(Opcode::for_loop_) ? 1 : 0)];
}

// Counts a nested call.
class Nested {
public:
  explicit Nested(int &depth) : depth_(depth) { depth_++; }
  Nested(const Nested &) = delete;
  ~Nested() { depth_--; }

private:
  int &depth_;
};

int trailing_ones(int64_t n) { return std::min(62, std::countr_one(uint64_t(n))); }

int last_axis_of(const Shape &shape) {
  int axis = int(shape.size()) - 1;
  while (axis > 0 && shape[size_t(axis)] == 1)
    axis--;
  return axis;
}

} // namespace

AxisInfo AxisInfos::of(const Value *value, int axis) {
  if (value->type.is_scalar())
    axis = 0;
  std::pair key(value, axis);
  if (auto found = known_.infos.find(key); found != known_.infos.end())
    return found->second;
  Nested nested(depth_);
  AxisInfo info = depth_ <= max_depth ? computed(value, axis) : AxisInfo();
  int64_t extent = value->type.is_scalar() ? no_limit : value->type.shape[size_t(axis)];
  info = in_groups_of(info, extent, step_of(value->type));
  info.constancy = std::min(info.constancy, extent);
  if (value->type.is_scalar())
    info.constancy = no_limit;
  if (!value->type.is_number()) // the language requires that pointers are aligned to their elements
    info.divisibility = std::max<int64_t>(info.divisibility, bytes_of(value->type.elem));
  return known_.infos[key] = info;
}

AxisInfo AxisInfos::computed(const Value *value, int axis) {
  if (const std::optional<Affine> &form = forms_.affine(value)) {
    bool is_symbol = form->base == value || (!form->base && value->type.is_scalar() &&
                                             form->offset == Poly::symbol(value));
    if (!is_symbol)
      return of_affine(*form, value, axis);
  }
  if (value->block)
    return of_carried(value, axis);
  if (!value->op)
    return of_leaf(value);
  const Op &op = *value->op;
  const size_t at = size_t(value->index);
  if (op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_))
    return of(carried_of(op, at), axis);
  if (op.is(Opcode::if_else_)) // what both branches have
    return meet(of(op.blocks[0]->terminator()->operand(at), axis),
                of(op.blocks[1]->terminator()->operand(at), axis), step_of(value->type));
  return of_operation(op, axis);
}

// --- Affine forms --------------------------------------------------------------------------------

// A form is contiguous where its stride is 1, and constant where it is 0. Offset, base and all
// other strides divide the first elements.
AxisInfo AxisInfos::of_affine(const Affine &form, const Value *value, int axis) {
  const Shape &shape = value->type.shape;
  AxisInfo info{1, divisor(form.offset), 1};
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 1)
      continue;
    const Poly &stride = form.strides[d];
    if (int(d) == axis && stride.is_constant(1)) {
      info.contiguity = shape[d];
      continue;
    }
    if (int(d) == axis && stride.is_zero())
      info.constancy = shape[d];
    info.divisibility = std::min(info.divisibility, divisor(stride));
  }
  if (form.base)
    info.divisibility = std::min(of(form.base, 0).divisibility,
                                 product(info.divisibility, bytes_of(value->type.elem)));
  return info;
}

// Like divisor_of in affine.h, but knows the divisors of computed symbols. The largest power of
// two.
int64_t AxisInfos::divisor(const Poly &poly) {
  int64_t divisor = no_limit;
  for (const auto &[monomial, coefficient] : poly.terms) {
    int64_t term = power_of_two_in(coefficient);
    for (const Value *symbol : monomial)
      term = product(term, of(symbol, 0).divisibility);
    divisor = std::min(divisor, term);
  }
  return divisor;
}

// A parameter has the promises of the author.
AxisInfo AxisInfos::of_leaf(const Value *value) {
  for (const Parameter &parameter : fn_.parameters)
    if (parameter.value == value)
      return {1,
              power_of_two_in(value->type.is_pointer() ? parameter.aligned_bytes
                                                       : parameter.multiple_of),
              1};
  return {};
}

// --- Operations ----------------------------------------------------------------------------------

AxisInfo AxisInfos::of_operation(const Op &op, int axis) {
  auto operand = [&](size_t i) { return of(op.operand(i), axis); };
  const Type &type = op.result()->type;
  const int64_t step = step_of(type);
  switch (op.code) {
  case Opcode::splat_: // all elements are the scalar
    return {1, operand(0).divisibility, no_limit};
  case Opcode::expand_: { // the other axes keep their info
    int added = int(op.get(attr::axis_));
    return added == axis ? AxisInfo{1, common_divisor(op.operand(0)), 1}
                         : of(op.operand(0), axis - (added < axis));
  }
  case Opcode::broadcast_: // a repeated axis is constant
    return op.operand(0)->type.shape[size_t(axis)] == 1
               ? AxisInfo{1, operand(0).divisibility, no_limit}
               : operand(0);
  case Opcode::trans_:
    return of(op.operand(0), int(op.get(attr::perm_)[size_t(axis)]));
  case Opcode::reshape_:
    return of_reshape(op, axis);
  case Opcode::no_hoist_:
  case Opcode::copy_:
  case Opcode::convert_layout_:
  case Opcode::host_value_:
    return operand(0);
  case Opcode::workspace_:
    return {1, workspace_bytes, 1};
  case Opcode::load_:
    return of_load(op, axis);
  case Opcode::in_bounds_: // the mask can change only at the limit
    return {1, 1, operand(size_t(axis)).divisibility};
  case Opcode::cmp_:
    return {1, 1, constant_run(op, axis)};
  default:
    break;
  }
  if (!keeps_shape(op) && !type.is_scalar())
    return {};
  AxisInfo same; // equal operands have equal results
  same.constancy = no_limit;
  for (size_t i = 0; i < op.operands.size(); i++)
    same.constancy = std::min(same.constancy, operand(i).constancy);
  if (type.is_number() && is_float(type.elem))
    return same;
  switch (op.code) {
  case Opcode::add_:
  case Opcode::sub_: {
    AxisInfo result = sum(operand(0), operand(1), op.is(Opcode::sub_));
    return op.has(attr::unsigned_) ? without_wrap(result, type.elem) : result;
  }
  case Opcode::addptr_: { // the index counts elements
    AxisInfo index = operand(1);
    index.divisibility = product(index.divisibility, step);
    return sum(operand(0), index, false, step);
  }
  case Opcode::mul_:
    return of_product(op, axis);
  case Opcode::div_:
  case Opcode::udiv_:
    return of_quotient(op, axis);
  case Opcode::rem_:
  case Opcode::urem_:
    return of_remainder(op, axis);
  case Opcode::and_:
  case Opcode::or_:
  case Opcode::xor_:
    return of_bits(op, axis);
  case Opcode::shl_:
  case Opcode::shr_:
  case Opcode::ushr_:
    return of_shift(op, axis);
  case Opcode::min_:
  case Opcode::max_:
  case Opcode::umin_:
  case Opcode::umax_:
  case Opcode::select_:
    return of_choice(op, axis);
  case Opcode::neg_: // keeps the divisor of all elements
  case Opcode::abs_:
    return {1, divisor_of_all(operand(0)), same.constancy};
  case Opcode::cast_:
    return of_cast(op, axis);
  case Opcode::bitcast_:
    return of_bitcast(op, axis);
  default:
    return same;
  }
}

// The divisors of the factors multiply. A factor of 1 changes nothing.
AxisInfo AxisInfos::of_product(const Op &op, int axis) {
  AxisInfo a = of(op.operand(0), axis), b = of(op.operand(1), axis);
  if (constant_of(op.operand(0)) == 1)
    return b;
  if (constant_of(op.operand(1)) == 1)
    return a;
  return {1, product(divisor_of_all(a), divisor_of_all(b)), std::min(a.constancy, b.constancy)};
}

// A contiguous group that starts at its multiple lies between two multiples of the divisor, if its
// size divides the divisor: the quotient is constant. Rounding toward zero changes it right after a
// negative multiple, so a signed dividend must not be negative. The sign of the divisor does not
// matter. A constant divisor divides the divisibility.
AxisInfo AxisInfos::of_quotient(const Op &op, int axis) {
  AxisInfo a = of(op.operand(0), axis), b = of(op.operand(1), axis);
  std::optional<int64_t> by = constant_of(op.operand(1));
  if (by == 1)
    return a;
  int64_t constancy = std::min(a.constancy, b.constancy);
  if (op.is(Opcode::udiv_) || is_never_negative(op.operand(0)))
    constancy = std::max(constancy, aligned_groups(a, b));
  bool is_power = by && *by > 0 && (*by & (*by - 1)) == 0;
  int64_t divisor = is_power ? std::max<int64_t>(1, divisor_of_groups(a, constancy) / *by) : 1;
  return {1, divisor, constancy};
}

// In the groups of the quotient, the remainder is contiguous. A divisor of both operands divides
// the remainder.
AxisInfo AxisInfos::of_remainder(const Op &op, int axis) {
  AxisInfo a = of(op.operand(0), axis), b = of(op.operand(1), axis);
  int64_t contiguity = 1, constancy = std::min(a.constancy, b.constancy);
  if (op.is(Opcode::urem_) || is_never_negative(op.operand(0)))
    contiguity = aligned_groups(a, b);
  int64_t size = std::max(contiguity, constancy);
  return {contiguity, std::min(divisor_of_groups(a, size), divisor_of_groups(b, size)), constancy};
}

// In a group of 2^n elements that starts at its multiple, only the low n bits change, and they
// count.
// - The other operand has zeros there: `and` gives a constant; `or` and `xor` stay contiguous.
// - It has ones there: `and` stays contiguous; `or` gives a constant.
AxisInfo AxisInfos::of_bits(const Op &op, int axis) {
  const bool is_and = op.is(Opcode::and_);
  AxisInfo infos[] = {of(op.operand(0), axis), of(op.operand(1), axis)};
  int64_t contiguity = 1, constancy = std::min(infos[0].constancy, infos[1].constancy);
  for (size_t i : {0, 1}) {
    const AxisInfo &a = infos[i], &b = infos[1 - i];
    int64_t at_zeros = aligned_groups(a, b), at_ones = 1;
    if (std::optional<int64_t> bits = constant_of(op.operand(1 - i)))
      at_ones = std::min({a.contiguity, a.divisibility, int64_t(1) << trailing_ones(*bits)});
    if (op.is(Opcode::xor_))
      at_ones = 1;
    constancy = std::max(constancy, is_and ? at_zeros : at_ones);
    contiguity = std::max(contiguity, is_and ? at_ones : at_zeros);
  }
  int64_t size = std::max(contiguity, constancy);
  int64_t a = divisor_of_groups(infos[0], size), b = divisor_of_groups(infos[1], size);
  return {contiguity, is_and ? std::max(a, b) : std::min(a, b), constancy};
}

// A shift by a constant multiplies, or divides and rounds down: also negative numbers are constant
// between two multiples.
AxisInfo AxisInfos::of_shift(const Op &op, int axis) {
  AxisInfo a = of(op.operand(0), axis);
  int64_t constancy = std::min(a.constancy, of(op.operand(1), axis).constancy);
  std::optional<int64_t> by = constant_of(op.operand(1));
  const bool is_left = op.is(Opcode::shl_);
  if (!by || *by < 0 || *by >= bits_of(op.result()->type.elem))
    return {1, is_left ? divisor_of_all(a) : 1, constancy};
  if (*by == 0)
    return a;
  int64_t factor = std::min(int64_t(1) << std::min<int64_t>(*by, 62), no_limit);
  if (is_left)
    return {1, product(divisor_of_all(a), factor), constancy};
  constancy = std::max(constancy, std::min({a.contiguity, a.divisibility, factor}));
  int64_t divisor = int64_t(1) << std::min<int64_t>(*by, 62);
  return {1, std::max<int64_t>(1, divisor_of_groups(a, constancy) / divisor), constancy};
}

// The elements of a group come from one operand: `min` and `max` of two contiguous or two constant
// groups choose the same operand for all elements, and `select` where its condition is constant.
AxisInfo AxisInfos::of_choice(const Op &op, int axis) {
  const bool selects = op.is(Opcode::select_);
  AxisInfo a = of(op.operand(selects ? 1 : 0), axis), b = of(op.operand(selects ? 2 : 1), axis);
  const int64_t step = step_of(op.result()->type);
  int64_t contiguity = std::min(a.contiguity, b.contiguity);
  int64_t constancy = std::min(a.constancy, b.constancy);
  if (selects) {
    int64_t run = of(op.operand(0), axis).constancy;
    contiguity = std::min(contiguity, run);
    constancy = std::min(constancy, run);
  }
  int64_t size = std::max(contiguity, constancy);
  AxisInfo result{contiguity,
                  std::min(divisor_of_groups(a, size, step), divisor_of_groups(b, size, step)),
                  constancy};
  bool is_unsigned = op.is(Opcode::umin_) || op.is(Opcode::umax_);
  return is_unsigned ? without_wrap(result, op.result()->type.elem) : result;
}

// A wider signed integer has the same value. Other conversions of integers keep the low bits:
// groups that start at their multiples stay contiguous. Other types: only equal elements stay
// equal.
AxisInfo AxisInfos::of_cast(const Op &op, int axis) {
  AxisInfo a = of(op.operand(0), axis);
  Elem from = op.operand(0)->type.elem, to = op.result()->type.elem;
  if (is_float(from) || from == Elem::i1 || to == Elem::i1)
    return {1, 1, a.constancy};
  if (bits_of(to) < bits_of(from))
    return without_wrap(a, to);
  bool keeps_value =
      bits_of(to) == bits_of(from) || !op.has(attr::unsigned_) || is_never_negative(op.operand(0));
  return keeps_value ? a : without_wrap(a, from);
}

// The address stays the same. Elements stay contiguous if their size does.
AxisInfo AxisInfos::of_bitcast(const Op &op, int axis) {
  const Type &from = op.operand(0)->type, &to = op.result()->type;
  AxisInfo a = of(op.operand(0), axis);
  if ((from.is_number() && is_float(from.elem)) || from.elem == Elem::i1)
    return {1, 1, a.constancy};
  return step_of(from) == step_of(to) ? a
                                      : AxisInfo{1, divisor_of_all(a, step_of(from)), a.constancy};
}

// The last axes of both shapes count the same elements.
AxisInfo AxisInfos::of_reshape(const Op &op, int axis) {
  const Value *from = op.operand(0);
  if (op.result()->type.is_scalar() || axis != last_axis_of(op.result()->type.shape))
    return {1, common_divisor(from), 1};
  int64_t extent = op.result()->type.shape[size_t(axis)];
  AxisInfo info =
      in_groups_of(of(from, last_axis_of(from->type.shape)), extent, step_of(op.result()->type));
  info.constancy = std::min(info.constancy, extent);
  return info;
}

// Equal pointers load equal elements, unless other threads change the memory meanwhile.
AxisInfo AxisInfos::of_load(const Op &op, int axis) {
  const bool is_masked = op.operands.size() > 1, has_other = op.operands.size() > 2;
  if ((is_masked && !has_other) || op.get(attr::cache_) == "cv")
    return {};
  int64_t constancy = no_limit;
  for (const Value *operand : op.operands)
    constancy = std::min(constancy, of(operand, axis).constancy);
  return {1, 1, constancy};
}

int64_t AxisInfos::common_divisor(const Value *value) {
  int64_t divisor = divisor_of_all(of(value, 0), step_of(value->type));
  for (int d = 1; d < value->type.rank(); d++)
    divisor = std::max(divisor, divisor_of_all(of(value, d), step_of(value->type)));
  return divisor;
}

// --- Comparisons ---------------------------------------------------------------------------------

// a < b with a contiguous: it changes at b, so it is constant in groups of n if n divides the start
// of a and b. `<=` and `>` change just after b, so they do not qualify. Contiguous operands have a
// constant difference.
int64_t AxisInfos::constant_run(const Op &comparison, int axis) {
  const Value *left = comparison.operand(0), *right = comparison.operand(1);
  AxisInfo a = of(left, axis), b = of(right, axis);
  int64_t run = std::min(a.constancy, b.constancy);
  if (!left->type.is_number() || is_float(left->type.elem))
    return run;
  std::string_view pred = comparison.get(attr::pred_);
  const bool is_unsigned = pred.starts_with("u");
  if (pred == "lt" || pred == "ge" || pred == "ult" || pred == "uge")
    run = std::max(run, aligned_groups(a, b));
  if (pred == "gt" || pred == "le" || pred == "ugt" || pred == "ule")
    run = std::max(run, aligned_groups(b, a));
  if (is_unsigned)
    return run;
  run = std::max(run, std::min(a.contiguity, b.contiguity));
  return std::max(run, constant_run_of_difference(comparison, axis));
}

// The same for a - b, in which equal terms cancel.
int64_t AxisInfos::constant_run_of_difference(const Op &comparison, int axis) {
  const std::optional<Affine> &a = forms_.affine(comparison.operand(0)),
                              &b = forms_.affine(comparison.operand(1));
  const Shape &shape = comparison.result()->type.shape;
  if (!a || !b || a->base || b->base || shape.empty())
    return 1;
  Poly stride = a->strides[size_t(axis)] - b->strides[size_t(axis)];
  if (stride.is_zero())
    return no_limit;
  bool rises = stride.is_constant(1), falls = stride.is_constant(-1);
  std::string_view pred = comparison.get(attr::pred_);
  bool changes_at_multiples =
      (rises && (pred == "lt" || pred == "ge")) || (falls && (pred == "gt" || pred == "le"));
  if (!changes_at_multiples)
    return 1;
  int64_t run = divisor(a->offset - b->offset);
  for (size_t d = 0; d < shape.size(); d++)
    if (int(d) != axis && shape[d] > 1)
      run = std::min(run, divisor(a->strides[d] - b->strides[d]));
  return run;
}

// --- Loops ---------------------------------------------------------------------------------------

// What the initial value has and each iteration keeps.
AxisInfo AxisInfos::of_carried(const Value *value, int axis) {
  const Op &loop = *value->block->parent;
  const size_t skip = loop.is(Opcode::for_loop_) ? 1 : 0, at = size_t(value->index);
  if (at < skip || assumptions_ >= max_assumptions)
    return {};
  // Both blocks of a while_loop have the carried values as arguments.
  const Block &body = *loop.blocks.back();
  const Value *carried = body.arguments[at], *next = body.terminator()->operand(at - skip);
  AxisInfo assumed = of(loop.operand(at), axis);
  assumptions_++;
  for (int round = 1;; round++) {
    Known before = known_;
    for (const Block *block : loop.blocks)
      known_.infos[{block->arguments[at], carried->type.is_scalar() ? 0 : axis}] = assumed;
    AxisInfo kept = meet(assumed, of(next, axis), step_of(value->type));
    if (kept == assumed)
      break;
    assumed = round < max_rounds ? kept : AxisInfo();
    known_ = std::move(before);
  }
  assumptions_--;
  return assumed;
}

// --- Signs ---------------------------------------------------------------------------------------

bool AxisInfos::is_never_negative(const Value *value) {
  if (auto found = known_.signs.find(value); found != known_.signs.end())
    return found->second;
  Nested nested(depth_);
  if (depth_ > max_depth)
    return false;
  if (const Op *op = value->op) {
    const size_t at = size_t(value->index);
    bool is_loop = op->is(Opcode::for_loop_) || op->is(Opcode::while_loop_);
    bool result = is_loop ? is_never_negative(carried_of(*op, at))
                  : op->is(Opcode::if_else_)
                      ? is_never_negative(op->blocks[0]->terminator()->operand(at)) &&
                            is_never_negative(op->blocks[1]->terminator()->operand(at))
                      : is_never_negative(*op);
    return known_.signs[value] = result;
  }
  if (!value->block)
    return false; // a parameter
  const Op &loop = *value->block->parent;
  const size_t skip = loop.is(Opcode::for_loop_) ? 1 : 0, at = size_t(value->index);
  if (at < skip)
    return true; // the counter
  if (assumptions_ >= max_assumptions || !is_never_negative(loop.operand(at)))
    return false;
  assumptions_++;
  Known before = known_;
  for (const Block *block : loop.blocks)
    known_.signs[block->arguments[at]] = true;
  bool result = is_never_negative(loop.blocks.back()->terminator()->operand(at - skip));
  if (!result)
    known_ = std::move(before);
  assumptions_--;
  return known_.signs[value] = result;
}

// Whether no element of the result is negative, read as a signed number.
bool AxisInfos::is_never_negative(const Op &op) {
  auto operand = [&](size_t i) { return is_never_negative(op.operand(i)); };
  const bool wraps = op.has(attr::unsigned_);
  switch (op.code) {
  case Opcode::constant_:
    return op.has(attr::value_) && op.get(attr::value_) >= 0 && op.result()->type.elem != Elem::i1;
  case Opcode::range_:
    return op.get(attr::start_) >= 0;
  case Opcode::program_id_:
  case Opcode::num_programs_:
  case Opcode::block_id_:
  case Opcode::num_blocks_:
  case Opcode::num_sms_:
    return true;
  case Opcode::splat_:
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::trans_:
  case Opcode::reshape_:
  case Opcode::extract_:
  case Opcode::no_hoist_:
  case Opcode::copy_:
  case Opcode::convert_layout_:
  case Opcode::host_value_:
  case Opcode::shr_:
  case Opcode::rem_: // has the sign of the dividend
    return operand(0);
  case Opcode::add_:
  case Opcode::mul_:
    return !wraps && operand(0) && operand(1);
  case Opcode::max_:
  case Opcode::umin_: // not above either operand, read as unsigned numbers
  case Opcode::urem_:
  case Opcode::and_:
    return operand(0) || operand(1);
  case Opcode::div_:
  case Opcode::min_:
  case Opcode::umax_:
  case Opcode::or_:
  case Opcode::xor_:
    return operand(0) && operand(1);
  case Opcode::udiv_:
    return operand(0);
  case Opcode::ushr_:
    return operand(0) || constant_of(op.operand(1)).value_or(0) > 0;
  case Opcode::select_:
    return operand(1) && operand(2);
  case Opcode::cast_: {
    Elem from = op.operand(0)->type.elem, to = op.result()->type.elem;
    if (is_float(from) || bits_of(to) < bits_of(from))
      return false;
    return operand(0) || (wraps && bits_of(to) > bits_of(from));
  }
  default:
    return false;
  }
}

} // namespace tritonc
