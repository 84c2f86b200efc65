// Tests passes/pipeline.cpp.

#include "passes/pipeline.h"
#include "support/schedules.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// C = A B, as the compiler translates a simple kernel. Each iteration takes a K tile of `step`; the
// output tile is `m` x `n`.
std::string product(const std::string &elem, int m, int n, int step,
                    const std::string &precision = "") {
  auto tile = [](const std::string &of, int rows, int columns) {
    return of + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  auto row = [](const std::string &of, int extent) {
    return of + "[" + std::to_string(extent) + "]";
  };
  std::string ptr = "ptr<" + elem + ">";
  std::string mk = tile("", m, step), kn = tile("", step, n), mn = tile("", m, n);
  return "func @matmul(%A: " + ptr + " read_only, %B: " + ptr + " read_only, %C: " + ptr +
         ", %K: i32, %lda: i32 multiple_of 8, %ldb: i32 multiple_of 8, %ldc: i32 multiple_of 8) {\n"
         "%pm = program_id {axis = 0} : i32\n %pn = program_id {axis = 1} : i32\n"
         "%cm = constant {value = " +
         std::to_string(m) +
         "} : i32\n"
         "%cn = constant {value = " +
         std::to_string(n) +
         "} : i32\n"
         "%ck = constant {value = " +
         std::to_string(step) +
         "} : i32\n"
         "%om = mul %pm, %cm : i32\n %on = mul %pn, %cn : i32\n"
         "%im = range {start = 0} : " +
         row("i32", m) + "\n %in = range {start = 0} : " + row("i32", n) +
         "\n %rk = range {start = 0} : " + row("i32", step) +
         "\n"
         "%oms = splat %om : " +
         row("i32", m) + "\n %rm = add %oms, %im : " + row("i32", m) +
         "\n"
         "%ons = splat %on : " +
         row("i32", n) + "\n %rn = add %ons, %in : " + row("i32", n) +
         "\n"
         "%rmx = expand %rm {axis = 1} : " +
         tile("i32", m, 1) +
         "\n"
         "%rkx = expand %rk {axis = 0} : " +
         tile("i32", 1, step) +
         "\n"
         "%rky = expand %rk {axis = 1} : " +
         tile("i32", step, 1) +
         "\n"
         "%rny = expand %rn {axis = 0} : " +
         tile("i32", 1, n) +
         "\n"
         "%ldas = splat %lda : " +
         tile("i32", m, 1) + "\n %ldbs = splat %ldb : " + tile("i32", step, 1) +
         "\n %ldcs = splat %ldc : " + tile("i32", m, 1) +
         "\n"
         "%ra = mul %rmx, %ldas : " +
         tile("i32", m, 1) + "\n %rb = mul %rky, %ldbs : " + tile("i32", step, 1) +
         "\n %rc = mul %rmx, %ldcs : " + tile("i32", m, 1) +
         "\n"
         "%As = splat %A : " +
         ptr + mk + "\n %ab0 = broadcast %ra : i32" + mk + "\n %ab1 = broadcast %rkx : i32" + mk +
         "\n %pa0 = addptr %As, %ab0 : " + ptr + mk + "\n %pa1 = addptr %pa0, %ab1 : " + ptr + mk +
         "\n"
         "%Bs = splat %B : " +
         ptr + kn + "\n %bb0 = broadcast %rb : i32" + kn + "\n %bb1 = broadcast %rny : i32" + kn +
         "\n %pb0 = addptr %Bs, %bb0 : " + ptr + kn + "\n %pb1 = addptr %pb0, %bb1 : " + ptr + kn +
         "\n"
         "%none = constant {number = 0.0} : f32\n %sum0 = splat %none : f32" +
         mn +
         "\n"
         "%k, %sum, %pa, %pb = while_loop %K, %sum0, %pa1, %pb1 : i32, f32" +
         mn + ", " + ptr + mk + ", " + ptr + kn + " {\n (%k0: i32, %s0: f32" + mn +
         ", %q0: " + ptr + mk + ", %r0: " + ptr + kn +
         ")\n"
         "%zero = constant {value = 0} : i32\n %go = cmp %k0, %zero {pred = \"gt\"} : i1\n "
         "condition %go\n"
         "} {\n (%k1: i32, %s1: f32" +
         mn + ", %q1: " + ptr + mk + ", %r1: " + ptr + kn +
         ")\n"
         "%a = load %q1 : " +
         elem + mk + "\n %b = load %r1 : " + elem + kn +
         "\n"
         "%p = dot %a, %b, %sum0 " +
         precision + ": f32" + mn + "\n %s2 = add %s1, %p : f32" + mn +
         "\n"
         "%cks = splat %ck : i32" +
         mk + "\n %q2 = addptr %q1, %cks : " + ptr + mk +
         "\n"
         "%st = mul %ck, %ldb : i32\n %sts = splat %st : i32" +
         kn + "\n %r2 = addptr %r1, %sts : " + ptr + kn +
         "\n %k2 = sub %k1, %ck : i32\n yield %k2, %s2, %q2, %r2\n}\n"
         "%Cs = splat %C : " +
         ptr + mn + "\n %cb0 = broadcast %rc : i32" + mn + "\n %cb1 = broadcast %rny : i32" + mn +
         "\n %pc0 = addptr %Cs, %cb0 : " + ptr + mn + "\n %pc = addptr %pc0, %cb1 : " + ptr + mn +
         "\n"
         "%out = cast %sum : " +
         elem + mn + "\n store %pc, %out\n return\n}";
}

std::string run(const std::string &program, const char *gpu, const PassObserver &observe = {}) {
  ir::Function fn = parsed(program);
  run_pipeline(fn, *find_gpu(gpu), observe);
  check_rules(fn);
  return printed(fn);
}

} // namespace

TEST_CASE("pipeline: pass_names lists the passes in order of first run") {
  std::vector<std::string_view> seen;
  run(product("f16", 64, 64, 32), "80", [&](std::string_view pass, ir::Function &) {
    if (std::find(seen.begin(), seen.end(), pass) == seen.end())
      seen.push_back(pass);
  });
  CHECK(seen == pass_names());
}

TEST_CASE("pipeline: function is valid after every pass") {
  struct {
    std::string elem;
    int m, n, step;
    std::string precision;
  } cases[] = {
      {"f16", 128, 128, 32}, {"f16", 64, 32, 16},
      {"f16", 32, 64, 8},    {"f16", 16, 16, 64},
      {"bf16", 64, 64, 32},  {"f32", 64, 64, 16},
      {"f32", 128, 64, 8},   {"f32", 64, 64, 16, "{precision = \"tf32\"} "},
      {"f16", 8, 8, 4},      {"f16", 2, 4, 2},
      {"f32", 1, 1, 1},
  };
  for (const char *gpu : {"75", "80", "90a"})
    for (const auto &[elem, m, n, step, precision] : cases) {
      CAPTURE(elem);
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(step);
      run(product(elem, m, n, step, precision), gpu,
          [&](std::string_view, ir::Function &fn) { check_rules(fn); });
    }
}

TEST_CASE("pipeline: result meets the requirements of lower/") {
  for (const char *gpu : {"75", "80"}) {
    ir::Function fn = parsed(product("f16", 128, 128, 32));
    run_pipeline(fn, *find_gpu(gpu));
    CHECK(fn.warps == 4);
    CHECK(fn.shared_bytes > 0);
    int copies = 0;
    ir::for_each_op(*fn.body, [&](ir::Op &op) {
      CHECK_FALSE(op.is(ir::Opcode::convert_layout_));
      CHECK_FALSE(op.is(ir::Opcode::while_loop_));
      copies += op.is(ir::Opcode::async_copy_);
      for (const ir::Value *result : op.results)
        if (result->type.is_tile() && result->type.is_number())
          CHECK(result->type.layout);
      if (op.is(ir::Opcode::shared_alloc_))
        CHECK(op.has(ir::attr::address_));
      if (op.is(ir::Opcode::dot_)) {
        const ir::Value *factor = op.operand(0); // the loop carries the first slice's operand
        CHECK((factor->block || factor->op->is(ir::Opcode::shared_load_)));
      }
    });
    CHECK((copies > 0) == find_gpu(gpu)->has_cp_async);
  }
}

TEST_CASE("pipeline: same input gives the same output") {
  CHECK(run(product("f16", 64, 64, 32), "80") == run(product("f16", 64, 64, 32), "80"));
}

TEST_CASE("pipeline: main loop of a matmul has one barrier") {
  std::string text = run(product("f16", 128, 128, 32), "90");
  std::string loop = text.substr(text.find("for_loop"));
  loop = loop.substr(0, loop.find("yield"));
  size_t first = loop.find("barrier");
  CHECK(first != std::string::npos);
  CHECK(loop.find("barrier", first + 1) == std::string::npos);
  // The loop has only copies and fragments: no tile goes through registers to shared memory.
  CHECK(loop.find("shared_store") == std::string::npos);
}

TEST_CASE("pipeline: does nothing to scalars except dead code removal") {
  const std::string program = R"(
    func @f(%p: ptr<f32>, %x: f32) warps 1 {
      %id = program_id {axis = 0} : i32
      %q = addptr %p, %id : ptr<f32>
      store %q, %x
      return
    })";
  CHECK(run(program, "80") == text(program));
}

// If TMA or cp.async copies the operands, the kernel has no load for them.
TEST_CASE("pipeline: cache hints stay on loads, stores and TMA loads") {
  std::string text = product("f16", 64, 64, 32);
  auto hinted = [](std::string line_end, const std::string &kernel, const char *hint) {
    std::string result;
    for (size_t at = 0, end; at < kernel.size(); at = end + 1) {
      end = std::min(kernel.find('\n', at), kernel.size());
      std::string line = kernel.substr(at, end - at);
      size_t place = line.find(line_end);
      if (place != line.npos)
        line = line_end == "store "
                   ? line + " {cache = \"" + hint + "\"}"
                   : line.replace(line.find(" :"), 2, std::string(" {cache = \"") + hint + "\"} :");
      result += line + "\n";
    }
    return result;
  };
  text = hinted("store ", hinted("= load ", text, "evict_last"), "cs");
  int loads = 0, stores = 0, copies = 0;
  for (const char *gpu : {"75", "80", "90", "90a"})
    for (const Schedule &schedule : complete_schedules_for(parsed(text), *find_gpu(gpu))) {
      CAPTURE(gpu);
      CAPTURE(text_of(schedule));
      ir::Function fn = parsed(text);
      run_pipeline(fn, *find_gpu(gpu), [](std::string_view, ir::Function &) {}, schedule);
      ir::for_each_op(*fn.body, [&](ir::Op &op) {
        if (op.is(ir::Opcode::load_)) {
          CHECK(op.get(ir::attr::cache_) == "evict_last");
          loads++;
        } else if (op.is(ir::Opcode::store_)) {
          CHECK(op.get(ir::attr::cache_) == "cs");
          stores++;
        } else if (op.is(ir::Opcode::tma_load_async_)) {
          CHECK(op.get(ir::attr::cache_) == "evict_last");
          copies++;
        }
      });
    }
  CHECK(loads > 0);
  CHECK(stores > 0);
  CHECK(copies > 0);
}
