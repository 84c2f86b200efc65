// A test case: the source of one kernel, its launch, and its expected outputs.
//
// A case needs no tree, so a failed case can be stored as a file:
//
//     //! grid 2 1 1
//     //! data 8127
//     //! x0 input float 64 -3 3 0
//     //! n1 number int 16
//     //! y2 output half 256 hash 4b2ffae31c0a7712
//     __global__ void k(float *x0, int n1, half *y2) { ...

#pragma once

#include "random_kernels/evaluate.h"

#include <string>
#include <vector>

namespace tritonc::random {

struct Argument {
  std::string name;
  Parameter::Role role = Parameter::Role::number;
  Scalar scalar = Scalar::int32;
  int64_t integer = 0; // value of a scalar argument
  double real = 0;
  int64_t count = 0; // elements of a buffer
  Data data;         // contents of an input buffer

  // Expected contents of an output buffer: every element with an error bound. For a case from a
  // file: a hash of the bytes if the results are exact, or nothing.
  std::vector<Number> expected;
  std::vector<bool> written;
  bool has_hash = false;
  uint64_t hash = 0;
  double bound = 0; // max error bound

  bool is_written() const { return role >= Parameter::Role::output; }
};

struct Case {
  std::string source;
  std::string name; // kernel name
  std::array<int, 3> grid = {1, 1, 1};
  uint64_t data_seed = 0;
  std::vector<Argument> arguments;

  /// Number of SMs for the launch.
  int num_sms() const { return 1 + int(data_seed % 3); }
};

Case case_of(const Kernel &kernel, const Evaluation &evaluation);

/// The bytes of an argument's buffer before the launch.
std::vector<uint8_t> initial_bytes(const Case &tried, int argument);

/// Describes the first wrong element; "" = none. `buffers` has the bytes of each argument's buffer;
/// buffers of unwritten arguments are ignored.
std::string difference(const Case &tried, const std::vector<std::vector<uint8_t>> &buffers);

/// Converts to a file and back. `comment` becomes comment lines at the start. Replaces the //!
/// lines of the source.
std::string file_text(const Case &tried, const std::string &comment);
/// Returns nullopt and sets `problem` if the text is not a case.
std::optional<Case> read_case(const std::string &text, std::string &problem);

} // namespace tritonc::random
