// Tests runtime/src/launch/launch.cpp and load/context.cpp: argument checks, the choice of the
// variant, contexts, the launch.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace tritonc;

namespace {

/// A machine with one kernel.
struct Setting {
  explicit Setting(const std::string &settings = "") : machine(Machine::as_driver, settings) {}
  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();

  status launch(stream where = {}, const std::int32_t *choice = nullptr,
                const grid *extent = nullptr) {
    return machine.runtime().launch(sample.kernel, where, &args, choice, extent);
  }
  StandIn &driver() { return machine.driver(); }
  int launches() { return driver().launches(); }
  cu::LastLaunch last() { return driver().last_launch(); }
  /// "sm_90a copy_64"
  std::string image() { return last().gpu + std::string(" ") + last().kernel; }
  int driver_calls() { return driver().calls(); }
};

} // namespace

TEST_CASE("launch: passes grid, block, shared memory and arguments") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  REQUIRE(s.launch(as_stream(stream)).ok());
  REQUIRE(s.launches() == 1);
  cu::LastLaunch launch = s.last();
  CHECK(s.image() == "sm_90a copy_64");
  CHECK(launch.grid[0] == 16);
  CHECK(launch.grid[1] == 1);
  CHECK(launch.grid[2] == 1);
  CHECK(launch.block[0] == 32);
  CHECK(launch.block[1] == 1);
  CHECK(launch.shared_bytes == 1024);
  CHECK(launch.stream == stream);
  CHECK(launch.context == context);
  CHECK(noted_args().source == s.args.source);
  CHECK(noted_args().target == s.args.target);
  CHECK(noted_args().n == 64 * 16);
}

TEST_CASE("launch: refuses wrong arguments before the driver opens") {
  Setting s;
  SUBCASE("requirement of the last variant") {
    s.args.n = 17;
    status result = s.launch();
    CHECK(result.code() == status_code::requirement_failed);
    CHECK(std::string(result.argument()) == "n % 16 == 0");
  }
  SUBCASE("null pointer") {
    s.args.target = nullptr;
    status result = s.launch();
    CHECK(result.code() == status_code::null_pointer);
    CHECK(std::string(result.argument()) == "target");
  }
  SUBCASE("misaligned pointer") {
    s.args.source = static_cast<const char *>(s.args.source) + 2;
    status result = s.launch();
    CHECK(result.code() == status_code::misaligned_pointer);
    CHECK(std::string(result.argument()) == "source");
    CHECK(s.machine.message(result).find("16 bytes") != std::string::npos);
  }
  SUBCASE("a bad pointer precedes an unmet requirement") {
    const std::int64_t never[] = {std::int64_t(abi::op::constant), 0, std::int64_t(abi::op::end)};
    const abi::requirement requirement = {never, "never"};
    s.sample.variants[1].requirements = &requirement;
    s.args.source = nullptr;
    CHECK(s.launch().code() == status_code::null_pointer);
  }
  SUBCASE("negative grid") {
    s.args.n = -64;
    CHECK(s.launch().code() == status_code::invalid_argument);
  }
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("launch: accepts null for nullable parameters") {
  Setting s;
  s.args.target = nullptr;
  s.sample.parameters[1].nullable = true;
  CHECK(s.launch().ok());
  CHECK(s.launches() == 1);
}

TEST_CASE("launch: empty grid succeeds without a launch") {
  Setting s;
  s.args.n = 0;
  s.args.source = nullptr;
  CHECK(s.launch().ok());
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("launch: a zero axis makes a grid of any size empty") {
  Setting s;
  for (abi::variant &variant : s.sample.variants)
    variant.grid[0] = nullptr;
  auto launch = [&](grid extent) { return s.launch({}, nullptr, &extent); };
  const std::int64_t large = std::int64_t(1) << 40;
  for (grid extent : {grid{0, 65536, 1}, grid{0, 1, 65536}, grid{1, 0, 65536}, grid{large, 0, 1},
                      grid{large, large, 0}, grid{0, 0, 0}})
    CHECK(launch(extent).ok());
  for (grid extent : {grid{0, -1, 1}, grid{-1, 0, 65536}, grid{1, 65536, -1}, grid{1, 65536, 1}})
    CHECK(launch(extent).code() == status_code::invalid_argument);
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("launch: a declared grid with a zero axis is empty") {
  Setting s;
  const std::int64_t n[] = {std::int64_t(abi::op::parameter), 2, std::int64_t(abi::op::end)};
  const std::int64_t large[] = {std::int64_t(abi::op::constant), 65536, std::int64_t(abi::op::end)};
  for (abi::variant &variant : s.sample.variants) {
    variant.grid[0] = n;
    variant.grid[1] = large;
  }
  s.args.n = 0;
  CHECK(s.launch().ok());
  s.args.n = 64;
  CHECK(s.launch().code() == status_code::invalid_argument);
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("launch: prefers the first variant that fills the device") {
  Setting s("sms=10");
  auto chosen = [&](int n) {
    s.args.n = n;
    REQUIRE(s.launch().ok());
    return s.image();
  };
  CHECK(chosen(64 * 10) == "sm_90a copy_64");
  CHECK(chosen(64 * 9) == "sm_90a copy_16");    // 9 programs leave an SM idle, 36 do not
  CHECK(chosen(64) == "sm_90a copy_16");        // no variant fills it: max number of programs
  CHECK(chosen(16 * 1001) == "sm_90a copy_16"); // not a multiple of 64
}

TEST_CASE("launch: a named variant runs or is refused") {
  Setting s;
  std::int32_t large = 64, small = 16, unknown = 32;
  REQUIRE(s.launch({}, &small).ok());
  CHECK(s.image() == "sm_90a copy_16");
  CHECK(s.last().grid[0] == 64);
  REQUIRE(s.launch({}, &large).ok());
  CHECK(s.image() == "sm_90a copy_64");
  CHECK(s.launch({}, &unknown).code() == status_code::no_variant);
  s.args.n = 16;
  CHECK(std::string(s.launch({}, &large).argument()) == "n % 64 == 0");
  CHECK(s.launches() == 2);
}

TEST_CASE("launch: specialized code runs, when requirements are met") {
  Setting s("sms=10");
  s.sample.specialize();
  std::int32_t named = 16, unknown = 64;
  for (const std::int32_t *choice : {(const std::int32_t *)nullptr, (const std::int32_t *)&named}) {
    s.args.n = 64 * 2; // although the general code has more programs
    REQUIRE(s.launch({}, choice).ok());
    CHECK(s.image() == "sm_90a copy_64");
    CHECK(s.last().grid[0] == 2);
    s.args.n = 64 * 2 + 16;
    REQUIRE(s.launch({}, choice).ok());
    CHECK(s.image() == "sm_90a copy_16");
    CHECK(s.last().grid[0] == 9);
  }
  CHECK(s.launch({}, &unknown).code() == status_code::no_variant);
  s.args.n = 0;
  CHECK(s.launch().ok());
  CHECK(s.launches() == 4);
}

TEST_CASE("launch: general code runs, when alignment is too low") {
  Setting s;
  s.sample.specialize();
  std::vector<abi::parameter> stricter = s.sample.parameters;
  stricter[0].aligned = 4096;
  s.sample.variants[0].parameters = stricter.data();
  s.args.source = reinterpret_cast<const void *>(std::uintptr_t(16));
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_90a copy_16");
  s.args.source = reinterpret_cast<const void *>(std::uintptr_t(8192));
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_90a copy_64");
}

TEST_CASE("launch: refusal names the general code's requirement") {
  Setting s;
  s.sample.specialize();
  std::vector<abi::parameter> stricter = s.sample.parameters;
  stricter[0].aligned = 4096;
  s.sample.variants[0].parameters = stricter.data();
  s.args.source = reinterpret_cast<const void *>(std::uintptr_t(16));
  const std::int64_t never[] = {std::int64_t(abi::op::constant), 0, std::int64_t(abi::op::end)};
  const abi::requirement requirement = {never, "never"};
  s.sample.variants[1].requirements = &requirement;
  status refused = s.launch(); // not misaligned_pointer, which only the specialized code returns
  CHECK(refused.code() == status_code::requirement_failed);
  CHECK(std::string(refused.argument()) == "never");
}

TEST_CASE("launch: skips specialized code without an image") {
  Setting s;
  s.sample.specialize();
  s.sample.variants[0].image_count = 0;
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_90a copy_16");
  s.args.n = 17;
  CHECK(s.launch().code() == status_code::requirement_failed); // not no_image_for_device
}

TEST_CASE("preload: loads specialized code, info lists it") {
  Setting s;
  s.sample.specialize();
  REQUIRE(s.machine.runtime().preload(s.sample.kernel, nullptr, abi::current).ok());
  for (int n : {64, 16}) {
    s.args.n = n;
    int calls = s.driver().calls("cuLibraryLoadData");
    CHECK(calls == 2);
    REQUIRE(s.launch().ok());
    CHECK(s.driver().calls("cuLibraryLoadData") == calls);
  }
  span<image_info> infos = s.machine.runtime().info(s.sample.kernel, nullptr);
  REQUIRE(infos.size() == 4);
  CHECK(infos[1].specialization == nullptr);
  CHECK(std::string(infos[2].specialization) == "n % 64");
}

TEST_CASE("launch: takes the caller's grid, when none is declared") {
  Setting s;
  for (abi::variant &variant : s.sample.variants)
    variant.grid[0] = nullptr;
  auto launch = [&](grid extent) { return s.launch({}, nullptr, &extent); };
  REQUIRE(launch({3, 4, 5}).ok());
  CHECK(s.last().grid[0] == 3);
  CHECK(s.last().grid[1] == 4);
  CHECK(s.last().grid[2] == 5);
  CHECK(launch({0, 4, 5}).ok());
  CHECK(launch({1, 0, 1}).ok());
  CHECK(launch({-1, 4, 5}).code() == status_code::invalid_argument);
  CHECK(launch({std::int64_t(1) << 31, 1, 1}).code() == status_code::invalid_argument);
  CHECK(launch({1, 65536, 1}).code() == status_code::invalid_argument);
  CHECK(launch({1, 1, 65536}).code() == status_code::invalid_argument);
  CHECK(s.launch().code() == status_code::invalid_argument); // no grid
  CHECK(s.launches() == 1);
  s.driver().configure("fail=cuLaunchKernelEx:*:0"); // succeeds without running this huge grid
  CHECK(launch({INT32_MAX, 65535, 65535}).ok());
}

TEST_CASE("launch: chooses code for the device before loading") {
  SUBCASE("8.6 runs code for 8.0") {
    Setting s("gpu=86");
    REQUIRE(s.launch().ok());
    CHECK(s.image() == "sm_80 copy_64");
  }
  SUBCASE("7.5 has no code; the message lists the GPUs") {
    Setting s("gpu=75");
    status result = s.launch();
    CHECK(result.code() == status_code::no_image_for_device);
    CHECK(s.machine.message(result) ==
          "sample::copy: no code for this GPU: the kernel is compiled for sm_80, sm_90a, but the "
          "GPU is sm_75");
    CHECK(s.driver().calls("cuLibraryLoadData") == 0);
  }
  SUBCASE("10.0 does not run 9.0a") {
    Setting s("gpu=100");
    CHECK(s.launch().code() == status_code::no_image_for_device);
  }
}

TEST_CASE("launch: skips variants without code for the device") {
  Setting s;
  s.sample.variants[0].image_count = 1; // only sm_80
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_90a copy_16");
}

namespace {

// A schedule that refuses all arguments.
struct Refusing {
  const std::int64_t never[3] = {std::int64_t(abi::op::constant), 0, std::int64_t(abi::op::end)};
  const abi::requirement guard = {never, "never"};
  const abi::launch_config schedule = {.guards = &guard, .guard_count = 1, .cluster = 1};
};

} // namespace

TEST_CASE("launch: of variants without code and others that refuse, returns the refusal") {
  const Refusing refusing;
  for (size_t refuses : {0, 1})
    for (bool has_no_room : {false, true}) {
      CAPTURE(refuses);
      CAPTURE(has_no_room);
      Setting s;
      const size_t other = 1 - refuses;
      s.sample.images[refuses][1].launch = &refusing.schedule;
      if (has_no_room)
        s.sample.infos[other][1].shared_bytes = 1 << 20;
      else
        s.sample.variants[other].image_count = 1; // only sm_80
      status refused = s.launch();
      CHECK(refused.code() == status_code::requirement_failed);
      CHECK(std::string(refused.argument()) == "never");
      // Nothing refuses.
      s.sample.images[refuses][1].launch = nullptr;
      CHECK(s.launch().ok());
      CHECK(s.image() == (refuses ? "sm_90a copy_16" : "sm_90a copy_64"));
    }
}

TEST_CASE("launch: no variant has code for the device") {
  const Refusing refusing;
  Setting s;
  for (size_t v : {0, 1}) {
    s.sample.images[v][0].launch = &refusing.schedule; // of another GPU
    s.sample.variants[v].image_count = 1;              // only sm_80
  }
  CHECK(s.launch().code() == status_code::no_image_for_device);
  CHECK(s.launches() == 0);
}

TEST_CASE("launch: a named variant without code is not replaced") {
  Setting s;
  s.sample.variants[0].image_count = 1; // only sm_80
  const std::int32_t tiles[] = {64, 16};
  CHECK(s.launch({}, &tiles[0]).code() == status_code::no_image_for_device);
  CHECK(s.launch({}, &tiles[1]).ok());
}

TEST_CASE("launch: specialized code that refuses, general code without an image") {
  const Refusing refusing;
  Setting s;
  s.sample.specialize();
  s.sample.images[0][1].launch = &refusing.schedule;
  s.sample.variants[1].image_count = 1; // only sm_80
  CHECK(s.launch().code() == status_code::no_image_for_device);
  CHECK(s.launches() == 0);
  s.args.n = 16; // no case for the specialization
  CHECK(s.launch().code() == status_code::no_image_for_device);
}

TEST_CASE("launch: exact code precedes compatible code") {
  Setting s("sms=10");
  auto chosen = [&](int n) {
    s.args.n = n;
    REQUIRE(s.launch().ok());
    return s.image();
  };
  // Changes the variant's code from sm_90a to sm_90.
  auto make_older = [&](size_t variant) {
    s.sample.images[variant][1].suffix = 0;
    s.sample.codes[2 * variant + 1].gpu = "sm_90";
    s.sample.bytes[2 * variant + 1] = sealed_image(std::string(
        reinterpret_cast<const char *>(&s.sample.codes[2 * variant + 1]), sizeof(abi::host_code)));
    s.sample.images[variant][1].bytes = s.sample.bytes[2 * variant + 1].data();
  };
  SUBCASE("exact code after a variant that fills the device") {
    make_older(0);
    CHECK(chosen(64 * 10) == "sm_90a copy_16");
    std::int32_t large = 64;
    REQUIRE(s.launch({}, &large).ok());
    CHECK(s.image() == "sm_90 copy_64"); // the named variant
  }
  SUBCASE("exact code before a variant with more programs") {
    make_older(1);
    CHECK(chosen(64 * 5) == "sm_90a copy_64");
    CHECK(chosen(64 * 5 + 16) == "sm_90 copy_16"); // copy_64 does not accept the arguments
  }
  SUBCASE("exact code after a cheaper variant") {
    make_older(0);
    const std::int64_t words[][3] = {
        {std::int64_t(abi::op::constant), 10, std::int64_t(abi::op::end)},
        {std::int64_t(abi::op::constant), 90, std::int64_t(abi::op::end)}};
    abi::launch_config schedules[2] = {};
    for (size_t i = 0; i < 2; i++) {
      schedules[i].cost = words[i];
      schedules[i].cluster = 1;
      s.sample.images[i][1].launch = &schedules[i];
    }
    CHECK(chosen(64 * 10) == "sm_90a copy_16");
    s.sample.images[1][1].launch = nullptr;
    CHECK(chosen(64 * 11) == "sm_90a copy_16");
  }
  SUBCASE("no variant has exact code") {
    make_older(0);
    make_older(1);
    CHECK(chosen(64 * 10) == "sm_90 copy_64");
    CHECK(chosen(64 * 5) == "sm_90 copy_16");
  }
}

TEST_CASE("launch: the newest compatible code comes first") {
  Setting s("gpu=89,sms=10");
  s.sample.images[1][1].sm = 86;
  s.sample.images[1][1].suffix = 0;
  s.sample.codes[3].gpu = "sm_86";
  s.sample.bytes[3] = sealed_image(
      std::string(reinterpret_cast<const char *>(&s.sample.codes[3]), sizeof(abi::host_code)));
  s.sample.images[1][1].bytes = s.sample.bytes[3].data();
  s.args.n = 64 * 10;
  REQUIRE(s.launch().ok());
  CHECK(s.image() == "sm_86 copy_16");
}

TEST_CASE("launch: uses device 0, when no context is current") {
  Setting s;
  REQUIRE(s.launch().ok());
  CHECK(s.last().context == s.driver().primary());
  CHECK(s.driver().current() == nullptr);
  s.driver().forget_calls();
  REQUIRE(s.launch().ok());
  CHECK(s.driver().calls("cuDevicePrimaryCtxRetain") == 0);
  CHECK(s.driver().calls("cuCtxPushCurrent") == 1);
  CHECK(s.driver().calls("cuCtxPopCurrent") == 1);
  CHECK(s.driver().counters().depth == 0);
}

TEST_CASE("launch: restores the context after a failure") {
  Setting s("fail=cuLaunchKernelEx:*:1");
  CHECK_FALSE(s.launch().ok());
  CHECK(s.driver().current() == nullptr);
}

TEST_CASE("launch: uses the current context") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  REQUIRE(s.launch().ok());
  CHECK(s.last().context == context);
  CHECK(s.driver().calls("cuCtxPushCurrent") == 0);
}

TEST_CASE("launch: uses the stream's context") {
  Setting s("gpu=90a/80");
  cu::Context *second = s.driver().new_context(1);
  cu::Stream *stream = s.driver().new_stream();
  cu::Context *first = s.driver().new_context(0);
  REQUIRE(s.launch(as_stream(stream)).ok());
  CHECK(s.image() == "sm_80 copy_64");
  CHECK(s.last().context == second);
  CHECK(s.driver().current() == first);
}

TEST_CASE("launch: accepts a stream of a green context") {
  Setting s("version=13000,gpu=90a/80,fail=cuStreamGetCtx:*:801");
  s.driver().new_context(1);
  cu::Stream *stream = s.driver().new_stream();
  s.driver().new_context(0);
  REQUIRE(s.launch(as_stream(stream)).ok());
  CHECK(s.image() == "sm_80 copy_64");
}

TEST_CASE("launch: special stream handles use the current context") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  for (std::uintptr_t special : {1, 2}) {
    CHECK(s.launch(reinterpret_cast<CUstream_st *>(special)).ok());
    CHECK(s.last().context == context);
  }
  CHECK(s.driver().calls("cuStreamGetCtx") == 0);
}

TEST_CASE("launch: repeat makes few driver calls") {
  struct {
    const char *settings;
    const char *of_default;    // a function that a launch on a default stream calls
    const char *of_stream;     // a function that a launch on another stream calls
    int on_default, on_stream; // extra driver calls of a repeated launch
  } rows[] = {
      {"version=12000", "cuCtxGetDevice", "", 1, 0},
      {"version=13000", "cuCtxGetDevice", "", 1, 0},
      {"version=13000,devices=2", "cuCtxGetDevice", "", 1, 0},
      {"version=13000,gpu=90a/80", "cuCtxGetDevice", "cuStreamGetCtx", 1, 3},
      {"version=12070,gpu=90a/80", "cuCtxGetDevice", "cuStreamGetCtx", 1, 3},
  };
  for (auto &row : rows) {
    CAPTURE(row.settings);
    Setting s(row.settings);
    s.driver().new_context();
    stream where = as_stream(s.driver().new_stream());
    for (int round = 0; round < 3; round++) {
      s.driver().forget_calls();
      REQUIRE(s.launch().ok());
      bool is_first = round == 0;
      CHECK((s.driver().calls() == 1 + row.on_default) == !is_first);
      CHECK(s.driver().calls(row.of_default) >= 1);
      s.driver().forget_calls();
      REQUIRE(s.launch(where).ok());
      CHECK((s.driver().calls() == 1 + row.on_stream) == !is_first);
      CHECK(s.driver().calls(row.of_stream) >= (row.on_stream != 0));
    }
    CHECK(s.launches() == 6);
  }
}

TEST_CASE("launch: does not ask for the device, when all are alike") {
  Setting s("devices=3");
  StandIn &driver = s.driver();
  std::vector<cu::Context *> contexts;
  std::vector<cu::Stream *> streams;
  for (int device : {2, 1, 0}) {
    contexts.push_back(driver.new_context(device));
    streams.push_back(driver.new_stream());
  }
  for (int round = 0; round < 2; round++)
    for (std::size_t i = 0; i < streams.size(); i++) {
      driver.forget_calls();
      REQUIRE(s.launch(as_stream(streams[i])).ok());
      CHECK((driver.calls() == 1) == (round == 1));
      CHECK(s.last().context == contexts[i]);
    }
  // A default stream belongs to the current context.
  for (cu::Context *context : contexts) {
    driver.make_current(context);
    REQUIRE(s.launch().ok());
    CHECK(s.last().context == context);
  }
}

TEST_CASE("launch: refuses wrong arguments after a good launch") {
  Setting s;
  s.driver().new_context();
  stream where = as_stream(s.driver().new_stream());
  REQUIRE(s.launch(where).ok());
  s.args.target = nullptr;
  s.driver().forget_calls();
  CHECK(s.launch(where).code() == status_code::null_pointer);
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("launch: repeat on a stream pushes no context") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  stream where = as_stream(s.driver().new_stream());
  REQUIRE(s.launch(where).ok());
  int pushed = s.driver().calls("cuCtxPushCurrent");
  std::thread([&] {
    CHECK(s.launch(where).ok());
    CHECK(s.driver().current() == nullptr);
  }).join();
  CHECK(s.last().context == context);
  CHECK(s.launches() == 2);
  CHECK(s.driver().calls("cuCtxPushCurrent") == pushed);
}

TEST_CASE("launch: pushes the stream's context, when required") {
  for (int result : {201, 400}) {
    CAPTURE(result);
    std::string code = ":" + std::to_string(result);
    Setting s;
    cu::Context *context = s.driver().new_context();
    stream where = as_stream(s.driver().new_stream());
    REQUIRE(s.launch(where).ok());
    std::thread([&] {
      s.driver().configure("fail=cuLaunchKernelEx:1" + code);
      CHECK(s.launch(where).ok());
      CHECK(s.driver().calls("cuCtxPushCurrent") == 1);
      CHECK(s.driver().current() == nullptr);
      s.driver().configure("fail=none,fail=cuLaunchKernelEx:*" + code);
      status refused = s.launch(where);
      CHECK(refused.code() == status_code::cuda);
      CHECK(refused.cuda_result() == result);
    }).join();
    CHECK(s.last().context == context);
    CHECK(s.launches() == 2);
  }
}

TEST_CASE("launch: repeat follows the new context") {
  Setting s;
  StandIn &driver = s.driver();
  cu::Context *previous = nullptr;
  for (int round = 0; round < 3; round++) {
    cu::Context *context = driver.new_context();
    cu::Stream *stream = driver.new_stream();
    CHECK(context != previous);
    for (int i = 0; i < 2; i++) {
      REQUIRE(s.launch().ok());
      CHECK(s.last().context == context);
      REQUIRE(s.launch(as_stream(stream)).ok());
      CHECK(s.last().context == context);
    }
    REQUIRE(driver.cuCtxDestroy_v2(context) == cu::success);
    previous = context;
  }
}

TEST_CASE("launch: handles a reused stream address") {
  Setting s("version=13000,gpu=90a/80");
  StandIn &driver = s.driver();
  cu::Context *contexts[] = {driver.new_context(0), driver.new_context(1)};
  const char *images[] = {"sm_90a copy_64", "sm_80 copy_64"};
  cu::Stream *before = nullptr;
  int reused = 0;
  for (int round = 0; round < 100; round++) {
    int device = round % 2;
    driver.make_current(contexts[device]);
    cu::Stream *stream = driver.new_stream();
    reused += stream == before;
    for (int i = 0; i < 2; i++) {
      REQUIRE(s.launch(as_stream(stream)).ok());
      CHECK(s.image() == images[device]);
      CHECK(s.last().context == contexts[device]);
    }
    REQUIRE(driver.cuStreamDestroy_v2(stream) == cu::success);
    before = stream;
  }
#if !defined(__SANITIZE_ADDRESS__) // it holds freed memory back
  CHECK(reused > 0);
#endif
}

TEST_CASE("launch: a destroyed context is not a lost device") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  REQUIRE(s.launch().ok());
  std::thread([&] {
    s.driver().make_current(context);
    REQUIRE(s.driver().cuCtxPushCurrent_v2(context) == cu::success);
    REQUIRE(s.driver().cuCtxDestroy_v2(context) == cu::success); // pops one of two stack entries
    REQUIRE(s.driver().current() == context);
    status result = s.launch();
    CHECK(result.code() == status_code::cuda);
    CHECK(result.cuda_result() == 709);
    s.driver().new_context();
    CHECK(s.launch().ok());
  }).join();
  SUBCASE("a lost device stays lost") {
    s.driver().new_context();
    s.driver().configure("fail=cuLaunchKernelEx:1:700,fail=cuLaunchKernelEx:2:709,"
                         "fail=cuLaunchKernelEx:3:709");
    CHECK(s.launch().cuda_result() == 700);
    status result = s.launch();
    CHECK(result.code() == status_code::device_lost);
    CHECK(result.cuda_result() == 700);
  }
}

TEST_CASE("launch: retains a reset primary context again") {
  Setting s;
  StandIn &driver = s.driver();
  REQUIRE(s.launch().ok());
  REQUIRE(driver.cuDevicePrimaryCtxReset_v2(0) == cu::success);
  SUBCASE("thread without a context") {
    CHECK(s.launch().ok());
    CHECK(driver.current() == nullptr);
  }
  SUBCASE("thread in which it is current") {
    cu::Context *primary = driver.primary();
    REQUIRE(driver.cuDevicePrimaryCtxReset_v2(0) == cu::success);
    driver.make_current(primary);
    CHECK(s.launch().ok());
    REQUIRE(driver.cuDevicePrimaryCtxReset_v2(0) == cu::success);
    void *memory = nullptr;
    CHECK(s.machine.runtime().allocate(&memory, 16).ok());
    CHECK(s.launch().ok());
    CHECK(driver.current() == primary);
  }
  CHECK(s.last().context == driver.primary());
  int retained = driver.calls("cuDevicePrimaryCtxRetain");
  CHECK(s.launch().ok());
  CHECK(driver.calls("cuDevicePrimaryCtxRetain") == retained); // retained only after a reset
}

TEST_CASE("launch: 64 threads load once") {
  Setting s;
  std::vector<std::thread> threads;
  std::atomic<int> succeeded{0};
  for (int i = 0; i < 64; i++)
    threads.emplace_back([&] {
      for (int j = 0; j < 4; j++)
        succeeded += s.launch().ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(succeeded == 256);
  CHECK(s.launches() == 256);
  CHECK(s.driver().counters().libraries == 1);
  CHECK(s.driver().calls("cuLibraryLoadData") == 1);
  CHECK(s.driver().calls("cuInit") == 1);
}

TEST_CASE("launch: threads use contexts on two devices") {
  Setting s("gpu=90a/80");
  StandIn &driver = s.driver();
  std::vector<std::thread> threads;
  std::atomic<int> succeeded{0};
  for (int i = 0; i < 16; i++)
    threads.emplace_back([&, i] {
      cu::Context *context = nullptr;
      cu::Stream *stream = nullptr;
      bool is_ready = driver.cuInit(0) == 0 && driver.cuCtxCreate_v2(&context, 0, i % 2) == 0 &&
                      driver.cuStreamCreate(&stream, 0) == 0;
      for (int j = 0; j < 20; j++)
        succeeded += is_ready && s.launch(as_stream(stream)).ok() &&
                     s.machine.runtime().synchronize(as_stream(stream)).ok();
      succeeded += driver.cuStreamDestroy_v2(stream) == 0 && driver.cuCtxDestroy_v2(context) == 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(succeeded == 16 * 21);
  CHECK(s.launches() == 320);
  CHECK(s.driver().counters().libraries == 2); // one image per device
  CHECK(s.driver().counters().contexts == 0);
}

TEST_CASE("info: lists resources without a driver") {
  Machine machine(Machine::no_file);
  SampleKernel sample;
  std::int32_t choice = 16, unknown = 5;
  span<image_info> infos = machine.runtime().info(sample.kernel, &choice);
  REQUIRE(infos.size() == 2);
  CHECK(std::string(infos[1].gpu) == "sm_90a");
  CHECK(infos[1].threads == 32);
  CHECK(machine.runtime().info(sample.kernel, &unknown).empty());
}
