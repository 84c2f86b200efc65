// Tests prepare, launch_prepared and preload of runtime/src/launch/launch.cpp.

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

using namespace tritonc;

namespace {

/// A machine with a kernel and a prepared launch of it.
struct Setting {
  explicit Setting(const std::string &settings = "") : machine(Machine::as_driver, settings) {}

  status prepare(stream where = {}, const std::int32_t *choice = nullptr,
                 const grid *extent = nullptr) {
    return machine.runtime().prepare(sample.kernel, where, &args, choice, extent, ready);
  }
  status launch(stream where = {}) {
    return machine.runtime().launch_prepared(ready, where, &args);
  }
  StandIn &driver() { return machine.driver(); }
  int launches() { return driver().launches(); }
  /// "sm_90a copy_64"
  std::string image() {
    return driver().last_launch().gpu + std::string(" ") + driver().last_launch().kernel;
  }

  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();
  abi::prepared_launch ready;
};

} // namespace

TEST_CASE("launch_prepared: makes one driver call") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream(), *other = s.driver().new_stream();
  REQUIRE(s.prepare(as_stream(stream)).ok());
  CHECK(s.launches() == 0);
  CHECK(s.driver().counters().libraries == 1);
  for (cu::Stream *where : {stream, other, stream}) {
    s.driver().forget_calls();
    REQUIRE(s.launch(as_stream(where)).ok());
    CHECK(s.driver().calls() == 1);
    cu::LastLaunch launch = s.driver().last_launch();
    CHECK(launch.stream == where);
    CHECK(launch.context == context);
    CHECK(launch.grid[0] == 16);
    CHECK(launch.block[0] == 32);
    CHECK(launch.shared_bytes == 1024);
    CHECK(s.image() == "sm_90a copy_64");
    CHECK(noted_args().source == s.args.source);
    CHECK(noted_args().target == s.args.target);
    CHECK(noted_args().n == 64 * 16);
  }
  CHECK(s.launches() == 3);
}

TEST_CASE("prepare: returns argument errors") {
  Setting s;
  SUBCASE("requirement") {
    s.args.n = 17;
    CHECK(s.prepare().code() == status_code::requirement_failed);
  }
  SUBCASE("null pointer") {
    s.args.target = nullptr;
    CHECK(s.prepare().code() == status_code::null_pointer);
  }
  SUBCASE("unknown variant") {
    std::int32_t unknown = 5;
    CHECK(s.prepare({}, &unknown).code() == status_code::no_variant);
  }
  SUBCASE("damaged code") {
    std::string damaged = s.sample.bytes[1];
    damaged.back() ^= 1;
    s.sample.images[0][1].bytes = damaged.data();
    CHECK(s.prepare().code() == status_code::corrupt_image);
  }
  status launched = s.launch();
  CHECK(launched.code() == status_code::not_prepared);
  CHECK(s.machine.message(launched) == "not prepared: call prepare() first and check its status");
  CHECK(s.launches() == 0);
}

TEST_CASE("prepare: failure invalidates the old prepared launch") {
  Setting s;
  REQUIRE(s.prepare().ok());
  s.args.n = 17;
  REQUIRE_FALSE(s.prepare().ok());
  CHECK(s.launch().code() == status_code::not_prepared);
  s.args.n = 64;
  REQUIRE(s.prepare().ok());
  CHECK(s.launch().ok());
}

TEST_CASE("launch_prepared: empty grid launches nothing") {
  Setting s;
  s.args.n = 0;
  REQUIRE(s.prepare().ok());
  CHECK(s.launch().ok());
  CHECK(s.driver().calls() == 0);
}

TEST_CASE("prepare: uses the named variant and grid") {
  Setting s;
  std::int32_t small = 16;
  REQUIRE(s.prepare({}, &small).ok());
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_90a copy_16");
  CHECK(s.driver().last_launch().grid[0] == 64);
  for (abi::variant &variant : s.sample.variants)
    variant.grid[0] = nullptr;
  CHECK(s.prepare().code() == status_code::invalid_argument);
  grid extent = {3, 4, 5};
  REQUIRE(s.prepare({}, nullptr, &extent).ok());
  extent = {1, 1, 1};
  REQUIRE(s.launch().ok());
  CHECK(s.driver().last_launch().grid[2] == 5);
}

TEST_CASE("launch_prepared: kernel may have no parameters") {
  static std::atomic<int> threads;
  threads = 0;
  Setting s;
  s.sample.kernel.parameter_count = 0;
  for (abi::variant &variant : s.sample.variants) {
    variant.parameters = nullptr; // as in the descriptors of the generator
    variant.requirement_count = 0;
    variant.grid[0] = nullptr;
  }
  for (abi::host_code &code : s.sample.codes) {
    code.parameter_count = 0;
    code.entry = [](const abi::host_operation *, abi::host_thread *, void *const *) { threads++; };
  }
  s.sample.set_threads(32); // updates the images
  const grid extent = {3, 1, 1};
  REQUIRE(
      s.machine.runtime().prepare(s.sample.kernel, {}, nullptr, nullptr, &extent, s.ready).ok());
  CHECK(threads == 0);
  CHECK(s.machine.runtime().launch_prepared(s.ready, {}, nullptr).ok());
  CHECK(threads == 3 * 32);
}

TEST_CASE("launch_prepared: threads may launch a copy") {
  Setting s;
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  auto copy = std::make_unique<abi::prepared_launch>();
  {
    auto first = std::make_unique<abi::prepared_launch>();
    REQUIRE(s.machine.runtime()
                .prepare(s.sample.kernel, as_stream(stream), &s.args, nullptr, nullptr, *first)
                .ok());
    *copy = *first;
    std::memset(static_cast<void *>(first.get()), 0xff, sizeof *first);
  }
  std::atomic<int> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; j++)
        succeeded += s.machine.runtime().launch_prepared(*copy, as_stream(stream), &s.args).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(succeeded == 160);
  CHECK(s.launches() == 160);
}

TEST_CASE("launch_prepared: uses device 0, when no context is current") {
  Setting s;
  REQUIRE(s.prepare().ok());
  for (int round = 0; round < 2; round++) {
    REQUIRE(s.launch().ok());
    CHECK(s.driver().last_launch().context == s.driver().primary());
    CHECK(s.driver().current() == nullptr);
  }
  CHECK(s.launches() == 2);
}

TEST_CASE("launch_prepared: refuses another device") {
  Setting s("version=13000,gpu=90a/80");
  StandIn &driver = s.driver();
  driver.new_context(1);
  cu::Stream *second = driver.new_stream();
  driver.new_context(0);
  cu::Stream *first = driver.new_stream();
  REQUIRE(s.prepare(as_stream(second)).ok());
  driver.forget_calls();
  REQUIRE(s.launch(as_stream(second)).ok());
  CHECK(driver.calls() == 1);
  CHECK(s.image() == "sm_80 copy_64");
  for (stream where : {as_stream(first), stream()}) {
    status refused = s.launch(where);
    CHECK(refused.code() == status_code::not_prepared);
    CHECK(s.machine.message(refused) == "sample::copy: prepared for device 1, but launched on a "
                                        "stream of another device: prepare it for that device too");
  }
  std::thread([&] { // without a context, the default stream belongs to device 0
    CHECK(s.launch().code() == status_code::not_prepared);
    CHECK(driver.current() == nullptr);
  })
      .join();
  CHECK(s.launches() == 1);
  REQUIRE(s.prepare().ok());
  CHECK(s.launch(as_stream(first)).ok());
  CHECK(s.image() == "sm_90a copy_64");
}

TEST_CASE("launch_prepared: allocates no workspace for another device") {
  ConfigText alone = {"alone", {}, "1"};
  alone.workspace = "n 4 *";
  for (const std::vector<ConfigText> &configs : {pair_of_configs("n 4 *"), {alone}}) {
    Machine machine(Machine::as_driver, "version=13000,devices=2,workers=1");
    StandIn &driver = machine.driver();
    driver.new_context(1);
    cu::Stream *second = driver.new_stream();
    driver.new_context(0);
    cu::Stream *first = driver.new_stream();
    ConfigKernel kernel(configs);
    ConfigArgs args = schedule_args();
    abi::prepared_launch ready;
    REQUIRE(machine.runtime()
                .prepare(kernel.kernel(), as_stream(second), &args, nullptr, nullptr, ready)
                .ok());
    status refused = machine.runtime().launch_prepared(ready, as_stream(first), &args);
    CHECK(refused.code() == status_code::not_prepared);
    CHECK(driver.calls("cuMemAllocFromPoolAsync") == 0);
    CHECK(driver.launches() == 0);
    CHECK(machine.runtime().launch_prepared(ready, as_stream(second), &args).ok());
    CHECK(driver.calls("cuMemAllocFromPoolAsync") == 1);
    CHECK(driver.calls("cuMemFreeAsync") == 1);
    CHECK(driver.launches() == int(configs.size()));
  }
}

TEST_CASE("launch_prepared: uses the kernel in another context") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  cu::Context *other_context = s.driver().new_context();
  cu::Stream *other = s.driver().new_stream();
  REQUIRE(s.driver().cuCtxSetCurrent(context) == cu::success);
  REQUIRE(s.prepare(as_stream(stream)).ok());
  for (cu::Stream *where : {stream, other, stream}) {
    s.driver().forget_calls();
    REQUIRE(s.launch(as_stream(where)).ok());
    CHECK((s.driver().calls() == 1) == (where == stream));
    CHECK(s.driver().last_launch().stream == where);
    CHECK(s.driver().last_launch().context == (where == stream ? context : other_context));
    CHECK(s.driver().current() == context);
  }
  CHECK(s.launches() == 3);
}

TEST_CASE("launch_prepared: uses the kernel in a green context") {
  Setting s("version=13000,gpu=90a/80,fail=cuStreamGetCtx:*:801");
  s.driver().new_context(1);
  cu::Stream *stream = s.driver().new_stream();
  s.driver().new_context(0);
  REQUIRE(s.prepare(as_stream(stream)).ok());
  CHECK(s.driver().calls("cuKernelGetFunction") == 0);
  CHECK(s.launch(as_stream(stream)).ok());
  CHECK(s.image() == "sm_80 copy_64");
}

TEST_CASE("prepare: works during capture") {
  for (bool is_old : {false, true}) {
    CAPTURE(is_old);
    Setting s(is_old ? "version=12000" : "version=13000");
    s.driver().new_context();
    cu::Stream *stream = s.driver().new_stream();
    REQUIRE(s.machine.runtime().preload(s.sample.kernel, nullptr, abi::current).ok());
    REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
    s.driver().forget_calls();
    CHECK(s.prepare(as_stream(stream)).ok());
    // On older drivers, prepare must not make this call during a capture.
    CHECK((s.driver().calls("cuKernelGetFunction") == 0) == is_old);
    CHECK(s.launch(as_stream(stream)).ok());
    cu::Graph *graph = nullptr;
    CHECK(s.driver().cuStreamEndCapture(stream, &graph) == cu::success);
    CHECK(graph != nullptr);
  }
}

TEST_CASE("prepare: returns load errors") {
  Setting s;
  s.driver().new_context();
  s.driver().configure("fail=cuKernelGetFunction:1:2");
  CHECK(s.prepare().code() == status_code::out_of_memory);
  CHECK(s.launch().code() == status_code::not_prepared);
  CHECK(s.prepare().ok());
  CHECK(s.launch().ok());
}

TEST_CASE("launch_prepared: works after the context is replaced") {
  Setting s;
  cu::Context *before = s.driver().new_context();
  REQUIRE(s.prepare().ok());
  REQUIRE(s.launch().ok());
  REQUIRE(s.driver().cuCtxDestroy_v2(before) == cu::success);
  cu::Context *after = s.driver().new_context();
  REQUIRE(s.launch().ok());
  CHECK(s.driver().last_launch().context == after);
}

TEST_CASE("launch_prepared: returns the driver's error") {
  Setting s;
  REQUIRE(s.prepare().ok());
  s.driver().configure("fail=cuLaunchKernelEx:1:2,fail=cuLaunchKernelEx:2:700");
  CHECK(s.launch().code() == status_code::out_of_memory);
  CHECK(s.launch().code() == status_code::device_lost);
}

TEST_CASE("prepare: encodes tensor maps once") {
  Machine machine;
  ConfigKernel kernel(
      {{"schedule", {}, "", {"programs0"}, 1, {TensorText(), {abi::hidden_kind::i32, "n 3 *"}}}});
  ConfigArgs args = schedule_args();
  abi::prepared_launch ready;
  REQUIRE(machine.runtime().prepare(kernel.kernel(), {}, &args, nullptr, nullptr, ready).ok());
  int encoded = machine.driver().calls("cuTensorMapEncodeTiled");
  CHECK(encoded >= 1);
  for (int round = 0; round < 3; round++) {
    REQUIRE(machine.runtime().launch_prepared(ready, {}, &args).ok());
    CHECK(noted_launch().schedule == "schedule");
    CHECK(noted_launch().number(1) == args.n * 3);
  }
  CHECK(machine.driver().calls("cuTensorMapEncodeTiled") == encoded);
}

TEST_CASE("launch_prepared: has the shared memory of its arguments") {
  Machine machine;
  ConfigText schedule = {"schedule"};
  schedule.shared_bytes = "n 4 *";
  schedule.image_shared_bytes = 8192;
  ConfigKernel kernel({schedule});
  ConfigArgs args = schedule_args();
  abi::prepared_launch ready;
  REQUIRE(machine.runtime().prepare(kernel.kernel(), {}, &args, nullptr, nullptr, ready).ok());
  for (int round = 0; round < 2; round++) {
    REQUIRE(machine.runtime().launch_prepared(ready, {}, &args).ok());
    CHECK(machine.driver().last_launch().shared_bytes == 4096);
  }
}

TEST_CASE("launch_prepared: launches a pair in order, with workspace") {
  Machine machine(Machine::as_driver, "workers=1");
  machine.driver().new_context();
  ConfigKernel kernel(pair_of_configs("n 4 *"));
  ConfigArgs args = schedule_args();
  abi::prepared_launch ready;
  REQUIRE(machine.runtime().prepare(kernel.kernel(), {}, &args, nullptr, nullptr, ready).ok());
  for (int round = 1; round <= 3; round++) {
    REQUIRE(machine.runtime().launch_prepared(ready, {}, &args).ok());
    CHECK(machine.driver().launches() == 2 * round);
    CHECK(machine.driver().last_launch().grid[0] == 2);
    CHECK(machine.driver().calls("cuMemAllocFromPoolAsync") == round);
    CHECK(machine.driver().calls("cuMemFreeAsync") == round);
  }
  machine.driver().configure("fail=cuLaunchKernelEx:2:999"); // last_launch is the first of the pair
  CHECK_FALSE(machine.runtime().launch_prepared(ready, {}, &args).ok());
  CHECK(machine.driver().last_launch().grid[0] == 4);
  CHECK(machine.driver().counters().bytes == 0);
}

TEST_CASE("preload: loads only the named variant") {
  Setting s;
  std::int32_t small = 16;
  REQUIRE(s.machine.runtime().preload(s.sample.kernel, &small, abi::current).ok());
  CHECK(s.driver().counters().libraries == 1);
  REQUIRE(s.prepare({}, &small).ok());
  CHECK(s.driver().calls("cuLibraryLoadData") == 1);
}

TEST_CASE("preload: loads for a device ordinal") {
  Setting s("version=13000,gpu=90a/80");
  StandIn &driver = s.driver();
  auto preload = [&](int device) {
    return s.machine.runtime().preload(s.sample.kernel, nullptr, device);
  };
  SUBCASE("into the primary context, which stays retained") {
    REQUIRE(preload(1).ok());
    CHECK(driver.current() == nullptr);
    CHECK(driver.calls("cuFuncLoad") == 2);
    unsigned flags = 0;
    int is_active = 0;
    REQUIRE(driver.cuDevicePrimaryCtxGetState(1, &flags, &is_active) == cu::success);
    CHECK(is_active == 1);
    REQUIRE(preload(1).ok());
    CHECK(driver.calls("cuDevicePrimaryCtxRetain") == 1);
    driver.make_current(driver.primary(1));
    REQUIRE(s.prepare().ok());
    REQUIRE(s.launch().ok());
    CHECK(s.image() == "sm_80 copy_64");
    CHECK(driver.counters().libraries == 2); // of the two variants, for sm_80 only
  }
  SUBCASE("into the current context, if it belongs to the device") {
    cu::Context *context = driver.new_context(1);
    REQUIRE(preload(1).ok());
    CHECK(driver.calls("cuDevicePrimaryCtxRetain") == 0);
    REQUIRE(preload(0).ok());
    CHECK(driver.calls("cuDevicePrimaryCtxRetain") == 1);
    CHECK(driver.current() == context);
  }
  SUBCASE("unknown device") {
    for (int device : {2, 64, 1000, -7}) {
      status refused = preload(device);
      CHECK(refused.code() == status_code::no_device);
      CHECK(s.machine.message(refused) == "sample::copy: no CUDA device " + std::to_string(device));
    }
  }
}
