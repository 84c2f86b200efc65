// Finds the parameters through which a kernel loads and stores.
//
//     %p = addptr %x, %i : ptr<f32>[32]
//     %q = select %m, %p, %y : ptr<f32>[32]
//     store %q, %v
//
// This kernel stores through `x` and through `y`.
//
// Method: for each value, collects the parameters that it may be computed from. Repeats through
// branches and loops until nothing changes. A loaded value depends on no parameter. An offset does
// not change the parameter of a pointer: `x + (q - p)` is a pointer of `x`.
//
// Tested by tests/unit/analysis/parameter_accesses_test.cpp.

#include "analysis/parameter_accesses.h"

#include "analysis/value_flow.h"

#include <map>
#include <set>

namespace tritonc {

namespace {

using namespace ir;

class Analysis {
public:
  explicit Analysis(const Function &fn) : fn_(fn) {
    for (size_t i = 0; i < fn.parameters.size(); i++)
      if (fn.parameters[i].value->type.is_pointer())
        from_[fn.parameters[i].value] = {i};
  }

  std::vector<ParameterAccess> run() {
    do {
      is_changed_ = false;
      for_each_op(*fn_.body, [&](Op &op) { follow(op); });
    } while (is_changed_);
    std::vector<ParameterAccess> result(fn_.parameters.size());
    for_each_op(*fn_.body, [&](Op &op) {
      bool loads = op.is(Opcode::load_) || op.is_atomic();
      bool stores = op.is(Opcode::store_) || op.is_atomic();
      if (!loads && !stores)
        return;
      for (size_t parameter : from_[op.operand(0)]) {
        result[parameter].loads |= loads;
        result[parameter].stores |= stores;
      }
    });
    return result;
  }

private:
  void add(const Value *to, const Value *from) {
    auto found = from_.find(from);
    if (found == from_.end())
      return;
    std::set<size_t> &its = from_[to];
    size_t before = its.size();
    its.insert(found->second.begin(), found->second.end());
    is_changed_ |= its.size() != before;
  }

  /// Propagates from operands to results.
  void follow(const Op &op) {
    for_each_flow(op, [&](const Value *to, const Value *from) { add(to, from); });
    if (!op.blocks.empty() || op.results.empty() || op.is(Opcode::load_) || op.is_atomic())
      return;
    size_t count = op.is(Opcode::addptr_) ? 1 : op.operands.size();
    for (size_t i = 0; i < count; i++)
      add(op.results[0], op.operand(i));
  }

  const Function &fn_;
  std::map<const Value *, std::set<size_t>> from_;
  bool is_changed_ = false;
};

} // namespace

std::vector<ParameterAccess> parameter_accesses(const Function &fn) { return Analysis(fn).run(); }

} // namespace tritonc
