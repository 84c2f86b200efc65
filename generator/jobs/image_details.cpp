// Collects the details of a compiled kernel. See image_details.h.
//
// Tested by tests/unit/jobs/image_details_test.cpp.

#include "jobs/image_details.h"

#include "analysis/shared_access.h"
#include "backend/sass_stats.h"
#include "ir/printer.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Whether the layout of the result matters: true for operations that load, multiply or move data.
// Index and mask computations follow the layout of their uses.
bool is_placed(const Op &op) {
  constexpr Opcode placed[] = {Opcode::load_,
                               Opcode::dot_,
                               Opcode::reduce_,
                               Opcode::shared_alloc_,
                               Opcode::scan_,
                               Opcode::shared_gather_,
                               Opcode::shared_load_,
                               Opcode::wgmma_ss_,
                               Opcode::convert_layout_,
                               Opcode::wgmma_rs_,
                               Opcode::shared_load_rows_};
  return std::find(std::begin(placed), std::end(placed), op.code) != std::end(placed);
}

// Adds each layout once, with the first operation that produces it.
void add_places(const Function &function, ImageDetails &details) {
  std::set<std::pair<Shape, std::string>> seen;
  for_each_op(*function.body, [&](const Op &op) {
    for (const Value *value : op.results) {
      if (!value->type.layout || !is_placed(op))
        continue;
      if (!seen.insert({value->type.layout->shape, value->type.layout->text()}).second)
        continue;
      details.places.push_back({.operation = std::string(info(op.code).name),
                                .type = text_of(value->type),
                                .line = op.location.line,
                                .element_bytes = bytes_of(value->type.elem),
                                .layout = *value->type.layout});
    }
  });
}

void add_accesses(const Function &function, const Gpu &gpu, ImageDetails &details) {
  std::set<std::tuple<int, std::string, int, bool, double>> seen;
  for_each_op(*function.body, [&](const Op &op) {
    bool loads = op.is(Opcode::shared_load_);
    if (!loads && !op.is(Opcode::shared_store_))
      return;
    SharedAccess access = shared_access(op, loads ? gpu.has_ldmatrix : gpu.has_stmatrix);
    std::string type = text_of((loads ? op.result() : op.operand(0))->type);
    if (!seen.insert({op.location.line, (loads ? "load " : "store ") + type, int(access.bytes),
                      access.by_matrix, access.conflicts})
             .second)
      return;
    details.accesses.push_back({.operation = loads ? "load" : "store",
                                .type = std::move(type),
                                .line = op.location.line,
                                .by_matrix = access.by_matrix,
                                .bytes = int(access.bytes),
                                .conflicts = access.conflicts});
  });
}

} // namespace

// The GPU allocates registers to a warp in units of 256. Since sm_80 the system reserves 1 KiB of
// shared memory per block; a block may use the rest of an SM's shared memory.
ImageDetails::Occupancy occupancy_of(const Gpu &gpu, int threads, int registers, int shared_bytes) {
  constexpr int warp = 32, unit = 8; // registers per thread
  const int system_bytes = gpu.sm >= 80 ? 1024 : 0;
  int warps = (threads + warp - 1) / warp;
  int registers_of_block = warps * warp * ((registers + unit - 1) / unit * unit);
  std::pair<int, const char *> limits[] = {
      {gpu.max_blocks_per_sm, "blocks"},
      {gpu.max_threads_per_sm / (warps * warp), "threads"},
      {gpu.registers_per_block / std::max(registers_of_block, 1), "registers"},
      {(gpu.max_shared_bytes + system_bytes) / std::max(shared_bytes + system_bytes, 1),
       "shared memory"},
  };
  auto [blocks, limit] =
      *std::min_element(std::begin(limits), std::end(limits),
                        [](const auto &a, const auto &b) { return a.first < b.first; });
  return {.blocks = blocks,
          .warps = blocks * warps,
          .max_warps = gpu.max_threads_per_sm / warp,
          .limit = limit};
}

ImageDetails details_of(const Function &function, const Gpu &gpu, const std::string &cubin,
                        int registers, int static_shared) {
  ImageDetails details;
  details.instructions = count_instructions(cubin, function.name);
  details.occupancy = occupancy_of(gpu, function.threads(), registers,
                                   function.shared_bytes_of_block() + static_shared);
  add_places(function, details);
  add_accesses(function, gpu, details);
  return details;
}

} // namespace tritonc
