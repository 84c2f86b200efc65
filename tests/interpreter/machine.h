// One program of a grid at work: its values, its shared memory, its copies under way. Private to
// the interpreter; a member function per operation, a file per family of operations.

#pragma once

#include "interpreter/interpreter.h"

#include <deque>
#include <unordered_map>

namespace tritonc::interpreter {

/// The distance of neighbours along each axis, in elements.
std::vector<int64_t> row_major_strides(const ir::Shape &shape);

/// The sum of coordinates times strides, for each element in row-major order.
std::vector<int64_t> places(const ir::Shape &shape, const std::vector<int64_t> &strides);

class Machine {
public:
  Machine(const ir::Function &fn, const Launch &launch, Memory &memory, Result &result,
          std::array<int, 3> program)
      : fn_(fn), launch_(launch), memory_(memory), result_(result), program_(program) {}

  /// Returns false if no further program shall run: there have been enough steps.
  bool run();

private:
  // interpreter.cpp
  void execute(const ir::Op &op);
  void find(Finding::Kind kind, const ir::Op &op, int64_t element, std::string text);
  const Tile &tile(const ir::Value *value) const { return values_.at(value); }
  const Tile *tile_or_null(const ir::Value *value) const { return value ? &tile(value) : nullptr; }
  const Element &scalar(const ir::Value *value) const { return values_.at(value)[0]; }

  /// Gives `op` its one result, element by element.
  template <typename Make> void define(const ir::Op &op, Make make) {
    Tile elements(size_t(op.result()->type.elements()));
    for (size_t i = 0; i < elements.size(); i++)
      elements[i] = make(i);
    values_[op.result()] = std::move(elements);
  }
  /// The same for a scalar, or a tile that is already there.
  void define(const ir::Op &op, Element scalar) { values_[op.result()] = Tile{scalar}; }
  void define(const ir::Op &op, Tile elements) { values_[op.result()] = std::move(elements); }

  // control.cpp
  void block(const ir::Block &block);
  void for_loop(const ir::Op &op);
  void while_loop(const ir::Op &op);
  void if_else(const ir::Op &op);
  std::vector<Tile> values_of(const std::vector<ir::Value *> &values, size_t first) const;
  void assign(const std::vector<ir::Value *> &to, size_t first, std::vector<Tile> &&tiles);
  /// What decides a branch. Poison is a finding and ends the program.
  int64_t decision(const ir::Op &op, const ir::Value *condition);

  // checks.cpp
  void show(const ir::Op &op);
  void assertion(const ir::Op &op);

  // arithmetic.cpp
  void elementwise(const ir::Op &op);

  // shape.cpp
  void constant(const ir::Op &op);
  void range(const ir::Op &op);
  void splat(const ir::Op &op);
  void broadcast(const ir::Op &op);
  void trans(const ir::Op &op);

  // contraction.cpp
  void dot(const ir::Op &op);
  void reduce(const ir::Op &op);

  // global_memory.cpp
  void view(const ir::Op &op);
  void load(const ir::Op &op);
  void store(const ir::Op &op);
  bool is_on(const ir::Op &op, const Tile *mask, size_t i);
  Element *accessed(const ir::Op &op, size_t i, const Element &pointer, const char *verb);
  void report(const ir::Op &op, size_t i, std::string verb, const Element &pointer);

  // shared_memory.cpp
  struct SharedBuffer {
    Tile elements;
    int64_t slots = 0;
  };
  // A copy in the background of one element: into a buffer, out of global memory (or just zero).
  struct Copy {
    int into;
    size_t at;
    Element value; // when it started
    Element from;  // a pointer; poison if nothing is read
  };
  void shared_alloc(const ir::Op &op);
  void ring_slot(const ir::Op &op);
  void shared_store(const ir::Op &op);
  void shared_load(const ir::Op &op);
  void async_copy(const ir::Op &op);
  void async_commit();
  void async_wait(const ir::Op &op);
  void land(const Copy &copy);
  Element *slot(const ir::Op &op, const ir::Value *buffer, const ir::Value *slot);

  const ir::Function &fn_;
  const Launch &launch_;
  Memory &memory_;
  Result &result_;
  std::array<int, 3> program_;
  bool ended_ = false;    // by a finding
  int64_t found_at_ = -1; // the step of the last finding
  std::unordered_map<const ir::Value *, Tile> values_;
  std::vector<SharedBuffer> shared_;
  std::unordered_map<const ir::Op *, int> allocated_; // buffers of shared_alloc operations
  std::vector<Copy> started_;                         // copies that no commit has closed
  std::deque<std::vector<Copy>> groups_;              // the oldest first
};

} // namespace tritonc::interpreter
