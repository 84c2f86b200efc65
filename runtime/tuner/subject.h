// A kernel with arguments for a problem: memory with random contents, and its variants made ready.
#pragma once

#include "plan.h"
#include "values.h"

#include <tritonc/device.hpp>
#include <tritonc/tuner.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tritonc::v1::tuner {

/// What was refused or failed, for people.
[[noreturn]] void fail(const std::string &why);
/// Throws with the status' sentence unless it is ok.
void require(const status &what);

class Subject {
public:
  /// Throws std::runtime_error where an argument is missing, or memory.
  Subject(const kernel &of, const Problem &problem);

  /// A variant that takes these arguments on this device.
  struct Ready {
    const variant *which;
    std::int64_t cost; // of its form, as the compiler reckons; -1: not known
    std::string form;
    std::unique_ptr<abi::prepared_launch> launch;
  };
  struct Refused {
    const variant *which;
    std::string why;
  };
  const std::vector<Ready> &ready() const { return ready_; }
  const std::vector<Refused> &refused() const { return refused_; }
  /// What a launch that names none comes to; null: it is refused.
  const variant *chosen() const { return chosen_; }

  void launch(const Ready &which) const;
  /// What it makes of the same inputs each time: the contents of all memory that it may write.
  std::vector<std::vector<char>> results_of(const Ready &which);
  /// The largest of the distances between such results, each divided by what its type tolerates.
  double distance_between(const std::vector<std::vector<char>> &first,
                          const std::vector<std::vector<char>> &second) const;

private:
  struct Memory {
    const Element *element;
    std::size_t count;
    buffer<char> device;
    std::vector<char> contents; // at first, of what is written
  };

  void set_arguments(const Problem &problem);
  void set_pointer(const parameter &parameter, const abi::parameter &row, const Problem &problem,
                   std::uint64_t seed);
  void make_ready();

  const kernel &kernel_;
  std::vector<char> arguments_; // as in the header's struct
  std::vector<Memory> memory_;
  std::vector<Ready> ready_;
  std::vector<Refused> refused_;
  const variant *chosen_ = nullptr;
};

} // namespace tritonc::v1::tuner
