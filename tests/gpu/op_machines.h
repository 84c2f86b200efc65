// The two machines that run one-operation kernels (op_kernels.h): the GPU, through the driver API
// without our runtime, and the emulator.

#pragma once

#include "op_inputs.h"
#include "op_table.h"

#include "emulator.h"
#include "global_memory.h"

#include <memory>
#include <string>
#include <vector>

namespace tritonc::test {

/// The outputs of a launch.
struct Outputs {
  std::vector<std::byte> out, tensor_memory;
  std::string problem; // an error; the outputs are then invalid. "" = none
};

/// The maximum size of each buffer of a launch.
inline constexpr size_t max_buffer_bytes = 8 << 20;

class Gpu {
public:
  /// Returns null and a reason in `why` if there is no Hopper GPU.
  static std::unique_ptr<Gpu> open(std::string &why);
  ~Gpu();

  std::string name() const;
  std::string driver_version() const; // the CUDA version: "13.0"

  /// The buffers for one OS thread. Another thread must call `use` before it runs kernels.
  class Worker {
  public:
    explicit Worker(Gpu &gpu);
    void use();
    /// Runs the kernel and waits. After 8 s it returns a problem; no other kernel can run then.
    Outputs run(const OpEntry &entry, const Inputs &inputs);

  private:
    Gpu &gpu_;
    unsigned long long in_ = 0, out_ = 0, tensors_ = 0; // device memory
  };

  /// Returns the result of cuTensorMapEncodeTiled.
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
