// Compares values of different blocks, such as two loops.

#pragma once

#include "ir/ir.h"

#include <map>
#include <utility>

namespace tritonc {

/// Pairs of values that are equal. It grows as it finds more, so it serves many questions.
class SameValues {
public:
  void add(const ir::Value *a, const ir::Value *b) { known_[{a, b}] = true; }

  /// Whether `a` and `b` are always equal: pure operations with the same attributes compute them
  /// from equal values. Two null values are equal. False also if it cannot tell.
  bool operator()(const ir::Value *a, const ir::Value *b);

private:
  std::map<std::pair<const ir::Value *, const ir::Value *>, bool> known_;
};

} // namespace tritonc
