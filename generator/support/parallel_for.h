// parallel_for: runs the iterations of a loop on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace tritonc {

/// Calls job(0) to job(count - 1) in parallel, in any order, on at most `threads` threads. 0 = one
/// thread per core.
template <typename Job> void parallel_for(size_t count, int threads, const Job &job) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < count;)
      job(i);
  };
  size_t cores = threads > 0 ? size_t(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < std::min(cores, count); i++)
      others.emplace_back(work);
  } catch (const std::system_error &) { // no more threads: the existing threads do all jobs
  }
  work();
  for (std::thread &thread : others)
    thread.join();
}

} // namespace tritonc
