// Tests interpreter/matmul.cpp.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

// x as [2,4] and as [4,2], and their negatives, in two stages each; %c is zero.
const std::string start =
    "%one = constant {value = 1} : i32\n %t = load %p : f32[8]\n %u = neg %t : f32[8]\n"
    "%a0 = reshape %t : f32[2,4]\n %b0 = reshape %t : f32[4,2]\n"
    "%a1 = reshape %u : f32[2,4]\n %b1 = reshape %u : f32[4,2]\n"
    "%a = shared_alloc : shared<f32>[2,2,4]\n %b = shared_alloc : shared<f32>[2,4,2]\n"
    "shared_store %a0, %a, %zero\n shared_store %b0, %b, %zero\n"
    "shared_store %a1, %a, %one\n shared_store %b1, %b, %one\n proxy_fence\n"
    "%f0 = constant {number = 0.0} : f32\n %c = splat %f0 : f32[2,2]\n";
const std::string end = "%z = splat %y : ptr<f32>[2,2]\n %j = range {start = 0} : i32[4]\n"
                        "%k = reshape %j : i32[2,2]\n %r = addptr %z, %k : ptr<f32>[2,2]\n"
                        "store %r, %d";

std::string product(const std::string &name, const std::string &sum,
                    const std::string &stage = "%zero") {
  return name + " = wgmma_ss %a, " + stage + ", %b, " + stage + ", " + sum +
         " {perms = [0,1,0,1]} : f32[2,2]\n";
}
std::string wait(const std::string &name, const std::string &value, const char *pending = "0") {
  return name + " = wgmma_wait " + value + " {pending = " + pending + "} : f32[2,2]\n";
}

Ran ran(const std::string &operations) { return Ran(start + operations + end); }

std::vector<double> first_four(const Ran &ran) {
  CHECK(ran.text() == "");
  std::vector<double> y = ran.y();
  y.resize(4);
  return y;
}

const std::vector<double> once = {28, 34, 76, 98}, twice = {56, 68, 152, 196};

} // namespace

TEST_CASE("wgmma_ss: product of the stages plus the accumulator") {
  CHECK(first_four(ran(product("%p0", "%c") + wait("%d", "%p0"))) == once);
  CHECK(first_four(ran(product("%p0", "%c", "%one") + wait("%d", "%p0"))) == once);
  CHECK(first_four(ran("%o = constant {number = 1.0} : f32\n %c1 = splat %o : f32[2,2]\n" +
                       product("%p0", "%c1") + wait("%d", "%p0"))) ==
        std::vector<double>{29, 35, 77, 99});
}

TEST_CASE("wgmma_ss: either operand may be transposed") {
  // %a as the [4,2] operand A and %b as the [2,4] operand B: the other product, transposed.
  const std::string large = "%c4 = splat %f0 : f32[4,4]\n"
                            "%w = wgmma_ss %a, %zero, %b, %zero, %c4 {perms = [1,0,1,0]} : "
                            "f32[4,4]\n %v = wgmma_wait %w : f32[4,4]\n"
                            "%left = trans %a0 {perm = [1,0]} : f32[4,2]\n"
                            "%right = trans %b0 {perm = [1,0]} : f32[2,4]\n"
                            "%e = dot %left, %right, %c4 : f32[4,4]\n"
                            "%g = sub %v, %e : f32[4,4]\n %h = abs %g : f32[4,4]\n"
                            "%h1 = reduce %h {axis = 0, op = \"add\"} : f32[4]\n"
                            "%h2 = reduce %h1 {axis = 0, op = \"add\"} : f32\n store %y, %h2\n"
                            "%v1 = reduce %v {axis = 0, op = \"add\"} : f32[4]\n"
                            "%v2 = reduce %v1 {axis = 0, op = \"add\"} : f32\n"
                            "%one64 = constant {value = 1} : i64\n"
                            "%next = addptr %y, %one64 : ptr<f32>\n store %next, %v2";
  Ran ran(start + large);
  CHECK(ran.text() == "");
  CHECK(ran.y()[0] == 0);
  CHECK(ran.y()[1] == 6 * 12 + 22 * 16); // sums of rows of %a times sums of columns of %b
}

TEST_CASE("wgmma_ss: rounds to tf32 like a dot") {
  auto difference = [](const std::string &how) {
    Ran ran(
        start +
        "%large = constant {number = 2049.0} : f32\n %l = splat %large : f32[2,4]\n"
        "shared_store %l, %a, %zero\n proxy_fence\n"
        "%p0 = wgmma_ss %a, %zero, %b, %zero, %c {perms = [0,1,0,1]" +
        how + "} : f32[2,2]\n" + wait("%q0", "%p0") +
        "%e = dot %l, %b0, %c {precision = \"tf32\"} : f32[2,2]\n %d = sub %q0, %e : f32[2,2]\n" +
        end);
    CHECK(ran.text() == "");
    return ran.y()[0];
  };
  CHECK(difference(", precision = \"tf32\"") == 0);
  CHECK(difference("") != 0);
}

TEST_CASE("wgmma_ss: result is poison before the wait") {
  CHECK(ran(product("%p0", "%c") + "%d = add %p0, %c : f32[2,2]\n" + wait("%e", "%p0")).kinds() ==
        std::vector{Kind::poison_store});
  // Also for operations without arithmetic.
  CHECK(ran(product("%p0", "%c") + "%q0 = convert_layout %p0 : f32[2,2]\n" + wait("%d", "%q0"))
            .kinds() == std::vector{Kind::poison_store});
  // Only the result of the wait is valid, not its operand.
  CHECK(ran(product("%d", "%c") + wait("%e", "%d")).kinds() == std::vector{Kind::poison_store});
}

TEST_CASE("wgmma_wait: covers all but the last {pending}") {
  const std::string two = product("%p0", "%c") + product("%p1", "%c", "%one");
  CHECK(first_four(ran(two + wait("%d", "%p0", "1") + wait("%e", "%p1"))) == once);
  CHECK(ran(two + wait("%d", "%p1", "1") + wait("%e", "%p1")).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(first_four(ran(two + wait("%e", "%p1", "1") + wait("%d", "%e"))) == once);
}

TEST_CASE("wgmma_ss: accumulates to a pending result") {
  CHECK(first_four(ran(product("%p0", "%c") + product("%p1", "%p0", "%one") + wait("%d", "%p1"))) ==
        twice);
  CHECK(first_four(ran(product("%p0", "%c") + wait("%w", "%p0") + product("%p1", "%w", "%one") +
                       wait("%d", "%p1"))) == twice);
  const std::string loop = "%s = for_loop %n, %c : f32[2,2] {\n (%i0: i32, %s0: f32[2,2])\n" +
                           product("%p0", "%s0") + wait("%w", "%p0", "1") + "yield %w\n}\n";
  CHECK(first_four(ran(loop + wait("%d", "%s"))) == std::vector<double>{84, 102, 228, 294});
}

TEST_CASE("wgmma_ss: a pending result may be used once") {
  Ran ran(start + product("%p0", "%c") + product("%p1", "%p0") + wait("%d", "%p0") + end);
  CHECK(ran.kinds() == std::vector{Kind::poison_store});
  CHECK(Ran(start + product("%p0", "%c") + product("%p1", "%p0") + product("%p2", "%p0") +
            wait("%d", "%p2") + end)
            .kinds() == std::vector{Kind::poison_store});
  // The result of a wait is a normal tile.
  CHECK(first_four(::ran(product("%p0", "%c") + wait("%w", "%p0") + product("%p1", "%w") +
                         wait("%e", "%p1") + product("%p2", "%w") + wait("%d", "%p2"))) == twice);
}

TEST_CASE("wgmma_ss: poison when a stage changes before the wait") {
  const std::string change = "shared_store %a1, %a, %zero\n";
  CHECK(ran(product("%p0", "%c") + change + wait("%d", "%p0")).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(first_four(ran(product("%p0", "%c") + wait("%d", "%p0") + change)) == once);
  // A change of the other stage has no effect.
  CHECK(first_four(ran(product("%p0", "%c") + "shared_store %a0, %a, %one\n" +
                       wait("%d", "%p0"))) == once);
  // It reads from its start on, so a store after the start is too late.
  CHECK(Ran(start +
            "%e1 = shared_alloc : shared<f32>[1,2,4]\n"
            "%p0 = wgmma_ss %e1, %zero, %b, %zero, %c {perms = [0,1,0,1]} : f32[2,2]\n"
            "shared_store %a0, %e1, %zero\n" +
            wait("%d", "%p0") + end)
            .kinds() == std::vector{Kind::poison_store});
}

TEST_CASE("wgmma_ss: needs a proxy_fence after stores") {
  const std::string change = "shared_store %a1, %a, %zero\n";
  CHECK(ran(change + product("%p0", "%c") + wait("%d", "%p0")).kinds() ==
        std::vector{Kind::not_fenced});
  CHECK(ran(change + "proxy_fence\n" + product("%p0", "%c") + wait("%d", "%p0")).text() == "");
  CHECK(ran(change + product("%p0", "%c", "%one") + wait("%d", "%p0")).text() == "");
}

TEST_CASE("wgmma: reports a missing wait") {
  CHECK(Ran(start + product("%p0", "%c")).kinds() == std::vector{Kind::wgmma_not_awaited});
  CHECK(Ran(start + product("%p0", "%c") + wait("%d", "%p0", "1")).kinds() ==
        std::vector{Kind::wgmma_not_awaited});
  CHECK(Ran(start + product("%p0", "%c") + wait("%d", "%p0")).kinds().empty());
}

TEST_CASE("wgmma_ss: reports a stage out of range") {
  CHECK(Ran(start + product("%p0", "%c", "%n")).kinds() == std::vector{Kind::bad_slot});
}

namespace {

// %a0 times a stage of %b, for `columns` of K from `first` on.
std::string fragment(const std::string &name, const std::string &sum, int first, int columns) {
  std::string at = std::to_string(first), shape = "f32[2," + std::to_string(columns) + "]";
  return name + ".a = extract %a0 {origin = [0," + at + "]} : " + shape + "\n" + name +
         " = wgmma_rs " + name + ".a, %b, %zero, " + sum + " {perm = [0,1], origin = [" + at +
         ",0]} : f32[2,2]\n";
}

} // namespace

TEST_CASE("wgmma_rs: A from registers, part of a stage") {
  CHECK(first_four(ran(fragment("%p0", "%c", 0, 4) + wait("%d", "%p0"))) == once);
  CHECK(first_four(ran(fragment("%p0", "%c", 0, 2) + fragment("%p1", "%p0", 2, 2) +
                       wait("%d", "%p1"))) == once);
  CHECK(first_four(ran(fragment("%p0", "%c", 2, 2) + wait("%d", "%p0"))) !=
        first_four(ran(fragment("%p0", "%c", 0, 2) + wait("%d", "%p0"))));
  // Operand B may be transposed: x as [2,4] becomes [4,2].
  CHECK(first_four(ran("%p0 = wgmma_rs %a0, %a, %zero, %c {perm = [1,0], origin = [0,0]} : "
                       "f32[2,2]\n" +
                       wait("%d", "%p0"))) == std::vector<double>{14, 38, 38, 126});
}

TEST_CASE("wgmma_rs: result is poison before the wait") {
  const std::string before = fragment("%p0", "%c", 0, 4);
  CHECK(ran(before + "%d = add %p0, %c : f32[2,2]\n" + wait("%e", "%p0")).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(Ran(start + before).kinds() == std::vector{Kind::wgmma_not_awaited});
  CHECK(ran(before + "shared_store %b1, %b, %zero\n" + wait("%d", "%p0")).kinds() ==
        std::vector{Kind::poison_store});
  CHECK(Ran(start + "%p0 = wgmma_rs %a0, %b, %n, %c {perm = [0,1], origin = [0,0]} : "
                    "f32[2,2]\n")
            .kinds() == std::vector{Kind::bad_slot});
}
