// The entry points of libFuzzer for one target. Macros: TARGET, and MUTATE if the target has a
// custom mutator.

#include "fuzz/targets.h"

#include <algorithm>
#include <cstring>

namespace fuzz = tritonc::fuzz;

extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TARGET({reinterpret_cast<const char *>(data), size});
  return 0;
}

#ifdef MUTATE
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

// Every 16th seed uses libFuzzer's own mutations.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (seed % 16 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string made = fuzz::MUTATE({reinterpret_cast<const char *>(data), size}, seed);
  size = std::min(made.size(), most);
  std::memcpy(data, made.data(), size);
  return size;
}
#endif
