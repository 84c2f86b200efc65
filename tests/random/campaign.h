// Many random kernels through all legs, each in a process of its own, several at a time.

#pragma once

#include "random/legs.h"

#include <functional>

namespace tritonc::random {

struct Campaign {
  uint64_t from = 0;      // the first seed
  uint64_t kernels = 100; // so many seeds from there
  int jobs = 1;
  int seconds_per_kernel = 60;
  int seconds_to_reduce = 120; // each failure; 0: it stays as large as it is
  int variants_percent = 25;   // of kernels of which a variant is tried too
  Legs legs;
  std::string found; // a folder for the files of failures; "": none are written
  std::string state; // a file that says how far it is, so that it can go on; "": none
  /// Called now and then, and at the end, with a line that says how far it is.
  std::function<void(const std::string &line)> progress;
};

struct Found {
  uint64_t seed = 0;
  Failure failure;  // of the kernel as it was generated
  std::string text; // the case as a file, reduced if there was time
  std::string path; // where that is
};

struct CampaignResult {
  uint64_t kernels = 0; // done, also before it went on
  uint64_t failed = 0;  // all of them; `found` has the first few of each kind
  std::vector<Found> found;
  Effort effort;
};

/// Needs that no other thread is at work in this process.
CampaignResult run(const Campaign &campaign);

/// Runs a case from a file in a process of its own.
std::optional<Failure> replay(const Case &tried, const Legs &legs, int seconds);

} // namespace tritonc::random
