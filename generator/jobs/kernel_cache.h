// The cache entries of a compilation: machine code, and the kernels of a variant for a GPU. The key
// of an entry contains all inputs of the entry, so a found entry is always valid.
#pragma once

#include "backend/ptxas.h"
#include "diagnose/remark.h"
#include "emit/library.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "jobs/cache.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The outputs of ptxas and of fatbinary for a kernel.
struct MachineCode {
  Resources resources;
  std::string cubin; // empty if the code comes from the cache
  int cubin_bytes = 0;
  std::string image;
  std::string key; // cache key
  std::string ptx; // input of ptxas; empty if the code comes from the cache
};

/// Why a job has no image although nothing failed.
enum class SkipReason : uint8_t {
  none,           // the job has an image
  shared_memory,  // the schedule needs more shared memory than the GPU has
  spills,         // the schedule's block tile needs more registers than a thread has
  ptxas_advisory, // ptxas serializes the wgmma instructions of the schedule
  shard,          // this call compiles machine code of a shard; a later call makes the images
};

/// A kernel of a variant for a GPU in one schedule.
struct CachedKernel {
  Schedule schedule;
  SkipReason skip_reason = SkipReason::none;
  int64_t skip_bytes = 0; // as in KernelJob
  std::optional<Remark>
      too_large; // the error if the kernel needs more shared memory than the GPU has
  std::vector<Remark> warnings;
  Image image;
  std::string code; // cache key of the image's bytes
};

class KernelCache {
public:
  /// Returns nullopt if the tools are unreadable.
  static std::optional<KernelCache> open(Cache cache, const Toolchain &tools);

  /// The key of the result of `function` for `gpu`. Requires the function before any pass. `places`
  /// is nonempty for host code, checks and line info, whose output depends on source locations.
  std::string key_of(const ir::Function &function, const Gpu &gpu, const std::string &places) const;

  /// The value for `places`: `names`, which determines the symbols of host code, and the source
  /// location of each operation.
  static std::string places(const std::string &names, const std::string &file,
                            const ir::Function &checked);

  /// Returns the kernel in all its schedules with their images, in schedule order.
  std::optional<std::vector<CachedKernel>> find(const std::string &key) const;
  void keep(const std::string &key, std::vector<CachedKernel> kernels) const;

  /// The key of the machine code of an LLVM module, given as bitcode.
  std::string key_of_code(const Gpu &gpu, const std::string &bitcode) const;
  std::optional<MachineCode> find_code(const std::string &key) const;
  void keep_code(const MachineCode &code) const;

  /// Trims the cache to its limit. Call it after all keep() calls.
  void trim() const { cache_.trim(cache_.options().limit); }

  const Cache &cache() const { return cache_; }

private:
  KernelCache(Cache cache, std::string tools)
      : cache_(std::move(cache)), tools_(std::move(tools)) {}
  Cache cache_;
  std::string tools_; // digests and options of the tools
};

} // namespace tritonc
