// Comparing what two machines made of the same inputs, bit by bit, and saying where they differ.

#pragma once

#include "op_machines.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc::test {

struct Differences {
  uint64_t bytes = 0; // compared
  std::vector<unsigned> blocks;
  uint64_t words = 0;
  std::vector<std::string> texts; // of the first few
};

/// Where `found`, of the emulator, isn't `expected`: everything that the kernel has left is
/// compared, what it shouldn't have touched as well.
Differences compare(const OpEntry &entry, const Inputs &inputs, const Outputs &expected,
                    const Outputs &found);

/// "f16 rank 2 at +512 sizes 20,3 strides 48 box 16,4 ...".
std::string text_of(const Tensor &tensor);

/// The same for the same bytes.
uint64_t hash_of(const std::vector<std::byte> &bytes, uint64_t hash);
uint64_t hash_of(const Inputs &inputs);
uint64_t hash_of(const Outputs &outputs);

} // namespace tritonc::test
