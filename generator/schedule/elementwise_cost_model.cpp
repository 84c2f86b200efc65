// The cost of launches without a matmul. See elementwise_cost_model.h.
//
// Method: the work of a block is the number of its operations and accesses on elements, times the
// iterations of their loops. An SM runs a number of blocks at a time, the rest in later waves. A
// wave takes the time of one block alone: that of its instructions, of its reductions, and of the
// iterations that wait for loads. In addition, each block adds the time for which it keeps the SM
// busy. Elements that a mask turns off count as work, too. Therefore smaller tiles are better for
// rows that are slightly longer than a tile. The blocks of a cluster wait for each other whenever
// they combine totals, and the network between SMs limits the totals per time.
// Each word that a thread spills is an access, in code with loops one of each iteration.
// A launch takes at least as long as memory needs for its bytes. A wave also takes the time in which
// memory moves its part of them: a block alone on an SM does not work while it waits for its bytes.
// What several loops of a program access counts once for images that keep it, such as staged ones.
// What all programs access is in L1, after the first programs have waited for it: once, or once per
// iteration that loads it late. Each contiguous part takes longer than its bytes: memory opens a row
// of DRAM for it, and again if the next iteration of a loop continues the part. A second launch
// that combines partials has a cost of its own: its programs also run again what comes before the
// loop. The host does not know how often a while loop runs, so each variant is taken to repeat it as
// often. If the loop loads or stores tiles, larger ones may need fewer iterations. Then there is no
// cost.
//
// The constants are in target/cost_tables.cpp. For other GPUs and kernels there are no
// measurements, but the model only compares variants and schedules, so the ratios count.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/elementwise_cost_model.h"

#include "analysis/affine.h"
#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "passes/select_mma.h"
#include "schedule/cost_formulas.h"
#include "target/cost_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace tritonc {

using namespace ir;

namespace {

// Estimated registers of a thread: a minimum, and several per element of the largest tile, since
// other tiles of that size are live too.
constexpr int64_t min_registers = 20, registers_of_element = 4;

// Iterations of a loop if the host does not know their number. LLVM's BranchProbabilityInfo takes a
// loop to go on with a probability of 124 / 128.
constexpr int64_t unknown_iterations = 32;

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
  case Opcode::shared_load_rows_:
  case Opcode::shared_store_rows_:
    return 12; // each element has its own address in shared memory
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

// Products and sums without factors of 1 and terms of 0, so that a launch computes less.
Expr product_of(Expr a, Expr b) {
  if (a.kind == Expr::Kind::constant && b.kind == Expr::Kind::constant)
    return number(a.value * b.value);
  if (a == number(0) || b == number(1))
    return a;
  return b == number(0) || a == number(1) ? std::move(b) : std::move(a) * std::move(b);
}

Expr sum_of(Expr a, Expr b) {
  return a == number(0)   ? std::move(b)
         : b == number(0) ? std::move(a)
                          : std::move(a) + std::move(b);
}

// A sum over all operations of a block, with one term for all that run equally often.
class Sum {
public:
  void add(const std::optional<Expr> &times_run, int64_t count) {
    if (!times_run) {
      once_ += count;
      return;
    }
    auto term = std::find_if(in_loops_.begin(), in_loops_.end(),
                             [&](const Term &other) { return other.times_run == *times_run; });
    if (term != in_loops_.end())
      term->count += count;
    else if (count)
      in_loops_.push_back({*times_run, count});
  }

  Expr total() const {
    Expr sum = number(once_);
    for (const Term &term : in_loops_)
      sum = sum_of(std::move(sum), product_of(term.times_run, number(term.count)));
    return sum;
  }

private:
  struct Term {
    Expr times_run;
    int64_t count;
  };
  int64_t once_ = 0; // outside of loops
  std::vector<Term> in_loops_;
};

// The work of a block of operations, and of the loops in it.
class Work {
public:
  explicit Work(const Function &fn) : fn_(fn) {
    for_each_op(*fn.body, [&](const Op &op) {
      if (!op.is(Opcode::shared_load_rows_) && !op.is(Opcode::shared_store_rows_))
        return;
      const Type &buffer = op.operand(op.is(Opcode::shared_load_rows_) ? 0 : 1)->type;
      ranges_[buffer.shape[1]] = widest_access_bytes / bytes_of(buffer.elem);
    });
    add(*fn.body, std::nullopt, 1);
  }

  bool is_known = true, has_loops = false;
  int64_t widest = 0;       // elements of the largest tile
  Sum operations, accesses; // on elements, of all threads
  Sum iterations, waits;    // of all loops; of loops that load
  int64_t reductions = 0;   // outside of loops with a known number of iterations
  int64_t late_loads = 0;   // outside of loops; consecutive loads count as one
  int64_t exchanges = 0;    // consecutive reductions over a cluster count as one
  int64_t exchanged = 0;    // elements that a block reads from its cluster

private:
  const Function &fn_;
  DiffersByProgram differs_;
  bool follows_store_ = false;
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

  static bool has_known_count(const Op &op) {
    return op.is(Opcode::for_loop_) && host_expression(op.operand(0));
  }

  // Whether operations of a loop load or store tiles, or wait for other programs. The operations of
  // inner loops with a known number of iterations do not count.
  static bool accesses_tiles(const Op &loop) {
    return std::any_of(loop.blocks.begin(), loop.blocks.end(), [](const Block *block) {
      return std::any_of(block->ops.begin(), block->ops.end(), [](const Op *op) {
        return op->is_atomic() || (accesses_memory(*op) && elements_of(*op) > 0) ||
               (!has_known_count(*op) && accesses_tiles(*op));
      });
    });
  }

  // `times_run`: by loops with a known number of iterations. `repeated`: by other loops.
  void add(const Block &block, const std::optional<Expr> &times_run, int64_t repeated) {
    bool is_exchange = false;
    for (const Op *op : block.ops) {
      exchanges += op->is(Opcode::cluster_reduce_) && !is_exchange;
      is_exchange = op->is(Opcode::cluster_reduce_);
      if (is_exchange)
        exchanged += std::max<int64_t>(elements_of(*op), 1) * op->get(attr::blocks_);
      if (!times_run && (op->is(Opcode::reduce_) || op->is(Opcode::scan_)))
        reductions += repeated;
      if (!times_run)
        count_late(*op);
      if (has_known_count(*op)) {
        add_loop(*op, times_run, repeated);
        continue;
      }
      const bool is_loop = op->is(Opcode::for_loop_) || op->is(Opcode::while_loop_);
      is_known &= !op->is(Opcode::dot_) && !(is_loop && accesses_tiles(*op));
      for (const Block *part : op->blocks)
        add(*part, times_run, is_loop ? repeated * unknown_iterations : repeated);
      if (op->blocks.empty())
        add(*op, times_run, repeated);
    }
  }

  void count_late(const Op &op) {
    const bool is_shared =
        op.is(Opcode::load_) && op.operand(0)->type.is_view() && differs_.is_cached(op);
    late_loads += is_shared && follows_store_;
    follows_store_ = op.is(Opcode::store_) || (follows_store_ && !is_shared);
  }

  void add_loop(const Op &loop, const std::optional<Expr> &times_run, int64_t repeated) {
    Expr count = *host_expression(loop.operand(0));
    has_loops = true;
    const Expr all = times_run ? *times_run * std::move(count) : std::move(count);
    const Block &body = *loop.blocks[0];
    const bool waits_for_load = std::any_of(body.ops.begin(), body.ops.end(),
                                            [](const Op *op) { return op->is(Opcode::load_); });
    iterations.add(all, repeated);
    waits.add(all, waits_for_load * repeated);
    add(body, all, repeated);
  }

  void add(const Op &op, const std::optional<Expr> &times_run, int64_t repeated) {
    const int64_t elements = elements_of(op);
    widest = std::max(widest, elements);
    if (!accesses_memory(op)) {
      operations.add(times_run,
                     repeated * elements * weight_of(op) / elements_at_once(op, elements));
      return;
    }
    accesses.add(times_run,
                 repeated * std::max<int64_t>(elements / elements_of_access(op, fn_), 1));
  }
};

// A number that the host computes and does not round up: up / down.
struct Ratio {
  Expr up;
  int64_t down = 1;
};

Ratio operator*(const Ratio &a, const Ratio &b) {
  return {product_of(a.up, b.up), a.down * b.down};
}

// A number of iterations or programs, without the rounding of its divisions: the last one accesses
// only what is left.
Ratio without_rounding(const Expr &count) {
  auto is = [](const Expr &expr, int64_t value) {
    return expr.kind == Expr::Kind::constant && expr.value == value;
  };
  if (count.kind == Expr::Kind::max && is(count.operands[1], 0))
    return without_rounding(count.operands[0]);
  if (count.kind == Expr::Kind::mul)
    return without_rounding(count.operands[0]) * without_rounding(count.operands[1]);
  const bool is_up = count.kind == Expr::Kind::ceil_div;
  if ((!is_up && count.kind != Expr::Kind::div) || count.operands[1].kind != Expr::Kind::constant)
    return {count};
  const int64_t by = count.operands[1].value;
  const Expr &all = count.operands[0];
  if (is_up || by == 1)
    return {all, by};
  for (size_t i : {0, 1})
    if (all.kind == Expr::Kind::add && is(all.operands[i], by - 1))
      return {all.operands[1 - i], by};
  return {count};
}

Expr value_of(const Ratio &ratio, int64_t times) {
  const int64_t divisor = std::gcd(times, ratio.down);
  times /= divisor;
  Expr up = product_of(ratio.up, number(times));
  return ratio.down == divisor ? std::move(up)
                               : div_up(std::move(up), number(ratio.down / divisor));
}

// The distance of neighbors along an axis, in elements, forward or backward; nothing if the host
// cannot compute it.
std::optional<Expr> distance_of(const Poly &stride) {
  std::optional<Expr> sum;
  for (const auto &[factors, coefficient] : stride.terms) {
    Expr term = number(std::abs(coefficient));
    for (const Value *factor : factors) {
      std::optional<Expr> value = host_expression(factor);
      if (!value)
        return std::nullopt;
      term = product_of(std::move(term), std::move(*value));
    }
    sum = sum ? std::move(*sum) + std::move(term) : std::move(term);
  }
  return sum;
}

// The contiguous parts of a tile that an access reads or writes.
struct Parts {
  int64_t count;
  Expr bytes; // of one. Memory moves whole sectors, but parts may have neighbors in the same sector
  Expr edges; // bytes that take as long as the edges of one
  bool is_continued = false; // whether the next iteration of the loop begins where the part ends
};

// Bytes that take as long as the edges of a part. A part that is not aligned shares its first and
// its last sector with neighbors: memory moves a sector more, and also reads one that is not
// written as a whole.
int64_t bytes_of_edges(const Op &op, const Function &fn, const ElementwiseTimes &times) {
  if (elements_of_access(op, fn) * bytes_of(op.operand(0)->type.elem) == widest_access_bytes)
    return times.edge_bytes;
  return op.is(Opcode::store_) ? 2 * sector_bytes : sector_bytes;
}

// The bytes between the starts of the nearest parts; nothing if the host cannot compute them.
std::optional<Expr> pitch_of(const Affine &form, const Type &type, std::optional<int> axis) {
  std::optional<Expr> nearest;
  for (int a = 0; a < type.rank(); a++)
    if (size_t(a) < form.strides.size() && a != axis && type.shape[size_t(a)] > 1)
      if (std::optional<Expr> distance = distance_of(form.strides[size_t(a)])) {
        Expr pitch = std::move(*distance) * number(bytes_of(type.elem));
        nearest = nearest ? Expr::binary(Expr::Kind::min, std::move(*nearest), std::move(pitch))
                          : std::move(pitch);
      }
  return nearest;
}

bool continues(const Affine &form, int64_t part, const Op &loop) {
  auto step = form.offset.terms.find({loop.blocks[0]->arguments[0]});
  return step != form.offset.terms.end() && step->second == part;
}

Parts parts_of_access(const Op &op, const Op *loop, const Function &fn,
                      const ElementwiseTimes &times) {
  const Type &type = op.operand(0)->type;
  const int64_t elements = type.elements(), bytes = bytes_of(type.elem);
  std::optional<Affine> form = type.is_scalar() ? std::nullopt : affine_of(op.operand(0));
  std::optional<int> axis = form ? contiguous_axis(op.operand(0), fn) : std::nullopt;
  const int64_t part = !form ? elements : axis ? contiguous_elements(op.operand(0), *axis, fn) : 1;
  const std::optional<Expr> pitch = form ? pitch_of(*form, type, axis) : std::nullopt;
  Parts parts = {elements / part, number(part * bytes), number(0)};
  if (part < elements && part * bytes < sector_bytes) {
    parts.bytes = number(sector_bytes);
    if (pitch)
      parts.bytes = Expr::binary(Expr::Kind::min, std::move(parts.bytes), *pitch);
  } else if (axis) {
    parts.is_continued = loop && continues(*form, part, *loop);
    parts.edges = number(parts.is_continued ? std::min(times.next_part_bytes, part * bytes)
                                            : bytes_of_edges(op, fn, times));
    if (pitch) { // a neighbor may be in the same sectors
      Expr gap = Expr::binary(Expr::Kind::max, *pitch + number(-part * bytes), number(0));
      parts.edges = Expr::binary(Expr::Kind::min, std::move(parts.edges), std::move(gap));
    }
  }
  return parts;
}

// Bytes that a program accesses. A part that is not full has edges, too, so their sum is separate.
struct Bytes {
  Expr of_elements = number(0), of_edges = number(0);
};

Expr larger_of(Expr a, Expr b) {
  return a == b ? std::move(a) : Expr::binary(Expr::Kind::max, std::move(a), std::move(b));
}

// The bytes that a program reads and writes, without those that all programs access.
class Accessed {
public:
  /// `once`: a program loads all that its loops access before them, and keeps it. Loops that load
  /// from an array are taken to load the same elements.
  Accessed(const Function &fn, const ElementwiseTimes &times, bool once)
      : fn_(fn), times_(times), once_(once) {
    for (const Op *op : fn.body->ops) {
      loop_ += op->is(Opcode::for_loop_);
      add(*op, {{number(1)}, number(1)});
      loop_ += op->is(Opcode::for_loop_);
    }
  }

  Bytes bytes() const {
    Bytes sum;
    for (const auto &[array, loops] : arrays_) {
      Bytes all;
      for (const auto &[_, bytes] : loops) {
        auto join = once_ && !array.second ? larger_of : sum_of;
        all = {join(std::move(all.of_elements), bytes.of_elements),
               join(std::move(all.of_edges), bytes.of_edges)};
      }
      sum = {sum_of(std::move(sum.of_elements), std::move(all.of_elements)),
             sum_of(std::move(sum.of_edges), std::move(all.of_edges))};
    }
    return sum;
  }

private:
  // How often an operation runs.
  struct Runs {
    Ratio without_rounding;
    Expr all;
    const Op *loop = nullptr; // around the operation
    Expr later = number(0);   // without the first iteration of `loop`
  };

  const Function &fn_;
  const ElementwiseTimes &times_;
  const bool once_;
  int loop_ = 0;                      // odd: a loop; even: the operations between two loops
  using Array = std::pair<int, bool>; // the number of the parameter; whether it is stored to
  std::map<Array, std::map<int, Bytes>> arrays_; // of each loop
  DiffersByProgram differs_;

  void add(const Op &op, const Runs &runs) {
    if (op.is(Opcode::for_loop_)) {
      if (std::optional<Expr> count = host_expression(op.operand(0))) {
        Expr later = Expr::binary(Expr::Kind::max, *count + number(-1), number(0));
        for (const Op *inner : op.blocks[0]->ops)
          add(*inner, {.without_rounding = runs.without_rounding * without_rounding(*count),
                       .all = product_of(runs.all, *count),
                       .loop = &op,
                       .later = product_of(runs.all, later)});
      }
      return;
    }
    for (const Block *block : op.blocks)
      for (const Op *inner : block->ops)
        add(*inner, runs);
    const Value *array = accesses_memory(op) ? root_of(op.operand(0)) : nullptr;
    if (array && differs_(op.operand(0)))
      add_access(op, runs, arrays_[{array->index, op.is(Opcode::store_)}][loop_]);
  }

  void add_access(const Op &op, const Runs &runs, Bytes &bytes) {
    const Parts parts = parts_of_access(op, runs.loop, fn_, times_);
    bytes.of_elements =
        sum_of(std::move(bytes.of_elements),
               parts.bytes.kind == Expr::Kind::constant
                   ? value_of(runs.without_rounding, parts.count * parts.bytes.value)
                   : value_of(Ratio{parts.bytes} * runs.without_rounding, parts.count));
    if (parts.is_continued && once_)
      return;
    Expr edges = product_of(parts.is_continued ? runs.later : runs.all,
                            product_of(number(parts.count), parts.edges));
    bytes.of_edges = sum_of(std::move(bytes.of_edges), std::move(edges));
  }
};

} // namespace

int64_t elements_of_largest_tile(const Function &fn) { return Work(fn).widest; }

Traffic traffic_of(const Function &canonical, const Gpu &gpu) {
  auto of_launch = [&](bool once) {
    Bytes of_program = Accessed(canonical, gpu.costs->elementwise, once).bytes();
    Ratio elements = {std::move(of_program.of_elements)};
    Expr edges = std::move(of_program.of_edges);
    auto repeat = [&](const Ratio &times, const Expr &rounded) {
      elements = times * elements;
      edges = product_of(std::move(edges), rounded);
    };
    if (canonical.plan.grid.empty())
      repeat({all_programs()}, all_programs());
    for (const Expr &size : canonical.plan.grid)
      repeat(without_rounding(size), size);
    return sum_of(value_of(elements, 1), std::move(edges));
  };
  return {.once = of_launch(true), .all = of_launch(false)};
}

std::optional<BlockWork> work_of_blocks(const Function &function, Expr blocks, Expr bytes,
                                        const Gpu &gpu) {
  const Work work(function);
  if (!work.is_known || work.widest == 0)
    return std::nullopt;
  Function fn = clone(function);
  select_mma(fn, gpu); // the number of warps
  const int64_t threads = fn.threads();
  int64_t of_thread = min_registers + registers_of_element * work.widest / threads;
  int64_t resident = gpu.registers_per_block / (of_thread * threads);
  int64_t max_value = std::min<int64_t>(gpu.max_threads_per_sm / threads, gpu.max_blocks_per_sm);
  const int64_t programs = fn.programs_of_block(); // beside those of a batch
  auto of_programs = [&](const Sum &of_one) {
    return programs == 1 ? of_one.total() : of_one.total() * number(programs);
  };
  return BlockWork{.blocks = std::move(blocks),
                   .threads = threads,
                   .iterations =
                       work.has_loops ? std::optional(work.iterations.total()) : std::nullopt,
                   .waits = work.waits.total(),
                   .reductions = work.reductions,
                   .late_loads = work.late_loads,
                   .exchanges = work.exchanges,
                   .exchanged = work.exchanged,
                   .operations = of_programs(work.operations),
                   .accesses = of_programs(work.accesses),
                   .bytes = std::move(bytes),
                   .estimated_occupancy = std::clamp<int64_t>(resident, 1, max_value),
                   .times = gpu.costs->elementwise};
}

Expr cost_of_elementwise(const BlockWork &work, Expr resident, int64_t spilled) {
  const ElementwiseTimes &times = work.times;
  Expr accesses = work.accesses;
  if (const int64_t words = spilled / 4 * work.threads; words && work.iterations)
    accesses = std::move(accesses) + *work.iterations * number(words);
  else if (words)
    accesses = std::move(accesses) + number(words);
  auto of_work = [&](double each) {
    constexpr int64_t units = 1000000; // per nanosecond
    Expr all = work.operations + accesses * number(times.access);
    return div_up(std::move(all) * number(std::llround(each * double(units))), number(units));
  };
  Expr wave = of_work(times.of_thread_alone / double(work.threads));
  if (work.iterations)
    wave = wave + *work.iterations * number(times.iteration);
  if (work.waits != number(0))
    wave = wave + work.waits * number(times.wait);
  if (work.reductions)
    wave = wave + number(work.reductions) * number(times.reduction);
  if (work.exchanges)
    wave = wave + number(work.exchanges) * number(times.exchange);
  Expr waves = div_up(work.blocks, num_sms() * std::move(resident));
  Expr busiest = div_up(work.blocks, num_sms());
  const bool has_bytes = work.bytes != number(0);
  if (has_bytes)
    wave = std::move(wave) + div_up(work.bytes, busiest * number(times.bytes_per_ns));
  const int64_t of_program =
      times.program + std::llround(double(work.exchanged) * times.exchanged_element);
  Expr of_blocks = std::move(waves) * std::move(wave) +
                   std::move(busiest) * (of_work(times.of_element) + number(of_program));
  if (has_bytes)
    of_blocks = Expr::binary(Expr::Kind::max, std::move(of_blocks),
                             div_up(work.bytes, number(times.bytes_per_ns)));
  Expr cost = number(times.launch + work.late_loads * times.wait) + std::move(of_blocks);
  return work.second_launch ? std::move(cost) + *work.second_launch : std::move(cost);
}

} // namespace tritonc
