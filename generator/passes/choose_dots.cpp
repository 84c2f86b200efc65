// choose_dots: choose the instruction of every dot, how warps share it, and the number of warps.
//
//     %d = dot %a, %b, %c {instruction = "m16n8k16", warps = [4,2]} : f32[128,128]
//
// Tensor cores are used where the GPU has an instruction for the element type and the tile is a
// multiple of its shape: f16 and bf16 into f32, f32 if the kernel asked for tf32, i8 into i32, f64,
// and e4m3 and e5m2 into f32. Where the GPU, or the tile, is none for these, they become f16 first,
// which is exact: {as}. Everything else is multiplied and added thread by thread ("fma"), exactly.
//
// Warps. A program gets enough warps that a thread holds at most 128 registers of accumulators
// (more only where even 16 warps are too few): with the operands' fragments this stays clear of the
// 255 registers of a thread, and two programs of 128 x 128 fit one multiprocessor. It is 64 for fma
// where the GPU has no cp.async: there operands pass through registers, and rows of them at a time
// are in others, where tensor cores take one instruction's. The
// warps divide the tile so that each one's part is as square as possible, because a warp reads m +
// n columns of the operands for m * n results: shared memory is what limits products, so fewer
// warps with larger parts are better than more.
//
// {vector} says how many neighbours along m and n an fma thread owns: 4 where the operand can lie
// in that direction in shared memory, so that it is read in 16 bytes. It can if it does in memory,
// or if cp.async can transpose it, element by element.
//
// In a specialised structure warpgroups multiply ("wgmma"), and as many more copy as it says. In
// one where all do both together there are none besides. Where the GPU has no wgmma, warps multiply
// as ever beside one that copies; and their columns are dealt out to them, those of an instruction
// at a time, so that each has some of every piece that is stored ({dealt}).
//
// Needs:   form_views, to see how operands lie in memory.
// Ensures: every dot has {instruction}, {warps} and, for fma, {vector}, or {warpgroups}, and {as}
//          if its factors become another type; fn.warps is set, and with wgmma fn.teams.
//
// Tested by tests/passes/choose_dots_test.cpp.

#include "passes/choose_dots.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int max_warps = 16;

// Of doubles, whose sums are doubles.
std::string instruction_for_doubles(const Op &dot, const Gpu &gpu) {
  int64_t rows = dot.result()->type.shape[0], depth = dot.operand(0)->type.shape[1];
  if (gpu.has_mma_f64_m16 && rows % 16 == 0 && depth % 4 == 0)
    return depth % 8 == 0 ? "m16n8k8" : "m16n8k4";
  return gpu.has_mma_f64 && rows % 8 == 0 && depth % 4 == 0 ? "m8n8k4" : "fma";
}

// Of bytes, whose sums are i32.
std::string instruction_for_bytes(const Op &dot, const Gpu &gpu) {
  int64_t rows = dot.result()->type.shape[0], depth = dot.operand(0)->type.shape[1];
  if (gpu.has_mma_i8_m16 && rows % 16 == 0 && depth % 16 == 0)
    return depth % 32 == 0 ? "m16n8k32" : "m16n8k16";
  return gpu.has_mma_i8 && rows % 8 == 0 && depth % 16 == 0 ? "m8n8k16" : "fma";
}

// The instruction for `dot`, "fma" if no tensor core fits.
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
  if (from == Elem::f32 && dot.text("precision") == "tf32" && gpu.has_mma_tf32 && a[1] % 4 == 0)
    return a[1] % 8 == 0 ? "m16n8k8" : "m16n8k4";
  return "fma";
}

int warps_for_dot(const Op &dot, const Gpu &gpu) {
  int64_t results = dot.result()->type.elements();
  int64_t registers = results * std::max(bits_of(dot.result()->type.elem), 32) / 32;
  bool is_roomy = gpu.has_cp_async || instruction_for(dot, gpu) != "fma";
  int64_t most = is_roomy ? 128 : 64; // of a thread
  if (results <= 1024)
    return 2;
  int warps = 4;
  while (warps < max_warps && registers / (32 * warps) > most && results > 8192)
    warps *= 2;
  return warps;
}

int warps_for_tile(int64_t elements) {
  constexpr int most_of_thread = 32; // elements, as several tiles of this size may be there at once
  int warps = 1;
  while ((warps < 4 && elements / (32 * warps) > 4) ||
         (warps < max_warps && elements / (32 * warps) > most_of_thread))
    warps *= 2;
  return warps;
}

// The number of warps that the largest tile asks for; dots count before everything else.
int warps_for(Function &fn, const Gpu &gpu) {
  int for_dots = 0, for_tiles = 1;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      for_dots = std::max(for_dots, warps_for_dot(op, gpu));
    bool memory = op.is(Opcode::load_) || op.is(Opcode::store_) || op.is_atomic();
    if (memory && op.operand(0)->type.is_tile())
      for_tiles = std::max(for_tiles, warps_for_tile(op.operand(0)->type.elements()));
  });
  return for_dots ? for_dots : for_tiles;
}

// Divides the tile between `warps`, the longer side first, until a part is one instruction.
std::vector<int64_t> divide(const Shape &tile, int warps, const DotInstruction &instruction) {
  int64_t least_m = instruction.tensor_core ? instruction.m : 4;
  int64_t least_n = instruction.tensor_core ? instruction.n : 8;
  int64_t m = 1, n = 1;
  while (m * n < warps) {
    bool can_m = tile[0] / m >= 2 * least_m, can_n = tile[1] / n >= 2 * least_n;
    bool prefer_m = tile[0] / m >= tile[1] / n;
    if ((can_m && prefer_m) || !can_n)
      m *= 2;
    else
      n *= 2;
  }
  return {m, n};
}

// Two warpgroups multiply, one above the other, where there are rows for them, or each by itself if
// they are teams; behind them comes the one that copies, if they don't.
void multiply_by_warpgroups(Function &fn, const Structure &structure) {
  constexpr int warps_of_a_group = 4;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    int64_t groups = warpgroups_of(op.result()->type.shape, structure);
    op.set("instruction", "wgmma");
    op.set("warpgroups", std::vector<int64_t>{groups, 1});
    fn.warps = int(groups) * warps_of_a_group;
  });
  fn.teams = structure.teams;
  if (structure.specialized)
    fn.helper_warps = structure.copying_warps ? structure.copying_warps : warps_of_a_group;
}

int64_t neighbours(const Op &dot, int operand, const Gpu &gpu) {
  constexpr int least_copy_bytes = 4; // of cp.async
  const Type &type = dot.operand(operand)->type;
  bool can_lie = contiguous_axis(dot.operand(operand)) == operand ||
                 (gpu.has_cp_async && bytes_of(type.elem) == least_copy_bytes);
  return can_lie ? std::min<int64_t>(4, type.shape[size_t(operand)]) : 1;
}

} // namespace

int64_t warpgroups_of(const Shape &sum, const Structure &structure) {
  return structure.teams == 1 && sum[0] >= 128 ? 2 : 1;
}

void choose_dots(Function &fn, const Gpu &gpu, const Structure &structure) {
  if (structure.together || (structure.specialized && gpu.has_wgmma))
    return multiply_by_warpgroups(fn, structure);
  fn.warps = warps_for(fn, gpu);
  if (structure.specialized)
    fn.helper_warps = 1;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    op.set("instruction", instruction_for(op, gpu));
    DotInstruction instruction = dot_instruction(op);
    Elem from = op.operand(0)->type.elem;
    bool is_small = is_float(from) && bits_of(from) == 8;
    if (is_small && instruction.tensor_core && instruction.k < 32)
      op.set("as", std::string(name_of(Elem::f16)));
    op.set("warps", divide(op.result()->type.shape, fn.warps, instruction));
    if (structure.specialized)
      op.set("dealt", int64_t(1));
    if (!instruction.tensor_core)
      op.set("vector", std::vector<int64_t>{neighbours(op, 0, gpu), neighbours(op, 1, gpu)});
  });
}

} // namespace tritonc
