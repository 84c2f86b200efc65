// Tests interpreter/clusters.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// %block is the block's index, %a is x, and %own is x + 10 * %block.
Ran blocks(int count, const std::string &operations) {
  Launch launch;
  launch.grid = {count, 1, 1};
  launch.max_steps = 10'000;
  return Ran("%block = block_id {axis = 0} : i32\n %b = cast %block : f32\n"
             "%bs = splat %b : f32[8]\n %a = load %p : f32[8]\n"
             "%one = constant {value = 1} : i32\n %two = constant {value = 2} : i32\n"
             "%tens = constant {number = 10.0} : f32\n"
             "%ten = splat %tens : f32[8]\n %own0 = mul %bs, %ten : f32[8]\n"
             "%own = add %a, %own0 : f32[8]\n" +
                 operations,
             "f32", "", launch);
}

std::vector<double> y_of(const Ran &ran) {
  CHECK(ran.text() == "");
  return ran.y();
}

// y[i] = factor * i + more.
std::vector<double> line(double factor, double more) {
  std::vector<double> values;
  for (int i = 0; i < 8; i++)
    values.push_back(factor * i + more);
  return values;
}

// Increments y[0].
std::string count_up(const std::string &v) {
  return "%" + v + "1 = constant {number = 1.0} : f32\n %" + v + " = load %y : f32\n %" + v +
         "2 = add %" + v + ", %" + v + "1 : f32\n store %y, %" + v + "2\n";
}

} // namespace

TEST_CASE("cluster_reduce: adds the blocks' tiles") {
  CHECK(
      y_of(blocks(
          2, "%sum = cluster_reduce %own {blocks = 2, op = \"add\"} : f32[8]\n store %q, %sum")) ==
      line(2, 10));
  CHECK(
      y_of(blocks(
          4, "%sum = cluster_reduce %own {blocks = 4, op = \"add\"} : f32[8]\n store %q, %sum")) ==
      line(4, 60));
}

TEST_CASE("cluster_reduce: integers add exactly and wrap around") {
  auto sum_of = [](const std::string &number) {
    Launch launch;
    launch.grid = {2, 1, 1};
    return y_of(
        Ran("%own = constant {value = " + number + "} : i32\n" +
                "%owns = splat %own : i32[8]\n"
                "%sum = cluster_reduce %owns {blocks = 2, op = \"add\"} : i32[8]\n store %q, %sum",
            "i32", "", launch));
  };
  CHECK(sum_of("16777217") == std::vector<double>(8, 33554434)); // f32 can represent neither
  CHECK(sum_of("2147483647") == std::vector<double>(8, -2));
}

TEST_CASE("cluster_reduce: each cluster separately") {
  // Cluster 0 stores the first half, cluster 1 the second.
  CHECK(y_of(blocks(4, R"(
      %sum = cluster_reduce %own {blocks = 2, op = "add"} : f32[8]
      %cluster = div %block, %two : i32
      %four = constant {value = 4} : i32
      %fours = splat %four : i32[8]
      %half = div %i, %fours : i32[8]
      %clusters = splat %cluster : i32[8]
      %mine = cmp %half, %clusters {pred = "eq"} : i1[8]
      store %q, %sum, %mine)")) == std::vector<double>{10, 12, 14, 16, 58, 60, 62, 64});
}

TEST_CASE("cluster_reduce: adds in the order of the blocks") {
  // Adding 1e8, 1, -1e8, 1 in f32 loses the first 1.
  CHECK(y_of(blocks(4, R"(
      %large = constant {number = 1e8} : f32
      %small = constant {number = 1.0} : f32
      %minus = neg %large : f32
      %zero.rank = cmp %block, %zero {pred = "eq"} : i1
      %two.rank = cmp %block, %two {pred = "eq"} : i1
      %first = select %zero.rank, %large, %small : f32
      %v = select %two.rank, %minus, %first : f32
      %vs = splat %v : f32[8]
      %sum = cluster_reduce %vs {blocks = 4, op = "add"} : f32[8]
      store %q, %sum)")) == line(0, 1));
}

TEST_CASE("cluster_reduce: adds buffers stage by stage") {
  auto of_slot = [](const std::string &stage) {
    return y_of(blocks(
        2, "%s = shared_alloc : shared<f32>[2,8]\n shared_store %own, %s, %zero\n"
           "shared_store %ten, %s, %one\n cluster_barrier\n"
           "%sum = cluster_load_reduce %s, " +
               stage + " {blocks = 2, op = \"add\"} : f32[8]\n cluster_barrier\n store %q, %sum"));
  };
  CHECK(of_slot("%zero") == line(2, 10));
  CHECK(of_slot("%one") == line(0, 20));
  CHECK(blocks(2, "%s = shared_alloc : shared<f32>[2,8]\n"
                  "%sum = cluster_load_reduce %s, %two {blocks = 2, op = \"add\"} : f32[8]")
            .kinds() == std::vector(2, Kind::bad_slot));
}

TEST_CASE("cluster_send, cluster_receive: each block has the sum of all") {
  const std::string made =
      "%m = mbarriers {arrivals = 1} : shared<i64>[1,1]\n"
      "%s = shared_alloc : shared<f32>[4,8]\n"
      "%four = constant {value = 4} : i32\n %rank = urem %block, %four : i32\n";
  const std::string expects = "mbarrier_arrive %m, %zero {bytes = 128}\n";
  const std::string arrives = "cluster_arrive\n", waits = "cluster_wait\n";
  const std::string sends = "cluster_send %own, %s, %rank, %m, %zero {blocks = 4}\n";
  const std::string receives =
      "mbarrier_wait %m, %zero, %zero\n"
      "%sum = cluster_receive %s, %zero {blocks = 4, op = \"max\"} : f32[8]\n";
  const std::string stores = "store %q, %sum";
  CHECK(y_of(blocks(4, made + expects + arrives + waits + sends + receives + stores)) ==
        line(1, 30));
  auto kinds = [&](const std::string &text) { return blocks(4, made + text).kinds(); };
  CHECK(kinds(expects + sends + receives) == std::vector(4, Kind::bad_mbarrier));
  CHECK(kinds(expects + waits + sends + receives) == std::vector(4, Kind::bad_mbarrier));
  CHECK(kinds(arrives + waits + sends + receives) == std::vector(4, Kind::deadlock));
  CHECK(kinds(expects + arrives + waits + receives) == std::vector(4, Kind::deadlock));
  CHECK(kinds("mbarrier_arrive %m, %zero {bytes = 64}\n" + arrives + waits + sends + receives) ==
        std::vector(4, Kind::bad_mbarrier));
  CHECK(kinds("mbarrier_arrive %m, %zero {bytes = 256}\n" + arrives + waits + sends + receives) ==
        std::vector(4, Kind::deadlock));
  CHECK(kinds(expects + arrives + waits + "cluster_send %own, %s, %zero, %m, %zero {blocks = 4}\n" +
              receives) == std::vector(3, Kind::bad_mbarrier)); // block 0 does have rank 0
}

TEST_CASE("cluster_reduce: one block continues for all") {
  const std::string start = "%nothing = constant {number = 0.0} : f32\n"
                            "%is.first = cmp %block, %zero {pred = \"eq\"} : i1\n"
                            "store %y, %nothing, %is.first\n";
  Ran ran = blocks(4, start + count_up("f") +
                          "%sum = cluster_reduce %own {blocks = 4, op = \"add\"} : f32[8]\n" +
                          count_up("l"));
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 5);
}

TEST_CASE("cluster_reduce: combines by other operations") {
  const std::string reduce = "%sum = cluster_reduce %own {blocks = 4, op = \"max\"} : f32[8]\n";
  CHECK(y_of(blocks(4, reduce + "store %q, %sum")) == line(1, 30));
}

TEST_CASE("cluster_reduce: with to_all, each block continues with its own work") {
  // Each block stores two elements of the sum of maxima.
  const std::string all = "{blocks = 4, op = \"max\", to_all = 1} : f32[8]\n";
  const std::string sum = "{blocks = 4, op = \"add\", to_all = 1} : f32[8]\n";
  const std::string mine = "%first = mul %block, %two : i32\n %firsts = splat %first : i32[8]\n"
                           "%from = cmp %i, %firsts {pred = \"ge\"} : i1[8]\n"
                           "%last = add %first, %two : i32\n %lasts = splat %last : i32[8]\n"
                           "%until = cmp %i, %lasts {pred = \"lt\"} : i1[8]\n"
                           "%mine = and %from, %until : i1[8]\n";
  CHECK(y_of(blocks(4, "%top = cluster_reduce %own " + all + "%total = cluster_reduce %top " + sum +
                           mine + "store %q, %total, %mine")) == line(4, 120));
  Ran ran = blocks(4, "%nothing = constant {number = 0.0} : f32\n"
                      "%is.first = cmp %block, %zero {pred = \"eq\"} : i1\n"
                      "store %y, %nothing, %is.first\n" +
                          count_up("f") + "%top = cluster_reduce %own " + all + count_up("l"));
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 8);
}

TEST_CASE("cluster_barrier: blocks wait for stores of the others") {
  CHECK(
      y_of(blocks(4, "%at = addptr %y, %block : ptr<f32>\n store %at, %b\n"
                     "%top = cluster_reduce %own {blocks = 4, op = \"max\", to_all = 1} : f32[8]\n"
                     "%three = add %one, %two : i32\n %left = sub %three, %block : i32\n"
                     "%other = addptr %y, %left : ptr<f32>\n %theirs = load %other : f32\n"
                     "cluster_barrier\n %ts = splat %theirs : f32[8]\n"
                     "%mine = splat %block : i32[8]\n %on = cmp %i, %mine {pred = \"eq\"} : i1[8]\n"
                     "%four = add %two, %two : i32\n %fours = splat %four : i32[8]\n"
                     "%rest = cmp %i, %fours {pred = \"ge\"} : i1[8]\n"
                     "%both = or %on, %rest : i1[8]\n store %q, %ts, %on\n"
                     "cluster_barrier\n %is.last = cmp %block, %three {pred = \"eq\"} : i1\n"
                     "store %q, %bs, %is.last")) == line(0, 3));
}

TEST_CASE("cluster_reduce: the producer thread continues") {
  for (Turns turns : {Turns::producer_first, Turns::workers_first, Turns::alternate}) {
    Launch launch;
    launch.grid = {2, 1, 1};
    launch.turns = turns;
    Ran ran("%a = load %p : f32[8]\n %block = block_id {axis = 0} : i32\n"
            "%mine = addptr %y, %block : ptr<f32>\n %x0 = load %x : f32\n"
            "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n %sum = cluster_reduce %a "
            "{blocks = 2, op = \"add\"} : f32[8]\n "
            "yield\n} {\n"
            "store %mine, %x0\n yield\n}",
            "f32", "", launch);
    CHECK(ran.text() == "");
    CHECK(ran.y()[0] == 0);
    CHECK(ran.y()[1] == 0);
  }
}

TEST_CASE("cluster_reduce: a block ended by a report adds nothing") {
  // The first block of the second cluster ends before it stores its partial sum.
  Ran ran = blocks(4, R"(
      %ends = cmp %block, %two {pred = "ne"} : i1
      assert %ends {text = "no"}
      %sum = cluster_reduce %own {blocks = 2, op = "add"} : f32[8]
      store %q, %sum)");
  CHECK(ran.kinds() == std::vector{Kind::assertion_failed, Kind::poison_store});
}

TEST_CASE("cluster_reduce: only consumer warps may execute it") {
  auto producer = [](const std::string &operation) {
    return blocks(1, "%s = shared_alloc : shared<f32>[1,8]\n shared_store %a, %s, %zero\n"
                     "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield\n} {\n" +
                         operation + "\n yield\n}")
        .kinds();
  };
  CHECK(producer("%sum = cluster_reduce %a {blocks = 2, op = \"add\"} : f32[8]") ==
        std::vector{Kind::wrong_warps});
  CHECK(producer("%sum = cluster_load_reduce %s, %zero {blocks = 2, op = \"add\"} : f32[8]") ==
        std::vector{Kind::wrong_warps});
  CHECK(producer("cluster_barrier") == std::vector{Kind::wrong_warps});
  CHECK(producer("").empty());
}
