// Builds kernels with schedules from text. See config_kernel.h.

#include "unit/runtime/config_kernel.h"

#include "unit/runtime/sample_kernel.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace tritonc {

void (*on_noted)(const NotedLaunch &) = nullptr;

namespace {

std::mutex noting;
NotedLaunch noted;

/// Facts about a kernel that its host code cannot know. Each kernel has its own slot.
struct Slot {
  std::string schedule;
  std::vector<std::uint32_t> bytes; // of the hidden parameters
};
constexpr std::size_t slot_count = 64;
std::array<Slot, slot_count> slots;
std::size_t next_slot = 0;

template <typename T> T value(void *const *arguments, int i) {
  T result;
  std::memcpy(&result, arguments[i], sizeof result);
  return result;
}

template <std::size_t slot>
void note(const abi::host_operation *, abi::host_thread *, void *const *arguments) {
  NotedLaunch given;
  given.schedule = slots[slot].schedule;
  given.args = {value<const void *>(arguments, 0), value<void *>(arguments, 1),
                value<std::int32_t>(arguments, 2), value<std::int64_t>(arguments, 3)};
  for (std::size_t i = 0; i < slots[slot].bytes.size(); i++)
    given.hidden.emplace_back(static_cast<const char *>(arguments[4 + i]), slots[slot].bytes[i]);
  if (on_noted)
    on_noted(given);
  std::lock_guard lock(noting);
  noted = given;
}

template <std::size_t... i> constexpr auto notes(std::index_sequence<i...>) {
  return std::array{&note<i>...};
}
constexpr auto entries = notes(std::make_index_sequence<slot_count>());

const char *const no_operations[] = {"tid_x below(1024)()"};
const abi::host_site here = {"schedule.tc", 1, 1};

/// Never freed: the driver may read the data until the process ends.
template <typename T> T *kept(std::vector<T> list) {
  return (new std::vector<T>(std::move(list)))->data();
}

} // namespace

std::vector<std::int64_t> words_of(const std::string &postfix,
                                   const std::vector<abi::parameter> &parameters) {
  static const std::map<std::string, abi::op> operators = {
      {"+", abi::op::add},   {"-", abi::op::sub},   {"*", abi::op::mul},
      {"/", abi::op::div},   {"%", abi::op::rem},   {"cdiv", abi::op::ceil_div},
      {"min", abi::op::min}, {"max", abi::op::max}, {"<", abi::op::lt},
      {"<=", abi::op::le},   {">", abi::op::gt},    {">=", abi::op::ge},
      {"==", abi::op::eq},   {"!=", abi::op::ne},   {"sms", abi::op::num_sms},
  };
  std::vector<std::int64_t> words;
  auto add = [&](abi::op op, std::int64_t word) {
    words.push_back(std::int64_t(op));
    words.push_back(word);
  };
  std::istringstream in(postfix);
  for (std::string token; in >> token;) {
    if (auto found = operators.find(token); found != operators.end()) {
      words.push_back(std::int64_t(found->second));
    } else if (token.rfind("programs", 0) == 0) {
      add(abi::op::programs, std::stoi(token.substr(8)));
    } else if (std::isdigit(static_cast<unsigned char>(token.back()))) {
      add(abi::op::constant, std::stoll(token));
    } else {
      std::size_t i = 0;
      while (i < parameters.size() && token != parameters[i].name)
        i++;
      if (i == parameters.size())
        throw std::invalid_argument(token);
      add(abi::op::parameter, std::int64_t(i));
    }
  }
  words.push_back(std::int64_t(abi::op::end));
  return words;
}

const std::int64_t *ConfigKernel::words(const std::string &postfix) {
  return kept(words_of(postfix, parameters));
}

const char *ConfigKernel::text(const std::string &text) { return (new std::string(text))->c_str(); }

const abi::tensor_map *ConfigKernel::map(const TensorText &from) {
  abi::tensor_map map = {};
  while (from.parameter != parameters[map.parameter].name)
    map.parameter++;
  map.data_type = from.data_type;
  map.element_bytes = from.element_bytes;
  map.swizzle = from.swizzle;
  map.rank = std::uint8_t(from.sizes.size());
  map.offset = words(from.offset);
  for (std::size_t i = 0; i < from.sizes.size(); i++) {
    map.size[i] = words(from.sizes[i]);
    map.box[i] = from.box[i];
  }
  for (std::size_t i = 0; i < from.strides.size(); i++)
    map.stride[i] = words(from.strides[i]);
  return kept(std::vector{map});
}

const abi::launch_config *ConfigKernel::schedule(const ConfigText &from) {
  std::vector<abi::requirement> guards;
  for (const std::string &guard : from.guards)
    guards.push_back({words(guard), text(guard)});
  std::vector<abi::hidden_parameter> hidden;
  for (const HiddenText &parameter : from.hidden) {
    bool is_map = parameter.kind == abi::hidden_kind::tensor_map;
    bool is_number = !is_map && parameter.kind != abi::hidden_kind::workspace;
    hidden.push_back({is_number ? words(parameter.value) : nullptr,
                      is_number ? text(parameter.value) : nullptr,
                      is_map ? map(parameter.map) : nullptr, parameter.kind, 0});
  }
  abi::launch_config schedule = {};
  schedule.guard_count = std::uint32_t(guards.size());
  schedule.guards = kept(guards);
  schedule.hidden_count = std::uint32_t(hidden.size());
  schedule.hidden = kept(hidden);
  schedule.cost = from.cost.empty() ? nullptr : words(from.cost);
  for (std::size_t axis = 0; axis < from.blocks.size(); axis++)
    schedule.blocks[axis] = words(from.blocks[axis]);
  schedule.cluster = from.cluster;
  schedule.workspace = from.workspace.empty() ? nullptr : words(from.workspace);
  schedule.shared_bytes = from.shared_bytes.empty() ? nullptr : words(from.shared_bytes);
  schedule.part = from.part;
  schedule.starts_early = from.starts_early;
  bool is_plain = guards.empty() && hidden.empty() && !schedule.cost && from.blocks.empty() &&
                  from.cluster == 1 && !schedule.workspace && !schedule.shared_bytes &&
                  from.part == abi::launch_part::whole && !from.starts_early;
  return is_plain ? nullptr : kept(std::vector{schedule});
}

void ConfigKernel::add_image(VariantData &data, const char *gpu, int sm, char suffix,
                             const ConfigText &from) {
  std::size_t slot = next_slot++ % slot_count;
  slots[slot] = {from.name, {}};
  std::vector<abi::host_parameter> own = {
      {"source", 8, 1}, {"target", 8, 1}, {"n", 4, 0}, {"stride", 8, 0}};
  for (const HiddenText &parameter : from.hidden) {
    std::uint32_t bytes = parameter.kind == abi::hidden_kind::tensor_map ? 128
                          : parameter.kind == abi::hidden_kind::i32      ? 4
                                                                         : 8;
    slots[slot].bytes.push_back(bytes);
    own.push_back({"hidden", bytes, parameter.kind == abi::hidden_kind::workspace});
  }
  abi::host_code &code = data.codes.emplace_back();
  std::memcpy(code.magic, abi::host_code_magic, sizeof code.magic);
  code.version = abi::host_code_version;
  code.operations = no_operations;
  code.operation_count = 1;
  code.entry = entries[slot];
  code.name = "schedules";
  code.gpu = gpu;
  code.parameter_count = std::uint32_t(own.size());
  code.parameters = kept(own);
  code.sites = &here;
  code.site_count = 1;
  code.threads = 32;
  code.shared_bytes = std::uint32_t(from.image_shared_bytes);
  code.cluster_size = from.knows_cluster ? from.cluster : 1;
  const std::string &bytes = *new std::string(
      sealed_image(std::string(reinterpret_cast<const char *>(&code), sizeof code)));
  data.images.push_back(
      {bytes.data(), bytes.size(), new abi::image_state(), sm, suffix, &code, schedule(from)});
  image_info info = {};
  info.gpu = gpu;
  info.schedule = text(from.name);
  info.threads = 32;
  info.shared_bytes = from.image_shared_bytes;
  data.infos.push_back(info);
}

void ConfigKernel::add_variant(std::int32_t tile, const std::vector<ConfigText> &schedules) {
  VariantData &data = *new VariantData();
  variants_.push_back(&data);
  choices_.push_back(tile);
  add_image(data, "sm_80", 80, 0, {"for 80"});
  for (const ConfigText &schedule : schedules)
    add_image(data, "sm_90a", 90, 'a', schedule);
  abi::variant row = {};
  row.entry = "schedules";
  row.grid[0] = words("n " + std::to_string(tile) + " cdiv");
  row.images = data.images.data();
  row.infos = data.infos.data();
  row.image_count = std::uint32_t(data.images.size());
  rows_.push_back(row);
}

const abi::kernel &ConfigKernel::kernel() {
  for (abi::variant &row : rows_)
    row.parameters = parameters.data();
  kernel_ = {abi::abi_version,
             std::uint32_t(parameters.size()),
             "sample::schedules",
             "sm_80, sm_90a",
             rows_.data(),
             choices_.data(),
             std::uint32_t(rows_.size()),
             1};
  return kernel_;
}

std::vector<ConfigText> pair_of_configs(const std::string &workspace, const std::string &cost) {
  ConfigText first = {"first", {}, cost, {"4"}};
  first.workspace = workspace;
  if (!workspace.empty())
    first.hidden = {{abi::hidden_kind::workspace, ""}};
  ConfigText rest = first;
  rest.name = "rest";
  rest.blocks = {"2"};
  first.part = abi::launch_part::first;
  rest.part = abi::launch_part::second;
  return {first, rest};
}

ConfigArgs schedule_args() {
  alignas(16) static char source[16], target[16];
  return {source, target, 64 * 16, 64};
}

NotedLaunch noted_launch() {
  std::lock_guard lock(noting);
  return noted;
}

std::int64_t NotedLaunch::number(std::size_t i) const {
  std::int64_t result = 0;
  if (hidden.at(i).size() == 4) {
    std::int32_t narrow;
    std::memcpy(&narrow, hidden[i].data(), 4);
    return narrow;
  }
  std::memcpy(&result, hidden[i].data(), 8);
  return result;
}

} // namespace tritonc
