// The matrices on the device: two operands of random numbers, our result and the peer's.
#pragma once

#include "matmul.h"
#include "rows.h"
#include "values.h"

#include <tritonc/device.hpp>

#include <vector>

namespace bench {

/// As large as the largest of the rows needs them; each row uses their beginnings.
class Matrices {
public:
  /// Throws std::runtime_error if there is not so much memory.
  explicit Matrices(const std::vector<Row> &rows);

  /// Fills the operands with numbers of the row's type, unless they hold them already.
  void fill(Type type);

  Operands ours() const { return {a_.data(), b_.data(), ours_.data()}; }
  Operands peers() const { return {a_.data(), b_.data(), peers_.data()}; }

  /// Lets both compute what the row says, where neither has written anything before.
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
