// Contents of the buffers of random kernels. Inputs are a formula of a seed and an index, so they
// need not be stored. Outputs are compared by hashes.
//
// Does not depend on the compiler; the program that runs kernels on a GPU uses it, too.

#pragma once

#include "random_kernels/types.h"

#include <string>
#include <vector>

namespace tritonc::random {

/// The elements of a buffer: integers drawn from `low` to `high`. For floats, `fraction_bits` is
/// the number of binary digits after the point.
struct Data {
  int64_t low = 0, high = 0;
  int fraction_bits = 0;

  bool operator==(const Data &) const = default;
};

/// The random stream of a buffer, from the kernel's seed and the name of the parameter. So the data
/// stay the same when another parameter is removed.
uint64_t stream_of(uint64_t seed, const std::string &name);

/// Element `index` of a buffer. Each drawn value must be exact in the buffer's type.
struct DataValue {
  int64_t integer;
  double real;
};
DataValue value_of(const Data &data, uint64_t stream, int64_t index);

/// Appends an element of type `scalar` to `bytes`, in the GPU's memory format.
void append_bytes(Scalar scalar, DataValue value, std::vector<uint8_t> &bytes);

/// The value of the bytes, also for 8-bit and 16-bit types.
DataValue from_bytes(Scalar scalar, const uint8_t *bytes);

/// The bytes of a whole buffer of `count` elements.
std::vector<uint8_t> bytes_of(const Data &data, Scalar scalar, uint64_t stream, int64_t count);

/// The initial contents of an output buffer: a pattern that a kernel writes only by chance,
/// different for every byte of an element.
std::vector<uint8_t> unwritten_bytes(Scalar scalar, int64_t count);

/// A hash of a buffer (FNV-1a). -0 and +0 hash the same, because the sign depends on the order of a
/// sum.
uint64_t hash_of(Scalar scalar, const std::vector<uint8_t> &bytes);

} // namespace tritonc::random
