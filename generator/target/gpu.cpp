// Makes the structs of all GPUs from the rows of gpus.def. See gpu.h.
//
// Tested by tests/unit/target/gpu_test.cpp.

#include "target/gpu.h"

#include <algorithm>
#include <deque>

namespace tritonc {
namespace {

enum Generation { Turing, Ampere, Hopper };

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
int max_threads_per_sm(int sm) {
  if (sm == 75)
    return 1024;
  bool is_small = (sm > 80 && sm < 90) || sm >= 110;
  return is_small ? 1536 : 2048;
}

int max_blocks_per_sm(int sm) {
  if (sm == 75 || (sm > 80 && sm < 89))
    return 16;
  return sm == 89 || sm >= 110 ? 24 : 32;
}

Gpu make_gpu(std::string_view name, int sm, char suffix, int max_shared_bytes, int ptx_version,
             Generation generation) {
  return {.name = name,
          .sm = sm,
          .suffix = suffix,
          .machine = name,
          .max_shared_bytes = max_shared_bytes,
          .max_threads_per_sm = max_threads_per_sm(sm),
          .max_blocks_per_sm = max_blocks_per_sm(sm),
          .max_cluster_blocks = generation >= Hopper ? 8 : 0,
          .ptx_version = ptx_version,
          .has_ldmatrix = generation >= Turing,
          .has_stmatrix = generation >= Hopper,
          .has_mma_f16_k8 = generation >= Turing,
          .has_mma_f16_k16 = generation >= Ampere,
          .has_mma_bf16 = generation >= Ampere,
          .has_mma_tf32 = generation >= Ampere,
          .has_fp8 = sm >= 89,
          .has_mma_i8 = generation >= Turing,
          .has_mma_i8_m16 = generation >= Ampere,
          .has_mma_f64 = generation >= Ampere,
          .has_mma_f64_m16 = generation >= Hopper,
          .has_cache_policies = generation >= Ampere,
          .has_cp_async = generation >= Ampere,
          .has_tensor_maps = generation >= Hopper,
          .has_dependent_launches = generation >= Hopper,
          .has_wgmma = sm == 90 && suffix == 'a',
          .has_bf16_arithmetic = generation >= Hopper};
}

// PTX for `first` may run on each later GPU. So it has the features of `first`, and the minimum
// limits of `first` and all later GPUs. For GPUs that do not exist yet these limits are a guess.
Gpu make_ptx(const Gpu &first, std::string_view name) {
  Gpu ptx = first;
  ptx.name = name;
  ptx.suffix = 'p';
  for (const Gpu &gpu : all_gpus()) {
    if (gpu.sm < first.sm)
      continue;
    ptx.max_shared_bytes = std::min(ptx.max_shared_bytes, gpu.max_shared_bytes);
    ptx.max_threads_per_sm = std::min(ptx.max_threads_per_sm, gpu.max_threads_per_sm);
    ptx.max_blocks_per_sm = std::min(ptx.max_blocks_per_sm, gpu.max_blocks_per_sm);
  }
  return ptx;
}

struct PtxTargets {
  std::deque<std::string> names;
  std::vector<Gpu> gpus;

  PtxTargets() {
    for (const Gpu &gpu : all_gpus())
      if (gpu.suffix == 0)
        gpus.push_back(make_ptx(gpu, names.emplace_back("compute_" + std::to_string(gpu.sm))));
  }
};

} // namespace

const std::vector<Gpu> &all_gpus() {
  static const std::vector<Gpu> gpus = {
#define GPU(name, sm, suffix, shared, ptx, generation)                                             \
  make_gpu("sm_" name, sm, suffix, shared, ptx, generation),
#include "target/gpus.def"
  };
  return gpus;
}

const std::vector<std::string_view> &gpu_names() {
  static const std::vector<std::string_view> names = {
#define GPU(name, ...) name,
#include "target/gpus.def"
  };
  return names;
}

const Gpu *find_gpu(std::string_view name) {
  for (const Gpu &gpu : all_gpus())
    if (name == gpu.name || name == gpu.name.substr(3))
      return &gpu;
  return nullptr;
}

const Gpu *find_ptx(std::string_view name) {
  static const PtxTargets targets;
  for (const Gpu &ptx : targets.gpus)
    if (name == ptx.name || name == ptx.machine || name == ptx.machine.substr(3))
      return &ptx;
  return nullptr;
}

} // namespace tritonc
