// Implements storage, attributes and walks of tile IR. See ir.h.
//
// Tested by tests/unit/ir/clone_test.cpp.

#include "ir/ir.h"

#include <algorithm>
#include <bit>

namespace tritonc::ir {

const OpInfo &info(Opcode code) {
  static const OpInfo table[] = {
#define OP(name, min, max, regions, effect, attributes, text)                                      \
  {#name, min, max, regions, Effect::effect, attributes},
#include "ir/ops.def"
  };
  return table[size_t(code)];
}

namespace {

constexpr std::string_view attribute_names[] = {
#define ATTRIBUTE(name, type, text) #name,
#include "ir/attributes.def"
};
static_assert(std::is_sorted(std::begin(attribute_names), std::end(attribute_names)),
              "attributes are printed in the order of their names");

// Returns whether attributes.def has all names in a column of ops.def.
constexpr bool are_known(std::string_view column) {
  while (!column.empty()) {
    size_t end = std::min(column.find(' '), column.size());
    std::string_view name = column.substr(0, end);
    if (name.ends_with('?'))
      name.remove_suffix(1);
    if (std::find(std::begin(attribute_names), std::end(attribute_names), name) ==
        std::end(attribute_names))
      return false;
    column.remove_prefix(std::min(end + 1, column.size()));
  }
  return true;
}
#define OP(name, min, max, regions, effect, attributes, text)                                      \
  static_assert(are_known(attributes), #name ": attributes.def has no such attribute");
#include "ir/ops.def"

} // namespace

std::string_view name_of(AttributeName name) { return attribute_names[size_t(name)]; }

const Attribute *Op::find(AttributeName name) const {
  for (const auto &[key, value] : attributes)
    if (key == name)
      return &value;
  return nullptr;
}

void Op::set(AttributeName name, Attribute value) {
  auto at = std::lower_bound(attributes.begin(), attributes.end(), name,
                             [](const auto &entry, AttributeName n) { return entry.first < n; });
  if (at != attributes.end() && at->first == name)
    at->second = std::move(value);
  else
    attributes.insert(at, {name, std::move(value)});
}

void Op::erase(AttributeName name) {
  std::erase_if(attributes, [&](const auto &entry) { return entry.first == name; });
}

// Searches outward from the last position.
size_t Block::position_of(const Op *op) {
  last_position_ = std::min(last_position_, ops.size());
  size_t below = last_position_, above = last_position_;
  while (below > 0 || above < ops.size()) {
    if (above < ops.size() && ops[above++] == op)
      return last_position_ = above - 1;
    if (below > 0 && ops[--below] == op)
      return last_position_ = below;
  }
  return ops.size();
}

Function::Function() { body = new_block(nullptr); }

int64_t Function::constant_bytes() const {
  if (constant_memory.empty())
    return 0;
  const ConstantMemory &last = constant_memory.back();
  constexpr uint64_t min_bytes = 16; // bytes; any element size divides it
  return int64_t(std::bit_ceil(std::max(uint64_t(last.offset + last.bytes()), min_bytes)));
}

Value *Function::add_parameter(std::string name, Type type) {
  Value *value = new_value(std::move(type), name);
  value->index = int(parameters.size());
  Parameter parameter;
  parameter.value = value;
  parameter.name = std::move(name);
  parameters.push_back(std::move(parameter));
  return value;
}

Value *Function::new_value(Type type, std::string name) {
  Value &value = values_.emplace_back();
  value.number = int(values_.size());
  value.type = std::move(type);
  value.name = std::move(name);
  return &value;
}

Op *Function::new_op(Opcode code) {
  Op &op = ops_.emplace_back();
  op.code = code;
  return &op;
}

Block *Function::new_block(Op *parent) {
  Block &block = blocks_.emplace_back();
  block.parent = parent;
  return &block;
}

namespace {

void clone_block(const Block &from, Block &to, Function &fn, Copies &copies) {
  for (const Value *argument : from.arguments) {
    Value *copy = fn.new_value(argument->type, argument->name);
    copy->block = &to;
    copy->index = argument->index;
    to.arguments.push_back(copy);
    copies[argument] = copy;
  }
  for (const Op *op : from.ops)
    to.ops.push_back(clone(*op, &to, fn, copies));
}

} // namespace

Op *clone(const Op &op, Block *parent, Function &fn, Copies &copies) {
  Op *copy = fn.new_op(op.code);
  copy->attributes = op.attributes;
  copy->location = op.location;
  copy->parent = parent;
  for (Value *operand : op.operands) {
    auto found = copies.find(operand);
    copy->operands.push_back(found == copies.end() ? operand : found->second);
  }
  for (const Block *block : op.blocks) {
    copy->blocks.push_back(fn.new_block(copy));
    clone_block(*block, *copy->blocks.back(), fn, copies);
  }
  for (const Value *result : op.results) {
    Value *r = fn.new_value(result->type, result->name);
    r->op = copy;
    r->index = result->index;
    copy->results.push_back(r);
    copies[result] = r;
  }
  return copy;
}

Function clone(const Function &fn) {
  Function copy;
  copy.name = fn.name;
  copy.constant_memory = fn.constant_memory;
  copy.plan = fn.plan;
  copy.location = fn.location;
  copy.file = fn.file;
  copy.warps = fn.warps;
  copy.shared_bytes = fn.shared_bytes;
  copy.blocks_per_sm = fn.blocks_per_sm;
  Copies map;
  for (const Parameter &parameter : fn.parameters) {
    Value *value = copy.add_parameter(parameter.name, parameter.value->type);
    copy.parameters.back() = parameter;
    copy.parameters.back().value = value;
    map[parameter.value] = value;
  }
  clone_block(*fn.body, *copy.body, copy, map);
  return copy;
}

void number_origins(Function &fn) {
  int origin = 0;
  for_each_op(*fn.body, [&](Op &op) { op.location.origin = ++origin; });
}

Location location_of_origin(const Function &fn, int origin) {
  Location found = fn.location;
  int number = 0;
  for_each_op(*fn.body, [&](const Op &op) {
    if (++number == origin)
      found = op.location;
  });
  return found;
}

void replace_uses(Block &block, Value *from, Value *to) {
  for_each_op(block,
              [&](Op &op) { std::replace(op.operands.begin(), op.operands.end(), from, to); });
}

void replace_uses(const std::vector<Op *> &users, Value *from, Value *to) {
  for (Op *user : users)
    std::replace(user->operands.begin(), user->operands.end(), from, to);
}

int count_uses(Block &block, const Value *value) {
  int uses = 0;
  for_each_op(block, [&](Op &op) {
    uses += int(std::count(op.operands.begin(), op.operands.end(), value));
  });
  return uses;
}

std::vector<Op *> users_of(Block &block, const Value *value) {
  std::vector<Op *> users;
  for_each_op(block, [&](Op &op) {
    if (std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end())
      users.push_back(&op);
  });
  return users;
}

Users::Users(Block &block) {
  for_each_op(block, [&](Op &op) {
    for (const Value *operand : op.operands) {
      std::vector<Op *> &users = users_[operand];
      if (users.empty() || users.back() != &op)
        users.push_back(&op);
    }
  });
}

const std::vector<Op *> &Users::of(const Value *value) const {
  static const std::vector<Op *> none;
  auto found = users_.find(value);
  return found == users_.end() ? none : found->second;
}

std::vector<Partition> partitions_of(const Op &specialize) {
  const std::vector<int64_t> warps = specialize.get(attr::warps_),
                             groups = specialize.get(attr::groups_),
                             registers = specialize.get(attr::registers_),
                             one_thread = specialize.get(attr::one_thread_);
  std::vector<Partition> partitions;
  Partition next;
  for (size_t i = 0; i < specialize.blocks.size(); i++) {
    next.block = specialize.blocks[i];
    next.warps = int(warps[i]);
    next.groups = groups.empty() ? 1 : int(groups[i]);
    next.registers = registers.empty() ? 0 : registers[i];
    next.is_one_thread = !one_thread.empty() && one_thread[i];
    partitions.push_back(next);
    next.first_warp += next.all_warps();
    next.first_group += next.groups;
  }
  return partitions;
}

std::vector<Partition> partitions_of(const Function &fn) {
  for (const Op *op : fn.body->ops)
    if (op->is(Opcode::warp_specialize_))
      return partitions_of(*op);
  return {};
}

std::optional<Partition> partition_of(const Op &op) {
  for (const Block *block = op.parent; block->parent; block = block->parent->parent)
    if (block->parent->is(Opcode::warp_specialize_))
      for (const Partition &partition : partitions_of(*block->parent))
        if (partition.block == block)
          return partition;
  return std::nullopt;
}

int Function::programs_of_block() const {
  for (const Op *op : body->ops)
    if (op->is(Opcode::launch_warps_))
      return int(op->get(attr::programs_));
  return 1;
}

int Function::threads() const {
  const std::vector<Partition> partitions = partitions_of(*this);
  if (!partitions.empty())
    return 32 * (partitions.back().first_warp + partitions.back().all_warps());
  return 32 * warps * programs_of_block();
}

int Function::shared_bytes_of_block() const { return shared_bytes * programs_of_block(); }

void erase(Op *op) {
  auto &ops = op->parent->ops;
  ops.erase(ops.begin() + op->parent->position_of(op));
}

namespace {

// `distance`: from `place` to the new position of `op`.
void move_to(Op *op, Op *place, ptrdiff_t distance) {
  erase(op);
  Block &block = *place->parent;
  op->parent = &block;
  block.ops.insert(block.ops.begin() + ptrdiff_t(block.position_of(place)) + distance, op);
}

} // namespace

void move_before(Op *op, Op *place) { move_to(op, place, 0); }
void move_after(Op *op, Op *place) { move_to(op, place, 1); }

void add_with_operands(const Op *op, std::set<const Op *> &to) {
  if (!to.insert(op).second)
    return;
  for (const Value *operand : op->operands)
    if (operand->op)
      add_with_operands(operand->op, to);
}

namespace {

// `known`: values that can be cloned. So each value is visited once.
bool is_clonable(const Value *value, const Block *block, std::set<const Value *> &known) {
  if (known.count(value) || defined_outside(value, block))
    return true;
  if (!value->op || info(value->op->code).effect != Effect::pure)
    return false;
  for (const Value *operand : value->op->operands)
    if (!is_clonable(operand, block, known))
      return false;
  known.insert(value);
  return true;
}

} // namespace

Value *add_carried(Function &fn, Op &loop, Value *first) {
  Block &body = *loop.blocks[0];
  Value *argument = fn.new_value(first->type), *result = fn.new_value(first->type);
  argument->block = &body;
  argument->index = int(body.arguments.size());
  body.arguments.push_back(argument);
  result->op = &loop;
  result->index = int(loop.results.size());
  loop.results.push_back(result);
  loop.operands.push_back(first);
  return argument;
}

bool can_clone(const Value *value, const Block *block, const std::set<const Value *> &given) {
  std::set<const Value *> known = given;
  return is_clonable(value, block, known);
}

bool defined_outside(const Value *value, const Block *block) {
  const Block *home = value->op ? value->op->parent : value->block;
  for (; home; home = home->parent ? home->parent->parent : nullptr)
    if (home == block)
      return false;
  return true;
}

void keep_cache_hint(Op &to, const Op &from) { to.copy(attr::cache_, from); }

std::optional<Opcode> combining_op(std::string_view name) {
  for (Opcode code : {Opcode::add_, Opcode::mul_, Opcode::min_, Opcode::max_, Opcode::umin_,
                      Opcode::umax_, Opcode::and_, Opcode::or_, Opcode::xor_})
    if (info(code).name == name)
      return code;
  return std::nullopt;
}

const Value *scalar_of(const Value *value) {
  while (value->op && (value->op->is(Opcode::splat_) || value->op->is(Opcode::broadcast_) ||
                       value->op->is(Opcode::expand_)))
    value = value->op->operand(0);
  return value;
}

std::optional<int64_t> constant_of(const Value *value) {
  value = scalar_of(value);
  if (!value->op || !value->op->is(Opcode::constant_) || !value->op->has(attr::value_))
    return std::nullopt;
  return value->op->get(attr::value_);
}

std::optional<double> number_of(const Value *value) {
  value = scalar_of(value);
  if (!value->op || !value->op->is(Opcode::constant_))
    return std::nullopt;
  return value->op->has(attr::number_) ? value->op->get(attr::number_)
                                       : double(value->op->get(attr::value_));
}

bool is_elementwise(const Op &op) {
  switch (op.code) {
  case Opcode::dot_:
  case Opcode::reduce_:
  case Opcode::scan_:
  case Opcode::gather_:
  case Opcode::trans_:
  case Opcode::reshape_:
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::extract_:
  case Opcode::funnel_shift_:
    return false;
  default:
    return info(op.code).effect == Effect::pure;
  }
}

bool is_zero(const Value *value) {
  while (value->op && (value->op->is(Opcode::splat_) || value->op->is(Opcode::broadcast_) ||
                       value->op->is(Opcode::expand_) || value->op->is(Opcode::cast_)))
    value = value->op->operand(0);
  if (!value->op || !value->op->is(Opcode::constant_))
    return false;
  return value->op->has(attr::value_) ? value->op->get(attr::value_) == 0
                                      : value->op->get(attr::number_) == 0;
}

} // namespace tritonc::ir
