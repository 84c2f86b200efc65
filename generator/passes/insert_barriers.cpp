// insert_barriers: inserts a barrier wherever a thread could otherwise see stale memory.
//
//     shared_store %x, %s, %z                 shared_store %x, %s, %z
//     %y = shared_load %s, %z           =>    barrier
//                                             %y = shared_load %s, %z
//
//     %a = load %p                            %a = load %p              all threads
//     store %p, %b                      =>    barrier
//     store %q, %a                            store %p, %b              the first thread
//                                             store %q, %a
//
// A tile operation is one line of IR, but many threads run it, and they do not finish together. Two
// accesses conflict if one of them writes and their bytes overlap. An access that conflicts with an
// earlier one needs a barrier in between.
//
// Method:  Walks in program order with the set of accesses that no barrier has settled. Before an
//          operation that conflicts with one of them, the pass inserts a barrier, which empties the
//          set. It walks a loop until the accesses pending at its end add nothing to the set at its
//          start. That set only grows and is finite, so the walk ends. It walks both sides of a
//          branch from the same set; the accesses of either are pending after the branch.
//
//          A barrier may become superfluous once the whole loop is known. So at the end the pass
//          removes each barrier again if no conflict appears without it.
//
//          Circular buffers: iteration t accesses stage (t + d) mod n. Two accesses in one
//          iteration with different d do not overlap. In the next iteration d becomes d - 1.
//
//          async_copy: its write is visible to the thread that started it after a wait, and to
//          other threads after a barrier after that wait. So the pass keeps the write apart, with
//          the number of groups committed after it. A wait turns the writes that it covers into
//          ordinary writes of this thread, which the next barrier settles.
//
//          wgmma_ss: reads in the background until a wgmma_wait. No barrier settles it before that.
//
//          Global memory: an access conflicts with an earlier one through the same parameter if one
//          of them changes it, by a store or an atomic operation. There is no conflict if the same
//          thread accesses each element both times. That holds in one iteration of a loop, for the
//          same view and the same layout, if no elements overlap and no element is in two threads.
//          Two parameters may be the same memory element by element (z = 2 * x, where z may be x).
//          Then the pass compares accesses through them as accesses through one parameter. Nothing
//          else points to memory that is `__noalias`.
//
//          TMA, producer warps, and the tensor cores access a circular buffer in the order that the
//          mbarriers of specialize_warps give. Producer warps have no other accesses, so the pass
//          skips their part.
// Needs:   allocate_shared.
// Ensures: a barrier is between any two conflicting accesses; no barrier is superfluous.
// Limits:  compares whole stages of shared memory, not elements, so a thread that reads back only
//          its own writes still waits.
//
//          Of global memory the pass knows only the parameters. It takes two parameters for
//          different memory unless both accesses have the same offset, strides, and shape. It
//          assumes that rows with a variable stride do not overlap. It does not order a store with
//          itself in another iteration.
//
// Tested by tests/unit/passes/insert_barriers_test.cpp.

#include "passes/insert_barriers.h"

#include "analysis/affine.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace tritonc {

using namespace ir;

namespace {

// A stage of a circular buffer: (counter + ahead) mod stages. Without a counter, `ahead` is the
// stage itself, as before a loop that counts from 0.
struct StageIndex {
  bool known = false;
  const Value *counter = nullptr;
  int64_t ahead = 0;

  auto operator<=>(const StageIndex &) const = default;
};

struct Access {
  const Op *buffer = nullptr; // its shared_alloc; null: global memory
  StageIndex stage;
  bool writes = false;
  int groups_since = -1;      // async_copy in flight: commits after it; else -1
  int wgmmas_since = -1;      // wgmma in flight: wgmmas after it; else -1
  const Op *global = nullptr; // the access, if to global memory; else null
  bool is_old = false;        // global memory: in an earlier iteration of a loop

  auto operator<=>(const Access &) const = default;
  bool is_copied() const { return groups_since >= 0; }
  bool in_background() const { return is_copied() || wgmmas_since >= 0; }
};

constexpr int many = 16; // more than the stages of any circular buffer

int64_t stages_of(const Op *buffer) { return buffer->result()->type.shape[0]; }

int64_t modulo(int64_t a, int64_t n) { return (a % n + n) % n; }

// --- Global memory. ------------------------------------------------------------------------------

// Adds the parameters that `pointer` may come from, and null if one of its sources is unknown.
void add_roots(const Value *pointer, std::set<const Value *> &seen,
               std::set<const Value *> &roots) {
  if (!seen.insert(pointer).second)
    return;
  const Op *op = pointer->op;
  auto from = [&](const Value *source) { add_roots(source, seen, roots); };
  auto carried = [&](const Op &loop, size_t i) {
    size_t first = loop.operands.size() - loop.results.size(); // 1: operand 0 is the count
    from(loop.operand(first + i));
    from(loop.blocks.back()->terminator()->operand(i));
  };
  if (!op && !pointer->block) {
    roots.insert(pointer);
  } else if (!op) {
    const Op &loop = *pointer->block->parent;
    size_t counters = pointer->block->arguments.size() - loop.results.size();
    carried(loop, size_t(pointer->index) - counters);
  } else if (op->is(Opcode::for_loop_) || op->is(Opcode::while_loop_)) {
    carried(*op, size_t(pointer->index));
  } else if (op->is(Opcode::if_else_)) {
    for (const Block *block : op->blocks)
      from(block->terminator()->operand(size_t(pointer->index)));
  } else if (op->is(Opcode::select_)) {
    from(op->operand(1));
    from(op->operand(2));
  } else if (!op->operands.empty() && (op->operand(0)->type.is_pointer())) {
    from(op->operand(0)); // addptr, view, and operations that only move elements
  } else {
    roots.insert(nullptr);
  }
}

// The accesses to global memory that need an order: another one stores through the same parameter.
class GlobalAccesses {
public:
  explicit GlobalAccesses(Function &fn) {
    for (const Parameter &parameter : fn.parameters)
      if (parameter.no_alias)
        alone_.insert(parameter.value);
    for_each_op(*fn.body, [&](const Op &op) {
      if (!op.is(Opcode::load_) && !op.is(Opcode::async_copy_) && !changes(op))
        return;
      std::set<const Value *> seen;
      add_roots(op.operand(0), seen, roots_[&op]);
      at_[&op] = affine_of(op.operand(0));
    });
    for (const auto &[op, roots] : roots_)
      for (const auto &[other, other_roots] : roots_)
        if (op != other && (changes(*op) || changes(*other)) &&
            (meet(roots, other_roots) || may_lie_the_same(*op, *other)))
          ordered_.insert(op);
  }

  static bool changes(const Op &op) { return op.is(Opcode::store_) || op.is_atomic(); }

  /// Whether `op` needs an order with other accesses.
  bool matters(const Op &op) const { return ordered_.count(&op); }

  /// Whether different threads may access the same element.
  bool conflict(const Access &earlier, const Access &later) const {
    const Op &a = *earlier.global, &b = *later.global;
    if (&a == &b)
      return false;
    bool by_first = is_by_first(a) && is_by_first(b);
    if (meet(roots_.at(&a), roots_.at(&b)))
      return earlier.is_old ||
             (!by_first && (!lie_the_same(a, b, /*from_one=*/true) || !by_same_threads(a, b)));
    return !by_first && may_lie_the_same(a, b) && !by_same_threads(a, b);
  }

private:
  static bool meet(const std::set<const Value *> &a, const std::set<const Value *> &b) {
    return a.count(nullptr) || b.count(nullptr) ||
           std::any_of(a.begin(), a.end(), [&](const Value *root) { return b.count(root); });
  }

  static const Type &accessed(const Op &op) {
    return op.is(Opcode::store_) ? op.operand(1)->type : op.result()->type;
  }

  static bool has_copies(const LinearLayout &layout) {
    return std::count(layout.lane.begin(), layout.lane.end(), 0u) ||
           std::count(layout.warp.begin(), layout.warp.end(), 0u);
  }

  /// Whether both access the same memory element by element, given the same base. `from_one`: also
  /// requires that the base is the same.
  bool lie_the_same(const Op &a, const Op &b, bool from_one) const {
    const std::optional<Affine> &at = at_.at(&a), &also_at = at_.at(&b);
    return at && also_at && (!from_one || at->base == also_at->base) &&
           at->offset == also_at->offset && at->strides == also_at->strides &&
           accessed_shape(a) == accessed_shape(b);
  }

  static const std::vector<int64_t> &accessed_shape(const Op &op) {
    return op.operand(0)->type.shape;
  }

  /// Whether two parameters may be the same memory element by element: z = 2 * x, where z may be x.
  bool may_lie_the_same(const Op &a, const Op &b) const {
    auto is_alone = [&](const Op &op) {
      const std::set<const Value *> &roots = roots_.at(&op);
      return std::all_of(roots.begin(), roots.end(),
                         [&](const Value *root) { return alone_.count(root); });
    };
    return !is_alone(a) && !is_alone(b) && a.operand(0)->type.elem == b.operand(0)->type.elem &&
           lie_the_same(a, b, /*from_one=*/false);
  }

  /// Whether no two elements of the access overlap.
  bool are_apart(const Op &op) const {
    const std::optional<Affine> &at = at_.at(&op);
    if (!at)
      return false;
    constexpr int64_t longest = int64_t(1) << 40;  // prevents overflow below
    std::vector<std::pair<int64_t, int64_t>> axes; // known strides, and extents
    for (size_t axis = 0; axis < accessed_shape(op).size(); axis++) {
      std::optional<int64_t> stride = at->strides[axis].as_constant();
      if (!stride || accessed_shape(op)[axis] == 1)
        continue;
      if (*stride < -longest || *stride > longest)
        return false;
      axes.emplace_back(std::abs(*stride), accessed_shape(op)[axis]);
    }
    std::sort(axes.begin(), axes.end());
    int64_t reach = 0; // of the axes so far, in elements
    for (auto [stride, extent] : axes) {
      if (stride <= reach)
        return false;
      reach += stride * (extent - 1);
    }
    return true;
  }

  /// Whether only the first thread runs `op`: it changes a scalar. All threads load a scalar.
  static bool is_by_first(const Op &op) { return accessed_shape(op).empty() && changes(op); }

  /// Whether one thread accesses each element, the same thread both times.
  bool by_same_threads(const Op &a, const Op &b) const {
    if (a.is(Opcode::async_copy_) || b.is(Opcode::async_copy_))
      return false;
    const Type &type = accessed(a);
    return type.layout && accessed(b).layout && *type.layout == *accessed(b).layout &&
           !has_copies(*type.layout) && are_apart(a);
  }

  std::map<const Op *, std::set<const Value *>> roots_;
  std::map<const Op *, std::optional<Affine>> at_;
  std::set<const Value *> alone_; // parameters
  std::set<const Op *> ordered_;
};

// --- Shared memory. ------------------------------------------------------------------------------

bool overlap(const Access &a, const Access &b) {
  if (a.buffer == b.buffer) {
    bool comparable = a.stage.known && b.stage.known && a.stage.counter == b.stage.counter;
    return !comparable || modulo(a.stage.ahead - b.stage.ahead, stages_of(a.buffer)) == 0;
  }
  auto range = [](const Op *buffer) {
    const Type &type = buffer->result()->type;
    int64_t begin = buffer->get(attr::address_);
    return std::pair(begin, begin + type.elements() * bytes_of(type.elem));
  };
  auto [a_begin, a_end] = range(a.buffer);
  auto [b_begin, b_end] = range(b.buffer);
  return a_begin < b_end && b_begin < a_end;
}

using Pending = std::set<Access>;

StageIndex stage_of(const Value *value) {
  int64_t ahead = 0;
  if (value->op && value->op->is(Opcode::stage_index_)) {
    ahead = value->op->get(attr::offset_);
    value = value->op->operand(0);
  }
  if (std::optional<int64_t> constant = constant_of(value))
    return {true, nullptr, *constant + ahead};
  bool counts = value->block && value->index == 0 && value->block->parent->is(Opcode::for_loop_);
  return counts ? StageIndex{true, value, ahead} : StageIndex{};
}

// The accesses that `op` makes.
std::vector<Access> accesses_of(const Op &op, const GlobalAccesses &globals) {
  std::vector<Access> accesses;
  switch (op.code) {
  case Opcode::shared_load_:
  case Opcode::shared_gather_:
  case Opcode::cluster_load_reduce_:
    accesses = {{op.operand(0)->op, stage_of(op.operand(1)), false}};
    break;
  case Opcode::shared_store_:
    accesses = {{op.operand(1)->op, stage_of(op.operand(2)), true}};
    break;
  case Opcode::wgmma_ss_:
    for (size_t operand : {0, 2})
      accesses.push_back({.buffer = op.operand(operand)->op,
                          .stage = stage_of(op.operand(operand + 1)),
                          .wgmmas_since = 0});
    break;
  case Opcode::async_copy_:
    accesses = {{op.operand(1)->op, stage_of(op.operand(2)), true, 0}};
    break;
  default:
    break;
  }
  if (globals.matters(op))
    accesses.push_back({.writes = GlobalAccesses::changes(op),
                        .groups_since = op.is(Opcode::async_copy_) ? 0 : -1,
                        .global = &op});
  return accesses;
}

struct State {
  Function &fn;
  GlobalAccesses globals = GlobalAccesses(fn);
  bool inserting = true; // false: only looks for conflicts
  bool conflict_found = false;
  std::vector<Op *> inserted = {};

  // Applies `change` to every access; returns the new set.
  template <typename Change> static Pending map(const Pending &pending, Change change) {
    Pending result;
    for (Access access : pending) {
      change(access);
      result.insert(access);
    }
    return result;
  }

  static void barrier(Pending &pending) {
    std::erase_if(pending, [](const Access &access) { return !access.in_background(); });
  }

  static Pending commit(const Pending &pending) {
    return map(pending, [](Access &access) {
      if (access.is_copied())
        access.groups_since = std::min(access.groups_since + 1, many);
    });
  }

  // All committed groups but the last `still_pending` are complete.
  static Pending wait(const Pending &pending, int64_t still_pending) {
    assert(still_pending < many && "else no copy would ever be known to have landed");
    return map(pending, [&](Access &access) {
      if (access.groups_since > still_pending)
        access.groups_since = -1;
    });
  }

  static Pending start_wgmma(const Pending &pending) {
    return map(pending, [](Access &access) {
      if (access.wgmmas_since >= 0)
        access.wgmmas_since = std::min(access.wgmmas_since + 1, many);
    });
  }

  // All started matmuls but the last `still_pending` are complete.
  static Pending wait_for_wgmmas(const Pending &pending, int64_t still_pending) {
    assert(still_pending < many && "else no matmul would ever be known to be done");
    return map(pending, [&](Access &access) {
      if (access.wgmmas_since >= still_pending)
        access.wgmmas_since = -1;
    });
  }

  // Stages before the loop, relative to its first iteration (counter 0).
  static Pending enter(const Pending &pending, const Value *counter) {
    return map(pending, [&](Access &access) {
      if (access.stage.known && !access.stage.counter)
        access.stage = {true, counter, modulo(access.stage.ahead, stages_of(access.buffer))};
    });
  }

  // Accesses of this iteration, relative to the next. `counter` is null in a while loop.
  static Pending next_iteration(const Pending &pending, const Value *counter) {
    return map(pending, [&](Access &access) {
      access.is_old = access.global;
      if (counter && access.stage.known && access.stage.counter == counter)
        access.stage.ahead = modulo(access.stage.ahead - 1, stages_of(access.buffer));
    });
  }

  static Pending leave(const Pending &pending, const Value *counter) {
    return map(pending, [&](Access &access) {
      if (access.stage.known && access.stage.counter == counter)
        access.stage = {};
    });
  }

  static bool merge(Pending &into, const Pending &from) {
    size_t before = into.size();
    into.insert(from.begin(), from.end());
    return into.size() != before;
  }

  Pending walk_for(Op &op, const Pending &before) {
    const Value *counter = op.blocks[0]->arguments[0];
    Pending start = enter(before, counter), end;
    do {
      end = walk(*op.blocks[0], start);
    } while (merge(start, next_iteration(end, counter)));
    // The loop may have no iterations.
    Pending after = leave(end, counter);
    merge(after, before);
    return after;
  }

  Pending walk_while(Op &op, const Pending &before) {
    Pending start = before, tested;
    do {
      tested = walk(*op.blocks[0], start);
    } while (merge(start, next_iteration(walk(*op.blocks[1], tested), nullptr)));
    return tested;
  }

  Pending walk_if(Op &op, const Pending &before) {
    Pending after = walk(*op.blocks[0], before);
    merge(after, walk(*op.blocks[1], before));
    return after;
  }

  bool conflict(const Access &earlier, const Access &later) const {
    if ((!earlier.writes && !later.writes) || earlier.in_background())
      return false;
    if (earlier.global || later.global)
      return earlier.global && later.global && globals.conflict(earlier, later);
    return overlap(earlier, later);
  }

  // Records the accesses of operation `i` of `block`. Inserts a barrier before it if they conflict.
  void access(Op &op, Pending &pending, Block &block, size_t &i) {
    std::vector<Access> accesses = accesses_of(op, globals);
    bool conflicts = std::any_of(pending.begin(), pending.end(), [&](const Access &earlier) {
      return std::any_of(accesses.begin(), accesses.end(),
                         [&](const Access &later) { return conflict(earlier, later); });
    });
    conflict_found |= conflicts;
    if (conflicts && inserting) {
      Builder builder(fn, &block, i);
      builder.set_location(op.location);
      inserted.push_back(builder.create(Opcode::barrier_, {}));
      barrier(pending);
      i++;
    }
    pending.insert(accesses.begin(), accesses.end());
  }

  // Inserts the barriers that `block` needs when it starts with `pending`. Returns the accesses
  // that are pending at its end.
  Pending walk(Block &block, Pending pending) {
    for (size_t i = 0; i < block.ops.size(); i++) {
      Op &op = *block.ops[i];
      if (op.is(Opcode::for_loop_)) {
        pending = walk_for(op, pending);
      } else if (op.is(Opcode::while_loop_)) {
        pending = walk_while(op, pending);
      } else if (op.is(Opcode::if_else_)) {
        pending = walk_if(op, pending);
      } else if (op.is(Opcode::warp_specialize_)) {
        pending = walk(*op.blocks[0], pending);
      } else if (op.is(Opcode::barrier_) || op.is(Opcode::cluster_barrier_)) {
        barrier(pending);
      } else if (op.is(Opcode::async_commit_)) {
        pending = commit(pending);
      } else if (op.is(Opcode::async_wait_)) {
        pending = wait(pending, op.get(attr::pending_));
      } else if (op.is(Opcode::wgmma_wait_)) {
        pending = wait_for_wgmmas(pending, op.get(attr::pending_));
      } else {
        if (op.is(Opcode::wgmma_ss_))
          pending = start_wgmma(pending);
        access(op, pending, block, i);
      }
    }
    return pending;
  }

  bool has_conflict() {
    inserting = conflict_found = false;
    walk(*fn.body, {});
    return conflict_found;
  }

  void remove_superfluous() {
    for (Op *barrier : inserted) {
      Block *block = barrier->parent;
      size_t at = block->position_of(barrier);
      erase(barrier);
      if (has_conflict())
        block->ops.insert(block->ops.begin() + at, barrier);
    }
  }
};

} // namespace

void insert_barriers(Function &fn) {
  State state{fn};
  state.walk(*fn.body, {});
  state.remove_superfluous();
}

} // namespace tritonc
