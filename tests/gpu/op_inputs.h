// Random inputs for the one-operation kernels (op_kernels.h): valid operands of the operation, and
// data of a chosen kind (Mode). A seed gives the same inputs on every machine.

#pragma once

#include "op_table.h"

#include "models/tensor_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc::test {

namespace models = emulator::models;

/// Random numbers, the same on all machines.
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
  int64_t between(int64_t first, int64_t last) { // both inclusive
    return first + int64_t(next() % uint64_t(last - first + 1));
  }
  bool one_in(uint32_t n) { return below(n) == 0; }
  void fill(void *bytes, size_t n);

private:
  uint64_t state_;
};

/// The kind of data.
enum class Mode : uint8_t {
  bits,    // random bits: includes all NaN, infinities, subnormals
  spread,  // finite values within a narrow or wide range of exponents
  whole,   // small integers: every sum is exact
  layouts, // wgmma: `whole`, with unaligned matrix layouts; tensor copies: element strides
};
const char *name_of(Mode mode);

/// The modes that apply to this kernel.
std::vector<Mode> modes_of(const OpEntry &entry);

/// A tensor in a block's tensor memory, and its tensor map's arguments.
struct Tensor {
  int type = 0;
  uint32_t rank = 0;
  uint64_t offset = 0; // bytes from the beginning of the block's tensor memory
  uint64_t sizes[5] = {}, strides[4] = {};
  uint32_t box[5] = {}, element_strides[5] = {};
  int swizzle = 0, l2_promotion = 0, fill = 0;

  models::TensorMapArguments arguments(const void *memory) const;
};

/// The inputs of one launch.
struct Inputs {
  unsigned blocks = 0;
  std::vector<std::byte> in, out; // all blocks, before the launch
  std::vector<Tensor> tensors;    // one per block, if the kernel takes maps
  std::vector<std::byte> tensor_memory;
};

/// Bytes of tensor memory per block.
inline constexpr size_t tensor_bytes = 24 * 1024;

Inputs make_inputs(const OpEntry &entry, Mode mode, unsigned blocks, uint64_t seed);

/// Arguments of cuTensorMapEncodeTiled: valid, or with up to two random changes.
Tensor random_arguments(Random &random);

} // namespace tritonc::test
