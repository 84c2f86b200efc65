// Maps the stacks of fibers. See fiber.h.

#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>

namespace tritonc::emulator {
namespace {

// Stacks are mapped this many at a time; a guard page is below each.
constexpr unsigned chunk_stacks = 128;
constexpr size_t guard_bytes = 4096;
constexpr size_t slot_bytes = guard_bytes + stack_bytes;

} // namespace

Stacks::~Stacks() {
  for (std::byte *chunk : chunks_)
    munmap(chunk, chunk_stacks * slot_bytes);
}

bool Stacks::reserve(unsigned count) {
  while (chunks_.size() * chunk_stacks < count) {
    void *memory = mmap(nullptr, chunk_stacks * slot_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    auto *chunk = static_cast<std::byte *>(memory);
    for (unsigned i = 0; i < chunk_stacks; i++) {
      // Each guard page costs two of the process's mappings, whose number is limited.
      if (mprotect(chunk + i * slot_bytes, guard_bytes, PROT_NONE) != 0) {
        munmap(chunk, chunk_stacks * slot_bytes);
        return false;
      }
    }
    chunks_.push_back(chunk);
  }
  return true;
}

std::byte *Stacks::begin(unsigned i) const {
  return chunks_[i / chunk_stacks] + (i % chunk_stacks) * slot_bytes + guard_bytes;
}

std::byte *Stacks::top(unsigned i) const {
  // Equal offsets on all stacks would map to the same few cache sets.
  return begin(i) + stack_bytes - (i % 61) * 192;
}

bool Stacks::contains(unsigned i, const void *address) const {
  return size_t(static_cast<const std::byte *>(address) - begin(i)) < stack_bytes;
}

} // namespace tritonc::emulator
