// Formats the time report. See time_report.h.
//
// Tested by tests/unit/support/time_report_test.cpp.

#include "support/time_report.h"

#include <cstdio>
#include <numeric>

namespace tritonc {
namespace {

constexpr const char *names[step_count] = {"front end",
                                           "choosing schedules",
                                           "passes",
                                           "lowering to LLVM IR",
                                           "LLVM, optimizing",
                                           "LLVM, PTX",
                                           "ptxas",
                                           "fatbinary",
                                           "host code",
                                           "cache",
                                           "files"};

template <typename... Values> std::string text(const char *format, Values... values) {
  char line[100];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

} // namespace

void StepTimes::add(const StepTimes &other) {
  for (size_t i = 0; i < step_count; i++) {
    seconds_[i] += other.seconds_[i];
    counts_[i] += other.counts_[i];
  }
}

std::string StepTimes::report() const {
  double all = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  double ptxas = seconds_[size_t(Step::ptxas)];
  std::string table = "  seconds      %  times  step\n";
  for (size_t i = 0; i < step_count; i++)
    table += text("%9.3f  %5.1f  %5d  %s\n", seconds_[i], all > 0 ? 100 * seconds_[i] / all : 0,
                  counts_[i], names[i]);
  table += text("%9.3f  100.0         total of all jobs", all);
  return table + (ptxas > 0 ? text("; %.2f times the time of ptxas\n", all / ptxas) : "\n");
}

} // namespace tritonc
