// Tests runtime/emulator/global_memory.cpp.

#include "global_memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tritonc::emulator;

TEST_CASE("GlobalMemory: separate allocations, exact alignment") {
  GlobalMemory memory;
  std::vector<char *> all;
  for (size_t bytes : {1, 4096, 100'000, 0, 7}) {
    auto *begin = static_cast<char *>(memory.allocate(bytes));
    REQUIRE(begin);
    CHECK(reinterpret_cast<uintptr_t>(begin) % 512 == 256);
    std::memset(begin, 1, bytes);
    all.push_back(begin);
  }
  CHECK(all[1] - all[0] > 4096);
  CHECK(memory.live_bytes() == 104'104);
  CHECK(memory.live_count() == 5);
}

TEST_CASE("GlobalMemory: tracks live, written and freed memory") {
  GlobalMemory memory;
  auto *begin = static_cast<char *>(memory.allocate(100));
  CHECK(memory.is_live(begin, 100));
  CHECK_FALSE(memory.is_live(begin, 101));
  CHECK_FALSE(memory.is_live(begin - 1, 2));
  CHECK_FALSE(memory.is_live(&memory, 1));
  CHECK_FALSE(memory.is_initialized(begin, 1));
  memory.mark_initialized(begin + 10, 20);
  CHECK(memory.is_initialized(begin + 10, 20));
  CHECK_FALSE(memory.is_initialized(begin + 9, 20));
  memory.mark_uninitialized(begin + 15, 1);
  CHECK_FALSE(memory.is_initialized(begin + 10, 20));

  CHECK_FALSE(memory.release(begin + 1));
  CHECK(memory.release(begin));
  CHECK_FALSE(memory.release(begin));
  CHECK_FALSE(memory.is_live(begin, 1));
  CHECK(memory.live_bytes() == 0);
  CHECK(memory.release(nullptr));
}

TEST_CASE("GlobalMemory: does not reuse freed memory") {
  GlobalMemory memory;
  std::vector<void *> seen;
  for (int i = 0; i < 100; i++) {
    void *begin = memory.allocate(1000);
    CHECK(std::find(seen.begin(), seen.end(), begin) == seen.end());
    seen.push_back(begin);
    CHECK(memory.release(begin));
  }
}

TEST_CASE("GlobalMemory: reuses freed memory when addresses run out") {
  GlobalMemory memory;
  void *kept = memory.allocate(1000);
  for (int i = 0; i < 100; i++) {
    void *begin = memory.allocate(size_t(1) << 34);
    REQUIRE(begin);
    CHECK_FALSE(memory.is_initialized(begin, 1));
    memory.mark_initialized(begin, 1);
    CHECK(memory.release(begin));
  }
  CHECK(memory.is_live(kept, 1000));
  CHECK(memory.allocate(size_t(1) << 39) == nullptr);
}

TEST_CASE("GlobalMemory::find: containing or nearest allocation") {
  GlobalMemory memory;
  auto *a = static_cast<std::byte *>(memory.allocate(100));
  auto *b = static_cast<std::byte *>(memory.allocate(100));
  CHECK(memory.find(a + 99)->begin == a);
  CHECK_FALSE(memory.find(a + 100));
  CHECK(memory.find(a + 100, 8)->begin == a);
  CHECK(memory.find(b - 1, 8)->begin == b);
  CHECK_FALSE(memory.find(b - 9, 8));
  CHECK_FALSE(memory.find(nullptr, 8));
  memory.release(a);
  CHECK(memory.find(a + 5)->freed);
}
