// What launches take in which each program has a block. See program_costs.h.
//
// Method: a program's work is that of its operations, counted in elements, as often as their loops
// run. A multiprocessor has a number of programs at a time, and takes the others in further rounds.
// A round takes as long as a program by itself, which waits for memory and for its own results; and
// each program adds what it keeps the multiprocessor busy for. Elements that a mask leaves out are
// work, too: this is why rows that are somewhat longer than a tile are better done in smaller ones.
//
// The numbers were fitted to times of softmax and layer_norm of f16 on an H200 (driver 580.159.04,
// 2026-11-22), 16 to 16384 rows of 64 to 16384 elements, 256 to 8192 of them at a time. Of 850
// problems each, the variant that costs least took 1.014 and 1.015 times as long as the fastest in
// the geometric mean. Of other GPUs and kernels they are not known, but it is the ratios that
// count.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/program_costs.h"

#include "analysis/launch_form.h"
#include "passes/choose_dots.h"
#include "passes/cost_formulas.h"

#include <algorithm>
#include <cmath>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t launch = 990; // nanoseconds
// Of a round, in nanoseconds: of an iteration of a loop, of an operation of one of a program's
// threads, and of an operation on an element.
constexpr int64_t iteration = 60;
constexpr double of_thread_alone = 0.8, of_element_alone = 0.0062;
// Of each program that a multiprocessor has; and of an operation on an element.
constexpr int64_t program = 120;
constexpr double of_element = 0.0031;
// Of a thread: what it has of the largest tile counts several times, as there are others like it.
constexpr int64_t least_registers = 20, registers_of_element = 4;

// Of an operation on one element, beside an addition.
int64_t weight_of(const Op &op) {
  switch (op.code) {
  case Opcode::constant_:
  case Opcode::range_:
  case Opcode::splat_:
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::trans_:
  case Opcode::reshape_:
  case Opcode::extract_:
  case Opcode::addptr_:
  case Opcode::view_:
  case Opcode::undefined_:
    return 0; // part of an address, or of another operation
  case Opcode::load_:
  case Opcode::store_:
  case Opcode::atomic_:
  case Opcode::atomic_cas_:
  case Opcode::div_:
  case Opcode::udiv_:
  case Opcode::rem_:
  case Opcode::urem_:
  case Opcode::exp_:
  case Opcode::exp2_:
  case Opcode::log_:
  case Opcode::log2_:
  case Opcode::sqrt_:
  case Opcode::rsqrt_:
    return 4;
  case Opcode::sin_:
  case Opcode::cos_:
  case Opcode::tanh_:
  case Opcode::erf_:
  case Opcode::pow_:
    return 20;
  default:
    return 1;
  }
}

// Of the tile that an operation computes, or stores, or combines; none of a number's.
int64_t elements_of(const Op &op) {
  int64_t elements = 0;
  auto count = [&](const Value *value) {
    if (!value->type.is_scalar())
      elements = std::max(elements, value->type.elements());
  };
  for (const Value *operand : op.operands)
    count(operand);
  for (const Value *result : op.results)
    count(result);
  return elements;
}

// The work of a block of operations: of one run of it, and of the loops in it.
class Work {
public:
  explicit Work(const Block &block) { add(block, std::nullopt); }

  bool is_known = true;
  int64_t widest = 0;                       // elements of the largest tile
  int64_t once = 0;                         // operations on elements, outside of loops
  std::optional<Expr> iterations, in_loops; // of all loops; operations in them

private:
  static Expr times(const std::optional<Expr> &trips, Expr what) {
    return trips ? *trips * std::move(what) : std::move(what);
  }
  static void add_to(std::optional<Expr> &sum, Expr more) {
    sum = sum ? std::move(*sum) + std::move(more) : std::move(more);
  }

  void add(const Block &block, const std::optional<Expr> &trips) {
    int64_t here = 0;
    for (const Op *op : block.ops) {
      is_known &= !op->is(Opcode::dot_) && !op->is(Opcode::while_loop_);
      int64_t elements = elements_of(*op);
      widest = std::max(widest, elements);
      if (op->is(Opcode::for_loop_)) {
        std::optional<Expr> inner = host_expression(op->operand(0));
        is_known &= inner.has_value();
        if (!is_known)
          return;
        Expr all = times(trips, std::move(*inner));
        add_to(iterations, all);
        add(*op->blocks[0], all);
      } else if (!op->blocks.empty()) {
        for (const Block *part : op->blocks)
          add(*part, trips);
      } else {
        here += elements * weight_of(*op);
      }
    }
    if (trips && here)
      add_to(in_loops, *trips * number(here));
    else
      once += here;
  }
};

} // namespace

std::optional<ProgramWork> work_of_programs(const Function &canonical, const Gpu &gpu) {
  const Work work(*canonical.body);
  if (!work.is_known || work.widest == 0)
    return std::nullopt;
  Function fn = clone(canonical);
  choose_dots(fn, gpu); // the number of warps
  const int64_t threads = fn.threads();
  int64_t of_thread = least_registers + registers_of_element * work.widest / threads;
  int64_t resident = gpu.registers_per_block / (of_thread * threads);
  int64_t most =
      std::min<int64_t>(gpu.threads_per_multiprocessor / threads, gpu.blocks_per_multiprocessor);
  Expr operations = number(work.once);
  if (work.in_loops)
    operations = operations + *work.in_loops;
  return ProgramWork{.threads = threads,
                     .iterations = work.iterations,
                     .operations = std::move(operations),
                     .likely_resident = std::clamp<int64_t>(resident, 1, most)};
}

Expr cost_of_programs_apart(const ProgramWork &work, int64_t resident) {
  auto of_operations = [&](double each) {
    constexpr int64_t units = 1000000; // of a nanosecond
    return div_up(work.operations * number(std::llround(each * double(units))), number(units));
  };
  Expr round = of_operations(of_thread_alone / double(work.threads) + of_element_alone);
  if (work.iterations)
    round = round + *work.iterations * number(iteration);
  Expr rounds = div_up(all_programs(), multiprocessors() * number(resident));
  Expr busiest = div_up(all_programs(), multiprocessors());
  return number(launch) + std::move(rounds) * std::move(round) +
         std::move(busiest) * (of_operations(of_element) + number(program));
}

} // namespace tritonc
