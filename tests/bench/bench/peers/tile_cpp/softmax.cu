// Softmax of rows in CUDA Tile C++: x and y are rows x columns, without gaps.
//
// TYPE            the elements
// ROWS, BLOCK     the tile: whole rows if BLOCK >= columns and LONG is 0; else the row is read twice
// ALIGNED         columns is a multiple of so many elements
// WARPS, OCCUPANCY   hints for the compiler

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using Tile = ct::tile<float, ct::shape<ROWS, BLOCK>>;

constexpr float log2_e = 1.4426950408889634f;

extern "C" [[cutile::hint(0, num_worker_warps_per_cta = WARPS, occupancy = OCCUPANCY)]]
__tile_global__ void kernel(const TYPE *__restrict__ x_start, TYPE *__restrict__ y_start, uint32_t rows,
                            uint32_t columns_) {
  using namespace ct::literals;
  const TYPE *x = ct::assume_aligned<16>(x_start);
  TYPE *y = ct::assume_aligned<16>(y_start);
  const uint32_t columns = ct::assume_divisible<ALIGNED>(columns_);
  const int64_t row = int64_t(ct::bid().x) * ROWS;
  auto r = row + ct::reshape<ct::shape<ROWS, 1>>(ct::iota<ct::tile<int64_t, ct::shape<ROWS>>>());
  auto c = ct::reshape<ct::shape<1, BLOCK>>(ct::iota<ct::tile<uint32_t, ct::shape<BLOCK>>>());
  const TYPE lowest = -INFINITY;
#if LONG
  auto top = ct::full<Tile>(-INFINITY), total = ct::zeros<Tile>();
  for (uint32_t first : ct::irange(0u, columns, uint32_t(BLOCK))) {
    auto inside = r < int64_t(rows) && first + c < columns;
    auto loaded = ct::load_masked(x + (r * columns + first) + c, inside, lowest);
    auto value = log2_e * ct::element_cast<float>(loaded);
    auto larger = ct::max(ct::max(top, value), -1e30f); // no difference of two infinities
    total = total * ct::exp2(top - larger) + ct::exp2(value - larger);
    top = larger;
  }
  auto high = ct::reduce_max(top, 1_ic);
  auto factor = 1.0f / ct::sum(total * ct::exp2(top - high), 1_ic);
  for (uint32_t first : ct::irange(0u, columns, uint32_t(BLOCK))) {
    auto inside = r < int64_t(rows) && first + c < columns;
    auto loaded = ct::load_masked(x + (r * columns + first) + c, inside, lowest);
    auto value = log2_e * ct::element_cast<float>(loaded);
    auto result = ct::element_cast<TYPE>(ct::exp2(value - high) * factor);
    ct::store_masked(y + (r * columns + first) + c, result, inside);
  }
#else
  auto inside = r < int64_t(rows) && c < columns;
  auto value = log2_e * ct::element_cast<float>(ct::load_masked(x + r * columns + c, inside, lowest));
  auto weight = ct::exp2(value - ct::reduce_max(value, 1_ic));
  auto result = weight * (1.0f / ct::sum(weight, 1_ic));
  ct::store_masked(y + r * columns + c, ct::element_cast<TYPE>(result), inside);
#endif
}
