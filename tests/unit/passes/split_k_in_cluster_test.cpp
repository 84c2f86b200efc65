// Tests passes/split_k_in_cluster.cpp. The folder split_k_in_cluster/ has more cases.

#include "matmul_kernel.h"
#include "passes/split_k_in_cluster.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

Schedule split_in(int64_t split_k) {
  return {.kind = Schedule::Kind::warp_specialized, .k_tile = 64, .split_k = split_k};
}

// A matmul as lower_to_tma and make_persistent leave it.
std::string product(const std::string &iterations = "%iterations = host_value %n : i32") {
  return R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %ma = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      %mb = tensor_map %B, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      launch_blocks %n {cluster = 1}
      )" +
         iterations + R"(
      %block = block_id {axis = 0} : i32
      %wide = constant {value = 64} : i32
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,64]
      %sum = for_loop %iterations, %start : f32[64,64] {
        (%t: i32, %acc: f32[64,64])
        %k = mul %t, %wide : i32
        %a = tma_load %ma, %block, %k : f16[64,64]
        %b = tma_load %mb, %k, %block : f16[64,64]
        %d = dot %a, %b, %acc {warpgroups = [1,1]} : f32[64,64]
        yield %d
      }
      %v = view %C, %zero, %ld, %one : view<f32>[64,64]
      store %v, %sum
      return
    })";
}

// The iteration count of each of four blocks, for a loop with `iterations` iterations.
std::string part_of(const std::string &iterations) {
  ir::Function fn = parsed(after(split_k_in_cluster, product(iterations), split_in(4)));
  const ir::Op *loop = nullptr;
  for (const ir::Op *op : fn.body->ops)
    loop = op->is(ir::Opcode::for_loop_) ? op : loop;
  REQUIRE(loop);
  std::optional<int64_t> part = ir::constant_of(loop->operand(0));
  return part ? std::to_string(*part) : loop->operand(0)->name;
}

bool can_be_split(const std::string &text) {
  ir::Function fn = parsed(text);
  std::string before = printed(fn);
  bool can = can_split_k_in_cluster(fn);
  CHECK(printed(fn) == before);
  return can;
}

// The matmul kernel with an epilogue: `operations` compute %more, f32.
std::string with_epilogue(const std::string &operations, const std::string &parameters = "") {
  std::string text = with(matmul_kernel(), "%result = cast %sum : f16[64,64]",
                          operations + "\n %result = cast %more : f16[64,64]");
  return with(text, "%C: ptr<f16>", "%C: ptr<f16>" + parameters);
}

// The matmul kernel with `operations` before its loop.
std::string with_more_before(const std::string &operations, const std::string &parameters = "") {
  std::string text = with(matmul_kernel(), "%sum = for_loop", operations + "\n %sum = for_loop");
  return with(text, "%C: ptr<f16>", "%C: ptr<f16>" + parameters);
}

} // namespace

TEST_CASE("split_k_in_cluster: rounds up the iterations of each block") {
  CHECK(part_of("%iterations = constant {value = 8} : i32") == "2");
  CHECK(part_of("%iterations = constant {value = 9} : i32") == "3");
  CHECK(part_of("%iterations = constant {value = 3} : i32") == "1");
  CHECK(part_of("%iterations = constant {value = 1} : i32") == "1");
  CHECK(part_of("%iterations = host_value %n : i32") == "part");
}

TEST_CASE("split_k_in_cluster: offsets the iteration in the loop body") {
  std::string result = after(split_k_in_cluster, product(), split_in(2));
  CHECK(count(result, "%t,") == 1); // in the addition of the block's first iteration
  CHECK(contains(result, "= add %t, "));
}

TEST_CASE("can_split_k_in_cluster: accepts an element-wise epilogue") {
  CHECK(can_be_split(matmul_kernel()));
  CHECK(can_be_split(with_epilogue(R"(
      %half = constant {number = 0.5} : f32
      %halves = splat %half : f32[64,64]
      %scaled = mul %sum, %halves : f32[64,64]
      %is.less = cmp %scaled, %start {pred = "lt"} : i1[64,64]
      %more = select %is.less, %start, %scaled : f32[64,64])")));
}

TEST_CASE("can_split_k_in_cluster: accepts only f32 and i32 accumulators") {
  CHECK(can_be_split(matmul_kernel(64, 64, 64, "f16")));
  auto sums_in = [](const std::string &elem, const std::string &zero) {
    std::string text = with(matmul_kernel(64, 64, 64, "i8"), ": f32[", ": " + elem + "[");
    return with(text, "{number = 0.0} : f32", zero + " : " + elem);
  };
  CHECK(can_be_split(sums_in("i32", "{value = 0}")));
  CHECK_FALSE(can_be_split(sums_in("i32", "{value = 1}")));
  CHECK_FALSE(can_be_split(sums_in("f16", "{number = 0.0}")));
  CHECK_FALSE(can_be_split(sums_in("f64", "{number = 0.0}")));
}

TEST_CASE("can_split_k_in_cluster: accepts tile loads only after the loop") {
  const std::string bias = R"(
      %vbias = view %bias, %column, %one : view<f32>[64]
      %each = load %vbias : f32[64]
      %row.of.each = expand %each {axis = 0} : f32[1,64]
      %all = broadcast %row.of.each : f32[64,64]
      %more = add %sum, %all : f32[64,64])";
  CHECK(can_be_split(with_epilogue(bias, ", %bias: ptr<f32>")));
  CHECK(can_be_split(with_epilogue(R"(
      %x = load %alpha : f32
      %xs = splat %x : f32[64,64]
      %more = mul %sum, %xs : f32[64,64])",
                                   ", %alpha: ptr<f32>")));
  // Before the loop, the threads of one block load the tile.
  std::string before = with(with_epilogue(bias, ", %bias: ptr<f32>"),
                            "%vbias = view %bias, %column, %one : view<f32>[64]\n"
                            "      %each = load %vbias : f32[64]",
                            "");
  before = with(before, "%sum = for_loop",
                "%vbias = view %bias, %column, %one : view<f32>[64]\n"
                "%each = load %vbias : f32[64]\n %sum = for_loop");
  CHECK_FALSE(can_be_split(before));
  // All threads have a scalar.
  CHECK(can_be_split(
      with(with_epilogue("%xs = splat %x : f32[64,64]\n %more = mul %sum, %xs : f32[64,64]",
                         ", %alpha: ptr<f32>"),
           "%sum = for_loop", "%x = load %alpha : f32\n %sum = for_loop")));
}

TEST_CASE("can_split_k_in_cluster: rejects loads of possibly stored data") {
  const std::string old = R"(
      %first.c = mul %row, %ldc : i64
      %at.c = add %first.c, %column : i64
      %vo = view %C, AT, %ldc, %one : view<f16>[64,64]
      %old = load %vo : f16[64,64]
      %olds = cast %old : f32[64,64]
      %more = add %sum, %olds : f32[64,64])";
  auto accumulating = [&](const std::string &from, const std::string &at) {
    std::string text = with_epilogue(with(old, "AT", at), ", %D: ptr<f16>");
    text = with(text, "view %C, " + at + ", %ldc, %one : view<f16>[64,64]\n      %old",
                "view " + from + ", " + at + ", %ldc, %one : view<f16>[64,64]\n %old");
    size_t again = text.rfind("%first.c = mul");
    return text.substr(0, again) + text.substr(text.find("%vc =", again));
  };
  CHECK(can_be_split(accumulating("%C", "%at.c"))); // the threads that store it
  CHECK(can_be_split(accumulating("%D", "%at.c")));
  CHECK(can_be_split(accumulating("%D", "%row")));
  CHECK_FALSE(can_be_split(accumulating("%C", "%row")));

  // A row and an element of C.
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %vr = view %C, %column, %one : view<f16>[64]
      %each = load %vr : f16[64]
      %each.wide = cast %each : f32[64]
      %row.of.each = expand %each.wide {axis = 0} : f32[1,64]
      %all = broadcast %row.of.each : f32[64,64]
      %more = add %sum, %all : f32[64,64])")));
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %x = load %C : f16
      %x.wide = cast %x : f32
      %xs = splat %x.wide : f32[64,64]
      %more = mul %sum, %xs : f32[64,64])")));
  // An unknown pointer.
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %chosen = select %odd, %C, %D : ptr<f16>
      %x = load %chosen : f16
      %x.wide = cast %x : f32
      %xs = splat %x.wide : f32[64,64]
      %more = mul %sum, %xs : f32[64,64])",
                                         ", %D: ptr<f16>, %odd: i1")));
}

TEST_CASE("can_split_k_in_cluster: rejects trans of a computed tile, reshape and reduce") {
  CHECK(can_be_split(with_epilogue("%more = trans %sum {perm = [1,0]} : f32[64,64]")));
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %twice = add %sum, %sum : f32[64,64]
      %more = trans %twice {perm = [1,0]} : f32[64,64])")));
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %turned = trans %sum {perm = [1,0]} : f32[64,64]
      %more = add %sum, %turned : f32[64,64])")));
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %flat = reshape %sum : f32[4096]
      %more = reshape %flat : f32[64,64])")));
  CHECK_FALSE(can_be_split(with_epilogue(R"(
      %greatest = reduce %sum {axis = 1, op = "max"} : f32[64]
      %column.of = expand %greatest {axis = 1} : f32[64,1]
      %all = broadcast %column.of : f32[64,64]
      %more = sub %sum, %all : f32[64,64])")));
  // Index tiles may use them.
  CHECK(can_be_split(with_epilogue(R"(
      %i = range {start = 0} : i32[64]
      %down.i = expand %i {axis = 1} : i32[64,1]
      %down.all = broadcast %down.i : i32[64,64]
      %right.all = trans %down.all {perm = [1,0]} : i32[64,64]
      %lower = cmp %down.all, %right.all {pred = "ge"} : i1[64,64]
      %more = select %lower, %sum, %start : f32[64,64])")));
}

TEST_CASE("can_split_k_in_cluster: rejects a non-zero start") {
  CHECK_FALSE(can_be_split(with(matmul_kernel(), "{number = 0.0}", "{number = 1.0}")));
}

TEST_CASE("can_split_k_in_cluster: rejects other effects of the program") {
  CHECK(can_be_split(with_more_before("%x = load %p : f32", ", %p: ptr<f32>")));
  CHECK_FALSE(can_be_split(with_more_before("store %p, %nothing", ", %p: ptr<f32>")));
  CHECK_FALSE(can_be_split(with_more_before(
      "for_loop %K {\n (%u: i32)\n store %p, %nothing\n yield\n }", ", %p: ptr<f32>")));
  std::string stores = with(matmul_kernel(), "%C: ptr<f16>", "%C: ptr<f16>, %h: f16");
  CHECK_FALSE(can_be_split(with(stores, "yield %d", "store %C, %h\n yield %d")));
  CHECK_FALSE(can_be_split(with_more_before("print %K {text = \"K = {}\"}")));
  CHECK_FALSE(can_be_split(with_epilogue("print %K {text = \"K = {}\"}\n"
                                         "%more = neg %sum : f32[64,64]")));
}

TEST_CASE("can_split_k_in_cluster: rejects two stores") {
  CHECK_FALSE(can_be_split(
      with(matmul_kernel(), "store %vc, %result", "store %vc, %result\n store %vc, %result")));
}

TEST_CASE("can_split_k_in_cluster: rejects outer loops and carried values") {
  std::string looped =
      with(matmul_kernel(), "%sum = for_loop", "for_loop %K {\n (%wave: i32)\n %sum = for_loop");
  CHECK_FALSE(can_be_split(with(looped, "store %vc, %result", "store %vc, %result\n yield\n }")));
  std::string carries =
      with(matmul_kernel(),
           "%sum = for_loop %K, %start : ", "%last, %sum = for_loop %K, %K, %start : i32, ");
  carries = with(carries, "(%t: i32, ", "(%t: i32, %x: i32, ");
  CHECK_FALSE(can_be_split(with(carries, "yield %d", "yield %t, %d")));
}

TEST_CASE("can_split_k_in_cluster: requires a final store of the whole tile") {
  std::string text = with(matmul_kernel(), "%C: ptr<f16>", "%C: ptr<f16>, %h: f16");
  CHECK_FALSE(can_be_split(with(text, "store %vc, %result", "store %C, %h")));
  CHECK_FALSE(can_be_split(with(text, "store %vc, %result", "")));
  const std::string row = "%vr = view %C, %column, %one : view<f16>[64]\n"
                          "%hs = splat %h : f16[64]\n store %vr, %hs";
  CHECK_FALSE(can_be_split(with(text, "store %vc, %result", row)));
  CHECK_FALSE(
      can_be_split(with(text, "store %vc, %result", "store %vc, %result\n %x = load %A : f16")));
}
