// Tensor copies: TMA units copy boxes of tensors between global and shared memory (PTX ISA,
// "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"). A tensor map, 128 bytes made by the host,
// describes the tensor and the size of the box. Coordinates, innermost first, give the position of
// the box. The box may be out of the tensor's bounds.

#pragma once

#include "../models/tensor_map.h"
#include "../reports.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tritonc::emulator::ops {

using models::Reduction;

namespace tensor {

/// The position of a box: a tensor map and coordinates.
struct Place {
  const void *map;
  const uint32_t *coordinates; // bits of signed values
  unsigned rank;
};

/// Without `multicast`, `blocks` is 0 and the copy goes to the own block.
void load(Thread &thread, const Site &site, const char *what, uint32_t to, const Place &place,
          uint32_t mbarrier, bool multicast, uint32_t blocks);
void store(Thread &thread, const Site &site, const char *what, const Place &place, uint32_t from);
void reduce(Thread &thread, const Site &site, const char *what, Reduction reduction,
            const Place &place, uint32_t from);

// An operation has one coordinate operand per dimension of the tensor.
template <unsigned rank, typename Indices> struct Operations;
template <unsigned rank, size_t... i> struct Operations<rank, std::index_sequence<i...>> {
  template <size_t> using Coordinate = uint32_t;
  static constexpr char digit = char('0' + rank);

  static void load(Thread &thread, const Site &site, uint32_t to, const void *map,
                   Coordinate<i>... at, uint32_t mbarrier) {
    static constexpr char name[] = {'t', 'm', 'a', '_', 'l', 'o', 'a', 'd', '_', digit, 'd', 0};
    uint32_t coordinates[] = {at...};
    tensor::load(thread, site, name, to, {map, coordinates, rank}, mbarrier, false, 0);
  }
  static void load_hinted(Thread &thread, const Site &site, uint32_t to, const void *map,
                          Coordinate<i>... at, uint32_t mbarrier, uint64_t) {
    static constexpr char name[] = {'t', 'm', 'a', '_', 'l', 'o', 'a',   'd', '_', 'h',
                                    'i', 'n', 't', 'e', 'd', '_', digit, 'd', 0};
    uint32_t coordinates[] = {at...};
    tensor::load(thread, site, name, to, {map, coordinates, rank}, mbarrier, false, 0);
  }
  static void load_multicast(Thread &thread, const Site &site, uint32_t to, const void *map,
                             Coordinate<i>... at, uint32_t mbarrier, uint32_t blocks) {
    static constexpr char name[] = {'t', 'm', 'a', '_', 'l', 'o', 'a', 'd', '_',   'm', 'u',
                                    'l', 't', 'i', 'c', 'a', 's', 't', '_', digit, 'd', 0};
    uint32_t coordinates[] = {at...};
    tensor::load(thread, site, name, to, {map, coordinates, rank}, mbarrier, true, blocks);
  }
  static void store(Thread &thread, const Site &site, const void *map, Coordinate<i>... at,
                    uint32_t from) {
    static constexpr char name[] = {'t', 'm', 'a', '_',   's', 't', 'o',
                                    'r', 'e', '_', digit, 'd', 0};
    uint32_t coordinates[] = {at...};
    tensor::store(thread, site, name, {map, coordinates, rank}, from);
  }
  template <Reduction reduction>
  static void reduce(Thread &thread, const Site &site, const void *map, Coordinate<i>... at,
                     uint32_t from) {
    static constexpr const char *which[] = {"add", "min", "max"};
    static constexpr const char *word = which[size_t(reduction)];
    static constexpr char name[] = {'t', 'm', 'a',     '_',     'r',     'e', 'd',   'u', 'c',
                                    'e', '_', word[0], word[1], word[2], '_', digit, 'd', 0};
    uint32_t coordinates[] = {at...};
    tensor::reduce(thread, site, name, reduction, {map, coordinates, rank}, from);
  }
};

template <unsigned rank> using Rank = Operations<rank, std::make_index_sequence<rank>>;

} // namespace tensor

/// (to, map, x ..., mbarrier): copies the box to shared address `to` and counts its bytes, also the
/// bytes out of bounds, on the mbarrier.
template <unsigned rank> inline constexpr auto tma_load = tensor::Rank<rank>::load;
/// (to, map, x ..., mbarrier, policy): ignores the policy; the emulator has no cache.
template <unsigned rank> inline constexpr auto tma_load_hinted = tensor::Rank<rank>::load_hinted;
/// (to, map, x ..., mbarrier, blocks): copies to the same offset of each block in the mask
/// `blocks`, and counts on the mbarrier at the same offset of that block.
template <unsigned rank>
inline constexpr auto tma_load_multicast = tensor::Rank<rank>::load_multicast;
/// (map, x ..., from): copies from shared address `from`, in the thread's open bulk group.
template <unsigned rank> inline constexpr auto tma_store = tensor::Rank<rank>::store;
/// Like tma_store, but combines with the elements in global memory.
template <Reduction reduction, unsigned rank>
inline constexpr auto tma_reduce = tensor::Rank<rank>::template reduce<reduction>;

/// Checks the map; a GPU would fetch it.
void prefetch_tensor_map(Thread &thread, const Site &site, const void *map);

} // namespace tritonc::emulator::ops
