// Tests passes/specialize_warps.cpp. The folder specialize_warps/ has more cases.

#include "matmul_kernel.h"
#include "passes/fitting_stages.h"
#include "passes/lower_to_tma.h"
#include "passes/make_persistent.h"
#include "passes/remove_dead_code.h"
#include "passes/select_mma.h"
#include "passes/specialize_warps.h"
#include "support/tile_ir.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A schedule for which set_k_tile has run.
const Schedule by_tma = {.kind = Schedule::Kind::warp_specialized, .k_tile = 32};

// The pass, then the removal of dead code.
void pass(ir::Function &fn, const Schedule &schedule) {
  specialize_warps(fn, *find_gpu("90a"), schedule);
  remove_dead_code(fn);
}

std::string prepared(const std::string &text, const Schedule &schedule = by_tma) {
  ir::Function fn = parsed(text);
  select_mma(fn, *find_gpu("90a"), schedule);
  lower_to_tma(fn, schedule);
  return printed(fn);
}

ir::Function specialized(const std::string &text, const Schedule &schedule = by_tma) {
  ir::Function fn = parsed(prepared(text));
  specialize_warps(fn, *find_gpu("90a"), schedule);
  check_rules(fn);
  return fn;
}

const ir::Op &first(ir::Function &fn, ir::Opcode code) {
  ir::Op *found = nullptr;
  ir::for_each_op(*fn.body, [&](ir::Op &op) {
    if (!found && op.is(code))
      found = &op;
  });
  REQUIRE(found);
  return *found;
}

} // namespace

TEST_CASE("specialize_warps: uses as many stages as fit, 2 to 8") {
  struct {
    int m, n, k;
    int64_t stages;
  } cases[] = {
      {64, 64, 64, 8}, {64, 64, 32, 8}, {128, 128, 64, 6}, {128, 256, 64, 4}, {128, 256, 128, 2}};
  for (const auto &[m, n, k, stages] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    ir::Function fn = specialized(matmul_kernel(m, n, k));
    CHECK(first(fn, ir::Opcode::shared_alloc_).result()->type.shape == ir::Shape{stages, m, k});
    CHECK(value_named(fn, "operands")->type == ir::Type::channel(stages));
  }
}

TEST_CASE("fitting_stages: each consumer group needs a result buffer") {
  auto stages = [](int consumer_groups) {
    ir::Function fn = parsed(matmul_kernel(128, 128, 64));
    return fitting_stages(fn, operand_loads(fn), *find_gpu("90a"),
                          {.consumer_groups = consumer_groups});
  };
  CHECK(stages(1) == 6);
  CHECK(stages(2) == 5);
}

TEST_CASE("specialize_warps: stages leave room for every result") {
  auto stages = [](const std::string &text) {
    ir::Function fn = specialized(text);
    return first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
  };
  const std::string store = "store %vc, %result";
  std::string kernel = with(matmul_kernel(128, 256, 64), "%K: i32", "%K: i32, %D: ptr<f16>");
  auto view = [](const std::string &strides) {
    return "\n %vd = view %D, %at.c, " + strides + " : view<f16>[128,256]\n store %vd, %result";
  };
  CHECK(stages(kernel) == 4);
  CHECK(stages(with(kernel, store, store + view("%ldc, %one"))) == 3);
  CHECK(stages(with(kernel, store, store + view("%one, %ldc"))) == 3); // stored by threads
  CHECK(stages(with(kernel, store, store + "\n" + store + "\n" + store)) == 2);
  // A transposed result of 256 x 128 needs the same room.
  std::string transposed = with(matmul_kernel(128, 256, 64), "%result = cast %sum : f16[128,256]",
                                "%other = trans %sum {perm = [1,0]} : f32[256,128]\n"
                                "%result = cast %other : f16[256,128]");
  transposed = with(transposed, "%one : view<f16>[128,256]", "%one : view<f16>[256,128]");
  CHECK(stages(transposed) == 4);
  CHECK(stages(with(transposed, store, store + "\n" + store + "\n" + store)) == 2);
}

TEST_CASE("specialize_warps: stages leave room for a piece that threads load") {
  auto stages = [](const std::string &stride, const std::string &strides_of_c) {
    std::string kernel = matmul_kernel(128, 256, 64);
    kernel = with(kernel, "%K: i32", "%K: i32, %D: ptr<f16>, %odd: i64");
    std::string loads = R"(%first.d = mul %row, STRIDE : i64
      %at.d = add %first.d, %column : i64
      %vd = view %D, %at.d, STRIDE, %one : view<f16>[128,256]
      %d0 = load %vd : f16[128,256]
      %d32 = cast %d0 : f32[128,256]
      %y = add %sum, %d32 : f32[128,256]
      %result = cast %y : f16[128,256])";
    kernel = with(kernel, "%result = cast %sum : f16[128,256]", with(loads, "STRIDE", stride));
    ir::Function fn = specialized(with(kernel, "%at.c, %ldc, %one", "%at.c, " + strides_of_c));
    return first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
  };
  CHECK(stages("%odd", "%ldc, %one") == 3);
  CHECK(stages("%ldc", "%ldc, %one") == 4); // loaded by TMA, to where the result comes
  CHECK(stages("%odd", "%one, %ldc") == 4); // threads load and store in turns
}

TEST_CASE("fitting_stages: returns the stage count, down to 0") {
  struct {
    int m, n, k, blocks_per_sm;
    int64_t stages;
  } cases[] = {{64, 64, 64, 1, 8},  {128, 256, 64, 1, 4}, {128, 256, 64, 2, 1},
               {64, 64, 256, 1, 3}, {64, 64, 512, 1, 1},  {64, 64, 1024, 1, 0}};
  for (const auto &[m, n, k, blocks_per_sm, stages] : cases) {
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(blocks_per_sm);
    ir::Function fn = parsed(matmul_kernel(m, n, k));
    CHECK(fitting_stages(fn, operand_loads(fn), *find_gpu("90a"),
                         {.blocks_per_sm = blocks_per_sm}) == stages);
  }
}

TEST_CASE("specialize_warps: 8 consumer warps get more registers, 4 do not") {
  ir::Function eight = specialized(matmul_kernel(128, 64, 64));
  CHECK(first(eight, ir::Opcode::warp_specialize_).get(ir::attr::registers_) ==
        std::vector<int64_t>{232, 40});
  // Three warpgroups of 168 registers fill the register file.
  CHECK(2 * 232 + 40 <= 3 * 168);
  ir::Function four = specialized(matmul_kernel(64, 64, 64));
  CHECK_FALSE(first(four, ir::Opcode::warp_specialize_).has(ir::attr::registers_));
}

TEST_CASE("specialize_warps: blocks on one SM share its memory") {
  auto stages = [](int blocks_per_sm) {
    ir::Function fn = parsed(prepared(matmul_kernel(64, 64, 128)));
    specialize_warps(fn, *find_gpu("90a"),
                     {.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = blocks_per_sm});
    return first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
  };
  CHECK(stages(1) == 6);
  CHECK(stages(2) == 2);
}

TEST_CASE("specialize_warps: stage counter continues across programs") {
  ir::Function fn = parsed(prepared(matmul_kernel()));
  make_persistent(fn, by_tma);
  specialize_warps(fn, *find_gpu("90a"), by_tma);
  check_rules(fn);
  const ir::Op &parts = first(fn, ir::Opcode::warp_specialize_);
  for (const ir::Block *part : parts.blocks) {
    const ir::Op *rounds = nullptr, *product = nullptr;
    for (const ir::Op *op : part->ops)
      rounds = op->is(ir::Opcode::for_loop_) ? op : rounds;
    REQUIRE(rounds);
    for (const ir::Op *op : rounds->blocks[0]->ops)
      product = op->is(ir::Opcode::for_loop_) ? op : product;
    REQUIRE(product);
    CHECK(ir::constant_of(rounds->operands.back()) == 0);
    CHECK(product->operands.back() == rounds->blocks[0]->arguments.back());
    CHECK(rounds->blocks[0]->terminator()->operands.back() == product->results.back());
  }
}

TEST_CASE("specialize_warps: ping-pong groups take turns") {
  const Schedule in_turn = {
      .kind = Schedule::Kind::warp_specialized, .consumer_groups = 2, .k_tile = 64};
  ir::Function fn = parsed(prepared(matmul_kernel(128, 64, 64), in_turn));
  make_persistent(fn, in_turn);
  specialize_warps(fn, *find_gpu("90a"), in_turn);
  check_rules(fn);
  CHECK(value_named(fn, "turns")->type == ir::Type::channel(2));
  const ir::Op &parts = first(fn, ir::Opcode::warp_specialize_);
  CHECK(parts.get(ir::attr::registers_) == std::vector<int64_t>{232, 40});
  std::string text = printed(fn);
  size_t begin = text.find("specialize"), end = text.find("} {\n", text.find("store %"));
  std::string workers = text.substr(begin, end - begin);
  // All operations about the turns, from the persistent loop to the matmul loop and after it.
  std::vector<std::string> expected = {
      " = consumer_group_id : i32",
      "get %turns, %wave.1 {offset = -1}",
      " = mul %wave.1, %K",
      "for_loop %K",
      "get %operands",
      "put_done %turns, %wave.1\n",
  };
  size_t at = 0;
  for (const std::string &next : expected) {
    CAPTURE(next);
    CAPTURE(workers);
    size_t found = workers.find(next, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  CHECK_FALSE(contains(text.substr(end), "turns"));
  // One consumer group does not wait for turns.
  ir::Function one = parsed(prepared(matmul_kernel()));
  make_persistent(one, by_tma);
  specialize_warps(one, *find_gpu("90a"), by_tma);
  CHECK_FALSE(contains(printed(one), "turns"));
  CHECK_FALSE(contains(printed(one), "consumer_group_id"));
}

TEST_CASE("specialize_warps: the producer's operations have locations of the source") {
  ir::Function fn = parsed(prepared(matmul_kernel()));
  ir::for_each_op(*fn.body, [](ir::Op &op) {
    op.location = op.is(ir::Opcode::dot_)        ? ir::Location{3, 1, 1}
                  : op.is(ir::Opcode::tma_load_) ? ir::Location{5, 2, 2}
                                                 : ir::Location{7, 3, 3};
  });
  specialize_warps(fn, *find_gpu("90a"), by_tma);
  const ir::Op &parts = first(fn, ir::Opcode::warp_specialize_);
  // The loop belongs to that of the source, its waits and copies to the loads.
  std::map<ir::Opcode, int> lines = {{ir::Opcode::for_loop_, 7},
                                     {ir::Opcode::put_, 5},
                                     {ir::Opcode::put_done_, 5},
                                     {ir::Opcode::tma_load_async_, 5}};
  int found = 0;
  ir::for_each_op(*parts.blocks[1], [&](const ir::Op &op) {
    CHECK(op.location.line > 0);
    auto expected = lines.find(op.code);
    if (expected == lines.end())
      return;
    found++;
    CHECK(op.location.line == expected->second);
  });
  CHECK(found == 5);
  // The other operations of the consumers keep theirs.
  ir::for_each_op(*parts.blocks[0], [](const ir::Op &op) {
    if (op.is(ir::Opcode::for_loop_))
      CHECK(op.location.line == 7);
  });
}

TEST_CASE("specialize_warps: host operations stay before warp_specialize") {
  ir::Function fn = specialized(matmul_kernel());
  std::vector<ir::Opcode> behind;
  bool parted = false;
  for (const ir::Op *op : fn.body->ops) {
    parted |= op->is(ir::Opcode::warp_specialize_);
    CHECK_FALSE((parted && op->is(ir::Opcode::tensor_map_)));
  }
  CHECK(parted);
  CHECK(fn.body->ops.back()->is(ir::Opcode::return_));
}

namespace {

const Schedule by_threads = {
    .kind = Schedule::Kind::warp_specialized, .producer_warps = 4, .k_tile = 64};

ir::Function by_warps(const std::string &text, const Schedule &schedule = by_threads) {
  ir::Function fn = parsed(text);
  select_mma(fn, *find_gpu("90a"), schedule);
  lower_to_tma(fn, schedule);
  pass(fn, schedule);
  check_rules(fn);
  return fn;
}

// The operations of the producer warps in one K iteration.
std::vector<const ir::Op *> copying_step(ir::Function &fn) {
  const ir::Block *block = first(fn, ir::Opcode::warp_specialize_).blocks[1];
  for (bool found = true; found;) {
    found = false;
    for (const ir::Op *op : block->ops)
      if (op->is(ir::Opcode::for_loop_)) {
        block = op->blocks[0];
        found = true;
        break;
      }
  }
  return {block->ops.begin(), block->ops.end()};
}

} // namespace

TEST_CASE("specialize_warps: producer warps overlap loads and stores") {
  ir::Function fn = by_warps(matmul_kernel(128, 128, 64));
  const ir::Op &parts = first(fn, ir::Opcode::warp_specialize_);
  CHECK_FALSE(parts.has(ir::attr::one_thread_));
  for (const char *of_maps : {"tensor_map", "tma_prefetch"})
    CHECK_FALSE(contains(printed(fn), of_maps));

  std::string order;
  std::vector<std::vector<int64_t>> origins;
  for (const ir::Op *op : copying_step(fn)) {
    order += op->is(ir::Opcode::load_)           ? "L"
             : op->is(ir::Opcode::shared_store_) ? "S"
             : op->is(ir::Opcode::put_)          ? "p"
             : op->is(ir::Opcode::put_done_)     ? "d"
                                                 : "";
    if (op->is(ir::Opcode::shared_store_)) {
      // 32 elements for each of 128 threads.
      CHECK(op->operand(0)->type.elements() == 32 * 128);
      origins.push_back(op->get(ir::attr::origin_));
    }
  }
  CHECK(order == "LLpSLSLSSd");
  CHECK(origins == std::vector<std::vector<int64_t>>{{0, 0}, {64, 0}, {0, 0}, {32, 0}});
}

TEST_CASE("specialize_warps: producer warps copy long rows in parts") {
  ir::Function fn =
      by_warps(matmul_kernel(64, 256, 64),
               {.kind = Schedule::Kind::warp_specialized, .producer_warps = 4, .k_tile = 64});
  std::set<ir::Shape> shapes;
  for (const ir::Op *op : copying_step(fn))
    if (op->is(ir::Opcode::shared_store_))
      shapes.insert(op->operand(0)->type.shape);
  CHECK(shapes == std::set<ir::Shape>{{64, 64}, {16, 256}});
  // In the transposed memory order, rows run along the other axis.
  std::string transposed =
      with(matmul_kernel(64, 256, 64), "%at.b, %ldb, %one", "%at.b, %one, %ldb");
  ir::Function other = by_warps(transposed);
  shapes.clear();
  for (const ir::Op *op : copying_step(other))
    if (op->is(ir::Opcode::shared_store_))
      shapes.insert(op->operand(0)->type.shape);
  CHECK(shapes == std::set<ir::Shape>{{64, 64}});
}

TEST_CASE("specialize_warps: producer warps copy through one of two pointers") {
  auto buffers_of = [](const std::string &text) {
    ir::Function fn = by_warps(text);
    std::vector<std::string> names;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::shared_alloc_))
        names.push_back(op.result()->name);
    });
    return names;
  };
  std::string selected = with(matmul_kernel(), "%K: i32", "%K: i32, %odd: i1");
  selected = with(selected, "%one =", "%AB = select %odd, %A, %B : ptr<f16>\n %one =");
  CHECK(buffers_of(selected) == std::vector<std::string>{"A", "B"});
  selected = with(selected, "view %A,", "view %AB,");
  CHECK(buffers_of(selected) == std::vector<std::string>{"", "B"}); // no name of a parameter
}

TEST_CASE("specialize_warps: producer loads fill masked elements with 0") {
  CHECK_FALSE(contains(printed(by_warps(matmul_kernel())), "inside"));
  const std::string mask = R"(
        %r = range {start = 0} : i32[64]
        %r64 = cast %r : i64[64]
        %left = sub %lda, %k : i64
        %limit = splat %left : i64[64]
        %below = cmp %r64, %limit {pred = "lt"} : i1[64]
        %on.row = expand %below {axis = 0} : i1[1,64]
        %on = broadcast %on.row : i1[64,64]
        %nought = constant {number = 0.0} : f16
        %zeros = splat %nought : f16[64,64]
        %a = load %va, %on, %zeros)";
  ir::Function fn = by_warps(with(matmul_kernel(), "%a = load %va", mask));
  int masked = 0, loads = 0;
  for (const ir::Op *op : copying_step(fn)) {
    if (!op->is(ir::Opcode::load_))
      continue;
    loads++;
    if (op->operands.size() == 1)
      continue;
    masked++;
    CHECK(op->operand(1)->op->is(ir::Opcode::in_bounds_));
    CHECK(ir::is_zero(op->operand(2)));
  }
  CHECK(loads == 2);
  CHECK(masked == 1);
}

TEST_CASE("specialize_warps: producer loads keep the cache hint of the source") {
  // The hints of the loads of A and B, in pieces of a tile; "": none.
  auto hints = [](const std::string &kernel) {
    ir::Function fn = by_warps(kernel);
    std::map<std::string, std::set<std::string>> found; // by parameter
    for (const ir::Op *op : copying_step(fn))
      if (op->is(ir::Opcode::load_))
        found[op->operand(0)->op->operand(0)->name].emplace(
            op->has(ir::attr::cache_) ? op->get(ir::attr::cache_) : "");
    return found;
  };
  const std::string kernel = matmul_kernel(128, 128, 64);
  const std::string hinted = with(kernel, "%a = load %va :", "%a = load %va {cache = \"cg\"} :");
  using Hints = std::map<std::string, std::set<std::string>>;
  CHECK(hints(kernel) == Hints{{"A", {""}}, {"B", {""}}});
  CHECK(hints(hinted) == Hints{{"A", {"cg"}}, {"B", {""}}});
}

TEST_CASE("specialize_warps: registers depend on both warp counts") {
  struct {
    int m, copying;
    std::vector<int64_t> registers;
  } cases[] = {{128, 4, {176, 152}}, {128, 8, {104, 152}}, {64, 4, {}}, {64, 8, {}}};
  for (const auto &[m, copying, registers] : cases) {
    ir::Function fn = by_warps(
        matmul_kernel(m, 64, 64),
        {.kind = Schedule::Kind::warp_specialized, .producer_warps = copying, .k_tile = 64});
    CHECK(first(fn, ir::Opcode::warp_specialize_).get(ir::attr::registers_) == registers);
    CHECK(partitions_of(fn)[1].warps == copying);
    if (registers.empty())
      continue;
    // The total register count stays the same.
    int64_t share = 65536 / (32 * (fn.warps + copying)) / 8 * 8;
    CHECK(fn.warps * registers[0] + copying * registers[1] == (fn.warps + copying) * share);
  }
}

TEST_CASE("specialize_warps: mma warps keep the default registers") {
  ir::Function fn = parsed(matmul_kernel(128, 256, 64));
  select_mma(fn, *find_gpu("90"), by_tma);
  lower_to_tma(fn, by_tma);
  specialize_warps(fn, *find_gpu("90"), by_tma);
  check_rules(fn);
  CHECK(fn.warps == 8);
  CHECK_FALSE(first(fn, ir::Opcode::warp_specialize_).has(ir::attr::registers_));
}
