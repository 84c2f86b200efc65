// Tests the propagation of poison through every operation of tile IR, element by element.
//
// In all programs here, only the first three elements of %a have values; all elements of %b do.

#include "interpreter/programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;
using Kind = Report::Kind;

namespace {

struct Case {
  std::string operations; // the last one defines %r, eight elements
  std::string expected;   // per element of %r: `.` for a value, `x` for poison
  std::string elem = "f32", result = "";
  int blocks = 1; // number of blocks that run it
};

const std::string integers[] = {"add", "sub", "mul", "min",  "max",  "umin", "umax", "and", "or",
                                "xor", "shl", "shr", "ushr", "udiv", "div",  "rem",  "urem"};

const std::string copied =
    "%eight = constant {value = 8} : i64\n"
    "%map = tensor_map %x, %z64, %eight, %o64 {swizzle = 0} : map<f32>[8]\n"
    "tma_prefetch %map\n"
    "%s = shared_alloc : shared<f32>[1,8]\n %bar = mbarriers {arrivals = 1} : shared<i64>[1,1]\n"
    "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n";
const std::string copying = "mbarrier_arrive %bar, %zero {bytes = 32}\n"
                            "tma_load_async %map, %s, %zero, %bar, %zero, %zero\n";
// Both partitions have ended when the stage is read.
std::string through_channel(const std::string &consumer) {
  return "%eight = constant {value = 8} : i64\n"
         "%map = tensor_map %x, %z64, %eight, %o64 {swizzle = 0} : map<f32>[8]\n"
         "%s = shared_alloc : shared<f32>[1,8]\n %c = channel %s : channel[1]\n"
         "warp_specialize {one_thread = [0,1], warps = [4,4]} {\n %got = " +
         consumer +
         "yield\n} {\n %j = put %c, %zero : i32\n"
         "tma_load_async %map, %s, %j, %c, %j, %zero\n put_done %c, %zero\n yield\n}\n"
         "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]";
}
const std::string product =
    "%c = reshape %a : f32[4,2]\n %d = reshape %b : f32[2,4]\n %z = splat %zf : f32[4,4]\n"
    "%cs = shared_alloc : shared<f32>[1,4,2]\n %ds = shared_alloc : shared<f32>[1,2,4]\n"
    "shared_store %c, %cs, %zero\n shared_store %d, %ds, %zero\n proxy_fence\n"
    "%e = wgmma_ss %cs, %zero, %ds, %zero, %z {perms = [0,1,0,1]} : f32[4,4]\n";
const std::string rows_of_v = "%t = reduce %v {axis = 1, op = \"add\"} : f32[4]\n"
                              "%w = reshape %t : f32[4,1]\n %y2 = broadcast %w : f32[4,2]\n"
                              "%r = reshape %y2 : f32[8]";

// At least one case per operation with a result.
std::vector<Case> cases() {
  std::vector<Case> all = {
      // Shape.
      {"%r = convert_layout %a : f32[8]", "...xxxxx"},
      {"%r = copy %a : f32[8]", "...xxxxx"},
      {"%c = reshape %a : f32[2,4]\n %t = trans %c {perm = [1,0]} : f32[4,2]\n"
       "%r = reshape %t : f32[8]",
       ".x.x.xxx"},
      {"%c = reshape %a : f32[4,2]\n %t = reduce %c {axis = 1, op = \"add\"} : f32[4]\n"
       "%e = expand %t {axis = 1} : f32[4,1]\n %w = broadcast %e : f32[4,2]\n"
       "%r = reshape %w : f32[8]",
       "..xxxxxx"},
      {"%c = reshape %a : f32[2,4]\n %t = reduce %c {axis = 0, op = \"max\"} : f32[4]\n"
       "%w = reshape %t : f32[1,4]\n %e = broadcast %w : f32[2,4]\n %r = reshape %e : f32[8]",
       "xxxxxxxx"},
      {"%c = reshape %a : f32[2,4]\n %t = extract %c {origin = [0,2]} : f32[2,2]\n"
       "%d = extract %c {origin = [0,0]} : f32[2,2]\n %u = add %t, %d : f32[2,2]\n"
       "%v = reshape %u : f32[4,1]\n %w = broadcast %v : f32[4,2]\n %r = reshape %w : f32[8]",
       "..xxxxxx"},
      {"%s = reduce %a {axis = 0, op = \"min\"} : f32\n %r = splat %s : f32[8]", "xxxxxxxx"},
      {"%s = reduce %b {axis = 0, op = \"min\"} : f32\n %r = splat %s : f32[8]", "........"},
      // The limits are poison as a whole or not at all.
      {"%s = reduce %a {axis = 0, op = \"min\"} : i64\n %k = in_bounds %s : i1[8]\n"
       "%r = cast %k {unsigned = 1} : i64[8]",
       "xxxxxxxx", "i64"},
      {"%s = reduce %a {axis = 0, op = \"min\"} : i32\n %k = no_hoist %s : i32\n"
       "%r = splat %k : i32[8]",
       "xxxxxxxx", "i32"},
      {"%r = scan %a {axis = 0, op = \"add\"} : f32[8]", "...xxxxx"},
      {"%c = reshape %a : f32[2,4]\n %t = scan %c {axis = 0, op = \"add\"} : f32[2,4]\n"
       "%r = reshape %t : f32[8]",
       "...xxxxx"},
      {"%k = range {start = 1} : i32[8]\n %r = gather %a, %k {axis = 0} : f32[8]", "..xxxxx."},
      {"%k = cast %a : i32[8]\n %r = gather %b, %k {axis = 0} : f32[8]", "...xxxxx"},
      {"%k = constant {value = 1} : i32\n %r = funnel_shift %a, %b, %k {vector = 4} : f32[8]",
       "..x.xxx."},
      {"%k = constant {value = 1} : i32\n %r = funnel_shift %b, %a, %k {vector = 4} : f32[8]",
       ".......x"},
      // Arithmetic.
      {"%r = neg %a : f32[8]", "...xxxxx"},
      {"%r = abs %a : f32[8]", "...xxxxx"},
      {"%r = exp %a : f32[8]", "...xxxxx"},
      {"%r = log %a : f32[8]", "...xxxxx"},
      {"%r = sqrt %a : f32[8]", "...xxxxx"},
      {"%r = cast %a : i32[8]", "...xxxxx", "f32", "i32"},
      {"%r = cast %a : e4m3[8]", "...xxxxx", "bf16", "e4m3"},
      {"%r = bitcast %a : i32[8]", "...xxxxx", "f32", "i32"},
      {"%c = cmp %a, %b {pred = \"le\"} : i1[8]\n %r = cast %c : i32[8]", "...xxxxx", "f32", "i32"},
      // A poison condition gives poison; the operand that is not selected does not matter.
      {"%c = cmp %a, %b {pred = \"eq\"} : i1[8]\n %r = select %c, %b, %b : f32[8]", "...xxxxx"},
      {"%r = select %m, %a, %b : f32[8]", "........"},
      {"%r = select %m, %b, %a : f32[8]", "...xxxxx"},
      {"%r = select %yes, %b, %a : f32[8]", "........"},
      {"%r = select %no, %b, %a : f32[8]", "...xxxxx"},
      // Memory.
      {"%r = load %p, %m : f32[8]", "...xxxxx"},
      {"%r = load %p, %m, %b : f32[8]", "........"},
      {"%r = load %p, %m, %a : f32[8]", "...xxxxx"},
      {"%r = load %q : f32[8]", "xxxxxxxx"},
      // Contractions: a row of A, a column of B, an element of the accumulator.
      {"%c = reshape %a : f32[4,2]\n %d = reshape %b : f32[2,4]\n %z = splat %zf : f32[4,4]\n"
       "%e = dot %c, %d, %z : f32[4,4]\n %t = reduce %e {axis = 1, op = \"add\"} : f32[4]\n"
       "%w = reshape %t : f32[4,1]\n %y2 = broadcast %w : f32[4,2]\n %r = reshape %y2 : f32[8]",
       "..xxxxxx"},
      {"%c = reshape %b : f32[2,4]\n %d = reshape %a : f32[4,2]\n %z = splat %zf : f32[2,2]\n"
       "%e = dot %c, %d, %z : f32[2,2]\n %t = reshape %e : f32[1,4]\n"
       "%w = broadcast %t : f32[2,4]\n %r = reshape %w : f32[8]",
       "xxxxxxxx"},
      {"%c = reshape %b : f32[4,2]\n %d = reshape %b : f32[2,4]\n %e = reshape %a : f32[2,4]\n"
       "%f = reshape %b : f32[2,4]\n %g = reshape %b : f32[4,2]\n %h = trans %g {perm = [1,0]} : "
       "f32[2,4]\n"
       "%z = splat %zf : f32[2,2]\n %k = dot %f, %c, %z : f32[2,2]\n %o = dot %k, %h, %e : "
       "f32[2,4]\n"
       "%r = reshape %o : f32[8]",
       "...xxxxx"},
      // Control: results of branches and loops.
      {"%r = if_else %yes : f32[8] {\n yield %a\n} {\n yield %b\n}", "...xxxxx"},
      {"%r = if_else %no : f32[8] {\n yield %a\n} {\n yield %b\n}", "........"},
      {"%r = for_loop %n, %a : f32[8] {\n(%t: i32, %c: f32[8])\n %d = add %c, %b : f32[8]\n yield "
       "%d\n}",
       "...xxxxx"},
      {"%r, %k = while_loop %a, %n : f32[8], i32 {\n(%c: f32[8], %j: i32)\n"
       "%go = cmp %j, %zero {pred = \"gt\"} : i1\n condition %go\n} {\n(%d: f32[8], %l: i32)\n"
       "%o = constant {value = 1} : i32\n %h = sub %l, %o : i32\n yield %b, %h\n}",
       "........"},
      // Shared memory.
      {"%s = shared_alloc : shared<f32>[2,8]\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]",
       "xxxxxxxx"},
      {"%s = shared_alloc : shared<f32>[2,8]\n shared_store %a, %s, %zero\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]",
       "...xxxxx"},
      {"%s = shared_alloc : shared<f32>[2,8]\n shared_store %a, %s, %zero\n"
       "%k = range {start = 1} : i32[8]\n"
       "%r = shared_gather %s, %zero, %k {axis = 0} : f32[8]",
       "..xxxxx."},
      {"%s = shared_alloc : shared<f32>[2,8]\n shared_store %b, %s, %zero\n"
       "%o = stage_index %zero {offset = 1, stages = 2} : i32\n"
       "%r = shared_load %s, %o {origin = [0], perm = [0]} : f32[8]",
       "xxxxxxxx"},
      {"%s = shared_alloc : shared<f32>[1,8]\n shared_store %a, %s, %zero\n"
       "%two = constant {value = 2} : i32\n"
       "%t = shared_load_rows %s, %zero, %two, %zero : f32[2,4]\n %r = reshape %t : f32[8]",
       ".....x.."},
      {"%s = shared_alloc : shared<f32>[1,8]\n shared_store %b, %s, %zero\n"
       "%two = constant {value = 2} : i32\n %c = reshape %a : f32[2,4]\n"
       "shared_store_rows %c, %s, %zero, %two, %two\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]",
       "....xx.."},
      // An asynchronous copy: poison before the wait, zeros where it is masked off.
      {"%s = shared_alloc : shared<f32>[1,8]\n async_copy %vx, %s, %zero, %yes {vector = 1}\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]\n async_commit\n"
       "async_wait {pending = 0}",
       "xxxxxxxx"},
      {"%s = shared_alloc : shared<f32>[1,8]\n async_copy %vx, %s, %zero, %yes, %m {vector = 1}\n"
       "async_commit\n async_wait {pending = 0}\n barrier\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]",
       "........"},
      {"%s = shared_alloc : shared<f32>[1,8]\n async_copy %vy, %s, %zero, %yes {vector = 1}\n"
       "async_commit\n async_wait {pending = 0}\n"
       "%r = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]",
       "xxxxxxxx"},
      // Tensor maps: zeros outside the tensor.
      {"%map = tensor_map %x, %z64, %o64, %o64 {swizzle = 0} : map<f32>[8]\n"
       "%r = tma_load %map, %n : f32[8]",
       "........"},
      {"%map = tensor_map %y, %z64, %o64, %o64 {swizzle = 0} : map<f32>[8]\n"
       "%r = tma_load %map, %zero : f32[8]",
       "x......."},
      {"%map = tensor_map %x, %z64, %o64, %o64 {swizzle = 0} : map<f32>[8]\n"
       "tma_store %map, %b, %zero\n %r = load %p : f32[8]",
       "........"},
      // A copy from a buffer: the tensor is poison until the program ends.
      {"%eight = constant {value = 8} : i64\n %s = shared_alloc : shared<f32>[1,8]\n"
       "%map = tensor_map %x, %z64, %eight, %o64 {swizzle = 0} : map<f32>[8]\n"
       "shared_store %b, %s, %zero\n proxy_fence\n tma_store_async %map, %s, %zero, %zero\n"
       "tma_store_wait {pending = 0}\n %r = load %p : f32[8]",
       "xxxxxxxx"},
      // A copy that counts on an mbarrier: poison before the wait.
      {copied +
           "mbarrier_wait %bar, %zero, %zero\n"
           "%r0 = shared_load %s, %zero {origin = [0], perm = [0]} : f32[8]\n store %q, %r0\n"
           "yield\n} {\n" +
           copying + "yield\n}\n %r = load %q : f32[8]",
       "........"},
      {copied + "yield\n} {\n" + copying +
           "mbarrier_wait %bar, %zero, %zero\n yield\n}\n"
           "%o = stage_phase %zero {offset = 1, stages = 2} : i32\n"
           "%r = shared_load %s, %o {origin = [0], perm = [0]} : f32[8]",
       "........"},
      // A stage of a channel: poison outside of its life.
      {through_channel("get %c, %zero : i32\n"), "........"},
      {through_channel("get %c, %zero : i32\n get_done %c, %zero\n"), "xxxxxxxx"},
      // A wgmma: like a dot after the wait, poison before it.
      {product + "%v = wgmma_wait %e {pending = 0} : f32[4,4]\n" + rows_of_v, "..xxxxxx"},
      {product +
           "%v = convert_layout %e : f32[4,4]\n"
           "%w0 = wgmma_wait %e {pending = 0} : f32[4,4]\n" +
           rows_of_v,
       "xxxxxxxx"},
      {product +
           "%f = wgmma_rs %c, %ds, %zero, %z {perm = [0,1], origin = [0,0]} : f32[4,4]\n"
           "%v = wgmma_wait %f {pending = 0} : f32[4,4]\n" +
           rows_of_v,
       "..xxxxxx"},
      // A sum over the blocks of a cluster.
      {"%r = cluster_reduce %a {blocks = 2, op = \"add\"} : f32[8]", "...xxxxx", "f32", "", 2},
      {"%s = shared_alloc : shared<f32>[1,8]\n shared_store %a, %s, %zero\n cluster_barrier\n"
       "%r = cluster_load_reduce %s, %zero {blocks = 2, op = \"add\"} : f32[8]",
       "...xxxxx", "f32", "", 2},
      {"%s = shared_alloc : shared<f32>[2,8]\n shared_store %b, %s, %zero\n"
       "%o = stage_index %zero {offset = 1, stages = 2} : i32\n"
       "%r = cluster_load_reduce %s, %o {blocks = 2, op = \"add\"} : f32[8]",
       "xxxxxxxx", "f32", "", 2},
      {"%m1 = mbarriers {arrivals = 1} : shared<i64>[1,1]\n"
       "mbarrier_arrive %m1, %zero {bytes = 64}\n cluster_arrive\n cluster_wait\n"
       "%i0 = block_id {axis = 0} : i32\n %two0 = constant {value = 2} : i32\n"
       "%k0 = urem %i0, %two0 : i32\n %s = shared_alloc : shared<f32>[2,8]\n"
       "cluster_send %a, %s, %k0, %m1, %zero {blocks = 2}\n"
       "mbarrier_wait %m1, %zero, %zero\n"
       "%r = cluster_receive %s, %zero {blocks = 2, op = \"add\"} : f32[8]",
       "...xxxxx", "f32", "", 2},
      // Atomics: no result where masked off; storing poison is reported.
      {"%r0 = atomic %p, %b, %m {op = \"add\"} : f32[8]\n %r = load %p : f32[8]", "........"},
      {"%r = atomic %p, %b, %m {op = \"exchange\"} : f32[8]", "...xxxxx"},
      {"%r = atomic_cas %p, %b, %b, %m : f32[8]", "...xxxxx"},
      {"store_partial %y, %a\n signal %x\n wait_signal %x\n"
       "%r = add_partial %y, %b : f32[8]",
       "...xxxxx"},
      // Host values.
      {"%one = constant {value = 1} : i32\n launch_blocks %one\n launch_requires %n, %n {text = "
       "\"a\"}\n"
       "%h = host_value %n : i32\n"
       "%r = splat %h : i32[8]",
       "........", "i32"},
      {"%h = host_value %n : i32\n launch_warps %h {programs = 4}\n %r = splat %h : i32[8]",
       "........", "i32"},
      {"%u = num_sms : i32\n %r = splat %u : i32[8]", "xxxxxxxx", "i32"},
  };
  for (const char *op :
       {"rsqrt", "exp2", "log2", "sin", "cos", "tanh", "erf", "floor", "ceil", "round", "trunc"})
    all.push_back({std::string("%r = ") + op + " %a : f32[8]", "...xxxxx"});
  all.push_back({"%r = fma %b, %b, %a : f32[8]", "...xxxxx"});
  for (const char *op : {"add", "sub", "mul", "div", "rem", "min", "max", "pow"})
    all.push_back({std::string("%r = ") + op + " %b, %a : f32[8]", "...xxxxx"});
  // %b has 0 in its first element. That determines the result of an `and`, and a division by it is
  // poison.
  for (const std::string &op : integers) {
    bool divides = op.find("div") != op.npos || op.find("rem") != op.npos;
    all.push_back({"%r = " + op + " %a, %b : i32[8]", divides ? "x..xxxxx" : "...xxxxx", "i32"});
  }
  all.push_back({"%k = sub %b, %b : i32[8]\n %r = and %k, %a : i32[8]", "........", "i32"});
  all.push_back({"%k = constant {value = -1} : i32\n %ks = splat %k : i32[8]\n"
                 "%r = or %a, %ks : i32[8]",
                 "........", "i32"});
  return all;
}

std::string program_of(const Case &test) {
  const std::string tile = test.elem + "[8]";
  std::string text = "%ns = splat %n : i32[8]\n %m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n"
                     "%yes = constant {value = 1} : i1\n %no = constant {value = 0} : i1\n"
                     "%a = load %p, %m : " +
                     tile + "\n %b = load %p : " + tile + "\n";
  if (test.elem == "f32" && test.result.empty())
    text += "%zf = constant {number = 0.0} : f32\n %z64 = constant {value = 0} : i64\n"
            "%o64 = constant {value = 1} : i64\n %vx = view %x, %z64, %o64 : view<f32>[8]\n"
            "%vy = view %y, %z64, %o64 : view<f32>[8]\n";
  return text + test.operations + "\n store %q, %r";
}

// `x` for each poison element of y.
std::string poison_in_y(const Ran &ran) {
  std::string text;
  for (const Element &element : ran.memory[1].elements)
    text += element.poison ? 'x' : '.';
  return text;
}

} // namespace

TEST_CASE("poison: propagates through every operation") {
  for (const Case &test : cases()) {
    CAPTURE(test.operations);
    Launch launch;
    launch.grid = {test.blocks, 1, 1};
    Ran ran(program_of(test), test.elem, test.result, launch);
    CHECK(poison_in_y(ran) == test.expected);
    // Poison is reported when it is stored, not before.
    bool stored = test.expected.find('x') != std::string::npos;
    const std::vector<Kind> kinds = ran.kinds(); // several blocks may store
    CHECK(kinds.empty() == !stored);
    CHECK(std::count(kinds.begin(), kinds.end(), Kind::poison_store) == int64_t(kinds.size()));
  }
}

TEST_CASE("poison: the cases cover every operation") {
  std::set<std::string> seen;
  for (const Case &test : cases()) {
    std::istringstream words(test.operations);
    for (std::string word; words >> word;)
      seen.insert(word);
  }
  // reports_test.cpp covers pointers and accesses through them.
  seen.insert({"addptr", "view", "store"});
  seen.insert("workspace");     // in host_test.cpp
  seen.insert("constant_load"); // in constant_memory_test.cpp
#define OP(name, min, max, regions, effect, attributes, text)                                      \
  if (max != 0 && ir::Effect::effect != ir::Effect::io &&                                          \
      ir::Effect::effect != ir::Effect::control)                                                   \
    CHECK_MESSAGE(seen.count(#name), #name);
#include "ir/ops.def"
}

TEST_CASE("poison: a store of poison makes memory poison") {
  Ran ran(program_of({"store %q, %b\n store %q, %a\n %r = load %q : f32[8]", ""}));
  CHECK(poison_in_y(ran) == "...xxxxx");
  CHECK(ran.kinds() == std::vector(2, Kind::poison_store));
}

TEST_CASE("bounds: exact to the element") {
  struct {
    const char *offset;
    int count, wrong; // accessed elements; index of the first invalid one, -1 = none
  } cases[] = {{"0", 8, -1}, {"0", 4, -1}, {"4", 4, -1}, {"1", 8, 7},  {"8", 1, 0},
               {"-1", 8, 0}, {"7", 1, -1}, {"7", 2, 1},  {"-8", 8, 0}, {"1000000", 2, 0}};
  for (auto [offset, count, wrong] : cases)
    for (bool is_store : {false, true}) {
      CAPTURE(offset);
      CAPTURE(is_store);
      const std::string size = "[" + std::to_string(count) + "]";
      const std::string view = std::string("%k = constant {value = ") + offset +
                               "} : i64\n %o = constant {value = 1} : i64\n %v = view " +
                               (is_store ? "%y" : "%x") + ", %k, %o : view<f32>" + size + "\n";
      Ran ran(view + (is_store ? "%z = constant {number = 0.0} : f32\n %a = splat %z : f32" + size +
                                     "\n store %v, %a"
                               : "%a = load %v : f32" + size));
      CHECK(ran.kinds() == (wrong < 0 ? std::vector<Kind>() : std::vector{Kind::out_of_bounds}));
      if (wrong >= 0)
        CHECK(ran.result.reports[0].element == wrong);
    }
}

TEST_CASE("async_copy: checks bounds where it is not masked off") {
  const std::string copy =
      "%k = constant {value = 5} : i64\n %o = constant {value = 1} : i64\n"
      "%far = view %x, %k, %o : view<f32>[8]\n"
      "%s = shared_alloc : shared<f32>[1,8]\n %yes = constant {value = 1} : i1\n"
      "%ns = splat %n : i32[8]\n %m = cmp %i, %ns {pred = \"lt\"} : i1[8]\n";
  const std::string end = "{vector = 1}\n async_commit\n async_wait {pending = 0}";
  Ran ran(copy + "async_copy %far, %s, %zero, %yes " + end);
  CHECK(ran.kinds() == std::vector{Kind::out_of_bounds});
  CHECK(ran.result.reports[0].element == 3);
  CHECK(Ran(copy + "async_copy %far, %s, %zero, %yes, %m " + end).kinds().empty());
}
