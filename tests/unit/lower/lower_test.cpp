// Tests lower/lower.cpp: functions and control flow.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

TEST_CASE("lower: parameters with their attributes") {
  std::string text = lowered(R"(
    func @scale(%x: ptr<f32> read_only no_alias, %y: ptr<f16> aligned 4 write_only, %n: i32, %b: i1) warps 4 {
      return
    })");
  CHECK(contains(text, "define ptx_kernel void @scale("));
  CHECK(contains(text, "ptr addrspace(1) noalias readonly align 16 %x"));
  CHECK(contains(text, "ptr addrspace(1) writeonly align 4 %y"));
  CHECK(contains(text, "i32 %n, i8 %b")); // a bool parameter is a byte
  CHECK(contains(text, "icmp ne i8 %b, 0"));
  CHECK(contains(text, "\"nvvm.maxntid\"=\"128\""));
  CHECK_FALSE(contains(text, "nvvm.minctasm"));
}

TEST_CASE("lower: blocks_per_sm becomes minctasm") {
  CHECK(contains(lowered("func @f() warps 4 blocks_per_sm 2 {\n return\n}"),
                 "\"nvvm.minctasm\"=\"2\""));
}

TEST_CASE("lower: shared memory is one external array") {
  CHECK(contains(lowered("func @f() warps 1 shared 512 {\n return\n}"),
                 "@tritonc_shared = external addrspace(3) global [0 x i8], align 1024"));
  CHECK_FALSE(contains(lowered("func @f() warps 1 {\n return\n}"), "tritonc_shared"));
}

TEST_CASE("program_id, num_programs: special registers") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>) warps 1 {
      %x = program_id {axis = 0} : i32
      %y = program_id {axis = 1} : i32
      %z = program_id {axis = 2} : i32
      %n = num_programs {axis = 1} : i32
      store %p, %x
      store %p, %y
      store %p, %z
      store %p, %n
      return
    })");
  for (const char *call : {"%x = call i32 @tritonc.ctaid_x", "%y = call i32 @tritonc.ctaid_y",
                           "%z = call i32 @tritonc.ctaid_z", "%n = call i32 @tritonc.nctaid_y"})
    CHECK(contains(text, call));
}

TEST_CASE("launch_warps: a warp computes its program's index, or ends") {
  const std::string program = R"(
      %p.0 = program_id {axis = 0} : i32
      %p.1 = program_id {axis = 1} : i32
      store %p, %p.0
      store %p, %p.1
      return
    })";
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %n: i32) warps 1 {
      %programs = host_value %n : i32
      launch_warps %programs {programs = 4})" +
                             program);
  CHECK(contains(text, "\"nvvm.maxntid\"=\"128\""));
  CHECK(contains(text, "%warp = lshr i32"));
  CHECK(contains(text, "icmp ult i32"));
  CHECK(contains(text, "no_program:"));
  CHECK(count(text, "ret void") == 2);
  CHECK(count(text, "add i32") == 2); // of the comparison, and of %p.0
  CHECK(contains(text, "%p.1 = call i32 @tritonc.ctaid_y"));
  std::string alone = lowered("func @f(%p: ptr<i32>, %n: i32) warps 4 {" + program);
  CHECK(count(alone, "ret void") == 1);
  CHECK(count(alone, "add i32") == 0);
}

TEST_CASE("launch_warps: barriers and shared memory are those of a warp") {
  std::string text = lowered(R"(
    layout #0 [64] reg (32) lane (1) (2) (4) (8) (16) warp
    layout #1 [64] offset (1) (2) (4) (8) (16) (32)
    func @f(%n: i32) warps 1 shared 256 {
      %programs = host_value %n : i32
      launch_warps %programs {programs = 4}
      %s = shared_alloc {address = 0} : shared<i32>[1,64] #1
      %zero = constant {value = 0} : i32
      %x = range {start = 0} : i32[64] #0
      shared_store %x, %s, %zero
      barrier
      return
    })");
  CHECK(contains(text, "call void @tritonc.warp_sync()"));
  CHECK_FALSE(contains(text, "@tritonc.barrier()"));
  CHECK(contains(text, "mul i32 %warp, 256"));
}

TEST_CASE("for_loop: counts from 0 and carries values") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %n: i32) warps 1 {
      %s = for_loop %n, %n : i32 {
        (%t: i32, %acc: i32)
        %next = add %acc, %t : i32
        yield %next
      }
      store %p, %s
      return
    })");
  CHECK(contains(text, "phi i32 [ 0, %entry ]"));
  CHECK(contains(text, "phi i32 [ %n, %entry ], [ %next, %for.body ]"));
  CHECK(contains(text, "icmp slt i32 %t, %n"));
  CHECK(contains(text, "!llvm.loop"));
  CHECK(contains(text, "llvm.loop.unroll.disable"));
}

TEST_CASE("for_loop: carries small elements packed in words") {
  auto carried = [](const std::string &elem, int rows) {
    std::string type = elem + "[" + std::to_string(rows) + "] #0";
    std::string bits = rows == 128 ? "(1) (2)" : "(1)";
    return lowered("layout #0 [" + std::to_string(rows) + "] reg " + bits + " lane (" +
                   (rows == 128 ? "4) (8) (16) (32) (64)" : "2) (4) (8) (16) (32)") + " warp\n" +
                   "func @f(%p: ptr<" + elem + ">, %n: i32) warps 1 {\n" +
                   "%z = constant {value = 0} : i64\n%one = constant {value = 1} : i64\n" +
                   "%v = view %p, %z, %one : view<" + elem + ">[" + std::to_string(rows) + "]\n" +
                   "%a = load %v {vector = 1} : " + type + "\n%r = for_loop %n, %a : " + type +
                   " {\n(%t: i32, %c: " + type + ")\n%d = add %c, %c : " + type +
                   "\nyield %d\n}\nstore %v, %r {vector = 1}\nreturn\n}");
  };
  CHECK(count(carried("i8", 128), "phi i32") == 2); // the other one is the counter
  CHECK(count(carried("f16", 64), "phi i32") == 2);
  CHECK(count(carried("i8", 64), "phi i8") == 2); // half a word
  CHECK(count(carried("i16", 64), "phi i16") == 2);
  CHECK(count(carried("f32", 64), "phi float") == 2);
}

TEST_CASE("for_loop: keeps prefetched loads in their iteration") {
  auto loop = [](const std::string &yielded) {
    return lowered(R"(
      layout #0 [32] reg lane (16) (8) (4) (2) (1) warp
      layout #1 [32] offset (1) (2) (4) (8) (16)
      func @f(%p: ptr<f32>, %n: i32) warps 1 shared 128 {
        %z = constant {value = 0} : i64
        %one = constant {value = 1} : i64
        %i = constant {value = 0} : i32
        %s = shared_alloc {address = 0} : shared<f32>[1,32] #1
        %a = shared_load %s, %i {origin = [0], perm = [0]} : f32[32] #0
        %v = view %p, %z, %one : view<f32>[32]
        %r = for_loop %n, %a : f32[32] #0 {
          (%t: i32, %c: f32[32] #0)
          %b = shared_load %s, %i {origin = [0], perm = [0]} : f32[32] #0
          %d = add %b, %c : f32[32] #0
          yield )" +
                   yielded + "\n}\nstore %v, %r {vector = 1}\nreturn\n}");
  };
  CHECK(count(loop("%b"), "freeze float") == 1);
  CHECK(count(loop("%d"), "freeze") == 0);
}

TEST_CASE("while_loop: tests before each iteration") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %n: i32) warps 1 {
      %k = while_loop %n : i32 {
        (%k0: i32)
        %zero = constant {value = 0} : i32
        %go = cmp %k0, %zero {pred = "gt"} : i1
        condition %go
      } {
        (%k1: i32)
        %k2 = sub %k1, %n : i32
        yield %k2
      }
      store %p, %k
      return
    })");
  CHECK(contains(text, "br i1 %go, label %while.body, label %while.end"));
  CHECK(contains(text, "%k2 = sub nsw i32 %k0, %n"));
}

TEST_CASE("if_else: joins the results of both sides") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %n: i32, %m: i32) warps 1 {
      %c = cmp %n, %m {pred = "lt"} : i1
      %r, %q = if_else %c : i32, i32 {
        %a = mul %n, %m : i32
        yield %a, %n
      } {
        yield %m, %m
      }
      store %p, %r
      store %p, %q
      return
    })");
  CHECK(contains(text, "br i1 %c, label %then, label %else"));
  CHECK(contains(text, "phi i32 [ %a, %then ], [ %m, %else ]"));
}

TEST_CASE("lower: nested loops and branches") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %n: i32) warps 2 {
      %s = for_loop %n, %n : i32 {
        (%t: i32, %acc: i32)
        %c = cmp %t, %acc {pred = "eq"} : i1
        %v = if_else %c : i32 {
          %w = for_loop %t, %acc : i32 {
            (%u: i32, %x: i32)
            store %p, %x
            %y = add %x, %u : i32
            yield %y
          }
          yield %w
        } {
          yield %acc
        }
        yield %v
      }
      store %p, %s
      return
    })");
  CHECK(count(text, "!llvm.loop") >= 2);
}

TEST_CASE(
    "for_loop: carries loaded elements of less than a word apart, so it does not wait for them") {
  auto carried = [](const std::string &vector) {
    const std::string load = "load %v {vector = " + vector + "} : f16[256] #0";
    return lowered("layout #0 [256] reg (1) (2) (4) lane (8) (16) (32) (64) (128) warp\n"
                   "func @f(%p: ptr<f16>, %n: i32) warps 1 {\n"
                   "%z = constant {value = 0} : i64\n%one = constant {value = 1} : i64\n"
                   "%v = view %p, %z, %one : view<f16>[256]\n%x = " +
                   load +
                   "\n%r = for_loop %n, %x : f16[256] #0 {\n(%t: i32, %c: f16[256] #0)\n"
                   "%next = " +
                   load +
                   "\nstore %v, %c {vector = 8}\nyield %next\n}\n"
                   "store %v, %r {vector = 8}\nreturn\n}");
  };
  CHECK(count(carried("1"), "phi half") == 8);
  CHECK(count(carried("2"), "phi half") == 0);
}

TEST_CASE("for_loop: carries tiles per register") {
  std::string text = lowered(R"(
    layout #0 [64] reg (32) lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<f32>, %n: i32) warps 1 {
      %none = constant {number = 0.0} : f32
      %one = constant {number = 1.0} : f32
      %start = splat %none : f32[64] #0
      %ones = splat %one : f32[64] #0
      %s = for_loop %n, %start : f32[64] #0 {
        (%t: i32, %acc: f32[64] #0)
        %next = add %acc, %ones : f32[64] #0
        yield %next
      }
      %zero = constant {value = 0} : i64
      %step = constant {value = 1} : i64
      %v = view %p, %zero, %step : view<f32>[64]
      store %v, %s {vector = 1}
      return
    })");
  CHECK(count(text, "phi float") == 2);
  CHECK(count(text, "fadd float") == 2);
  CHECK(count(text, "store float") == 2);
}

TEST_CASE("lower: deterministic output") {
  const char *program = R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64 multiple_of 8) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %c16 = constant {value = 16} : i64
      %none = constant {number = 0.0} : f32
      %start = splat %none : f32[64,64]
      %r = for_loop %n, %start : f32[64,64] {
        (%t: i32, %s: f32[64,64])
        %t64 = cast %t : i64
        %k = mul %t64, %c16 : i64
        %va = view %A, %k, %ld, %one : view<f16>[64,16]
        %vb = view %B, %k, %one, %ld : view<f16>[16,64]
        %a = load %va : f16[64,16]
        %b = load %vb : f16[16,64]
        %d = dot %a, %b, %s : f32[64,64]
        yield %d
      }
      %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
      store %vc, %r
      return
    })";
  for (const char *gpu : {"75", "80", "90a"})
    CHECK(compiled(program, gpu) == compiled(program, gpu));
}

TEST_CASE("lower: instructions have source locations") {
  tritonc::ir::Function fn = parsed(R"(
    func @f(%p: ptr<i32>, %n: i32, %c: i1) warps 1 {
      %one = constant {value = 1} : i32
      if_else %c {
        %a = add %n, %one : i32
        store %p, %a
        yield
      } {
        yield
      }
      %b = mul %n, %n : i32
      store %p, %b
      return
    })");
  fn.file = "f.tc";
  fn.location = {3, 17};
  int line = 10;
  for_each_op(*fn.body, [&](tritonc::ir::Op &op) { op.location = {line++, 5}; });
  std::string text = lowered(fn);
  CHECK(contains(text, "!DIFile(filename: \"f.tc\", directory: \"\")"));
  CHECK(contains(text, "line: 3"));
  // Code after a block does not get the block's last line.
  auto line_of = [&](std::string_view instruction) {
    size_t at = text.find(instruction);
    REQUIRE(at != std::string::npos);
    size_t number = text.find("!dbg !", at) + 6;
    std::string wanted = "\n!" + text.substr(number, text.find('\n', number) - number) + " = ";
    size_t location = text.find(wanted);
    REQUIRE(location != std::string::npos);
    size_t digits = text.find("line: ", location) + 6;
    return std::stoi(text.substr(digits));
  };
  CHECK(line_of("add nsw i32") == 12);
  CHECK(line_of("br i1 %") == 11);
  CHECK(line_of("mul nsw i32") == 16);
  CHECK(line_of("ret void") == 18);
}

TEST_CASE("lower: undefined values need no instructions") {
  std::string text = lowered(R"(
    layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp
    func @f(%p: ptr<f32>, %n: i32) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %u = undef : f32[64] #0
      %s = for_loop %n, %u : f32[64] #0 {
        (%t: i32, %x: f32[64] #0)
        yield %x
      }
      %v = view %p, %zero, %one : view<f32>[64]
      store %v, %s {vector = 1}
      return
    })");
  CHECK(count(text, "phi float [ poison, %") == 2);
}
