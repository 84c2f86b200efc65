// Looks up devices by name and decides which code they run. See gpu.h.

#include "gpu.h"

#include <charconv>

namespace tritonc::emulator::driver {

namespace {

const Gpu gpus[] = {
#define GPU(...) {__VA_ARGS__},
#include "gpus.def"
};

struct Architecture {
  int sm = 0; // 0 = not an architecture
  char suffix = 0;
  bool is_ptx = false;
};

Architecture parse(std::string_view name) {
  constexpr std::string_view ptx = "compute_";
  Architecture result;
  result.is_ptx = name.substr(0, ptx.size()) == ptx;
  if (result.is_ptx)
    name.remove_prefix(ptx.size());
  else if (name.substr(0, 3) == "sm_")
    name.remove_prefix(3);
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), result.sm);
  std::string_view rest(end, std::size_t(name.data() + name.size() - end));
  bool is_known = rest.empty() || (!result.is_ptx && (rest == "a" || rest == "f"));
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
    if (gpu.sm == wanted.sm && !wanted.is_ptx)
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
  if (code.is_ptx)
    return code.sm <= gpu.sm;
  if (code.suffix == 'a')
    return code.sm == gpu.sm;
  return code.sm / 10 == gpu.sm / 10 && code.sm <= gpu.sm;
}

CodeVersions versions_of(std::string_view architecture, const Gpu &gpu) {
  Architecture code = parse(architecture);
  return {code.sm, code.is_ptx ? gpu.sm : code.sm};
}

} // namespace tritonc::emulator::driver
