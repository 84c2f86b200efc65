// allocate_shared: give every buffer in shared memory an address.
//
//     %s = shared_alloc : shared<f16>[3,128,64]   =>   %s = shared_alloc {address = 16384} : ...
//
// A buffer is live from its first to its last access. Operations are numbered in the order of the
// text; an access inside a loop that does not contain the shared_alloc lasts for the whole loop,
// since the next iteration may read what this one wrote. Buffers that are not live together may
// overlap: the epilogue's scratch takes the place of the main loop's ring.
//
// A ring that the copy engine fills and products read is live until the last product that reads it:
// whatever is copied into it has come by then, since there is a product for each copy.
//
// Of buffers that each team has for itself (specialize) there are as many as teams: those of a team
// lie together, behind all that the block has, and those of the next team behind them.
//
//     %s = shared_alloc : shared<f16>[1,128,64]   =>   %s = shared_alloc {address = 98304,
//     team_bytes = 16384}
//
// Method. First fit, in the order in which buffers become live. That is not optimal, but kernels
// have few buffers, and nearly all of them are live in the same loop or one after another.
//
// Needs:   all shared-memory accesses to be there.
// Ensures: {address} on every shared_alloc and mbarriers, of tiles a multiple of 1024 (the swizzled
// rows start at bank 0, and
//          TMA will want it); {team_bytes} on those of teams; fn.shared_bytes is the end of the
//          last buffer.
//
// Tested by tests/passes/allocate_shared_test.cpp.

#include "passes/allocate_shared.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t tile_alignment = 1024, mbarrier_alignment = 8;

int64_t alignment_of(const Op &alloc) {
  return alloc.is(Opcode::mbarriers_) ? mbarrier_alignment : tile_alignment;
}

int64_t rounded_up(int64_t address, int64_t alignment = tile_alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

struct Buffer {
  Op *alloc;
  int64_t bytes;
  bool is_of_team = false;
  int begin = 0, end = 0; // operations between which it is live, inclusive
  int64_t address = 0;

  bool live_with(const Buffer &other) const { return begin <= other.end && other.begin <= end; }
};

struct State {
  Function &fn;
  Users users;
  std::map<const Op *, std::pair<int, int>> extents; // numbers of an operation and what is in it
  std::vector<Buffer> buffers;
  int next = 0;

  void number(Block &block) {
    for (Op *op : block.ops) {
      int begin = next++;
      for (Block *inner : op->blocks)
        number(*inner);
      extents[op] = {begin, next - 1};
    }
  }

  // Whether each team makes it.
  bool is_of_team(const Op &alloc) const {
    const Op *outer = &alloc;
    while (outer->parent->parent)
      outer = outer->parent->parent;
    return fn.teams > 1 && outer != &alloc && outer->is(Opcode::specialize_);
  }

  // The operation in `block` that contains `user`: a loop around the access counts whole.
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
      Buffer buffer{&op, type.elements() * bytes_of(type.elem), is_of_team(op)};
      bool used = false;
      for (const Op *user : users.of(op.result())) {
        auto [begin, end] = extents[ancestor_in(op.parent, user)];
        buffer.begin = used ? std::min(buffer.begin, begin) : begin;
        buffer.end = used ? std::max(buffer.end, end) : end;
        used = true;
      }
      if (std::optional<int> last = last_product(op.result()))
        buffer.end = *last;
      buffers.push_back(buffer);
    });
    std::stable_sort(buffers.begin(), buffers.end(), [](const Buffer &a, const Buffer &b) {
      return std::pair(a.is_of_team, a.begin) < std::pair(b.is_of_team, b.begin);
    });
  }

  // Whether a product reads a buffer by `user`, from shared memory or by way of registers.
  bool multiplies(const Op &user) {
    if (!user.is(Opcode::shared_load_))
      return user.is(Opcode::shared_product_) || user.is(Opcode::fragment_product_);
    const std::vector<Op *> &readers = users.of(user.result());
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [](const Op *op) {
      return op->is(Opcode::fragment_product_);
    });
  }

  // When the last product of those that multiply has read the ring; nothing if it is none.
  std::optional<int> last_product(const Value *ring) {
    std::optional<int> last;
    for (const Op *user : users.of(ring)) {
      if (user->is(Opcode::map_copy_))
        continue;
      if (!multiplies(*user))
        return std::nullopt;
      const Op *outer = user; // at the top of the function, or of the part of its warps
      while (outer->parent->parent && !outer->parent->parent->is(Opcode::specialize_))
        outer = outer->parent->parent;
      last = std::max(last.value_or(0), extents[outer].second);
    }
    return last;
  }

  // The lowest place, from `start` on, where `buffer` meets none of those placed before it.
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
        buffer.address = rounded_up(other.address + other.bytes, alignment_of(*buffer.alloc));
        moved = true;
      }
    }
    buffer.alloc->set("address", buffer.address);
    fn.shared_bytes = std::max(fn.shared_bytes, int(buffer.address + buffer.bytes));
  }
};

} // namespace

void allocate_shared(Function &fn) {
  State state{fn, Users(*fn.body), {}, {}};
  state.number(*fn.body);
  state.collect();
  // A team may be done with a buffer while another has just begun with its own, so no place is that
  // of both.
  int64_t of_teams = 0;
  for (size_t i = 0; i < state.buffers.size(); i++) {
    bool is_first = state.buffers[i].is_of_team && (i == 0 || !state.buffers[i - 1].is_of_team);
    if (is_first)
      of_teams = rounded_up(fn.shared_bytes);
    state.place(i, of_teams);
  }
  if (state.buffers.empty() || !state.buffers.back().is_of_team)
    return;
  int64_t bytes = rounded_up(fn.shared_bytes - of_teams);
  for (const Buffer &buffer : state.buffers)
    if (buffer.is_of_team)
      buffer.alloc->set("team_bytes", bytes);
  fn.shared_bytes = int(of_teams + fn.teams * bytes);
}

} // namespace tritonc
