// Lists the schedules of a function, for tests that run them.

#pragma once

#include "ir/schedule.h"
#include "schedule/candidates.h"

#include <optional>
#include <utility>
#include <vector>

namespace tritonc::test {

/// The schedules of all candidates, without costs.
inline std::vector<Schedule> schedules_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Schedule> schedules;
  for (Candidate &candidate : candidate_schedules(fn, gpu))
    schedules.push_back(std::move(candidate.schedule));
  return schedules;
}

/// Schedules that do all work in one launch. The schedule of a tail becomes a complete schedule, as
/// if the first launch had no full wave.
inline std::vector<Schedule> complete_schedules_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Schedule> schedules;
  for (Schedule &schedule : schedules_for(fn, gpu)) {
    if (schedule.work == Schedule::Work::full_waves || schedule.partials)
      continue;
    schedule.work = Schedule::Work::all;
    schedules.push_back(std::move(schedule));
  }
  return schedules;
}

/// Split-K through a workspace: the first launch stores the partials, the second reduces them.
struct SplitKLaunches {
  Schedule first, second;
};

inline std::optional<SplitKLaunches> split_k_launches_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Schedule> schedules = schedules_for(fn, gpu);
  for (size_t i = 0; i < schedules.size(); i++)
    if (schedules[i].work == Schedule::Work::split_k_partials)
      return SplitKLaunches{schedules[i], schedules[i + 1]};
  return std::nullopt;
}

} // namespace tritonc::test
