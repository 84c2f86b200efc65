// Tests analysis/narrow_accesses.cpp.

#include "analysis/narrow_accesses.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// Row `row` of x, with the leading dimension ldx, is %vx : view<f16>[64]; that of y is %vy. %m masks
// the columns from n on. With `loop`, the operations run in a loop over blocks of 64 columns.
Function function(const std::string &operations, bool loop = false,
                  const std::string &x = "%x: ptr<f16>") {
  std::string rows = R"(
      %row = cast %pid : i64
      %one = constant {value = 1} : i64
      %wx = cast %ldx : i64
      %wy = cast %ldy : i64
      %ox = mul %wx, %row : i64
      %oy = mul %wy, %row : i64
      %block = constant {value = 64} : i64
      %i = range {start = 0} : i32[64]
      %width = constant {value = 64} : i32
      )",
              views = R"(
      %t64 = cast %t : i64
      %first = mul %block, %t64 : i64
      %px = add %ox, %first : i64
      %py = add %oy, %first : i64
      %vx = view %x, %px, %one : view<f16>[64]
      %vy = view %y, %py, %one : view<f16>[64]
      %done = mul %t, %width : i32
      %left = sub %n, %done : i32
      %limit = splat %left : i32[64]
      %m = cmp %i, %limit {pred = "lt"} : i1[64]
      )";
  std::string body = loop ? "for_loop %count {\n(%t: i32)\n" + views + operations + "\nyield\n}"
                          : "%t = constant {value = 0} : i32\n" + views + operations;
  return parsed("func @f(" + x +
                ", %y: ptr<f16>, %f: ptr<f32>, %n: i32, %ldx: i32, %ldy: i32 multiple_of 8, "
                "%count: i32) {\n%pid = program_id {axis = 0} : i32\n" +
                rows + body + "\nreturn\n}");
}

std::string divisors(Function fn) {
  std::string before = printed(fn), text;
  for (const Divisor &one : widening_divisors(fn))
    text += (text.empty() ? "" : ", ") + one.parameter + " % " + std::to_string(one.number);
  CHECK(printed(fn) == before);
  return text;
}

} // namespace

TEST_CASE("widening_divisors: leading dimension, limit of the mask, and alignment") {
  const char *copy = "%e = load %vx : f16[64]\n store %vy, %e";
  const char *masked = "%e = load %vx, %m : f16[64]\n store %vy, %e, %m";
  CHECK(divisors(function(copy)) == "ldx % 8");
  CHECK(divisors(function(masked)) == "ldx % 8, n % 8");
  CHECK(divisors(function(masked, true)) == "ldx % 8, n % 8");
  CHECK(divisors(function(copy, false, "%x: ptr<f16> aligned 2")) == "x % 16, ldx % 8");
}

TEST_CASE("widening_divisors: of the factors of a product, the first parameter") {
  const std::string product = "%wn = cast %n : i64\n %o = mul %ox, %wn : i64\n"
                              "%v = view %x, %o, %one : view<f16>[64]\n %e = load %v : f16[64]\n";
  CHECK(divisors(function(product + "store %vy, %e")) == "n % 8");
  // ldx alone makes all accesses wide.
  CHECK(divisors(function(product + "%g = load %vx : f16[64]\n store %vy, %e\n store %vy, %g")) ==
        "ldx % 8");
}

TEST_CASE("widening_divisors: none if the accesses are wide, or cannot be") {
  CHECK(divisors(function("%e = load %vy : f16[64]\n store %vy, %e")) == "");
  CHECK(divisors(function("%v = view %x, %one, %one : view<f16>[64]\n %e = load %v : f16[64]\n"
                          "store %vy, %e")) == "");
  CHECK(divisors(function("%v = view %x, %ox, %wx : view<f16>[64]\n %e = load %v : f16[64]\n"
                          "store %vy, %e")) == "");
  CHECK(divisors(function("")) == "");
}

TEST_CASE("widening_divisors: none if few bytes become wider") {
  // One row, beside 16 loads of y in a loop.
  std::string loads = "%e = load %vx : f16[64]\n for_loop %count {\n(%u: i32)\n"
                      "%g = load %vy : f16[64]\n store %vy, %g\n yield\n}\n store %vx, %e";
  CHECK(divisors(function(loads)) == "");
  // An access of a sixteenth of the bytes or more counts, but not alone.
  std::string more = "%e = load %vx : f16[64]\n %g = load %vy : f16[64]\n %h = load %vy : f16[64]\n"
                     "store %vy, %e\n store %vy, %g\n store %vy, %h";
  CHECK(divisors(function(more)) == "");
  CHECK(divisors(function("%e = load %vx : f16[64]\n store %vx, %e\n"
                          "%g = load %vy : f16[64]\n store %vy, %g")) == "ldx % 8");
}

TEST_CASE("widening_divisors: the largest number of a parameter") {
  // float needs multiples of 4, half multiples of 8.
  CHECK(divisors(function("%vf = view %f, %ox, %one : view<f32>[64]\n %e = load %vf : f32[64]\n"
                          "store %vf, %e")) == "ldx % 4");
  CHECK(divisors(function("%vf = view %f, %ox, %one : view<f32>[64]\n %e = load %vf : f32[64]\n"
                          "store %vf, %e\n %g = load %vx : f16[64]\n store %vy, %g")) == "ldx % 8");
}

TEST_CASE("widening_divisors: the size of images that an index tile divides by") {
  // Element j = 64 * pid + i of images of n elements, ldx elements apart.
  auto images = [](const std::string &mask, const std::string &operands,
                   const std::string &divided = "%j") {
    return divisors(function(R"(
      %c64 = constant {value = 64} : i32
      %start = mul %pid, %c64 : i32
      %Start = splat %start : i32[64]
      %j = add %Start, %i : i32[64]
      %Count = splat %count : i32[64]
      %unknown = add %Count, %i : i32[64]
      %S = splat %n : i32[64]
      %L = splat %ldx : i32[64]
      %image = div )" + divided +
                             R"(, %S : i32[64]
      %pixel = rem )" + divided +
                             R"(, %S : i32[64]
      %offset = mul %image, %L : i32[64]
      %at = add %offset, %pixel : i32[64]
      %X = splat %x : ptr<f16>[64]
      %Y = splat %y : ptr<f16>[64]
      %from = addptr %X, %at : ptr<f16>[64]
      %to = addptr %Y, %at : ptr<f16>[64]
      )" + mask + "\n%e = load %from" +
                             operands + " : f16[64]\n store %to, %e" + operands));
  };
  CHECK(images("", "") == "n % 8, ldx % 8");
  const std::string mask = "%inside = cmp %j, %Count {pred = \"lt\"} : i1[64]";
  CHECK(images(mask, ", %inside") == "n % 8, ldx % 8, count % 8");
  // No assumption helps: the dividend may be negative, or the mask changes inside a group.
  CHECK(images("", "", "%unknown") == "");
  CHECK(images("%inside = cmp %j, %Count {pred = \"le\"} : i1[64]", ", %inside") == "");
}

TEST_CASE("widening_divisors: TMA copies the operands of a matmul, unless one has pointers") {
  // A has rows of n elements; or images of `count` equal rows, which are ldx elements apart.
  auto matmul = [](const std::string &a) {
    return divisors(parsed(R"(
    func @f(%x: ptr<f16>, %y: ptr<f16>, %f: ptr<f32>, %count: i32, %n: i32, %ldx: i32) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %c64 = constant {value = 64} : i64
      %wide = cast %n : i64
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %i = range {start = 0} : i32[64]
      %C = splat %count : i32[64]
      %L = splat %ldx : i32[64]
      %image = div %i, %C : i32[64]
      %offset = mul %image, %L : i32[64]
      %ex = expand %offset {axis = 1} : i32[64,1]
      %rows = broadcast %ex : i32[64,64]
      %cx = expand %i {axis = 0} : i32[1,64]
      %columns = broadcast %cx : i32[64,64]
      %at = add %rows, %columns : i32[64,64]
      %X = splat %x : ptr<f16>[64,64]
      %sum = for_loop %count, %start : f32[64,64] {
        (%t: i32, %acc: f32[64,64])
        %t64 = cast %t : i64
        %k = mul %t64, %c64 : i64
        %down = mul %k, %wide : i64
        %T = splat %k : i64[64,64]
        %first = addptr %X, %at : ptr<f16>[64,64]
        %images = addptr %first, %T : ptr<f16>[64,64]
        %view = view %x, %k, %wide, %one : view<f16>[64,64]
        %vb = view %y, %down, %wide, %one : view<f16>[64,64]
        %a = load )" + a + R"( : f16[64,64]
        %b = load %vb : f16[64,64]
        %next = dot %a, %b, %acc : f32[64,64]
        yield %next
      }
      %out = view %f, %zero, %c64, %one : view<f32>[64,64]
      store %out, %sum
      return
    })"));
  };
  CHECK(matmul("%view") == "");
  CHECK(matmul("%images") == "ldx % 8, n % 8");
}

TEST_CASE("parameters_that_widen: only what may be assumed") {
  Function fn =
      function("%e = load %vx, %m : f16[64]\n store %vy, %e", false, "%x: ptr<f16> aligned 2");
  const Op *load = value_named(fn, "e")->op;
  auto names = [&](int64_t elements, Assumable assumable) {
    std::string text;
    for (const Parameter *one : parameters_that_widen(*load, elements, assumable, fn))
      text += one->name + " ";
    return text;
  };
  CHECK(names(8, Assumable::all) == "x ldx n ");
  CHECK(names(8, Assumable::address) == ""); // neither the mask nor the pointer
  CHECK(names(1, Assumable::all) == "");     // it is as wide as that
  WidestAccess widest = widest_access(*load, fn);
  CHECK(widest.axis == 0);
  CHECK(widest.elements == 8);
}

TEST_CASE("widening_divisors: the result of a matmul that TMA loads") {
  // C has n columns. All rows are lda elements apart.
  auto matmul = [](const std::string &c, const std::string &mask = ", %on",
                   const std::string &lda = "multiple_of 8") {
    return divisors(parsed("func @f(%x: ptr<f16>, %y: ptr<f16>, %c: " + c +
                           ", %count: i32, %n: i32, %lda: i32 " + lda + R"() {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %c64 = constant {value = 64} : i64
      %wide = cast %lda : i64
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %i = range {start = 0} : i32[64]
      %ex = expand %i {axis = 0} : i32[1,64]
      %columns = broadcast %ex : i32[64,64]
      %limit = splat %n : i32[64,64]
      %on = cmp %columns, %limit {pred = "lt"} : i1[64,64]
      %sum = for_loop %count, %start : f32[64,64] {
        (%t: i32, %acc: f32[64,64])
        %t64 = cast %t : i64
        %k = mul %t64, %c64 : i64
        %down = mul %k, %wide : i64
        %va = view %x, %k, %wide, %one : view<f16>[64,64]
        %vb = view %y, %down, %wide, %one : view<f16>[64,64]
        %a = load %va : f16[64,64]
        %b = load %vb, %on : f16[64,64]
        %next = dot %a, %b, %acc : f32[64,64]
        yield %next
      }
      %half = cast %sum : f16[64,64]
      %out = view %c, %zero, %wide, %one : view<f16>[64,64]
      store %out, %half)" + mask +
                           "\nreturn\n}"));
  };
  CHECK(matmul("ptr<f16>") == "n % 8");
  CHECK(matmul("ptr<f16>", ", %on", "") == "lda % 8, n % 8");
  // The store is wide, and TMA loads masked tiles.
  CHECK(matmul("ptr<f16>", "") == "");
  // The source declares that C may start anywhere.
  CHECK(matmul("ptr<f16> aligned 2") == "");
}

TEST_CASE("widening_divisors: the result of two dots that share A") {
  // C has n columns. The rows of A, B and D are lda elements apart, those of C are ldc.
  auto dots = [](const std::string &c) {
    return divisors(parsed("func @f(%x: ptr<f16>, %y: ptr<f16>, %z: ptr<f16>, %c: " + c +
                           R"(, %count: i32, %n: i32, %lda: i32, %ldc: i32) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %c64 = constant {value = 64} : i64
      %wide = cast %lda : i64
      %wide.c = cast %ldc : i64
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %i = range {start = 0} : i32[64]
      %ex = expand %i {axis = 0} : i32[1,64]
      %columns = broadcast %ex : i32[64,64]
      %limit = splat %n : i32[64,64]
      %on = cmp %columns, %limit {pred = "lt"} : i1[64,64]
      %sum, %sum2 = for_loop %count, %start, %start : f32[64,64], f32[64,64] {
        (%t: i32, %acc: f32[64,64], %acc2: f32[64,64])
        %t64 = cast %t : i64
        %k = mul %t64, %c64 : i64
        %down = mul %k, %wide : i64
        %va = view %x, %k, %wide, %one : view<f16>[64,64]
        %vb = view %y, %down, %wide, %one : view<f16>[64,64]
        %vd = view %z, %down, %wide, %one : view<f16>[64,64]
        %a = load %va : f16[64,64]
        %b = load %vb, %on : f16[64,64]
        %d = load %vd, %on : f16[64,64]
        %next = dot %a, %b, %acc : f32[64,64]
        %next2 = dot %a, %d, %acc2 : f32[64,64]
        yield %next, %next2
      }
      %both = mul %sum, %sum2 : f32[64,64]
      %half = cast %both : f16[64,64]
      %out = view %c, %zero, %wide.c, %one : view<f16>[64,64]
      store %out, %half, %on
      return
    })"));
  };
  // The loads of the loop have 48 times the bytes of the store, but TMA copies them.
  CHECK(dots("ptr<f16>") == "lda % 8, n % 8, ldc % 8");
  CHECK(dots("ptr<f16> aligned 2") == "lda % 8, n % 8, c % 16, ldc % 8");
}
