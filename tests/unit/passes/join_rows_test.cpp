// Tests passes/join_rows.cpp: which accesses it joins. The folder join_rows/ has functions after the
// pass, and end_to_end/language/joined_rows_test.cpp runs some.

#include "matmul_kernel.h"
#include "passes/join_rows.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A block of 16 programs adds 1 to rows of A, and stores them in C. `before` comes before the load,
// `between` before the store.
std::string kernel(const std::string &before = "", const std::string &between = "") {
  return R"(
    func @f(%A: ptr<f16>, %C: ptr<f16>, %D: ptr<f16> no_alias, %N: i32, %lda: i64, %ldc: i64) {
      %one = constant {value = 1} : i64
      %ones = constant {number = 1.0} : f16
      %block = block_id {axis = 0} : i32
      %programs = num_programs {axis = 0} : i32
      %count = host_value %programs : i32
      %sixteen = constant {value = 16} : i32
      %first = mul %block, %sixteen : i32
      %left = sub %count, %first : i32
      %wide = cast %first : i64
      %i = range {start = 0} : i32[32]
      %ends = splat %N : i32[32]
      %inside = cmp %i, %ends {pred = "lt"} : i1[32]
      %inside.1 = expand %inside {axis = 0} : i1[1,32]
      %columns = broadcast %inside.1 : i1[16,32]
      %r = range {start = 0} : i32[16]
      %lefts = splat %left : i32[16]
      %exists = cmp %r, %lefts {pred = "lt"} : i1[16]
      %exists.1 = expand %exists {axis = 1} : i1[16,1]
      %rows = broadcast %exists.1 : i1[16,32]
      %m = and %columns, %rows : i1[16,32]
      %a.at = mul %wide, %lda : i64
      %c.at = mul %wide, %ldc : i64
      )" +
         before + R"(
      %v = view %A, %a.at, %lda, %one : view<f16>[16,32]
      %x = load %v, %m : f16[16,32]
      %ys = splat %ones : f16[16,32]
      %y = add %x, %ys : f16[16,32]
      )" +
         between + R"(
      %w = view %C, %c.at, %ldc, %one : view<f16>[16,32]
      store %w, %y, %m
      return
    })";
}

// The joined accesses: of the load and of the store.
int joined(const std::string &text) {
  ir::Function fn = parsed(text);
  const std::string before = printed(fn);
  const bool is_changed = try_joining_rows(fn);
  check_rules(fn);
  CHECK(is_changed == (printed(fn) != before));
  return is_changed ? count(printed(fn), "view<f16>[512]") : 0;
}

} // namespace

TEST_CASE("join_rows: rows with any distance that the host knows") {
  CHECK(joined(kernel()) == 2);
  CHECK(joined(with(kernel(), "%lda: i64,", "%lda: i64 multiple_of 4,")) == 2);
}

TEST_CASE("join_rows: keeps accesses that vectors can make") {
  const std::string aligned = with(kernel(), "%lda: i64,", "%lda: i64 multiple_of 8,");
  CHECK(joined(with(aligned, "%ldc: i64)", "%ldc: i64 multiple_of 8)")) == 0);
  // The store may be to memory that is loaded; it comes later.
  CHECK(joined(aligned) == 1);
}

TEST_CASE("join_rows: keeps other accesses") {
  // The elements of a row are not contiguous.
  CHECK(joined(with(kernel(), "constant {value = 1} : i64", "constant {value = 2} : i64")) == 0);
  // No mask along the row, no mask along the rows, a mask with two bounds, no mask.
  CHECK(joined(with(kernel(), ", %m", ", %rows")) == 0);
  CHECK(joined(with(kernel(), ", %m", ", %columns")) == 0);
  CHECK(joined(with(kernel("%i.2 = range {start = 1} : i32[32]\n"
                           "%less = cmp %i.2, %ends {pred = \"lt\"} : i1[32]\n"
                           "%less.1 = expand %less {axis = 0} : i1[1,32]\n"
                           "%less.2 = broadcast %less.1 : i1[16,32]\n"
                           "%both = and %m, %less.2 : i1[16,32]"),
                    "%v, %m", "%v, %both")) == 1);
  CHECK(joined(with(with(kernel(), "%x = load %v, %m", "%x = load %v"), "%y, %m", "%y")) == 0);
  // A distance that only the kernel knows.
  CHECK(joined(with(kernel("%ld = cast %block : i64"), ", %lda, %one", ", %ld, %one")) == 1);
}

TEST_CASE("join_rows: keeps all accesses if another one may be to the same elements") {
  auto store = [](const std::string &base, const std::string &name) {
    return "%" + name + " = view " + base + ", %c.at, %lda, %lda : view<f16>[16,32]\n store %" +
           name + ", %zs, %rows";
  };
  const std::string zeros = "%zs = splat %ones : f16[16,32]\n";
  CHECK(joined(kernel(zeros + store("%A", "q"))) == 0);
  CHECK(joined(kernel(zeros, store("%C", "q"))) == 0);
  CHECK(joined(kernel(zeros + store("%D", "q"))) == 2);
  // A load before the store, or after it.
  const std::string load = "%q = view %C, %c.at, %lda, %lda : view<f16>[16,32]\n"
                           "%z = load %q, %rows : f16[16,32]\n";
  CHECK(joined(kernel(load)) == 2);
  CHECK(joined(with(kernel(), "      return", load + "      return")) == 0);
}

TEST_CASE("join_rows: a block has at least as many rows as a vector has elements") {
  CHECK(contains(after(try_joining_rows, with(kernel(), "[16", "[8")), "shared_load_rows"));
  CHECK_FALSE(contains(after(try_joining_rows, with(kernel(), "[16", "[4")), "shared_load_rows"));
}

TEST_CASE("join_rows: the rows have room in shared memory") {
  // 7 elements of 2 bytes may precede the first, so 16 rows of at most 31 elements have room.
  const std::string text = printed([] {
    ir::Function fn = parsed(with(kernel(), "%A: ptr<f16>", "%A: ptr<f16> aligned 2"));
    REQUIRE(try_joining_rows(fn));
    return fn;
  }());
  CHECK(contains(text, "constant {value = 31} : i32"));
  CHECK(contains(text, "ragged = 8"));
  CHECK_FALSE(contains(printed(parsed(kernel())), "ragged"));
}
