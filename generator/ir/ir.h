// Tile IR: describes what a kernel does, one operation on tiles at a time.
//
// A function is a block of operations. Operations may contain blocks, so loops and branches are
// structured. Every value is assigned once. ops.def lists the operations, types.h defines the
// types, verifier.h has the rules, and printer.h describes the text form. The parser reads the
// printer's text back to the same function.
//
// This folder knows neither Triton-C nor LLVM.

#pragma once

#include "ir/launch_plan.h"
#include "ir/types.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tritonc::ir {

struct Block;
struct Op;

enum class Opcode : uint8_t {
#define OP(name, min, max, regions, effect, attributes, text) name##_,
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
  io,
  host,
  control,
};

struct OpInfo {
  std::string_view name;
  int min_operands, max_operands; // max -1: any number
  int regions;                    // -1: any number, but at least one
  Effect effect;
  std::string_view attributes; // names; `?` after a name: optional
};
const OpInfo &info(Opcode code);

/// The source location of an operation; line 0: unknown.
struct Location {
  int line = 0, column = 0;
  // The number of the operation in the kernel before all passes, from 1; see `number_origins`.
  int origin = 0;
};

struct Value {
  Type type;
  std::string name;       // for printing; may be empty or not unique
  Op *op = nullptr;       // the operation that has this result; or
  Block *block = nullptr; // the block that has this argument; both null: a parameter
  int index = 0;          // index of the result, argument or parameter
  int number = 0;         // number of the value in its function: a stable order
};

/// A boolean attribute: present or absent.
struct Flag {
  bool operator==(const Flag &) const = default;
};

/// The value of an attribute.
using Attribute = std::variant<int64_t, std::vector<int64_t>, std::string, double, Flag>;

enum class AttributeName : uint8_t {
#define ATTRIBUTE(name, type, text) name##_,
#include "ir/attributes.def"
};
std::string_view name_of(AttributeName name);

/// The name of an attribute with the type of its value. A misspelled name or a value of another
/// type does not compile.
template <typename T> struct AttributeKey {
  AttributeName name;
};
namespace attr {
#define ATTRIBUTE(name, type, text)                                                                \
  inline constexpr AttributeKey<type> name##_{AttributeName::name##_};
#include "ir/attributes.def"
} // namespace attr

struct Op {
  Opcode code;
  std::vector<Value *> operands;
  std::vector<Value *> results;
  std::vector<Block *> blocks;
  std::vector<std::pair<AttributeName, Attribute>> attributes; // sorted by name
  Location location;
  Block *parent = nullptr;

  bool is(Opcode c) const { return code == c; }
  bool is_atomic() const { return is(Opcode::atomic_) || is(Opcode::atomic_cas_); }
  bool is_load_or_store() const { return is(Opcode::load_) || is(Opcode::store_); }
  /// Whether the launch chooses the number of stages of this buffer (shared_alloc).
  bool has_variable_stages() const { return is(Opcode::shared_alloc_) && !operands.empty(); }
  Value *operand(size_t i) const { return operands[i]; }
  /// The operand; null: the operation lacks this optional operand.
  Value *operand_or_null(size_t i) const { return i < operands.size() ? operands[i] : nullptr; }
  Value *result() const { return results[0]; }

  const Attribute *find(AttributeName name) const;
  void set(AttributeName name, Attribute value);
  void erase(AttributeName name);

  template <typename T> bool has(AttributeKey<T> key) const { return find(key.name); }
  /// The value; `otherwise` if the attribute is missing.
  template <typename T> T get(AttributeKey<T> key, std::type_identity_t<T> otherwise = {}) const {
    const Attribute *found = find(key.name);
    return found ? std::get<T>(*found) : std::move(otherwise);
  }
  std::string_view get(AttributeKey<std::string> key) const {
    const Attribute *found = find(key.name);
    return found ? std::string_view(std::get<std::string>(*found)) : std::string_view();
  }
  template <typename T> void set(AttributeKey<T> key, std::type_identity_t<T> value = {}) {
    set(key.name, std::move(value));
  }
  template <typename T> void erase(AttributeKey<T> key) { erase(key.name); }
  /// Copies the attribute from `other`, if `other` has it.
  template <typename T> void copy(AttributeKey<T> key, const Op &other) {
    if (const Attribute *found = other.find(key.name))
      set(key.name, *found);
  }
};

struct Block {
  std::vector<Value *> arguments;
  std::vector<Op *> ops;
  Op *parent = nullptr; // null: the body of a function

  Op *terminator() const { return ops.empty() ? nullptr : ops.back(); }
  size_t position_of(const Op *op);

private:
  // The result of the last search. Callers usually ask for adjacent operations.
  size_t last_position_ = 0;
};

/// A parameter, and the author's assumptions about it.
struct Parameter {
  Value *value = nullptr;
  std::string name;
  bool is_signed = true;
  bool read_only = false, write_only = false, no_alias = false;
  int multiple_of = 1;    // integers: divisible by this
  int aligned_bytes = 16; // pointers
  Location location = {};
};

/// A part of a kernel's constant memory: an array that the host fills and `constant_load` reads.
struct ConstantMemory {
  std::string name;
  Elem elem = Elem::i8;
  bool is_signed = true;
  int64_t count = 0;  // elements
  int64_t offset = 0; // bytes
  // Initial values of the first elements, until the host sets others; the other elements are 0.
  std::vector<int64_t> values;
  std::vector<double> floats; // as `values`, for floats

  int64_t bytes() const { return count * bytes_of(elem); }
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<ConstantMemory> constant_memory; // sorted by offset
  Block *body = nullptr;
  LaunchPlan plan;
  Location location;
  std::string file; // file of all locations; "": unknown

  // The passes set these.
  int warps = 0;         // that hold a tile, where no partition says otherwise; 0: not decided
  int shared_bytes = 0;  // dynamic shared memory per program, in bytes
  int blocks_per_sm = 0; // programs that one SM runs at once; 0: not decided

  Function();
  Function(Function &&) = default;
  Function &operator=(Function &&) = default;

  /// Bytes of all constant memory, rounded up to a power of two: every offset modulo it is inside.
  /// 0: no constant memory.
  int64_t constant_bytes() const;

  int programs_of_block() const; // that run side by side: see launch_warps
  int threads() const;           // per block
  int shared_bytes_of_block() const;

  Value *add_parameter(std::string name, Type type);
  Value *new_value(Type type, std::string name = "");
  Op *new_op(Opcode code);
  Block *new_block(Op *parent);

private:
  // The function owns these and frees them only with itself.
  std::deque<Value> values_;
  std::deque<Op> ops_;
  std::deque<Block> blocks_;
};

/// Maps values to their copies.
using Copies = std::map<const Value *, Value *>;

/// Copies `op` with its blocks, for a place in `parent`, a block of `fn`. Operands that have a copy
/// become that copy. Adds the copies of the results.
Op *clone(const Op &op, Block *parent, Function &fn, Copies &copies);

/// Returns a deep copy.
Function clone(const Function &fn);

/// Calls `visit(Op &)` for every operation under `block`, outer operations first. `visit` must not
/// change the operations of a block.
template <typename Visit> void for_each_op(Block &block, Visit visit) {
  for (Op *op : block.ops) {
    visit(*op);
    for (Block *inner : op->blocks)
      for_each_op(*inner, visit);
  }
}

/// Numbers the operations in the order of `for_each_op`. Passes keep these numbers in the
/// locations, so a location always identifies an operation of the original kernel.
void number_origins(Function &fn);

/// The location of the operation with number `origin` in `fn`; the location of the kernel for 0.
Location location_of_origin(const Function &fn, int origin);

/// Replaces `from` by `to` in the operands of all operations under `block`, or of `users`.
void replace_uses(Block &block, Value *from, Value *to);
void replace_uses(const std::vector<Op *> &users, Value *from, Value *to);

/// Counts the operands under `block` that are `value`.
int count_uses(Block &block, const Value *value);

/// The operations under `block` that have `value` as an operand. Walks the whole block: for many
/// values, use `Users`.
std::vector<Op *> users_of(Block &block, const Value *value);

/// The result of `users_of` for every value, collected in one walk when the object is made.
class Users {
public:
  explicit Users(Block &block);
  const std::vector<Op *> &of(const Value *value) const;

private:
  std::unordered_map<const Value *, std::vector<Op *>> users_;
};

/// A block of a `warp_specialize`, and the warps that run it.
struct Partition {
  Block *block = nullptr;
  int warps = 0;              // of one group
  int groups = 1;             // each has its own values and buffers
  int64_t registers = 0;      // per thread; 0: as at the start
  bool is_one_thread = false; // that runs it
  int first_warp = 0;         // of the block
  int first_group = 0;        // of all groups of the block

  int all_warps() const { return warps * groups; }
  /// The arrivals of one group at an mbarrier.
  int arrivals() const { return is_one_thread ? 1 : warps; }

  bool operator==(const Partition &other) const { return block == other.block; }
};

/// The partitions of a `warp_specialize`.
std::vector<Partition> partitions_of(const Op &specialize);
/// The partitions of the function's `warp_specialize`; empty: it has none.
std::vector<Partition> partitions_of(const Function &fn);
/// The partition that contains `op`; nullopt: none does.
std::optional<Partition> partition_of(const Op &op);

/// Removes `op` from its block. Its results must have no users.
void erase(Op *op);

/// Moves `op` to directly before or after `place`, in any block.
void move_before(Op *op, Op *place);
void move_after(Op *op, Op *place);

/// Adds a value to a for_loop's carried values: `first` at the start. The caller appends the value of
/// the next iteration to the yield. Returns the argument of the loop's body.
Value *add_carried(Function &fn, Op &loop, Value *first);

/// Adds `op` and all operations that it depends on.
void add_with_operands(const Op *op, std::set<const Op *> &to);

/// Returns whether `value` can be recomputed outside `block`: all operations inside `block` that it
/// depends on are pure. Values in `given` need no recomputation.
bool can_clone(const Value *value, const Block *block, const std::set<const Value *> &given);

/// Returns whether `value` is defined outside `block` and all blocks inside it, so it is available
/// at the start of `block`.
bool defined_outside(const Value *value, const Block *block);

/// Copies the cache hint {cache} of `from` to `to`.
void keep_cache_hint(Op &to, const Op &from);

/// The operation that combines elements in a `reduce` with {op} = `name`; nullopt: unknown name.
std::optional<Opcode> combining_op(std::string_view name);

/// The value that all elements of `value` are, through splat, broadcast and expand.
const Value *scalar_of(const Value *value);
/// The integer constant `value`, also through splat, broadcast and expand; nullopt: not a constant.
std::optional<int64_t> constant_of(const Value *value);
/// The constant, of any type, that all elements of `value` are; nullopt: not a constant.
std::optional<double> number_of(const Value *value);
/// Returns whether `value` is an integer or floating-point constant zero, also through casts.
bool is_zero(const Value *value);
/// Returns whether each element of the result is computed from the same element of the operands, and
/// from scalars.
bool is_elementwise(const Op &op);

} // namespace tritonc::ir
