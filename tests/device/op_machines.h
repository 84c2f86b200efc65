// Two machines that run the kernels around one operation each (op_kernels.h): the GPU, through its
// driver alone, and the emulator.

#pragma once

#include "op_inputs.h"
#include "op_table.h"

#include "emulator.h"
#include "global_memory.h"

#include <memory>
#include <string>
#include <vector>

namespace tritonc::test {

/// What a launch has left.
struct Outputs {
  std::vector<std::byte> out, tensor_memory;
  std::string problem; // empty: none; else the rest is nothing
};

/// The most bytes of each of a launch's buffers.
inline constexpr size_t max_buffer_bytes = 8 << 20;

class Gpu {
public:
  /// Null where there is none, or it isn't a Hopper; `why` says it.
  static std::unique_ptr<Gpu> open(std::string &why);
  ~Gpu();

  std::string name() const;
  std::string driver_version() const; // of CUDA: "13.0"

  /// Buffers of a GPU; for one OS thread at a time, which says so by `use`.
  class Worker {
  public:
    explicit Worker(Gpu &gpu);
    void use();
    /// Waits for the end; of a kernel that takes seconds it says so, and then no more can be run.
    Outputs run(const OpEntry &entry, const Inputs &inputs);

  private:
    Gpu &gpu_;
    unsigned long long in_ = 0, out_ = 0, tensors_ = 0; // device memory
  };

  /// cuTensorMapEncodeTiled's result.
  int encode_tensor_map(void *map, const models::TensorMapArguments &arguments);

private:
  struct State;
  explicit Gpu(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class EmulatedGpu {
public:
  explicit EmulatedGpu(emulator::GlobalMemory &memory);
  Outputs run(const OpEntry &entry, const Inputs &inputs, const emulator::Options &options);

private:
  emulator::GlobalMemory &memory_;
  std::byte *in_, *out_, *tensors_;
};

} // namespace tritonc::test
