// Tests interpreter/global_memory.cpp and memory.cpp. reports_test.cpp and poison_test.cpp test the
// reports.

#include "interpreter/arithmetic.h"
#include "interpreter/programs.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using tritonc::ir::Elem;
using tritonc::ir::Type;

namespace {

const std::string first_three = "%ns = splat %n : i32[8]\n"
                                "%m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n";

} // namespace

TEST_CASE("load: masked-off elements take the alternative") {
  Ran ran(first_three + "%x1 = constant {number = 9.0} : f32\n %o = splat %x1 : f32[8]\n"
                        "%a = load %p, %m, %o : f32[8]\n store %q, %a");
  CHECK(ran.y() == std::vector<double>{0, 1, 2, 9, 9, 9, 9, 9});
  // Without an alternative the element is poison, which is allowed if it is not stored.
  Ran without(first_three +
              "%a = load %p, %m : f32[8]\n %b = add %a, %a : f32[8]\n store %q, %b, %m");
  CHECK(without.text() == "");
  CHECK(without.y()[2] == 4);
  CHECK(std::isnan(without.y()[3]));
}

TEST_CASE("atomic: returns old values, updates where the mask is on") {
  const std::string before = first_three + "%b = load %p : f32[8]\n";
  // x is 0, 1, 2, ...; y gets the returned values, or the values afterwards.
  Ran given(before + "%old = atomic %p, %b, %m {op = \"add\"} : f32[8]\n store %q, %old, %m");
  CHECK(given.text() == "");
  CHECK(given.y()[2] == 2);
  auto after = [&](const std::string &operation) {
    return Ran(before + "%old = " + operation + " : f32[8]\n %a = load %p : f32[8]\n store %q, %a")
        .y();
  };
  CHECK(after("atomic %p, %b, %m {op = \"add\"}") == std::vector<double>{0, 2, 4, 3, 4, 5, 6, 7});
  CHECK(after("atomic_cas %p, %b, %b") == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  // All elements update one address, in sequence.
  const std::string one = "%ps = splat %x : ptr<f32>[8]\n";
  CHECK(Ran(before + one + "%old = atomic %ps, %b {op = \"add\"} : f32[8]\n store %q, %old").y() ==
        std::vector<double>{0, 0, 1, 3, 6, 10, 15, 21});
  CHECK(Ran(before + one + "%old = atomic_cas %ps, %b, %b : f32[8]\n store %q, %old").text() == "");
}

TEST_CASE("load, store: a scalar mask applies to the whole tile") {
  Ran ran("%c = cmp %n, %zero {pred = \"eq\"} : i1\n %a = load %p : f32[8]\n store %q, %a, %c");
  CHECK(ran.text() == "");
  CHECK(std::isnan(ran.y()[0]));
}

TEST_CASE("load: masked-off pointers may be invalid") {
  Ran ran(first_three + "%k = constant {value = 5} : i32\n %ks = splat %k : i32[8]\n"
                        "%far = addptr %p, %ks : ptr<f32>[8]\n %a = load %far, %m : f32[8]\n"
                        "store %q, %a, %m");
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 5);
}

TEST_CASE("view: base, offset and stride per axis") {
  Ran ran("%k = constant {value = 1} : i64\n %l = constant {value = 2} : i64\n"
          "%z = constant {value = 0} : i64\n %f = constant {value = 4} : i64\n"
          "%v = view %x, %k, %z, %l : view<f32>[2,2]\n %a = load %v : f32[2,2]\n"
          "%w = view %y, %z, %f, %k : view<f32>[2,2]\n store %w, %a");
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  CHECK(y[0] == 1);
  CHECK(y[1] == 3);
  CHECK(std::isnan(y[2]));
  CHECK(y[4] == 1);
  CHECK(y[5] == 3);
}

TEST_CASE("load, store: scalars") {
  Ran ran("%a = load %x : f32\n %r = addptr %y, %n : ptr<f32>\n store %r, %a");
  CHECK(ran.y()[3] == 0);
  CHECK(std::isnan(ran.y()[2]));
}

TEST_CASE("Memory: rounds to its type, describes differences") {
  Memory a;
  int x = a.add("x", Elem::f16, {2049, -1});
  CHECK(a[x].elements[0].number == 2048);
  CHECK(a.add("k", Elem::i8, {200}) == 1);
  CHECK(a[1].elements[0].integer == -56);
  Memory b = a;
  CHECK(difference(a, b) == "");
  b[x].elements[1].number = 3;
  CHECK(difference(a, b) == "x[1] is 3, not -1");
  b[x].elements[1] = Element::no_value();
  CHECK(difference(a, b) == "x[1] is poison, not -1");
  CHECK(a.at(Element::pointer(x, 1)) == &a[x].elements[1]);
  CHECK(a.at(Element::pointer(x, 2)) == nullptr);
  CHECK(a.at(Element::pointer(x, -1)) == nullptr);
  CHECK(a.at(Element::pointer(7)) == nullptr);
}

TEST_CASE("Memory: addresses of buffers") {
  Memory memory;
  int x = memory.add("x", Elem::f16, {3, 4}), y = memory.add("y", Elem::f64, {5});
  int addresses = memory.add_addresses("addresses", {y, x});
  Type i64 = Type::scalar(Elem::i64);
  const Tile &elements = memory[addresses].elements;
  CHECK(same(reinterpret(i64, Type::pointer(Elem::f64), elements[0]), Element::pointer(y)));
  CHECK(same(reinterpret(i64, Type::pointer(Elem::f16), elements[1]), Element::pointer(x)));
}
