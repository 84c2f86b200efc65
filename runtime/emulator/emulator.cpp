// Launches a kernel: checks the launch, runs the clusters on OS threads, and collects the results.
//
// OS threads take clusters in order from one counter. Each OS thread has its own machine (stacks,
// shared memory, clocks), which is kept for later launches.
//
// Tested by tests/unit/emulator/launch_test.cpp.

#include "emulator.h"

#include "launch_state.h"
#include "machine.h"
#include "operations.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

namespace tritonc::emulator {
namespace {

constexpr uint32_t max_threads = 1024, max_blocks = 16;
constexpr uint32_t max_shared_bytes = 227 * 1024;
// Each stack takes two mappings; Linux allows 65530 per process by default.
constexpr size_t max_stacks = 24'000;

struct Machine {
  Stacks stacks;
  Cluster cluster{stacks};
};

// Idle machines. Never destroyed: a launch may still run at process exit.
struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Machine>> machines;

  std::unique_ptr<Machine> take() {
    std::lock_guard lock(mutex);
    if (machines.empty())
      return std::make_unique<Machine>();
    std::unique_ptr<Machine> machine = std::move(machines.back());
    machines.pop_back();
    return machine;
  }
  void give(std::unique_ptr<Machine> machine) {
    std::lock_guard lock(mutex);
    machines.push_back(std::move(machine));
  }
  void clear() {
    std::lock_guard lock(mutex);
    machines.clear();
  }
};

Pool &pool() {
  static Pool &all = *new Pool;
  return all;
}

// ---- checks ----

std::string check(const abi::host_code &code, const Launch &launch) {
  auto text = [](auto... parts) { return (std::string() + ... + parts); };
  auto number = [](uint64_t n) { return std::to_string(n); };
  if (std::memcmp(code.magic, abi::host_code_magic, sizeof code.magic) != 0 ||
      code.version != abi::host_code_version)
    return "not host code, or host code of an unsupported version";
  const Dim3 &grid = launch.grid, &cluster = launch.cluster;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 0xffff ||
      grid.z > 0xffff)
    return text("cannot launch a grid of (", number(grid.x), ", ", number(grid.y), ", ",
                number(grid.z), ") blocks");
  if (launch.threads == 0 || launch.threads % warp_size != 0 || launch.threads > max_threads)
    return text("cannot launch blocks of ", number(launch.threads),
                " threads: expected a multiple of 32, at most 1024");
  if (launch.threads != code.threads)
    return text("cannot launch blocks of ", number(launch.threads),
                " threads: the kernel is compiled for blocks of ", number(code.threads));
  uint64_t blocks = uint64_t(cluster.x) * cluster.y * cluster.z;
  if (blocks == 0 || blocks > max_blocks || grid.x % cluster.x || grid.y % cluster.y ||
      grid.z % cluster.z)
    return text("cannot launch clusters of (", number(cluster.x), ", ", number(cluster.y), ", ",
                number(cluster.z),
                ") blocks: a cluster has at most 16 blocks and must divide the grid");
  if (blocks != std::max(code.cluster_size, 1u))
    return text("cannot launch clusters of ", number(blocks),
                " blocks: the kernel is compiled for clusters of ",
                number(std::max(code.cluster_size, 1u)));
  if (launch.shared_bytes > max_shared_bytes)
    return text("cannot launch blocks with ", number(launch.shared_bytes),
                " bytes of shared memory");
  return "";
}

Result refused(const abi::host_code &code, const std::string &why) {
  Report report;
  report.kind = Report::Kind::invalid_launch;
  report.text = std::string(code.name) + ": error: " + why + " [kernel " + code.name + "]";
  Result result;
  result.reports.push_back(std::move(report));
  return result;
}

// ---- running ----

void run_clusters(LaunchState &state) {
  std::unique_ptr<Machine> machine = pool().take();
  if (machine->stacks.reserve(unsigned(state.launch.cluster.x * state.launch.cluster.y *
                                       state.launch.cluster.z * state.launch.threads))) {
    for (;;) {
      uint64_t index = 0;
      if (!state.begin_next(index))
        break;
      machine->cluster.run(state, index);
      state.end(index);
    }
  } else {
    std::fprintf(stderr, "emulator: too many memory mappings: raise vm.max_map_count\n");
    std::abort();
  }
  pool().give(std::move(machine));
}

size_t worker_count(const LaunchState &state, size_t threads_per_cluster) {
  size_t count = state.options.workers > 0 ? size_t(state.options.workers)
                                           : std::max(1u, std::thread::hardware_concurrency());
  count = std::min(count, max_stacks / threads_per_cluster);
  return size_t(std::clamp<uint64_t>(count, 1, state.clusters));
}

} // namespace

Result launch(const abi::host_code &code, const Launch &launch, const Options &options,
              GlobalMemory &memory) {
  if (std::string why = check(code, launch); !why.empty())
    return refused(code, why);

  static std::atomic<uint32_t> launches = 0;
  LaunchState state(code, launch, options, memory);
  state.number = ++launches;
  for (uint32_t i = 0; i < code.operation_count; i++) {
    abi::host_operation operation = find_operation(code.operations[i]);
    if (!operation)
      return refused(code, "the emulator does not support the operation `" +
                               std::string(code.operations[i]) + "`");
    state.operations.push_back(operation);
  }
  uint64_t per_cluster = uint64_t(launch.cluster.x) * launch.cluster.y * launch.cluster.z;
  uint64_t blocks = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  state.clusters = blocks / per_cluster;

  size_t workers = worker_count(state, per_cluster * launch.threads);
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < workers; i++)
      others.emplace_back([&state] { run_clusters(state); });
    run_clusters(state);
  }
  state.print();
  Result result = state.result();
  result.stats.blocks = blocks;
  return result;
}

void release_machines() { pool().clear(); }

// ---- results ----

void LaunchState::add(uint64_t cluster, const abi::host_site *site, const abi::host_site *other,
                      bool ends, Report report) {
  std::lock_guard lock(mutex_);
  if (cluster > last)
    return;
  if (ends)
    last = cluster;
  Key key = {report.kind, std::min(site, other), std::max(site, other)};
  auto [found, is_new] = found_.try_emplace(key);
  if (is_new || cluster < found->second.cluster)
    found->second = {cluster, order_++, ends, std::move(report)};
}

bool LaunchState::begin_next(uint64_t &cluster) {
  std::lock_guard lock(mutex_);
  cluster = next_++;
  if (cluster >= clusters || cluster > last)
    return false;
  running_.insert(cluster);
  return true;
}

void LaunchState::end(uint64_t cluster) {
  std::lock_guard lock(mutex_);
  running_.erase(cluster);
}

bool LaunchState::is_first_running(uint64_t cluster) {
  std::lock_guard lock(mutex_);
  return *running_.begin() == cluster;
}

bool LaunchState::give_signal(const void *address, Signal signal) {
  std::lock_guard lock(mutex_);
  return signals_.emplace(address, std::move(signal)).second;
}

bool LaunchState::take_signal(const void *address, Signal &signal) {
  std::lock_guard lock(mutex_);
  auto found = signals_.find(address);
  if (found == signals_.end())
    return false;
  signal = std::move(found->second);
  signals_.erase(found);
  return true;
}

void LaunchState::add_lines(uint64_t cluster, std::string text) {
  std::lock_guard lock(mutex_);
  lines_[cluster] = std::move(text);
}

void LaunchState::add_switches(uint64_t switches) {
  std::lock_guard lock(mutex_);
  switches_ += switches;
}

Result LaunchState::result() {
  std::vector<Found> found;
  for (auto &[key, one] : found_)
    if (one.cluster <= last)
      found.push_back(std::move(one));
  std::sort(found.begin(), found.end(), [](const Found &a, const Found &b) {
    return std::tie(a.cluster, a.order) < std::tie(b.cluster, b.order);
  });
  Result result;
  result.stats.switches = switches_;
  for (Found &one : found) {
    // The report that ended the launch is always included.
    if (result.reports.size() < options.max_reports || one.ends)
      result.reports.push_back(std::move(one.report));
    else
      result.stats.more_reports++;
  }
  return result;
}

void LaunchState::print() {
  for (const auto &[cluster, text] : lines_) {
    if (cluster > last)
      break;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = text.find('\n', begin);
      std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (options.print)
        options.print(line);
      else
        std::printf("%.*s\n", int(line.size()), line.data());
      begin = end + 1;
    }
  }
  if (!lines_.empty() && !options.print)
    std::fflush(stdout);
}

} // namespace tritonc::emulator
