// Builds the descriptors of a library as tables without duplicate entries. The object file and the
// self-contained header are written from these tables.

#pragma once

#include "emit/interface.h"

#include <tritonc/descriptor.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct ParameterRow {
  std::string name;
  uint32_t offset = 0, aligned = 0;
  abi::parameter_kind kind = abi::parameter_kind::other;
  bool nullable = false;
  uint32_t bytes = 0;
  auto operator<=>(const ParameterRow &) const = default;
};

/// See abi::constant.
struct ConstantRow {
  std::string name;
  uint32_t offset = 0, bytes = 0;
  auto operator<=>(const ConstantRow &) const = default;
};

struct RequirementRow {
  size_t code = 0; // index into Tables::code
  std::string text;
  auto operator<=>(const RequirementRow &) const = default;
};

/// See abi::tensor_map. Expressions are indices into Tables::code.
struct TensorMapRow {
  uint32_t parameter = 0;
  int data_type = 0, element_bytes = 0, swizzle = 0;
  size_t offset = 0;
  std::vector<size_t> sizes, strides;
  std::vector<int64_t> box;
  auto operator<=>(const TensorMapRow &) const = default;
};

struct HiddenRow {
  abi::hidden_kind kind = abi::hidden_kind::i32;
  size_t value = 0; // for a number: index into Tables::code
  std::string text; // for a number: the expression as text
  size_t map = 0;   // for a map: index into Tables::maps

  bool is_number() const { return kind == abi::hidden_kind::i32 || kind == abi::hidden_kind::i64; }
  auto operator<=>(const HiddenRow &) const = default;
};

struct LaunchConfigRow {
  size_t guards = 0; // index into Tables::requirements
  size_t hidden = 0; // index into Tables::hidden
  std::optional<size_t> cost;
  std::vector<size_t> blocks;
  std::optional<size_t> workspace;
  std::optional<size_t> shared_bytes;
  int cluster = 1;
  abi::launch_part part = abi::launch_part::whole;
  bool starts_early = false;
  auto operator<=>(const LaunchConfigRow &) const = default;
};

struct ImageRow {
  size_t bytes = 0;             // index into Tables::images
  size_t state = 0;             // index below Tables::state_count
  std::optional<size_t> launch; // index into Tables::launches; none = one block per program
  const Image *image = nullptr;
};

struct VariantRow {
  const Variant *variant = nullptr;
  std::vector<size_t> grid; // indices into Tables::code
  size_t requirements = 0;  // index into Tables::requirements
  size_t parameters = 0;    // index into Tables::parameters
  size_t constants = 0;     // index into Tables::constants
  std::vector<ImageRow> images;
  std::vector<VariantRow> specialized; // specializations of this variant
};

/// See abi::tuning.
struct TuningTable {
  std::string gpu;
  int arch = 0, num_sms = 0;
  std::vector<int> axes;
  std::vector<int32_t> problems;
  std::vector<int16_t> times, costs;
  std::vector<uint16_t> schedules;
  std::vector<std::string> schedule_names;
  size_t problem_count = 0;
  bool beside_costs = false;
};

struct KernelTable {
  const Instantiation *instantiation = nullptr;
  std::string gpus; // "sm_80, sm_90a"
  std::vector<VariantRow> variants;
  std::vector<int32_t> choices; // the tuned values of all variants, concatenated
  size_t axis_count = 0;
  uint32_t argument_bytes = 0; // total size; 0 = the struct has padding
  std::vector<TuningTable> tunings;
};

struct Tables {
  std::vector<std::string> images; // each with its abi::image_header
  std::vector<std::vector<int64_t>> code;
  std::vector<std::vector<ParameterRow>> parameters;
  std::vector<std::vector<ConstantRow>> constants;
  std::vector<std::vector<RequirementRow>> requirements; // of variants; also guards of launches
  std::vector<TensorMapRow> maps;
  std::vector<std::vector<HiddenRow>> hidden;
  std::vector<LaunchConfigRow> launches;
  std::vector<KernelTable> kernels; // one per instantiation, in the interface's order
  size_t state_count = 0;
};

Result<Tables> make_tables(const Interface &interface);

/// Whether the runtime can launch without an abi::launch_config: one block per program, no hidden
/// parameters.
bool is_default(const LaunchConfig &launch);

/// The image for the runtime: an abi::image_header with length and checksum, then the image.
std::string sealed(std::string_view image);

} // namespace tritonc
