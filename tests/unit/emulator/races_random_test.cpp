// Tests race detection with random accesses of all sizes, in shared and global memory, with random
// synchronization. The emulator's first race must be the first race by definition.

#include "unit/emulator/kernel.h"

#include "scheduler.h" // Random

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

constexpr uint32_t threads = 64, region = 32; // bytes
constexpr unsigned alone = 0, within_warp = 1, within_block = 2;

struct Event {
  enum Kind { read, write, atomic, warp_sync, barrier } kind;
  uint32_t block, thread, offset, bytes, line;
};

bool conflict(Event::Kind a, Event::Kind b) {
  return a == Event::write || b == Event::write || a != b;
}

/// The line of the first access that races with an earlier one; 0 = none. A reference by the
/// definition of happens-before: a clock per thread, and all accesses to each byte.
uint32_t first_race(const std::vector<Event> &events, bool is_shared) {
  using Clock = std::vector<uint32_t>;
  struct Access {
    uint32_t block, thread, epoch;
    Event::Kind kind;
  };
  std::map<uint32_t, std::vector<Clock>> clocks; // by block
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Access>> bytes;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> arrived; // block and group
  for (const Event &event : events) {
    auto &of_block = clocks[event.block];
    if (of_block.empty()) {
      of_block.assign(threads, Clock(threads));
      for (uint32_t i = 0; i < threads; i++)
        of_block[i][i] = 1;
    }
    if (event.kind >= Event::warp_sync) {
      bool is_warp = event.kind == Event::warp_sync;
      auto &group = arrived[{event.block, is_warp ? event.thread / 32 : 1000}];
      group.push_back(event.thread);
      if (group.size() < (is_warp ? 32 : threads))
        continue;
      Clock all(threads);
      for (uint32_t member : group)
        for (uint32_t i = 0; i < threads; i++)
          all[i] = std::max(all[i], of_block[member][i]);
      for (uint32_t member : group) {
        of_block[member] = all;
        of_block[member][member]++;
      }
      group.clear();
      continue;
    }
    for (uint32_t byte = event.offset; byte < event.offset + event.bytes; byte++) {
      auto &history = bytes[{is_shared ? event.block : 0, byte}];
      for (const Access &past : history) {
        bool is_before =
            past.block == event.block && past.epoch <= of_block[event.thread][past.thread];
        if (!is_before && conflict(past.kind, event.kind))
          return event.line;
      }
      history.push_back(
          {event.block, event.thread, of_block[event.thread][event.thread], event.kind});
    }
  }
  return 0;
}

/// Calls the hook of one access; the value does not matter.
void access(Gpu &gpu, const Event &event, std::byte *begin, bool is_shared) {
  std::string name = event.kind == Event::read    ? "load_"
                     : event.kind == Event::write ? "store_"
                                                  : "atomic_";
  gpu.hook(name + (is_shared ? "shared" : "global"), begin + event.offset, event.bytes, event.bytes,
           event.line);
}

} // namespace

TEST_CASE("races: the first report is the first race by definition") {
  unsigned with = 0, without = 0;
  for (uint64_t seed = 0; seed < 1500; seed++) {
    CAPTURE(seed);
    Random plan(seed);
    bool is_shared = seed % 2 == 0;
    Kernel k;
    k.options.workers = 1;
    k.options.seed = seed;
    k.options.uninitialized = false;
    k.options.order = Order(plan.below(3));
    k.threads = threads;
    k.shared_bytes = region;
    k.grid.x = is_shared ? 2 : 1 + plan.below(3);
    auto *memory = reinterpret_cast<std::byte *>(k.unwritten<char>("x", region + 256));
    memory += 256 - reinterpret_cast<uintptr_t>(memory) % 256;
    uint32_t rarely = 1u << plan.below(8), writes = 1 + plan.below(6), is_apart = plan.below(2);
    std::vector<unsigned> rounds;
    for (int i = 0; i < 16; i++)
      rounds.push_back(plan.below(3));
    std::vector<Event> events;
    uint32_t line = 1;
    k.run([&](Gpu &gpu) {
      uint32_t block = gpu.ctaid_x(), thread = gpu.tid_x();
      Random random(seed * 1000 + block * threads + thread);
      auto *begin = is_shared ? gpu.shared<std::byte>(0) : memory;
      for (unsigned round : rounds) {
        if (random.below(rarely) == 0) {
          uint32_t choice = random.below(12), bytes = 1u << random.below(5);
          Event::Kind kind = choice < writes ? Event::write : Event::read;
          if (choice == 11) {
            kind = Event::atomic;
            bytes = 4;
          }
          uint32_t offset = random.below(region / bytes) * bytes;
          // Threads with separate regions race rarely; other threads race almost at once.
          if (is_apart && kind == Event::write)
            offset = offset / 16 * 16 + thread % 16, bytes = 1;
          // A random interleaving may interrupt the thread in the hook, before the access counts.
          Event event = {kind, block, thread, offset, bytes, line++};
          if (k.options.order == Order::random)
            event.line = 1; // then the test compares only whether a race exists
          access(gpu, event, begin, is_shared);
          events.push_back(event);
        }
        if (round == alone)
          continue;
        events.push_back(
            {round == within_warp ? Event::warp_sync : Event::barrier, block, thread, 0, 0, 0});
        if (round == within_warp)
          gpu.warp_sync(4000);
        else
          gpu.barrier(4001);
      }
    });
    uint32_t expected = first_race(events, is_shared);
    uint32_t found = k.result.ok() ? 0 : k.result.reports[0].site.line;
    CHECK(found == expected);
    (expected ? with : without)++;
  }
  CHECK(with > 200);
  CHECK(without > 200);
}
