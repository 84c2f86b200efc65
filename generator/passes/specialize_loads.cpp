// specialize_loads: one thread loads the operands of all dots, the other warps compute.
//
//     %q = tma_load %mq, %row                warp_specialize {
//     %o = for_loop %n, %zero {                %i = get %Q, %zero
//       (%t, %acc)                             %o, %m = for_loop %n, %zero, %zero {
//       %k = tma_load %mk, %t                    (%t, %acc, %s)
//       %s = dot %q, %k, %none                   %j = get %K, %s
//       ...                            =>        %a = shared_load %q, %i
//       yield ...                                %b = shared_load %k, %j
//     }                                          %d = dot %a, %b, %none
//                                                get_done %K, %s
//                                                ...
//                                                yield ..., %s + 1
//                                              }
//                                            } {
//                                              %i = put %Q, %zero
//                                              tma_load_async %mq, %q, %i, %Q, %i, %row
//                                              put_done %Q, %zero
//                                              for_loop %n, %zero {
//                                                (%t, %s)
//                                                %j = put %K, %s
//                                                tma_load_async %mk, %k, %j, %K, %j, %t
//                                                put_done %K, %s
//                                                yield %s + 1
//                                              }
//                                            }
//
// The producer thread runs ahead of the consumer warps as far as there are empty stages. It waits for
// nothing else, so memory latency is hidden whatever the consumers wait for.
//
// Method:  Each tensor map has a channel. The tiles of a channel are counted from the start of the
//          block, in the order of the program, over all loops. These are the numbers in the channel.
//
//          The producer repeats the loops around the loads, with only the computation of coordinates.
//          The consumers run everything else. A consumer gets a tile before the first dot that reads
//          it, and releases it after the last one.
//
//          The loads inside of the innermost loops have as many stages as fit in shared memory, at
//          most 4, or 8 if all dots only accumulate. A tile that other loads bring has one stage.
// Needs:   lower_to_tma; select_mma.
// Ensures: the operands that TMA loads are shared_loads of a channel's stage.
// Limits:  nothing happens unless the schedule is warp-specialized with TMA, or if specialize_warps
//          has divided the block. For such a schedule can_specialize_loads must hold
//          (schedule/legality.h): candidate_schedules checks it.
//
// Tested by tests/unit/passes/specialize_loads/.

#include "passes/specialize_loads.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "ir/builder.h"
#include "passes/partitions.h"

#include <algorithm>
#include <map>

namespace tritonc {

using namespace ir;

namespace {

// Stages of a loop whose dots stay in flight, and of another one, in which a dot is done before the next
// iteration starts.
constexpr int64_t max_stages_in_flight = 8, max_stages = 4;

int64_t bytes_of_tile(const Op &load) {
  return load.result()->type.elements() * bytes_of(load.result()->type.elem);
}

bool is_in_loop(const Op &op) {
  const Op *around = op.parent->parent;
  while (around && !around->is(Opcode::for_loop_))
    around = around->parent->parent;
  return around != nullptr;
}

bool contains_dot(Block &block) {
  bool found = false;
  for_each_op(block, [&](const Op &op) { found |= op.is(Opcode::dot_); });
  return found;
}

// Whether the load is directly in an innermost loop of dots.
bool is_in_mainloop(const OperandLoad &load) {
  const Block &block = *load.load->parent;
  return block.parent && block.parent->is(Opcode::for_loop_) &&
         std::none_of(block.ops.begin(), block.ops.end(), [](Op *op) {
           return op->is(Opcode::for_loop_) && contains_dot(*op->blocks[0]);
         });
}

// A tensor map whose tiles a channel passes.
struct TileChannel {
  std::vector<OperandLoad> loads;
  int64_t stages = 1;
  Value *buffer = nullptr, *channel = nullptr;

  bool is_of_mainloop() const { return std::any_of(loads.begin(), loads.end(), is_in_mainloop); }

  // Whether a stage is ever used twice. Otherwise nobody waits until it is empty.
  bool reuses_stages() const {
    return int64_t(loads.size()) > stages ||
           std::any_of(loads.begin(), loads.end(),
                       [](const OperandLoad &load) { return is_in_loop(*load.load); });
  }
};

class Specialization {
public:
  Specialization(Function &fn, const Gpu &gpu, const Schedule &schedule)
      : fn_(fn), gpu_(gpu), schedule_(schedule) {}

  void run() {
    const std::vector<OperandLoad> loads = operand_loads(fn_);
    for (const OperandLoad &load : loads)
      channels_[load.load->operand(0)].loads.push_back(load);
    const int64_t stages = fitting_stages(fn_, loads, gpu_, schedule_);
    for (const OperandLoad &load : loads)
      of_load_[load.load] = &channels_[load.load->operand(0)];
    for (auto &[map, channel] : channels_)
      channel.stages = channel.is_of_mainloop() ? stages : 1;
    const Location location = loads[0].uses[0].dot->location;

    DeviceOps device = take_device_ops(fn_);
    Builder builder(fn_, fn_.body);
    builder.set_location(location);
    prefetch_maps(builder, fn_);
    for (const OperandLoad &load : loads)
      make_channel(builder, *of_load_[load.load]);
    Op *parts = builder.create(Opcode::warp_specialize_, {});
    Block *consumers = fn_.new_block(parts), *producer = fn_.new_block(parts);
    parts->blocks = {consumers, producer};
    const ThreadRegisters registers =
        registers_beside_one_thread(fn_.warps, schedule_.blocks_per_sm, gpu_);
    parts->set(attr::warps_, std::vector<int64_t>{fn_.warps, warps_of_warpgroup});
    parts->set(attr::one_thread_, std::vector<int64_t>{0, 1});
    parts->set(attr::registers_,
               std::vector<int64_t>{registers.of_consumer, registers.of_producer});
    fn_.body->ops.push_back(device.end);

    move_to(*consumers, device.ops);
    Builder(fn_, consumers).yield({});
    Builder loading(fn_, producer);
    loading.set_location(location);
    Copies copies = device.copies_of_host_ops;
    Numbers numbers = first_numbers(loading);
    load_in(loading, *consumers, copies, numbers);
    loading.yield({});
    Builder start(fn_, consumers, 0);
    start.set_location(location);
    numbers = first_numbers(start);
    compute_in(*consumers, numbers);
  }

private:
  // The number of the next tile of each channel, as a sum.
  struct Number {
    Value *base;
    int64_t offset = 0;

    Value *value(Builder &builder) const {
      return offset ? builder.add(base, builder.i32(offset)) : base;
    }
  };
  using Numbers = std::map<TileChannel *, Number>;

  Function &fn_;
  const Gpu &gpu_;
  const Schedule &schedule_;
  std::map<const Value *, TileChannel> channels_; // by tensor map
  std::map<const Op *, TileChannel *> of_load_;

  void make_channel(Builder &builder, TileChannel &channel) {
    if (channel.channel)
      return;
    const Op &load = *channel.loads[0].load;
    const Value *map = load.operand(0);
    const Type &tile = load.result()->type;
    Shape shape = tile.shape;
    shape.insert(shape.begin(), channel.stages);
    const int contiguous = contiguous_tile_axis(*map->op, tile.rank());
    const Type type = Type::shared(tile.elem, shape)
                          .with_layout(panel_layout(tile.shape, contiguous, bytes_of(tile.elem)));
    channel.buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
    channel.buffer->name = map->name;
    channel.channel =
        builder.create(Opcode::channel_, {channel.buffer}, {Type::channel(channel.stages)})
            ->result();
    channel.channel->name = map->name + ".tiles";
  }

  Numbers first_numbers(Builder &builder) {
    Numbers numbers;
    Value *zero = builder.i32(0);
    for (const auto &[load, channel] : of_load_)
      numbers[channel] = {zero};
    return numbers;
  }

  // The channels with loads in `loop`, in the order of the program.
  std::vector<TileChannel *> channels_in(const Op &loop) {
    std::vector<TileChannel *> found;
    for (Block *block : loop.blocks)
      for_each_op(*block, [&](const Op &op) {
        if (auto at = of_load_.find(&op);
            at != of_load_.end() &&
            std::find(found.begin(), found.end(), at->second) == found.end())
          found.push_back(at->second);
      });
    return found;
  }

  // --- The producer ---

  void load_in(Builder &builder, const Block &block, Copies &copies, Numbers &numbers) {
    for (const Op *op : block.ops) {
      if (auto found = of_load_.find(op); found != of_load_.end()) {
        builder.set_location(op->location);
        start_load(builder, *op, *found->second, copies, numbers);
      } else if (op->is(Opcode::for_loop_)) {
        const std::vector<TileChannel *> channels = channels_in(*op);
        if (!channels.empty())
          load_in_loop(builder, *op, channels, copies, numbers);
      }
    }
  }

  void load_in_loop(Builder &builder, const Op &loop, const std::vector<TileChannel *> &channels,
                    Copies &copies, Numbers &numbers) {
    builder.set_location(loop.location);
    std::vector<Value *> carried;
    for (TileChannel *channel : channels)
      carried.push_back(numbers[channel].value(builder));
    Value *iterations = clone_computation(builder, loop.operand(0), fn_.body, copies);
    Op *mine = builder.for_loop(iterations, carried);
    Block &body = *mine->blocks[0];
    body.arguments[0]->name = loop.blocks[0]->arguments[0]->name;
    Copies inner = copies;
    inner[loop.blocks[0]->arguments[0]] = body.arguments[0];
    for (size_t i = 0; i < channels.size(); i++)
      numbers[channels[i]] = {body.arguments[1 + i]};
    Builder inside(fn_, &body);
    load_in(inside, *loop.blocks[0], inner, numbers);
    for (size_t i = 0; i < channels.size(); i++) {
      carried[i] = numbers[channels[i]].value(inside);
      numbers[channels[i]] = {mine->results[i]};
    }
    inside.yield(carried);
  }

  void start_load(Builder &builder, const Op &load, TileChannel &channel, Copies &copies,
                  Numbers &numbers) {
    Number &number = numbers[&channel];
    Value *stage = builder.channel_op(Opcode::put_, channel.channel, number.base, number.offset);
    std::vector<Value *> operands = {load.operand(0), channel.buffer, stage, channel.channel,
                                     stage};
    for (size_t d = 1; d < load.operands.size(); d++)
      operands.push_back(clone_computation(builder, load.operand(d), fn_.body, copies));
    Op *copy = builder.create(Opcode::tma_load_async_, operands);
    keep_cache_hint(*copy, load);
    copy->copy(attr::predicated_, load);
    builder.channel_op(Opcode::put_done_, channel.channel, number.base, number.offset);
    number.offset++;
  }

  // --- The consumers ---

  void compute_in(Block &block, Numbers &numbers) {
    for (Op *op : std::vector<Op *>(block.ops)) {
      if (auto found = of_load_.find(op); found != of_load_.end()) {
        read(*op, *found->second, numbers);
      } else if (op->is(Opcode::for_loop_)) {
        const std::vector<TileChannel *> channels = channels_in(*op);
        if (channels.empty())
          continue;
        Builder before = Builder::before(fn_, op);
        before.set_location(op->location);
        for (TileChannel *channel : channels) {
          numbers[channel] = {add_carried(fn_, *op, numbers[channel].value(before))};
          numbers[channel].base->name = "step";
        }
        Block &body = *op->blocks[0];
        compute_in(body, numbers);
        Builder end = Builder::before(fn_, body.terminator());
        end.set_location(op->location);
        const size_t first = op->results.size() - channels.size();
        for (size_t i = 0; i < channels.size(); i++) {
          body.terminator()->operands.push_back(numbers[channels[i]].value(end));
          numbers[channels[i]] = {op->results[first + i]};
        }
      }
    }
  }

  // Replaces the load by reads of the channel's next tile.
  void read(Op &load, TileChannel &channel, Numbers &numbers) {
    const OperandLoad &uses =
        *std::find_if(channel.loads.begin(), channel.loads.end(),
                      [&](const OperandLoad &of) { return of.load == &load; });
    const Number number = numbers[&channel];
    numbers[&channel].offset++;

    // The operations in the load's block that use the tile.
    Op *first = nullptr, *last = nullptr;
    for (const OperandUse &use : uses.uses) {
      Op *user = use.dot;
      while (user->parent != load.parent)
        user = user->parent->parent;
      auto place = [&](const Op *op) { return load.parent->position_of(op); };
      if (!first || place(user) < place(first))
        first = user;
      if (!last || place(user) > place(last))
        last = user;
    }
    Builder before = Builder::before(fn_, first);
    before.set_location(load.location);
    Value *stage = before.channel_op(Opcode::get_, channel.channel, number.base, number.offset);
    for (const OperandUse &use : uses.uses) {
      Builder builder = Builder::before(fn_, use.dot);
      builder.set_location(load.location);
      Op *tile = builder.create(Opcode::shared_load_, {channel.buffer, stage},
                                {use.dot->operand(use.operand)->type});
      tile->set(attr::perm_, use.perm);
      tile->set(attr::origin_, std::vector<int64_t>(2, 0));
      use.dot->operands[use.operand] = tile->result();
    }
    if (channel.reuses_stages()) {
      Builder after = Builder::after(fn_, last);
      after.set_location(load.location);
      after.channel_op(Opcode::get_done_, channel.channel, number.base, number.offset);
    }
    erase_unused(load);
  }

  // Erases the load, after its transposes.
  void erase_unused(Op &op) {
    for (Op *user : users_of(*fn_.body, op.result()))
      erase_unused(*user);
    erase(&op);
  }
};

} // namespace

int64_t fitting_stages(Function &fn, const std::vector<OperandLoad> &loads, const Gpu &gpu,
                       const Schedule &schedule) {
  constexpr int64_t row_bytes = 128, small_things = 2 << 10; // as in specialize_warps
  // A tensor map may have several loads.
  std::map<const Value *, int64_t> in_mainloop, once;
  for (const OperandLoad &load : loads) {
    const Value *tensor = load.load->operand(0);
    (is_in_mainloop(load) ? in_mainloop : once)[tensor] = bytes_of_tile(*load.load);
  }
  int64_t rows = 0; // of the largest output tile, which leaves in pieces
  for_each_op(*fn.body, [&](const Op &op) {
    if ((op.is(Opcode::store_) || op.is(Opcode::tma_store_)) && op.operand(1)->type.rank() == 2)
      rows = std::max(rows, op.operand(1)->type.shape[0]);
  });
  int64_t of_stage = 0, others = small_things + schedule.epilogue_stages * row_bytes * rows;
  for (const auto &[tensor, bytes] : in_mainloop)
    of_stage += bytes;
  for (const auto &[tensor, bytes] : once)
    if (!in_mainloop.count(tensor))
      others += bytes;
  const int64_t share = gpu.max_shared_bytes / schedule.blocks_per_sm;
  const int64_t most = keeps_dots_in_flight(fn) ? max_stages_in_flight : max_stages;
  return of_stage ? std::min((share - others) / of_stage, most) : 0;
}

void specialize_loads(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (!schedule.is_warp_specialized() || !partitions_of(fn).empty() || operand_loads(fn).empty())
    return;
  Specialization(fn, gpu, schedule).run();
}

} // namespace tritonc
