// Tests passes/select_mma.cpp. The folder select_mma/ has more cases.

#include "passes/select_mma.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Product {
  std::string elem;
  int m, n, k;
  std::string gpu = "90";
  std::string precision = "";
};

std::string program(const Product &p, const std::string &strides_a = "%ld, %one",
                    const std::string &strides_b = "%ld, %one") {
  auto shape = [](int rows, int columns) {
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  std::string ptr = "ptr<" + p.elem + ">", view = "view<" + p.elem + ">";
  std::string sum = p.elem == "f64" ? "f64" : p.elem == "i8" ? "i32" : "f32";
  return "func @f(%A: " + ptr + ", %B: " + ptr + ", %C: ptr<" + sum + ">" + shape(p.m, p.n) +
         ", %c: " + sum + shape(p.m, p.n) +
         ", %ld: i64 multiple_of 8) {\n"
         "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
         "%va = view %A, %zero, " +
         strides_a + " : " + view + shape(p.m, p.k) +
         "\n"
         "%vb = view %B, %zero, " +
         strides_b + " : " + view + shape(p.k, p.n) +
         "\n"
         "%a = load %va : " +
         p.elem + shape(p.m, p.k) +
         "\n"
         "%b = load %vb : " +
         p.elem + shape(p.k, p.n) +
         "\n"
         "%d = dot %a, %b, %c " +
         (p.precision.empty() ? "" : "{precision = \"" + p.precision + "\"}") + ": " + sum +
         shape(p.m, p.n) + "\n store %C, %d\n return\n}";
}

struct Choice {
  std::string instruction;
  std::vector<int64_t> warps, vector;
  int all_warps;
};

Choice choice(const std::string &text, const std::string &gpu) {
  ir::Function fn = parsed(text);
  select_mma(fn, *find_gpu(gpu));
  check_rules(fn);
  const ir::Op &dot = *value_named(fn, "d")->op;
  return {std::string(dot.get(ir::attr::instruction_)), dot.get(ir::attr::warps_),
          dot.get(ir::attr::thread_tile_), fn.warps};
}

} // namespace

TEST_CASE("select_mma: selects the deepest instruction available") {
  struct {
    Product product;
    std::string instruction;
  } cases[] = {
      {{"f16", 64, 64, 32}, "m16n8k16"},
      {{"f16", 64, 64, 16}, "m16n8k16"},
      {{"f16", 64, 64, 8}, "m16n8k8"},
      {{"f16", 64, 64, 4}, "fma"},
      {{"f16", 16, 8, 16}, "m16n8k16"},
      {{"f16", 8, 64, 16}, "fma"},
      {{"f16", 64, 4, 16}, "fma"},
      {{"bf16", 64, 64, 16}, "m16n8k16"},
      {{"bf16", 64, 64, 8}, "m16n8k8"},
      // Turing has only m16n8k8 for f16.
      {{"f16", 64, 64, 16, "75"}, "m16n8k8"},
      {{"bf16", 64, 64, 16, "75"}, "fma"},
      // f32 is exact by default.
      {{"f32", 64, 64, 16}, "fma"},
      {{"f32", 64, 64, 16, "90", "exact"}, "fma"},
      {{"f32", 64, 64, 16, "90", "tf32"}, "m16n8k8"},
      {{"f32", 64, 64, 4, "90", "tf32"}, "m16n8k4"},
      {{"f32", 64, 64, 2, "90", "tf32"}, "fma"},
      {{"f32", 64, 64, 16, "75", "tf32"}, "fma"},
      {{"i8", 64, 64, 64}, "m16n8k32"},
      {{"i8", 64, 64, 16}, "m16n8k16"},
      {{"i8", 64, 64, 8}, "fma"},
      {{"i8", 8, 64, 64}, "m8n8k16"},
      {{"i8", 4, 64, 64}, "fma"},
      {{"i8", 64, 64, 64, "75"}, "m8n8k16"},
      {{"i16", 64, 64, 64}, "fma"},
      // 8-bit floats, as FP8 or converted to f16.
      {{"e4m3", 64, 64, 64}, "m16n8k32"},
      {{"e5m2", 64, 64, 32, "89"}, "m16n8k32"},
      {{"e5m2", 64, 64, 16}, "m16n8k16"},
      {{"e4m3", 64, 64, 64, "80"}, "m16n8k16"},
      {{"e4m3", 64, 64, 64, "75"}, "m16n8k8"},
      {{"e4m3", 64, 64, 4}, "fma"},
      {{"e4m3", 8, 64, 64}, "fma"},
      // f64: Ampere has 8 rows.
      {{"f64", 64, 64, 16}, "m16n8k8"},
      {{"f64", 64, 64, 4}, "m16n8k4"},
      {{"f64", 64, 64, 2}, "fma"},
      {{"f64", 8, 64, 16}, "m8n8k4"},
      {{"f64", 4, 64, 16}, "fma"},
      {{"f64", 64, 4, 16}, "fma"},
      {{"f64", 64, 64, 16, "80"}, "m8n8k4"},
      {{"f64", 64, 64, 16, "75"}, "fma"},
  };
  for (const auto &[product, instruction] : cases) {
    CAPTURE(product.elem);
    CAPTURE(product.m);
    CAPTURE(product.n);
    CAPTURE(product.k);
    CAPTURE(product.gpu);
    CHECK(choice(program(product), product.gpu).instruction == instruction);
  }
}

TEST_CASE("select_mma: converts FP8 to f16 without an FP8 instruction") {
  auto as = [](const Product &product) {
    ir::Function fn = parsed(program(product));
    select_mma(fn, *find_gpu(product.gpu));
    check_rules(fn);
    return std::string(value_named(fn, "d")->op->get(ir::attr::convert_to_));
  };
  CHECK(as({"e4m3", 64, 64, 64, "80"}) == "f16");
  CHECK(as({"e5m2", 64, 64, 64, "75"}) == "f16");
  CHECK(as({"e4m3", 64, 64, 16, "90"}) == "f16");
  CHECK(as({"e4m3", 64, 64, 32, "90"}) == "");
  CHECK(as({"e4m3", 64, 64, 4, "80"}) == ""); // fma
  CHECK(as({"i8", 64, 64, 16, "80"}) == "");
  CHECK(as({"f16", 64, 64, 16, "80"}) == "");
}

TEST_CASE("select_mma: divides the tile into nearly square warp tiles") {
  struct {
    int m, n;
    std::vector<int64_t> warps;
  } cases[] = {
      {128, 128, {2, 2}}, {128, 256, {2, 4}}, {256, 128, {4, 2}}, {64, 64, {2, 2}},
      {16, 64, {1, 2}},   {32, 32, {2, 1}},   {128, 16, {4, 1}},  {16, 128, {1, 4}},
  };
  for (const auto &[m, n, warps] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    Choice chosen = choice(program({"f16", m, n, 16}), "90");
    CHECK(chosen.warps == warps);
    CHECK(chosen.all_warps == warps[0] * warps[1]);
  }
}

TEST_CASE("select_mma: limits accumulators per thread") {
  struct {
    const char *gpu, *elem;
    int most; // an f64 accumulator takes two registers
  } cases[] = {{"90", "f16", 128}, {"80", "f16", 128}, {"75", "f16", 128},
               {"90", "f32", 128}, {"80", "f32", 128}, {"75", "f32", 64},
               {"90", "f64", 64},  {"80", "f64", 64},  {"75", "f64", 32}};
  for (auto [gpu, elem, most] : cases)
    for (int m = 16; m <= 256; m *= 2)
      for (int n = 16; n <= 256; n *= 2) {
        Choice chosen = choice(program({elem, m, n, 16}), gpu);
        CAPTURE(gpu);
        CAPTURE(elem);
        CAPTURE(m);
        CAPTURE(n);
        CHECK(chosen.all_warps <= 16);
        CHECK((m * n <= most * 32 * chosen.all_warps || chosen.all_warps == 16));
      }
}

TEST_CASE("select_mma: thread tile follows contiguous elements") {
  Product f32{"f32", 64, 64, 16};
  CHECK(choice(program(f32), "75").vector == std::vector<int64_t>{1, 4});
  CHECK(choice(program(f32, "%one, %ld", "%ld, %one"), "75").vector == std::vector<int64_t>{4, 4});
  CHECK(choice(program(f32, "%one, %ld", "%one, %ld"), "75").vector == std::vector<int64_t>{4, 1});
  CHECK(choice(program(f32, "%ld, %ld", "%ld, %ld"), "75").vector == std::vector<int64_t>{1, 1});
  CHECK(choice(program({"f32", 64, 2, 16}), "75").vector == std::vector<int64_t>{1, 2});
  CHECK(choice(program({"f16", 64, 64, 16}), "75").vector.empty());
}

TEST_CASE("select_mma: thread tile is 4 x 4 with 4-byte cp.async") {
  Product f32{"f32", 64, 64, 16};
  for (std::string a : {"%ld, %one", "%one, %ld", "%ld, %ld"})
    CHECK(choice(program(f32, a, "%one, %ld"), "80").vector == std::vector<int64_t>{4, 4});
  CHECK(choice(program({"f32", 64, 2, 16}), "80").vector == std::vector<int64_t>{4, 2});
  // cp.async cannot copy 2 bytes.
  CHECK(choice(program({"f16", 64, 64, 4}), "80").vector == std::vector<int64_t>{1, 4});
}

TEST_CASE("select_mma: warp count follows the largest tile without a matmul") {
  auto warps = [](int elements) {
    std::string tile = "[" + std::to_string(elements) + "]";
    ir::Function fn = parsed("func @f(%p: ptr<f32>" + tile +
                             ", %q: ptr<f32>[8]) {\n"
                             "%a = load %q : f32[8]\n store %q, %a\n"
                             "%x = load %p : f32" +
                             tile + "\n store %p, %x\n return\n}");
    select_mma(fn, *find_gpu("90"));
    return fn.warps;
  };
  CHECK(warps(32) == 1);
  CHECK(warps(128) == 1);
  CHECK(warps(256) == 2);
  CHECK(warps(512) == 4);
  CHECK(warps(4096) == 4);
  // The pass adds warps if a thread would have more than 32 elements.
  CHECK(warps(8192) == 8);
  CHECK(warps(16384) == 16);
  CHECK(warps(65536) == 16);
}

TEST_CASE("select_mma: warp_specialized uses wgmma and 4 producer warps") {
  struct {
    int m, n;
    std::vector<int64_t> warpgroups;
  } cases[] = {{64, 64, {1, 1}}, {64, 256, {1, 1}}, {128, 64, {2, 1}}, {256, 128, {2, 1}}};
  for (const auto &[m, n, warpgroups] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    ir::Function fn = parsed(program({"f16", m, n, 16}));
    select_mma(fn, *find_gpu("90a"), {.kind = Schedule::Kind::warp_specialized});
    check_rules(fn);
    const ir::Op &dot = *value_named(fn, "d")->op;
    CHECK(dot.get(ir::attr::instruction_) == "wgmma");
    CHECK(dot.get(ir::attr::warpgroups_) == warpgroups);
    CHECK_FALSE(dot.has(ir::attr::warps_));
    CHECK(fn.warps == 4 * warpgroups[0]);
  }
}

TEST_CASE("select_mma: each ping-pong consumer group is one warpgroup") {
  for (int m : {64, 128}) {
    ir::Function fn = parsed(program({"f16", m, 128, 16}));
    select_mma(fn, *find_gpu("90a"),
               {.kind = Schedule::Kind::warp_specialized, .consumer_groups = 2});
    check_rules(fn);
    CHECK(value_named(fn, "d")->op->get(ir::attr::warpgroups_) == std::vector<int64_t>{1, 1});
    CHECK(fn.warps == 4);
  }
}

TEST_CASE("select_mma: specialized mma warps have interleaved columns") {
  struct {
    int m, n;
    std::vector<int64_t> warps;
  } cases[] = {{64, 64, {2, 2}}, {128, 128, {2, 2}}, {128, 256, {2, 4}}};
  for (const auto &[m, n, warps] : cases)
    for (const char *gpu : {"90", "100a", "120"}) {
      CAPTURE(m);
      CAPTURE(n);
      ir::Function fn = parsed(program({"f16", m, n, 16}));
      select_mma(fn, *find_gpu(gpu), {.kind = Schedule::Kind::warp_specialized});
      check_rules(fn);
      const ir::Op &dot = *value_named(fn, "d")->op;
      CHECK(dot.get(ir::attr::instruction_) == "m16n8k16");
      CHECK(dot.get(ir::attr::warps_) == warps);
      CHECK(dot.has(ir::attr::interleaved_));
      CHECK_FALSE(dot.has(ir::attr::warpgroups_));
      CHECK(fn.warps == warps[0] * warps[1]);
    }
  ir::Function plain = parsed(program({"f16", 128, 256, 16}));
  select_mma(plain, *find_gpu("90"));
  CHECK_FALSE(value_named(plain, "d")->op->has(ir::attr::interleaved_));
}

TEST_CASE("select_mma: baseline schedule has no producer warps") {
  ir::Function fn = parsed(program({"f16", 128, 64, 16}));
  select_mma(fn, *find_gpu("90a"));
  CHECK(value_named(fn, "d")->op->get(ir::attr::instruction_) == "m16n8k16");
}
