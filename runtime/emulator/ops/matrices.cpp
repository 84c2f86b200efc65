// Implements the matrix operations of a warp. See matrices.h.
//
// Tested by tests/unit/emulator/matrices_test.cpp.

#include "matrices.h"

#include "../launch_state.h"
#include "../models/fragments.h"
#include "../models/numbers.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tritonc::emulator::ops {
namespace matrices {
namespace {

constexpr unsigned row_bytes = 16;

/// Byte offset of an element in a row-major 8 x 8 matrix of 16-bit elements.
unsigned offset_of(models::Place place) { return place.row * row_bytes + place.column * 2; }

const char *name_of(bool is_load, unsigned count, bool transposed) {
  static constexpr const char *names[2][3][2] = {
      {{"stmatrix_x1", "stmatrix_x1_trans"},
       {"stmatrix_x2", "stmatrix_x2_trans"},
       {"stmatrix_x4", "stmatrix_x4_trans"}},
      {{"ldmatrix_x1", "ldmatrix_x1_trans"},
       {"ldmatrix_x2", "ldmatrix_x2_trans"},
       {"ldmatrix_x4", "ldmatrix_x4_trans"}},
  };
  return names[is_load][count == 4 ? 2 : count - 1][transposed];
}

} // namespace

void load(Warp &warp, const Site &site, unsigned count, bool transposed, const uint32_t *addresses,
          uint32_t *const registers[32]) {
  SharedMemory &shared = warp.block->cluster->shared;
  const char *what = name_of(true, count, transposed);
  std::byte matrices[4][8 * row_bytes];
  for (unsigned i = 0; i < 8 * count; i++)
    std::memcpy(
        matrices[i / 8] + i % 8 * row_bytes,
        shared.read(access_by(warp.threads[i], site, what), addresses[i], row_bytes, row_bytes),
        row_bytes);
  for (unsigned lane = 0; lane < warp_size; lane++) {
    unsigned low = offset_of(models::place_in_8x8(transposed, lane, 0));
    unsigned high = offset_of(models::place_in_8x8(transposed, lane, 1));
    for (unsigned m = 0; m < count; m++) {
      uint16_t halves[2];
      std::memcpy(&halves[0], matrices[m] + low, 2);
      std::memcpy(&halves[1], matrices[m] + high, 2);
      registers[lane][m] = uint32_t(halves[0]) | uint32_t(halves[1]) << 16;
    }
  }
}

void store(Warp &warp, const Site &site, unsigned count, bool transposed, const uint32_t *addresses,
           const uint32_t *const registers[32]) {
  SharedMemory &shared = warp.block->cluster->shared;
  const char *what = name_of(false, count, transposed);
  std::byte matrices[4][8 * row_bytes];
  for (unsigned lane = 0; lane < warp_size; lane++) {
    unsigned low = offset_of(models::place_in_8x8(transposed, lane, 0));
    unsigned high = offset_of(models::place_in_8x8(transposed, lane, 1));
    for (unsigned m = 0; m < count; m++) {
      uint16_t halves[2] = {uint16_t(registers[lane][m]), uint16_t(registers[lane][m] >> 16)};
      std::memcpy(matrices[m] + low, &halves[0], 2);
      std::memcpy(matrices[m] + high, &halves[1], 2);
    }
  }
  for (unsigned i = 0; i < 8 * count; i++)
    std::memcpy(
        shared.write(access_by(warp.threads[i], site, what), addresses[i], row_bytes, row_bytes),
        matrices[i / 8] + i % 8 * row_bytes, row_bytes);
}

models::Accumulation accumulation(const Cluster &cluster, models::Input a) {
  // `gpu` is a name such as "sm_90a".
  const char *gpu = cluster.launch->code.gpu;
  unsigned sm = unsigned(std::strtoul(gpu + std::strcspn(gpu, "0123456789"), nullptr, 10));
  return models::accumulation(sm, models::Instruction::mma, a);
}

} // namespace matrices

uint32_t cvt_rna_tf32(Thread &, const Site &, float number) { return models::to_tf32(number); }

float copy_f32(Thread &, const Site &, float number) {
  constexpr uint32_t nan = 0x7fffffff;
  return std::isnan(number) ? std::bit_cast<float>(nan) : number;
}

uint32_t cvt_e4m3x2(Thread &, const Site &, float low, float high) {
  return models::to_e4m3(low) | uint32_t(models::to_e4m3(high)) << 8;
}

uint32_t cvt_e5m2x2(Thread &, const Site &, float low, float high) {
  return models::to_e5m2(low) | uint32_t(models::to_e5m2(high)) << 8;
}

uint32_t cvt_f16x2_e4m3x2(Thread &, const Site &, uint32_t pair) {
  auto half = [](uint32_t code) {
    return uint32_t(models::to_half(models::from_e4m3(uint8_t(code))));
  };
  return half(pair) | half(pair >> 8) << 16;
}

} // namespace tritonc::emulator::ops
