// Matrices in device memory: two random operands, our result and the result of the peer.
#pragma once

#include "matmul.h"
#include "rows.h"
#include "values.h"

#include <tritonc/device.hpp>

#include <vector>

namespace bench {

/// Matrices for the largest row. Each row uses the first elements.
class Matrices {
public:
  /// Throws std::runtime_error if the memory is too small.
  explicit Matrices(const std::vector<Row> &rows);

  /// Fills the operands with values of the type, unless they already contain them.
  void fill(Type type);

  Operands ours() const { return {a_.data(), b_.data(), ours_.data()}; }
  Operands peers() const { return {a_.data(), b_.data(), peers_.data()}; }

  /// Poisons both results, runs both kernels and compares the results.
  Difference compare(const Row &row, const Launch &ours, const Launch &peer);

private:
  using Bytes = tritonc::buffer<unsigned char>;

  void upload(Bytes &matrix, const std::vector<unsigned char> &numbers, std::size_t start);

  std::vector<float> numbers_;
  std::vector<unsigned char> host_ours_, host_peers_;
  Bytes a_, b_, ours_, peers_;
  bool is_filled_ = false;
  Type type_ = Type::float16;
};

} // namespace bench
