// Tests analysis/iteration_stores.cpp.

#include "analysis/iteration_stores.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The operations compute the pointers %to for 8 elements from the counter %t, and its i64 %w.
bool is_apart(const std::string &operations) {
  ir::Function fn = parsed(R"(
    func @f(%Y: ptr<f32>, %n: i32, %S: i32, %C: i64, %ld: i64) {
      %one = constant {value = 1} : i64
      %two = constant {value = 2} : i64
      %eight = constant {value = 8} : i64
      %eight.short = constant {value = 8} : i32
      %p = program_id {axis = 0} : i32
      %i = range {start = 0} : i32[8]
      %z = constant {number = 0.0} : f32
      %zeros = splat %z : f32[8]
      for_loop %n {
        (%t: i32)
        %w = cast %t : i64
        )" + operations + R"(
        store %to, %zeros
        yield
      }
      return
    })");
  ir::Op *found = nullptr;
  ir::for_each_op(*fn.body, [&](ir::Op &op) {
    if (op.is(ir::Opcode::store_))
      found = &op;
  });
  return stores_apart(*found, found->parent->arguments[0]);
}

std::string view(const std::string &offset, const std::string &stride = "%one") {
  return offset + " : i64\n %to = view %Y, %at, " + stride + " : view<f32>[8]";
}

// Row u / S, u = i + t * step, at a distance of S * C.
std::string pixels(const std::string &step = "%eight.short", const std::string &rows = "%C",
                   const std::string &dividend = "%u") {
  return "%start = mul %t, " + step + R"( : i32
      %starts = splat %start : i32[8]
      %u = add %i, %starts : i32[8]
      %lengths = splat %S : i32[8]
      %row = div )" +
         dividend + R"(, %lengths : i32[8]
      %row.wide = cast %row : i64[8]
      %S.wide = cast %S : i64
      %distance = mul %S.wide, )" +
         rows + R"( : i64
      %distances = splat %distance : i64[8]
      %first = mul %row.wide, %distances : i64[8]
      %before = mul %row, %lengths : i32[8]
      %column = sub %u, %before : i32[8]
      %column.wide = cast %column : i64[8]
      %at = add %first, %column.wide : i64[8]
      %from = addptr %Y, %p : ptr<f32>
      %ys = splat %from : ptr<f32>[8]
      %to = addptr %ys, %at : ptr<f32>[8])";
}

} // namespace

TEST_CASE("stores_apart: tiles that follow one another") {
  CHECK(is_apart(view("%at = mul %w, %eight")));
  CHECK(is_apart(view("%at = mul %w, %ld")));
  CHECK(is_apart(view("%s = mul %w, %eight : i64\n %at = mul %s, %two", "%two")));
  CHECK(is_apart(view("%s = mul %w, %ld : i64\n %at = mul %s, %eight", "%ld")));
}

TEST_CASE("stores_apart: tiles that overlap") {
  CHECK_FALSE(is_apart(view("%at = mul %eight, %one")));
  CHECK_FALSE(is_apart(view("%at = mul %w, %two")));
  CHECK_FALSE(is_apart(view("%at = mul %w, %eight", "%two")));
  CHECK_FALSE(is_apart(view("%at = mul %w, %ld", "%ld")));
  CHECK_FALSE(is_apart(view("%s = mul %w, %w : i64\n %at = mul %s, %eight")));
  CHECK_FALSE(is_apart(view("%s = rem %w, %two : i64\n %at = mul %s, %eight")));
}

TEST_CASE("stores_apart: collapsed loops") {
  const std::string parts = R"(%S.wide = cast %S : i64
      %q = udiv %t, %S : i32
      %q.wide = cast %q : i64
      %r = urem %t, %S : i32
      %r.wide = cast %r : i64
      )";
  auto sum = [&](const std::string &row, const std::string &column) {
    return view(parts + "%a = mul %q.wide, " + row + " : i64\n %b = mul %r.wide, " + column +
                " : i64\n %at = add %a, %b");
  };
  CHECK(is_apart(sum("%ld", "%eight")));
  CHECK(is_apart(sum("%eight", "%ld")));
  CHECK_FALSE(is_apart(sum("%ld", "%two")));      // the tiles of a row overlap
  CHECK_FALSE(is_apart(sum("%eight", "%eight"))); // row 1 starts inside row 0
  CHECK_FALSE(is_apart(sum("%ld", "%ld")));
  CHECK_FALSE(is_apart(view(parts + "%at = mul %q.wide, %ld"))); // each tile of a row is the same
  CHECK_FALSE(is_apart(view(parts + "%at = mul %r.wide, %eight")));
}

TEST_CASE("stores_apart: pixels") {
  CHECK(is_apart(pixels()));
  CHECK_FALSE(is_apart(pixels("%S")));
  CHECK_FALSE(is_apart(pixels("%eight.short", "%eight", "%i"))); // the rows are not those of %u
}

TEST_CASE("stores_apart: pixels whose rows may overlap") {
  // Rows at the distance of their length are one row. Constants could overlap.
  const std::string constant = "%S.wide = cast %S : i64\n %distance = mul %one, %two : i64";
  std::string text = pixels();
  const std::string from = "%S.wide = cast %S : i64\n      %distance = mul %S.wide, %C : i64";
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), constant);
  CHECK(is_apart(text) == false);
}
