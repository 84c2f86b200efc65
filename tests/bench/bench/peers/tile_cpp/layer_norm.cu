// Layer norm of rows in CUDA Tile C++: x and y are rows x columns, without gaps.
//
// TYPE            the elements
// ROWS, BLOCK     the tile: whole rows, so BLOCK >= columns
// ALIGNED         columns is a multiple of so many elements
// WARPS, OCCUPANCY   hints for the compiler

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using Tile = ct::tile<float, ct::shape<ROWS, BLOCK>>;

extern "C" [[cutile::hint(0, num_worker_warps_per_cta = WARPS, occupancy = OCCUPANCY)]]
__tile_global__ void kernel(const TYPE *__restrict__ x_start, const TYPE *__restrict__ gain_start,
                            const TYPE *__restrict__ bias_start, TYPE *__restrict__ y_start, uint32_t rows,
                            uint32_t columns_, float epsilon) {
  using namespace ct::literals;
  const TYPE *x = ct::assume_aligned<16>(x_start), *gain = ct::assume_aligned<16>(gain_start);
  const TYPE *bias = ct::assume_aligned<16>(bias_start);
  TYPE *y = ct::assume_aligned<16>(y_start);
  const uint32_t columns = ct::assume_divisible<ALIGNED>(columns_);
  const int64_t row = int64_t(ct::bid().x) * ROWS;
  auto r = row + ct::reshape<ct::shape<ROWS, 1>>(ct::iota<ct::tile<int64_t, ct::shape<ROWS>>>());
  auto c = ct::reshape<ct::shape<1, BLOCK>>(ct::iota<ct::tile<uint32_t, ct::shape<BLOCK>>>());
  const TYPE zero = 0.0f;
  auto inside = r < int64_t(rows) && c < columns;
  auto value = ct::element_cast<float>(ct::load_masked(x + r * columns + c, inside, zero));
  const float share = 1.0f / float(columns);
  auto away = ct::select(ct::broadcast<ct::shape<ROWS, BLOCK>>(c < columns),
                         value - ct::sum(value, 1_ic) * share, ct::zeros<Tile>());
  auto factor = ct::rsqrt(ct::sum(away * away, 1_ic) * share + epsilon);
  auto scale = ct::element_cast<float>(ct::load_masked(gain + c, c < columns, zero));
  auto shift = ct::element_cast<float>(ct::load_masked(bias + c, c < columns, zero));
  ct::store_masked(y + r * columns + c, ct::element_cast<TYPE>(away * factor * scale + shift), inside);
}
