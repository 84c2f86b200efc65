// Tile IR: storage, attributes and walks. See ir.h.

#include "ir/ir.h"
#include "ir/builder.h"

#include <algorithm>
#include <bit>

namespace tritonc::ir {

const OpInfo &info(Opcode code) {
  static const OpInfo table[] = {
#define OP(name, least, most, regions, effect, text) {#name, least, most, regions, Effect::effect},
#include "ir/ops.def"
  };
  return table[size_t(code)];
}

const Attribute *Op::find(std::string_view name) const {
  for (const auto &[key, value] : attributes)
    if (key == name)
      return &value;
  return nullptr;
}

int64_t Op::integer(std::string_view name, int64_t otherwise) const {
  const Attribute *a = find(name);
  return a ? std::get<int64_t>(*a) : otherwise;
}

double Op::number(std::string_view name) const {
  const Attribute *a = find(name);
  return a ? std::get<double>(*a) : 0;
}

std::string_view Op::text(std::string_view name) const {
  const Attribute *a = find(name);
  return a ? std::string_view(std::get<std::string>(*a)) : std::string_view();
}

std::vector<int64_t> Op::list(std::string_view name) const {
  const Attribute *a = find(name);
  return a ? std::get<std::vector<int64_t>>(*a) : std::vector<int64_t>();
}

void Op::set(std::string name, Attribute value) {
  auto at =
      std::lower_bound(attributes.begin(), attributes.end(), name,
                       [](const auto &entry, const std::string &n) { return entry.first < n; });
  if (at != attributes.end() && at->first == name)
    at->second = std::move(value);
  else
    attributes.insert(at, {std::move(name), std::move(value)});
}

void Op::erase(std::string_view name) {
  std::erase_if(attributes, [&](const auto &entry) { return entry.first == name; });
}

// Looks around the last position, ever farther away.
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
  constexpr uint64_t least = 16; // of any element
  return int64_t(std::bit_ceil(std::max(uint64_t(last.offset + last.bytes()), least)));
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

using ValueMap = std::map<const Value *, Value *>;

void clone_block(const Block &from, Block &to, Function &fn, ValueMap &map) {
  for (const Value *argument : from.arguments) {
    Value *copy = fn.new_value(argument->type, argument->name);
    copy->block = &to;
    copy->index = argument->index;
    to.arguments.push_back(copy);
    map[argument] = copy;
  }
  for (const Op *op : from.ops) {
    Op *copy = fn.new_op(op->code);
    copy->attributes = op->attributes;
    copy->location = op->location;
    copy->parent = &to;
    for (const Value *operand : op->operands)
      copy->operands.push_back(map.at(operand));
    for (const Block *block : op->blocks) {
      copy->blocks.push_back(fn.new_block(copy));
      clone_block(*block, *copy->blocks.back(), fn, map);
    }
    for (const Value *result : op->results) {
      Value *r = fn.new_value(result->type, result->name);
      r->op = copy;
      r->index = result->index;
      copy->results.push_back(r);
      map[result] = r;
    }
    to.ops.push_back(copy);
  }
}

} // namespace

Function clone(const Function &fn) {
  Function copy;
  copy.name = fn.name;
  copy.constant_memory = fn.constant_memory;
  copy.plan = fn.plan;
  copy.location = fn.location;
  copy.file = fn.file;
  copy.warps = fn.warps;
  copy.teams = fn.teams;
  copy.helper_warps = fn.helper_warps;
  copy.shared_bytes = fn.shared_bytes;
  copy.residency = fn.residency;
  ValueMap map;
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
  static const std::vector<Op *> nobody;
  auto found = users_.find(value);
  return found == users_.end() ? nobody : found->second;
}

void erase(Op *op) {
  auto &ops = op->parent->ops;
  ops.erase(ops.begin() + op->parent->position_of(op));
}

void add_with_operands(const Op *op, std::set<const Op *> &to) {
  if (!to.insert(op).second)
    return;
  for (const Value *operand : op->operands)
    if (operand->op)
      add_with_operands(operand->op, to);
}

namespace {

// `known` are values that can be cloned: a value that is used often is looked at once.
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

bool can_clone(const Value *value, const Block *block, const std::set<const Value *> &given) {
  std::set<const Value *> known = given;
  return is_clonable(value, block, known);
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

bool defined_outside(const Value *value, const Block *block) {
  const Block *home = value->op ? value->op->parent : value->block;
  for (; home; home = home->parent ? home->parent->parent : nullptr)
    if (home == block)
      return false;
  return true;
}

void keep_hint(Op &to, const Op &from) {
  if (from.has("cache"))
    to.set("cache", std::string(from.text("cache")));
}

std::optional<Opcode> combining_op(std::string_view name) {
  for (Opcode code : {Opcode::add_, Opcode::mul_, Opcode::min_, Opcode::max_, Opcode::umin_,
                      Opcode::umax_, Opcode::and_, Opcode::or_, Opcode::xor_})
    if (info(code).name == name)
      return code;
  return std::nullopt;
}

std::optional<int64_t> constant_of(const Value *value) {
  while (value->op && (value->op->is(Opcode::splat_) || value->op->is(Opcode::broadcast_) ||
                       value->op->is(Opcode::expand_)))
    value = value->op->operand(0);
  if (!value->op || !value->op->is(Opcode::constant_) || !value->op->has("value"))
    return std::nullopt;
  return value->op->integer("value");
}

bool is_zero(const Value *value) {
  while (value->op && (value->op->is(Opcode::splat_) || value->op->is(Opcode::broadcast_) ||
                       value->op->is(Opcode::expand_) || value->op->is(Opcode::cast_)))
    value = value->op->operand(0);
  if (!value->op || !value->op->is(Opcode::constant_))
    return false;
  return value->op->has("value") ? value->op->integer("value") == 0
                                 : value->op->number("number") == 0;
}

} // namespace tritonc::ir
