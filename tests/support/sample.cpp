// Reads the seed and doctest's options. See sample.h.

#include "support/sample.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace tritonc::test {

std::string sample_seed() {
  const char *seed = std::getenv("TRITONC_SEED");
  return seed && *seed ? seed : "1";
}

Sample sample_of_this_run(const std::string &sweep, int percent) {
  if (doctest::getContextOptions()->no_skip)
    percent = 100;
  std::string seed = sample_seed();
  MESSAGE(sweep, ": ", percent, " % of the sweep, chosen by TRITONC_SEED=", seed);
  return Sample(sweep, percent, seed);
}

} // namespace tritonc::test
