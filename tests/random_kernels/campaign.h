// Runs many random kernels through all legs, each in its own process, several at a time.

#pragma once

#include "random_kernels/legs.h"

#include <functional>

namespace tritonc::random {

struct Campaign {
  uint64_t from = 0;      // the first seed
  uint64_t kernels = 100; // number of seeds
  int jobs = 1;
  int seconds_per_kernel = 60;
  int seconds_to_reduce = 120; // per failure; 0 = no reduction
  int variants_percent = 25;   // kernels that also run as a variant, in percent
  Legs legs;
  std::string found; // folder for the files of failures; "" = none
  std::string state; // file with the progress, for resuming; "" = none
  /// Called regularly and at the end with a line about the progress.
  std::function<void(const std::string &line)> progress;
};

struct Found {
  uint64_t seed = 0;
  Failure failure;  // of the generated kernel
  std::string text; // the case as a file, reduced if time allowed
  std::string path; // of this file
};

struct CampaignResult {
  uint64_t kernels = 0; // done, including those before a resume
  uint64_t failed = 0;  // all failures; `found` has the first few of each kind
  std::vector<Found> found;
  Effort effort;
};

/// Requires that this process has no other running thread.
CampaignResult run(const Campaign &campaign);

/// Runs a case from a file in its own process.
std::optional<Failure> replay(const Case &tried, const Legs &legs, int seconds);

} // namespace tritonc::random
