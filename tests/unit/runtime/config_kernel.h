// Builds kernels with schedules in the generator's format from text, for the tests of the runtime.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tritonc {

/// Returns the words of an expression in postfix order: "n 64 % 0 ==". Tokens are integers,
/// operators, parameter names, `programs0` to `programs2`, and `SMs`.
std::vector<std::int64_t> words_of(const std::string &postfix,
                                   const std::vector<abi::parameter> &parameters);

struct ConfigArgs {
  const void *source;
  void *target;
  std::int32_t n; // followed by 4 bytes of padding
  std::int64_t stride;
};

/// The text of a tensor map. Default: `source`, with elements of type half.
struct TensorText {
  std::string parameter = "source";
  std::string offset = "0";
  std::vector<std::string> sizes = {"64", "n"};
  std::vector<std::string> strides = {"stride"};
  std::vector<std::uint32_t> box = {64, 8};
  std::uint8_t data_type = 6, element_bytes = 2, swizzle = 3; // f16, 128 bytes
};

struct HiddenText {
  HiddenText(abi::hidden_kind kind, std::string value) : kind(kind), value(std::move(value)) {}
  HiddenText(TensorText map) : kind(abi::hidden_kind::tensor_map), map(std::move(map)) {}
  abi::hidden_kind kind;
  std::string value;
  TensorText map;
};

struct ConfigText {
  std::string name;
  std::vector<std::string> guards = {}; // also the texts of the requirements
  std::string cost = {};
  std::vector<std::string> blocks = {};
  unsigned cluster = 1;
  std::vector<HiddenText> hidden = {};
  bool knows_cluster = true; // the code is compiled for the cluster size
  abi::launch_part part = abi::launch_part::whole;
  std::string workspace = {}; // bytes
  bool starts_early = false;
  std::string shared_bytes = {}; // "" = that of the image
  int image_shared_bytes = 0;
};

/// Returns a pair of launches that share the work. `workspace`: bytes; "" = none. Both take its
/// address as a hidden parameter.
std::vector<ConfigText> pair_of_configs(const std::string &workspace, const std::string &cost = {});

/// schedules<tile>(source, target, n, stride): cdiv(n, tile) programs, whose threads record their
/// arguments. For sm_80 it has the baseline schedule; for sm_90a it has the schedules of the test.
/// Descriptors are never freed, as in programs.
class ConfigKernel {
public:
  explicit ConfigKernel(const std::vector<ConfigText> &schedules) { add_variant(64, schedules); }
  ConfigKernel(const ConfigKernel &) = delete;

  void add_variant(std::int32_t tile, const std::vector<ConfigText> &schedules);
  const abi::kernel &kernel();

  std::vector<abi::parameter> parameters = {
      {"source", 0, 2, abi::parameter_kind::pointer, true, 8, {}},
      {"target", 8, 2, abi::parameter_kind::pointer, true, 8, {}},
      {"n", 16, 0, abi::parameter_kind::i32, false, 4, {}},
      {"stride", 24, 0, abi::parameter_kind::i64, false, 8, {}},
  };

private:
  struct VariantData {
    std::vector<abi::image> images;
    std::vector<image_info> infos;
    std::deque<abi::host_code> codes;
  };

  const std::int64_t *words(const std::string &postfix);
  const char *text(const std::string &text);
  const abi::launch_config *schedule(const ConfigText &schedule);
  const abi::tensor_map *map(const TensorText &map);
  void add_image(VariantData &data, const char *gpu, int sm, char suffix,
                 const ConfigText &schedule);

  std::deque<VariantData *> variants_;
  std::vector<abi::variant> rows_;
  std::vector<std::int32_t> choices_;
  abi::kernel kernel_ = {};
};

/// Returns arguments that fit all schedules of the default texts: n = 64 * 16, a stride of 64.
ConfigArgs schedule_args();

/// The arguments of the last thread that ran.
struct NotedLaunch {
  std::string schedule;
  ConfigArgs args;
  std::vector<std::string> hidden; // bytes of the hidden parameters
  std::int64_t number(std::size_t i) const;
};
NotedLaunch noted_launch();

/// Each thread calls it with its arguments; null: not called.
extern void (*on_noted)(const NotedLaunch &);

} // namespace tritonc
