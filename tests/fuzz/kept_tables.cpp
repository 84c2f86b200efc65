// Keeps large allocations of one input for the next input.
//
// clang's preprocessor allocates a table for 8,192 names, 196 KB. AddressSanitizer's allocator maps
// and unmaps blocks of this size. This costs a hundred page faults per input, a fifth of the time
// of front_end, and more on virtual machines. clang uses `calloc` and `free` for the table. The
// linker replaces them by the functions below (--wrap). Our own code uses neither function, and
// clang's accesses to its table have no instrumentation.

#include <cstddef>
#include <cstring>

extern "C" void *__real_calloc(size_t count, size_t size);
extern "C" void __real_free(void *block);

namespace {

constexpr size_t least = 128 * 1024, most = 256 * 1024; // the allocator maps blocks from 128 KB on

struct Kept {
  void *block = nullptr;
  size_t bytes = 0;
  bool is_used = false;
} kept[4];

} // namespace

extern "C" void *__wrap_calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes < least || bytes > most)
    return __real_calloc(count, size);
  for (Kept &each : kept) {
    if (each.is_used || (each.block && each.bytes != bytes))
      continue;
    if (each.block)
      std::memset(each.block, 0, bytes);
    else
      each = {__real_calloc(count, size), bytes};
    each.is_used = true;
    return each.block;
  }
  return __real_calloc(count, size);
}

extern "C" void __wrap_free(void *block) {
  for (Kept &each : kept)
    if (block && each.block == block) {
      each.is_used = false;
      return;
    }
  __real_free(block);
}
