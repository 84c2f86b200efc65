// Implements Builder: inserts operations and computes their result types. See builder.h.
//
// Tested by tests/unit/ir/builder_test.cpp.

#include "ir/builder.h"

namespace tritonc::ir {

Op *Builder::create(Opcode code, std::vector<Value *> operands, std::vector<Type> results) {
  Op *op = fn_.new_op(code);
  op->operands = std::move(operands);
  op->location = location_;
  op->parent = block_;
  for (Type &type : results) {
    Value *value = fn_.new_value(std::move(type));
    value->op = op;
    value->index = int(op->results.size());
    op->results.push_back(value);
  }
  block_->ops.insert(block_->ops.begin() + at_++, op);
  return op;
}

Value *Builder::constant(Type scalar, int64_t value) {
  if (is_float(scalar.elem))
    return constant_number(scalar, double(value));
  Op *op = create(Opcode::constant_, {}, {scalar});
  op->set(attr::value_, value);
  return op->result();
}

Value *Builder::constant_number(Type scalar, double value) {
  Op *op = create(Opcode::constant_, {}, {scalar});
  op->set(attr::number_, value);
  return op->result();
}

Value *Builder::filled(Type type, double value) {
  Type scalar = Type::scalar(type.elem);
  Value *one =
      is_float(type.elem) ? constant_number(scalar, value) : constant(scalar, int64_t(value));
  return type.is_tile() ? splat(one, type.shape) : one;
}

Value *Builder::program_id(int axis) {
  Op *op = create(Opcode::program_id_, {}, {Type::scalar(Elem::i32)});
  op->set(attr::axis_, int64_t(axis));
  return op->result();
}

Value *Builder::num_programs(int axis) {
  Op *op = create(Opcode::num_programs_, {}, {Type::scalar(Elem::i32)});
  op->set(attr::axis_, int64_t(axis));
  return op->result();
}

Value *Builder::range(int64_t start, int64_t count) {
  Op *op = create(Opcode::range_, {}, {Type::tile(Elem::i32, {count})});
  op->set(attr::start_, start);
  return op->result();
}

Value *Builder::in_bounds(std::vector<Value *> limits, Shape shape) {
  return create(Opcode::in_bounds_, std::move(limits), {Type::tile(Elem::i1, std::move(shape))})
      ->result();
}

Value *Builder::no_hoist(Value *scalar) {
  if (scalar->op && scalar->op->is(Opcode::cast_) && !scalar->op->has(attr::unsigned_) &&
      scalar->op->operand(0)->type.elem == Elem::i32 && scalar->type.elem == Elem::i64)
    return cast(no_hoist(scalar->op->operand(0)), Elem::i64);
  return create(Opcode::no_hoist_, {scalar}, {scalar->type})->result();
}

Value *Builder::splat(Value *scalar, Shape shape) {
  return create(Opcode::splat_, {scalar}, {scalar->type.with_shape(std::move(shape))})->result();
}

Value *Builder::expand(Value *tile, int axis) {
  Shape shape = tile->type.shape;
  shape.insert(shape.begin() + axis, 1);
  Op *op = create(Opcode::expand_, {tile}, {tile->type.with_shape(std::move(shape))});
  op->set(attr::axis_, int64_t(axis));
  return op->result();
}

Value *Builder::broadcast(Value *tile, Shape shape) {
  return create(Opcode::broadcast_, {tile}, {tile->type.with_shape(std::move(shape))})->result();
}

Value *Builder::trans(Value *tile, std::vector<int64_t> perm) {
  Shape shape;
  for (int64_t from : perm)
    shape.push_back(tile->type.shape[from]);
  Op *op = create(Opcode::trans_, {tile}, {tile->type.with_shape(std::move(shape))});
  op->set(attr::perm_, std::move(perm));
  return op->result();
}

Value *Builder::reshape(Value *tile, Shape shape) {
  return create(Opcode::reshape_, {tile}, {tile->type.with_shape(std::move(shape))})->result();
}

Value *Builder::unary(Opcode code, Value *a) { return create(code, {a}, {a->type})->result(); }

Value *Builder::binary(Opcode code, Value *a, Value *b) {
  return create(code, {a, b}, {a->type})->result();
}

Value *Builder::combine(std::string_view op, Value *a, Value *b) {
  Value *result = binary(*combining_op(op), a, b);
  if (result->op->is(Opcode::add_) && is_integer(result->type.elem))
    result->op->set(attr::unsigned_);
  return result;
}

Value *Builder::cmp(std::string pred, Value *a, Value *b) {
  Type type = a->type.with_elem(Elem::i1);
  type.kind = Type::Kind::value;
  Op *op = create(Opcode::cmp_, {a, b}, {type});
  op->set(attr::pred_, std::move(pred));
  return op->result();
}

Value *Builder::select(Value *condition, Value *a, Value *b) {
  return create(Opcode::select_, {condition, a, b}, {a->type})->result();
}

Value *Builder::cast(Value *a, Elem elem, bool is_unsigned) {
  Op *op = create(Opcode::cast_, {a}, {a->type.with_elem(elem)});
  if (is_unsigned)
    op->set(attr::unsigned_);
  return op->result();
}

Value *Builder::bitcast(Value *a, Elem elem) {
  return create(Opcode::bitcast_, {a}, {a->type.with_elem(elem)})->result();
}

Value *Builder::addptr(Value *pointer, Value *offset) {
  return create(Opcode::addptr_, {pointer, offset}, {pointer->type})->result();
}

Value *Builder::load(Value *pointers, Value *mask, Value *other) {
  std::vector<Value *> operands = {pointers};
  if (mask)
    operands.push_back(mask);
  if (other)
    operands.push_back(other);
  Type type = Type::tile(pointers->type.elem, pointers->type.shape);
  return create(Opcode::load_, std::move(operands), {type})->result();
}

Value *Builder::constant_load(Value *offsets, Elem elem) {
  return create(Opcode::constant_load_, {offsets}, {offsets->type.with_elem(elem)})->result();
}

Op *Builder::store(Value *pointers, Value *value, Value *mask) {
  std::vector<Value *> operands = {pointers, value};
  if (mask)
    operands.push_back(mask);
  return create(Opcode::store_, std::move(operands));
}

Value *Builder::dot(Value *a, Value *b, Value *acc) {
  return create(Opcode::dot_, {a, b, acc}, {acc->type})->result();
}

Value *Builder::reduce(Value *tile, int axis, std::string kind) {
  Shape shape = tile->type.shape;
  shape.erase(shape.begin() + axis);
  Op *op = create(Opcode::reduce_, {tile}, {tile->type.with_shape(std::move(shape))});
  op->set(attr::axis_, int64_t(axis));
  op->set(attr::op_, std::move(kind));
  return op->result();
}

Value *Builder::scan(Value *tile, int axis, std::string kind) {
  Op *op = create(Opcode::scan_, {tile}, {tile->type});
  op->set(attr::axis_, int64_t(axis));
  op->set(attr::op_, std::move(kind));
  return op->result();
}

Value *Builder::gather(Value *tile, int axis, Value *indices) {
  Type type = tile->type.with_shape(indices->type.shape);
  Op *op = create(Opcode::gather_, {tile, indices}, {type});
  op->set(attr::axis_, int64_t(axis));
  return op->result();
}

namespace {

Block *add_block(Function &fn, Op *op, const std::vector<Type> &types) {
  Block *block = fn.new_block(op);
  for (const Type &type : types) {
    Value *argument = fn.new_value(type);
    argument->block = block;
    argument->index = int(block->arguments.size());
    block->arguments.push_back(argument);
  }
  op->blocks.push_back(block);
  return block;
}

std::vector<Type> types_of(const std::vector<Value *> &values) {
  std::vector<Type> types;
  for (const Value *value : values)
    types.push_back(value->type);
  return types;
}

} // namespace

Op *Builder::while_loop(std::vector<Value *> carried) {
  std::vector<Type> types = types_of(carried);
  Op *op = create(Opcode::while_loop_, std::move(carried), types);
  add_block(fn_, op, types);
  add_block(fn_, op, types);
  return op;
}

Value *Builder::channel_op(Opcode code, Value *channel, Value *number, int64_t offset) {
  const bool has_index = code == Opcode::put_ || code == Opcode::get_;
  Op *op = create(code, {channel, number},
                  std::vector<Type>(size_t(has_index), Type::scalar(Elem::i32)));
  if (offset)
    op->set(attr::offset_, offset);
  return has_index ? op->result() : nullptr;
}

Op *Builder::for_loop(Value *iterations, std::vector<Value *> carried) {
  std::vector<Type> types = types_of(carried);
  carried.insert(carried.begin(), iterations);
  Op *op = create(Opcode::for_loop_, std::move(carried), types);
  types.insert(types.begin(), Type::scalar(Elem::i32));
  add_block(fn_, op, types);
  return op;
}

Op *Builder::if_else(Value *condition, std::vector<Type> results) {
  Op *op = create(Opcode::if_else_, {condition}, std::move(results));
  add_block(fn_, op, {});
  add_block(fn_, op, {});
  return op;
}

Op *Builder::copy(const Op &op, Copies &copies) {
  Op *made = clone(op, block_, fn_, copies);
  block_->ops.insert(block_->ops.begin() + at_++, made);
  return made;
}

Value *clone_computation(Builder &builder, Value *value, const Block *block, Copies &copies) {
  if (auto found = copies.find(value); found != copies.end())
    return found->second;
  if (defined_outside(value, block))
    return value;
  std::vector<Value *> operands;
  for (Value *operand : value->op->operands)
    operands.push_back(clone_computation(builder, operand, block, copies));
  Op *copy = builder.create(value->op->code, operands, {value->type});
  copy->attributes = value->op->attributes;
  copy->location = value->op->location;
  copy->result()->name = value->name;
  return copies[value] = copy->result();
}

} // namespace tritonc::ir
