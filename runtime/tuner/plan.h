// A plan: the problems to measure, as text. Each line is a problem; tabs separate its fields.
// `tritonc tune` writes plans, and reads the tuner's output (tuner.h).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// The fields are "problem", the kernel, its template arguments, the problem's name, and all
/// arguments:
///
///     problem  matmul  TYPE=half A=N B=N  K=64 M=64 N=64  A=4096 B=4096 C=4096 K=64 M=64 N=64 ...
///
/// The value of a pointer is its number of elements.
struct Problem {
  std::string kernel, types, name;
  std::map<std::string, std::int64_t> arguments;
};

/// Reads a plan. Throws std::runtime_error with the line number if the text is no plan.
std::vector<Problem> read_plan(std::istream &text);

} // namespace tritonc::v1::tuner
