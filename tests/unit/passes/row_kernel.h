// Kernels in tile IR that compute one row per program, as the first passes leave them.

#pragma once

#include "ir/types.h"

#include <string>
#include <vector>

namespace tritonc::test {

/// A kernel with `operations`. Each program has a row of 32 elements. The operations may use:
///
///     %v, %x        the row of the program in A, and its elements; they start at index %f
///     %s            the sum of the row
///     %w            the row of the program in C
///     %to, %to.int  the element of the program in C and in D
///     %label        the program's element of L
///     %same         the first row of A, for all programs
///     %p, %p.wide   the index of the program
///     %i            0 to 31
inline std::string row_kernel(const std::string &operations) {
  return R"(
    func @f(%A: ptr<f32>, %C: ptr<f32>, %L: ptr<i32>, %D: ptr<i32>, %n: i32, %odd: i1, %ld: i64) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %none = constant {number = 0.0} : f32
      %two = constant {value = 2} : i32
      %p = program_id {axis = 0} : i32
      %p.wide = cast %p : i64
      %f = mul %p.wide, %ld : i64
      %i = range {start = 0} : i32[32]
      %v = view %A, %f, %one : view<f32>[32]
      %x = load %v : f32[32]
      %s = reduce %x {axis = 0, op = "add"} : f32
      %w = view %C, %f, %one : view<f32>[32]
      %to = addptr %C, %p : ptr<f32>
      %to.int = addptr %D, %p : ptr<i32>
      %label.at = addptr %L, %p : ptr<i32>
      %label = load %label.at : i32
      %same.v = view %A, %zero, %one : view<f32>[32]
      %same = load %same.v : f32[32]
      )" +
         operations + "\n return\n}";
}

/// Operations for row_kernel that use all kinds of operations which batch_programs supports.
/// `shape` is the shape of %y if a block runs four programs.
struct RowOperations {
  std::string text;
  ir::Shape shape;
};

inline std::vector<RowOperations> row_operations() {
  return {
      {"%y = splat %s : f32[32]\n store %w, %y", {4, 32}},
      {"%y = neg %s : f32\n store %to, %y", {4}},
      {"%y = expand %x {axis = 0} : f32[1,32]\n %r = reduce %y {axis = 0, op = \"add\"} : f32[32]\n"
       "store %w, %r",
       {4, 1, 32}},
      {"%e = expand %x {axis = 1} : f32[32,1]\n %y = broadcast %e : f32[32,8]\n"
       "%r = reduce %y {axis = 1, op = \"add\"} : f32[32]\n store %w, %r",
       {4, 32, 8}},
      {"%r = reshape %x : f32[8,4]\n %y = trans %r {perm = [1,0]} : f32[4,8]\n"
       "%t = reduce %y {axis = 1, op = \"add\"} : f32[4]\n"
       "%u = reduce %t {axis = 0, op = \"add\"} : f32\n store %to, %u",
       {4, 4, 8}},
      {"%y = reshape %x : f32[2,4,4]\n %r = reshape %y : f32[32]\n store %w, %r", {4, 2, 4, 4}},
      {"%r = reshape %x : f32[8,4]\n %y = reduce %r {axis = 0, op = \"max\"} : f32[4]\n"
       "%t = reduce %y {axis = 0, op = \"add\"} : f32\n store %to, %t",
       {4, 4}},
      {"%y = scan %x {axis = 0, op = \"add\"} : f32[32]\n store %w, %y", {4, 32}},
      {"%y = gather %x, %i {axis = 0} : f32[32]\n store %w, %y", {4, 32}},
      {"%ls = splat %label : i32[32]\n"
       "%y = gather %same, %ls {axis = 0} : f32[32]\n store %w, %y",
       {4, 32}},
      {"%y = fma %x, %same, %x : f32[32]\n store %w, %y", {4, 32}},
      {"%b = cmp %x, %same {pred = \"lt\"} : i1[32]\n %y = select %b, %x, %same : f32[32]\n"
       "store %w, %y",
       {4, 32}},
      {"%b = cmp %s, %none {pred = \"lt\"} : i1\n %y = select %b, %same, %x : f32[32]\n"
       "store %w, %y",
       {4, 32}},
      {"%b = cmp %s, %none {pred = \"lt\"} : i1\n %y = select %b, %s, %none : f32\n store %to, %y",
       {4}},
      {"%y = select %odd, %x, %same : f32[32]\n store %w, %y", {4, 32}},
      // The mask and the value where it is off are the same for all programs.
      {"%y = load %v, %odd, %same : f32[32]\n store %w, %y, %odd", {4, 32}},
      {"%limit = splat %n : i32[32]\n %on = cmp %i, %limit {pred = \"ne\"} : i1[32]\n"
       "%y = load %v, %on : f32[32]\n store %w, %y, %on",
       {4, 32}},
      // The index of the program, and indices of elements, are data.
      {"%q = add %p, %n : i32\n %y = shl %q, %two : i32\n store %to.int, %y", {4}},
      {"%y = shl %p, %two : i32\n store %to.int, %y", {4}},
      {"%y = cast %p : f32\n store %to, %y", {4}},
      {"%ps = splat %p : i32[32]\n %j = add %ps, %i : i32[32]\n %y = cast %j : f32[32]\n"
       "store %w, %y",
       {4, 32}},
      {"%q = mul %p, %p : i32\n %y = rem %q, %n : i32\n store %to.int, %y", {4}},
  };
}

} // namespace tritonc::test
