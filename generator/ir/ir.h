// Tile IR: what a kernel does, tile by tile.
//
// A function is a block of operations; operations may contain blocks (loops and branches are
// structured). Every value is assigned once. The operations are listed in ops.def, the types in
// types.h, the rules in verifier.h, and the text form in printer.h: whatever the printer prints,
// the parser reads back to the same function.
//
// Knows neither Triton-C nor LLVM.

#pragma once

#include "ir/launch_plan.h"
#include "ir/types.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tritonc::ir {

struct Block;
struct Op;

enum class Opcode : uint8_t {
#define OP(name, least, most, regions, effect, text) name##_,
#include "ir/ops.def"
};

enum class Effect : uint8_t {
  pure,
  read,
  write,
  shared_alloc,
  shared_read,
  shared_write,
  sync,
  report,
  host,
  control,
};

struct OpInfo {
  std::string_view name;
  int least_operands, most_operands; // most -1: any number
  int regions;
  Effect effect;
};
const OpInfo &info(Opcode code);

/// Where in the source an operation comes from; line 0: nowhere.
struct Location {
  int line = 0, column = 0;
  int origin = 0; // which operation of the kernel before all passes, from 1; see `number_origins`
};

struct Value {
  Type type;
  std::string name;       // for printing; may be empty or shared with others
  Op *op = nullptr;       // the operation it is a result of, or
  Block *block = nullptr; // the block it is an argument of; both null: a parameter
  int index = 0;          // which result, argument or parameter
  int number = 0;         // counts the values of a function: an order that does not change
};

/// Integers, lists of integers, names and floating-point numbers.
using Attribute = std::variant<int64_t, std::vector<int64_t>, std::string, double>;

struct Op {
  Opcode code;
  std::vector<Value *> operands;
  std::vector<Value *> results;
  std::vector<Block *> blocks;
  std::vector<std::pair<std::string, Attribute>> attributes; // in order of their names
  Location location;
  Block *parent = nullptr;

  bool is(Opcode c) const { return code == c; }
  bool is_atomic() const { return is(Opcode::atomic_) || is(Opcode::atomic_cas_); }
  Value *operand(size_t i) const { return operands[i]; }
  /// The operand, or null where an optional one is missing.
  Value *operand_or_null(size_t i) const { return i < operands.size() ? operands[i] : nullptr; }
  Value *result() const { return results[0]; }

  const Attribute *find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  double number(std::string_view name) const;
  std::string_view text(std::string_view name) const; // "" if absent
  std::vector<int64_t> list(std::string_view name) const;
  void set(std::string name, Attribute value);
  void erase(std::string_view name);
};

struct Block {
  std::vector<Value *> arguments;
  std::vector<Op *> ops;
  Op *parent = nullptr; // null: a function's body

  Op *terminator() const { return ops.empty() ? nullptr : ops.back(); }
  size_t position_of(const Op *op);

private:
  size_t last_position_ = 0; // that was asked for: who asks goes from one operation to the next
};

/// What a kernel's author promised about a parameter.
struct Parameter {
  Value *value = nullptr;
  std::string name;
  bool is_signed = true;
  bool read_only = false, write_only = false, no_alias = false;
  int multiple_of = 1;    // integers: divisible by this
  int aligned_bytes = 16; // pointers
  Location location = {};
};

/// A part of a kernel's constant memory: an array that the host fills, and that the kernel reads
/// by `constant_load`.
struct ConstantMemory {
  std::string name;
  Elem elem = Elem::i8;
  bool is_signed = true;
  int64_t count = 0;           // of elements
  int64_t offset = 0;          // in bytes
  std::vector<int64_t> values; // of the first elements, before the host says others; the rest is 0
  std::vector<double> numbers; // the same, of floats

  int64_t bytes() const { return count * bytes_of(elem); }
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<ConstantMemory> constant_memory; // by offset
  Block *body = nullptr;
  LaunchPlan plan;
  Location location;
  std::string file; // that all locations are in; "" if unknown

  // Decided by passes.
  int warps = 0;        // 0: not decided
  int teams = 1;        // of so many warps each, that carry out programs in turn: see `specialize`
  int helper_warps = 0; // besides these, for what is not done by all: see `specialize`
  int shared_bytes = 0; // dynamic shared memory per program
  int residency = 0;    // programs that one multiprocessor shall run at once; 0: not decided

  Function();
  Function(Function &&) = default;
  Function &operator=(Function &&) = default;

  /// Of all constant memory; a power of two, so that every offset, modulo it, is inside. 0: there
  /// is none.
  int64_t constant_bytes() const;

  int threads() const { return 32 * (warps * teams + helper_warps); } // of a block

  Value *add_parameter(std::string name, Type type);
  Value *new_value(Type type, std::string name = "");
  Op *new_op(Opcode code);
  Block *new_block(Op *parent);

private:
  // Everything is freed with the function, nothing before.
  std::deque<Value> values_;
  std::deque<Op> ops_;
  std::deque<Block> blocks_;
};

/// A copy that shares nothing with the original.
Function clone(const Function &fn);

/// Calls `visit(Op &)` for every operation under `block`, outer ones first. `visit` must not change
/// the operations of a block.
template <typename Visit> void for_each_op(Block &block, Visit visit) {
  for (Op *op : block.ops) {
    visit(*op);
    for (Block *inner : op->blocks)
      for_each_op(*inner, visit);
  }
}

/// Counts the operations in the order of `for_each_op`: their locations say which they were,
/// whatever passes make of them.
void number_origins(Function &fn);

/// The location of the operation that has this number there; the kernel's for 0.
Location location_of_origin(const Function &fn, int origin);

/// Makes every user of `from` under `block`, or of `users`, use `to`.
void replace_uses(Block &block, Value *from, Value *to);
void replace_uses(const std::vector<Op *> &users, Value *from, Value *to);

/// How many operands under `block` are `value`.
int count_uses(Block &block, const Value *value);

/// The operations under `block` that have `value` as an operand. Looks at all of them: who asks for
/// many values makes a `Users`.
std::vector<Op *> users_of(Block &block, const Value *value);

/// What `users_of` says of every value, found in one walk, as things are when it is made.
class Users {
public:
  explicit Users(Block &block);
  const std::vector<Op *> &of(const Value *value) const;

private:
  std::unordered_map<const Value *, std::vector<Op *>> users_;
};

/// Takes `op` out of its block. Nothing may use its results any more.
void erase(Op *op);

/// Adds `op` and all operations that its operands are made of.
void add_with_operands(const Op *op, std::set<const Op *> &to);

/// Where copies of values are: `clone_computation` looks values up here before it copies them, and
/// adds what it copied.
using Copies = std::map<const Value *, Value *>;

/// Whether the value at `value` can be computed anywhere `block` can be seen from: it and all it is
/// made of inside `block` are pure, down to values from outside and those in `given`.
bool can_clone(const Value *value, const Block *block, const std::set<const Value *> &given);

class Builder;
/// Copies what computes `value` inside `block` to where `builder` is. Needs `can_clone`.
Value *clone_computation(Builder &builder, Value *value, const Block *block, Copies &copies);

/// Whether `value` is available at the start of `block` because it is defined outside of it (and of
/// every block inside it).
bool defined_outside(const Value *value, const Block *block);

/// Lets caches do with what `to` accesses as with what `from` does: gives it the {cache} of that.
void keep_hint(Op &to, const Op &from);

/// The operation by which a `reduce` with {op} = `name` combines elements; nothing if there is
/// none.
std::optional<Opcode> combining_op(std::string_view name);

/// The integer that `value` is, looking through splat and broadcast.
std::optional<int64_t> constant_of(const Value *value);
/// The same for floating-point and integer zero.
bool is_zero(const Value *value);

} // namespace tritonc::ir
