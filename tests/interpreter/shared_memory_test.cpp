// Tests interpreter/shared_memory.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tritonc::test;
using Kind = tritonc::interpreter::Report::Kind;

namespace {

const std::string buffer = "%one = constant {value = 1} : i32\n %yes = constant {value = 1} : i1\n"
                           "%no = constant {value = 0} : i1\n"
                           "%s = shared_alloc : shared<f32>[2,8]\n %a = load %p : f32[8]\n";
const std::string load = "%b = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]\n";
const std::string store_b = "store %q, %b";
const std::string view = "%z = constant {value = 0} : i64\n %u = constant {value = 1} : i64\n"
                         "%v = view %x, %z, %u : view<f32>[8]\n";
const std::string copy = "async_copy %v, %s, %zero, %yes {vector = 1}\n async_commit\n";

const std::vector<double> zero_to_seven = {0, 1, 2, 3, 4, 5, 6, 7};

bool all_poison(const Ran &ran) {
  for (double value : ran.y())
    if (!std::isnan(value))
      return false;
  return true;
}

} // namespace

TEST_CASE("shared_load: reads the stored stage; stages are separate") {
  Ran ran(buffer +
          "%c = neg %a : f32[8]\n shared_store %a, %s, %zero\n shared_store %c, %s, %one\n"
          "barrier\n" +
          load + store_b);
  CHECK(ran.y() == zero_to_seven);
}

TEST_CASE("shared_load: part of a stage, with permuted axes") {
  Ran ran("%s = shared_alloc : shared<f32>[1,4,4]\n %j = range {start = 0} : i32[16]\n"
          "%k = cast %j : f32[16]\n %r = reshape %k : f32[4,4]\n shared_store %r, %s, %zero\n"
          // element (i, j) of the part is element (2 + j, i) of the stage
          "%t = shared_load %s, %zero {origin = [0,2], perm = [1,0]} : f32[4,2]\n"
          "%f = reshape %t : f32[8]\n store %q, %f");
  CHECK(ran.text() == "");
  CHECK(ran.y() == std::vector<double>{8, 12, 9, 13, 10, 14, 11, 15});
}

TEST_CASE("rows in shared memory: follow one another, and end in zeros when loaded") {
  auto ran = [](const std::string &length, const std::string &first) {
    return Ran("%three = constant {value = 3} : i32\n %one = constant {value = 1} : i32\n"
               "%s = shared_alloc : shared<f32>[1,8]\n %a = load %p : f32[8]\n"
               "%r = reshape %a : f32[2,4]\n shared_store %a, %s, %zero\n"
               "%m = neg %r : f32[2,4]\n shared_store_rows %m, %s, %zero, %three, %one\n"
               "%t = shared_load_rows %s, %zero, " +
               length + ", " + first + " : f32[2,4]\n %f = reshape %t : f32[8]\n store %q, %f");
  };
  // The buffer has 0, -0, -1, -2, -4, -5, -6, 7.
  CHECK(ran("%three", "%one").text() == "");
  CHECK(ran("%three", "%one").y() == std::vector<double>{0, -1, -2, 0, -4, -5, -6, 0});
  CHECK(ran("%one", "%three").y() == std::vector<double>{-2, 0, 0, 0, -4, 0, 0, 0});
  CHECK(ran("%zero", "%one").y() == std::vector<double>(8, 0));
  CHECK(ran("%three", "%three").kinds() == std::vector{Kind::bad_slot});
}

TEST_CASE("rows in shared memory: a tile of some columns") {
  auto ran = [](const std::string &place) {
    return Ran("%three = constant {value = 3} : i32\n %one = constant {value = 1} : i32\n"
               "%s = shared_alloc : shared<f32>[1,8]\n %a = load %p : f32[8]\n"
               "shared_store %a, %s, %zero\n"
               "%t = shared_load_rows %s, %zero, %three, %one {" +
               place +
               "} : f32[2,2]\n %m = neg %t : f32[2,2]\n"
               "shared_store_rows %m, %s, %zero, %three, %one {" +
               place + "}\n %all = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]\n" +
               "store %q, %all");
  };
  CHECK(ran("origin = [0,2]").y() == std::vector<double>{0, 1, 2, -3, 4, 5, -6, 7});
  CHECK(ran("origin = [0,1], whole = 1").y() == std::vector<double>{0, 1, -2, -3, 4, -5, -6, 7});
  CHECK(ran("origin = [0,2], whole = 1").kinds() == std::vector(2, Kind::bad_slot));
}

TEST_CASE("shared_store: part of a stage keeps the rest") {
  Ran ran("%s = shared_alloc : shared<f32>[1,2,4]\n %a = load %p : f32[8]\n"
          "%r = reshape %a : f32[2,4]\n shared_store %r, %s, %zero\n %m = neg %r : f32[2,4]\n"
          "%c = extract %m {origin = [0,0]} : f32[2,2]\n"
          "shared_store %c, %s, %zero {origin = [0,2]}\n"
          "%t = shared_load %s, %zero {origin = [0,0], perm = [0,1]} : f32[2,4]\n"
          "%f = reshape %t : f32[8]\n store %q, %f");
  CHECK(ran.text() == "");
  CHECK(ran.y() == std::vector<double>{0, 1, -0.0, -1, 4, 5, -4, -5});
}

TEST_CASE("shared_alloc: poison each time it runs") {
  Ran unwritten(buffer + load + store_b);
  CHECK(unwritten.kinds() == std::vector{Kind::poison_store});
  Ran ran("%w = shared_alloc : shared<f32>[1,8]\n %a = load %p : f32[8]\n"
          "%r = for_loop %n, %a : f32[8] {\n(%t: i32, %c: f32[8])\n"
          "%s = shared_alloc : shared<f32>[1,8]\n %first = cmp %t, %zero {pred = \"eq\"} : i1\n"
          "if_else %first {\n shared_store %c, %s, %zero\n yield\n} {\n yield\n}\n" +
          load + "yield %b\n}\n store %q, %r");
  CHECK(ran.kinds() == std::vector{Kind::poison_store});
}

TEST_CASE("stage_index: wraps around") {
  Ran ran(
      "%big = constant {value = 7} : i32\n %r = stage_index %big {offset = 2, stages = 4} : i32\n"
      "%s = splat %r : i32[8]\n store %q, %s",
      "i32");
  CHECK(ran.y()[0] == 1);
}

TEST_CASE("async_copy: lands at the wait") {
  Ran waited(buffer + view + copy + "async_wait {pending = 0}\n" + load + store_b);
  CHECK(waited.text() == "");
  CHECK(waited.y() == zero_to_seven);
  Ran early(buffer + view + copy + load + "async_wait {pending = 0}\n" + store_b);
  CHECK(early.kinds() == std::vector{Kind::poison_store});
  CHECK(all_poison(early));
  // The old contents of the stage are lost as soon as the copy starts.
  Ran over(buffer + view + "shared_store %a, %s, %zero\n" + copy + load +
           "async_wait {pending = 0}\n" + store_b);
  CHECK(all_poison(over));
}

TEST_CASE("async_wait: covers all groups but the last {pending}") {
  const std::string two =
      buffer + view + copy + "async_copy %v, %s, %one, %yes {vector = 1}\n async_commit\n";
  Ran first(two + "async_wait {pending = 1}\n" + load + store_b + "\n async_wait {pending = 0}");
  CHECK(first.text() == "");
  CHECK(first.y() == zero_to_seven);
  Ran second(two +
             "async_wait {pending = 1}\n"
             "%b = shared_load %s, %one {origin = [0], perm = [0]} : f32[8]\n" +
             store_b + "\n async_wait {pending = 0}");
  CHECK(all_poison(second));
  // A wait does not cover uncommitted copies.
  Ran open(buffer + view +
           "async_copy %v, %s, %zero, %yes {vector = 1}\n async_wait {pending = 0}\n" + load +
           store_b + "\n async_commit\n async_wait {pending = 0}");
  CHECK(all_poison(open));
}

TEST_CASE("async_copy: zeros without a read when disabled or masked") {
  Ran unwanted(buffer + view +
               "async_copy %v, %s, %zero, %no {vector = 1}\n async_commit\n"
               "async_wait {pending = 0}\n" +
               load + store_b);
  CHECK(unwanted.y() == std::vector<double>(8, 0));
  const std::string far = "%z = constant {value = 5} : i64\n %u = constant {value = 1} : i64\n"
                          "%v = view %x, %z, %u : view<f32>[8]\n %ns = splat %n : i32[8]\n"
                          "%m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n";
  Ran masked(buffer + far +
             "async_copy %v, %s, %zero, %yes, %m {vector = 1}\n async_commit\n"
             "async_wait {pending = 0}\n" +
             load + store_b);
  CHECK(masked.text() == "");
  CHECK(masked.y() == std::vector<double>{5, 6, 7, 0, 0, 0, 0, 0});
}

TEST_CASE("async_copy: poison when the source changes meanwhile") {
  Ran ran(buffer + view + copy +
          "%c = add %a, %a : f32[8]\n store %p, %c\n async_wait {pending = 0}\n" + load + store_b);
  CHECK(ran.kinds() == std::vector{Kind::poison_store});
  CHECK(ran.y()[0] == 0); // the first element did not change
  CHECK(std::isnan(ran.y()[1]));
}
