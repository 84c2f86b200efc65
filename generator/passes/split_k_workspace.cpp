// Split-K partials in a workspace. See split_k_workspace.h.
//
// Method: as many partials as keep all SMs busy once. But each partial has at least
// SplitKPartials::min_k_iterations K iterations: with fewer, the start takes longer than the loop.
//
// Tested by tests/unit/passes/store_split_k_partials_test.cpp and reduce_split_k_partials_test.cpp.

#include "passes/split_k_workspace.h"

namespace tritonc {

using namespace ir;

namespace {

// Emits arithmetic of the host. Blocks get its results as host_values.
struct Host {
  Builder &builder;

  Value *add(Value *a, int64_t b) { return builder.add(a, builder.i32(b)); }
  Value *div(Value *a, Value *b) { return builder.binary(Opcode::div_, a, b); }
  Value *div_up(Value *a, Value *b) { return div(add(builder.add(a, b), -1), b); }
  Value *at_least(Value *a, int64_t b) { return builder.binary(Opcode::max_, a, builder.i32(b)); }

  Value *output_tiles(const SplitKPartials &split_k, size_t axis) {
    Value *coarsening = builder.i32(split_k.coarsening[axis]);
    return div_up(builder.num_programs(int(axis)), coarsening);
  }

  Value *handed(Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  }
};

} // namespace

SplitKWorkspace emit_split_k_workspace(Builder &builder, const SplitKPartials &split_k,
                                       Value *iterations, Elem elem) {
  Host host{builder};
  Value *in_row = host.output_tiles(split_k, split_k.columns_axis);
  Value *in_matrix = builder.mul(host.output_tiles(split_k, split_k.rows_axis), in_row);
  Value *output_tiles = builder.mul(in_matrix, host.output_tiles(split_k, split_k.third_axis()));

  Value *at_once = builder.create(Opcode::num_sms_, {}, {Type::scalar(Elem::i32)})->result();
  Value *max_count =
      host.at_least(host.div(iterations, builder.i32(SplitKPartials::min_k_iterations)), 1);
  Value *count = host.at_least(host.div(at_once, output_tiles), 1);
  count = builder.binary(Opcode::min_, count, max_count);
  Value *steps = host.div_up(iterations, count);

  Value *wide_tiles = builder.cast(output_tiles, Elem::i64);
  Value *bytes = builder.mul(builder.cast(count, Elem::i64), wide_tiles);
  bytes = builder.mul(bytes, builder.i64(split_k.rows * split_k.columns * bytes_of(elem)));
  Value *memory = builder.create(Opcode::workspace_, {bytes}, {Type::pointer(elem)})->result();
  memory->name = "workspace";
  return {.count = host.handed(count, "parts"),
          .steps = host.handed(steps, "part"),
          .in_row = host.handed(in_row, "in_row"),
          .in_matrix = host.handed(in_matrix, "in_matrix"),
          .output_tiles = host.handed(output_tiles, "pieces"),
          .memory = memory,
          .count_on_host = count};
}

Value *emit_view(Builder &builder, const SplitKWorkspace &parts, const SplitKPartials &split_k,
                 const Poly &part, const Poly &matrix, const Poly &row, const Poly &column,
                 const Type &tile) {
  Poly tile_elements = Poly::constant(split_k.rows * split_k.columns);
  Poly stride = Poly::symbol(parts.in_row) * Poly::constant(split_k.columns);
  Poly offset = part * Poly::symbol(parts.output_tiles) * tile_elements +
                matrix * Poly::symbol(parts.in_matrix) * tile_elements + row * stride + column;
  std::vector<Value *> operands = {parts.memory, emit(builder, offset), emit(builder, stride),
                                   builder.i64(1)};
  return builder.create(Opcode::view_, operands, {Type::view(tile.elem, tile.shape)})->result();
}

} // namespace tritonc
