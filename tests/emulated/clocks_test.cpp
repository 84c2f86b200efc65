// Vector clocks.

#include "clocks.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;

namespace {

// Whether what `first` did up to now comes before what `second` does now.
bool comes_before(const Clocks &clocks, const View &first, Actor second) {
  return clocks.view(second).after(first.actor, first.epoch);
}

} // namespace

TEST_CASE("nothing is ordered but one's own") {
  Clocks clocks;
  clocks.start(64, true);
  View one = clocks.view(1);
  CHECK(comes_before(clocks, one, 1));
  CHECK_FALSE(comes_before(clocks, one, 2));
}

TEST_CASE("release and acquire") {
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

  // What one knows goes on with what one does.
  Clock second;
  clocks.release(2, second);
  clocks.acquire(3, second);
  CHECK(comes_before(clocks, before, 3));
  CHECK_FALSE(comes_before(clocks, before, 4));
}

TEST_CASE("a clock is a value") {
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

TEST_CASE("threads that meet know all of each other, until then") {
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

  // They shared one vector; now one changes its own.
  Clock place;
  View five = clocks.view(5);
  clocks.release(5, place);
  clocks.acquire(1, place);
  CHECK(comes_before(clocks, five, 1));
  CHECK_FALSE(comes_before(clocks, five, 2));
}

TEST_CASE("asynchronous operations come after what their issuer had seen") {
  Clocks clocks;
  clocks.start(64, true);
  View before = clocks.view(1);
  Clock issued, first, second;
  clocks.release(1, issued);
  Actor engine = clocks.copy_engine(0);
  clocks.issue(engine, issued, first);
  clocks.issue(engine, issued, second);
  View one = clocks.view(engine, first), two = clocks.view(engine, second);
  CHECK(one.after(before.actor, before.epoch));
  CHECK_FALSE(one.after(1, clocks.view(1).epoch));
  // Two copies of one engine aren't ordered; one's own accesses are.
  CHECK_FALSE(two.after(one.actor, one.epoch));
  CHECK(two.after(two.actor, two.epoch));

  CHECK_FALSE(comes_before(clocks, one, 1));
  clocks.acquire(1, first);
  CHECK(comes_before(clocks, one, 1));
  CHECK_FALSE(comes_before(clocks, two, 1));

  // A copy issued after waiting for another comes after that.
  Clock again, third;
  clocks.release(1, again);
  clocks.issue(engine, again, third);
  CHECK(clocks.view(engine, third).after(one.actor, one.epoch));
  CHECK_FALSE(clocks.view(engine, third).after(two.actor, two.epoch));
}

TEST_CASE("copy engines take turns") {
  Clocks clocks;
  clocks.start(64, true);
  for (unsigned i = 0; i < 2 * copy_engines; i++)
    CHECK(clocks.next_copy_engine() == clocks.copy_engine(i % copy_engines));
  CHECK(clocks.tensor_core(1) == 64 + copy_engines + 1);
  CHECK(clocks.actors() == 64u + copy_engines + 2);
}

TEST_CASE("a fence counts between a write and the synchronisation") {
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
  CHECK_FALSE(clocks.fenced(1, written, clocks.view(2))); // it doesn't know of the fence
  learn(1, 2);
  CHECK(clocks.fenced(1, written, clocks.view(2)));
  Epoch later = clocks.view(1).epoch; // the fence came too early for this one
  learn(1, 2);
  CHECK_FALSE(clocks.fenced(1, later, clocks.view(2)));
}

TEST_CASE("what earlier clusters did lies before everything") {
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

TEST_CASE("nothing happens while races are not looked for") {
  Clocks clocks;
  clocks.start(64, false);
  Clock place, operation;
  Actor actors[] = {1, 2};
  clocks.release(1, place);
  clocks.acquire(2, place);
  clocks.meet(actors, 2, place);
  clocks.issue(clocks.copy_engine(0), place, operation);
  clocks.join(place, operation);
  clocks.fence(1);
  CHECK_FALSE(place);
  CHECK_FALSE(operation);
  CHECK(clocks.view(1).seen == nullptr);
  CHECK(clocks.view(clocks.copy_engine(0), operation).seen == nullptr);
}
