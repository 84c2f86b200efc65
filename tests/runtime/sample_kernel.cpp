// Descriptors built by hand. See sample_kernel.h.

#include "runtime/sample_kernel.h"

#include <cstring>

namespace tritonc {

namespace {

std::int64_t word(abi::op op) { return std::int64_t(op); }

} // namespace

std::string sealed_image(const std::string &image) {
  std::string text = image + "$";
  abi::image_header header = {};
  std::memcpy(header.magic, abi::image_magic, sizeof header.magic);
  header.version = abi::image_version;
  header.length = text.size();
  header.checksum = abi::checksum(text.data(), text.size());
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) + text;
}

SampleKernel::SampleKernel() {
  parameters = {
      {"source", 0, 16, abi::parameter_kind::pointer, false, {}},
      {"target", 8, 16, abi::parameter_kind::pointer, false, {}},
      {"n", 16, 0, abi::parameter_kind::i32, false, {}},
  };
  const char *texts[] = {"n % 64 == 0", "n % 16 == 0"};
  for (int v = 0; v < 2; v++) {
    std::int64_t tile = choices[size_t(v)];
    grid_[v] = {word(abi::op::parameter), 2, word(abi::op::constant), tile, word(abi::op::div),
                word(abi::op::end)};
    divides_[v] = {word(abi::op::parameter),
                   2,
                   word(abi::op::constant),
                   tile,
                   word(abi::op::rem),
                   word(abi::op::constant),
                   0,
                   word(abi::op::eq),
                   word(abi::op::end)};
    requirements_[v] = {{divides_[v].data(), texts[v]}};
    add_image(v, "sm_80", 80, 0);
    add_image(v, "sm_90a", 90, 'a');
    variants.push_back({"copy",
                        {grid_[v].data(), nullptr, nullptr},
                        requirements_[v].data(),
                        parameters.data(),
                        images[v].data(),
                        infos[v].data(),
                        1,
                        std::uint32_t(images[v].size())});
  }
  kernel = {
      abi::abi_version, 3, "sample::copy", "sm_80, sm_90a", variants.data(), choices.data(), 2, 1};
}

void SampleKernel::add_image(int variant, const char *gpu, int sm, char suffix) {
  const std::string &image = bytes.emplace_back(
      sealed_image(std::string(gpu) + " tile " + std::to_string(choices[size_t(variant)])));
  images[variant].push_back({image.data(), image.size(), &states_[state_count_++], sm, suffix});
  image_info info = {};
  info.gpu = gpu;
  info.threads = 128;
  info.shared_bytes = 1024;
  infos[variant].push_back(info);
}

SampleArgs good_args() {
  alignas(16) static char source[16], target[16];
  return {source, target, 64 * 1000};
}

} // namespace tritonc
