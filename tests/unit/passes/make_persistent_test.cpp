// Tests passes/make_persistent.cpp. The folder make_persistent/ has more cases.

#include "matmul_kernel.h"
#include "passes/make_persistent.h"
#include "support/tile_ir.h"
#include "unit/passes/scalar_value.h"

#include <algorithm>
#include <array>
#include <set>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const Schedule specialized = {.kind = Schedule::Kind::warp_specialized};
const Schedule split = {.kind = Schedule::Kind::warp_specialized, .split_k = 4};

// The operations of a matmul, without its result, with the iterations `count`.
std::string matmul(const std::string &count) {
  return "%origin = constant {value = 0} : i64\n"
         "%v = view %A, %origin, %origin, %origin : view<f16>[16,16]\n"
         "%nothing = constant {number = 0.0} : f32\n %start = splat %nothing : f32[16,16]\n"
         "%sum = for_loop " +
         count +
         ", %start : f32[16,16] {\n (%i: i32, %acc: f32[16,16])\n"
         "%a = load %v : f16[16,16]\n %b = load %v : f16[16,16]\n"
         "%d = dot %a, %b, %acc : f32[16,16]\n yield %d\n}\n";
}

// A matmul that stores the indices of its programs.
const std::string kernel = "func @f(%p: ptr<i32>, %A: ptr<f16>, %n: i32) {\n" + matmul("%n") + R"(
    %x = program_id {axis = 0} : i32
    %y = program_id {axis = 1} : i32
    %z = program_id {axis = 2} : i32
    %width = num_programs {axis = 0} : i32
    %at = addptr %p, %x : ptr<i32>
    store %at, %y
    store %at, %z
    store %at, %width
    return
  })";

using Place = std::array<int64_t, 3>;

// Runs the kernel's loop over waves. A block's stores give the program that it runs.
struct Blocks {
  ir::Function fn = parsed(after(make_persistent, kernel, specialized));
  Place grid;
  int64_t num_sms;
  int64_t block = 0, round = 0;

  int64_t value(const ir::Value *v) const {
    return scalar_value(v, [&](const ir::Value &given) -> int64_t {
      if (!given.op)
        return round;
      const ir::Op &op = *given.op;
      switch (op.code) {
      case ir::Opcode::num_programs_:
        return grid[size_t(op.get(ir::attr::axis_))];
      case ir::Opcode::num_sms_:
        return num_sms;
      case ir::Opcode::block_id_:
        return block;
      default:
        FAIL(ir::info(op.code).name);
        return 0;
      }
    });
  }

  Place place_of(const std::vector<const ir::Op *> &stores) const {
    REQUIRE(stores.size() == 3);
    return {value(stores[0]->operand(0)->op->operand(1)), value(stores[0]->operand(1)),
            value(stores[1]->operand(1))};
  }

  // Without a loop over waves.
  std::vector<Place> places_of_blocks() {
    const ir::Op *launch = nullptr;
    std::vector<const ir::Op *> stores;
    for (const ir::Op *op : fn.body->ops) {
      if (op->is(ir::Opcode::for_loop_)) // that of the matmul
        CHECK(op->results.size() == 1);
      launch = op->is(ir::Opcode::launch_blocks_) ? op : launch;
      if (op->is(ir::Opcode::store_))
        stores.push_back(op);
    }
    REQUIRE(launch);
    std::vector<Place> places;
    int64_t blocks = value(launch->operand(0));
    for (block = 0; block < blocks; block++)
      places.push_back(place_of(stores));
    return places;
  }

  // Sorted by wave, then by block.
  std::vector<Place> places() {
    const ir::Op *loop = nullptr, *launch = nullptr;
    for (const ir::Op *op : fn.body->ops) {
      loop = op->is(ir::Opcode::for_loop_) ? op : loop;
      launch = op->is(ir::Opcode::launch_blocks_) ? op : launch;
    }
    REQUIRE(loop);
    REQUIRE(launch);
    std::vector<const ir::Op *> stores;
    for (const ir::Op *op : loop->blocks[0]->ops)
      if (op->is(ir::Opcode::store_))
        stores.push_back(op);
    std::vector<std::pair<std::pair<int64_t, int64_t>, Place>> found;
    int64_t blocks = value(launch->operand(0));
    CHECK(blocks <= num_sms);
    for (block = 0; block < blocks; block++)
      for (int64_t rounds = value(loop->operand(0)), r = 0; r < rounds; r++) {
        round = r;
        found.push_back({{r, block}, place_of(stores)});
      }
    std::sort(found.begin(), found.end());
    std::vector<Place> places;
    for (const auto &[when, place] : found)
      places.push_back(place);
    return places;
  }
};

std::vector<Place> places(Place grid, int64_t num_sms) {
  Blocks blocks;
  blocks.grid = grid;
  blocks.num_sms = num_sms;
  return blocks.places();
}

} // namespace

TEST_CASE("make_persistent: every program runs once, on any grid") {
  for (Place grid : {Place{1, 1, 1},
                     {5, 1, 1},
                     {1, 7, 1},
                     {132, 1, 1},
                     {133, 1, 1},
                     {16, 16, 1},
                     {17, 3, 2},
                     {40, 5, 1},
                     {3, 4, 5},
                     {31, 33, 1}})
    for (int64_t num_sms : {1, 7, 132}) {
      CAPTURE(grid[0]);
      CAPTURE(grid[1]);
      CAPTURE(grid[2]);
      CAPTURE(num_sms);
      std::vector<Place> all = places(grid, num_sms);
      CHECK(all.size() == size_t(grid[0] * grid[1] * grid[2]));
      CHECK(std::set(all.begin(), all.end()).size() == all.size());
      for (const Place &place : all)
        for (size_t axis = 0; axis < 3; axis++) {
          CHECK(place[axis] >= 0);
          CHECK(place[axis] < grid[axis]);
        }
    }
}

TEST_CASE("make_persistent: cluster split-K runs every program once") {
  for (Place grid : {Place{1, 1, 1}, {5, 1, 1}, {1, 7, 1}, {17, 3, 2}, {40, 5, 1}}) {
    CAPTURE(grid[0]);
    CAPTURE(grid[1]);
    CAPTURE(grid[2]);
    Blocks each;
    each.fn = parsed(after(make_persistent, kernel, split));
    each.grid = grid;
    each.num_sms = 1; // unused
    std::vector<Place> all = each.places_of_blocks();
    CHECK(all.size() == size_t(grid[0] * grid[1] * grid[2]));
    CHECK(std::set(all.begin(), all.end()).size() == all.size());
  }
}

TEST_CASE("make_persistent: launches the fewest blocks for the wave count") {
  struct {
    int64_t programs, num_sms, blocks;
  } cases[] = {{1, 132, 1},    {100, 132, 100}, {132, 132, 132},
               {133, 132, 67}, {256, 132, 128}, {264, 132, 132}};
  for (const auto &[programs, num_sms, blocks] : cases) {
    Blocks launch;
    launch.grid = {programs, 1, 1};
    launch.num_sms = num_sms;
    for (const ir::Op *op : launch.fn.body->ops)
      if (op->is(ir::Opcode::launch_blocks_)) {
        CHECK(launch.value(op->operand(0)) == blocks);
        CHECK(op->get(ir::attr::cluster_) == 1);
      }
  }
}

TEST_CASE("make_persistent: supports several blocks per SM") {
  Blocks launch;
  launch.fn = parsed(after(make_persistent, kernel,
                           Schedule{.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = 2}));
  launch.grid = {300, 1, 1};
  launch.num_sms = 132;
  for (const ir::Op *op : launch.fn.body->ops)
    if (op->is(ir::Opcode::launch_blocks_))
      CHECK(launch.value(op->operand(0)) == 150);
}

TEST_CASE("make_persistent: orders programs in groups of 16 along axis 0") {
  std::vector<Place> all = places({20, 3, 1}, 1);
  size_t i = 0;
  for (int64_t first : {0, 16})
    for (int64_t y = 0; y < 3; y++)
      for (int64_t x = first; x < std::min<int64_t>(first + 16, 20); x++)
        CHECK(all[i++] == Place{x, y, 0});
}

TEST_CASE("make_persistent: blocks loop over coarsened programs") {
  std::string coarsened = with(kernel, "%x = program_id {axis = 0} : i32", R"(
    %all = num_programs {axis = 0} : i32
    %one = constant {value = 1} : i32
    %two = constant {value = 2} : i32
    %more = add %all, %one : i32
    %half = div %more, %two : i32
    launch_blocks %half, %one, %one
    %x = block_id {axis = 0} : i32)");
  coarsened = with(coarsened, "program_id", "block_id");
  Blocks blocks;
  blocks.fn = parsed(after(make_persistent, coarsened, specialized));
  blocks.grid = {5, 1, 1};
  blocks.num_sms = 2;
  std::vector<Place> all = blocks.places();
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<Place>{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}});
}

TEST_CASE("make_persistent: host computes iteration counts if possible") {
  auto iterations = [](const std::string &count) {
    ir::Function fn = parsed(after(make_persistent,
                                   "func @f(%p: ptr<i32>, %A: ptr<f16>, %n: i32) {\n" + count +
                                       matmul("%t") + " return\n}",
                                   specialized));
    const ir::Value *found = nullptr;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::for_loop_) && op.parent != fn.body)
        found = op.operand(0);
    });
    REQUIRE(found);
    return found->op && found->op->is(ir::Opcode::host_value_);
  };
  CHECK(iterations("%t = div %n, %n : i32\n"));
  CHECK(iterations("%t = num_programs {axis = 1} : i32\n"));
  CHECK_FALSE(iterations("%t = program_id {axis = 1} : i32\n"));
  CHECK_FALSE(iterations("%t = load %p : i32\n"));
  CHECK_FALSE(iterations("%t = constant {value = 7} : i32\n"));
}
