// Tests passes/form_views.cpp.

#include "passes/form_views.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

void form(ir::Function &fn) {
  form_views(fn);
  remove_dead_code(fn);
}

} // namespace

TEST_CASE("form_views: affine pointers become base, offset and strides") {
  CHECK(after(form, R"(
    func @f(%A: ptr<f16>, %lda: i32, %c: i1) {
      %pm = program_id {axis = 0} : i32
      %c64 = constant {value = 64} : i32
      %start = mul %pm, %c64 : i32
      %starts = splat %start : i32[64]
      %i = range {start = 0} : i32[64]
      %rm = add %starts, %i : i32[64]
      %column = expand %rm {axis = 1} : i32[64,1]
      %ldas = splat %lda : i32[64,1]
      %rows = mul %column, %ldas : i32[64,1]
      %all = broadcast %rows : i32[64,32]
      %j = range {start = 0} : i32[32]
      %row = expand %j {axis = 0} : i32[1,32]
      %columns = broadcast %row : i32[64,32]
      %As = splat %A : ptr<f16>[64,32]
      %p0 = addptr %As, %all : ptr<f16>[64,32]
      %p = addptr %p0, %columns : ptr<f16>[64,32]
      %a = load %p, %c : f16[64,32]
      store %p, %a
      return
    })") == text(R"(
    func @f(%A: ptr<f16>, %lda: i32, %c: i1) {
      %pm = program_id {axis = 0} : i32
      %0 = constant {value = 64} : i64
      %1 = cast %lda : i64
      %2 = mul %0, %1 : i64
      %3 = cast %pm : i64
      %4 = mul %2, %3 : i64
      %5 = cast %lda : i64
      %6 = constant {value = 1} : i64
      %7 = view %A, %4, %5, %6 : view<f16>[64,32]
      %a = load %7, %c : f16[64,32]
      %8 = constant {value = 64} : i64
      %9 = cast %lda : i64
      %10 = mul %8, %9 : i64
      %11 = cast %pm : i64
      %12 = mul %10, %11 : i64
      %13 = cast %lda : i64
      %14 = constant {value = 1} : i64
      %15 = view %A, %12, %13, %14 : view<f16>[64,32]
      store %15, %a
      return
    })"));
}

TEST_CASE("form_views: axis of one element has stride 0") {
  CHECK(after(form, R"(
    func @f(%A: ptr<f16>, %x: f16[1]) {
      %i = range {start = 3} : i32[1]
      %As = splat %A : ptr<f16>[1]
      %p = addptr %As, %i : ptr<f16>[1]
      store %p, %x
      return
    })") == text(R"(
    func @f(%A: ptr<f16>, %x: f16[1]) {
      %0 = constant {value = 3} : i64
      %1 = constant {value = 0} : i64
      %2 = view %A, %0, %1 : view<f16>[1]
      store %2, %x
      return
    })"));
}

TEST_CASE("form_views: does nothing to gathers, scatters and scalars") {
  const std::string programs[] = {
      R"(func @f(%A: ptr<f16>, %I: i32[8]) {
        %As = splat %A : ptr<f16>[8]
        %p = addptr %As, %I : ptr<f16>[8]
        %a = load %p : f16[8]
        store %p, %a
        return
      })",
      R"(func @f(%A: ptr<f16>, %B: ptr<f16>) {
        %a = load %A : f16
        store %B, %a
        return
      })",
      R"(func @f(%A: ptr<f16>, %n: i32, %x: f16[8]) {
        %i = range {start = 0} : i32[8]
        %ns = splat %n : i32[8]
        %j = rem %i, %ns : i32[8]
        %As = splat %A : ptr<f16>[8]
        %p = addptr %As, %j : ptr<f16>[8]
        store %p, %x
        return
      })",
  };
  for (const std::string &program : programs)
    CHECK(after(form_views, program) == text(program));
}

TEST_CASE("form_views: does nothing to an existing view") {
  const std::string program = R"(
    func @f(%A: ptr<f16>, %s: i64, %x: f16[8]) {
      %v = view %A, %s, %s : view<f16>[8]
      store %v, %x
      return
    })";
  CHECK(after(form_views, program) == text(program));
}
