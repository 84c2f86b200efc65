// Tests lower/clusters.cpp, and its effects on lower.cpp and warp_specialize.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// A block of four warps in a cluster of two blocks. %s is like the buffer of
// lower_cluster_reductions. `own` is a thread's part of the sum, 8 elements.
const std::string by_rows = "reg (0,1) (0,2) (16,0)";
std::string program(const std::string &operations, const std::string &own = by_rows,
                    const std::string &producer = "") {
  std::string rest = own == by_rows ? "lane (0,4) (0,8) (0,16) (0,32) (1,0) warp (2,0) (4,0) (8,0)"
                                    : "lane (0,1) (0,8) (0,16) (0,32) (1,0) warp (2,0) (4,0) (8,0)";
  return lowered(R"(
    layout #0 [32,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,4) (2,8) (4,16) (8,0) (16,0)
    layout #1 [32,64] )" +
                     own + " " + rest + R"(
    layout #2 [32] reg (1) (2) (4) (8) (16) lane (0) (0) (0) (0) (0) warp (0) (0) (0)
    func @f(%C: ptr<f32>, %x: i32, %ld: i64, %n: i32) warps 4 shared 8192 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      launch_blocks %n {cluster = 2}
      %s = shared_alloc {address = 0} : shared<f32>[1,32,64] #0
      warp_specialize {one_thread = [0,1], warps = [4,4]} {
        )" + operations +
                     "\n yield\n } {\n" + producer + "\n yield\n }\n return\n }",
                 "90a");
}

const std::string adds =
    "%sum = cluster_load_reduce %s, %x {blocks = 2, op = \"add\"} : f32[32,64] #1\n";
const std::string stores = "%v = view %C, %zero, %ld, %one : view<f32>[32,64]\n"
                           "store %v, %sum {vector = 4}\n";

size_t at(const std::string &text, const std::string &part) {
  size_t found = text.find(part);
  REQUIRE_MESSAGE(found != std::string::npos, part);
  return found;
}

} // namespace

TEST_CASE("cluster_reduce: loads four words at a time, adds in order") {
  std::string text = program(adds);
  CHECK(count(text, "call i32 @tritonc.cluster_ctarank()") == 1);
  CHECK(count(text, "call i32 @tritonc.map_shared_rank(") == 2 * 2); // 8 words of 2 blocks
  for (const char *block : {", i32 0)", ", i32 1)"}) {
    size_t calls = 0;
    for (size_t i = text.find("@tritonc.map_shared_rank(i32 %"); i != std::string::npos;
         i = text.find("@tritonc.map_shared_rank(i32 %", i + 1))
      calls += text.substr(i, text.find('\n', i) - i).find(block) != std::string::npos;
    CHECK(calls == 2);
  }
  CHECK(count(text, "call <4 x i32> @tritonc.load_cluster_x4(") == 2 * 2);
  CHECK(count(text, "@tritonc.load_cluster(") == 0);
  CHECK(count(text, "extractelement <4 x i32>") == 2 * 8);
  CHECK(count(text, "fadd float") == 8);
  CHECK_FALSE(contains(text, "fadd fast"));
}

TEST_CASE("cluster_reduce: loads single words, when not contiguous") {
  std::string text = program(adds, "reg (0,2) (0,4) (16,0)");
  CHECK(count(text, "call i32 @tritonc.load_cluster(i32") == 2 * 8);
  CHECK(count(text, "@tritonc.load_cluster_x4(") == 0);
  CHECK(count(text, "call i32 @tritonc.map_shared_rank(") == 2 * 8);
  CHECK(count(text, "fadd float") == 8);
}

TEST_CASE("cluster_reduce: adds integers with integer adds") {
  std::string text = lowered(R"(
    layout #0 [32,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,4) (2,8) (4,16) (8,0) (16,0)
    layout #1 [32,64]
      reg (0,1) (0,2) (16,0) lane (0,4) (0,8) (0,16) (0,32) (1,0) warp (2,0) (4,0) (8,0)
    func @f(%x: i32, %n: i32) warps 4 shared 8192 {
      launch_blocks %n {cluster = 2}
      %s = shared_alloc {address = 0} : shared<i32>[1,32,64] #0
      %sum = cluster_load_reduce %s, %x {blocks = 2, op = "add"} : i32[32,64] #1
      return
    })",
                             "90a");
  CHECK(count(text, "@tritonc.load_cluster_x4(i32 %") == 2 * 2);
  CHECK_FALSE(contains(text, "fadd"));
  std::string behind = text.substr(at(text, "@tritonc.load_cluster_x4("));
  CHECK(count(behind, " = add i32 %") >= 8);
}

TEST_CASE("cluster_reduce: combines by any operation of reduce") {
  std::string maximum = adds;
  maximum.replace(maximum.find("\"add\""), 5, "\"max\"");
  std::string text = program(maximum);
  CHECK(count(text, "@llvm.maxnum.f32(") + count(text, "@llvm.maximumnum.f32(") +
            count(text, "fcmp") >
        0);
  CHECK(count(text, "fadd float") == 0);
}

TEST_CASE(
    "cluster_send, cluster_receive: one thread sends an element, all threads read all parts") {
  std::string text = lowered(R"(
    layout #0 [4] offset (1) (2)
    layout #1 [4] reg (1) lane (2) (0) (0) (0) (0) warp (0) (0)
    func @f(%v: f32, %zero: i32, %rank: i32) warps 4 shared 1048 {
      %x = splat %v : f32[4] #1
      %m = mbarriers {address = 1024, arrivals = 1} : shared<i64>[3,1]
      mbarrier_arrive %m, %zero {bytes = 32}
      cluster_arrive
      cluster_wait
      %s = shared_alloc {address = 0} : shared<f32>[2,4] #0
      cluster_send %x, %s, %rank, %m, %zero {blocks = 2}
      mbarrier_wait %m, %zero, %zero
      %sum = cluster_receive %s, %zero {blocks = 2, op = "add"} : f32[4] #1
      return
    })",
                             "90a");
  CHECK(count(text, "call void @tritonc.fence_mbarrier_init()") == 1);
  CHECK(count(text, "call void @tritonc.cluster_arrive_relaxed()") == 1);
  CHECK(count(text, "call void @tritonc.cluster_wait()") == 1);
  CHECK(at(text, "@tritonc.mbarrier_init(") < at(text, "@tritonc.fence_mbarrier_init()"));
  CHECK(at(text, "@tritonc.fence_mbarrier_init()") < at(text, "@tritonc.cluster_arrive_relaxed()"));
  CHECK(count(text, "call void @tritonc.store_async_cluster(") == 2 * 2); // words to 2 blocks
  CHECK(count(text, "call i32 @tritonc.map_shared_rank(") == 2 * 3);      // and an mbarrier each
  CHECK(count(text, "call void @tritonc.mbarrier_wait(") == 1);
  CHECK(at(text, "@tritonc.store_async_cluster(") < at(text, "@tritonc.mbarrier_wait("));
  CHECK(count(text, "load float, ptr addrspace(3)") == 2 * 2);
  CHECK(count(text, "fadd float") == 2);
  CHECK(count(text, "@tritonc.cluster_arrive()") == 0); // it would fence all memory
}

TEST_CASE("cluster_reduce: then numbers warps across the cluster") {
  std::string text = program(adds + stores);
  size_t rank = at(text, "call i32 @tritonc.cluster_ctarank()");
  std::string behind = text.substr(rank);
  CHECK(contains(behind, "mul i32 "));
  CHECK(contains(behind.substr(0, 200), ", 4\n")); // warps per block
  CHECK(contains(behind.substr(0, 300), " = or i32 "));
  CHECK(at(behind, " = or i32 ") < at(behind, "@tritonc.map_shared_rank("));
}

TEST_CASE("cluster_reduce: producer warps keep their numbers") {
  auto of_producers = [](const std::string &text) {
    std::string producers = text.substr(at(text, "\nother_partitions:"));
    return producers.substr(0, at(producers, "@tritonc.elect()"));
  };
  std::string text = program(adds + stores);
  std::string parting = text.substr(0, at(text, "\npartition:"));
  // The role branch and the choice of the first producer warp use the same warp number.
  size_t compare = parting.rfind("icmp ult i32 ");
  REQUIRE(compare != std::string::npos);
  std::string number = parting.substr(compare + 13, parting.find(',', compare) - compare - 13);
  CHECK(contains(of_producers(text), "icmp eq i32 " + number + ", 4"));
  CHECK_FALSE(contains(of_producers(text), "cluster_ctarank"));
}

TEST_CASE("cluster_barrier: arrive and wait") {
  std::string text = program("cluster_barrier");
  CHECK(count(text, "call void @tritonc.cluster_arrive()") == 1);
  CHECK(count(text, "call void @tritonc.cluster_wait()") == 1);
  CHECK(at(text, "call void @tritonc.cluster_arrive()") <
        at(text, "call void @tritonc.cluster_wait()"));
}

TEST_CASE("cluster_dim: set only for kernels with clusters") {
  CHECK(contains(program(""), "\"nvvm.cluster_dim\"=\"2,1,1\""));
  CHECK_FALSE(contains(lowered("func @f(%n: i32) warps 4 {\n launch_blocks %n\n return\n}", "90a"),
                       "cluster_dim"));
  CHECK_FALSE(contains(lowered("func @f(%n: i32) warps 4 {\n launch_blocks %n {cluster = 1}\n"
                               " return\n}",
                               "90a"),
                       "cluster_dim"));
}
