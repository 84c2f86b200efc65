// Hand-written descriptors and host code. See sample_kernel.h.

#include "unit/runtime/sample_kernel.h"

#include <atomic>
#include <cstring>

namespace tritonc {

namespace {

std::int64_t word(abi::op op) { return std::int64_t(op); }

// ---- host code ----

std::atomic<const void *> noted_source{nullptr};
std::atomic<void *> noted_target{nullptr};
std::atomic<std::int32_t> noted_n{0};

const char *const operations[] = {"tid_x below(1024)()", "ctaid_x below(2147483647)()",
                                  "load_global",         "store_global",
                                  "out_of_steps",        "assert_fail none(ptr,ptr,imm,i32)"};
enum Operation { tid_x, ctaid_x, load_global, store_global, out_of_steps, assert_fail };

const abi::host_site here = {"sample.tc", 1, 1};
const abi::host_parameter host_parameters[] = {{"source", 8, 1}, {"target", 8, 1}, {"n", 4, 0}};

using Operations = const abi::host_operation *;

template <typename T> T value(void *const *arguments, int i) {
  T result;
  std::memcpy(&result, arguments[i], sizeof result);
  return result;
}

void touch_nothing(Operations, abi::host_thread *, void *const *arguments) {
  noted_source = value<const void *>(arguments, 0);
  noted_target = value<void *>(arguments, 1);
  noted_n = value<std::int32_t>(arguments, 2);
}

std::uint32_t read(Operations operations, abi::host_thread *thread, Operation operation) {
  std::uint32_t record = 0;
  operations[operation](thread, &record, 1, &here);
  return record;
}

void announce(Operations operations, abi::host_thread *thread, Operation operation,
              const void *address) {
  operations[operation](thread, const_cast<void *>(address), 4 | 4 << 16, &here);
}

template <int tile>
void copy(Operations operations, abi::host_thread *thread, void *const *arguments) {
  auto *source = value<const std::int32_t *>(arguments, 0);
  auto *target = value<std::int32_t *>(arguments, 1);
  std::uint32_t program = read(operations, thread, ctaid_x);
  for (std::uint32_t i = read(operations, thread, tid_x); i < tile; i += 32) {
    std::size_t at = std::size_t(program) * tile + i;
    announce(operations, thread, load_global, source + at);
    std::int32_t element = source[at];
    announce(operations, thread, store_global, target + at);
    target[at] = element;
  }
}

void never_end(Operations operations, abi::host_thread *thread, void *const *) {
  while (true)
    if (--thread->steps_left < 0)
      operations[out_of_steps](thread, nullptr, 0, &here);
}

void race(Operations operations, abi::host_thread *thread, void *const *arguments) {
  auto *target = value<std::int32_t *>(arguments, 1);
  announce(operations, thread, store_global, target);
  *target = std::int32_t(read(operations, thread, tid_x));
}

void fail_assertion(Operations operations, abi::host_thread *thread, void *const *) {
  struct {
    const char *text, *file;
    std::uint32_t line, element;
  } record = {"assertion `n > 0` failed", "sample.tc", 1, 0};
  operations[assert_fail](thread, &record, 1, &here);
}

abi::host_code host_code(const char *entry, const char *gpu, int tile, SampleBody body) {
  abi::host_code code = {};
  std::memcpy(code.magic, abi::host_code_magic, sizeof code.magic);
  code.version = abi::host_code_version;
  code.operations = operations;
  code.operation_count = sizeof operations / sizeof *operations;
  code.entry = body == SampleBody::touch_nothing    ? touch_nothing
               : body == SampleBody::never_end      ? never_end
               : body == SampleBody::race           ? race
               : body == SampleBody::fail_assertion ? fail_assertion
               : tile == 64                         ? copy<64>
                                                    : copy<16>;
  code.name = entry;
  code.gpu = gpu;
  code.parameters = host_parameters;
  code.parameter_count = 3;
  code.sites = &here;
  code.site_count = 1;
  code.threads = 32;
  code.shared_bytes = 1024;
  code.cluster_size = 1;
  return code;
}

const char *const entries[] = {"copy_64", "copy_16"};

} // namespace

std::string sealed_image(const std::string &bytes) {
  abi::image_header header = {};
  std::memcpy(header.magic, abi::image_magic, sizeof header.magic);
  header.version = abi::image_version;
  header.length = bytes.size();
  header.checksum = abi::checksum(bytes.data(), bytes.size());
  return std::string(reinterpret_cast<const char *>(&header), sizeof header) + bytes;
}

SampleKernel::SampleKernel(SampleBody body) {
  parameters = {
      {"source", 0, 16, abi::parameter_kind::pointer, false, 8, {}},
      {"target", 8, 16, abi::parameter_kind::pointer, false, 8, {}},
      {"n", 16, 0, abi::parameter_kind::i32, false, 4, {}},
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
    add_image(v, "sm_80", 80, 0, body);
    add_image(v, "sm_90a", 90, 'a', body);
    variants.push_back({entries[v],
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

void SampleKernel::add_image(int variant, const char *gpu, int sm, char suffix, SampleBody body) {
  const abi::host_code &code =
      codes.emplace_back(host_code(entries[variant], gpu, choices[size_t(variant)], body));
  const std::string &image = bytes.emplace_back(
      sealed_image(std::string(reinterpret_cast<const char *>(&code), sizeof code)));
  images[variant].push_back(
      {image.data(), image.size(), &states_[state_count_++], sm, suffix, &code, nullptr});
  image_info info = {};
  info.gpu = gpu;
  info.threads = 32;
  info.shared_bytes = 1024;
  infos[variant].push_back(info);
}

void SampleKernel::make_ptx() {
  for (size_t v = 0; v < 2; v++) {
    abi::host_code &code = codes[2 * v + 1];
    std::string &image = bytes[2 * v + 1];
    code.gpu = infos[v][1].gpu = "compute_80";
    image = sealed_image(std::string(reinterpret_cast<const char *>(&code), sizeof code));
    images[v][1].bytes = image.data();
    images[v][1].sm = 80;
    images[v][1].suffix = abi::ptx_suffix;
  }
  kernel.gpus = "sm_80, compute_80";
}

void SampleKernel::specialize() {
  for (image_info &info : infos[0]) {
    info.specialization = "n % 64";
    infos[1].push_back(info);
  }
  for (size_t v = 0; v < 2; v++)
    variants[v].infos = infos[1].data() + (v == 0 ? images[1].size() : 0);
  variants[1].specialized = &variants[0];
  variants[1].specialized_count = 1;
  kernel.variants = &variants[1];
  kernel.choices = &choices[1];
  kernel.variant_count = 1;
}

void SampleKernel::set_threads(int threads) {
  for (size_t i = 0; i < codes.size(); i++) {
    codes[i].threads = std::uint32_t(threads);
    bytes[i] =
        sealed_image(std::string(reinterpret_cast<const char *>(&codes[i]), sizeof codes[i]));
    images[i / 2][i % 2].bytes = bytes[i].data();
    infos[i / 2][i % 2].threads = threads;
  }
}

SampleArgs good_args() {
  alignas(16) static char source[16], target[16];
  return {source, target, 64 * 16};
}

SampleArgs noted_args() { return {noted_source, noted_target, noted_n}; }

} // namespace tritonc
