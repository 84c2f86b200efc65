// What libFuzzer calls, for the target that this file is compiled for: TARGET, and MUTATE if it has
// a mutator of its own.

#include "fuzz/targets.h"

#include <algorithm>
#include <cstring>

namespace fuzz = tritonc::fuzz;

// LLVM's and clang's libraries are used as Debian has them, without instrumentation: what their
// code and ours do to one container or one memory pool, AddressSanitizer sees only half of.
//
// No single allocation may be larger than all memory that an input may take. libFuzzer would see to
// that too, but only where it looks for leaks as well, by hooks that take a fifth of all time.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:malloc_context_size=1:"
         "quarantine_size_mb=4:allocator_release_to_os_interval_ms=-1:max_allocation_size_mb=1024";
}

extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TARGET({reinterpret_cast<const char *>(data), size});
  return 0;
}

#ifdef MUTATE
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

// Now and then libFuzzer's own mutations.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  if (seed % 16 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string made = fuzz::MUTATE({reinterpret_cast<const char *>(data), size}, seed);
  size = std::min(made.size(), most);
  std::memcpy(data, made.data(), size);
  return size;
}
#endif
