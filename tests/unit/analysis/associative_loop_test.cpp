// Tests analysis/associative_loop.cpp.

#include "analysis/associative_loop.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop that carries %acc of `type`, from %start; `body` computes %next from %acc and the tile %x.
// `after` uses %total.
std::string kernel(const std::string &body, const std::string &after = "store %w, %total\n",
                   const std::string &start = "0.0", const std::string &type = "f32") {
  bool is_float = type[0] == 'f';
  return "func @f(%A: ptr<" + type + ">, %C: ptr<" + type + ">, %n: i32, %q: i32) {\n" +
         "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
         "%z = constant {" +
         (is_float ? "number" : "value") + " = " + start + "} : " + type +
         "\n %start = splat %z : " + type + "[64]\n %v = view %A, %zero, %one : view<" + type +
         ">[64]\n %w = view %C, %zero, %one : view<" + type + ">[64]\n" +
         "%total = for_loop %n, %start : " + type + "[64] {\n (%t: i32, %acc: " + type +
         "[64])\n %x = load %v : " + type + "[64]\n" + body + "\n yield %next\n }\n" + after +
         " return\n}";
}

std::optional<std::string> total_of(const std::string &text) {
  ir::Function fn = parsed(text);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  if (!found)
    return std::nullopt;
  REQUIRE(found->totals.size() == 1);
  return found->totals[0].op + " " + found->totals[0].value->name;
}

} // namespace

TEST_CASE("associative loop: a total of each associative operation") {
  CHECK(total_of(kernel("%next = add %acc, %x : f32[64]")) == "add total");
  CHECK(total_of(kernel("%next = add %x, %acc : f32[64]")) == "add total");
  for (std::string op : {"min", "max"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : f32[64]", "store %w, %total\n", "7.0")) ==
          op + " total");
  for (std::string op : {"min", "max", "umin", "umax", "and", "or"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : i32[64]", "store %w, %total\n", "7",
                          "i32")) == op + " total");
  for (std::string op : {"add", "xor"})
    CHECK(total_of(kernel("%next = " + op + " %acc, %x : i32[64]", "store %w, %total\n", "0",
                          "i32")) == op + " total");
}

TEST_CASE("associative loop: not for other operations and starts") {
  CHECK_FALSE(total_of(kernel("%next = sub %acc, %x : f32[64]")));
  CHECK_FALSE(total_of(kernel("%next = mul %acc, %x : f32[64]")));
  // Each part would add the start again.
  CHECK_FALSE(total_of(kernel("%next = add %acc, %x : f32[64]", "store %w, %total\n", "1.0")));
  // The element depends on the total.
  CHECK_FALSE(total_of(kernel("%y = mul %acc, %x : f32[64]\n %next = add %acc, %y : f32[64]")));
  CHECK_FALSE(total_of(kernel("%next = add %acc, %acc : f32[64]")));
  // Every iteration stores the total so far.
  CHECK_FALSE(total_of(kernel("%next = add %acc, %x : f32[64]\n store %w, %next")));
}

TEST_CASE("associative loop: reductions by the same operation belong to the total") {
  const std::string sum = "%next = add %acc, %x : f32[64]";
  CHECK(total_of(kernel(
            sum, "%r = reduce %total {axis = 0, op = \"add\"} : f32\n store %C, %r\n")) == "add r");
  // Another operation, or another use of the total.
  CHECK(
      total_of(kernel(sum, "%r = reduce %total {axis = 0, op = \"max\"} : f32\n store %C, %r\n")) ==
      "add total");
  CHECK(total_of(kernel(sum, "%r = reduce %total {axis = 0, op = \"add\"} : f32\n store %C, %r\n"
                             "store %w, %total\n")) == "add total");
}

TEST_CASE("associative loop: the only loop, without effects before its end") {
  const std::string sum = "%next = add %acc, %x : f32[64]";
  std::string text = kernel(sum);
  CHECK(total_of(text));
  auto before_loop = [&](const std::string &ops) {
    std::string changed = text;
    return changed.insert(changed.find("%total = for_loop"), ops + "\n");
  };
  CHECK_FALSE(total_of(before_loop("store %w, %start")));
  CHECK_FALSE(total_of(before_loop("for_loop %q {\n (%i: i32)\n yield\n }")));
  CHECK_FALSE(total_of(kernel(sum, "for_loop %q {\n (%i: i32)\n store %w, %total\n yield\n }\n")));
  // The host must compute a bound of the number of iterations.
  auto with_iterations = [&](const std::string &operation) {
    std::string changed = text;
    changed.replace(changed.find("for_loop %n"), 11, "for_loop %m");
    return changed.insert(changed.find("%total ="),
                          "%p = program_id {axis = 0} : i32\n%m = " + operation + " : i32\n");
  };
  CHECK(total_of(with_iterations("min %p, %n")) == "add total");
  CHECK_FALSE(total_of(with_iterations("add %p, %n")));
  CHECK_FALSE(total_of(with_iterations("max %p, %n")));
}

TEST_CASE("associative loop: the identity changes nothing") {
  struct {
    const char *op, *elem, *value;
  } cases[] = {{"add", "f32", "0.0"},
               {"max", "f32", "nan"},
               {"min", "f64", "nan"},
               {"add", "i32", "0"},
               {"xor", "i64", "0"},
               {"or", "i32", "0"},
               {"and", "i32", "-1"},
               {"umax", "i32", "0"},
               {"umin", "i32", "-1"},
               {"max", "i32", "-2147483648"},
               {"min", "i32", "2147483647"},
               {"max", "i8", "-128"},
               {"min", "i64", "9223372036854775807"}};
  for (const auto &[op, elem, value] : cases) {
    CAPTURE(op);
    CAPTURE(elem);
    ir::Function fn = parsed("func @f() {\n return\n}");
    ir::Builder builder(fn, fn.body, size_t(0));
    emit_identity(builder, op, ir::Type::scalar(*ir::elem_named(elem)));
    CHECK(printed(fn).find(std::string("= ") + value + "}") != std::string::npos);
  }
}

namespace {

// A loop that finds the greatest element of each column and its row: the parts of its text.
struct Search {
  std::string predicate = "%better = cmp %x, %key {pred = \"gt\"} : i1[4,64]\n";
  std::string place = "%place.0 = mul %t, %four : i32\n %place.1 = add %place.0, %zero.32 : i32\n"
                      "%place = splat %place.1 : i32[4,64]\n";
  std::string next_key = "select %better, %x, %key";
  std::string next_at = "select %better, %place, %at";
  std::string in_loop = "";
  std::string after = "store %w, %keys\n store %w.at, %ats\n";

  std::string text() const {
    return "func @f(%A: ptr<f32>, %B: ptr<i32>, %n: i32, %m: i32) {\n"
           "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
           "%zero.32 = constant {value = 0} : i32\n %four = constant {value = 4} : i32\n"
           "%k = range {start = 0} : i32[4]\n %k.1 = expand %k {axis = 1} : i32[4,1]\n"
           "%rows = broadcast %k.1 : i32[4,64]\n"
           "%none.0 = constant {value = 2147483647} : i32\n %none = splat %none.0 : i32[4,64]\n"
           "%least = constant {value = -2147483648} : i32\n %no = splat %least : i32[4,64]\n"
           "%low = constant {number = -inf} : f32\n %lowest = splat %low : f32[4,64]\n"
           "%first = splat %zero.32 : i32[4,64]\n"
           "%v = view %A, %zero, %zero, %one : view<f32>[4,64]\n"
           "%w = view %A, %zero, %zero, %one : view<f32>[4,64]\n"
           "%w.at = view %B, %zero, %zero, %one : view<i32>[4,64]\n"
           "%y = view %A, %zero, %one : view<f32>[64]\n %z = view %B, %zero, %one : view<i32>[64]\n"
           "%keys, %ats = for_loop %n, %lowest, %first : f32[4,64], i32[4,64] {\n"
           "(%t: i32, %key: f32[4,64], %at: i32[4,64])\n %x = load %v : f32[4,64]\n" +
           predicate + place + "%next.0 = " + next_key + " : f32[4,64]\n %next.1 = " + next_at +
           " : i32[4,64]\n" + in_loop + "yield %next.0, %next.1\n }\n" + after + "return\n}";
  }

  std::string totals() const {
    ir::Function fn = parsed(text());
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    std::string all;
    for (size_t i = 0; found && i < found->totals.size(); i++) {
      const AssociativeLoop::Total &total = found->totals[i];
      all += (i ? ", " : "") + total.op + " " + total.value->name;
      if (total.key)
        all += " at " + std::to_string(*total.key);
    }
    return found ? all : "none";
  }
};

// What follows the loop, as in argmax: the greatest key of the rows, and the first place with it.
std::string reductions(const std::string &op = "min", const std::string &none = "none",
                       const std::string &pred = "eq") {
  return "%found = reduce %keys {axis = 0, op = \"max\"} : f32[64]\n"
         "%found.1 = expand %found {axis = 0} : f32[1,64]\n"
         "%found.2 = broadcast %found.1 : f32[4,64]\n"
         "%is = cmp %keys, %found.2 {pred = \"" +
         pred +
         "\"} : i1[4,64]\n"
         "%here = add %ats, %rows : i32[4,64]\n %chosen = select %is, %here, %" +
         none + " : i32[4,64]\n %where = reduce %chosen {axis = 0, op = \"" + op +
         "\"} : i32[64]\n store %y, %found\n store %z, %where\n";
}

} // namespace

TEST_CASE("associative loop: the place of the greatest element") {
  Search search;
  CHECK(search.totals() == "max keys, min ats at 0");
  search.predicate = "%better = cmp %x, %key {pred = \"lt\"} : i1[4,64]\n";
  CHECK(search.totals() == "min keys, min ats at 0");
  // Places that shrink.
  search.place = "%place.0 = sub %n, %t : i32\n %place = splat %place.0 : i32[4,64]\n";
  CHECK(search.totals() == "min keys, max ats at 0");
  // The same place in all iterations.
  search.place = "%place = splat %n : i32[4,64]\n";
  CHECK(search.totals() == "min keys, min ats at 0");
}

TEST_CASE("associative loop: the last place of the greatest element") {
  Search search;
  search.predicate = "%less = cmp %x, %key {pred = \"lt\"} : i1[4,64]\n"
                     "%true = constant {value = 1} : i1\n %all = splat %true : i1[4,64]\n"
                     "%not = xor %less, %all : i1[4,64]\n"
                     "%number = cmp %x, %x {pred = \"eq\"} : i1[4,64]\n"
                     "%better = and %not, %number : i1[4,64]\n";
  std::string text = search.text();
  CHECK(search.totals() == "none"); // -inf replaces -inf
  text.replace(text.find("number = -inf"), 13, "number = nan");
  ir::Function fn = parsed(text);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  REQUIRE(found);
  CHECK(found->totals[1].op == "max");
}

TEST_CASE("associative loop: not if the place has no order, or has other uses") {
  auto with = [](auto change) {
    Search search;
    change(search);
    return search.totals();
  };
  // Places that may grow or shrink, and places that are read from memory.
  CHECK(with([](Search &search) {
          search.place = "%place.0 = mul %t, %m : i32\n %place = splat %place.0 : i32[4,64]\n";
        }) == "none");
  CHECK(with([](Search &search) {
          search.place = "%place.0 = rem %t, %four : i32\n %place = splat %place.0 : i32[4,64]\n";
        }) == "none");
  CHECK(with([](Search &search) {
          search.place = "%place.0 = mul %t, %four {unsigned = 1} : i32\n"
                         "%place = splat %place.0 : i32[4,64]\n";
        }) == "none");
  CHECK(with([](Search &search) { search.place = "%place = load %w.at : i32[4,64]\n"; }) == "none");
  CHECK(with([](Search &search) {
          search.place = "%place.0 = splat %four : i32[4,64]\n"
                         "%place = add %at, %place.0 : i32[4,64]\n";
        }) == "none");
  // The predicate depends on both values.
  CHECK(with([](Search &search) {
          search.predicate = "%more = cmp %x, %key {pred = \"gt\"} : i1[4,64]\n"
                             "%start = cmp %at, %first {pred = \"eq\"} : i1[4,64]\n"
                             "%better = or %more, %start : i1[4,64]\n";
        }) == "none");
  // It is no order.
  CHECK(with([](Search &search) {
          search.predicate = "%better = cmp %x, %key {pred = \"ne\"} : i1[4,64]\n";
        }) == "none");
  // A sum under a condition; another predicate for the place.
  CHECK(with([](Search &search) {
          search.next_key = "select %better, %sum, %key";
          search.predicate += "%sum = add %x, %key : f32[4,64]\n";
        }) == "none");
  CHECK(with([](Search &search) {
          search.predicate += "%other = cmp %x, %lowest {pred = \"gt\"} : i1[4,64]\n";
          search.next_at = "select %other, %place, %at";
        }) == "none");
  CHECK(with([](Search &search) { search.next_at = "select %better, %at, %place"; }) == "none");
  // The values so far are used in each iteration.
  for (std::string value : {"%next.1", "%at"})
    CHECK(with([&](Search &search) { search.in_loop = "store %w.at, " + value + "\n"; }) == "none");
  CHECK(with([](Search &search) {
          search.in_loop = "%sum = reduce %next.0 {axis = 0, op = \"max\"} : f32[64]\n";
        }) == "none");
}

TEST_CASE("associative loop: reductions of keys and places belong to the totals") {
  Search search;
  search.after = reductions();
  CHECK(search.totals() == "max found, min where at 0");
  // Another operation, another number elsewhere, another comparison.
  for (const std::string &after :
       {reductions("max", "no"), reductions("min", "first"), reductions("min", "none", "ge")}) {
    search.after = after;
    CHECK(search.totals() == "max keys, min ats at 0");
  }
  // Another use of a tile of the loop, or of a tile between.
  for (std::string tile : {"%ats", "%here", "%chosen"}) {
    search.after = reductions() + "store %w.at, " + tile + "\n";
    CHECK(search.totals() == "max keys, min ats at 0");
  }
  search.after = reductions() + "store %w, %keys\n";
  CHECK(search.totals() == "max keys, min ats at 0");
  // The place depends on the greatest key.
  search.after = reductions();
  const std::string sum = "%here = add %ats, %rows";
  search.after.replace(search.after.find(sum), sum.size(),
                       "%found.3 = cast %found.2 : i32[4,64]\n%here = add %ats, %found.3");
  CHECK(search.totals() == "max keys, min ats at 0");
}

TEST_CASE("associative loop: values at the place of the greatest element") {
  auto totals = [](const std::string &place, const std::string &type = "f32") {
    ir::Function fn = parsed(
        "func @f(%A: ptr<f32>, %B: ptr<" + type +
        ">, %C: ptr<i32>, %n: i32, %m: i32) {\n"
        "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
        "%low = constant {number = -inf} : f32\n %lowest = splat %low : f32[64]\n"
        "%none = constant {value = 0} : i32\n %first = splat %none : i32[64]\n"
        "%v = view %A, %zero, %one : view<f32>[64]\n %w = view %B, %zero, %one : view<" +
        type + ">[64]\n %u = view %C, %zero, %one : view<i32>[64]\n %start = load %w : " + type +
        "[64]\n"
        "%keys, %others, %ats = for_loop %n, %lowest, %start, %first : f32[64], " +
        type + "[64], i32[64] {\n(%t: i32, %key: f32[64], %other: " + type +
        "[64], %at: i32[64])\n"
        "%x = load %v : f32[64]\n %y = load %w : " +
        type +
        "[64]\n"
        "%better = cmp %x, %key {pred = \"gt\"} : i1[64]\n" +
        place +
        "%place = splat %place.0 : i32[64]\n"
        "%next.0 = select %better, %x, %key : f32[64]\n"
        "%next.1 = select %better, %y, %other : " +
        type +
        "[64]\n"
        "%next.2 = select %better, %place, %at : i32[64]\n yield %next.0, %next.1, %next.2\n }\n"
        "store %v, %keys\n store %w, %others\n store %u, %ats\n return\n}");
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    std::string all;
    for (size_t i = 0; found && i < found->totals.size(); i++)
      all += (i ? ", " : "") + found->totals[i].op +
             (found->totals[i].key ? " at " + std::to_string(*found->totals[i].key) : "");
    return found ? all : "none";
  };
  const std::string counter = "%place.0 = add %t, %m : i32\n";
  CHECK(totals(counter) == "max, max at 2, min at 0");
  CHECK(totals(counter, "i32") == "max, max at 2, min at 0");
  CHECK(totals("%place.0 = sub %m, %t : i32\n") == "max, max at 2, max at 0");
  // No value tells the iterations apart.
  CHECK(totals("%place.0 = add %m, %m : i32\n") == "none");
  // Elements of another size.
  CHECK(totals(counter, "i64") == "none");
}

namespace {

// A loop that computes the maximum of each column, and the sum of exponentials below it: the parts
// of its text.
struct Exponentials {
  std::string growth = "%grown = sub %key, %larger : f32[64]\n";
  std::string factor = "%factor = exp %grown : f32[64]\n";
  std::string distance = "%distance = sub %x, %larger : f32[64]\n";
  std::string term = "%y = exp %distance : f32[64]\n"
                     "%term = select %on, %y, %zeros : f32[64]\n";
  std::string next = "%next = add %old, %term : f32[64]\n";
  std::string start = "%zeros";
  std::string after = "store %w, %keys\n store %w, %sums\n";

  std::string text() const {
    return "func @f(%A: ptr<f32>, %n: i32, %p: f32) {\n"
           "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
           "%low = constant {number = -inf} : f32\n %lowest = splat %low : f32[64]\n"
           "%z = constant {number = 0.0} : f32\n %zeros = splat %z : f32[64]\n"
           "%h = constant {number = 0.5} : f32\n %halves = splat %h : f32[64]\n"
           "%ps = splat %p : f32[64]\n"
           "%v = view %A, %zero, %one : view<f32>[64]\n"
           "%w = view %A, %zero, %one : view<f32>[64]\n"
           "%keys, %sums = for_loop %n, %lowest, " +
           start +
           " : f32[64], f32[64] {\n (%t: i32, %key: f32[64], %sum: f32[64])\n"
           "%x = load %v : f32[64]\n %on = cmp %x, %ps {pred = \"lt\"} : i1[64]\n"
           "%larger = max %key, %x : f32[64]\n" +
           growth + factor + "%old = mul %sum, %factor : f32[64]\n" + distance + term + next +
           "yield %larger, %next\n }\n" + after + "return\n}";
  }

  std::string totals() const {
    ir::Function fn = parsed(text());
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    if (!found)
      return "none";
    const AssociativeLoop::Total &key = found->totals[0], &sum = found->totals[1];
    REQUIRE(sum.rescaling);
    return key.op + " " + key.value->name + ", " + sum.op + " " + sum.value->name + " by " +
           (sum.rescaling->exp == ir::Opcode::exp_ ? "exp " : "exp2 ") +
           std::to_string(sum.rescaling->number).substr(0, 3);
  }
};

// A loop like that of attention, with tiles of 64 x 64 elements: the parts of its text. Each row
// has a key, the largest score.
struct Attention {
  std::string before = "";
  std::string power = "%power";
  std::string score = "%score = dot %q, %k, %none {precision = \"exact\"} : f32[64,64]\n";
  std::string guard = "%is.none = cmp %larger, %lowest {pred = \"eq\"} : i1[64]\n"
                      "%reference = select %is.none, %zeros, %larger : f32[64]\n";
  std::string weight = "%powers = splat %power : f32[64,64]\n %opposite = neg %power : f32\n"
                       "%opposites = splat %opposite : f32[64]\n"
                       "%above.0 = mul %opposites, %reference : f32[64]\n"
                       "%above.1 = expand %above.0 {axis = 1} : f32[64,1]\n"
                       "%above = broadcast %above.1 : f32[64,64]\n"
                       "%exponent = fma %score, %powers, %above : f32[64,64]\n"
                       "%weight = exp2 %exponent : f32[64,64]\n";
  std::string factor = "%each.power = splat %power : f32[64]\n"
                       "%grown = sub %key, %larger : f32[64]\n"
                       "%scaled = mul %each.power, %grown : f32[64]\n"
                       "%shrunk = exp2 %scaled : f32[64]\n";
  std::string factors = "%each.row = expand %shrunk {axis = 1} : f32[64,1]\n"
                        "%factors = broadcast %each.row : f32[64,64]\n";
  std::string left = "%left = cast %weight : f16[64,64]\n";
  std::string add = "%next = dot %left, %v, %old {precision = \"exact\"} : f32[64,64]\n";
  int reduced = 1; // the axis of a score that its key does not have
  std::string starts = "%lowest, %zeros, %none";
  std::string after = "store %at.keys, %keys\n store %at.keys, %sums\n store %at.tile, %tiles\n";

  std::string text() const {
    const std::string axis = std::to_string(reduced);
    return "func @f(%A: ptr<f16>, %C: ptr<f32>, %n: i32, %power: f32, %other: f32) {\n"
           "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
           "%ld = constant {value = 64} : i64\n"
           "%low = constant {number = -3.4028234663852886e+38} : f32\n"
           "%lowest = splat %low : f32[64]\n"
           "%inf = constant {number = -inf} : f32\n %infinite = splat %inf : f32[64]\n"
           "%z = constant {number = 0.0} : f32\n %zeros = splat %z : f32[64]\n"
           "%none = splat %z : f32[64,64]\n"
           "%h = constant {number = 0.5} : f32\n %halves = splat %h : f32[64]\n"
           "%all.halves = splat %h : f32[64,64]\n"
           "%at.a = view %A, %zero, %ld, %one : view<f16>[64,64]\n"
           "%at.keys = view %C, %zero, %one : view<f32>[64]\n"
           "%at.tile = view %C, %zero, %ld, %one : view<f32>[64,64]\n"
           "%q = load %at.a : f16[64,64]\n" +
           before + "%keys, %sums, %tiles = for_loop %n, " + starts +
           " : f32[64], f32[64], f32[64,64] {\n"
           "(%t: i32, %key: f32[64], %sum: f32[64], %tile: f32[64,64])\n"
           "%k = load %at.a : f16[64,64]\n %v = load %at.a : f16[64,64]\n" +
           score + "%most = reduce %score {axis = " + axis +
           ", op = \"max\"} : f32[64]\n"
           "%larger = max %key, %most : f32[64]\n" +
           guard + weight + factor +
           "%old.sum = mul %sum, %shrunk : f32[64]\n"
           "%term = reduce %weight {axis = " +
           axis +
           ", op = \"add\"} : f32[64]\n"
           "%next.sum = add %old.sum, %term : f32[64]\n" +
           factors + "%old = mul %tile, %factors : f32[64,64]\n" + left + add +
           "yield %larger, %next.sum, %next\n }\n" + after + "return\n}";
  }

  // For example "max keys, add sums by exp2 1.0 power, add tiles by exp2 1.0 power along 1".
  std::string totals() const {
    ir::Function fn = parsed(text());
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    if (!found)
      return "none";
    std::string all;
    for (const AssociativeLoop::Total &total : found->totals) {
      all += (all.empty() ? "" : ", ") + total.op + " " + total.value->name;
      if (!total.rescaling)
        continue;
      CHECK(total.key == 0);
      const auto &[exp, number, scalar, axes] = *total.rescaling;
      all += (exp == ir::Opcode::exp_ ? " by exp " : " by exp2 ") +
             std::to_string(number).substr(0, number < 0 ? 4 : 3) +
             (scalar ? " " + scalar->name : "");
      for (int64_t axis : axes)
        all += " along " + std::to_string(axis);
    }
    return all;
  }
};

// What follows the loop, as in a softmax: the maximum of all columns, and the sum below it.
const std::string sum_of_columns = "%top = reduce %keys {axis = 0, op = \"max\"} : f32\n"
                                   "%tops = splat %top : f32[64]\n"
                                   "%below = sub %keys, %tops : f32[64]\n"
                                   "%scale = exp %below : f32[64]\n"
                                   "%scaled = mul %scale, %sums : f32[64]\n"
                                   "%total = reduce %scaled {axis = 0, op = \"add\"} : f32\n"
                                   "store %A, %total\n";

std::string totals_with(auto change) {
  Exponentials loop;
  change(loop);
  return loop.totals();
}

bool has_total(const std::string &text) {
  ir::Function fn = parsed(text);
  const std::string before = printed(fn);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  CHECK(printed(fn) == before);
  CHECK((!found || (found->totals.size() == 1 && found->totals[0].op == "add" &&
                    found->totals[0].value->name == "sum")));
  return found.has_value();
}

std::string with_more_before(const std::string &operations, const std::string &parameters = "") {
  std::string text = with(matmul_kernel(), "%sum = for_loop", operations + "\n %sum = for_loop");
  return with(text, "%C: ptr<f16>", "%C: ptr<f16>" + parameters);
}

} // namespace

TEST_CASE("associative loop: a sum that is rescaled to the largest element") {
  CHECK(Exponentials().totals() == "max keys, add sums by exp 1.0");
  const std::string twice = "max keys, add sums by exp2 0.5";
  auto with_halves = [](Exponentials &loop) {
    loop.factor = "%g = mul %grown, %halves : f32[64]\n %factor = exp2 %g : f32[64]\n";
    loop.term = "%d = mul %distance, %halves : f32[64]\n %term = exp2 %d : f32[64]\n";
  };
  CHECK(totals_with(with_halves) == twice);
  CHECK(totals_with([&](Exponentials &loop) {
          with_halves(loop);
          loop.growth = "%a = mul %key, %halves : f32[64]\n %b = mul %halves, %larger : f32[64]\n"
                        "%grown = sub %a, %b : f32[64]\n";
          loop.factor = "%factor = exp2 %grown : f32[64]\n";
        }) == twice);
  // Multiples of the exponential.
  CHECK(totals_with([](Exponentials &loop) {
          loop.term = "%y = exp %distance : f32[64]\n %y.x = mul %x, %y : f32[64]\n"
                      "%term = add %y, %y.x : f32[64]\n";
        }) == "max keys, add sums by exp 1.0");
}

TEST_CASE("associative loop: values with many paths to the key") {
  // %NAME.100 has 2^100 paths to %NAME.0.
  auto doubled = [](const std::string &name) {
    std::string text;
    for (int i = 1; i <= 100; i++) {
      const std::string before = "%" + name + "." + std::to_string(i - 1);
      text += "%" + name + "." + std::to_string(i) + " = add " + before + ", " + before +
              " : f32[64]\n";
    }
    return text;
  };
  CHECK(totals_with([&](Exponentials &loop) {
          loop.term = "%y.0 = exp %distance : f32[64]\n" + doubled("y") +
                      "%term = add %y.100, %y.0 : f32[64]\n";
        }) == "max keys, add sums by exp 1.0");
  CHECK(totals_with([&](Exponentials &loop) {
          loop.term = "%d.0 = add %distance, %distance : f32[64]\n" + doubled("d") +
                      "%term = exp %d.100 : f32[64]\n";
        }) == "none");
}

TEST_CASE("associative loop: not if the terms have another factor than the sum") {
  const std::string none = "none";
  CHECK(totals_with([](Exponentials &loop) {
          loop.growth = "%grown = sub %larger, %key : f32[64]\n";
        }) == none);
  CHECK(totals_with([](Exponentials &loop) {
          loop.distance = "%distance = sub %larger, %x : f32[64]\n";
        }) == none);
  CHECK(totals_with([](Exponentials &loop) {
          loop.distance = "%distance = sub %x, %key : f32[64]\n";
        }) == none);
  CHECK(totals_with(
            [](Exponentials &loop) { loop.factor = "%factor = exp2 %grown : f32[64]\n"; }) == none);
  CHECK(totals_with([](Exponentials &loop) {
          loop.factor = "%g = mul %grown, %halves : f32[64]\n %factor = exp %g : f32[64]\n";
        }) == none);
  // An element without a factor, a product of two terms, and a condition on the maximum.
  CHECK(totals_with([](Exponentials &loop) {
          loop.term = "%y = exp %distance : f32[64]\n %term = add %x, %y : f32[64]\n";
        }) == none);
  CHECK(totals_with([](Exponentials &loop) {
          loop.term = "%y = exp %distance : f32[64]\n %term = mul %y, %y : f32[64]\n";
        }) == none);
  CHECK(totals_with([](Exponentials &loop) {
          loop.term = "%y = exp %distance : f32[64]\n"
                      "%is = cmp %larger, %ps {pred = \"lt\"} : i1[64]\n"
                      "%term = select %is, %y, %zeros : f32[64]\n";
        }) == none);
  // Each part would add the start; each iteration stores the maximum so far.
  CHECK(totals_with([](Exponentials &loop) { loop.start = "%halves"; }) == none);
  CHECK(totals_with([](Exponentials &loop) { loop.next += "store %w, %larger\n"; }) == none);
  CHECK(totals_with([](Exponentials &loop) { loop.next += "store %w, %next\n"; }) == none);
}

TEST_CASE("associative loop: reductions of a rescaled sum and its key belong to the totals") {
  CHECK(totals_with([](Exponentials &loop) { loop.after = sum_of_columns; }) ==
        "max top, add total by exp 1.0");
  // Other uses of the sum or of the key; a sum below another number.
  for (std::string other : {"store %w, %sums\n", "store %w, %keys\n"})
    CHECK(totals_with([&](Exponentials &loop) { loop.after = sum_of_columns + other; }) ==
          "max keys, add sums by exp 1.0");
  CHECK(totals_with([](Exponentials &loop) {
          loop.after = sum_of_columns;
          loop.after.replace(loop.after.find("splat %top"), 10, "splat %p");
        }) == "max keys, add sums by exp 1.0");
}

TEST_CASE("associative loop: the accumulator of a matmul is a total") {
  CHECK(has_total(matmul_kernel()));
  CHECK(has_total(matmul_kernel(64, 64, 64, "bf16")));
  CHECK(has_total(
      with(matmul_kernel(), "store %vc, %result", "store %vc, %result\n store %vc, %result")));
  CHECK(has_total(with_more_before("%x = load %p : f32", ", %p: ptr<f32>")));
  // Other loops are of no importance. The reductions of the accumulator belong to what follows.
  CHECK(has_total(with_more_before("for_loop %K {\n (%i: i32)\n yield\n }")));
  CHECK(has_total(with(matmul_kernel(), "%result =",
                       "%row.sums = reduce %sum {axis = 1, op = \"add\"} : f32[64]\n %result =")));
  CHECK_FALSE(has_total(with(matmul_kernel(), "number = 0.0", "number = 1.0")));
}

TEST_CASE("associative loop: accumulators of all dots, from operands of any kind") {
  auto totals = [](const std::string &text) {
    ir::Function fn = parsed(text);
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    return found ? found->totals.size() : 0;
  };
  // Two dots share A. B of the second one is computed.
  std::string two = with(matmul_kernel(), "%sum = for_loop %K, %start : f32[64,64]",
                         "%sum, %sum2 = for_loop %K, %start, %start : f32[64,64], f32[64,64]");
  two = with(two, "%acc: f32[64,64])", "%acc: f32[64,64], %acc2: f32[64,64])");
  two =
      with(two, "yield %d",
           "%b2 = mul %b, %b : f16[64,64]\n %d2 = dot %a, %b2, %acc2 : f32[64,64]\n yield %d, %d2");
  CHECK(totals(two) == 2);
  // A loop that also uses a result, or that scales the accumulator.
  CHECK(totals(with(two, "yield %d, %d2", "%e = add %d2, %d : f32[64,64]\n yield %d, %e")) == 0);
  CHECK(totals(with(two, "dot %a, %b2, %acc2", "dot %a, %b2, %acc")) == 0);
}

TEST_CASE("associative loop: not a matmul with effects before the end of its loop") {
  CHECK_FALSE(has_total(with_more_before("store %p, %nothing", ", %p: ptr<f32>")));
  CHECK_FALSE(has_total(with_more_before("print %K {text = \"K = {}\"}")));
  CHECK_FALSE(has_total(with_more_before(
      "%odd = cmp %K, %K {pred = \"lt\"} : i1\n if_else %odd {\n store %p, %nothing\n yield\n } {\n"
      " yield\n }",
      ", %p: ptr<f32>")));
  CHECK_FALSE(
      has_total(with(matmul_kernel(), "yield %d", "print %t {text = \"t = {}\"}\n yield %d")));
  // An iteration count that the host cannot compute.
  std::string loaded = with(matmul_kernel(), "for_loop %K", "for_loop %steps");
  loaded = with(loaded, "%sum =", "%steps = load %p : i32\n %sum =");
  CHECK_FALSE(has_total(with(loaded, "%C: ptr<f16>", "%C: ptr<f16>, %p: ptr<i32>")));
}

namespace {

std::string attention_with(auto change) {
  Attention loop;
  change(loop);
  return loop.totals();
}

const std::string attended = "max keys, add sums by exp2 1.0 power, "
                             "add tiles by exp2 1.0 power along 1";

// Without a guard, the terms compute with the key itself.
void remove_guard(Attention &loop) {
  loop.guard = "";
  loop.weight = with(loop.weight, "%reference", "%larger");
}

// Each column has a key, and the scores are the right operand of the second dot.
void turn(Attention &loop) {
  loop.reduced = 0;
  for (std::string *part : {&loop.weight, &loop.factors})
    *part = with(with(*part, "{axis = 1}", "{axis = 0}"), "[64,1]", "[1,64]");
  loop.add = with(loop.add, "%left, %v", "%v, %left");
}

} // namespace

TEST_CASE("associative loop: attention is two rescaled sums with one key") {
  CHECK(Attention().totals() == attended);
  CHECK(attention_with(remove_guard) == attended);
  CHECK(attention_with(turn) ==
        "max keys, add sums by exp2 1.0 power, add tiles by exp2 1.0 power along 0");
  // Products first.
  CHECK(attention_with([](Attention &loop) {
          loop.add = "%product = dot %left, %v, %none {precision = \"exact\"} : f32[64,64]\n"
                     "%next = add %old, %product : f32[64,64]\n";
        }) == attended);
  // Terms without a product of matrices.
  CHECK(attention_with([](Attention &loop) {
          loop.left = "%more = fma %weight, %score, %weight : f32[64,64]\n";
          loop.add = "%next = add %more, %old : f32[64,64]\n";
        }) == attended);
  // The exponential of each element instead of each row.
  CHECK(attention_with([](Attention &loop) {
          loop.factors = "%each.row = expand %scaled {axis = 1} : f32[64,1]\n"
                         "%all = broadcast %each.row : f32[64,64]\n"
                         "%factors = exp2 %all : f32[64,64]\n";
        }) == attended);
  // A factor that is not the exponential.
  CHECK(attention_with([](Attention &loop) {
          loop.factors = "%factors = add %all.halves, %none : f32[64,64]\n";
        }) == "none");
}

TEST_CASE("associative loop: the guard of a key that no element has replaced") {
  auto guarded = [](const std::string &guard) {
    return attention_with([&](Attention &loop) { loop.guard = guard; });
  };
  auto with_cmp = [](const std::string &operands, const std::string &pred = "eq",
                     const std::string &values = "%zeros, %larger") {
    return "%is.none = cmp " + operands + " {pred = \"" + pred +
           "\"} : i1[64]\n %reference = select %is.none, " + values + " : f32[64]\n";
  };
  CHECK(guarded(with_cmp("%larger, %lowest")) == attended);
  CHECK(guarded(with_cmp("%larger, %infinite")) == attended);
  CHECK(guarded(with_cmp("%lowest, %larger")) == attended);
  CHECK(guarded(with_cmp("%larger, %lowest", "ne", "%larger, %zeros")) == attended);
  // The factor uses it, too.
  CHECK(attention_with([](Attention &loop) {
          loop.factor = with(loop.factor, "sub %key, %larger", "sub %key, %reference");
        }) == attended);
  // Other keys, another number instead of the key, other comparisons.
  CHECK(guarded("%minus = constant {number = -1.0} : f32\n %low.64 = splat %minus : f32[64]\n" +
                with_cmp("%larger, %low.64")) == "none");
  CHECK(guarded("%large = constant {number = 3.4028234663852886e+38} : f32\n"
                "%high = splat %large : f32[64]\n" +
                with_cmp("%larger, %high")) == "none");
  CHECK(guarded("%o = constant {number = 1.0} : f32\n %ones = splat %o : f32[64]\n" +
                with_cmp("%larger, %lowest", "eq", "%ones, %larger")) == "none");
  CHECK(guarded(with_cmp("%larger, %zeros")) == "none");
  CHECK(guarded(with_cmp("%key, %lowest")) == "none");
  CHECK(guarded(with_cmp("%most, %lowest")) == "none");
  CHECK(guarded(with_cmp("%larger, %lowest", "ne")) == "none");
  CHECK(guarded(with_cmp("%larger, %lowest", "le")) == "none");
  CHECK(guarded(with_cmp("%larger, %lowest", "eq", "%larger, %zeros")) == "none");
  CHECK(guarded(with_cmp("%larger, %lowest", "eq", "%zeros, %key")) == "none");
  // A number that the compiler does not know.
  CHECK(guarded("%others = splat %other : f32[64]\n" + with_cmp("%larger, %others")) == "none");
}

TEST_CASE("associative loop: the scale of a sum is a number times a scalar") {
  // 0.5 * power
  CHECK(attention_with([](Attention &loop) {
          loop.weight = with(loop.weight, "%above.0 = mul %opposites, %reference",
                             "%half = mul %reference, %halves : f32[64]\n"
                             "%above.0 = mul %opposites, %half");
          loop.factor = with(loop.factor, "%scaled = mul %each.power, %grown",
                             "%grown.half = mul %halves, %grown : f32[64]\n"
                             "%scaled = mul %grown.half, %each.power");
        }) == "max keys, add sums by exp2 0.5 power, add tiles by exp2 0.5 power along 1");
  // The same scalar in all places, perhaps with another sign, computed before the loop.
  CHECK(attention_with([](Attention &loop) {
          loop.before = "%both = mul %power, %other : f32\n";
          loop.weight = with(loop.weight, "%power :", "%both :");
          loop.factor = with(loop.factor, "%power :", "%both :");
        }) == with(attended, "power", "both"));
  CHECK(attention_with([](Attention &loop) {
          loop.weight = with(loop.weight, "mul %opposites", "mul %powers.64");
          loop.weight = "%powers.64 = splat %power : f32[64]\n" + loop.weight;
          loop.factor = with(loop.factor, "%each.power = splat %power",
                             "%negative = neg %power : f32\n %each.power = splat %negative");
        }) == with(attended, "1.0", "-1.0"));
  CHECK(attention_with([](Attention &loop) {
          loop.weight = "%below.1 = expand %reference {axis = 1} : f32[64,1]\n"
                        "%below = broadcast %below.1 : f32[64,64]\n"
                        "%above = neg %below : f32[64,64]\n"
                        "%distance = add %score, %above : f32[64,64]\n"
                        "%powers = splat %power : f32[64,64]\n"
                        "%exponent = mul %distance, %powers : f32[64,64]\n"
                        "%weight = exp2 %exponent : f32[64,64]\n";
        }) == attended);
  // No scalar.
  CHECK(attention_with([](Attention &loop) {
          loop.weight =
              with(loop.weight, "%opposites = splat %opposite", "%opposites = neg %halves");
          loop.factor = with(loop.factor, "%each.power = splat %power : f32[64]\n", "");
          loop.factor = with(loop.factor, "%each.power", "%halves");
        }) == "max keys, add sums by exp2 0.5, add tiles by exp2 0.5 along 1");
  CHECK(attention_with([](Attention &loop) {
          remove_guard(loop);
          loop.weight =
              with(loop.weight, "%above.0 = mul %opposites, %larger", "%above.0 = neg %larger");
          loop.factor = "%grown = sub %key, %larger : f32[64]\n"
                        "%shrunk = exp2 %grown : f32[64]\n";
        }) == "max keys, add sums by exp2 1.0, add tiles by exp2 1.0 along 1");
}

TEST_CASE("associative loop: not if scales or exponentials differ") {
  CHECK(attention_with([](Attention &loop) {
          loop.factor = with(loop.factor, "%power :", "%other :");
        }) == "none");
  CHECK(attention_with([](Attention &loop) {
          loop.factor = with(loop.factor, "exp2 %scaled", "exp %scaled");
        }) == "none");
  CHECK(attention_with([](Attention &loop) {
          loop.factor = with(loop.factor, "exp2 %scaled", "exp2 %grown");
        }) == "none");
  CHECK(attention_with([](Attention &loop) {
          loop.weight = with(loop.weight, "mul %opposites, %reference", "mul %halves, %reference");
        }) == "none");
  CHECK(attention_with([](Attention &loop) {
          loop.weight = with(loop.weight, "splat %opposite ", "splat %power ");
        }) == "none");
  // A scale that each iteration computes, or reads. A product of two scalars.
  for (std::string inner :
       {"%inner = mul %power, %other : f32\n", "%address = addptr %C, %one : ptr<f32>\n"
                                               "%inner = load %address : f32\n"})
    CHECK(attention_with([&](Attention &loop) {
            loop.score += inner;
            loop.weight = with(loop.weight, "%power :", "%inner :");
            loop.factor = with(loop.factor, "%power :", "%inner :");
          }) == "none");
  CHECK(attention_with([](Attention &loop) {
          loop.weight = with(loop.weight, "%above.0 = mul %opposites, %reference",
                             "%others = splat %other : f32[64]\n"
                             "%other.above = mul %others, %reference : f32[64]\n"
                             "%above.0 = mul %opposites, %other.above");
        }) == "none");
  // The sums have one scale, the tiles another one.
  CHECK(attention_with([](Attention &loop) {
          loop.factors = "%other.scale = splat %other : f32[64]\n"
                         "%other.scaled = mul %other.scale, %grown : f32[64]\n"
                         "%other.shrunk = exp2 %other.scaled : f32[64]\n" +
                         with(loop.factors, "%shrunk", "%other.shrunk");
        }) == "none");
}

TEST_CASE("associative loop: not if a dot adds anything but multiples of the factor") {
  auto adds = [](const std::string &left, const std::string &operands) {
    return attention_with([&](Attention &loop) {
      loop.left = left;
      loop.add = "%next = dot " + operands + ", %old {precision = \"exact\"} : f32[64,64]\n";
    });
  };
  const std::string cast = Attention().left;
  CHECK(adds(cast, "%left, %v") == attended);
  // Terms without the exponential, with another one, or as an integer.
  CHECK(adds("%left = cast %score : f16[64,64]\n", "%left, %v") == "none");
  CHECK(adds("", "%k, %v") == "none");
  CHECK(adds("%left.0 = exp2 %score : f32[64,64]\n %left = cast %left.0 : f16[64,64]\n",
             "%left, %v") == "none");
  CHECK(adds("%left.0 = cast %weight : i8[64,64]\n %left = cast %left.0 : f16[64,64]\n",
             "%left, %v") == "none");
  CHECK(adds("%left.0 = add %weight, %score : f32[64,64]\n %left = cast %left.0 : f16[64,64]\n",
             "%left, %v") == "none");
  CHECK(adds("%left.0 = mul %weight, %weight : f32[64,64]\n %left = cast %left.0 : f16[64,64]\n",
             "%left, %v") == "none");
  // Both operands depend on the key.
  CHECK(adds(cast, "%left, %left") == "none");
  CHECK(adds(cast + "%more = mul %left, %v : f16[64,64]\n", "%left, %more") == "none");
  // The key varies along the axis that the dot sums.
  CHECK(adds(cast, "%v, %left") == "none");
  CHECK(attention_with([](Attention &loop) {
          turn(loop);
          loop.add = with(loop.add, "%v, %left", "%left, %v");
        }) == "none");
  // The start counts once per part.
  CHECK(attention_with([](Attention &loop) { loop.starts = "%lowest, %zeros, %all.halves"; }) ==
        "none");
  // An iteration uses the sum so far.
  CHECK(attention_with([](Attention &loop) { loop.add += "store %at.tile, %next\n"; }) == "none");
  CHECK(attention_with([](Attention &loop) { loop.add += "store %at.tile, %tile\n"; }) == "none");
}

TEST_CASE("associative loop: not if the axes of the key differ between terms and factor") {
  // The tiles are square, so the types are the same.
  auto turned = [](const std::string &part) {
    return with(with(part, "{axis = 1}", "{axis = 0}"), "[64,1]", "[1,64]");
  };
  CHECK(attention_with([&](Attention &loop) { loop.factors = turned(loop.factors); }) == "none");
  CHECK(attention_with([&](Attention &loop) { loop.weight = turned(loop.weight); }) == "none");
  CHECK(attention_with([&](Attention &loop) { loop.reduced = 0; }) == "none");
  // Without a dot. Both sums of terms must have the axes of the factor.
  auto added = [&](auto change) {
    return attention_with([&](Attention &loop) {
      loop.left = "%more = add %weight, %weight : f32[64,64]\n";
      loop.add = "%next = add %more, %old : f32[64,64]\n";
      change(loop);
    });
  };
  CHECK(added([](Attention &) {}) == attended);
  CHECK(added([&](Attention &loop) { loop.factors = turned(loop.factors); }) == "none");
  const std::string columns = "%up.1 = expand %above.0 {axis = 0} : f32[1,64]\n"
                              "%up = broadcast %up.1 : f32[64,64]\n"
                              "%e = fma %score, %powers, %up : f32[64,64]\n"
                              "%of.columns = exp2 %e : f32[64,64]\n";
  CHECK(added([&](Attention &loop) {
          loop.left = columns + "%more = add %weight, %of.columns : f32[64,64]\n";
        }) == "none");
  // The exponent has a key along each axis.
  CHECK(added([&](Attention &loop) {
          loop.left = with(columns, "fma %score, %powers, %up", "add %exponent, %up") +
                      "%more = add %of.columns, %of.columns : f32[64,64]\n";
        }) == "none");
}

TEST_CASE("associative loop: a sum may have axes, but its key none") {
  auto totals = [](const std::string &factor, const std::string &distance) {
    ir::Function fn =
        parsed("func @f(%A: ptr<f32>, %n: i32) {\n"
               "%one = constant {value = 1} : i64\n %zero = constant {value = 0} : i64\n"
               "%low = constant {number = -inf} : f32\n"
               "%z = constant {number = 0.0} : f32\n %zeros = splat %z : f32[64]\n"
               "%v = view %A, %zero, %one : view<f32>[64]\n"
               "%top, %sums = for_loop %n, %low, %zeros : f32, f32[64] {\n"
               "(%t: i32, %key: f32, %sum: f32[64])\n %x = load %v : f32[64]\n"
               "%most = reduce %x {axis = 0, op = \"max\"} : f32\n"
               "%larger = max %key, %most : f32\n %grown = sub %key, %larger : f32\n" +
               factor + "%old = mul %sum, %factors : f32[64]\n" + distance +
               "%term = exp %distance : f32[64]\n %next = add %old, %term : f32[64]\n"
               "yield %larger, %next\n }\n store %A, %top\n store %v, %sums\n return\n}");
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    if (!found)
      return std::string("none");
    const AssociativeLoop::Rescaling expected = {
        .exp = ir::Opcode::exp_, .number = 1, .scalar = nullptr, .axes = {0}};
    CHECK(found->totals[1].rescaling == expected);
    return found->totals[0].op + ", " + found->totals[1].op;
  };
  const std::string factor = "%factor = exp %grown : f32\n %factors = splat %factor : f32[64]\n";
  const std::string distance = "%keys = splat %larger : f32[64]\n"
                               "%distance = sub %x, %keys : f32[64]\n";
  CHECK(totals(factor, distance) == "max, add");
  CHECK(totals("%growth = splat %grown : f32[64]\n %factors = exp %growth : f32[64]\n", distance) ==
        "max, add");
  CHECK(totals(factor, "%keys = splat %key : f32[64]\n %distance = sub %x, %keys : f32[64]\n") ==
        "none");
  CHECK(totals(factor, "%distance = sub %x, %x : f32[64]\n") == "none");
}

namespace {

void combine_with_themselves(ir::Function &fn, AssociativeLoop &found) {
  combine_totals(
      fn, *found.loop, found.totals,
      [&](ir::Builder &builder, const std::vector<size_t> &which, std::vector<ir::Value *> &all) {
        for (size_t i : which)
          all[i] = builder.combine(found.totals[i].op, all[i], all[i]);
      });
  check_rules(fn);
}

} // namespace

TEST_CASE("associative loop: emits a factor for all axes of the sum") {
  auto combined = [](const Attention &loop) {
    ir::Function fn = parsed(loop.text());
    std::optional<AssociativeLoop> found = find_associative_loop(fn);
    REQUIRE(found);
    combine_totals(
        fn, *found->loop, found->totals,
        [&](ir::Builder &builder, const std::vector<size_t> &which, std::vector<ir::Value *> &all) {
          for (size_t i : which)
            all[i] = builder.combine(found->totals[i].op, all[i], all[i]);
        });
    check_rules(fn);
    const std::string all = printed(fn);
    return all.substr(all.find("  }\n") + 4);
  };
  Attention loop;
  std::string text = combined(loop);
  CAPTURE(text);
  CHECK(contains(text, R"(  %0 = max %keys, %keys : f32[64]
  %1 = sub %keys, %0 : f32[64]
  %2 = splat %power : f32[64]
  %3 = mul %1, %2 : f32[64]
  %4 = exp2 %3 : f32[64]
)"));
  CHECK(count(text, " = cmp %keys, %0 {pred = \"lt\"} : i1[64]\n") == 2);
  CHECK(contains(text, "  %9 = mul %sums, %8 : f32[64]\n"));
  CHECK(contains(text, R"(
  %18 = expand %17 {axis = 1} : f32[64,1]
  %19 = broadcast %18 : f32[64,64]
  %20 = mul %tiles, %19 : f32[64,64]
)"));
  // Each column has a key.
  turn(loop);
  text = combined(loop);
  CHECK(contains(text, "  %9 = mul %sums, %8 : f32[64]\n"));
  CHECK(contains(text, R"(
  %18 = expand %17 {axis = 0} : f32[1,64]
  %19 = broadcast %18 : f32[64,64]
  %20 = mul %tiles, %19 : f32[64,64]
)"));
}

TEST_CASE("associative loop: emits a factor for keys with an axis of one element") {
  ir::Function fn = parsed(R"(
    func @f(%A: ptr<f32>, %n: i32) {
      %one = constant {value = 1} : i64
      %ld = constant {value = 64} : i64
      %zero = constant {value = 0} : i64
      %low = constant {number = -inf} : f32
      %lowest = splat %low : f32[64,1]
      %z = constant {number = 0.0} : f32
      %zeros = splat %z : f32[64,64]
      %v = view %A, %zero, %ld, %one : view<f32>[64,64]
      %w = view %A, %zero, %ld, %one : view<f32>[64,1]
      %keys, %sums = for_loop %n, %lowest, %zeros : f32[64,1], f32[64,64] {
        (%t: i32, %key: f32[64,1], %sum: f32[64,64])
        %x = load %v : f32[64,64]
        %most = reduce %x {axis = 1, op = "max"} : f32[64]
        %of.rows = expand %most {axis = 1} : f32[64,1]
        %larger = max %key, %of.rows : f32[64,1]
        %grown = sub %key, %larger : f32[64,1]
        %factor = exp %grown : f32[64,1]
        %factors = broadcast %factor : f32[64,64]
        %old = mul %sum, %factors : f32[64,64]
        %above = broadcast %larger : f32[64,64]
        %distance = sub %x, %above : f32[64,64]
        %term = exp %distance : f32[64,64]
        %next = add %old, %term : f32[64,64]
        yield %larger, %next
      }
      store %w, %keys
      store %v, %sums
      return
    })");
  if (std::optional<AssociativeLoop> found = find_associative_loop(fn)) {
    combine_with_themselves(fn, *found);
    CHECK(contains(printed(fn), " = broadcast %6 : f32[64,64]\n  %8 = mul %sums, %7 : f32"));
  }
}
