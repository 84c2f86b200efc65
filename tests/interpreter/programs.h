// Small programs for the tests of the interpreter: operations as text on buffers of 8 elements.

#pragma once

#include "interpreter/interpreter.h"

namespace tritonc::test {

/// Runs a program and keeps its results. The program is
///
///     func @f(%x: ptr<E>, %y: ptr<R>, %n: i32) warps 4 {
///       (prologue) `operations` return
///     }
///
/// where x has 0, 1, ... 7 and y has 8 unwritten elements. The prologue defines %i (0 to 7,
/// i32[8]), %p and %q (pointers to the elements of x and y) and the i32 %zero; %n is 3.
struct Ran {
  interpreter::Memory memory;
  interpreter::Result result;

  explicit Ran(const std::string &operations, const std::string &from = "f32",
               const std::string &to = "", interpreter::Launch launch = {});

  /// y, with NaN for poison.
  std::vector<double> y() const;
  /// The kinds of the reports.
  std::vector<interpreter::Report::Kind> kinds() const;
  /// All reports as text, one per line.
  std::string text() const;
};

} // namespace tritonc::test
