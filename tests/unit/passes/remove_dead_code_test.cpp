// Tests passes/remove_dead_code.cpp.

#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

void becomes(const std::string &before, const std::string &expected) {
  CHECK(after(remove_dead_code, before) == text(expected));
}

void unchanged(const std::string &program) {
  CAPTURE(program);
  CHECK(after(remove_dead_code, program) == text(program));
}

} // namespace

TEST_CASE("remove_dead_code: removes unused values and their operands") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a = add %n, %n : i32
      %b = mul %a, %n : i32
      %c = add %a, %a : i32
      %l = load %p : i32
      store %p, %a
      return
    })",
          R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a = add %n, %n : i32
      store %p, %a
      return
    })");
}

TEST_CASE("remove_dead_code: does nothing to visible effects") {
  unchanged(R"(
    layout #0 [8] reg (1) (2) (4) lane (0) (0) (0) (0) (0) warp
    layout #1 [8] offset (1) (2) (4)
    func @f(%p: ptr<i32>, %n: i32, %A: ptr<f16>, %s: i64, %x: f16[8] #0, %c: i1) warps 1 {
      %b = shared_alloc : shared<f16>[1,8] #1
      %z = constant {value = 0} : i32
      shared_store %x, %b, %z
      %v = view %A, %s, %s : view<f16>[8] #0
      async_copy %v, %b, %z, %c {vector = 8}
      async_commit
      async_wait {pending = 0}
      barrier
      %l = load %p : i32
      store %p, %l
      return
    })");
}

TEST_CASE("remove_dead_code: does nothing to print and assert") {
  unchanged(R"(
    func @f(%p: ptr<i32>, %n: i32, %c: i1) {
      print %n {text = "n = {}"}
      %l = load %p : i32
      for_loop %n {
        (%t: i32)
        %m = cmp %t, %l {pred = "lt"} : i1
        assert %m {text = "assertion `t < l` failed"}
        if_else %c {
          print {text = "here"}
          yield
        } {
          yield
        }
        yield
      }
      return
    })");
}

TEST_CASE("remove_dead_code: removes an unused buffer") {
  becomes("func @f() {\n %b = shared_alloc : shared<f16>[1,8]\n return\n}",
          "func @f() {\n return\n}");
}

TEST_CASE("remove_dead_code: removes unused loop-carried values") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a, %b, %c = for_loop %n, %n, %n, %n : i32, i32, i32 {
        (%t: i32, %a0: i32, %b0: i32, %c0: i32)
        %a1 = add %a0, %t : i32
        %b1 = add %b0, %a0 : i32
        %c1 = add %c0, %n : i32
        yield %a1, %b1, %c1
      }
      store %p, %b
      return
    })",
          R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a, %b = for_loop %n, %n, %n : i32, i32 {
        (%t: i32, %a0: i32, %b0: i32)
        %a1 = add %a0, %t : i32
        %b1 = add %b0, %a0 : i32
        yield %a1, %b1
      }
      store %p, %b
      return
    })");
}

TEST_CASE("remove_dead_code: keeps the iteration count of a loop that stores") {
  unchanged(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %k = while_loop %n : i32 {
        (%k0: i32)
        %l = load %p : i32
        %c = cmp %k0, %l {pred = "gt"} : i1
        condition %c
      } {
        (%k1: i32)
        store %p, %n
        %k2 = sub %k1, %n : i32
        yield %k2
      }
      return
    })");
  unchanged(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %m = mul %n, %n : i32
      for_loop %m {
        (%t: i32)
        %c = cmp %t, %n {pred = "eq"} : i1
        if_else %c {
          store %p, %t
          yield
        } {
          yield
        }
        yield
      }
      return
    })");
}

TEST_CASE("remove_dead_code: removes a value from both while_loop blocks") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a, %k = while_loop %n, %n : i32, i32 {
        (%a0: i32, %k0: i32)
        %c = cmp %k0, %n {pred = "gt"} : i1
        condition %c
      } {
        (%a1: i32, %k1: i32)
        %a2 = add %a1, %k1 : i32
        %k2 = sub %k1, %n : i32
        yield %a2, %k2
      }
      store %p, %k
      return
    })",
          R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %k = while_loop %n : i32 {
        (%k0: i32)
        %c = cmp %k0, %n {pred = "gt"} : i1
        condition %c
      } {
        (%k1: i32)
        %k2 = sub %k1, %n : i32
        yield %k2
      }
      store %p, %k
      return
    })");
}

TEST_CASE("remove_dead_code: removes loops and branches without effects") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32, %c: i1) {
      %a = for_loop %n, %n : i32 {
        (%t: i32, %a0: i32)
        %l = load %p : i32
        %a1 = add %a0, %l : i32
        yield %a1
      }
      %b = if_else %c : i32 {
        %b0 = add %n, %n : i32
        yield %b0
      } {
        yield %n
      }
      return
    })",
          "func @f(%p: ptr<i32>, %n: i32, %c: i1) {\n return\n}");
}

TEST_CASE("remove_dead_code: removes unused if_else results") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32, %c: i1) {
      %a, %b = if_else %c : i32, i32 {
        %a0 = add %n, %n : i32
        %b0 = mul %n, %n : i32
        yield %a0, %b0
      } {
        yield %n, %n
      }
      store %p, %b
      return
    })",
          R"(
    func @f(%p: ptr<i32>, %n: i32, %c: i1) {
      %b = if_else %c : i32 {
        %b0 = mul %n, %n : i32
        yield %b0
      } {
        yield %n
      }
      store %p, %b
      return
    })");
}

TEST_CASE("remove_dead_code: removes values that only use each other") {
  becomes(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a, %b = for_loop %n, %n, %n : i32, i32 {
        (%t: i32, %a0: i32, %b0: i32)
        store %p, %t
        yield %b0, %a0
      }
      return
    })",
          R"(
    func @f(%p: ptr<i32>, %n: i32) {
      for_loop %n {
        (%t: i32)
        store %p, %t
        yield
      }
      return
    })");
}

TEST_CASE("remove_dead_code: keeps a loop whose result bounds the next loop") {
  unchanged(R"(
    func @f(%p: ptr<i32>, %n: i32) {
      %a = for_loop %n, %n : i32 {
        (%t: i32, %a0: i32)
        %a1 = add %a0, %t : i32
        yield %a1
      }
      for_loop %a {
        (%t1: i32)
        store %p, %t1
        yield
      }
      return
    })");
}
