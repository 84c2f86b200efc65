// What the stand-in driver promises is what the driver does: one list of calls and their results,
// for both.
//
// Without arguments test_driver_agreement takes the stand-in; with `--real` the machine's driver,
// where the kernels are PTX. There it says so and exits with 77 if there is none. Cases that ruin
// the process (faults, forks, resets) are marked `skip` and run by a process of their own.
#pragma once

#include <doctest/doctest.h>

#include "runtime/stand_in.h"

#include <cstddef>

namespace tritonc::agreement {

extern bool is_real; // it is the machine's driver that is asked
extern cu::Functions driver;

/// Code with kernels `add`, target[i] = source[i] + n, 64 per block, once the launch in front is
/// done, and `add_in_pairs`, which does nothing in clusters of 2, and with 32 bytes of constant
/// memory: 7, 8, 0 ...
const void *code_of(const char *kernel);
cu::Library *load(const char *kernel);
cu::Kernel *get_kernel(const char *name = "add");

/// A context of one's own, current while it lives.
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
/// A pool that keeps all that is given back.
cu::Pool *make_pool();
cu::Pointer allocated_in_order(cu::Stream *stream); // 256 bytes, and it has happened

/// A case in a process of its own; true if all of it held.
bool holds_alone(const char *name);

} // namespace tritonc::agreement

using namespace tritonc;
using namespace tritonc::agreement;
