// Tests runtime/src/load/image.cpp: damaged images, loading, shared memory limits, capture.

#include "load/image.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>

using namespace tritonc;

namespace {

status launch(Machine &machine, const SampleKernel &sample, cu::Stream *stream = nullptr) {
  SampleArgs args = good_args();
  return machine.runtime().launch(sample.kernel, as_stream(stream), &args, nullptr, nullptr);
}

/// Returns the driver's limit of dynamic shared memory for the image's kernel.
int shared_limit(Machine &machine, const abi::image &image, int device) {
  auto *kernel = static_cast<cu::Kernel *>(image.state->kernel.load());
  int limit = 0;
  REQUIRE(machine.driver().cuKernelGetAttribute(&limit, 8, kernel, device) == cu::success);
  return limit;
}

/// Returns the name of the image that choose_image takes for a device.
std::string chosen(const std::vector<std::pair<int, char>> &images, int device) {
  std::vector<abi::image> rows;
  for (auto [sm, suffix] : images)
    rows.push_back({nullptr, 0, nullptr, sm, suffix, nullptr, nullptr});
  abi::variant variant = {};
  variant.images = rows.data();
  variant.image_count = std::uint32_t(rows.size());
  const abi::image *image = cuda::choose_image(variant, device).image;
  if (!image)
    return "none";
  return std::to_string(image->sm) + (image->suffix ? std::string(1, char(image->suffix)) : "");
}

} // namespace

TEST_CASE("choose_image: takes the image that fits best") {
  CHECK(chosen({{80, 0}, {90, 0}, {90, 'a'}}, 90) == "90a");
  CHECK(chosen({{90, 'a'}, {80, 0}, {90, 0}}, 90) == "90a");
  CHECK(chosen({{80, 0}, {86, 0}, {89, 0}}, 86) == "86");
  CHECK(chosen({{80, 0}, {86, 0}, {89, 0}}, 87) == "86");
  CHECK(chosen({{80, 0}}, 89) == "80");
  CHECK(chosen({{86, 0}}, 80) == "none");
  CHECK(chosen({{80, 0}}, 90) == "none");
  CHECK(chosen({{100, 'a'}}, 103) == "none");
  CHECK(chosen({{100, 'f'}, {100, 0}}, 103) == "100f");
  CHECK(chosen({{100, 'f'}, {103, 0}}, 103) == "103");
  CHECK(chosen({{120, 0}}, 121) == "120");
  CHECK(chosen({}, 90) == "none");
  // PTX is the last choice. It runs on its GPU and all later ones, and newer PTX is better.
  CHECK(chosen({{80, 'p'}, {80, 0}}, 86) == "80");
  CHECK(chosen({{80, 'p'}, {80, 0}, {90, 'a'}}, 90) == "90a");
  CHECK(chosen({{80, 'p'}, {80, 0}, {90, 'a'}}, 100) == "80p");
  CHECK(chosen({{80, 0}, {80, 'p'}}, 80) == "80");
  CHECK(chosen({{80, 'p'}, {90, 'p'}}, 120) == "90p");
  CHECK(chosen({{80, 'p'}, {90, 'p'}}, 89) == "80p");
  CHECK(chosen({{90, 'p'}}, 90) == "90p");
  CHECK(chosen({{80, 'p'}}, 75) == "none");
}

TEST_CASE("make_ready: loads an undamaged image") {
  Machine machine;
  SampleKernel sample;
  REQUIRE(launch(machine, sample).ok());
  CHECK(machine.driver().counters().libraries == 1);
  CHECK(std::string(machine.driver().last_launch().kernel) == "copy_64");
  CHECK(std::string(machine.driver().last_launch().gpu) == "sm_90a");
}

TEST_CASE("make_ready: passes the image, not the host code") {
  Machine machine;
  SampleKernel sample;
  for (abi::host_code &code : sample.codes)
    code.magic[0] = 'x';
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("make_ready: finds every flipped bit before the driver") {
  Machine machine;
  SampleKernel sample;
  abi::image &image = sample.images[0][1];
  std::string whole = sample.bytes[1];
  auto is_refused = [&](const std::string &bytes) {
    image.bytes = bytes.data();
    image.size = bytes.size();
    status s = launch(machine, sample);
    return s.code() == status_code::corrupt_image && std::string(s.argument()) == "sm_90a";
  };
  for (size_t length = 0; length < whole.size(); length++) {
    CAPTURE(length);
    CHECK(is_refused(whole.substr(0, length)));
  }
  CHECK(is_refused(whole + "x"));
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK(is_refused(flipped));
  }
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  // The failure does not last: an undamaged image is loaded.
  image.bytes = whole.data();
  image.size = whole.size();
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("make_ready: refuses an image shorter than its header") {
  Machine machine;
  SampleKernel sample;
  abi::image &image = sample.images[0][1];
  std::string bytes = sample.bytes[1];
  auto launch_with_size = [&](std::uint64_t size) {
    image.bytes = bytes.data();
    image.size = size;
    // The header's length agrees with the size, modulo 2^64.
    const std::uint64_t length = size - sizeof(abi::image_header);
    std::memcpy(bytes.data() + offsetof(abi::image_header, length), &length, sizeof length);
    return launch(machine, sample);
  };
  for (std::uint64_t size : {std::uint64_t(0), sizeof(abi::image_header) - 1})
    CHECK(launch_with_size(size).code() == status_code::corrupt_image);
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  CHECK(launch_with_size(bytes.size()).ok());
}

TEST_CASE("make_ready: raises the shared memory limit once per device") {
  Machine machine(Machine::as_driver, "devices=2");
  SampleKernel sample;
  const abi::image &image = sample.images[0][1];
  SUBCASE("counts dynamic and static together") {
    cu::Context *contexts[] = {machine.driver().new_context(0), machine.driver().new_context(1)};
    sample.infos[0][1].shared_bytes = 48 * 1024;
    sample.infos[0][1].static_shared_bytes = 16;
    for (int round = 0; round < 2; round++)
      for (cu::Context *context : contexts) {
        machine.driver().make_current(context);
        REQUIRE(launch(machine, sample).ok());
      }
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 2);
    CHECK(shared_limit(machine, image, 0) == 49152);
    CHECK(shared_limit(machine, image, 1) == 49152);
    CHECK(machine.driver().counters().libraries == 1);
  }
  SUBCASE("a failure does not last") {
    sample.infos[0][1].shared_bytes = 100000;
    machine.driver().configure("fail=cuKernelSetAttribute:1:1");
    CHECK(launch(machine, sample).code() == status_code::cuda);
    CHECK(launch(machine, sample).ok());
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 3); // the retry sets both devices
    CHECK(shared_limit(machine, image, 0) == 100000);
    CHECK(machine.driver().last_launch().shared_bytes == 100000);
  }
  SUBCASE("raised for all alike devices at the first launch") {
    sample.infos[0][1].shared_bytes = 100000;
    machine.driver().new_context(0);
    REQUIRE(launch(machine, sample).ok());
    CHECK(shared_limit(machine, image, 1) == 100000);
    unsigned flags = 0;
    int is_active = 1;
    REQUIRE(machine.driver().cuDevicePrimaryCtxGetState(1, &flags, &is_active) == cu::success);
    CHECK(is_active == 0);
    machine.driver().new_context(1);
    CHECK(launch(machine, sample, machine.driver().new_stream()).ok());
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 2);
  }
  SUBCASE("a failure for another device does not last") {
    sample.infos[0][1].shared_bytes = 100000;
    machine.driver().configure("fail=cuKernelSetAttribute:2:1");
    cu::Context *first = machine.driver().new_context(0);
    cu::Stream *of_first = machine.driver().new_stream();
    REQUIRE(launch(machine, sample, of_first).ok());
    CHECK(shared_limit(machine, image, 1) != 100000);
    machine.driver().new_context(1);
    CHECK(launch(machine, sample, machine.driver().new_stream()).ok());
    CHECK(shared_limit(machine, image, 1) == 100000);
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 3);
    machine.driver().make_current(first);
    CHECK(launch(machine, sample, of_first).ok());
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 3);
  }
  SUBCASE("separate for different devices") {
    Machine two(Machine::as_driver, "gpu=90a/80");
    SampleKernel fresh;
    for (image_info &info : fresh.infos[0])
      info.shared_bytes = 100000;
    for (int device : {0, 1}) {
      two.driver().new_context(device);
      REQUIRE(launch(two, fresh).ok());
      CHECK(two.driver().calls("cuKernelSetAttribute") == device + 1);
    }
  }
  SUBCASE("not needed for 48 KiB") {
    sample.infos[0][1].shared_bytes = 48 * 1024;
    REQUIRE(launch(machine, sample).ok());
    CHECK(machine.driver().calls("cuKernelSetAttribute") == 0);
  }
  SUBCASE("refuses more than the device's limit") {
    sample.infos[0][1].shared_bytes = sample.infos[1][1].shared_bytes = 1 << 20;
    CHECK(launch(machine, sample).code() == status_code::no_image_for_device);
    CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).code() ==
          status_code::no_image_for_device);
    CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
    CHECK(machine.runtime().synchronize({}).ok());
  }
}

TEST_CASE("has_room: skips code with too much shared memory") {
  auto run = [](const std::string &gpu, int bytes, int static_bytes) {
    SampleKernel sample;
    sample.infos[0][0].shared_bytes = bytes;
    sample.infos[0][0].static_shared_bytes = static_bytes;
    sample.codes[0].shared_bytes = std::uint32_t(bytes);
    Machine machine(Machine::as_driver, "gpu=" + gpu);
    REQUIRE(launch(machine, sample).ok());
    CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).ok());
    return std::string(machine.driver().last_launch().kernel);
  };
  CHECK(run("80", 147456, 0) == "copy_64");
  CHECK(run("86", 147456, 0) == "copy_16");
  CHECK(run("86", 101376, 0) == "copy_64");
  CHECK(run("86", 101376, 16) == "copy_16");
  CHECK(run("80", 163 * 1024, 0) == "copy_64");
}

TEST_CASE("make_ready: loads during capture from CUDA 12.3") {
  auto begin = [](Machine &machine, cu::Stream *stream) {
    constexpr int strictest = 0;
    REQUIRE(machine.driver().cuStreamBeginCapture_v2(stream, strictest) == cu::success);
  };
  auto end = [](Machine &machine, cu::Stream *stream) {
    cu::Graph *graph = nullptr;
    cu::Result result = machine.driver().cuStreamEndCapture(stream, &graph);
    return result == cu::success && graph != nullptr;
  };
  SampleKernel sample;
  SUBCASE("12.3: loads in relaxed mode and restores the mode") {
    Machine machine(Machine::as_driver, "version=12030");
    machine.driver().new_context();
    cu::Stream *stream = machine.driver().new_stream();
    begin(machine, stream);
    REQUIRE(launch(machine, sample, stream).ok());
    CHECK(machine.driver().calls("cuThreadExchangeStreamCaptureMode") == 2);
    int mode = 1;
    REQUIRE(machine.driver().cuThreadExchangeStreamCaptureMode(&mode) == cu::success);
    CHECK(mode == 0);
    CHECK(end(machine, stream));
  }
  SUBCASE("several devices: makes no call that the driver refuses") {
    for (const char *settings : {"version=13000,devices=2", "version=12030,devices=2"}) {
      CAPTURE(std::string(settings));
      SampleKernel fresh;
      Machine machine(Machine::as_driver, settings);
      cu::Context *other = machine.driver().new_context(0);
      machine.driver().new_context(1);
      cu::Stream *stream = machine.driver().new_stream();
      begin(machine, stream);
      for (int launches = 0; launches < 3; launches++)
        CHECK(launch(machine, fresh, stream).ok());
      REQUIRE(machine.driver().cuCtxPushCurrent_v2(other) == cu::success); // another context
      CHECK(launch(machine, fresh, stream).ok());
      CHECK(end(machine, stream));
    }
  }
  SUBCASE("before 12.3: makes no call, so the capture survives") {
    Machine machine(Machine::as_driver, "version=12020");
    machine.driver().new_context();
    cu::Stream *stream = machine.driver().new_stream();
    begin(machine, stream);
    CHECK(launch(machine, sample, stream).code() == status_code::not_preloaded_in_capture);
    CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
    CHECK(machine.driver().calls("cuThreadExchangeStreamCaptureMode") == 0);
    CHECK(end(machine, stream));
    REQUIRE(launch(machine, sample, stream).ok());
    begin(machine, stream);
    CHECK(launch(machine, sample, stream).ok()); // already loaded
    CHECK(end(machine, stream));
  }
  SUBCASE("another stream's capture: default stream is unusable") {
    Machine machine(Machine::as_driver, "version=12020");
    machine.driver().new_context();
    cu::Stream *stream = machine.driver().new_stream();
    begin(machine, stream);
    CHECK(launch(machine, sample).code() == status_code::not_preloaded_in_capture);
    CHECK(end(machine, stream));
  }
}

TEST_CASE("launch: captured launch keeps its arguments") {
  Machine machine;
  SampleKernel sample;
  machine.driver().new_context();
  cu::Stream *stream = machine.driver().new_stream();
  SampleArgs args = good_args();
  args.n = 64;
  REQUIRE(machine.runtime().preload(sample.kernel, nullptr, abi::current).ok());
  REQUIRE(launch(machine, sample).ok()); // n = 64 * 16
  REQUIRE(machine.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
  REQUIRE(machine.runtime().launch(sample.kernel, as_stream(stream), &args, nullptr, nullptr).ok());
  args.n = 0;
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  REQUIRE(machine.driver().cuStreamEndCapture(stream, &graph) == cu::success);
  REQUIRE(machine.driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == cu::success);
  CHECK(noted_args().n == 64 * 16);
  REQUIRE(machine.driver().cuGraphLaunch(exec, stream) == cu::success);
  CHECK(noted_args().n == 64);
}

TEST_CASE("make_ready: verifies PTX and compiles it at load") {
  Machine machine(Machine::as_driver, "gpu=120");
  SampleKernel sample;
  sample.make_ptx();
  std::string whole = sample.bytes[1];
  for (size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << bit % 8));
    sample.images[0][1].bytes = flipped.data();
    CHECK(launch(machine, sample).code() == status_code::corrupt_image);
  }
  CHECK(machine.driver().calls("cuLibraryLoadData") == 0);
  sample.images[0][1].bytes = whole.data();
  SUBCASE("the driver has no compiler") {
    constexpr int jit_compiler_not_found = 221;
    machine.driver().configure("fail=cuKernelGetFunction:1:221");
    status s = launch(machine, sample);
    CHECK(s.code() == status_code::cuda);
    CHECK(s.cuda_result() == jit_compiler_not_found);
    CHECK(machine.driver().counters().libraries == 0);
  }
  SUBCASE("PTX is newer than the driver") {
    machine.driver().configure("fail=cuKernelGetFunction:1:222");
    CHECK(launch(machine, sample).code() == status_code::driver_too_old);
    CHECK(machine.driver().counters().libraries == 0);
  }
  REQUIRE(launch(machine, sample).ok());
  CHECK(std::string(machine.driver().last_launch().gpu) == "compute_80");
  auto *kernel = static_cast<cu::Kernel *>(sample.images[0][1].state->kernel.load());
  int version = 0;
  REQUIRE(machine.driver().cuKernelGetAttribute(&version, 5, kernel, 0) == cu::success);
  CHECK(version == 80);
  REQUIRE(machine.driver().cuKernelGetAttribute(&version, 6, kernel, 0) == cu::success);
  CHECK(version == 120);
}

TEST_CASE("launch: PTX is the last choice among variants") {
  Machine machine(Machine::as_driver, "gpu=90,sms=10");
  SampleKernel sample;
  SampleKernel with_ptx;
  with_ptx.make_ptx();
  sample.variants[0].images = with_ptx.images[0].data();
  sample.variants[0].infos = with_ptx.infos[0].data();
  REQUIRE(launch(machine, sample).ok());
  CHECK(std::string(machine.driver().last_launch().gpu) == "sm_90a");
  CHECK(std::string(machine.driver().last_launch().kernel) == "copy_16");
  sample.variants[1].image_count = 1; // sm_80
  REQUIRE(launch(machine, sample).ok());
  CHECK(std::string(machine.driver().last_launch().gpu) == "sm_90a"); // from the launch cache
  SampleArgs args = good_args();
  args.n = 2 * 64 * 16;
  REQUIRE(machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr).ok());
  CHECK(std::string(machine.driver().last_launch().gpu) == "compute_80");
}

TEST_CASE("preload: loads the functions of every variant") {
  Machine machine;
  SampleKernel sample;
  REQUIRE(machine.runtime().preload(sample.kernel, nullptr, abi::current).ok());
  CHECK(machine.driver().counters().libraries == 2);
  CHECK(machine.driver().calls("cuFuncLoad") == 2);
  CHECK(machine.driver().current() == nullptr);
  std::int32_t unknown = 5;
  CHECK(machine.runtime().preload(sample.kernel, &unknown, abi::current).code() ==
        status_code::no_variant);
  machine.driver().configure("fail=cuKernelGetFunction:*:2");
  CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).code() ==
        status_code::out_of_memory);
}

TEST_CASE("preload: returns no_image_for_device without code") {
  Machine machine(Machine::as_driver, "gpu=75");
  SampleKernel sample;
  CHECK(machine.runtime().preload(sample.kernel, nullptr, abi::current).code() ==
        status_code::no_image_for_device);
}
