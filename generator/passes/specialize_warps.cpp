// specialize_warps: divides a block into producer warps that copy and consumer warps that multiply.
//
//     for_loop %n, %zero {                     warp_specialize {
//       (%t, %acc)                               for_loop %n, %step, %zero {
//       %a = tma_load %m, ...                      (%t, %s, %acc)
//       %b = tma_load %w, ...                      %i = get %operands, %s
//       %d = dot %a, %b, %acc             =>       %a = shared_load %as, %i
//       yield %d                                   %b = shared_load %bs, %i
//     }                                            %d = dot %a, %b, %acc
//     store %v, %d                                 get_done %operands, %s
//                                                  yield %s + 1, %d
//                                                }
//                                                store %v, %d
//                                              } {
//                                                for_loop %n, %step {
//                                                  (%t, %s)
//                                                  %i = put %operands, %s
//                                                  tma_load_async %m, %as, %i, %operands, %i, ...
//                                                  tma_load_async %w, %bs, %i, %operands, %i, ...
//                                                  put_done %operands, %s
//                                                  yield %s + 1
//                                                }
//                                              }
//
// The producer thread runs ahead of the consumers as far as there are empty stages. The tensor
// cores never wait for copy instructions.
//
// Method:  A channel passes the stages of a circular buffer from the producer to the consumers.
//
//          K iterations are counted from the start of the block, over all loops around the matmul.
//          These are the numbers in the channel.
//
//          Producers repeat the loops around the mainloop, with only the computation of addresses
//          and coordinates. The consumers run everything else. tma_prefetch fetches the tensor maps
//          before all that.
//
//          Without TMA. Where no tensor map can be made, schedule.producer_warps warps copy, each
//          thread some elements:
//
//              for_loop %n, %step {
//                (%t, %s)
//                %a0 = load part of %v, inside %limits
//                %a1 = load next part of %v, ...
//                %i = put %operands, %s
//                shared_store %a0, %as, %i {origin = [0,0]}
//                %b0 = load part of %w, ...
//                shared_store %a1, %as, %i {origin = [64,0]}
//                ...
//                put_done %operands, %s
//                yield %s + 1
//              }
//
//          A part is as large as the registers of the producer threads allow. While one part is
//          stored, the next one loads. Producer warps wait only for the circular buffer, not for
//          each other.
//
//          Operands that the kernel gathers through pointers are copied so, too. A part of the
//          pointers is computed from parts of the indices. That takes long, so the loop carries the
//          first part of the next iteration.
//
//          Multicast. Each block of a cluster copies a part of an operand's tile to all blocks. The
//          blocks synchronize before the first copy, and at the end: a block must not end while
//          others arrive at its mbarriers.
//
//          By mma. Where the GPU has no wgmma, the warps load fragments of both operands. The
//          fragments are in registers, so the stage of this iteration is released:
//
//              %i = get %operands, %s
//              %a = shared_load %as, %i {strided_access}
//              %b = shared_load %bs, %i {strided_access}
//              %d = dot %a, %b, %acc              (split_dots_along_k cuts it into slices)
//              get_done %operands, %s
//              yield %d, %s + 1
//
//          Registers are scarce then. Most such GPUs cannot move registers between warps, and
//          beside one more warp the threads of eight warps have 168 registers each. So a thread
//          keeps one address per operand ({strided_access}), not one per swizzled chunk. Moving
//          registers gains little: with 232 registers per thread and four producer warps, 0.99 to
//          1.03 times as fast on an H200 (half, 4096 cubed, 2026-11-22).
//
//          Ping-pong (CUTLASS's word). Two consumer groups multiply, each for its own output tile.
//          While one group runs its epilogue, the tensor cores work for the other:
//
//              for_loop %waves {             %group = consumer_group_id
//                (%r)                        for_loop (%waves + 1 - %group) / 2 {
//                for_loop %n, %zero {          (%u)
//                  ...                         %r = 2 * %u + %group
//                }                             get %turns, %r {offset = -1}
//                store %v, %d           =>     for_loop %n, %r * %n, %zero {
//              }                                 (%t, %s, %acc)
//                                                ...
//                                              }
//                                              put_done %turns, %r
//                                              store %v, %d
//                                            }
//
//          The producer copies for both groups, tile by tile. A group must not get its first stage
//          before the other group has got its last one: a wait sees only the parity of a phase, and
//          would mistake a much older phase for its own. So the groups take turns, by a channel
//          without buffers: the turn of tile r begins when that of tile r - 1 ends.
// Needs:   lower_to_tma or schedule.producer_warps; select_mma. Ping-pong: make_persistent, and the
//          same number of mainloop iterations in each program.
// Ensures: the operands of the dot are shared_loads of the channel's stage. The tma_loads or loads of
//          the operands have no use any more.
// Limits:  nothing happens unless the schedule is warp-specialized and the kernel has one dot; see
//          specialize_loads for several. For such a schedule can_specialize must hold
//          (schedule/legality.h): candidate_schedules checks it.
//
// Tested by tests/unit/passes/specialize_warps/ and specialize_warps_test.cpp.

#include "passes/specialize_warps.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"
#include "passes/partitions.h"
#include "passes/tile_slices.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t max_stages = 8;

// Bytes of a piece per producer thread. A thread holds two pieces: it stores one while the next one
// loads. Each element takes a register until two elements are packed into one.
constexpr int64_t bytes_in_registers = 64, bytes_of_gather = 32;

int64_t bytes_of_stage(const MatmulLoop &matmul) {
  int64_t bytes = 0;
  for (const LoadedOperand &operand : matmul.operands)
    bytes += operand.load->result()->type.elements() * bytes_of(operand.load->result()->type.elem);
  return bytes;
}

struct State {
  Function &fn;
  const Gpu &gpu;
  const Schedule &schedule;
  MatmulLoop matmul;
  Value *buffers[2] = {};
  Value *operands = nullptr, *turns = nullptr; // channels; no turns: one consumer group
  int64_t stages = 0;
  Location location = {};

  bool copies_by_threads() const { return schedule.producer_warps > 0; }
  int64_t groups() const { return schedule.consumer_groups; }

  // Only whole warpgroups move registers.
  int64_t producer_warps() const {
    return copies_by_threads() ? schedule.producer_warps : gpu.has_wgmma ? warps_of_warpgroup : 1;
  }

  // By mma, not by wgmma.
  bool is_by_warps() const { return !matmul.dot->has(attr::warpgroups_); }

  // --- The circular buffer ---

  Value *allocate(Builder &builder, int number) {
    const Op &load = *matmul.operands[number].load;
    const Type &tile = load.result()->type;
    const Value *from = load.operand(0);
    int contiguous = copies_by_threads() ? panel_axis(fn, matmul, number)
                                         : contiguous_tile_axis(*from->op, tile.rank());
    Shape shape = tile.shape;
    shape.insert(shape.begin(), stages);
    Type type = Type::shared(tile.elem, shape)
                    .with_layout(panel_layout(tile.shape, contiguous, bytes_of(tile.elem)));
    Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
    const Value *named = copies_by_threads() ? root_of(from) : from;
    buffer->name = named ? named->name : ""; // a selected pointer has no root
    return buffer;
  }

  Value *make_channel(Builder &builder, const char *name, std::vector<Value *> of, int64_t many) {
    Value *channel = builder.create(Opcode::channel_, of, {Type::channel(many)})->result();
    channel->name = name;
    return channel;
  }

  void make_buffers(Builder &builder) {
    for (int i : {0, 1})
      buffers[i] = allocate(builder, i);
    operands = make_channel(builder, "operands", {buffers[0], buffers[1]}, stages);
    if (groups() > 1)
      turns = make_channel(builder, "turns", {}, groups());
  }

  // --- The consumer warps ---

  // Lets `loop` carry the count of K iterations, `start` at first. Returns the block argument; the
  // caller must yield the next count.
  Value *carry_step(Op *loop, Value *start) {
    Type type = Type::scalar(Elem::i32);
    Block &body = *loop->blocks[0];
    Value *inside = fn.new_value(type, "step"), *result = fn.new_value(type, "step");
    inside->block = &body;
    inside->index = int(body.arguments.size());
    result->op = loop;
    result->index = int(loop->results.size());
    loop->operands.push_back(start);
    body.arguments.push_back(inside);
    loop->results.push_back(result);
    return inside;
  }

  // Multiplies in `loop` or in a loop inside it. Returns the count of K iterations after `loop`.
  Value *multiply_in(Op *loop, Value *start) {
    Value *step = carry_step(loop, start);
    Value *next = loop == matmul.loop ? multiply(step) : multiply_in(inner_loop(*loop), step);
    loop->blocks[0]->terminator()->operands.push_back(next);
    return loop->results.back();
  }

  // The same with ping-pong: the groups share the iterations of the loop around the mainloop.
  void multiply_in_turns(Op *rounds) {
    Block &body = *rounds->blocks[0];
    Builder outside = Builder::before(fn, rounds);
    outside.set_location(location);
    Value *consumer_group =
        outside.create(Opcode::consumer_group_id_, {}, {Type::scalar(Elem::i32)})->result();
    consumer_group->name = "consumer_group";
    Value *consumer_groups = outside.i32(groups());
    Value *behind_first = outside.sub(outside.i32(groups() - 1), consumer_group);
    rounds->operands[0] = outside.binary(
        Opcode::udiv_, outside.add(rounds->operand(0), behind_first), consumer_groups);

    Builder inside = Builder::before(fn, body.ops.front());
    inside.set_location(location);
    Value *round = fn.new_value(body.arguments[0]->type); // placeholder in all uses
    replace_uses(body, body.arguments[0], round);
    Value *mine = inside.add(inside.mul(body.arguments[0], consumer_groups), consumer_group);
    mine->name = "wave";
    replace_uses(body, round, mine);

    Builder before = Builder::before(fn, matmul.loop);
    before.set_location(location);
    before.channel_op(Opcode::get_, turns, mine, -1);
    multiply_in(matmul.loop, before.mul(mine, matmul.loop->operand(0)));
    Builder after = Builder::after(fn, matmul.loop);
    after.set_location(location);
    after.channel_op(Opcode::put_done_, turns, mine);
  }

  // Multiplies the tiles of a stage. Returns the number of the next one.
  Value *multiply(Value *step) {
    Op *dot = matmul.dot;
    Builder builder = Builder::before(fn, dot);
    builder.set_location(location);
    Value *stage = builder.channel_op(Opcode::get_, operands, step);
    for (size_t i : {0, 1}) {
      const LoadedOperand &operand = matmul.operands[i];
      builder.set_location(operand.load->location);
      Op *load = builder.create(Opcode::shared_load_, {buffers[i], stage}, {dot->operand(i)->type});
      load->set(attr::perm_, operand.perm);
      load->set(attr::origin_, std::vector<int64_t>{0, 0});
      if (is_by_warps())
        load->set(attr::strided_access_);
      dot->operands[i] = load->result();
    }
    Builder after = Builder::after(fn, dot);
    after.set_location(location);
    after.channel_op(Opcode::get_done_, operands, step);
    return after.add(step, after.i32(1));
  }

  // --- The producer thread or warps ---

  // Repeats `loop` with only what the copies need. Returns the count of K iterations after it.
  Value *copy_loop(Builder &outside, const Op &loop, Value *start, Copies copies) {
    const Block &old = *loop.blocks[0];
    Value *iterations = clone_computation(outside, loop.operand(0), fn.body, copies);
    const bool copies_here = &loop == matmul.loop;
    std::vector<Value *> carried = {start};
    if (copies_here && carries_piece())
      carried.push_back(load_first_piece(outside, outside.i32(0), iterations, copies));
    Op *mine = outside.for_loop(iterations, carried);
    Block &body = *mine->blocks[0];
    body.arguments[0]->name = old.arguments[0]->name;
    body.arguments[1]->name = "step";
    Builder builder(fn, &body);
    builder.set_location(location);
    Value *step = body.arguments[1];
    if (copies_here && copies_by_threads()) {
      std::vector<Value *> next = copy_by_threads(builder, step, iterations, copies);
      next.insert(next.begin(), builder.add(step, builder.i32(1)));
      builder.yield(next);
      return mine->results[0];
    }
    copies[old.arguments[0]] = body.arguments[0];
    if (copies_here) {
      copy_by_tma(builder, step, copies);
      step = builder.add(step, builder.i32(1));
    } else {
      step = copy_loop(builder, *inner_loop(loop), step, copies);
    }
    builder.yield({step});
    return mine->results[0];
  }

  // The loop directly in `outer` that contains the matmul.
  Op *inner_loop(const Op &outer) {
    Op *loop = matmul.loop;
    while (loop->parent->parent != &outer)
      loop = loop->parent->parent;
    return loop;
  }

  void copy_by_tma(Builder &builder, Value *step, Copies &copies) {
    Value *stage = builder.channel_op(Opcode::put_, operands, step);
    for (int i : {0, 1}) {
      const Op &load = *matmul.operands[i].load;
      builder.set_location(load.location);
      std::vector<Value *> of_copy = {load.operand(0), buffers[i], stage, operands, stage};
      for (size_t d = 1; d < load.operands.size(); d++)
        of_copy.push_back(clone_computation(builder, load.operand(d), fn.body, copies));
      Op *copy = builder.create(Opcode::tma_load_async_, of_copy);
      keep_cache_hint(*copy, load);
      copy->copy(attr::multicast_, load);
      copy->copy(attr::predicated_, load);
    }
    builder.set_location(location);
    builder.channel_op(Opcode::put_done_, operands, step);
  }

  // A part of an operand that the producer threads hold in registers at a time.
  struct Piece {
    int operand;
    Part part;
  };

  // As many whole rows as fit in registers; parts of a row if one row does not fit. Of an operand
  // that is gathered element by element, a thread holds fewer elements, because each has an
  // address. The index along a row of the panel is computed once for several rows. So such a piece
  // is first cut along the row, as far as each warp has a chunk.
  std::vector<Piece> pieces() const {
    std::vector<Piece> result;
    for (int i : {0, 1}) {
      const Value *from = matmul.operands[i].load->operand(0);
      const Type &tile = matmul.operands[i].load->result()->type;
      const size_t along = size_t(panel_axis(fn, matmul, i)), across = 1 - along;
      const bool is_gather = !from->type.is_view() && !contiguous_axis(from, fn);
      const int64_t bytes = is_gather ? bytes_of_gather : bytes_in_registers;
      const int64_t max_value = bytes / bytes_of(tile.elem) * 32 * producer_warps();
      const int64_t row = widest_access_bytes / bytes_of(tile.elem) * producer_warps();
      Shape shape = tile.shape;
      while (element_count(shape) > max_value)
        shape[(is_gather && shape[along] > row) || shape[across] == 1 ? along : across] /= 2;
      for (int64_t m = 0; m < tile.shape[0]; m += shape[0])
        for (int64_t n = 0; n < tile.shape[1]; n += shape[1])
          result.push_back({i, {shape, {m, n}}});
    }
    return result;
  }

  // `poly` with the values of the producer's loops.
  Poly copied(Builder &builder, const Poly &poly, Copies &copies) {
    Poly mine;
    for (const auto &[monomial, coefficient] : poly.terms) {
      Poly term = Poly::constant(coefficient);
      for (const Value *symbol : monomial)
        term = term * Poly::symbol(
                          clone_computation(builder, const_cast<Value *>(symbol), fn.body, copies));
      mine = mine + term;
    }
    return mine;
  }

  // The part of a view, or of a tile of pointers, that `piece` loads.
  Value *pointers_of_piece(Builder &builder, const Piece &piece, Value *whole, IndexParts &parts) {
    if (!whole->type.is_view())
      return parts.of(builder, whole, piece.part);
    std::vector<Value *> operands = whole->op->operands;
    for (size_t d = 0; d < 2; d++)
      operands[1] =
          builder.add(operands[1], builder.mul(builder.i64(piece.part.origin[d]), operands[2 + d]));
    return builder.create(Opcode::view_, operands, {whole->type.with_shape(piece.part.shape)})
        ->result();
  }

  // The mask of a piece; null: there is none. `exists`: an additional condition; null: none.
  Value *mask_of_piece(Builder &builder, const Piece &piece, Value *whole, Value *exists,
                       Copies &copies, IndexParts &parts) {
    const Shape &shape = piece.part.shape;
    if (!whole && !exists)
      return nullptr;
    std::optional<std::vector<Bound>> bounds = std::vector<Bound>();
    if (whole)
      bounds = bounds_of(whole, 2);
    if (!bounds) {
      Value *part =
          parts.of(builder, clone_computation(builder, whole, fn.body, copies), piece.part);
      return exists ? builder.binary(Opcode::and_, part, builder.splat(exists, shape)) : part;
    }
    for (Bound &bound : *bounds)
      bound.before = copied(builder, bound.before, copies) +
                     Poly::constant(piece.part.origin[size_t(bound.axis)]);
    std::vector<Value *> limits = emit_limits(builder, shape, *bounds);
    if (exists) // costs no comparison per element
      limits[0] = builder.select(exists, limits[0], builder.i64(0));
    return builder.in_bounds(limits, shape);
  }

  // `exists`: an additional mask; null: none.
  Value *load_piece(Builder &builder, const Piece &piece, Value *exists, Copies &copies,
                    IndexParts &parts) {
    const Op &load = *matmul.operands[piece.operand].load;
    builder.set_location(load.location);
    Value *whole = clone_computation(builder, load.operand(0), fn.body, copies);
    Value *part = pointers_of_piece(builder, piece, whole, parts), *other = nullptr;
    Value *mask = mask_of_piece(builder, piece, load.operand_or_null(1), exists, copies, parts);
    if (mask)
      other = builder.filled(load.result()->type.with_shape(piece.part.shape), 0);
    Value *loaded = builder.load(part, mask, other);
    keep_cache_hint(*loaded->op, load);
    return loaded;
  }

  // The first piece of `iteration`, if that is less than `iterations`.
  Value *load_first_piece(Builder &builder, Value *iteration, Value *iterations, Copies copies) {
    IndexParts parts;
    copies[matmul.loop->blocks[0]->arguments[0]] = iteration;
    Value *exists = builder.cmp("lt", iteration, iterations);
    return load_piece(builder, pieces()[0], exists, copies, parts);
  }

  // Whether the loop carries the first piece of the next iteration. It takes long to compute the
  // addresses of gathered elements.
  bool carries_piece() const { return copies_by_threads() && is_gathered(matmul); }

  // Loads start long before the stores that need them: the next piece loads while one is stored,
  // and the first piece of an iteration loads before its stage is empty. `copies` are those outside
  // of the loop. Returns what the loop carries to the next iteration: the first piece, or nothing.
  std::vector<Value *> copy_by_threads(Builder &builder, Value *step, Value *iterations,
                                       const Copies &copies) {
    const Block &body = *builder.block();
    std::vector<Piece> all = pieces();
    IndexParts parts;
    Copies inside = copies;
    inside[matmul.loop->blocks[0]->arguments[0]] = body.arguments[0];
    Value *stage = nullptr;
    std::vector<Value *> loaded = {
        carries_piece() ? body.arguments[2] : load_piece(builder, all[0], nullptr, inside, parts)};
    for (size_t i = 0; i < all.size(); i++) {
      if (i + 1 < all.size())
        loaded.push_back(load_piece(builder, all[i + 1], nullptr, inside, parts));
      else if (carries_piece())
        loaded.push_back(load_first_piece(builder, builder.add(body.arguments[0], builder.i32(1)),
                                          iterations, copies));
      if (i == 0)
        stage = builder.channel_op(Opcode::put_, operands, step);
      Op *store =
          builder.create(Opcode::shared_store_, {loaded[i], buffers[all[i].operand], stage});
      store->set(attr::origin_, all[i].part.origin);
    }
    builder.set_location(location);
    builder.channel_op(Opcode::put_done_, operands, step);
    return {loaded.begin() + ptrdiff_t(all.size()), loaded.end()};
  }

  // --- The split ---

  void run() {
    location = matmul.dot->location;
    stages = fitting_stages(fn, matmul, gpu, schedule);
    Op *outermost = matmul.loop;
    while (outermost->parent != fn.body)
      outermost = outermost->parent->parent;

    DeviceOps device = take_device_ops(fn);
    Builder builder(fn, fn.body);
    builder.set_location(location);
    prefetch_maps(builder, fn);
    make_buffers(builder);
    Op *parts = builder.create(Opcode::warp_specialize_, {});
    Block *workers = fn.new_block(parts), *producer = fn.new_block(parts);
    parts->blocks = {workers, producer};
    parts->set(attr::warps_, std::vector<int64_t>{fn.warps, producer_warps()});
    if (groups() > 1)
      parts->set(attr::groups_, std::vector<int64_t>{groups(), 1});
    if (!copies_by_threads())
      parts->set(attr::one_thread_, std::vector<int64_t>{0, 1});
    if (schedule.multicast > 1) {
      // A block must not end while another block arrives at its mbarriers.
      parts->set(attr::cluster_, schedule.multicast);
      builder.create(Opcode::cluster_barrier_, {});
    }
    if (!is_by_warps())
      set_registers(*parts, fn.warps * int(groups()), schedule.producer_warps);
    fn.body->ops.push_back(device.end);

    Builder copying(fn, producer);
    copying.set_location(location);
    copy_loop(copying, *outermost, copying.i32(0), device.copies_of_host_ops);
    copying.yield({});

    Builder multiplying(fn, workers);
    Value *start = multiplying.i32(0);
    move_to(*workers, device.ops);
    Builder(fn, workers).yield({});
    if (groups() > 1)
      multiply_in_turns(outermost);
    else
      multiply_in(outermost, start);
  }
};

} // namespace

// Beside the stages: the staging buffers of each stored tile (stage_epilogue), a piece of a tile
// that threads load for the epilogue, the mbarriers, and 1 KiB that the system reserves. Threads
// bring a loaded piece into the layout of the accumulator through shared memory. If threads store,
// too, their pieces take turns in the place of the staging buffers.
int64_t fitting_stages(Function &fn, const MatmulLoop &matmul, const Gpu &gpu,
                       const Schedule &schedule) {
  constexpr int64_t row_bytes = 128, small_things = 2 << 10;
  const Shape &accumulator = matmul.dot->result()->type.shape;
  int64_t results = 0, loaded_bytes = 0; // loaded_bytes: per element of a tile that threads load
  bool is_staged = !schedule.producer_warps && matmul.operands[0].load->is(Opcode::load_); // maybe
  for_each_op(*fn.body, [&](const Op &op) {
    bool stores = op.is(Opcode::store_) || op.is(Opcode::tma_store_);
    results += stores && axis_of_columns(op.operand(1), accumulator).has_value();
    is_staged |= op.is(Opcode::tma_store_);
    if (op.is(Opcode::load_) && op.result()->type.shape == accumulator)
      loaded_bytes = std::max<int64_t>(loaded_bytes, bytes_of(op.result()->type.elem));
  });
  int64_t others =
      schedule.consumer_groups * schedule.epilogue_stages * row_bytes * accumulator[0] * results +
      small_things;
  if (is_staged) // a result of 16-bit elements has the longest pieces
    others += schedule.consumer_groups * row_bytes / 2 * loaded_bytes * accumulator[0];
  int64_t share = gpu.max_shared_bytes / schedule.blocks_per_sm;
  return std::min((share - others) / bytes_of_stage(matmul), max_stages);
}

void specialize_warps(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (!schedule.is_warp_specialized())
    return;
  if (std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found)
    State{fn, gpu, schedule, *matmul}.run();
}

} // namespace tritonc
