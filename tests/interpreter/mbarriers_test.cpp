// Tests interpreter/mbarriers.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// x is two tiles of 4. The four consumer warps run `workers`, one producer warp runs `producer`.
Ran parts(const std::string &workers, const std::string &producer,
          const std::string &arrivals = "arrivals = 1") {
  return Ran("%o0 = constant {value = 0} : i64\n %o1 = constant {value = 1} : i64\n"
             "%o8 = constant {value = 8} : i64\n %one = constant {value = 1} : i32\n"
             "%four = constant {value = 4} : i32\n"
             "%map = tensor_map %x, %o0, %o8, %o1 : map<f32>[4]\n"
             "%o6 = constant {value = 6} : i64\n"
             "%x6 = tensor_map %x, %o0, %o6, %o1 : map<f32>[4]\n"
             "%y4 = tensor_map %y, %o0, %o8, %o1 : map<f32>[4]\n"
             "%s = shared_alloc : shared<f32>[2,4]\n %bar = mbarriers {" +
             arrivals +
             "} : shared<i64>[2,1]\n warp_specialize {one_thread = [0,1], warps = [4,4]} {\n" +
             workers + "yield\n} {\n" + producer + "yield\n}");
}

std::string wait(const std::string &parity, const std::string &stage = "%zero") {
  return "mbarrier_wait %bar, " + stage + ", " + parity + "\n";
}
std::string arrive(const std::string &attributes = "", const std::string &stage = "%zero") {
  return "mbarrier_arrive %bar, " + stage + " " + attributes + "\n";
}
const std::string announce = arrive("{bytes = 16}");
const std::string copy = "tma_load_async %map, %s, %zero, %bar, %zero, %zero\n";
const std::string copy_behind = "tma_load_async %map, %s, %zero, %bar, %zero, %four\n";
const std::string load =
    "%t = shared_load %s, %zero {origin = [0], perm = [0]} : f32[4]\n tma_store %y4, %t, %zero\n";

std::vector<double> first_four(const Ran &ran) {
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  y.resize(4);
  return y;
}

} // namespace

TEST_CASE("mbarrier_wait: initial phase and ended phases") {
  CHECK(parts(wait("%one"), "").text() == "");
  CHECK(parts(wait("%zero"), "").kinds() == std::vector{Kind::deadlock});
  CHECK(parts(wait("%zero"), arrive()).text() == "");
  CHECK(parts(wait("%zero") + wait("%one"), arrive()).kinds() == std::vector{Kind::deadlock});
  CHECK(parts(wait("%zero") + wait("%one"), arrive() + arrive()).kinds() ==
        std::vector{Kind::deadlock}); // two phases later, the phase has parity 0 again
  CHECK(parts(wait("%zero"), arrive("", "%one")).kinds() == std::vector{Kind::deadlock});
}

TEST_CASE("stage_phase: parity of an iteration's stage") {
  Ran ran("%eight = constant {value = 8} : i32\n for_loop %eight {\n (%t: i32)\n"
          "%phase = stage_phase %t {offset = 1, stages = 3} : i32\n"
          "%a = addptr %y, %t : ptr<i32>\n store %a, %phase\n yield\n}",
          "i32");
  CHECK(ran.text() == "");
  CHECK(ran.y() == std::vector<double>{0, 0, 1, 1, 1, 0, 0, 0});
}

TEST_CASE("mbarrier_arrive: one arrival per warp") {
  CHECK(parts(arrive(), wait("%zero"), "arrivals = 4").text() == "");
  CHECK(parts(arrive() + arrive(), wait("%zero"), "arrivals = 8").text() == "");
  CHECK(parts(arrive(), wait("%zero"), "arrivals = 5").kinds() == std::vector{Kind::deadlock});
  CHECK(parts(arrive(), wait("%zero") + arrive(), "arrivals = 5").kinds() ==
        std::vector{Kind::deadlock});
  CHECK(parts(arrive() + wait("%zero"), arrive(), "arrivals = 5").text() == "");
  for (const char *too_few : {"arrivals = 1", "arrivals = 3"})
    CHECK(parts(arrive(), "", too_few).kinds() == std::vector{Kind::bad_mbarrier});
}

TEST_CASE("tma_prefetch: no effect") {
  CHECK(first_four(parts("tma_prefetch %map\n" + wait("%zero") + load, announce + copy)) ==
        std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("tma_load_async: lands at the wait") {
  CHECK(first_four(parts(wait("%zero") + load, announce + copy)) ==
        std::vector<double>{0, 1, 2, 3});
  Ran early = parts(load + wait("%zero"), announce + copy);
  CHECK(early.kinds() == std::vector{Kind::poison_store});
  // A wait for another mbarrier does not cover it.
  Ran other =
      parts(wait("%zero", "%one") + load + wait("%zero"), announce + copy + arrive("", "%one"));
  CHECK(other.kinds() == std::vector{Kind::poison_store});
  Ran buffer = parts("", "%b2 = mbarriers {arrivals = 1} : shared<i64>[2,1]\n" + announce + copy +
                             "mbarrier_arrive %b2, %zero {bytes = 16}\n"
                             "tma_load_async %map, %s, %one, %b2, %zero, %zero\n"
                             "mbarrier_wait %b2, %zero, %zero\n"
                             "%v = shared_load %s, %one {origin = [0], perm = [0]} : f32[4]\n"
                             "tma_store %y4, %v, %zero\n" +
                             load);
  CHECK(buffer.kinds() == std::vector{Kind::poison_store, Kind::copy_not_awaited});
  // The producer warp may also wait.
  CHECK(first_four(parts(wait("%zero", "%one") + load,
                         announce + copy + wait("%zero") + arrive("", "%one"))) ==
        std::vector<double>{0, 1, 2, 3});
  Ran never = parts("", announce + copy);
  CHECK(never.kinds() == std::vector{Kind::copy_not_awaited});
}

TEST_CASE("tma_load_async: destination is poison at once") {
  const std::string store = "%v = load %x : f32\n %w = splat %v : f32[4]\n"
                            "shared_store %w, %s, %zero\n mbarrier_arrive %bar, %one\n";
  const std::string after = "mbarrier_wait %bar, %one, %zero\n";
  auto kinds = [&](const std::string &between) {
    return parts(store + between, after + arrive() + arrive() + arrive() + announce + copy,
                 "arrivals = 4")
        .kinds();
  };
  CHECK(kinds(load + wait("%zero")) == std::vector{Kind::poison_store});
  CHECK(kinds(wait("%zero") + load).empty());
}

TEST_CASE("tma_load_async: zeros out of bounds, poison if changed") {
  const std::string outside = announce + "tma_load_async %x6, %s, %zero, %bar, %zero, %four\n";
  CHECK(first_four(parts(wait("%zero") + load, outside)) == std::vector<double>{4, 5, 0, 0});
  const std::string change = "%v = constant {number = 9.0} : f32\n store %x, %v\n";
  CHECK(parts(wait("%zero") + load, announce + copy + change).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(first_four(parts(wait("%zero") + load, change + announce + copy)) ==
        std::vector<double>{9, 1, 2, 3});
}

TEST_CASE("mbarrier: a phase needs exactly its expected bytes") {
  CHECK(parts(wait("%zero"), arrive("{bytes = 32}") + copy + copy_behind).text() == "");
  CHECK(parts(wait("%zero"), announce + announce + copy + copy_behind, "arrivals = 2").text() ==
        "");
  // The expected bytes must be announced before the last arrival.
  CHECK(parts(wait("%zero"), copy + announce).text() == "");
  CHECK(parts(wait("%zero"), copy + arrive()).kinds() == std::vector{Kind::bad_mbarrier});
  CHECK(parts(wait("%zero"), announce + copy + copy_behind).kinds() ==
        std::vector{Kind::bad_mbarrier});
  Ran less = parts(wait("%zero"), arrive("{bytes = 48}") + copy + copy_behind);
  CHECK(less.kinds() == std::vector{Kind::deadlock});
  CHECK(less.text().find("0 arrivals and 16 bytes to come") != std::string::npos);
  // The same without a wait.
  CHECK(parts("", announce).kinds() == std::vector{Kind::bad_mbarrier});
}

TEST_CASE("mbarrier: the first of the program's warps copies and announces, too") {
  CHECK(parts(announce + copy + wait("%zero") + load, "").kinds().empty());
  CHECK(parts(announce + wait("%zero"), copy).kinds().empty());
}

TEST_CASE("tma_load_async: the program's warps need a fence after they read the stage") {
  const std::string first = announce + copy + wait("%zero") + load;
  const std::string second = announce + copy + wait("%one");
  CHECK(parts(first + second, "").kinds() == std::vector{Kind::not_fenced});
  CHECK(parts(first + "proxy_fence\n" + second, "").kinds().empty());
}

TEST_CASE("mbarrier: reports invalid stages and parities") {
  CHECK(parts(arrive("", "%n"), "").kinds() == std::vector{Kind::bad_slot});
  CHECK(parts(wait("%one", "%n"), "").kinds() == std::vector{Kind::bad_slot});
  CHECK(parts(wait("%n"), "").kinds() == std::vector{Kind::bad_mbarrier});
  CHECK(parts("", "tma_load_async %map, %s, %n, %bar, %zero, %zero\n").kinds() ==
        std::vector{Kind::bad_slot});
  CHECK(parts("", "tma_load_async %map, %s, %zero, %bar, %n, %zero\n").kinds() ==
        std::vector{Kind::bad_slot});
  CHECK(parts("%u = div %one, %zero : i32\n" + wait("%u"), "").kinds() ==
        std::vector{Kind::poison_condition});
}
