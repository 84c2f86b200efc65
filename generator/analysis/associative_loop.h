// Finds a loop that only reduces: its iterations may be divided among blocks.

#pragma once

#include "ir/builder.h"

namespace tritonc {

/// A loop whose carried values are totals of an associative operation. With the same operation, the
/// totals of parts of the iterations give the totals of all iterations.
struct AssociativeLoop {
  struct Total {
    std::string op;   // as in `reduce`
    ir::Value *value; // the result of the loop, or of the reductions of this result by `op`
  };
  ir::Op *loop;
  std::vector<Total> totals;
};

/// `fn`: a result of canonical_form. Nothing if the function has other loops, or if something else
/// happens in each iteration, or before the loop: a store, for example. The iterations are a
/// host_expression, the totals have one type of elements.
std::optional<AssociativeLoop> find_associative_loop(ir::Function &fn);

/// The totals of a loop of the function's body, one per carried value. Nothing if a carried value is
/// no total of numbers with fewer than max_rank axes.
std::optional<std::vector<AssociativeLoop::Total>> find_totals(ir::Function &fn, ir::Op &loop);

/// The operation that makes carried value `i` of `loop` a total, as in `reduce`; empty: it is none.
std::string_view total_of(ir::Op &loop, size_t i);

/// The value that changes no total, for a scalar or tile of `type`.
ir::Value *emit_identity(ir::Builder &builder, std::string_view op, const ir::Type &type);

} // namespace tritonc
