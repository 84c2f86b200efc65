// Runs one-operation kernels on the GPU and on the emulator. See op_machines.h.

#include "op_machines.h"

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace tritonc::test {

namespace models = emulator::models;

// ---- the driver ----

namespace {

using Address = unsigned long long;
using Handle = struct Opaque *;

// The same layout as in cuda.h.
struct LaunchAttribute {
  int id;
  int padding;
  unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Handle stream;
  const LaunchAttribute *attributes;
  unsigned attribute_count;
};
enum { success = 0, not_ready = 600 };
enum { cluster_dimension = 4 }; // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION

#define FUNCTIONS(F)                                                                               \
  F(cuInit, "cuInit", (unsigned))                                                                  \
  F(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                             \
  F(cuGetErrorName, "cuGetErrorName", (int, const char **))                                        \
  F(cuDeviceGet, "cuDeviceGet", (int *, int))                                                      \
  F(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                        \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                               \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Handle *, int))                         \
  F(cuCtxSetCurrent, "cuCtxSetCurrent", (Handle))                                                  \
  F(cuModuleLoadData, "cuModuleLoadData", (Handle *, const void *))                                \
  F(cuModuleGetFunction, "cuModuleGetFunction", (Handle *, Handle, const char *))                  \
  F(cuMemAlloc, "cuMemAlloc_v2", (Address *, size_t))                                              \
  F(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (Address, const void *, size_t))                              \
  F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, Address, size_t))                                    \
  F(cuLaunchKernelEx, "cuLaunchKernelEx", (const LaunchConfig *, Handle, void **, void **))        \
  F(cuStreamQuery, "cuStreamQuery", (Handle))                                                      \
  F(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                              \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,          \
     const uint32_t *, int, int, int, int))

struct Driver {
#define MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

// The kernels' third parameter.
struct alignas(models::tensor_map_alignment) Maps {
  std::byte bytes[max_maps][models::tensor_map_bytes];
};

} // namespace

struct Gpu::State {
  Driver driver;
  int device = 0;
  Handle context = nullptr;
  std::mutex mutex;
  std::map<const OpEntry *, Handle> functions;
  std::string failure(const char *what, int result) const {
    const char *name = "?";
    driver.cuGetErrorName(result, &name);
    return std::string(what) + ": " + name;
  }
};

Gpu::Gpu(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gpu::~Gpu() = default;

std::unique_ptr<Gpu> Gpu::open(std::string &why) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = "no driver";
    return nullptr;
  }
  auto state = std::make_unique<State>();
  Driver &driver = state->driver;
#define RESOLVE(name, symbol, parameters)                                                          \
  driver.name = reinterpret_cast<int(*) parameters>(dlsym(library, symbol));                       \
  if (!driver.name) {                                                                              \
    why = "the driver has no " symbol;                                                             \
    return nullptr;                                                                                \
  }
  FUNCTIONS(RESOLVE)
#undef RESOLVE
  int major = 0;
  if (driver.cuInit(0) != success || driver.cuDeviceGet(&state->device, 0) != success ||
      driver.cuDeviceGetAttribute(&major, 75, state->device) != success) {
    why = "no GPU";
    return nullptr;
  }
  if (major != 9) {
    why = "the GPU is not a Hopper";
    return nullptr;
  }
  if (driver.cuDevicePrimaryCtxRetain(&state->context, state->device) != success ||
      driver.cuCtxSetCurrent(state->context) != success) {
    why = "cannot use the GPU";
    return nullptr;
  }
  return std::unique_ptr<Gpu>(new Gpu(std::move(state)));
}

std::string Gpu::name() const {
  char name[100] = "";
  state_->driver.cuDeviceGetName(name, sizeof name, state_->device);
  return name;
}

std::string Gpu::driver_version() const {
  int version = 0;
  state_->driver.cuDriverGetVersion(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int Gpu::encode_tensor_map(void *map, const models::TensorMapArguments &arguments) {
  return state_->driver.cuTensorMapEncodeTiled(
      map, arguments.type, arguments.rank, reinterpret_cast<void *>(arguments.address),
      arguments.sizes, arguments.strides, arguments.box, arguments.element_strides,
      arguments.interleave, arguments.swizzle, arguments.l2_promotion, arguments.fill);
}

// ---- running on the GPU ----

Gpu::Worker::Worker(Gpu &gpu) : gpu_(gpu) {
  use();
  for (Address *buffer : {&in_, &out_, &tensors_})
    gpu.state_->driver.cuMemAlloc(buffer, max_buffer_bytes);
}

void Gpu::Worker::use() { gpu_.state_->driver.cuCtxSetCurrent(gpu_.state_->context); }

Outputs Gpu::Worker::run(const OpEntry &entry, const Inputs &inputs) {
  State &state = *gpu_.state_;
  const Driver &driver = state.driver;
  Outputs outputs;
  auto works = [&](const char *what, int result) {
    if (result != success && outputs.problem.empty())
      outputs.problem = state.failure(what, result);
    return result == success;
  };

  Handle function = nullptr;
  {
    std::lock_guard lock(state.mutex);
    Handle &known = state.functions[&entry], module = nullptr;
    if (!known &&
        (!works("load", driver.cuModuleLoadData(&module, op_cubins + entry.cubin_begin)) ||
         !works("load", driver.cuModuleGetFunction(&known, module, entry.name))))
      return outputs;
    function = known;
  }

  Maps maps;
  for (unsigned i = 0; i < inputs.tensors.size(); i++) {
    auto *memory = reinterpret_cast<void *>(tensors_ + i * tensor_bytes);
    if (!works("cuTensorMapEncodeTiled",
               gpu_.encode_tensor_map(maps.bytes[i], inputs.tensors[i].arguments(memory))))
      return outputs;
  }
  if (entry.takes_map && !works("copy", driver.cuMemcpyHtoD(tensors_, inputs.tensor_memory.data(),
                                                            inputs.tensor_memory.size())))
    return outputs;
  if (!inputs.in.empty() &&
      !works("copy", driver.cuMemcpyHtoD(in_, inputs.in.data(), inputs.in.size())))
    return outputs;
  if (!inputs.out.empty() &&
      !works("copy", driver.cuMemcpyHtoD(out_, inputs.out.data(), inputs.out.size())))
    return outputs;

  LaunchAttribute cluster = {cluster_dimension, 0, {entry.blocks, 1, 1}};
  LaunchConfig config = {};
  config.grid[0] = inputs.blocks;
  config.block[0] = entry.threads;
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.shared_bytes = entry.shared_bytes;
  config.attributes = &cluster;
  config.attribute_count = entry.blocks > 1 ? 1 : 0;
  void *arguments[] = {&in_, &out_, &maps};
  if (!works("launch", driver.cuLaunchKernelEx(&config, function, arguments, nullptr)))
    return outputs;
  auto begin = std::chrono::steady_clock::now();
  int result;
  while ((result = driver.cuStreamQuery(nullptr)) == not_ready) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(8)) {
      outputs.problem = "the kernel does not end";
      return outputs;
    }
    std::this_thread::yield();
  }
  if (!works("kernel", result))
    return outputs;

  outputs.out.resize(inputs.out.size());
  outputs.tensor_memory.resize(inputs.tensor_memory.size());
  if (!outputs.out.empty())
    works("copy", driver.cuMemcpyDtoH(outputs.out.data(), out_, outputs.out.size()));
  if (!outputs.tensor_memory.empty())
    works("copy", driver.cuMemcpyDtoH(outputs.tensor_memory.data(), tensors_,
                                      outputs.tensor_memory.size()));
  return outputs;
}

// ---- running on the emulator ----

EmulatedGpu::EmulatedGpu(emulator::GlobalMemory &memory) : memory_(memory) {
  // 256-byte alignment is enough for every operation.
  for (std::byte **buffer : {&in_, &out_, &tensors_})
    *buffer = static_cast<std::byte *>(memory.allocate(max_buffer_bytes));
}

Outputs EmulatedGpu::run(const OpEntry &entry, const Inputs &inputs,
                         const emulator::Options &options) {
  Outputs outputs;
  auto copy_in = [&](std::byte *to, const std::vector<std::byte> &from) {
    std::memcpy(to, from.data(), from.size());
    memory_.mark_initialized(to, from.size());
  };
  copy_in(in_, inputs.in);
  copy_in(out_, inputs.out);
  copy_in(tensors_, inputs.tensor_memory);
  Maps maps;
  for (unsigned i = 0; i < inputs.tensors.size(); i++) {
    models::Problem problem = models::encode_tensor_map(
        maps.bytes[i], inputs.tensors[i].arguments(tensors_ + i * tensor_bytes));
    if (problem) {
      outputs.problem = problem.text;
      return outputs;
    }
  }

  void *arguments[] = {&in_, &out_, &maps};
  emulator::Launch launch;
  launch.grid = {inputs.blocks, 1, 1};
  launch.cluster = {entry.blocks, 1, 1};
  launch.threads = entry.threads;
  launch.shared_bytes = entry.shared_bytes;
  launch.arguments = arguments;
  emulator::Result result = emulator::launch(*entry.host, launch, options, memory_);
  if (!result.ok()) {
    outputs.problem = result.reports[0].text;
    return outputs;
  }
  outputs.out.assign(out_, out_ + inputs.out.size());
  outputs.tensor_memory.assign(tensors_, tensors_ + inputs.tensor_memory.size());
  return outputs;
}

} // namespace tritonc::test
