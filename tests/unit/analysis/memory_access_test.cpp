// Tests analysis/memory_access.cpp.

#include "analysis/memory_access.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// Scalars for offsets and strides, all i64.
Function function(const std::string &operations) {
  return parsed(R"(
    func @f(%h: ptr<f16>, %f: ptr<f32>, %d: ptr<f64>, %bytes: ptr<i8>, %h4: ptr<f16> aligned 4,
            %f24: ptr<f32> aligned 24, %p: i64, %n: i32, %n8: i32 multiple_of 8,
            %x2: i64 multiple_of 2, %x8: i64 multiple_of 8, %x24: i64 multiple_of 24) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %two = constant {value = 2} : i64
      )" + operations +
                "\n return\n}");
}

struct Access {
  std::optional<int> axis;
  int width;
  bool operator==(const Access &) const = default;
};

// Contiguous axis and width of %v, with mask %m if any.
Access access(const std::string &operations) {
  Function fn = function(operations);
  const Value *mask = operations.find("%m =") == std::string::npos ? nullptr : value_named(fn, "m");
  const Value *view = value_named(fn, "v");
  return {contiguous_axis(view, fn), vector_elements(view, mask, fn)};
}

} // namespace

TEST_CASE("DiffersByProgram: what is computed from the number of the program or block") {
  ir::Function fn = parsed(R"(
    func @f(%x: ptr<f32>, %n: i32) {
      %p = program_id {axis = 1} : i32
      %b = block_id {axis = 0} : i32
      %all = num_programs {axis = 0} : i32
      %at = add %all, %n : i32
      %row = mul %p, %at : i32
      %from = addptr %x, %row : ptr<f32>
      %to = addptr %x, %at : ptr<f32>
      return
    })");
  DiffersByProgram differs;
  for (const char *name : {"p", "b", "row", "from"})
    CHECK_MESSAGE(differs(value_named(fn, name)), std::string(name));
  for (const char *name : {"x", "n", "all", "at", "to"})
    CHECK_FALSE_MESSAGE(differs(value_named(fn, name)), std::string(name));
}

TEST_CASE("vector_elements: alignment of all parts limits the width") {
  struct {
    std::string operations;
    std::optional<int> axis;
    int width;
  } cases[] = {
      // At most 16 bytes.
      {"%v = view %h, %zero, %one : view<f16>[64]", 0, 8},
      {"%v = view %f, %zero, %one : view<f32>[64]", 0, 4},
      {"%v = view %d, %zero, %one : view<f64>[64]", 0, 2},
      {"%v = view %bytes, %zero, %one : view<i8>[64]", 0, 16},
      // The tile.
      {"%v = view %h, %zero, %one : view<f16>[4]", 0, 4},
      {"%v = view %h, %zero, %x8, %one : view<f16>[64,2]", 1, 2},
      // The offset.
      {"%v = view %h, %p, %one : view<f16>[64]", 0, 1},
      {"%v = view %h, %x2, %one : view<f16>[64]", 0, 2},
      {"%v = view %h, %x8, %one : view<f16>[64]", 0, 8},
      {"%v = view %h, %x24, %one : view<f16>[64]", 0, 8},
      {"%v = view %h, %two, %one : view<f16>[64]", 0, 2},
      {"%v = view %h, %one, %one : view<f16>[64]", 0, 1},
      // The base.
      {"%v = view %h4, %zero, %one : view<f16>[64]", 0, 2},
      {"%v = view %f24, %zero, %one : view<f32>[64]", 0, 2},
      {"%q = addptr %h, %n : ptr<f16>\n %v = view %q, %zero, %one : view<f16>[64]", 0, 1},
      // The strides of the other axes.
      {"%v = view %h, %zero, %x8, %one : view<f16>[64,64]", 1, 8},
      {"%v = view %h, %zero, %one, %x8 : view<f16>[64,64]", 0, 8},
      {"%v = view %h, %zero, %x2, %one : view<f16>[64,64]", 1, 2},
      {"%v = view %h, %zero, %p, %one : view<f16>[64,64]", 1, 1},
      {"%v = view %h, %zero, %p, %one : view<f16>[1,64]", 1, 8}, // an axis of one element
      {"%v = view %h, %zero, %zero, %one : view<f16>[64,64]", 1, 8},
      {"%v = view %h, %zero, %one, %one : view<f16>[64,64]", 1, 1},
      // No contiguous axis.
      {"%v = view %h, %zero, %two : view<f16>[64]", std::nullopt, 1},
      {"%v = view %h, %zero, %p, %x8 : view<f16>[64,64]", std::nullopt, 1},
      {"%v = view %h, %zero, %zero : view<f16>[64]", std::nullopt, 1},
      {"%v = view %h, %zero, %p, %one : view<f16>[64,1]", std::nullopt, 1},
  };
  for (const auto &[operations, axis, width] : cases) {
    CAPTURE(operations);
    Access found = access(operations);
    CHECK(found.axis == axis);
    CHECK(found.width == width);
  }
}

TEST_CASE("vector_elements: the groups of a quotient limit the width of pointers") {
  // Images of `size` elements, `stride` elements apart; element 64 * pid + i of all images.
  auto images =
      [](const std::string &size, const std::string &mask = "", const std::string &base = "%h",
         const std::string &elem = "f16", const std::string &divided = "%j") {
        return access(R"(
      %pid = program_id {axis = 0} : i32
      %c64 = constant {value = 64} : i32
      %first = mul %pid, %c64 : i32
      %First = splat %first : i32[64]
      %i = range {start = 0} : i32[64]
      %j = add %First, %i : i32[64]
      %S = splat )" + size +
                      R"( : i32[64]
      %N = splat %n : i32[64]
      %N8 = splat %n8 : i32[64]
      %unknown = add %N8, %i : i32[64]
      %image = div )" +
                      divided + R"(, %S : i32[64]
      %whole = mul %image, %S : i32[64]
      %pixel = sub )" +
                      divided + R"(, %whole : i32[64]
      %offset = mul %image, %N8 : i32[64]
      %at = add %offset, %pixel : i32[64]
      %base = splat )" +
                      base + " : ptr<" + elem + ">[64]\n %v = addptr %base, %at : ptr<" + elem +
                      ">[64]\n" + mask);
      };
  CHECK(images("%n8") == Access{0, 8});
  CHECK(images("%n8", "", "%f", "f32") == Access{0, 4});
  CHECK(images("%n8", "", "%bytes", "i8") == Access{0, 8});
  CHECK(images("%n8", "", "%h4") == Access{0, 2});
  // No group is known.
  CHECK(images("%n") == Access{std::nullopt, 1});
  CHECK(images("%n8", "", "%h", "f16", "%unknown") == Access{std::nullopt, 1}); // maybe negative
  // The mask is constant in a group, or it is not.
  CHECK(images("%n8", "%m = cmp %j, %N8 {pred = \"lt\"} : i1[64]") == Access{0, 8});
  CHECK(images("%n8", "%m = cmp %image, %N {pred = \"lt\"} : i1[64]") == Access{0, 8});
  CHECK(images("%n8", "%m = cmp %pixel, %N8 {pred = \"lt\"} : i1[64]") == Access{0, 8});
  CHECK(images("%n8", "%m = cmp %j, %N {pred = \"lt\"} : i1[64]") == Access{0, 1});
}

TEST_CASE("vector_elements: affine pointers are as wide as their view") {
  CHECK(access("%i = range {start = 0} : i32[64]\n %s = splat %h : ptr<f16>[64]\n"
               " %v = addptr %s, %i : ptr<f16>[64]") == Access{0, 8});
  CHECK(access("%i = range {start = 1} : i32[64]\n %s = splat %h : ptr<f16>[64]\n"
               " %v = addptr %s, %i : ptr<f16>[64]") == Access{0, 1});
}

TEST_CASE("vector_elements: mask limits the width") {
  // Rows and columns of a 16 x 64 tile.
  const std::string tile = R"(
    %v = view %h, %zero, %x8, %one : view<f16>[16,64]
    %i = range {start = 0} : i32[64]
    %r = range {start = 0} : i32[16]
    %ix = expand %i {axis = 0} : i32[1,64]
    %columns = broadcast %ix : i32[16,64]
    %rx = expand %r {axis = 1} : i32[16,1]
    %rows = broadcast %rx : i32[16,64]
    %N = splat %n : i32[16,64]
    %N8 = splat %n8 : i32[16,64]
    %c4 = constant {value = 4} : i32
    %C4 = splat %c4 : i32[16,64]
    )";
  struct {
    std::string mask;
    int width;
  } cases[] = {
      {"%m = cmp %columns, %N8 {pred = \"lt\"} : i1[16,64]", 8},
      {"%m = cmp %columns, %N8 {pred = \"ge\"} : i1[16,64]", 8},
      {"%m = cmp %N8, %columns {pred = \"gt\"} : i1[16,64]", 8},
      {"%m = cmp %N8, %columns {pred = \"le\"} : i1[16,64]", 8},
      {"%m = cmp %columns, %C4 {pred = \"lt\"} : i1[16,64]", 4},
      {"%m = cmp %columns, %N {pred = \"lt\"} : i1[16,64]", 1},
      // The mask changes one element after a multiple of 8.
      {"%m = cmp %columns, %N8 {pred = \"le\"} : i1[16,64]", 1},
      {"%m = cmp %columns, %N8 {pred = \"gt\"} : i1[16,64]", 1},
      {"%m = cmp %N8, %columns {pred = \"lt\"} : i1[16,64]", 1},
      {"%m = cmp %N8, %columns {pred = \"ge\"} : i1[16,64]", 1},
      {"%m = cmp %columns, %N8 {pred = \"eq\"} : i1[16,64]", 1},
      {"%m = cmp %columns, %N8 {pred = \"ne\"} : i1[16,64]", 1},
      {"%m = cmp %columns, %N8 {pred = \"ule\"} : i1[16,64]", 1},
      {"%m = cmp %columns, %N8 {pred = \"ult\"} : i1[16,64]", 8},
      {"%s = add %rows, %columns : i32[16,64]\n %m = cmp %s, %N8 {pred = \"ult\"} : i1[16,64]", 1},
      // in_bounds: the row limit does not matter.
      {"%w8 = cast %n8 : i64\n %w = cast %n : i64\n %m = in_bounds %w, %w8 : i1[16,64]", 8},
      {"%w8 = cast %n8 : i64\n %w = cast %n : i64\n %m = in_bounds %w8, %w : i1[16,64]", 1},
      {"%m = in_bounds %zero, %two : i1[16,64]", 2},
      {"%m = in_bounds %two, %zero : i1[16,64]", 8},
      // Row masks are constant along the columns.
      {"%m = cmp %rows, %N {pred = \"eq\"} : i1[16,64]", 8},
      {"%s = add %rows, %columns : i32[16,64]\n %m = cmp %s, %N8 {pred = \"lt\"} : i1[16,64]", 1},
      {"%t = mul %rows, %C4 : i32[16,64]\n %s = add %t, %columns : i32[16,64]\n"
       " %m = cmp %s, %N8 {pred = \"lt\"} : i1[16,64]",
       4},
      // Two indices per column: the change is not at a multiple.
      {"%s = add %columns, %columns : i32[16,64]\n %m = cmp %s, %N8 {pred = \"lt\"} : i1[16,64]",
       1},
      // In units of four columns.
      {"%u = udiv %columns, %C4 : i32[16,64]\n %m = cmp %u, %N {pred = \"lt\"} : i1[16,64]", 4},
      {"%u = udiv %columns, %N8 : i32[16,64]\n %m = cmp %u, %N {pred = \"lt\"} : i1[16,64]", 8},
      {"%u = udiv %columns, %N : i32[16,64]\n %m = cmp %u, %N {pred = \"lt\"} : i1[16,64]", 1},
      {"%s = add %rows, %columns : i32[16,64]\n %u = udiv %s, %C4 : i32[16,64]\n"
       " %m = cmp %u, %N {pred = \"lt\"} : i1[16,64]",
       1},
      {"%s = add %N, %columns : i32[16,64]\n %u = udiv %s, %C4 : i32[16,64]\n"
       " %m = cmp %u, %N {pred = \"lt\"} : i1[16,64]",
       1},
      // And, or.
      {"%a = cmp %rows, %N {pred = \"lt\"} : i1[16,64]\n"
       " %b = cmp %columns, %C4 {pred = \"lt\"} : i1[16,64]\n %m = and %a, %b : i1[16,64]",
       4},
      {"%a = cmp %rows, %N {pred = \"lt\"} : i1[16,64]\n"
       " %b = cmp %columns, %N {pred = \"lt\"} : i1[16,64]\n %m = or %a, %b : i1[16,64]",
       1},
      // Masks with fewer axes.
      {"%a = cmp %rx, %rx {pred = \"ne\"} : i1[16,1]\n %m = broadcast %a : i1[16,64]", 8},
      {"%c = constant {value = 2} : i32\n %C = splat %c : i32[64]\n"
       " %a = cmp %i, %C {pred = \"lt\"} : i1[64]\n %e = expand %a {axis = 0} : i1[1,64]\n"
       " %m = broadcast %e : i1[16,64]",
       2},
      {"%a = cmp %r, %r {pred = \"ne\"} : i1[16]\n %e = expand %a {axis = 1} : i1[16,1]\n"
       " %m = broadcast %e : i1[16,64]",
       8},
      // One value for the whole tile.
      {"%m = cmp %n, %n {pred = \"lt\"} : i1", 8},
      {"%a = cmp %n, %n {pred = \"lt\"} : i1\n %m = splat %a : i1[16,64]", 8},
      // Unknown.
      {"%l = load %v : f16[16,64]\n %m = cmp %l, %l {pred = \"eq\"} : i1[16,64]", 1},
  };
  for (const auto &[mask, width] : cases) {
    CAPTURE(mask);
    CHECK(access(tile + mask).width == width);
  }
}

TEST_CASE("contiguous_axis: of pointers, the axis with the longest groups") {
  auto axis = [](const std::string &first, const std::string &second) {
    return access("%i = range {start = 0} : i32[16]\n %S = splat %n8 : i32[16]\n"
                  " %c2 = constant {value = 2} : i32\n %C2 = splat %c2 : i32[16]\n"
                  " %eight = rem %i, %S : i32[16]\n %pair = rem %i, %C2 : i32[16]\n"
                  " %far = mul %eight, %S : i32[16]\n %rx = expand " +
                  first + " {axis = 1} : i32[16,1]\n %r = broadcast %rx : i32[16,16]\n" +
                  " %cx = expand " + second +
                  " {axis = 0} : i32[1,16]\n %c = broadcast %cx : i32[16,16]\n"
                  " %a = add %r, %c : i32[16,16]\n %s = splat %h : ptr<f16>[16,16]\n"
                  " %v = addptr %s, %a : ptr<f16>[16,16]")
        .axis;
  };
  CHECK(axis("%far", "%eight") == 1);
  CHECK(axis("%eight", "%far") == 0);
  CHECK(axis("%eight", "%pair") == 0);
  CHECK(axis("%pair", "%eight") == 1);
  CHECK(axis("%eight", "%eight") == 1);
  CHECK_FALSE(axis("%far", "%far"));
}

TEST_CASE("contiguous_axis: follows element-wise operations and trans") {
  Function fn = function(R"(
    %v = view %h, %zero, %x8, %one : view<f16>[16,64]
    %l = load %v : f16[16,64]
    %w = cast %l : f32[16,64]
    %t = trans %w {perm = [1,0]} : f32[64,16]
    %s = add %t, %t : f32[64,16]
    %u = trans %s {perm = [1,0]} : f32[16,64]
    %r = reduce %s {axis = 0, op = "add"} : f32[16]
    %e = expand %l {axis = 0} : f16[1,16,64])");
  CHECK(contiguous_axis(value_named(fn, "l"), fn) == 1);
  CHECK(contiguous_axis(value_named(fn, "w"), fn) == 1);
  CHECK(contiguous_axis(value_named(fn, "t"), fn) == 0);
  CHECK(contiguous_axis(value_named(fn, "s"), fn) == 0);
  CHECK(contiguous_axis(value_named(fn, "u"), fn) == 1);
  CHECK_FALSE(contiguous_axis(value_named(fn, "r"), fn));
  CHECK_FALSE(contiguous_axis(value_named(fn, "e"), fn));
  CHECK_FALSE(contiguous_axis(value_named(fn, "n"), fn));
}
