// Tests passes/stage_epilogue.cpp. The folder stage_epilogue/ has more cases.

#include "matmul_kernel.h"
#include "passes/stage_epilogue.h"
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

// A matmul of two warpgroups. It stores %x, which has the shape `tile`, through a tensor map with
// `box`.
std::string kernel(const std::string &elem, const ir::Shape &tile, const ir::Shape &box) {
  std::string text = R"(
    func @f(%C: ptr<ELEM>, %ld: i64, %x: ELEMTILE, %s: f32TILE, %i: i32, %j: i32)
        warps 8 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<ELEM>BOX
      %as = shared_alloc : shared<f16>[1,ROWS,16]
      %bs = shared_alloc : shared<f16>[1,16,COLUMNS]
      warp_specialize {one_thread = [0,1], warps = [8,4]} {
        %p = wgmma_ss %as, %i, %bs, %i, %s {perms = [0,1,0,1], warpgroups = [2,1]} : f32TILE
        tma_store %m, %x, %i, %j
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

// The same kernel with `store`: threads store through %v.
std::string stored(const std::string &elem, const ir::Shape &tile, const std::string &store,
                   const std::string &strides = "%ld, %one") {
  return with(kernel(elem, tile, tile), "tma_store %m, %x, %i, %j",
              "%v = view %C, %zero, " + strides + " : view<" + elem + ">" + text_of(tile) + "\n" +
                  store);
}

int count_ops(ir::Function &fn, ir::Opcode code) {
  int found = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) { found += op.is(code); });
  return found;
}

} // namespace

TEST_CASE("stage_epilogue: one output tile per box, at most two stages") {
  struct {
    std::string elem;
    ir::Shape tile, box;
    int pieces, stages;
  } cases[] = {{"f16", {128, 64}, {128, 64}, 1, 1},
               {"f16", {128, 256}, {128, 64}, 4, 2},
               {"f32", {128, 64}, {128, 32}, 2, 2},
               {"f16", {128, 16}, {128, 16}, 1, 1}};
  for (const auto &expected : cases) {
    CAPTURE(expected.tile[1]);
    ir::Function fn = parsed(kernel(expected.elem, expected.tile, expected.box));
    stage_epilogue(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::tma_store_) == 0);
    CHECK(count_ops(fn, ir::Opcode::tma_store_async_) == expected.pieces);
    // The first barrier tells all threads that TMA has read the stage. The second barrier tells the
    // storing thread that all threads have written it.
    CHECK(count_ops(fn, ir::Opcode::barrier_) == 2 * expected.pieces);
    CHECK(count_ops(fn, ir::Opcode::proxy_fence_) == expected.pieces);
    // Each extract has the division of the matmul.
    CHECK(count_ops(fn, ir::Opcode::extract_) == expected.pieces);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::extract_))
        CHECK(op.get(ir::attr::warpgroups_) == std::vector<int64_t>{2, 1});
    });
    ir::Shape buffer = expected.box;
    buffer.insert(buffer.begin(), expected.stages);
    CHECK(value_named(fn, "m")->op->is(ir::Opcode::shared_alloc_));
    CHECK(value_named(fn, "m")->type.shape == buffer);
  }
}

TEST_CASE("stage_epilogue: waits for a stage before it is reused") {
  for (int64_t pieces : {1, 2, 4}) {
    ir::Function fn = parsed(kernel("f16", {128, 64 * pieces}, {128, 64}));
    stage_epilogue(fn);
    std::vector<int64_t> waits;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::tma_store_wait_))
        waits.push_back(op.get(ir::attr::pending_));
    });
    std::vector<int64_t> expected(size_t(pieces), pieces == 1 ? 0 : 1);
    expected.push_back(0); // the last output tiles
    CHECK(waits == expected);
  }
}

TEST_CASE("stage_epilogue: splits thread stores and their masks") {
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
      stage_epilogue(fn);
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

namespace {

// A 128 x 256 matmul by two warpgroups. TMA stores the transposed and converted result.
std::string transposed(const std::string &elem, const ir::Shape &box) {
  std::string text = R"(
    func @f(%C: ptr<ELEM>, %ld: i64, %a: f32[128,8], %s: f32[128,256], %i: i32, %j: i32)
        warps 8 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<ELEM>BOX
      %bs = shared_alloc : shared<f32>[1,8,256]
      warp_specialize {one_thread = [0,1], warps = [8,4]} {
        %p = wgmma_rs %a, %bs, %i, %s {perm = [0,1], origin = [0,0], rows = [2,16,4,1,8,32], warpgroups = [2,1]} : f32[128,256]
        %w = wgmma_wait %p {pending = 0, rows = [2,16,4,1,8,32], warpgroups = [2,1]} : f32[128,256]
        %t = trans %w {perm = [1,0]} : f32[256,128]
        CAST : ELEM[256,128]
        tma_store %m, %x, %i, %j
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

TEST_CASE("stage_epilogue: transposed output tile is a block of rows") {
  struct {
    std::string elem;
    ir::Shape box;
    int pieces;
  } cases[] = {{"f32", {32, 32}, 8}, {"f16", {64, 64}, 4}};
  for (const auto &[elem, box, pieces] : cases) {
    CAPTURE(elem);
    ir::Function fn = parsed(transposed(elem, box));
    stage_epilogue(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::tma_store_async_) == pieces);
    CHECK(value_named(fn, "m")->type.shape == ir::Shape{2, box[0], 128});
    int64_t row = 0;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (!op.is(ir::Opcode::extract_))
        return;
      CHECK(op.get(ir::attr::origin_) == std::vector<int64_t>{row, 0});
      CHECK(op.get(ir::attr::perm_) == std::vector<int64_t>{1, 0});
      CHECK(op.get(ir::attr::rows_) == std::vector<int64_t>{2, 16, 4, 1, 8, 32});
      CHECK(op.get(ir::attr::warpgroups_) == std::vector<int64_t>{2, 1});
      row += box[0];
    });
    CHECK(row == 256);
  }
}

TEST_CASE("stage_epilogue: splits thread stores of a transpose by rows") {
  const std::string view = "%v = view %C, %zero, %ld, %one : view<f32>[256,128]\n store %v, ";
  for (const char *stored : {"%x", "%beside"}) {
    std::string kernel = with(transposed("f32", {32, 32}), "tma_store %m, %x, %i, %j",
                              "%half = constant {number = 0.5} : f32\n"
                              "%beside = splat %half : f32[256,128]\n" +
                                  view + stored);
    ir::Function fn = parsed(kernel);
    stage_epilogue(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::store_) == 8);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::store_))
        CHECK(op.operand(1)->type.shape == ir::Shape{32, 128});
    });
  }
}

TEST_CASE("stage_epilogue: pieces keep the location of the store") {
  for (const std::string &text :
       {kernel("f16", {128, 128}, {128, 64}), stored("f16", {128, 128}, "store %v, %x")}) {
    ir::Function fn = parsed(text);
    ir::for_each_op(*fn.body, [](ir::Op &op) {
      bool is_store = op.is(ir::Opcode::tma_store_) || op.is(ir::Opcode::store_);
      op.location = is_store ? ir::Location{7, 5, 2} : ir::Location{3, 1, 1};
    });
    stage_epilogue(fn);
    int in_pieces = 0;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      bool is_store = op.is(ir::Opcode::tma_store_async_) || op.is(ir::Opcode::store_);
      if (is_store || op.is(ir::Opcode::extract_)) {
        in_pieces++;
        CHECK(op.location.line == 7);
        CHECK(op.location.column == 5);
        CHECK(op.location.origin == 2);
      }
      if (op.is(ir::Opcode::wgmma_ss_))
        CHECK(op.location.line == 3);
    });
    CHECK(in_pieces == 4);
  }
}
