// Runs the random kernels of a file that `random_campaign --batch` has written. The file has two
// images per kernel: with and without ptxas optimization. The inputs come from the kernel's seed.
// The results must equal the expected results bit by bit, and the guards around the buffers must
// not change.
//
//     random_test FILE [--from N]
//
// A kernel that faults destroys the driver's context, and a kernel that hangs never ends. So each
// child process runs a few hundred kernels. If a child ends early, the next child starts after the
// kernel at fault.
//
// Prints one line per failure, then the counts. Exit codes: 0 all passed, 1 failure, 77 no GPU.

#include "random_kernels/batch_file.h"
#include "random_kernels/isolate.h"

#include "load/driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace {

using namespace tritonc::random;
using tritonc::v1::cuda::Driver;
using tritonc::v1::cuda::Pointer;
namespace cuda = tritonc::v1::cuda;

constexpr size_t guard = 512; // bytes before and after a buffer
constexpr unsigned char guard_byte = 0xa5;
constexpr size_t kernels_per_child = 300;
constexpr int seconds_per_child = 60;

// An error of a driver call.
struct DriverError {
  std::string text;
};

void check(const Driver &driver, int result, const char *what) {
  if (result == cuda::success)
    return;
  const char *name = "?";
  driver.cuGetErrorName(result, &name);
  throw DriverError{std::string(what) + ": " + name};
}

// A buffer in device memory between two guards.
class Buffer {
public:
  Buffer(const Driver &driver, const std::vector<uint8_t> &bytes)
      : driver_(driver), bytes_(bytes.size()) {
    std::vector<uint8_t> all(bytes.size() + 2 * guard, guard_byte);
    std::copy(bytes.begin(), bytes.end(), all.begin() + guard);
    check(driver, driver.cuMemAlloc(&memory_, all.size()), "cuMemAlloc");
    check(driver, driver.cuMemcpyHtoD(memory_, all.data(), all.size()), "cuMemcpyHtoD");
  }
  ~Buffer() { driver_.cuMemFree(memory_); }
  Buffer(const Buffer &) = delete;

  Pointer begin() const { return memory_ + guard; }

  // Reads the contents into `bytes`. Returns false if a guard has changed.
  bool read(std::vector<uint8_t> &bytes) const {
    std::vector<uint8_t> all(bytes_ + 2 * guard);
    check(driver_, driver_.cuMemcpyDtoH(all.data(), memory_, all.size()), "cuMemcpyDtoH");
    bytes.assign(all.begin() + guard, all.end() - guard);
    for (size_t i = 0; i < guard; i++)
      if (all[i] != guard_byte || all[all.size() - 1 - i] != guard_byte)
        return false;
    return true;
  }

private:
  const Driver &driver_;
  Pointer memory_ = 0;
  size_t bytes_;
};

// A loaded image.
class Code {
public:
  Code(const Driver &driver, const BatchKernel &kernel, const BatchImage &image) : driver_(driver) {
    check(driver,
          driver.cuLibraryLoadData(&library_, image.bytes.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0),
          "cuLibraryLoadData");
    cuda::Kernel handle;
    check(driver, driver.cuLibraryGetKernel(&handle, library_, kernel.tried.name.c_str()),
          "cuLibraryGetKernel");
    check(driver, driver.cuKernelGetFunction(&function_, handle), "cuKernelGetFunction");
    if (kernel.shared_bytes > 48 * 1024)
      check(driver,
            driver.cuKernelSetAttribute(cuda::max_dynamic_shared_size, int(kernel.shared_bytes),
                                        handle, 0),
            "cuKernelSetAttribute");
  }
  ~Code() { driver_.cuLibraryUnload(library_); }
  Code(const Code &) = delete;

  cuda::Function function() const { return function_; }

private:
  const Driver &driver_;
  cuda::Library library_ = nullptr;
  cuda::Function function_ = nullptr;
};

// Runs a kernel and returns an error in its results, or "".
std::string run(const Driver &driver, const BatchKernel &kernel, const BatchImage &image) {
  const Case &tried = kernel.tried;
  std::vector<std::unique_ptr<Buffer>> buffers(tried.arguments.size());
  std::vector<std::vector<uint8_t>> values(tried.arguments.size());
  std::vector<void *> arguments;
  for (size_t i = 0; i < tried.arguments.size(); i++) {
    const Argument &argument = tried.arguments[i];
    if (argument.role == Parameter::Role::number) {
      append_bytes(argument.scalar, {argument.integer, argument.real}, values[i]);
    } else {
      buffers[i] = std::make_unique<Buffer>(driver, initial_bytes(tried, int(i)));
      Pointer pointer = buffers[i]->begin();
      values[i].resize(sizeof pointer);
      std::memcpy(values[i].data(), &pointer, sizeof pointer);
    }
    arguments.push_back(values[i].data());
  }
  Code code(driver, kernel, image);
  cuda::LaunchConfig config = {};
  config.grid_x = unsigned(tried.grid[0]);
  config.grid_y = unsigned(tried.grid[1]);
  config.grid_z = unsigned(tried.grid[2]);
  config.block_x = kernel.threads;
  config.block_y = config.block_z = 1;
  config.shared_bytes = kernel.shared_bytes;
  check(driver, driver.cuLaunchKernelEx(&config, code.function(), arguments.data(), nullptr),
        "cuLaunchKernelEx");
  check(driver, driver.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  std::vector<std::vector<uint8_t>> results(tried.arguments.size());
  for (size_t i = 0; i < buffers.size(); i++)
    if (buffers[i] && !buffers[i]->read(results[i]))
      return "writes out of bounds of " + tried.arguments[i].name;
  return difference(tried, results);
}

// --- Child processes -----------------------------------------------------------------------------

std::vector<BatchKernel> kernels;

// Runs kernels from `first` on. Prints "at <kernel>" before each kernel, and a FAILED line per
// failure. Returns "next <kernel after the last> <passed images>"; without a GPU "none <reason>".
std::string run_from(size_t first) {
  tritonc::status why;
  const Driver *driver = cuda::open_driver(why);
  if (!driver)
    return "none " + std::string(why.message().c_str());
  cuda::Context context;
  driver->cuDevicePrimaryCtxRetain(&context, 0);
  driver->cuCtxPushCurrent(context);
  size_t end = std::min(first + kernels_per_child, kernels.size()), passed = 0;
  for (size_t i = first; i < end; i++) {
    std::printf("at %zu\n", i);
    for (const BatchImage &image : kernels[i].images) {
      std::string name = "seed " + std::to_string(kernels[i].seed) + " " + image.how + ": ";
      try {
        std::string wrong = run(*driver, kernels[i], image);
        if (wrong.empty())
          passed++;
        else
          std::printf("FAILED %s%s\n", name.c_str(), wrong.c_str());
      } catch (const DriverError &error) { // later results are meaningless
        std::printf("FAILED %s%s\n", name.c_str(), error.text.c_str());
        std::fflush(stdout);
        return "next " + std::to_string(i + 1) + " " + std::to_string(passed);
      }
    }
    std::fflush(stdout);
  }
  return "next " + std::to_string(end) + " " + std::to_string(passed);
}

struct Progress {
  size_t next = 0, passed = 0, failed = 0;
  bool has_gpu = true;
};

// Parses the output of a child.
void read_lines(const std::string &text, Progress &progress) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "at") {
      size_t at;
      words >> at;
      progress.next = at + 1; // where to go on if the child ends here
    } else if (word == "FAILED") {
      progress.failed++;
      std::printf("%s\n", line.c_str());
    }
  }
}

bool read_file(const char *path) {
  std::ifstream in(path, std::ios::binary);
  if (!read_batch_header(in))
    return false;
  bool is_broken;
  while (std::optional<BatchKernel> kernel = read_batch_kernel(in, is_broken))
    kernels.push_back(std::move(*kernel));
  return !is_broken;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 && !(argc == 4 && std::strcmp(argv[2], "--from") == 0)) {
    std::fprintf(stderr, "usage: random_test FILE [--from N]\n");
    return 2;
  }
  if (!read_file(argv[1])) {
    std::fprintf(stderr, "%s: cannot read the file, or its format is wrong\n", argv[1]);
    return 2;
  }
  Progress progress;
  progress.next = argc == 4 ? size_t(std::strtoull(argv[3], nullptr, 10)) : 0;
  while (progress.next < kernels.size()) {
    size_t first = progress.next;
    Isolated child = isolated([&] { return run_from(first); }, seconds_per_child);
    read_lines(child.printed, progress);
    if (child.end != Isolated::End::done) {
      std::printf("FAILED seed %llu: %s\n",
                  (unsigned long long)kernels[std::max(progress.next, first + 1) - 1].seed,
                  child.end == Isolated::End::crashed ? "the process crashed" : "timeout");
      progress.failed++;
      progress.next = std::max(progress.next, first + 1);
      continue;
    }
    std::istringstream words(child.text);
    std::string word;
    size_t passed = 0;
    words >> word;
    if (word != "next") {
      std::printf("[SKIP] no GPU:%s\n", child.text.substr(4).c_str());
      return 77;
    }
    words >> progress.next >> passed;
    progress.passed += passed;
    std::printf("%zu of %zu kernels, %zu passed, %zu failed\n", progress.next, kernels.size(),
                progress.passed, progress.failed);
    std::fflush(stdout);
  }
  std::printf("%zu kernels: %zu passed, %zu failed\n", kernels.size(), progress.passed,
              progress.failed);
  return progress.failed ? 1 : 0;
}
