// Tests ir/printer.cpp and ir/parser.cpp: parsing printed text gives the same function.

#include "ir/builder.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// Every operation of ops.def at least once, as the printer writes it.
const char *const every_operation =
    R"(layout #0 [8,8] reg (0,1) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp
layout #1 [8,8] offset (0,1) (0,2) (0,4) (1,1) (2,2) (4,4)
func @every_operation(%p: ptr<f32>, %q: ptr<f32> aligned 4 read_only no_alias, %out: ptr<i8> write_only, %n: i32 multiple_of 8, %u: i32 unsigned, %x: f32) constants (bytes: i8[5] at 0, t: f32[4] at 16 = [0.5, -1.0, inf], n: i64[2] unsigned at 32 = [-1]) warps 1 shared 512 blocks_per_sm 2 {
  %0 = constant {value = -1} : i32
  %1 = constant {number = 1.5} : f32
  %2 = constant {value = 0} : i64
  %3 = program_id {axis = 0} : i32
  %4 = num_programs {axis = 2} : i32
  %5 = range {start = -4} : i32[8]
  %6 = splat %x : f32[8]
  %7 = expand %6 {axis = 1} : f32[8,1]
  %8 = broadcast %7 : f32[8,16]
  %9 = trans %8 {perm = [1,0]} : f32[16,8]
  %10 = reshape %9 : f32[2,64]
  %11 = add %3, %4 : i32
  %12 = sub %11, %n : i32
  %13 = mul %12, %u : i32
  %14 = div %13, %n : i32
  %15 = udiv %14, %n : i32
  %16 = rem %15, %n : i32
  %17 = urem %16, %n : i32
  %18 = min %17, %n : i32
  %19 = max %18, %n : i32
  %20 = umin %19, %n : i32
  %21 = umax %20, %n : i32
  %22 = and %21, %n : i32
  %23 = or %22, %n : i32
  %24 = xor %23, %n : i32
  %25 = shl %24, %n : i32
  %26 = shr %25, %n : i32
  %27 = ushr %26, %n : i32
  %28 = neg %27 : i32
  %29 = abs %28 : i32
  %30 = exp %x : f32
  %31 = log %30 : f32
  %32 = sqrt %31 : f32
  %copied = copy %32 : f32
  %33 = cmp %n, %u {pred = "ult"} : i1
  %34 = select %33, %x, %32 : f32
  %35 = cast %u {unsigned = 1} : i64
  %36 = bitcast %x : i32
  %37 = addptr %p, %n : ptr<f32>
  %38 = view %37, %2, %35, %2 : view<f32>[8,8] #0
  %39 = load %38, %33 {vector = 2} : f32[8,8] #0
  store %38, %39
  print %39, %u {text = "x = {}, \"u\" = {u}\x0a"}
  print {text = "\\"}
  assert %33 {text = "assertion `n < u` failed"}
  %40 = splat %1 : f32[8,8] #0
  %41 = dot %39, %39, %40 {instruction = "fma", thread_tile = [4,1], warps = [1,1]} : f32[8,8] #0
  %42 = reduce %41 {axis = 1, op = "max"} : f32[8]
  %43, %44 = while_loop %n, %x : i32, f32 {
    (%45: i32, %46: f32)
    condition %33
  } {
    (%47: i32, %48: f32)
    %49 = for_loop %n, %47 : i32 {
      (%50: i32, %51: i32)
      if_else %33 {
        barrier
        yield
      } {
        yield
      }
      yield %50
    }
    yield %49, %48
  }
  %52 = shared_alloc {address = 256} : shared<f32>[3,8,8] #1
  %53 = stage_index %n {offset = 2, stages = 3} : i32
  shared_store %41, %52, %53
  %54 = shared_load %52, %53 {origin = [0,0], perm = [1,0]} : f32[8,8] #0
  async_copy %38, %52, %53, %33 {vector = 4}
  async_commit
  async_wait {pending = 1}
  %55 = convert_layout %54 : f32[8,8] #0
  %56 = num_sms : i32
  %57 = host_value %56 : i32
  launch_blocks %57, %n {cluster = 2}
  launch_warps %57 {programs = 4}
  launch_requires %57, %n {text = "n blocks"}
  %58 = block_id {axis = 0} : i32
  %59 = num_blocks {axis = 1} : i32
  %60 = tensor_map %p, %2, %2, %2, %35, %2 {swizzle = 32} : map<f32>[8,8]
  %61 = tma_load %60, %57, %58 : f32[8,8] #0
  tma_store %60, %61, %57, %59
  %62 = mbarriers {address = 1024, arrivals = 1} : shared<i64>[3,1]
  %63 = stage_phase %n {offset = 2, stages = 3} : i32
  %channel = channel %52 : channel[3]
  warp_specialize {one_thread = [0,1], warps = [1,4]} {
    %consumer_group = consumer_group_id : i32
    mbarrier_wait %62, %53, %63
    %from = get %channel, %n : i32
    get_done %channel, %n {offset = -1}
    %64 = wgmma_ss %52, %53, %52, %53, %41, %33 {perms = [0,1,1,0]} : f32[8,8] #0
    %65 = wgmma_wait %64 {pending = 0} : f32[8,8] #0
    %66 = extract %65 {origin = [0,4]} : f32[8,4]
    proxy_fence
    %67 = undef : f32[8,8] #0
    %68 = wgmma_rs %54, %52, %53, %41, %33 {origin = [0,0], perm = [1,0]} : f32[8,8] #0
    tma_store_async %60, %52, %53, %57, %58
    tma_store_wait {pending = 1}
    %69 = cluster_reduce %65 {blocks = 2, op = "add"} : f32[8,8] #0
    %70 = cluster_load_reduce %52, %53 {blocks = 2, op = "add"} : f32[8,8] #0
    cluster_barrier
    cluster_arrive
    cluster_wait
    cluster_send %65, %52, %53, %62, %53 {blocks = 2}
    %all = cluster_receive %52, %53 {blocks = 2, op = "max"} : f32[8,8] #0
    yield
  } {
    mbarrier_arrive %62, %53 {bytes = 256}
    %into = put %channel, %n {offset = 1} : i32
    put_done %channel, %n {offset = 1}
    tma_load_async %60, %52, %53, %62, %53, %57, %58
    tma_prefetch %60
    yield
  }
  %71 = in_bounds %2, %35 : i1[8,8] #0
  %72 = no_hoist %n : i32
  %73 = workspace %2 : ptr<f32>
  %74 = atomic %p, %x, %33 {op = "exchange"} : f32
  %75 = atomic_cas %p, %x, %74 : f32
  store_partial %73, %39
  signal %73
  wait_signal %73
  %both = add_partial %73, %39 : f32[8,8] #0
  %76 = rsqrt %32 : f32
  %77 = exp2 %76 : f32
  %78 = log2 %77 : f32
  %79 = sin %78 : f32
  %80 = cos %79 : f32
  %81 = tanh %80 : f32
  %82 = erf %81 : f32
  %83 = floor %82 : f32
  %84 = ceil %83 : f32
  %85 = round %84 : f32
  %86 = trunc %85 : f32
  %87 = pow %86, %x : f32
  %88 = fma %87, %x, %x : f32
  %89 = scan %39 {axis = 0, op = "mul"} : f32[8,8] #0
  %90 = cast %71 : i32[8,8] #0
  %91 = gather %89, %90 {axis = 1} : f32[8,8] #0
  %92 = shared_gather %52, %53, %90 {axis = 1} : f32[8,8] #0
  %93 = constant_load %90 : f32[8,8] #0
  %94 = splat %x : f32[8]
  %95 = constant {value = 3} : i32
  %96 = funnel_shift %94, %94, %95 {vector = 4} : f32[8]
  %97 = shared_alloc {address = 0} : shared<f32>[1,64]
  %98 = shared_load_rows %97, %n, %n, %n : f32[8,8] #0
  shared_store_rows %98, %97, %n, %n, %n {origin = [0,8], whole = 1}
  sched_barrier
  dependency_wait
  launch_dependents
  return
}
)";

std::string error_of(std::string_view text) {
  ParseResult result = parse(text);
  return result.function ? "no error" : result.error;
}

} // namespace

TEST_CASE("parse, print: every operation survives a round trip") {
  ParseResult result = parse(every_operation);
  REQUIRE_MESSAGE(result.function, result.error);
  CHECK(print(*result.function) == every_operation);

  std::set<Opcode> seen;
  for_each_op(*result.function->body, [&](Op &op) { seen.insert(op.code); });
  const Opcode all[] = {
#define OP(name, ...) Opcode::name##_,
#include "ir/ops.def"
  };
  for (Opcode code : all) {
    CAPTURE(std::string(info(code).name));
    CHECK(seen.count(code));
  }
}

TEST_CASE("parse, print: every attribute type survives a round trip") {
  const double numbers[] = {0.0, -0.0, 1, 0.1, 1e300, 5e-324, 1.0f / 3, INFINITY, -INFINITY};
  const int64_t integers[] = {0, -1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  Function fn;
  fn.name = "f";
  Builder b(fn, fn.body);
  for (double number : numbers)
    b.constant_number(Type::scalar(Elem::f64), number);
  for (int64_t integer : integers)
    b.i64(integer);
  b.i64(0)->op->set(attr::origin_, std::vector<int64_t>{1, -2, 3});
  b.i64(0)->op->set(attr::origin_, std::vector<int64_t>{});
  b.i64(0)->op->set(attr::op_, std::string("a b/c"));
  b.i64(0)->op->set(attr::text_, std::string("  \"quoted\", \\x41, {}\n\t\x7f\0 \xc3\xa4", 27));
  b.return_op();

  ParseResult read = parse(print(fn));
  REQUIRE_MESSAGE(read.function, read.error);
  REQUIRE(read.function->body->ops.size() == fn.body->ops.size());
  for (size_t i = 0; i < fn.body->ops.size(); i++)
    CHECK(read.function->body->ops[i]->attributes == fn.body->ops[i]->attributes);
  CHECK(std::signbit(read.function->body->ops[1]->get(attr::number_)));
}

TEST_CASE("parse, print: NaN stays NaN") {
  Function fn;
  fn.name = "f";
  Builder b(fn, fn.body);
  b.constant_number(Type::scalar(Elem::f32), NAN);
  b.return_op();
  ParseResult read = parse(print(fn));
  REQUIRE_MESSAGE(read.function, read.error);
  CHECK(std::isnan(read.function->body->ops[0]->get(attr::number_)));
}

TEST_CASE("print: names are kept and made unique") {
  Function fn;
  fn.name = "f";
  Builder b(fn, fn.body);
  for (const char *name : {"a", "a", "", "a.1", "b"})
    b.i32(0)->name = name;
  b.return_op();
  std::string once = print(fn);
  CHECK(once == text(R"(
    func @f() {
      %a = constant {value = 0} : i32
      %a.1 = constant {value = 0} : i32
      %0 = constant {value = 0} : i32
      %a.1.1 = constant {value = 0} : i32
      %b = constant {value = 0} : i32
      return
    })"));
  CHECK(text(once) == once);
}

TEST_CASE("print: equal layouts are printed once") {
  Function fn = parsed(R"(
    layout #0 [2] reg (1) lane (0) (0) (0) (0) (0) warp
    layout #1 [2] reg (1) lane (0) (0) (0) (0) (0) warp
    func @f() {
      %a = range {start = 0} : i32[2] #0
      %b = range {start = 0} : i32[2] #1
      %c = add %a, %b : i32[2] #1
      return
    })");
  CHECK(print(fn) == text(R"(
    layout #0 [2] reg (1) lane (0) (0) (0) (0) (0) warp
    func @f() {
      %a = range {start = 0} : i32[2] #0
      %b = range {start = 0} : i32[2] #0
      %c = add %a, %b : i32[2] #0
      return
    })"));
}

TEST_CASE("parse: ignores comments and white space") {
  CHECK(text("func @f(){return}") == "func @f() {\n  return\n}\n");
  CHECK(text("// first\nfunc @f() { // second\n  return // third\n} // fourth") ==
        "func @f() {\n  return\n}\n");
}

TEST_CASE("parse: operation without operands may precede a result") {
  CHECK(text("func @f() {\n barrier\n %a = constant {value = 0} : i32\n return\n}") ==
        "func @f() {\n  barrier\n  %a = constant {value = 0} : i32\n  return\n}\n");
}

TEST_CASE("parse: attributes precede blocks") {
  const std::string parts = " {\n    barrier\n    yield\n  } {\n    yield\n  }\n  return\n}\n";
  for (const char *head :
       {"warp_specialize {warps = [4,4]}", "warp_specialize {registers = [232,40], warps = [4,4]}",
        "warp_specialize {groups = [2,1], one_thread = [0,1], warps = [4,4]}"}) {
    std::string program = "func @f() warps 4 {\n  " + std::string(head) + parts;
    CHECK(text(program) == program);
  }
  // Any number of partitions.
  const std::string third =
      "func @f() warps 4 {\n  warp_specialize {warps = [4,4,1]} {\n    yield\n  } "
      "{\n    yield\n  } {\n    yield\n  }\n  return\n}\n";
  CHECK(text(third) == third);
  // A block that begins with the name of a value.
  std::string named =
      "func @f() warps 4 {\n  warp_specialize {one_thread = [0,1], warps = [1,4]} {\n    %a = "
      "constant {value = 0} : i32\n"
      "    yield\n  } {\n    yield\n  }\n  return\n}\n";
  CHECK(text(named) == named);
}

TEST_CASE("parse, print: every type survives a round trip") {
  for (const char *type : {"i1", "i8[4]", "f16[2,2]", "bf16", "f64", "e4m3[4]", "e5m2", "ptr<i64>",
                           "ptr<f16>[8,1]", "view<f32>[4]", "shared<i8>[3,4]", "channel[3]"}) {
    std::string program = "func @f(%a: " + std::string(type) + ") {\n  return\n}\n";
    CHECK(text(program) == program);
  }
}

TEST_CASE("print: a single operation takes one line") {
  Function fn = parsed(R"(
    func @f(%n: i32) {
      %s = for_loop %n, %n : i32 {
        (%t: i32, %k: i32)
        yield %k
      }
      return
    })");
  CHECK(print(*fn.body->ops[0]) == "%s = for_loop %n, %n : i32 {...}");
  CHECK(print(*fn.body->ops[1]) == "return");
}

TEST_CASE("parse: errors have their line") {
  struct {
    std::string program, error;
  } cases[] = {
      {"", "line 1: expected `func`"},
      {"func f() {\n}", "line 1: expected `@`"},
      {"func @f(%a) {\n}", "line 1: expected `:`"},
      {"func @f(%a: i33) {\n}", "line 1: unknown type `i33`"},
      {"func @f(%a: ptr<f32) {\n}", "line 1: expected `>`"},
      {"func @f(%a: i32[4) {\n}", "line 1: expected `]`"},
      {"func @f(%a: i32[x]) {\n}", "line 1: expected an integer"},
      {"func @f(%a: i32, %a: i32) {\n}", "line 1: %a is defined twice"},
      {"func @f(%a: i32[2] #0) {\n}", "line 1: unknown layout #0"},
      {"func @f() {\n  foo\n}", "line 2: unknown operation `foo`"},
      {"func @f() {\n  return\n", "line 3: expected `}`"},
      {"func @f() {\n  return\n}\nfunc", "line 4: expected the end"},
      {"func @f() {\n  %a = constant {value = 1}\n}", "line 3: expected `:`"},
      {"func @f() {\n  %a = constant {value 1} : i32\n}", "line 2: expected `=`"},
      {"func @f() {\n  %a = constant {value = x} : i32\n}", "line 2: expected an integer"},
      {"func @f() {\n  %a = constant {value = .} : f32\n}", "line 2: expected a number"},
      {"func @f() {\n  %a = constant {value = \"x} : i32\n}", "line 2: unterminated string"},
      {"func @f() {\n  print {text = \"\\q\"}\n}", "line 2: unknown escape in a string"},
      {"func @f() {\n  print {text = \"\\x4\"}\n}", "line 2: unknown escape in a string"},
      {"func @f() {\n  %a = add %b, %b : i32\n}", "line 2: %b is not defined"},
      {"func @f() {\n  %a = range {start = 0} : i32[2]\n  %a = range {start = 0} : i32[2]\n}",
       "line 3: %a is defined twice"},
      {"func @f(%n: i32) {\n  for_loop %n\n  return\n}", "line 3: expected `{`"},
      {"func @f() {\n  warp_specialize {registers = [1]}\n  return\n}", "line 3: expected `{`"},
      {"func @f(%n: i32) {\n  %s = for_loop %n, %n : i32 {\n    (%t: i32, %a: i32)\n"
       "    yield %s\n  }\n}",
       "line 4: %s is not defined"},
      {"layout #1 [2] reg (1) lane warp\nfunc @f() {\n}",
       "line 1: layouts must be numbered in order"},
      {"layout #0 [2,2] reg (1) lane warp\nfunc @f() {\n}",
       "line 1: a basis needs one coordinate per axis"},
      {"layout #0 [2] reg (1) warp\nfunc @f() {\n}", "line 1: expected `lane`"},
      {"layout #0 [2] bases (1)\nfunc @f() {\n}", "line 1: expected `offset`"},
      {"layout #0 [3] offset (1)\nfunc @f() {\n}", "line 1: extents of a layout are powers of two"},
      {"layout #0 [2] offset (2)\nfunc @f() {\n}", "line 1: a basis lies outside of the tile"},
      {"func @() {\n}", "line 1: expected a name"},
      {"func @f() {\n  % = constant {value = 1} : i32\n}", "line 2: expected a name"},
      {"func @f() {\n  %a = constant { = 1} : i32\n}", "line 2: expected a name"},
      {"func @f() {\n  %a = constant {value = 99999999999999999999} : i32\n}",
       "line 2: expected an integer"},
  };
  for (const auto &[program, error] : cases) {
    CAPTURE(program);
    CHECK(error_of(program) == error);
  }
}
