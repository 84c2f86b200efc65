// Attention in CUDA Tile C++: o = softmax(scale q k^T) v for each head.
//
// q and o are heads x M x DEPTH, k and v are heads / group x N x DEPTH. A block computes BM queries.
//
// TYPE             the elements
// DEPTH, BM, BN    the tiles: BM queries, BN keys
// CAUSAL           query i sees the keys up to i + N - M, and N >= M
// LOOPS            2 = a loop without a mask, then one with a mask; 1 = one loop, with a mask;
//                  0 = one loop without a mask, if N is a multiple of BN
// WARPS, OCCUPANCY hints for the compiler

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using Size = ct::extents<uint32_t, ct::dynamic_extent, ct::dynamic_extent, DEPTH>;
using Scores = ct::tile<float, ct::shape<BM, BN>>;
using Sums = ct::tile<float, ct::shape<BM, 1>>;
using Result = ct::tile<float, ct::shape<BM, DEPTH>>;

template<uint32_t height>
__tile__ auto load(const TYPE *data, uint32_t heads, uint32_t rows, uint32_t head, uint32_t number) {
  auto view = ct::partition_view{ct::tensor_span{data, Size{heads, rows}}, ct::shape<1, height, DEPTH>{}};
  return ct::reshape<ct::shape<height, DEPTH>>(view.load_masked(head, number, 0u));
}

extern "C" [[cutile::hint(0, num_worker_warps_per_cta = WARPS, occupancy = OCCUPANCY)]]
__tile_global__ void kernel(const TYPE *__restrict__ q_start, const TYPE *__restrict__ k_start,
                            const TYPE *__restrict__ v_start, TYPE *__restrict__ o_start, uint32_t heads,
                            uint32_t m, uint32_t n, uint32_t group, float scale_log2) {
  using namespace ct::literals;
  const TYPE *q = ct::assume_aligned<16>(q_start), *k = ct::assume_aligned<16>(k_start);
  const TYPE *v = ct::assume_aligned<16>(v_start);
  TYPE *o = ct::assume_aligned<16>(o_start);
  // With a mask, the blocks with the most keys start first.
  const uint32_t tile = CAUSAL ? ct::num_blocks().x - 1 - ct::bid().x : ct::bid().x;
  const uint32_t head = ct::bid().y, shared = head / group, heads_of_k = heads / group;
  const uint32_t row = tile * BM, apart = n - m;
  auto last = row + apart + ct::reshape<ct::shape<BM, 1>>(ct::iota<ct::tile<uint32_t, ct::shape<BM>>>());

  auto queries = load<BM>(q, heads, m, head, tile);
  auto top = ct::full<Sums>(-INFINITY), total = ct::zeros<Sums>();
  auto result = ct::zeros<Result>();
  auto over_keys = [&](uint32_t begin, uint32_t end, auto masked) {
    for (uint32_t step : ct::irange(begin, end)) {
      auto keys = load<BN>(k, heads_of_k, n, shared, step);
      auto scores = ct::mma(queries, ct::transpose(keys), ct::zeros<Scores>());
      if constexpr (decltype(masked)::value) {
        auto key = step * BN + ct::reshape<ct::shape<1, BN>>(ct::iota<ct::tile<uint32_t, ct::shape<BN>>>());
        auto seen = ct::broadcast<ct::shape<BM, BN>>(key < n);
        if constexpr (CAUSAL) seen = seen && key <= last;
        scores = ct::select(seen, scores, ct::full<Scores>(-INFINITY));
      }
      Sums larger = ct::max(top, ct::reduce_max(scores, 1_ic) * scale_log2);
      auto weights = ct::exp2(scores * scale_log2 - larger);
      auto shrunk = ct::exp2(top - larger);
      total = total * shrunk + ct::sum(weights, 1_ic);
      auto values = load<BN>(v, heads_of_k, n, shared, step);
      result = ct::mma(ct::element_cast<TYPE>(weights), values, result * shrunk);
      top = larger;
    }
  };
  const uint32_t end = ct::ceildiv(CAUSAL ? ct::min(row + BM + apart, n) : n, uint32_t(BN));
#if LOOPS == 0
  over_keys(0, end, ct::integral_constant<false>{});
#elif LOOPS == 1
  over_keys(0, end, ct::integral_constant<true>{});
#else
  // All queries of the tile see the keys before `common`.
  const uint32_t common = (CAUSAL ? ct::min(row + apart + 1, n) : n) / BN;
  over_keys(0, common, ct::integral_constant<false>{});
  over_keys(common, end, ct::integral_constant<true>{});
#endif

  auto output = ct::partition_view{ct::tensor_span{o, Size{heads, m}}, ct::shape<1, BM, DEPTH>{}};
  auto rounded = ct::element_cast<TYPE>(result / total);
  output.store_masked(ct::reshape<ct::shape<1, BM, DEPTH>>(rounded), head, tile, 0u);
}
