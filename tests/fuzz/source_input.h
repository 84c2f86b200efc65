// A Triton-C source and its command-line options as one text: the input of the targets front_end,
// grammar and ptx.
//
//     //! define TYPE half          a macro: its name and tokens
//     //! grid cdiv(n, 64)          replaces the grid of the source
//     //! gpu 90a 2                 the GPU and the index of the schedule
//     __global__ void k(...) ...
//     //! file part.tch             the next lines are the include file part.tch
//     #define N 16

#pragma once

#include "ir/schedule.h"
#include "language/front_end.h"
#include "target/gpu.h"
#include "translate/translate.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritonc::fuzz {

struct SourceInput {
  FrontEndInput input;
  std::string gpu = "80";
  size_t schedule = 0;
  std::vector<std::pair<std::string, std::string>> files;

  explicit SourceInput(std::string_view text);

  bool may_have_axes() const;
  /// The GPU named by `gpu`; sm_80 if the name is unknown.
  const Gpu *known_gpu() const;
  /// The schedule with the index `schedule`, modulo the number of schedules.
  Schedule chosen(std::vector<Schedule> schedules) const;
};

/// Counts how often a target completed, and prints the count at exit. Invalid inputs end early.
class Count {
public:
  explicit Count(const char *what) : what_(what) {}
  ~Count();
  void operator+=(int more) { count_ += more; }

private:
  const char *what_;
  long count_ = 0;
};

/// Prints the failure and aborts the process.
[[noreturn]] void fail(const std::string &what, const std::string &about = "");

/// Translates a source to tile IR: first the axes, then the kernels with the first value of each
/// axis. Calls fail() if the front end rejects a source without a message, or returns invalid tile
/// IR.
FrontEndResult run_front_end(const SourceInput &source);

} // namespace tritonc::fuzz
