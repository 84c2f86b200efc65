// What measurements say of the variants of a launch: those of similar problems, on this GPU.

#pragma once

#include "context.h"
#include "plan.h"

namespace tritonc::v1::cuda {

class Measurements {
public:
  /// Looks for problems that are like the arguments. There may be none: not for this GPU, not at
  /// all.
  void find(const Driver &driver, const plan::Inputs &inputs, const DeviceFacts &device) noexcept;

  bool are_there() const { return count_ != 0; }

  /// How long the variant is expected to take in a form that costs so much, as a logarithm, to be
  /// compared with others of this launch; not known where it was not measured for any of those
  /// problems. `best`: of the best one so far. What is far slower is not found exactly.
  plan::Number time(std::uint32_t variant, const char *form, plan::Number cost,
                    plan::Number best) const noexcept;

private:
  /// Three times the corners around a problem of three numbers. What is further away would say next
  /// to nothing, and the work grows with the cube.
  static constexpr std::uint32_t most = 24;

  /// What the variant took for one of the problems.
  struct Point {
    std::uint32_t problem; // which of `problems_`
    std::int32_t cost;     // all of these are logarithms
    std::int32_t time;
  };

  void add(std::uint32_t problem, double square) noexcept;
  double square_between(std::uint32_t one, std::uint32_t other, std::uint32_t axes) const noexcept;
  std::uint32_t points(std::uint32_t variant, const char *form, Point *points) const noexcept;
  double factor(const Point *near, std::uint32_t count, std::int32_t own_cost) const noexcept;

  const abi::tuning *tuning_ = nullptr;
  std::uint32_t variants_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t problems_[most]; // that are most like it
  double squares_[most];         // of how far they are from it, in ascending order
  double between_[most][most];   // of how far from each other: the lower half
};

} // namespace tritonc::v1::cuda
