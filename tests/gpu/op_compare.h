// Compares the outputs of two machines for the same inputs bit by bit, and describes differences.

#pragma once

#include "op_machines.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc::test {

struct Differences {
  uint64_t bytes = 0;             // compared bytes
  std::vector<unsigned> blocks;   // blocks with a difference
  uint64_t words = 0;             // 32-bit words that differ
  std::vector<std::string> texts; // descriptions of the first few
};

/// Compares `found` (emulator) with `expected` (GPU): all outputs, and the memory that the kernel
/// must not change.
Differences compare(const OpEntry &entry, const Inputs &inputs, const Outputs &expected,
                    const Outputs &found);

/// "f16 rank 2 at +512 sizes 20,3 strides 48 box 16,4 ...".
std::string text_of(const Tensor &tensor);

/// A hash of the contents.
uint64_t hash_of(const std::vector<std::byte> &bytes, uint64_t hash);
uint64_t hash_of(const Inputs &inputs);
uint64_t hash_of(const Outputs &outputs);

} // namespace tritonc::test
