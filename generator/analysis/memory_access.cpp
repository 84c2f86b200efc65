// Computes how wide a memory access may be, from its address. See memory_access.h.
//
// Tested by tests/unit/analysis/memory_access_test.cpp.

#include "analysis/memory_access.h"
#include "analysis/axis_info.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// A view is contiguous along an axis completely, or not at all.
std::optional<int> contiguous_axis(const Value *pointers, AxisInfos &infos) {
  std::optional<int> axis;
  int64_t longest = 1;
  for (int d = pointers->type.rank(); d-- > 0;) {
    int64_t contiguity = infos.of(pointers, d).contiguity;
    if (contiguity <= longest)
      continue;
    axis = d;
    longest = contiguity;
    if (pointers->type.is_view())
      break;
  }
  return axis;
}

} // namespace

std::optional<int> contiguous_axis(const Value *value, const Function &fn) {
  if (value->type.is_view() || value->type.is_pointer()) {
    AxisInfos infos(fn);
    return contiguous_axis(value, infos);
  }
  const Op *op = value->op;
  if (!op)
    return std::nullopt;
  if (op->is(Opcode::load_))
    return contiguous_axis(op->operand(0), fn);
  if (op->is(Opcode::trans_)) {
    std::optional<int> axis = contiguous_axis(op->operand(0), fn);
    std::vector<int64_t> perm = op->get(attr::perm_);
    if (!axis)
      return std::nullopt;
    return int(std::find(perm.begin(), perm.end(), *axis) - perm.begin());
  }
  bool elementwise = info(op->code).effect == Effect::pure && !op->operands.empty() &&
                     op->operand(0)->type.shape == value->type.shape;
  return elementwise && !op->is(Opcode::dot_) ? contiguous_axis(op->operand(0), fn) : std::nullopt;
}

int64_t contiguous_elements(const Value *pointers, int axis, const Function &fn) {
  return AxisInfos(fn).of(pointers, axis).contiguity;
}

const Value *root_of(const Value *pointers) {
  while (pointers->op && !pointers->op->operands.empty() && pointers->op->blocks.empty() &&
         !pointers->op->is(Opcode::select_) && !pointers->op->is(Opcode::workspace_))
    pointers = pointers->op->operand(0);
  bool is_workspace = pointers->op && pointers->op->is(Opcode::workspace_);
  return (pointers->op && !is_workspace) || pointers->block ? nullptr : pointers;
}

namespace {

bool has_no_alias(const Function &fn, const Value *root) {
  return std::any_of(fn.parameters.begin(), fn.parameters.end(), [&](const Parameter &parameter) {
    return parameter.value == root && parameter.no_alias;
  });
}

} // namespace

Overlap overlap_of(const Function &fn, const Op &a, const Op &b) {
  const Value *root = root_of(a.operand(0)), *other = root_of(b.operand(0));
  if (a.has(attr::apart_) != b.has(attr::apart_))
    return Overlap::none;
  if (!root || !other || root == other)
    return Overlap::any;
  // The map of a TMA store has the shape of a box.
  auto tile = [](const Op &op) { return op.operand(op.is(Opcode::tma_store_) ? 1 : 0)->type; };
  const Type one = tile(a), two = tile(b);
  const bool is_apart = has_no_alias(fn, root) || has_no_alias(fn, other) || one.elem != two.elem ||
                        one.shape != two.shape;
  return is_apart ? Overlap::none : Overlap::same_index;
}

const Value *mask_of(const Op &access) {
  return access.operand_or_null(access.is(Opcode::load_)         ? 1
                                : access.is(Opcode::atomic_cas_) ? 3
                                                                 : 2);
}

bool is_ragged(const Value *pointers) {
  return pointers->op && pointers->op->is(Opcode::view_) && pointers->op->has(attr::ragged_);
}

int access_elements(const Value *pointers, const Value *mask, const Function &fn) {
  if (!is_ragged(pointers))
    return vector_elements(pointers, mask, fn);
  const int64_t contiguous = contiguous_elements(pointers, *contiguous_axis(pointers, fn), fn);
  return int(std::min(contiguous, widest_access_bytes / bytes_of(pointers->type.elem)));
}

int vector_elements(const Value *pointers, const Value *mask, const Function &fn) {
  AxisInfos infos(fn);
  std::optional<int> axis = contiguous_axis(pointers, infos);
  if (!axis)
    return 1;
  AxisInfo info = infos.of(pointers, *axis);
  int64_t width = std::min(info.contiguity, std::min(info.divisibility, widest_access_bytes) /
                                                bytes_of(pointers->type.elem));
  if (mask)
    width = std::min(width, infos.of(mask, *axis).constancy);
  return int(width);
}

bool DiffersByProgram::operator()(const Value *value) {
  const Op *op = value->op;
  if (!op)
    return false;
  auto [found, is_new] =
      known_.try_emplace(value, op->is(Opcode::program_id_) || op->is(Opcode::block_id_));
  if (is_new && !found->second)
    found->second = std::any_of(op->operands.begin(), op->operands.end(),
                                [&](const Value *operand) { return (*this)(operand); });
  return found->second;
}

bool is_unordered_load(const Op &op) {
  return op.is(Opcode::load_) && op.get(attr::cache_) != "cv";
}

bool DiffersByProgram::is_cached(const Op &load) {
  return load.has(attr::cached_) || !(*this)(load.operand(0));
}

} // namespace tritonc
