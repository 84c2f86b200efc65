// Tests runtime/src/constants.cpp: constant memory of all variants, on the device of the stream.

#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>

using namespace tritonc;

namespace {

/// The first ints that the last launch found in constant memory.
std::int32_t noted[2];

void note(const abi::host_operation *, abi::host_thread *thread, void *const *) {
  std::memcpy(noted, thread->constants, sizeof noted);
}

/// The sample with constant memory: `table` of 8 ints in the variant of tile 64, and in that of
/// tile 16 of 4, behind 16 bytes of `other`, which the former has not.
struct Setting {
  explicit Setting(const std::string &settings = "", Machine::Kind kind = Machine::as_driver)
      : machine(kind, "workers=1," + settings) {
    for (std::size_t i = 0; i < sample.codes.size(); i++) {
      bool is_wide = i < 2;
      sample.codes[i].entry = note;
      sample.codes[i].constants = is_wide ? wide : narrow;
      sample.codes[i].constant_bytes = 32;
    }
    sample.set_threads(32); // makes the images of the codes anew
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
  /// What a launch of the variant finds, or what it said.
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

TEST_CASE("what nobody has filled is as it was compiled") {
  Setting s;
  CHECK(s.found(64) == "7 8");
  CHECK(s.found(16) == "1 2");
  CHECK(s.driver().calls("cuLibraryGetGlobal") == 0);
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 0);
}

TEST_CASE("all variants are filled, whether they are loaded already or not") {
  Setting s;
  CHECK(s.found(64) == "7 8");
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.found(64) == "30 31");
  CHECK(s.found(16) == "1 2"); // it is behind
  REQUIRE(s.fill({40, 41, 42, 43}, nullptr, "other").ok());
  CHECK(s.found(16) == "40 41");
  CHECK(s.found(64) == "30 31");
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 3);
}

TEST_CASE("a part is filled, and the rest stays") {
  Setting s;
  REQUIRE(s.fill({30}).ok());
  CHECK(s.found(64) == "30 8");
}

TEST_CASE("more values than a variant has room for are for those that have") {
  Setting s;
  REQUIRE(s.fill({1, 2, 3, 4, 5, 6, 7, 8}).ok());
  CHECK(s.found(64) == "1 2");
  CHECK(s.found(16) == "1 2");
}

TEST_CASE("what is compiled under hints is filled, too") {
  Setting s;
  s.sample.specialize();
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().calls("cuMemcpyHtoDAsync") == 2);
  int tile = 16; // of the general code; the one under hints takes the arguments
  CHECK(s.found(tile) == "30 31");
}

TEST_CASE("what is wrong is said before the driver is asked") {
  Setting s;
  auto refused = [&](status what, status_code code, const char *message) {
    CHECK(what.code() == code);
    CHECK(s.machine.message(what) == message);
  };
  refused(
      s.fill(std::vector<std::int32_t>(9)), status_code::invalid_constant,
      "sample::copy: the constant memory `table` has room for 32 bytes, not for so many values");
  refused(s.fill({1}, nullptr, "chair"), status_code::invalid_constant,
          "sample::copy: no variant that was compiled has constant memory `chair`");
  refused(s.machine.runtime().set_constant(s.sample.kernel, {}, "table", nullptr, 1, 4),
          status_code::null_pointer, "sample::copy: argument `table` is null");
  refused(
      s.machine.runtime().set_constant(s.sample.kernel, {}, "table", &s, SIZE_MAX, 4),
      status_code::invalid_constant,
      "sample::copy: the constant memory `table` has room for 32 bytes, not for so many values");
  CHECK(s.fill({}).ok());
  CHECK(s.driver().calls("cuInit") == 0);
}

TEST_CASE("each device and each context has its own") {
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

TEST_CASE("a thread without a context fills that of device 0, and is left as it was") {
  Setting s;
  REQUIRE(s.fill({30, 31}).ok());
  CHECK(s.driver().current() == nullptr);
  CHECK(s.found(64) == "30 31");
}

TEST_CASE("a launch that is prepared, or made again, sees what was filled since") {
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

TEST_CASE("while a graph is captured nothing is filled, and the capture is not harmed") {
  Setting s;
  s.driver().cuInit(0);
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream(), *other = s.driver().new_stream(1);
  REQUIRE(s.fill({10, 11}, stream).ok());
  REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
  status refused = s.fill({20, 21}, stream);
  CHECK(refused.code() == status_code::capturing);
  CHECK(s.machine.message(refused) ==
        "sample::copy: the constant memory `table` cannot be filled while a graph is captured: "
        "fill it before");
  CHECK(s.fill({20, 21}).code() == status_code::capturing); // the legacy stream would wait for it
  CHECK(s.found(64, stream) == "-1 -1");
  CHECK(s.fill({30, 31}, other).ok()); // which has nothing to do with it
  cu::Graph *graph = nullptr;
  REQUIRE(s.driver().cuStreamEndCapture(stream, &graph) == cu::success);
  cu::GraphExec *exec = nullptr;
  REQUIRE(s.driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == cu::success);
  for (std::int32_t value : {30, 40}) { // the graph sees what is there when it is launched
    REQUIRE(s.fill({value, 1}, stream).ok());
    REQUIRE(s.driver().cuGraphLaunch(exec, stream) == cu::success);
    CHECK(noted[0] == value);
  }
}

TEST_CASE("what the driver refuses, or has not") {
  auto refused = [](const std::string &settings) {
    Setting s(settings);
    status filled = s.fill({1});
    return std::string(filled.name()) + " " + filled.subject() + " " +
           std::to_string(filled.cuda_result());
  };
  CHECK(refused("missing=cuLibraryGetGlobal") == "driver_too_old cuLibraryGetGlobal 0");
  CHECK(refused("missing=cuMemcpyHtoDAsync") == "driver_too_old cuMemcpyHtoDAsync 0");
  CHECK(refused("fail=cuLibraryGetGlobal:1:500") == "cuda cuLibraryGetGlobal 500");
  CHECK(refused("fail=cuMemcpyHtoDAsync:2:2") == "out_of_memory cuMemcpyHtoDAsync 2");
  CHECK(refused("fail=cuLibraryLoadData:2:209") == "no_image_for_device cuLibraryLoadData 0");
  CHECK(refused("gpu=75") == "no_image_for_device  0");
}

TEST_CASE("a block that is shorter than it should be is not written behind its end") {
  Setting s;
  for (abi::host_code &code : s.sample.codes)
    code.constant_bytes = 16;
  s.sample.set_threads(32);
  CHECK(s.fill({1, 2, 3, 4, 5}).code() == status_code::corrupt_image);
}

TEST_CASE("any number of threads") {
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

TEST_CASE("by the emulator as by a driver") {
  Setting s("", Machine::emulator);
  CHECK(s.found(16) == "1 2");
  REQUIRE(s.fill({30, 31}, nullptr, "other").ok());
  CHECK(s.found(16) == "30 31");
}
