// Tests runtime/src/load/constants.cpp: constant memory of all variants, on the device of the
// stream.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>

using namespace tritonc;

namespace {

/// The first two integers that the last launch read from constant memory.
std::int32_t noted[2];

void note(const abi::host_operation *, abi::host_thread *thread, void *const *) {
  std::memcpy(noted, thread->constants, sizeof noted);
}

/// The sample kernel with constant memory. Tile 64 has `table` with 8 integers. Tile 16 has `other`
/// with 16 bytes, then `table` with 4 integers.
struct Setting {
  explicit Setting(const std::string &settings = "", Machine::Kind kind = Machine::as_driver)
      : machine(kind, "workers=1," + settings) {
    for (std::size_t i = 0; i < sample.codes.size(); i++) {
      bool is_wide = i < 2;
      sample.codes[i].entry = note;
      sample.codes[i].constants = is_wide ? wide : narrow;
      sample.codes[i].constant_bytes = 32;
    }
    sample.set_threads(32); // rebuilds the images
    sample.variants[0].constants = constants;
    sample.variants[0].constant_count = 1;
    sample.variants[1].constants = constants + 1;
    sample.variants[1].constant_count = 2;
  }

  status fill(const std::vector<std::int32_t> &values, cu::Stream *stream = nullptr,
              const char *name = "table") {
    return machine.runtime().set_constant(sample.kernel, as_stream(stream), name, values.data(),
                                          values.size(), 4);
  }
  /// Launches the variant. Returns the integers that it read, or the error.
  std::string found(int tile, cu::Stream *stream = nullptr) {
    noted[0] = noted[1] = -1;
    SampleArgs args = good_args();
    status launched =
        machine.runtime().launch(sample.kernel, as_stream(stream), &args, &tile, nullptr);
    return launched.ok() ? std::to_string(noted[0]) + " " + std::to_string(noted[1])
                         : launched.name();
  }
  StandIn &driver() { return machine.driver(); }

  const std::int32_t wide[8] = {7, 8}, narrow[8] = {1, 2, 3, 4, 5, 6};
  const abi::constant constants[3] = {{"table", 0, 32}, {"other", 0, 16}, {"table", 16, 16}};
  Machine machine;
  SampleKernel sample;
};

} // namespace

TEST_CASE("constants: have compiled values, when not set") {
  Setting s;
  CHECK(s.found(64) == "7 8");
  CHECK(s.found(16) == "1 2");
  CHECK(s.driver().calls("cuLibraryGetGlobal") == 0);
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 0);
}

TEST_CASE("set_constant: fills loaded and unloaded variants") {
  Setting s;
  CHECK(s.found(64) == "7 8");
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.found(64) == "30 31");
  CHECK(s.found(16) == "1 2"); // `table` is after `other`
  REQUIRE(s.fill({40, 41, 42, 43}, nullptr, "other").ok());
  CHECK(s.found(16) == "40 41");
  CHECK(s.found(64) == "30 31");
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 3);
}

TEST_CASE("set_constant: partial fill keeps the rest") {
  Setting s;
  REQUIRE(s.fill({30}).ok());
  CHECK(s.found(64) == "30 8");
}

TEST_CASE("set_constant: a smaller array gets what fits") {
  Setting s;
  REQUIRE(s.fill({1, 2, 3, 4, 5, 6, 7, 8}).ok());
  CHECK(s.found(64) == "1 2");
  CHECK(s.found(16) == "1 2");
}

TEST_CASE("set_constant: fills specialized code") {
  Setting s;
  s.sample.specialize();
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 2);
  int tile = 16; // names the variant; its specialized code runs
  CHECK(s.found(tile) == "30 31");
}

TEST_CASE("set_constant: refuses wrong arguments before the driver") {
  Setting s;
  auto refused = [&](status what, status_code code, const char *message) {
    CHECK(what.code() == code);
    CHECK(s.machine.message(what) == message);
  };
  refused(s.fill(std::vector<std::int32_t>(9)), status_code::invalid_constant,
          "sample::copy: too many values for the constant memory `table`: it has 32 bytes");
  refused(s.fill({1}, nullptr, "chair"), status_code::invalid_constant,
          "sample::copy: no variant has constant memory `chair`");
  refused(s.machine.runtime().set_constant(s.sample.kernel, {}, "table", nullptr, 1, 4),
          status_code::null_pointer, "sample::copy: argument `table` is null");
  refused(s.machine.runtime().set_constant(s.sample.kernel, {}, "table", &s, SIZE_MAX, 4),
          status_code::invalid_constant,
          "sample::copy: too many values for the constant memory `table`: it has 32 bytes");
  CHECK(s.fill({}).ok());
  CHECK(s.driver().calls("cuInit") == 0);
}

TEST_CASE("set_constant: separate for each device and context") {
  Setting s("devices=2");
  s.driver().cuInit(0);
  s.driver().new_context(0);
  cu::Stream *of_first = s.driver().new_stream();
  cu::Context *second = s.driver().new_context(1);
  cu::Stream *of_second = s.driver().new_stream();
  REQUIRE(s.fill({10, 11}, of_first).ok());
  CHECK(s.driver().current() == second);
  CHECK(s.found(64, of_first) == "10 11");
  CHECK(s.found(64, of_second) == "7 8");
  REQUIRE(s.fill({20, 21}, of_second).ok());
  CHECK(s.found(64, of_first) == "10 11");
  CHECK(s.found(64, of_second) == "20 21");
  cu::Context *third = s.driver().new_context(0);
  CHECK(s.found(64) == "7 8");
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.found(64) == "30 31");
  CHECK(s.found(64, of_first) == "10 11");
  REQUIRE(s.driver().cuCtxDestroy_v2(third) == cu::success);
}

TEST_CASE("set_constant: uses device 0, when no context is current") {
  Setting s;
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().current() == nullptr);
  CHECK(s.found(64) == "30 31");
}

TEST_CASE("set_constant: prepared and repeated launches see it") {
  Setting s;
  CHECK(s.found(64) == "7 8");
  SampleArgs args = good_args();
  int tile = 64;
  abi::prepared_launch ready;
  REQUIRE(s.machine.runtime().prepare(s.sample.kernel, {}, &args, &tile, nullptr, ready).ok());
  REQUIRE(s.fill({30, 31}).ok());
  REQUIRE(s.machine.runtime().launch_prepared(ready, {}, &args).ok());
  CHECK(noted[0] == 30);
  CHECK(s.found(64) == "30 31");
}

TEST_CASE("set_constant: refused during capture, capture survives") {
  Setting s;
  s.driver().cuInit(0);
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream(), *other = s.driver().new_stream(1);
  REQUIRE(s.fill({10, 11}, stream).ok());
  REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
  status refused = s.fill({20, 21}, stream);
  CHECK(refused.code() == status_code::capturing);
  CHECK(s.machine.message(refused) ==
        "sample::copy: cannot fill the constant memory `table` during graph capture: fill it "
        "before the capture");
  CHECK(s.fill({20, 21}).code() == status_code::capturing); // the legacy stream is unusable too
  CHECK(s.found(64, stream) == "-1 -1");
  CHECK(s.fill({30, 31}, other).ok()); // a stream outside the capture
  cu::Graph *graph = nullptr;
  REQUIRE(s.driver().cuStreamEndCapture(stream, &graph) == cu::success);
  cu::GraphExec *exec = nullptr;
  REQUIRE(s.driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == cu::success);
  for (std::int32_t value : {30, 40}) { // the graph reads the values at its launch
    REQUIRE(s.fill({value, 1}, stream).ok());
    REQUIRE(s.driver().cuGraphLaunch(exec, stream) == cu::success);
    CHECK(noted[0] == value);
  }
}

TEST_CASE("set_constant: returns driver errors") {
  auto refused = [](const std::string &settings) {
    Setting s(settings);
    status filled = s.fill({1});
    return std::string(filled.name()) + " " + filled.argument() + " " +
           std::to_string(filled.cuda_result());
  };
  CHECK(refused("missing=cuLibraryGetGlobal") == "driver_too_old cuLibraryGetGlobal 0");
  CHECK(refused("missing=cuMemcpyHtoDAsync") == "driver_too_old cuMemcpyHtoDAsync 0");
  CHECK(refused("fail=cuLibraryGetGlobal:1:500") == "cuda cuLibraryGetGlobal 500");
  CHECK(refused("fail=cuMemcpyHtoDAsync:2:2") == "out_of_memory cuMemcpyHtoDAsync 2");
  CHECK(refused("fail=cuLibraryLoadData:2:209") == "no_image_for_device cuLibraryLoadData 0");
  CHECK(refused("gpu=75") == "no_image_for_device  0");
}

TEST_CASE("set_constant: stops at the first error") {
  for (int failing : {1, 2, 3}) { // two pieces of specialized code, the general code
    CAPTURE(failing);
    Setting s("fail=cuMemcpyHtoDAsync:" + std::to_string(failing) + ":2");
    s.sample.specialize();
    const abi::variant specialized[] = {s.sample.variants[0], s.sample.variants[0]};
    s.sample.variants[1].specialized = specialized;
    s.sample.variants[1].specialized_count = 2;
    CHECK(s.fill({30, 31}).code() == status_code::out_of_memory);
    CHECK(s.driver().calls("cuMemcpyHtoDAsync") == failing);
  }
}

TEST_CASE("set_constant: too short a block returns corrupt_image") {
  Setting s;
  for (abi::host_code &code : s.sample.codes)
    code.constant_bytes = 16;
  s.sample.set_threads(32);
  CHECK(s.fill({1, 2, 3, 4, 5}).code() == status_code::corrupt_image);
}

TEST_CASE("set_constant: is thread-safe") {
  Setting s;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; round++)
        failed += !s.fill({5, 6}).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failed == 0);
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.found(64) == "5 6");
}

TEST_CASE("set_constant: works on the emulator") {
  Setting s("", Machine::emulator);
  CHECK(s.found(16) == "1 2");
  REQUIRE(s.fill({30, 31}, nullptr, "other").ok());
  CHECK(s.found(16) == "30 31");
}
