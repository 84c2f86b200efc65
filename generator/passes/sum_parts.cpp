// The parts of a sum in scratch memory. See sum_parts.h.
//
// Method: as many parts as keep all multiprocessors busy once, but none of so few steps that its
// start takes longer than they do.
//
// Tested by tests/passes/store_parts_test.cpp and add_parts_test.cpp.

#include "passes/sum_parts.h"

namespace tritonc {

using namespace ir;

namespace {

// All the host's: what a block is handed is a host_value of it.
struct Host {
  Builder &builder;

  Value *add(Value *a, int64_t b) { return builder.add(a, builder.i32(b)); }
  Value *div(Value *a, Value *b) { return builder.binary(Opcode::div_, a, b); }
  Value *div_up(Value *a, Value *b) { return div(add(builder.add(a, b), -1), b); }
  Value *at_least(Value *a, int64_t b) { return builder.binary(Opcode::max_, a, builder.i32(b)); }

  Value *pieces(const DividedSum &divided, size_t axis) {
    return div_up(builder.num_programs(int(axis)), builder.i32(divided.bundle[axis]));
  }

  Value *handed(Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  }
};

} // namespace

SumParts emit_sum_parts(Builder &builder, const DividedSum &divided, Value *trips, Elem elem) {
  Host host{builder};
  Value *in_row = host.pieces(divided, divided.columns_axis);
  Value *in_matrix = builder.mul(host.pieces(divided, divided.rows_axis), in_row);
  Value *pieces = builder.mul(in_matrix, host.pieces(divided, divided.third_axis()));

  Value *at_once =
      builder.create(Opcode::num_multiprocessors_, {}, {Type::scalar(Elem::i32)})->result();
  Value *most = host.at_least(host.div(trips, builder.i32(DividedSum::least_steps)), 1);
  Value *count = host.at_least(host.div(at_once, pieces), 1);
  count = builder.binary(Opcode::min_, count, most);
  Value *steps = host.div_up(trips, count);

  Value *bytes = builder.mul(builder.cast(count, Elem::i64), builder.cast(pieces, Elem::i64));
  bytes = builder.mul(bytes, builder.i64(divided.rows * divided.columns * bytes_of(elem)));
  Value *memory = builder.create(Opcode::scratch_, {bytes}, {Type::pointer(elem)})->result();
  memory->name = "scratch";
  return {.count = host.handed(count, "parts"),
          .steps = host.handed(steps, "part"),
          .in_row = host.handed(in_row, "in_row"),
          .in_matrix = host.handed(in_matrix, "in_matrix"),
          .pieces = host.handed(pieces, "pieces"),
          .memory = memory,
          .count_on_host = count};
}

Value *emit_view(Builder &builder, const SumParts &parts, const DividedSum &divided,
                 const Poly &part, const Poly &matrix, const Poly &row, const Poly &column,
                 const Type &tile) {
  Poly piece = Poly::constant(divided.rows * divided.columns);
  Poly stride = Poly::symbol(parts.in_row) * Poly::constant(divided.columns);
  Poly offset = part * Poly::symbol(parts.pieces) * piece +
                matrix * Poly::symbol(parts.in_matrix) * piece + row * stride + column;
  std::vector<Value *> operands = {parts.memory, emit(builder, offset), emit(builder, stride),
                                   builder.i64(1)};
  return builder.create(Opcode::view_, operands, {Type::view(tile.elem, tile.shape)})->result();
}

} // namespace tritonc
