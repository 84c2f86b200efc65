// allocate_shared: assigns an address in shared memory to every buffer.
//
//     %s = shared_alloc : shared<f16>[3,128,64]   =>   %s = shared_alloc {address = 16384} : ...
//
//     in a consumer group:
//     %s = shared_alloc : shared<f16>[1,128,64]   =>   %s = shared_alloc {address = 98304,
//                                                            consumer_group_bytes = 16384} : ...
//
// Shared memory limits the pipeline stages and the blocks per SM. So buffers that are not live at
// the same time may overlap: the buffers of the epilogue take the place of the mainloop's circular
// buffer.
//
// Method:  First fit, in the order in which buffers become live. That is not optimal, but kernels
//          have few buffers, and nearly all of them are live in the same loop or one after another.
//
//          Other blocks of the cluster write to the buffers and mbarriers of a cluster_send
//          whenever they are ready. So these share their place with nothing.
//
//          A buffer is live from its first to its last access, in program order. An access in a
//          loop that does not contain the shared_alloc lasts for the whole loop, since the next
//          iteration may read what this one wrote.
//
//          A circular buffer that TMA fills and wgmma reads is live until the last wgmma that reads
//          it. Each copy has a matmul that waits for it, so no copy is in flight after that.
//
//          Each consumer group has separate buffers in its part of a warp_specialize. They are
//          contiguous, after all buffers of the block; those of the next consumer group follow.
//          A buffer with a number of stages that the launch chooses comes last, above all others.
//          It has as many stages as the other buffers leave room for.
// Needs:   all accesses to shared memory exist.
// Ensures: every shared_alloc and mbarriers has {address}: a multiple of 1024 bytes for tiles
//          (their swizzled rows start at bank 0, and TMA requires it), or of the next power of two
//          for smaller buffers that only threads access; of 8 bytes for mbarriers.
//          Buffers of consumer groups have {consumer_group_bytes}. fn.shared_bytes is the end of
//          the last buffer.
// Limits:  does not check that the GPU has fn.shared_bytes: the caller of run_pipeline does.
//
// Tested by tests/unit/passes/allocate_shared/ and allocate_shared_test.cpp.

#include "passes/allocate_shared.h"

#include <algorithm>
#include <bit>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t tile_alignment = 1024, vector_alignment = 16, mbarrier_alignment = 8;

int64_t rounded_up(int64_t address, int64_t alignment = tile_alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

struct Buffer {
  Op *alloc;
  int64_t bytes, alignment;
  bool is_of_consumer_group = false;
  const Block *partition = nullptr; // null: of the whole block
  int begin = 0, end = 0;           // live range, in operation numbers, inclusive
  int64_t address = 0;

  // Partitions run at the same time.
  bool live_with(const Buffer &other) const {
    return (partition && other.partition && partition != other.partition) ||
           (begin <= other.end && other.begin <= end);
  }
};

struct State {
  Function &fn;
  Users users;
  std::map<const Op *, std::pair<int, int>> extents; // first and last number in the operation
  std::vector<Buffer> buffers;
  std::optional<Buffer> variable = {};
  int next = 0;

  void number(Block &block) {
    for (Op *op : block.ops) {
      int begin = next++;
      for (Block *inner : op->blocks)
        number(*inner);
      extents[op] = {begin, next - 1};
    }
  }

  // Whether each consumer group has its own copy of the buffer.
  bool is_of_consumer_group(const Op &alloc) const {
    const std::optional<Partition> partition = partition_of(alloc);
    return partition && partition->groups > 1;
  }

  // The operation in `block` that contains `user`: an access in a loop counts as the whole loop.
  static const Op *ancestor_in(const Block *block, const Op *user) {
    while (user->parent != block)
      user = user->parent->parent;
    return user;
  }

  void collect() {
    for_each_op(*fn.body, [&](Op &op) {
      if (info(op.code).effect != Effect::shared_alloc)
        return;
      const Type &type = op.result()->type;
      const int64_t bytes = type.elements() * bytes_of(type.elem);
      Buffer buffer{&op, bytes, alignment_of(op, bytes), is_of_consumer_group(op)};
      if (const std::optional<Partition> partition = partition_of(op))
        buffer.partition = partition->block;
      bool used = false;
      for (const Op *user : users.of(op.result())) {
        auto [begin, end] = extents[ancestor_in(op.parent, user)];
        buffer.begin = used ? std::min(buffer.begin, begin) : begin;
        buffer.end = used ? std::max(buffer.end, end) : end;
        used = true;
      }
      if (is_written_by_others(op.result())) {
        buffer.begin = 0;
        buffer.end = next;
      }
      if (std::optional<int> last = last_wgmma(op.result()))
        buffer.end = *last;
      if (op.has_variable_stages()) {
        variable = buffer;
        return;
      }
      buffers.push_back(buffer);
    });
    std::stable_sort(buffers.begin(), buffers.end(), [](const Buffer &a, const Buffer &b) {
      return std::pair(a.is_of_consumer_group, a.begin) <
             std::pair(b.is_of_consumer_group, b.begin);
    });
  }

  // Whether only threads access `buffer`: neither TMA nor wgmma.
  bool is_of_threads(const Value *buffer) const {
    const std::vector<Op *> &all = users.of(buffer);
    return std::all_of(all.begin(), all.end(), [](const Op *user) {
      return user->is(Opcode::shared_load_) || user->is(Opcode::shared_store_) ||
             user->is(Opcode::cluster_send_) || user->is(Opcode::cluster_receive_);
    });
  }

  // A buffer is swizzled within its size.
  int64_t alignment_of(const Op &alloc, int64_t bytes) const {
    if (alloc.is(Opcode::mbarriers_))
      return mbarrier_alignment;
    if (!is_of_threads(alloc.result()))
      return tile_alignment;
    return std::clamp(int64_t(std::bit_ceil(uint64_t(bytes))), vector_alignment, tile_alignment);
  }

  bool is_written_by_others(const Value *buffer) const {
    const std::vector<Op *> &all = users.of(buffer);
    return std::any_of(all.begin(), all.end(),
                       [](const Op *user) { return user->is(Opcode::cluster_send_); });
  }

  // Whether `user` reads a buffer for wgmma: directly, or into registers for wgmma_rs only.
  bool multiplies(const Op &user) {
    if (!user.is(Opcode::shared_load_))
      return user.is(Opcode::wgmma_ss_) || user.is(Opcode::wgmma_rs_);
    const std::vector<Op *> &readers = users.of(user.result());
    return !readers.empty() && std::all_of(readers.begin(), readers.end(),
                                           [](const Op *op) { return op->is(Opcode::wgmma_rs_); });
  }

  // The operation after which no wgmma reads `buffer`; nothing if another operation accesses it, or
  // if no wgmma does. TMA copies into `buffer` do not count.
  std::optional<int> last_wgmma(const Value *buffer) {
    std::optional<int> last;
    for (const Op *user : users.of(buffer)) {
      if (user->is(Opcode::tma_load_async_))
        continue;
      if (!multiplies(*user))
        return std::nullopt;
      const Op *outer = user; // outermost in the function, or in a part of a warp_specialize
      while (outer->parent->parent && !outer->parent->parent->is(Opcode::warp_specialize_))
        outer = outer->parent->parent;
      last = std::max(last.value_or(0), extents[outer].second);
    }
    return last;
  }

  // Places buffer `index` at the lowest address, from `start` on, where it overlaps no earlier
  // buffer that is live with it.
  void place(size_t index, int64_t start) {
    Buffer &buffer = buffers[index];
    buffer.address = start;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < index; i++) {
        const Buffer &other = buffers[i];
        bool overlap = buffer.address < other.address + other.bytes &&
                       other.address < buffer.address + buffer.bytes;
        if (!overlap || !buffer.live_with(other))
          continue;
        buffer.address = rounded_up(other.address + other.bytes, buffer.alignment);
        moved = true;
      }
    }
    buffer.alloc->set(attr::address_, buffer.address);
    fn.shared_bytes = std::max(fn.shared_bytes, int(buffer.address + buffer.bytes));
  }

  int64_t largest_alignment() const {
    int64_t largest = vector_alignment;
    for (const Buffer &buffer : buffers)
      largest = std::max(largest, buffer.alignment);
    return largest;
  }

  void place_variable(const Gpu &gpu) {
    Type &type = variable->alloc->result()->type;
    const int64_t address = rounded_up(fn.shared_bytes), stage = variable->bytes / type.shape[0];
    type.shape[0] = std::max<int64_t>(1, (gpu.max_shared_bytes - address) / stage);
    variable->alloc->set(attr::address_, address);
    fn.shared_bytes = int(address + type.shape[0] * stage);
  }
};

} // namespace

void allocate_shared(Function &fn, const Gpu &gpu) {
  State state{fn, Users(*fn.body), {}, {}, {}};
  state.number(*fn.body);
  state.collect();
  // Consumer groups do not run in step: one may finish with a buffer while another starts to use
  // its own. So their buffers overlap neither each other's nor the block's.
  int64_t of_consumer_groups = 0;
  for (size_t i = 0; i < state.buffers.size(); i++) {
    bool is_first = state.buffers[i].is_of_consumer_group &&
                    (i == 0 || !state.buffers[i - 1].is_of_consumer_group);
    if (is_first)
      of_consumer_groups = rounded_up(fn.shared_bytes);
    state.place(i, of_consumer_groups);
  }
  if (state.variable)
    state.place_variable(gpu);
  if (fn.programs_of_block() > 1) // each has its own, one after the other
    fn.shared_bytes = int(rounded_up(fn.shared_bytes, state.largest_alignment()));
  if (state.buffers.empty() || !state.buffers.back().is_of_consumer_group)
    return;
  int64_t bytes = rounded_up(fn.shared_bytes - of_consumer_groups);
  for (const Buffer &buffer : state.buffers)
    if (buffer.is_of_consumer_group)
      buffer.alloc->set(attr::consumer_group_bytes_, bytes);
  int groups = 1;
  for (const Partition &partition : partitions_of(fn))
    groups = std::max(groups, partition.groups);
  fn.shared_bytes = int(of_consumer_groups + groups * bytes);
}

} // namespace tritonc
