// Compares values of different blocks. See same_value.h.
//
// Tested by tests/unit/analysis/repeated_loads_test.cpp.

#include "analysis/same_value.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

bool SameValues::operator()(const Value *a, const Value *b) {
  if (a == b)
    return true;
  if (!a || !b)
    return false;
  if (auto found = known_.find({a, b}); found != known_.end())
    return found->second;
  bool same = a->op && b->op && a->op->is(b->op->code) &&
              info(a->op->code).effect == Effect::pure && a->index == b->index &&
              a->type == b->type && a->op->attributes == b->op->attributes &&
              std::equal(a->op->operands.begin(), a->op->operands.end(), b->op->operands.begin(),
                         b->op->operands.end(), std::ref(*this));
  return known_[{a, b}] = same;
}

} // namespace tritonc
