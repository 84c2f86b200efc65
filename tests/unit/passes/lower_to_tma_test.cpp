// Tests passes/lower_to_tma.cpp.

#include "matmul_kernel.h"
#include "passes/lower_to_tma.h"
#include "passes/remove_dead_code.h"
#include "passes/swap_operands.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

const Schedule specialized = {.kind = Schedule::Kind::warp_specialized};

// The pass, then the removal of unused views.
void pass(ir::Function &fn, const Schedule &schedule) {
  lower_to_tma(fn, schedule);
  remove_dead_code(fn);
}

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

TEST_CASE("lower_to_tma: matmul operands and result use tensor maps") {
  CHECK(after(pass, matmul_kernel(), specialized) == text(R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f16>, %K: i32,
             %lda: i64 multiple_of 8, %ldb: i64 multiple_of 8, %ldc: i64 multiple_of 8) {
      %0 = constant {value = 0} : i64
      %1 = constant {value = 64} : i64
      %2 = num_programs {axis = 0} : i32
      %3 = cast %2 : i64
      %4 = constant {value = 1} : i64
      %5 = sub %3, %4 : i64
      %6 = constant {value = 64} : i64
      %7 = mul %5, %6 : i64
      %8 = add %1, %7 : i64
      %9 = constant {value = 64} : i64
      %10 = cast %K : i64
      %11 = constant {value = 1} : i64
      %12 = sub %10, %11 : i64
      %13 = constant {value = 64} : i64
      %14 = mul %12, %13 : i64
      %15 = add %9, %14 : i64
      %16 = constant {value = 1} : i64
      %A.1 = tensor_map %A, %0, %8, %15, %lda, %16 {swizzle = 128} : map<f16>[64,64]
      %17 = constant {value = 0} : i64
      %18 = constant {value = 64} : i64
      %19 = cast %K : i64
      %20 = constant {value = 1} : i64
      %21 = sub %19, %20 : i64
      %22 = constant {value = 64} : i64
      %23 = mul %21, %22 : i64
      %24 = add %18, %23 : i64
      %25 = constant {value = 64} : i64
      %26 = num_programs {axis = 1} : i32
      %27 = cast %26 : i64
      %28 = constant {value = 1} : i64
      %29 = sub %27, %28 : i64
      %30 = constant {value = 64} : i64
      %31 = mul %29, %30 : i64
      %32 = add %25, %31 : i64
      %33 = constant {value = 1} : i64
      %B.1 = tensor_map %B, %17, %24, %32, %ldb, %33 {swizzle = 128} : map<f16>[64,64]
      %34 = constant {value = 0} : i64
      %35 = constant {value = 64} : i64
      %36 = num_programs {axis = 0} : i32
      %37 = cast %36 : i64
      %38 = constant {value = 1} : i64
      %39 = sub %37, %38 : i64
      %40 = constant {value = 64} : i64
      %41 = mul %39, %40 : i64
      %42 = add %35, %41 : i64
      %43 = constant {value = 64} : i64
      %44 = num_programs {axis = 1} : i32
      %45 = cast %44 : i64
      %46 = constant {value = 1} : i64
      %47 = sub %45, %46 : i64
      %48 = constant {value = 64} : i64
      %49 = mul %47, %48 : i64
      %50 = add %43, %49 : i64
      %51 = constant {value = 1} : i64
      %C.1 = tensor_map %C, %34, %42, %50, %ldc, %51 {swizzle = 128} : map<f16>[64,64]
      %pm = program_id {axis = 0} : i32
      %pn = program_id {axis = 1} : i32
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %sum = for_loop %K, %start : f32[64,64] {
        (%t: i32, %acc: f32[64,64])
        %52 = constant {value = 64} : i64
        %53 = cast %pm : i64
        %54 = mul %52, %53 : i64
        %55 = cast %54 : i32
        %56 = constant {value = 64} : i64
        %57 = cast %t : i64
        %58 = mul %56, %57 : i64
        %59 = cast %58 : i32
        %a = tma_load %A.1, %55, %59 : f16[64,64]
        %60 = constant {value = 64} : i64
        %61 = cast %t : i64
        %62 = mul %60, %61 : i64
        %63 = cast %62 : i32
        %64 = constant {value = 64} : i64
        %65 = cast %pn : i64
        %66 = mul %64, %65 : i64
        %67 = cast %66 : i32
        %b = tma_load %B.1, %63, %67 : f16[64,64]
        %d = dot %a, %b, %acc : f32[64,64]
        yield %d
      }
      %result = cast %sum : f16[64,64]
      %68 = constant {value = 64} : i64
      %69 = cast %pm : i64
      %70 = mul %68, %69 : i64
      %71 = cast %70 : i32
      %72 = constant {value = 64} : i64
      %73 = cast %pn : i64
      %74 = mul %72, %73 : i64
      %75 = cast %74 : i32
      tma_store %C.1, %result, %71, %75
      return
    })"));
}

TEST_CASE("lower_to_tma: does nothing in the baseline schedule") {
  CHECK(after(lower_to_tma, matmul_kernel(), Schedule{}) == text(matmul_kernel()));
}

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

TEST_CASE("lower_to_tma: masks become tensor bounds") {
  std::string kernel = with(matmul_kernel(), "%a = load %va", R"(
        %i = range {start = 0} : i32[64]
        %row.of.i = expand %i {axis = 0} : i32[1,64]
        %all.i = broadcast %row.of.i : i32[64,64]
        %size = constant {value = 64} : i32
        %k32 = mul %t, %size : i32
        %left = sub %Ka, %k32 : i32
        %limit = splat %left : i32[64,64]
        %mask = cmp %limit, %all.i {pred = "gt"} : i1[64,64]
        %a = load %va, %mask)");
  kernel = with(kernel, "%K: i32", "%K: i32, %Ka: i32");
  std::string result = after(pass, kernel, specialized);
  CHECK_FALSE(contains(result, "range"));
  ir::Function fn = parsed(result);
  const ir::Op &map = *value_named(fn, "A.1")->op;
  REQUIRE(map.is(ir::Opcode::tensor_map_));
  CHECK(map.operand(3)->op->operand(0)->name == "Ka"); // columns, cast to i64
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

TEST_CASE("lower_to_tma: does nothing to stores of another shape") {
  std::string kernel = with(matmul_kernel(), "store %vc, %result", R"(
      %vr = view %B, %at.c, %one : view<f16>[64]
      %half = constant {number = 0.5} : f16
      %halves = splat %half : f16[64]
      store %vr, %halves
      store %vc, %result)");
  std::string result = after(lower_to_tma, kernel, specialized);
  CHECK(contains(result, "store %vr, %halves"));
  CHECK(count(result, "tma_store") == 1);
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
    CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "A", is_swapped) == Map{{256, 32}, 128});
    CHECK(map_of(matmul_kernel(256, 128, 32, "f32"), "B", is_swapped) == Map{{32, 32}, 128});
  }
}
