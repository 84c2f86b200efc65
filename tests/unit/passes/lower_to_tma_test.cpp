// Tests passes/lower_to_tma.cpp. The folder lower_to_tma/ has more cases.

#include "matmul_kernel.h"
#include "passes/lower_to_tma.h"
#include "passes/swap_operands.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

const Schedule specialized = {.kind = Schedule::Kind::warp_specialized};

// Box and swizzle of the tensor map of parameter `name`.
struct Map {
  ir::Shape box;
  int64_t swizzle;
  bool operator==(const Map &) const = default;
};

Map map_of(const std::string &text, const std::string &name, bool is_swapped = false) {
  ir::Function fn = parsed(text);
  Schedule schedule = specialized;
  schedule.swap_operands = is_swapped;
  swap_operands(fn, schedule);
  lower_to_tma(fn, schedule);
  check_rules(fn);
  Map map = {{}, -1};
  ir::for_each_op(*fn.body, [&](ir::Op &op) {
    if (op.is(ir::Opcode::tensor_map_) && op.operand(0)->name == name)
      map = {op.result()->type.shape, op.get(ir::attr::swizzle_)};
  });
  return map;
}

// Whether TMA stores the result of the kernel.
bool stores_by_map(const std::string &text) {
  std::string result = after(lower_to_tma, text, specialized);
  CHECK(contains(result, "tma_store") != contains(result, " store "));
  return contains(result, "tma_store");
}

} // namespace

TEST_CASE("lower_to_tma: box rows <= 128 bytes, at most 256 rows") {
  CHECK(map_of(matmul_kernel(64, 64, 64), "A") == Map{{64, 64}, 128});
  CHECK(map_of(matmul_kernel(64, 64, 32), "A") == Map{{64, 32}, 64});
  CHECK(map_of(matmul_kernel(64, 64, 16), "A") == Map{{64, 16}, 32});
  CHECK(map_of(matmul_kernel(64, 64, 128), "A") == Map{{64, 64}, 128});
  CHECK(map_of(matmul_kernel(64, 128, 64), "B") == Map{{64, 64}, 128});
  CHECK(map_of(matmul_kernel(64, 16, 64), "B") == Map{{64, 16}, 32});
  CHECK(map_of(matmul_kernel(64, 64, 512), "B") == Map{{256, 64}, 128});
}

TEST_CASE("lower_to_tma: rounds only f32 operands to tf32") {
  for (const char *elem : {"f16", "f32"}) {
    ir::Function fn = parsed(matmul_kernel(64, 64, 32, elem));
    lower_to_tma(fn, specialized);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::tensor_map_))
        CHECK(op.has(ir::attr::tf32_) ==
              (elem == std::string("f32") && op.operand(0)->name != "C"));
    });
  }
}

TEST_CASE("lower_to_tma: box follows the contiguous axis") {
  std::string kernel = with(matmul_kernel(128, 64, 64), "%at.a, %lda, %one", "%at.a, %one, %lda");
  CHECK(map_of(kernel, "A") == Map{{64, 64}, 128});
  kernel = with(matmul_kernel(128, 64, 16), "%at.a, %lda, %one", "%at.a, %one, %lda");
  CHECK(map_of(kernel, "A") == Map{{64, 16}, 128});
}

TEST_CASE("lower_to_tma: threads store a result that TMA cannot") {
  CHECK(stores_by_map(matmul_kernel()));
  // Contiguous columns.
  CHECK_FALSE(stores_by_map(with(matmul_kernel(), "%at.c, %ldc, %one", "%at.c, %one, %ldc")));
  // Not affine.
  std::string gathered = with(matmul_kernel(), "%C: ptr<f16>", "%C: ptr<f16>[64,64]");
  gathered = with(gathered, "%vc = view %C, %at.c, %ldc, %one : view<f16>[64,64]", "");
  CHECK_FALSE(stores_by_map(with(gathered, "store %vc", "store %C")));
  // A mask that is not a tensor bound.
  std::string masked = with(matmul_kernel(), "%K: i32", "%K: i32, %on: i1[64,64]");
  CHECK_FALSE(stores_by_map(with(masked, "store %vc, %result", "store %vc, %result, %on")));
}

TEST_CASE("lower_to_tma: threads store a result that is read back") {
  const std::string store = "store %vc, %result";
  auto read = [&](const std::string &pointer) {
    std::string kernel =
        with(matmul_kernel(), store,
             store + "\n %again = view POINTER, %at.c, %ldc, %one : view<f16>[64,64]"
                     "\n %c = load %again : f16[64,64]"
                     "\n %vd = view %D, %at.c, %one, %ldc : view<f16>[64,64]"
                     "\n store %vd, %c");
    kernel = with(kernel, "%K: i32", "%K: i32, %D: ptr<f16>, %odd: i1");
    kernel = with(kernel, "%one =", "%chosen = select %odd, %C, %D : ptr<f16>\n %one =");
    return count(after(lower_to_tma, with(kernel, "POINTER", pointer), specialized), "tma_store") ==
           0;
  };
  CHECK(read("%C"));
  CHECK(read("%chosen")); // may be %C
  CHECK_FALSE(read("%D"));
  // A load before the store counts too: both may be in a loop.
  std::string before = with(matmul_kernel(), store, "%old = load %vc : f16[64,64]\n" + store);
  CHECK_FALSE(stores_by_map(before));
}

TEST_CASE("lower_to_tma: threads store rows that may end inside 16 bytes") {
  auto masked = [](const std::string &n) {
    std::string kernel = with(matmul_kernel(), "store %vc, %result", R"(
      %i = range {start = 0} : i32[64]
      %row.of.i = expand %i {axis = 0} : i32[1,64]
      %all.i = broadcast %row.of.i : i32[64,64]
      %size = constant {value = 64} : i32
      %column32 = mul %pn, %size : i32
      %left = sub %N, %column32 : i32
      %limit = splat %left : i32[64,64]
      %mask = cmp %all.i, %limit {pred = "lt"} : i1[64,64]
      store %vc, %result, %mask)");
    return with(kernel, "%K: i32", "%K: i32, %N: i32" + n);
  };
  CHECK(stores_by_map(masked(" multiple_of 8")));
  CHECK_FALSE(stores_by_map(masked(" multiple_of 4")));
  CHECK_FALSE(stores_by_map(masked("")));
}

TEST_CASE("lower_to_tma: result box of swapped operands has few rows") {
  CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "C") == Map{{256, 32}, 128});
  CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "C", true) == Map{{32, 32}, 128});
  CHECK(map_of(matmul_kernel(256, 128, 64, "f16"), "C", true) == Map{{64, 64}, 128});
  CHECK(map_of(matmul_kernel(16, 64, 32, "f32"), "C", true) == Map{{16, 32}, 128});
  // The box is small too if the source transposes the result, but not if the result is transposed
  // twice.
  std::string kernel = with(matmul_kernel(64, 128, 32, "f32"), "%result = cast %sum : f32[64,128]",
                            "%result = trans %sum {perm = [1,0]} : f32[128,64]");
  kernel = with(kernel, "view<f32>[64,128]\n      store", "view<f32>[128,64]\n      store");
  CHECK(map_of(kernel, "C") == Map{{32, 32}, 128});
  CHECK(map_of(kernel, "C", true) == Map{{128, 32}, 128});
  // The operand boxes stay the same.
  for (bool is_swapped : {false, true}) {
    CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "A", is_swapped) == Map{{64, 32}, 128});
    CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "B", is_swapped) == Map{{32, 32}, 128});
  }
}

TEST_CASE("lower_to_tma: copies have the location of the load or store") {
  ir::Function fn = parsed(matmul_kernel());
  ir::for_each_op(*fn.body, [](ir::Op &op) {
    op.location = op.is(ir::Opcode::load_)    ? ir::Location{5, 1, 1}
                  : op.is(ir::Opcode::store_) ? ir::Location{7, 2, 2}
                                              : ir::Location{3, 3, 3};
  });
  lower_to_tma(fn, specialized);
  int copies = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    bool loads = op.is(ir::Opcode::tma_load_), stores = op.is(ir::Opcode::tma_store_);
    copies += loads || stores;
    if (loads || stores) {
      CHECK(op.location.line == (loads ? 5 : 7));
      CHECK(op.location.column == (loads ? 1 : 2));
      CHECK(op.location.origin == (loads ? 1 : 2));
      // The coordinates are computed for this copy.
      for (size_t i = loads ? 1 : 2; i < op.operands.size(); i++)
        CHECK(op.operand(i)->op->location.line == op.location.line);
    }
    if (op.is(ir::Opcode::dot_))
      CHECK(op.location.line == 3);
  });
  CHECK(copies == 3);
}
