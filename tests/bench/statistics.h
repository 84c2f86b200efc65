// Medians, quantiles and means of measurements.
#pragma once

#include <utility>
#include <vector>

namespace bench {

/// The quantile q, with linear interpolation between adjacent values; 0.5 = median. NaN without
/// values.
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// NaN without values.
double geometric_mean(const std::vector<double> &values);

} // namespace bench
