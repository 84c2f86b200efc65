// What the buffers of random kernels hold: a formula of a seed and an index, so that a buffer need
// not be stored, and hashes of what kernels make of them.
//
// Knows nothing of the compiler; the program that runs kernels on a GPU uses it too.

#pragma once

#include "random/types.h"

#include <string>
#include <vector>

namespace tritonc::random {

/// The elements of a buffer: drawn from `low` to `high`. Integers and floats alike are whole
/// numbers, unless `fraction_bits` says how many binary digits a float has after its point.
struct Data {
  int64_t low = 0, high = 0;
  int fraction_bits = 0;

  bool operator==(const Data &) const = default;
};

/// What the numbers of a buffer are drawn by: the kernel's seed and the name of the parameter, so
/// that they stay the same when another parameter goes.
uint64_t stream_of(uint64_t seed, const std::string &name);

/// Element `index` of a buffer. Every number drawn must be one that the buffer's type can hold.
struct DataValue {
  int64_t integer;
  double real;
};
DataValue value_of(const Data &data, uint64_t stream, int64_t index);

/// The bytes of an element of type `scalar`, appended to `bytes` as a GPU has them in memory.
void append_bytes(Scalar scalar, DataValue value, std::vector<uint8_t> &bytes);

/// The number that the bytes are; those of 8 and 16 bits too.
DataValue from_bytes(Scalar scalar, const uint8_t *bytes);

/// A whole buffer of `count` elements.
std::vector<uint8_t> bytes_of(const Data &data, Scalar scalar, uint64_t stream, int64_t count);

/// What a buffer that a kernel only writes holds before: a pattern that no kernel writes but by
/// chance, different for every byte of an element.
std::vector<uint8_t> unwritten_bytes(Scalar scalar, int64_t count);

/// A hash of a buffer (FNV-1a). Zeros count the same whatever their sign is, since the order in
/// which a sum is formed decides it.
uint64_t hash_of(Scalar scalar, const std::vector<uint8_t> &bytes);

} // namespace tritonc::random
