// A kernel with the arguments of a problem: memory with random contents, and prepared variants.
#pragma once

#include "differences.h"
#include "plan.h"

#include <tritonc/device.hpp>
#include <tritonc/tuner.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tritonc::v1::tuner {

/// Throws std::runtime_error with this message.
[[noreturn]] void fail(const std::string &why);
/// Throws std::runtime_error with the status' message unless the status is ok.
void require(const status &what);

/// Returns "scale TYPE=half for n=64", for messages.
std::string name_of(const kernel &of, const Problem &problem);

/// Returns "`x` 4096 bytes, `y` 4096 bytes": the memory of all pointers with a number of elements.
std::string memory_of(const kernel &of, const Problem &problem);

class TunedKernel {
public:
  /// Throws std::runtime_error if an argument is missing or the device has too little memory.
  /// Throws std::bad_alloc if the host has too little memory.
  TunedKernel(const kernel &of, const Problem &problem);

  /// A variant that accepts these arguments on this device.
  struct Ready {
    const variant *which;
    std::int64_t cost; // the compiler's estimate for the schedule; -1: unknown
    std::string schedule;
    std::unique_ptr<abi::prepared_launch> launch;
  };
  struct Refused {
    const variant *which;
    std::string why;
  };
  const std::vector<Ready> &ready() const { return ready_; }
  const std::vector<Refused> &refused() const { return refused_; }
  /// Returns the variant that a launch takes if it names none; null if the launch is refused.
  const variant *chosen() const { return chosen_; }

  void launch(const Ready &which) const;
  /// The memory of all pointers.
  std::vector<Buffer> buffers() const;
  /// Launches the variant on inputs with this number (make_inputs). Returns the contents of all
  /// memory that the kernel may write.
  Results results_of(const Ready &which, int number);
  /// Writes the inputs with this number to memory. The constructor writes number 0.
  void use_inputs(int number);

private:
  struct Memory {
    Buffer buffer;
    std::uint64_t seed; // of the contents
    tritonc::buffer<char> device;
    std::vector<char> contents; // initial contents; empty for memory that is only read
  };

  void set_arguments(const Problem &problem);
  void set_pointer(const parameter &parameter, const abi::parameter &row, const Problem &problem,
                   std::uint64_t seed);
  void make_ready();

  const kernel &kernel_;
  std::vector<char> arguments_; // laid out like the header's struct
  std::vector<Memory> memory_;
  int inputs_ = -1; // number of the inputs in memory; -1: none
  std::vector<Ready> ready_;
  std::vector<Refused> refused_;
  const variant *chosen_ = nullptr;
};

} // namespace tritonc::v1::tuner
