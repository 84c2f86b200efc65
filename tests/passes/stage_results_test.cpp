// Tests passes/stage_results.cpp.

#include "passes/stage_results.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string text_of(const ir::Shape &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "[" : ",") + std::to_string(extent);
  return text + "]";
}

// A product of two warpgroups, which stores %x, a tile of its shape, by a map of such boxes.
std::string kernel(const std::string &elem, const ir::Shape &tile, const ir::Shape &box) {
  std::string text = R"(
    func @f(%C: ptr<ELEM>, %ld: i64, %x: ELEMTILE, %s: f32TILE, %i: i32, %j: i32)
        warps 8 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<ELEM>BOX
      %as = shared_alloc : shared<f16>[1,ROWS,16]
      %bs = shared_alloc : shared<f16>[1,16,COLUMNS]
      specialize {
        %p = shared_product %as, %i, %bs, %i, %s {perms = [0,1,0,1], warpgroups = [2,1]} : f32TILE
        map_store %m, %x, %i, %j
        yield
      } {
        yield
      }
      return
    })";
  text = with(text, "ELEM", elem);
  text = with(text, "TILE", text_of(tile));
  text = with(text, "ROWS", std::to_string(tile[0]));
  text = with(text, "COLUMNS", std::to_string(tile[1]));
  return with(text, "BOX", text_of(box));
}

// The same, stored by threads through %v.
std::string stored(const std::string &elem, const ir::Shape &tile, const std::string &store,
                   const std::string &strides = "%ld, %one") {
  return with(kernel(elem, tile, tile), "map_store %m, %x, %i, %j",
              "%v = view %C, %zero, " + strides + " : view<" + elem + ">" + text_of(tile) + "\n" +
                  store);
}

int count_ops(ir::Function &fn, ir::Opcode code) {
  int found = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) { found += op.is(code); });
  return found;
}

} // namespace

TEST_CASE("a result goes through shared memory piece by piece, in two slots by turns") {
  CHECK(after(stage_results, kernel("f16", {128, 128}, {128, 64}), Structure{}) == test::text(R"(
    layout #0 [128,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0) (32,0) (64,0)
    func @f(%C: ptr<f16>, %ld: i64, %x: f16[128,128], %s: f32[128,128],
            %i: i32, %j: i32) warps 8 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[128,64]
      %as = shared_alloc : shared<f16>[1,128,16]
      %bs = shared_alloc : shared<f16>[1,16,128]
      specialize {
        %m.1 = shared_alloc : shared<f16>[2,128,64] #0
        %p = shared_product %as, %i, %bs, %i, %s {perms = [0,1,0,1], warpgroups = [2,1]} : f32[128,128]
        copy_out_wait {pending = 1}
        barrier
        %0 = extract %x {origin = [0,0], warpgroups = [2,1]} : f16[128,64]
        %1 = constant {value = 0} : i32
        shared_store %0, %m.1, %1
        proxy_fence
        barrier
        %2 = constant {value = 0} : i32
        %3 = add %i, %2 : i32
        %4 = constant {value = 0} : i32
        %5 = add %j, %4 : i32
        map_copy_out %m, %m.1, %1, %3, %5
        copy_out_wait {pending = 1}
        barrier
        %6 = extract %x {origin = [0,64], warpgroups = [2,1]} : f16[128,64]
        %7 = constant {value = 1} : i32
        shared_store %6, %m.1, %7
        proxy_fence
        barrier
        %8 = constant {value = 0} : i32
        %9 = add %i, %8 : i32
        %10 = constant {value = 64} : i32
        %11 = add %j, %10 : i32
        map_copy_out %m, %m.1, %7, %9, %11
        copy_out_wait {pending = 0}
        yield
      } {
        yield
      }
      return
    })"));
}

TEST_CASE("nothing happens where no result is stored, or only what is no product's") {
  std::string none = with(kernel("f16", {128, 64}, {128, 64}), "map_store %m, %x, %i, %j", "");
  CHECK(after(stage_results, none, Structure{}) == text(none));
  std::string plain = "func @f(%p: ptr<f16>[128,128], %x: f16[128,128]) {\n"
                      " store %p, %x\n return\n}";
  CHECK(after(stage_results, plain, Structure{}) == text(plain));
}

TEST_CASE("a piece is a panel: as many as there are, and never more than two slots") {
  struct {
    std::string elem;
    ir::Shape tile, box;
    int pieces, slots;
  } cases[] = {{"f16", {128, 64}, {128, 64}, 1, 1},
               {"f16", {128, 256}, {128, 64}, 4, 2},
               {"f32", {128, 64}, {128, 32}, 2, 2},
               {"f16", {128, 16}, {128, 16}, 1, 1}};
  for (const auto &expected : cases) {
    CAPTURE(expected.tile[1]);
    ir::Function fn = parsed(kernel(expected.elem, expected.tile, expected.box));
    stage_results(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::map_store_) == 0);
    CHECK(count_ops(fn, ir::Opcode::map_copy_out_) == expected.pieces);
    // Before others write, the thread that stores has seen the slot read; before it stores, all
    // have written.
    CHECK(count_ops(fn, ir::Opcode::barrier_) == 2 * expected.pieces);
    CHECK(count_ops(fn, ir::Opcode::proxy_fence_) == expected.pieces);
    // Parts are taken as the product is divided.
    CHECK(count_ops(fn, ir::Opcode::extract_) == expected.pieces);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::extract_))
        CHECK(op.list("warpgroups") == std::vector<int64_t>{2, 1});
    });
    ir::Shape ring = expected.box;
    ring.insert(ring.begin(), expected.slots);
    CHECK(value_named(fn, "m")->op->is(ir::Opcode::shared_alloc_));
    CHECK(value_named(fn, "m")->type.shape == ring);
  }
}

TEST_CASE("a slot is written again only when it has been read, shared memory given up only then") {
  for (int64_t pieces : {1, 2, 4}) {
    ir::Function fn = parsed(kernel("f16", {128, 64 * pieces}, {128, 64}));
    stage_results(fn);
    std::vector<int64_t> waits;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::copy_out_wait_))
        waits.push_back(op.integer("pending"));
    });
    std::vector<int64_t> expected(size_t(pieces), pieces == 1 ? 0 : 1);
    expected.push_back(0); // the last ones
    CHECK(waits == expected);
  }
}

TEST_CASE("what threads store is cut into pieces too, with its mask") {
  const std::string mask = R"(
        %r = range {start = 0} : i32[128]
        %row = expand %r {axis = 0} : i32[1,128]
        %columns = broadcast %row : i32[128,128]
        %limit = splat %i : i32[128,128]
        %on = cmp %columns, %limit {pred = "PRED"} : i1[128,128]
        store %v, %x, %on)";
  for (const std::string &store : {std::string("store %v, %x"), with(mask, "PRED", "lt")})
    for (const char *strides : {"%ld, %one", "%one, %ld"}) {
      ir::Function fn = parsed(stored("f16", {128, 128}, store, strides));
      stage_results(fn);
      check_rules(fn);
      CHECK(count_ops(fn, ir::Opcode::store_) == 2);
      CHECK(count_ops(fn, ir::Opcode::extract_) == 2);
      ir::for_each_op(*fn.body, [&](const ir::Op &op) {
        if (!op.is(ir::Opcode::store_))
          return;
        CHECK(op.operand(1)->type.shape == ir::Shape{128, 64});
        CHECK((op.operands.size() == 3) == contains(store, "%on"));
      });
    }
}

TEST_CASE("nothing happens to what is stored by threads and is no longer than a piece, or has a "
          "mask that is no bounds") {
  std::string texts[] = {
      stored("f16", {128, 64}, "store %v, %x"),
      stored("f16", {128, 128},
             "%z = constant {value = 0} : i32\n %c = cmp %i, %z {pred = \"lt\"} : i1\n"
             "%on = splat %c : i1[128,128]\n store %v, %x, %on"),
  };
  for (const std::string &text : texts)
    CHECK(after(stage_results, text, Structure{}) == test::text(text));
}

namespace {

// A product of 128 x 256 by two warpgroups, whose transpose is stored, after it was cast.
std::string transposed(const std::string &elem, const ir::Shape &box) {
  std::string text = R"(
    func @f(%C: ptr<ELEM>, %ld: i64, %a: f32[128,8], %s: f32[128,256], %i: i32, %j: i32)
        warps 8 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<ELEM>BOX
      %bs = shared_alloc : shared<f32>[1,8,256]
      specialize {
        %p = fragment_product %a, %bs, %i, %s {perm = [0,1], origin = [0,0], rows = [2,16,4,1,8,32], warpgroups = [2,1]} : f32[128,256]
        %w = product_wait %p {pending = 0, rows = [2,16,4,1,8,32], warpgroups = [2,1]} : f32[128,256]
        %t = trans %w {perm = [1,0]} : f32[256,128]
        CAST : ELEM[256,128]
        map_store %m, %x, %i, %j
        yield
      } {
        yield
      }
      return
    })";
  text = with(text, "CAST", elem == "f32" ? "%x = neg %t" : "%x = cast %t");
  return with(with(text, "ELEM", elem), "BOX", text_of(box));
}

} // namespace

TEST_CASE("of a product's transpose a piece is some rows, with all panels that these have") {
  struct {
    std::string elem;
    ir::Shape box;
    int pieces;
  } cases[] = {{"f32", {32, 32}, 8}, {"f16", {64, 64}, 4}};
  for (const auto &[elem, box, pieces] : cases) {
    CAPTURE(elem);
    ir::Function fn = parsed(transposed(elem, box));
    stage_results(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::map_copy_out_) == pieces);
    CHECK(value_named(fn, "m")->type.shape == ir::Shape{2, box[0], 128});
    int64_t row = 0;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (!op.is(ir::Opcode::extract_))
        return;
      CHECK(op.list("origin") == std::vector<int64_t>{row, 0});
      CHECK(op.list("perm") == std::vector<int64_t>{1, 0});
      CHECK(op.list("rows") == std::vector<int64_t>{2, 16, 4, 1, 8, 32});
      CHECK(op.list("warpgroups") == std::vector<int64_t>{2, 1});
      row += box[0];
    });
    CHECK(row == 256);
  }
}

TEST_CASE("a transpose that threads store is cut into rows too, and so is what lies beside it") {
  const std::string view = "%v = view %C, %zero, %ld, %one : view<f32>[256,128]\n store %v, ";
  for (const char *stored : {"%x", "%beside"}) {
    std::string kernel = with(transposed("f32", {32, 32}), "map_store %m, %x, %i, %j",
                              "%half = constant {number = 0.5} : f32\n"
                              "%beside = splat %half : f32[256,128]\n" +
                                  view + stored);
    ir::Function fn = parsed(kernel);
    stage_results(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::store_) == 8);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::store_))
        CHECK(op.operand(1)->type.shape == ir::Shape{32, 128});
    });
  }
}

TEST_CASE("a mask compares with what is left of each piece, distances of rows are pinned to it") {
  const std::string store = R"(
        %l64 = cast %i : i64
        %r = range {start = 0} : i32[128]
        %row = expand %r {axis = 0} : i32[1,128]
        %columns = broadcast %row : i32[128,128]
        %limit = splat %i : i32[128,128]
        %on = cmp %columns, %limit {pred = "lt"} : i1[128,128]
        store %v, %x, %on)";
  std::string text = after(stage_results, stored("f16", {128, 128}, store), Structure{});
  CHECK(count(text, " = pinned %ld : i64") == 2);
  CHECK(count(text, " = inside ") == 2);
  // Columns are compared with %i and with %i - 64, rows with nothing.
  CHECK(contains(text, "constant {value = -64} : i64"));
  CHECK(count(text, "constant {value = 128} : i64") == 2);
  // Without a mask there is nothing to compare.
  std::string unmasked =
      after(stage_results, stored("f16", {128, 128}, "store %v, %x"), Structure{});
  CHECK_FALSE(contains(unmasked, "inside"));
  CHECK(count(unmasked, " = pinned %ld : i64") == 2);
}

TEST_CASE("what is converted is converted piece by piece, whoever stores it") {
  for (const std::string &stores :
       {kernel("f16", {128, 128}, {128, 64}), stored("f16", {128, 128}, "store %v, %x")}) {
    std::string converting = with(stores, "%x: f16[128,128], ", "");
    converting = with(converting, "specialize {", "specialize {\n %x = cast %s : f16[128,128]");
    std::string text = after(stage_results, converting, Structure{});
    CHECK(count(text, "= extract %s {") == 2);
    CHECK(count(text, " : f32[128,64]") == 2);
    CHECK(count(text, "= cast %") == 1 + 2); // and the whole one, which nobody uses
  }
}

namespace {

// A product of 128 x 256 by warps that are dealt its columns, after it was cast.
const std::string by_mma = R"(
    func @f(%C: ptr<f16>, %ld: i64, %n: i32, %a: f16[128,16], %b: f16[16,256], %i: i32, %j: i32)
        warps 8 helpers 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[128,64]
      specialize {
        %nothing = constant {number = 0.0} : f32
        %start = splat %nothing : f32[128,256]
        %sum = for_loop %n, %start : f32[128,256] {
          (%t: i32, %acc: f32[128,256])
          %d = dot %a, %b, %acc {dealt = 1, instruction = "m16n8k16", warps = [2,4]} : f32[128,256]
          yield %d
        }
        %x = cast %sum : f16[128,256]
        map_store %m, %x, %i, %j
        yield
      } {
        yield
      }
      return
    })";

} // namespace

TEST_CASE("pieces of what warps multiply by mma are parts of the loop's sum, divided alike") {
  ir::Function fn = parsed(by_mma);
  stage_results(fn);
  check_rules(fn);
  int64_t column = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    if (!op.is(ir::Opcode::extract_))
      return;
    CHECK(op.operand(0) == value_named(fn, "sum"));
    CHECK(op.list("origin") == std::vector<int64_t>{0, column});
    CHECK(op.list("warps") == std::vector<int64_t>{2, 4});
    CHECK(op.text("instruction") == "m16n8k16");
    CHECK(op.has("dealt"));
    CHECK_FALSE(op.has("warpgroups"));
    column += 64;
  });
  CHECK(column == 256);
  // Other products have no such pieces.
  std::string plain = with(by_mma, "dealt = 1, ", "");
  CHECK(after(stage_results, plain, Structure{}) == test::text(plain));
}

TEST_CASE("with a place for one piece, it must have been read before the next is written") {
  ir::Function fn = parsed(by_mma);
  stage_results(fn, {.specialized = true, .staged_pieces = 1, .name = ""});
  check_rules(fn);
  CHECK(value_named(fn, "m")->type.shape == ir::Shape{1, 128, 64});
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    if (op.is(ir::Opcode::copy_out_wait_))
      CHECK(op.integer("pending") == 0);
  });
}
