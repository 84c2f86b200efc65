// What is to be measured, as text: lines whose fields are separated by tabs. `tritonc tune` writes
// them, and reads what the runner says of each (runner.h).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// "problem", the kernel, its types, the problem as it is called, and all arguments:
///
///     problem  matmul  TYPE=half A=N B=N  K=64 M=64 N=64  A=4096 B=4096 C=4096 K=64 M=64 N=64 ...
///
/// Of a pointer it says how many elements there are.
struct Problem {
  std::string kernel, types, name;
  std::map<std::string, std::int64_t> arguments;
};

/// Throws std::runtime_error, with the number of the line, where it is no plan.
std::vector<Problem> read_plan(std::istream &text);

} // namespace tritonc::v1::tuner
