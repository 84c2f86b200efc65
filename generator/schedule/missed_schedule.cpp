// Why a kernel has no warp-specialized schedule with TMA. See missed_schedule.h.
//
// Method: checks the requirements of warp-specialized schedules (legality.h), the most useful
// reason for the user first. The tile is the last reason, if no schedule exists and all other
// requirements hold: it depends on all tiles that candidate_schedules tries.
//
// Tested by tests/unit/schedule/missed_schedule_test.cpp and tests/unit/tool/explain_test.cpp.

#include "schedule/missed_schedule.h"

#include "analysis/affine.h"
#include "analysis/matmul_loop.h"
#include "analysis/memory_access.h"
#include "ir/checks.h"
#include "passes/fitting_stages.h"
#include "passes/pipeline.h"
#include "passes/select_mma.h"
#include "schedule/candidates.h"
#include "schedule/legality.h"
#include "schedule/warp_specialized.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

MissedSchedule missed_of(NoMatmulLoop why) {
  switch (why) {
  case NoMatmulLoop::several_dots:
    return {RejectReason::several_matmuls};
  case NoMatmulLoop::not_loaded:
    return {RejectReason::not_loaded};
  default:
    return {RejectReason::no_matmul};
  }
}

// The reason why TMA cannot load an operand, if any.
std::optional<MissedSchedule> missed_of(Function &fn, const Op &load) {
  TensorAccessResult access = tensor_access(load.operand(0), load.operand_or_null(1));
  const Value *root = root_of(load.operand(0));
  std::string name = root ? root->name : "";
  if (!access.access)
    return MissedSchedule{RejectReason::access, name, access.why};
  if (!starts_at_chunks(*access.access, load.result()->type.elem, fn))
    return MissedSchedule{RejectReason::access, name, NoTensor::strange_offset};
  if (is_stored_to(fn, load.operand(0)))
    return MissedSchedule{RejectReason::stored_to, name};
  return std::nullopt;
}

// The reason not_along_k, if too few operands are contiguous along K: wgmma loads a tf32 A from
// registers, all other operands without 16-bit elements must be contiguous.
std::optional<MissedSchedule> not_along_k(const MatmulLoop &matmul, const Gpu &gpu) {
  int along_k = 0;
  const Value *root = nullptr; // of the last operand that is not contiguous along K
  for (int number : {0, 1}) {
    const LoadedOperand &operand = matmul.operands[number];
    const Op &load = *operand.load;
    TensorAccess access = *tensor_access(load.operand(0), load.operand_or_null(1)).access;
    if (bytes_of(load.result()->type.elem) == 2 || lies_along_k(operand, access, number))
      along_k++;
    else
      root = root_of(load.operand(0));
  }
  Elem elem = matmul.dot->operand(0)->type.elem;
  if (along_k == 2 || (along_k == 1 && gpu.has_wgmma && fits_registers(elem)))
    return std::nullopt;
  return MissedSchedule{RejectReason::not_along_k, root ? root->name : ""};
}

// The reason why loops with other dots than those of a matmul have no producer thread.
MissedSchedule missed_of_loops(Function &fn, const Gpu &gpu, NoMatmulLoop why) {
  std::vector<const Op *> dots; // in loops
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::dot_) && op.parent->parent)
      dots.push_back(&op);
  });
  if (!gpu.has_wgmma || dots.empty())
    return missed_of(why);
  if (has_own_order(fn))
    return {RejectReason::own_order};
  const std::vector<OperandLoad> loads = operand_loads(fn);
  for (const Op *dot : dots) {
    if (!is_type_of_wgmma(*dot))
      return {RejectReason::type};
    auto is_loaded = [&](size_t operand) {
      return std::any_of(loads.begin(), loads.end(), [&](const OperandLoad &load) {
        return std::any_of(load.uses.begin(), load.uses.end(), [&](const OperandUse &use) {
          return use.dot == dot && use.operand == operand;
        });
      });
    };
    if (!is_loaded(1) ||
        (!is_loaded(0) && is_computed_from_loads_only(dot->operand(0), dot->parent)))
      return {RejectReason::not_loaded};
  }
  for (const OperandLoad &load : loads) {
    if (std::optional<MissedSchedule> found = missed_of(fn, *load.load))
      return *found;
    if (!can_be_followed(fn, *load.load))
      return {RejectReason::computed};
  }
  if (fitting_stages(fn, loads, gpu, {.kind = Schedule::Kind::warp_specialized}) <
      min_stages_of_wgmma)
    return {RejectReason::shared_memory};
  bool stores = false;
  for (const Op *dot : dots)
    for (const Op *op : dot->parent->ops)
      stores |= info(op->code).effect == Effect::write || info(op->code).effect == Effect::io ||
                !dot->parent->parent->is(Opcode::for_loop_);
  return {stores ? RejectReason::stores : RejectReason::unlike};
}

bool is_specialized(const Candidate &candidate) { return candidate.schedule.is_warp_specialized(); }

} // namespace

std::optional<MissedSchedule> find_missed_schedule(const Function &source, const Gpu &gpu) {
  if (has_checks(source))
    return MissedSchedule{RejectReason::checks};
  if (!gpu.has_tensor_maps)
    return MissedSchedule{RejectReason::gpu};
  Function fn = canonical_form(source);
  MatmulLoopResult matmul = find_matmul_loop(fn);
  if (!matmul.found) {
    if (specialized_loads_schedule(fn, gpu))
      return std::nullopt;
    return missed_of_loops(fn, gpu, matmul.why);
  }
  if (!is_in_loops_only(*matmul.found))
    return MissedSchedule{RejectReason::loops};
  if (has_own_order(fn))
    return MissedSchedule{RejectReason::own_order};
  const Op &dot = *matmul.found->dot;
  if (!is_type_of_wgmma(dot))
    return MissedSchedule{RejectReason::type};
  for (int number : {0, 1})
    if (std::optional<MissedSchedule> found = missed_of(fn, *matmul.found->operands[number].load))
      return found;
  if (std::optional<MissedSchedule> found = not_along_k(*matmul.found, gpu))
    return found;
  std::vector<Candidate> candidates = candidate_schedules(fn, gpu);
  if (std::any_of(candidates.begin(), candidates.end(), is_specialized))
    return std::nullopt;
  if (!can_be_followed(fn, *matmul.found))
    return MissedSchedule{RejectReason::computed};
  if (fitting_stages(fn, operand_loads(fn), gpu, {}) < min_stages_of_wgmma)
    return MissedSchedule{RejectReason::shared_memory};
  return MissedSchedule{RejectReason::tile};
}

std::vector<std::pair<std::string, int64_t>> undeclared_multiples(const Function &source) {
  constexpr int64_t chunk = 16;
  Function fn = canonical_form(source);
  std::vector<std::pair<std::string, int64_t>> found;
  for_each_op(*fn.body, [&](const Op &op) {
    bool accesses = op.is(Opcode::load_) || op.is(Opcode::store_);
    if (!accesses || op.operand(0)->type.is_scalar())
      return;
    int64_t multiple = chunk / bytes_of(op.operand(0)->type.elem);
    std::optional<Affine> form = affine_of(op.operand(0));
    std::vector<Poly> strides = form ? form->strides : std::vector<Poly>();
    const size_t mask = op.is(Opcode::load_) ? 1 : 2;
    if (auto tensor = tensor_access(op.operand(0), op.operand_or_null(mask)).access)
      for (const OuterAxis &axis : tensor->outer)
        strides.push_back(axis.stride);
    for (const Poly &stride : strides)
      for (const auto &[monomial, coefficient] : stride.terms)
        if (monomial.size() == 1 && coefficient == 1 && divisor_of(stride, fn) % multiple != 0) {
          std::pair<std::string, int64_t> entry{monomial[0]->name, multiple};
          if (std::find(found.begin(), found.end(), entry) == found.end())
            found.push_back(entry);
        }
  });
  return found;
}

} // namespace tritonc
