// Finds a loop that only reduces: its iterations may be divided among blocks.

#pragma once

#include "ir/builder.h"

namespace tritonc {

/// A loop whose carried values are totals of an associative operation. With the same operation, the
/// totals of parts of the iterations give the totals of all iterations.
///
/// A total may have a key, as the index of a maximum: then it combines only the values at the key,
/// that is, of the parts whose key is the total of the keys. If all keys are NaN, it combines all.
/// A key may have a key itself: a value at the index of the maximum.
struct AssociativeLoop {
  struct Total {
    std::string op;   // as in `reduce`
    ir::Value *value; // the result of the loop, or of the reductions of this result by `op`
    std::optional<size_t> key = {}; // the number of the total that is the key
  };
  ir::Op *loop;
  std::vector<Total> totals;
};

/// `fn`: a result of canonical_form. Nothing if the function has other loops, or if something else
/// happens in each iteration, or before the loop: a store, for example. The iterations are a
/// host_expression. The elements of all totals have one size.
std::optional<AssociativeLoop> find_associative_loop(ir::Function &fn);

/// The totals of a loop of the function's body, one per carried value. Nothing if a carried value is
/// no total of numbers with fewer than max_rank axes.
std::optional<std::vector<AssociativeLoop::Total>> find_totals(ir::Function &fn, ir::Op &loop);

/// The operation that makes carried value `i` of `loop` a total, as in `reduce`; empty: it is none.
std::string_view total_of(ir::Op &loop, size_t i);

/// The value that changes no total, for a scalar or tile of `type`. For `max` and `min` of floats it
/// is NaN: the total of no element but NaN is NaN.
ir::Value *emit_identity(ir::Builder &builder, std::string_view op, const ir::Type &type);

} // namespace tritonc
