// Finds accesses that are narrow because of unknown multiples. See narrow_accesses.h.
//
// Tested by tests/unit/analysis/narrow_accesses_test.cpp.

#include "analysis/narrow_accesses.h"

#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "analysis/operand_loads.h"
#include "analysis/value_flow.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t estimated_iterations = 16; // of a loop
constexpr int64_t counted_share = 16;        // 1/16 of the bytes: smaller accesses do not count
constexpr int64_t widened_share = 4;         // 1/4 of the bytes must become wider

// Adds `value` and all values from which it is computed, those of the first operand first.
void add_inputs(const Value *value, std::vector<const Value *> &order,
                std::set<const Value *> &found) {
  std::vector<const Value *> waiting = {value}; // the last one is next
  while (!waiting.empty()) {
    const Value *next = waiting.back();
    waiting.pop_back();
    if (!found.insert(next).second)
      continue;
    order.push_back(next);
    const Op *flow = next->block ? next->block->parent : next->op;
    if (flow)
      for_each_flow(*flow, [&](const Value *to, const Value *from) {
        if (to == next)
          waiting.push_back(from);
      });
    if (next->op)
      waiting.insert(waiting.end(), next->op->operands.rbegin(), next->op->operands.rend());
  }
}

// The parameters on which the width of the access may depend.
std::vector<Parameter *> parameters_of(const Op &access, Assumable assumable, Function &kernel) {
  std::vector<const Value *> inputs;
  std::set<const Value *> seen;
  add_inputs(access.operand(0), inputs, seen);
  if (const Value *mask = mask_of(access); mask && assumable == Assumable::all)
    add_inputs(mask, inputs, seen);
  std::vector<Parameter *> found;
  for (const Value *input : inputs)
    for (Parameter &parameter : kernel.parameters)
      if (parameter.value == input &&
          (input->type.is_pointer() ? assumable == Assumable::all : is_integer(input->type.elem)))
        found.push_back(&parameter);
  return found;
}

// What the kernel promises about a parameter: a multiple, or an alignment in bytes.
int &promise_of(Parameter &parameter) {
  return parameter.value->type.is_pointer() ? parameter.aligned_bytes : parameter.multiple_of;
}

// The promises about some parameters, which change until they are restored.
class Promises {
public:
  ~Promises() {
    for (auto &[parameter, promise] : before_)
      promise_of(*parameter) = promise;
  }

  /// Promises a multiple of `number`, if the kernel does not.
  void add(Parameter &parameter, int64_t number) {
    if (promise_of(parameter) % number != 0)
      before_.emplace_back(&parameter, std::exchange(promise_of(parameter), int(number)));
  }

  const std::vector<std::pair<Parameter *, int>> &before() const { return before_; }

private:
  std::vector<std::pair<Parameter *, int>> before_;
};

int64_t wanted_of(const Parameter &parameter, int64_t elements) {
  return parameter.value->type.is_pointer() ? widest_access_bytes : elements;
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

WidestAccess widest_access(const Op &access, Function &kernel) {
  Promises promises;
  for (Parameter *parameter : parameters_of(access, Assumable::address, kernel))
    promises.add(*parameter, widest_access_bytes);
  const Value *pointers = access.operand(0);
  std::optional<int> axis = contiguous_axis(pointers, kernel);
  if (!axis)
    return {};
  return {axis, std::min<int64_t>(widest_access_bytes / bytes_of(pointers->type.elem),
                                  contiguous_elements(pointers, *axis, kernel))};
}

std::vector<const Parameter *> parameters_that_widen(const Op &access, int64_t elements,
                                                     Assumable assumable, Function &kernel) {
  const Value *pointers = access.operand(0), *mask = mask_of(access);
  auto is_wide = [&] { return vector_elements(pointers, mask, kernel) >= elements; };
  if (is_wide())
    return {};
  // Makes all possible assumptions, then drops each one that does not help, from the last parameter
  // on: each factor of a product may make the product a multiple.
  const std::vector<Parameter *> parameters = parameters_of(access, assumable, kernel);
  std::vector<Parameter *> last_first = parameters;
  std::sort(last_first.begin(), last_first.end(), std::greater());
  Promises promises;
  for (Parameter *parameter : last_first)
    promises.add(*parameter, wanted_of(*parameter, elements));
  if (!is_wide())
    return {};
  std::set<const Parameter *> needed;
  for (auto &[parameter, promise] : promises.before()) {
    int assumed = std::exchange(promise_of(*parameter), promise);
    if (is_wide())
      continue;
    needed.insert(parameter);
    promise_of(*parameter) = assumed;
  }
  std::vector<const Parameter *> result;
  std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(result),
               [&](const Parameter *parameter) { return needed.count(parameter); });
  return result;
}

namespace {

// A load or store that becomes wider with some of the divisors.
struct WidenedAccess {
  const Op *op;
  int64_t elements;
};

// Drops divisors without which all accesses are as wide, from the last parameter on.
void drop_unneeded(std::vector<Divisor> &divisors, const std::vector<WidenedAccess> &widened,
                   Function &kernel) {
  auto are_wide_without = [&](const Parameter *one) {
    Promises promises;
    for (Parameter &parameter : kernel.parameters)
      for (const Divisor &divisor : divisors)
        if (&parameter != one && divisor.parameter == parameter.name)
          promises.add(parameter, divisor.number);
    return std::all_of(widened.begin(), widened.end(), [&](const WidenedAccess &access) {
      return vector_elements(access.op->operand(0), mask_of(*access.op), kernel) >= access.elements;
    });
  };
  for (auto at = kernel.parameters.rbegin(); at != kernel.parameters.rend(); ++at)
    if (are_wide_without(&*at))
      std::erase_if(divisors, [&](const Divisor &one) { return one.parameter == at->name; });
}

// The operands of dots that TMA copies. TMA cannot copy through pointers.
std::vector<const Op *> loads_by_tma(Function &kernel) {
  std::vector<const Op *> loads;
  for (const OperandLoad &operand : operand_loads(kernel))
    loads.push_back(operand.load);
  const bool have_views = std::all_of(
      loads.begin(), loads.end(), [](const Op *load) { return load->operand(0)->type.is_view(); });
  return have_views ? loads : std::vector<const Op *>();
}

} // namespace

std::vector<Divisor> widening_divisors(Function &kernel) {
  const std::vector<const Op *> by_tma = loads_by_tma(kernel);
  const bool is_matmul = find_matmul_loop(kernel).found.has_value();
  auto is_by_tma = [&](const Op *op) {
    return std::find(by_tma.begin(), by_tma.end(), op) != by_tma.end();
  };
  auto is_pointer = [](const Parameter *one) { return one->value->type.is_pointer(); };
  std::vector<const Op *> accesses;
  int64_t all_bytes = 0, widened_bytes = 0;
  for_each_op(*kernel.body, [&](const Op &op) {
    if ((!op.is(Opcode::load_) && !op.is(Opcode::store_)) || op.operand(0)->type.is_scalar())
      return;
    accesses.push_back(&op);
    all_bytes += is_by_tma(&op) ? 0 : bytes_moved(op);
  });
  std::vector<Divisor> divisors;
  std::vector<WidenedAccess> widened;
  for (const Op *op : accesses) {
    int64_t elements = widest_access(*op, kernel).elements;
    const bool is_small = !is_by_tma(op) && counted_share * bytes_moved(*op) < all_bytes;
    if (elements == 1 || is_small)
      continue;
    std::vector<const Parameter *> needed =
        parameters_that_widen(*op, elements, Assumable::all, kernel);
    if (is_matmul && std::any_of(needed.begin(), needed.end(), is_pointer))
      continue;
    if (!needed.empty())
      widened.push_back({op, elements});
    if (!needed.empty() && !is_by_tma(op))
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
  if (widened_bytes == 0 || widened_share * widened_bytes < all_bytes)
    divisors.clear();
  drop_unneeded(divisors, widened, kernel);
  return divisors;
}

} // namespace tritonc
