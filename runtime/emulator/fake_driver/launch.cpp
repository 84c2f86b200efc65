// Launches: checks the configuration, runs the kernel, and turns its reports into driver errors.
//
// A launch with a wrong configuration returns an error at once and has no effect. A faulty kernel
// causes a sticky error, as on hardware: the launch itself succeeds, and every later call for the
// device returns the same error. The report file or stderr gets the emulator's reports.

#include "library.h"

#include "../emulator.h"

#include <cstring>
#include <string>

namespace tritonc::emulator::driver {

namespace {

struct Request {
  Kernel *kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream *stream; // the caller's handle
  void **parameters;
  void **extra;
  const LaunchAttribute *attributes = nullptr;
  unsigned attribute_count = 0;
  bool is_cooperative = false;
};

/// A copy of the caller's argument values.
struct Arguments {
  std::vector<std::uint64_t> storage;
  std::vector<void *> pointers;
};

std::size_t words(std::size_t bytes) { return (bytes + 63) / 64 * 8; } // keeps tensor maps aligned

/// Copies each value to an address aligned to 64 bytes.
Arguments copy_arguments(const abi::host_code &code, void *const *values) {
  Arguments result;
  std::size_t total = 8; // words; room to align the first value
  for (std::uint32_t i = 0; i < code.parameter_count; i++)
    total += words(code.parameters[i].bytes);
  result.storage.resize(total);
  auto begin = reinterpret_cast<std::uintptr_t>(result.storage.data());
  auto *next = reinterpret_cast<char *>((begin + 63) / 64 * 64);
  for (std::uint32_t i = 0; i < code.parameter_count; i++) {
    std::size_t bytes = code.parameters[i].bytes;
    std::memcpy(next, values[i], bytes);
    result.pointers.push_back(next);
    next += words(bytes) * sizeof(std::uint64_t);
  }
  return result;
}

/// Finds the values in the packed buffer of `extra`: { 1, buffer, 2, &size, 0 }.
Result find_packed(const abi::host_code &code, void **extra, std::vector<void *> &values) {
  char *buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra; extra += 2) {
    auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == 1)
      buffer = static_cast<char *>(extra[1]);
    else if (key == 2)
      bytes = *static_cast<std::size_t *>(extra[1]);
    else
      return invalid_value;
  }
  if (!buffer)
    return invalid_value;
  std::size_t end = 0;
  for (std::uint32_t i = 0; i < code.parameter_count; i++) {
    auto offset = std::size_t(parameter_offset(code, i));
    end = offset + code.parameters[i].bytes;
    values.push_back(buffer + offset);
  }
  return bytes == end ? success : launch_out_of_resources;
}

Result find_arguments(const Request &request, Arguments &arguments) {
  const abi::host_code &code = *request.kernel->code;
  if (request.parameters && request.extra)
    return invalid_value;
  if (request.parameters) {
    arguments = copy_arguments(code, request.parameters);
    return success;
  }
  if (code.parameter_count == 0)
    return success;
  if (!request.extra)
    return invalid_value;
  std::vector<void *> values;
  if (Result wrong = find_packed(code, request.extra, values))
    return wrong;
  arguments = copy_arguments(code, values.data());
  return success;
}

/// Finds the blocks per cluster along each axis.
Result find_cluster(const Request &request, const Gpu &gpu, Dim3 &cluster) {
  const abi::host_code &code = *request.kernel->code;
  cluster = {code.cluster_size, 1, 1};
  constexpr unsigned max_portable = 8;
  bool is_compiled_in = code.cluster_size > 1;
  for (unsigned i = 0; i < request.attribute_count; i++) {
    const LaunchAttribute &attribute = request.attributes[i];
    if (attribute.id != LaunchAttribute::cluster_dimension)
      continue;
    const unsigned *asked = attribute.value.cluster;
    if (asked[0] == 0 && asked[1] == 0 && asked[2] == 0)
      continue;
    if (asked[0] == 0 || asked[1] == 0 || asked[2] == 0)
      return invalid_value;
    Dim3 wanted = {asked[0], asked[1], asked[2]};
    if (is_compiled_in && !(wanted == cluster))
      return invalid_cluster_size;
    if (!(wanted == cluster) && gpu.has_clusters()) {
      report("tritonc emulator: `" + std::string(code.name) +
             "`: cannot launch in clusters: the kernel is not compiled for clusters");
      return not_supported;
    }
    cluster = wanted;
  }
  if (std::uint64_t(cluster.x) * cluster.y * cluster.z > max_portable)
    return invalid_cluster_size;
  if (!(cluster == Dim3()) && !gpu.has_clusters())
    return invalid_value;
  bool divides = request.grid[0] % cluster.x == 0 && request.grid[1] % cluster.y == 0 &&
                 request.grid[2] % cluster.z == 0;
  return divides ? success : invalid_cluster_size;
}

bool is_cooperative(const Request &request) {
  bool result = request.is_cooperative;
  for (unsigned i = 0; i < request.attribute_count; i++)
    if (request.attributes[i].id == LaunchAttribute::cooperative)
      result = request.attributes[i].value.cooperative_launch != 0;
  return result;
}

/// Whether the launch may start before the previous launch has finished. In the emulator it never
/// does, but the kernel must still wait.
bool starts_early(const Request &request) {
  bool result = false;
  for (unsigned i = 0; i < request.attribute_count; i++)
    if (request.attributes[i].id == LaunchAttribute::programmatic_serialization)
      result = request.attributes[i].value.may_start_early != 0;
  return result;
}

/// Refuses sizes that no device supports, or that this device does not support.
Result check_sizes(const Request &request, const Gpu &gpu, Device device) {
  const abi::host_code &code = *request.kernel->code;
  const unsigned *grid = request.grid, *block = request.block;
  for (int i = 0; i < 3; i++)
    if (grid[i] == 0 || block[i] == 0)
      return invalid_value;
  if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535)
    return invalid_value;
  if (block[0] > 1024 || block[1] > 1024 || block[2] > 64)
    return invalid_value;
  std::uint64_t threads = std::uint64_t(block[0]) * block[1] * block[2];
  if (threads > code.threads)
    return invalid_value;
  if (request.shared_bytes > unsigned(max_dynamic_shared_bytes(*request.kernel, device)))
    return invalid_value;
  if (block[1] != 1 || block[2] != 1 || threads != code.threads) {
    report("tritonc emulator: `" + std::string(code.name) + "`: cannot launch a block of " +
           std::to_string(block[0]) + " x " + std::to_string(block[1]) + " x " +
           std::to_string(block[2]) + " threads: the kernel is compiled for " +
           std::to_string(code.threads) + " x 1 x 1 threads");
    return not_supported;
  }
  if (is_cooperative(request)) {
    std::uint64_t blocks = std::uint64_t(grid[0]) * grid[1] * grid[2];
    std::uint64_t resident =
        std::uint64_t(gpu.num_sms) * std::min(std::uint64_t(gpu.blocks), gpu.threads / threads);
    if (blocks > resident)
      return cooperative_launch_too_large;
  }
  return success;
}

/// The error that hardware would return.
Result fault_of(Report::Kind kind) {
  switch (kind) {
  case Report::Kind::out_of_bounds:
    return illegal_address;
  case Report::Kind::misaligned:
    return misaligned_address;
  case Report::Kind::assertion:
    return assertion_failed;
  case Report::Kind::too_many_steps:
    return launch_timeout;
  default:
    return launch_failed;
  }
}

/// The error of the report that ended the launch; other reports are `launch_failed`.
Result fault_of(const std::vector<Report> &reports) {
  Result fault = success;
  for (const Report &report : reports)
    if (fault == success || fault == launch_failed)
      fault = fault_of(report.kind);
  return fault;
}

/// Runs the kernel. If only the emulator refuses the sizes, the launch returns an error. All other
/// reports cause a sticky error of the device.
Result run(const abi::host_code &code, Context &context, const Launch &launch) {
  DeviceState &device = driver().device_of(context);
  emulator::Result result =
      emulator::launch(code, launch, driver().settings.options, driver().memory());
  for (const Report &found : result.reports)
    report(found.text);
  if (result.stats.more_reports)
    report("note: " + std::to_string(result.stats.more_reports) + " more reports");
  if (result.reports.size() == 1 && result.reports[0].kind == Report::Kind::invalid_launch)
    return invalid_value;
  device.fault = fault_of(result.reports);
  return success;
}

void remember(const Request &request, const Dim3 &cluster, Context *context) {
  LastLaunch &last = driver().last_launch;
  last.kernel = request.kernel->code->name;
  last.gpu = request.kernel->code->gpu;
  std::memcpy(last.grid, request.grid, sizeof last.grid);
  std::memcpy(last.block, request.block, sizeof last.block);
  last.cluster[0] = cluster.x;
  last.cluster[1] = cluster.y;
  last.cluster[2] = cluster.z;
  last.shared_bytes = request.shared_bytes;
  last.starts_early = starts_early(request);
  last.stream = request.stream;
  last.context = context;
  last.count++;
}

/// Finds the stream. A kernel runs in the stream's context, a function only in its own context.
Result find_target(const Request &request, Stream *&stream) {
  Context none; // for non-default streams
  Context *current = current_context();
  if (is_default(request.stream)) {
    if (!current)
      return invalid_context;
    if (!current->is_alive)
      return context_is_destroyed;
  }
  if (Result refused = find_stream(request.stream, current ? *current : none, stream))
    return refused;
  const Context *own = request.kernel->context;
  return own && own != stream->context ? invalid_handle : success;
}

Result launch(std::string_view function, Request request) {
  return call(function, Needs::driver, [&]() -> Result {
    Stream *stream = nullptr;
    request.kernel = find_kernel(request.kernel);
    if (!request.kernel)
      return invalid_handle;
    if (Result refused = find_target(request, stream))
      return refused;
    Context &context = *stream->context;
    DeviceState &device = driver().device_of(context);
    if (device.fault)
      return device.fault;
    if (!runs_on(*request.kernel, context.device))
      return no_binary_for_gpu;
    Dim3 cluster;
    if (Result wrong = check_sizes(request, device.gpu, context.device))
      return wrong;
    if (Result wrong = find_cluster(request, device.gpu, cluster))
      return wrong;
    auto arguments = std::make_shared<Arguments>();
    if (Result wrong = find_arguments(request, *arguments))
      return wrong;
    remember(request, cluster, &context);
    Launch work;
    work.grid = {request.grid[0], request.grid[1], request.grid[2]};
    work.cluster = cluster;
    work.threads = request.block[0];
    work.shared_bytes = request.shared_bytes;
    work.starts_early = starts_early(request);
    return enqueue(*stream, [kernel = request.kernel, code = request.kernel->code, &context, work,
                             arguments]() mutable {
      work.arguments = arguments->pointers.data();
      work.constants = find_kernel(kernel) ? constants_in(context, *kernel) : nullptr;
      return run(*code, context, work);
    });
  });
}

} // namespace

extern "C" {

Result cuLaunchKernel(Kernel *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      Stream *stream, void **parameters, void **extra) {
  return launch("cuLaunchKernel", {function,
                                   {grid_x, grid_y, grid_z},
                                   {block_x, block_y, block_z},
                                   shared_bytes,
                                   stream,
                                   parameters,
                                   extra});
}

Result cuLaunchKernelEx(const LaunchConfig *config, Kernel *function, void **parameters,
                        void **extra) {
  if (!config || (config->attribute_count != 0 && !config->attributes))
    return invalid_value;
  return launch("cuLaunchKernelEx", {function,
                                     {config->grid_x, config->grid_y, config->grid_z},
                                     {config->block_x, config->block_y, config->block_z},
                                     config->shared_bytes,
                                     config->stream,
                                     parameters,
                                     extra,
                                     config->attributes,
                                     config->attribute_count});
}

Result cuLaunchCooperativeKernel(Kernel *function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, Stream *stream,
                                 void **parameters) {
  return launch("cuLaunchCooperativeKernel", {function,
                                              {grid_x, grid_y, grid_z},
                                              {block_x, block_y, block_z},
                                              shared_bytes,
                                              stream,
                                              parameters,
                                              nullptr,
                                              nullptr,
                                              0,
                                              true});
}

} // extern "C"

} // namespace tritonc::emulator::driver
