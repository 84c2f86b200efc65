// lower_channels: lowers the channels between partitions to mbarriers.
//
//     %ab = channel %as, %bs : channel[4]       %full = mbarriers {arrivals = 1} : shared<i64>[4,1]
//                                               %empty = mbarriers {arrivals = 8} : shared<i64>[4,1]
//     the producer:
//     %i = put %ab, %s                          %i = stage of %s
//                                               mbarrier_wait %empty, %i, other phase of %s
//                                          =>   mbarrier_arrive %full, %i {bytes}
//     tma_load_async %m, %as, %i, %ab, %i       tma_load_async %m, %as, %i, %full, %i
//     put_done %ab, %s
//     the consumer:
//     %j = get %ab, %t                          %j = stage of %t
//                                               mbarrier_wait %full, %j, phase of %t
//     get_done %ab, %t                          mbarrier_arrive %empty, %j
//
// The passes before it say who waits for whom. How many warps arrive, and how, follows from what
// fills a stage and what reads it, so only this pass has to know.
//
// Method:  Number n uses stage n mod s of s stages, in phase (n / s) mod 2. A put waits for the phase
//          before that. On mbarriers that were never used, that phase counts as completed. So does
//          that of a negative number, which is full.
//
//          A stage is full after the bytes of all TMA copies, or when each warp of the producer has
//          arrived, once all of its threads have written ({per_warp}). Before that, a fence makes
//          what they have written visible to TMA and to the tensor cores.
//
//          A stage is empty when each warp of the consumer has arrived. Where threads read the
//          stage, a warp arrives only once all of its threads have read ({per_warp}); wgmma reads
//          for the whole warp. With multicast, each block of the cluster writes to the stages of all,
//          so the warps of all blocks arrive, each in all blocks.
//
//          A channel without get_done needs no mbarrier for empty stages, and its puts do not wait.
//
//          The mbarriers of a channel in a consumer group are initialized before the partitions
//          start, for all groups at once.
//
//          Stages that threads read by mma: LLVM turns a remainder into products of counters, and
//          keeps one of them for each address. So it must not hoist an index modulo a number that
//          is no power of two.
// Needs:   the partitions as in channels.h.
// Ensures: no channel is left.
// Limits:  nothing happens without a channel.
//
// Tested by tests/unit/passes/lower_channels/.

#include "passes/lower_channels.h"

#include "ir/builder.h"

#include <algorithm>
#include <bit>

namespace tritonc {

using namespace ir;

namespace {

struct Lowered {
  Function &fn;
  Op *channel;
  int64_t stages = channel->result()->type.shape[0];
  std::vector<Op *> uses = users_of(*fn.body, channel->result());
  std::optional<Partition> partition = partition_of(*channel); // nullopt: not in one
  Value *full = nullptr, *empty = nullptr;                     // mbarriers
  int64_t tma_bytes = 0; // of a stage; 0: TMA does not fill it
  int64_t multicast = 1;
  bool threads_read = false, wgmma_reads = false;

  // --- What fills a stage and what reads it. ---

  void look_at_uses() {
    for (const Op *use : uses)
      if (use->is(Opcode::tma_load_async_))
        multicast = std::max(multicast, use->get(attr::multicast_, 1));
    for (Value *buffer : channel->operands) {
      if (first(Opcode::tma_load_async_))
        tma_bytes += buffer->type.elements() / stages * bytes_of(buffer->type.elem);
      for (const Op *reader : users_of(*fn.body, buffer)) {
        threads_read |= reader->is(Opcode::shared_load_);
        wgmma_reads |= reader->is(Opcode::wgmma_ss_) || reader->is(Opcode::wgmma_rs_);
      }
    }
  }

  const Op *first(Opcode code) const {
    auto found =
        std::find_if(uses.begin(), uses.end(), [&](const Op *use) { return use->is(code); });
    return found == uses.end() ? nullptr : *found;
  }

  // --- Mbarriers. ---

  Value *make(Builder &builder, const char *name, int64_t arrivals) {
    const int64_t many = stages * (partition ? partition->groups : 1);
    Op *op = builder.create(Opcode::mbarriers_, {}, {Type::shared(Elem::i64, {many, 1})});
    op->set(attr::arrivals_, arrivals);
    op->result()->name = channel->result()->name + "." + name;
    return op->result();
  }

  void make_mbarriers() {
    Builder builder = Builder::before(fn, partition ? partition->block->parent : channel);
    builder.set_location(channel->location);
    full =
        make(builder, "full", tma_bytes ? 1 : partition_of(*first(Opcode::put_done_))->arrivals());
    if (const Op *done = first(Opcode::get_done_))
      empty = make(builder, "empty", partition_of(*done)->arrivals() * multicast);
  }

  // The mbarrier of a stage. Each group has its own.
  Value *mbarrier(Builder &builder, Value *stage) const {
    if (!partition || partition->groups == 1)
      return stage;
    Value *group =
        builder.create(Opcode::consumer_group_id_, {}, {Type::scalar(Elem::i32)})->result();
    return builder.add(builder.mul(group, builder.i32(stages)), stage);
  }

  // --- Stages. ---

  bool is_multiple(const Value &number) const {
    auto is_constant = [&](const Value *factor) {
      std::optional<int64_t> constant = constant_of(factor);
      return constant && *constant % stages == 0;
    };
    return is_constant(&number) ||
           (number.op && number.op->is(Opcode::mul_) &&
            (is_constant(number.op->operand(0)) || is_constant(number.op->operand(1))));
  }

  Value *of_number(Builder &builder, Opcode code, const Op &use) const {
    Op *op = builder.create(code, {use.operand(1)}, {Type::scalar(Elem::i32)});
    const int64_t offset = use.get(attr::offset_);
    op->set(attr::offset_, use.is(Opcode::get_) && offset < 0 ? offset + stages : offset);
    op->set(attr::stages_, stages);
    return op->result();
  }

  // Numbers that are a constant behind a multiple of the stages have always the same stage. Passes
  // that compare stages need to see that.
  Value *stage_of(Builder &builder, const Op &use) const {
    if (is_multiple(*use.operand(1)))
      return builder.i32(((use.get(attr::offset_) % stages) + stages) % stages);
    return of_number(builder, Opcode::stage_index_, use);
  }

  Value *phase_of(Builder &builder, const Op &use, bool is_before) const {
    Value *phase = of_number(builder, Opcode::stage_phase_, use);
    return is_before ? builder.binary(Opcode::xor_, phase, builder.i32(1)) : phase;
  }

  // --- The operations. ---

  void lower_put(Op &put) const {
    Builder builder = Builder::before(fn, &put);
    builder.set_location(put.location);
    Value *stage = stage_of(builder, put), *at = mbarrier(builder, stage);
    if (empty)
      builder.create(Opcode::mbarrier_wait_, {empty, at, phase_of(builder, put, true)});
    if (tma_bytes)
      builder.create(Opcode::mbarrier_arrive_, {full, at})->set(attr::bytes_, tma_bytes);
    for (Op *copy : uses)
      if (copy->is(Opcode::tma_load_async_) && copy->operand(2) == put.result()) {
        copy->operands[3] = full;
        copy->operands[4] = at;
      }
    replace_uses(*put.parent, put.result(), stage);
  }

  void lower_put_done(Op &done) const {
    if (tma_bytes)
      return;
    Builder builder = Builder::before(fn, &done);
    builder.set_location(done.location);
    if (!channel->operands.empty())
      builder.create(Opcode::proxy_fence_, {});
    Op *arrive = builder.create(Opcode::mbarrier_arrive_,
                                {full, mbarrier(builder, stage_of(builder, done))});
    if (!channel->operands.empty())
      arrive->set(attr::per_warp_);
  }

  void lower_get(Op &get) const {
    Builder builder = Builder::before(fn, &get);
    builder.set_location(get.location);
    Value *stage = stage_of(builder, get);
    Value *phase = phase_of(builder, get, get.get(attr::offset_) < 0);
    builder.create(Opcode::mbarrier_wait_, {full, mbarrier(builder, stage), phase});
    if (threads_read && !wgmma_reads && !std::has_single_bit(uint64_t(stages)))
      stage = builder.no_hoist(stage);
    replace_uses(*get.parent, get.result(), stage);
  }

  void lower_get_done(Op &done) const {
    Builder builder = Builder::before(fn, &done);
    builder.set_location(done.location);
    Op *arrive = builder.create(Opcode::mbarrier_arrive_,
                                {empty, mbarrier(builder, stage_of(builder, done))});
    if (threads_read)
      arrive->set(attr::per_warp_);
    if (multicast > 1)
      arrive->set(attr::cluster_, multicast);
  }

  void run() {
    look_at_uses();
    make_mbarriers();
    for (Op *use : uses) {
      if (use->is(Opcode::put_))
        lower_put(*use);
      else if (use->is(Opcode::put_done_))
        lower_put_done(*use);
      else if (use->is(Opcode::get_))
        lower_get(*use);
      else if (use->is(Opcode::get_done_))
        lower_get_done(*use);
    }
    for (Op *use : uses)
      if (!use->is(Opcode::tma_load_async_))
        erase(use);
    erase(channel);
  }
};

} // namespace

void lower_channels(Function &fn) {
  std::vector<Op *> channels;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::channel_))
      channels.push_back(&op);
  });
  for (Op *channel : channels)
    Lowered{fn, channel}.run();
}

} // namespace tritonc
