// Parses the settings of the environment variable TRITONC_EMULATOR. See settings.h.

#include "settings.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tritonc::emulator::driver {

namespace {

constexpr int max_devices = 64;

/// Reads a number in [least, most]; it must be all of `text`.
template <typename Number>
bool read(std::string_view text, Number min_value, Number max_value, Number &number) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min_value ||
      value > max_value)
    return false;
  number = value;
  return true;
}

/// Reads a number of bytes: "4096", "512M".
bool read_bytes(std::string_view text, std::size_t &bytes) {
  int shift = 0;
  if (!text.empty()) {
    char unit = text.back();
    shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  }
  if (shift)
    text.remove_suffix(1);
  constexpr std::size_t max_value = std::size_t(1) << 46;
  if (!read(text, std::size_t(0), max_value >> shift, bytes))
    return false;
  bytes <<= shift;
  return true;
}

template <typename Value> struct Choice {
  std::string_view name;
  Value value;
};

template <typename Value, std::size_t count>
std::string choose(std::string_view text, const Choice<Value> (&choices)[count], Value &value) {
  std::string names;
  for (const Choice<Value> &choice : choices) {
    if (choice.name == text) {
      value = choice.value;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(choice.name);
  }
  return "one of " + names;
}

constexpr Choice<bool> switches[] = {{"on", true}, {"off", false}};
constexpr Choice<Order> orders[] = {
    {"forward", Order::forward}, {"reversed", Order::reversed}, {"random", Order::random}};
constexpr Choice<Async> moments[] = {
    {"early", Async::early}, {"late", Async::late}, {"random", Async::random}};

bool is_function(std::string_view name) {
  static constexpr std::string_view names[] = {
#define FUNCTION(name, symbol, since, parameters) #name,
#include "functions.def"
  };
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string_view take_until(std::string_view &text, char separator) {
  std::size_t end = std::min(text.find(separator), text.size());
  std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string set_gpus(std::string_view text, Settings &settings) {
  if (text == "any") {
    settings.gpus = Settings().gpus;
    settings.fixes_gpu = false;
    return {};
  }
  settings.gpus.clear();
  do {
    const Gpu *gpu = find_gpu(take_until(text, '/'));
    if (!gpu)
      return "any, or one or more of " + known_gpus() + " separated by /";
    settings.gpus.push_back(*gpu);
  } while (!text.empty());
  settings.fixes_gpu = true;
  settings.devices = std::max(settings.devices, int(settings.gpus.size()));
  return {};
}

std::string add_failure(std::string_view text, Settings &settings) {
  if (text == "none") {
    settings.failures.clear();
    return {};
  }
  Failure failure;
  failure.function = take_until(text, ':');
  std::string_view call = take_until(text, ':');
  if (!is_function(failure.function))
    return "none, or begin with the name of a driver function";
  bool is_right = read(text, 0, 99999, failure.result);
  if (call != "*")
    is_right = is_right && read(call, std::uint64_t(1), std::numeric_limits<std::uint64_t>::max(),
                                failure.call);
  if (!is_right)
    return "none, or function:call:result, such as cuMemAlloc:3:2 (the third call returns 2) or "
           "cuMemAlloc:*:2 (every call returns 2)";
  settings.failures.push_back(failure);
  return {};
}

std::string add_missing(std::string_view text, Settings &settings) {
  if (text == "none")
    settings.missing.clear();
  else if (is_function(text))
    settings.missing.emplace_back(text);
  else
    return "none, or the name of a driver function";
  return {};
}

/// Applies one setting. Returns the expected value on an error, otherwise "".
std::string set(std::string_view name, std::string_view value, Settings &settings, bool &is_known) {
  auto number = [&](auto min_value, auto max_value, auto &target) -> std::string {
    using Number = std::decay_t<decltype(target)>;
    if (read(value, Number(min_value), Number(max_value), target))
      return {};
    return "a number from " + std::to_string(min_value) + " to " + std::to_string(max_value);
  };
  Options &options = settings.options;
  if (name == "order")
    return choose(value, orders, options.order);
  if (name == "async")
    return choose(value, moments, options.async);
  if (name == "seed")
    return number(0, std::numeric_limits<std::uint64_t>::max(), options.seed);
  if (name == "races")
    return choose(value, switches, options.races);
  if (name == "uninitialized")
    return choose(value, switches, options.uninitialized);
  if (name == "max_steps")
    return number(1, std::numeric_limits<std::int64_t>::max(), options.max_steps);
  if (name == "workers")
    return number(0, 4096, options.workers);
  if (name == "gpu")
    return set_gpus(value, settings);
  if (name == "devices")
    return number(0, max_devices, settings.devices);
  if (name == "sms")
    return number(1, 1024, settings.num_sms);
  if (name == "memory")
    return read_bytes(value, settings.memory) ? "" : "a number of bytes, such as 1048576 or 512M";
  if (name == "pools")
    return choose(value, switches, settings.pools);
  if (name == "version")
    return number(1000, 99999, settings.version);
  if (name == "fail")
    return add_failure(value, settings);
  if (name == "missing")
    return add_missing(value, settings);
  if (name == "report") {
    settings.report = value;
    return {};
  }
  is_known = false;
  return {};
}

} // namespace

Gpu Settings::gpu(Device device) const {
  Gpu result = gpus[std::min(std::size_t(device), gpus.size() - 1)];
  if (num_sms)
    result.num_sms = num_sms;
  return result;
}

std::string apply(std::string_view text, Settings &settings) {
  Settings changed = settings;
  while (!text.empty()) {
    std::string_view setting = take_until(text, ',');
    if (setting.empty())
      continue;
    std::string_view value = setting;
    std::string_view name = take_until(value, '=');
    bool is_known = true;
    std::string expected = set(name, value, changed, is_known);
    if (!is_known)
      return "unknown setting `" + std::string(name) +
             "`: expected order, async, seed, races, uninitialized, max_steps, workers, gpu, "
             "devices, sms, memory, pools, version, fail, missing, or report";
    if (!expected.empty())
      return "`" + std::string(setting) + "`: the value must be " + expected;
  }
  settings = changed;
  return {};
}

} // namespace tritonc::emulator::driver
