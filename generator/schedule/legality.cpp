// The requirements of schedules on a matmul. See legality.h.
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/legality.h"

#include "analysis/launch_config.h"
#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "passes/fitting_stages.h"
#include "passes/select_mma.h"
#include "passes/tile_slices.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

bool is_in_loops_only(const MatmulLoop &matmul) {
  for (const Op *outer = matmul.loop->parent->parent; outer; outer = outer->parent->parent)
    if (!outer->is(Opcode::for_loop_))
      return false;
  return true;
}

bool fits_mma(const Function &fn, const Gpu &gpu) {
  constexpr int64_t max_accumulators_per_thread = 128;
  Function tried = clone(fn);
  select_mma(tried, gpu, {.kind = Schedule::Kind::warp_specialized});
  const Op &dot = *find_matmul_loop(tried).found->dot;
  DotInstruction instruction = dot_instruction(dot);
  if (!is_type_of_wgmma(dot) || !instruction.tensor_core || dot.has(attr::convert_to_))
    return false;
  const Shape &accumulator = dot.result()->type.shape;
  std::vector<int64_t> warps = dot.get(attr::warps_);
  return accumulator[0] >= warps[0] * instruction.m && accumulator[1] >= warps[1] * instruction.n &&
         accumulator[0] * accumulator[1] / (32 * tried.warps) <= max_accumulators_per_thread;
}

bool lies_along_k(const LoadedOperand &operand, const TensorAccess &access, int number) {
  return access.contiguous == operand.perm[number == 0 ? 1 : 0];
}

bool fits_registers(Elem elem) { return elem == Elem::f32; }

bool is_better_swapped(const MatmulLoop &matmul) {
  bool along_k[2];
  for (int number : {0, 1}) {
    const LoadedOperand &operand = matmul.operands[number];
    const Op &load = *operand.load;
    std::optional<TensorAccess> access =
        tensor_access(load.operand(0), load.operand_or_null(1)).access;
    along_k[number] = access && lies_along_k(operand, *access, number);
  }
  return fits_registers(matmul.dot->operand(0)->type.elem) && along_k[0] && !along_k[1];
}

bool fits_copies(const Function &fn, const LoadedOperand &operand, int number, const Gpu &gpu) {
  const Op &load = *operand.load;
  const Value *other = load.operand_or_null(2);
  std::optional<TensorAccess> access =
      tensor_access(load.operand(0), load.operand_or_null(1)).access;
  const Type &tile = load.result()->type;
  return access && (!other || is_zero(other)) && starts_at_chunks(*access, tile.elem, fn) &&
         (bytes_of(tile.elem) == 2 || lies_along_k(operand, *access, number) ||
          (number == 0 && gpu.has_wgmma && fits_registers(tile.elem))) &&
         panel_row_bytes(tile.shape, access->contiguous, bytes_of(tile.elem)) > 0;
}

bool fits_copies_by_threads(const Function &fn, const MatmulLoop &matmul, int number) {
  const Op &load = *matmul.operands[number].load;
  const Type &tile = load.result()->type;
  const Value *pointers = load.operand(0), *mask = load.operand_or_null(1);
  const Value *other = load.operand_or_null(2);
  return (pointers->type.is_view() || is_index_tile(pointers)) && bytes_of(tile.elem) == 2 &&
         (!mask || bounds_of(mask, tile.rank()) || is_index_tile(mask)) &&
         (!other || is_zero(other)) &&
         panel_row_bytes(
             tile.shape,
             panel_axis(fn, load, {matmul.dot, size_t(number), matmul.operands[number].perm}),
             bytes_of(tile.elem)) > 0;
}

bool fits_panel(const Function &fn, const MatmulLoop &matmul, int number) {
  const Op &load = *matmul.operands[number].load;
  const Type &tile = load.result()->type;
  const Value *view = load.operand(0);
  std::optional<int> along = view->type.is_view() ? contiguous_axis(view, fn) : std::nullopt;
  return along && bytes_of(tile.elem) == 2 && panel_row_bytes(tile.shape, *along, 2) > 0;
}

bool is_stored_to(Function &fn, const Value *pointers) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    if (info(op.code).effect == Effect::write)
      found |= !root_of(op.operand(0)) || root_of(op.operand(0)) == root_of(pointers);
  });
  return found;
}

bool can_be_followed(Function &fn, const Op &load) {
  std::set<const Value *> counters;
  for (const Op *loop = load.parent->parent; loop; loop = loop->parent->parent) {
    if (!loop->is(Opcode::for_loop_))
      return false;
    counters.insert(loop->blocks[0]->arguments[0]);
  }
  for (const Op *loop = load.parent->parent; loop; loop = loop->parent->parent)
    if (!can_clone(loop->operand(0), fn.body, counters))
      return false;
  return std::all_of(load.operands.begin(), load.operands.end(),
                     [&](const Value *operand) { return can_clone(operand, fn.body, counters); });
}

bool can_be_followed(Function &fn, const MatmulLoop &matmul) {
  return can_be_followed(fn, *matmul.operands[0].load) &&
         can_be_followed(fn, *matmul.operands[1].load);
}

bool is_same_in_all_programs(const MatmulLoop &matmul) {
  return !matmul.loop->parent->parent && host_expression(matmul.loop->operand(0));
}

bool can_specialize(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  const int64_t min_stages = gpu.has_wgmma ? min_stages_of_wgmma : min_stages_of_mma;
  if (!matmul || !is_in_loops_only(*matmul) ||
      !(gpu.has_wgmma ? fits_wgmma(*matmul->dot, schedule) : fits_mma(fn, gpu)) ||
      (schedule.consumer_groups > 1 && !is_same_in_all_programs(*matmul)) ||
      !can_be_followed(fn, *matmul) ||
      fitting_stages(fn, operand_loads(fn), gpu, schedule) < min_stages)
    return false;
  for (int number : {0, 1})
    if (!(schedule.producer_warps ? fits_copies_by_threads(fn, *matmul, number)
                                  : fits_copies(fn, matmul->operands[number], number, gpu)) ||
        is_stored_to(fn, matmul->operands[number].load->operand(0)))
      return false;
  return true;
}

namespace {

// Whether wgmma can multiply `dot`, from tiles that TMA loads and from an A that is computed in
// registers, but not from a load: the dot would wait for memory in each iteration. `loaded`: the
// operands that TMA loads.
bool fits_loaded_operands(const Op &dot, const Schedule &schedule,
                          const std::set<std::pair<const Op *, size_t>> &loaded) {
  const Value *left = dot.operand(0);
  const bool is_computed = left->op && left->op->parent == dot.parent && left->op->blocks.empty() &&
                           info(left->op->code).effect == Effect::pure &&
                           !left->op->is(Opcode::trans_) && bits_of(left->type.elem) == 16 &&
                           !is_computed_from_loads_only(left, dot.parent);
  return fits_wgmma(dot, schedule) && loaded.count({&dot, 1}) &&
         (loaded.count({&dot, 0}) || is_computed);
}

// Whether `op` is directly in a loop with a dot.
bool is_beside_dot(const Op &op) { return op.parent->parent && has_dot(*op.parent); }

} // namespace

bool is_computed_from_loads_only(const Value *value, const Block *block) {
  std::set<const Value *> seen;
  std::vector<const Value *> values = {value};
  bool has_load = false;
  while (!values.empty()) {
    const Op *op = values.back()->op;
    values.pop_back();
    if (!op || op->parent != block)
      continue;
    if (op->is(Opcode::dot_) || !op->blocks.empty())
      return false;
    has_load |= op->is(Opcode::load_);
    for (const Value *operand : op->operands)
      if (seen.insert(operand).second)
        values.push_back(operand);
  }
  return has_load;
}

bool can_specialize_loads(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (!gpu.has_wgmma || has_own_order(fn))
    return false;
  const std::vector<OperandLoad> loads = operand_loads(fn);
  std::set<std::pair<const Op *, size_t>> loaded;
  std::set<const Op *> by_tma;
  for (const OperandLoad &operand : loads) {
    const Op &load = *operand.load;
    by_tma.insert(&load);
    if (!can_be_followed(fn, load) || is_stored_to(fn, load.operand(0)) ||
        bytes_of(load.result()->type.elem) > 2)
      return false;
    for (const OperandUse &use : operand.uses) {
      if (!fits_copies(fn, {operand.load, use.perm}, int(use.operand), gpu))
        return false;
      loaded.insert({use.dot, use.operand});
    }
  }
  bool fits = true, has_mainloop = false;
  int64_t warpgroups = 0; // of the dots so far
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::dot_)) {
      fits &= fits_loaded_operands(op, schedule, loaded);
      // They divide the rows of each dot.
      const int64_t of_dot = warpgroups_of(op.result()->type.shape, schedule);
      fits &= !warpgroups || of_dot == warpgroups;
      warpgroups = of_dot;
      has_mainloop |= is_beside_dot(op);
      for (const Op *around = op.parent->parent; around; around = around->parent->parent)
        fits &= around->is(Opcode::for_loop_);
    }
    const Effect effect = info(op.code).effect;
    if (is_beside_dot(op) && !by_tma.count(&op)) // of the consumers; they may load anything
      fits &= effect != Effect::write && effect != Effect::io &&
              (effect != Effect::read || !is_stored_to(fn, op.operand(0)));
  });
  return fits && has_mainloop && fitting_stages(fn, loads, gpu, schedule) >= min_stages_of_wgmma;
}

namespace {

// Whether a launch may find that TMA cannot do this access: no assumption of the kernel guarantees
// that the tensor and each of its rows are aligned to 16 bytes.
bool may_lack_map(const Function &fn, const Op &access) {
  constexpr int64_t chunk_bytes = 16;
  const Value *pointers = access.operand(0);
  std::optional<TensorAccess> tensor =
      tensor_access(pointers, access.operand_or_null(access.is(Opcode::load_) ? 1 : 2)).access;
  if (!tensor)
    return false; // then the compiler makes no tensor map

  const int64_t chunk = chunk_bytes / bytes_of(pointers->type.elem); // elements
  bool aligned = divisor_of(tensor->offset, fn) % chunk == 0;
  for (size_t d = 0; d < tensor->strides.size(); d++)
    aligned &= int(d) == tensor->contiguous || divisor_of(tensor->strides[d], fn) % chunk == 0;
  for (const OuterAxis &axis : tensor->outer)
    aligned &= divisor_of(axis.stride, fn) % chunk == 0;
  for (const Parameter &parameter : fn.parameters)
    aligned &= parameter.value != tensor->base || parameter.aligned_bytes % chunk_bytes == 0;
  return !aligned;
}

} // namespace

bool has_own_order(Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) { found |= op.is_atomic() || op.is(Opcode::barrier_); });
  return found;
}

bool may_lack_maps(Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::load_) || op.is(Opcode::store_))
      found |= op.operand(0)->type.is_view() && may_lack_map(fn, op);
  });
  return found;
}

} // namespace tritonc
