// Tests passes/specialize_warps.cpp.

#include "passes/choose_dots.h"
#include "passes/persist_programs.h"
#include "passes/remove_dead_code.h"
#include "passes/specialize_warps.h"
#include "passes/use_tensor_maps.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Such that widen_steps has been.
const Structure specialized = {.specialized = true, .step = 32, .name = ""};

// What the pass needs, and without what it leaves behind.
void pass(ir::Function &fn, const Structure &structure) {
  specialize_warps(fn, *find_gpu("90a"), structure);
  remove_dead_code(fn);
}

std::string prepared(const std::string &text, const Structure &structure = specialized) {
  ir::Function fn = parsed(text);
  choose_dots(fn, *find_gpu("90a"), structure);
  use_tensor_maps(fn, structure);
  return printed(fn);
}

ir::Function specialised(const std::string &text, const Structure &structure = specialized) {
  ir::Function fn = parsed(prepared(text));
  specialize_warps(fn, *find_gpu("90a"), structure);
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

const std::string maps_loaded = R"(
  func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 helpers 4 {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %ma = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 64} : map<f16>[64,32]
    %mb = tensor_map %B, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[32,64]
    %x = program_id {axis = 0} : i32
    %wide = constant {value = 64} : i32
    %deep = constant {value = 32} : i32
    %row = mul %x, %wide : i32
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %sum = for_loop %n, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %k = mul %t, %deep : i32
      %a = map_load %ma, %row, %k : f16[64,32]
      %b = map_load %mb, %k, %wide : f16[32,64]
      %d = dot %a, %b, %acc {warpgroups = [1,1]} : f32[64,64]
      yield %d
    }
    %v = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %v, %sum
    return
  })";

} // namespace

TEST_CASE("copying and multiplying are given to different warps") {
  CHECK(after(pass, maps_loaded, specialized) == text(R"(
    layout #0 [64,32]
      offset (0,1) (0,2) (0,4) (0,8) (0,16) (1,0) (2,8) (4,16) (8,0) (16,0) (32,0)
    layout #1 [32,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0)
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %ma = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 64} : map<f16>[64,32]
      %mb = tensor_map %B, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[32,64]
      map_prefetch %ma
      map_prefetch %mb
      %ma.1 = shared_alloc : shared<f16>[8,64,32] #0
      %mb.1 = shared_alloc : shared<f16>[8,32,64] #1
      %full = mbarriers {arrivals = 1} : shared<i64>[8,1]
      %empty = mbarriers {arrivals = 4} : shared<i64>[8,1]
      specialize {
        %0 = constant {value = 0} : i32
        %1 = undefined : f32[64,64]
        %sum, %step = for_loop %n, %1, %0 : f32[64,64], i32 {
          (%t: i32, %acc: f32[64,64], %step.1: i32)
          %2 = ring_slot %step.1 {ahead = 0, slots = 8} : i32
          %3 = ring_phase %step.1 {ahead = 0, slots = 8} : i32
          mbarrier_wait %full, %2, %3
          %4 = constant {value = 0} : i32
          %5 = cmp %t, %4 {pred = "gt"} : i1
          %6 = shared_product %ma.1, %2, %mb.1, %2, %acc, %5
        {perms = [0,1,0,1], warpgroups = [1,1]} : f32[64,64]
          %d = product_wait %6 {pending = 1, warpgroups = [1,1]} : f32[64,64]
          if_else %5 {
            %7 = ring_slot %step.1 {ahead = -1, slots = 8} : i32
            mbarrier_arrive %empty, %7
            yield
          } {
            yield
          }
          %8 = constant {value = 1} : i32
          %9 = add %step.1, %8 : i32
          yield %d, %9
        }
        %sum.1 = product_wait %sum {pending = 0, warpgroups = [1,1]} : f32[64,64]
        %v = view %C, %zero, %ld, %one : view<f32>[64,64]
        store %v, %sum.1
        yield
      } {
        %10 = constant {value = 0} : i32
        %11 = for_loop %n, %10 : i32 {
          (%t.1: i32, %step.2: i32)
          %12 = ring_slot %step.2 {ahead = 0, slots = 8} : i32
          %13 = ring_phase %step.2 {ahead = 0, slots = 8} : i32
          %14 = constant {value = 1} : i32
          %15 = xor %13, %14 : i32
          mbarrier_wait %empty, %12, %15
          mbarrier_arrive %full, %12 {bytes = 8192}
          %x = program_id {axis = 0} : i32
          %wide = constant {value = 64} : i32
          %row = mul %x, %wide : i32
          %deep = constant {value = 32} : i32
          %k = mul %t.1, %deep : i32
          map_copy %ma, %ma.1, %12, %full, %12, %row, %k
          map_copy %mb, %mb.1, %12, %full, %12, %k, %wide
          %16 = constant {value = 1} : i32
          %17 = add %step.2, %16 : i32
          yield %17
        }
        yield
      }
      return
    })"));
}

TEST_CASE("nothing happens in the plain structure") {
  CHECK(after(specialize_warps, maps_loaded, *find_gpu("90a"), Structure{}) == text(maps_loaded));
}

TEST_CASE("a ring has as many slots as fit, but two at least and eight at most") {
  struct {
    int m, n, k;
    int64_t slots;
  } cases[] = {
      {64, 64, 64, 8}, {64, 64, 32, 8}, {128, 128, 64, 6}, {128, 256, 64, 4}, {128, 256, 128, 2}};
  for (const auto &[m, n, k, slots] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    ir::Function fn = specialised(product_kernel(m, n, k));
    CHECK(first(fn, ir::Opcode::shared_alloc_).result()->type.shape == ir::Shape{slots, m, k});
    CHECK(first(fn, ir::Opcode::mbarriers_).result()->type.shape == ir::Shape{slots, 1});
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::ring_slot_) || op.is(ir::Opcode::ring_phase_))
        CHECK(op.integer("slots") == slots);
    });
  }
}

TEST_CASE("each team needs a place for its results") {
  auto slots = [](int teams) {
    ir::Function fn = parsed(product_kernel(128, 128, 64));
    return ring_slots(fn, *find_product_loop(fn).found, *find_gpu("90a"),
                      {.teams = teams, .name = ""});
  };
  CHECK(slots(1) == 6);
  CHECK(slots(2) == 5);
}

TEST_CASE("what the ring leaves is for the results, each of them") {
  auto slots = [](const std::string &text) {
    ir::Function fn = specialised(text);
    return first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
  };
  const std::string store = "store %vc, %result";
  std::string kernel = with(product_kernel(128, 256, 64), "%K: i32", "%K: i32, %D: ptr<f16>");
  auto view = [](const std::string &strides) {
    return "\n %vd = view %D, %at.c, " + strides + " : view<f16>[128,256]\n store %vd, %result";
  };
  CHECK(slots(kernel) == 4);
  CHECK(slots(with(kernel, store, store + view("%ldc, %one"))) == 3);
  CHECK(slots(with(kernel, store, store + view("%one, %ldc"))) == 3); // by threads
  CHECK(slots(with(kernel, store, store + "\n" + store + "\n" + store)) == 2);
  // Of a product of 256 x 128 too, if it is the transpose that is stored.
  std::string transposed = with(product_kernel(128, 256, 64), "%result = cast %sum : f16[128,256]",
                                "%other = trans %sum {perm = [1,0]} : f32[256,128]\n"
                                "%result = cast %other : f16[256,128]");
  transposed = with(transposed, "%one : view<f16>[128,256]", "%one : view<f16>[256,128]");
  CHECK(slots(transposed) == 4);
  CHECK(slots(with(transposed, store, store + "\n" + store + "\n" + store)) == 2);
}

TEST_CASE("how many slots there would be, down to none") {
  struct {
    int m, n, k, residency;
    int64_t slots;
  } cases[] = {{64, 64, 64, 1, 8},  {128, 256, 64, 1, 4}, {128, 256, 64, 2, 1},
               {64, 64, 256, 1, 3}, {64, 64, 512, 1, 1},  {64, 64, 1024, 1, 0}};
  for (const auto &[m, n, k, residency, slots] : cases) {
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(residency);
    ir::Function fn = parsed(product_kernel(m, n, k));
    CHECK(ring_slots(fn, *find_product_loop(fn).found, *find_gpu("90a"),
                     {.residency = residency, .name = ""}) == slots);
  }
}

TEST_CASE("a slot is full when all bytes have come, and empty when every warp has said so") {
  for (int m : {64, 128}) {
    ir::Function fn = specialised(product_kernel(m, 64, 32));
    CHECK(value_named(fn, "full")->op->integer("arrivals") == 1);
    CHECK(value_named(fn, "empty")->op->integer("arrivals") == (m == 64 ? 4 : 8));
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      if (op.is(ir::Opcode::mbarrier_arrive_) && op.has("bytes")) {
        CHECK(op.operand(0)->name == "full");
        CHECK(op.integer("bytes") == (m * 32 + 32 * 64) * 2);
      }
    });
  }
}

TEST_CASE("eight multiplying warps take registers of those that copy; four have enough") {
  ir::Function eight = specialised(product_kernel(128, 64, 64));
  CHECK(first(eight, ir::Opcode::specialize_).list("registers") == std::vector<int64_t>{232, 40});
  // Three warpgroups of 168 registers, and no more than there are.
  CHECK(2 * 232 + 40 <= 3 * 168);
  ir::Function four = specialised(product_kernel(64, 64, 64));
  CHECK_FALSE(first(four, ir::Opcode::specialize_).has("registers"));
}

TEST_CASE("a transposed factor is multiplied as it lies") {
  std::string kernel = with(product_kernel(), "%at.a, %lda, %one", "%at.a, %one, %lda");
  kernel = with(kernel, "%a = load %va : f16[64,64]",
                "%stored = load %va : f16[64,64]\n %a = trans %stored {perm = [1,0]} : f16[64,64]");
  ir::Function fn = specialised(kernel);
  CHECK(first(fn, ir::Opcode::shared_product_).list("perms") == std::vector<int64_t>{1, 0, 0, 1});
}

TEST_CASE("a sum that starts from something else than zero is added to in the first trip too") {
  ir::Function zero = specialised(product_kernel());
  CHECK(first(zero, ir::Opcode::shared_product_).operands.size() == 6);
  CHECK(value_named(zero, "sum")->op->is(ir::Opcode::product_wait_));
  ir::Function half = specialised(with(product_kernel(), "number = 0.0", "number = 0.5"));
  CHECK(first(half, ir::Opcode::shared_product_).operands.size() == 5);
  CHECK_FALSE(contains(printed(half), "undefined"));
}

TEST_CASE("a sum whose loop may make no trips starts from its zeros") {
  ir::Function fn = specialised(product_kernel(), {.specialized = true, .step = 0, .name = ""});
  CHECK(first(fn, ir::Opcode::shared_product_).operands.size() == 5);
  CHECK_FALSE(contains(printed(fn), "undefined"));
  const ir::Op &wait = *value_named(fn, "sum")->op; // of the loop
  REQUIRE(wait.is(ir::Opcode::product_wait_));
  CHECK(ir::is_zero(wait.operand(0)->op->operand(1)));
}

TEST_CASE("blocks that share a multiprocessor share its memory") {
  auto slots = [](int residency) {
    ir::Function fn = parsed(prepared(product_kernel(64, 64, 128)));
    specialize_warps(fn, *find_gpu("90a"),
                     {.specialized = true, .residency = residency, .name = ""});
    return first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
  };
  CHECK(slots(1) == 6);
  CHECK(slots(2) == 2);
}

TEST_CASE("steps go on from program to program") {
  ir::Function fn = parsed(prepared(product_kernel()));
  persist_programs(fn, specialized);
  specialize_warps(fn, *find_gpu("90a"), specialized);
  check_rules(fn);
  const ir::Op &parts = first(fn, ir::Opcode::specialize_);
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

TEST_CASE(
    "two teams take the rounds in turn, and one begins its steps when the other is at its last") {
  const Structure in_turn = {.specialized = true, .teams = 2, .step = 64, .name = ""};
  ir::Function fn = parsed(prepared(product_kernel(128, 64, 64), in_turn));
  persist_programs(fn, in_turn);
  specialize_warps(fn, *find_gpu("90a"), in_turn);
  check_rules(fn);
  CHECK(value_named(fn, "empty")->op->integer("arrivals") == 4);
  const ir::Op &turns = *value_named(fn, "turns")->op;
  CHECK(turns.integer("arrivals") == 4);
  CHECK(turns.result()->type.shape == ir::Shape{2, 1});
  const ir::Op &parts = first(fn, ir::Opcode::specialize_);
  CHECK(parts.list("registers") == std::vector<int64_t>{232, 40});
  std::string text = printed(fn);
  size_t begin = text.find("specialize"), end = text.find("} {\n", text.find("store %"));
  std::string workers = text.substr(begin, end - begin);
  // From the rounds to the loop of the product, what there is of the turns.
  std::vector<std::string> expected = {
      " = team_id : i32",
      "ring_slot %round.1 {ahead = 1, slots = 2}",
      "ring_phase %round.1 {ahead = 1, slots = 2}",
      "mbarrier_wait %turns",
      " = mul %round.1, %K",
      "for_loop %K",
      "mbarrier_wait %full",
      "ring_slot %round.1 {ahead = 0, slots = 2}",
      "mbarrier_arrive %turns",
      "product_wait %sum {pending = 0",
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
  // One team has nothing to wait for.
  ir::Function one = parsed(prepared(product_kernel()));
  persist_programs(one, specialized);
  specialize_warps(one, *find_gpu("90a"), specialized);
  CHECK_FALSE(contains(printed(one), "turns"));
  CHECK_FALSE(contains(printed(one), "team_id"));
}

TEST_CASE("that the last product of a loop is done is said where there may be more") {
  auto arrivals = [](bool in_rounds) {
    ir::Function fn = parsed(prepared(product_kernel()));
    if (in_rounds)
      persist_programs(fn, specialized);
    specialize_warps(fn, *find_gpu("90a"), specialized);
    check_rules(fn);
    int found = 0;
    ir::for_each_op(*fn.body, [&](const ir::Op &op) {
      found += op.is(ir::Opcode::mbarrier_arrive_) && op.operand(0)->name == "empty";
    });
    return found;
  };
  CHECK(arrivals(true) == 2);
  CHECK(arrivals(false) == 1);
}

TEST_CASE("what the host does stays in front of the parting") {
  ir::Function fn = specialised(product_kernel());
  std::vector<ir::Opcode> behind;
  bool parted = false;
  for (const ir::Op *op : fn.body->ops) {
    parted |= op->is(ir::Opcode::specialize_);
    CHECK_FALSE((parted && op->is(ir::Opcode::tensor_map_)));
  }
  CHECK(parted);
  CHECK(fn.body->ops.back()->is(ir::Opcode::return_));
}

namespace {

// All operations of a kind, in their order.
std::vector<const ir::Op *> all(ir::Function &fn, ir::Opcode code) {
  std::vector<const ir::Op *> found;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    if (op.is(code))
      found.push_back(&op);
  });
  return found;
}

const std::string maps_loaded_along_m = R"(
  func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 helpers 4 {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %ma = tensor_map %A, %zero, %ld, %ld, %one, %ld {swizzle = 128} : map<f32>[32,16]
    %mb = tensor_map %B, %zero, %ld, %ld, %one, %ld {swizzle = 64} : map<f32>[16,64]
    %i = constant {value = 0} : i32
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %sum = for_loop %n, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %a = map_load %ma, %i, %t : f32[64,16]
      %b = map_load %mb, %t, %i : f32[16,64]
      %d = dot %a, %b, %acc {precision = "tf32", warpgroups = [1,1]} : f32[64,64]
      yield %d
    }
    %v = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %v, %sum
    return
  })";

} // namespace

TEST_CASE("a left factor that has no neighbours along K comes from registers, slice by slice") {
  CHECK(after(pass, maps_loaded_along_m, specialized) == text(R"(
    layout #0 [64,16] offset (1,0) (2,0) (4,0) (8,0) (16,0) (4,1) (8,2) (16,4) (0,8) (32,0)
    layout #1 [16,64] offset (1,0) (2,0) (4,0) (8,0) (0,1) (4,2) (8,4) (0,8) (0,16) (0,32)
    func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 helpers 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %ma = tensor_map %A, %zero, %ld, %ld, %one, %ld {swizzle = 128} : map<f32>[32,16]
      %mb = tensor_map %B, %zero, %ld, %ld, %one, %ld {swizzle = 64} : map<f32>[16,64]
      map_prefetch %ma
      map_prefetch %mb
      %ma.1 = shared_alloc : shared<f32>[8,64,16] #0
      %mb.1 = shared_alloc : shared<f32>[8,16,64] #1
      %full = mbarriers {arrivals = 1} : shared<i64>[8,1]
      %empty = mbarriers {arrivals = 4} : shared<i64>[8,1]
      specialize {
        %0 = constant {value = 0} : i32
        %1 = undefined : f32[64,64]
        %sum, %step = for_loop %n, %1, %0 : f32[64,64], i32 {
          (%t: i32, %acc: f32[64,64], %step.1: i32)
          %2 = ring_slot %step.1 {ahead = 0, slots = 8} : i32
          %3 = ring_phase %step.1 {ahead = 0, slots = 8} : i32
          mbarrier_wait %full, %2, %3
          %4 = constant {value = 0} : i32
          %5 = cmp %t, %4 {pred = "gt"} : i1
          %6 = shared_load %ma.1, %2 {origin = [0,0], perm = [0,1]} : f32[64,8]
          %7 = fragment_product %6, %mb.1, %2, %acc, %5
        {origin = [0,0], perm = [0,1], precision = "tf32", rows = [2,16,4,1,8,32], warpgroups = [1,1]} : f32[64,64]
          %8 = product_wait %7
        {pending = 1, rows = [2,16,4,1,8,32], warpgroups = [1,1]} : f32[64,64]
          %9 = shared_load %ma.1, %2 {origin = [0,8], perm = [0,1]} : f32[64,8]
          %10 = fragment_product %9, %mb.1, %2, %8
        {origin = [8,0], perm = [0,1], precision = "tf32", rows = [2,16,4,1,8,32], warpgroups = [1,1]} : f32[64,64]
          %d = product_wait %10
        {pending = 1, rows = [2,16,4,1,8,32], warpgroups = [1,1]} : f32[64,64]
          if_else %5 {
            %11 = ring_slot %step.1 {ahead = -1, slots = 8} : i32
            mbarrier_arrive %empty, %11 {together = 1}
            yield
          } {
            yield
          }
          %12 = constant {value = 1} : i32
          %13 = add %step.1, %12 : i32
          yield %d, %13
        }
        %sum.1 = product_wait %sum
        {pending = 0, rows = [2,16,4,1,8,32], warpgroups = [1,1]} : f32[64,64]
        %v = view %C, %zero, %ld, %one : view<f32>[64,64]
        store %v, %sum.1
        yield
      } {
        %14 = constant {value = 0} : i32
        %15 = for_loop %n, %14 : i32 {
          (%t.1: i32, %step.2: i32)
          %16 = ring_slot %step.2 {ahead = 0, slots = 8} : i32
          %17 = ring_phase %step.2 {ahead = 0, slots = 8} : i32
          %18 = constant {value = 1} : i32
          %19 = xor %17, %18 : i32
          mbarrier_wait %empty, %16, %19
          mbarrier_arrive %full, %16 {bytes = 8192}
          %i = constant {value = 0} : i32
          map_copy %ma, %ma.1, %16, %full, %16, %i, %t.1
          map_copy %mb, %mb.1, %16, %full, %16, %t.1, %i
          %20 = constant {value = 1} : i32
          %21 = add %step.2, %20 : i32
          yield %21
        }
        yield
      }
      return
    })"));
}

TEST_CASE("nothing comes from registers that can be read from shared memory") {
  for (const std::string &kernel :
       {product_kernel(), a_transposed(product_kernel()), b_transposed(product_kernel()),
        b_transposed(product_kernel(64, 64, 32, "f32"))}) {
    ir::Function fn = specialised(kernel);
    CHECK(all(fn, ir::Opcode::shared_product_).size() == 1);
    CHECK(all(fn, ir::Opcode::fragment_product_).empty());
    CHECK(all(fn, ir::Opcode::shared_load_).empty());
    for (const ir::Op *arrive : all(fn, ir::Opcode::mbarrier_arrive_))
      CHECK_FALSE(arrive->has("together"));
  }
}

TEST_CASE("a slice is an instruction deep, and up to four are under way, of one step or of two") {
  struct {
    int k, slices, pending;
  } cases[] = {{8, 1, 0}, {16, 2, 1}, {32, 4, 3}, {64, 8, 3}};
  for (const auto &[k, slices, pending] : cases) {
    CAPTURE(k);
    ir::Function fn = specialised(a_transposed(b_transposed(product_kernel(64, 64, k, "f32"))));
    std::vector<const ir::Op *> fetched = all(fn, ir::Opcode::shared_load_);
    std::vector<const ir::Op *> products = all(fn, ir::Opcode::fragment_product_);
    std::vector<const ir::Op *> waits = all(fn, ir::Opcode::product_wait_);
    REQUIRE(fetched.size() == size_t(slices));
    REQUIRE(products.size() == size_t(slices));
    REQUIRE(waits.size() == size_t(slices) + 1); // one behind the loop
    for (int i = 0; i < slices; i++) {
      CHECK(fetched[size_t(i)]->list("origin") == std::vector<int64_t>{0, 8 * i});
      CHECK(fetched[size_t(i)]->result()->type.shape == ir::Shape{64, 8});
      CHECK(products[size_t(i)]->list("origin") == std::vector<int64_t>{8 * i, 0});
      CHECK(products[size_t(i)]->operands.size() == (i == 0 ? 5 : 4));
      CHECK(waits[size_t(i)]->integer("pending") == pending);
    }
    CHECK(waits.back()->integer("pending") == 0);
  }
}

TEST_CASE("which rows are an instruction's is the same wherever the sum goes") {
  ir::Function fn = specialised(a_transposed(b_transposed(product_kernel(128, 64, 32, "f32"))));
  std::vector<int64_t> rows = first(fn, ir::Opcode::fragment_product_).list("rows");
  std::vector<int64_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == std::vector<int64_t>{1, 2, 4, 8, 16, 32});
  for (ir::Opcode code : {ir::Opcode::fragment_product_, ir::Opcode::product_wait_})
    for (const ir::Op *op : all(fn, code)) {
      CHECK(op->list("rows") == rows);
      CHECK(op->list("warpgroups") == std::vector<int64_t>{2, 1});
    }
}

namespace {

const Structure by_threads = {.specialized = true, .copying_warps = 4, .step = 64, .name = ""};

ir::Function by_warps(const std::string &text, const Structure &structure = by_threads) {
  ir::Function fn = parsed(text);
  choose_dots(fn, *find_gpu("90a"), structure);
  use_tensor_maps(fn, structure);
  pass(fn, structure);
  check_rules(fn);
  return fn;
}

// What the copying warps do in one step.
std::vector<const ir::Op *> copying_step(ir::Function &fn) {
  const ir::Block *block = first(fn, ir::Opcode::specialize_).blocks[1];
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

TEST_CASE("warps that copy load a part while the one before is stored") {
  ir::Function fn = by_warps(product_kernel(128, 128, 64));
  const ir::Op &parts = first(fn, ir::Opcode::specialize_);
  CHECK(parts.has("all_helpers"));
  CHECK(value_named(fn, "full")->op->integer("arrivals") == 4);
  CHECK(value_named(fn, "empty")->op->integer("arrivals") == 8);
  for (const char *of_maps : {"tensor_map", "map_prefetch"})
    CHECK_FALSE(contains(printed(fn), of_maps));

  std::string order;
  std::vector<std::vector<int64_t>> origins;
  for (const ir::Op *op : copying_step(fn)) {
    order += op->is(ir::Opcode::load_)              ? "L"
             : op->is(ir::Opcode::shared_store_)    ? "S"
             : op->is(ir::Opcode::mbarrier_wait_)   ? "w"
             : op->is(ir::Opcode::proxy_fence_)     ? "f"
             : op->is(ir::Opcode::mbarrier_arrive_) ? "a"
                                                    : "";
    if (op->is(ir::Opcode::shared_store_)) {
      // 32 elements of each of 128 threads.
      CHECK(op->operand(0)->type.elements() == 32 * 128);
      origins.push_back(op->list("origin"));
    }
    if (op->is(ir::Opcode::mbarrier_arrive_))
      CHECK_FALSE(op->has("bytes"));
  }
  CHECK(order == "LLwSLSLSSfa");
  CHECK(origins == std::vector<std::vector<int64_t>>{{0, 0}, {64, 0}, {0, 0}, {32, 0}});
}

TEST_CASE("parts of rows that are longer than what threads have registers for") {
  ir::Function fn = by_warps(product_kernel(64, 256, 64),
                             {.specialized = true, .copying_warps = 4, .step = 64, .name = ""});
  std::set<ir::Shape> shapes;
  for (const ir::Op *op : copying_step(fn))
    if (op->is(ir::Opcode::shared_store_))
      shapes.insert(op->operand(0)->type.shape);
  CHECK(shapes == std::set<ir::Shape>{{64, 64}, {16, 256}});
  // The other way round in memory, rows are along the other axis.
  std::string transposed =
      with(product_kernel(64, 256, 64), "%at.b, %ldb, %one", "%at.b, %one, %ldb");
  ir::Function other = by_warps(transposed);
  shapes.clear();
  for (const ir::Op *op : copying_step(other))
    if (op->is(ir::Opcode::shared_store_))
      shapes.insert(op->operand(0)->type.shape);
  CHECK(shapes == std::set<ir::Shape>{{64, 64}});
}

TEST_CASE("what is masked off is loaded as zero; what is not masked is not") {
  CHECK_FALSE(contains(printed(by_warps(product_kernel())), "inside"));
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
  ir::Function fn = by_warps(with(product_kernel(), "%a = load %va", mask));
  int masked = 0, loads = 0;
  for (const ir::Op *op : copying_step(fn)) {
    if (!op->is(ir::Opcode::load_))
      continue;
    loads++;
    if (op->operands.size() == 1)
      continue;
    masked++;
    CHECK(op->operand(1)->op->is(ir::Opcode::inside_));
    CHECK(ir::is_zero(op->operand(2)));
  }
  CHECK(loads == 2);
  CHECK(masked == 1);
}

TEST_CASE("registers are divided by how many warps multiply and how many copy") {
  struct {
    int m, copying;
    std::vector<int64_t> registers;
  } cases[] = {{128, 4, {176, 152}}, {128, 8, {104, 152}}, {64, 4, {}}, {64, 8, {}}};
  for (const auto &[m, copying, registers] : cases) {
    ir::Function fn =
        by_warps(product_kernel(m, 64, 64),
                 {.specialized = true, .copying_warps = copying, .step = 64, .name = ""});
    CHECK(first(fn, ir::Opcode::specialize_).list("registers") == registers);
    CHECK(fn.helper_warps == copying);
    if (registers.empty())
      continue;
    // What all have together is what they had.
    int64_t share = 65536 / (32 * (fn.warps + copying)) / 8 * 8;
    CHECK(fn.warps * registers[0] + copying * registers[1] == (fn.warps + copying) * share);
  }
}

TEST_CASE("where threads copy a loop may make no trips, so its sum starts from zeros") {
  ir::Function fn = by_warps(product_kernel());
  CHECK(first(fn, ir::Opcode::shared_product_).operands.size() == 5);
  CHECK_FALSE(contains(printed(fn), "undefined"));
}

namespace {

// The same loop, for warps that multiply by mma beside one that copies.
std::string maps_loaded_for_mma() {
  std::string text = with(maps_loaded, "warps 4 helpers 4", "warps 4 helpers 1");
  return with(text, "{warpgroups = [1,1]}",
              "{dealt = 1, instruction = \"m16n8k16\", warps = [2,2]}");
}

void pass_for_mma(ir::Function &fn, const Structure &structure) {
  specialize_warps(fn, *find_gpu("90"), structure);
  remove_dead_code(fn);
}

} // namespace

TEST_CASE("without wgmma warps fetch both factors, and give up the slot of this step") {
  CHECK(after(pass_for_mma, maps_loaded_for_mma(), specialized) == text(R"(
    layout #0 [64,32]
      offset (0,1) (0,2) (0,4) (0,8) (0,16) (1,0) (2,8) (4,16) (8,0) (16,0) (32,0)
    layout #1 [32,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0)
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 helpers 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %ma = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 64} : map<f16>[64,32]
      %mb = tensor_map %B, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[32,64]
      map_prefetch %ma
      map_prefetch %mb
      %ma.1 = shared_alloc : shared<f16>[8,64,32] #0
      %mb.1 = shared_alloc : shared<f16>[8,32,64] #1
      %full = mbarriers {arrivals = 1} : shared<i64>[8,1]
      %empty = mbarriers {arrivals = 4} : shared<i64>[8,1]
      specialize {
        %0 = constant {value = 0} : i32
        %nothing = constant {number = 0.0} : f32
        %start = splat %nothing : f32[64,64]
        %sum, %step = for_loop %n, %start, %0 : f32[64,64], i32 {
          (%t: i32, %acc: f32[64,64], %step.1: i32)
          %1 = ring_slot %step.1 {ahead = 0, slots = 8} : i32
          %2 = ring_phase %step.1 {ahead = 0, slots = 8} : i32
          mbarrier_wait %full, %1, %2
          %3 = shared_load %ma.1, %1 {one_address = 1, origin = [0,0], perm = [0,1]} : f16[64,32]
          %4 = shared_load %mb.1, %1 {one_address = 1, origin = [0,0], perm = [0,1]} : f16[32,64]
          %5 = constant {value = 1} : i32
          %6 = add %step.1, %5 : i32
          %d = dot %3, %4, %acc {dealt = 1, instruction = "m16n8k16", warps = [2,2]} : f32[64,64]
          mbarrier_arrive %empty, %1 {together = 1}
          yield %d, %6
        }
        %v = view %C, %zero, %ld, %one : view<f32>[64,64]
        store %v, %sum
        yield
      } {
        %7 = constant {value = 0} : i32
        %8 = for_loop %n, %7 : i32 {
          (%t.1: i32, %step.2: i32)
          %9 = ring_slot %step.2 {ahead = 0, slots = 8} : i32
          %10 = ring_phase %step.2 {ahead = 0, slots = 8} : i32
          %11 = constant {value = 1} : i32
          %12 = xor %10, %11 : i32
          mbarrier_wait %empty, %9, %12
          mbarrier_arrive %full, %9 {bytes = 8192}
          %x = program_id {axis = 0} : i32
          %wide = constant {value = 64} : i32
          %row = mul %x, %wide : i32
          %deep = constant {value = 32} : i32
          %k = mul %t.1, %deep : i32
          map_copy %ma, %ma.1, %9, %full, %9, %row, %k
          map_copy %mb, %mb.1, %9, %full, %9, %k, %wide
          %13 = constant {value = 1} : i32
          %14 = add %step.2, %13 : i32
          yield %14
        }
        yield
      }
      return
    })"));
}

TEST_CASE("of a ring whose slots are no power of two, warps that fetch get the slot's number from "
          "one lane") {
  auto pinned = [](const Structure &structure, const char *gpu) {
    ir::Function fn = parsed(product_kernel(128, 256, 32));
    choose_dots(fn, *find_gpu(gpu), structure);
    use_tensor_maps(fn, structure);
    specialize_warps(fn, *find_gpu(gpu), structure);
    check_rules(fn);
    std::vector<const ir::Op *> loads = all(fn, ir::Opcode::shared_load_);
    REQUIRE(loads.size() == 2);
    for (const ir::Op *load : loads)
      CHECK(load->operand(1)->op->is(ir::Opcode::pinned_) ==
            loads[0]->operand(1)->op->is(ir::Opcode::pinned_));
    int64_t slots = first(fn, ir::Opcode::shared_alloc_).result()->type.shape[0];
    CHECK((slots == 3 || slots == 8));
    return loads[0]->operand(1)->op->is(ir::Opcode::pinned_);
  };
  CHECK_FALSE(pinned(specialized, "90"));
  CHECK(pinned({.specialized = true, .step = 32, .staged_pieces = 1, .name = ""}, "120"));
}

TEST_CASE("registers are left where they are where warps multiply by mma") {
  ir::Function fn = parsed(product_kernel(128, 256, 64));
  choose_dots(fn, *find_gpu("90"), specialized);
  use_tensor_maps(fn, specialized);
  specialize_warps(fn, *find_gpu("90"), specialized);
  check_rules(fn);
  CHECK(fn.warps == 8);
  CHECK_FALSE(first(fn, ir::Opcode::specialize_).has("registers"));
}
