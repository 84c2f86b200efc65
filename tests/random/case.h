// One kernel to try: its source, what it is launched with, and what it must leave in memory.
//
// A case needs no tree, so one that failed can be kept as a file:
//
//     //! grid 2 1 1
//     //! data 8127
//     //! x0 input float 64 -3 3 0
//     //! n1 number int 16
//     //! y2 output half 256 hash 4b2ffae31c0a7712
//     __global__ void k(float *x0, int n1, half *y2) { ...

#pragma once

#include "random/evaluate.h"

#include <string>
#include <vector>

namespace tritonc::random {

struct Argument {
  std::string name;
  Parameter::Role role = Parameter::Role::number;
  Scalar scalar = Scalar::int32;
  int64_t integer = 0; // of a number
  double real = 0;
  int64_t count = 0; // elements of a buffer
  Data data;         // what a buffer that is read holds

  // What a buffer that is written must hold: every element, with a bound for each; or, where the
  // case comes from a file, a hash of its bytes if it is exact; or nothing.
  std::vector<Number> expected;
  std::vector<bool> written;
  bool has_hash = false;
  uint64_t hash = 0;
  double bound = 0; // the largest of the bounds

  bool is_written() const { return role >= Parameter::Role::output; }
};

struct Case {
  std::string source;
  std::string name; // of the kernel
  std::array<int, 3> grid = {1, 1, 1};
  uint64_t data_seed = 0;
  std::vector<Argument> arguments;

  /// Of the GPU that it is tried on.
  int multiprocessors() const { return 1 + int(data_seed % 3); }
};

Case case_of(const Kernel &kernel, const Evaluation &evaluation);

/// The bytes that the buffer of an argument holds before the kernel runs.
std::vector<uint8_t> initial_bytes(const Case &tried, int argument);

/// The first element that is not what it must be, in words; "" if there is none. `buffers` has the
/// bytes of each argument's buffer; those of arguments that aren't written don't matter.
std::string difference(const Case &tried, const std::vector<std::vector<uint8_t>> &buffers);

/// As a file, and back; `comment` is put in front, line by line. Lines //! of the source are
/// replaced.
std::string file_text(const Case &tried, const std::string &comment);
/// Nothing, with a reason, if it does not read as a case.
std::optional<Case> read_case(const std::string &text, std::string &problem);

} // namespace tritonc::random
