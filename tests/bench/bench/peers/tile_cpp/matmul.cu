// c = a y in CUDA Tile C++: a is M x K, y is K x N, c is M x N, without gaps.
//
// TYPE, TM, TN, TK     the elements and the tile
// A_TRANSPOSED, Y_TRANSPOSED   the matrix is column by column
// ALIGNED_M, ALIGNED_N, ALIGNED_K   the sizes are multiples of these numbers
// PERSISTENT           a block computes several tiles
// POINTERS             loads by tiles of pointers instead of views
// WARPS, CTAS, OCCUPANCY   hints for the compiler

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr uint32_t group = 8; // rows of tiles that blocks compute together, so that L2 has the operands

using Size = ct::extents<uint32_t, ct::dynamic_extent, ct::dynamic_extent>;
template<uint32_t rows, uint32_t columns> using Shape = ct::shape<rows, columns>;

// A tile of a matrix of rows x columns that is stored row by row, or column by column.
template<bool transposed, uint32_t height, uint32_t width>
__tile__ auto load(const TYPE *data, uint32_t rows, uint32_t columns, uint32_t row, uint32_t column) {
#if POINTERS
  auto r = row * height + ct::reshape<Shape<height, 1>>(ct::iota<ct::tile<uint32_t, ct::shape<height>>>());
  auto c = column * width + ct::reshape<Shape<1, width>>(ct::iota<ct::tile<uint32_t, ct::shape<width>>>());
  auto inside = r < rows && c < columns;
  if constexpr (transposed)
    return ct::load_masked(data + (ct::element_cast<int64_t>(c) * rows + r), inside, TYPE(0.0f));
  else
    return ct::load_masked(data + (ct::element_cast<int64_t>(r) * columns + c), inside, TYPE(0.0f));
#else
  if constexpr (transposed) {
    auto view = ct::partition_view{ct::tensor_span{data, Size{columns, rows}}, Shape<width, height>{}};
    return ct::transpose(view.load_masked(column, row));
  } else {
    auto view = ct::partition_view{ct::tensor_span{data, Size{rows, columns}}, Shape<height, width>{}};
    return view.load_masked(row, column);
  }
#endif
}

extern "C" [[cutile::hint(0, num_worker_warps_per_cta = WARPS, num_cta_in_cga = CTAS, occupancy = OCCUPANCY)]]
__tile_global__ void kernel(const TYPE *__restrict__ a_start, const TYPE *__restrict__ y_start,
                            TYPE *__restrict__ c_start, uint32_t m_, uint32_t n_, uint32_t k_) {
  const TYPE *a = ct::assume_aligned<16>(a_start), *y = ct::assume_aligned<16>(y_start);
  TYPE *c = ct::assume_aligned<16>(c_start);
  const uint32_t m = ct::assume_divisible<ALIGNED_M>(m_), n = ct::assume_divisible<ALIGNED_N>(n_);
  const uint32_t k = ct::assume_divisible<ALIGNED_K>(k_);

  const uint32_t rows = ct::ceildiv(m, uint32_t(TM)), columns = ct::ceildiv(n, uint32_t(TN));
  const uint32_t steps = ct::ceildiv(k, uint32_t(TK));
  auto compute = [&](uint32_t tile) {
    const uint32_t first = tile / (group * columns) * group;
    const uint32_t height = ct::min(rows - first, group), inside = tile % (group * columns);
    const uint32_t row = first + inside % height, column = inside / height;
    auto sum = ct::zeros<ct::tile<float, Shape<TM, TN>>>();
    for (uint32_t step : ct::irange(0u, steps))
      sum = ct::mma(load<A_TRANSPOSED, TM, TK>(a, m, k, row, step),
                    load<Y_TRANSPOSED, TK, TN>(y, k, n, step, column), sum);
    auto result = ct::partition_view{ct::tensor_span{c, Size{m, n}}, Shape<TM, TN>{}};
    result.store_masked(ct::element_cast<TYPE>(sum), row, column);
  };
#if PERSISTENT
  for (uint32_t tile : ct::irange(ct::bid().x, rows * columns, ct::num_blocks().x))
    compute(tile);
#else
  compute(ct::bid().x);
#endif
}
