// select_mma: chooses the instruction of every dot, its division among warps, and their number.
//
//     %d = dot %a, %b, %c : f32[128,128]
//     =>
//     %d = dot %a, %b, %c {instruction = "m16n8k16", warps = [4,2]} : f32[128,128]
//
// Shared memory bandwidth limits matmuls. A warp with an m x n part of the tile reads m + n vectors
// of the operands for m * n results. So fewer warps with larger, nearly square parts are better
// than more warps.
//
// Method:  Instruction: tensor cores, where the GPU has an instruction for the element type and the
//          tile is a multiple of its shape:
//
//            f16, bf16, e4m3, e5m2    accumulate in f32
//            f32                      as tf32, if the kernel asks for it
//            i8                       accumulates in i32
//            f64                      accumulates in f64
//
//          Where the GPU or the tile has no instruction for e4m3 or e5m2, {convert_to} makes them
//          f16 first, which is exact. All other dots use "fma": each thread multiplies and adds,
//          exactly.
//
//          Warps: so many that a thread has at most 128 registers of accumulators; more only if 16
//          warps are too few. With the fragments of the operands, this stays below 255 registers
//          per thread, and two programs of 128 x 128 fit on an SM. The limit is 64 for fma on GPUs
//          without cp.async: there the operands pass through registers, and an fma holds more of
//          them at a time than a tensor core instruction.
//
//          {thread_tile}: how many adjacent elements along M and N a thread has with fma. It is 4
//          where the operand can be contiguous in that direction in shared memory, so that a thread
//          reads it 16 bytes at a time. It can if it is contiguous in global memory, or if cp.async
//          can transpose it, element by element.
//
//          Warp-specialized schedules: consumer warpgroups multiply by wgmma, and the schedule says
//          how many producer warps there are. In the multistage wgmma schedule there are no
//          producer warps. Where the GPU has no wgmma, mma warps multiply beside one producer warp.
//          Then adjacent warps take the columns of one instruction each, in turn ({interleaved}):
//          so each has a part of every piece that the epilogue stores.
//
//          A kernel may have several dots. Then the dot with the most rows decides how many
//          warpgroups there are. They divide the rows of every dot, and its columns where the dot
//          has too few rows. All warps multiply by mma where wgmma cannot.
// Needs:   form_views, to know the order of operands in memory.
// Ensures: every dot has {instruction} and either {warps} or {warpgroups}; fma: {thread_tile};
//          {convert_to} if the element type of its operands changes. fn.warps is set.
// Limits:  without a dot only fn.warps changes: the largest tile that is loaded or stored decides.
//          Does not check that wgmma can multiply the tile: candidate_schedules does.
//
// Tested by tests/unit/passes/select_mma/ and select_mma_test.cpp.

#include "passes/select_mma.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int max_warps = 16;

// For f64, which accumulates in f64.
std::string instruction_for_doubles(const Op &dot, const Gpu &gpu) {
  int64_t rows = dot.result()->type.shape[0], depth = dot.operand(0)->type.shape[1];
  if (gpu.has_mma_f64_m16 && rows % 16 == 0 && depth % 4 == 0)
    return depth % 8 == 0 ? "m16n8k8" : "m16n8k4";
  return gpu.has_mma_f64 && rows % 8 == 0 && depth % 4 == 0 ? "m8n8k4" : "fma";
}

// For i8, which accumulates in i32.
std::string instruction_for_bytes(const Op &dot, const Gpu &gpu) {
  int64_t rows = dot.result()->type.shape[0], depth = dot.operand(0)->type.shape[1];
  if (gpu.has_mma_i8_m16 && rows % 16 == 0 && depth % 16 == 0)
    return depth % 32 == 0 ? "m16n8k32" : "m16n8k16";
  return gpu.has_mma_i8 && rows % 8 == 0 && depth % 16 == 0 ? "m8n8k16" : "fma";
}

// The instruction for `dot`; "fma" if no tensor core instruction fits.
std::string instruction_for(const Op &dot, const Gpu &gpu) {
  const Shape &a = dot.operand(0)->type.shape, &c = dot.result()->type.shape;
  Elem from = dot.operand(0)->type.elem, to = dot.result()->type.elem;
  if (c[1] % 8 != 0)
    return "fma";
  if (from == Elem::f64 && to == Elem::f64)
    return instruction_for_doubles(dot, gpu);
  if (from == Elem::i8 && to == Elem::i32)
    return instruction_for_bytes(dot, gpu);
  if (c[0] % 16 != 0 || to != Elem::f32)
    return "fma";
  bool small = from == Elem::e4m3 || from == Elem::e5m2;
  if (small && gpu.has_fp8 && a[1] % 32 == 0)
    return "m16n8k32";
  bool half = from == Elem::f16 || small, brain = from == Elem::bf16;
  bool k16 = (half && gpu.has_mma_f16_k16) || (brain && gpu.has_mma_bf16);
  bool k8 = (half && gpu.has_mma_f16_k8) || (brain && gpu.has_mma_bf16);
  if (k16 && a[1] % 16 == 0)
    return "m16n8k16";
  if (k8 && a[1] % 8 == 0)
    return "m16n8k8";
  if (from == Elem::f32 && dot.get(attr::precision_) == "tf32" && gpu.has_mma_tf32 && a[1] % 4 == 0)
    return a[1] % 8 == 0 ? "m16n8k8" : "m16n8k4";
  return "fma";
}

int warps_for_dot(const Op &dot, const Gpu &gpu) {
  int64_t results = dot.result()->type.elements();
  int64_t registers = results * std::max(bits_of(dot.result()->type.elem), 32) / 32;
  bool is_roomy = gpu.has_cp_async || instruction_for(dot, gpu) != "fma";
  int64_t max_value = is_roomy ? 128 : 64; // registers per thread
  if (results <= 1024)
    return 2;
  int warps = 4;
  while (warps < max_warps && registers / (32 * warps) > max_value)
    warps *= 2;
  return warps;
}

// Whether an access is part of a copy: a load whose elements are only stored, or their store.
bool is_copied(const Op &access, const Users &users) {
  auto moves = [](const Op &op) { return op.is(Opcode::trans_) || op.is(Opcode::store_); };
  if (access.is(Opcode::load_)) {
    std::vector<const Value *> values = {access.result()};
    for (size_t i = 0; i < values.size(); i++)
      for (const Op *user : users.of(values[i])) {
        if (!moves(*user) || user->operand(user->is(Opcode::store_) ? 1 : 0) != values[i])
          return false;
        if (user->is(Opcode::trans_))
          values.push_back(user->result());
      }
    return true;
  }
  if (!access.is(Opcode::store_))
    return false;
  const Value *value = access.operand(1);
  while (value->op && value->op->is(Opcode::trans_))
    value = value->op->operand(0);
  return value->op && value->op->is(Opcode::load_);
}

// The registers that hold the tile of a memory access. Only a copy keeps several elements in one.
int64_t registers_of(const Op &access, const Function &fn, const Users &users) {
  constexpr int register_bytes = 4;
  const Value *pointers = access.operand(0);
  const int64_t elements = pointers->type.elements();
  if (!is_copied(access, users))
    return elements;
  const int packed = std::min(access_elements(pointers, mask_of(access), fn),
                              std::max(1, register_bytes / bytes_of(pointers->type.elem)));
  return elements / packed;
}

// The number of warps for the largest tile. If there are dots, only they count.
int warps_for(Function &fn, const Gpu &gpu) {
  int for_dots = 0, for_tiles = 1;
  const Users users(*fn.body);
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      for_dots = std::max(for_dots, warps_for_dot(op, gpu));
    bool memory = op.is(Opcode::load_) || op.is(Opcode::async_copy_) || op.is(Opcode::store_) ||
                  op.is_atomic();
    if (memory && op.operand(0)->type.is_tile())
      for_tiles = std::max(for_tiles, warps_for_tile(registers_of(op, fn, users)));
  });
  return for_dots ? for_dots : for_tiles;
}

// Divides the tile among `warps`, the longer side first, until a part is one instruction.
std::vector<int64_t> divide(const Shape &tile, int warps, const DotInstruction &instruction) {
  int64_t min_m = instruction.tensor_core ? instruction.m : 4;
  int64_t min_n = instruction.tensor_core ? instruction.n : 8;
  int64_t m = 1, n = 1;
  while (m * n < warps) {
    bool can_m = tile[0] / m >= 2 * min_m, can_n = tile[1] / n >= 2 * min_n;
    bool prefer_m = tile[0] / m >= tile[1] / n;
    if ((can_m && prefer_m) || !can_n)
      m *= 2;
    else
      n *= 2;
  }
  return {m, n};
}

int64_t neighbors(const Function &fn, const Op &dot, int operand, const Gpu &gpu) {
  constexpr int min_copy_bytes = 4; // of cp.async
  const Type &type = dot.operand(operand)->type;
  bool can_lie = contiguous_axis(dot.operand(operand), fn) == operand ||
                 (gpu.has_cp_async && bytes_of(type.elem) == min_copy_bytes);
  return can_lie ? std::min<int64_t>(4, type.shape[size_t(operand)]) : 1;
}

// Chooses mma or fma, and divides the dot among all warps.
void multiply_by_warps(const Function &fn, Op &op, const Gpu &gpu, const Schedule &schedule) {
  op.set(attr::instruction_, instruction_for(op, gpu));
  DotInstruction instruction = dot_instruction(op);
  Elem from = op.operand(0)->type.elem;
  bool is_small = is_float(from) && bits_of(from) == 8;
  if (is_small && instruction.tensor_core && instruction.k < 32)
    op.set(attr::convert_to_, std::string(name_of(Elem::f16)));
  op.set(attr::warps_, divide(op.result()->type.shape, fn.warps, instruction));
  if (schedule.is_warp_specialized())
    op.set(attr::interleaved_);
  if (!instruction.tensor_core)
    op.set(attr::thread_tile_,
           std::vector<int64_t>{neighbors(fn, op, 0, gpu), neighbors(fn, op, 1, gpu)});
}

// The number of warpgroups along the rows and along the columns of a dot; empty: wgmma cannot
// multiply it. For warp-specialized schedules candidate_schedules has looked. In the other schedules
// threads copy, and wgmma reads only 16-bit elements in any order.
std::vector<int64_t> division_among(int64_t groups, const Op &dot, const Schedule &schedule) {
  constexpr int64_t rows_of_instruction = 64, columns_of_panel = 64;
  const Shape &accumulator = dot.result()->type.shape;
  if (schedule.is_warp_specialized())
    return {groups, 1};
  if (!fits_wgmma(dot, schedule) || bits_of(dot.operand(0)->type.elem) != 16)
    return {};
  int64_t rows = std::min(groups, accumulator[0] / rows_of_instruction), columns = groups / rows;
  bool fits = columns == 1 || accumulator[1] / columns >= columns_of_panel;
  return fits ? std::vector<int64_t>{rows, columns} : std::vector<int64_t>();
}

// Divides dots among warpgroups: two if there are enough rows. With ping-pong it is one, since each
// consumer group has its own output tile. Sets the number of producer warps.
void multiply_by_warpgroups(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  constexpr int warps_of_a_group = 4;
  int64_t groups = 1;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_) && !division_among(1, op, schedule).empty())
      groups = std::max(groups, warpgroups_of(op.result()->type.shape, schedule));
  });
  fn.warps = int(groups) * warps_of_a_group;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    std::vector<int64_t> division = division_among(groups, op, schedule);
    if (division.empty())
      return multiply_by_warps(fn, op, gpu, schedule);
    op.set(attr::instruction_, "wgmma");
    op.set(attr::warpgroups_, division);
  });
}

} // namespace

int warps_for_tile(int64_t registers) {
  constexpr int max_of_thread = 32; // several tiles of this size may be live at once
  int warps = 1;
  while ((warps < 4 && registers / (32 * warps) > 4) ||
         (warps < max_warps && registers / (32 * warps) > max_of_thread))
    warps *= 2;
  return warps;
}

int64_t warpgroups_of(const Shape &accumulator, const Schedule &schedule) {
  return schedule.consumer_groups == 1 && accumulator[0] >= 128 ? 2 : 1;
}

bool is_type_of_wgmma(const Op &dot) {
  Elem from = dot.operand(0)->type.elem, to = dot.result()->type.elem;
  if (from == Elem::i8)
    return to == Elem::i32;
  bool is_tf32 = from == Elem::f32 && dot.get(attr::precision_) == "tf32";
  bool is_narrow = is_float(from) && bits_of(from) <= 16;
  return (is_narrow || is_tf32) && to == Elem::f32;
}

bool fits_wgmma(const Op &dot, const Schedule &schedule) {
  constexpr int64_t max_accumulators_per_thread =
      128; // wgmma of a warpgroup needs 26 more registers
  Elem from = dot.operand(0)->type.elem;
  const Shape &a = dot.operand(0)->type.shape, &accumulator = dot.result()->type.shape;
  int64_t groups = warpgroups_of(accumulator, schedule), bytes_along_k = a[1] * bytes_of(from);
  return is_type_of_wgmma(dot) && accumulator[0] % 64 == 0 && accumulator[1] >= 16 &&
         accumulator[1] <= 256 && bytes_along_k >= 32 &&
         accumulator[0] * accumulator[1] / (128 * groups) <= max_accumulators_per_thread;
}

void select_mma(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (schedule.kind == Schedule::Kind::multistage_wgmma ||
      (schedule.is_warp_specialized() && gpu.has_wgmma))
    return multiply_by_warpgroups(fn, gpu, schedule);
  fn.warps = fn.programs_of_block() > 1 ? 1 : warps_for(fn, gpu);
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      multiply_by_warps(fn, op, gpu, schedule);
  });
}

} // namespace tritonc
