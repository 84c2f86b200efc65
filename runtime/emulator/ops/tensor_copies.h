// Copies of boxes of tensors between global and shared memory by copy engines (PTX ISA,
// "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"). The tensor and the box's size are in a
// tensor map, 128 bytes that the host made; the box's place is given by coordinates, innermost
// first, and may be out of the tensor's bounds.

#pragma once

#include "../findings.h"
#include "../models/tensor_map.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tritonc::emulator::ops {

using models::Reduction;

namespace tensor {

/// A box: of which map, where.
struct Place {
  const void *map;
  const uint32_t *coordinates; // signed
  unsigned rank;
};

/// `blocks` 0: to the own block only, and `what` is no multicast.
void load(Thread &thread, const Site &site, const char *what, uint32_t to, const Place &place,
          uint32_t mbarrier, bool multicast, uint32_t blocks);
void store(Thread &thread, const Site &site, const char *what, const Place &place, uint32_t from);
void reduce(Thread &thread, const Site &site, const char *what, Reduction reduction,
            const Place &place, uint32_t from);

// Operations have as many operands as the tensor has dimensions.
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

/// (to, map, x ..., mbarrier): the box to shared address `to`; its bytes, those out of bounds
/// included, count on the mbarrier.
template <unsigned rank> inline constexpr auto tma_load = tensor::Rank<rank>::load;
/// (to, map, x ..., mbarrier, policy): there is no cache here.
template <unsigned rank> inline constexpr auto tma_load_hinted = tensor::Rank<rank>::load_hinted;
/// (to, map, x ..., mbarrier, blocks): to the same place of each block whose bit is set, and
/// counting on the mbarrier that is at the same place there.
template <unsigned rank>
inline constexpr auto tma_load_multicast = tensor::Rank<rank>::load_multicast;
/// (map, x ..., from): from shared address `from`, as a part of the thread's open bulk group.
template <unsigned rank> inline constexpr auto tma_store = tensor::Rank<rank>::store;
/// The same, combining with what is there, element by element.
template <Reduction reduction, unsigned rank>
inline constexpr auto tma_reduce = tensor::Rank<rank>::template reduce<reduction>;

/// Says that the map will be used.
void prefetch_tensor_map(Thread &thread, const Site &site, const void *map);

} // namespace tritonc::emulator::ops
