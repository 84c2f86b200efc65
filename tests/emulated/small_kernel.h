// A small kernel and what it must leave in memory, from its source through the passes and host code
// to the emulator.
//
//     SmallKernel kernel("__global__ void f(float *x, float *y) { *y = exp(*x); }");
//     kernel.add(ir::Elem::f32, {1});
//     int y = kernel.add_unwritten(ir::Elem::f32, 1);
//     kernel.must_give(y, {2.718281828}, 1e-6);
//
// Parameters are added in order. What must be given is compared with what the tile interpreter
// makes of the source, and what the code for each GPU does on the emulator, in several orders of
// threads, with races looked for.

#pragma once

#include "interpreter/interpreter.h"
#include "language/front_end.h"

#include <string>
#include <vector>

namespace tritonc::test {

class SmallKernel {
public:
  explicit SmallKernel(const std::string &source, std::vector<Define> defines = {});

  /// A pointer to these; the result is the buffer's number.
  int add(ir::Elem elem, const std::vector<double> &values);
  int add_unwritten(ir::Elem elem, size_t count);
  /// A pointer to a buffer that another one points to.
  void add_same(int buffer);
  void add(int value) { add_value(ir::Elem::i32, value); }
  void add_value(ir::Elem elem, double value);
  /// Puts these values into the constant memory of this name, from its beginning.
  void fill(const std::string &constant, const std::vector<double> &values);
  const ir::Function &function() const { return fn_; }
  void set_grid(int x, int y = 1, int z = 1) { launch_.grid = {x, y, z}; }
  /// For programs that order what they do by atomic operations, of which the emulator knows only
  /// that they don't race with each other.
  void without_races() { races_ = false; }

  /// Each of these elements, up to that error: relative, or absolute where it is less than 1. None
  /// where an element is NaN.
  void must_give(int buffer, const std::vector<double> &expected, double error = 0);

private:
  void compare(const interpreter::Memory &memory, int buffer, const std::vector<double> &expected,
               double error) const;

  ir::Function fn_;
  interpreter::Memory memory_;
  interpreter::Launch launch_;
  bool races_ = true;
};

} // namespace tritonc::test
