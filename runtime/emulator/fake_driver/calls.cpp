// Counts the calls of each function and makes calls fail on request. See calls.h.

#include "calls.h"

#include "driver.h"

#include <algorithm>
#include <iterator>

namespace tritonc::emulator::driver {

namespace {

constexpr std::string_view names[] = {
#define FUNCTION(name, symbol, since, parameters) #name,
#include "functions.def"
};
constexpr std::size_t name_count = std::size(names);

/// Rows of one name share the counter of the first row.
std::atomic<std::uint64_t> counts[name_count];

/// The first row with this name. The name must exist.
std::size_t index_of(std::string_view function) {
  static const auto *const indices = [] {
    auto *made = new std::unordered_map<std::string_view, std::size_t>;
    for (std::size_t i = 0; i < name_count; i++)
      made->emplace(names[i], i);
    return made;
  }();
  auto found = indices->find(function);
  return found == indices->end() ? name_count : found->second;
}

std::mutex &failures_mutex() {
  static auto *const mutex = new std::mutex;
  return *mutex;
}

bool find_failure(std::string_view function, Result &result) {
  std::lock_guard lock(failures_mutex());
  bool fails = false;
  for (Failure &failure : driver().settings.failures) {
    if (failure.function != function)
      continue;
    failure.seen++;
    if (fails || (failure.call != 0 && failure.call != failure.seen))
      continue;
    result = failure.result;
    fails = true;
  }
  return fails;
}

} // namespace

bool count_call(std::string_view function, Result &result) {
  counts[index_of(function)]++;
  return find_failure(function, result);
}

std::uint64_t calls_of(std::string_view function) {
  if (!function.empty()) {
    std::size_t index = index_of(function);
    return index < name_count ? counts[index].load() : 0;
  }
  std::uint64_t sum = 0;
  for (auto &count : counts)
    sum += count;
  return sum;
}

void forget_calls() {
  for (auto &count : counts)
    count = 0;
}

std::string_view change_settings(std::string_view text) {
  Driver &state = driver();
  std::lock_guard lock(failures_mutex());
  static auto *const wrong = new std::string;
  *wrong = apply(text, state.settings);
  return *wrong;
}

} // namespace tritonc::emulator::driver
