// The rows of gpus.def as structs. Tested by tests/target/gpu_test.cpp.

#include "target/gpu.h"

namespace tritonc {
namespace {

enum Generation { Turing, Ampere, Hopper };

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
int threads_per_multiprocessor(int sm) {
  if (sm == 75)
    return 1024;
  bool is_small = (sm > 80 && sm < 90) || sm >= 110;
  return is_small ? 1536 : 2048;
}

int blocks_per_multiprocessor(int sm) {
  if (sm == 75 || (sm > 80 && sm < 89))
    return 16;
  return sm == 89 || sm >= 110 ? 24 : 32;
}

Gpu make_gpu(std::string_view name, int sm, char suffix, int max_shared_bytes, int ptx_version,
             Generation generation) {
  return {.name = name,
          .sm = sm,
          .suffix = suffix,
          .max_shared_bytes = max_shared_bytes,
          .threads_per_multiprocessor = threads_per_multiprocessor(sm),
          .blocks_per_multiprocessor = blocks_per_multiprocessor(sm),
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
          .has_cp_async = generation >= Ampere,
          .has_tensor_maps = generation >= Hopper,
          .has_dependent_launches = generation >= Hopper,
          .has_wgmma = sm == 90 && suffix == 'a',
          .has_bf16_arithmetic = generation >= Hopper};
}

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

} // namespace tritonc
