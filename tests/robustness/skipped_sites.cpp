// Replaces synchronizing operations by versions that skip chosen sites. See skipped_sites.h.

#include "robustness/skipped_sites.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace tritonc::emulator::test {
namespace {

constexpr std::string_view synchronizing[] = {
    "barrier",
    "barrier_sync",
    "barrier_arrive",
    "warp_sync",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_wait",
    "cp_async_commit",
    "cp_async_wait",
    "cp_async_mbarrier_arrive",
    "mbarrier_init",
    "mbarrier_arrive",
    "mbarrier_expect_tx",
    "mbarrier_arrive_expect_tx",
    "mbarrier_arrive_cluster",
    "mbarrier_wait",
    "fence_proxy_async",
    "fence_mbarrier_init",
    "fence_cta",
    "fence_gpu",
    "bulk_commit",
    "bulk_wait",
    "bulk_wait_read",
    "wgmma_fence",
    "wgmma_commit",
    "wgmma_wait_f32",
    "wgmma_wait_s32",
};

constexpr size_t max_operations = 512;

// The state of the functions below; only one SkippedSites exists at a time.
struct Current {
  abi::host_code original;
  const abi::host_site *skipped = nullptr;
  size_t skipped_operation = 0;

  std::mutex mutex;
  std::atomic<const abi::host_operation *> given = nullptr; // the table that `table` replaces
  std::array<abi::host_operation, max_operations> operations = {};
  std::array<abi::host_operation, max_operations> table = {};
  std::set<std::pair<size_t, const abi::host_site *>> found;
  bool is_noting = true;
};
Current *current = nullptr;

std::string_view name_of(size_t operation) {
  std::string_view signature = current->original.operations[operation];
  return signature.substr(0, signature.find(' '));
}

/// {n, pending, registers, result}: copies the registers to the result.
void hand_on(void *records, uint32_t count) {
  auto *record = static_cast<std::byte *>(records);
  for (; count > 0; count--) {
    uint32_t n;
    std::memcpy(&n, record, 4);
    std::memcpy(record + 8 + 4 * size_t(n), record + 8, 4 * size_t(n));
    record += 8 + 8 * size_t(n);
  }
}

template <size_t i>
void observe(void *thread, void *records, uint32_t count, const abi::host_site *site) {
  if (current->is_noting) {
    std::lock_guard lock(current->mutex);
    current->found.emplace(i, site);
  }
  if (site == current->skipped && i == current->skipped_operation) {
    if (name_of(i).substr(0, 10) == "wgmma_wait")
      hand_on(records, count);
    return;
  }
  current->operations[i](thread, records, count, site);
}

template <size_t... i>
constexpr std::array<abi::host_operation, sizeof...(i)> observers(std::index_sequence<i...>) {
  return {observe<i>...};
}
constexpr auto all_observers = observers(std::make_index_sequence<max_operations>());

void entry(const abi::host_operation *operations, abi::host_thread *thread,
           void *const *arguments) {
  if (current->given != operations) {
    std::lock_guard lock(current->mutex);
    if (current->given != operations) {
      for (size_t i = 0; i < current->original.operation_count; i++) {
        current->operations[i] = operations[i];
        bool synchronizes = std::find(std::begin(synchronizing), std::end(synchronizing),
                                      name_of(i)) != std::end(synchronizing);
        current->table[i] = synchronizes ? all_observers[i] : operations[i];
      }
      current->given = operations;
    }
  }
  current->original.entry(current->table.data(), thread, arguments);
}

} // namespace

SkippedSites::SkippedSites(const abi::host_code &code) {
  assert(!current && code.operation_count <= max_operations);
  current = new Current;
  current->original = code;
}

SkippedSites::~SkippedSites() { delete std::exchange(current, nullptr); }

abi::host_code SkippedSites::code(const abi::host_code &code) {
  assert(code.operation_count == current->original.operation_count);
  current->original = code;
  current->given = nullptr; // the next launch's table may be at the same address
  abi::host_code result = code;
  result.entry = entry;
  return result;
}

std::vector<SkippedSites::Site> SkippedSites::found() const {
  std::vector<Site> sites;
  for (auto [operation, site] : current->found)
    sites.push_back({std::string(name_of(operation)), *site, site});
  auto key = [](const Site &site) {
    return std::tuple(std::string_view(site.place.file), site.place.line, site.place.column,
                      std::string_view(site.operation));
  };
  std::sort(sites.begin(), sites.end(),
            [&](const Site &a, const Site &b) { return key(a) < key(b); });
  return sites;
}

void SkippedSites::skip(const Site *site) {
  current->is_noting = false;
  current->skipped = site ? site->identity : nullptr;
  for (size_t i = 0; site && i < current->original.operation_count; i++)
    if (name_of(i) == site->operation)
      current->skipped_operation = i;
}

} // namespace tritonc::emulator::test
