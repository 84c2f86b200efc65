// Tests analysis/affine.cpp.

#include "analysis/affine.h"
#include "ir/printer.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// For example "128*pm*lda + 3", with the names of the values.
std::string text_of(const Poly &poly) {
  std::string out;
  for (const auto &[monomial, coefficient] : poly.terms) {
    std::string term;
    for (const Value *factor : monomial)
      term += (term.empty() ? "" : "*") + factor->name;
    if (term.empty() || coefficient != 1)
      term = std::to_string(coefficient) + (term.empty() ? "" : "*" + term);
    out += (out.empty() ? "" : " + ") + term;
  }
  return out.empty() ? "0" : out;
}

// For example "A: 16*lda [lda, 1]": base (if any), offset, strides.
std::string text_of(const std::optional<Affine> &affine) {
  if (!affine)
    return "not affine";
  std::string out = affine->base ? affine->base->name + ": " : "";
  out += text_of(affine->offset) + " [";
  for (size_t d = 0; d < affine->strides.size(); d++)
    out += (d ? ", " : "") + text_of(affine->strides[d]);
  return out + "]";
}

Function function(const std::string &operations) {
  return parsed(R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %m: i32, %n: i32, %lda: i32 multiple_of 8,
            %k: i32 multiple_of 16, %u: i32 unsigned, %x: f32, %wide: i64, %idx: ptr<i32>) {
      %pm = program_id {axis = 0} : i32
      %one = constant {value = 1} : i32
      %c128 = constant {value = 128} : i32
      %i = range {start = 0} : i32[128]
      %j = range {start = 4} : i32[64]
      %row = expand %j {axis = 0} : i32[1,64]
      %column = expand %i {axis = 1} : i32[128,1]
      %rows = broadcast %row : i32[128,64]
      %columns = broadcast %column : i32[128,64]
      )" + operations +
                "\n return\n}");
}

// The affine form of %r.
std::string affine(const std::string &operations) {
  Function fn = function(operations);
  return text_of(affine_of(value_named(fn, "r")));
}

} // namespace

TEST_CASE("affine_of: scalars are polynomials") {
  struct {
    std::string operations, form;
  } cases[] = {
      {"%r = add %m, %n : i32", "m + n []"},
      {"%r = sub %m, %m : i32", "0 []"},
      {"%a = sub %u, %u {unsigned = 1} : i32\n %r = add %a, %one : i32", "1 + a []"},
      {"%a = add %m, %one : i32\n %b = sub %n, %c128 : i32\n %r = mul %a, %b : i32",
       "-128 + -128*m + m*n + n []"},
      {"%r = neg %m : i32", "-1*m []"},
      {"%a = mul %n, %m : i32\n %b = mul %m, %n : i32\n %r = sub %a, %b : i32", "0 []"},
      {"%a = cast %m : i64\n %r = add %a, %wide : i64", "m + wide []"},
      {"%a = no_hoist %m : i32\n %r = add %a, %n : i32", "m + n []"},
      {"%r = div %m, %n : i32", "r []"},             // opaque: a new symbol
      {"%r = cast %u {unsigned = 1} : i64", "r []"}, // not the value of a signed symbol
      {"%r = cast %wide : i32", "r []"},             // may lose bits
      {"%r = load %idx : i32", "r []"},
  };
  for (const auto &[operations, form] : cases) {
    CAPTURE(operations);
    Function fn = function(operations);
    CHECK(text_of(affine_of(value_named(fn, "r"))) == form);
  }
}

TEST_CASE("affine_of: a quotient and its remainder join") {
  const std::string parts = "%q = div %pm, %n : i32\n %s = rem %pm, %n : i32\n"
                            " %c4 = constant {value = 4} : i32\n"
                            " %a = mul %q, %lda : i32\n %b = mul %s, %lda : i32\n"
                            " %an = mul %a, %n : i32\n";
  struct {
    std::string operations, form;
  } cases[] = {
      {"%r = add %an, %b : i32", "lda*pm []"},
      {"%c = mul %q, %n : i32\n %d = add %s, %c : i32\n %r = mul %d, %lda : i32", "lda*pm []"},
      {"%c = add %an, %m : i32\n %r = add %c, %b : i32", "m + lda*pm []"},
      {"%e = addptr %A, %an : ptr<f16>\n %r = addptr %e, %b : ptr<f16>", "A: lda*pm []"},
      {"%e = splat %an : i32[128]\n %f = splat %b : i32[128]\n %g = add %e, %i : i32[128]\n"
       " %r = add %f, %g : i32[128]",
       "lda*pm [1]"},
      // Of another divisor, and of sums.
      {"%h = rem %q, %c4 : i32\n %l = div %q, %c4 : i32\n %o = mul %c4, %l : i32\n"
       " %z = add %o, %h : i32\n %c = mul %z, %n : i32\n %r = add %c, %s : i32",
       "pm []"},
      {"%e = add %pm, %one : i32\n %f = div %e, %n : i32\n %g = rem %e, %n : i32\n"
       " %c = mul %n, %f : i32\n %r = add %c, %g : i32",
       "1 + pm []"},
      // The distance of the groups is not that of the parts.
      {"%c = mul %q, %m : i32\n %r = add %c, %s : i32", "m*q + s []"},
      {"%h = rem %pm, %m : i32\n %c = mul %q, %n : i32\n %r = add %c, %h : i32", "n*q + h []"},
      {"%r = sub %an, %b : i32", "n*lda*q + -1*lda*s []"},
  };
  for (const auto &[operations, form] : cases) {
    CAPTURE(operations);
    CHECK(affine(parts + operations) == form);
  }
}

TEST_CASE("affine_of: index tiles have one stride per axis") {
  struct {
    std::string operations, form;
  } cases[] = {
      {"%r = range {start = -3} : i32[8]", "-3 [1]"},
      {"%r = splat %m : i32[8,4]", "m [0, 0]"},
      {"%a = splat %m : i32[128]\n %r = add %a, %i : i32[128]", "m [1]"},
      {"%a = splat %m : i32[128]\n %r = sub %a, %i : i32[128]", "m [-1]"},
      {"%a = splat %c128 : i32[128]\n %b = splat %pm : i32[128]\n %c = mul %a, %b : i32[128]\n"
       " %r = add %c, %i : i32[128]",
       "128*pm [1]"},
      {"%r = add %rows, %columns : i32[128,64]", "4 [1, 1]"},
      {"%a = splat %lda : i32[128,64]\n %b = mul %columns, %a : i32[128,64]\n"
       " %r = add %rows, %b : i32[128,64]",
       "4 [lda, 1]"},
      {"%a = splat %lda : i32[128,64]\n %b = mul %a, %rows : i32[128,64]\n"
       " %r = trans %b {perm = [1,0]} : i32[64,128]",
       "4*lda [lda, 0]"},
      {"%r = cast %i : i64[128]", "0 [1]"},
      {"%a = expand %i {axis = 0} : i32[1,128]\n %r = broadcast %a : i32[2,128]", "0 [0, 1]"},
      {"%a = range {start = 7} : i32[1]\n %r = broadcast %a : i32[4]", "7 [0]"},
  };
  for (const auto &[operations, form] : cases) {
    CAPTURE(operations);
    CHECK(affine(operations) == form);
  }
}

TEST_CASE("affine_of: pointer tiles have a base") {
  struct {
    std::string operations, form;
  } cases[] = {
      {"%r = addptr %A, %m : ptr<f16>", "A: m []"},
      {"%a = addptr %A, %m : ptr<f16>\n %b = splat %a : ptr<f16>[128]\n"
       " %r = addptr %b, %i : ptr<f16>[128]",
       "A: m [1]"},
      {"%a = splat %A : ptr<f16>[128,64]\n %b = addptr %a, %rows : ptr<f16>[128,64]\n"
       " %l = splat %lda : i32[128,64]\n %c = mul %columns, %l : i32[128,64]\n"
       " %r = addptr %b, %c : ptr<f16>[128,64]",
       "A: 4 [lda, 1]"},
      {"%s = cast %lda : i64\n %r = view %A, %wide, %s, %wide : view<f16>[4,8]",
       "A: wide [lda, wide]"},
      {"%p = select %less, %A, %B : ptr<f16>\n %a = splat %p : ptr<f16>[128]\n"
       " %r = addptr %a, %i : ptr<f16>[128]",
       "p: 0 [1]"},
  };
  for (auto &[operations, form] : cases) {
    CAPTURE(operations);
    CHECK(affine("%less = cmp %m, %n {pred = \"lt\"} : i1\n" + operations) == form);
  }
}

TEST_CASE("affine_of: other tiles are not affine") {
  for (const std::string operations : {
           "%r = mul %i, %i : i32[128]",
           "%a = splat %u : i32[128]\n %r = add %a, %i {unsigned = 1} : i32[128]",
           "%r = div %i, %i : i32[128]",
           "%a = splat %m : i32[128]\n %r = rem %i, %a : i32[128]",
           "%a = splat %u : i32[128]\n %b = add %a, %i : i32[128]\n"
           " %r = cast %b {unsigned = 1} : i64[128]",
           "%a = cast %i : i64[128]\n %r = cast %a : i32[128]",
           "%a = splat %A : ptr<f16>[128]\n %b = splat %B : ptr<f16>[128]\n"
           " %c = cmp %i, %i {pred = \"lt\"} : i1[128]\n %r = select %c, %a, %b : ptr<f16>[128]",
           "%a = splat %idx : ptr<i32>[128]\n %b = addptr %a, %i : ptr<i32>[128]\n"
           " %c = load %b : i32[128]\n %d = splat %A : ptr<f16>[128]\n"
           " %r = addptr %d, %c : ptr<f16>[128]",
           "%r = reshape %i : i32[16,8]",
           "%a = splat %x : f32[128]\n %r = add %a, %a : f32[128]",
           "%r = splat %x : f32[128]",
       }) {
    CAPTURE(operations);
    CHECK(affine(operations) == "not affine");
  }
}

TEST_CASE("affine_of: carried scalar is a symbol, carried tile is unknown") {
  Function fn = parsed(R"(
    func @f(%n: i32, %p: ptr<f16>) {
      %i = range {start = 0} : i32[8]
      %s, %v = for_loop %n, %n, %i : i32, i32[8] {
        (%t: i32, %a: i32, %b: i32[8])
        %c = add %a, %t : i32
        yield %c, %b
      }
      return
    })");
  CHECK(text_of(affine_of(value_named(fn, "c"))) == "t + a []");
  CHECK(text_of(affine_of(value_named(fn, "b"))) == "not affine");
}

TEST_CASE("affine_of: too large polynomial becomes a symbol") {
  std::string doubled = "%k0 = add %m, %n : i32\n", squared = doubled, tiles;
  for (int i = 0; i < 60; i++) {
    std::string last = "%k" + std::to_string(i), next = "%k" + std::to_string(i + 1);
    doubled += next + " = add " + last + ", " + last + " : i32\n";
    squared += next + " = mul " + last + ", " + last + " : i32\n";
  }
  Function sums = function(doubled + "%r = add %k60, %k0 : i32");
  CHECK(text_of(affine_of(value_named(sums, "r"))) ==
        "1152921504606846977*m + 1152921504606846977*n []");
  Function products = function(squared + "%r = splat %k60 : i32[8]");
  CHECK(affine_of(value_named(products, "r")));
  CHECK(poly_of(value_named(products, "k60")).terms.size() <= 32);
}

TEST_CASE("affine_of: polynomial has at most 32 terms and 8 factors") {
  // %r of `count` loaded numbers, each combined by `operation` with the result before it.
  auto combined = [](const std::string &operation, int count) {
    std::string operations = "%r1 = load %idx : i32\n";
    for (int i = 2; i <= count; i++) {
      std::string number = std::to_string(i);
      operations += "%x" + number + " = load %idx : i32\n%r" + number + " = " + operation + " %r" +
                    std::to_string(i - 1) + ", %x" + number + " : i32\n";
    }
    Function fn = function(operations);
    return text_of(poly_of(value_named(fn, "r" + std::to_string(count))));
  };
  CHECK(combined("add", 32).starts_with("r1 + x2 + x3 + "));
  CHECK(combined("add", 33) == "r33");
  CHECK(combined("mul", 8) == "r1*x2*x3*x4*x5*x6*x7*x8");
  CHECK(combined("mul", 9) == "r9");
}

TEST_CASE("affine_of: very long chains of additions end in a symbol") {
  auto sum_of = [](int additions) {
    Function fn = function("%r = add %m, %n : i32");
    Builder builder = Builder::before(fn, fn.body->terminator());
    Value *sum = value_named(fn, "m"), *one = builder.i32(1);
    for (int i = 0; i < additions; i++)
      sum = builder.add(sum, one);
    std::optional<Affine> form = affine_of(sum);
    REQUIRE(form);
    return form->offset.terms.at({});
  };
  CHECK(sum_of(900) == 900);
  CHECK(sum_of(200000) < 2000);
  // Tiles end without a form.
  Function fn = function("%r = add %m, %n : i32");
  Builder builder = Builder::before(fn, fn.body->terminator());
  Value *tile = builder.range(0, 16), *ones = builder.filled(tile->type, 1);
  for (int i = 0; i < 900; i++)
    tile = builder.add(tile, ones);
  CHECK(affine_of(tile));
  for (int i = 0; i < 200000; i++)
    tile = builder.add(tile, ones);
  CHECK_FALSE(affine_of(tile));
}

TEST_CASE("Poly: substitute replaces every occurrence") {
  Function fn = function("%r = add %m, %n : i32");
  Poly m = Poly::symbol(value_named(fn, "m")), n = Poly::symbol(value_named(fn, "n"));
  Poly poly = m * m * Poly::constant(3) + m * n + n;
  CHECK(text_of(poly.substitute(value_named(fn, "m"), n + Poly::constant(1))) == "3 + 8*n + 4*n*n");
  CHECK(poly.substitute(value_named(fn, "lda"), m) == poly);
  CHECK(text_of(poly.substitute(value_named(fn, "n"), Poly())) == "3*m*m");
  CHECK((m + n) * (m - n) == m * m - n * n);
  CHECK(((m + n) * (m - n)).terms.size() == 2);
}

TEST_CASE("Poly: as_constant returns nothing for symbols") {
  Function fn = function("%r = add %m, %n : i32");
  CHECK(Poly().as_constant() == 0);
  CHECK(Poly::constant(5).as_constant() == 5);
  CHECK(Poly::constant(0).is_zero());
  CHECK_FALSE(Poly::symbol(value_named(fn, "m")).as_constant());
  CHECK_FALSE((Poly::symbol(value_named(fn, "m")) + Poly::constant(1)).as_constant());
}

TEST_CASE("divisor_of: divides the polynomial for all symbol values") {
  Function fn = function("%r = add %m, %n : i32");
  auto symbol = [&](const char *name) { return Poly::symbol(value_named(fn, name)); };
  Poly m = symbol("m"), lda = symbol("lda"), k = symbol("k"), pm = symbol("pm");
  CHECK(divisor_of(Poly(), fn) == 0);
  CHECK(divisor_of(Poly::constant(-12), fn) == 12);
  CHECK(divisor_of(m, fn) == 1);
  CHECK(divisor_of(lda, fn) == 8);
  CHECK(divisor_of(lda * k, fn) == 128);
  CHECK(divisor_of(lda + k, fn) == 8);
  CHECK(divisor_of(lda * m + Poly::constant(4), fn) == 4);
  CHECK(divisor_of(pm * Poly::constant(128), fn) == 128);
  CHECK(divisor_of(lda + m, fn) == 1);
  CHECK(divisor_of(Poly::constant(INT64_MIN), fn) == INT64_C(1) << 62);
  CHECK(divisor_of(lda * Poly::constant(INT64_MIN / 4), fn) == 0); // 2^64 wraps to 0
}

TEST_CASE("emit: emitted value has the same polynomial") {
  Function fn = function("%r = add %m, %n : i32");
  auto symbol = [&](const char *name) { return Poly::symbol(value_named(fn, name)); };
  Builder builder = Builder::before(fn, fn.body->terminator());
  for (const Poly &poly : {Poly(), Poly::constant(-7), symbol("m"), symbol("wide"),
                           symbol("m") * symbol("lda") * Poly::constant(128) - symbol("wide")}) {
    Value *value = emit(builder, poly);
    CHECK(value->type == Type::scalar(Elem::i64));
    CHECK(poly_of(value) == poly);
  }
  check_rules(fn);
}
