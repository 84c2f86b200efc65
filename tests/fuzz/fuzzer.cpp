// The entry points of libFuzzer for one target. Macros: TARGET, and MUTATE if the target has a
// custom mutator.

#include "fuzz/targets.h"

#include <algorithm>
#include <cstring>

namespace fuzz = tritonc::fuzz;

// Debian's libraries of LLVM and clang have no instrumentation. AddressSanitizer sees only our
// accesses to a container or memory pool that both share. So its container checks are off.
//
// The limit of one allocation is the memory limit of an input. libFuzzer has the same check, but
// only together with leak detection, whose hooks take a fifth of the time.
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
