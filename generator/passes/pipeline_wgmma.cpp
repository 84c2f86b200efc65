// pipeline_wgmma: leaves the dots of a loop in flight until those of the next iteration have started.
//
//     for_loop %n, %zero, %start {              for_loop %n, %zero, %start {
//       (%t, %acc, %s)                            (%t, %acc, %s)
//       %i = get %AB, %s                          %i = get %AB, %s
//       %a = shared_load %as, %i                  %p = wgmma_ss %as, %i, %bs, %i, %acc
//       %b = shared_load %bs, %i           =>     %d = wgmma_wait %p {pending = 1}
//       %d = dot %a, %b, %acc                     if %t > 0: get_done %AB, %s {offset = -1}
//       get_done %AB, %s                          yield %d, %s + 1
//       yield %d, %s + 1                        }
//     }                                         %e = wgmma_wait %d {pending = 0}
//
// The tensor cores have the next matmul queued while one is in flight. They never wait for a thread.
//
// Method:  All dots of the loop only add to accumulators that the loop carries. wgmma_wait waits until
//          those of the iteration before are done. Then its stages are released. Those of the last
//          iteration are released after the loop, if more tiles follow.
//
//          Accumulators that start from zero are not set to zero if the loop runs at least once: the
//          first wgmma ignores them. After set_k_tile, a loop without iterations has an empty tensor
//          map, for which the host does not launch this kernel. Producer warps without TMA need no
//          tensor map.
//
//          A from registers. wgmma reads an operand from shared memory if it is contiguous along K,
//          or if its elements have 16 bits. Any other A is loaded into registers, one slice of K at a
//          time:
//
//              %f = shared_load %as, %i {origin = [0,8], perm = [1,0]}
//              %p = wgmma_rs %f, %bs, %i, %acc {origin = [8,0], rows = [2,16,4,1,8,32]}
//              %d = wgmma_wait %p {pending = 3}
//
//          A few slices are in flight while the next one is loaded, into the registers of the slice
//          that the wait has completed. Any rows of the accumulator may form an instruction. {rows}
//          chooses them so that the loads have no bank conflicts.
//
//          Outside of a partition. The warps that multiply copy, too, while the matmul is in flight:
//
//              async_wait {pending = 2}                  async_wait {pending = 2}
//              async_copy ..., %sa, stage t+3            proxy_fence
//              async_copy ..., %sb, stage t+3            %p = wgmma_ss %sa, stage t, %sb, stage t, %acc
//              async_commit                              async_copy ..., %sa, stage t+3
//              %a = shared_load %sa, stage t      =>     async_copy ..., %sb, stage t+3
//              %b = shared_load %sb, stage t             async_commit
//              %d = dot %a, %b, %acc                     %d = wgmma_wait %p {pending = 1}
//              yield %d                                  yield %d
//
//          wgmma_wait {pending = 1} waits until the matmul before it has read its stage. The copies of
//          the next iteration may overwrite that stage. So the circular buffer has one more stage
//          (pipeline_loops), and one barrier per iteration is enough. It stands between the matmul and
//          the fence, which makes the copies of threads visible to the tensor cores.
//
//          The loop runs at least one iteration: where there is nothing to copy, the stage is zero.
// Needs:   specialize_warps; elsewhere stage_operands and pipeline_loops.
// Ensures: no dot of such a loop is left.
// Limits:  in a partition, the channels must have stages for two iterations. Elsewhere the loop has one
//          dot, and its operands are contiguous along K, or have 16-bit elements.
//
// Tested by tests/unit/passes/pipeline_wgmma/ and pipeline_wgmma_test.cpp.

#include "passes/pipeline_wgmma.h"

#include "analysis/layouts.h"
#include "analysis/matmul_loop.h"
#include "ir/builder.h"
#include "passes/wgmma.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Bytes along K of one wgmma. Four slices in flight hide the latency of loading a slice.
constexpr int64_t bytes_of_slice = 32, max_slices_under_way = 4;

// A loop whose only dot accumulates, from operands that are copied ahead. While its matmul is in
// flight, copies fill other stages.
struct Mainloop {
  Op *loop, *wait;
  std::vector<Op *> copies; // in order, with the commit
  size_t carried;           // index of the accumulator
};

// Whether the copy leaves the stage of the previous iteration as it is.
bool leaves_previous_stage(const Op &copy) {
  const Op *stage = copy.operand(2)->op;
  return stage && stage->is(Opcode::stage_index_) &&
         stage->get(attr::stages_) - stage->get(attr::offset_) >= 2;
}

std::optional<Mainloop> mainloop_of(Function &fn, const Op &dot) {
  const std::optional<size_t> carried = carried_accumulator(fn, dot);
  if (!carried)
    return std::nullopt;
  Block &body = *dot.parent;
  Mainloop mainloop{body.parent, nullptr, {}, *carried};
  std::set<const Value *> copied;
  for (Op *op : body.ops) {
    if (op->is(Opcode::async_copy_) || op->is(Opcode::async_commit_))
      mainloop.copies.push_back(op);
    if (op->is(Opcode::async_copy_) && leaves_previous_stage(*op))
      copied.insert(op->operand(1));
    if (op->is(Opcode::async_wait_))
      mainloop.wait = op;
    if (!op->blocks.empty() || (op->is(Opcode::dot_) && op != &dot))
      return std::nullopt;
  }
  for (size_t i : {0, 1})
    if (const Op *load = shared_load_of(dot.operand(i)); !load || !copied.count(load->operand(0)))
      return std::nullopt;
  return mainloop.wait ? std::optional(mainloop) : std::nullopt;
}

// Waits for the last matmul of a loop, whose result is `unfinished`.
void wait_after_loop(Function &fn, Builder &builder, const Op &dot, Value *unfinished) {
  Value *users_value = fn.new_value(unfinished->type); // a temporary for the users
  replace_uses(*unfinished->op->parent, unfinished, users_value);
  Value *finished = wait_for_wgmma(builder, dot, unfinished, 0);
  finished->name = unfinished->name;
  replace_uses(*unfinished->op->parent, users_value, finished);
}

// Leaves the matmul in flight until that of the next iteration has started.
void leave_in_flight(Function &fn, Op *dot, const Mainloop &mainloop) {
  Op *loop = mainloop.loop;
  // If the loop could be skipped, the accumulator could come from elsewhere than wgmma. Then ptxas
  // makes every wgmma wait for the one before (C7515). So the loop always runs an iteration: copies
  // out of range write zeros, so their matmul adds zero.
  Builder before = Builder::before(fn, loop);
  before.set_location(loop->location);
  loop->operands[0] = before.binary(Opcode::max_, loop->operand(0), before.i32(1));
  Builder fence = Builder::after(fn, mainloop.wait);
  fence.set_location(dot->location);
  fence.create(Opcode::proxy_fence_, {});
  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  Op *matmul = start_wgmma(builder, *dot, dot->operand(2));
  for (auto copy = mainloop.copies.rbegin(); copy != mainloop.copies.rend(); copy++)
    move_after(*copy, matmul);
  Builder after = Builder::before(fn, dot);
  after.set_location(dot->location);
  Value *accumulator = wait_for_wgmma(after, *dot, matmul->result(), 1);
  accumulator->name = dot->result()->name;
  dot->parent->terminator()->operands[mainloop.carried] = accumulator;

  Builder end = Builder::after(fn, loop);
  end.set_location(dot->location);
  wait_after_loop(fn, end, *dot, loop->results[mainloop.carried]);
  erase(dot);
}

// A loop in a partition whose dots all add to accumulators that the loop carries.
class Accumulation {
public:
  // `runs`: the loop runs at least once.
  Accumulation(Function &fn, Op *loop, bool runs)
      : fn_(fn), loop_(loop), body_(*loop->blocks[0]), runs_(runs) {}

  // Whether the dots may stay in flight until those of the next iteration have started.
  bool is_possible() {
    bool all = partition_of(*loop_).has_value();
    for_each_op(body_, [&](Op &op) {
      if (!op.is(Opcode::dot_))
        return;
      const std::optional<size_t> carried = carried_accumulator(fn_, op);
      all &= op.parent == &body_ && is_by_wgmma(op) && carried &&
             is_in_spare_stage(op.operand(0)) && is_in_spare_stage(op.operand(1));
      dots_.push_back({&op, carried.value_or(0)});
    });
    return all && !dots_.empty();
  }

  void run() {
    Builder builder = Builder::before(fn_, dots_[0].op);
    builder.set_location(location());
    Value *is_later = builder.cmp("gt", body_.arguments[0], builder.i32(0));
    for (Dot &dot : dots_)
      dot.started = start_in_loop(dot, is_later);
    Builder end = Builder::after(fn_, dots_.back().op);
    end.set_location(location());
    for (Dot &dot : dots_) {
      // After slices, their last wait is enough.
      Value *result = dot.started->op->is(Opcode::wgmma_wait_)
                          ? dot.started
                          : wait_for_wgmma(end, *dot.op, dot.started, int64_t(dots_.size()));
      result->name = dot.op->result()->name;
      replace_uses(*fn_.body, dot.op->result(), result);
    }
    std::vector<Op *> releases;
    for (Op *op : body_.ops)
      if (op->is(Opcode::get_done_))
        releases.push_back(op);
    release_before(end, is_later, releases, [](const Op &op) { return op.operand(1); });
    finish(releases);
    for (Op *op : releases)
      erase(op);
    for (const Dot &dot : dots_)
      erase(dot.op);
  }

private:
  struct Dot {
    Op *op;
    size_t carried; // index of the accumulator among the carried values
    Value *started = nullptr;
  };

  Function &fn_;
  Op *loop_;
  Block &body_;
  bool runs_;
  std::vector<Dot> dots_;

  Location location() const { return dots_[0].op->location; }

  // How many numbers of `channel` an iteration gets.
  int64_t gets_of(const Value *channel) const {
    return std::count_if(body_.ops.begin(), body_.ops.end(), [&](const Op *op) {
      return op->is(Opcode::get_) && op->operand(0) == channel;
    });
  }

  // Whether the operand is in a stage of a channel that the next iteration does not need.
  bool is_in_spare_stage(const Value *operand) const {
    const Op *load = shared_load_of(operand);
    const Op *get = load ? load->operand(1)->op : nullptr;
    if (!get || !get->is(Opcode::get_))
      return false;
    if (get->parent != &body_)
      return true;
    const Value *channel = get->operand(0), *number = get->operand(1);
    if (channel->type.shape[0] < 2 * gets_of(channel) || number->block != &body_ ||
        number->index == 0)
      return false;
    // From one iteration to the next, the number grows by the gets of an iteration.
    const Value *next = body_.terminator()->operand(size_t(number->index) - 1);
    return next->op && next->op->is(Opcode::add_) && next->op->operand(0) == number &&
           constant_of(next->op->operand(1)) == gets_of(channel);
  }

  // Starts the matmul of `dot`. Returns the accumulator.
  Value *start_in_loop(const Dot &dot, Value *is_later) {
    Value *&first = loop_->operands[1 + dot.carried], *adds = nullptr;
    if (runs_ && is_zero(first)) {
      adds = is_later;
      first = Builder::before(fn_, loop_).create(Opcode::undef_, {}, {first->type})->result();
    }
    Builder builder = Builder::before(fn_, dot.op);
    builder.set_location(dot.op->location);
    const std::vector<int64_t> rows = rows_in_registers(*shared_load_of(dot.op->operand(0)));
    if (rows.empty())
      return start_wgmma(builder, *dot.op, dot.op->operand(2), adds)->result();
    dot.op->set(attr::rows_, rows);
    return start_slices(builder, *dot.op, adds);
  }

  // {rows} if wgmma cannot read A from shared memory; else empty.
  static std::vector<int64_t> rows_in_registers(const Op &left) {
    const Type &buffer = left.operand(0)->type;
    const std::vector<int64_t> perm = left.get(attr::perm_);
    const int bytes = bytes_of(buffer.elem);
    if (bytes == 2 || has_neighbors(buffer, int(perm[1])))
      return {};
    return rows_without_conflicts(*buffer.layout, int(perm[0]), bytes);
  }

  // The same with A from registers. Returns the accumulator after the last wait.
  static Value *start_slices(Builder &builder, const Op &dot, Value *adds) {
    const Op &left = *shared_load_of(dot.operand(0)), &right = *shared_load_of(dot.operand(1));
    Type slice = dot.operand(0)->type;
    const int64_t depth = slice.shape[1];
    slice.shape[1] = bytes_of_slice / bytes_of(slice.elem);
    const int64_t under_way = std::min(depth / slice.shape[1], max_slices_under_way);
    Value *accumulator = dot.operand(2);
    for (int64_t k = 0; k < depth; k += slice.shape[1]) {
      Op *fragment = builder.create(Opcode::shared_load_, left.operands, {slice});
      fragment->copy(attr::perm_, left);
      fragment->set(attr::origin_, std::vector<int64_t>{0, k});
      std::vector<Value *> operands = {fragment->result(), right.operand(0), right.operand(1),
                                       accumulator};
      if (adds && k == 0)
        operands.push_back(adds);
      Op *matmul = builder.create(Opcode::wgmma_rs_, operands, {accumulator->type});
      copy_properties(*matmul, dot);
      matmul->copy(attr::perm_, right);
      matmul->set(attr::origin_, std::vector<int64_t>{k, 0});
      accumulator = wait_for_wgmma(builder, dot, matmul->result(), under_way - 1);
    }
    return accumulator;
  }

  // Releases the stages of the iteration before, if it `exists`. There is one branch, after all
  // dots: ptxas cannot tell matmuls in flight apart if there is a branch between them (C7513).
  template <typename Number>
  void release_before(Builder &builder, Value *exists, const std::vector<Op *> &releases,
                      Number number_of) {
    if (releases.empty())
      return;
    Op *branch = builder.if_else(exists, {});
    Builder inside(fn_, branch->blocks[0]);
    inside.set_location(location());
    for (const Op *release : releases) {
      Value *channel = release->operand(0);
      inside.channel_op(Opcode::get_done_, channel, number_of(*release),
                        release->get(attr::offset_) - gets_of(channel));
    }
    inside.yield({});
    Builder(fn_, branch->blocks[1]).yield({});
  }

  // Waits after the loop. Releases the stages of the last iteration if more tiles follow.
  void finish(std::vector<Op *> releases) {
    const std::vector<Op *> &ops = loop_->parent->ops;
    size_t place = loop_->parent->position_of(loop_) + 1;
    while (ops[place]->is(Opcode::put_done_)) // with ping-pong, the turn of the other group
      place++;
    Builder builder = Builder::before(fn_, ops[place]);
    builder.set_location(location());
    for (const Dot &dot : dots_)
      wait_after_loop(fn_, builder, *dot.op, loop_->results[dot.carried]);
    std::erase_if(releases, [&](const Op *release) { return !is_used_later(release->operand(0)); });
    if (releases.empty())
      return;
    Value *runs = builder.cmp("gt", loop_->operand(0), builder.i32(0));
    release_before(builder, runs, releases, [&](const Op &release) {
      return loop_->results[size_t(release.operand(1)->index) - 1];
    });
  }

  // Whether a number of the channel may follow those of the loop.
  bool is_used_later(const Value *channel) const {
    for (const Op *outer = loop_->parent->parent; outer; outer = outer->parent->parent)
      if (outer->is(Opcode::for_loop_))
        return true;
    const std::vector<Op *> users = users_of(*fn_.body, channel);
    return std::any_of(users.begin(), users.end(), [&](const Op *user) {
      return user->is(Opcode::get_) && user->parent != &body_;
    });
  }
};

} // namespace

void pipeline_wgmma(Function &fn, const Schedule &schedule) {
  std::vector<Op *> loops, dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  const bool runs = schedule.k_tile && !schedule.producer_warps;
  for (Op *loop : loops)
    if (Accumulation accumulation(fn, loop, runs); accumulation.is_possible())
      accumulation.run();
  for_each_op(*fn.body, [&](Op &op) {
    if (is_by_wgmma(op) && shared_load_of(op.operand(1)))
      dots.push_back(&op);
  });
  for (Op *dot : dots)
    if (std::optional<Mainloop> mainloop = mainloop_of(fn, *dot))
      leave_in_flight(fn, dot, *mainloop);
}

} // namespace tritonc
