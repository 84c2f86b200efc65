// Tests passes/use_tensor_maps.cpp.

#include "passes/remove_dead_code.h"
#include "passes/swap_factors.h"
#include "passes/use_tensor_maps.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

const Structure specialized = {.specialized = true, .name = ""};

// Without the views that nothing uses any more.
void pass(ir::Function &fn, const Structure &structure) {
  use_tensor_maps(fn, structure);
  remove_dead_code(fn);
}

// The type of the map of parameter `name`, and its swizzle.
struct Map {
  ir::Shape box;
  int64_t swizzle;
  bool operator==(const Map &) const = default;
};

Map map_of(const std::string &text, const std::string &name, bool is_swapped = false) {
  ir::Function fn = parsed(text);
  Structure structure = specialized;
  structure.swapped = is_swapped;
  swap_factors(fn, structure);
  use_tensor_maps(fn, structure);
  check_rules(fn);
  Map map = {{}, -1};
  ir::for_each_op(*fn.body, [&](ir::Op &op) {
    if (op.is(ir::Opcode::tensor_map_) && op.operand(0)->name == name)
      map = {op.result()->type.shape, op.integer("swizzle")};
  });
  return map;
}

// Whether the result of the kernel is stored by the copy engine.
bool stores_by_map(const std::string &text) {
  std::string result = after(use_tensor_maps, text, specialized);
  CHECK(contains(result, "map_store") != contains(result, " store "));
  return contains(result, "map_store");
}

} // namespace

TEST_CASE("factors and results of a product are copied by tensor maps") {
  CHECK(after(pass, product_kernel(), specialized) == text(R"(
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
        %a = map_load %A.1, %55, %59 : f16[64,64]
        %60 = constant {value = 64} : i64
        %61 = cast %t : i64
        %62 = mul %60, %61 : i64
        %63 = cast %62 : i32
        %64 = constant {value = 64} : i64
        %65 = cast %pn : i64
        %66 = mul %64, %65 : i64
        %67 = cast %66 : i32
        %b = map_load %B.1, %63, %67 : f16[64,64]
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
      map_store %C.1, %result, %71, %75
      return
    })"));
}

TEST_CASE("nothing happens in the plain structure") {
  CHECK(after(use_tensor_maps, product_kernel(), Structure{}) == text(product_kernel()));
}

TEST_CASE("a box is a panel: rows of at most 128 bytes, at most 256 of them") {
  CHECK(map_of(product_kernel(64, 64, 64), "A") == Map{{64, 64}, 128});
  CHECK(map_of(product_kernel(64, 64, 32), "A") == Map{{64, 32}, 64});
  CHECK(map_of(product_kernel(64, 64, 16), "A") == Map{{64, 16}, 32});
  CHECK(map_of(product_kernel(64, 64, 128), "A") == Map{{64, 64}, 128});
  CHECK(map_of(product_kernel(64, 128, 64), "B") == Map{{64, 64}, 128});
  CHECK(map_of(product_kernel(64, 16, 64), "B") == Map{{64, 16}, 32});
  CHECK(map_of(product_kernel(64, 64, 512), "B") == Map{{256, 64}, 128});
}

TEST_CASE("f32 factors are rounded to tf32 on the way, and nothing else is") {
  for (const char *elem : {"f16", "f32"}) {
    ir::Function fn = parsed(product_kernel(64, 64, 32, elem));
    use_tensor_maps(fn, specialized);
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::tensor_map_))
        CHECK(op.has("tf32") == (elem == std::string("f32") && op.operand(0)->name != "C"));
    });
  }
}

TEST_CASE("a box lies along the axis of neighbours") {
  std::string kernel = with(product_kernel(128, 64, 64), "%at.a, %lda, %one", "%at.a, %one, %lda");
  CHECK(map_of(kernel, "A") == Map{{64, 64}, 128});
  kernel = with(product_kernel(128, 64, 16), "%at.a, %lda, %one", "%at.a, %one, %lda");
  CHECK(map_of(kernel, "A") == Map{{64, 16}, 128});
}

TEST_CASE("masks become the size of the tensor, and go") {
  std::string kernel = with(product_kernel(), "%a = load %va", R"(
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
  CHECK(map.operand(3)->op->operand(0)->name == "Ka"); // columns; cast to i64
}

TEST_CASE("a result is stored by threads where the copy engine cannot") {
  CHECK(stores_by_map(product_kernel()));
  // Column by column.
  CHECK_FALSE(stores_by_map(with(product_kernel(), "%at.c, %ldc, %one", "%at.c, %one, %ldc")));
  // Not affine.
  std::string gathered = with(product_kernel(), "%C: ptr<f16>", "%C: ptr<f16>[64,64]");
  gathered = with(gathered, "%vc = view %C, %at.c, %ldc, %one : view<f16>[64,64]", "");
  CHECK_FALSE(stores_by_map(with(gathered, "store %vc", "store %C")));
  // Under a mask that is none of a tensor's.
  std::string masked = with(product_kernel(), "%K: i32", "%K: i32, %on: i1[64,64]");
  CHECK_FALSE(stores_by_map(with(masked, "store %vc, %result", "store %vc, %result, %on")));
}

TEST_CASE("a result that is read back is stored by threads: it would not be there yet") {
  const std::string store = "store %vc, %result";
  auto read = [&](const std::string &pointer) {
    std::string kernel =
        with(product_kernel(), store,
             store + "\n %again = view POINTER, %at.c, %ldc, %one : view<f16>[64,64]"
                     "\n %c = load %again : f16[64,64]"
                     "\n %vd = view %D, %at.c, %one, %ldc : view<f16>[64,64]"
                     "\n store %vd, %c");
    kernel = with(kernel, "%K: i32", "%K: i32, %D: ptr<f16>, %odd: i1");
    kernel = with(kernel, "%one =", "%chosen = select %odd, %C, %D : ptr<f16>\n %one =");
    return count(after(use_tensor_maps, with(kernel, "POINTER", pointer), specialized),
                 "map_store") == 0;
  };
  CHECK(read("%C"));
  CHECK(read("%chosen")); // it may be
  CHECK_FALSE(read("%D"));
  // Also by what comes before: there may be a loop around both.
  std::string before = with(product_kernel(), store, "%old = load %vc : f16[64,64]\n" + store);
  CHECK_FALSE(stores_by_map(before));
}

TEST_CASE("a result whose rows may end within 16 bytes is stored by threads") {
  auto masked = [](const std::string &n) {
    std::string kernel = with(product_kernel(), "store %vc, %result", R"(
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

TEST_CASE("nothing happens to stores of another shape") {
  std::string kernel = with(product_kernel(), "store %vc, %result", R"(
      %vr = view %B, %at.c, %one : view<f16>[64]
      %half = constant {number = 0.5} : f16
      %halves = splat %half : f16[64]
      store %vr, %halves
      store %vc, %result)");
  std::string result = after(use_tensor_maps, kernel, specialized);
  CHECK(contains(result, "store %vr, %halves"));
  CHECK(count(result, "map_store") == 1);
}

TEST_CASE("a box of a swapped product's result is a few rows of it, as its pieces are") {
  CHECK(map_of(product_kernel(256, 128, 32, "f32"), "C") == Map{{256, 32}, 128});
  CHECK(map_of(product_kernel(256, 128, 32, "f32"), "C", true) == Map{{32, 32}, 128});
  CHECK(map_of(product_kernel(256, 128, 64, "f16"), "C", true) == Map{{64, 64}, 128});
  CHECK(map_of(product_kernel(16, 64, 32, "f32"), "C", true) == Map{{16, 32}, 128});
  // So it is where the source transposes the result, and not where that is done twice.
  std::string kernel = with(product_kernel(64, 128, 32, "f32"), "%result = cast %sum : f32[64,128]",
                            "%result = trans %sum {perm = [1,0]} : f32[128,64]");
  kernel = with(kernel, "view<f32>[64,128]\n      store", "view<f32>[128,64]\n      store");
  CHECK(map_of(kernel, "C") == Map{{32, 32}, 128});
  CHECK(map_of(kernel, "C", true) == Map{{128, 32}, 128});
  // The factors' boxes are what they were.
  for (bool is_swapped : {false, true}) {
    CHECK(map_of(product_kernel(256, 128, 32, "f32"), "A", is_swapped) == Map{{256, 32}, 128});
    CHECK(map_of(product_kernel(256, 128, 32, "f32"), "B", is_swapped) == Map{{32, 32}, 128});
  }
}
