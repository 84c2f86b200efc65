// Builder: inserts operations at one place of a function, one after another.
//
// The methods compute result types from operands where possible; the other methods have a type
// argument. The builder does not fold constants: passes do.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

class Builder {
public:
  /// Appends to `block`.
  Builder(Function &fn, Block *block) : fn_(fn), block_(block), at_(block->ops.size()) {}
  /// Inserts before position `at` of `block`.
  Builder(Function &fn, Block *block, size_t at) : fn_(fn), block_(block), at_(at) {}
  /// Inserts before `op`.
  static Builder before(Function &fn, Op *op) {
    return Builder(fn, op->parent, op->parent->position_of(op));
  }
  static Builder after(Function &fn, Op *op) {
    return Builder(fn, op->parent, op->parent->position_of(op) + 1);
  }

  Block *block() { return block_; }
  void set_location(Location location) { location_ = location; }

  /// Creates any operation. The other methods are shorthand for this one.
  Op *create(Opcode code, std::vector<Value *> operands, std::vector<Type> results = {});
  /// Inserts a clone of `op`.
  Op *copy(const Op &op, Copies &copies);

  Value *constant(Type scalar, int64_t value); // for floats: the same value
  Value *constant_number(Type scalar, double value);
  Value *i32(int64_t value) { return constant(Type::scalar(Elem::i32), value); }
  Value *i64(int64_t value) { return constant(Type::scalar(Elem::i64), value); }
  /// A scalar or tile of `type`, all elements equal to `value`.
  Value *filled(Type type, double value);
  Value *program_id(int axis);
  Value *num_programs(int axis);
  Value *range(int64_t start, int64_t count);
  Value *in_bounds(std::vector<Value *> limits, Shape shape);
  /// Makes a no_hoist. If `scalar` is a sign extension of i32 to i64, the no_hoist has the i32, and
  /// the extension follows it.
  Value *no_hoist(Value *scalar);

  Value *splat(Value *scalar, Shape shape);
  Value *expand(Value *tile, int axis);
  Value *broadcast(Value *tile, Shape shape);
  Value *trans(Value *tile, std::vector<int64_t> perm);
  Value *reshape(Value *tile, Shape shape);

  Value *unary(Opcode code, Value *a);
  Value *binary(Opcode code, Value *a, Value *b);
  /// As `reduce` by `op` combines two elements: integers modulo 2^bits.
  Value *combine(std::string_view op, Value *a, Value *b);
  Value *add(Value *a, Value *b) { return binary(Opcode::add_, a, b); }
  Value *sub(Value *a, Value *b) { return binary(Opcode::sub_, a, b); }
  Value *mul(Value *a, Value *b) { return binary(Opcode::mul_, a, b); }
  Value *cmp(std::string pred, Value *a, Value *b);
  Value *select(Value *condition, Value *a, Value *b);
  /// Converts to another element type and keeps the shape; `is_unsigned`: integers are unsigned.
  Value *cast(Value *a, Elem elem, bool is_unsigned = false);
  Value *bitcast(Value *a, Elem elem);

  Value *addptr(Value *pointer, Value *offset);
  Value *load(Value *pointers, Value *mask = nullptr, Value *other = nullptr);
  Value *constant_load(Value *offsets, Elem elem);
  Op *store(Value *pointers, Value *value, Value *mask = nullptr);
  Value *dot(Value *a, Value *b, Value *acc);
  Value *reduce(Value *tile, int axis, std::string op);
  Value *scan(Value *tile, int axis, std::string op);
  Value *gather(Value *tile, int axis, Value *indices);

  /// A put, put_done, get or get_done of number `number` + `offset` of the channel. Returns the
  /// index of the stage; null: of a put_done or get_done.
  Value *channel_op(Opcode code, Value *channel, Value *number, int64_t offset = 0);

  /// Loops and branches get empty blocks with their arguments. Fill the blocks with other builders
  /// and end them with `condition` or `yield`.
  Op *while_loop(std::vector<Value *> carried);
  Op *for_loop(Value *iterations, std::vector<Value *> carried);
  Op *if_else(Value *condition, std::vector<Type> results);
  Op *condition(Value *value) { return create(Opcode::condition_, {value}); }
  Op *yield(std::vector<Value *> values) { return create(Opcode::yield_, std::move(values)); }
  Op *return_op() { return create(Opcode::return_, {}); }

private:
  Function &fn_;
  Block *block_;
  size_t at_;
  Location location_;
};

/// Copies the operations inside `block` that compute `value` to the builder's place. Requires
/// `can_clone`.
Value *clone_computation(Builder &builder, Value *value, const Block *block, Copies &copies);

} // namespace tritonc::ir
