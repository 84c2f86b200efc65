// Implements the lint warnings; each check is one function that visits the kernel once. See lint.h.
//
// A false warning is worse than a missing warning. So a check warns only if the formula of an
// address or a loop proves the fact.
//
// Tested by tests/diagnostics/lint*.tc; tests/unit/diagnose/lint_test.cpp requires that kernels/ has no
// lint warnings.

#include "diagnose/lint.h"

#include "analysis/memory_access.h"
#include "analysis/narrow_accesses.h"
#include "analysis/tensor_access.h"
#include "passes/pipeline.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

tritonc::Location place_of(const Op &op, const Function &kernel,
                           const DiagnosticEngine &diagnostics) {
  return diagnostics.at({op.location.line, op.location.column}, kernel.file);
}

const char *access_name(const Op &op) { return op.is(Opcode::load_) ? "load" : "store"; }

// Adds a note at a parameter that suggests a `__multipleof` assumption.
void note_promise(Message id, const Parameter &parameter, int64_t multiple, const Function &kernel,
                  DiagnosticEngine &diagnostics) {
  LineColumn place = {parameter.location.line, parameter.location.column};
  tritonc::Location at = diagnostics.at(place, kernel.file);
  std::string number = std::to_string(multiple);
  std::vector<Edit> edits;
  if (diagnostics.token_at(at) == parameter.name && parameter.multiple_of == 1)
    edits = {Edit::insert_behind(at, " __multipleof(" + number + ")")};
  diagnostics.report(id, at, {parameter.name, number}, {}, std::move(edits));
}

std::string text_of(const Shape &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

// A stride in source notation; nullopt if the stride is more than one product.
std::optional<std::string> text_of(const Poly &stride) {
  if (stride.terms.size() != 1)
    return std::nullopt;
  const auto &[operands, coefficient] = *stride.terms.begin();
  std::string text = coefficient == 1 && !operands.empty() ? "" : std::to_string(coefficient);
  for (const Value *operand : operands) {
    if (operand->name.empty())
      return std::nullopt;
    text += (text.empty() ? "`" : " * `") + operand->name + "`";
  }
  return text;
}

// --- Uncoalesced accesses ------------------------------------------------------------------------

// Whether adjacent elements of an axis are in different sectors. A stride that is known only at run
// time may be 1, unless it is a multiple of a constant: then it is a leading dimension.
bool is_far(const Poly &stride, Elem elem, const Function &kernel) {
  std::optional<int64_t> constant = stride.as_constant();
  return constant ? std::abs(*constant) * bytes_of(elem) >= sector_bytes
                  : divisor_of(stride, kernel) > 1;
}

void lint_strides(const Function &kernel, DiagnosticEngine &diagnostics) {
  constexpr int64_t lanes = 32;
  for_each_op(*kernel.body, [&](const Op &op) {
    if (!op.is_load_or_store() || !op.operand(0)->type.is_view())
      return;
    const Type &type = op.operand(0)->type;
    std::optional<Affine> form = affine_of(op.operand(0));
    int64_t elements = 1;
    std::optional<size_t> nearest; // the last axis, or the axis with the smallest stride
    bool all_far = form.has_value();
    for (size_t d = 0; form && d < type.shape.size(); d++) {
      elements *= type.shape[d];
      if (type.shape[d] == 1)
        continue;
      const Poly &stride = form->strides[d];
      all_far &= is_far(stride, type.elem, kernel);
      if (!nearest || stride.as_constant() || !form->strides[*nearest].as_constant())
        nearest = d;
    }
    if (!all_far || !nearest || elements < lanes)
      return;
    std::optional<std::string> stride = text_of(form->strides[*nearest]);
    if (!stride)
      return;
    tritonc::Location at = place_of(op, kernel, diagnostics);
    diagnostics.report(Message::uncoalesced, at,
                       {access_name(op), text_of(type.shape), std::to_string(*nearest), *stride});
    diagnostics.report(Message::transpose_it, at);
  });
}

// --- Masks ---------------------------------------------------------------------------------------

// Whether the mask bounds the index along the axis; true if the bounds are unknown.
bool is_guarded(const Value *mask, int rank, int axis) {
  if (!mask)
    return false;
  std::optional<std::vector<Bound>> bounds = bounds_of(mask, rank);
  return !bounds || std::any_of(bounds->begin(), bounds->end(),
                                [&](const Bound &bound) { return bound.axis == axis; });
}

// --- Missing `__multipleof` assumptions ----------------------------------------------------------

// Whether `parameter` is a leading dimension of the tile: the only symbol in a stride.
bool is_leading_dimension(const Parameter *parameter, const Affine &form, const Shape &shape) {
  for (size_t d = 0; d < shape.size(); d++) {
    const auto &terms = form.strides[d].terms;
    if (shape[d] > 1 && terms.size() == 1 &&
        terms.begin()->first == Poly::Monomial{parameter->value})
      return true;
  }
  return false;
}

// Whether the kernel probably supports sizes that are not multiples, so that an assumption would
// not hold. A mask along the contiguous axis says so. The exceptions are accesses of less than 4
// bytes, which cp.async cannot copy, because of a leading dimension: such rows are usually multiples,
// and the mask is for the last tile.
bool supports_all_sizes(const Op &access, int axis, int64_t width,
                        const std::vector<const Parameter *> &needed) {
  constexpr int64_t min_copy_bytes = 4; // of cp.async
  const Type &type = access.operand(0)->type;
  const Value *mask = mask_of(access);
  if (!mask || mask->type.is_scalar() || !is_guarded(mask, type.rank(), axis))
    return false;
  std::optional<Affine> form = affine_of(access.operand(0));
  return !form || width * bytes_of(type.elem) >= min_copy_bytes ||
         std::none_of(needed.begin(), needed.end(), [&](const Parameter *parameter) {
           return is_leading_dimension(parameter, *form, type.shape);
         });
}

// Whether a library has code of its own in which the parameters are multiples.
bool is_specialized_for(const std::vector<const Parameter *> &parameters, int64_t multiple,
                        const std::vector<Divisor> &specialized) {
  return std::all_of(parameters.begin(), parameters.end(), [&](const Parameter *parameter) {
    return std::any_of(specialized.begin(), specialized.end(), [&](const Divisor &divisor) {
      return divisor.parameter == parameter->name && divisor.number % multiple == 0;
    });
  });
}

void lint_multiples(Function &kernel, DiagnosticEngine &diagnostics) {
  const std::vector<Divisor> specialized = widening_divisors(kernel);
  std::set<const Parameter *> said;
  std::vector<const Op *> accesses;
  for_each_op(*kernel.body, [&](const Op &op) {
    if (op.is_load_or_store() && op.operand(0)->type.is_tile())
      accesses.push_back(&op);
  });
  for (const Op *op : accesses) {
    auto [axis, wanted] = widest_access(*op, kernel);
    int64_t width = vector_elements(op->operand(0), mask_of(*op), kernel);
    if (!axis || width >= wanted)
      continue;
    std::vector<const Parameter *> needed =
        parameters_that_widen(*op, wanted, Assumable::address, kernel);
    if (supports_all_sizes(*op, *axis, width, needed) ||
        is_specialized_for(needed, wanted, specialized))
      continue;
    std::string names;
    bool is_new = false;
    for (const Parameter *parameter : needed) {
      names += (names.empty() ? "`" : " and `") + parameter->name + "`";
      is_new |= said.insert(parameter).second;
    }
    if (!is_new)
      continue;
    tritonc::Location at = place_of(*op, kernel, diagnostics);
    diagnostics.report(Message::multiple_unknown, at,
                       {access_name(*op), std::to_string(width), std::to_string(wanted), names,
                        needed.size() == 1 ? "is" : "are"});
    for (const Parameter *parameter : needed)
      note_promise(Message::declare_multiple, *parameter, wanted, kernel, diagnostics);
  }
}

// --- Masks with a constant value -----------------------------------------------------------------

// The comparison's value if it is the same for all elements and all arguments.
std::optional<bool> value_of(const Op &comparison) {
  std::optional<Affine> left = affine_of(comparison.operand(0)),
                        right = affine_of(comparison.operand(1));
  if (!left || !right || left->base || right->base)
    return std::nullopt;
  std::optional<int64_t> offset = (left->offset - right->offset).as_constant();
  if (!offset)
    return std::nullopt;
  int64_t min_value = *offset, max_value = *offset;
  const Shape &shape = comparison.result()->type.shape;
  for (size_t d = 0; d < shape.size(); d++) {
    std::optional<int64_t> stride = (left->strides[d] - right->strides[d]).as_constant();
    if (!stride)
      return std::nullopt;
    (*stride < 0 ? min_value : max_value) += *stride * (shape[d] - 1);
  }
  std::string_view pred = comparison.get(attr::pred_);
  auto always = [](bool all, bool none) {
    return all ? std::optional(true) : none ? std::optional(false) : std::nullopt;
  };
  if (pred == "lt")
    return always(max_value < 0, min_value >= 0);
  if (pred == "le")
    return always(max_value <= 0, min_value > 0);
  if (pred == "gt")
    return always(min_value > 0, max_value <= 0);
  if (pred == "ge")
    return always(min_value >= 0, max_value < 0);
  return std::nullopt;
}

// Collects the comparisons whose conjunction is the mask.
void add_comparisons(const Value *mask, std::set<const Op *> &found) {
  const Op *op = mask ? mask->op : nullptr;
  if (!op)
    return;
  if (op->is(Opcode::cmp_) && mask->type.rank() > 0)
    found.insert(op);
  bool looks_through = op->is(Opcode::and_) || op->is(Opcode::expand_) ||
                       op->is(Opcode::broadcast_) || op->is(Opcode::trans_);
  for (size_t i = 0; looks_through && i < op->operands.size(); i++)
    add_comparisons(op->operand(i), found);
}

void lint_masks(const Function &kernel, DiagnosticEngine &diagnostics) {
  std::set<const Op *> said;
  for_each_op(*kernel.body, [&](const Op &op) {
    std::set<const Op *> comparisons;
    if (op.is_load_or_store())
      add_comparisons(mask_of(op), comparisons);
    if (comparisons.empty())
      return;
    for_each_op(*kernel.body, [&](const Op &comparison) { // in the order of the source
      if (!comparisons.count(&comparison) || said.count(&comparison))
        return;
      std::optional<bool> value = value_of(comparison);
      if (!value)
        return;
      said.insert(&comparison);
      tritonc::Location at = place_of(comparison, kernel, diagnostics);
      diagnostics.report(Message::mask_always_true, at, {*value ? "true" : "false"});
      diagnostics.report(Message::drop_mask, at);
    });
  });
}

// --- Sums in narrow types ------------------------------------------------------------------------

struct NarrowType {
  const char *name;
  const char *bits; // significand bits, including the implicit bit
};

std::optional<NarrowType> narrow_type(Elem elem) {
  switch (elem) {
  case Elem::f16:
    return NarrowType{"half", "11"};
  case Elem::bf16:
    return NarrowType{"bfloat16", "8"};
  case Elem::e4m3:
    return NarrowType{"e4m3", "4"};
  case Elem::e5m2:
    return NarrowType{"e5m2", "3"};
  default:
    return std::nullopt;
  }
}

// Whether `value` is `carried` plus something.
bool adds_to(const Value *carried, const Value *value, bool has_added = false) {
  if (value == carried)
    return has_added;
  const Op *op = value->op;
  if (!op)
    return false;
  switch (op->code) {
  case Opcode::cast_:
    return is_float(op->operand(0)->type.elem) && adds_to(carried, op->operand(0), has_added);
  case Opcode::add_:
    return adds_to(carried, op->operand(0), true) || adds_to(carried, op->operand(1), true);
  case Opcode::sub_:
    return adds_to(carried, op->operand(0), true);
  case Opcode::fma_:
  case Opcode::dot_:
    return adds_to(carried, op->operand(2), true);
  case Opcode::select_:
    return adds_to(carried, op->operand(1), has_added) ||
           adds_to(carried, op->operand(2), has_added);
  default:
    return false;
  }
}

void lint_sums(const Function &kernel, DiagnosticEngine &diagnostics) {
  for_each_op(*kernel.body, [&](const Op &loop) {
    if (!loop.is(Opcode::for_loop_) && !loop.is(Opcode::while_loop_))
      return;
    const Block &body = *loop.blocks.back();
    const Op *end = body.terminator();
    if (!end || !end->is(Opcode::yield_))
      return;
    size_t first = loop.is(Opcode::for_loop_) ? 1 : 0; // after the counter
    for (size_t i = 0; i < end->operands.size() && first + i < body.arguments.size(); i++) {
      const Value *carried = body.arguments[first + i], *next = end->operand(i);
      std::optional<NarrowType> type = narrow_type(carried->type.elem);
      if (!type || !carried->type.is_number() || carried->name.empty() || !adds_to(carried, next))
        continue;
      tritonc::Location at = place_of(*next->op, kernel, diagnostics);
      diagnostics.report(Message::narrow_accumulator, at, {carried->name, type->name, type->bits});
      diagnostics.report(Message::accumulate_in_float, at);
    }
  });
}

// --- Loops that read past the end ----------------------------------------------------------------

// A loop over [0, count) with ceil(count / step) iterations.
struct CountedSteps {
  Poly count;
  int64_t step;
};

std::optional<CountedSteps> steps_of(const Op &loop) {
  const Value *iterations = loop.operand(0);
  while (iterations->op && (iterations->op->is(Opcode::cast_) || iterations->op->is(Opcode::max_)))
    iterations = iterations->op->operand(0);
  if (!iterations->op || !iterations->op->is(Opcode::div_))
    return std::nullopt;
  std::optional<int64_t> step = constant_of(iterations->op->operand(1));
  if (!step || *step <= 1)
    return std::nullopt;
  return CountedSteps{poly_of(iterations->op->operand(0)) - Poly::constant(*step - 1), *step};
}

bool requires_multiple(const Expr &condition, int64_t parameter, int64_t multiple) {
  using Kind = Expr::Kind;
  auto is_remainder = [&](const Expr &expr) {
    return expr.kind == Kind::rem && expr.operands[0].kind == Kind::parameter &&
           expr.operands[0].value == parameter && expr.operands[1].kind == Kind::constant &&
           expr.operands[1].value % multiple == 0;
  };
  auto is_zero = [](const Expr &expr) { return expr.kind == Kind::constant && expr.value == 0; };
  const std::vector<Expr> &operands = condition.operands;
  switch (condition.kind) {
  case Kind::logical_and:
    return requires_multiple(operands[0], parameter, multiple) ||
           requires_multiple(operands[1], parameter, multiple);
  case Kind::logical_not:
    return is_remainder(operands[0]);
  case Kind::eq:
    return (is_remainder(operands[0]) && is_zero(operands[1])) ||
           (is_remainder(operands[1]) && is_zero(operands[0]));
  default:
    return false;
  }
}

// The axis of extent `step` along which the load advances by `step` elements per iteration.
std::optional<int> stepped_axis(const Affine &form, const Shape &shape, const Value *counter,
                                int64_t step) {
  Poly moved = form.offset.substitute(counter, Poly::constant(1)) -
               form.offset.substitute(counter, Poly::constant(0));
  for (size_t d = 0; d < shape.size(); d++)
    if (shape[d] == step && !form.strides[d].is_zero() &&
        form.strides[d] * Poly::constant(step) == moved)
      return int(d);
  return std::nullopt;
}

void lint_ends(const Function &kernel, DiagnosticEngine &diagnostics) {
  for_each_op(*kernel.body, [&](const Op &loop) {
    std::optional<CountedSteps> steps = loop.is(Opcode::for_loop_) ? steps_of(loop) : std::nullopt;
    if (!steps || divisor_of(steps->count, kernel) % steps->step == 0)
      return;
    for (size_t p = 0; p < kernel.parameters.size(); p++) {
      const Parameter &parameter = kernel.parameters[p];
      if (!(steps->count == Poly::symbol(parameter.value)))
        continue;
      const std::vector<Requirement> &required = kernel.plan.requirements;
      if (std::any_of(required.begin(), required.end(), [&](const Requirement &one) {
            return requires_multiple(one.condition, int64_t(p), steps->step);
          }))
        return;
      const Block &body = *loop.blocks[0];
      for (const Op *op : body.ops) {
        if (!op->is(Opcode::load_) || !op->operand(0)->type.is_view())
          continue;
        const Shape &shape = op->operand(0)->type.shape;
        std::optional<Affine> form = affine_of(op->operand(0));
        std::optional<int> axis =
            form ? stepped_axis(*form, shape, body.arguments[0], steps->step) : std::nullopt;
        if (!axis || is_guarded(mask_of(*op), int(shape.size()), *axis))
          continue;
        tritonc::Location at = place_of(*op, kernel, diagnostics);
        std::string step = std::to_string(steps->step);
        diagnostics.report(Message::reads_past, at, {parameter.name, step});
        note_promise(Message::guard_it, parameter, steps->step, kernel, diagnostics);
        return; // one warning per loop; its other loads have the same problem
      }
    }
  });
}

} // namespace

void lint(const Function &kernel, DiagnosticEngine &diagnostics) {
  Function canonical = canonical_form(kernel);
  lint_ends(canonical, diagnostics);
  lint_strides(canonical, diagnostics);
  lint_multiples(canonical, diagnostics);
  lint_masks(kernel, diagnostics);
  lint_sums(kernel, diagnostics);
}

} // namespace tritonc
