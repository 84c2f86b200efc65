// Tests translate/translate_statement.cpp.

#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("translate_statement: assigned variables are if_else results") {
  CHECK(ir_of("int a = 1; if (n > 0) { int b = n; a = b; } *q = a;") == expected(R"(
    %a = constant {value = 1} : i32
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "gt"} : i1
    %a.1 = if_else %1 : i32 {
      yield %n
    } {
      yield %a
    }
    store %q, %a.1
  )"));
}

TEST_CASE("translate_statement: branch with only stores has no results") {
  CHECK(ir_of("if (n) *q = 1; else *q = 2;") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    if_else %1 {
      %2 = constant {value = 1} : i32
      store %q, %2
      yield
    } {
      %3 = constant {value = 2} : i32
      store %q, %3
      yield
    }
  )"));
}

TEST_CASE("translate_statement: constant condition keeps one arm") {
  CHECK(ir_of("if (sizeof(half) == 2) *q = 1; else *q = 2;") == expected(R"(
    %0 = constant {value = 1} : i32
    store %q, %0
  )"));
}

TEST_CASE("translate_statement: switch falls through") {
  CHECK(ir_of("switch (n) { case 1: *q = 1; case 2: *q = 2; break; default: *q = 3; }") ==
        expected(R"(
    %0 = constant {value = 1} : i32
    %1 = cmp %n, %0 {pred = "eq"} : i1
    if_else %1 {
      %2 = constant {value = 1} : i32
      store %q, %2
      yield
    } {
      yield
    }
    %3 = constant {value = 2} : i32
    %4 = cmp %n, %3 {pred = "eq"} : i1
    %5 = or %4, %1 : i1
    if_else %5 {
      %6 = constant {value = 2} : i32
      store %q, %6
      yield
    } {
      yield
    }
    %7 = constant {value = 1} : i32
    %8 = cmp %n, %7 {pred = "ne"} : i1
    %9 = constant {value = 2} : i32
    %10 = cmp %n, %9 {pred = "ne"} : i1
    %11 = and %8, %10 : i1
    if_else %11 {
      %12 = constant {value = 3} : i32
      store %q, %12
      yield
    } {
      yield
    }
  )"));
}

TEST_CASE("translate_statement: switch on a constant keeps its case") {
  CHECK(ir_of("switch (2) { case 1: *q = 1; case 2: *q = 2; case 3: *q = 3; break; default: *q = "
              "4; }") == expected(R"(
    %0 = constant {value = 2} : i32
    store %q, %0
    %1 = constant {value = 3} : i32
    store %q, %1
  )"));
  CHECK(ir_of("switch (5) { case 1: *q = 1; }") == expected(""));
}

TEST_CASE("translate_statement: early break in a switch uses a flag") {
  CHECK(ir_of("switch (n) { case 1: if (u > 2) break; *q = 1; }") == expected(R"(
    %0 = constant {value = 1} : i1
    %1 = constant {value = 1} : i32
    %2 = cmp %n, %1 {pred = "eq"} : i1
    %3 = if_else %2 : i1 {
      %4 = constant {value = 2} : i32
      %5 = cmp %u, %4 {pred = "ugt"} : i1
      %6 = if_else %5 : i1 {
        %7 = constant {value = 0} : i1
        yield %7
      } {
        %8 = constant {value = 1} : i32
        store %q, %8
        yield %0
      }
      yield %6
    } {
      yield %0
    }
  )"));
}

TEST_CASE("translate_statement: loop carries assigned variables") {
  CHECK(ir_of("int s = 0; for (int i = 0; i < n; i++) { int t = i * u; s += t; } *q = s;") ==
        expected(R"(
    %s = constant {value = 0} : i32
    %i = constant {value = 0} : i32
    %s.1, %i.1 = while_loop %s, %i : i32, i32 {
      (%s.2: i32, %i.2: i32)
      %0 = cmp %i.2, %n {pred = "lt"} : i1
      condition %0
    } {
      (%s.3: i32, %i.3: i32)
      %t = mul %i.3, %u {unsigned = 1} : i32
      %s.4 = add %s.3, %t : i32
      %1 = constant {value = 1} : i32
      %i.4 = add %i.3, %1 : i32
      yield %s.4, %i.4
    }
    store %q, %s.1
  )"));
}

TEST_CASE("translate_statement: break uses a flag") {
  CHECK(ir_of("for (int i = 0; i < n; i++) { if (*q) { *q = 1; if (u) break; } *q = 2; }") ==
        expected(R"(
    %i = constant {value = 0} : i32
    %0 = constant {value = 1} : i1
    %i.1, %1 = while_loop %i, %0 : i32, i1 {
      (%i.2: i32, %2: i1)
      %3 = cmp %i.2, %n {pred = "lt"} : i1
      %4 = and %2, %3 : i1
      condition %4
    } {
      (%i.3: i32, %5: i1)
      %6 = constant {value = 1} : i1
      %7 = load %q : i32
      %8 = constant {value = 0} : i32
      %9 = cmp %7, %8 {pred = "ne"} : i1
      %10 = if_else %9 : i1 {
        %11 = constant {value = 1} : i32
        store %q, %11
        %12 = constant {value = 0} : i32
        %13 = cmp %u, %12 {pred = "ne"} : i1
        %14 = if_else %13 : i1 {
          %15 = constant {value = 0} : i1
          yield %15
        } {
          yield %6
        }
        yield %14
      } {
        yield %6
      }
      if_else %10 {
        %16 = constant {value = 2} : i32
        store %q, %16
        yield
      } {
        yield
      }
      %i.4 = if_else %10 : i32 {
        %17 = constant {value = 1} : i32
        %i.5 = add %i.3, %17 : i32
        yield %i.5
      } {
        yield %i.3
      }
      yield %i.4, %10
    }
  )"));
}

TEST_CASE("translate_statement: arm that always jumps needs no flag") {
  CHECK(ir_of("while (n > 0) { n -= 1; if (n == 3) continue; *q = n; }") == expected(R"(
    %n.1 = while_loop %n : i32 {
      (%n.2: i32)
      %0 = constant {value = 0} : i32
      %1 = cmp %n.2, %0 {pred = "gt"} : i1
      condition %1
    } {
      (%n.3: i32)
      %2 = constant {value = 1} : i32
      %n.4 = sub %n.3, %2 : i32
      %3 = constant {value = 3} : i32
      %4 = cmp %n.4, %3 {pred = "eq"} : i1
      if_else %4 {
        yield
      } {
        store %q, %n.4
        yield
      }
      yield %n.4
    }
  )"));
  CHECK(ir_of("if (n < 3) return; *q = n;") == expected(R"(
    %0 = constant {value = 3} : i32
    %1 = cmp %n, %0 {pred = "lt"} : i1
    if_else %1 {
      yield
    } {
      store %q, %n
      yield
    }
  )"));
}

TEST_CASE("translate_statement: return leaves all loops") {
  CHECK(ir_of("while (n) { while (u) { if (n == 3) return; u--; } n--; } *q = 1;") == expected(R"(
    %0 = constant {value = 1} : i1
    %1 = constant {value = 1} : i1
    %n.1, %u.1, %2, %3 = while_loop %n, %u, %0, %1 : i32, i32, i1, i1 {
      (%n.2: i32, %u.2: i32, %4: i1, %5: i1)
      %6 = constant {value = 0} : i32
      %7 = cmp %n.2, %6 {pred = "ne"} : i1
      %8 = and %5, %7 : i1
      condition %8
    } {
      (%n.3: i32, %u.3: i32, %9: i1, %10: i1)
      %11 = constant {value = 1} : i1
      %12 = constant {value = 1} : i1
      %u.4, %13, %14, %15 = while_loop %u.3, %9, %11, %12 : i32, i1, i1, i1 {
        (%u.5: i32, %16: i1, %17: i1, %18: i1)
        %19 = constant {value = 0} : i32
        %20 = cmp %u.5, %19 {pred = "ne"} : i1
        %21 = and %18, %20 : i1
        condition %21
      } {
        (%u.6: i32, %22: i1, %23: i1, %24: i1)
        %25 = constant {value = 1} : i1
        %26 = constant {value = 3} : i32
        %27 = cmp %n.3, %26 {pred = "eq"} : i1
        %u.7, %28, %29, %30 = if_else %27 : i32, i1, i1, i1 {
          %31 = constant {value = 0} : i1
          %32 = constant {value = 0} : i1
          %33 = constant {value = 0} : i1
          yield %u.6, %33, %31, %32
        } {
          %34 = constant {value = 1} : i32
          %u.8 = sub %u.6, %34 {unsigned = 1} : i32
          yield %u.8, %22, %23, %25
        }
        yield %u.7, %28, %29, %30
      }
      %n.4 = if_else %14 : i32 {
        %35 = constant {value = 1} : i32
        %n.5 = sub %n.3, %35 : i32
        yield %n.5
      } {
        yield %n.3
      }
      yield %n.4, %u.4, %13, %14
    }
    if_else %2 {
      %36 = constant {value = 1} : i32
      store %q, %36
      yield
    } {
      yield
    }
  )"));
}

TEST_CASE("translate_statement: skips statements after a jump") {
  CHECK(ir_of("*q = 1; return; *q = 2;") == expected(R"(
    %0 = constant {value = 1} : i32
    store %q, %0
  )"));
  CHECK(ir_of("while (n) { n = 0; break; n = 1; }").find("constant {value = 1} : i32") ==
        std::string::npos);
}

TEST_CASE("translate_statement: do tests after the body") {
  CHECK(ir_of("do { n--; } while (n > 0);") == expected(R"(
    %0 = constant {value = 1} : i1
    %n.1, %1 = while_loop %n, %0 : i32, i1 {
      (%n.2: i32, %2: i1)
      condition %2
    } {
      (%n.3: i32, %3: i1)
      %4 = constant {value = 1} : i1
      %5 = constant {value = 1} : i32
      %n.4 = sub %n.3, %5 : i32
      %6 = constant {value = 0} : i32
      %7 = cmp %n.4, %6 {pred = "gt"} : i1
      yield %n.4, %7
    }
  )"));
}

TEST_CASE("translate_statement: condition that assigns is in the body") {
  CHECK(ir_of("while (n-- > 0) *q = n;") == expected(R"(
    %0 = constant {value = 1} : i1
    %n.1, %1 = while_loop %n, %0 : i32, i1 {
      (%n.2: i32, %2: i1)
      condition %2
    } {
      (%n.3: i32, %3: i1)
      %4 = constant {value = 1} : i1
      %5 = constant {value = 1} : i32
      %n.4 = sub %n.3, %5 : i32
      %6 = constant {value = 0} : i32
      %7 = cmp %n.3, %6 {pred = "gt"} : i1
      if_else %7 {
        store %q, %n.4
        yield
      } {
        yield
      }
      yield %n.4, %7
    }
  )"));
}

TEST_CASE("translate_statement: condition that loads is guarded") {
  CHECK(ir_of("while (*q) { if (n) break; }").find("if_else") != std::string::npos);
}

TEST_CASE("translate_statement: unassigned variable is zero at a merge") {
  CHECK(ir_of("float a[4]; if (n) a = 1; *(p + (0 ... 4)) = a;") == expected(R"(
    %0 = constant {value = 0} : i32
    %1 = cmp %n, %0 {pred = "ne"} : i1
    %a = if_else %1 : f32[4] {
      %2 = constant {number = 1.0} : f32
      %a.1 = splat %2 : f32[4]
      yield %a.1
    } {
      %3 = constant {number = 0.0} : f32
      %4 = splat %3 : f32[4]
      yield %4
    }
    %5 = splat %p : ptr<f32>[4]
    %6 = range {start = 0} : i32[4]
    %7 = addptr %5, %6 : ptr<f32>[4]
    store %7, %a
  )"));
}

TEST_CASE("translate_statement: unassigned pointer, set in a loop") {
  CHECK_NOTHROW(ir_of("float *a; for (int i = 0; i < n; i++) { a = p + i; *a = 0; }"));
}

TEST_CASE("translate_statement: unassigned pointer of any type") {
  CHECK(ir_of("double *x; for (int i = 0; i < n; i++) { if (i == 0) x = (double *)q; *x = 1; }")
            .find("bitcast %0 : ptr<f64>\n") != std::string::npos);
}

TEST_CASE("translate_statement: inner variable hides the outer one") {
  CHECK(ir_of("int a = 1; { int a = 2; a = n; } *q = a;") == expected(R"(
    %a = constant {value = 1} : i32
    %a.1 = constant {value = 2} : i32
    store %q, %a
  )"));
}

TEST_CASE("translate_statement: inlines functions") {
  ir::Function kernel = kernel_of("int twice(int n) { int two = 2; return two * n; }\n"
                                  "__global__ void f(int *q, int n) { *q = twice(n + 1); }");
  ir::ParseResult expected = ir::parse(R"(
    func @f(%q: ptr<i32>, %n: i32) {
      %0 = constant {value = 1} : i32
      %1 = add %n, %0 : i32
      %two = constant {value = 2} : i32
      %2 = mul %two, %1 : i32
      store %q, %2
      return
    })");
  REQUIRE(expected.function);
  CHECK(ir::print(kernel) == ir::print(*expected.function));
}

TEST_CASE("translate_statement: loop carries the result of a function") {
  auto carried = [](const std::string &function) {
    ir::Function kernel = kernel_of(function + "__global__ void f(int *q, int n) { g(q, n); }");
    size_t results = 0;
    ir::for_each_op(*kernel.body, [&](const ir::Op &op) {
      results += op.is(ir::Opcode::while_loop_) ? op.results.size() : 0;
    });
    return results;
  };
  const std::string body = "(int *q, int n) { while (n) { if (*q) return";
  CHECK(carried("void g" + body + "; n--; } }\n") == 2); // n and a flag for the loop
  CHECK(carried("int g" + body + " 5; n--; } return 6; }\n") ==
        4); // the result and a flag for it too
}

TEST_CASE("translate_statement: ignores unused functions") {
  FrontEndResult result = translate_source(
      KernelFile("void g(int *q) { *q = 1; }\n__global__ void f(int *q) { *q = 2; }").input);
  CHECK(result.errors == 0);
  REQUIRE(result.kernels.size() == 1);
  CHECK(result.kernels[0].name == "f");
}
