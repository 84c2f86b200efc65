// Tests statistics.cpp.

#include "statistics.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace bench;

TEST_CASE("the median lies in the middle, or between the two in the middle") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(std::isnan(median({})));
}

TEST_CASE("quantiles, from the least to the largest") {
  CHECK(quantile({1, 2, 3, 4, 5}, 0) == 1);
  CHECK(quantile({5, 4, 3, 2, 1}, 0.25) == 2);
  CHECK(quantile({1, 2}, 0.75) == 1.75);
  CHECK(quantile({1, 2, 3}, 1) == 3);
}

TEST_CASE("a geometric mean of ratios does not care which way they are taken") {
  CHECK(geometric_mean({2, 0.5}) == doctest::Approx(1));
  CHECK(geometric_mean({1, 4}) == doctest::Approx(2));
  CHECK(std::isnan(geometric_mean({})));
}
