// Launches on a driver that does nothing, all in one program. So all allocations and all reports
// of a thread sanitizer come from the runtime itself.

#include "load/driver.h"
#include "unit/runtime/config_kernel.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

// The test replaces malloc for the whole program, including its libraries. Programs with a
// sanitizer must keep the sanitizer's malloc.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

namespace {

thread_local int allocations = 0;

} // namespace

#if COUNTS_ALLOCATIONS
extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *malloc(std::size_t bytes) {
  allocations++;
  return __libc_malloc(bytes);
}
void *calloc(std::size_t count, std::size_t bytes) {
  allocations++;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, std::size_t bytes) {
  allocations++;
  return __libc_realloc(memory, bytes);
}
}
#endif

using namespace tritonc;

namespace {

std::atomic<int> launches{0}, wrong{0};
std::atomic<int> held{0};                   // device allocations that are not freed
thread_local cuda::Pointer last_memory = 0; // the thread's last allocation, which it must free

template <typename T> T value(void **values, int i) {
  T result;
  std::memcpy(&result, values[i], sizeof result);
  return result;
}

/// The address of `source` and the stream's number identify the launch; n must match it.
alignas(16) char memory[16 * 64];
int index_of(cuda::Stream stream, const void *source) {
  return int(static_cast<const char *>(source) - memory) / 16 -
         int(reinterpret_cast<std::uintptr_t>(stream) >> 12);
}

/// Makes a driver with one H200 that does nothing.
void make_idle(cuda::Driver &driver) {
  driver.version = 13000;
  driver.process = getpid();
  driver.devices = 1;
  driver.devices_are_alike = true;
  static char context, library, kernel;
  driver.cuCtxGetCurrent = [](cuda::Context *current) {
    *current = reinterpret_cast<cuda::Context>(&context);
    return 0;
  };
  driver.cuStreamGetCtx = [](cuda::Stream, cuda::Context *of) {
    *of = reinterpret_cast<cuda::Context>(&context);
    return 0;
  };
  driver.cuCtxGetDevice = [](cuda::Device *device) {
    *device = 0;
    return 0;
  };
  driver.cuDeviceGetAttribute = [](int *value, int attribute, cuda::Device) {
    *value = attribute == cuda::multiprocessor_count ? 132
             : attribute == cuda::capability_major   ? 9
             : attribute == cuda::has_memory_pools   ? 1
             : attribute == cuda::max_shared_bytes   ? 232448
                                                     : 0;
    return 0;
  };
  driver.cuLibraryLoadData = [](cuda::Library *loaded, const void *, int *, void **, unsigned,
                                int *, void **, unsigned) {
    *loaded = reinterpret_cast<cuda::Library>(&library);
    return 0;
  };
  driver.cuLibraryGetKernel = [](cuda::Kernel *found, cuda::Library, const char *) {
    *found = reinterpret_cast<cuda::Kernel>(&kernel);
    return 0;
  };
  driver.cuKernelGetFunction = [](cuda::Function *function, cuda::Kernel kernel) {
    *function = reinterpret_cast<cuda::Function>(kernel);
    return 0;
  };
  driver.cuTensorMapEncodeTiled =
      [](cuda::TensorMapBytes *map, int, std::uint32_t, void *, const std::uint64_t *,
         const std::uint64_t *, const std::uint32_t *, const std::uint32_t *, int, int, int, int) {
        *map = {};
        return 0;
      };
  driver.cuThreadExchangeStreamCaptureMode = [](int *) { return 0; };
  static char pool;
  driver.cuMemPoolCreate = [](cuda::Pool *made, const cuda::PoolProperties *) {
    *made = reinterpret_cast<cuda::Pool>(&pool);
    return 0;
  };
  driver.cuMemPoolSetAttribute = [](cuda::Pool, int, void *) { return 0; };
  driver.cuMemPoolDestroy = [](cuda::Pool) { return 0; };
  driver.cuMemAllocFromPoolAsync = [](cuda::Pointer *memory, std::size_t, cuda::Pool,
                                      cuda::Stream) {
    *memory = ++last_memory;
    held++;
    return 0;
  };
  driver.cuMemFreeAsync = [](cuda::Pointer memory, cuda::Stream) {
    wrong += memory != last_memory;
    held--;
    return 0;
  };
  driver.cuLaunchKernelEx = [](const cuda::LaunchConfig *config, cuda::Function, void **values,
                               void **) {
    launches++;
    int index = index_of(config->stream, value<const void *>(values, 0));
    wrong += index >= 0 && index < 8 && value<std::int32_t>(values, 2) != 64 * (index + 1);
    return 0;
  };
}

/// Returns the number of allocations of `count` repeated launches on each of two streams.
template <typename Args>
int allocations_of(const abi::kernel &kernel, const Args &args, int count) {
  int before = allocations;
  bool succeeded = true;
  for (int i = 0; i < count; i++)
    for (std::uintptr_t where : {0, 0x1000})
      succeeded &= abi::launch(kernel, reinterpret_cast<CUstream_st *>(where), &args).ok();
  int made = allocations - before;
  CHECK(succeeded);
  return made;
}

/// Returns the number of allocations of one prepare and `count` launches.
template <typename Args>
int allocations_of_prepared(const abi::kernel &kernel, const Args &args, int count) {
  int before = allocations;
  abi::prepared_launch ready;
  bool succeeded = abi::prepare(kernel, {}, &args, nullptr, nullptr, ready).ok();
  for (int i = 0; i < count; i++)
    succeeded &= abi::launch_prepared(ready, {}, &args).ok();
  int made = allocations - before;
  CHECK(succeeded);
  return made;
}

} // namespace

TEST_CASE("launch: allocates no host memory") {
  if (!COUNTS_ALLOCATIONS)
    return;
  static cuda::Driver driver;
  make_idle(driver);
  int before = allocations;
  std::free(std::malloc(1));
  REQUIRE(allocations == before + 1); // the counter works
  SampleKernel sample;
  ConfigKernel schedules({{"schedule", {}, "", {"1"}, 1, {TensorText(), TensorText()}}});
  const abi::kernel &formed = schedules.kernel();
  ConfigKernel pair(pair_of_configs("n 4 *"));
  const abi::kernel &paired = pair.kernel();
  cuda::opened = &driver;
  for (int count : {1, 1, 1000}) {
    launches = 0;
    CHECK(allocations_of(sample.kernel, good_args(), count) == 0);
    CHECK(allocations_of(formed, schedule_args(), count) == 0);
    CHECK(allocations_of(paired, schedule_args(), count) == 0);
    CHECK(launches == 8 * count);
    CHECK(allocations_of_prepared(sample.kernel, good_args(), count) == 0);
    CHECK(allocations_of_prepared(formed, schedule_args(), count) == 0);
    CHECK(allocations_of_prepared(paired, schedule_args(), count) == 0);
    CHECK(launches == 12 * count);
  }
  cuda::opened = nullptr;
}

#if COUNTS_ALLOCATIONS && defined(NDEBUG) && !defined(__LLVM_INSTR_PROFILE_GENERATE)
namespace {

/// Runs `work` in a child process and returns the number of its instructions, which does not depend
/// on the machine's load. Returns nullopt on a machine that forbids ptrace.
template <typename Work> std::optional<long> instructions_of_process(const Work &work) {
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      _exit(1);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    return std::nullopt;
  for (long count = 1;; count++) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 ||
        waitpid(child, &status, 0) != child)
      return std::nullopt;
    if (WIFEXITED(status))
      return WEXITSTATUS(status) == 0 ? std::optional(count) : std::nullopt;
  }
}

/// The number of instructions of a repeated launch.
template <typename Launch> long instructions(const Launch &launch) {
  auto times = [&](int count) {
    return instructions_of_process([&] {
      for (int i = 0; i < count; i++)
        launch();
    });
  };
  std::optional<long> few = times(2), more = times(3);
  return few && more ? *more - *few : 0;
}

} // namespace

TEST_CASE("launch: repeat takes at most 250 instructions") {
  static cuda::Driver driver;
  make_idle(driver);
  driver.cuLaunchKernelEx = [](const cuda::LaunchConfig *, cuda::Function, void **, void **) {
    asm volatile("" ::: "memory");
    return 0;
  };
  static SampleKernel sample;
  sample.kernel.argument_bytes = 20;
  static ConfigKernel schedules({{"schedule", {}, "", {"1"}, 1, {TensorText(), TensorText()}}});
  const abi::kernel &formed = schedules.kernel();
  cuda::opened = &driver;
  auto *stream = reinterpret_cast<CUstream_st *>(0x1000);
  SampleArgs args = good_args();
  ConfigArgs schedule_args = tritonc::schedule_args();
  abi::prepared_launch ready, schedule_ready;
  REQUIRE(abi::prepare(sample.kernel, stream, &args, nullptr, nullptr, ready).ok());
  REQUIRE(abi::prepare(formed, stream, &schedule_args, nullptr, nullptr, schedule_ready).ok());
  long again = instructions([&] { (void)abi::launch(sample.kernel, stream, &args); });
  long prepared = instructions([&] { (void)abi::launch_prepared(ready, stream, &args); });
  long schedule_again = instructions([&] { (void)abi::launch(formed, stream, &schedule_args); });
  long schedule_prepared =
      instructions([&] { (void)abi::launch_prepared(schedule_ready, stream, &schedule_args); });
  cuda::opened = nullptr;
  MESSAGE("instructions: ", again, " again, ", prepared, " prepared; with two tensor maps ",
          schedule_again, " and ", schedule_prepared);
  if (again == 0) {
    MESSAGE("skipped: this machine forbids ptrace");
    return;
  }
  CHECK(again <= 250);
  CHECK(prepared <= again);
  CHECK(schedule_again <= 350);
  CHECK(schedule_prepared <= schedule_again);
}
#endif

namespace {

std::atomic<int> loads{0};

/// In each round, 64 threads at the same time launch a kernel that is not loaded.
void launch_first(int rounds) {
  static cuda::Driver driver;
  make_idle(driver);
  auto load = driver.cuLibraryLoadData;
  static decltype(load) plain;
  plain = load;
  driver.cuLibraryLoadData = [](auto... values) {
    loads++;
    return plain(values...);
  };
  static SampleKernel sample;
  sample.kernel.argument_bytes = 20;
  cuda::opened = &driver;
  constexpr int threads = 64;
  std::atomic<int> succeeded{0}, arrived{0};
  std::atomic<int> round{0};
  std::vector<std::thread> launching;
  // A barrier: the last thread releases all threads.
  auto wait_for_all = [&](int phase) {
    if (++arrived == threads * phase)
      round = phase;
    while (round < phase)
      std::this_thread::yield();
  };
  int wrong_loads = 0;
  loads = 0;
  static std::uintptr_t launched = 1000; // arguments that are not in the launch cache
  const std::uintptr_t first = launched;
  launched += std::uintptr_t(rounds);
  for (int t = 0; t < threads; t++)
    launching.emplace_back([&, t] {
      for (int i = 0; i < rounds; i++) {
        if (t == 0) {
          wrong_loads += loads != i;
          for (const std::vector<abi::image> &images : sample.images)
            for (const abi::image &image : images)
              image.state->kernel = nullptr;
        }
        wait_for_all(2 * i + 1);
        SampleArgs args = good_args();
        args.source = reinterpret_cast<const void *>((first + std::uintptr_t(i)) << 8);
        succeeded += abi::launch(sample.kernel, {}, &args).ok();
        wait_for_all(2 * i + 2);
      }
    });
  for (std::thread &thread : launching)
    thread.join();
  cuda::opened = nullptr;
  CHECK(succeeded.load() == threads * rounds);
  CHECK(loads.load() == rounds);
  CHECK(wrong_loads == 0);
}

} // namespace

TEST_CASE("launch: 64 threads on an idle driver load once") { launch_first(200); }

TEST_CASE("launch: 64 threads on an idle driver load once, 10,000 times" * doctest::skip()) {
  launch_first(10000);
}

TEST_CASE("launch: threads mix first and repeated launches") {
  static cuda::Driver driver;
  make_idle(driver);
  SampleKernel sample;
  sample.kernel.argument_bytes = 20;
  ConfigKernel schedules({{"schedule", {}, "", {"1"}, 1, {TensorText(), TensorText()}}});
  const abi::kernel &formed = schedules.kernel();
  ConfigKernel pair(pair_of_configs("n 4 *"));
  const abi::kernel &paired = pair.kernel();
  cuda::opened = &driver;
  launches = wrong = 0;
  std::atomic<int> succeeded{0};
  std::vector<std::thread> threads;
  for (std::uintptr_t t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; i++) {
        std::uintptr_t number = i % 3 == 0 ? t + 1 : i % 3 == 1 ? 9 : 0;
        auto *stream = reinterpret_cast<CUstream_st *>(number << 12);
        int index = i / 3 % 8;
        SampleArgs args = good_args();
        ConfigArgs schedule_args = tritonc::schedule_args();
        args.source = schedule_args.source = memory + 16 * (index + int(number));
        args.n = schedule_args.n = 64 * (index + 1);
        succeeded += abi::launch(sample.kernel, stream, &args).ok();
        succeeded += abi::launch(formed, stream, &schedule_args).ok();
        succeeded += abi::launch(paired, stream, &schedule_args).ok();
        abi::prepared_launch ready;
        succeeded += abi::prepare(paired, stream, &schedule_args, nullptr, nullptr, ready).ok() &&
                     abi::launch_prepared(ready, stream, &schedule_args).ok();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  cuda::opened = nullptr;
  CHECK(succeeded == 8 * 2000 * 4);
  CHECK(launches == 8 * 2000 * 6);
  CHECK(held == 0);
  CHECK(wrong == 0);
}
