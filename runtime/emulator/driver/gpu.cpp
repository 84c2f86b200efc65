// What a device can do, and which code it runs.

#include "gpu.h"

#include <charconv>

namespace tritonc::emulator::driver {

namespace {

const Gpu gpus[] = {
#define GPU(...) {__VA_ARGS__},
#include "gpus.def"
};

struct Architecture {
  int sm = 0; // 0: not an architecture
  char suffix = 0;
};

Architecture parse(std::string_view name) {
  if (name.substr(0, 3) == "sm_")
    name.remove_prefix(3);
  Architecture result;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), result.sm);
  std::string_view rest(end, std::size_t(name.data() + name.size() - end));
  bool is_known = rest.empty() || rest == "a" || rest == "f";
  if (error != std::errc() || !is_known)
    return {};
  if (!rest.empty())
    result.suffix = rest[0];
  return result;
}

} // namespace

std::string Gpu::architecture() const { return "sm_" + std::to_string(sm) + (sm >= 90 ? "a" : ""); }

const Gpu *find_gpu(std::string_view name) {
  Architecture wanted = parse(name);
  for (const Gpu &gpu : gpus)
    if (gpu.sm == wanted.sm)
      return &gpu;
  return nullptr;
}

std::string known_gpus() {
  std::string list;
  for (const Gpu &gpu : gpus)
    list += (list.empty() ? "" : ", ") + std::to_string(gpu.sm);
  return list;
}

bool runs_on(std::string_view architecture, const Gpu &gpu) {
  Architecture code = parse(architecture);
  if (code.suffix == 'a')
    return code.sm == gpu.sm;
  return code.sm / 10 == gpu.sm / 10 && code.sm <= gpu.sm;
}

} // namespace tritonc::emulator::driver
