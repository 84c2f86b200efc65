// Tests the runtime with the real driver and a GPU.
//
// The kernel is PTX, which the driver compiles. So this program runs on every machine with a
// driver. Without a driver it prints a message and exits with 77.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "load/driver.h"

#include <tritonc/device.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace tritonc;

namespace {

// target[i] = source[i] + n for 64 elements per block, through shared memory.
const char *const code = R"(
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry add(.param .u64 source, .param .u64 target, .param .u32 n)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [source];
  ld.param.u64 %rd2, [target];
  ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 64, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.u32 %r5, [%rd6];
  shl.b32 %r6, %r3, 2;
  mov.u32 %r7, tile;
  add.s32 %r6, %r7, %r6;
  st.shared.u32 [%r6], %r5;
  bar.sync 0;
  ld.shared.u32 %r5, [%r6];
  add.s32 %r5, %r5, %r1;
  add.s64 %rd7, %rd4, %rd5;
  st.global.u32 [%rd7], %r5;
  ret;
}
)";

// The same with a schedule for GPUs with TMA: the kernel reads the source through a tensor map. It
// adds 1000 * the hidden integer and 100,000 * the cluster size.
const char *const schedule_code = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 128 .b8 tile[];
.visible .entry add(.param .u64 source, .param .u64 target, .param .u32 n,
                    .param .align 64 .b8 map[128], .param .u32 number)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .shared .align 8 .b8 landed[8];
  ld.param.u64 %rd1, [target];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [number];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %tid.x;
  mov.u32 %r5, landed;
  mov.u32 %r6, tile;
  shl.b32 %r7, %r3, 6;
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra started;
  mbarrier.init.shared.b64 [%r5], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r5], 256;
  mov.b64 %rd4, map;
  cvta.param.u64 %rd5, %rd4;
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r6], [%rd5, {%r7}], [%r5];
started:
  bar.sync 0;
waiting:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0;
  @!%p2 bra waiting;
  shl.b32 %r8, %r4, 2;
  add.s32 %r8, %r6, %r8;
  ld.shared.u32 %r9, [%r8];
  add.s32 %r9, %r9, %r1;
  mad.lo.s32 %r9, %r2, 1000, %r9;
  mov.u32 %r10, %cluster_nctaid.x;
  mad.lo.s32 %r9, %r10, 100000, %r9;
  add.s32 %r7, %r7, %r4;
  mul.wide.s32 %rd6, %r7, 4;
  add.s64 %rd7, %rd2, %rd6;
  st.global.u32 [%rd7], %r9;
  ret;
}
)";

struct Args {
  const int *source;
  int *target;
  std::int32_t n;
};

int device_sm() {
  device_info info;
  return current_device(info).ok() ? info.major * 10 + info.minor : 0;
}

/// A new kernel that is not loaded yet. Its image and descriptors are never freed: the driver and
/// the runtime keep their addresses until the process ends.
class FreshKernel {
public:
  explicit FreshKernel(int shared_bytes = 1024, const abi::launch_config *schedule = nullptr)
      : data_(*new Data) {
    std::string &bytes = *new std::string(sizeof(abi::image_header), '\0');
    bytes += schedule ? schedule_code : code;
    bytes += '\0'; // PTX ends with it
    abi::image_header header = {};
    std::memcpy(header.magic, abi::image_magic, sizeof header.magic);
    header.version = abi::image_version;
    header.length = bytes.size() - sizeof header;
    header.checksum = abi::checksum(bytes.data() + sizeof header, header.length);
    std::memcpy(bytes.data(), &header, sizeof header);
    data_.image = {bytes.data(), bytes.size(), &data_.state, device_sm(), 0, nullptr, schedule};
    data_.info.gpu = "ptx";
    data_.info.threads = 64;
    data_.info.shared_bytes = shared_bytes;
    data_.variant.entry = "add";
    data_.variant.parameters = parameters_;
    data_.variant.images = &data_.image;
    data_.variant.infos = &data_.info;
    data_.variant.image_count = 1;
    data_.kernel = {abi::abi_version, 3, "test::add", "ptx", &data_.variant, nullptr, 1, 0, 20, 0};
  }

  status launch(stream where, const Args &args, std::int64_t blocks) const {
    grid extent{blocks, 1, 1};
    return abi::launch(data_.kernel, where, &args, nullptr, &extent);
  }
  status prepare(stream where, const Args &args, std::int64_t blocks, prepared<Args> &ready) const {
    grid extent{blocks, 1, 1};
    return tritonc::prepare(data_.kernel, where, args, nullptr, &extent, ready);
  }
  status preload(int device = abi::current) const {
    return abi::preload(data_.kernel, nullptr, device);
  }
  cuda::Function function() const {
    return reinterpret_cast<cuda::Function>(data_.state.kernel.load());
  }

private:
  static constexpr abi::parameter parameters_[] = {
      {"source", 0, 4, abi::parameter_kind::pointer, false, 8, {}},
      {"target", 8, 4, abi::parameter_kind::pointer, false, 8, {}},
      {"n", 16, 0, abi::parameter_kind::i32, false, 4, {}},
  };
  struct Data {
    abi::image_state state = {};
    abi::image image = {};
    image_info info = {};
    abi::variant variant = {};
    abi::kernel kernel = {};
  };
  Data &data_;
};

constexpr int blocks = 100, elements = 64 * blocks;

// The last 32 elements of the source are outside the tensor. The hidden integer is the grid size.
constexpr int mapped = elements - 32;

constexpr std::int64_t word(abi::op op) { return std::int64_t(op); }

/// A schedule of `schedule_code`.
struct Schedule {
  static constexpr std::int64_t zero[] = {word(abi::op::constant), 0, word(abi::op::end)};
  static constexpr std::int64_t size[] = {word(abi::op::constant), mapped, word(abi::op::end)};
  static constexpr std::int64_t number[] = {word(abi::op::programs), 0, word(abi::op::end)};
  static constexpr abi::tensor_map map = {.parameter = 0,
                                          .data_type = 3, // CU_TENSOR_MAP_DATA_TYPE_INT32
                                          .element_bytes = 4,
                                          .swizzle = 0,
                                          .rank = 1,
                                          .offset = zero,
                                          .size = {size},
                                          .stride = {},
                                          .box = {64},
                                          .reserved = 0};
  static constexpr abi::hidden_parameter hidden[] = {
      {nullptr, nullptr, &map, abi::hidden_kind::tensor_map, 0},
      {number, "number", nullptr, abi::hidden_kind::i32, 0}};
  explicit constexpr Schedule(unsigned cluster)
      : schedule{nullptr, hidden, nullptr, {},      nullptr,
                 nullptr, 0,      2,       cluster, abi::launch_part::whole,
                 0,       0} {}
  abi::launch_config schedule;
};

/// Source and target buffers in the current context.
struct Operands {
  Operands() {
    std::vector<int> host(elements);
    for (int i = 0; i < elements; i++)
      host[size_t(i)] = i;
    REQUIRE(source.allocate(elements).ok());
    REQUIRE(target.allocate(elements).ok());
    REQUIRE(source.copy_from(host.data()).ok());
    REQUIRE(target.fill(0xff).ok());
  }
  Args args(int n) const { return {source.data(), target.data(), n}; }
  bool hold(int n, int known = elements) const {
    std::vector<int> host(elements);
    if (!target.copy_to(host.data()).ok())
      return false;
    for (int i = 0; i < elements; i++)
      if (host[size_t(i)] != (i < known ? i : 0) + n)
        return false;
    return true;
  }
  buffer<int> source, target;
};

const cuda::Driver &driver() {
  status why;
  const cuda::Driver *opened = cuda::open_driver(why);
  REQUIRE(opened);
  return *opened;
}

/// Returns a driver function that the runtime does not use.
template <typename... Parameters> auto driver_function(const char *name, int version) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library);
  using Get = int (*)(const char *, void **, int, std::uint64_t, int *);
  auto get = reinterpret_cast<Get>(dlsym(library, "cuGetProcAddress_v2"));
  void *address = nullptr;
  int found = 1;
  REQUIRE(get(name, &address, version, 0, &found) == 0);
  REQUIRE(address);
  return reinterpret_cast<int (*)(Parameters...)>(address);
}

cuda::Context current() {
  cuda::Context context = nullptr;
  REQUIRE(driver().cuCtxGetCurrent(&context) == 0);
  return context;
}

cuda::Stream new_stream() {
  cuda::Stream stream = nullptr;
  constexpr unsigned non_blocking = 1;
  REQUIRE(driver_function<cuda::Stream *, unsigned>("cuStreamCreate", 2000)(&stream,
                                                                            non_blocking) == 0);
  return stream;
}

cuda::Context new_context(int device) {
  cuda::Context context = nullptr; // cuCtxCreate also makes it current
  REQUIRE(driver_function<cuda::Context *, unsigned, int>("cuCtxCreate", 3020)(&context, 0,
                                                                               device) == 0);
  return context;
}

} // namespace

TEST_CASE("gpu: launch on the default stream computes the result") {
  Operands operands;
  FreshKernel kernel;
  REQUIRE(kernel.launch({}, operands.args(7), blocks).ok());
  CHECK(operands.hold(7));
}

TEST_CASE("gpu: launch without a context leaves none current") {
  Operands operands;
  FreshKernel kernel;
  std::thread([&] {
    CHECK(current() == nullptr);
    status s = kernel.launch({}, operands.args(8), blocks);
    CHECK_MESSAGE(s.ok(), s.message().text);
    CHECK(current() == nullptr);
  }).join();
  CHECK(operands.hold(8));
}

TEST_CASE("gpu: launch uses the stream's context") {
  cuda::Context before = current();
  cuda::Context other = new_context(0);
  Operands operands;
  cuda::Stream stream = new_stream();
  cuda::Context popped;
  REQUIRE(driver().cuCtxPopCurrent(&popped) == 0);
  REQUIRE(current() == before);
  FreshKernel kernel;
  status s = kernel.launch(stream, operands.args(9), blocks);
  CHECK_MESSAGE(s.ok(), s.message().text);
  CHECK(current() == before);
  // The same kernel in the first context.
  {
    Operands here;
    s = kernel.launch({}, here.args(10), blocks);
    CHECK_MESSAGE(s.ok(), s.message().text);
    CHECK(here.hold(10));
  }
  REQUIRE(driver().cuCtxPushCurrent(other) == 0);
  CHECK(synchronize(stream).ok());
  CHECK(operands.hold(9));
  operands.source.reset();
  operands.target.reset();
  REQUIRE(driver().cuCtxPopCurrent(&popped) == 0);
}

TEST_CASE("gpu: first launch during a global-mode capture") {
  if (driver().version < 12030)
    return;
  Operands operands;
  FreshKernel kernel;
  cuda::Stream stream = new_stream();
  constexpr int global_mode = 0;
  REQUIRE(driver_function<cuda::Stream, int>("cuStreamBeginCapture", 10010)(stream, global_mode) ==
          0);
  status s = kernel.launch(stream, operands.args(11), blocks);
  CHECK_MESSAGE(s.ok(), s.message().text);
  void *graph = nullptr, *instance = nullptr;
  REQUIRE(driver_function<cuda::Stream, void **>("cuStreamEndCapture", 10000)(stream, &graph) == 0);
  REQUIRE(graph);
  REQUIRE(driver_function<void **, void *, unsigned long long>("cuGraphInstantiateWithFlags",
                                                               11040)(&instance, graph, 0) == 0);
  REQUIRE(driver_function<void *, cuda::Stream>("cuGraphLaunch", 10000)(instance, stream) == 0);
  CHECK(synchronize(stream).ok());
  CHECK(operands.hold(11));
}

TEST_CASE("gpu: launch with more than 48 KiB of shared memory") {
  Operands operands;
  FreshKernel kernel(60 * 1024), too_much(1 << 20);
  status s = kernel.launch({}, operands.args(12), blocks);
  CHECK_MESSAGE(s.ok(), s.message().text);
  CHECK(operands.hold(12));
  s = too_much.launch({}, operands.args(13), blocks);
  CHECK(s.code() == status_code::no_image_for_device); // without a driver call
  CHECK(synchronize().ok());
}

TEST_CASE("gpu: schedule with tensor map, integer and clusters") {
  if (device_sm() < 90)
    return;
  for (unsigned cluster : {1u, 2u, 4u}) {
    CAPTURE(cluster);
    Operands operands;
    const Schedule &schedule = *new Schedule(cluster);
    FreshKernel kernel(1024, &schedule.schedule);
    for (int n : {7, 7, 8}) { // the second launch comes from the launch cache
      REQUIRE(operands.target.fill(0xff).ok());
      status s = kernel.launch({}, operands.args(n), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
      CHECK(operands.hold(n + 1000 * blocks + 100000 * int(cluster), mapped));
    }
    Args skewed = operands.args(7);
    skewed.source++;
    CHECK(kernel.launch({}, skewed, blocks).code() == status_code::unsuitable_tensor);
  }
}

TEST_CASE("gpu: 64 threads launch an unloaded kernel") {
  Operands operands;
  FreshKernel kernel;
  std::atomic<int> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; i++)
    threads.emplace_back([&] { succeeded += kernel.launch({}, operands.args(14), blocks).ok(); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(succeeded == 64);
  CHECK(operands.hold(14));
}

TEST_CASE("gpu: prepared launch on two streams, with a tensor map") {
  Operands operands;
  FreshKernel kernel;
  cuda::Stream streams[] = {new_stream(), new_stream()};
  prepared<Args> ready;
  REQUIRE(kernel.prepare(streams[0], operands.args(21), blocks, ready).ok());
  for (cuda::Stream stream : streams) {
    CHECK(fill(operands.target.data(), 0, elements * sizeof(int)).ok());
    status s = ready.launch(stream);
    CHECK_MESSAGE(s.ok(), s.message().text);
    CHECK(synchronize(stream).ok());
    CHECK(operands.hold(21));
  }
  if (device_sm() < 90)
    return;
  FreshKernel formed(1024, &(*new Schedule(2)).schedule);
  REQUIRE(operands.target.fill(0xff).ok());
  REQUIRE(formed.prepare({}, operands.args(4), blocks, ready).ok());
  CHECK(ready.launch({}).ok());
  CHECK(operands.hold(4 + 1000 * blocks + 200000, mapped));
}

TEST_CASE("gpu: preload and launch on every device") {
  int count = 0;
  REQUIRE(driver().cuDeviceGetCount(&count) == 0);
  FreshKernel kernel;
  CHECK(kernel.preload().ok());
  for (int device = 0; device < count; device++) {
    CHECK(kernel.preload(device).ok());
    cuda::Context context = new_context(device);
    {
      Operands operands;
      status s = kernel.launch({}, operands.args(15 + device), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
      CHECK(operands.hold(15 + device));
    }
    REQUIRE(driver_function<cuda::Context>("cuCtxDestroy", 4000)(context) == 0);
  }
}

TEST_CASE("gpu: kernel outlives its first context") {
  FreshKernel kernel;
  for (int round = 0; round < 2; round++) {
    cuda::Context context = new_context(0);
    {
      Operands operands;
      status s = kernel.launch({}, operands.args(20 + round), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
      CHECK(operands.hold(20 + round));
    }
    REQUIRE(driver_function<cuda::Context>("cuCtxDestroy", 4000)(context) == 0);
  }
}

TEST_CASE("gpu: repeat on a stream needs no context") {
  Operands operands;
  FreshKernel kernel;
  cuda::Stream stream = new_stream();
  REQUIRE(kernel.launch(stream, operands.args(30), blocks).ok());
  CHECK(synchronize(stream).ok());
  REQUIRE(operands.target.fill(0xff).ok());
  CHECK(synchronize().ok());
  std::thread([&] {
    for (int i = 0; i < 3; i++) {
      status s = kernel.launch(stream, operands.args(30), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
    }
    CHECK(current() == nullptr);
  }).join();
  CHECK(synchronize(stream).ok());
  CHECK(operands.hold(30));
}

TEST_CASE("gpu: launches alternate between three streams") {
  FreshKernel kernel;
  cuda::Stream streams[] = {new_stream(), new_stream(), nullptr};
  Operands operands[3];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 3; i++) {
      status s = kernel.launch(streams[i], operands[i].args(40 + i), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
    }
    for (int i = 0; i < 3; i++) {
      CHECK(synchronize(streams[i]).ok());
      CHECK(operands[i].hold(40 + i));
      REQUIRE(operands[i].target.fill(0xff).ok());
    }
    CHECK(synchronize().ok());
  }
}

TEST_CASE("gpu: launch after a reset of the primary context") {
  FreshKernel kernel(60 * 1024);
  auto reset = driver_function<int>("cuDevicePrimaryCtxReset", 11000);
  for (int round = 0; round < 3; round++) {
    {
      Operands operands;
      status s = kernel.launch({}, operands.args(50 + round), blocks);
      CHECK_MESSAGE(s.ok(), s.message().text);
      CHECK(operands.hold(50 + round));
    }
    REQUIRE(reset(0) == 0);
  }
  std::thread([&] {
    Args nothing = {};
    status s = kernel.launch({}, nothing, 0); // no programs
    CHECK_MESSAGE(s.ok(), s.message().text);
    CHECK(synchronize().ok());
  }).join();
}

TEST_CASE("gpu: prints the cost of a launch") {
  Operands operands;
  FreshKernel kernel;
  cuda::Stream stream = new_stream();
  REQUIRE(kernel.launch(stream, operands.args(0), 1).ok());
  Args args = operands.args(0);
  void *values[] = {&args.source, &args.target, &args.n};
  cuda::LaunchConfig config = {1, 1, 1, 64, 1, 1, 1024, stream, nullptr, 0};
  constexpr int count = 500, rounds = 21;
  auto nanoseconds = [&](auto &&one) {
    std::vector<double> times;
    for (int round = 0; round < rounds; round++) {
      REQUIRE(synchronize(stream).ok());
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < count; i++)
        one();
      times.push_back(
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
              .count() /
          count);
    }
    std::sort(times.begin(), times.end());
    return times[rounds / 2];
  };
  double own = nanoseconds([&] { (void)kernel.launch(stream, args, 1); });
  double plain =
      nanoseconds([&] { driver().cuLaunchKernelEx(&config, kernel.function(), values, nullptr); });
  double on_default = nanoseconds([&] { (void)kernel.launch({}, args, 1); });
  prepared<Args> ready;
  REQUIRE(kernel.prepare(stream, args, 1, ready).ok());
  double prepared = nanoseconds([&] { (void)ready.launch(stream); });
  std::printf("launch: %.0f ns by the runtime, %.0f ns prepared, %.0f ns by the driver alone; %.0f "
              "ns on the default stream\n",
              own, prepared, plain, on_default);
  CHECK(synchronize(stream).ok());
  if (device_sm() < 90)
    return;
  const Schedule schedule(1);
  FreshKernel formed(1024, &schedule.schedule);
  REQUIRE(formed.launch(stream, args, 1).ok());
  double again = nanoseconds([&] { (void)formed.launch(stream, args, 1); });
  double afresh = nanoseconds([&] {
    args.n++;
    (void)formed.launch(stream, args, 1);
  });
  std::printf("launch of a schedule: %.0f ns again, %.0f ns with other arguments\n", again, afresh);
  CHECK(synchronize(stream).ok());
}

// The last test case, because it ruins the context.
TEST_CASE("gpu: illegal address returns device_lost") {
  Operands operands;
  FreshKernel kernel;
  Args args = operands.args(0);
  args.source = reinterpret_cast<const int *>(64);
  CHECK(kernel.launch({}, args, blocks).ok());
  status s = synchronize();
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  s = kernel.launch({}, operands.args(0), blocks);
  CHECK(s.code() == status_code::device_lost);
  CHECK(s.cuda_result() == 700);
  std::printf("%s\n", s.message().text);
}

int main(int count, char **arguments) {
  device_info info;
  status s = current_device(info);
  if (!s.ok()) {
    std::printf("[SKIP] %s\n", s.message().text);
    return 77;
  }
  std::printf("%s, sm_%d%d\n", info.name, info.major, info.minor);
  return doctest::Context(count, arguments).run();
}
