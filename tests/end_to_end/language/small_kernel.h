// Runs a small kernel from its source through the passes and host code on the emulator, and checks
// the memory that it leaves.
//
//     SmallKernel kernel("__global__ void f(float *x, float *y) { *y = exp(*x); }");
//     kernel.add(ir::Elem::f32, {1});
//     int y = kernel.add_unwritten(ir::Elem::f32, 1);
//     kernel.must_give(y, {2.718281828}, 1e-6);
//
// Add parameters in order. must_give compares the expected values with the tile interpreter's
// result, and with the results of each GPU's code on the emulator, in several interleavings and
// with race checks.

#pragma once

#include "interpreter/interpreter.h"
#include "ir/schedule.h"
#include "language/front_end.h"

#include <string>
#include <vector>

namespace tritonc::test {

class SmallKernel {
public:
  explicit SmallKernel(const std::string &source, std::vector<Define> defines = {});

  /// Adds a pointer to these values. Returns the buffer's number.
  int add(ir::Elem elem, const std::vector<double> &values);
  int add_unwritten(ir::Elem elem, size_t count);
  /// Adds a pointer to an existing buffer.
  void add_same(int buffer);
  void add(int value) { add_value(ir::Elem::i32, value); }
  void add_value(ir::Elem elem, double value);
  /// Writes these values to the start of the constant memory of this name.
  void fill(const std::string &constant, const std::vector<double> &values);
  const ir::Function &function() const { return fn_; }
  void set_grid(int x, int y = 1, int z = 1) { launch_.grid = {x, y, z}; }
  /// The schedule for the emulator; default: the baseline. Its guards must hold.
  void set_schedule(Schedule schedule) { schedule_ = std::move(schedule); }
  /// Turns race checks off, for programs that synchronize by atomic operations. In the emulator,
  /// atomic operations order nothing.
  void without_races() { races_ = false; }

  /// Checks each element with this error bound: relative, or absolute for values below 1. Where
  /// NaN is expected, the element must be NaN.
  void must_give(int buffer, const std::vector<double> &expected, double error = 0);

private:
  void compare(const interpreter::Memory &memory, int buffer, const std::vector<double> &expected,
               double error) const;

  ir::Function fn_;
  interpreter::Memory memory_;
  interpreter::Launch launch_;
  Schedule schedule_;
  bool races_ = true;
};

} // namespace tritonc::test
