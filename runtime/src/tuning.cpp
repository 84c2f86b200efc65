// What measurements say of the variants of a launch.
//
// The problems that were measured are points, whose coordinates are the logarithms of the
// arguments, and of what the compiler reckons that a variant takes, if it does: times go up in
// steps, as one more multiprocessor has to do another round, and the reckoning knows most of them.
// So points on the other side of a step are further away. What is taken from the points is what
// changes slowly from one to the next: by which factor the reckoning was wrong, or else how much
// slower than the fastest a variant was. Where a variant comes in several forms, those points count
// at which it had the same one: each is wrong in its own way.
//
// The value between the points is the one with the least error to be expected, if values at two
// points are the less alike the further they are apart (ordinary kriging). Points that lie together
// in one direction count little more than a single one in another.

#include "tuning.h"

#include <cstring>

namespace tritonc::v1::cuda {

namespace {

std::int64_t argument(std::uint32_t index, const plan::Inputs &inputs) {
  const std::int64_t code[] = {std::int64_t(abi::op::parameter), index, std::int64_t(abi::op::end)};
  plan::Number number = plan::evaluate(code, inputs);
  return number.known ? number.value : 0;
}

/// The data of this GPU. Two GPUs of one architecture and size are told apart by their names, where
/// data of both are there.
const abi::tuning *choose_tuning(const Driver &driver, const abi::kernel &kernel,
                                 const DeviceFacts &device) {
  const abi::tuning *chosen = nullptr;
  for (std::uint32_t i = 0; i < kernel.tuning_count; i++) {
    const abi::tuning &one = kernel.tunings[i];
    if (one.sm != device.sm || one.multiprocessors != device.multiprocessors)
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

/// Without the mathematical library, which programs in C would have to link: Newton's steps for the
/// reciprocal, from what halving the exponent gives.
double square_root(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = 0x5fe6eb50c7b537a9 - (bits >> 1);
  double reciprocal;
  std::memcpy(&reciprocal, &bits, sizeof reciprocal);
  for (int step = 0; step < 3; step++) // off by 3e-2, 2e-3, 5e-6, 3e-11 of it
    reciprocal *= 1.5 - 0.5 * value * reciprocal * reciprocal;
  return value * reciprocal;
}

/// How much alike values are that are so far apart: 1 at the same point, and less and less down to
/// nothing. It is one of Wendland's functions, which need no exponentials: that for points of up to
/// seven coordinates (for them it is positive definite).
double likeness_at(double square) {
  constexpr double reach = 14 * 1024; // a factor of 2^14, as the logarithms are
  double rest = 1 - square_root(square) / reach;
  double cube = rest * rest * rest;
  return rest <= 0 ? 0 : cube * cube * (7 - 6 * rest);
}

double square_of(double value) { return value * value; }

/// Solves the equations whose symmetric matrix has these rows, of which the lower half is there,
/// for two right sides at once. The matrix is positive definite: `least` is what no pivot is below,
/// but for rounding and where there are more coordinates than that takes.
template <std::uint32_t most>
void solve(double (&rows)[most][most], std::uint32_t count, double least, double (&first)[most],
           double (&second)[most]) {
  double pivots[most], column[most];
  for (std::uint32_t k = 0; k < count; k++) { // L D L^T, from column to column
    pivots[k] = rows[k][k] < least ? least : rows[k][k];
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
  constexpr std::uint32_t most_axes = 16; // what more there is says nothing
  std::int32_t place[most_axes];
  std::uint32_t axes = tuning->axis_count < most_axes ? tuning->axis_count : most_axes;
  for (std::uint32_t axis = 0; axis < axes; axis++)
    place[axis] = abi::logarithm(argument(tuning->axes[axis], inputs));
  for (std::uint32_t i = 0; i < tuning->problem_count; i++) {
    const std::int32_t *problem = tuning->problems + std::size_t(i) * tuning->axis_count;
    double square = 1; // at the point itself, next to nothing
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
  if (count_ < most)
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

/// Those at which the variant had this form; all at which it was measured, if there is none.
std::uint32_t Measurements::points(std::uint32_t variant, const char *form,
                                   Point *points) const noexcept {
  std::uint32_t count = 0;
  bool in_this_form = false;
  for (std::uint32_t i = 0; i < count_; i++) {
    std::size_t at = std::size_t(problems_[i]) * variants_ + variant;
    if (tuning_->times[at] == abi::not_measured)
      continue;
    bool is_same = std::strcmp(tuning_->form_names[tuning_->forms[at]], form) == 0;
    if (in_this_form && !is_same)
      continue;
    if (is_same && !in_this_form)
      count = 0;
    in_this_form = is_same;
    points[count++] = {i, tuning_->beside_costs ? tuning_->costs[at] : 0, tuning_->times[at]};
  }
  return count;
}

plan::Number Measurements::time(std::uint32_t variant, const char *form, plan::Number cost,
                                plan::Number best) const noexcept {
  if (!are_there() || (tuning_->beside_costs && !(cost.known && cost.value > 0)))
    return {};
  Point near[most];
  std::uint32_t count = points(variant, form, near);
  if (count == 0)
    return {};
  constexpr double places = 1024; // more than the logarithms have, for what is almost equal
  const std::int32_t own_cost = tuning_->beside_costs ? abi::logarithm(cost.value) : 0;
  // By the nearest point it is so much slower that it makes no difference by how much.
  constexpr double far_slower = 512; // 1.41 times
  double roughly = own_cost + near[0].time;
  if (best.known && roughly > double(best.value) / places + far_slower)
    return {std::int64_t(roughly * places), true};
  return {std::int64_t((own_cost + factor(near, count, own_cost)) * places), true};
}

/// What is found between the points: by which factor its cost is wrong, as a logarithm.
double Measurements::factor(const Point *near, std::uint32_t count,
                            std::int32_t own_cost) const noexcept {
  // What measuring again would change, and what the coordinates don't know of, beside what they do.
  constexpr double noise = 0.05 * 0.05;
  double rows[most][most], to_here[most], ones[most];
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
