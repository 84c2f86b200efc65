// Tests generator/jobs/image_details.cpp: the details of a compiled kernel for `tritonc report`.

#include "compile.h"
#include "jobs/image_details.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

std::vector<Image> images_of(const char *gpu, bool details) {
  CompileResult result = compile({.sources = {TRITONC_KERNELS_DIR "/matmul.tc"},
                                  .variants = "TYPE=half;A=N;B=N;TM=64;TN=64;TK=32",
                                  .gpus = {find_gpu(gpu)},
                                  .details = details});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  return result.library.kernels[0].variants[0].images;
}

const ImageDetails::Place *place_by(const ImageDetails &details, const char *operation) {
  for (const ImageDetails::Place &place : details.places)
    if (place.operation == operation)
      return &place;
  return nullptr;
}

} // namespace

TEST_CASE("occupancy_of: the scarcest resource limits blocks per SM") {
  struct {
    const char *gpu;
    int threads, registers, shared_bytes, blocks;
    const char *limit;
  } cases[] = {
      {"90a", 384, 168, 230400, 1, "registers"}, // both limit: 65536 / (384 * 168) = 1
      {"90a", 128, 32, 114 * 1024 - 1024, 2, "shared memory"},
      {"90a", 128, 32, 114 * 1024, 1, "shared memory"}, // the system reserves 1 KiB per block
      {"90a", 1024, 32, 0, 2, "threads"},
      {"90a", 32, 16, 0, 32, "blocks"},
      {"80", 256, 97, 0, 2, "registers"}, // allocated as 104
      {"86", 256, 32, 0, 6, "threads"},
      {"75", 128, 32, 32768, 2, "shared memory"},
  };
  for (const auto &[gpu, threads, registers, shared_bytes, blocks, limit] : cases) {
    CAPTURE(gpu);
    CAPTURE(threads);
    CAPTURE(shared_bytes);
    auto found = occupancy_of(*find_gpu(gpu), threads, registers, shared_bytes);
    CHECK(found.blocks == blocks);
    CHECK(found.limit == limit);
    CHECK(found.warps == blocks * threads / 32);
    CHECK(found.max_warps == find_gpu(gpu)->max_threads_per_sm / 32);
  }
}

TEST_CASE("details_of: has instructions, tile layouts and accesses") {
  std::vector<Image> images = images_of("90a", true);
  const ImageDetails &best = *images[0].details;
  CHECK(best.instructions.at("HGMMA") > 0);
  CHECK(best.occupancy.blocks == 1);
  const ImageDetails::Place *accumulators = place_by(best, "wgmma_ss");
  REQUIRE(accumulators);
  CHECK(accumulators->type == "f32[128,256]");
  CHECK(accumulators->layout.warps() == 8);
  REQUIRE(place_by(best, "shared_alloc"));
  CHECK(place_by(best, "shared_alloc")->layout.is_shared());
  // Indices and masks have no place.
  CHECK_FALSE(place_by(best, "range"));

  const ImageDetails &baseline = *images.back().details;
  CHECK(baseline.instructions.at("HMMA") > 0);
  CHECK(std::any_of(baseline.accesses.begin(), baseline.accesses.end(),
                    [](const ImageDetails::Access &access) { return access.by_matrix; }));
  for (const ImageDetails::Access &access : baseline.accesses)
    CHECK(access.conflicts == 1);
}

TEST_CASE("compile: image has no details unless `details` is set") {
  for (const Image &image : images_of("80", false))
    CHECK_FALSE(image.details);
}
