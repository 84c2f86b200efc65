// Medians and means of what was measured.
#pragma once

#include <utility>
#include <vector>

namespace bench {

/// The quantile q of the values, between neighbors in proportion; 0.5 is the median. Not a number
/// if there are none.
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// Not a number if there are none.
double geometric_mean(const std::vector<double> &values);

} // namespace bench
