// Tests passes/assign_layouts.cpp. The folder assign_layouts/ has more cases.

#include "analysis/layouts.h"
#include "ir/verifier.h"
#include "matmul_kernel.h"
#include "passes/assign_layouts.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// Views of 16 x 16 tiles: contiguous rows, contiguous columns, and one row.
std::string program(const std::string &operations, const std::string &parameters = "") {
  return R"(
    func @f(%A: ptr<f32>, %C: ptr<f32>, %H: ptr<f16>, %I: ptr<i32>, %n: i32, %c: i1,
            %ld: i64 multiple_of 8)" +
         parameters + R"() warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %rows = view %A, %zero, %ld, %one : view<f32>[16,16]
      %columns = view %A, %zero, %one, %ld : view<f32>[16,16]
      %row = view %A, %zero, %one : view<f32>[16]
      %out = view %C, %zero, %ld, %one : view<f32>[16,16]
      %outc = view %C, %zero, %one, %ld : view<f32>[16,16]
      %outrow = view %C, %zero, %one : view<f32>[16]
      )" +
         operations + "\n return\n}";
}

void assign(Function &fn) {
  assign_layouts(fn);
  remove_dead_code(fn);
}

// Every tile of numbers or pointers has a layout. Tile loads and stores have a vector width.
void check_all_assigned(Function &fn) {
  auto check_type = [](const Value *value) {
    const Type &type = value->type;
    if (type.is_tile() && (type.is_number() || type.is_pointer()))
      CHECK(type.layout);
  };
  for_each_op(*fn.body, [&](Op &op) {
    for (const Value *result : op.results)
      check_type(result);
    for (const Block *block : op.blocks)
      for (const Value *argument : block->arguments)
        check_type(argument);
    bool access = op.is(Opcode::load_) || op.is(Opcode::store_);
    if (access && op.operand(0)->type.is_tile())
      CHECK(op.has(attr::vector_));
  });
}

// A function after the pass.
struct Assigned {
  Function fn;
  explicit Assigned(const std::string &operations, const std::string &parameters = "",
                    const std::string &layouts = "")
      : fn(parsed(layouts + program(operations, parameters))) {
    assign(fn);
    check_rules(fn);
    check_all_assigned(fn);
  }
  std::string text() { return printed(fn); }
  std::string layout(const char *name) { return value_named(fn, name)->type.layout->text(); }
  int conversions() {
    int count = 0;
    for_each_op(*fn.body, [&](Op &op) { count += op.is(Opcode::convert_layout_); });
    return count;
  }
};

// 16 x 16 f32 for 32 threads: 4 contiguous elements per lane, 4 lanes per column, 8 columns at once.
const std::string by_columns = "reg (1,0) (2,0) (0,8) lane (4,0) (8,0) (0,1) (0,2) (0,4) warp";

} // namespace

TEST_CASE("assign_layouts: loop without a preferred layout uses the default") {
  Assigned a(R"(
    %start = load %columns : f32[16,16]
    %r = for_loop %n, %start : f32[16,16] {
      (%t: i32, %s: f32[16,16])
      %two = constant {number = 2.0} : f32
      %twos = splat %two : f32[16,16]
      %next = mul %s, %twos : f32[16,16]
      yield %next
    }
    store %outc, %r)");
  CHECK(a.layout("s") == a.layout("next"));
  std::string text = a.text(), loop = text.substr(text.find("for_loop"));
  CHECK(loop.substr(0, loop.find("}")).find("convert_layout") == std::string::npos);
}

TEST_CASE("assign_layouts: scan across warps converts its operand") {
  Function fn = parsed(program("%a = load %rows : f32[16,16]\n"
                               "%s = scan %a {axis = 0, op = \"add\"} : f32[16,16]\n"
                               "%i = range {start = 0} : i32[64]\n"
                               "%t = scan %i {axis = 0, op = \"add\"} : i32[64]\n"
                               "%w = view %I, %zero, %one : view<i32>[64]\n"
                               "store %out, %s\n store %w, %t"));
  fn.warps = 4;
  assign(fn);
  check_rules(fn);
  check_all_assigned(fn);
  Op *scan = value_named(fn, "s")->op;
  CHECK(scan->operand(0)->op->is(Opcode::convert_layout_));
  CHECK(*scan->operand(0)->type.layout == *scan->result()->type.layout);
  for (FlatIndex basis : scan->result()->type.layout->warp)
    CHECK(unflatten({16, 16}, basis)[0] == 0);
  CHECK(value_named(fn, "t")->type.layout->text() ==
        "reg (1) lane (2) (4) (8) (16) (32) warp (0) (0)");
}

TEST_CASE("assign_layouts: scalar reduce only assigns its operand") {
  Assigned a("%a = load %row : f32[16]\n %s = reduce %a {axis = 0, op = \"max\"} : f32\n"
             "store %C, %s");
  CHECK(value_named(a.fn, "a")->type.layout);
  Assigned cheap("%i = range {start = 0} : i32[16]\n"
                 "%s = reduce %i {axis = 0, op = \"add\"} : i32\n store %I, %s");
  CHECK(cheap.conversions() == 0);
}

TEST_CASE("assign_layouts: print and assert keep the layout or use the default") {
  Assigned a("%a = load %columns : f32[16,16]\n %b = cmp %a, %a {pred = \"eq\"} : i1[16,16]\n"
             "print %a, %n {text = \"{} {}\"}\n assert %b {text = \"\"}");
  CHECK(a.layout("a") == by_columns);
  CHECK(a.layout("b") == by_columns);
  CHECK(a.conversions() == 0);
  Assigned cheap("%i = range {start = 0} : i32[16]\n %ns = splat %n : i32[16]\n"
                 "%m = cmp %i, %ns {pred = \"lt\"} : i1[16]\n print %i {text = \"{}\"}\n"
                 "assert %m {text = \"\"}");
  for_each_op(*cheap.fn.body, [](Op &op) {
    if (info(op.code).effect == Effect::io)
      CHECK(op.operand(0)->type.layout->text() == "reg lane (1) (2) (4) (8) (0) warp");
  });
  CHECK(cheap.conversions() == 0);
}

TEST_CASE("assign_layouts: print does not change other layouts") {
  const std::string plain = "%a = load %rows : f32[16,16]\n %d = add %a, %a : f32[16,16]\n",
                    store = "store %out, %d";
  Assigned without(plain + store), with(plain + "print %d, %a {text = \"{} {}\"}\n" + store);
  CHECK(without.layout("d") == with.layout("d"));
  CHECK(with.conversions() == 0);
}

TEST_CASE("assign_layouts: reshape keeps row-major element order") {
  Assigned a("%a = load %rows : f32[16,16]\n %t = reshape %a : f32[8,32]\n"
             "%w = view %C, %zero, %ld, %one : view<f32>[8,32]\n store %w, %t");
  check_all_assigned(a.fn);
}

TEST_CASE("assign_layouts: dot operands are fragments") {
  const std::string product = R"(
    %z = constant {value = 0} : i32
    %none = constant {number = 0.0} : f32
    %sum = splat %none : f32[16,16]
    %fa = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %fb = shared_load %sb, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %d = dot %fa, %fb, %sum {instruction = "m16n8k16", warps = [1,1]} : f32[16,16]
    )";
  const std::string buffers = ", %sa: shared<f16>[1,16,16], %sb: shared<f16>[1,16,16]";
  // The accumulator layout stores two f32 in each of four lanes: a full 32-byte sector.
  Assigned f32(product + "store %out, %d", buffers);
  CHECK(f32.conversions() == 0);
  CHECK(f32.text().find("store %out, %d {vector = 2}") != std::string::npos);
  const Op &dot = *value_named(f32.fn, "d")->op;
  CHECK(*dot.operand(0)->type.layout == operand_layout(dot, 0));
  CHECK(*dot.operand(1)->type.layout == operand_layout(dot, 1));
  CHECK(*dot.operand(2)->type.layout == accumulator_layout(dot));
  CHECK(*dot.result()->type.layout == accumulator_layout(dot));
  // As f16 the same four lanes store 16 bytes: half a sector.
  Assigned f16(product + "%h = cast %d : f16[16,16]\n"
                         "%hv = view %H, %zero, %ld, %one : view<f16>[16,16]\n store %hv, %h",
               buffers);
  CHECK(f16.conversions() == 1);
  CHECK(f16.text().find("{vector = 8}") != std::string::npos);
}

TEST_CASE("assign_layouts: fragment with two uses gets both layouts") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %none = constant {number = 0.0} : f32
    %sum = splat %none : f32[16,16]
    %f = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %d = dot %f, %f, %sum {instruction = "m16n8k16", warps = [1,1]} : f32[16,16]
    store %out, %d)",
             ", %sa: shared<f16>[1,16,16]");
  const Op &dot = *value_named(a.fn, "d")->op;
  CHECK(*dot.operand(0)->type.layout == operand_layout(dot, 0));
  CHECK(*dot.operand(1)->type.layout == operand_layout(dot, 1));
  CHECK(a.conversions() == 1);
}

TEST_CASE("assign_layouts: B of one dot is converted to A of the next dot") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %none = constant {number = 0.0} : f32
    %sum = splat %none : f32[16,16]
    %fa = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %f = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %fb = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %d = dot %fa, %f, %sum {instruction = "m16n8k16", warps = [1,1]} : f32[16,16]
    %e = dot %f, %fb, %d {instruction = "m16n8k16", warps = [1,1]} : f32[16,16]
    store %out, %e)",
             ", %sa: shared<f16>[1,16,16]");
  const Op &first = *value_named(a.fn, "d")->op, &second = *value_named(a.fn, "e")->op;
  CHECK(*first.operand(1)->type.layout == operand_layout(first, 1));
  CHECK(second.operand(0)->op->is(Opcode::convert_layout_));
  CHECK(*second.operand(0)->type.layout == operand_layout(second, 0));
  CHECK(a.conversions() == 1);
}

TEST_CASE("assign_layouts: shared_store keeps the tile's layout") {
  Assigned a("%z = constant {value = 0} : i32\n %a = load %columns : f32[16,16]\n"
             "shared_store %a, %sa, %z\n %i = range {start = 0} : i32[16]\n"
             "shared_store %i, %si, %z",
             ", %sa: shared<f32>[1,16,16], %si: shared<i32>[1,16]");
  CHECK(a.conversions() == 0);
}

TEST_CASE("assign_layouts: async_copy and its mask follow memory order") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %m0 = splat %c : i1[16,16]
    async_copy %columns, %sa, %z, %c, %m0 {vector = 4})",
             ", %sa: shared<f32>[1,16,16]");
  CHECK(a.layout("columns") == by_columns);
  CHECK(a.conversions() == 0);
}

TEST_CASE("assign_layouts: async_copy of strided elements is scalar") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %apart = view %A, %zero, %ld, %ld : view<f32>[16,16]
    async_copy %apart, %sa, %z, %c {vector = 1})",
             ", %sa: shared<f32>[1,16,16]");
  CHECK(value_named(a.fn, "apart")->type.layout);
}

TEST_CASE("assign_layouts: transposing async_copy avoids bank conflicts") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %sc = shared_alloc : shared<f32>[1,16,16] #0
    async_copy %columns, %sc, %z, %c {vector = 1})",
             "", "layout #0 [16,16] offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,4) (4,8) (8,0)\n");
  const LinearLayout &layout = *value_named(a.fn, "columns")->type.layout;
  CHECK(layout == transposing_layout({16, 16}, {0, 1}, a.fn.warps));
}

TEST_CASE("assign_layouts: loop-carried fragment has the dot's layout") {
  Assigned a(R"(
    %z = constant {value = 0} : i32
    %none = constant {number = 0.0} : f32
    %sum = splat %none : f32[16,16]
    %first = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %r, %last = for_loop %z, %sum, %first : f32[16,16], f16[16,16] {
      (%t: i32, %acc: f32[16,16], %fa: f16[16,16])
      %fb = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
      %next = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
      %d = dot %fa, %fb, %acc {instruction = "m16n8k16", warps = [1,1]} : f32[16,16]
      yield %d, %next
    }
    store %out, %r)",
             ", %sa: shared<f16>[1,16,16]");
  const Op &dot = *value_named(a.fn, "d")->op;
  CHECK(*value_named(a.fn, "first")->type.layout == operand_layout(dot, 0));
  CHECK(*value_named(a.fn, "next")->type.layout == operand_layout(dot, 0));
  CHECK(a.conversions() == 0);
}

TEST_CASE("assign_layouts: nested loops that rotate values get layouts") {
  Function fn = parsed(R"(
    func @f(%y: ptr<f64>, %c: i1, %x: f64) warps 1 {
      %p = splat %y : ptr<f64>[32]
      %a = splat %x : f64[32]
      %b0, %c0 = while_loop %a, %a : f64[32], f64[32] {
        (%b1: f64[32], %c1: f64[32])
        condition %c
      } {
        (%b2: f64[32], %c2: f64[32])
        %b3, %c3 = while_loop %b2, %c2 : f64[32], f64[32] {
          (%b4: f64[32], %c4: f64[32])
          condition %c
        } {
          (%b5: f64[32], %c5: f64[32])
          %d = neg %a : f64[32]
          yield %c5, %d
        }
        yield %b3, %c3
      }
      store %p, %b0
      return
    })");
  assign_layouts(fn);
  CHECK(verify(fn) == "");
  for_each_op(*fn.body, [](Op &op) {
    if (op.is(Opcode::while_loop_))
      for (const Value *result : op.results)
        CHECK(result->type.layout);
  });
}

TEST_CASE("assign_layouts: clones a long index chain once") {
  std::string chain = "%i0 = range {start = 0} : i32[16]\n";
  for (int i = 0; i < 40; i++)
    chain += "%i" + std::to_string(i + 1) + " = add %i" + std::to_string(i) + ", %i" +
             std::to_string(i) + " : i32[16]\n";
  Assigned a(chain + "%vi = view %I, %zero, %one : view<i32>[16]\n store %vi, %i40");
  CHECK(a.fn.body->ops.size() < 100);
}

namespace {

// A 128 x 64 matmul by two warpgroups, next to producer warps.
std::string specialized(const std::string &behind) {
  return R"(
    func @f(%C: ptr<f32>, %H: ptr<f16>, %n: i32, %ld: i64 multiple_of 8) warps 8 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %as = shared_alloc : shared<f16>[4,128,16]
      %bs = shared_alloc : shared<f16>[4,16,64]
      %staging = shared_alloc : shared<f16>[1,128,32]
      warp_specialize {one_thread = [0,1], warps = [8,4]} {
        %stage = constant {value = 0} : i32
        %half = constant {number = 0.5} : f32
        %start = splat %half : f32[128,64]
        %sum = for_loop %n, %start : f32[128,64] {
          (%t: i32, %acc: f32[128,64])
          %p = wgmma_ss %as, %stage, %bs, %stage, %acc {perms = [0,1,0,1], warpgroups = [2,1]} : f32[128,64]
          %d = wgmma_wait %p {pending = 1, warpgroups = [2,1]} : f32[128,64]
          yield %d
        }
        %e = wgmma_wait %sum {pending = 0, warpgroups = [2,1]} : f32[128,64]
        )" +
         behind + R"(
        yield
      } {
        yield
      }
      return
    })";
}

Function assigned(const std::string &text) {
  Function fn = parsed(text);
  assign(fn);
  check_rules(fn);
  check_all_assigned(fn);
  return fn;
}

} // namespace

TEST_CASE("assign_layouts: wgmma accumulators keep one layout in the loop") {
  Function fn = assigned(specialized("%h = cast %e : f16[128,64]\n"
                                     "%v = view %H, %zero, %ld, %one : view<f16>[128,64]\n"
                                     "store %v, %h"));
  LinearLayout layout = matmul_layout({128, 64}, {{2, 1}});
  for (const char *name : {"acc", "p", "d", "sum", "e", "h"}) {
    CAPTURE(name);
    CHECK(*value_named(fn, name)->type.layout == layout);
  }
  // The pass computes the initial value in that layout, and converts nothing in the loop.
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::splat_))
      CHECK(*op.result()->type.layout == layout);
    if (op.is(Opcode::convert_layout_))
      CHECK(op.operand(0)->name == "h");
  });
}

TEST_CASE("assign_layouts: extract keeps the matmul layout") {
  Function fn = assigned(specialized(R"(
        %h = cast %e : f16[128,64]
        %part = extract %h {origin = [0,32], warpgroups = [2,1]} : f16[128,32]
        shared_store %part, %staging, %stage)"));
  CHECK(*value_named(fn, "part")->type.layout ==
        part_layout(matmul_layout({128, 64}, {{2, 1}}), {128, 32}));
  for_each_op(*fn.body, [](Op &op) { CHECK_FALSE(op.is(Opcode::convert_layout_)); });
}

TEST_CASE("assign_layouts: extract from another layout converts first") {
  Function fn = assigned(specialized(R"(
        %v = view %H, %zero, %ld, %one : view<f16>[128,64]
        %h = load %v : f16[128,64]
        %part = extract %h {origin = [0,32], warpgroups = [2,1]} : f16[128,32]
        shared_store %part, %staging, %stage)"));
  const Value *from = value_named(fn, "part")->op->operand(0);
  CHECK(from->op->is(Opcode::convert_layout_));
  CHECK(*from->type.layout == matmul_layout({128, 64}, {{2, 1}}));
  CHECK_FALSE(*value_named(fn, "h")->type.layout == matmul_layout({128, 64}, {{2, 1}}));
}

namespace {

// A 128 x 64 matmul by two warpgroups with operand A from registers.
std::string from_registers(const std::string &behind) {
  std::string text =
      with(specialized(behind), "%p = wgmma_ss %as, %stage, %bs, %stage, %acc {perms = [0,1,0,1],",
           "%f = shared_load %as, %stage {origin = [0,0], perm = [0,1]} : f16[128,16]\n"
           "%p = wgmma_rs %f, %bs, %stage, %acc {perm = [0,1], origin = [0,0],");
  return with(text, "warpgroups = [2,1]", "rows = [2,16,4,1,8,32], warpgroups = [2,1]");
}

const MatmulDivision divided = {{2, 1}, {2, 16, 4, 1, 8, 32}};

} // namespace

TEST_CASE("assign_layouts: wgmma_rs operand and accumulator layouts match") {
  Function fn =
      assigned(from_registers("%v = view %C, %zero, %ld, %one : view<f32>[128,64]\nstore %v, %e"));
  CHECK(*value_named(fn, "f")->type.layout == fragment_layout({128, 16}, 2, divided));
  for (const char *name : {"acc", "p", "d", "sum", "e"}) {
    CAPTURE(name);
    CHECK(*value_named(fn, name)->type.layout == matmul_layout({128, 64}, divided));
  }
  for_each_op(*fn.body, [](Op &op) { CHECK_FALSE(op.is(Opcode::convert_layout_)); });
}

TEST_CASE("assign_layouts: trans of an accumulator stays in registers") {
  Function fn = assigned(from_registers(R"(
        %et = trans %e {perm = [1,0]} : f32[64,128]
        %h = cast %et : f16[64,128]
        %wide = shared_alloc : shared<f16>[1,32,128]
        %part = extract %h {origin = [32,0], perm = [1,0], warpgroups = [2,1]} : f16[32,128]
        shared_store %part, %wide, %stage)"));
  LinearLayout layout = matmul_layout({128, 64}, divided).permute({1, 0});
  for (const char *name : {"et", "h"})
    CHECK(*value_named(fn, name)->type.layout == layout);
  CHECK(*value_named(fn, "part")->type.layout == part_layout(layout, {32, 128}));
  for_each_op(*fn.body, [](Op &op) { CHECK_FALSE(op.is(Opcode::convert_layout_)); });
}

// --- After a cluster_reduce ----------------------------------------------------------------------

namespace {

// %x is one block's partial of a sum (four warps). Its cluster stores 64 x 64 elements of C.
struct InCluster {
  Function fn;

  explicit InCluster(const std::string &operations, const std::string &parameters = "")
      : fn(parsed(R"(
          func @f(%A: ptr<f32>, %C: ptr<f16>, %D: ptr<f16>, %bias: ptr<f32>, %I: ptr<i32>,
                  %n: i32, %ld: i64 multiple_of 8)" +
                  parameters + R"() warps 4 {
            %zero = constant {value = 0} : i64
            %one = constant {value = 1} : i64
            %part = view %A, %zero, %ld, %one : view<f32>[64,64]
            %own = load %part : f32[64,64]
            %x = neg %own : f32[64,64]
            %sum = cluster_reduce %x {blocks = 4, op = "add"} : f32[64,64]
            %out = view %C, %zero, %ld, %one : view<f16>[64,64]
            )" + operations +
                  "\n return\n}")) {
    assign(fn);
    check_rules(fn);
    check_all_assigned(fn);
    // From the cluster_reduce on, every layout covers the whole cluster.
    const Op *sum = value_named(fn, "sum")->op;
    Block &block = *sum->parent;
    for (size_t i = block.position_of(sum); i < block.ops.size(); i++) {
      const Op &op = *block.ops[i];
      CHECK_FALSE(op.is(Opcode::convert_layout_));
      for (const Value *result : op.results)
        if (result->type.layout)
          CHECK(result->type.layout->warp.size() == 4);
    }
  }

  std::string layout(const char *name) { return value_named(fn, name)->type.layout->text(); }
  int count(Opcode code) {
    int count = 0;
    for_each_op(*fn.body, [&](Op &op) { count += op.is(code); });
    return count;
  }
  const Op &store() {
    Op *found = nullptr;
    for_each_op(*fn.body, [&](Op &op) { found = op.is(Opcode::store_) ? &op : found; });
    REQUIRE(found);
    return *found;
  }
};

// 64 x 64 f16 for 512 threads: 8 contiguous elements, 8 lanes per row, 4 rows per warp.
const std::string of_cluster = "reg (0,1) (0,2) (0,4) lane (0,8) (0,16) (0,32) (1,0) (2,0) "
                               "warp (4,0) (8,0) (16,0) (32,0)";

} // namespace

TEST_CASE("assign_layouts: cluster_reduce result is spread over the cluster") {
  InCluster a("%half = cast %sum : f16[64,64]\n store %out, %half");
  CHECK(a.layout("sum") == of_cluster);
  CHECK(a.layout("x") == a.layout("own"));
  CHECK(value_named(a.fn, "x")->type.layout->warp.size() == 2);
  CHECK(a.store().get(attr::vector_) == 8);
  // Contiguous columns.
  InCluster columns("%outc = view %C, %zero, %one, %ld : view<f16>[64,64]\n"
                    "%half = cast %sum : f16[64,64]\n store %outc, %half");
  CHECK(columns.layout("sum") == "reg (1,0) (2,0) (4,0) lane (8,0) (16,0) (32,0) (0,1) (0,2) "
                                 "warp (0,4) (0,8) (0,16) (0,32)");
  CHECK(columns.store().get(attr::vector_) == 8);
}

TEST_CASE("assign_layouts: small cluster_reduce result is replicated") {
  Function fn = parsed(R"(
    func @f(%x: f32[16,8], %C: ptr<f32>) warps 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %ld = constant {value = 8} : i64
      %out = view %C, %zero, %ld, %one : view<f32>[16,8]
      %sum = cluster_reduce %x {blocks = 4, op = "add"} : f32[16,8]
      store %out, %sum
      return
    })");
  assign(fn);
  CHECK(value_named(fn, "sum")->type.layout->text() ==
        "reg lane (0,1) (0,2) (0,4) (1,0) (2,0) warp (4,0) (8,0) (0,0) (0,0)");
}

TEST_CASE("assign_layouts: loads after cluster_reduce take the user's layout") {
  const std::string row = R"(
      %vb = view %bias, %zero, %one : view<f32>[64]
      %each = load %vb : f32[64]
      %across = expand %each {axis = 0} : f32[1,64]
      %all = broadcast %across : f32[64,64]
      %y = add %sum, %all : f32[64,64]
      %half = cast %y : f16[64,64]
      store %out, %half)";
  InCluster a(row);
  CHECK(a.layout("y") == of_cluster);
  CHECK(a.count(Opcode::load_) == 2);
  for (const Op *op : a.fn.body->ops)
    if (op->is(Opcode::load_) && op->result()->type.rank() == 1) {
      CHECK(op->result()->type.layout->text() ==
            "reg (1) (2) (4) lane (8) (16) (32) (0) (0) warp (0) (0) (0) (0)");
      CHECK(op->get(attr::vector_) == 4);
    }
  // By rows and by columns: each use has its own load.
  InCluster b(R"(
      %vb = view %bias, %zero, %one : view<f32>[64]
      %each = load %vb : f32[64]
      %across = expand %each {axis = 0} : f32[1,64]
      %down = expand %each {axis = 1} : f32[64,1]
      %all.across = broadcast %across : f32[64,64]
      %all.down = broadcast %down : f32[64,64]
      %y = add %sum, %all.across : f32[64,64]
      %z = add %y, %all.down : f32[64,64]
      %half = cast %z : f16[64,64]
      store %out, %half)");
  CHECK(b.count(Opcode::load_) == 3);
  // A load of a whole tile.
  InCluster c("%vo = view %D, %zero, %ld, %one : view<f16>[64,64]\n %old = load %vo : f16[64,64]\n"
              "%half = cast %sum : f16[64,64]\n %new = add %half, %old : f16[64,64]\n"
              "store %out, %new");
  CHECK(c.count(Opcode::load_) == 2);
  CHECK(c.layout("new") == of_cluster);
}

namespace {

// The mask of columns below %n.
const std::string mask = R"(
      %i = range {start = 0} : i32[64]
      %across = expand %i {axis = 0} : i32[1,64]
      %columns = broadcast %across : i32[64,64]
      %ns = splat %n : i32[64,64]
      %m = cmp %columns, %ns {pred = "lt"} : i1[64,64]
      )";

} // namespace

TEST_CASE("assign_layouts: cluster store computes its mask and pointers") {
  InCluster masked(mask + "%half = cast %sum : f16[64,64]\n store %out, %half, %m");
  CHECK(masked.store().operand(2)->type.layout->text() == masked.layout("half"));
  // Gathered row indices.
  InCluster scattered(mask + R"(
      %vi = view %I, %zero, %one : view<i32>[64]
      %rows = load %vi : i32[64]
      %down = expand %rows {axis = 1} : i32[64,1]
      %all.down = broadcast %down : i32[64,64]
      %places = add %all.down, %columns : i32[64,64]
      %cs = splat %C : ptr<f16>[64,64]
      %pc = addptr %cs, %places : ptr<f16>[64,64]
      %half = cast %sum : f16[64,64]
      store %pc, %half)");
  CHECK(scattered.store().operand(0)->type.layout->text() == scattered.layout("half"));
}

TEST_CASE("assign_layouts: mask from the sum keeps the sum's layout") {
  const std::string nothing = "%nothing = constant {number = 0.0} : f32\n"
                              "%zeros = splat %nothing : f32[64,64]\n"
                              "%m = cmp %sum, %zeros {pred = \"gt\"} : i1[64,64]\n"
                              "%few = cast %nothing : f16\n %ones = splat %few : f16[64,64]\n";
  InCluster stored(nothing + "store %out, %ones, %m");
  CHECK(stored.store().operand(1)->type.layout->text() == stored.layout("sum"));
  InCluster loaded(nothing + "%vo = view %D, %zero, %ld, %one : view<f16>[64,64]\n"
                             "%old = load %vo, %m, %ones : f16[64,64]\n"
                             "%new = neg %old : f16[64,64]\n store %out, %new");
  CHECK(loaded.layout("old") == loaded.layout("sum"));
  CHECK(loaded.layout("new") == loaded.layout("sum"));
}

TEST_CASE("assign_layouts: nothing before cluster_reduce is cluster-wide") {
  InCluster a("%half = cast %sum : f16[64,64]\n store %out, %half");
  CHECK(a.count(Opcode::load_) == 1);
  CHECK(a.layout("own") == "reg (0,1) (0,2) (8,0) (16,0) (32,0) lane (0,4) (0,8) (0,16) "
                           "(0,32) (1,0) warp (2,0) (4,0)");
}

TEST_CASE("assign_layouts: producer warps load 32-bit words") {
  auto layout = [](const std::string &elem, const std::string &strides, const std::string &type) {
    Function fn = parsed("func @f(%p: ptr<" + elem +
                         ">, %ld: i64) warps 8 {\n"
                         "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
                         "%none = constant {value = 0} : i32\n"
                         "%s = shared_alloc : shared<" +
                         elem +
                         ">[1,64,64]\n"
                         "warp_specialize {warps = [8,4]} {\n yield\n} {\n"
                         "%v = view %p, %zero, " +
                         strides + " : view<" + elem +
                         ">[64,64]\n"
                         "%a = load %v : " +
                         type +
                         "\n"
                         "shared_store %a, %s, %none\n yield\n}\n return\n}");
    assign(fn);
    const Value *a = value_named(fn, "a");
    REQUIRE(a->type.layout);
    CHECK(a->op->get(attr::vector_) == 1);
    return *a->type.layout;
  };
  LinearLayout rows = layout("f16", "%ld, %one", "f16[64,64]");
  CHECK(rows == blocked_layout({64, 64}, {1, 0}, 2, 4)); // two f16 per word, four warps
  CHECK(layout("f16", "%one, %ld", "f16[64,64]") == blocked_layout({64, 64}, {0, 1}, 2, 4));
  CHECK(layout("i8", "%ld, %one", "i8[64,64]") == blocked_layout({64, 64}, {1, 0}, 4, 4));
  CHECK(layout("f32", "%ld, %one", "f32[64,64]") == blocked_layout({64, 64}, {1, 0}, 1, 4));
}
