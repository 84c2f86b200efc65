// join_rows: lets a block move the adjacent rows of its programs as one contiguous range.
//
//     %v = view %x, 64*%p*%ld, %ld, 1         launch_requires %ld, %N
//     %m = column < %N, row < %left           %count = %N * %left
//     %a = load %v, %m, 0 : f16[64,64]        %end = %count rounded down to a multiple of 8
//                                             %v = view %x, 64*%p*%ld, 1
//                                             %f = load %v, i < %end, 0 : f16[4096]
//                                             %r = load of the elements from %end to %count
//                                             %s = shared_alloc : shared<f16>[1,4096]
//                                       =>    shared_store %f, %s
//                                             shared_store_rows %r, %s
//                                             %a = shared_load_rows %s, %N : f16[64,64]
//     ...                                     ...
//     %w = view %y, 64*%p*%ldy, %ldy, 1       launch_requires %ldy, %N
//     store %w, %b, %m                        shared_store_rows %b, %t, %N
//                                             %g = shared_load %t : f16[4096]
//                                             store %w, %g, i < %end
//                                             store the elements from %end to %count
//
// A short row may start at any element, so an access to it moves one element. Rows without a gap
// between them are one range of memory, which whole vectors move, except at its two ends. Then the
// length of a row only matters in shared memory.
//
// Method:  The tiles of an unrolled loop are parts of the same rows. The launch takes this schedule
//          only if the distance of rows is their length. If the range may start at any element, the
//          flat tile starts at the vector with the first element, and the rows start as many elements
//          later in shared memory.
//
//          All loads that no store precedes start together: they hide each other's latency. A store
//          of rows comes after a barrier, which also orders it after earlier loads of the same
//          elements by other threads.
// Needs:   batch_programs, and unroll_loops: the tiles have whole rows of each program.
// Ensures: a joined access moves whole vectors, and single elements of at most two vectors.
// Limits:  loads and stores outside of loops and branches, of tiles with two axes, under a mask of
//          one bound for the row and one for the column; not if rows are aligned, or if a vector has
//          more elements than the tile has rows. Does nothing if other accesses may be to the same
//          elements, unless they are earlier loads.
//
// Tested by tests/unit/passes/join_rows/ and join_rows_test.cpp.

#include "passes/join_rows.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"
#include "passes/remove_dead_code.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// A load or a store of some columns of the rows.
struct Part {
  Op *op;
  int64_t column; // the first
  bool is_whole;  // no row ends in it
};

// Loads or stores of adjacent rows.
struct Access {
  std::vector<Part> parts; // adjacent ones, in order
  Affine form;             // of the first part
  Poly rows;               // that exist
  std::optional<Poly> end; // elements of a row; nothing: the row ends in a later part

  Op *first() const { return parts.front().op; }
  Op *last() const { return parts.back().op; }
  bool is_load() const { return first()->is(Opcode::load_); }
  const Value *view() const { return first()->operand(0); }
  const Shape &shape() const { return view()->type.shape; } // of a part
  const Poly &length() const { return *end; }
  int64_t columns() const { return parts.back().column + shape()[1]; }
  int64_t elements() const { // of the flat tile
    return shape()[0] * int64_t(std::bit_ceil(uint64_t(columns())));
  }
  Elem elem() const { return view()->type.elem; }
  const Poly &distance() const { return form.strides[0]; }
  int64_t vector() const { return widest_access_bytes / bytes_of(elem()); }
};

std::optional<Access> access_of(Op &op, const Function &fn) {
  if (!op.is(Opcode::load_) && !op.is(Opcode::store_))
    return std::nullopt;
  const Value *view = op.operand(0), *mask = mask_of(op);
  if (!view->type.is_view() || view->type.rank() != 2 || view->type.elem == Elem::i1 || !mask ||
      !mask->type.is_tile())
    return std::nullopt;
  std::optional<Affine> form = affine_of(view);
  std::optional<std::vector<Bound>> bounds = bounds_of(mask, 2);
  if (!form || !form->strides[1].is_constant(1) || !bounds || bounds->empty() || bounds->size() > 2)
    return std::nullopt;
  std::sort(bounds->begin(), bounds->end(),
            [](const Bound &a, const Bound &b) { return a.axis < b.axis; });
  const bool is_whole = bounds->size() == 1;
  const bool has_both = (*bounds)[0].axis == 0 && (is_whole || (*bounds)[1].axis == 1);
  Access access{{{&op, 0, is_whole}}, std::move(*form), Poly() - (*bounds)[0].before, std::nullopt};
  if (!is_whole)
    access.end = Poly() - (*bounds)[1].before;
  const bool is_narrow = vector_elements(view, nullptr, fn) < access.vector();
  const bool has_vectors = access.shape()[0] >= access.vector();
  if (!has_both || !is_narrow || !has_vectors || !host_knows(access.distance()) ||
      (access.end && !host_knows(*access.end)))
    return std::nullopt;
  return access;
}

// Whether `next` is of the columns after those of `access`. If so, adds it.
bool append(Access &access, const Access &next) {
  const int64_t column = access.columns();
  const bool is_next = next.first()->is(access.first()->code) &&
                       next.form.base == access.form.base &&
                       (next.form.offset - access.form.offset).is_constant(column) &&
                       next.form.strides == access.form.strides && next.shape() == access.shape() &&
                       next.elem() == access.elem() && next.rows == access.rows && !access.end;
  if (!is_next)
    return false;
  access.parts.push_back({next.first(), column, next.parts[0].is_whole});
  if (next.end)
    access.end = *next.end + Poly::constant(column);
  return true;
}

class Joining {
public:
  explicit Joining(Function &fn) : fn_(fn) {}

  bool run() {
    for (Op *op : fn_.body->ops)
      if (std::optional<Access> access = access_of(*op, fn_))
        if (std::none_of(accesses_.begin(), accesses_.end(), [&](Access &other) {
              return is_free_between(other, *op) && append(other, *access);
            }))
          accesses_.push_back(std::move(*access));
    std::erase_if(accesses_,
                  [&](const Access &access) { return !access.end || !max_length(access); });
    if (accesses_.empty() || !are_apart())
      return false;
    for (const Access &access : accesses_)
      require(access);
    join_loads(first_loads());
    for (const Access &access : accesses_)
      if (access.is_load())
        join_loads({&access});
      else
        join_store(access);
    return true;
  }

private:
  // --- Which accesses ---

  bool is_joined(const Op &op) const {
    return std::any_of(accesses_.begin(), accesses_.end(), [&](const Access &access) {
      return std::any_of(access.parts.begin(), access.parts.end(),
                         [&](const Part &part) { return part.op == &op; });
    });
  }

  // Whether the parts of `access` may be accessed together with those of `next`: operations between
  // them are to other elements, or stores that come after all of these, too.
  bool is_free_between(const Access &access, const Op &next) {
    bool is_free = true;
    for (size_t i = fn_.body->position_of(access.last()) + 1; fn_.body->ops[i] != &next; i++)
      for_each_op_in(*fn_.body->ops[i], [&](const Op &op) {
        const Effect effect = info(op.code).effect;
        if (effect == Effect::sync)
          is_free = false;
        if (effect != Effect::write && (effect != Effect::read || access.is_load()))
          return;
        const Overlap overlap = overlap_of(fn_, op, next);
        const bool are_stores = op.is(Opcode::store_) && next.is(Opcode::store_);
        is_free &= overlap == Overlap::none || (are_stores && overlap == Overlap::same_index);
      });
    return is_free;
  }

  // Whether no other access is to the same elements, so that its order with the joined accesses
  // does not matter, or is given.
  bool are_apart() {
    bool is_apart = true;
    for (size_t i = 0; i < fn_.body->ops.size(); i++)
      for_each_op_in(*fn_.body->ops[i], [&](const Op &op) {
        const Effect effect = info(op.code).effect;
        if ((effect != Effect::read && effect != Effect::write) || is_joined(op))
          return;
        for (const Access &access : accesses_) {
          const bool only_reads = effect == Effect::read && access.is_load();
          const bool is_ordered = effect == Effect::read && !access.is_load() &&
                                  i < fn_.body->position_of(access.first());
          is_apart &=
              only_reads || is_ordered || overlap_of(fn_, op, *access.first()) == Overlap::none;
        }
      });
    return is_apart;
  }

  template <typename Visit> static void for_each_op_in(Op &op, Visit visit) {
    visit(op);
    for (Block *block : op.blocks)
      for_each_op(*block, visit);
  }

  // --- The place of the rows ---

  int64_t alignment_of(const Value *base) const {
    for (const Parameter &parameter : fn_.parameters)
      if (parameter.value == base)
        return parameter.aligned_bytes;
    return 1;
  }

  bool starts_aligned(const Access &access) const {
    return alignment_of(access.form.base) % widest_access_bytes == 0 &&
           divisor_of(access.form.offset, fn_) % access.vector() == 0;
  }

  // The maximum length of rows that the flat tile has room for, after elements of the first vector.
  int64_t max_length(const Access &access) const {
    const int64_t room = access.elements() / access.shape()[0] - !starts_aligned(access);
    return std::min(access.columns(), room);
  }

  void require(const Access &access) {
    Builder builder = Builder::before(fn_, access.first());
    builder.set_location(access.first()->location);
    auto require_equal = [&](Value *a, Value *b) {
      builder.create(Opcode::launch_requires_, {a, b})
          ->set(attr::text_, "rows follow one another without a gap");
    };
    auto is_new = [&](const std::pair<Poly, Poly> &condition) {
      const bool found = std::any_of(required_.begin(), required_.end(),
                                     [&](const auto &other) { return other == condition; });
      required_.push_back(condition);
      return !found;
    };
    Value *length = builder.cast(emit(builder, access.length()), Elem::i32);
    if (!(access.distance() == access.length()) && is_new({access.distance(), access.length()}))
      require_equal(builder.cast(emit(builder, access.distance()), Elem::i32), length);
    if (is_new({access.length(), Poly::constant(max_length(access))})) {
      Value *most = builder.i32(max_length(access));
      require_equal(builder.binary(Opcode::max_, length, most), most);
    }
  }

  // --- Flat tiles ---

  // A part of the range that single elements move. A tile [1, V] in shared memory.
  struct Rest {
    Value *view, *mask, *length, *first; // i32: its elements, and the place of the first
  };

  // The range of an access.
  struct Range {
    Value *view, *mask; // of the flat tile: whole vectors
    std::vector<Rest> rests;
    Value *length, *first; // i32: elements of a row; before the first row in the flat tile
    Type type;             // of the flat tile
  };

  static Value *at_least_zero(Builder &builder, Value *value) {
    return builder.binary(Opcode::max_, value, builder.i64(0));
  }

  Rest rest(Builder &builder, const Access &access, Value *start, Value *at, Value *count) {
    const Shape shape = {1, access.vector()};
    Value *one = builder.i64(1), *length = builder.cast(count, Elem::i32);
    Value *index = builder.range(0, access.vector());
    Value *mask = builder.cmp("lt", index, builder.splat(length, {access.vector()}));
    Value *view =
        builder
            .create(Opcode::view_,
                    {const_cast<Value *>(access.form.base), builder.add(start, at), one, one},
                    {Type::view(access.elem(), shape)})
            ->result();
    return {view, builder.expand(mask, 0), length, builder.cast(at, Elem::i32)};
  }

  Range range(Builder &builder, const Access &access) {
    const int64_t vector = access.vector();
    const Shape shape = {access.elements()};
    auto *base = const_cast<Value *>(access.form.base);
    Value *most = builder.i64(access.shape()[0]), *length = emit(builder, access.length());
    Value *rows = builder.binary(Opcode::min_, emit(builder, access.rows), most);
    Value *end = at_least_zero(builder, builder.mul(rows, length)); // in the flat tile
    Value *start = emit(builder, access.form.offset);               // of the flat tile in memory
    Value *first = builder.i64(0), *before = nullptr;
    auto whole = [&](Value *value) {
      return builder.binary(Opcode::and_, value, builder.i64(-vector));
    };
    auto compare = [&](const char *pred, Value *limit) {
      Value *index = builder.range(0, shape[0]);
      return builder.cmp(pred, index, builder.splat(builder.cast(limit, Elem::i32), shape));
    };
    Range range{.view = nullptr,
                .mask = nullptr,
                .length = builder.cast(length, Elem::i32),
                .first = nullptr,
                .type = Type::tile(access.elem(), shape)};
    if (!starts_aligned(access)) {
      const int shift = std::countr_zero(uint64_t(bytes_of(access.elem())));
      Value *address =
          builder.create(Opcode::bitcast_, {base}, {Type::scalar(Elem::i64)})->result();
      Value *elements = builder.binary(Opcode::ushr_, address, builder.i64(shift));
      first = builder.add(elements, start);
      first = builder.binary(Opcode::and_, first, builder.i64(vector - 1));
      start = builder.sub(start, first);
      end = builder.add(end, first);
      before = whole(builder.add(first, builder.i64(vector - 1)));
      Value *until = builder.binary(Opcode::min_, before, end);
      range.rests.push_back(rest(builder, access, start, first, builder.sub(until, first)));
    }
    Value *after = whole(end);
    range.mask = compare("lt", after);
    if (before) {
      range.mask = builder.binary(Opcode::and_, compare("ge", before), range.mask);
      after = builder.binary(Opcode::max_, after, builder.binary(Opcode::min_, before, end));
    }
    range.rests.push_back(rest(builder, access, start, after, builder.sub(end, after)));
    range.first = builder.cast(first, Elem::i32);
    Op *view = builder.create(Opcode::view_, {base, start, builder.i64(1)},
                              {Type::view(access.elem(), shape)});
    if (before) // the compiler cannot see that it is aligned
      view->set(attr::ragged_, vector);
    view->result()->name = access.view()->name;
    range.view = view->result();
    return range;
  }

  static Value *buffer(Builder &builder, const Range &range) {
    const Shape &shape = range.type.shape;
    Type type = Type::shared(range.type.elem, {1, shape[0]}).with_layout(row_major_layout(shape));
    return builder.create(Opcode::shared_alloc_, {}, {type})->result();
  }

  // --- Loads ---

  // The loads that can take the place of the first one.
  std::vector<const Access *> first_loads() const {
    std::vector<const Access *> loads;
    for (Op *op : fn_.body->ops) {
      bool may_change = false;
      for_each_op_in(*op, [&](const Op &inner) {
        const Effect effect = info(inner.code).effect;
        may_change |= effect == Effect::write || effect == Effect::sync;
      });
      if (may_change)
        break;
      for (const Access &access : accesses_)
        if (access.first() == op && is_known_at(access, loads.empty() ? op : loads[0]->first()))
          loads.push_back(&access);
    }
    return loads;
  }

  // Whether the operations that compute the range of `access` come before `op`.
  bool is_known_at(const Access &access, const Op *op) const {
    const size_t position = fn_.body->position_of(op);
    auto is_before = [&](const Value *value) {
      return !value->op || fn_.body->position_of(value->op) < position;
    };
    auto are_before = [&](const Poly &poly) {
      return std::all_of(poly.terms.begin(), poly.terms.end(), [&](const auto &term) {
        return std::all_of(term.first.begin(), term.first.end(), is_before);
      });
    };
    return is_before(access.form.base) && are_before(access.form.offset) &&
           are_before(access.rows) && are_before(access.length());
  }

  void join_loads(const std::vector<const Access *> &loads) {
    struct Joined {
      const Access *access;
      Range range;
      Value *flat;
      std::vector<Value *> rests;
      Value *buffer;
    };
    std::vector<Joined> all;
    for (const Access *access : loads)
      if (joined_.insert(access->first()).second)
        all.push_back({access, {}, nullptr, {}, nullptr});
    if (all.empty())
      return;
    Builder builder = Builder::before(fn_, all[0].access->first());
    auto load = [&](const Access &access, Value *view, Value *mask) {
      const Type type = Type::tile(access.elem(), view->type.shape);
      Op *made = builder.create(Opcode::load_, {view, mask, builder.filled(type, 0)}, {type});
      keep_cache_hint(*made, *access.first());
      return made->result();
    };
    for (Joined &one : all) {
      builder.set_location(one.access->first()->location);
      one.range = range(builder, *one.access);
      one.flat = load(*one.access, one.range.view, one.range.mask);
      for (const Rest &rest : one.range.rests)
        one.rests.push_back(load(*one.access, rest.view, rest.mask));
    }
    Value *stage = builder.i32(0);
    for (Joined &one : all) {
      one.buffer = buffer(builder, one.range);
      builder.create(Opcode::shared_store_, {one.flat, one.buffer, stage});
    }
    for (const Joined &one : all)
      for (size_t i = 0; i < one.rests.size(); i++)
        builder.create(
            Opcode::shared_store_rows_,
            {one.rests[i], one.buffer, stage, one.range.rests[i].length, one.range.rests[i].first});
    for (const Joined &one : all)
      for (const Part &part : one.access->parts) {
        Op &old = *part.op;
        Builder at = Builder::before(fn_, &old);
        at.set_location(old.location);
        Op *rows =
            at.create(Opcode::shared_load_rows_,
                      {one.buffer, stage, one.range.length, one.range.first}, {old.result()->type});
        set_place(*rows, part);
        rows->result()->name = old.result()->name;
        Value *loaded = rows->result();
        if (Value *other = old.operand_or_null(2); other && !is_zero(other))
          loaded = at.select(old.operand(1), loaded, other);
        replace_uses(*fn_.body, old.result(), loaded);
        erase(&old);
      }
  }

  static void set_place(Op &rows, const Part &part) {
    if (part.column)
      rows.set(attr::origin_, std::vector<int64_t>{0, part.column});
    if (part.is_whole)
      rows.set(attr::whole_);
  }

  void join_store(const Access &access) {
    Builder before = Builder::before(fn_, access.first());
    before.set_location(access.first()->location);
    const Range range = this->range(before, access);
    Value *rows = buffer(before, range), *stage = before.i32(0);
    for (const Part &part : access.parts) {
      Builder at = Builder::before(fn_, part.op);
      at.set_location(part.op->location);
      set_place(*at.create(Opcode::shared_store_rows_,
                           {part.op->operand(1), rows, stage, range.length, range.first}),
                part);
    }
    Builder builder = Builder::before(fn_, access.last());
    builder.set_location(access.last()->location);
    auto store = [&](Value *view, Value *value, Value *mask) {
      keep_cache_hint(*builder.store(view, value, mask), *access.first());
    };
    Op *flat = builder.create(Opcode::shared_load_, {rows, stage}, {range.type});
    flat->set(attr::perm_, std::vector<int64_t>{0});
    flat->set(attr::origin_, std::vector<int64_t>{0});
    store(range.view, flat->result(), range.mask);
    for (const Rest &rest : range.rests) {
      const Type type = Type::tile(access.elem(), rest.view->type.shape);
      Op *load =
          builder.create(Opcode::shared_load_rows_, {rows, stage, rest.length, rest.first}, {type});
      store(rest.view, load->result(), rest.mask);
    }
    for (const Part &part : access.parts)
      erase(part.op);
  }

  Function &fn_;
  std::vector<Access> accesses_;
  std::vector<std::pair<Poly, Poly>> required_; // pairs that are equal
  std::set<const Op *> joined_;                 // loads
};

} // namespace

bool try_joining_rows(Function &fn) {
  if (!Joining(fn).run())
    return false;
  remove_dead_code(fn); // the views and masks of rows
  return true;
}

void join_rows(Function &fn, const Schedule &schedule) {
  if (!schedule.joined_rows)
    return;
  [[maybe_unused]] bool is_joined = try_joining_rows(fn);
  assert(is_joined && "candidate_schedules has looked");
}

} // namespace tritonc
