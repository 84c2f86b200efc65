// A source with all that a command line says about it, as one text: what the targets that start
// with Triton-C take.
//
//     //! define TYPE half          a macro: a name and its tokens
//     //! grid cdiv(n, 64)          replaces the source's
//     //! gpu 90a 2                 for which, and in the how-manieth of its schedules
//     __global__ void k(...) ...
//     //! file part.tch             what follows can be included
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
  /// The GPU, or another one, if there is none of that name.
  const Gpu *known_gpu() const;
  /// One of the schedules, whatever the number.
  Schedule chosen(std::vector<Schedule> schedules) const;
};

/// How often a target came to its end, said when the process ends: not every input does.
class Count {
public:
  explicit Count(const char *what) : what_(what) {}
  ~Count();
  void operator+=(int more) { count_ += more; }

private:
  const char *what_;
  long count_ = 0;
};

/// Says what is wrong and ends the process, as a failed assertion does.
[[noreturn]] void fail(const std::string &what, const std::string &about = "");

/// What the tool does up to tile IR: the axes, then the kernels with the first value of each.
/// Fails where the front end breaks a promise: what it refuses is refused with a message, and what
/// it takes becomes tile IR that keeps to the rules.
FrontEndResult run_front_end(const SourceInput &source);

} // namespace tritonc::fuzz
