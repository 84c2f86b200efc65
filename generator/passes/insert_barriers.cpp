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
//          If a loop needs barriers only because of accesses before it, one barrier before the loop
//          does the same once. It is also where all threads arrive: the warps of a loop that waits
//          for other programs may leave it after different numbers of iterations.
//
//          A barrier may become superfluous once the whole loop is known: if a repeated walk adds a
//          barrier directly before it. The pass removes such a barrier again if no conflict appears
//          without it.
//
//          Circular buffers: iteration t accesses stage (t + d) mod n. Two accesses in one
//          iteration with different d do not overlap. In the next iteration d becomes d - 1.
//
//          A buffer with a variable number of stages has a stage for each iteration (see
//          stage_repeated_loads), so different iterations do not overlap.
//
//          async_copy: its write is visible to the thread that started it after a wait, and to
//          other threads after a barrier after that wait. So the pass keeps the write apart, with
//          the number of groups committed after it. A wait turns the writes that it covers into
//          ordinary writes of this thread, which the next barrier settles.
//
//          wgmma_ss, wgmma_rs: read in the background until a wgmma_wait. No barrier settles them before
//          that.
//
//          Global memory: an access conflicts with an earlier one through the same parameter if one
//          of them changes it, by a store or an atomic operation. There is no conflict if the same
//          thread accesses each element both times. That holds in one iteration of a loop, for the
//          same view and the same layout, if no elements overlap and no element is in two threads.
//          Nor is there one if all elements of one access are before those of the other.
//          Accesses with {apart} and without have no elements in common. Two parameters may be the
//          same memory element by element (z = 2 * x, where z may be x), also if each has a leading
//          dimension of its own. Then the pass compares accesses through them as accesses through
//          one parameter. Nothing else points to memory that is `__noalias`.
//
//          Partitions run at the same time. A buffer that several of them access is that of a
//          channel: its mbarriers order all accesses. A partition of one thread needs no barrier.
//          Cost: the pass gives equal places in global memory one number, and looks pending
//          accesses up by it. So its time grows as n log n with the number of operations, and with
//          the number of barriers to remove times n. Accesses to n disjoint places, without a
//          barrier in between, are compared with each other: n squared.
// Needs:   allocate_shared.
// Ensures: a barrier is between any two conflicting accesses; no barrier is superfluous.
// Limits:  compares whole stages of shared memory, not elements, so a thread that reads back only
//          its own writes still waits.
//
//          Of global memory the pass knows only the parameters. It takes two parameters for
//          different memory unless both accesses have the same shape, and the same offset and
//          strides but for the names of integer parameters and loop counters. It assumes that rows
//          with a variable stride do not overlap. It does not order a store with itself in another
//          iteration.
//
//          A loop that has a barrier of its own needs a condition that is the same in all warps. It
//          is not if each warp loads it from memory that other programs change.
//
// Tested by tests/unit/passes/insert_barriers/ and insert_barriers_test.cpp.

#include "passes/insert_barriers.h"

#include "analysis/affine.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

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

// An access to a buffer in shared memory.
struct SharedAccess {
  const Op *buffer = nullptr; // its shared_alloc
  StageIndex stage;
  bool writes = false;
  int groups_since = -1; // async_copy in flight: commits after it; else -1
  int wgmmas_since = -1; // wgmma in flight: wgmmas after it; else -1
  // Columns of rows, whose place the last operands give: the first one, and the end.
  const Value *length = nullptr, *first = nullptr;
  int64_t column = 0, end = 0;

  bool is_beside(const SharedAccess &other) const {
    return length && length == other.length && first == other.first &&
           (end <= other.column || other.end <= column);
  }
  auto operator<=>(const SharedAccess &) const = default;
  bool in_background() const { return groups_since >= 0 || wgmmas_since >= 0; }
};

// An access to global memory. The order of the members sorts the accesses that a later access may
// conflict with side by side: see `Pending`.
struct GlobalAccess {
  int group = 0;         // of places that may meet
  int groups_since = -1; // async_copy in flight: commits after it; else -1
  bool writes = false;
  bool by_first = false; // only the first thread makes it
  bool is_old = false;   // in an earlier iteration of a loop
  int place = 0;
  bool is_copy = false; // an async_copy

  auto operator<=>(const GlobalAccess &) const = default;
  bool in_background() const { return groups_since >= 0; }
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

// The places in global memory that a function accesses.
class GlobalPlaces {
public:
  explicit GlobalPlaces(Function &fn) {
    for (const Parameter &parameter : fn.parameters)
      if (parameter.no_alias)
        alone_.insert(parameter.value);
    for_each_op(*fn.body, [&](const Op &op) {
      if (op.is(Opcode::load_) || op.is(Opcode::async_copy_) || changes(op))
        add(op);
    });
    for (Place &place : places_)
      place.group = group_of(place);
    for (size_t i = 0; i < places_.size(); i++) {
      group_changes_[places_[i].group] |= places_[i].is_changed;
      if (places_[i].position >= 0)
        at_position_[places_[i].position].push_back(int(i));
    }
  }

  /// The access of `op`; nullopt if it needs no order with other accesses.
  std::optional<GlobalAccess> access(const Op &op) const {
    auto found = place_of_.find(&op);
    if (found == place_of_.end())
      return std::nullopt;
    const Place &place = places_[size_t(found->second)];
    bool may_meet = group_changes_.at(place.group);
    if (place.position >= 0)
      for (int other : at_position_.at(place.position))
        may_meet |= places_[size_t(other)].is_changed;
    if (!may_meet)
      return std::nullopt;
    bool is_copy = op.is(Opcode::async_copy_);
    return GlobalAccess{.group = place.group,
                        .groups_since = is_copy ? 0 : -1,
                        .writes = changes(op),
                        .by_first = changes(op) && place.shape.empty(),
                        .place = found->second,
                        .is_copy = is_copy};
  }

  int group_of(int place) const { return places_[size_t(place)].group; }

  /// The other places that may be the same memory element by element, if their parameters are.
  const std::vector<int> &at_same_position(int place) const {
    static const std::vector<int> none;
    int position = places_[size_t(place)].position;
    return position < 0 ? none : at_position_.at(position);
  }

  /// Whether different threads may access the same element, in two different operations.
  bool conflict(const GlobalAccess &earlier, const GlobalAccess &later) const {
    const Place &a = places_[size_t(earlier.place)], &b = places_[size_t(later.place)];
    if (a.has_own_elements != b.has_own_elements)
      return false;
    bool by_first = earlier.by_first && later.by_first;
    bool by_same_threads = !earlier.is_copy && !later.is_copy && a.layout && b.layout &&
                           *a.layout == *b.layout && !has_copies(*a.layout) && a.is_apart;
    if (meet(a.roots, b.roots)) {
      const bool is_by_same_threads = earlier.place == later.place && by_same_threads;
      return earlier.is_old || !(by_first || is_by_same_threads || are_disjoint(a, b));
    }
    bool may_lie_the_same = a.position >= 0 && a.position == b.position;
    return !by_first && may_lie_the_same && !by_same_threads;
  }

private:
  using Roots = std::set<const Value *>; // parameters; null: an unknown one

  struct Place {
    Roots roots;
    std::optional<Affine> at;
    Shape shape;
    std::optional<LinearLayout> layout;
    bool is_apart = false;         // no two elements overlap
    bool is_changed = false;       // by any access
    bool has_own_elements = false; // accesses with {apart}
    // Equal for equal shape, element type, and offset and strides but for the parameters and
    // counters in them; -1: alone.
    int position = -1;
    int group = 0;
  };

  static bool changes(const Op &op) { return op.is(Opcode::store_) || op.is_atomic(); }

  // The layout of the tile that the threads load or store; an async_copy has none.
  static std::optional<LinearLayout> layout_of(const Op &op) {
    if (op.is(Opcode::async_copy_))
      return std::nullopt;
    const Type &type = op.is(Opcode::store_) ? op.operand(1)->type : op.result()->type;
    return type.layout ? std::optional(*type.layout) : std::nullopt;
  }

  static bool meet(const Roots &a, const Roots &b) {
    return a.count(nullptr) || b.count(nullptr) ||
           std::any_of(a.begin(), a.end(), [&](const Value *root) { return b.count(root); });
  }

  static bool has_copies(const LinearLayout &layout) {
    return std::count(layout.lane.begin(), layout.lane.end(), 0u) ||
           std::count(layout.warp.begin(), layout.warp.end(), 0u);
  }

  // Numbers that are equal exactly for equal values.
  using Key = std::vector<int64_t>;
  static void append(Key &key, const Poly &poly) {
    key.push_back(int64_t(poly.terms.size()));
    for (const auto &[factors, coefficient] : poly.terms) {
      key.push_back(int64_t(factors.size()));
      for (const Value *factor : factors)
        key.push_back(factor->number);
      key.push_back(coefficient);
    }
  }
  template <typename Number> static void append(Key &key, const std::vector<Number> &numbers) {
    key.push_back(int64_t(numbers.size()));
    key.insert(key.end(), numbers.begin(), numbers.end());
  }

  // As above, for a place in memory that may be that of another parameter: the caller may give both
  // tensors the same strides, and the counters of two loops reach the same values.
  static void append_alike(Key &key, const Poly &poly) {
    std::vector<std::pair<Key, int64_t>> terms;
    for (const auto &[factors, coefficient] : poly.terms) {
      Key roles;
      for (const Value *factor : factors)
        roles.push_back(factor->op ? factor->number : factor->block ? -1 : -2);
      std::sort(roles.begin(), roles.end());
      terms.emplace_back(std::move(roles), coefficient);
    }
    std::sort(terms.begin(), terms.end());
    key.push_back(int64_t(terms.size()));
    for (const auto &[roles, coefficient] : terms) {
      append(key, roles);
      key.push_back(coefficient);
    }
  }

  static int number_of(std::map<Key, int> &numbers, Key key) {
    return numbers.try_emplace(std::move(key), int(numbers.size())).first->second;
  }

  void add(const Op &op) {
    const Value *pointer = op.operand(0);
    Place place = {.roots = {},
                   .at = affine_of(pointer),
                   .shape = pointer->type.shape,
                   .layout = layout_of(op),
                   .has_own_elements = op.has(attr::apart_)};
    std::set<const Value *> seen;
    add_roots(pointer, seen, place.roots);
    Key key = {place.has_own_elements};
    if (place.at) {
      place.is_apart = are_apart(place);
      append(key, place.at->offset);
      for (const Poly &stride : place.at->strides)
        append(key, stride);
      append(key, place.shape);
      bool is_alone = std::all_of(place.roots.begin(), place.roots.end(),
                                  [&](const Value *root) { return alone_.count(root); });
      if (!is_alone) {
        Key position = {place.has_own_elements, int64_t(pointer->type.elem)};
        append_alike(position, place.at->offset);
        for (const Poly &stride : place.at->strides)
          append_alike(position, stride);
        append(position, place.shape);
        place.position = number_of(positions_, std::move(position));
      }
      key.push_back(place.at->base ? place.at->base->number : -1);
      if (place.layout)
        for (const std::vector<FlatIndex> *bases :
             {&place.layout->reg, &place.layout->lane, &place.layout->warp})
          append(key, *bases);
    } else {
      key = {-1, int64_t(place_of_.size())}; // a place of its own
    }
    int number = number_of(numbers_, std::move(key));
    if (number == int(places_.size()))
      places_.push_back(std::move(place));
    places_[size_t(number)].is_changed |= changes(op);
    place_of_[&op] = number;
    join(places_[size_t(number)].roots);
  }

  // --- Groups: places are in one group if a chain of places with common roots connects them. ---

  const Value *leader_of(const Value *root) {
    const Value *leader = root;
    for (auto found = leaders_.find(leader); found != leaders_.end() && found->second != leader;
         found = leaders_.find(leader))
      leader = found->second;
    return leaders_[root] = leader;
  }
  void join(const Roots &roots) {
    for (const Value *root : roots)
      leaders_[leader_of(root)] = leader_of(*roots.begin());
    has_unknown_root_ |= roots.count(nullptr) != 0;
  }
  int group_of(const Place &place) {
    const Value *leader = has_unknown_root_ ? nullptr : leader_of(*place.roots.begin());
    return groups_.try_emplace(leader, int(groups_.size())).first->second;
  }

  static constexpr int64_t longest = int64_t(1) << 40; // prevents overflow

  // Whether all elements of one place are before those of the other.
  static bool are_disjoint(const Place &a, const Place &b) {
    if (!a.at || !b.at || a.at->base != b.at->base)
      return false;
    std::optional<int64_t> distance = (b.at->offset - a.at->offset).as_constant();
    if (!distance || std::abs(*distance) > longest)
      return false;
    std::optional<int64_t> extent = extent_of(*distance > 0 ? a : b);
    return extent && *extent <= std::abs(*distance);
  }

  // The distance from the first element to the end of the last one; nothing: it is unknown.
  static std::optional<int64_t> extent_of(const Place &place) {
    int64_t extent = 1;
    for (size_t axis = 0; axis < place.shape.size(); axis++) {
      std::optional<int64_t> stride = place.at->strides[axis].as_constant();
      if (!stride || *stride < 0 || *stride > longest)
        return std::nullopt;
      extent += *stride * (place.shape[axis] - 1);
    }
    return extent;
  }

  static bool are_apart(const Place &place) {
    std::vector<std::pair<int64_t, int64_t>> axes; // known strides, and extents
    for (size_t axis = 0; axis < place.shape.size(); axis++) {
      std::optional<int64_t> stride = place.at->strides[axis].as_constant();
      if (!stride || place.shape[axis] == 1)
        continue;
      if (*stride < -longest || *stride > longest)
        return false;
      axes.emplace_back(std::abs(*stride), place.shape[axis]);
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

  std::vector<Place> places_;
  std::map<const Op *, int> place_of_;
  std::map<Key, int> numbers_, positions_;
  std::map<int, std::vector<int>> at_position_; // places
  std::map<int, bool> group_changes_;
  std::set<const Value *> alone_; // parameters that are `__noalias`
  std::map<const Value *, const Value *> leaders_;
  std::map<const Value *, int> groups_; // by leader
  bool has_unknown_root_ = false;
};

// --- Shared memory. ------------------------------------------------------------------------------

bool overlap(const SharedAccess &a, const SharedAccess &b) {
  if (a.buffer == b.buffer) {
    if (a.is_beside(b))
      return false;
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

// The accesses to shared memory that `op` makes.
std::vector<SharedAccess> shared_accesses_of(const Op &op) {
  switch (op.code) {
  case Opcode::shared_load_:
  case Opcode::shared_gather_:
  case Opcode::cluster_load_reduce_:
    return {{op.operand(0)->op, stage_of(op.operand(1)), false}};
  case Opcode::shared_store_:
    return {{op.operand(1)->op, stage_of(op.operand(2)), true}};
  case Opcode::shared_load_rows_:
  case Opcode::shared_store_rows_: {
    const size_t buffer = op.is(Opcode::shared_store_rows_);
    const Type &tile = (buffer ? op.operand(0) : op.result())->type;
    const int64_t column = op.has(attr::origin_) ? op.get(attr::origin_)[1] : 0;
    return {{.buffer = op.operand(buffer)->op,
             .stage = stage_of(op.operand(buffer + 1)),
             .writes = buffer == 1,
             .length = op.operand(buffer + 2),
             .first = op.operand(buffer + 3),
             .column = column,
             .end = column + tile.shape[1]}};
  }
  case Opcode::wgmma_ss_: {
    std::vector<SharedAccess> accesses;
    for (size_t operand : {0, 2})
      accesses.push_back({.buffer = op.operand(operand)->op,
                          .stage = stage_of(op.operand(operand + 1)),
                          .wgmmas_since = 0});
    return accesses;
  }
  case Opcode::wgmma_rs_:
    return {{.buffer = op.operand(1)->op, .stage = stage_of(op.operand(2)), .wgmmas_since = 0}};
  case Opcode::async_copy_:
    return {{op.operand(1)->op, stage_of(op.operand(2)), true, 0}};
  default:
    return {};
  }
}

// --- The accesses that no barrier has settled. ---------------------------------------------------

struct Pending {
  std::set<SharedAccess> shared;
  // With the operation that makes the access; null: several operations make it.
  std::map<GlobalAccess, const Op *> global;
  // A repeated walk has added a barrier, and no barrier follows it yet.
  bool follows_added_barrier = false;

  void add(const GlobalAccess &access, const Op *op) {
    auto [entry, is_new] = global.try_emplace(access, op);
    if (!is_new && entry->second != op)
      entry->second = nullptr;
  }

  bool merge(const Pending &from) {
    auto size = [&] {
      return shared.size() + global.size() + size_t(follows_added_barrier) +
             size_t(std::count_if(global.begin(), global.end(),
                                  [](const auto &entry) { return !entry.second; }));
    };
    size_t before = size();
    shared.insert(from.shared.begin(), from.shared.end());
    for (const auto &[access, op] : from.global)
      add(access, op);
    follows_added_barrier |= from.follows_added_barrier;
    return size() != before;
  }

  bool operator==(const Pending &) const = default;

  // Applies the changes to every access; returns the new accesses.
  template <typename Shared, typename Global>
  Pending map(const Shared &change_shared, const Global &change_global) const {
    Pending result;
    result.follows_added_barrier = follows_added_barrier;
    for (SharedAccess access : shared) {
      change_shared(access);
      result.shared.insert(access);
    }
    for (const auto &[key, op] : global) {
      GlobalAccess access = key;
      change_global(access);
      result.add(access, op);
    }
    return result;
  }

  void barrier() {
    std::erase_if(shared, [](const SharedAccess &access) { return !access.in_background(); });
    std::erase_if(global, [](const auto &entry) { return !entry.first.in_background(); });
    follows_added_barrier = false;
  }

  bool has_copies() const {
    return std::any_of(shared.begin(), shared.end(),
                       [](const SharedAccess &access) { return access.groups_since >= 0; });
  }

  void commit() {
    if (!has_copies())
      return;
    auto count = [](auto &access) {
      if (access.groups_since >= 0)
        access.groups_since = std::min(access.groups_since + 1, many);
    };
    *this = map(count, count);
  }

  // All committed groups but the last `still_pending` are complete.
  void wait(int64_t still_pending) {
    assert(still_pending < many && "else no copy would ever be known to have landed");
    if (!has_copies())
      return;
    auto finish = [&](auto &access) {
      if (access.groups_since > still_pending)
        access.groups_since = -1;
    };
    *this = map(finish, finish);
  }

  void start_wgmma() {
    *this = map(
        [](SharedAccess &access) {
          if (access.wgmmas_since >= 0)
            access.wgmmas_since = std::min(access.wgmmas_since + 1, many);
        },
        [](GlobalAccess &) {});
  }

  // All started matmuls but the last `still_pending` are complete.
  void wait_for_wgmmas(int64_t still_pending) {
    assert(still_pending < many && "else no matmul would ever be known to be done");
    *this = map(
        [&](SharedAccess &access) {
          if (access.wgmmas_since >= still_pending)
            access.wgmmas_since = -1;
        },
        [](GlobalAccess &) {});
  }

  // Stages before the loop, relative to its first iteration (counter 0).
  Pending enter(const Value *counter) const {
    return map(
        [&](SharedAccess &access) {
          if (access.stage.known && !access.stage.counter)
            access.stage = {true, counter, modulo(access.stage.ahead, stages_of(access.buffer))};
        },
        [](GlobalAccess &) {});
  }

  // A buffer with a variable number of stages has one for each iteration. So it does not matter how
  // long ago an earlier iteration was.
  static int64_t one_iteration_later(const SharedAccess &access) {
    const bool is_old = access.stage.ahead != 0;
    if (is_old && access.buffer->has_variable_stages())
      return access.stage.ahead;
    return modulo(access.stage.ahead - 1, stages_of(access.buffer));
  }

  // Accesses of this iteration, relative to the next. `counter` is null in a while loop.
  Pending next_iteration(const Value *counter) const {
    return map(
        [&](SharedAccess &access) {
          if (counter && access.stage.known && access.stage.counter == counter)
            access.stage.ahead = one_iteration_later(access);
        },
        [](GlobalAccess &access) { access.is_old = true; });
  }

  Pending leave(const Value *counter) const {
    return map(
        [&](SharedAccess &access) {
          if (access.stage.known && access.stage.counter == counter)
            access.stage = {};
        },
        [](GlobalAccess &) {});
  }
};

// --- The walk. -----------------------------------------------------------------------------------

class InsertBarriers {
public:
  explicit InsertBarriers(Function &fn) : fn_(fn), places_(fn) {}

  void run() {
    find_channels();
    walk(*fn_.body, {});
    remove_superfluous();
  }

private:
  Pending walk_loop(Op &op, const Pending &before) {
    return op.is(Opcode::for_loop_) ? walk_for(op, before) : walk_while(op, before);
  }

  Pending walk_for(Op &op, const Pending &before) {
    const Value *counter = op.blocks[0]->arguments[0];
    Pending start = before.enter(counter), end;
    end = walk(*op.blocks[0], start);
    repeated_walks_++;
    while (start.merge(end.next_iteration(counter)))
      end = walk(*op.blocks[0], start);
    repeated_walks_--;
    // The loop may have no iterations.
    Pending after = end.leave(counter);
    after.merge(before);
    return after;
  }

  Pending walk_while(Op &op, const Pending &before) {
    Pending start = before;
    Pending tested = walk(*op.blocks[0], start), end = walk(*op.blocks[1], tested);
    repeated_walks_++;
    while (start.merge(end.next_iteration(nullptr))) {
      tested = walk(*op.blocks[0], start);
      end = walk(*op.blocks[1], tested);
    }
    repeated_walks_--;
    return tested;
  }

  Pending walk_if(Op &op, const Pending &before) {
    Pending after = walk(*op.blocks[0], before);
    after.merge(walk(*op.blocks[1], before));
    return after;
  }

  // Whether several partitions access the buffer.
  bool is_of_channel(const Op &buffer) const { return of_channels_.count(&buffer) != 0; }

  void find_channels() {
    std::map<const Op *, const Block *> accessed; // and where
    for_each_op(*fn_.body, [&](const Op &op) {
      const std::optional<Partition> partition = partition_of(op);
      for (const Value *operand : op.operands)
        if (partition && operand->type.is_shared()) {
          auto [first, is_new] = accessed.try_emplace(operand->op, partition->block);
          if (first->second != partition->block)
            of_channels_.insert(operand->op);
        }
    });
  }

  bool conflicts(const SharedAccess &later, const Pending &pending) const {
    return std::any_of(pending.shared.begin(), pending.shared.end(),
                       [&](const SharedAccess &earlier) {
                         return (earlier.writes || later.writes) && !earlier.in_background() &&
                                !(earlier.buffer == later.buffer && is_of_channel(*later.buffer)) &&
                                overlap(earlier, later);
                       });
  }

  // Looks for conflicts in ranges of `pending` that sort side by side. In a range most accesses
  // conflict, but for those to the same place or to disjoint places.
  bool conflicts(const GlobalAccess &later, const Op &op, const Pending &pending) const {
    auto has_conflict = [&](GlobalAccess first, auto is_in_range) {
      for (bool writes : {true, false})
        for (bool by_first : {false, true})
          for (bool is_old : {false, true}) {
            if (!(writes || later.writes) || (by_first && later.by_first && !is_old))
              continue;
            first.writes = writes;
            first.by_first = by_first;
            first.is_old = is_old;
            for (auto entry = pending.global.lower_bound(first);
                 entry != pending.global.end() && is_in_range(entry->first, first); ++entry)
              if (entry->second != &op && places_.conflict(entry->first, later))
                return true;
          }
      return false;
    };
    auto are_alike = [](const GlobalAccess &a, const GlobalAccess &b) {
      return a.group == b.group && a.groups_since == b.groups_since && a.writes == b.writes &&
             a.by_first == b.by_first && a.is_old == b.is_old;
    };
    if (has_conflict({.group = later.group}, are_alike))
      return true;
    for (int place : places_.at_same_position(later.place))
      if (has_conflict({.group = places_.group_of(place), .place = place},
                       [&](const GlobalAccess &a, const GlobalAccess &b) {
                         return are_alike(a, b) && a.place == b.place;
                       }))
        return true;
    return false;
  }

  // The accesses that are pending after a new barrier.
  void settle(Pending &pending) const {
    pending.barrier();
    pending.follows_added_barrier = repeated_walks_ > 0;
  }

  // Records the accesses of the operation. Returns whether it needs a barrier before it.
  bool access(const Op &op, Pending &pending) {
    std::vector<SharedAccess> shared = shared_accesses_of(op);
    std::optional<GlobalAccess> global = places_.access(op);
    bool needs_barrier =
        std::any_of(shared.begin(), shared.end(),
                    [&](const SharedAccess &later) { return conflicts(later, pending); }) ||
        (global && conflicts(*global, op, pending));
    if (needs_barrier && inserting_)
      settle(pending);
    pending.shared.insert(shared.begin(), shared.end());
    if (global)
      pending.add(*global, &op);
    return needs_barrier;
  }

  // The accesses of all partitions are pending after them.
  Pending walk_partitions(Op &op, const Pending &before) {
    Pending after;
    for (const Partition &partition : partitions_of(op))
      if (!partition.is_one_thread)
        after.merge(walk(*partition.block, before));
    return after;
  }

  Op *new_barrier(const Op &before) {
    Op *barrier = fn_.new_op(Opcode::barrier_);
    barrier->parent = before.parent;
    barrier->location = before.location;
    inserted_.push_back(barrier);
    return barrier;
  }

  // Whether the walk finds a conflict. Inserts nothing.
  template <typename Walk> bool has_conflict(const Walk &walk) {
    const bool inserting = std::exchange(inserting_, false),
               conflict_found = std::exchange(conflict_found_, false);
    walk();
    inserting_ = inserting;
    return std::exchange(conflict_found_, conflict_found);
  }

  // Whether a barrier before `loop` settles all its conflicts.
  bool needs_barrier_before(Op &loop, const Pending &before) {
    Pending settled = before;
    settled.barrier();
    return inserting_ && settled != before && has_conflict([&] { walk_loop(loop, before); }) &&
           !has_conflict([&] { walk_loop(loop, settled); });
  }

  // Inserts the barriers that `block` needs when it starts with `pending`. Returns the accesses
  // that are pending at its end.
  Pending walk(Block &block, Pending pending) {
    std::vector<Op *> with_barriers; // empty: no barrier so far
    for (size_t i = 0; i < block.ops.size(); i++) {
      Op &op = *block.ops[i];
      auto insert = [&] {
        if (with_barriers.empty())
          with_barriers.assign(block.ops.begin(), block.ops.begin() + ptrdiff_t(i));
        with_barriers.push_back(new_barrier(op));
      };
      if (op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_)) {
        if (needs_barrier_before(op, pending)) {
          settle(pending);
          insert();
        }
        pending = walk_loop(op, pending);
      } else if (op.is(Opcode::if_else_)) {
        pending = walk_if(op, pending);
      } else if (op.is(Opcode::warp_specialize_)) {
        pending = walk_partitions(op, pending);
      } else if (op.is(Opcode::barrier_) || op.is(Opcode::cluster_barrier_)) {
        if (pending.follows_added_barrier)
          candidates_.insert(&op);
        pending.barrier();
      } else if (op.is(Opcode::async_commit_)) {
        pending.commit();
      } else if (op.is(Opcode::async_wait_)) {
        pending.wait(op.get(attr::pending_));
      } else if (op.is(Opcode::wgmma_wait_)) {
        pending.wait_for_wgmmas(op.get(attr::pending_));
      } else {
        if (op.is(Opcode::wgmma_ss_) || op.is(Opcode::wgmma_rs_))
          pending.start_wgmma();
        if (access(op, pending)) {
          conflict_found_ = true;
          if (inserting_)
            insert();
        }
      }
      if (!with_barriers.empty())
        with_barriers.push_back(&op);
    }
    if (!with_barriers.empty())
      block.ops = std::move(with_barriers);
    return pending;
  }

  void remove_superfluous() {
    const std::set<const Op *> candidates = candidates_;
    for (Op *barrier : inserted_) {
      if (!candidates.count(barrier))
        continue;
      Block *block = barrier->parent;
      size_t at = block->position_of(barrier);
      erase(barrier);
      if (has_conflict([&] { walk(*fn_.body, {}); }))
        block->ops.insert(block->ops.begin() + ptrdiff_t(at), barrier);
    }
  }

  Function &fn_;
  const GlobalPlaces places_;
  bool inserting_ = true; // false: only looks for conflicts
  bool conflict_found_ = false;
  int repeated_walks_ = 0; // nesting of loops that the pass walks again
  std::vector<Op *> inserted_;
  std::set<const Op *> candidates_;  // barriers that may be superfluous
  std::set<const Op *> of_channels_; // buffers
};

} // namespace

void insert_barriers(Function &fn) { InsertBarriers(fn).run(); }

} // namespace tritonc
