// Estimates the times of a launch's variants from measurements of similar problems on this GPU.

#pragma once

#include "load/context.h"
#include "select/plan.h"

namespace tritonc::v1::cuda {

class Measurements {
public:
  /// Finds the measured problems nearest to the arguments. Finds none if the kernel has no
  /// measurements for this GPU.
  void find(const Driver &driver, const plan::Inputs &inputs, const DeviceFacts &device) noexcept;

  bool are_there() const { return count_ != 0; }

  /// Returns the expected time of the variant in a schedule of this cost, as a logarithm. Compare
  /// it only with other times of the same launch. Unknown if the variant was not measured for any
  /// of the nearest problems. `best` is the best time so far: the result is inexact if the variant
  /// is far slower.
  plan::Number time(std::uint32_t variant, const char *schedule, plan::Number cost,
                    plan::Number best) const noexcept;

private:
  /// The max number of problems: 3 times the 8 corners around a problem of three arguments. More
  /// distant problems have almost no influence, and the work grows with the cube of the number.
  static constexpr std::uint32_t max_points = 24;

  /// A measurement of the variant.
  struct Point {
    std::uint32_t problem; // index into `problems_`
    std::int32_t cost;     // logarithm
    std::int32_t time;     // logarithm
  };

  void add(std::uint32_t problem, double square) noexcept;
  double square_between(std::uint32_t one, std::uint32_t other, std::uint32_t axes) const noexcept;
  std::uint32_t points(std::uint32_t variant, const char *schedule, Point *points) const noexcept;
  double factor(const Point *near, std::uint32_t count, std::int32_t own_cost) const noexcept;

  const abi::tuning *tuning_ = nullptr;
  std::uint32_t variants_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t problems_[max_points];     // the nearest problems
  double squares_[max_points];             // their squared distances from the launch, ascending
  double between_[max_points][max_points]; // squared distances between them: the lower triangle
};

} // namespace tritonc::v1::cuda
