// Tests interpreter/maps.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

const std::string numbers = "%o0 = constant {value = 0} : i64\n %o1 = constant {value = 1} : i64\n"
                            "%o2 = constant {value = 2} : i64\n %o3 = constant {value = 3} : i64\n"
                            "%o4 = constant {value = 4} : i64\n %o8 = constant {value = 8} : i64\n"
                            "%one = constant {value = 1} : i32\n %minus = neg %one : i32\n";

// x, or y, as two rows of four.
const std::string map_x =
    numbers + "%mx = tensor_map %x, %o0, %o2, %o4, %o4, %o1 : map<f32>[2,4]\n";
const std::string map_y = "%my = tensor_map %y, %o0, %o2, %o4, %o4, %o1 : map<f32>[1,4]\n";
const std::string store_t = "%f = reshape %t : f32[8]\n store %q, %f";

std::vector<double> loaded(const std::string &coordinates) {
  Ran ran(map_x + "%t = tma_load %mx, " + coordinates + " : f32[2,4]\n" + store_t);
  CHECK(ran.text() == "");
  return ran.y();
}

} // namespace

TEST_CASE("tma_load: loads at coordinates, zero outside the tensor") {
  CHECK(loaded("%zero, %zero") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(loaded("%one, %zero") == std::vector<double>{4, 5, 6, 7, 0, 0, 0, 0});
  CHECK(loaded("%zero, %n") == std::vector<double>{3, 0, 0, 0, 7, 0, 0, 0});
  CHECK(loaded("%minus, %minus") == std::vector<double>{0, 0, 0, 0, 0, 0, 1, 2});
}

TEST_CASE("tensor_map: offset, sizes, strides; several boxes") {
  // Three of the four columns of the second row only.
  Ran part(numbers +
           "%m = tensor_map %x, %o4, %o1, %o3, %o4, %o1 : map<f32>[2,4]\n"
           "%t = tma_load %m, %zero, %zero : f32[2,4]\n" +
           store_t);
  CHECK(part.text() == "");
  CHECK(part.y() == std::vector<double>{4, 5, 6, 0, 0, 0, 0, 0});
  // The contiguous axis is the first one.
  Ran columns(numbers +
              "%m = tensor_map %x, %o0, %o4, %o2, %o1, %o4 : map<f32>[4,1]\n"
              "%t = tma_load %m, %zero, %zero : f32[4,2]\n" +
              store_t);
  CHECK(columns.text() == "");
  CHECK(columns.y() == std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7});
}

TEST_CASE("tma_load: rounds f32 to tf32 when the map says so") {
  // 1 + 3 / 2^12 rounds to 1 + 1 / 2^10; the other values are exact in tf32.
  const std::string between = "%v = constant {number = 1.000732421875} : f32\n store %x, %v\n";
  auto first = [&](const std::string &attributes) {
    Ran ran(between + numbers + "%m = tensor_map %x, %o0, %o2, %o4, %o4, %o1 " + attributes +
            ": map<f32>[2,4]\n%t = tma_load %m, %zero, %zero : f32[2,4]\n" + store_t);
    CHECK(ran.text() == "");
    CHECK(ran.y()[7] == 7);
    return ran.y()[0];
  };
  CHECK(first("") == 1.000732421875);
  CHECK(first("{tf32 = 1} ") == 1.0009765625);
}

TEST_CASE("tma_load: reports tensor elements out of the buffer") {
  Ran ran(numbers + "%m = tensor_map %x, %o4, %o2, %o4, %o4, %o1 : map<f32>[2,4]\n"
                    "%t = tma_load %m, %zero, %zero : f32[2,4]");
  CHECK(ran.kinds() == std::vector{Kind::out_of_bounds});
  CHECK(ran.result.reports[0].element == 4);
  Ran outside(numbers + "%m = tensor_map %x, %o4, %o2, %o4, %o4, %o1 : map<f32>[2,4]\n"
                        "%t = tma_load %m, %minus, %zero : f32[2,4]");
  CHECK(outside.text() == ""); // rows -1 and 0
}

TEST_CASE("tma_store: stores at coordinates, clips at bounds") {
  Ran ran(map_x + map_y +
          "%t = tma_load %mx, %zero, %zero : f32[2,4]\n"
          "tma_store %my, %t, %zero, %zero\n tma_store %my, %t, %one, %n");
  CHECK(ran.text() == "");
  CHECK(ran.y() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 0});
  Ran past(map_x + "%m = tensor_map %y, %o4, %o2, %o4, %o4, %o1 : map<f32>[2,4]\n"
                   "%t = tma_load %mx, %zero, %zero : f32[2,4]\n tma_store %m, %t, %zero, %zero");
  CHECK(past.kinds() == std::vector{Kind::out_of_bounds});
  Ran poison(map_x + map_y +
             "%t = tma_load %my, %zero, %zero : f32[1,4]\n"
             "tma_store %my, %t, %one, %zero");
  CHECK(poison.kinds() == std::vector{Kind::poison_store});
}

TEST_CASE("tma_load: reports poison coordinates") {
  Ran ran(map_x + "%u = div %one, %zero : i32\n %t = tma_load %mx, %zero, %u : f32[2,4]");
  CHECK(ran.kinds() == std::vector{Kind::poison_address});
  CHECK(Ran(map_x + "%t = tma_load %mx, %zero, %one : f32[2,4]").kinds().empty());
}

TEST_CASE("tensor_map: checks the driver's rules") {
  struct {
    std::string map, why; // "" = accepted
  } cases[] = {
      {"%x, %o4, %o2, %o4, %o4, %o1 : map<f32>[2,4]", ""},
      {"%x, %o4, %o2, %o4, %o8, %o1 {swizzle = 32} : map<f32>[2,8]", ""},
      {"%x, %o0, %o2, %o4, %o4, %o1 : map<f32>[256,4]", ""},
      {"%x, %o0, %o1, %o1, %o1, %o4 : map<f32>[4,2]", ""},
      {"%x, %o2, %o2, %o4, %o4, %o1 : map<f32>[2,4]", "starts at byte 8"},
      {"%x, %o0, %o0, %o4, %o4, %o1 : map<f32>[2,4]", "the size of axis 0 is 0"},
      {"%x, %o0, %o2, %l, %o4, %o1 : map<f32>[2,4]", "the size of axis 1 is -1"},
      {"%x, %o0, %o2, %o4, %o3, %o1 : map<f32>[2,4]", "the stride of axis 0 is 12 bytes"},
      {"%x, %o0, %o2, %o4, %o0, %o1 : map<f32>[2,4]", ""},
      {"%x, %o0, %o2, %o4, %k, %o1 : map<f32>[2,4]", "the stride of axis 0 is -16 bytes"},
      {"%x, %o0, %o2, %o4, %o1, %o3 : map<f32>[4,2]", "the stride of axis 1 is 12 bytes"},
      {"%x, %o0, %g, %o4, %o4, %o1 : map<f32>[2,4]", "the size of axis 0 is 68719476740"},
      {"%x, %o0, %o2, %o4, %g, %o1 : map<f32>[2,4]", "the stride of axis 0 is 274877906960"},
      {"%x, %o0, %o2, %o4, %o4, %o1 : map<f32>[512,4]", "512 elements along axis 0"},
      {"%x, %o0, %o2, %o4, %o4, %o1 : map<f32>[2,2]", "rows of 8 bytes"},
      {"%x, %o0, %o2, %o4, %o4, %o1 {swizzle = 32} : map<f32>[2,16]",
       "rows of 64 bytes, swizzled over 32"},
  };
  for (const auto &[map, why] : cases) {
    CAPTURE(map);
    Ran ran(numbers +
            "%l = sub %o0, %o1 : i64\n %g = constant {value = 68719476740} : i64\n"
            "%k = sub %o0, %o4 : i64\n %m = tensor_map " +
            map);
    CAPTURE(ran.text());
    CHECK(ran.kinds() == (why.empty() ? std::vector<Kind>() : std::vector{Kind::not_launched}));
    CHECK(ran.text().find(why) != std::string::npos);
  }
}

TEST_CASE("tensor_map: only host values as operands") {
  const std::string end = ", %o2, %o4, %o4, %o1 : map<f32>[2,4]";
  const std::string b = numbers + "%b = block_id {axis = 0} : i32\n %l = cast %b : i64\n";
  CHECK(Ran(b + "%m = tensor_map %x, %l" + end).kinds() == std::vector{Kind::not_on_host});
  CHECK(Ran(b + "%z = addptr %x, %l : ptr<f32>\n %m = tensor_map %z, %o0" + end).kinds() ==
        std::vector{Kind::not_on_host});
  CHECK(Ran(b + "%w = cast %n : i64\n %v = mul %w, %o4 : i64\n %m = tensor_map %x, %v" + end)
            .kinds()
            .empty());
  CHECK(Ran(numbers + "%u = div %o1, %o0 : i64\n %m = tensor_map %x, %u" + end).kinds() ==
        std::vector{Kind::poison_address});
}
