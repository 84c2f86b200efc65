// Tests interpreter/channels.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// x is two tiles of 4. The four consumer warps run `consumer`, one producer warp runs `producer`.
Ran partitions(const std::string &consumer, const std::string &producer,
               const std::string &channel = "%c = channel %s : channel[2]\n") {
  return Ran("%o0 = constant {value = 0} : i64\n %o1 = constant {value = 1} : i64\n"
             "%o8 = constant {value = 8} : i64\n %one = constant {value = 1} : i32\n"
             "%three = constant {value = 3} : i32\n %four = constant {value = 4} : i32\n"
             "%map = tensor_map %x, %o0, %o8, %o1 : map<f32>[4]\n"
             "%y4 = tensor_map %y, %o0, %o8, %o1 : map<f32>[4]\n"
             "%s = shared_alloc : shared<f32>[2,4]\n" +
             channel + "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n" + consumer +
             "yield\n} {\n" + producer + "yield\n}");
}

// The producer counts with %m, the consumer with %k. Number %m is the tile from 4 * (%m mod 2) on.
const std::string put = "%b = put %c, %m : i32\n %half = stage_index %m {stages = 2} : i32\n"
                        "%at = mul %half, %four : i32\n"
                        "tma_load_async %map, %s, %b, %c, %b, %at\n put_done %c, %m\n";
const std::string get = "%j = get %c, %k : i32\n", done = "get_done %c, %k\n";
const std::string store = "%t = shared_load %s, %j {origin = [0], perm = [0]} : f32[4]\n"
                          "tma_store %y4, %t, %zero\n";

std::string puts(const std::string &count, const std::string &body) {
  return "for_loop " + count + " {\n (%m: i32)\n" + body + "yield\n}\n";
}
std::string gets(const std::string &count, const std::string &body) {
  return "for_loop " + count + " {\n (%k: i32)\n" + body + "yield\n}\n";
}

} // namespace

TEST_CASE("channel: passes numbers in order") {
  for (const char *count : {"%one", "%three", "%four"}) {
    CAPTURE(count);
    Ran ran = partitions(gets(count, get + store + done), puts(count, put));
    CHECK(ran.text() == "");
    const bool is_second = std::string(count) == "%four"; // tile of the last number
    CHECK(ran.y()[0] == (is_second ? 4 : 0));
  }
}

TEST_CASE("channel: a stage holds nothing outside of its life") {
  CHECK(partitions(gets("%one", get + done + store), puts("%one", put)).kinds() ==
        std::vector{Kind::poison_store});
}

TEST_CASE("channel: numbers that nobody puts, gets or releases") {
  CHECK(partitions(gets("%four", get + done), puts("%three", put)).kinds() ==
        std::vector{Kind::deadlock});
  const std::string nothing = "%b = put %c, %m : i32\n put_done %c, %m\n";
  CHECK(partitions(gets("%three", get + done), puts("%four", nothing)).kinds() ==
        std::vector{Kind::bad_channel});
  const std::string never =
      "%no = constant {value = 0} : i1\n if_else %no {\n" + done + "yield\n} {\n yield\n}\n";
  CHECK(partitions(gets("%three", get + never), puts("%three", put)).kinds() ==
        std::vector{Kind::deadlock});
}

TEST_CASE("channel: numbers out of order") {
  const std::string thirds = "%m3 = mul %m, %three : i32\n %b = put %c, %m3 : i32\n"
                             "put_done %c, %m3\n";
  CHECK(partitions(gets("%three", get + done), puts("%three", thirds)).kinds() ==
        std::vector{Kind::bad_channel});
  const std::string done_ahead = "get_done %c, %k {offset = 1}\n";
  CHECK(partitions(gets("%three", get + done_ahead), puts("%three", put)).kinds() ==
        std::vector{Kind::bad_channel});
}

TEST_CASE("channel: without get_done, only the producer knows when a stage is empty") {
  CHECK(partitions(gets("%one", get + store), puts("%one", put)).text() == "");
  CHECK(partitions(gets("%three", get), puts("%three", put)).kinds() ==
        std::vector{Kind::bad_channel});
}

TEST_CASE("channel: an order, in which negative numbers are full") {
  const std::string order = "%c = channel : channel[2]\n";
  const std::string in_turn = "%j = get %c, %k {offset = -1} : i32\n put_done %c, %k\n";
  CHECK(partitions(gets("%three", in_turn), "", order).text() == "");
  CHECK(partitions(gets("%three", get), puts("%one", "put_done %c, %m\n"), order).kinds() ==
        std::vector{Kind::deadlock});
}

TEST_CASE("channel: threads may fill it") {
  const std::string fill = "%b = put %c, %m : i32\n %v = cast %m : f32\n %w = splat %v : f32[4]\n"
                           "shared_store %w, %s, %b\n put_done %c, %m\n";
  Ran ran = partitions(gets("%three", get + store + done), puts("%three", fill));
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 2);
}
