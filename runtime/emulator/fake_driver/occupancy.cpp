// Occupancy: the blocks per SM, limited by threads, blocks, and shared memory. Host code has no
// register counts, so a GPU may hold fewer blocks.

#include "library.h"

#include <algorithm>

namespace tritonc::emulator::driver {

namespace {

constexpr int reserved_shared_bytes = 1024; // per block, by the driver

template <typename Ask>
Result about(std::string_view function, Kernel *handle, const void *result, Ask ask) {
  return call(function, Needs::device, [&](Context &current) -> Result {
    Kernel *kernel = find_kernel(handle);
    if (!result)
      return invalid_value;
    if (!kernel)
      return invalid_handle;
    Context &context = kernel->context ? *kernel->context : current;
    return ask(*kernel, context.device, driver().device_of(context).gpu);
  });
}

int resident_blocks(const Kernel &kernel, Device device, const Gpu &gpu, int threads,
                    std::size_t shared_bytes) {
  if (threads > int(kernel.code->threads) ||
      shared_bytes > std::size_t(max_dynamic_shared_bytes(kernel, device)))
    return 0;
  int rounded = (threads + 31) / 32 * 32;
  int by_shared = gpu.shared_bytes / int(shared_bytes + reserved_shared_bytes);
  return std::min({gpu.blocks, gpu.threads / rounded, by_shared});
}

Result active_blocks(int *blocks, Kernel *function, int threads, std::size_t shared_bytes) {
  return about("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, blocks,
               [&](Kernel &kernel, Device device, const Gpu &gpu) -> Result {
                 if (threads <= 0)
                   return invalid_value;
                 *blocks = resident_blocks(kernel, device, gpu, threads, shared_bytes);
                 return success;
               });
}

Result potential_block(int *grid, int *threads, Kernel *function, SharedBytesOfBlock shared_of,
                       std::size_t shared_bytes, int limit) {
  return about("cuOccupancyMaxPotentialBlockSize", function, grid,
               [&](Kernel &kernel, Device device, const Gpu &gpu) -> Result {
                 if (!threads)
                   return invalid_value;
                 int max_threads = int(kernel.code->threads), best = 0;
                 if (limit > 0)
                   max_threads = std::min(max_threads, limit);
                 for (int size = max_threads / 32 * 32; size > 0; size -= 32) {
                   std::size_t bytes = shared_of ? shared_of(size) : shared_bytes;
                   int blocks = resident_blocks(kernel, device, gpu, size, bytes);
                   if (blocks * size <= best)
                     continue;
                   best = blocks * size;
                   *threads = size;
                   *grid = blocks * gpu.num_sms;
                 }
                 return best ? success : invalid_value;
               });
}

unsigned cluster_of(const Kernel &kernel, const LaunchConfig &config) {
  for (unsigned i = 0; i < config.attribute_count; i++) {
    const unsigned *size = config.attributes[i].value.cluster;
    if (config.attributes[i].id == LaunchAttribute::cluster_dimension)
      return std::max(1u, size[0] * size[1] * size[2]);
  }
  return kernel.code->cluster_size;
}

} // namespace

extern "C" {

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *function, int threads,
                                                   std::size_t shared_bytes) {
  return active_blocks(blocks, function, threads, shared_bytes);
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Kernel *function,
                                                            int threads, std::size_t shared_bytes,
                                                            unsigned) {
  return active_blocks(blocks, function, threads, shared_bytes);
}

Result cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, Kernel *function,
                                        SharedBytesOfBlock shared_of, std::size_t shared_bytes,
                                        int limit) {
  return potential_block(grid, threads, function, shared_of, shared_bytes, limit);
}

Result cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *threads, Kernel *function,
                                                 SharedBytesOfBlock shared_of,
                                                 std::size_t shared_bytes, int limit, unsigned) {
  return potential_block(grid, threads, function, shared_of, shared_bytes, limit);
}

Result cuOccupancyAvailableDynamicSMemPerBlock(std::size_t *bytes, Kernel *function, int blocks,
                                               int threads) {
  return about("cuOccupancyAvailableDynamicSMemPerBlock", function, bytes,
               [&](Kernel &kernel, Device, const Gpu &gpu) -> Result {
                 if (blocks <= 0 || threads <= 0 || threads > int(kernel.code->threads))
                   return invalid_value;
                 int each = gpu.shared_bytes / blocks - reserved_shared_bytes;
                 *bytes = std::size_t(std::clamp(each, 0, gpu.shared_bytes_of_block));
                 return success;
               });
}

Result cuOccupancyMaxPotentialClusterSize(int *blocks, Kernel *function,
                                          const LaunchConfig *config) {
  return about("cuOccupancyMaxPotentialClusterSize", function, blocks,
               [&](Kernel &, Device, const Gpu &gpu) -> Result {
                 constexpr int max_portable = 8;
                 if (!config)
                   return invalid_value;
                 *blocks = gpu.has_clusters() ? max_portable : 1;
                 return success;
               });
}

Result cuOccupancyMaxActiveClusters(int *clusters, Kernel *function, const LaunchConfig *config) {
  return about("cuOccupancyMaxActiveClusters", function, clusters,
               [&](Kernel &kernel, Device device, const Gpu &gpu) -> Result {
                 if (!config || (config->attribute_count && !config->attributes))
                   return invalid_value;
                 int threads = int(config->block_x * config->block_y * config->block_z);
                 if (threads <= 0)
                   return invalid_value;
                 int blocks = resident_blocks(kernel, device, gpu, threads, config->shared_bytes);
                 *clusters = blocks * gpu.num_sms / int(cluster_of(kernel, *config));
                 return success;
               });
}

} // extern "C"

} // namespace tritonc::emulator::driver
