// Tests analysis/repeated_loads.cpp and analysis/same_value.cpp.

#include "analysis/repeated_loads.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Two loops. The second counts %u. %a or %b has the tile of A at iteration %t or %u.
struct Kernel {
  std::string parameters = "%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f16>, %n: i32, %k: i32";
  std::string in_first = {}, between = {}, before_second = {}, after_second = {};
  std::string first_load = "load %v", second_load = "load %w";
  std::string second_count = "%n", second_step = "%size";

  std::string text() const {
    return "func @f(" + parameters +
           ") {\n %one = constant {value = 1} : i64\n %size = constant {value = 64} : i64\n"
           " %double = constant {value = 128} : i64\n %i = range {start = 0} : i32[64]\n"
           " %ks = splat %k : i32[64]\n %m = cmp %i, %ks {pred = \"lt\"} : i1[64]\n"
           " %z = constant {number = 0.0} : f32\n %zero = splat %z : f32[64]\n"
           " %y = constant {number = 1.0} : f32\n %ones = splat %y : f32[64]\n"
           " %h = constant {number = 1.0} : f16\n %halves = splat %h : f16[64]\n"
           " for_loop %n {\n (%t: i32)\n %tw = cast %t : i64\n %at = mul %tw, %size : i64\n"
           " %v = view %A, %at, %one : view<f32>[64]\n %a = " +
           first_load + " : f32[64]\n" + in_first + " yield\n }\n" + between + " for_loop " +
           second_count + " {\n (%u: i32)\n %uw = cast %u : i64\n %bt = mul %uw, " + second_step +
           " : i64\n %w = view %A, %bt, %one : view<f32>[64]\n" + before_second +
           " %b = " + second_load + " : f32[64]\n" + after_second + " yield\n }\n return\n}";
  }

  // The number of loads of each tile: "2 " for two loads of one tile.
  std::string tiles() const {
    ir::Function fn = parsed(text());
    std::optional<RepeatedLoads> found = find_repeated_loads(fn);
    std::string result;
    if (found)
      for (const std::vector<ir::Op *> &loads : found->tiles)
        result += std::to_string(loads.size()) + " ";
    return result;
  }
};

const std::string store_to_b = " %o = view %B, %bt, %one : view<f32>[64]\n store %o, %ones\n";

} // namespace

TEST_CASE("repeated loads: the same tile in two loops") {
  CHECK(Kernel{}.tiles() == "2 ");
  CHECK(Kernel{.first_load = "load %v, %m", .second_load = "load %w, %m"}.tiles() == "2 ");
}

TEST_CASE("repeated loads: none if view, mask, or number of iterations differ") {
  CHECK(Kernel{.second_step = "%double"}.tiles() == "");
  CHECK(Kernel{.second_load = "load %w, %m"}.tiles() == "");
  CHECK(Kernel{.second_count = "%k"}.tiles() == "");
}

TEST_CASE("repeated loads: the values of masked-off elements may differ") {
  for (const char *first : {"load %v, %m", "load %v, %m, %zero", "load %v, %m, %ones"})
    for (const char *second : {"load %w, %m", "load %w, %m, %zero", "load %w, %m, %ones"})
      CHECK(Kernel{.first_load = first, .second_load = second}.tiles() == "2 ");
}

TEST_CASE("repeated loads: a repeat has its own values of masked-off elements") {
  // The operations of the repeat: the elements themselves, or a select.
  auto repeat = [](const std::string &first, const std::string &second) {
    ir::Function fn = parsed(Kernel{.first_load = first, .second_load = second}.text());
    std::vector<ir::Op *> loads = find_repeated_loads(fn)->tiles[0];
    ir::Value *elements = loads[0]->result();
    ir::Builder builder = ir::Builder::after(fn, loads[1]);
    ir::Value *result = emit_repeat(builder, elements, *loads[0], *loads[1]);
    return result == elements ? "elements" : std::string(info(result->op->code).name);
  };
  CHECK(repeat("load %v, %m, %zero", "load %w, %m") == "elements");
  CHECK(repeat("load %v, %m, %ones", "load %w, %m, %ones") == "elements");
  CHECK(repeat("load %v, %m", "load %w, %m, %zero") == "select"); // %a may have any values there
  CHECK(repeat("load %v, %m, %zero", "load %w, %m, %ones") == "select");
}

TEST_CASE("repeated loads: two loads of a loop are of one tile") {
  auto tiles = [](const std::string &step) {
    return Kernel{.in_first = " %again = load %v, %m, %ones : f32[64]\n",
                  .first_load = "load %v, %m, %zero",
                  .second_load = "load %w, %m",
                  .second_step = step}
        .tiles();
  };
  CHECK(tiles("%size") == "3 ");
  CHECK(tiles("%double") == ""); // another loop has to load the tile
}

TEST_CASE("repeated loads: a load with a cache hint stays") {
  CHECK(Kernel{.second_load = "load %w {cache = \"cv\"}"}.tiles() == "");
  CHECK(Kernel{.first_load = "load %v {cache = \"cs\"}"}.tiles() == "");
}

TEST_CASE("repeated loads: none across a store that may change the tile") {
  CHECK(Kernel{.in_first = " store %v, %ones\n"}.tiles() == "");
  CHECK(Kernel{.between = " store %A, %y\n"}.tiles() == "");
  CHECK(Kernel{.after_second = " store %w, %ones\n"}.tiles() == "");
  CHECK(Kernel{.between = " barrier\n"}.tiles() == "");
  const std::string b_at = " %o = view %B, %at, %one : view<f32>[64]\n store %o, %ones\n";
  CHECK(Kernel{.in_first = b_at}.tiles() == ""); // B may be A
  CHECK(Kernel{.before_second = store_to_b}.tiles() == "");
}

TEST_CASE("repeated loads: a store after the last load may be to the same memory") {
  CHECK(Kernel{.after_second = store_to_b}.tiles() == "2 ");
}

TEST_CASE("repeated loads: across stores to memory that is not the tile's") {
  const std::string to_c = " %o = view %C, %at, %one : view<f16>[64]\n store %o, %halves\n";
  CHECK(Kernel{.in_first = to_c}.tiles() == "2 ");
  CHECK(Kernel{.between = " store %B, %y\n"}.tiles() == "2 "); // no tile
  const std::string to_b = " %o = view %B, %at, %one : view<f32>[64]\n store %o, %ones\n";
  CHECK(Kernel{.parameters = "%A: ptr<f32>, %B: ptr<f32> no_alias, %C: ptr<f16>, %n: i32, %k: i32",
               .in_first = to_b}
            .tiles() == "2 ");
}

TEST_CASE("repeated loads: an address that depends on other loads cannot move") {
  std::string text = Kernel{}.text();
  std::string from = "%at = mul %tw, %size : i64";
  text.replace(text.find(from), from.size(),
               "%x = load %A : f32\n %xi = cast %x : i64\n %at = mul %xi, %size : i64");
  ir::Function fn = parsed(text);
  CHECK_FALSE(find_repeated_loads(fn));
}

TEST_CASE("repeated loads: in three loops") {
  auto with_loop = [](const std::string &step, const std::string &before = "") {
    return before +
           " for_loop %n {\n (%x: i32)\n %xw = cast %x : i64\n"
           " %ct = mul %xw, " +
           step +
           " : i64\n %q = view %A, %ct, %one : view<f32>[64]\n %c = load %q : f32[64]\n"
           " yield\n }\n";
  };
  CHECK(Kernel{.between = with_loop("%size")}.tiles() == "3 ");
  // One of the loops loads other tiles.
  CHECK(Kernel{.between = with_loop("%double")}.tiles() == "2 ");
  CHECK(Kernel{.between = with_loop("%size"), .second_step = "%double"}.tiles() == "2 ");
  // A store between the first loop and the others.
  CHECK(Kernel{.between = with_loop("%size", " store %A, %y\n")}.tiles() == "2 ");
}

TEST_CASE("repeated loads: the first loop with a repeated load counts") {
  // The first loop has another tile than the loops after it.
  const std::string third = " for_loop %n {\n (%x: i32)\n %xw = cast %x : i64\n"
                            " %ct = mul %xw, %size : i64\n"
                            " %q = view %A, %ct, %one : view<f32>[64]\n"
                            " %c = load %q : f32[64]\n yield\n }\n";
  Kernel kernel = {.between = third, .first_load = "load %v {cache = \"cg\"}"};
  ir::Function fn = parsed(kernel.text());
  std::optional<RepeatedLoads> found = find_repeated_loads(fn);
  REQUIRE(found);
  CHECK(found->first == value_named(fn, "c")->op->parent->parent);
  REQUIRE(found->tiles.size() == 1);
  CHECK(found->tiles[0] == std::vector{value_named(fn, "c")->op, value_named(fn, "b")->op});
}

namespace {

// Operations that load tile `name` of B or C in iteration `at`.
std::string load_of_b(const std::string &name, const std::string &at) {
  return " %v." + name + " = view %B, " + at + ", %one : view<f32>[64]\n %" + name + " = load %v." +
         name + " : f32[64]\n";
}
std::string load_of_c(const std::string &name, const std::string &at) {
  return " %v." + name + " = view %C, " + at + ", %one : view<f16>[64]\n %" + name + " = load %v." +
         name + " : f16[64]\n";
}

} // namespace

TEST_CASE("repeated loads: several tiles have the type of the first") {
  CHECK(Kernel{.in_first = load_of_b("c", "%at"), .after_second = load_of_b("d", "%bt")}.tiles() ==
        "2 2 ");
  CHECK(Kernel{.in_first = load_of_c("c", "%at"), .after_second = load_of_c("d", "%bt")}.tiles() ==
        "2 ");
  // The first tile is loaded once, so the second one decides the type.
  CHECK(Kernel{.in_first = load_of_c("c", "%at"),
               .after_second = load_of_c("d", "%bt"),
               .second_load = "load %w {cache = \"cg\"}"}
            .tiles() == "2 ");
}

namespace {

// Three loads of the body: %a, %b and %c. The result names loads and their earlier loads: "b=a ".
struct Body {
  std::string first = "load %v", second = "load %w", third = "load %far";
  std::string after_first = {}, after_second = {};

  std::string repeats() const {
    ir::Function fn =
        parsed("func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f16>, %n: i32, %k: i32) {\n"
               " %zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
               " %size = constant {value = 64} : i64\n %i = range {start = 0} : i32[64]\n"
               " %ks = splat %k : i32[64]\n %m = cmp %i, %ks {pred = \"lt\"} : i1[64]\n"
               " %z = constant {number = 0.0} : f32\n %none = splat %z : f32[64]\n"
               " %y = constant {number = 1.0} : f32\n %ones = splat %y : f32[64]\n"
               " %v = view %A, %zero, %one : view<f32>[64]\n"
               " %w = view %A, %zero, %one : view<f32>[64]\n"
               " %far = view %A, %size, %one : view<f32>[64]\n %a = " +
               first + " : f32[64]\n" + after_first + " %b = " + second + " : f32[64]\n" +
               after_second + " %c = " + third + " : f32[64]\n return\n}");
    std::string result;
    for (const auto &[load, earlier] : find_repeated_loads_of_body(fn))
      result += load->result()->name + "=" + earlier->result()->name + " ";
    return result;
  }
};

} // namespace

TEST_CASE("repeated loads of the body: a later load of the same elements") {
  CHECK(Body{}.repeats() == "b=a ");
  CHECK(Body{.first = "load %v, %m", .second = "load %w, %m"}.repeats() == "b=a ");
  CHECK(Body{.third = "load %v"}.repeats() == "b=a c=a ");
  CHECK(Body{.second = "load %far", .third = "load %w"}.repeats() == "c=a ");
}

TEST_CASE("repeated loads of the body: none if view, mask or cache differ") {
  CHECK(Body{.second = "load %far", .third = "load %w, %m"}.repeats() == "");
  CHECK(Body{.second = "load %w, %m"}.repeats() == "");
  CHECK(Body{.second = "load %w {cache = \"cv\"}"}.repeats() == "");
  CHECK(Body{.first = "load %v {cache = \"cs\"}"}.repeats() == "");
}

TEST_CASE("repeated loads of the body: the values of masked-off elements may differ") {
  for (const char *first : {"load %v, %m", "load %v, %m, %none"})
    for (const char *second : {"load %w, %m", "load %w, %m, %none", "load %w, %m, %ones"})
      CHECK(Body{.first = first, .second = second}.repeats() == "b=a ");
}

TEST_CASE("repeated loads of the body: none across a store that may change the tile") {
  const std::string to_b = " %o = view %B, %zero, %one : view<f32>[64]\n store %o, %ones\n";
  const std::string in_loop = " for_loop %n {\n (%t: i32)\n store %w, %ones\n yield\n }\n";
  for (const std::string &change :
       {std::string(" store %A, %y\n"), std::string(" store %w, %ones\n"), to_b, in_loop,
        std::string(" barrier\n")}) {
    CAPTURE(change);
    CHECK(Body{.after_first = change}.repeats() == "");
    CHECK(Body{.after_second = change}.repeats() == "b=a ");
    // The load after the store is the first of the next ones.
    CHECK(Body{.third = "load %v", .after_first = change}.repeats() == "c=b ");
  }
  // C has another type, and an element is no tile.
  const std::string to_c = " %h = constant {number = 1.0} : f16\n %hs = splat %h : f16[64]\n"
                           " %o = view %C, %zero, %one : view<f16>[64]\n store %o, %hs\n";
  CHECK(Body{.after_first = to_c}.repeats() == "b=a ");
  CHECK(Body{.after_first = " store %B, %y\n"}.repeats() == "b=a ");
}

TEST_CASE("repeated loads of the body: loads in loops stay") {
  const std::string in_loop = " for_loop %n {\n (%t: i32)\n %d = load %v : f32[64]\n yield\n }\n";
  CHECK(Body{.after_first = in_loop}.repeats() == "b=a ");
}
