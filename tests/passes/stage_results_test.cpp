// Tests passes/stage_results.cpp.

#include "passes/stage_results.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Stores %x by a map of such boxes.
std::string kernel(const std::string &elem, const std::string &tile, const std::string &box) {
  return "func @f(%C: ptr<" + elem + ">, %ld: i64, %x: " + elem + tile + ", %i: i32, %j: i32)" + R"(
      warps 4 helpers 4 {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<)" +
         elem + ">" + box + R"(
    specialize {
      map_store %m, %x, %i, %j
      yield
    } {
      yield
    }
    return
  })";
}

int count_ops(ir::Function &fn, ir::Opcode code) {
  int found = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) { found += op.is(code); });
  return found;
}

} // namespace

TEST_CASE("a result goes through shared memory piece by piece, in two slots by turns") {
  CHECK(after(stage_results, kernel("f16", "[64,128]", "[64,64]")) == text(R"(
    layout #0 [64,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0) (32,0)
    func @f(%C: ptr<f16>, %ld: i64, %x: f16[64,128], %i: i32, %j: i32) warps 4 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %C, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      %m.1 = shared_alloc : shared<f16>[2,64,64] #0
      specialize {
        copy_out_wait {pending = 1}
        barrier
        %0 = extract %x {origin = [0,0], warpgroups = []} : f16[64,64]
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
        %6 = extract %x {origin = [0,64], warpgroups = []} : f16[64,64]
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

TEST_CASE("nothing happens where no result is stored by a map") {
  std::string none = with(kernel("f16", "[64,64]", "[64,64]"), "map_store %m, %x, %i, %j", "");
  CHECK(after(stage_results, none) == text(none));
}

TEST_CASE("a piece is a panel: as many as there are, and never more than two slots") {
  struct {
    std::string elem, tile, box;
    int pieces, slots;
  } cases[] = {{"f16", "[64,64]", "[64,64]", 1, 1},
               {"f16", "[64,256]", "[64,64]", 4, 2},
               {"f32", "[64,64]", "[64,32]", 2, 2},
               {"f16", "[64,16]", "[64,16]", 1, 1}};
  for (const auto &expected : cases) {
    CAPTURE(expected.tile);
    ir::Function fn = parsed(kernel(expected.elem, expected.tile, expected.box));
    stage_results(fn);
    check_rules(fn);
    CHECK(count_ops(fn, ir::Opcode::map_store_) == 0);
    CHECK(count_ops(fn, ir::Opcode::map_copy_out_) == expected.pieces);
    CHECK(count_ops(fn, ir::Opcode::extract_) == expected.pieces);
    // Before others write, the thread that stores has seen the slot read; before it stores, all
    // have written.
    CHECK(count_ops(fn, ir::Opcode::barrier_) == 2 * expected.pieces);
    CHECK(count_ops(fn, ir::Opcode::proxy_fence_) == expected.pieces);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::shared_alloc_))
        CHECK(op.result()->type.shape[0] == expected.slots);
    });
  }
}

TEST_CASE("a slot is written again only when it has been read, shared memory given up only then") {
  for (int pieces : {1, 2, 4}) {
    std::string columns = std::to_string(64 * pieces);
    ir::Function fn = parsed(kernel("f16", "[64," + columns + "]", "[64,64]"));
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

TEST_CASE("parts are taken as the product is divided") {
  ir::Function fn = parsed(with(kernel("f16", "[128,64]", "[128,64]"), "specialize {", R"(
    %as = shared_alloc : shared<f16>[1,128,16]
    %bs = shared_alloc : shared<f16>[1,16,64]
    specialize {
      %slot = constant {value = 0} : i32
      %half = constant {number = 0.5} : f32
      %start = splat %half : f32[128,64]
      %d = shared_product %as, %slot, %bs, %slot, %start {perms = [0,1,0,1], warpgroups = [2,1]} : f32[128,64])"));
  stage_results(fn);
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    if (op.is(ir::Opcode::extract_))
      CHECK(op.list("warpgroups") == std::vector<int64_t>{2, 1});
  });
}
