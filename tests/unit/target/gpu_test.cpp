// Tests target/gpu.cpp and the rows of gpus.def.

#include "target/gpu.h"

#include <doctest/doctest.h>

#include <set>

using namespace tritonc;

TEST_CASE("find_gpu: accepts names with and without sm_") {
  REQUIRE(find_gpu("90a"));
  CHECK(find_gpu("90a") == find_gpu("sm_90a"));
  CHECK(find_gpu("90a")->name == "sm_90a");
  CHECK(find_gpu("90a")->sm == 90);
  CHECK(find_gpu("90a")->suffix == 'a');
  CHECK(find_gpu("90")->suffix == 0);
}

TEST_CASE("find_gpu: unknown name returns null") {
  for (const char *name :
       {"", "sm_", "sm", "9", "90b", "12345", "sm_12345", "sm_sm_90", " 90", "90 "}) {
    CAPTURE(name);
    CHECK_FALSE(find_gpu(name));
  }
}

TEST_CASE("find_ptx: limits hold on all later GPUs") {
  const Gpu *ptx = find_ptx("80");
  REQUIRE(ptx);
  CHECK(ptx == find_ptx("sm_80"));
  CHECK(ptx == find_ptx("compute_80"));
  CHECK(ptx->name == "compute_80");
  CHECK(ptx->machine == "sm_80");
  CHECK(ptx->sm == 80);
  CHECK(ptx->is_ptx());
  CHECK(ptx->ptx_version == find_gpu("80")->ptx_version);
  CHECK(find_ptx("75")->max_shared_bytes == 64 * 1024);
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    CHECK_FALSE(gpu.is_ptx());
    CHECK(gpu.machine == gpu.name);
    const Gpu *from = find_ptx(gpu.name);
    CHECK((from != nullptr) == (gpu.suffix == 0)); // later GPUs do not run suffix PTX
    if (gpu.sm >= 80) {
      CHECK(ptx->max_shared_bytes <= gpu.max_shared_bytes);
      CHECK(ptx->max_threads_per_sm <= gpu.max_threads_per_sm);
      CHECK(ptx->max_blocks_per_sm <= gpu.max_blocks_per_sm);
    }
    if (from)
      CHECK_FALSE(from->has_wgmma);
  }
  CHECK_FALSE(find_gpu("compute_80")); // PTX only
  CHECK_FALSE(find_ptx("81"));
  CHECK_FALSE(find_ptx("compute_"));
}

TEST_CASE("gpu_names: every name is unique and known") {
  std::set<std::string_view> seen;
  for (std::string_view name : gpu_names()) {
    CAPTURE(name);
    CHECK(seen.insert(name).second);
    REQUIRE(find_gpu(name));
    CHECK(find_gpu(name)->name.substr(3) == name);
  }
  CHECK(gpu_names().size() == all_gpus().size());
}

TEST_CASE("all_gpus: name, number and suffix agree") {
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    std::string spelled = "sm_" + std::to_string(gpu.sm);
    if (gpu.suffix)
      spelled += gpu.suffix;
    CHECK(gpu.name == spelled);
  }
}

TEST_CASE("all_gpus: limits and features match the hardware") {
  struct {
    const char *name;
    int shared_kib;
    bool cp_async, bf16, f16_k16;
  } cases[] = {
      {"75", 64, false, false, false}, {"80", 163, true, true, true},
      {"86", 99, true, true, true},    {"89", 99, true, true, true},
      {"90a", 227, true, true, true},  {"100", 227, true, true, true},
      {"120", 99, true, true, true},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.name);
    const Gpu *gpu = find_gpu(expected.name);
    REQUIRE(gpu);
    CHECK(gpu->max_shared_bytes == expected.shared_kib * 1024);
    CHECK(gpu->has_cp_async == expected.cp_async);
    CHECK(gpu->has_cache_policies == gpu->has_cp_async); // both since Ampere
    CHECK(gpu->has_mma_bf16 == expected.bf16);
    CHECK(gpu->has_mma_f16_k16 == expected.f16_k16);
    CHECK(gpu->has_mma_f16_k8);
    CHECK(gpu->has_ldmatrix);
  }
}

TEST_CASE("all_gpus: TMA since sm_90, wgmma only on sm_90a") {
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    CHECK(gpu.has_tensor_maps == (gpu.sm >= 90));
    CHECK(gpu.max_cluster_blocks == (gpu.sm >= 90 ? 8 : 0));
    CHECK(gpu.has_dependent_launches == (gpu.sm >= 90));
    CHECK(gpu.has_wgmma == (gpu.name == "sm_90a"));
  }
}
