// Tests interpreter/warp_specialize.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

const std::string two_groups = "groups = [2,1], one_thread = [0,1], warps = [4,4]";
constexpr Turns all_turns[] = {Turns::producer_first, Turns::workers_first, Turns::alternate};

Ran parts(const std::string &workers, const std::string &producer,
          Turns turns = Turns::producer_first, const std::string &before = "",
          const std::string &attributes = "one_thread = [0,1], warps = [4,4]") {
  Launch launch;
  launch.turns = turns;
  launch.max_steps = 1000;
  return Ran("%one = constant {value = 1} : i32\n"
             "%bar = mbarriers {arrivals = 4} : shared<i64>[2,1]\n"
             "%back = mbarriers {arrivals = 1} : shared<i64>[2,1]\n" +
                 before + "warp_specialize {" + attributes + "} {\n" + workers + "yield\n} {\n" +
                 producer + "yield\n}",
             "i32", "", launch);
}

// Increments y[0] and stores the count, to show the order.
std::string mark(const std::string &v, const std::string &place) {
  return "%" + v + " = load %y : i32\n %" + v + "a = add %" + v + ", %one : i32\n store %y, %" + v +
         "a\n %" + v + "p = addptr %y, " + place + " : ptr<i32>\n store %" + v + "p, %" + v + "\n";
}

const std::string clear = "store %y, %one\n";

} // namespace

TEST_CASE("warp_specialize: both parts run and see outer values") {
  for (Turns turns : all_turns) {
    Ran ran =
        parts("%v = add %n, %n : i32\n store %y, %v\n",
              "%v2 = mul %n, %n : i32\n %a = addptr %y, %one : ptr<i32>\n store %a, %v2\n", turns);
    CHECK(ran.text() == "");
    CHECK(ran.y()[0] == 6);
    CHECK(ran.y()[1] == 9);
  }
}

TEST_CASE("warp_specialize: later code waits for both parts") {
  for (Turns turns : all_turns) {
    Launch launch;
    launch.turns = turns;
    Ran ran("warp_specialize {one_thread = [0,1], warps = [4,4]} {\n store %y, %n\n yield\n} {\n "
            "%v = neg %n : i32\n store %x, %v\n "
            "yield\n}\n"
            "%a = load %x : i32\n %b = load %y : i32\n %c = sub %a, %b : i32\n store %y, %c",
            "i32", "", launch);
    CHECK(ran.y()[0] == -6);
  }
}

TEST_CASE("warp_specialize: order of the three interleavings") {
  const std::string two = "%two = add %one, %one : i32\n %four = add %two, %two : i32\n";
  auto order = [&](Turns turns) {
    Ran ran = parts(mark("a", "%one") + mark("b", "%two"), mark("c", "%n") + mark("d", "%four"),
                    turns, clear + two);
    CHECK(ran.text() == "");
    std::vector<double> y = ran.y();
    return std::vector<double>(y.begin() + 1, y.begin() + 5);
  };
  CHECK(order(Turns::producer_first) == std::vector<double>{3, 4, 1, 2});
  CHECK(order(Turns::workers_first) == std::vector<double>{1, 2, 3, 4});
  // Alternating operations: both parts read before the other part writes.
  CHECK(order(Turns::alternate) == std::vector<double>{1, 2, 1, 2});
}

TEST_CASE("warp_specialize: parts wait for each other") {
  const std::string two = "%two = add %one, %one : i32\n";
  for (Turns turns : all_turns) {
    // Ping, pong, ping.
    Ran ran = parts(mark("a", "%one") + "mbarrier_arrive %bar, %zero\n" +
                        "mbarrier_wait %back, %zero, %zero\n" + mark("b", "%n"),
                    "mbarrier_wait %bar, %zero, %zero\n" + mark("c", "%two") +
                        "mbarrier_arrive %back, %zero\n",
                    turns, clear + two);
    CHECK(ran.text() == "");
    CHECK(ran.y()[1] == 1);
    CHECK(ran.y()[2] == 2);
    CHECK(ran.y()[3] == 3);
  }
}

TEST_CASE("warp_specialize: deadlock report names the waits") {
  for (Turns turns : all_turns) {
    Ran ran = parts("mbarrier_wait %back, %zero, %zero\n mbarrier_arrive %bar, %zero\n",
                    "mbarrier_wait %bar, %one, %zero\n mbarrier_arrive %back, %zero\n", turns);
    CHECK(ran.text() ==
          "program (0, 0, 0), `mbarrier_wait %back, %zero, %zero`: the program's warps wait for "
          "parity 0 of stage 0 of %back (1 arrivals and 0 bytes to come); the producer warp waits "
          "for "
          "parity 0 of stage 1 of %bar (4 arrivals and 0 bytes to come)\n");
    CHECK(ran.kinds() == std::vector{Kind::deadlock});
  }
  Ran alone = parts("", "mbarrier_wait %bar, %one, %zero\n");
  CHECK(alone.kinds() == std::vector{Kind::deadlock});
  CHECK(alone.text().find("warps wait") == std::string::npos);
  Ran around("%bar = mbarriers {arrivals = 4} : shared<i64>[1,1]\n"
             "mbarrier_wait %bar, %zero, %zero");
  CHECK(around.kinds() == std::vector{Kind::deadlock});
  CHECK(Ran("%bar = mbarriers {arrivals = 4} : shared<i64>[1,1]\n mbarrier_arrive %bar, %zero\n"
            "mbarrier_wait %bar, %zero, %zero")
            .kinds()
            .empty());
}

TEST_CASE("warp_specialize: a report in a part ends the program") {
  const std::string fails = "%no = constant {value = 0} : i1\n assert %no {text = \"no\"}\n";
  auto forever = [](const std::string &suffix) {
    std::string k = "%k" + suffix, c = "%c" + suffix, l = "%l" + suffix;
    return "%r" + suffix + " = while_loop %n : i32 {\n (" + k + ": i32)\n " + c + " = cmp " + k +
           ", %zero {pred = \"gt\"} : i1\n condition " + c + "\n} {\n(" + l + ": i32)\n yield " +
           l + "\n}\n";
  };
  for (Turns turns : all_turns) {
    CHECK(parts(fails, "mbarrier_wait %bar, %zero, %zero\n store %x, %n\n", turns).kinds() ==
          std::vector{Kind::assertion_failed});
    CHECK(parts("mbarrier_wait %back, %zero, %zero\n", fails, turns).kinds() ==
          std::vector{Kind::assertion_failed});
    Ran endless = parts(forever("1"), "mbarrier_wait %bar, %zero, %zero\n", turns);
    CHECK(endless.kinds() == std::vector{Kind::too_many_steps});
    CHECK(endless.result.steps == 1000);
    CHECK(parts(forever("1"), forever("2"), turns).kinds() == std::vector{Kind::too_many_steps});
  }
}

TEST_CASE("warp_specialize: barrier and wgmma only in consumers") {
  CHECK(parts("barrier\n", "").kinds().empty());
  CHECK(parts("", "barrier\n").kinds() == std::vector{Kind::wrong_warps});
  const std::string product =
      "%s = shared_alloc : shared<i32>[1,1,1]\n %c = splat %n : i32[1,1]\n"
      "shared_store %c, %s, %zero\n proxy_fence\n"
      "%p0 = wgmma_ss %s, %zero, %s, %zero, %c {perms = [0,1,0,1]} : i32[1,1]\n"
      "%d = wgmma_wait %p0 : i32[1,1]\n";
  CHECK(parts(product, "").kinds().empty());
  CHECK(parts("", product).kinds() == std::vector(3, Kind::wrong_warps));
}

TEST_CASE("warp_specialize: any number of partitions") {
  for (Turns turns : all_turns) {
    Launch launch;
    launch.turns = turns;
    // %a goes from the first partition to the second, %b from there to both groups of the third.
    Ran ran("%a = channel : channel[1]\n %b = channel : channel[2]\n"
            "warp_specialize {groups = [1,1,2], one_thread = [0,1,0], warps = [4,1,2]} {\n"
            "store %y, %n\n put_done %a, %zero\n yield\n} {\n %i1 = get %a, %zero : i32\n"
            "%v = load %y : i32\n %w = add %v, %n : i32\n store %y, %w\n"
            "put_done %b, %zero\n yield\n} {\n %i2 = get %b, %zero : i32\n"
            "%g = consumer_group_id : i32\n %u = load %y : i32\n %t = add %u, %g : i32\n"
            "%one = constant {value = 1} : i32\n %o = add %one, %g : i32\n"
            "%p1 = addptr %y, %o : ptr<i32>\n store %p1, %t\n yield\n}",
            "i32", "", launch);
    CHECK(ran.text() == "");
    CHECK(ran.y()[1] == 6);
    CHECK(ran.y()[2] == 7);
  }
}

TEST_CASE("consumer groups: own values and buffers") {
  for (Turns turns : all_turns) {
    // Both groups have stored before one of them loads.
    Ran ran = parts("%t = consumer_group_id : i32\n %s = shared_alloc : shared<i32>[1,1]\n"
                    "%v = add %n, %t : i32\n %tile = splat %v : i32[1]\n"
                    "shared_store %tile, %s, %zero\n mbarrier_arrive %both, %zero\n"
                    "mbarrier_wait %both, %zero, %zero\n"
                    "%l = shared_load %s, %zero {origin = [0], perm = [0]} : i32[1]\n"
                    "%at = addptr %y, %t : ptr<i32>\n %place = splat %at : ptr<i32>[1]\n"
                    "store %place, %l\n",
                    "%v2 = neg %n : i32\n %five = constant {value = 5} : i32\n"
                    "%a = addptr %y, %five : ptr<i32>\n store %a, %v2\n",
                    turns, "%both = mbarriers {arrivals = 8} : shared<i64>[1,1]\n", two_groups);
    CHECK(ran.text() == "");
    CHECK(ran.y()[0] == 3);
    CHECK(ran.y()[1] == 4);
    CHECK(ran.y()[5] == -3); // one producer warp
  }
}

TEST_CASE("consumer groups: wait for each other, or deadlock") {
  // The second consumer group runs after the first.
  auto in_turn = [](const std::string &first_waits) {
    return parts("%t = consumer_group_id : i32\n %is_second = cmp %t, %zero {pred = \"gt\"} : i1\n"
                 "if_else %is_second {\n mbarrier_wait %bar, %zero, %zero\n"
                 "%a = load %y : i32\n %b = add %a, %n : i32\n store %y, %b\n yield\n} {\n" +
                     first_waits + "store %y, %n\n mbarrier_arrive %bar, %zero\n yield\n}\n",
                 "", Turns::alternate, "", two_groups);
  };
  Ran ran = in_turn("");
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 6);
  CHECK(in_turn("mbarrier_wait %bar, %one, %zero\n").kinds() == std::vector{Kind::deadlock});
}

TEST_CASE("consumer groups: pending operations reported at the end") {
  auto left = [](const std::string &consumer_group) {
    return parts("%t = consumer_group_id : i32\n %is_other = cmp %t, %zero {pred = \"" +
                     consumer_group +
                     "\"} : i1\n if_else %is_other {\n"
                     "%p0 = wgmma_ss %s, %zero, %s, %zero, %c {perms = [0,1,0,1]} : "
                     "i32[1,1]\n yield\n} {\n yield\n}\n",
                 "", Turns::producer_first,
                 "%s = shared_alloc : shared<i32>[1,1,1]\n %c = splat %n : i32[1,1]\n", two_groups)
        .kinds();
  };
  CHECK(left("eq") == std::vector{Kind::wgmma_not_awaited});
  CHECK(left("gt") == std::vector{Kind::wgmma_not_awaited});
  CHECK(left("lt").empty());
}

TEST_CASE("producer warps: each arrives, and all may store and wait for each other") {
  auto all = [](const std::string &workers, const std::string &producers) {
    return parts(workers, producers, Turns::producer_first,
                 "%s = shared_alloc : shared<i32>[1,1]\n %c = splat %n : i32[1]\n",
                 "warps = [4,4]");
  };
  // %bar expects four arrivals.
  const std::string wait = "mbarrier_wait %bar, %zero, %zero\n";
  CHECK(all(wait, "mbarrier_arrive %bar, %zero\n").text() == "");
  CHECK(parts(wait, "mbarrier_arrive %bar, %zero\n").kinds() == std::vector{Kind::deadlock});
  CHECK(all("", "shared_store %c, %s, %zero\n proxy_fence\n").text() == "");
  CHECK(all("", "barrier\n").text() == "");
}

TEST_CASE("proxy_fence: covers only its own part's stores") {
  auto found = [](const std::string &workers, const std::string &producers) {
    return parts("mbarrier_wait %bar, %zero, %zero\n" + workers +
                     "%p0 = wgmma_ss %s, %zero, %s, %zero, %c {perms = [0,1,0,1]} : "
                     "i32[1,1]\n %d = wgmma_wait %p0 : i32[1,1]\n",
                 "shared_store %c, %s, %zero\n" + producers + "mbarrier_arrive %bar, %zero\n",
                 Turns::producer_first,
                 "%s = shared_alloc : shared<i32>[1,1,1]\n %c = splat %n : i32[1,1]\n",
                 "warps = [4,4]")
        .kinds();
  };
  CHECK(found("", "proxy_fence\n").empty());
  CHECK(found("", "") == std::vector{Kind::not_fenced});
  CHECK(found("proxy_fence\n", "") == std::vector{Kind::not_fenced});
}
