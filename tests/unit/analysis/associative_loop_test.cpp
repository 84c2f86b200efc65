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
  // The host cannot compute the number of iterations.
  CHECK_FALSE(total_of([&] {
    std::string changed = text;
    changed.replace(changed.find("for_loop %n"), 11, "for_loop %m");
    return changed.insert(changed.find("%total ="), "%p = program_id {axis = 0} : i32\n"
                                                    "%m = add %p, %n : i32\n");
  }()));
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
           std::to_string(sum.rescaling->scale).substr(0, 3);
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
