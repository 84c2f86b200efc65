// Tests that the fake driver behaves like the driver: the same calls and results for both.
//
// test_driver_agreement uses the fake driver. With `--real` it uses the machine's driver, and the
// kernels are PTX; without a driver it exits with 77. Cases that ruin the process (faults, forks,
// resets) are marked `skip` and run in a separate process.
#pragma once

#include <doctest/doctest.h>

#include "unit/runtime/fake_driver.h"

#include <cstddef>

namespace tritonc::agreement {

extern bool is_real; // `driver` is the machine's driver
extern cu::Functions driver;

/// Returns code with two kernels and 32 bytes of constant memory: 7, 8, 0, ...
///
/// - `add` waits for the launch before it, then computes target[i] = source[i] + n, with 64
///   elements per block.
/// - `add_in_pairs` does nothing, in clusters of 2 blocks.
const void *code_of(const char *kernel);
cu::Library *load(const char *kernel);
cu::Kernel *get_kernel(const char *name = "add");

/// A new context that is current while the object lives.
struct Own {
  Own() {
    REQUIRE(driver.cuInit(0) == 0);
    REQUIRE(driver.cuCtxCreate_v2(&context, 0, 0) == 0);
  }
  ~Own() { driver.cuCtxDestroy_v2(context); }

  cu::Stream *stream(unsigned flags = 0) {
    cu::Stream *made = nullptr;
    REQUIRE(driver.cuStreamCreate(&made, flags) == 0);
    return made;
  }
  cu::Pointer memory(std::size_t bytes) {
    cu::Pointer made = 0;
    REQUIRE(driver.cuMemAlloc_v2(&made, bytes) == 0);
    REQUIRE(driver.cuMemsetD8_v2(made, 0, bytes) == 0);
    return made;
  }
  cu::Event *event(unsigned flags = 0) {
    cu::Event *made = nullptr;
    REQUIRE(driver.cuEventCreate(&made, flags) == 0);
    return made;
  }

  cu::Context *context = nullptr;
};

struct Shape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {64, 1, 1};
  unsigned shared_bytes = 0;
};

struct Operands {
  cu::Pointer source, target;
  int n = 1;
};

int launch(cu::Kernel *kernel, const Operands &operands, cu::Stream *stream = nullptr,
           const Shape &shape = {});
int launch_in_clusters(cu::Kernel *kernel, const Operands &operands, unsigned grid,
                       unsigned cluster);

cu::PoolProperties pool_properties();
/// Makes a pool that keeps all freed memory.
cu::Pool *make_pool();
/// Allocates 256 bytes in stream order and waits for the allocation.
cu::Pointer allocated_in_order(cu::Stream *stream);

/// Runs the TEST_CASE `name` in a separate process. Returns whether it passed. The name must not
/// contain commas, which separate names in doctest's -tc.
bool holds_alone(const char *name);

} // namespace tritonc::agreement

using namespace tritonc;
using namespace tritonc::agreement;
