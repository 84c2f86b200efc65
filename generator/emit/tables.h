// The descriptors of a library as tables, each distinct entry once, before they become an object's
// sections or a header's initialisers.

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

/// As abi::constant.
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

/// As abi::tensor_map; expressions are indices into Tables::code.
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
  size_t value = 0; // of a number: index into Tables::code
  std::string text; // of a number
  size_t map = 0;   // of a map: index into Tables::maps

  bool is_number() const { return kind == abi::hidden_kind::i32 || kind == abi::hidden_kind::i64; }
  auto operator<=>(const HiddenRow &) const = default;
};

struct FormRow {
  size_t guards = 0; // index into Tables::requirements
  size_t hidden = 0; // index into Tables::hidden
  std::optional<size_t> cost;
  std::vector<size_t> blocks;
  std::optional<size_t> scratch;
  int cluster = 1;
  abi::form_share share = abi::form_share::all;
  bool starts_early = false;
  auto operator<=>(const FormRow &) const = default;
};

struct ImageRow {
  size_t bytes = 0;           // index into Tables::images
  size_t state = 0;           // which of Tables::state_count
  std::optional<size_t> form; // index into Tables::forms; none: the plain one
  const Image *image = nullptr;
};

struct VariantRow {
  const Variant *variant = nullptr;
  std::vector<size_t> grid; // indices into Tables::code
  size_t requirements = 0;  // index into Tables::requirements
  size_t parameters = 0;    // index into Tables::parameters
  size_t constants = 0;     // index into Tables::constants
  std::vector<ImageRow> images;
  std::vector<VariantRow> specialized; // for its values, under hints
};

/// As abi::tuning.
struct TuningTable {
  std::string gpu;
  int arch = 0, multiprocessors = 0;
  std::vector<int> axes;
  std::vector<int32_t> problems;
  std::vector<int16_t> times, costs;
  std::vector<uint16_t> forms;
  std::vector<std::string> form_names;
  size_t problem_count = 0;
  bool beside_costs = false;
};

struct KernelTable {
  const Combination *combination = nullptr;
  std::string gpus; // "sm_80, sm_90a"
  std::vector<VariantRow> variants;
  std::vector<int32_t> choices; // the tuned values of each variant, one after the other
  size_t axis_count = 0;
  uint32_t argument_bytes = 0; // 0: there are gaps between them
  std::vector<TuningTable> tunings;
};

struct Tables {
  std::vector<std::string> images; // each behind its abi::image_header
  std::vector<std::vector<int64_t>> code;
  std::vector<std::vector<ParameterRow>> parameters;
  std::vector<std::vector<ConstantRow>> constants;
  std::vector<std::vector<RequirementRow>> requirements; // of variants, and guards of forms
  std::vector<TensorMapRow> maps;
  std::vector<std::vector<HiddenRow>> hidden;
  std::vector<FormRow> forms;
  std::vector<KernelTable> kernels; // one per combination, in the interface's order
  size_t state_count = 0;
};

Result<Tables> make_tables(const Interface &interface);

/// Whether the runtime needs no abi::form to launch it: a block for each program, nothing hidden.
bool is_plain(const LaunchForm &form);

/// The image as the runtime wants it: behind a header with length and checksum.
std::string sealed(std::string_view image);

} // namespace tritonc
