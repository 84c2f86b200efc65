// Finds a loop that only reduces: its iterations may be divided among blocks.

#pragma once

#include "ir/builder.h"

#include <functional>

namespace tritonc {

/// A loop whose carried values are totals of an associative operation. With the same operation, the
/// totals of parts of the iterations give the totals of all iterations.
///
/// A total may have a key, as the index of a maximum: then it combines only the values at the key,
/// that is, of the parts whose key is the total of the keys. If all keys are NaN, it combines all.
/// A key may have a key itself: a value at the index of the maximum.
///
/// Or a total is a rescaled sum, as that of a softmax or of attention in one loop: the terms are
/// multiples of exp(-scale * key), and an iteration with a larger key multiplies the sum so far.
struct AssociativeLoop {
  /// The scale is the product of a number and of a scalar from before the loop.
  struct Rescaling {
    ir::Opcode exp; // exp or exp2
    double number;
    ir::Value *scalar = nullptr; // null: 1
    /// The axes of the sum that the key does not have, in ascending order.
    std::vector<int64_t> axes = {};

    bool operator==(const Rescaling &) const = default;
  };
  struct Total {
    std::string op;   // as in `reduce`
    ir::Value *value; // the result of the loop, or of the reductions of this result by `op`
    std::optional<size_t> key = {};          // the number of the total that is the key
    std::optional<Rescaling> rescaling = {}; // of a rescaled sum; its key is a maximum
  };
  ir::Op *loop;
  std::vector<Total> totals;
};

/// The loop of the matmul, or the only loop. `fn`: canonical. Nothing if something else happens in
/// each iteration, or before the loop: a store, for example. The iterations have a bound on the host
/// (launch_config.h). The elements of all totals have one size.
std::optional<AssociativeLoop> find_associative_loop(ir::Function &fn);

/// The totals of a loop of the function's body, one per carried value; keys only for rescaled sums.
/// Nothing if a carried value is no total of numbers with fewer than max_rank axes.
std::optional<std::vector<AssociativeLoop::Total>> find_totals(ir::Function &fn, ir::Op &loop);

/// A rescaled sum of a loop.
struct RescaledSum {
  size_t sum, key;   // numbers of carried values
  ir::Value *terms;  // that an iteration adds to the sum; null: a dot adds them
  ir::Value *larger; // the next key
  AssociativeLoop::Rescaling rescaling;
  bool is_guarded = false; // exp(key - larger) is 1 if both are -infinity
};

std::vector<RescaledSum> find_rescaled_sums(ir::Op &loop);

/// exp(scale * (own - key)): the factor of a rescaled sum whose key changes from `own` to `key`.
ir::Value *emit_factor(ir::Builder &builder, const AssociativeLoop::Rescaling &rescaling,
                       ir::Value *own, ir::Value *key);

/// The rescaled sum of a part, whose key is `own`, for a `key` that is not smaller.
ir::Value *emit_rescaled(ir::Builder &builder, const AssociativeLoop::Rescaling &rescaling,
                         ir::Value *sum, ir::Value *own, ir::Value *key);

/// Moves the operations that compute `totals` directly after their loop. Returns the last of them, or
/// the loop.
ir::Op *gather_totals(ir::Function &fn, ir::Op &loop,
                      const std::vector<AssociativeLoop::Total> &totals);

/// Combines the totals at the places `which`: gets those of the loop in `all`, sums rescaled to the
/// key in `all`, and replaces them by those of all parts.
using CombineTotals = std::function<void(ir::Builder &, const std::vector<size_t> &which,
                                         std::vector<ir::Value *> &all)>;

/// After the loop: combines its totals with those of other parts, rescaled sums after the others.
/// All later operations use the results.
void combine_totals(ir::Function &fn, ir::Op &loop,
                    const std::vector<AssociativeLoop::Total> &totals,
                    const CombineTotals &combine);

/// The value that changes no total, for a scalar or tile of `type`. For `max` and `min` of floats it
/// is NaN: the total of no element but NaN is NaN.
ir::Value *emit_identity(ir::Builder &builder, std::string_view op, const ir::Type &type);

} // namespace tritonc
