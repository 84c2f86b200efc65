// Tests translate/translate_expression.cpp.

#include "support/contains.h"
#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("translate_expression: folds constants into the target type") {
  CHECK(ir_of("*p = 3; *h = -0.5; *q = 2 * 8 + (int)'a'; *(p + 1) = 0x7fffffff;") == expected(R"(
    %0 = constant {number = 3.0} : f32
    store %p, %0
    %1 = constant {number = -0.5} : f16
    store %h, %1
    %2 = constant {value = 113} : i32
    store %q, %2
    %3 = constant {value = 1} : i32
    %4 = addptr %p, %3 : ptr<f32>
    %5 = constant {number = 2147483648.0} : f32
    store %4, %5
  )"));
}

TEST_CASE("translate_expression: splat, expand and broadcast") {
  CHECK(ir_of("int r[4] = 0 ... 4; int s[4, 4] = r[:, newaxis] * n + r;") == expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = expand %r {axis = 1} : i32[4,1]
    %1 = splat %n : i32[4,1]
    %2 = mul %0, %1 : i32[4,1]
    %3 = broadcast %2 : i32[4,4]
    %4 = expand %r {axis = 0} : i32[1,4]
    %5 = broadcast %4 : i32[4,4]
    %s = add %3, %5 : i32[4,4]
  )"));
}

TEST_CASE("translate_expression: unsigned arithmetic has its operations") {
  CHECK(ir_of("*q = u / 3; *q = n / 3; *q = u >> 1; *q = n >> 1; *q = u < 1; *q = max(u, 2);") ==
        expected(R"(
    %0 = constant {value = 3} : i32
    %1 = udiv %u, %0 : i32
    store %q, %1
    %2 = constant {value = 3} : i32
    %3 = div %n, %2 : i32
    store %q, %3
    %4 = constant {value = 1} : i32
    %5 = ushr %u, %4 : i32
    store %q, %5
    %6 = constant {value = 1} : i32
    %7 = shr %n, %6 : i32
    store %q, %7
    %8 = constant {value = 1} : i32
    %9 = cmp %u, %8 {pred = "ult"} : i1
    %10 = cast %9 {unsigned = 1} : i32
    store %q, %10
    %11 = constant {value = 2} : i32
    %12 = umax %u, %11 : i32
    store %q, %12
  )"));
}

TEST_CASE("translate_expression: conversions keep the sign") {
  CHECK(ir_of("*p = n; *p = u; *q = *p; *q = (char)n; *q = (bool)n; long l = n; l = u;") ==
        expected(R"(
    %0 = cast %n : f32
    store %p, %0
    %1 = cast %u {unsigned = 1} : f32
    store %p, %1
    %2 = load %p : f32
    %3 = cast %2 : i32
    store %q, %3
    %4 = cast %n : i8
    %5 = cast %4 : i32
    store %q, %5
    %6 = constant {value = 0} : i32
    %7 = cmp %n, %6 {pred = "ne"} : i1
    %8 = cast %7 {unsigned = 1} : i32
    store %q, %8
    %l = cast %n : i64
    %l.1 = cast %u {unsigned = 1} : i64
  )"));
}

TEST_CASE("translate_expression: pointer offset keeps its signed type") {
  CHECK(ir_of("*(p + n) = 0; *(p - n) = 0; *(p + u) = 0; *(3 + p) = 0;") == expected(R"(
    %0 = addptr %p, %n : ptr<f32>
    %1 = constant {number = 0.0} : f32
    store %0, %1
    %2 = neg %n : i32
    %3 = addptr %p, %2 : ptr<f32>
    %4 = constant {number = 0.0} : f32
    store %3, %4
    %5 = cast %u {unsigned = 1} : i64
    %6 = addptr %p, %5 : ptr<f32>
    %7 = constant {number = 0.0} : f32
    store %6, %7
    %8 = constant {value = 3} : i32
    %9 = addptr %p, %8 : ptr<f32>
    %10 = constant {number = 0.0} : f32
    store %9, %10
  )"));
}

TEST_CASE("translate_expression: matmul accumulates into the addend") {
  CHECK(ir_of("half a[16, 16] = 0; float c[16, 16] = 1; c += ^a @ a; c = a @ a + c; c = a @ a;") ==
        expected(R"(
    %0 = constant {number = 0.0} : f16
    %a = splat %0 : f16[16,16]
    %1 = constant {number = 1.0} : f32
    %c = splat %1 : f32[16,16]
    %2 = trans %a {perm = [1, 0]} : f16[16,16]
    %c.1 = dot %2, %a, %c {precision = "exact"} : f32[16,16]
    %c.2 = dot %a, %a, %c.1 {precision = "exact"} : f32[16,16]
    %3 = constant {number = 0.0} : f32
    %4 = splat %3 : f32[16,16]
    %c.3 = dot %a, %a, %4 {precision = "exact"} : f32[16,16]
  )"));
}

TEST_CASE("translate_expression: tf32 applies to float if allowed") {
  std::string source = "__global__ void f(float *p) { TYPE a[16, 16] = 0; *p = (a @ a)[+, +]; }";
  for (auto [pragma, type, precision] :
       {std::tuple("#pragma tritonc precision(tf32)\n", "float", "tf32"),
        std::tuple("#pragma tritonc precision(exact)\n", "float", "exact"),
        std::tuple("#pragma tritonc precision(tf32)\n", "half", "exact"),
        std::tuple("", "float", "exact")}) {
    ir::Function f = kernel_of(pragma + source, {{"TYPE", type}});
    ir::for_each_op(*f.body, [&, wanted = precision](ir::Op &op) {
      if (op.is(ir::Opcode::dot_))
        CHECK(op.get(ir::attr::precision_) == wanted);
    });
  }
}

TEST_CASE("translate_expression: matmul signedness and accumulator type") {
  for (auto [type, is_unsigned, sum] :
       {std::tuple("int8", false, ir::Elem::i32), std::tuple("uint8", true, ir::Elem::i32),
        std::tuple("half", false, ir::Elem::f32), std::tuple("double", false, ir::Elem::f64),
        std::tuple("e4m3", false, ir::Elem::f32), std::tuple("e5m2", false, ir::Elem::f32)}) {
    CAPTURE(std::string(type));
    ir::Function f = kernel_of("__global__ void f(TYPE *p) { TYPE a[16, 16] = 0; "
                               "*p = (TYPE)(a @ a)[+, +]; }",
                               {{"TYPE", type}});
    int products = 0;
    ir::for_each_op(*f.body, [&, is_unsigned = is_unsigned, sum = sum](ir::Op &op) {
      if (!op.is(ir::Opcode::dot_))
        return;
      products++;
      CHECK(op.has(ir::attr::unsigned_) == is_unsigned);
      CHECK(op.result()->type.elem == sum);
    });
    CHECK(products == 1);
  }
}

TEST_CASE("translate_expression: FP8 is stored as is, computed in float") {
  ir::Function f = kernel_of("__global__ void f(e4m3 *p, e5m2 *q, float *x, e4m3 s) {"
                             "int i[16] = 0 ... 16; e4m3 a[16] = *(p + i); e5m2 b[16] = *(q + i);"
                             "bool m[16] = a; bool k[16] = !b;"
                             "*(p + i) = m ? a : 0; *(q + i) = k ? b : *(q + i);"
                             "*(p + i) = -a; *(q + i) = a; *(p + i) = a * s + min(b, b);"
                             "*x = a[+] + b[max] + abs(a)[min] + sqrt(b)[+]; }",
                             {});
  int casts = 0;
  ir::for_each_op(*f.body, [&](ir::Op &op) {
    if (op.results.empty() || op.result()->type.is_pointer())
      return;
    auto is_small = [](const ir::Value *value) {
      return value->type.is_number() && ir::is_float(value->type.elem) &&
             ir::bits_of(value->type.elem) == 8;
    };
    bool moves = op.is(ir::Opcode::load_) || op.is(ir::Opcode::select_) ||
                 op.is(ir::Opcode::splat_) || op.is(ir::Opcode::constant_);
    bool has_small = is_small(op.result());
    for (const ir::Value *operand : op.operands)
      has_small |= is_small(operand);
    if (op.is(ir::Opcode::cast_))
      casts += has_small;
    else
      CHECK((moves || !has_small));
  });
  CHECK(casts >= 10);
}

TEST_CASE("translate_expression: ?: keeps a small type") {
  for (auto [type, literal, stays] :
       {std::tuple("int8", "0", true), std::tuple("int8", "-128", true),
        std::tuple("int8", "128", false), std::tuple("uint8", "255", true),
        std::tuple("uint8", "-1", false), std::tuple("short", "7", true),
        std::tuple("e4m3", "0", true), std::tuple("e4m3", "0.5", true)}) {
    CAPTURE(std::string(type));
    CAPTURE(std::string(literal));
    std::string source = "__global__ void f(TYPE *p, TYPE *q, int n) { int i[16] = 0 ... 16;"
                         "*(q + i) = i < n ? *(p + i) : " +
                         std::string(literal) + "; }";
    ir::Function f = kernel_of(source, {{"TYPE", type}});
    int casts = 0;
    ir::for_each_op(*f.body, [&](ir::Op &op) { casts += op.is(ir::Opcode::cast_); });
    CHECK((casts == 0) == stays);
  }
}

TEST_CASE("translate_expression: load in an arm of ?: is masked") {
  CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n; float a[4] = m ? *(p + r) : 1;") ==
        expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = splat %n : i32[4]
    %m = cmp %r, %0 {pred = "lt"} : i1[4]
    %1 = constant {number = 1.0} : f32
    %2 = splat %1 : f32[4]
    %3 = splat %p : ptr<f32>[4]
    %4 = addptr %3, %r : ptr<f32>[4]
    %a = load %4, %m, %2 : f32[4]
  )"));
}

TEST_CASE("translate_expression: a load under its own mask has this mask") {
  CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n; float a[4] = m ? *?(m)(p + r) : 1;") ==
        ir_of("int r[4] = 0 ... 4; bool m[4] = r < n; float a[4] = m ? *(p + r) : 1;"));
}

TEST_CASE("translate_expression: scalar condition masks a tile load") {
  CHECK(ir_of("half a[4]; a = n > 3 ? *(h + (0 ... 4)) : 0;") == expected(R"(
    %0 = constant {value = 3} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    %2 = constant {number = 0.0} : f16
    %3 = splat %2 : f16[4]
    %4 = splat %h : ptr<f16>[4]
    %5 = range {start = 0} : i32[4]
    %6 = addptr %4, %5 : ptr<f16>[4]
    %a = load %6, %1, %3 : f16[4]
  )"));
}

TEST_CASE("translate_expression: other arm has the negated mask") {
  CHECK(ir_of("*p = n ? 1 + *p : 2 * *(p + 1);") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    %2 = constant {value = 1} : i1
    %3 = xor %1, %2 : i1
    %4 = constant {number = 1.0} : f32
    %5 = load %p, %1 : f32
    %6 = add %4, %5 : f32
    %7 = constant {number = 2.0} : f32
    %8 = constant {value = 1} : i32
    %9 = addptr %p, %8 : ptr<f32>
    %10 = load %9, %3 : f32
    %11 = mul %7, %10 : f32
    %12 = select %1, %6, %11 : f32
    store %p, %12
  )"));
}

TEST_CASE("translate_expression: nested conditions combine with the mask") {
  CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n;\n"
              "*(q + r) = m ? (u ? *?(r)(q + r) : 1) : 2;") == expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = splat %n : i32[4]
    %m = cmp %r, %0 {pred = "lt"} : i1[4]
    %1 = splat %q : ptr<i32>[4]
    %2 = addptr %1, %r : ptr<i32>[4]
    %3 = constant {value = 0} : i32
    %4 = cmp %u, %3 {pred = "ne"} : i1
    %5 = constant {value = 1} : i32
    %6 = splat %5 : i32[4]
    %7 = splat %q : ptr<i32>[4]
    %8 = addptr %7, %r : ptr<i32>[4]
    %9 = constant {value = 0} : i32
    %10 = splat %9 : i32[4]
    %11 = cmp %r, %10 {pred = "ne"} : i1[4]
    %12 = and %11, %m : i1[4]
    %13 = splat %4 : i1[4]
    %14 = and %12, %13 : i1[4]
    %15 = load %8, %14, %6 : i32[4]
    %16 = constant {value = 2} : i32
    %17 = splat %16 : i32[4]
    %18 = select %m, %15, %17 : i32[4]
    store %2, %18
  )"));
}

TEST_CASE("translate_expression: masked update evaluates its pointer once") {
  CHECK(ir_of("int r[4] = 0 ... 4; *?(r < n)(p + r) += 1;") == expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = splat %p : ptr<f32>[4]
    %1 = addptr %0, %r : ptr<f32>[4]
    %2 = splat %n : i32[4]
    %3 = cmp %r, %2 {pred = "lt"} : i1[4]
    %4 = load %1, %3 : f32[4]
    %5 = constant {number = 1.0} : f32
    %6 = splat %5 : f32[4]
    %7 = add %4, %6 : f32[4]
    store %1, %7, %3
  )"));
}

TEST_CASE("translate_expression: unsigned arithmetic wraps") {
  CHECK(ir_of("*q = u * 3 - u; *q = -u; *q = n * 3; *q += u;") == expected(R"(
    %0 = constant {value = 3} : i32
    %1 = mul %u, %0 {unsigned = 1} : i32
    %2 = sub %1, %u {unsigned = 1} : i32
    store %q, %2
    %3 = neg %u {unsigned = 1} : i32
    store %q, %3
    %4 = constant {value = 3} : i32
    %5 = mul %n, %4 : i32
    store %q, %5
    %6 = load %q : i32
    %7 = add %6, %u {unsigned = 1} : i32
    store %q, %7
  )"));
}

TEST_CASE("translate_expression: && and || evaluate lazily") {
  CHECK(ir_of("*q = n && *q;") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    %2 = if_else %1 : i1 {
      %3 = load %q : i32
      %4 = constant {value = 0} : i32
      %5 = cmp %3, %4 {pred = "ne"} : i1
      yield %5
    } {
      yield %1
    }
    %6 = cast %2 {unsigned = 1} : i32
    store %q, %6
  )"));
  CHECK(ir_of("*q = n > 1 || u > 2;") == expected(R"(
    %0 = constant {value = 1} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    %2 = constant {value = 2} : i32
    %3 = cmp %u, %2 {pred = "ugt"} : i1
    %4 = or %1, %3 : i1
    %5 = cast %4 {unsigned = 1} : i32
    store %q, %5
  )"));
}

TEST_CASE("translate_expression: a constant on the left decides && or ||") {
  auto decided = [](const std::string &value) {
    return expected("%0 = constant {value = " + value +
                    "} : i1\n %1 = cast %0 {unsigned = 1} : i32\n store %q, %1");
  };
  // The right side is not evaluated.
  for (const std::string right : {"n > 1", "u", "*q", "(*p = n)"}) {
    CAPTURE(right);
    for (const std::string left : {"false", "0", "!true"})
      CHECK(ir_of("*q = " + left + " && " + right + ";") == decided("0"));
    for (const std::string left : {"true", "2", "!0"})
      CHECK(ir_of("*q = " + left + " || " + right + ";") == decided("1"));
  }
}

TEST_CASE("translate_expression: && and || with a constant have the value of the other side") {
  auto is = [](const std::string &condition, const std::string &same) {
    CAPTURE(condition);
    CHECK(ir_of("*q = " + condition + ";") == ir_of("*q = " + same + ";"));
  };
  for (const std::string condition :
       {"true && n > 1", "7 && n > 1", "false || n > 1", "0 || n > 1", "n > 1 && true",
        "n > 1 || false", "true && n > 1 && !false", "false || (true && n > 1)"})
    is(condition, "n > 1");
  for (const std::string condition : {"true && *q", "*q && 1", "0 || *q", "*q || false"})
    is(condition, "*q != 0");
  is("true && (*q = n)", "(*q = n) != 0");
  is("(*q = n) || false", "(*q = n) != 0");
}

TEST_CASE("translate_expression: the left side of a deciding constant is evaluated") {
  CHECK(ir_of("*q = (*p = n) && false;") == expected(R"(
    %0 = cast %n : f32
    store %p, %0
    %1 = constant {number = 0.0} : f32
    %2 = cmp %0, %1 {pred = "ne"} : i1
    %3 = constant {value = 0} : i1
    %4 = and %2, %3 : i1
    %5 = cast %4 {unsigned = 1} : i32
    store %q, %5
  )"));
  CHECK(ir_of("*q = n > 1 || true;") == expected(R"(
    %0 = constant {value = 1} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    %2 = constant {value = 1} : i1
    %3 = or %1, %2 : i1
    %4 = cast %3 {unsigned = 1} : i32
    store %q, %4
  )"));
}

TEST_CASE("translate_expression: && and || of a constant and a tile") {
  auto mask = [](const std::string &causal) {
    return ir_of("\n#define CAUSAL " + causal + R"(
        int i[4] = 0 ... 4, key[1, 4] = i[newaxis, :], last[4, 1] = i[:, newaxis];
        bool seen[4, 4] = !CAUSAL || key <= last;)");
  };
  CHECK(mask("true") == expected(R"(
    %i = range {start = 0} : i32[4]
    %key = expand %i {axis = 0} : i32[1,4]
    %last = expand %i {axis = 1} : i32[4,1]
    %0 = broadcast %key : i32[4,4]
    %1 = broadcast %last : i32[4,4]
    %seen = cmp %0, %1 {pred = "le"} : i1[4,4]
  )"));
  CHECK(mask("false") == expected(R"(
    %i = range {start = 0} : i32[4]
    %key = expand %i {axis = 0} : i32[1,4]
    %last = expand %i {axis = 1} : i32[4,1]
    %0 = constant {value = 1} : i1
    %seen = splat %0 : i1[4,4]
  )"));
  const std::string compared = R"(
    %r = range {start = 0} : i32[4]
    %0 = splat %n : i32[4]
    %m = cmp %r, %0 {pred = "lt"} : i1[4]
  )";
  for (const std::string condition :
       {"r < n && true", "1 && r < n", "r < n || 0", "false || r < n"}) {
    CAPTURE(condition);
    CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = " + condition + ";") == expected(compared));
  }
  // The loads are not masked.
  CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = true && *(q + r) > 0;") ==
        ir_of("int r[4] = 0 ... 4; bool m[4] = *(q + r) > 0;"));
  CHECK_FALSE(contains(ir_of("int r[4] = 0 ... 4; bool m[4] = false && *(q + r) > 0;"), "load"));
  CHECK(contains(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n && false;"), " = and "));
  CHECK(contains(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n || true;"), " = or "));
}

TEST_CASE("translate_expression: && in a masked arm is masked") {
  CHECK(ir_of("*q = n ? *q && *p : 0;") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    %2 = load %q, %1 : i32
    %3 = constant {value = 0} : i32
    %4 = cmp %2, %3 {pred = "ne"} : i1
    %5 = and %1, %4 : i1
    %6 = constant {number = 0.0} : f32
    %7 = load %p, %5, %6 : f32
    %8 = constant {number = 0.0} : f32
    %9 = cmp %7, %8 {pred = "ne"} : i1
    %10 = and %4, %9 : i1
    %11 = cast %10 {unsigned = 1} : i32
    %12 = constant {value = 0} : i32
    %13 = select %1, %11, %12 : i32
    store %q, %13
  )"));
}

TEST_CASE("translate_expression: || on tiles masks the right side's loads") {
  CHECK(ir_of("int r[4] = 0 ... 4; bool m[4] = r < n || *(q + r) > 0;") == expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = splat %n : i32[4]
    %1 = cmp %r, %0 {pred = "lt"} : i1[4]
    %2 = constant {value = 1} : i1
    %3 = splat %2 : i1[4]
    %4 = xor %1, %3 : i1[4]
    %5 = splat %q : ptr<i32>[4]
    %6 = addptr %5, %r : ptr<i32>[4]
    %7 = constant {value = 0} : i32
    %8 = splat %7 : i32[4]
    %9 = load %6, %4, %8 : i32[4]
    %10 = constant {value = 0} : i32
    %11 = splat %10 : i32[4]
    %12 = cmp %9, %11 {pred = "gt"} : i1[4]
    %m = or %1, %12 : i1[4]
  )"));
}

TEST_CASE("translate_expression: arm with an assignment is a branch") {
  CHECK(ir_of("int a = 0; *q = n ? (a = 3) : a++; *q = a;") == expected(R"(
    %a = constant {value = 0} : i32
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    %a.1, %2 = if_else %1 : i32, i32 {
      %a.2 = constant {value = 3} : i32
      yield %a.2, %a.2
    } {
      %3 = constant {value = 1} : i32
      %a.3 = add %a, %3 : i32
      yield %a.3, %a
    }
    store %q, %2
    store %q, %a.1
  )"));
}

TEST_CASE("translate_expression: subscripts, transposes and reductions") {
  CHECK(ir_of("float a[4, 8] = 0; float b[1, 8] = a[+, newaxis, :]; a = (^a)[^1, ^0];\n"
              "*p = a[max, min];") == expected(R"(
    %0 = constant {number = 0.0} : f32
    %a = splat %0 : f32[4,8]
    %1 = reduce %a {axis = 0, op = "add"} : f32[8]
    %b = expand %1 {axis = 0} : f32[1,8]
    %2 = trans %a {perm = [1, 0]} : f32[8,4]
    %a.1 = trans %2 {perm = [1, 0]} : f32[4,8]
    %3 = reduce %a.1 {axis = 0, op = "max"} : f32[8]
    %4 = reduce %3 {axis = 0, op = "min"} : f32
    store %p, %4
  )"));
}

TEST_CASE("translate_expression: reductions by element type") {
  // A half sum accumulates in float and rounds once. A maximum stays in half.
  CHECK(ir_of("half a[4, 8] = 0; *h = a[+, +]; *h = a[max, max];") == expected(R"(
    %0 = constant {number = 0.0} : f16
    %a = splat %0 : f16[4,8]
    %1 = cast %a : f32[4,8]
    %2 = reduce %1 {axis = 0, op = "add"} : f32[8]
    %3 = reduce %2 {axis = 0, op = "add"} : f32
    %4 = cast %3 : f16
    store %h, %4
    %5 = reduce %a {axis = 0, op = "max"} : f16[8]
    %6 = reduce %5 {axis = 0, op = "max"} : f16
    store %h, %6
  )"));
  CHECK(ir_of("unsigned a[4] = 0 ... 4; *q = a[max] + a[prod]; *q = (a > 1)[all];") == expected(R"(
    %a = range {start = 0} : i32[4]
    %0 = reduce %a {axis = 0, op = "umax"} : i32
    %1 = reduce %a {axis = 0, op = "mul"} : i32
    %2 = add %0, %1 {unsigned = 1} : i32
    store %q, %2
    %3 = constant {value = 1} : i32
    %4 = splat %3 : i32[4]
    %5 = cmp %a, %4 {pred = "ugt"} : i1[4]
    %6 = reduce %5 {axis = 0, op = "and"} : i1
    %7 = cast %6 {unsigned = 1} : i32
    store %q, %7
  )"));
}

TEST_CASE("translate_expression: argmax") {
  CHECK(ir_of("float a[4] = 0; *q = a[argmax];") == expected(R"(
    %0 = constant {number = 0.0} : f32
    %a = splat %0 : f32[4]
    %1 = reduce %a {axis = 0, op = "max"} : f32
    %2 = splat %1 : f32[4]
    %3 = range {start = 0} : i32[4]
    %4 = constant {value = 3} : i32
    %5 = splat %4 : i32[4]
    %6 = cmp %a, %2 {pred = "eq"} : i1[4]
    %7 = select %6, %3, %5 : i32[4]
    %8 = reduce %7 {axis = 0, op = "min"} : i32
    store %q, %8
  )"));
}

TEST_CASE("translate_expression: batched matmul extracts the matrices") {
  std::string one = ir_of("float a[16, 16, 1] = 0; a += a @ a;");
  CHECK(one.find("reshape %a : f32[16,16]") != one.npos);
  CHECK(one.find("reduce") == one.npos);
  std::string two = ir_of("float a[16, 16, 2] = 0; a += a @ a;");
  auto count = [&](const std::string &text) {
    size_t found = 0;
    for (size_t at = two.find(text); at != two.npos; at = two.find(text, at + 1))
      found++;
    return found;
  };
  CHECK(count(" = dot ") == 2);
  CHECK(count(" = reduce ") == 2 * 3);
}

TEST_CASE("translate_expression: casts convert, broadcast and reshape") {
  CHECK(ir_of("int r[4] = 0 ... 4; float a[2, 4] = (float[2, 4])r; a = (float[2, 4])(float[8])a;\n"
              "int b[4] = bitcast<int>((float)r); float one[1, 1] = 3; *p = (float)one;") ==
        expected(R"(
    %r = range {start = 0} : i32[4]
    %0 = cast %r : f32[4]
    %1 = expand %0 {axis = 0} : f32[1,4]
    %a = broadcast %1 : f32[2,4]
    %2 = reshape %a : f32[8]
    %a.1 = reshape %2 : f32[2,4]
    %3 = cast %r : f32[4]
    %b = bitcast %3 : i32[4]
    %4 = constant {number = 3.0} : f32
    %one = splat %4 : f32[1,1]
    %5 = reshape %one : f32[1]
    %6 = reduce %5 {axis = 0, op = "add"} : f32
    store %p, %6
  )"));
}

TEST_CASE("translate_expression: math functions use float or double") {
  CHECK(ir_of("*h = tanhf(*h); *p = pow(*p, n); *p = fma(*p, 2, *p); double d = floor(1.5 * *p);\n"
              "*q = abs(u);") == expected(R"(
    %0 = load %h : f16
    %1 = cast %0 : f32
    %2 = tanh %1 : f32
    %3 = cast %2 : f16
    store %h, %3
    %4 = load %p : f32
    %5 = cast %n : f32
    %6 = pow %4, %5 : f32
    store %p, %6
    %7 = load %p : f32
    %8 = constant {number = 2.0} : f32
    %9 = load %p : f32
    %10 = fma %7, %8, %9 : f32
    store %p, %10
    %11 = constant {number = 1.5} : f64
    %12 = load %p : f32
    %13 = cast %12 : f64
    %14 = mul %11, %13 : f64
    %d = floor %14 : f64
    store %q, %u
  )"));
}

TEST_CASE("translate_expression: barriers surround scalar atomics") {
  CHECK(ir_of("n = atomic_cas(q, 0, n);") == expected(R"(
    %0 = constant {value = 0} : i32
    barrier
    %n.1 = atomic_cas %q, %0, %n : i32
    barrier
  )"));
  CHECK(ir_of("int i[8] = 0 ... 8; atomic_max(q + i, n, i < n); __debug_barrier();") == expected(R"(
    %i = range {start = 0} : i32[8]
    %0 = splat %q : ptr<i32>[8]
    %1 = addptr %0, %i : ptr<i32>[8]
    %2 = splat %n : i32[8]
    %3 = splat %n : i32[8]
    %4 = cmp %i, %3 {pred = "lt"} : i1[8]
    %5 = atomic %1, %2, %4 {op = "max"} : i32[8]
    barrier
  )"));
}

TEST_CASE("translate_expression: built-in functions") {
  CHECK(ir_of("*q = get_program_id(1) + get_num_programs(2); *h = exp(*h); *q = abs(n);\n"
              "*p = min(*p, n);") == expected(R"(
    %0 = program_id {axis = 1} : i32
    %1 = num_programs {axis = 2} : i32
    %2 = add %0, %1 : i32
    store %q, %2
    %3 = load %h : f16
    %4 = cast %3 : f32
    %5 = exp %4 : f32
    %6 = cast %5 : f16
    store %h, %6
    %7 = abs %n : i32
    store %q, %7
    %8 = load %p : f32
    %9 = cast %n : f32
    %10 = min %8, %9 : f32
    store %p, %10
  )"));
}

TEST_CASE("translate_expression: cache hints, except the default") {
  CHECK(ir_of("*?(__cs)q = *?(n > 0, __evict_last)q; *?(__wb)q = *?(__ca)q; *?(__wt)q += 1;") ==
        expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    %2 = load %q, %1 {cache = "evict_last"} : i32
    store %q, %2 {cache = "cs"}
    %3 = load %q : i32
    store %q, %3
    %4 = load %q : i32
    %5 = constant {value = 1} : i32
    %6 = add %4, %5 : i32
    store %q, %6 {cache = "wt"}
  )"));
}
