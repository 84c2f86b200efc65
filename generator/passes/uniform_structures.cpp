// Structures in which all warps of a block do the same. See uniform_structures.h.
//
// Method: as for the specialised ones, tried on a clone, by the passes up to pipeline_loops.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/uniform_structures.h"

#include "analysis/layouts.h"
#include "passes/bundle_programs.h"
#include "passes/choose_dots.h"
#include "passes/load_ahead.h"
#include "passes/narrow_steps.h"
#include "passes/pipeline_loops.h"
#include "passes/remove_dead_code.h"
#include "passes/stage_operands.h"
#include "passes/structure_demands.h"
#include "passes/widen_steps.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Whether everything that the product loads goes to shared memory by cp.async, in a ring of three
// slots at least, and is multiplied by tensor cores: through registers it would be too much.
bool fits_ring(Function &fn, const Gpu &gpu, const Structure &structure) {
  constexpr int64_t least_slots = 3;
  choose_dots(fn, gpu, structure);
  stage_operands(fn);
  remove_dead_code(fn);
  pipeline_loops(fn, gpu, structure);
  bool fits = true;
  for_each_op(*fn.body, [&](const Op &op) {
    fits &= !op.is(Opcode::load_) || op.operand(0)->type.is_scalar();
    if (op.is(Opcode::dot_))
      fits &= structure.together || dot_instruction(op).tensor_core;
    if (op.is(Opcode::shared_alloc_))
      fits &= op.result()->type.shape[0] >= least_slots;
  });
  return fits;
}

// `setting`'s function with steps and bundles as `structure` says; nothing if it can't have them.
std::optional<Function> with_tile(const ProductSetting &setting, const Structure &structure) {
  Function tried = clone(setting.fn);
  narrow_steps(tried, structure);
  widen_steps(tried, structure);
  if (!structure.bundle.empty() && !try_bundling(tried, structure.bundle))
    return std::nullopt;
  remove_dead_code(tried);
  return tried;
}

// Whether all copies are as wide as those that together_tile and cost_of_alone were measured with.
bool copies_whole_chunks(Function &fn) {
  constexpr int64_t chunk_bytes = 16;
  bool found = true;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::async_copy_))
      found &= op.integer("vector") * bytes_of(op.operand(1)->type.elem) == chunk_bytes;
  });
  return found;
}

bool is_one_program(const std::vector<int64_t> &bundle) {
  return std::all_of(bundle.begin(), bundle.end(), [](int64_t times) { return times == 1; });
}

} // namespace

std::optional<Structure> bundled_structure(const ProductSetting &setting, const Problem &problem,
                                           const Gpu &gpu) {
  // As measured, programs by themselves are as fast with bytes, and up to 6 % faster with tf32.
  constexpr int64_t bytes = 2;
  std::optional<std::vector<int64_t>> bundle = bundle_of(setting, bundled_tile.tile);
  if (!bundle || is_one_program(*bundle) || problem.bytes != bytes)
    return std::nullopt;
  int64_t longest = setting.row_of_k.value_or(0);
  for (int64_t step : {longest, longest / 2}) {
    Structure structure{.alone = true, .bundle = *bundle, .step = step};
    structure.cost = cost_of(structure, bundled_tile, problem);
    std::optional<Function> tried = with_tile(setting, structure);
    if (!tried)
      return std::nullopt;
    structure.name = name_of_tile(bundled_tile.tile, *tried);
    if (fits_ring(*tried, gpu, structure))
      return structure;
  }
  return std::nullopt;
}

std::optional<Structure> together_structure(const ProductSetting &setting, const Problem &problem,
                                            const Gpu &gpu) {
  const Tile &tile = together_tile.tile;
  std::optional<std::vector<int64_t>> bundle = bundle_of(setting, tile);
  if (!bundle || !setting.row_of_k || problem.bytes != 2)
    return std::nullopt;
  Structure structure{.together = true, .bundle = *bundle, .step = *setting.row_of_k * tile.k_rows};
  structure.cost = cost_of(structure, together_tile, problem);
  std::optional<Function> tried = with_tile(setting, structure);
  if (!tried)
    return std::nullopt;
  ProductLoop product = *find_product_loop(*tried).found;
  structure.name = name_of_tile(tile, *tried) + " together";
  if (!fits_wgmma(*product.dot) || !fits_panel(product, 0) || !fits_panel(product, 1) ||
      !fits_ring(*tried, gpu, structure) || !copies_whole_chunks(*tried))
    return std::nullopt;
  return structure;
}

std::optional<Structure> alone_structure(const ProductSetting &setting, const Problem &problem,
                                         const Gpu &gpu) {
  constexpr int64_t rows_of_step = 2, rows_of_wgmma = 64;
  const Shape &sum = setting.sum();
  if (!setting.row_of_k || problem.bytes != 2 || sum[0] >= rows_of_wgmma)
    return std::nullopt;
  Structure structure{.alone = true, .step = *setting.row_of_k * rows_of_step};
  structure.cost = cost_of_alone(sum, structure.step, problem);
  Function tried = *with_tile(setting, structure);
  structure.name = name_of_tile({sum[0], sum[1], rows_of_step}, tried) + " alone";
  if (!fits_ring(tried, gpu, structure) || !copies_whole_chunks(tried))
    return std::nullopt;
  return structure;
}

namespace {

// Products without tensor cores repeat a step in the text for each of its columns. With more than
// so many instructions a loop waits for the instruction cache: on an H200 (driver 580.159.04, f32,
// 2026-11-22) 4 % of the time with twice as many. Nobody knows how it is without cp.async.
int64_t step_without_tensor_cores(const ProductSetting &setting, const Op &dot, const Gpu &gpu,
                                  int warps) {
  constexpr int64_t most_instructions = 1024, least_columns = 8;
  int64_t sums = std::max<int64_t>(dot.result()->type.elements() / (32 * warps), 1);
  int64_t columns = std::max(most_instructions / sums, least_columns);
  bool is_long = dot.operand(0)->type.shape[1] > columns;
  return is_long && gpu.has_cp_async && setting.row_of_k ? columns : 0;
}

// Whether two programs have room on a multiprocessor for what they keep in shared memory.
bool has_room_for_two(Function &fn, const Gpu &gpu, const Structure &structure) {
  choose_dots(fn, gpu, structure);
  stage_operands(fn);
  remove_dead_code(fn);
  pipeline_loops(fn, gpu, structure);
  load_ahead(fn, gpu);
  int64_t bytes = 0;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::shared_alloc_))
      bytes += op.result()->type.elements() * bytes_of(op.result()->type.elem);
  });
  return 2 * bytes <= gpu.max_shared_bytes;
}

// Steps so short that two programs have room: one alone has nobody to hide its latencies. Rows of
// less than 64 bytes are not worth it. As measured on an H200 (driver 580.159.04, f16, 2026-11-22)
// with as much shared memory as an sm_86 has, 128 x 128 sums of a program: 275 TFLOP/s in steps of
// 64, 422 in steps of 32.
int64_t step_for_two(const ProductSetting &setting, const Op &dot, const Gpu &gpu) {
  constexpr int64_t least_row = 64;
  const Type &factor = dot.operand(0)->type;
  for (int64_t step = factor.shape[1]; step * bytes_of(factor.elem) >= least_row; step /= 2) {
    Structure structure{.step = step};
    Function tried = *with_tile(setting, structure);
    if (has_room_for_two(tried, gpu, structure))
      return step == factor.shape[1] ? 0 : step;
  }
  return 0;
}

} // namespace

Structure plain_structure(const ProductSetting &setting, const std::optional<Problem> &problem,
                          const Gpu &gpu) {
  Function tried = clone(setting.fn);
  choose_dots(tried, gpu);
  const Op &dot = *find_product_loop(tried).found->dot;
  if (!dot_instruction(dot).tensor_core)
    return {.step = step_without_tensor_cores(setting, dot, gpu, tried.warps)};
  Structure structure;
  if (setting.row_of_k)
    structure.step = step_for_two(setting, dot, gpu);
  if (problem && problem->bytes <= 4)
    structure.cost = cost_of_unbundled(
        setting.sum(), structure.step ? structure.step : dot.operand(0)->type.shape[1], *problem);
  return structure;
}

} // namespace tritonc
