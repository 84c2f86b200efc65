// Estimates the times of a launch's variants from measurements.
//
// Each measured problem is a point. Its coordinates are the logarithms of the arguments, and the
// logarithm of the schedule's cost if the compiler estimates costs. Times grow in steps, whenever a
// launch needs one more wave, and the cost model knows most steps. So with the cost as a
// coordinate, points beyond a step are more distant.
//
// The interpolated value changes slowly between points: the ratio of the measured time to the cost.
// Without costs, it is the ratio to the fastest variant's time. If a variant has several schedules,
// only points with the same schedule count, because each schedule has its own cost error.
//
// Interpolation is ordinary kriging: the estimate with the least expected error, if the correlation
// of two values decreases with the distance of their points. So a cluster of points in one
// direction has little more weight than a single point in another direction.

#include "select/tuning.h"

#include <cstring>

namespace tritonc::v1::cuda {

namespace {

std::int64_t argument(std::uint32_t index, const plan::Inputs &inputs) {
  const std::int64_t code[] = {std::int64_t(abi::op::parameter), index, std::int64_t(abi::op::end)};
  plan::Number number = plan::evaluate(code, inputs);
  return number.known ? number.value : 0;
}

/// Returns the data of this GPU; null if there is none. If there is data of several GPUs with this
/// architecture and number of SMs, the name decides.
const abi::tuning *choose_tuning(const Driver &driver, const abi::kernel &kernel,
                                 const DeviceFacts &device) {
  const abi::tuning *chosen = nullptr;
  for (std::uint32_t i = 0; i < kernel.tuning_count; i++) {
    const abi::tuning &one = kernel.tunings[i];
    if (one.sm != device.sm || one.num_sms != device.num_sms)
      continue;
    char name[128] = "";
    if (chosen && (!driver.cuDeviceGetName ||
                   driver.cuDeviceGetName(name, int(sizeof name), device.device) != success ||
                   std::strcmp(name, one.gpu) != 0))
      continue;
    chosen = &one;
  }
  return chosen;
}

/// Square root without the math library, which C programs would have to link. It halves the
/// exponent and refines the reciprocal with Newton's method.
double square_root(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = 0x5fe6eb50c7b537a9 - (bits >> 1);
  double reciprocal;
  std::memcpy(&reciprocal, &bits, sizeof reciprocal);
  for (int step = 0; step < 3; step++) // relative errors: 3e-2, 2e-3, 5e-6, 3e-11
    reciprocal *= 1.5 - 0.5 * value * reciprocal * reciprocal;
  return value * reciprocal;
}

/// Returns the correlation of two values at this squared distance: 1 at distance 0, decreasing to
/// 0. A Wendland function, which needs no exponential. It is positive definite for points with up
/// to seven coordinates.
double likeness_at(double square) {
  constexpr double reach = 14 * 1024; // a ratio of 2^14, in units of abi::logarithm
  double rest = 1 - square_root(square) / reach;
  double cube = rest * rest * rest;
  return rest <= 0 ? 0 : cube * cube * (7 - 6 * rest);
}

double square_of(double value) { return value * value; }

/// Solves a symmetric positive definite system for two right-hand sides in place. `rows` has the
/// lower triangle. `least` is a lower bound of the pivots: rounding, or more than seven
/// coordinates, may give smaller pivots, which are raised to it.
template <std::uint32_t max_points>
void solve(double (&rows)[max_points][max_points], std::uint32_t count, double min_pivot,
           double (&first)[max_points], double (&second)[max_points]) {
  double pivots[max_points], column[max_points];
  for (std::uint32_t k = 0; k < count; k++) { // L D L^T factorization, column by column
    pivots[k] = rows[k][k] < min_pivot ? min_pivot : rows[k][k];
    for (std::uint32_t i = k + 1; i < count; i++)
      column[i] = rows[i][k];
    for (std::uint32_t i = k + 1; i < count; i++) {
      double factor = rows[i][k] = column[i] / pivots[k];
      for (std::uint32_t j = k + 1; j <= i; j++)
        rows[i][j] -= factor * column[j];
      first[i] -= factor * first[k];
      second[i] -= factor * second[k];
    }
  }
  for (std::uint32_t i = count; i-- > 0;) {
    first[i] /= pivots[i];
    second[i] /= pivots[i];
    for (std::uint32_t j = i + 1; j < count; j++) {
      first[i] -= rows[j][i] * first[j];
      second[i] -= rows[j][i] * second[j];
    }
  }
}

} // namespace

void Measurements::find(const Driver &driver, const plan::Inputs &inputs,
                        const DeviceFacts &device) noexcept {
  const abi::tuning *tuning = choose_tuning(driver, inputs.kernel, device);
  if (!tuning)
    return;
  constexpr std::uint32_t max_axes = 16; // further axes are ignored
  std::int32_t place[max_axes];
  std::uint32_t axes = tuning->axis_count < max_axes ? tuning->axis_count : max_axes;
  for (std::uint32_t axis = 0; axis < axes; axis++)
    place[axis] = abi::logarithm(argument(tuning->axes[axis], inputs));
  for (std::uint32_t i = 0; i < tuning->problem_count; i++) {
    const std::int32_t *problem = tuning->problems + std::size_t(i) * tuning->axis_count;
    double square = 1; // negligible beside the distances of other points
    for (std::uint32_t axis = 0; axis < axes; axis++)
      square += square_of(problem[axis] - place[axis]);
    add(i, square);
  }
  tuning_ = tuning;
  variants_ = inputs.kernel.variant_count;
  for (std::uint32_t i = 0; i < count_; i++)
    for (std::uint32_t j = 0; j < i; j++)
      between_[i][j] = square_between(problems_[i], problems_[j], axes);
}

double Measurements::square_between(std::uint32_t one, std::uint32_t other,
                                    std::uint32_t axes) const noexcept {
  double square = 0;
  for (std::uint32_t axis = 0; axis < axes; axis++)
    square += square_of(tuning_->problems[std::size_t(one) * tuning_->axis_count + axis] -
                        tuning_->problems[std::size_t(other) * tuning_->axis_count + axis]);
  return square;
}

void Measurements::add(std::uint32_t problem, double square) noexcept {
  std::uint32_t i = count_;
  if (count_ < max_points)
    count_++;
  else if (squares_[--i] <= square)
    return;
  for (; i > 0 && squares_[i - 1] > square; i--) {
    squares_[i] = squares_[i - 1];
    problems_[i] = problems_[i - 1];
  }
  squares_[i] = square;
  problems_[i] = problem;
}

/// Collects the points at which the variant had this schedule. If there are none, collects all
/// points at which it was measured.
std::uint32_t Measurements::points(std::uint32_t variant, const char *schedule,
                                   Point *points) const noexcept {
  std::uint32_t count = 0;
  bool in_this_schedule = false;
  for (std::uint32_t i = 0; i < count_; i++) {
    std::size_t at = std::size_t(problems_[i]) * variants_ + variant;
    if (tuning_->times[at] == abi::not_measured)
      continue;
    bool is_same = std::strcmp(tuning_->schedule_names[tuning_->schedules[at]], schedule) == 0;
    if (in_this_schedule && !is_same)
      continue;
    if (is_same && !in_this_schedule)
      count = 0;
    in_this_schedule = is_same;
    points[count++] = {i, tuning_->beside_costs ? tuning_->costs[at] : 0, tuning_->times[at]};
  }
  return count;
}

plan::Number Measurements::time(std::uint32_t variant, const char *schedule, plan::Number cost,
                                plan::Number best) const noexcept {
  if (!are_there() || (tuning_->beside_costs && !(cost.known && cost.value > 0)))
    return {};
  Point near[max_points];
  std::uint32_t count = points(variant, schedule, near);
  if (count == 0)
    return {};
  constexpr double places = 1024; // extra fraction bits, to order almost equal times
  const std::int32_t own_cost = tuning_->beside_costs ? abi::logarithm(cost.value) : 0;
  // If the nearest point says that the variant is much slower, skip the exact estimate.
  constexpr double far_slower = 512; // 1.41 times
  double roughly = own_cost + near[0].time;
  if (best.known && roughly > double(best.value) / places + far_slower)
    return {std::int64_t(roughly * places), true};
  return {std::int64_t((own_cost + factor(near, count, own_cost)) * places), true};
}

/// Returns the interpolated ratio of time to cost, as a logarithm.
double Measurements::factor(const Point *near, std::uint32_t count,
                            std::int32_t own_cost) const noexcept {
  // The variance of measurement errors and of effects outside the coordinates, relative to the
  // variance that the coordinates explain.
  constexpr double noise = 0.05 * 0.05;
  double rows[max_points][max_points], to_here[max_points], ones[max_points];
  for (std::uint32_t i = 0; i < count; i++) {
    const Point &point = near[i];
    for (std::uint32_t j = 0; j < i; j++)
      rows[i][j] = likeness_at(between_[point.problem][near[j].problem] +
                               square_of(point.cost - near[j].cost));
    rows[i][i] = 1 + noise;
    to_here[i] = likeness_at(squares_[point.problem] + square_of(point.cost - own_cost));
    ones[i] = 1;
  }
  solve(rows, count, noise, to_here, ones);
  double total = 0, mean = 0, value = 0;
  for (std::uint32_t i = 0; i < count; i++) {
    total += ones[i];
    mean += ones[i] * near[i].time;
  }
  mean /= total;
  for (std::uint32_t i = 0; i < count; i++)
    value += to_here[i] * (near[i].time - mean);
  return mean + value;
}

} // namespace tritonc::v1::cuda
