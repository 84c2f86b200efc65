// Finds the order by which a loop chooses between a carried value, the key, and a new element.

#pragma once

#include "ir/ir.h"

#include <optional>
#include <string>

namespace tritonc {

/// `max` or `min` of some elements and of the start: the key after the loop.
struct KeyOrder {
  std::string op;  // as in `reduce`
  bool takes_last; // which of several equal elements replaces the key: the last one, or the first
};

/// `key` is a value that the loop with this `body` carries, and `select predicate, element, key` is
/// its next value. Nothing if the order of keys is unknown, if the start may matter more than an
/// element (a NaN that no element replaces), or if something else depends on `key`. Other selects
/// may use `predicate`.
std::optional<KeyOrder> find_key_order(ir::Block &body, const ir::Value *predicate,
                                       const ir::Value *key, const ir::Value *element,
                                       const ir::Value *start);

} // namespace tritonc
