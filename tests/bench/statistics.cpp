// Tested by statistics_test.cpp.

#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bench {

double quantile(std::vector<double> values, double q) {
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  double place = q * double(values.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, values.size() - 1);
  double part = place - double(below);
  return values[below] * (1 - part) + values[above] * part;
}

double geometric_mean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return std::exp(sum / double(values.size()));
}

} // namespace bench
