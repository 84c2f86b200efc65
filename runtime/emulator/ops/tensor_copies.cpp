// Implements the tensor copies. See tensor_copies.h.
//
// Tested by tests/unit/emulator/tensor_copies_test.cpp.

#include "tensor_copies.h"

#include "../launch_state.h"
#include "../machine.h"
#include "bulk_async.h"

#include <array>
#include <bit>
#include <cstring>

namespace tritonc::emulator::ops {
namespace {

using Kind = Report::Kind;
using models::BoxRow;
using models::TensorMap;
using models::Transfer;

/// Decodes the map at `pointer`. Programs must not change a map in use, so a copy suffices.
TensorMap read_map(Thread &thread, const Site &site, const char *what, const void *pointer) {
  Cluster &cluster = *thread.cluster;
  if (reinterpret_cast<uintptr_t>(pointer) % models::tensor_map_alignment != 0)
    fatal(thread, site, Kind::misaligned,
          "%s: the address %p of the tensor map is not a multiple of %zu", what, pointer,
          models::tensor_map_alignment);
  // If not, the map is a parameter of the kernel.
  if (cluster.launch->memory.contains(pointer))
    cluster.global.read(access_by(thread, site, what), pointer, models::tensor_map_bytes,
                        models::tensor_map_alignment);
  TensorMap map;
  Text problem;
  {
    models::Problem found = models::decode_tensor_map(map, pointer);
    if (found)
      problem.add("%s", found.text.c_str());
  }
  if (*problem.c_str())
    fatal(thread, site, Kind::misuse, "%s: %s", what, problem.c_str());
  return map;
}

/// A box in global memory, row by row.
class Box {
public:
  Box(const TensorMap &map, const uint32_t *coordinates, uint32_t shared) : map_(map) {
    for (unsigned i = 0; i < map.rank; i++)
      coordinates_[i] = std::bit_cast<int32_t>(coordinates[i]);
    shared_ = shared;
  }

protected:
  BoxRow row(uint32_t i, Transfer transfer) const {
    return models::box_row(map_, coordinates_.data(), i, transfer);
  }
  static std::byte *first(const BoxRow &row) {
    return reinterpret_cast<std::byte *>(uintptr_t(row.address)) + row.begin;
  }

  TensorMap map_;
  std::array<int32_t, 5> coordinates_ = {};
  uint32_t shared_; // the box's address, which the swizzle depends on
};

class LoadBox final : public Source, Box {
public:
  using Box::Box;
  void read(const Access &access, std::byte *to) override {
    GlobalAccess &memory = access.thread.cluster->global;
    for (uint32_t i = 0, rows = map_.rows(); i < rows; i++) {
      BoxRow row = this->row(i, Transfer::load);
      const std::byte *from = nullptr;
      if (row.end > row.begin)
        from = memory.read(access, first(row), row.end - row.begin, 1);
      models::load_row(map_, row, to, shared_, from);
    }
  }
};

class StoreBox final : public Destination, Box {
public:
  using Box::Box;
  void write(const Access &access, const std::byte *from) override {
    GlobalAccess &memory = access.thread.cluster->global;
    for (uint32_t i = 0, rows = map_.rows(); i < rows; i++) {
      BoxRow row = this->row(i, Transfer::store);
      if (row.end > row.begin)
        models::store_row(map_, row, from, shared_,
                          memory.write(access, first(row), row.end - row.begin, 1));
    }
  }
};

class ReduceBox final : public Destination, Box {
public:
  ReduceBox(const TensorMap &map, const uint32_t *coordinates, uint32_t shared, Reduction reduction)
      : Box(map, coordinates, shared), reduction_(reduction) {}
  void write(const Access &access, const std::byte *from) override {
    GlobalAccess &memory = access.thread.cluster->global;
    std::vector<std::byte> &elements = elements_; // not a local: `atomic` may end the launch
    elements.resize(map_.row_bytes());
    for (uint32_t i = 0, rows = map_.rows(); i < rows; i++) {
      BoxRow row = this->row(i, Transfer::store);
      if (row.end <= row.begin)
        continue;
      uint32_t bytes = row.end - row.begin;
      std::byte *to = memory.atomic(access, first(row), bytes, models::bytes_of(map_.type));
      models::store_row(map_, row, from, shared_, elements.data());
      models::reduce(reduction_, map_.type, to, elements.data(), bytes);
    }
  }

private:
  Reduction reduction_;
  std::vector<std::byte> elements_;
};

TensorMap map_of(Thread &thread, const Site &site, const char *what, const tensor::Place &place,
                 Transfer transfer) {
  TensorMap map = read_map(thread, site, what, place.map);
  GlobalAccess::check_waited(access_by(thread, site, what),
                             reinterpret_cast<void *>(uintptr_t(map.address)), map.box_bytes());
  if (map.rank != place.rank)
    fatal(thread, site, Kind::misuse, "%s with a tensor map of rank %u", what, map.rank);
  Text problem;
  {
    int32_t coordinates[5];
    for (unsigned i = 0; i < map.rank; i++)
      coordinates[i] = std::bit_cast<int32_t>(place.coordinates[i]);
    models::Problem found = models::check_coordinates(map, coordinates, transfer);
    if (found)
      problem.add("%s", found.text.c_str());
  }
  if (*problem.c_str())
    fatal(thread, site, Kind::misuse, "%s: %s", what, problem.c_str());
  return map;
}

} // namespace

namespace tensor {

void load(Thread &thread, const Site &site, const char *what, uint32_t to, const Place &place,
          uint32_t mbarrier, bool multicast, uint32_t blocks) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  TensorMap map = map_of(thread, site, what, place, Transfer::load);
  Issue issue = {thread, site, what, to, map.box_bytes(), models::box_alignment};
  if (multicast && blocks == 0)
    fatal(thread, site, Kind::misuse, "%s to no block: the mask is 0", what);
  check_copy_in(issue, mbarrier, blocks);
  std::vector<std::unique_ptr<Source>> sources;
  for (const Block &block : thread.cluster->blocks)
    if (multicast ? blocks >> block.rank & 1 : &block == thread.block)
      sources.push_back(std::make_unique<LoadBox>(map, place.coordinates, to));
  start_copy_in(issue, mbarrier, blocks, std::move(sources));
}

void store(Thread &thread, const Site &site, const char *what, const Place &place, uint32_t from) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  TensorMap map = map_of(thread, site, what, place, Transfer::store);
  Issue issue = {thread, site, what, from, map.box_bytes(), models::box_alignment};
  check_copy_out(issue);
  start_copy_out(issue, std::make_unique<StoreBox>(map, place.coordinates, from));
}

void reduce(Thread &thread, const Site &site, const char *what, Reduction reduction,
            const Place &place, uint32_t from) {
  thread.cluster->scheduler.maybe_interrupt(thread);
  TensorMap map = map_of(thread, site, what, place, Transfer::store);
  Text problem;
  {
    models::Problem found = models::check_reduction(reduction, map.type);
    if (found)
      problem.add("%s", found.text.c_str());
  }
  if (*problem.c_str())
    fatal(thread, site, Kind::misuse, "%s: %s", what, problem.c_str());
  Issue issue = {thread, site, what, from, map.box_bytes(), models::box_alignment};
  check_copy_out(issue);
  start_copy_out(issue, std::make_unique<ReduceBox>(map, place.coordinates, from, reduction));
}

} // namespace tensor

void prefetch_tensor_map(Thread &thread, const Site &site, const void *map) {
  read_map(thread, site, "prefetch_tensor_map", map);
}

} // namespace tritonc::emulator::ops
