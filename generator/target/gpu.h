// What a GPU architecture can do, as a plain struct. Passes and lowering decide by its members
// and never by its name, so that a new GPU is a row in gpus.def and nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritonc {

struct Gpu {
  std::string_view name;    // "sm_90a"; of PTX "compute_90"
  int sm;                   // 90: the number alone, for `sm >= 80`
  char suffix;              // 'a', 'f' or 0: see gpus.def; 'p' of PTX
  std::string_view machine; // "sm_90a", as LLVM and ptxas spell it; of PTX "sm_90"

  int max_shared_bytes; // one block's limit, after opting in
  int max_registers_per_thread = 255;
  int registers_per_block = 65536;
  int max_threads_per_block = 1024;
  int threads_per_multiprocessor; // at once
  int blocks_per_multiprocessor;  // at once
  int ptx_version;                // 80 stands for `.version 8.0`

  bool has_ldmatrix;           // ldmatrix, plain and transposing
  bool has_stmatrix;           // the same for stores
  bool has_mma_f16_k8;         // mma.m16n8k8, f16 in, f32 out
  bool has_mma_f16_k16;        // mma.m16n8k16, the same
  bool has_mma_bf16;           // mma.m16n8k8 and k16 on bfloat16
  bool has_mma_tf32;           // mma.m16n8k4 and k8 on tf32
  bool has_fp8;                // conversions of e4m3 and e5m2, and mma.m16n8k32 on them
  bool has_mma_i8;             // mma.m8n8k16 on 8-bit integers
  bool has_mma_i8_m16;         // m16n8k16 and m16n8k32 too
  bool has_mma_f64;            // mma.m8n8k4 on double
  bool has_mma_f64_m16;        // m16n8k4 and m16n8k8 too
  bool has_cache_policies;     // accesses that tell the L2 cache what to evict first or last
  bool has_cp_async;           // cp.async from global to shared memory
  bool has_tensor_maps;        // copies by tensor maps, counted on mbarriers
  bool has_dependent_launches; // griddepcontrol
  bool has_wgmma;              // wgmma, and registers that move between warpgroups
  bool has_bf16_arithmetic;    // add, mul and fma on bfloat16 itself

  /// Whether what is embedded is PTX, for GPUs that nothing else is made for.
  bool is_ptx() const { return suffix == 'p'; }
};

/// The GPU that `name` means, written "90a" or "sm_90a"; null if there is none.
const Gpu *find_gpu(std::string_view name);

/// PTX for the GPUs from `name` on, written "80", "sm_80" or "compute_80": what all of them can do,
/// within the limits that all of them keep. Null if there is no such GPU, or if PTX for it would
/// not run on later ones ("90a").
const Gpu *find_ptx(std::string_view name);

/// "75", "80", ...: every architecture, as it may be written after `--arch`.
const std::vector<std::string_view> &gpu_names();

/// Every architecture, in the order of gpus.def.
const std::vector<Gpu> &all_gpus();

} // namespace tritonc
