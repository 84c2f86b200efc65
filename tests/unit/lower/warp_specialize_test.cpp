// Tests lower/warp_specialize.cpp, lower/tma.cpp and lower/host_values.cpp: warp specialization,
// TMA copies, and hidden parameters.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// Two tensor maps, row-major and column-major, two stages of two boxes each, and a warp_specialize.
std::string program(const std::string &workers, const std::string &producer,
                    const std::vector<int64_t> &registers = {}, bool by_threads = false,
                    int consumer_groups = 1) {
  tritonc::ir::Function fn = parsed(R"(
    layout #0 [16,128] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (0,64)
    layout #1 [128,16] offset (1,0) (2,0) (4,0) (8,0) (16,0) (32,0) (8,1) (16,2) (32,4) (0,8) (64,0)
    layout #2 [16,128] reg (0,32) (0,64) (1,0) (2,0) (4,0) (8,0) lane (0,1) (0,2) (0,4) (0,8) (0,16) warp (0,0) (0,0)
    layout #3 [128] reg lane (1) (2) (4) (8) (16) warp (32) (64)
    func @f(%A: ptr<f16>, %ld: i64, %n: i32, %x: i32, %y: i32, %z: i32) warps 4 shared 16384 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %blocks = host_value %n : i32
      %rows = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[16,64]
      %columns = tensor_map %A, %zero, %ld, %ld, %one, %ld {swizzle = 128} : map<f16>[64,16]
      %matrices = tensor_map %A, %zero, %ld, %ld, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[1,16,64]
      launch_blocks %n
      %s = shared_alloc {address = 0} : shared<f16>[2,16,128] #0
      %t = shared_alloc {address = 8192} : shared<f16>[2,128,16] #1
      %full = mbarriers {address = 16384, arrivals = 1} : shared<i64>[2,1]
      %empty = mbarriers {address = 16400, arrivals = 4} : shared<i64>[2,1]
      warp_specialize {one_thread = [0,1], warps = [4,4]} {
      )" + workers + "\n yield\n } {\n" +
                                    producer + "\n yield\n }\n return\n }");
  for (tritonc::ir::Op *op : fn.body->ops) {
    if (op->is(tritonc::ir::Opcode::warp_specialize_) && !registers.empty())
      op->set(tritonc::ir::attr::registers_, registers);
    if (op->is(tritonc::ir::Opcode::warp_specialize_) && by_threads)
      op->erase(tritonc::ir::attr::one_thread_);
    if (op->is(tritonc::ir::Opcode::warp_specialize_))
      op->set(tritonc::ir::attr::groups_, {consumer_groups, 1});
  }
  return lowered(fn, "90a");
}

// The code after the role branch. Guard blocks follow the blocks of both parts, so a test fills
// only one part.
std::string parted(const std::string &text) {
  size_t workers = text.find("\npartition:");
  REQUIRE_MESSAGE(workers != std::string::npos, text);
  return text.substr(workers, text.find("\n}\n") - workers);
}

std::string workers_of(const std::string &workers) { return parted(program(workers, "")); }
std::string producers_of(const std::string &producer) { return parted(program("", producer)); }

} // namespace

TEST_CASE("hidden parameters: after the kernel's own") {
  std::string text = program("", "");
  size_t own = text.find("i32 %z,"), number = text.find("i32 %blocks,"),
         map = text.find("byval([128 x i8]) align 64 \"nvvm.grid_constant\" %rows,");
  CHECK(own < number);
  CHECK(number < map);
  CHECK(map < text.find("%columns)"));
  CHECK(contains(text, "\"nvvm.maxntid\"=\"256\""));
}

TEST_CASE("hidden parameters: none when the kernel needs none") {
  std::string text = lowered("func @f(%n: i32) warps 4 {\n return\n}", "90a");
  CHECK(contains(text, "@f(i32 %n)"));
  CHECK(contains(text, "\"nvvm.maxntid\"=\"128\""));
  CHECK_FALSE(contains(text, "shfl"));
}

TEST_CASE("mbarriers: one thread initializes, before the role branch") {
  std::string text = program("", "");
  CHECK(count(text, "call void @tritonc.mbarrier_init(i32 add (i32 ptrtoint") == 4);
  for (const char *operands :
       {" i32 16384), i32 1)", " i32 16392), i32 1)", " i32 16400), i32 4)", " i32 16408), i32 4)"})
    CHECK(count(text, operands) == 1);
  CHECK(count(text, "br i1") == 2 + 1 + 1 + 1); // two mbarriers ops, role branch, warp, thread
  size_t init = text.rfind("call void @tritonc.mbarrier_init(");
  size_t fence = text.find("call void @tritonc.fence_mbarrier_init()");
  size_t barrier = text.find("call void @tritonc.barrier()"), workers = text.find("\npartition:");
  CHECK(init < fence);
  CHECK(fence < barrier);
  CHECK(barrier < workers);
}

TEST_CASE("warp_specialize: consumers first, one producer thread") {
  std::string text = program("", "mbarrier_arrive %full, %x");
  CHECK(contains(text, "icmp ult i32 %"));
  std::string producers = text.substr(text.find("\nother_partitions:"));
  size_t first_warp = producers.find("icmp eq i32 %"), elect = producers.find("@tritonc.elect()");
  CHECK(
      contains(producers.substr(first_warp, producers.find('\n', first_warp) - first_warp), ", 4"));
  CHECK(first_warp < elect);
  CHECK(elect < producers.find("@tritonc.mbarrier_arrive("));
  // The branch condition must be visibly uniform in a warp.
  CHECK(contains(text, "call i32 @tritonc.shfl_idx("));
}

TEST_CASE("warp_specialize: partitions have their warps, barriers and registers") {
  std::string text = lowered("func @f() warps 4 {\n warp_specialize {groups = [2,1,1], registers = "
                             "[200,120,24], warps = [4,8,4]} {\n barrier\n yield\n} {\n barrier\n "
                             "yield\n} {\n barrier\n yield\n}\n return\n}",
                             "90a");
  CHECK(contains(text, "\"nvvm.maxntid\"=\"640\""));
  CHECK(contains(text, ", 8\n"));                                           // the first ends here
  CHECK(contains(text, ", 16\n"));                                          // the second
  CHECK(contains(text, "call void @tritonc.barrier_sync(i32 3, i32 256)")); // behind two groups
  CHECK(contains(text, "call void @tritonc.barrier_sync(i32 4, i32 128)"));
  for (const char *registers : {"i32 200)", "i32 120)", "i32 24)"})
    CHECK(contains(text, registers));
}

TEST_CASE("barrier: only consumer warps after the role branch") {
  CHECK(count(workers_of("barrier"), "call void @tritonc.barrier_sync(i32 1, i32 128)") == 1);
  CHECK_FALSE(contains(workers_of("barrier"), "call void @tritonc.barrier()"));
  CHECK(contains(lowered("func @f() warps 4 {\n barrier\n return\n}", "90a"),
                 "call void @tritonc.barrier()"));
}

TEST_CASE("consumer groups: own barriers, first threads and buffers") {
  auto with_consumer_groups = [](int consumer_groups) {
    return program("%u = shared_alloc {address = 17408, consumer_group_bytes = 4096} : "
                   "shared<f16>[1,128,16] #1\n"
                   "%first = constant {value = 0} : i32\n"
                   "barrier\n tma_store_async %columns, %u, %first, %x, %y\n",
                   "", {232, 40}, false, consumer_groups);
  };
  std::string text = with_consumer_groups(2);
  CHECK(contains(text, "\"nvvm.maxntid\"=\"384\"")); // 168 registers per thread
  CHECK(contains(text, "setmaxnreg_inc(i32 232)"));
  CHECK(contains(text, "setmaxnreg_dec(i32 40)"));
  CHECK(contains(text, "%consumer_group = udiv i32 %"));
  CHECK(contains(text, ", 4\n"));
  CHECK(contains(text, "add i32 1, %consumer_group"));
  CHECK_FALSE(contains(text, "@tritonc.barrier_sync(i32 1, i32 128)"));
  CHECK(contains(text, "mul i32 %consumer_group, 4096"));
  CHECK(contains(text, "icmp ult i32 %")); // the role branch
  CHECK(contains(text, ", 8\n"));
}

TEST_CASE("setmaxnreg: emitted only when register counts are set") {
  // Eight warps have 256 registers per thread at the start.
  std::string text = program("", "", {264, 40});
  size_t workers = text.find("\npartition:"), producers = text.find("\nother_partitions:");
  size_t taken = text.find("call void @tritonc.setmaxnreg_inc(i32 264)");
  size_t given = text.find("call void @tritonc.setmaxnreg_dec(i32 40)");
  CHECK(workers < taken);
  CHECK(taken < producers);
  CHECK(producers < given);
  // All warps of the group release registers, so this comes before one warp is chosen.
  CHECK(given < text.find("icmp", producers));
  CHECK_FALSE(contains(program("", ""), "setmaxnreg"));
  // A part with fewer registers than at the start uses setmaxnreg_dec.
  text = program("", "", {104, 264});
  CHECK(contains(text, "call void @tritonc.setmaxnreg_dec(i32 104)"));
  CHECK(contains(text, "call void @tritonc.setmaxnreg_inc(i32 264)"));
}

TEST_CASE("warp_specialize: all producer warps work and arrive") {
  std::string text = program("", "mbarrier_arrive %full, %x {per_warp = 1}", {}, true);
  std::string producers = text.substr(text.find("\nother_partitions:"));
  CHECK_FALSE(contains(producers, "@tritonc.elect()"));
  CHECK_FALSE(contains(text, "@tritonc.fence_mbarrier_init()")); // only needed for TMA
  size_t together = producers.find("call void @tritonc.warp_sync()");
  CHECK(together < producers.find("@tritonc.mbarrier_arrive("));
  // A tile's warps are numbered from the first producer warp.
  const std::string stores = R"(
      %r = range {start = 0} : i32[128] #3
      %pointers = splat %A : ptr<f16>[128] #3
      %p = addptr %pointers, %r : ptr<f16>[128] #3
      %h = load %p {vector = 1} : f16[128] #3
      store %p, %h {vector = 1})";
  std::string tile = program("", stores, {}, true);
  CHECK(contains(tile.substr(tile.find("\nother_partitions:")), ", 4\n")); // sub i32 %warp, 4
  CHECK(contains(tile.substr(tile.find("\nother_partitions:")), "sub i32 %"));
  std::string of_workers = program(stores, "");
  of_workers = of_workers.substr(of_workers.find("\npartition:"));
  CHECK_FALSE(contains(of_workers.substr(0, of_workers.find("\nother_partitions:")), "sub i32 %"));
  CHECK_FALSE(contains(workers_of("mbarrier_arrive %empty, %x"), "warp_sync"));
}

TEST_CASE("mbarrier_arrive: per_warp syncs the warp first") {
  std::string text = workers_of("mbarrier_arrive %empty, %x {per_warp = 1}");
  size_t together = text.find("call void @tritonc.warp_sync()");
  REQUIRE(together != std::string::npos);
  CHECK(together < text.find("icmp eq i32 %lane, 0"));
  CHECK_FALSE(contains(workers_of("mbarrier_arrive %empty, %x"), "warp_sync"));
}

TEST_CASE("mbarrier_arrive: one per consumer warp or producer thread") {
  std::string workers = workers_of("mbarrier_arrive %empty, %x");
  CHECK(contains(workers, "icmp eq i32 %lane, 0"));
  CHECK(workers.find("icmp eq i32 %lane, 0") < workers.find("@tritonc.mbarrier_arrive("));
  std::string producer = producers_of("mbarrier_arrive %full, %x {bytes = 96}\n"
                                      "mbarrier_arrive %full, %x");
  CHECK(count(producer, "call void @tritonc.mbarrier_arrive_expect_tx(") == 1);
  CHECK(contains(producer, ", i32 96)"));
  CHECK(count(producer, "call void @tritonc.mbarrier_arrive(") == 1);
  CHECK_FALSE(contains(producer, "%lane"));
}

TEST_CASE("mbarrier_wait: parity and 8-byte stride per stage") {
  std::string text = workers_of("mbarrier_wait %full, %x, %y");
  CHECK(contains(text, "mul i32 %x, 8"));
  CHECK(contains(text, "call void @tritonc.mbarrier_wait(i32 %"));
  CHECK(contains(text, ", i32 %y)"));
}

TEST_CASE("tma_load_async: one copy per box, to the stage's panels") {
  std::string text = producers_of("tma_load_async %rows, %s, %x, %full, %x, %y, %z");
  CHECK(count(text, "call void @tritonc.tma_load_2d(i32 %") == 2);
  CHECK(count(text, ", ptr %rows, i32 %") == 2);
  CHECK(contains(text, "mul i32 %x, 4096")); // a stage of 16 x 128
  // The second box: 64 columns later, 16 rows of 128 bytes after the first box.
  CHECK(count(text, "add i32 %z, 64") == 1);
  CHECK(count(text, ", 2048\n") == 1);
  CHECK(count(text, "add i32 %y, 0") == 2);
}

TEST_CASE("tma_load_async: the first thread of the consumer warps, or the producer thread") {
  const std::string copy = "mbarrier_arrive %full, %x {bytes = 96}\n"
                           "tma_load_async %rows, %s, %x, %full, %x, %y, %z";
  std::string text = workers_of(copy);
  CHECK(count(text, "call void @tritonc.mbarrier_arrive_expect_tx(") == 1);
  CHECK(count(text, "call void @tritonc.tma_load_2d(i32 %") == 2);
  CHECK(count(text, "or i32 %lane, %") == 2); // the first thread, both times
  CHECK_FALSE(contains(producers_of(copy), "%lane"));
}

TEST_CASE("tma_load_async: only evict hints have a policy") {
  auto text = [](const char *hint) {
    return producers_of("tma_load_async %rows, %s, %x, %full, %x, %y, %z {cache = \"" +
                        std::string(hint) + "\"}");
  };
  CHECK(count(text("evict_first"), "i64 1364590687093260288)") == 2); // 0x12F0..., for each box
  CHECK(count(text("evict_last"), "i64 1508705875169116160)") == 2);  // 0x14F0...
  CHECK(count(text("evict_first"), "@tritonc.tma_load_hinted_2d(") == 2);
  CHECK(count(text("cg"), "@tritonc.tma_load_2d(") == 2);
}

TEST_CASE("tma_load_async: {predicated} leaves out boxes from the limit on, but not the first") {
  const std::string copy = "tma_load_async %rows, %s, %x, %full, %x, %y, %z, %x {predicated = 1";
  std::string text = producers_of(copy + "}");
  CHECK(count(text, "call void @tritonc.tma_load_2d(i32 %") == 2);
  CHECK(count(text, "icmp slt i32 %") == 1);
  CHECK(count(text, "call void @tritonc.mbarrier_complete_tx(i32 %") == 1);
  CHECK(contains(text, ", i32 2048, i32 %")); // bytes of a box
  // One box along axis 0.
  std::string rows = producers_of("tma_load_async %rows, %s, %x, %full, %x, %y, %z, %x "
                                  "{predicated = 0}");
  CHECK_FALSE(contains(rows, "mbarrier_complete_tx"));
  // Each block of a cluster completes the bytes of a box that none of them copies.
  std::string cluster = producers_of(copy + ", multicast = 2}");
  CHECK(count(cluster, "call void @tritonc.tma_load_multicast_2d(i32 %") == 1);
  CHECK(count(cluster, "call void @tritonc.mbarrier_complete_tx(i32 %") == 1);
}

TEST_CASE("TMA copies: the axes of the map before those of the tile come last") {
  std::string loads = producers_of("tma_load_async %matrices, %s, %x, %full, %x, %x, %y, %z");
  CHECK(count(loads, "call void @tritonc.tma_load_3d(i32 %") == 2);
  CHECK(count(loads, "add i32 %z, 64") == 1); // the second box
  CHECK(count(loads, "add i32 %x, 0") == 2);
  std::string stores = workers_of("tma_store_async %matrices, %s, %x, %x, %y, %z");
  CHECK(count(stores, "call void @tritonc.tma_store_3d(ptr %matrices, i32 %") == 2);
}

TEST_CASE("tma_load_async: contiguous coordinate first") {
  auto first_coordinate = [](const std::string &op) {
    std::string text = producers_of(op);
    size_t call = text.find("call void @tritonc.tma_load_2d(");
    REQUIRE(call != std::string::npos);
    size_t name = text.find("i32 %", text.find("ptr %", call)) + 4;
    std::string sum = text.substr(name, text.find(',', name) - name) + " = add i32 ";
    REQUIRE(contains(text, sum));
    return text.substr(text.find(sum) + sum.size(), 2);
  };
  CHECK(first_coordinate("tma_load_async %rows, %s, %x, %full, %x, %y, %z") == "%z");
  CHECK(first_coordinate("tma_load_async %columns, %t, %x, %full, %x, %y, %z") == "%y");
}

TEST_CASE("tma_store_async: one consumer thread copies and commits") {
  std::string text =
      workers_of("tma_store_async %rows, %s, %x, %y, %z\n tma_store_wait {pending = 1}");
  CHECK(count(text, "call void @tritonc.tma_store_2d(ptr %rows, i32 %") == 2);
  CHECK(count(text, "call void @tritonc.bulk_commit()") == 1);
  CHECK(count(text, "call void @tritonc.bulk_wait_read(i32 1)") == 1);
  CHECK(count(text, "or i32 %lane, %") == 2); // the first thread, both times
  CHECK(text.rfind("@tritonc.tma_store_2d(") < text.find("@tritonc.bulk_commit()"));
}

TEST_CASE("tma_prefetch: one thread") {
  std::string text = workers_of("tma_prefetch %rows");
  CHECK(count(text, "call void @tritonc.prefetch_tensor_map(ptr %rows)") == 1);
  CHECK(text.find("or i32 %lane, %") < text.find("@tritonc.prefetch_tensor_map("));
}

TEST_CASE("proxy_fence: every thread executes it") {
  std::string text = workers_of("proxy_fence");
  size_t fence = text.find("call void @tritonc.fence_proxy_async()");
  CHECK(fence < text.find("br "));
}

TEST_CASE("stage_index, stage_phase: stages and phases") {
  std::string text = producers_of(R"(
      %before = stage_index %x {offset = -1, stages = 3} : i32
      %now = stage_index %x {offset = 0, stages = 3} : i32
      %phase = stage_phase %y {offset = 2, stages = 3} : i32
      mbarrier_wait %full, %before, %phase
      mbarrier_wait %full, %now, %phase)");
  CHECK(contains(text, "add nsw i32 %x, -1"));
  CHECK(contains(text, "add nsw i32 %x, 0"));
  CHECK(contains(text, "%before = urem i32 %"));
  CHECK(contains(text, "%now = urem i32 %"));
  CHECK(contains(text, "add nsw i32 %y, 2"));
  CHECK(contains(text, "udiv i32 %"));
  CHECK(contains(text, "%phase = and i32 %"));
}
