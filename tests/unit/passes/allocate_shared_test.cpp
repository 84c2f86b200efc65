// Tests passes/allocate_shared.cpp. The folder allocate_shared/ has more cases.

#include "passes/allocate_shared.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Allocation {
  ir::Function fn;

  explicit Allocation(const std::string &operations)
      : fn(parsed("layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp\n"
                  "func @f(%x: f16[64] #0, %n: i32, %z: i32, %c: i1) {\n" +
                  operations + "\n return\n}")) {
    allocate_shared(fn, *find_gpu("90a"));
    check_rules(fn);
  }

  int64_t address(const char *name) {
    return value_named(fn, name)->op->get(ir::attr::address_, -1);
  }

  bool overlap(const char *a, const char *b) {
    auto end = [&](const char *name) {
      const ir::Type &type = value_named(fn, name)->type;
      return address(name) + type.elements() * bytes_of(type.elem);
    };
    return address(a) < end(b) && address(b) < end(a);
  }
};

std::string alloc(const std::string &name, int stages = 1) {
  return name + " = shared_alloc : shared<f16>[" + std::to_string(stages) + ",64]\n";
}
std::string store(const std::string &buffer) { return "shared_store %x, " + buffer + ", %z\n"; }
std::string load(const std::string &name, const std::string &buffer) {
  return name + " = shared_load " + buffer + ", %z {origin = [0], perm = [0]} : f16[64] #0\n";
}

} // namespace

TEST_CASE("allocate_shared: buffers with interleaved uses do not overlap") {
  Allocation a(alloc("%s") + alloc("%t") + store("%s") + store("%t") + load("%a", "%s") +
               load("%b", "%t"));
  CHECK_FALSE(a.overlap("s", "t"));
}

TEST_CASE("allocate_shared: outer buffer stays live through a while_loop") {
  Allocation a(alloc("%s") + alloc("%t") + "while_loop {\n" + load("%a", "%s") + store("%s") +
               "condition %c\n} {\n" + store("%t") + load("%b", "%t") + "yield\n}\n");
  CHECK_FALSE(a.overlap("s", "t"));
}

TEST_CASE("allocate_shared: buffer after a loop reuses the loop's space") {
  Allocation a(alloc("%buffer", 3) + "for_loop %n {\n (%i: i32)\n" + store("%buffer") +
               load("%a", "%buffer") + "yield\n}\n" + alloc("%t") + store("%t") + load("%b", "%t"));
  CHECK(a.overlap("buffer", "t"));
  CHECK(a.fn.shared_bytes == 3 * 128);
}

TEST_CASE("allocate_shared: warp_specialize buffers live to the join") {
  ir::Function fn = parsed("layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp\n"
                           "func @f(%x: f16[64] #0, %z: i32) warps 4 {\n" +
                           alloc("%buffer", 3) + alloc("%out") +
                           "%full = mbarriers {arrivals = 1} : shared<i64>[3,1]\n warp_specialize "
                           "{one_thread = [0,1], warps = [4,4]} {\n" +
                           load("%a", "%buffer") + store("%out") + alloc("%t") + store("%t") +
                           load("%b", "%t") + "yield\n} {\n mbarrier_arrive %full, %z\n" +
                           store("%buffer") + "yield\n}\n return\n}");
  allocate_shared(fn, *find_gpu("90a"));
  check_rules(fn);
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const char *name : {"buffer", "out", "full", "t"}) {
    const ir::Type &type = value_named(fn, name)->type;
    int64_t begin = value_named(fn, name)->op->get(ir::attr::address_, -1);
    places.push_back({begin, begin + type.elements() * bytes_of(type.elem)});
  }
  for (size_t i = 0; i < places.size(); i++)
    for (size_t j = 0; j < i; j++)
      CHECK((places[i].first >= places[j].second || places[j].first >= places[i].second));
}

namespace {

// The producer branch fills a circular buffer (%buffer) and the consumer branch multiplies its tiles.
// `in_loop` and `behind` are more operations in the loop and after it. %t has the size of one tile.
ir::Function with_ring(const std::string &in_loop, const std::string &behind,
                       const std::string &copying = "") {
  ir::Function fn = parsed(R"(
    layout #0 [64,64]
      reg (0,1) (8,0) (0,8) (0,16) (0,32) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (16,0) (32,0)
    func @f(%A: ptr<f16>, %x: f32[64,64] #0, %n: i32, %z: i32, %ld: i64) warps 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      %buffer = shared_alloc : shared<f16>[4,64,64]
      %full = mbarriers {arrivals = 1} : shared<i64>[4,1]
      warp_specialize {one_thread = [0,1], warps = [4,4]} {
        %sum = for_loop %n, %x : f32[64,64] #0 {
          (%i: i32, %acc: f32[64,64] #0)
          mbarrier_wait %full, %z, %z
          %p = wgmma_ss %buffer, %z, %buffer, %z, %acc {perms = [0,1,0,1], warpgroups = [1,1]}
            : f32[64,64] #0
          )" + in_loop + R"(
          yield %p
        }
        %done = wgmma_wait %sum {pending = 0, warpgroups = [1,1]} : f32[64,64] #0
        )" + behind + R"(
        yield
      } {
        for_loop %n {
          (%j: i32)
          tma_load_async %m, %buffer, %z, %full, %z, %z, %z
          yield
        }
        )" + copying + R"(
        yield
      }
      return
    })");
  allocate_shared(fn, *find_gpu("90a"));
  check_rules(fn);
  return fn;
}

const std::string uses_t =
    "%t = shared_alloc : shared<f32>[1,64,64]\n shared_store %x, %t, %z\n"
    "%y = shared_load %t, %z {origin = [0,0], perm = [0,1]} : f32[64,64] #0\n";

bool takes_place_of_ring(ir::Function fn) {
  int64_t buffer = value_named(fn, "buffer")->op->get(ir::attr::address_, -1);
  int64_t t = value_named(fn, "t")->op->get(ir::attr::address_, -1);
  CHECK(buffer >= 0);
  CHECK(t >= 0);
  return t < buffer + 4 * 64 * 64 * 2 && buffer < t + 64 * 64 * 4;
}

} // namespace

TEST_CASE("allocate_shared: circular buffer is free after the last matmul") {
  CHECK(takes_place_of_ring(with_ring("", uses_t)));
  // The space of its mbarriers is not free: the producer thread may still use them.
  ir::Function fn = with_ring("", uses_t);
  int64_t full = value_named(fn, "full")->op->get(ir::attr::address_, -1);
  int64_t t = value_named(fn, "t")->op->get(ir::attr::address_, -1);
  CHECK((full >= t + 64 * 64 * 4 || full + 4 * 8 <= t));
}

TEST_CASE("allocate_shared: wgmma_rs operands also free the buffer") {
  std::string text = printed(with_ring("", uses_t));
  size_t begin = text.find("%p = wgmma_ss"), end = text.find("yield %p");
  text.replace(begin, end - begin,
               "%h = shared_load %buffer, %z {origin = [0,0], perm = [0,1]} : f16[64,64]\n"
               "%p = wgmma_rs %h, %buffer, %z, %acc {origin = [0,0], perm = [0,1], "
               "warpgroups = [1,1]} : f32[64,64] #0\n");
  auto allocated = [](const std::string &text) {
    ir::Function fn = parsed(text);
    fn.shared_bytes = 0;
    allocate_shared(fn, *find_gpu("90a"));
    check_rules(fn);
    return fn;
  };
  CHECK(takes_place_of_ring(allocated(text)));
  // Another operation uses the tile too.
  text.insert(text.find("yield %p"), "%other = neg %h : f16[64,64]\n");
  CHECK_FALSE(takes_place_of_ring(allocated(text)));
}

TEST_CASE("allocate_shared: circular buffer is busy in the matmul loop") {
  CHECK_FALSE(takes_place_of_ring(with_ring(uses_t, "")));
}

TEST_CASE("allocate_shared: circular buffer is busy before the matmul loop") {
  ir::Function fn = with_ring("", "");
  std::string text = printed(fn);
  const std::string loop = "%sum = for_loop";
  text.insert(text.find(loop), uses_t);
  fn = parsed(text);
  fn.shared_bytes = 0;
  allocate_shared(fn, *find_gpu("90a"));
  CHECK_FALSE(takes_place_of_ring(std::move(fn)));
}

TEST_CASE("allocate_shared: other uses keep the buffer to the join") {
  const std::string load =
      "%h = shared_load %buffer, %z {origin = [0,0], perm = [0,1]} : f16[64,64]\n";
  CHECK_FALSE(takes_place_of_ring(with_ring("", uses_t + load)));
  CHECK_FALSE(takes_place_of_ring(with_ring("", uses_t, load))); // in the producer branch
  CHECK_FALSE(takes_place_of_ring(with_ring("", load + uses_t)));
}

TEST_CASE("allocate_shared: outer loop keeps the circular buffer live") {
  ir::Function fn = with_ring("", uses_t);
  std::string text = printed(fn);
  size_t begin = text.find("%sum = for_loop"), end = text.find("    yield\n  } {", begin);
  REQUIRE(end != std::string::npos);
  text.insert(end, "yield\n }\n");
  text.insert(begin, "for_loop %n {\n (%wave: i32)\n");
  fn = parsed(text);
  fn.shared_bytes = 0;
  allocate_shared(fn, *find_gpu("90a"));
  check_rules(fn);
  CHECK_FALSE(takes_place_of_ring(std::move(fn)));
}
