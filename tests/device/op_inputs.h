// Random inputs for the kernels around one operation each (op_kernels.h): operands as the operation
// may be given them, and any bits or certain numbers as data. Same seed, same inputs, everywhere.

#pragma once

#include "op_table.h"

#include "models/tensor_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc::test {

namespace models = emulator::models;

/// Any random numbers, the same on all machines.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint32_t below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }
  int64_t between(int64_t first, int64_t last) { // both may come
    return first + int64_t(next() % uint64_t(last - first + 1));
  }
  bool one_in(uint32_t n) { return below(n) == 0; }
  void fill(void *bytes, size_t n);

private:
  uint64_t state_;
};

/// What data are.
enum class Mode : uint8_t {
  bits,    // anything: all NaN, infinities, subnormal numbers
  spread,  // finite numbers whose exponents are near each other, or not so near
  whole,   // small integers: every sum is exact
  layouts, // of wgmma, `whole` with operands that lie anyhow; of tensor copies, strides of elements
};
const char *name_of(Mode mode);

/// Those that are worth trying with this kernel.
std::vector<Mode> modes_of(const OpEntry &entry);

/// A tensor in the memory of a block that a map describes.
struct Tensor {
  int type = 0;
  uint32_t rank = 0;
  uint64_t offset = 0; // from the beginning of the block's tensor memory
  uint64_t sizes[5] = {}, strides[4] = {};
  uint32_t box[5] = {}, element_strides[5] = {};
  int swizzle = 0, l2_promotion = 0, fill = 0;

  models::TensorMapArguments arguments(const void *memory) const;
};

/// What a launch of a kernel works on.
struct Inputs {
  unsigned blocks = 0;
  std::vector<std::byte> in, out; // of all blocks, before the launch
  std::vector<Tensor> tensors;    // of each block, if the kernel takes maps
  std::vector<std::byte> tensor_memory;
};

/// Of each block, for tensors.
inline constexpr size_t tensor_bytes = 24 * 1024;

Inputs make_inputs(const OpEntry &entry, Mode mode, unsigned blocks, uint64_t seed);

/// Arguments of cuTensorMapEncodeTiled, right or nearly so.
Tensor random_arguments(Random &random);

} // namespace tritonc::test
