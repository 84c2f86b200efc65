// Tests tests/bench/statistics.cpp.

#include "statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace bench;

TEST_CASE("median: interpolates between the two middle values") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(std::isnan(median({})));
}

TEST_CASE("quantile: interpolates from minimum to maximum") {
  CHECK(quantile({1, 2, 3, 4, 5}, 0) == 1);
  CHECK(quantile({5, 4, 3, 2, 1}, 0.25) == 2);
  CHECK(quantile({1, 2}, 0.75) == 1.75);
  CHECK(quantile({1, 2, 3}, 1) == 3);
}

TEST_CASE("geometric_mean: a ratio and its inverse average to 1") {
  CHECK(geometric_mean({2, 0.5}) == doctest::Approx(1));
  CHECK(geometric_mean({1, 4}) == doctest::Approx(2));
  CHECK(std::isnan(geometric_mean({})));
}
