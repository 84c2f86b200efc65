// The cost of launches without a matmul. See elementwise_cost_model.h.
//
// Method: the work of a block is the number of its operations on elements, times the iterations of
// their loops. An SM runs a number of blocks at a time, the rest in later waves. A wave takes the
// time of one block alone, which waits for memory and for its own results. In addition, each block
// adds the time for which it keeps the SM busy. Elements that a mask turns off count as
// work, too. Therefore smaller tiles are better for rows that are slightly longer than a tile.
// The blocks of a cluster wait for each other whenever they combine totals.
// A launch takes at least as long as memory needs for all accesses of its blocks. So loads that
// several loops repeat are staged if memory limits the kernel. A small part of the work remains
// visible then: of images with equally many bytes, that with the least work is the best. A second
// launch that combines partials adds its start and its iterations.
//
// The constants are in target/cost_tables.cpp. For other GPUs and kernels there are no
// measurements, but the model only compares variants and schedules, so the ratios count.
//
// Tested by tests/unit/schedule/candidates_test.cpp.

#include "schedule/elementwise_cost_model.h"

#include "analysis/affine.h"
#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "passes/select_mma.h"
#include "schedule/cost_formulas.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tritonc {

using namespace ir;

namespace {

// Estimated registers of a thread: a minimum, and several per element of the largest tile, since
// other tiles of that size are live too.
constexpr int64_t min_registers = 20, registers_of_element = 4;

// The time of an access to memory, of one or several elements.
constexpr int64_t weight_of_access = 4;

bool accesses_memory(const Op &op) {
  return op.is(Opcode::load_) || op.is(Opcode::store_) || op.is(Opcode::async_copy_);
}

// The time of an operation on one element; an addition has 1.
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
  case Opcode::undef_:
    return 0; // becomes part of an address or of another operation
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

// The elements of the largest tile among operands and results; 0 if all are scalars.
int64_t elements_of(const Op &op) {
  int64_t elements = 0;
  auto count = [&](const Value *value) {
    if (!value->type.is_scalar() && !value->type.is_shared())
      elements = std::max(elements, value->type.elements());
  };
  for (const Value *operand : op.operands)
    count(operand);
  for (const Value *result : op.results)
    count(result);
  return elements;
}

// The bytes of global memory that move when `op` accesses a tile. The L2 cache fetches whole
// granules for the parts of the tile that are contiguous. Elements whose places are not known, as in
// images with a division, are taken for contiguous.
int64_t bytes_of_access(const Op &op, const Function &fn, int64_t granule) {
  if (!accesses_memory(op))
    return 0;
  const Type &type = op.operand(0)->type;
  const int64_t elements = type.elements(), bytes = bytes_of(type.elem);
  if (type.is_scalar() || !affine_of(op.operand(0)))
    return elements * bytes;
  std::optional<int> axis = contiguous_axis(op.operand(0), fn);
  const int64_t part = axis ? contiguous_elements(op.operand(0), *axis, fn) : 1;
  return part < elements ? elements / part * std::max(part * bytes, granule) : elements * bytes;
}

// The elements that one access of `op` moves.
int64_t elements_of_access(const Op &op, const Function &fn) {
  if (op.is(Opcode::async_copy_))
    return op.get(attr::vector_);
  if (op.operand(0)->type.is_scalar())
    return 1;
  if (is_ragged(op.operand(0)))
    return op.operand(0)->op->get(attr::ragged_);
  return vector_elements(op.operand(0), op.operand_or_null(op.is(Opcode::load_) ? 1 : 2), fn);
}

// The work of a block of operations, and of the loops in it.
class Work {
public:
  /// `granule`: bytes that the L2 cache fetches at once.
  Work(const Function &fn, int64_t granule) : fn_(fn), granule_(granule) {
    for_each_op(*fn.body, [&](const Op &op) {
      if (!op.is(Opcode::shared_load_rows_) && !op.is(Opcode::shared_store_rows_))
        return;
      const Type &buffer = op.operand(op.is(Opcode::shared_load_rows_) ? 0 : 1)->type;
      ranges_[buffer.shape[1]] = widest_access_bytes / bytes_of(buffer.elem);
    });
    add(*fn.body, std::nullopt);
  }

  bool is_known = true;
  int64_t widest = 0;                       // elements of the largest tile
  int64_t once = 0;                         // operations on elements outside of loops
  int64_t bytes_once = 0;                   // accessed outside of loops
  std::optional<Expr> iterations, in_loops; // of all loops; operations on elements in loops
  std::optional<Expr> bytes_in_loops;
  int64_t exchanges = 0; // consecutive reductions over a cluster count as one

private:
  const Function &fn_;
  int64_t granule_;
  std::map<int64_t, int64_t> ranges_; // elements of joined rows, and of a vector

  // The elements for which a thread executes one instruction: joined rows move in vectors.
  int64_t elements_at_once(const Op &op, int64_t elements) const {
    auto is_range = [&](const Value *value) {
      return value->type.is_tile() && value->type.rank() == 1;
    };
    const bool has_ranges = std::any_of(op.operands.begin(), op.operands.end(), is_range) ||
                            std::any_of(op.results.begin(), op.results.end(), is_range);
    auto found = ranges_.find(elements);
    return has_ranges && found != ranges_.end() ? found->second : 1;
  }

  static Expr times(const std::optional<Expr> &iterations, Expr what) {
    return iterations ? *iterations * std::move(what) : std::move(what);
  }
  static void add_to(std::optional<Expr> &sum, Expr more) {
    sum = sum ? std::move(*sum) + std::move(more) : std::move(more);
  }

  void add(const Block &block, const std::optional<Expr> &times_run) {
    int64_t here = 0, bytes_here = 0;
    bool is_exchange = false;
    for (const Op *op : block.ops) {
      exchanges += op->is(Opcode::cluster_reduce_) && !is_exchange;
      is_exchange = op->is(Opcode::cluster_reduce_);
      is_known &= !op->is(Opcode::dot_) && !op->is(Opcode::while_loop_);
      int64_t elements = elements_of(*op);
      widest = std::max(widest, elements);
      if (op->is(Opcode::for_loop_)) {
        std::optional<Expr> inner = host_expression(op->operand(0));
        is_known &= inner.has_value();
        if (!is_known)
          return;
        Expr all = times(times_run, std::move(*inner));
        add_to(iterations, all);
        add(*op->blocks[0], all);
      } else if (!op->blocks.empty()) {
        for (const Block *part : op->blocks)
          add(*part, times_run);
      } else {
        here += accesses_memory(*op) ? elements * weight_of_access / elements_of_access(*op, fn_)
                                     : elements * weight_of(*op) / elements_at_once(*op, elements);
        bytes_here += bytes_of_access(*op, fn_, granule_);
      }
    }
    if (!times_run) {
      once += here;
      bytes_once += bytes_here;
      return;
    }
    if (here)
      add_to(in_loops, *times_run * number(here));
    if (bytes_here)
      add_to(bytes_in_loops, *times_run * number(bytes_here));
  }
};

} // namespace

int64_t elements_of_largest_tile(const Function &fn) { return Work(fn, 1).widest; }

std::optional<BlockWork> work_of_blocks(const Function &function, Expr blocks, const Gpu &gpu) {
  const Work work(function, gpu.costs->elementwise.granule);
  if (!work.is_known || work.widest == 0)
    return std::nullopt;
  Function fn = clone(function);
  select_mma(fn, gpu); // the number of warps
  const int64_t threads = fn.threads();
  int64_t of_thread = min_registers + registers_of_element * work.widest / threads;
  int64_t resident = gpu.registers_per_block / (of_thread * threads);
  int64_t max_value = std::min<int64_t>(gpu.max_threads_per_sm / threads, gpu.max_blocks_per_sm);
  Expr operations = number(work.once);
  if (work.in_loops)
    operations = operations + *work.in_loops;
  Expr bytes = number(work.bytes_once);
  if (work.bytes_in_loops)
    bytes = bytes + *work.bytes_in_loops;
  return BlockWork{.blocks = std::move(blocks),
                   .threads = threads,
                   .iterations = work.iterations,
                   .exchanges = work.exchanges,
                   .operations = std::move(operations),
                   .bytes = std::move(bytes),
                   .estimated_occupancy = std::clamp<int64_t>(resident, 1, max_value),
                   .times = gpu.costs->elementwise};
}

Expr cost_of_elementwise(const BlockWork &work, Expr resident) {
  const ElementwiseTimes &times = work.times;
  auto of_operations = [&](double each) {
    constexpr int64_t units = 1000000; // per nanosecond
    return div_up(work.operations * number(std::llround(each * double(units))), number(units));
  };
  Expr wave = of_operations(times.of_thread_alone / double(work.threads) + times.of_element_alone);
  if (work.iterations)
    wave = wave + *work.iterations * number(times.iteration);
  if (work.exchanges)
    wave = wave + number(work.exchanges * times.exchange);
  Expr waves = div_up(work.blocks, num_sms() * std::move(resident));
  Expr busiest = div_up(work.blocks, num_sms());
  Expr of_blocks = std::move(waves) * std::move(wave) +
                   std::move(busiest) * (of_operations(times.of_element) + number(times.program));
  Expr of_memory = div_up(work.blocks * work.bytes, number(times.bytes_per_ns));
  Expr visible = Expr::binary(Expr::Kind::div, of_blocks, number(times.work_parts));
  Expr cost = number(times.launch) +
              Expr::binary(Expr::Kind::max, std::move(of_blocks), std::move(of_memory)) +
              std::move(visible);
  return work.second_launch ? std::move(cost) + *work.second_launch : std::move(cost);
}

} // namespace tritonc
