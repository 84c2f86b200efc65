// Implements wgmma and setmaxnreg. See warpgroups.h.
//
// Tested by tests/unit/emulator/warpgroups_test.cpp.

#include "warpgroups.h"

#include "../launch_state.h"
#include "../machine.h"
#include "../models/accumulation.h"
#include "lifetimes.h"

#include <algorithm>
#include <cstring>

namespace tritonc::emulator::ops {
namespace {

using Kind = Report::Kind;

constexpr unsigned warps_of_group = 4;

std::array<Actor, warp_size> actors_of(const Warp &warp) {
  std::array<Actor, warp_size> actors;
  for (unsigned lane = 0; lane < warp_size; lane++)
    actors[lane] = warp.threads[lane].actor;
  return actors;
}

TensorCores &tensor_cores_of(const Warp &warp) {
  return warp.block->warpgroups[warp.threads->id / warpgroup_size].ops.tensor_cores;
}

// ---- poison ----
//
// A register that a pending wgmma will write holds a quiet NaN with the wgmma's identity and the
// register's index. Identities repeat after 2^15 - 1.

constexpr uint32_t poison_bits = 0xffc00000, identity_limit = 1u << 15;

uint32_t poison(uint32_t identity, uint32_t i) { return poison_bits | identity << 7 | i; }
uint32_t identity_of(uint64_t number) { return uint32_t(number % (identity_limit - 1)) + 1; }

/// The identity of the wgmma whose poison for register `i` this is; 0 = no poison.
uint32_t identity_in(uint32_t word, uint32_t i) {
  return (word & (poison_bits | 0x7f)) == (poison_bits | i) ? word >> 7 & (identity_limit - 1) : 0;
}

/// The contents of registers of several threads: poison or values.
struct Held {
  uint32_t identity = 0; // of a wgmma; 0 = values
  bool mixed = false;    // poison and values, or poison of several wgmma
};

/// The poison for all registers of a thread.
struct Pattern {
  uint32_t identity = 0;
  uint32_t words[128];

  void set(uint32_t of, uint32_t n) {
    identity = of;
    for (uint32_t i = 0; i < n; i++)
      words[i] = poison(of, i);
  }
};

/// Inspects the registers of several threads, `n` each, for poison.
class Inspection {
public:
  explicit Inspection(uint32_t n) : n_(n) {}

  void add(const void *registers) {
    uint32_t word;
    std::memcpy(&word, registers, 4);
    if (threads_++ == 0 && identity_in(word, 0) != 0)
      pattern_.set(identity_in(word, 0), n_);
    if (pattern_.identity != 0 && std::memcmp(registers, pattern_.words, size_t(n_) * 4) == 0)
      same_++;
    else
      poisoned_ |= has_poison(registers);
  }
  /// Some integers may look like poison by chance, but never all.
  Held result(bool integer) const {
    if (same_ == threads_)
      return {pattern_.identity, false};
    return {0, (same_ > 0 || poisoned_) && !integer};
  }

private:
  bool has_poison(const void *registers) const {
    bool any = false;
    for (uint32_t i = 0; i < n_; i++) {
      uint32_t word;
      std::memcpy(&word, static_cast<const std::byte *>(registers) + 4 * i, 4);
      any |= identity_in(word, i) != 0;
    }
    return any;
  }

  const uint32_t n_;
  Pattern pattern_;
  unsigned threads_ = 0, same_ = 0;
  bool poisoned_ = false;
};

[[noreturn]] void registers_mixed(Thread &thread, const Site &site, const char *what) {
  fatal(thread, site, Kind::misuse,
        "%s: some accumulators were changed while an earlier wgmma still uses them\nnote: execute "
        "wgmma_wait before any other use of the accumulators",
        what);
}

[[noreturn]] void registers_stale(Thread &thread, const Site &site, const char *what) {
  fatal(thread, site, Kind::misuse,
        "%s: these accumulators are an outdated copy: a later wgmma has taken over the registers, "
        "or wgmma_wait has returned them",
        what);
}

Accumulators *find_accumulators(const TensorCores &cores, uint32_t identity) {
  for (const auto &each : cores.accumulators)
    if (each->identity == identity && !each->is_free())
      return each.get();
  return nullptr;
}

/// Free accumulators with `registers` per thread.
Accumulators &new_accumulators(TensorCores &cores, uint32_t registers, bool integer) {
  Accumulators *found = nullptr;
  for (const auto &each : cores.accumulators)
    if (each->is_free() && (!found || each->capacity > found->capacity))
      found = each.get();
  if (!found) {
    cores.accumulators.push_back(std::make_unique<Accumulators>());
    found = cores.accumulators.back().get();
  }
  size_t bytes = size_t(warpgroup_size) * registers * 4;
  if (found->capacity < bytes) {
    found->values = std::make_unique<std::byte[]>(bytes);
    found->capacity = bytes;
  }
  found->registers = registers;
  found->integer = integer;
  found->under_way = found->handed_out = 0;
  found->abandoned = false;
  return *found;
}

// ---- computing ----

/// Checks and marks the chunks of an operand that the tensor core of a warp reads.
void mark_operand(const Access &access, const models::MatrixDescriptor &descriptor,
                  models::Major major, unsigned begin, unsigned rows) {
  SharedMemory &shared = access.thread.cluster->shared;
  uint32_t addresses[2 * 256], base = access.thread.shared_base;
  models::chunk_addresses(addresses, descriptor, major, begin, rows);
  // Adjacent chunks follow each other in `addresses`, in ascending or descending order; merge them.
  for (unsigned i = 0, next; i < 2 * rows; i = next) {
    uint32_t from = addresses[i], to = from + 16;
    for (next = i + 1; next < 2 * rows; next++) {
      if (addresses[next] == to)
        to += 16;
      else if (addresses[next] + 16 == from)
        from -= 16;
      else
        break;
    }
    shared.mark_read(access, base + from, to - from);
  }
}

void compute(Block &block, WgmmaUnderWay &wgmma, unsigned group, unsigned warps) {
  Cluster &cluster = *block.cluster;
  const models::Wgmma &instruction = wgmma.instruction;
  Thread *threads = block.threads + group * warpgroup_size;
  for (unsigned i = 0; i < warps_of_group; i++) {
    if (!(warps >> i & 1))
      continue;
    Warp &warp = *threads[i * warp_size].warp;
    Access access = {warp.threads[0], *wgmma.site, wgmma.what,
                     cluster.clocks.view(cluster.clocks.tensor_core(warp.number), wgmma.clocks[i])};
    access.proxy = Proxy::async;
    if (!instruction.a_in_registers)
      mark_operand(access, wgmma.a, instruction.major_a, 16 * i, 16);
    mark_operand(access, wgmma.b, instruction.major_b, 0, instruction.n);
  }

  models::WgmmaOperands operands;
  operands.window = reinterpret_cast<const std::byte *>(uintptr_t(threads->shared_base));
  operands.a = wgmma.a;
  operands.b = wgmma.b;
  const uint32_t *a_registers[warpgroup_size];
  if (instruction.a_in_registers) {
    for (unsigned i = 0; i < warpgroup_size; i++)
      a_registers[i] = wgmma.a_registers[i].data();
    operands.a_registers = a_registers;
  }
  const Accumulators &accumulators = *wgmma.accumulators;
  if (accumulators.integer) {
    int32_t *d[warpgroup_size];
    for (unsigned i = 0; i < warpgroup_size; i++)
      d[i] = accumulators.of_thread<int32_t>(i);
    models::wgmma(instruction, operands, d, warps);
  } else {
    float *d[warpgroup_size];
    for (unsigned i = 0; i < warpgroup_size; i++)
      d[i] = accumulators.of_thread<float>(i);
    models::wgmma(instruction, models::accumulation(90, models::Instruction::wgmma, instruction.a),
                  operands, d, warps);
  }
}

/// Computes for `warps` all wgmma before number `end` that are not computed yet.
void compute_until(Block &block, unsigned group, unsigned warps, uint64_t end) {
  TensorCores &cores = block.warpgroups[group].ops.tensor_cores;
  for (WgmmaUnderWay &wgmma : cores.under_way) {
    if (wgmma.number >= end)
      break;
    if (unsigned now = wgmma.left & warps) {
      compute(block, wgmma, group, now);
      wgmma.left &= ~now;
      if (wgmma.left == 0)
        wgmma.accumulators->under_way--;
    }
  }
  while (!cores.under_way.empty() && cores.under_way.front().left == 0)
    cores.under_way.pop_front();
}

// ---- checks of a wgmma ----

void check_operand(const warpgroup::Request &request, const models::MatrixDescriptor &descriptor,
                   models::Major major, unsigned rows, char which) {
  Thread &thread = request.threads[0];
  Cluster &cluster = *thread.cluster;
  uint32_t addresses[2 * 256];
  models::chunk_addresses(addresses, descriptor, major, 0, rows);
  uint32_t last = *std::max_element(addresses, addresses + 2 * rows);
  if (last + 16 > cluster.shared.bytes())
    fatal(thread, request.site, Kind::out_of_bounds,
          "%s: the descriptor of %c reaches to offset %u of shared memory, which has %u bytes",
          request.what, which, last + 16, cluster.shared.bytes());
}

void decode(const warpgroup::Request &request, models::MatrixDescriptor &descriptor, uint64_t bits,
            char which) {
  if (const char *problem = models::decode_descriptor(descriptor, bits))
    fatal(request.threads[0], request.site, Kind::misuse, "%s: the descriptor of %c: %s",
          request.what, which, problem);
}

void check_fence(const warpgroup::Request &request, bool takes_registers) {
  for (unsigned i = 0; i < warps_of_group; i++) {
    Thread &thread = request.threads[i * warp_size];
    const TensorCoreQueue &queue = thread.warp->ops.tensor_core;
    if (takes_registers && !queue.fenced)
      fatal(
          thread, request.site, Kind::misuse,
          "%s: no wgmma_fence since the threads last had access to its accumulators\nnote: execute "
          "wgmma_fence before the first wgmma, and after each wgmma_wait that returns accumulators",
          request.what);
    if (request.instruction.a_in_registers && !queue.fenced_group)
      fatal(thread, request.site, Kind::misuse,
            "%s takes A from registers without a wgmma_fence since the last wgmma_commit",
            request.what);
  }
}

} // namespace

void wgmma_fence(const WarpCall<void()> &call) {
  TensorCoreQueue &queue = call.warp().ops.tensor_core;
  queue.used = queue.fenced = queue.fenced_group = true;
}

void wgmma_commit(const WarpCall<void()> &call) {
  TensorCoreQueue &queue = call.warp().ops.tensor_core;
  queue.used = true;
  queue.commits.push_back({tensor_cores_of(call.warp()).issued, queue.last});
  queue.fenced_group = false;
}

namespace warpgroup {

/// Returns `registers` of each thread from `first` on: the accumulators of one wgmma, or values.
template <typename T>
void hand_out(const WarpCall<Fragment<T>(uint32_t, uint32_t, Fragment<T>)> &call, const char *what,
              uint32_t first, uint32_t registers) {
  constexpr bool integer = std::is_same_v<T, int32_t>;
  Warp &warp = call.warp();
  TensorCores &cores = tensor_cores_of(warp);
  TensorCoreQueue &queue = warp.ops.tensor_core;
  Inspection inspection(registers);
  for (unsigned lane = 0; lane < warp_size; lane++) {
    Fragment<T> from = call.template operand<2>(lane);
    std::memcpy(call.result(lane).data + first, from.data + first, size_t(registers) * 4);
    inspection.add(from.data + first);
  }
  Held held = inspection.result(integer);
  if (held.mixed)
    registers_mixed(call.thread(0), call.site, what);
  if (held.identity == 0)
    return;
  Accumulators *accumulators = find_accumulators(cores, held.identity);
  if (!accumulators || accumulators->registers != registers || accumulators->integer != integer)
    registers_stale(call.thread(0), call.site, what);
  if (accumulators->last >= queue.waited)
    return; // still pending: keep the poison
  unsigned quarter = warp.id() % warps_of_group;
  for (unsigned lane = 0; lane < warp_size; lane++)
    std::memcpy(call.result(lane).data + first,
                accumulators->of_thread<T>(quarter * warp_size + lane), size_t(registers) * 4);
  accumulators->handed_out |= 1u << quarter;
  queue.fenced = false;
}

template <typename T>
void wait(const WarpCall<Fragment<T>(uint32_t, uint32_t, Fragment<T>)> &call) {
  constexpr bool integer = std::is_same_v<T, int32_t>;
  const char *what = integer ? "wgmma_wait_s32" : "wgmma_wait_f32";
  Cluster &cluster = call.cluster();
  Block &block = call.block();
  Warp &warp = call.warp();
  unsigned group = warp.threads->id / warpgroup_size, quarter = warp.id() % warps_of_group;
  TensorCores &cores = tensor_cores_of(warp);
  TensorCoreQueue &queue = warp.ops.tensor_core;

  size_t pending = call.template operand<1>(0);
  if (queue.commits.size() > pending) {
    size_t done = queue.commits.size() - pending;
    TensorCoreQueue::Commit commit = queue.commits[done - 1];
    queue.commits.erase(queue.commits.begin(), queue.commits.begin() + long(done));
    queue.waited = commit.issued;
    compute_until(block, group, 1u << quarter, commit.issued);
    auto actors = actors_of(warp);
    cluster.clocks.learn(actors.data(), actors.size(), cluster.clocks.tensor_core(warp.number),
                         commit.epoch);
  }

  // The accumulators that begin at register i, according to the poison of the first thread.
  uint32_t n = call.template operand<0>(0);
  Fragment<T> shown = call.template operand<2>(0);
  auto sum_at = [&](uint32_t i) -> const Accumulators * {
    uint32_t word;
    std::memcpy(&word, shown.data + i, 4);
    uint32_t identity = identity_in(word, 0);
    return identity ? find_accumulators(cores, identity) : nullptr;
  };
  for (uint32_t first = 0, registers = 0; first < n; first += registers) {
    if (const Accumulators *sum = sum_at(first)) {
      registers = std::min(sum->registers, n - first);
    } else {
      registers = 1;
      while (first + registers < n && !sum_at(first + registers))
        registers++;
    }
    hand_out(call, what, first, registers);
  }
}

template void wait(const WarpCall<Fragment<float>(uint32_t, uint32_t, Fragment<float>)> &);
template void wait(const WarpCall<Fragment<int32_t>(uint32_t, uint32_t, Fragment<int32_t>)> &);

void issue(const Request &request) {
  const models::Wgmma &instruction = request.instruction;
  Thread &first = request.threads[0];
  Cluster &cluster = *first.cluster;
  Block &block = *first.block;
  unsigned group = first.id / warpgroup_size;
  TensorCores &cores = block.warpgroups[group].ops.tensor_cores;
  bool integer = models::is_integer(instruction.a);
  uint32_t n = instruction.accumulators();

  if (const char *problem = models::check(instruction))
    fatal(first, request.site, Kind::misuse, "%s with N = %u: %s", request.what, instruction.n,
          problem);
  models::MatrixDescriptor a, b;
  if (!instruction.a_in_registers) {
    decode(request, a, request.a, 'A');
    check_operand(request, a, instruction.major_a, 64, 'A');
  }
  decode(request, b, request.b, 'B');
  check_operand(request, b, instruction.major_b, instruction.n, 'B');

  Inspection inspection(n);
  for (unsigned i = 0; i < warpgroup_size; i++)
    inspection.add(request.accumulators[i]);
  Held held = inspection.result(integer);
  if (held.mixed && instruction.add)
    registers_mixed(first, request.site, request.what);
  Accumulators *accumulators = held.identity ? find_accumulators(cores, held.identity) : nullptr;
  if (instruction.add && held.identity &&
      (!accumulators || accumulators->registers != n || accumulators->integer != integer))
    registers_stale(first, request.site, request.what);
  check_fence(request, !accumulators);
  if (accumulators && !instruction.add)
    accumulators->abandoned = true;
  if (!accumulators || !instruction.add) {
    // After setting `abandoned`, so that the same accumulators may be reused at once.
    accumulators = &new_accumulators(cores, n, integer);
    for (unsigned i = 0; i < warpgroup_size; i++) {
      std::byte *to = reinterpret_cast<std::byte *>(accumulators->of_thread<uint32_t>(i));
      if (instruction.add)
        std::memcpy(to, request.accumulators[i], size_t(n) * 4);
      else
        std::memset(to, 0, size_t(n) * 4);
    }
  }

  uint64_t number = cores.issued++;
  accumulators->identity = identity_of(number);
  accumulators->last = number;
  accumulators->under_way++;
  Pattern pattern;
  pattern.set(accumulators->identity, n);
  for (void *registers : request.results)
    std::memcpy(registers, pattern.words, size_t(n) * 4);

  cores.under_way.emplace_back();
  WgmmaUnderWay &wgmma = cores.under_way.back();
  wgmma.number = number;
  wgmma.instruction = instruction;
  wgmma.a = a;
  wgmma.b = b;
  if (instruction.a_in_registers)
    for (unsigned i = 0; i < warpgroup_size; i++)
      wgmma.a_registers.push_back(*request.a_words[i]);
  wgmma.accumulators = accumulators;
  wgmma.site = &request.site;
  wgmma.what = request.what;
  for (unsigned i = 0; i < warps_of_group; i++) {
    Warp &warp = *request.threads[i * warp_size].warp;
    warp.ops.tensor_core.used = true;
    if (!cluster.races)
      continue;
    auto actors = actors_of(warp);
    Clock issued;
    cluster.clocks.release(actors.data(), actors.size(), issued);
    Actor core = cluster.clocks.tensor_core(warp.number);
    cluster.clocks.issue(core, issued, wgmma.clocks[i]);
    View view = cluster.clocks.view(core, wgmma.clocks[i]);
    warp.ops.tensor_core.last = view.epoch;
    use_from_outside({request.threads[i * warp_size], request.site, request.what, view}, block);
  }
  if (cluster.async == Async::early ||
      (cluster.async == Async::random && cluster.scheduler.random().below(2) == 0))
    compute_until(block, group, 0xf, cores.issued);
}

void operands_differ(Thread &thread, const Site &site, const char *what, const char *operand) {
  fatal(thread, site, Kind::misuse, "%s: the %s is not the same for all threads of the warpgroup",
        what, operand);
}

const char *name_of(models::Input a, models::Input b, bool a_in_registers) {
  using models::Input;
  switch (a) {
  case Input::f16:
    return a_in_registers ? "wgmma_f16_ra" : "wgmma_f16";
  case Input::bf16:
    return a_in_registers ? "wgmma_bf16_ra" : "wgmma_bf16";
  case Input::tf32:
    return a_in_registers ? "wgmma_tf32_ra" : "wgmma_tf32";
  case Input::e4m3:
    if (b == Input::e5m2)
      return a_in_registers ? "wgmma_e4m3_e5m2_ra" : "wgmma_e4m3_e5m2";
    return a_in_registers ? "wgmma_e4m3_ra" : "wgmma_e4m3";
  case Input::e5m2:
    if (b == Input::e4m3)
      return a_in_registers ? "wgmma_e5m2_e4m3_ra" : "wgmma_e5m2_e4m3";
    return a_in_registers ? "wgmma_e5m2_ra" : "wgmma_e5m2";
  case Input::s8:
    return a_in_registers ? "wgmma_s8_ra" : "wgmma_s8";
  case Input::u8:
    return a_in_registers ? "wgmma_u8_ra" : "wgmma_u8";
  }
  return "wgmma";
}

} // namespace warpgroup

// ---- registers ----

namespace {

constexpr uint32_t fewest_registers = 24, max_registers = 256;

/// Registers per thread at the start: an equal share of the SM's registers, at most 256.
uint32_t registers_at_start(const Block &block) {
  const Cluster &cluster = *block.cluster;
  const uint32_t blocks = std::max(cluster.launch->code.blocks_per_sm, 1u);
  return std::min(max_registers, 65536 / blocks / cluster.threads_per_block() / 8 * 8);
}

uint32_t registers_of(const Block &block, unsigned group) {
  uint32_t registers = block.warps[group * warps_of_group].ops.registers;
  return registers ? registers : registers_at_start(block);
}

/// Registers per thread that are left for one warpgroup.
uint32_t registers_left(const Block &block) {
  // Warps after the last complete warpgroup keep their registers.
  uint32_t left = registers_at_start(block) * uint32_t(block.warpgroups.size());
  for (unsigned group = 0; group < block.warpgroups.size(); group++)
    left -= registers_of(block, group);
  return left;
}

void set_registers(Block &block, unsigned group, uint32_t registers) {
  for (unsigned i = 0; i < warps_of_group; i++)
    block.warps[group * warps_of_group + i].ops.registers = registers;
}

/// Checks and returns the number of registers, the operand of setmaxnreg.
uint32_t check_registers(const WarpgroupCall<void(uint32_t)> &call, const char *what) {
  uint32_t registers = call.operand<0>(0);
  for (unsigned lane = 1; lane < warpgroup_size; lane++)
    if (call.operand<0>(lane) != registers)
      warpgroup::operands_differ(call.thread(lane), call.site, what, "number of registers");
  if (registers < fewest_registers || registers > max_registers || registers % 8 != 0)
    fatal(call.thread(0), call.site, Kind::misuse,
          "%s to %u registers: expected a multiple of 8 from %u to %u", what, registers,
          fewest_registers, max_registers);
  return registers;
}

void describe(const Thread &thread, const Waiting &waiting, Text &text) {
  text.add("setmaxnreg_inc to %u registers per thread; the warpgroup has %u, and the block has %u "
           "more per thread left",
           waiting.first, registers_of(*thread.block, waiting.second),
           registers_left(*thread.block));
}

} // namespace

void setmaxnreg_dec(const WarpgroupCall<void(uint32_t)> &call) {
  uint32_t registers = check_registers(call, "setmaxnreg_dec");
  Block &block = call.block();
  unsigned group = call.thread(0).id / warpgroup_size;
  if (registers > registers_of(block, group))
    fatal(call.thread(0), call.site, Kind::misuse,
          "setmaxnreg_dec to %u registers, but the threads of the warpgroup have only %u",
          registers, registers_of(block, group));
  set_registers(block, group, registers);
  // Waiting warpgroups may get more registers now.
  std::erase_if(block.ops.waiting_for_registers, [&](const auto &waiting) {
    uint32_t more = waiting.registers - registers_of(block, waiting.group);
    if (more > registers_left(block))
      return false;
    set_registers(block, waiting.group, waiting.registers);
    for (unsigned i = 0; i < warps_of_group; i++)
      wake_warp(block.warps[waiting.group * warps_of_group + i]);
    return true;
  });
}

void setmaxnreg_inc(const WarpgroupCall<void(uint32_t)> &call) {
  uint32_t registers = check_registers(call, "setmaxnreg_inc");
  Block &block = call.block();
  unsigned group = call.thread(0).id / warpgroup_size;
  if (registers < registers_of(block, group))
    fatal(call.thread(0), call.site, Kind::misuse,
          "setmaxnreg_inc to %u registers, but the threads of the warpgroup have %u", registers,
          registers_of(block, group));
  if (registers - registers_of(block, group) <= registers_left(block)) {
    set_registers(block, group, registers);
    return;
  }
  block.ops.waiting_for_registers.push_back({group, registers});
  call.suspend({"setmaxnreg_inc", registers, group, &call.site, describe});
}

} // namespace tritonc::emulator::ops
