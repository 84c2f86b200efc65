// Emits stream-K. See stream_k.h.
//
// Tested by tests/unit/passes/stream_k_test.cpp and make_persistent/stream_k.tir.

#include "passes/stream_k.h"

#include "passes/split_k_in_cluster.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t signal_bytes = 8;

Value *min(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::min_, a, b); }
Value *max(Builder &builder, Value *a, Value *b) { return builder.binary(Opcode::max_, a, b); }

Value *on_host(Builder &builder, Value *value, const char *name) {
  Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
  result->name = name;
  return result;
}

// The place of the partial of block `index`.
Value *place_of_partial(Builder &builder, const StreamK &stream_k, Value *index) {
  Value *wide = builder.cast(index, Elem::i64), *elements = builder.i64(stream_k.tile_elements);
  return builder.addptr(stream_k.memory, builder.mul(wide, elements));
}

// The place of the signal of block `index`.
Value *place_of_signal(Builder &builder, const StreamK &stream_k, Value *index, Value *blocks) {
  Value *partials = builder.cast(blocks, Elem::i64), *signals = builder.cast(index, Elem::i64);
  Value *of_partial = builder.i64(stream_k.tile_elements);
  Value *of_signal = builder.i64(signal_bytes / bytes_of(stream_k.memory->type.elem));
  partials = builder.mul(partials, of_partial);
  signals = builder.mul(signals, of_signal);
  return builder.addptr(stream_k.memory, builder.add(partials, signals));
}

} // namespace

StreamK emit_stream_k(Builder &host, Value *tiles, Value *blocks, Value *iterations,
                      const Type &sum) {
  Value *one = host.i32(1);
  Value *of_last_wave = host.binary(Opcode::rem_, tiles, blocks);
  Value *has_full_wave = min(host, host.binary(Opcode::div_, tiles, blocks), one);
  Value *is_divided = min(host, of_last_wave, one); // 0 or 1: the host has no bools
  Value *of_full_wave = host.mul(host.mul(has_full_wave, is_divided), blocks);

  StreamK result;
  result.tiles = on_host(host, host.add(of_last_wave, of_full_wave), "divided");
  result.iterations = on_host(host, max(host, iterations, one), "iterations");
  result.tile_elements = sum.elements();
  const int64_t bytes_of_block = sum.elements() * bytes_of(sum.elem) + signal_bytes;
  Value *bytes = host.cast(host.mul(is_divided, blocks), Elem::i64);
  bytes = host.mul(bytes, host.i64(bytes_of_block));
  result.memory = host.create(Opcode::workspace_, {bytes}, {Type::pointer(sum.elem)})->result();
  result.memory->name = "workspace";
  return result;
}

WorkOfBlock::WorkOfBlock(Builder &builder, const StreamK &stream_k, Value *block, Value *blocks,
                         Value *tiles)
    : stream_k_(stream_k), block_(block), blocks_(blocks) {
  Value *zero = builder.i32(0), *one = builder.i32(1);
  Value *all = builder.mul(stream_k.tiles, stream_k.iterations);
  auto udiv = [&](Value *a, Value *b) { return builder.binary(Opcode::udiv_, a, b); };
  of_block_ = max(builder, udiv(builder.sub(builder.add(all, blocks), one), blocks), one);
  begin_ = min(builder, builder.mul(block, of_block_), all);
  end_ = min(builder, builder.add(begin_, of_block_), all);
  last_tile_ = udiv(builder.sub(max(builder, end_, one), one), stream_k.iterations);
  Value *first_tile = udiv(begin_, stream_k.iterations);
  Value *divided = builder.add(builder.sub(last_tile_, first_tile), one);
  divided_ = builder.select(builder.cmp("lt", begin_, end_), divided, zero);
  Value *behind = builder.sub(builder.sub(tiles, stream_k.tiles), block); // >= 1 - blocks
  Value *whole = udiv(builder.sub(builder.add(behind, blocks), one), blocks);
  items_ = builder.add(divided_, whole);
}

WorkItem WorkOfBlock::item(Builder &builder, Value *number) const {
  Value *is_divided = builder.cmp("lt", number, divided_);
  Value *later = builder.mul(builder.sub(number, divided_), blocks_);
  Value *whole = builder.add(builder.add(stream_k_.tiles, block_), later);
  Value *tile = builder.select(is_divided, builder.sub(last_tile_, number), whole);
  Value *start = builder.mul(tile, stream_k_.iterations); // of a divided tile
  Value *zero = builder.i32(0), *iterations = stream_k_.iterations;
  Value *first = max(builder, builder.sub(begin_, start), zero);
  Value *last = min(builder, builder.sub(end_, start), iterations);
  Value *partials = builder.sub(block_, builder.binary(Opcode::udiv_, start, of_block_));
  return {.tile = tile,
          .first = builder.select(is_divided, first, zero),
          .last = builder.select(is_divided, last, iterations),
          .partials = builder.select(is_divided, partials, zero)};
}

void emit_exchange_of_partials(Function &fn, const StreamK &stream_k, const WorkItem &item,
                               Value *block, Value *blocks, Op *loop, size_t carried) {
  Builder before = Builder::before(fn, loop);
  before.set_location(loop->location);
  take_part_of_steps(fn, loop, item.first, before.sub(item.last, item.first));

  Value *sum = loop->results[carried];
  std::vector<Op *> &ops = loop->parent->ops;
  const auto after = ops.begin() + ptrdiff_t(loop->parent->position_of(loop)) + 1;
  const std::vector<Op *> epilogue(after, ops.end());
  ops.erase(after, ops.end());
  Builder builder(fn, loop->parent);
  builder.set_location(loop->location);
  Value *is_last = builder.cmp("eq", item.last, stream_k.iterations);
  Op *branch = builder.if_else(is_last, {});

  Builder ending(fn, branch->blocks[0]);
  ending.set_location(loop->location);
  Op *adding = ending.for_loop(item.partials, {sum});
  Builder inside(fn, adding->blocks[0]);
  inside.set_location(loop->location);
  Value *before_this = inside.add(adding->blocks[0]->arguments[0], inside.i32(1));
  Value *other = inside.sub(block, before_this);
  inside.create(Opcode::wait_signal_, {place_of_signal(inside, stream_k, other, blocks)});
  inside.create(Opcode::barrier_, {});
  Value *partial = place_of_partial(inside, stream_k, other);
  inside.yield(
      {inside.create(Opcode::add_partial_, {partial, adding->blocks[0]->arguments[1]}, {sum->type})
           ->result()});
  for (Op *op : epilogue) {
    op->parent = branch->blocks[0];
    op->parent->ops.push_back(op);
    for (Value *&operand : op->operands)
      operand = operand == sum ? adding->results[0] : operand;
    for (Block *inner : op->blocks)
      replace_uses(*inner, sum, adding->results[0]);
  }
  Builder(fn, branch->blocks[0]).yield({});

  Builder leaving(fn, branch->blocks[1]);
  leaving.set_location(loop->location);
  leaving.create(Opcode::store_partial_, {place_of_partial(leaving, stream_k, block), sum});
  leaving.create(Opcode::barrier_, {});
  leaving.create(Opcode::signal_, {place_of_signal(leaving, stream_k, block, blocks)});
  leaving.yield({});
}

} // namespace tritonc
