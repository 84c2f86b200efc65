// Finds accesses that are narrow because of unknown multiples. See narrow_accesses.h.
//
// Tested by tests/unit/analysis/narrow_accesses_test.cpp.

#include "analysis/narrow_accesses.h"

#include "analysis/affine.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "analysis/tensor_access.h"

#include <algorithm>
#include <utility>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t widest_bytes = 16;         // of an access by a thread
constexpr int64_t estimated_iterations = 16; // of a loop
constexpr int64_t counted_share = 16;        // 1/16 of the bytes: smaller accesses do not count
constexpr int64_t widened_share = 4;         // 1/4 of the bytes must become wider

void add_parameters(const Poly &poly, Function &kernel, std::vector<Parameter *> &found) {
  for (const auto &[operands, coefficient] : poly.terms)
    for (const Value *operand : operands)
      for (Parameter &parameter : kernel.parameters)
        if (parameter.value == operand &&
            std::find(found.begin(), found.end(), &parameter) == found.end())
          found.push_back(&parameter);
}

// The parameters on which the width of the access depends.
std::vector<Parameter *> parameters_of(const Op &access, Assumable assumable, Function &kernel) {
  const Value *view = access.operand(0), *mask = mask_of(access);
  std::optional<int> axis = contiguous_axis(view);
  std::optional<Affine> form = affine_of(view);
  std::vector<Parameter *> found;
  if (!axis || !form)
    return found;
  if (assumable == Assumable::all)
    for (Parameter &parameter : kernel.parameters)
      if (parameter.value == form->base)
        found.push_back(&parameter);
  for (const Poly &stride : form->strides)
    add_parameters(stride, kernel, found);
  add_parameters(form->offset, kernel, found);
  if (assumable == Assumable::all && mask && !mask->type.is_scalar())
    for (const Bound &bound : bounds_of(mask, view->type.rank()).value_or(std::vector<Bound>()))
      if (bound.axis == *axis)
        add_parameters(bound.before, kernel, found);
  return found;
}

// What the kernel promises about a parameter: a multiple, or an alignment in bytes.
int &promise_of(Parameter &parameter) {
  return parameter.value->type.is_pointer() ? parameter.aligned_bytes : parameter.multiple_of;
}

int64_t wanted_of(const Parameter &parameter, int64_t elements) {
  return parameter.value->type.is_pointer() ? widest_bytes : elements;
}

// Bytes that an access moves per program, as an estimate.
int64_t bytes_moved(const Op &access) {
  const Type &type = access.operand(0)->type;
  int64_t bytes = type.elements() * bytes_of(type.elem);
  for (const Op *op = access.parent->parent; op; op = op->parent ? op->parent->parent : nullptr)
    if (op->is(Opcode::for_loop_) || op->is(Opcode::while_loop_))
      bytes *= estimated_iterations;
  return bytes;
}

} // namespace

int64_t widest_elements(const Value *view) {
  std::optional<int> axis = contiguous_axis(view);
  return axis ? std::min<int64_t>(widest_bytes / bytes_of(view->type.elem),
                                  view->type.shape[size_t(*axis)])
              : 1;
}

std::vector<const Parameter *> parameters_that_widen(const Op &access, int64_t elements,
                                                     Assumable assumable, Function &kernel) {
  const Value *view = access.operand(0), *mask = mask_of(access);
  auto is_wide = [&] { return vector_elements(view, mask, kernel) >= elements; };
  if (is_wide())
    return {};
  // Makes all possible assumptions, then drops each one that does not help.
  std::vector<std::pair<Parameter *, int>> before;
  for (Parameter *parameter : parameters_of(access, assumable, kernel)) {
    int64_t wanted = wanted_of(*parameter, elements);
    if (promise_of(*parameter) % wanted != 0)
      before.emplace_back(parameter, std::exchange(promise_of(*parameter), int(wanted)));
  }
  bool helps = is_wide();
  std::vector<const Parameter *> needed;
  for (auto &[parameter, promise] : before) {
    int assumed = std::exchange(promise_of(*parameter), promise);
    if (helps && !is_wide()) {
      needed.push_back(parameter);
      promise_of(*parameter) = assumed;
    }
  }
  for (auto &[parameter, promise] : before)
    promise_of(*parameter) = promise;
  return needed;
}

std::vector<Divisor> widening_divisors(Function &kernel) {
  std::vector<const Op *> accesses;
  int64_t all_bytes = 0, widened_bytes = 0;
  for_each_op(*kernel.body, [&](const Op &op) {
    if ((!op.is(Opcode::load_) && !op.is(Opcode::store_)) || !op.operand(0)->type.is_view())
      return;
    accesses.push_back(&op);
    all_bytes += bytes_moved(op);
  });
  std::optional<MatmulLoop> matmul = find_matmul_loop(kernel).found;
  std::vector<Divisor> divisors;
  for (const Op *op : accesses) {
    bool is_by_tma = matmul && (op == matmul->operands[0].load || op == matmul->operands[1].load);
    int64_t elements = widest_elements(op->operand(0));
    if (is_by_tma || elements == 1 || counted_share * bytes_moved(*op) < all_bytes)
      continue;
    std::vector<const Parameter *> needed =
        parameters_that_widen(*op, elements, Assumable::all, kernel);
    if (!needed.empty())
      widened_bytes += bytes_moved(*op);
    for (const Parameter *parameter : needed) {
      int64_t number = wanted_of(*parameter, elements);
      auto known = std::find_if(divisors.begin(), divisors.end(), [&](const Divisor &other) {
        return other.parameter == parameter->name;
      });
      if (known == divisors.end())
        divisors.push_back({parameter->name, number});
      else
        known->number = std::max(known->number, number); // both are powers of two
    }
  }
  if (widened_share * widened_bytes < all_bytes)
    divisors.clear();
  return divisors;
}

} // namespace tritonc
