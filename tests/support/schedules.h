// Lists the schedules of a function, for tests that run them.

#pragma once

#include "ir/schedule.h"
#include "passes/align_tiles.h"
#include "passes/pipeline.h"
#include "passes/split_loops_in_cluster.h"
#include "passes/unroll_loops.h"
#include "schedule/candidates.h"
#include "schedule/cluster.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tritonc::test {

/// The schedules of all candidates, without costs. Also those that candidate_schedules omits for
/// small tiles, which tests have: clusters, with and without reuse of tiles. The last one is the
/// baseline.
inline std::vector<Schedule> schedules_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Schedule> schedules;
  for (Candidate &candidate : candidate_schedules(fn, gpu))
    schedules.push_back(std::move(candidate.schedule));
  const ir::Function canonical = canonical_form(fn);
  std::vector<Schedule> clusters;
  for (Candidate &candidate : cluster_schedules(canonical, traffic_of(canonical, gpu), gpu))
    clusters.push_back(std::move(candidate.schedule));
  if (clusters.empty())
    return schedules;
  ir::Function divided = ir::clone(canonical);
  align_tiles(divided);
  if (try_splitting_loops(divided, 2); clusters[0].staged && try_unrolling(divided, 1))
    clusters.push_back({.cluster = 2, .iterations = 1});
  for (Schedule &schedule : clusters)
    if (std::find(schedules.begin(), schedules.end(), schedule) == schedules.end())
      schedules.insert(schedules.end() - 1, std::move(schedule));
  return schedules;
}

/// Schedules that do all work in one launch.
inline std::vector<Schedule> complete_schedules_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Schedule> schedules;
  for (Schedule &schedule : schedules_for(fn, gpu)) {
    if (schedule.work == Schedule::Work::all)
      schedules.push_back(std::move(schedule));
  }
  return schedules;
}

/// Two launches with partials in a workspace: the first stores them, the second reduces them. Of a
/// matmul this is split-K, of another loop a split loop.
struct PartialsLaunches {
  Schedule first, second;
};

inline std::optional<PartialsLaunches> partials_launches_for(const ir::Function &fn,
                                                             const Gpu &gpu) {
  std::vector<Schedule> schedules = schedules_for(fn, gpu);
  for (size_t i = 0; i < schedules.size(); i++)
    if (schedules[i].work == Schedule::Work::partials)
      return PartialsLaunches{schedules[i], schedules[i + 1]};
  return std::nullopt;
}

} // namespace tritonc::test
