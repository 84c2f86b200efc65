// Axis info: which runs of adjacent elements of an index or pointer tile are contiguous, aligned or
// constant, along one axis.
//
// An affine form (affine.h) describes a whole tile. A division has none, but its groups are
// regular:
//
//     int j[1024] = 8 * p + 0 ... 1024, image[1024] = j / S;       // S % 8 == 0
//     => j:             1024 contiguous elements from a multiple of 8
//        image:         8 equal elements, each multiple of 8
//        j - image * S: 8 contiguous elements from a multiple of 8
//
// The three numbers and most rules are those of Triton's AxisInfo analysis
// (lib/Analysis/AxisInfo.cpp). Triton treats a signed division as if it rounded down. Here it must
// round toward zero, so its rules require that the dividend is not negative.

#pragma once

#include "analysis/affine.h"

#include <utility>

namespace tritonc {

/// What is known about a tile along one axis. All numbers are powers of two. A group of n elements
/// is n adjacent elements along the axis, from a multiple of n on.
struct AxisInfo {
  /// In each group of this size, element i is the first element plus i. Contiguous integers do not
  /// wrap, read as signed numbers; contiguous pointers are one element apart.
  int64_t contiguity = 1;
  /// Divides the first element of each contiguous group, so every element if `contiguity` is 1. For
  /// pointers: in bytes.
  int64_t divisibility = 1;
  /// In each group of this size, all elements are equal.
  int64_t constancy = 1;

  bool operator==(const AxisInfo &) const = default;
};

/// Computes the axis info of the values of one function. Remembers results: the function and its
/// promises must not change meanwhile.
class AxisInfos {
public:
  explicit AxisInfos(const ir::Function &fn) : fn_(fn) {}

  /// The info of a tile along `axis`. A scalar is constant along every axis. Of floats and masks,
  /// only the constancy is known.
  AxisInfo of(const ir::Value *value, int axis);

  /// Whether no element of an integer is negative, read as a signed number.
  bool is_never_negative(const ir::Value *value);

private:
  struct Known {
    std::map<std::pair<const ir::Value *, int>, AxisInfo> infos;
    std::map<const ir::Value *, bool> signs; // whether the value is never negative
  };

  AxisInfo computed(const ir::Value *value, int axis);
  AxisInfo of_affine(const Affine &form, const ir::Value *value, int axis);
  AxisInfo of_operation(const ir::Op &op, int axis);
  AxisInfo of_product(const ir::Op &op, int axis);
  AxisInfo of_quotient(const ir::Op &op, int axis);
  AxisInfo of_remainder(const ir::Op &op, int axis);
  AxisInfo of_bits(const ir::Op &op, int axis);
  AxisInfo of_shift(const ir::Op &op, int axis);
  AxisInfo of_choice(const ir::Op &op, int axis);
  AxisInfo of_cast(const ir::Op &op, int axis);
  AxisInfo of_bitcast(const ir::Op &op, int axis);
  AxisInfo of_reshape(const ir::Op &op, int axis);
  AxisInfo of_load(const ir::Op &op, int axis);
  AxisInfo of_leaf(const ir::Value *value);
  AxisInfo of_carried(const ir::Value *value, int axis);
  int64_t constant_run(const ir::Op &comparison, int axis);
  int64_t constant_run_of_difference(const ir::Op &comparison, int axis);
  int64_t divisor(const Poly &poly);
  int64_t common_divisor(const ir::Value *value);
  bool is_never_negative(const ir::Op &op);

  const ir::Function &fn_;
  AffineForms forms_;
  Known known_;
  int assumptions_ = 0; // carried values in progress
  int depth_ = 0;       // nested operations in progress
};

} // namespace tritonc
