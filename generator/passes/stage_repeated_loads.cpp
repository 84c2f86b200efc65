// stage_repeated_loads: loads tiles that several loops use once, into shared memory.
//
//     for_loop %n {                          %s = shared_alloc %n : shared<f16>[113,1024]
//       (%t)                                 for_loop %n {
//       %a = load view(%t), %mask              (%t)
//       ...                                    async_copy view(%t), %s, stage %t, if true, %mask
//     }                                        async_commit
//     for_loop %n {                    =>    }
//       (%u)                                 async_wait; barrier
//       %b = load view(%u), %mask            for_loop %n {
//       ...                                    (%t)
//     }                                        %a = shared_load %s, stage %t
//                                              ...
//                                            }
//                                            for_loop %n {
//                                              (%u)
//                                              %b = shared_load %s, stage %u
//                                              ...
//                                            }
//
// A softmax or a norm reads its row several times. The row stays in shared memory, so it is read
// from global memory once. All copies start before the first of them is needed, so they hide each
// other's latency.
//
// Method:  Each iteration has a stage of the buffer. With several tiles, iteration t has the stages
//          t * tiles + i. The launch gives a block only the stages that its loops use (the operand
//          of shared_alloc), so that short rows leave room for other blocks.
//
//          The copies start as soon as their addresses are known: other loads and arithmetic
//          before the first loop do not delay them.
//
//          cp.async copies at least 4 contiguous bytes. Otherwise the copies go through registers.
// Needs:   canonical loops (expand_inductions) and views (form_views); a schedule that is staged.
// Ensures: no load of the tiles remains.
// Limits:  only tiles of one type, and only loops of the function's body: see repeated_loads.h.
//
// Tested by tests/unit/passes/stage_repeated_loads/.

#include "passes/stage_repeated_loads.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/repeated_loads.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

constexpr int min_copy_bytes = 4, max_copy_bytes = 16;

struct State {
  Function &fn;
  const Gpu &gpu;
  const RepeatedLoads &found;
  Value *buffer = nullptr;

  int64_t tiles() const { return int64_t(found.tiles.size()); }

  // The buffer has a value for masked-off elements, even if the first load leaves it open.
  void fill_masked_off(Op &load) {
    if (load.operands.size() != 2)
      return;
    Builder builder = Builder::before(fn, &load);
    load.operands.push_back(builder.filled(load.result()->type, 0));
  }

  void allocate(Builder &builder) {
    const Op &load = *found.tiles[0][0];
    const Type &tile = load.result()->type;
    Shape shape = tile.shape;
    int contiguous = contiguous_axis(load.operand(0), fn).value_or(tile.rank() - 1);
    LinearLayout layout = swizzled_layout(shape, contiguous, bytes_of(tile.elem));
    const int64_t bytes = tile.elements() * bytes_of(tile.elem);
    shape.insert(shape.begin(), std::max<int64_t>(gpu.max_shared_bytes / bytes, 1));
    Type type = Type::shared(tile.elem, shape).with_layout(std::move(layout));
    Value *stages = builder.mul(found.first->operand(0), builder.i32(tiles()));
    buffer = builder.create(Opcode::shared_alloc_, {stages}, {type})->result();
  }

  // The stage of tile `i` in the iteration with `counter`.
  Value *stage(Builder &builder, Value *counter, size_t i) {
    if (tiles() == 1)
      return counter;
    Value *first = builder.mul(counter, builder.i32(tiles()));
    return builder.add(first, builder.i32(int64_t(i)));
  }

  // Elements per cp.async; 0: the copy goes through registers.
  int vector_of(const Op &load) const {
    const Value *other = load.operand_or_null(2);
    const int bytes = bytes_of(load.result()->type.elem);
    int vector = std::min(vector_elements(load.operand(0), load.operand_or_null(1), fn),
                          max_copy_bytes / bytes);
    std::optional<int> axis = contiguous_axis(load.operand(0), fn);
    if (axis && !has_neighbors(buffer->type, *axis))
      vector = 1;
    bool is_possible = gpu.has_cp_async && (!other || is_zero(other));
    return is_possible && vector * bytes >= min_copy_bytes ? vector : 0;
  }

  // Copies tile `i` of the iteration with `counter`. Returns whether it starts a cp.async.
  bool copy(Builder &builder, Value *counter, size_t i) {
    const Op &load = *found.tiles[i][0];
    const Block *body = found.first->blocks[0];
    Copies copies = {{body->arguments[0], counter}};
    std::vector<Value *> operands;
    for (Value *operand : load.operands)
      operands.push_back(clone_computation(builder, operand, body, copies));
    Value *into = stage(builder, counter, i);
    const int vector = vector_of(load);
    if (!vector) {
      Op *loaded = builder.create(Opcode::load_, operands, {load.result()->type});
      builder.create(Opcode::shared_store_, {loaded->result(), buffer, into});
      return false;
    }
    std::vector<Value *> of_copy = {operands[0], buffer, into,
                                    builder.filled(Type::scalar(Elem::i1), 1)};
    if (operands.size() > 1)
      of_copy.push_back(operands[1]);
    builder.create(Opcode::async_copy_, of_copy)->set(attr::vector_, int64_t(vector));
    return true;
  }

  // Starts all copies. Returns whether one is a cp.async.
  bool copy_all(Builder &builder) {
    Op *loop = builder.for_loop(found.first->operand(0), {});
    Builder inside(fn, loop->blocks[0]);
    bool is_async = false;
    for (size_t i = 0; i < found.tiles.size(); i++) {
      inside.set_location(found.tiles[i][0]->location);
      is_async |= copy(inside, loop->blocks[0]->arguments[0], i);
    }
    if (is_async)
      inside.create(Opcode::async_commit_, {});
    inside.yield({});
    return is_async;
  }

  void wait_for_copies(Builder &builder, bool are_async) {
    if (are_async)
      builder.create(Opcode::async_wait_, {})->set(attr::pending_, 0);
    builder.create(Opcode::barrier_, {}); // else each iteration of the first loop would have one
  }

  void read_from_buffer(Op *load, size_t i) {
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    Value *counter = load->parent->arguments[0];
    const Type &type = load->result()->type;
    Op *read = builder.create(Opcode::shared_load_, {buffer, stage(builder, counter, i)}, {type});
    std::vector<int64_t> perm(type.rank());
    std::iota(perm.begin(), perm.end(), 0);
    read->set(attr::perm_, perm);
    read->set(attr::origin_, std::vector<int64_t>(type.rank(), 0));
    read->result()->name = load->result()->name;
    replace_uses(*fn.body, load->result(),
                 emit_repeat(builder, read->result(), *found.tiles[i][0], *load));
  }

  void run() {
    const Location location = found.tiles[0][0]->location;
    for (const std::vector<Op *> &loads : found.tiles)
      fill_masked_off(*loads[0]);
    Builder early = Builder::before(fn, earliest_place(fn, found));
    early.set_location(location);
    allocate(early);
    const bool are_async = copy_all(early);
    Builder late = Builder::before(fn, found.first);
    late.set_location(location);
    wait_for_copies(late, are_async);
    for (size_t i = 0; i < found.tiles.size(); i++)
      for (Op *load : found.tiles[i])
        read_from_buffer(load, i);
    for (const std::vector<Op *> &loads : found.tiles)
      for (Op *load : loads)
        erase(load);
  }
};

} // namespace

bool try_staging_loads(Function &fn, const Gpu &gpu) {
  std::optional<RepeatedLoads> found = find_repeated_loads(fn);
  if (found)
    State{fn, gpu, *found}.run();
  return found.has_value();
}

void stage_repeated_loads(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (!schedule.staged)
    return;
  [[maybe_unused]] bool is_staged = try_staging_loads(fn, gpu);
  assert(is_staged && "candidate_schedules has looked");
}

} // namespace tritonc
