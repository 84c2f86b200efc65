// The cases of each kernel, and the places of their results.

#pragma once

#include "cases.h"

namespace table {

/// For the cases of one kernel: the index of each case's first result in the output of its type.
struct Slots {
  std::vector<int64_t> first;
  int64_t of_type[type_count] = {};
};

inline Slots slots_of(const std::vector<Case> &cases) {
  Slots slots;
  for (const Case &made : cases) {
    int64_t &next = slots.of_type[size_t(made.result)];
    slots.first.push_back(next);
    // Keeps the results aligned for vector accesses.
    next += (int64_t(made.results) * programs + tile - 1) / tile * tile;
  }
  return slots;
}

/// Every `every`-th case, split into kernels.
inline std::vector<std::vector<Case>> batches_of(int every) {
  std::vector<std::vector<Case>> batches;
  std::vector<Case> cases = all_cases();
  for (size_t i = 0; i < cases.size(); i += size_t(every)) {
    if (batches.empty() || batches.back().size() == cases_of_kernel)
      batches.emplace_back();
    batches.back().push_back(std::move(cases[i]));
  }
  return batches;
}

} // namespace table
