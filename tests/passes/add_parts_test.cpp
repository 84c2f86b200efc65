// Tests passes/add_parts.cpp.

#include "passes/add_parts.h"
#include "passes/remove_dead_code.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The first launch's blocks had 64 x 128 sums, of two programs side by side.
Structure sum_of_parts() {
  return {.step = 64,
          .share = Structure::Share::sum_of_parts,
          .divided = DividedSum{{1, 2, 1}, 64, 128, 0, 1},
          .name = ""};
}

} // namespace

TEST_CASE("parts are added in order, in place of the product") {
  ir::Function fn = parsed(product_kernel(16, 64));
  add_parts(fn, sum_of_parts());
  remove_dead_code(fn);
  check_rules(fn);
  std::string added = printed(fn);
  CHECK_FALSE(contains(added, "dot"));
  CHECK_FALSE(contains(added, "%A,"));
  CHECK(count(added, "load ") == 8);
  CHECK(contains(added, R"(
  %47 = constant {value = 7} : i32
  %48 = add %parts, %47 : i32
  %49 = constant {value = 8} : i32
  %50 = udiv %48, %49 : i32
  %51 = constant {value = 1} : i32
  %52 = sub %parts, %51 : i32
  %sum = for_loop %50, %start : f32[16,64] {
    (%53: i32, %54: f32[16,64])
    %55 = constant {value = 8} : i32
    %56 = mul %53, %55 : i32
    %57 = constant {value = 0} : i32
    %58 = add %56, %57 : i32
)"));
  // The second one: programs are half as wide as the pieces, so every other column of them.
  CHECK(contains(added, R"(
    %87 = constant {value = 1} : i32
    %88 = add %56, %87 : i32
    %89 = min %88, %52 : i32
    %90 = constant {value = 2048} : i64
    %91 = cast %in_row : i64
    %92 = mul %90, %91 : i64
    %93 = cast %44 : i64
    %94 = mul %92, %93 : i64
    %95 = constant {value = 8192} : i64
    %96 = cast %in_matrix : i64
    %97 = mul %95, %96 : i64
    %98 = cast %46 : i64
    %99 = mul %97, %98 : i64
    %100 = add %94, %99 : i64
    %101 = constant {value = 8192} : i64
    %102 = cast %pieces : i64
    %103 = mul %101, %102 : i64
    %104 = cast %89 : i64
    %105 = mul %103, %104 : i64
    %106 = add %100, %105 : i64
    %107 = constant {value = 64} : i64
    %108 = cast %45 : i64
    %109 = mul %107, %108 : i64
    %110 = add %106, %109 : i64
    %111 = constant {value = 128} : i64
    %112 = cast %in_row : i64
    %113 = mul %111, %112 : i64
    %114 = constant {value = 1} : i64
    %115 = view %scratch, %110, %113, %114 : view<f32>[16,64]
    %116 = load %115 : f32[16,64]
)"));
  // Once all are on their way.
  CHECK(contains(added, R"(
    %298 = splat %297 : f32[16,64]
    %299 = cmp %58, %parts {pred = "lt"} : i1
    %300 = splat %299 : i1[16,64]
    %301 = select %300, %86, %298 : f32[16,64]
    %302 = add %54, %301 : f32[16,64]
    %303 = cmp %88, %parts {pred = "lt"} : i1
    %304 = splat %303 : i1[16,64]
    %305 = select %304, %116, %298 : f32[16,64]
    %306 = add %302, %305 : f32[16,64]
)"));
  // What was done with the sum is done with this one.
  CHECK(contains(added, "%result = cast %sum : f16[16,64]"));
  CHECK(contains(added, "store %vc, %result"));
}

TEST_CASE("there are as many at a time as a thread has registers for") {
  auto at_once = [](int rows, int columns) {
    std::string added = after(add_parts, product_kernel(rows, columns), sum_of_parts());
    return count(added, "= load %");
  };
  CHECK(at_once(16, 32) == 8);
  CHECK(at_once(16, 64) == 8);
  CHECK(at_once(32, 64) == 4);
  CHECK(at_once(64, 64) == 2);
  CHECK(at_once(128, 128) == 2);
}

TEST_CASE("sums of integers are added as integers") {
  std::string text = with(product_kernel(64, 64, 64, "i8"), "f32[64,64]", "i32[64,64]");
  text = with(text, "%nothing = constant {number = 0.0} : f32",
              "%nothing = constant {value = 0} : i32");
  std::string added = after(add_parts, text, sum_of_parts());
  CHECK(contains(added, ": view<i32>[64,64]"));
  CHECK(contains(added, "%scratch = scratch"));
}

TEST_CASE("nothing happens in other structures") {
  for (auto share : {Structure::Share::all, Structure::Share::full_rounds, Structure::Share::rest,
                     Structure::Share::parts}) {
    Structure structure = sum_of_parts();
    structure.share = share;
    CHECK(after(add_parts, product_kernel(), structure) == text(product_kernel()));
  }
}
