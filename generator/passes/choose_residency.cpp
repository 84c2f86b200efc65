// choose_residency: decide how many programs one multiprocessor shall run at once.
//
//     func @f(...) warps 8 shared 65536     =>     func @f(...) warps 8 shared 65536 residency 2
//
// The registers of a multiprocessor are divided among the threads that run on it. Left alone, ptxas
// guesses how many that will be, and for some tiles it guesses so high that a few bytes spill. So
// we tell it (`.minnctapersm`), and it has the whole share to use. Two programs hide each other's
// latencies well; more than four gain nothing that their registers would not have been worth more
// for.
//
// The number is the largest that fits shared memory and an estimate of the registers that a thread
// needs: its accumulators and what it multiplies at one time, by the layouts of the dots, and some
// for addresses. At least one: a thread that needs more than its 255 registers will spill, and the
// tool says so.
//
// Needs:   slice_dots and assign_layouts, which settle what is held at one time; allocate_shared.
// Ensures: fn.residency is set if there is a dot, or parts are added. Other kernels are left to
//          ptxas.
// Limits:  the estimate counts accumulators of all dots as if they lived together.
//
// Tested by tests/passes/choose_residency_test.cpp.

#include "passes/choose_residency.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int most_programs = 4;
constexpr int threads_per_multiprocessor = 1024; // the least that any GPU has
constexpr int registers_for_addresses = 16;

int registers_of(const Value *tile) {
  return std::max(1, tile->type.layout->registers() * bits_of(tile->type.elem) / 32);
}

// Registers of a thread for the accumulators of a loop or a straight piece of code: sums that
// continue each other count once. And for the factors of its hungriest dot, twice, because the next
// ones are loaded during the arithmetic.
struct Need {
  int sums = 0, factors = 0;
};

Need need_of(Function &fn) {
  Need need;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    const Op *before = op.operand(2)->op;
    if (!before || !before->is(Opcode::dot_))
      need.sums += registers_of(op.result());
    need.factors =
        std::max(need.factors, 2 * (registers_of(op.operand(0)) + registers_of(op.operand(1))));
  });
  return need;
}

} // namespace

void choose_residency(Function &fn, const Gpu &gpu, const Structure &structure) {
  if (structure.specialized) {
    fn.residency = structure.residency; // for which its ring was made
    return;
  }
  if (structure.share == Structure::Share::sum_of_parts) {
    fn.residency = 1; // else ptxas saves registers, and lets loads wait for each other
    return;
  }
  Need need = need_of(fn);
  if (!need.sums)
    return;
  int threads = 32 * fn.warps;
  int registers = std::min(gpu.max_registers_per_thread,
                           need.sums + std::min(need.factors, need.sums) + registers_for_addresses);
  int by_registers = gpu.registers_per_block / (threads * registers);
  int by_shared = fn.shared_bytes ? gpu.max_shared_bytes / fn.shared_bytes : most_programs;
  int by_threads = threads_per_multiprocessor / threads;
  fn.residency = std::max(1, std::min({most_programs, by_registers, by_shared, by_threads}));
}

} // namespace tritonc
