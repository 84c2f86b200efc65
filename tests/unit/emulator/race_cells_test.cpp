// Tests race cells against a reference: the list of all accesses.

#include "race_cells.h"
#include "scheduler.h" // Random

#include <doctest/doctest.h>

#include <array>

using namespace tritonc::emulator;

namespace {

struct Access {
  View view;
  AccessKind kind;
};

bool conflict(AccessKind a, AccessKind b) {
  return a == AccessKind::write || b == AccessKind::write || a != b;
}

} // namespace

TEST_CASE("race cells: find a race with any earlier access") {
  // A racing write hides the accesses before it, so each round ends at its first race.
  size_t races = 0, clean = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    Random random(seed);
    Clocks clocks;
    unsigned threads = seed % 3 == 0 ? 64 : 32;
    clocks.start(threads, true);
    RaceSets sets;
    RaceCell cell;
    std::vector<Access> all;
    Clock places[3];
    unsigned active = 2 + random.below(threads - 2);
    for (int step = 0; step < 200; step++) {
      auto actor = Actor(random.below(active));
      switch (random.below(8)) {
      case 0:
      case 1:
        clocks.release(actor, places[random.below(3)]);
        continue;
      case 2:
      case 3:
        clocks.acquire(actor, places[random.below(3)]);
        continue;
      case 4:
        if (random.below(4) == 0) {
          std::vector<Actor> actors;
          for (Actor i = 0; i < active; i++)
            actors.push_back(i);
          clocks.meet(actors.data(), actors.size());
        }
        continue;
      default:
        break;
      }
      uint32_t choice = random.below(20);
      AccessKind kind = choice < 16   ? AccessKind::read
                        : choice < 19 ? AccessKind::atomic
                                      : AccessKind::write;
      View view = clocks.view(actor);
      bool expected = false;
      for (const Access &past : all)
        expected |= conflict(past.kind, kind) && !view.after(past.view.actor, past.view.epoch);
      Conflict found = sets.access(cell, view, kind, 7);
      CHECK(bool(found) == expected);
      if (found) {
        CHECK(found.with.site() == 7);
        CHECK_FALSE(view.after(found.with.actor, found.with.epoch));
        CHECK(conflict(found.kind, kind));
        races++;
        break;
      }
      all.push_back({view, kind});
      clean++;
    }
  }
  CHECK(races > 1000);
  CHECK(clean > 1000);
}

TEST_CASE("race cells: a barrier ends a list") {
  Clocks clocks;
  clocks.start(32, true);
  RaceSets sets;
  RaceCell cell;
  std::vector<Actor> actors;
  for (Actor i = 0; i < 8; i++) {
    sets.access(cell, clocks.view(i), AccessKind::read, 1);
    actors.push_back(i);
  }
  CHECK(cell.has_list());
  clocks.meet(actors.data(), actors.size());
  CHECK_FALSE(sets.access(cell, clocks.view(3), AccessKind::read, 2));
  CHECK_FALSE(cell.has_list());
  CHECK(cell.others.actor == 3);
}

TEST_CASE("race cells: split into bytes") {
  Clocks clocks;
  clocks.start(32, true);
  RaceSets sets;
  RaceCell cell;
  for (Actor i = 0; i < 3; i++)
    sets.access(cell, clocks.view(i), AccessKind::read, 1);
  RaceCell *bytes = sets.split(cell);
  CHECK(cell.is_split());
  CHECK(sets.split(cell) == bytes);
  // Each byte keeps the accesses of the word, and the bytes are independent.
  CHECK(sets.access(bytes[1], clocks.view(0), AccessKind::write, 2));
  CHECK(sets.access(bytes[2], clocks.view(0), AccessKind::write, 2));
  CHECK_FALSE(sets.access(bytes[3], clocks.view(0), AccessKind::read, 2));
  CHECK(bytes[0].writer.epoch == 0);
  CHECK(bytes[1].writer.epoch != 0);
  sets.forget(cell);
  CHECK_FALSE(cell.is_split());
  CHECK_FALSE(sets.access(cell, clocks.view(9), AccessKind::write, 2));
}
