// Tests interpreter/copies_out.cpp, and the checks of boxes in mbarriers.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// %t0 is the first half of x, %t1 the second half. y is a tensor of `size` elements. %s has two
// stages of 4.
Ran ran(const std::string &operations, const std::string &size = "8") {
  return Ran("%o0 = constant {value = 0} : i64\n %o1 = constant {value = 1} : i64\n"
             "%o8 = constant {value = 8} : i64\n %size = constant {value = " +
             size +
             "} : i64\n %one = constant {value = 1} : i32\n %two = constant {value = 2} : i32\n"
             "%four = constant {value = 4} : i32\n %minus = constant {value = -4} : i32\n"
             "%mx = tensor_map %x, %o0, %o8, %o1 : map<f32>[4]\n"
             "%my = tensor_map %y, %o0, %size, %o1 : map<f32>[4]\n"
             "%t0 = tma_load %mx, %zero : f32[4]\n %t1 = tma_load %mx, %four : f32[4]\n"
             "%s = shared_alloc : shared<f32>[2,4]\n" +
             operations);
}

std::string write(const std::string &tile, const std::string &stage) {
  return "shared_store " + tile + ", %s, " + stage + "\n";
}
std::string copy(const std::string &stage, const std::string &at) {
  return "tma_store_async %my, %s, " + stage + ", " + at + "\n";
}
std::string wait(const std::string &pending = "0") {
  return "tma_store_wait {pending = " + pending + "}\n";
}
const std::string fence = "proxy_fence\n";

// y, with 9 for poison.
std::vector<double> y_of(const Ran &ran) {
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  for (double &value : y)
    if (value != value)
      value = 9;
  return y;
}

} // namespace

TEST_CASE("tma_store_async: stores at coordinates, clips at bounds") {
  const std::string both = write("%t0", "%zero") + write("%t1", "%one") + fence;
  CHECK(y_of(ran(both + copy("%one", "%zero") + copy("%zero", "%four") + wait())) ==
        std::vector<double>{4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(y_of(ran(both + copy("%one", "%zero") + wait())) ==
        std::vector<double>{4, 5, 6, 7, 9, 9, 9, 9});
  CHECK(y_of(ran(both + copy("%one", "%four") + wait(), "4")) ==
        std::vector<double>{9, 9, 9, 9, 9, 9, 9, 9});
  CHECK(ran(both + copy("%one", "%four") + "%twelve = constant {value = 8} : i32\n" +
                copy("%one", "%twelve") + wait(),
            "16")
            .kinds() == std::vector{Kind::out_of_bounds});
}

TEST_CASE("tma_store_async: reads the stage as late as possible") {
  const std::string start = write("%t0", "%zero") + fence + copy("%zero", "%zero");
  const std::string again = write("%t1", "%zero");
  CHECK(y_of(ran(start + wait() + again)) == std::vector<double>{0, 1, 2, 3, 9, 9, 9, 9});
  CHECK(y_of(ran(start + write("%t1", "%one") + wait()))[0] == 0); // another stage
  Ran early = ran(start + again + wait());
  CHECK(early.kinds() == std::vector{Kind::poison_store});
  CHECK(early.text().find("`tma_store_async") != std::string::npos);
  CHECK(early.text().find("changes before it is read") != std::string::npos);
  CHECK(early.result.reports.size() == 1);
  CHECK(early.y()[0] != early.y()[0]);
  // Only the last {pending} copies may be unread.
  const std::string second = write("%t1", "%one") + fence + copy("%one", "%four");
  CHECK(y_of(ran(start + second + wait("1") + again + fence + wait())) ==
        std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(ran(start + second + wait("1") + write("%t0", "%one") + wait()).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(ran(start + second + wait("2") + again + wait()).kinds() ==
        std::vector{Kind::poison_store});
}

TEST_CASE("tma_store_async: reports a missing wait at the end") {
  const std::string start = write("%t0", "%zero") + fence + copy("%zero", "%zero");
  CHECK(ran(start).kinds() == std::vector{Kind::copy_not_awaited});
  CHECK(ran(start + copy("%zero", "%four") + wait("1")).kinds() ==
        std::vector{Kind::copy_not_awaited});
  CHECK(ran(start + copy("%zero", "%four") + wait()).kinds().empty());
}

TEST_CASE("tma_store_async: destination is poison until the end") {
  const std::string start = write("%t0", "%zero") + fence + copy("%zero", "%zero") + wait();
  CHECK(ran(start + "%v = load %y : f32\n store %y, %v").kinds() ==
        std::vector{Kind::poison_store});
  Ran other = ran(start + "%v = load %x : f32\n store %y, %v");
  CHECK(other.text() == "");
  CHECK(other.y()[0] != other.y()[0]);
  CHECK(other.y()[1] == 1);
  Ran twice = ran(start + copy("%zero", "%zero") + wait());
  CHECK(twice.text() == "");
  CHECK(twice.y()[1] != twice.y()[1]);
  // The values before the copy are readable.
  CHECK(y_of(ran("%v = load %x : f32\n store %y, %v\n" + start))[1] == 1);
}

TEST_CASE("tma_store_async: needs a proxy_fence after stores") {
  const std::string first = write("%t0", "%zero"), out = copy("%zero", "%zero") + wait();
  CHECK(ran(first + out).kinds() == std::vector{Kind::not_fenced});
  CHECK(ran(fence + first + out).kinds() == std::vector{Kind::not_fenced});
  CHECK(ran(first + fence + out).kinds().empty());
  CHECK(ran(first + fence + write("%t1", "%one") + out).kinds().empty()); // another stage
  CHECK(ran(first + fence + out + first + out).kinds() == std::vector{Kind::not_fenced});
  const std::string async = "%yes = cmp %zero, %zero {pred = \"eq\"} : i1\n"
                            "%v = view %x, %o0, %o1 : view<f32>[4]\n"
                            "async_copy %v, %s, %zero, %yes\n async_commit\n";
  const std::string landed = "async_wait {pending = 0}\n";
  CHECK(ran(async + fence + landed + out).kinds() == std::vector{Kind::not_fenced});
  CHECK(ran(async + landed + fence + out).kinds().empty());
}

TEST_CASE("tma_store_async: reports an unwritten stage") {
  CHECK(ran(copy("%zero", "%zero") + wait()).kinds() == std::vector{Kind::poison_store});
  CHECK(ran(write("%t0", "%zero") + fence + copy("%one", "%zero") + wait()).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(ran(copy("%two", "%zero") + wait()).kinds() == std::vector{Kind::bad_slot});
  CHECK(ran(write("%t0", "%zero") + fence + "%u = div %one, %zero : i32\n" + copy("%zero", "%u") +
            wait())
            .kinds() == std::vector{Kind::poison_address});
}

TEST_CASE("tma_store_async: reports invalid boxes") {
  const std::string start = write("%t0", "%zero") + fence;
  auto text = [&](const std::string &at, const std::string &size) {
    Ran tried = ran(start + copy("%zero", at) + wait(), size);
    for (Kind kind : tried.kinds())
      CHECK(kind == Kind::bad_box);
    return tried.text();
  };
  auto says = [](const std::string &text, const char *what) {
    return text.find(what) != std::string::npos;
  };
  CHECK(says(text("%minus", "8"), "begins at -4 of axis 0"));
  CHECK(says(text("%two", "8"), "begins at 2 of axis 0, not at a multiple of 16 bytes"));
  CHECK(says(text("%four", "7"), "after rows of 28 bytes"));
  CHECK(text("%zero", "7") == "");
  CHECK(text("%four", "8") == "");
  CHECK(text("%four", "3") == ""); // the box is past the end of the row
  // A load ends at the end of the tensor, and may begin before the tensor.
  auto loads = [&](const std::string &at) {
    return ran("%bar = mbarriers {arrivals = 1} : shared<i64>[1,1]\n warp_specialize {one_thread = "
               "[0,1], warps = [4,4]} {\n"
               "mbarrier_wait %bar, %zero, %zero\n yield\n} {\n"
               "mbarrier_arrive %bar, %zero {bytes = 16}\n"
               "tma_load_async %my, %s, %zero, %bar, %zero, " +
                   at + "\n yield\n}",
               "7")
        .kinds();
  };
  CHECK(loads("%minus").empty());
  CHECK(loads("%four").empty());
  CHECK(loads("%two") == std::vector{Kind::bad_box});
}

TEST_CASE("tma_load: elements from the limit of {predicated} on are undefined") {
  auto y = [](const std::string &limit) {
    return y_of(ran("%t = tma_load %mx, %zero, " + limit + " {predicated = 0} : f32[4]\n" +
                        write("%t", "%zero") + fence + copy("%zero", "%zero") + wait(),
                    "4"));
  };
  CHECK(y("%four") == std::vector<double>{0, 1, 2, 3, 9, 9, 9, 9});
  CHECK(ran("%t = tma_load %mx, %zero, %two {predicated = 0} : f32[4]\n tma_store %my, %t, %zero")
            .kinds() == std::vector{Kind::poison_store});
}

TEST_CASE("tma_store_async: only consumer warps may execute it") {
  const std::string start = write("%t0", "%zero") + fence;
  auto kinds = [&](const std::string &producer) {
    return ran(start + "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n yield\n} {\n" +
               producer + "yield\n}")
        .kinds();
  };
  CHECK(kinds("").empty());
  for (const std::string &operation : {wait(), fence})
    CHECK(kinds(operation) == std::vector{Kind::wrong_warps});
  CHECK(kinds(copy("%zero", "%zero"))[0] == Kind::wrong_warps);
}
