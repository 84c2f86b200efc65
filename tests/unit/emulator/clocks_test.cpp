// Tests runtime/emulator/clocks.cpp.

#include "clocks.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;

namespace {

// Whether the event of `first` comes before the next event of `second`.
bool comes_before(const Clocks &clocks, const View &first, Actor second) {
  return clocks.view(second).after(first.actor, first.epoch);
}

} // namespace

TEST_CASE("clocks: only an actor's own events are ordered at first") {
  Clocks clocks;
  clocks.start(64, true);
  View one = clocks.view(1);
  CHECK(comes_before(clocks, one, 1));
  CHECK_FALSE(comes_before(clocks, one, 2));
}

TEST_CASE("clocks: release and acquire") {
  Clocks clocks;
  clocks.start(64, true);
  Clock place;
  View before = clocks.view(1);
  clocks.release(1, place);
  View after = clocks.view(1);
  clocks.acquire(2, place);
  CHECK(comes_before(clocks, before, 2));
  CHECK_FALSE(comes_before(clocks, after, 2));
  CHECK_FALSE(comes_before(clocks, before, 3));

  // A release passes on acquired events, too.
  Clock second;
  clocks.release(2, second);
  clocks.acquire(3, second);
  CHECK(comes_before(clocks, before, 3));
  CHECK_FALSE(comes_before(clocks, before, 4));
}

TEST_CASE("clock: is a value") {
  Clocks clocks;
  clocks.start(64, true);
  Clock place;
  clocks.release(1, place);
  Clock copy = place;
  View two = clocks.view(2);
  clocks.release(2, place);
  clocks.acquire(3, copy);
  clocks.acquire(4, place);
  CHECK_FALSE(comes_before(clocks, two, 3));
  CHECK(comes_before(clocks, two, 4));
  clocks.join(copy, place);
  clocks.acquire(5, copy);
  CHECK(comes_before(clocks, two, 5));
}

TEST_CASE("meet: orders all earlier events of all threads") {
  Clocks clocks;
  clocks.start(64, true);
  Actor actors[] = {1, 2, 3};
  Clock arrived;
  View four = clocks.view(4);
  clocks.release(4, arrived);
  View before[] = {clocks.view(1), clocks.view(2), clocks.view(3)};
  clocks.meet(actors, 3, arrived);
  for (const View &first : before)
    for (Actor second : actors)
      CHECK(comes_before(clocks, first, second));
  CHECK(comes_before(clocks, four, 2));
  CHECK_FALSE(comes_before(clocks, clocks.view(1), 2));
  CHECK_FALSE(comes_before(clocks, before[0], 4));

  // The threads share one vector; now one thread changes its copy.
  Clock place;
  View five = clocks.view(5);
  clocks.release(5, place);
  clocks.acquire(1, place);
  CHECK(comes_before(clocks, five, 1));
  CHECK_FALSE(comes_before(clocks, five, 2));
}

TEST_CASE("issue: the operation comes after the issuer's clock") {
  Clocks clocks;
  clocks.start(64, true);
  View before = clocks.view(1);
  Clock issued, first, second;
  clocks.release(1, issued);
  Actor engine = clocks.async_agent(0);
  clocks.issue(engine, issued, first);
  clocks.issue(engine, issued, second);
  View one = clocks.view(engine, first), two = clocks.view(engine, second);
  CHECK(one.after(before.actor, before.epoch));
  CHECK_FALSE(one.after(1, clocks.view(1).epoch));
  // Two copies of one engine are not ordered; accesses of one copy are.
  CHECK_FALSE(two.after(one.actor, one.epoch));
  CHECK(two.after(two.actor, two.epoch));

  CHECK_FALSE(comes_before(clocks, one, 1));
  clocks.acquire(1, first);
  CHECK(comes_before(clocks, one, 1));
  CHECK_FALSE(comes_before(clocks, two, 1));

  // A copy issued after a wait for another copy comes after that copy.
  Clock again, third;
  clocks.release(1, again);
  clocks.issue(engine, again, third);
  CHECK(clocks.view(engine, third).after(one.actor, one.epoch));
  CHECK_FALSE(clocks.view(engine, third).after(two.actor, two.epoch));
}

TEST_CASE("next_async_agent: TMA units take turns") {
  Clocks clocks;
  clocks.start(64, true);
  for (unsigned i = 0; i < 2 * async_agents; i++)
    CHECK(clocks.next_async_agent() == clocks.async_agent(i % async_agents));
  CHECK(clocks.tensor_core(1) == 64 + async_agents + 1);
  CHECK(clocks.actors() == 64u + async_agents + 2);
}

TEST_CASE("fence: takes effect between write and synchronization") {
  Clocks clocks;
  clocks.start(64, true);
  auto learn = [&](Actor from, Actor by) {
    Clock place;
    clocks.release(from, place);
    clocks.acquire(by, place);
  };
  Epoch written = clocks.view(1).epoch;
  learn(1, 2);
  CHECK_FALSE(clocks.fenced(1, written, clocks.view(2)));
  CHECK_FALSE(clocks.fenced(1, written, clocks.view(1)));
  clocks.fence(1);
  CHECK(clocks.fenced(1, written, clocks.view(1)));
  CHECK_FALSE(clocks.fenced(1, written, clocks.view(2))); // does not come after the fence
  learn(1, 2);
  CHECK(clocks.fenced(1, written, clocks.view(2)));
  Epoch later = clocks.view(1).epoch; // the fence was before this epoch
  learn(1, 2);
  CHECK_FALSE(clocks.fenced(1, later, clocks.view(2)));
}

TEST_CASE("start: events of earlier clusters come before everything") {
  Clocks clocks;
  clocks.start(64, true);
  Clock place;
  for (int i = 0; i < 5; i++) {
    clocks.release(1, place);
    clocks.fence(2);
  }
  View one = clocks.view(1), two = clocks.view(2);
  place = {};
  clocks.start(64, true);
  for (Actor actor = 0; actor < clocks.actors(); actor++) {
    CHECK(comes_before(clocks, one, actor));
    CHECK(comes_before(clocks, two, actor));
  }
  CHECK(clocks.fenced(1, one.epoch, clocks.view(5)));
  CHECK_FALSE(comes_before(clocks, clocks.view(1), 2));
}

TEST_CASE("clocks: do nothing when race checks are off") {
  Clocks clocks;
  clocks.start(64, false);
  Clock place, operation;
  Actor actors[] = {1, 2};
  clocks.release(1, place);
  clocks.acquire(2, place);
  clocks.meet(actors, 2, place);
  clocks.issue(clocks.async_agent(0), place, operation);
  clocks.join(place, operation);
  clocks.fence(1);
  CHECK_FALSE(place);
  CHECK_FALSE(operation);
  CHECK(clocks.view(1).seen == nullptr);
  CHECK(clocks.view(clocks.async_agent(0), operation).seen == nullptr);
}
