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
  /// problems.
  plan::Number time(std::uint32_t variant, const char *form, plan::Number cost) const noexcept;

private:
  /// Enough for the corners around a problem of three numbers.
  static constexpr std::uint32_t most = 8;

  void add(std::uint32_t problem, double weight) noexcept;

  const abi::tuning *tuning_ = nullptr;
  std::uint32_t variants_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t problems_[most]; // that are most like it
  double weights_[most];         // in descending order
};

} // namespace tritonc::v1::cuda
