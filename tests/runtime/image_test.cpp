// Tests runtime/src/image.cpp: damage, loading, limits of shared memory, capture.

#include "image.h"
#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

status launch(Machine &machine, const SampleKernel &sample, fake::Stream *stream = nullptr) {
  SampleArgs args = good_args();
  return machine.runtime().launch(sample.kernel, reinterpret_cast<CUstream_st *>(stream), &args,
                                  nullptr, nullptr);
}

/// The name of the image that a device takes out of these.
std::string chosen(const std::vector<std::pair<int, char>> &images, int device) {
  std::vector<abi::image> rows;
  for (auto [sm, suffix] : images)
    rows.push_back({nullptr, 0, nullptr, sm, suffix});
  abi::variant variant = {};
  variant.images = rows.data();
  variant.image_count = std::uint32_t(rows.size());
  const abi::image *image = cuda::choose_image(variant, device);
  if (!image)
    return "none";
  return std::to_string(image->sm) + (image->suffix ? std::string(1, char(image->suffix)) : "");
}

} // namespace

TEST_CASE("the image that fits a device best") {
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
}

TEST_CASE("a whole image reaches the driver, as it was given") {
  Machine machine;
  SampleKernel sample;
  REQUIRE(launch(machine, sample).ok());
  CHECK(machine.driver().loaded == std::vector<std::string>{"sm_90a tile 64"});
}

TEST_CASE("a damaged image never reaches the driver") {
  Machine machine;
  SampleKernel sample;
  abi::image &image = sample.images[0][1];
  std::string whole = sample.bytes[1];
  auto is_refused = [&](const std::string &bytes) {
    image.bytes = bytes.data();
    image.size = bytes.size();
    status s = launch(machine, sample);
    return s.code() == status_code::corrupt_image && std::string(s.subject()) == "sm_90a";
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
    bool is_unused =
        bit / 8 >= offsetof(abi::image_header, padding) && bit / 8 < sizeof(abi::image_header);
    is_unused = is_unused || (bit / 8 >= offsetof(abi::image_header, reserved) &&
                              bit / 8 < offsetof(abi::image_header, length));
    if (!is_unused)
      CHECK(is_refused(flipped));
  }
  CHECK(machine.driver().loaded.empty());
  // Nothing of this lasts: what is whole is loaded.
  image.bytes = whole.data();
  image.size = whole.size();
  CHECK(launch(machine, sample).ok());
}

TEST_CASE("more than 48 KiB of shared memory are asked for once per device") {
  Machine machine;
  SampleKernel sample;
  machine.driver().devices = {fake::Device{}, fake::Device{}};
  fake::Context contexts[] = {{0}, {1}};
  SUBCASE("dynamic and static together count") {
    sample.infos[0][1].shared_bytes = 48 * 1024;
    sample.infos[0][1].static_shared_bytes = 16;
    for (int round = 0; round < 2; round++)
      for (fake::Context &context : contexts) {
        machine.make_current(&context);
        REQUIRE(launch(machine, sample).ok());
      }
    CHECK(machine.driver().attributes == std::vector<std::string>{"copy 0 49152", "copy 1 49152"});
    CHECK(machine.driver().loaded.size() == 1);
  }
  SUBCASE("a failure does not last") {
    sample.infos[0][1].shared_bytes = 100000;
    machine.driver().fails_once["cuKernelSetAttribute"] = 1;
    CHECK(launch(machine, sample).code() == status_code::cuda);
    CHECK(launch(machine, sample).ok());
    CHECK(machine.driver().attributes.size() == 1);
  }
  SUBCASE("48 KiB are there anyway") {
    sample.infos[0][1].shared_bytes = 48 * 1024;
    REQUIRE(launch(machine, sample).ok());
    CHECK(machine.driver().attributes.empty());
  }
}

TEST_CASE("first use during a capture") {
  Machine machine;
  SampleKernel sample;
  fake::Context context;
  fake::Stream stream{&context};
  stream.is_capturing = true;
  machine.make_current(&context);
  SUBCASE("a driver from 12.3 on loads under a relaxed mode, which is taken back") {
    machine.driver().version = 12030;
    REQUIRE(launch(machine, sample, &stream).ok());
    CHECK(machine.driver().capture_modes == std::vector<int>{2, 0});
  }
  SUBCASE("an older one is not touched, so that the capture survives") {
    machine.driver().version = 12020;
    CHECK(launch(machine, sample, &stream).code() == status_code::not_preloaded_in_capture);
    CHECK(machine.driver().loaded.empty());
    CHECK(machine.driver().capture_modes.empty());
    stream.is_capturing = false;
    REQUIRE(launch(machine, sample, &stream).ok());
    stream.is_capturing = true;
    CHECK(launch(machine, sample, &stream).ok()); // loaded by now
  }
}

TEST_CASE("preload loads every variant for the device, down to the function") {
  Machine machine;
  SampleKernel sample;
  REQUIRE(machine.runtime().preload(sample.kernel, nullptr).ok());
  CHECK(machine.driver().loaded == std::vector<std::string>{"sm_90a tile 64", "sm_90a tile 16"});
  CHECK(machine.driver().calls["cuFuncLoad"] == 2);
  CHECK(machine.current() == nullptr);
  std::int32_t unknown = 5;
  CHECK(machine.runtime().preload(sample.kernel, &unknown).code() == status_code::no_variant);
  machine.driver().fails["cuKernelGetFunction"] = 2;
  CHECK(machine.runtime().preload(sample.kernel, nullptr).code() == status_code::out_of_memory);
}

TEST_CASE("preload of a kernel without code for the device") {
  Machine machine;
  machine.driver().devices[0] = {7, 5, 40};
  SampleKernel sample;
  CHECK(machine.runtime().preload(sample.kernel, nullptr).code() ==
        status_code::no_image_for_device);
}
