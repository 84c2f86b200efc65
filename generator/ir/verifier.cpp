// Checks that a function follows the rules of tile IR. See verifier.h.
//
// Tested by tests/unit/ir/verifier_test.cpp.

#include "ir/verifier.h"
#include "ir/channels.h"
#include "ir/checks.h"
#include "ir/printer.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace tritonc::ir {
namespace {

// Returns whether the bases reach every index: the rank of the bases over GF(2) equals the number
// of index bits.
bool covers(const LinearLayout &layout) {
  std::vector<FlatIndex> bases = layout.offset;
  for (const auto *part : {&layout.reg, &layout.lane, &layout.warp})
    bases.insert(bases.end(), part->begin(), part->end());
  int bits = log2_exact(element_count(layout.shape)), rank = 0;
  for (int bit = 0; bit < bits; bit++) {
    size_t pivot = rank;
    while (pivot < bases.size() && !(bases[pivot] >> bit & 1))
      pivot++;
    if (pivot == bases.size())
      return false;
    std::swap(bases[rank], bases[pivot]);
    for (size_t i = 0; i < bases.size(); i++)
      if (i != size_t(rank) && (bases[i] >> bit & 1))
        bases[i] ^= bases[rank];
    rank++;
  }
  return true;
}

constexpr int64_t max_constant_bytes = 64 * 1024;

struct Verifier {
  const Function &fn;
  std::string errors;
  std::set<const Value *> available;
  std::set<const LinearLayout *> checked_layouts;
  const Op *current = nullptr;

  // Most rules hold, so check() prints the operation only when a rule fails.
  void check(bool holds, std::string_view rule) {
    if (!holds)
      errors += (current ? print(*current) : "@" + fn.name) + ": " + std::string(rule) + "\n";
  }

  void type(const Type &type) {
    int64_t elements = 1;
    check(type.rank() <= max_rank + type.is_shared(), "a tile has at most 5 axes");
    check(type.rank() > 0 || !type.is_shared(), "a buffer has an axis of stages");
    if (!errors.empty())
      return;
    for (const int64_t &extent : type.shape) {
      // Only axis 0 of a buffer or channel, its number of stages, may have any extent.
      bool is_stages = (type.is_shared() || type.is_channel()) && &extent == &type.shape[0];
      bool power = extent > 0 && std::has_single_bit(uint64_t(extent));
      check(power || is_stages, "extents are powers of two");
      check(extent > 0 || !is_stages, "a buffer has at least one stage");
      if (extent <= 0 || (!power && !is_stages))
        return;
      bool fits = extent <= (1 << 20) / elements;
      check(fits, "a tile has at most 2^20 elements");
      if (!fits)
        return;
      elements *= extent;
    }
    if (!type.layout)
      return;
    Shape shape = type.shape;
    if (type.is_shared())
      shape.erase(shape.begin());
    check(type.layout->shape == shape, "the layout has the shape of the tile");
    if (type.layout->shape == shape && checked_layouts.insert(type.layout.get()).second)
      check(covers(*type.layout), "the layout covers the tile");
    check(type.layout->is_shared() == type.is_shared() || element_count(shape) == 1,
          "a buffer has a shared layout, and a tile in registers a register layout");
  }

  // Checks that the parts do not overlap and fit the constant memory of a GPU.
  void constant_memory() {
    int64_t end = 0;
    for (const ConstantMemory &part : fn.constant_memory) {
      int64_t values = int64_t(part.values.size() + part.floats.size());
      check(part.count > 0 && part.count <= max_constant_bytes && values <= part.count,
            "an array of constant memory has elements, and at most as many values");
      check(part.offset >= end && part.offset <= max_constant_bytes && part.offset % 16 == 0,
            "arrays of constant memory are in order, at multiples of 16 bytes");
      check((is_float(part.elem) ? part.values.empty() : part.floats.empty()),
            "the values have the element type");
      if (!errors.empty())
        return;
      end = part.offset + part.bytes();
      check(end <= max_constant_bytes, "constant memory has at most 64 KiB");
    }
  }

  void yields(const Block &block, Opcode terminator, const std::vector<Value *> &wanted) {
    const Op *last = block.terminator();
    if (!last || !last->is(terminator))
      return check(false, "a block ends in `" + std::string(info(terminator).name) + "`");
    if (terminator != Opcode::yield_)
      return;
    check(last->operands.size() == wanted.size(), "`yield` has one operand per result");
    for (size_t i = 0; i < wanted.size() && i < last->operands.size(); i++)
      check(last->operand(i)->type == wanted[i]->type,
            "the operands of `yield` have the types of the results");
  }

  // Checks the carried values: the operands from `first` on, the block arguments from `skip` on,
  // and the results.
  void carried(const Op &op, size_t first, const Block &block, size_t skip) {
    size_t count = op.results.size();
    check(op.operands.size() == first + count && block.arguments.size() == skip + count,
          "operands, block arguments and results match the loop-carried values");
    for (size_t i = 0;
         i < count && op.operands.size() == first + count && block.arguments.size() == skip + count;
         i++)
      check(op.operand(first + i)->type == op.results[i]->type &&
                block.arguments[skip + i]->type == op.results[i]->type,
            "a loop-carried value keeps its type");
  }

  void same_types(const Op &op, size_t first) {
    for (size_t i = first; i < op.operands.size(); i++)
      check(op.operand(i)->type == op.result()->type, "operands and result have one type");
  }

  static bool same_layout(const Type &a, const Type &b) {
    if (!a.layout || !b.layout)
      return a.layout == b.layout;
    return *a.layout == *b.layout;
  }

  void equal_results(const Op &op) {
    if (op.has(attr::vector_))
      check(op.has(attr::axis_) && op.get(attr::axis_) >= 0 &&
                op.get(attr::axis_) < op.result()->type.rank() &&
                std::has_single_bit(uint64_t(op.get(attr::vector_))),
            "a group of equal results has a power of two of elements along an axis");
  }

  void elementwise(const Op &op) {
    const Type &result = op.result()->type;
    for (const Value *operand : op.operands)
      check(operand->type.shape == result.shape && same_layout(operand->type, result),
            "operands and result have one shape and layout");
  }

  // Checks that `op` only moves, repeats or combines elements.
  void keeps_elements(const Op &op) {
    const Type &from = op.operand(0)->type, &to = op.result()->type;
    check(from.kind == to.kind && from.elem == to.elem, "the element type does not change");
  }

  void expand(const Op &op) {
    Shape shape = op.operand(0)->type.shape;
    size_t axis = size_t(op.get(attr::axis_, -1));
    bool inside = axis <= shape.size();
    if (inside)
      shape.insert(shape.begin() + axis, 1);
    check(inside && shape == op.result()->type.shape,
          "the result has one more axis, of extent 1, at {axis}");
  }

  void reduce(const Op &op) {
    Shape shape = op.operand(0)->type.shape;
    size_t axis = size_t(op.get(attr::axis_, -1));
    bool inside = axis < shape.size();
    if (inside)
      shape.erase(shape.begin() + axis);
    check(inside && shape == op.result()->type.shape,
          "the result has the tile's shape without {axis}");
    combines(op);
  }

  void scan(const Op &op) {
    const Type &tile = op.operand(0)->type;
    size_t axis = size_t(op.get(attr::axis_, -1));
    check(axis < size_t(tile.rank()) && tile.shape == op.result()->type.shape,
          "the result has the tile's shape, and {axis} is one of its axes");
    combines(op);
  }

  void combines(const Op &op) {
    std::optional<Opcode> how = combining_op(op.get(attr::op_));
    check(how.has_value(), "{op} is one of add, mul, min, max, umin, umax, and, or, xor");
    bool wants_integers = how && *how >= Opcode::umin_;
    check(!wants_integers || is_integer(op.result()->type.elem),
          "umin, umax, and, or, xor require integers");
  }

  // `from`: the shape of the tile that has the gathered elements.
  void gather(const Op &op, Elem elem, const Shape &from, size_t indices) {
    const Type &at = op.operand(indices)->type, &tile = op.result()->type;
    size_t axis = size_t(op.get(attr::axis_, -1));
    check(is_integer(at.elem) && at.is_number() && at.elem != Elem::i1, "indices are integers");
    bool fits = axis < from.size() && tile.shape == at.shape && tile.rank() == int(from.size());
    for (size_t d = 0; fits && d < from.size(); d++)
      fits = d == axis || from[d] == tile.shape[d];
    check(fits && tile.elem == elem,
          "the result has the indices' shape, and the tile's extents along all axes except {axis}");
  }

  void compare(const Op &op) {
    check(op.operand(0)->type == op.operand(1)->type && op.result()->type.elem == Elem::i1,
          "compares values of one type to i1");
    static const std::set<std::string_view> known = {"eq", "ne",  "lt",  "le",  "gt",
                                                     "ge", "ult", "ule", "ugt", "uge"};
    check(known.count(op.get(attr::pred_)), "{pred} is one of eq ne lt le gt ge ult ule ugt uge");
    elementwise(op);
  }

  // Checks the buffer (operand `first`) and the stage (the next operand) of a shared memory access.
  bool buffer(const Op &op, size_t first) {
    bool shared = op.operand(first)->type.is_shared();
    check(shared, "shared memory is accessed through a buffer");
    check(op.operand(first + 1)->type == Type::scalar(Elem::i32), "a stage index is an i32");
    return shared;
  }

  void into_buffer(const Op &op) {
    const Type &tile = op.operand(0)->type;
    if (op.is(Opcode::async_copy_)) {
      check(tile.is_view() || (tile.is_tile() && tile.is_pointer()),
            "async_copy reads a view or a tile of pointers");
      check(!op.has(attr::axis_) || (tile.is_pointer() && op.get(attr::axis_) >= 0 &&
                                     op.get(attr::axis_) < tile.rank()),
            "{axis} is an axis of the pointers");
      check(op.operand(3)->type == Type::scalar(Elem::i1), "the copy condition is a scalar i1");
      if (const Value *mask = op.operand_or_null(4))
        check(mask->type.elem == Elem::i1 &&
                  (mask->type.is_scalar() || mask->type.shape == tile.shape),
              "a mask is an i1 scalar or an i1 tile of the pointers' shape");
    }
    if (!buffer(op, 1))
      return;
    const Type &into = op.operand(1)->type;
    Shape stage(into.shape.begin() + 1, into.shape.end());
    if (op.has(attr::origin_))
      return check(tile.elem == into.elem && is_part(tile.shape, stage, op.get(attr::origin_)),
                   "the tile lies inside a stage, at a multiple of its size");
    check(tile.elem == into.elem && tile.shape == stage,
          "the tile has the element type and shape of a stage");
  }

  // A part starts at multiples of its size, so its index bits and the bits of its origin are
  // disjoint.
  static bool is_part(const Shape &part, const Shape &whole, const std::vector<int64_t> &origin) {
    bool fits = origin.size() == whole.size() && part.size() == whole.size();
    for (size_t d = 0; fits && d < origin.size(); d++)
      fits = origin[d] >= 0 && origin[d] % part[d] == 0 && origin[d] <= whole[d] - part[d];
    return fits;
  }

  void from_buffer(const Op &op) {
    if (!buffer(op, 0))
      return;
    const Type &from = op.operand(0)->type, &tile = op.result()->type;
    std::vector<int64_t> perm = op.get(attr::perm_), origin = op.get(attr::origin_);
    size_t rank = tile.shape.size();
    bool fits = tile.elem == from.elem && from.shape.size() == rank + 1 && perm.size() == rank &&
                origin.size() == rank && std::set(perm.begin(), perm.end()).size() == rank;
    for (size_t d = 0; fits && d < rank; d++)
      fits = perm[d] >= 0 && size_t(perm[d]) < rank && origin[d] >= 0 &&
             origin[d] <= from.shape[size_t(perm[d]) + 1] - tile.shape[d];
    check(fits, "the tile lies inside a stage");
  }

  // `from`: the operand that is the buffer; `length`: the operand that is the length of a row.
  void rows_in_buffer(const Op &op, size_t from, const Type &tile, size_t length) {
    if (!buffer(op, from))
      return;
    const Type &stages = op.operand(from)->type;
    check(tile.is_tile() && tile.rank() == 2 && tile.elem == stages.elem && stages.rank() == 2 &&
              tile.elements() <= stages.shape[1],
          "the tile has two axes, and the element type of a stage, which has one axis and at least "
          "as "
          "many elements");
    for (size_t i : {length, length + 1})
      check(op.operand(i)->type == Type::scalar(Elem::i32),
            "the length of a row and the first element are i32");
    const std::vector<int64_t> origin = op.get(attr::origin_);
    check(!op.has(attr::origin_) || (origin.size() == 2 && origin[0] == 0 && origin[1] >= 0),
          "the {origin} is in the first row");
  }

  void cluster(const Op &op, Elem elem) {
    int64_t blocks = op.get(attr::blocks_);
    check(blocks > 1 && blocks <= 16 && std::has_single_bit(uint64_t(blocks)),
          "a cluster has 2, 4, 8 or 16 {blocks}");
    const Op *around = op.parent->parent;
    check(!around || around->is(Opcode::warp_specialize_),
          "cluster reductions are outside of loops and branches");
    check(elem == Elem::f32 || elem == Elem::i32, "a cluster reduction has f32 or i32 elements");
  }

  void cluster_load_reduce(const Op &op) {
    cluster(op, op.result()->type.elem);
    combines(op);
    if (!buffer(op, 0))
      return;
    const Type &from = op.operand(0)->type, &tile = op.result()->type;
    check(tile.elem == from.elem && Shape(from.shape.begin() + 1, from.shape.end()) == tile.shape,
          "the tile is a whole stage");
  }

  // Operand `parts` is a buffer with a stage per block, the next one a stage.
  void parts_of_cluster(const Op &op, const Type &tile, size_t parts) {
    if (!buffer(op, parts))
      return;
    Shape wanted = tile.shape;
    wanted.insert(wanted.begin(), op.get(attr::blocks_));
    const Type &type = op.operand(parts)->type;
    check(type.elem == tile.elem && type.shape == wanted, "the buffer has a tile per block");
  }

  void cluster_send(const Op &op) {
    cluster(op, op.operand(0)->type.elem);
    parts_of_cluster(op, op.operand(0)->type, 1);
    mbarrier(op, 3);
  }

  void cluster_receive(const Op &op) {
    cluster(op, op.result()->type.elem);
    combines(op);
    parts_of_cluster(op, op.result()->type, 0);
  }

  void scalars(const Op &op, size_t first, Elem elem, const char *rule) {
    for (size_t i = first; i < op.operands.size(); i++)
      check(op.operand(i)->type == Type::scalar(elem), rule);
  }

  // Checks that a TMA copy through map $0 moves `tile` in whole boxes. The map may have axes before
  // those of the tile. The coordinates start at operand `first`.
  void mapped(const Op &op, const Shape &tile, Elem elem, size_t first) {
    const Op *made = op.operand(0)->op;
    check(made && made->is(Opcode::tensor_map_), "a tensor map is a result of `tensor_map`");
    if (!errors.empty())
      return;
    const Type &map = op.operand(0)->type;
    check(map.is_map() && map.elem == elem && map.shape.size() >= tile.size(),
          "the map has the element type of the tile, and at least its rank");
    if (!errors.empty())
      return;
    const size_t outer = map.shape.size() - tile.size();
    for (size_t d = 0; d < map.shape.size(); d++)
      check((d < outer ? 1 : tile[d - outer]) % map.shape[d] == 0,
            "a tile consists of whole boxes of the map");
    size_t end = first + map.shape.size();
    const bool is_predicated = op.has(attr::predicated_);
    check(op.operands.size() == end + is_predicated,
          is_predicated ? "one coordinate per axis, then the limit" : "one coordinate per axis");
    if (is_predicated && errors.empty()) {
      check(op.get(attr::predicated_) >= 0 && size_t(op.get(attr::predicated_)) < map.shape.size(),
            "{predicated} is an axis of the map");
      scalars(op, end, Elem::i32, "a limit is an i32");
    }
    for (size_t i = first; i < std::min(end, op.operands.size()); i++)
      check(op.operand(i)->type == Type::scalar(Elem::i32), "coordinates are i32");
  }

  // The host runs these operations once, before the launch.
  void on_host(const Op &op) {
    check(op.parent->parent == nullptr, "a host operation is at the top level of a function");
  }

  void launch_blocks(const Op &op) {
    on_host(op);
    for (const Op *other : op.parent->ops)
      check(other == &op || !other->is(Opcode::launch_blocks_),
            "a function has at most one `launch_blocks`");
    check(op.get(attr::cluster_, 1) > 0, "{cluster} is positive");
    scalars(op, 0, Elem::i32, "numbers of blocks are i32");
  }

  void launch_warps(const Op &op) {
    on_host(op);
    for (const Op *other : op.parent->ops)
      check(other == &op || !(other->is(Opcode::launch_blocks_) || other->is(op.code)),
            "a function has at most one `launch_warps`, and no `launch_blocks` beside it");
    check(op.get(attr::programs_) > 1, "{programs} is more than one");
    scalars(op, 0, Elem::i32, "the number of programs is an i32");
    const Op *programs = op.operand(0)->op;
    check(programs && programs->is(Opcode::host_value_), "the number of programs is a host_value");
  }

  void tensor_map(const Op &op) {
    on_host(op);
    const Type &map = op.result()->type;
    check(map.is_map() && op.operand(0)->type == Type::pointer(map.elem),
          "the base of a map is a scalar pointer to its element type");
    check(op.operands.size() == 2 + 2 * map.shape.size(), "one size and one stride per axis");
    scalars(op, 1, Elem::i64, "offset, sizes and strides are i64");
    bool has_neighbors = false;
    for (size_t d = 2 + map.shape.size(); d < op.operands.size(); d++)
      has_neighbors |= constant_of(op.operand(d)) == 1;
    check(has_neighbors, "one stride is the constant 1");
    int64_t swizzle = op.get(attr::swizzle_);
    check(swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128,
          "{swizzle} is 0, 32, 64 or 128");
  }

  void tma_prefetch(const Op &op) {
    const Value *map = op.operand(0);
    check(map->op && map->op->is(Opcode::tensor_map_), "a tensor map is a result of `tensor_map`");
  }

  void tma_load_async(const Op &op) {
    const Value *buffers = op.operand(1), *channel = op.operand(3);
    if (!buffer(op, 1) || !(channel->type.is_channel() || mbarrier(op, 3)))
      return;
    if (channel->type.is_channel())
      check(channel_of(op, 3) && is_operand(*channel->op, buffers) &&
                op.operand(2) == op.operand(4) && op.operand(2)->op &&
                op.operand(2)->op->is(Opcode::put_) && op.operand(2)->op->operand(0) == channel,
            "copies to a channel go to a stage of its buffers that was put");
    const Type &into = buffers->type;
    mapped(op, Shape(into.shape.begin() + 1, into.shape.end()), into.elem, 5);
  }

  void partial(const Op &op) {
    const Type &tile = op.operand(1)->type;
    check(tile.is_tile() && tile.is_number() && op.operand(0)->type == Type::pointer(tile.elem),
          "a partial is a tile of numbers, at a scalar pointer to its element type");
    check(!tile.layout || tile.elements() == int64_t(tile.layout->registers()) * 32 * fn.warps,
          "each element of a partial is in one thread");
    if (op.is(Opcode::add_partial_))
      check(op.result()->type == tile, "the sum has the type of the tile");
  }

  void extract(const Op &op) {
    const Type &from = op.operand(0)->type, &to = op.result()->type;
    check(from.elem == to.elem && from.kind == to.kind &&
              is_part(to.shape, from.shape, op.get(attr::origin_)),
          "the part lies inside the tile, at a multiple of its size");
  }

  bool mbarrier(const Op &op, size_t first) {
    const Value *barriers = op.operand(first);
    bool is_array = barriers->op && barriers->op->is(Opcode::mbarriers_);
    check(is_array, "mbarriers are a result of `mbarriers`");
    check(op.operand(first + 1)->type == Type::scalar(Elem::i32), "a stage index is an i32");
    return is_array;
  }

  // The verifier looks at it before it looks at the partitions.
  void partitions(const Op &op) {
    check(op.parent->parent == nullptr, "`warp_specialize` is at the top level of a function");
    const std::vector<int64_t> warps = op.get(attr::warps_), groups = op.get(attr::groups_);
    bool fits = warps.size() == op.blocks.size();
    for (const auto &list : {groups, op.get(attr::one_thread_), op.get(attr::registers_)})
      fits &= list.empty() || list.size() == op.blocks.size();
    check(fits, "{warps} and the other lists have one number per partition");
    int64_t all = 0;
    for (size_t i = 0; fits && i < warps.size(); i++) {
      const int64_t many = groups.empty() ? 1 : groups[i];
      check(warps[i] > 0 && many > 0, "a partition has warps, and groups");
      all += warps[i] * many;
    }
    check(all <= 32, "a block has at most 32 warps");
  }

  bool channel_of(const Op &op, size_t operand) {
    const Op *made = op.operand(operand)->op;
    check(made && made->is(Opcode::channel_), "a channel is a result of `channel`");
    return made && made->is(Opcode::channel_);
  }

  static bool is_operand(const Op &op, const Value *value) {
    return std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  }

  void channel(const Op &op) {
    const Type &type = op.result()->type;
    check(type.is_channel() && type.rank() == 1, "the result is a channel");
    for (const Value *buffer : op.operands)
      check(buffer->type.is_shared() && type.is_channel() && buffer->type.shape[0] == type.shape[0],
            "the buffers of a channel have its stages");
  }

  void channel_op(const Op &op) {
    channel_of(op, 0);
    check(op.operand(1)->type == Type::scalar(Elem::i32), "a number is an i32");
    check(op.results.empty() || op.result()->type == Type::scalar(Elem::i32),
          "the index of a stage is an i32");
    check(partition_of(op).has_value(), "a partition puts or gets");
  }

  void wgmma_ss(const Op &op) {
    if (!buffer(op, 0) || !buffer(op, 2))
      return;
    const Type &accumulator = op.result()->type;
    check(op.operand(4)->type == accumulator, "the accumulator has the type of the result");
    if (const Value *adds = op.operand_or_null(5))
      check(adds->type == Type::scalar(Elem::i1), "the accumulate condition is a scalar i1");
    std::vector<int64_t> perms = op.get(attr::perms_);
    check(perms.size() == 4 && accumulator.rank() == 2 && op.operand(0)->type.rank() == 3 &&
              op.operand(2)->type.rank() == 3,
          "[M,K] times [K,N] plus [M,N]");
    check(op.operand(0)->type.elem == op.operand(2)->type.elem,
          "both operands have one element type");
    if (!errors.empty())
      return;
    auto extent = [&](int operand, int axis) {
      return op.operand(size_t(2 * operand))
          ->type.shape[size_t(1 + perms[size_t(2 * operand + axis)])];
    };
    auto permutes = [&](int64_t first, int64_t second) {
      return (first == 0 && second == 1) || (first == 1 && second == 0);
    };
    check(permutes(perms[0], perms[1]) && permutes(perms[2], perms[3]),
          "{perms} permutes the axes of each operand");
    if (errors.empty())
      check(extent(0, 0) == accumulator.shape[0] && extent(0, 1) == extent(1, 0) &&
                extent(1, 1) == accumulator.shape[1],
            "[M,K] times [K,N] plus [M,N]");
  }

  void wgmma_rs(const Op &op) {
    if (!buffer(op, 1))
      return;
    const Type &fragment = op.operand(0)->type, &from = op.operand(1)->type;
    const Type &accumulator = op.result()->type;
    check(op.operand(3)->type == accumulator, "the accumulator has the type of the result");
    if (const Value *adds = op.operand_or_null(4))
      check(adds->type == Type::scalar(Elem::i1), "the accumulate condition is a scalar i1");
    check(fragment.elem == from.elem, "both operands have one element type");
    std::vector<int64_t> perm = op.get(attr::perm_), origin = op.get(attr::origin_);
    check(perm == std::vector<int64_t>{0, 1} || perm == std::vector<int64_t>{1, 0},
          "{perm} permutes the axes of the operand");
    check(fragment.is_tile() && fragment.rank() == 2 && from.rank() == 3 &&
              accumulator.rank() == 2 && origin.size() == 2,
          "[M,K] times [K,N] plus [M,N]");
    if (!errors.empty())
      return;
    auto extent = [&](size_t axis) { return from.shape[size_t(1 + perm[axis])]; };
    check(fragment.shape[0] == accumulator.shape[0] && extent(1) == accumulator.shape[1],
          "[M,K] times [K,N] plus [M,N]");
    check(origin[0] >= 0 && origin[0] <= extent(0) - fragment.shape[1] && origin[1] == 0,
          "the part lies inside the stage");
  }

  void memory(const Op &op, size_t value_operands) {
    const Type &pointers = op.operand(0)->type;
    check(pointers.is_pointer() || pointers.is_view(), "memory is accessed through pointers");
    size_t mask = 1 + value_operands;
    if (const Value *m = op.operand_or_null(mask))
      check(m->type.elem == Elem::i1 && (m->type.is_scalar() || m->type.shape == pointers.shape),
            "a mask is an i1 scalar or an i1 tile of the pointers' shape");
    static const std::set<std::string_view> hints = {
        "", "cg", "cs", "no_allocate", "evict_first", "evict_last"};
    std::string_view hint = op.get(attr::cache_);
    check(hints.count(hint) || hint == (op.is(Opcode::store_) ? "wt" : "cv"),
          "{cache} is one of cg, cs, no_allocate, evict_first, evict_last, cv (loads), wt "
          "(stores)");
    const Type &value = op.results.empty() ? op.operand(1)->type : op.result()->type;
    check(value.elem == pointers.elem && value.shape == pointers.shape && value.is_number(),
          "the value has the pointers' shape and element type");
    check(!op.has(attr::axis_) || (pointers.is_pointer() && op.get(attr::axis_) >= 0 &&
                                   op.get(attr::axis_) < pointers.rank()),
          "{axis} is an axis of the pointers");
    if (op.is(Opcode::load_) && op.operands.size() == 3)
      check(op.operand(2)->type == value,
            "the value of masked-off elements has the type of the result");
  }

  void atomic(const Op &op) {
    size_t values = op.is(Opcode::atomic_cas_) ? 2 : 1;
    memory(op, values);
    for (size_t i = 1; i <= values; i++)
      check(op.operand(i)->type == op.result()->type, "the values have the type of the result");
    if (op.is(Opcode::atomic_cas_))
      return;
    std::optional<Opcode> how = combining_op(op.get(attr::op_));
    check((how && *how != Opcode::mul_) || op.get(attr::op_) == "exchange",
          "{op} is one of add, min, max, umin, umax, and, or, xor, exchange");
  }

  void broadcast(const Op &op) {
    const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
    bool fits = from.size() == to.size();
    for (size_t d = 0; fits && d < from.size(); d++)
      fits = from[d] == to[d] || from[d] == 1;
    check(fits, "only axes of extent 1 are broadcast");
  }

  void dot(const Op &op) {
    const Shape &a = op.operand(0)->type.shape, &b = op.operand(1)->type.shape;
    const Shape &c = op.operand(2)->type.shape;
    check(a.size() == 2 && b.size() == 2 && c.size() == 2 && a[1] == b[0] && a[0] == c[0] &&
              b[1] == c[1],
          "[M,K] times [K,N] plus [M,N]");
    check(op.operand(0)->type.elem == op.operand(1)->type.elem,
          "both operands have one element type");
    check(op.operand(2)->type == op.result()->type, "the accumulator has the type of the result");
  }

  void trans(const Op &op) {
    std::vector<int64_t> perm = op.get(attr::perm_);
    const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
    std::vector<int64_t> axes(from.size());
    std::iota(axes.begin(), axes.end(), 0);
    bool fits = !from.empty() && to.size() == from.size() &&
                std::is_permutation(perm.begin(), perm.end(), axes.begin(), axes.end());
    for (size_t d = 0; fits && d < perm.size(); d++)
      fits = to[d] == from[perm[d]];
    check(fits, "{perm} permutes the axes");
  }

  // Returns whether the value has the type of its row in attributes.def.
  static bool has_its_type(AttributeName name, const Attribute &attribute) {
    switch (name) {
#define ATTRIBUTE(name, type, text)                                                                \
  case AttributeName::name##_:                                                                     \
    return std::holds_alternative<type>(attribute);
#include "ir/attributes.def"
    }
    return false;
  }

  // Checks that the attributes of `op` match its row in ops.def.
  void attributes(const Op &op) {
    std::string_view column = info(op.code).attributes;
    std::set<std::string_view> known;
    while (!column.empty()) {
      size_t end = std::min(column.find(' '), column.size());
      std::string_view name = column.substr(0, end);
      column.remove_prefix(std::min(end + 1, column.size()));
      bool is_optional = name.ends_with('?');
      if (is_optional)
        name.remove_suffix(1);
      known.insert(name);
      bool is_there = std::any_of(op.attributes.begin(), op.attributes.end(),
                                  [&](const auto &entry) { return name_of(entry.first) == name; });
      check(is_optional || is_there, "{" + std::string(name) + "} is missing");
    }
    for (const auto &[name, attribute] : op.attributes) {
      check(known.count(name_of(name)), "unknown attribute {" + std::string(name_of(name)) + "}");
      check(has_its_type(name, attribute), "an attribute has the type that attributes.def says");
    }
  }

  void operation(const Op &op) {
    attributes(op);
    if (!errors.empty())
      return;
    switch (op.code) {
    case Opcode::constant_:
      return check(
          op.result()->type.is_scalar() &&
              (is_float(op.result()->type.elem) ? op.has(attr::number_) : op.has(attr::value_)),
          "an integer has {value}, a floating-point constant {number}");
    case Opcode::program_id_:
    case Opcode::num_programs_:
      return check(op.result()->type == Type::scalar(Elem::i32) && op.get(attr::axis_, -1) >= 0 &&
                       op.get(attr::axis_) <= 2,
                   "the result is an i32, and {axis} is 0, 1 or 2");
    case Opcode::block_id_:
    case Opcode::num_blocks_:
      return check(op.result()->type == Type::scalar(Elem::i32) && op.get(attr::axis_, -1) >= 0 &&
                       op.get(attr::axis_) <= 2,
                   "the result is an i32, and {axis} is 0, 1 or 2");
    case Opcode::num_sms_:
      return check(op.result()->type == Type::scalar(Elem::i32), "the result is an i32");
    case Opcode::host_value_:
      on_host(op);
      same_types(op, 0);
      return check(op.result()->type == Type::scalar(Elem::i32) ||
                       op.result()->type == Type::scalar(Elem::i64),
                   "the host computes i32 and i64");
    case Opcode::tensor_map_:
      return tensor_map(op);
    case Opcode::workspace_:
      on_host(op);
      scalars(op, 0, Elem::i64, "a number of bytes is an i64");
      return check(op.result()->type.is_scalar() && op.result()->type.is_pointer(),
                   "the result is a scalar pointer");
    case Opcode::launch_blocks_:
      return launch_blocks(op);
    case Opcode::launch_warps_:
      return launch_warps(op);
    case Opcode::launch_requires_:
      on_host(op);
      return check(op.operand(0)->type.is_scalar() && op.operand(0)->type.is_number() &&
                       is_integer(op.operand(0)->type.elem) &&
                       op.operand(0)->type == op.operand(1)->type,
                   "both sides of a requirement are integers of one type");
    case Opcode::range_:
      return check(
          op.result()->type.same_but_layout(Type::tile(Elem::i32, {op.result()->type.elements()})),
          "a range is an i32 tile of one axis");
    case Opcode::in_bounds_:
      scalars(op, 0, Elem::i64, "limits are i64");
      return check(op.result()->type.elem == Elem::i1 && op.result()->type.is_tile() &&
                       op.operands.size() == size_t(op.result()->type.rank()),
                   "an i1 tile with one limit per axis");
    case Opcode::no_hoist_:
      same_types(op, 0);
      return check(op.result()->type == Type::scalar(Elem::i32) ||
                       op.result()->type == Type::scalar(Elem::i64),
                   "`no_hoist` takes an i32 or i64");
    case Opcode::splat_:
      keeps_elements(op);
      return check(op.operand(0)->type.is_scalar(), "only a scalar is splat");
    case Opcode::expand_:
      keeps_elements(op);
      return expand(op);
    case Opcode::broadcast_:
      keeps_elements(op);
      return broadcast(op);
    case Opcode::trans_:
      keeps_elements(op);
      return trans(op);
    case Opcode::reshape_:
      keeps_elements(op);
      return check(op.result()->type.elements() == op.operand(0)->type.elements(),
                   "the number of elements does not change");
    case Opcode::extract_:
      return extract(op);
    case Opcode::cmp_:
      equal_results(op);
      return compare(op);
    case Opcode::select_:
      check(op.operand(0)->type.elem == Elem::i1 &&
                (op.operand(0)->type.is_scalar() ||
                 op.operand(0)->type.shape == op.result()->type.shape),
            "the condition is i1, a scalar or of the result's shape");
      return same_types(op, 1);
    case Opcode::cast_:
    case Opcode::bitcast_:
      return elementwise(op);
    case Opcode::funnel_shift_: {
      const Type &tile = op.result()->type;
      check(tile.rank() == 1 && op.operand(2)->type == Type::scalar(Elem::i32) &&
                std::has_single_bit(uint64_t(op.get(attr::vector_))) &&
                tile.elements() % op.get(attr::vector_) == 0,
            "tiles of one axis, in groups of a power of two of elements, and an i32");
      check(op.operand(0)->type == tile && op.operand(1)->type == tile,
            "both tiles have the type of the result");
      return;
    }
    case Opcode::addptr_:
      check(op.operand(0)->type == op.result()->type && op.result()->type.is_pointer() &&
                is_integer(op.operand(1)->type.elem),
            "the offset is an integer, and the result has the type of the pointer");
      return elementwise(op);
    case Opcode::view_:
      check(op.operand(0)->type == Type::pointer(op.result()->type.elem),
            "the base of a view is a scalar pointer to its element type");
      check(op.operands.size() == 2 + size_t(op.result()->type.rank()), "one stride per axis");
      for (size_t i = 1; i < op.operands.size(); i++)
        check(op.operand(i)->type == Type::scalar(Elem::i64), "offset and strides are i64");
      return;
    case Opcode::load_:
      return memory(op, 0);
    case Opcode::store_:
      return memory(op, 1);
    case Opcode::constant_load_:
      check(!fn.constant_memory.empty(), "only a function with constant memory reads it");
      check(op.operand(0)->type.is_number() && op.operand(0)->type.elem == Elem::i32 &&
                op.result()->type.is_number(),
            "offsets are i32, and the elements are numbers");
      return elementwise(op);
    case Opcode::atomic_:
    case Opcode::atomic_cas_:
      return atomic(op);
    case Opcode::tma_load_: {
      const Type &tile = op.result()->type;
      return mapped(op, tile.shape, tile.elem, 1);
    }
    case Opcode::tma_store_: {
      const Type &tile = op.operand(1)->type;
      return mapped(op, tile.shape, tile.elem, 2);
    }
    case Opcode::dot_:
      return dot(op);
    case Opcode::reduce_:
      keeps_elements(op);
      return reduce(op);
    case Opcode::scan_:
      keeps_elements(op);
      return scan(op);
    case Opcode::gather_:
      keeps_elements(op);
      return gather(op, op.operand(0)->type.elem, op.operand(0)->type.shape, 1);
    case Opcode::shared_gather_: {
      if (!buffer(op, 0))
        return;
      const Type &from = op.operand(0)->type;
      return gather(op, from.elem, Shape(from.shape.begin() + 1, from.shape.end()), 2);
    }
    case Opcode::while_loop_:
      carried(op, 0, *op.blocks[0], 0);
      carried(op, 0, *op.blocks[1], 0);
      yields(*op.blocks[0], Opcode::condition_, {});
      return yields(*op.blocks[1], Opcode::yield_, op.results);
    case Opcode::for_loop_:
      check(op.operand(0)->type == Type::scalar(Elem::i32), "the number of iterations is an i32");
      check(!op.blocks[0]->arguments.empty() &&
                op.blocks[0]->arguments[0]->type == Type::scalar(Elem::i32),
            "the induction variable is an i32");
      carried(op, 1, *op.blocks[0], 1);
      return yields(*op.blocks[0], Opcode::yield_, op.results);
    case Opcode::if_else_:
      check(op.operand(0)->type == Type::scalar(Elem::i1), "the condition is a scalar i1");
      yields(*op.blocks[0], Opcode::yield_, op.results);
      return yields(*op.blocks[1], Opcode::yield_, op.results);
    case Opcode::condition_:
      return check(op.operand(0)->type == Type::scalar(Elem::i1), "the condition is a scalar i1");
    case Opcode::print_:
      for (const Value *operand : op.operands)
        check(operand->type.is_number(), "only numbers are printed");
      return check(op.has(attr::text_) && places_in(op.get(attr::text_)) == op.operands.size(),
                   "{text} has one placeholder per operand");
    case Opcode::assert_:
      check(op.has(attr::text_), "an assertion has a {text}");
      return check(op.operand(0)->type.is_number() && op.operand(0)->type.elem == Elem::i1,
                   "the asserted condition is i1");
    case Opcode::shared_alloc_:
      if (!op.operands.empty())
        check(op.operand(0)->type == Type::scalar(Elem::i32), "the number of stages is an i32");
      return check(op.result()->type.is_shared(), "the result is a buffer");
    case Opcode::stage_index_:
      return check(op.get(attr::stages_) > 0, "{stages} is positive");
    case Opcode::shared_store_:
    case Opcode::async_copy_:
      return into_buffer(op);
    case Opcode::shared_load_:
      return from_buffer(op);
    case Opcode::shared_load_rows_:
      return rows_in_buffer(op, 0, op.result()->type, 2);
    case Opcode::shared_store_rows_:
      return rows_in_buffer(op, 1, op.operand(0)->type, 3);
    case Opcode::cluster_load_reduce_:
      return cluster_load_reduce(op);
    case Opcode::cluster_send_:
      return cluster_send(op);
    case Opcode::cluster_receive_:
      return cluster_receive(op);
    case Opcode::cluster_reduce_:
      cluster(op, op.result()->type.elem);
      combines(op);
      return check(op.operand(0)->type.same_but_layout(op.result()->type),
                   "only the layout changes");
    case Opcode::warp_specialize_:
      check(op.results.empty(), "`warp_specialize` has no results");
      for (const Block *partition : op.blocks)
        yields(*partition, Opcode::yield_, {});
      return;
    case Opcode::consumer_group_id_: {
      return check(partition_of(op) && op.result()->type == Type::scalar(Elem::i32),
                   "`consumer_group_id` is in a partition");
    }
    case Opcode::channel_:
      return channel(op);
    case Opcode::put_:
    case Opcode::put_done_:
    case Opcode::get_:
    case Opcode::get_done_:
      return channel_op(op);
    case Opcode::mbarriers_: {
      const Type &array = op.result()->type;
      return check(array.is_shared() && array.elem == Elem::i64 &&
                       array.elements() == array.shape[0] && op.get(attr::arrivals_) > 0,
                   "mbarriers are i64, and {arrivals} is positive");
    }
    case Opcode::stage_phase_:
      return check(op.get(attr::stages_) > 0, "{stages} is positive");
    case Opcode::mbarrier_wait_:
      mbarrier(op, 0);
      return check(op.operand(2)->type == Type::scalar(Elem::i32), "a parity is an i32");
    case Opcode::mbarrier_arrive_:
      mbarrier(op, 0);
      return;
    case Opcode::tma_load_async_:
      return tma_load_async(op);
    case Opcode::tma_prefetch_:
      return tma_prefetch(op);
    case Opcode::tma_store_async_: {
      if (!buffer(op, 1))
        return;
      const Type &from = op.operand(1)->type;
      return mapped(op, Shape(from.shape.begin() + 1, from.shape.end()), from.elem, 3);
    }
    case Opcode::wgmma_ss_:
      return wgmma_ss(op);
    case Opcode::wgmma_rs_:
      return wgmma_rs(op);
    case Opcode::wgmma_wait_:
      return same_types(op, 0);
    case Opcode::store_partial_:
    case Opcode::add_partial_:
      return partial(op);
    case Opcode::signal_:
    case Opcode::wait_signal_:
      return check(op.operand(0)->type.is_scalar() && op.operand(0)->type.is_pointer(),
                   "a signal is at a scalar pointer");
    case Opcode::convert_layout_:
      return check(op.operand(0)->type.same_but_layout(op.result()->type),
                   "only the layout changes");
    default:
      break;
    }
    bool arithmetic = op.code >= Opcode::add_ && op.code <= Opcode::copy_;
    if (!arithmetic)
      return;
    const bool has_reciprocal =
        op.code >= Opcode::div_ && op.code <= Opcode::urem_ && op.operands.size() == 3;
    for (size_t i = 0; i < op.operands.size() - size_t(has_reciprocal); i++)
      check(op.operand(i)->type == op.result()->type, "operands and result have one type");
    check(!has_reciprocal || (op.operand(2)->type == Type::scalar(Elem::i64) &&
                              op.result()->type.elem == Elem::i32),
          "a division of i32 has a reciprocal, an i64");
    equal_results(op);
    check(op.is(Opcode::copy_) || op.result()->type.is_number(), "arithmetic requires numbers");
  }

  // Loops and branches may have any number of results.
  static bool right_results(const Op &op) {
    switch (info(op.code).effect) {
    case Effect::write:
      return op.results.size() == (op.is_atomic() ? 1 : 0);
    case Effect::sync:
      return op.results.size() == size_t(op.is(Opcode::put_) || op.is(Opcode::get_));
    case Effect::shared_write:
    case Effect::io:
    case Effect::host:
      return op.results.empty();
    case Effect::control:
      return !op.blocks.empty() || op.results.empty();
    default:
      return op.results.size() == 1;
    }
  }

  void block(const Block &block) {
    std::vector<const Value *> here(block.arguments.begin(), block.arguments.end());
    available.insert(here.begin(), here.end());
    for (const Value *argument : block.arguments)
      type(argument->type);
    for (const Op *op : block.ops) {
      current = op;
      const OpInfo &rules = info(op->code);
      int count = int(op->operands.size());
      check(count >= rules.min_operands && (rules.max_operands < 0 || count <= rules.max_operands),
            "wrong number of operands");
      check(right_results(*op), "wrong number of results");
      check(rules.regions < 0 ? !op->blocks.empty() : int(op->blocks.size()) == rules.regions,
            "wrong number of blocks");
      check(op->parent == &block, "the parent link is wrong");
      for (const Value *operand : op->operands)
        check(available.count(operand), "an operand is not available here");
      bool terminator =
          op->is(Opcode::yield_) || op->is(Opcode::condition_) || op->is(Opcode::return_);
      check(terminator == (op == block.ops.back()), "a block has one terminator, at its end");
      if (!errors.empty())
        break; // operation() relies on the rules above
      if (op->is(Opcode::warp_specialize_))
        partitions(*op);
      if (!errors.empty())
        break;
      for (const Block *inner : op->blocks)
        this->block(*inner);
      current = op;
      for (const Value *result : op->results)
        type(result->type);
      if (errors.empty())
        operation(*op);
      for (const Value *result : op->results) {
        available.insert(result);
        here.push_back(result);
      }
    }
    for (const Value *value : here)
      available.erase(value);
  }
};

} // namespace

std::string verify(const Function &fn) {
  Verifier verifier{fn, {}, {}, {}, nullptr};
  for (const Parameter &parameter : fn.parameters) {
    verifier.type(parameter.value->type);
    verifier.available.insert(parameter.value);
  }
  verifier.constant_memory();
  if (!verifier.errors.empty())
    return verifier.errors;
  verifier.block(*fn.body);
  if (verifier.errors.empty())
    verifier.errors = check_channels(fn);
  if (verifier.errors.empty() &&
      (!fn.body->terminator() || !fn.body->terminator()->is(Opcode::return_)))
    return "@" + fn.name + ": a function ends in `return`\n";
  return verifier.errors;
}

} // namespace tritonc::ir
