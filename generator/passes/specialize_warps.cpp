// specialize_warps: divides a block into producer warps that copy and consumer warps that multiply.
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
// The producer runs ahead of the consumers as far as there are empty stages. It waits for nothing
// else, so memory latency is hidden whatever the consumers wait for.
//
// Method:  Each tensor map has a circular buffer. Buffers whose tiles are got and released at the same
//          places share a channel, such as A and B of a matmul. The tiles of a channel are counted from
//          the start of the block, in the order of the program, over all loops. These are the numbers in
//          the channel.
//
//          The producer repeats the loops around the loads, with only the computation of addresses and
//          coordinates. The consumers run everything else. A consumer gets a tile before the first dot
//          that reads it, and releases it after the last one. tma_prefetch fetches the tensor maps
//          before all that.
//
//          The loads inside of the innermost loops have as many stages as fit in shared memory, at
//          most 4, or 8 if all dots only accumulate. A tile that other loads bring has one stage.
//
//          Without TMA. Where no tensor map can be made, schedule.producer_warps warps copy, each
//          thread some elements (thread_copies.h). They wait only for the circular buffer, not for each
//          other.
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
// Needs:   lower_to_tma or schedule.producer_warps; select_mma. Ping-pong: make_persistent, and a
//          mainloop with the same number of iterations in each program.
// Ensures: the operands that the producer copies are shared_loads of a channel's stage.
// Limits:  nothing happens unless the schedule is warp-specialized. For such a schedule can_specialize
//          or can_specialize_loads must hold (schedule/legality.h): candidate_schedules checks it.
//          Threads copy for one channel per loop, such as that of a matmul.
//
// Tested by tests/unit/passes/specialize_warps/ and specialize_warps_test.cpp.

#include "passes/specialize_warps.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"
#include "passes/fitting_stages.h"
#include "passes/partitions.h"
#include "passes/thread_copies.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tritonc {

using namespace ir;

namespace {

bool is_in_loop(const Op &op) {
  const Op *around = op.parent->parent;
  while (around && !around->is(Opcode::for_loop_))
    around = around->parent->parent;
  return around != nullptr;
}

// The operations in the load's block that use its tile first and last.
std::pair<Op *, Op *> first_and_last_user(const OperandLoad &load) {
  Block *block = load.load->parent;
  std::pair<Op *, Op *> found = {nullptr, nullptr};
  for (const OperandUse &use : load.uses) {
    Op *user = use.dot;
    while (user->parent != block)
      user = user->parent->parent;
    if (!found.first || block->position_of(user) < block->position_of(found.first))
      found.first = user;
    if (!found.second || block->position_of(user) > block->position_of(found.second))
      found.second = user;
  }
  return found;
}

// The circular buffer of a tensor map, or of a load by threads.
struct Buffer {
  std::vector<OperandLoad> loads;
  Value *value = nullptr;

  // Where its tiles are got and released.
  std::vector<std::tuple<Block *, Op *, Op *>> places() const {
    std::vector<std::tuple<Block *, Op *, Op *>> found;
    for (const OperandLoad &load : loads) {
      auto [first, last] = first_and_last_user(load);
      found.push_back({load.load->parent, first, last});
    }
    return found;
  }
};

// A channel passes a tile of each of its buffers at a time.
struct TileChannel {
  std::vector<Buffer> buffers;
  int64_t stages = 1;
  Value *value = nullptr;

  const std::vector<OperandLoad> &loads() const { return buffers[0].loads; }

  bool is_of_mainloop() const {
    return std::any_of(loads().begin(), loads().end(), is_in_mainloop);
  }

  // Whether a stage is ever used twice. Otherwise nobody waits until it is empty.
  bool reuses_stages() const {
    return int64_t(loads().size()) > stages ||
           std::any_of(loads().begin(), loads().end(),
                       [](const OperandLoad &load) { return is_in_loop(*load.load); });
  }
};

class Specialization {
public:
  Specialization(Function &fn, const Gpu &gpu, const Schedule &schedule)
      : fn_(fn), gpu_(gpu), schedule_(schedule) {}

  void run() {
    find_channels();
    const Op &dot = *channels_[0].loads()[0].uses[0].dot;
    const Location location = dot.location;
    is_by_warps_ = !dot.has(attr::warpgroups_);
    is_matmul_ = find_matmul_loop(fn_).found.has_value();

    DeviceOps device = take_device_ops(fn_);
    Builder builder(fn_, fn_.body);
    builder.set_location(location);
    prefetch_maps(builder, fn_);
    for (TileChannel &channel : channels_)
      make_channel(builder, channel);
    if (schedule_.consumer_groups > 1) {
      turns_ = builder.create(Opcode::channel_, {}, {Type::channel(schedule_.consumer_groups)})
                   ->result();
      turns_->name = "turns";
    }
    Op *parts = make_parts(builder);
    if (schedule_.multicast > 1)
      builder.create(Opcode::cluster_barrier_, {});
    fn_.body->ops.push_back(device.end);
    Block *consumers = parts->blocks[0], *producer = parts->blocks[1];

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
  // The number of the next tiles of each channel, as a sum.
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
  std::vector<TileChannel> channels_;
  std::map<const Op *, TileChannel *> of_load_;
  Value *turns_ = nullptr;   // a channel; null: there is one consumer group
  bool is_by_warps_ = false; // by mma, not by wgmma
  bool is_matmul_ = false;

  bool copies_by_threads() const { return schedule_.producer_warps > 0; }

  // --- Buffers and channels ---

  void find_channels() {
    const std::vector<OperandLoad> loads = operand_loads(fn_);
    const int64_t stages = fitting_stages(fn_, loads, gpu_, schedule_);
    std::vector<Buffer> buffers;
    std::map<const Value *, size_t> of_map;
    for (const OperandLoad &load : loads) {
      const bool is_new =
          copies_by_threads() || of_map.try_emplace(load.load->operand(0), buffers.size()).second;
      if (is_new)
        buffers.push_back({});
      Buffer &buffer = is_new ? buffers.back() : buffers[of_map[load.load->operand(0)]];
      buffer.loads.push_back(load);
    }
    for (Buffer &buffer : buffers) {
      auto same = std::find_if(channels_.begin(), channels_.end(), [&](const TileChannel &channel) {
        return channel.buffers[0].places() == buffer.places();
      });
      if (same == channels_.end())
        same = channels_.insert(channels_.end(), TileChannel{});
      same->buffers.push_back(std::move(buffer));
    }
    for (TileChannel &channel : channels_) {
      channel.stages = channel.is_of_mainloop() ? stages : 1;
      std::stable_sort(channel.buffers.begin(), channel.buffers.end(),
                       [](const Buffer &a, const Buffer &b) {
                         return a.loads[0].uses[0].operand < b.loads[0].uses[0].operand;
                       });
      for (const Buffer &buffer : channel.buffers)
        for (const OperandLoad &load : buffer.loads)
          of_load_[load.load] = &channel;
    }
  }

  Value *make_buffer(Builder &builder, const OperandLoad &operand, int64_t stages) {
    const Op &load = *operand.load;
    const Value *from = load.operand(0);
    const Type &tile = load.result()->type;
    const int contiguous = copies_by_threads() ? panel_axis(fn_, load, operand.uses[0])
                                               : contiguous_tile_axis(*from->op, tile.rank());
    Shape shape = tile.shape;
    shape.insert(shape.begin(), stages);
    const Type type = Type::shared(tile.elem, shape)
                          .with_layout(panel_layout(tile.shape, contiguous, bytes_of(tile.elem)));
    Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
    const Value *named = copies_by_threads() ? root_of(from) : from;
    buffer->name = named ? named->name : ""; // a selected pointer has no root
    return buffer;
  }

  void make_channel(Builder &builder, TileChannel &channel) {
    std::vector<Value *> values;
    for (Buffer &buffer : channel.buffers) {
      buffer.value = make_buffer(builder, buffer.loads[0], channel.stages);
      values.push_back(buffer.value);
    }
    channel.value =
        builder.create(Opcode::channel_, values, {Type::channel(channel.stages)})->result();
    channel.value->name = values.size() == 1 ? values[0]->name + ".tiles" : "operands";
  }

  // --- Partitions ---

  Op *make_parts(Builder &builder) {
    Op *parts = builder.create(Opcode::warp_specialize_, {});
    parts->blocks = {fn_.new_block(parts), fn_.new_block(parts)};
    const int64_t groups = schedule_.consumer_groups;
    const int64_t producer_warps = copies_by_threads() ? schedule_.producer_warps
                                   : gpu_.has_wgmma    ? warps_of_warpgroup
                                                       : 1;
    parts->set(attr::warps_, std::vector<int64_t>{fn_.warps, producer_warps});
    if (groups > 1)
      parts->set(attr::groups_, std::vector<int64_t>{groups, 1});
    if (!copies_by_threads())
      parts->set(attr::one_thread_, std::vector<int64_t>{0, 1});
    // A block must not end while another block arrives at its mbarriers.
    if (schedule_.multicast > 1)
      parts->set(attr::cluster_, schedule_.multicast);
    if (is_matmul_) {
      if (!is_by_warps_)
        set_registers(*parts, fn_.warps * int(groups), schedule_.producer_warps);
    } else {
      const ThreadRegisters registers =
          registers_beside_one_thread(fn_.warps, schedule_.blocks_per_sm, gpu_);
      parts->set(attr::registers_,
                 std::vector<int64_t>{registers.of_consumer, registers.of_producer});
    }
    return parts;
  }

  Numbers first_numbers(Builder &builder) {
    Numbers numbers;
    Value *zero = builder.i32(0);
    for (TileChannel &channel : channels_)
      numbers[&channel] = {zero};
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

  // The place of `load` among the loads of its buffer, if that is the first buffer of its channel. The
  // loads of the other buffers follow it.
  static std::optional<size_t> place_of(const Op &load, const TileChannel &channel) {
    for (size_t i = 0; i < channel.loads().size(); i++)
      if (channel.loads()[i].load == &load)
        return i;
    return std::nullopt;
  }

  // --- The producer ---

  void load_in(Builder &builder, const Block &block, Copies &copies, Numbers &numbers) {
    for (const Op *op : block.ops) {
      if (auto found = of_load_.find(op); found != of_load_.end()) {
        if (std::optional<size_t> place = place_of(*op, *found->second))
          start_loads(builder, *found->second, *place, copies, numbers);
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
    if (copies_by_threads() && channels[0]->loads()[0].load->parent == loop.blocks[0]) {
      TileChannel &channel = *channels[0]; // the only one: see Limits
      std::vector<CopiedOperand> operands;
      for (const Buffer &buffer : channel.buffers)
        operands.push_back({&buffer.loads[0], buffer.value});
      numbers[&channel] = {copy_by_threads(builder, fn_, loop, operands, channel.value,
                                           numbers[&channel].value(builder),
                                           schedule_.producer_warps, copies)};
      return;
    }
    std::vector<Value *> carried;
    for (TileChannel *channel : channels)
      carried.push_back(numbers[channel].value(builder));
    Value *iterations = clone_computation(builder, loop.operand(0), fn_.body, copies);
    Op *mine = builder.for_loop(iterations, carried);
    Block &body = *mine->blocks[0];
    body.arguments[0]->name = loop.blocks[0]->arguments[0]->name;
    Copies inner = copies;
    inner[loop.blocks[0]->arguments[0]] = body.arguments[0];
    for (size_t i = 0; i < channels.size(); i++) {
      numbers[channels[i]] = {body.arguments[1 + i]};
      body.arguments[1 + i]->name = "step";
    }
    Builder inside(fn_, &body);
    inside.set_location(loop.location);
    load_in(inside, *loop.blocks[0], inner, numbers);
    for (size_t i = 0; i < channels.size(); i++) {
      carried[i] = numbers[channels[i]].value(inside);
      numbers[channels[i]] = {mine->results[i]};
    }
    inside.yield(carried);
  }

  // Starts the loads of the channel's next tiles by TMA.
  void start_loads(Builder &builder, TileChannel &channel, size_t place, Copies &copies,
                   Numbers &numbers) {
    Number &number = numbers[&channel];
    builder.set_location(channel.loads()[place].load->location);
    Value *stage = builder.channel_op(Opcode::put_, channel.value, number.base, number.offset);
    for (const Buffer &buffer : channel.buffers) {
      const Op &load = *buffer.loads[place].load;
      builder.set_location(load.location);
      std::vector<Value *> operands = {load.operand(0), buffer.value, stage, channel.value, stage};
      for (size_t d = 1; d < load.operands.size(); d++)
        operands.push_back(clone_computation(builder, load.operand(d), fn_.body, copies));
      Op *copy = builder.create(Opcode::tma_load_async_, operands);
      keep_cache_hint(*copy, load);
      copy->copy(attr::multicast_, load);
      copy->copy(attr::predicated_, load);
    }
    builder.channel_op(Opcode::put_done_, channel.value, number.base, number.offset);
    number.offset++;
  }

  // --- The consumers ---

  void compute_in(Block &block, Numbers &numbers) {
    for (Op *op : std::vector<Op *>(block.ops)) {
      if (auto found = of_load_.find(op); found != of_load_.end()) {
        if (std::optional<size_t> place = place_of(*op, *found->second))
          read(*found->second, *place, numbers);
      } else if (op->is(Opcode::for_loop_)) {
        const std::vector<TileChannel *> channels = channels_in(*op);
        if (channels.empty())
          continue;
        if (turns_ && !block.parent->is(Opcode::for_loop_))
          compute_in_turns(op);
        else
          compute_in_loop(op, channels, numbers);
      }
    }
  }

  void compute_in_loop(Op *loop, const std::vector<TileChannel *> &channels, Numbers &numbers) {
    Builder before = Builder::before(fn_, loop);
    before.set_location(loop->location);
    for (TileChannel *channel : channels) {
      numbers[channel] = {add_carried(fn_, *loop, numbers[channel].value(before))};
      numbers[channel].base->name = "step";
    }
    Block &body = *loop->blocks[0];
    compute_in(body, numbers);
    Builder end = Builder::before(fn_, body.terminator());
    end.set_location(loop->location);
    const size_t first = loop->results.size() - channels.size();
    for (size_t i = 0; i < channels.size(); i++) {
      body.terminator()->operands.push_back(numbers[channels[i]].value(end));
      numbers[channels[i]] = {loop->results[first + i]};
    }
  }

  // The consumer groups share the iterations of `rounds`, the loop around the mainloop.
  void compute_in_turns(Op *rounds) {
    Block &body = *rounds->blocks[0];
    Builder outside = Builder::before(fn_, rounds);
    outside.set_location(rounds->location);
    Value *consumer_group =
        outside.create(Opcode::consumer_group_id_, {}, {Type::scalar(Elem::i32)})->result();
    consumer_group->name = "consumer_group";
    Value *consumer_groups = outside.i32(schedule_.consumer_groups);
    Value *behind_first = outside.sub(outside.i32(schedule_.consumer_groups - 1), consumer_group);
    rounds->operands[0] = outside.binary(
        Opcode::udiv_, outside.add(rounds->operand(0), behind_first), consumer_groups);

    Builder inside = Builder::before(fn_, body.ops.front());
    inside.set_location(rounds->location);
    Value *round = fn_.new_value(body.arguments[0]->type); // placeholder in all uses
    replace_uses(body, body.arguments[0], round);
    Value *mine = inside.add(inside.mul(body.arguments[0], consumer_groups), consumer_group);
    mine->name = "wave";
    replace_uses(body, round, mine);

    Op *mainloop = *std::find_if(body.ops.begin(), body.ops.end(), [&](const Op *op) {
      return op->is(Opcode::for_loop_) && !channels_in(*op).empty();
    });
    Builder before = Builder::before(fn_, mainloop);
    before.set_location(mainloop->location);
    before.channel_op(Opcode::get_, turns_, mine, -1);
    Numbers numbers;
    const std::vector<TileChannel *> channels = channels_in(*mainloop);
    for (TileChannel *channel : channels) {
      Value *loads = before.mul(mine, mainloop->operand(0));
      if (const int64_t each = int64_t(channel->loads().size()); each > 1)
        loads = before.mul(loads, before.i32(each));
      numbers[channel] = {loads};
    }
    compute_in_loop(mainloop, channels, numbers);
    Builder after = Builder::after(fn_, mainloop);
    after.set_location(mainloop->location);
    after.channel_op(Opcode::put_done_, turns_, mine);
  }

  // Replaces loads by reads of the channel's next tiles.
  void read(TileChannel &channel, size_t place, Numbers &numbers) {
    const Number number = numbers[&channel];
    numbers[&channel].offset++;
    const Location location = channel.loads()[place].load->location;
    const auto [first, last] = first_and_last_user(channel.loads()[place]);
    Builder before = Builder::before(fn_, first);
    before.set_location(location);
    Value *stage = before.channel_op(Opcode::get_, channel.value, number.base, number.offset);
    for (const Buffer &buffer : channel.buffers)
      for (const OperandUse &use : buffer.loads[place].uses)
        read_operand(use, buffer, stage, buffer.loads[place].load->location);
    if (channel.reuses_stages()) {
      Builder after = Builder::after(fn_, last);
      after.set_location(location);
      after.channel_op(Opcode::get_done_, channel.value, number.base, number.offset);
    }
    for (const Buffer &buffer : channel.buffers)
      erase_unused(*buffer.loads[place].load);
  }

  void read_operand(const OperandUse &use, const Buffer &buffer, Value *stage, Location location) {
    Builder builder = Builder::before(fn_, use.dot);
    builder.set_location(location);
    Op *tile = builder.create(Opcode::shared_load_, {buffer.value, stage},
                              {use.dot->operand(use.operand)->type});
    tile->set(attr::perm_, use.perm);
    tile->set(attr::origin_, std::vector<int64_t>(2, 0));
    if (is_by_warps_)
      tile->set(attr::strided_access_);
    use.dot->operands[use.operand] = tile->result();
  }

  // Erases the load, after its transposes.
  void erase_unused(Op &op) {
    for (Op *user : users_of(*fn_.body, op.result()))
      erase_unused(*user);
    erase(&op);
  }
};

} // namespace

void specialize_warps(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (schedule.is_warp_specialized() && partitions_of(fn).empty() && !operand_loads(fn).empty())
    Specialization(fn, gpu, schedule).run();
}

} // namespace tritonc
