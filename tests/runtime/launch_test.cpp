// Tests runtime/src/launch.cpp and context.cpp: checks, the choice of a variant, contexts, the
// launch.

#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <thread>

using namespace tritonc;

namespace {

CUstream_st *handle(fake::Stream &stream) { return reinterpret_cast<CUstream_st *>(&stream); }

/// A machine with one kernel.
struct Setting {
  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();

  status launch(stream where = {}, const std::int32_t *choice = nullptr,
                const grid *extent = nullptr) {
    return machine.runtime().launch(sample.kernel, where, &args, choice, extent);
  }
  std::vector<fake::Launch> &launches() { return machine.driver().launches; }
  int driver_calls() {
    int sum = 0;
    for (auto &[name, count] : machine.driver().calls)
      sum += count;
    return sum;
  }
};

} // namespace

TEST_CASE("a launch passes grid, block, shared memory, stream and arguments") {
  Setting s;
  s.machine.driver().argument_sizes = {8, 8, 4};
  fake::Context context;
  fake::Stream stream{&context};
  s.machine.make_current(&context);
  REQUIRE(s.launch(handle(stream)).ok());
  REQUIRE(s.launches().size() == 1);
  fake::Launch &launch = s.launches()[0];
  CHECK(launch.kernel == "copy");
  CHECK(launch.image == "sm_90a tile 64");
  CHECK(launch.grid[0] == 1000);
  CHECK(launch.grid[1] == 1);
  CHECK(launch.grid[2] == 1);
  CHECK(launch.block[0] == 128);
  CHECK(launch.block[1] == 1);
  CHECK(launch.shared_bytes == 1024);
  CHECK(launch.stream == &stream);
  CHECK(launch.arguments == std::vector<std::uint64_t>{std::uint64_t(s.args.source),
                                                       std::uint64_t(s.args.target), 64000});
}

TEST_CASE("wrong arguments are refused before the driver is even opened") {
  Setting s;
  SUBCASE("a requirement; the most modest variant says what is needed") {
    s.args.n = 17;
    status result = s.launch();
    CHECK(result.code() == status_code::requirement_failed);
    CHECK(std::string(result.subject()) == "n % 16 == 0");
  }
  SUBCASE("a null pointer") {
    s.args.target = nullptr;
    status result = s.launch();
    CHECK(result.code() == status_code::null_pointer);
    CHECK(std::string(result.subject()) == "target");
  }
  SUBCASE("a misaligned pointer") {
    s.args.source = static_cast<const char *>(s.args.source) + 2;
    status result = s.launch();
    CHECK(result.code() == status_code::misaligned_pointer);
    CHECK(std::string(result.subject()) == "source");
    CHECK(s.machine.message(result).find("16 bytes") != std::string::npos);
  }
  SUBCASE("a bad pointer is reported even if a later variant also fails by a requirement") {
    const std::int64_t never[] = {std::int64_t(abi::op::constant), 0, std::int64_t(abi::op::end)};
    const abi::requirement requirement = {never, "never"};
    s.sample.variants[1].requirements = &requirement;
    s.args.source = nullptr;
    CHECK(s.launch().code() == status_code::null_pointer);
  }
  SUBCASE("a negative grid") {
    s.args.n = -64;
    CHECK(s.launch().code() == status_code::invalid_argument);
  }
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("null is allowed where the kernel says so") {
  Setting s;
  s.args.target = nullptr;
  s.sample.parameters[1].nullable = true;
  CHECK(s.launch().ok());
  CHECK(s.launches().size() == 1);
}

TEST_CASE("an empty grid is success, whatever the pointers, and launches nothing") {
  Setting s;
  s.args.n = 0;
  s.args.source = nullptr;
  CHECK(s.launch().ok());
  CHECK(s.driver_calls() == 0);
}

TEST_CASE("the library prefers the first variant that fills the device") {
  Setting s;
  s.machine.driver().devices[0].multiprocessors = 10;
  auto chosen = [&](int n) {
    s.args.n = n;
    REQUIRE(s.launch().ok());
    return s.launches().back().image;
  };
  CHECK(chosen(64 * 10) == "sm_90a tile 64");
  CHECK(chosen(64 * 9) == "sm_90a tile 16");    // 9 programs would leave one idle, 36 don't
  CHECK(chosen(64) == "sm_90a tile 16");        // none fills it: the one with most programs
  CHECK(chosen(16 * 1001) == "sm_90a tile 16"); // not a multiple of 64
}

TEST_CASE("a named variant runs, or is refused, as named") {
  Setting s;
  std::int32_t large = 64, small = 16, unknown = 32;
  REQUIRE(s.launch({}, &small).ok());
  CHECK(s.launches().back().image == "sm_90a tile 16");
  CHECK(s.launches().back().grid[0] == 4000);
  REQUIRE(s.launch({}, &large).ok());
  CHECK(s.launches().back().image == "sm_90a tile 64");
  CHECK(s.launch({}, &unknown).code() == status_code::no_variant);
  s.args.n = 16;
  CHECK(std::string(s.launch({}, &large).subject()) == "n % 64 == 0");
  CHECK(s.launches().size() == 2);
}

TEST_CASE("the caller says the grid where the kernel declares none") {
  Setting s;
  for (abi::variant &variant : s.sample.variants)
    variant.grid[0] = nullptr;
  auto launch = [&](grid extent) { return s.launch({}, nullptr, &extent); };
  REQUIRE(launch({3, 4, 5}).ok());
  CHECK(s.launches().back().grid[0] == 3);
  CHECK(s.launches().back().grid[1] == 4);
  CHECK(s.launches().back().grid[2] == 5);
  CHECK(launch({0, 4, 5}).ok());
  CHECK(launch({1, 0, 1}).ok());
  CHECK(launch({-1, 4, 5}).code() == status_code::invalid_argument);
  CHECK(launch({std::int64_t(1) << 31, 1, 1}).code() == status_code::invalid_argument);
  CHECK(launch({1, 65536, 1}).code() == status_code::invalid_argument);
  CHECK(launch({1, 1, 65536}).code() == status_code::invalid_argument);
  CHECK(s.launch().code() == status_code::invalid_argument); // said by nobody
  CHECK(s.launches().size() == 1);
  CHECK(launch({INT32_MAX, 65535, 65535}).ok());
}

TEST_CASE("code is chosen for the device before anything is loaded") {
  Setting s;
  auto &device = s.machine.driver().devices[0];
  auto fails_on = [&](int major, int minor) {
    device.major = major;
    device.minor = minor;
    return s.launch();
  };
  SUBCASE("8.6 runs code for 8.0") {
    REQUIRE(fails_on(8, 6).ok());
    CHECK(s.launches()[0].image == "sm_80 tile 64");
  }
  SUBCASE("7.5 has none, and is told what there is") {
    status result = fails_on(7, 5);
    CHECK(result.code() == status_code::no_image_for_device);
    CHECK(s.machine.message(result) ==
          "sample::copy: no code for this GPU: compiled for sm_80, sm_90a; this is sm_75");
    CHECK(s.machine.driver().loaded.empty());
  }
  SUBCASE("10.0 does not run 9.0a") {
    CHECK(fails_on(10, 0).code() == status_code::no_image_for_device);
  }
}

TEST_CASE("variants without code for the device are passed over") {
  Setting s;
  s.sample.variants[0].image_count = 1; // sm_80 alone
  REQUIRE(s.launch().ok());
  CHECK(s.launches()[0].image == "sm_90a tile 16");
}

TEST_CASE("a thread without a context uses the primary one of device 0, and is left as it was") {
  Setting s;
  REQUIRE(s.launch().ok());
  CHECK(s.launches()[0].context == s.machine.primary());
  CHECK(s.machine.current() == nullptr);
  REQUIRE(s.launch().ok());
  CHECK(s.machine.driver().calls["cuDevicePrimaryCtxRetain"] == 1);
  CHECK(s.machine.driver().pushed == 2);
  CHECK(s.machine.driver().popped == 2);
}

TEST_CASE("what is restored is restored after a failure too") {
  Setting s;
  s.machine.driver().fails["cuLaunchKernelEx"] = 1;
  CHECK_FALSE(s.launch().ok());
  CHECK(s.machine.current() == nullptr);
}

TEST_CASE("a current context is used as it is") {
  Setting s;
  fake::Context context;
  s.machine.make_current(&context);
  REQUIRE(s.launch().ok());
  CHECK(s.launches()[0].context == &context);
  CHECK(s.machine.driver().pushed == 0);
}

TEST_CASE("a stream's context counts, not the current one") {
  Setting s;
  s.machine.driver().devices = {{9, 0, 132}, {8, 0, 108}};
  fake::Context first{0}, second{1};
  fake::Stream stream{&second};
  s.machine.make_current(&first);
  REQUIRE(s.launch(handle(stream)).ok());
  CHECK(s.launches()[0].image == "sm_80 tile 64");
  CHECK(s.launches()[0].context == &second);
  CHECK(s.machine.current() == &first);
}

TEST_CASE("a stream of a green context says its device") {
  Setting s;
  s.machine.driver().devices = {{9, 0, 132}, {8, 0, 108}};
  fake::Context context{1};
  fake::Stream stream{&context};
  stream.is_green = true;
  REQUIRE(s.launch(handle(stream)).ok());
  CHECK(s.launches()[0].image == "sm_80 tile 64");
}

TEST_CASE("the special stream handles mean the current context") {
  Setting s;
  fake::Context context;
  s.machine.make_current(&context);
  for (std::uintptr_t special : {1, 2})
    CHECK(s.launch(reinterpret_cast<CUstream_st *>(special)).ok());
  CHECK(s.machine.driver().calls["cuStreamGetCtx"] == 0);
}

TEST_CASE("on the hot path the driver is asked for nothing but the context and the launch") {
  Setting s;
  fake::Context context;
  s.machine.make_current(&context);
  REQUIRE(s.launch().ok());
  s.machine.driver().calls.clear();
  REQUIRE(s.launch().ok());
  CHECK(s.machine.driver().calls == std::map<std::string, int>{{"cuCtxGetCurrent", 1},
                                                               {"cuCtxGetDevice", 1},
                                                               {"cuLaunchKernelEx", 1}});
}

TEST_CASE("64 threads that launch first load once") {
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
  CHECK(s.launches().size() == 256);
  CHECK(s.machine.driver().loaded.size() == 1);
  CHECK(s.machine.driver().calls["cuInit"] == 1);
}

TEST_CASE("info lists what the assembler said, without a driver") {
  Machine machine(Machine::without_driver);
  SampleKernel sample;
  std::int32_t choice = 16, unknown = 5;
  span<image_info> infos = machine.runtime().info(sample.kernel, &choice);
  REQUIRE(infos.size() == 2);
  CHECK(std::string(infos[1].gpu) == "sm_90a");
  CHECK(infos[1].threads == 128);
  CHECK(machine.runtime().info(sample.kernel, &unknown).empty());
}
