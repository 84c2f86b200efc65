// Tests image_details.cpp: what tritonc report shows of a compiled kernel.

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
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics);
  return result.library.kernels[0].variants[0].images;
}

const ImageDetails::Place *place_by(const ImageDetails &details, const char *operation) {
  for (const ImageDetails::Place &place : details.places)
    if (place.operation == operation)
      return &place;
  return nullptr;
}

} // namespace

TEST_CASE("as many blocks run at once as the scarcest of all leaves room for") {
  struct {
    const char *gpu;
    int threads, registers, shared_bytes, blocks;
    const char *limit;
  } cases[] = {
      {"90a", 384, 168, 230400, 1, "registers"}, // both: 65536 / (384 * 168) = 1
      {"90a", 128, 32, 114 * 1024 - 1024, 2, "shared memory"},
      {"90a", 128, 32, 114 * 1024, 1, "shared memory"}, // a KiB of each is the system's
      {"90a", 1024, 32, 0, 2, "threads"},
      {"90a", 32, 16, 0, 32, "blocks"},
      {"80", 256, 97, 0, 2, "registers"}, // 104, as they are given
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
    CHECK(found.max_warps == find_gpu(gpu)->threads_per_multiprocessor / 32);
  }
}

TEST_CASE("details say what the machine code and the tiles are") {
  std::vector<Image> images = images_of("90a", true);
  const ImageDetails &best = *images[0].details;
  CHECK(best.instructions.at("HGMMA") > 0);
  CHECK(best.occupancy.blocks == 1);
  const ImageDetails::Place *sum = place_by(best, "wgmma_ss");
  REQUIRE(sum);
  CHECK(sum->type == "f32[128,256]");
  CHECK(sum->layout.warps() == 8);
  REQUIRE(place_by(best, "shared_alloc"));
  CHECK(place_by(best, "shared_alloc")->layout.is_shared());
  // Indices and masks are nowhere in particular.
  CHECK_FALSE(place_by(best, "range"));

  const ImageDetails &plain = *images.back().details;
  CHECK(plain.instructions.at("HMMA") > 0);
  CHECK(std::any_of(plain.accesses.begin(), plain.accesses.end(),
                    [](const ImageDetails::Access &access) { return access.by_matrix; }));
  for (const ImageDetails::Access &access : plain.accesses)
    CHECK(access.conflicts == 1);
}

TEST_CASE("nothing is found out that nobody asked for") {
  for (const Image &image : images_of("80", false))
    CHECK_FALSE(image.details);
}
