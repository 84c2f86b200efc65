// The features and limits of a GPU architecture, as a plain struct. Passes and lowering depend on
// its members, never on its name. So a new GPU needs only a row in gpus.def.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

struct CostTables;
extern const CostTables h200_costs;

struct Gpu {
  std::string_view name;    // "sm_90a"; of PTX "compute_90"
  int sm;                   // the number alone, for `sm >= 80`
  char suffix;              // 'a', 'f' or 0: see gpus.def; 'p': PTX
  std::string_view machine; // name for LLVM and ptxas: "sm_90a"; of PTX "sm_90"

  int max_shared_bytes; // per block, with opt-in
  int max_registers_per_thread = 255;
  int registers_per_block = 65536;
  int max_threads_per_block = 1024;
  int max_threads_per_sm; // max resident
  int max_blocks_per_sm;  // max resident
  int max_cluster_blocks; // of a cluster that every GPU with clusters runs; 0: no clusters
  int ptx_version;        // 80: `.version 8.0`

  bool has_ldmatrix;           // ldmatrix, with and without .trans
  bool has_stmatrix;           // stmatrix, with and without .trans
  bool has_mma_f16_k8;         // mma.m16n8k8, f16 in, f32 out
  bool has_mma_f16_k16;        // mma.m16n8k16, f16 in, f32 out
  bool has_mma_bf16;           // mma.m16n8k8 and k16 on bfloat16
  bool has_mma_tf32;           // mma.m16n8k4 and k8 on tf32
  bool has_fp8;                // conversions of e4m3 and e5m2, and mma.m16n8k32
  bool has_mma_i8;             // mma.m8n8k16 on 8-bit integers
  bool has_mma_i8_m16;         // also mma.m16n8k16 and m16n8k32
  bool has_mma_f64;            // mma.m8n8k4 on double
  bool has_mma_f64_m16;        // also mma.m16n8k4 and m16n8k8
  bool has_cache_policies;     // L2 cache policies: evict first, evict last
  bool has_cp_async;           // cp.async from global to shared memory
  bool has_tensor_maps;        // TMA with tensor maps and mbarriers
  bool has_dependent_launches; // griddepcontrol
  bool has_wgmma;              // wgmma and setmaxnreg
  bool has_bf16_arithmetic;    // add, mul and fma on bfloat16

  const CostTables *costs = &h200_costs; // launch times; measured on an H200 so far

  /// Returns whether the image is PTX, for GPUs without an image of their own.
  bool is_ptx() const { return suffix == 'p'; }
};

/// The GPU with this name, "90a" or "sm_90a"; null: unknown name.
const Gpu *find_gpu(std::string_view name);

/// PTX for the GPUs from `name` on ("80", "sm_80" or "compute_80"): the features that all of them
/// have, within the limits of all of them. Null: unknown name, or PTX for it does not run on later
/// GPUs ("90a").
const Gpu *find_ptx(std::string_view name);

/// "75", "80", ...: every architecture, as in `--arch`.
const std::vector<std::string_view> &gpu_names();

/// All architectures, in the order of gpus.def.
const std::vector<Gpu> &all_gpus();

} // namespace tritonc
