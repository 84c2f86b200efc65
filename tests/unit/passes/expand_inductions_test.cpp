// Tests passes/expand_inductions.cpp.

#include "passes/expand_inductions.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

void closed(ir::Function &fn) {
  expand_inductions(fn);
  remove_dead_code(fn);
}

// A loop that carries %v of `type`, runs `body`, and yields %next.
std::string program(const std::string &type, const std::string &start, const std::string &body,
                    const std::string &behind = "") {
  return R"(
    func @f(%n: i32, %p: ptr<f32>, %out: ptr<i32>, %outp: ptr<i64>, %step: i32, %wide: i64) {
      %c16 = constant {value = 16} : i32
      %one = constant {number = 1.0} : f32
      %i = range {start = 0} : i32[8]
      %ps = splat %p : ptr<f32>[8]
      %pi = addptr %ps, %i : ptr<f32>[8]
      %r = for_loop %n, )" +
         start + " : " + type + R"( {
        (%t: i32, %v: )" +
         type + R"()
        )" +
         body + R"(
        yield %next
      }
      )" +
         behind + R"(
      return
    })";
}

void unchanged(const std::string &text_before) {
  CAPTURE(text_before);
  CHECK(after(expand_inductions, text_before) == text(text_before));
}

} // namespace

TEST_CASE("expand_inductions: integer becomes start + counter * step") {
  CHECK(after(closed, program("i32", "%c16", "store %out, %v\n %next = add %v, %step : i32")) ==
        text(R"(
    func @f(%n: i32, %p: ptr<f32>, %out: ptr<i32>, %outp: ptr<i64>, %step: i32, %wide: i64) {
      %c16 = constant {value = 16} : i32
      for_loop %n {
        (%t: i32)
        %0 = mul %t, %step : i32
        %v = add %c16, %0 : i32
        store %out, %v
        yield
      }
      return
    })"));
}

TEST_CASE("expand_inductions: handles sub, and add in either operand order") {
  CHECK(after(closed, program("i32", "%n", "store %out, %v\n %next = sub %v, %c16 : i32"))
            .find("%v = sub %n, %0 : i32") != std::string::npos);
  CHECK(after(closed, program("i32", "%n", "store %out, %v\n %next = add %c16, %v : i32"))
            .find("%v = add %n, %0 : i32") != std::string::npos);
}

TEST_CASE("expand_inductions: adds up several steps") {
  CHECK(after(closed, program("i32", "%c16", R"(
    store %out, %v
    %a = add %v, %step : i32
    %b = sub %a, %n : i32
    %next = add %b, %step : i32)")) == text(R"(
    func @f(%n: i32, %p: ptr<f32>, %out: ptr<i32>, %outp: ptr<i64>, %step: i32, %wide: i64) {
      %c16 = constant {value = 16} : i32
      for_loop %n {
        (%t: i32)
        %0 = mul %t, %step : i32
        %1 = add %c16, %0 : i32
        %2 = mul %t, %n : i32
        %3 = sub %1, %2 : i32
        %4 = mul %t, %step : i32
        %v = add %3, %4 : i32
        store %out, %v
        yield
      }
      return
    })"));
}

TEST_CASE("expand_inductions: pointer tile gets a 64-bit offset") {
  CHECK(after(closed, program("ptr<f32>[8]", "%pi", R"(
    %a = load %v : f32[8]
    store %pi, %a
    %c4 = constant {value = 4} : i32
    %d = mul %c4, %step : i32
    %ds = splat %d : i32[8]
    %next = addptr %v, %ds : ptr<f32>[8])")) == text(R"(
    func @f(%n: i32, %p: ptr<f32>, %out: ptr<i32>, %outp: ptr<i64>, %step: i32, %wide: i64) {
      %i = range {start = 0} : i32[8]
      %ps = splat %p : ptr<f32>[8]
      %pi = addptr %ps, %i : ptr<f32>[8]
      for_loop %n {
        (%t: i32)
        %c4 = constant {value = 4} : i32
        %d = mul %c4, %step : i32
        %ds = splat %d : i32[8]
        %0 = cast %ds : i64[8]
        %1 = cast %t : i64
        %2 = splat %1 : i64[8]
        %3 = mul %2, %0 : i64[8]
        %v = addptr %pi, %3 : ptr<f32>[8]
        %a = load %v : f32[8]
        store %pi, %a
        yield
      }
      return
    })"));
}

TEST_CASE("expand_inductions: value after the loop uses the iteration count") {
  CHECK(after(closed, program("i64", "%wide", "%next = add %v, %wide : i64", "store %outp, %r")) ==
        text(R"(
    func @f(%n: i32, %p: ptr<f32>, %out: ptr<i32>, %outp: ptr<i64>, %step: i32, %wide: i64) {
      %0 = cast %n : i64
      %1 = mul %0, %wide : i64
      %2 = add %wide, %1 : i64
      store %outp, %2
      return
    })"));
}

TEST_CASE("expand_inductions: handles a tile of indices") {
  std::string result = after(closed, program("i32[8]", "%i", R"(
    %q = addptr %ps, %v : ptr<f32>[8]
    %a = load %q : f32[8]
    store %pi, %a
    %ds = splat %step : i32[8]
    %next = add %v, %ds : i32[8])"));
  CHECK(result.find("for_loop %n {") != std::string::npos);
  CHECK(result.find("%v = add %i, %") != std::string::npos);
}

TEST_CASE("expand_inductions: inner step may depend on the outer counter") {
  std::string result = after(closed, R"(
    func @f(%n: i32, %out: ptr<i32>) {
      for_loop %n {
        (%t: i32)
        %r = for_loop %n, %n : i32 {
          (%u: i32, %v: i32)
          store %out, %v
          %next = add %v, %t : i32
          yield %next
        }
        yield
      }
      return
    })");
  CHECK(result.find("%0 = mul %u, %t : i32") != std::string::npos);
}

TEST_CASE("expand_inductions: does nothing if the step varies") {
  for (std::string body : {
           "%next = mul %v, %c16 : i32",
           "%next = add %v, %v : i32",
           "%next = add %v, %t : i32",
           "%next = sub %c16, %v : i32",
           "%l = load %out : i32\n %next = add %v, %l : i32",
           "%next = load %out : i32",
           "%next = xor %v, %c16 : i32",
       })
    unchanged(program("i32", "%n", "store %out, %v\n " + body));
}

TEST_CASE("expand_inductions: does nothing to a constant carried value") {
  unchanged(R"(
    func @f(%n: i32, %out: ptr<i32>) {
      %r = for_loop %n, %n : i32 {
        (%t: i32, %v: i32)
        store %out, %v
        yield %v
      }
      return
    })");
}

TEST_CASE("expand_inductions: does nothing to unsigned values, which may wrap") {
  unchanged(program("i32", "%c16", "store %out, %v\n %next = add %v, %step {unsigned = 1} : i32"));
}

TEST_CASE("expand_inductions: does nothing to floating-point sums") {
  unchanged(program("f32", "%one", "store %p, %v\n %next = add %v, %one : f32"));
}

TEST_CASE("expand_inductions: does nothing if two values swap") {
  unchanged(R"(
    func @f(%n: i32, %out: ptr<i32>) {
      %one = constant {value = 1} : i32
      %r, %s = for_loop %n, %n, %one : i32, i32 {
        (%t: i32, %v: i32, %w: i32)
        store %out, %v
        %next = add %w, %one : i32
        yield %next, %v
      }
      return
    })");
}

TEST_CASE("expand_inductions: does nothing to while loops") {
  unchanged(R"(
    func @f(%n: i32, %c: i1, %out: ptr<i32>) {
      %r = while_loop %n : i32 {
        (%v0: i32)
        condition %c
      } {
        (%v: i32)
        store %out, %v
        %next = add %v, %n : i32
        yield %next
      }
      return
    })");
}
