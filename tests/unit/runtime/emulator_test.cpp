// Tests the runtime with TRITONC_DRIVER=<emulator>: host code, versions, the choice of the image,
// and faulty kernels.

#include "load/image.h"
#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace tritonc;

namespace {

status launch(Machine &machine, const SampleKernel &sample, const SampleArgs &args = good_args()) {
  return machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr);
}

/// Allocates device memory with `count` integers: 0, 1, ...
void *new_memory(Machine &machine, int count) {
  std::vector<std::int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  void *memory = nullptr;
  REQUIRE(machine.runtime().allocate(&memory, values.size() * 4).ok());
  REQUIRE(machine.runtime().copy_to_device(memory, values.data(), values.size() * 4).ok());
  return memory;
}

} // namespace

TEST_CASE("emulator: kernel computes the GPU's result") {
  Machine machine(Machine::emulator);
  SampleKernel sample(SampleBody::copy);
  constexpr int n = 64 * 16;
  SampleArgs args = {new_memory(machine, n), new_memory(machine, n), n};
  REQUIRE(machine.runtime().fill(args.target, 0, n * 4).ok());
  REQUIRE(launch(machine, sample, args).ok());
  REQUIRE(machine.runtime().synchronize({}).ok());
  std::vector<std::int32_t> back(n);
  REQUIRE(machine.runtime().copy_to_host(back.data(), args.target, n * 4).ok());
  for (int i = 0; i < n; i++)
    REQUIRE(back[size_t(i)] == i);
}

TEST_CASE("emulator: runs host code of undamaged images only") {
  Machine machine(Machine::emulator);
  SampleKernel sample;
  for (auto &code : sample.codes)
    code.name = "elsewhere"; // the images keep the old name
  CHECK(launch(machine, sample).cuda_result() == 500);
  for (std::string &image : sample.bytes)
    image[100] ^= 1;
  CHECK(launch(machine, sample).code() == status_code::corrupt_image);
  CHECK(machine.driver().counters().libraries == 0);
}

TEST_CASE("emulator: missing host code returns no_host_code") {
  Machine machine(Machine::emulator);
  SampleKernel sample;
  for (auto &images : sample.images)
    for (abi::image &image : images)
      image.host = nullptr;
  status s = launch(machine, sample);
  CHECK(s.code() == status_code::no_host_code);
  CHECK(
      machine.message(s) ==
      "sample::copy: the emulator in TRITONC_DRIVER cannot run this kernel, which is compiled only "
      "for GPUs: add EMULATE ON to its triton_add_kernels()");
  CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).code() ==
        status_code::no_host_code);
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
}

TEST_CASE("emulator: another version returns wrong_emulator") {
  SampleKernel sample;
  SUBCASE("reported version") {
    // The call succeeds without a result, so the version stays 0.
    Machine machine(Machine::emulator, "fail=tritoncEmulatorVersion:*:0");
    for (int i = 0; i < 2; i++) {
      status s = launch(machine, sample);
      CHECK(s.code() == status_code::wrong_emulator);
      CHECK(machine.message(s) ==
            "sample::copy: the emulator in TRITONC_DRIVER has version 0, but this program needs "
            "version 2: use the emulator of the TritonC version that compiled the program");
    }
    CHECK(machine.driver().calls("cuInit") == 0);
  }
  SUBCASE("lacks an operation") {
    Machine machine(Machine::emulator);
    const char *const operations[] = {"swim_backwards i32(i32)"};
    for (abi::host_code &code : sample.codes) {
      code.operations = operations;
      code.operation_count = 1;
    }
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::wrong_emulator);
    CHECK(machine.message(s).find("lacks an operation") != std::string::npos);
  }
  SUBCASE("version of the host code") {
    Machine machine(Machine::emulator);
    for (abi::host_code &code : sample.codes)
      code.version = 7;
    CHECK(launch(machine, sample).cuda_result() == 200);
  }
}

TEST_CASE("emulator: passes hidden parameters of schedules") {
  ConfigArgs args = schedule_args();
  ConfigKernel kernel(
      {{"maps", {}, "1", {"2"}, 2, {TensorText(), {abi::hidden_kind::i32, "n"}}}, {"plain"}});
  auto ran = [&](Machine &machine) {
    status s = machine.runtime().launch(kernel.kernel(), {}, &args, nullptr, nullptr);
    REQUIRE_MESSAGE(s.ok(), machine.message(s));
    return noted_launch();
  };
  SUBCASE("device that takes any code") {
    Machine machine(Machine::emulator);
    CHECK(ran(machine).schedule == "maps");
    CHECK(noted_launch().hidden.size() == 2);
    CHECK(noted_launch().number(1) == args.n);
    CHECK(machine.driver().last_launch().cluster[0] == 2);
    args.stride = 1;
    CHECK(ran(machine).schedule == "plain");
  }
  SUBCASE("device without such code") {
    Machine machine(Machine::emulator, "gpu=80");
    CHECK(ran(machine).schedule == "for 80");
  }
}

TEST_CASE("emulator: takes code for any GPU, unless gpu= is set") {
  SampleKernel sample;
  SUBCASE("code for the device comes first") {
    Machine machine(Machine::emulator);
    REQUIRE(launch(machine, sample).ok());
    CHECK(std::string(machine.driver().last_launch().gpu) == "sm_90a");
  }
  SUBCASE("code for another GPU") {
    Machine machine(Machine::emulator);
    for (abi::variant &variant : sample.variants)
      variant.image_count = 1; // sm_80
    REQUIRE(launch(machine, sample).ok());
    CHECK(std::string(machine.driver().last_launch().gpu) == "sm_80");
    CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).ok());
  }
  SUBCASE("gpu= refuses code for another GPU") {
    Machine machine(Machine::emulator, "gpu=90");
    for (abi::variant &variant : sample.variants)
      variant.image_count = 1;
    CHECK(launch(machine, sample).code() == status_code::no_image_for_device);
    CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  }
}

TEST_CASE("choose_image: takes_any_gpu prefers the device's image") {
  abi::host_code host = {};
  auto chosen = [&](std::vector<abi::image> images, int device) {
    abi::variant variant = {};
    variant.images = images.data();
    variant.image_count = std::uint32_t(images.size());
    const abi::image *image = cuda::choose_image(variant, device, true).image;
    return image ? int(image - images.data()) : -1;
  };
  auto image = [&](int sm, char suffix, bool has_host) {
    return abi::image{nullptr, 0, nullptr, sm, suffix, has_host ? &host : nullptr};
  };
  CHECK(chosen({image(80, 0, true), image(90, 'a', true)}, 90) == 1);
  CHECK(chosen({image(80, 0, true), image(90, 'a', true)}, 86) == 0);
  CHECK(chosen({image(80, 0, true), image(90, 'a', true)}, 75) == 1);
  CHECK(chosen({image(100, 'a', false), image(80, 0, true)}, 90) == 1);
  CHECK(chosen({image(80, 0, false), image(86, 0, false)}, 90) == 1);
  CHECK(chosen({}, 90) == -1);
}

TEST_CASE("emulator: a faulty kernel loses the device") {
  struct {
    SampleBody body;
    const char *settings;
    int code;
  } cases[] = {
      {SampleBody::copy, "", 700}, // the arguments point to host memory
      {SampleBody::never_end, "max_steps=1000", 702},
      {SampleBody::race, "", 719},
      {SampleBody::fail_assertion, "", 710},
  };
  for (auto &c : cases) {
    CAPTURE(c.code);
    Machine machine(Machine::emulator, c.settings);
    SampleKernel sample(c.body), harmless;
    SampleArgs args = good_args();
    if (c.body == SampleBody::race)
      args.target = new_memory(machine, 1);
    CHECK(launch(machine, sample, args).ok()); // as on hardware, later calls return the fault
    auto is_lost = [&](const status &s) {
      return s.code() == status_code::device_lost && s.cuda_result() == c.code;
    };
    void *memory = nullptr;
    float milliseconds = 0;
    for (int i = 0; i < 2; i++) {
      CHECK(is_lost(machine.runtime().synchronize({})));
      CHECK(is_lost(launch(machine, harmless)));
      CHECK(is_lost(launch(machine, sample, args)));
      CHECK(is_lost(machine.runtime().allocate(&memory, 16)));
      CHECK(is_lost(machine.runtime().fill(args.target, 0, 16)));
      CHECK(is_lost(machine.runtime().copy_to_host(&memory, args.target, 4)));
      CHECK(is_lost(machine.runtime().copy_to_device(args.target, &memory, 4)));
      CHECK(is_lost(machine.runtime().preload(harmless.kernel, nullptr, abi::current)));
      CHECK(is_lost(machine.runtime().time_nothing(milliseconds)));
    }
    device_info info;
    CHECK(machine.runtime().current_device(info).ok()); // does not use the device
  }
}

TEST_CASE("emulator: an allowed race keeps the device") {
  Machine machine(Machine::emulator, "max_steps=1000,races=off");
  SampleKernel sample(SampleBody::race);
  SampleArgs args = {new_memory(machine, 1), new_memory(machine, 1), 64};
  REQUIRE(launch(machine, sample, args).ok());
  CHECK(machine.runtime().synchronize({}).ok());
}

TEST_CASE("emulator: runs a million threads") {
  Machine machine(Machine::emulator);
  SampleKernel sample;
  SUBCASE("many blocks") {
    SampleArgs args = good_args();
    args.n = 64 * 31250;
    REQUIRE(launch(machine, sample, args).ok());
    CHECK(machine.runtime().synchronize({}).ok());
    CHECK(machine.driver().last_launch().grid[0] == 31250);
  }
  SUBCASE("one block is refused without harm") {
    sample.set_threads(1000000);
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::cuda);
    CHECK_FALSE(launch(machine, sample).ok());
    SampleKernel harmless;
    CHECK(launch(machine, harmless).ok());
  }
}
