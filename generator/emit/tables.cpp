// Builds the descriptors of a library as tables. See tables.h.
//
// Tested by tests/unit/emit/tables_test.cpp.

#include "emit/tables.h"

#include "emit/cpp_text.h"
#include "emit/expression.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

namespace tritonc {

namespace {

/// Adds entries to a table without duplicates, and returns their indices.
template <typename T> class Interned {
public:
  explicit Interned(std::vector<T> &table) : table_(table) {}
  size_t add(const T &entry) {
    auto [place, is_new] = places_.try_emplace(entry, table_.size());
    if (is_new)
      table_.push_back(entry);
    return place->second;
  }

private:
  std::vector<T> &table_;
  std::map<T, size_t> places_;
};

abi::parameter_kind kind_of(const Parameter &parameter) {
  using Kind = abi::parameter_kind;
  if (parameter.is_pointer)
    return Kind::pointer;
  bool is_signed = parameter.is_signed;
  if (parameter.element == "i1")
    return Kind::u8;
  if (parameter.element == "i8")
    return is_signed ? Kind::i8 : Kind::u8;
  if (parameter.element == "i16")
    return is_signed ? Kind::i16 : Kind::u16;
  if (parameter.element == "i32")
    return is_signed ? Kind::i32 : Kind::u32;
  if (parameter.element == "i64")
    return is_signed ? Kind::i64 : Kind::u64;
  return Kind::other;
}

/// CUtensorMapDataType. TMA copies 8-bit types without conversion, so all are UINT8.
int data_type_of(const TensorMap &map) {
  switch (map.elem) {
  case ir::Elem::i1:
  case ir::Elem::i8:
  case ir::Elem::e4m3:
  case ir::Elem::e5m2:
    return 0; // UINT8
  case ir::Elem::i16:
    return 1; // UINT16
  case ir::Elem::i32:
    return 3; // INT32
  case ir::Elem::i64:
    return 5; // INT64
  case ir::Elem::f16:
    return 6; // FLOAT16
  case ir::Elem::f32:
    return map.to_tf32 ? 11 : 7; // TFLOAT32, FLOAT32
  case ir::Elem::f64:
    return 8; // FLOAT64
  case ir::Elem::bf16:
    return 9; // BFLOAT16
  }
  assert(false && "every element has a type");
  return 0;
}

/// CUtensorMapSwizzle.
int swizzle_of(int bytes) {
  assert((bytes == 0 || bytes == 32 || bytes == 64 || bytes == 128) && "a swizzle of Hopper's");
  return bytes == 128 ? 3 : bytes / 32;
}

class Builder {
public:
  explicit Builder(const Interface &interface) : interface_(interface) {}

  Result<Tables> build() {
    for (const KernelInterface &kernel : interface_.kernels)
      for (const Instantiation &instantiation : kernel.instantiations)
        add_kernel(kernel, instantiation);
    if (failure_)
      return *failure_;
    return std::move(tables_);
  }

private:
  void add_kernel(const KernelInterface &kernel, const Instantiation &instantiation) {
    KernelTable table;
    table.instantiation = &instantiation;
    table.axis_count = kernel.tuned.size();
    std::vector<std::string> gpus; // a variant may have code for only some GPUs
    for (const Variant *variant : instantiation.variants)
      for (const Image &image : variant->images)
        if (std::find(gpus.begin(), gpus.end(), image.gpu) == gpus.end())
          gpus.push_back(image.gpu);
    table.gpus = join(gpus, ", ");
    for (size_t i = 0; i < instantiation.variants.size(); i++) {
      const Variant *variant = instantiation.variants[i];
      table.variants.push_back(variant_row(kernel, instantiation, *variant));
      for (const Variant *specialized : instantiation.specialized[i])
        table.variants.back().specialized.push_back(
            variant_row(kernel, instantiation, *specialized));
      for (const TunedAxis &axis : kernel.tuned)
        table.choices.push_back(axis.values[size_t(variant->values[axis.index])]);
    }
    table.argument_bytes = filled_bytes(tables_.parameters[table.variants.front().parameters]);
    add_measurements(kernel, table);
    tables_.kernels.push_back(std::move(table));
  }

  /// Adds the measurements of the table's variants: one TuningTable per GPU.
  static void add_measurements(const KernelInterface &kernel, KernelTable &table) {
    std::vector<std::vector<const Measurement *>> by_gpu;
    for (const Measurement &measurement : kernel.entry->measurements) {
      const Variant *first = &kernel.entry->variants[measurement.times.front().variant];
      const std::vector<const Variant *> &variants = table.instantiation->variants;
      if (std::find(variants.begin(), variants.end(), first) == variants.end())
        continue; // it belongs to another C++ type
      auto same_gpu = [&](const std::vector<const Measurement *> &others) {
        return others.front()->gpu == measurement.gpu && others.front()->arch == measurement.arch &&
               others.front()->num_sms == measurement.num_sms;
      };
      auto found = std::find_if(by_gpu.begin(), by_gpu.end(), same_gpu);
      if (found == by_gpu.end())
        found = by_gpu.insert(by_gpu.end(), std::vector<const Measurement *>());
      found->push_back(&measurement);
    }
    for (const std::vector<const Measurement *> &measurements : by_gpu)
      table.tunings.push_back(tuning_table(measurements, kernel, *table.instantiation));
  }

  static TuningTable tuning_table(const std::vector<const Measurement *> &measurements,
                                  const KernelInterface &kernel,
                                  const Instantiation &instantiation) {
    TuningTable table;
    table.gpu = measurements.front()->gpu;
    table.arch = measurements.front()->arch;
    table.num_sms = measurements.front()->num_sms;
    table.problem_count = measurements.size();
    for (const auto &[parameter, value] : measurements.front()->problem)
      table.axes.push_back(parameter);
    table.beside_costs = true; // stays true if every measurement has a cost
    std::vector<std::map<const Variant *, Beside>> times;
    for (const Measurement *measurement : measurements) {
      for (const auto &[parameter, value] : measurement->problem)
        table.problems.push_back(abi::logarithm(value));
      times.emplace_back();
      for (const Measurement::Time &time : measurement->times) {
        const Variant &variant = kernel.entry->variants[time.variant];
        int64_t cost = cost_of(*measurement, time, variant).value_or(0);
        times.back().try_emplace(&variant, Beside{&time, cost});
        table.beside_costs &= cost > 0;
      }
    }
    for (const std::map<const Variant *, Beside> &of_problem : times)
      add_times(of_problem, instantiation, table);
    return table;
  }

  struct Beside {
    const Measurement::Time *time;
    int64_t cost;
  };

  static void add_times(const std::map<const Variant *, Beside> &times,
                        const Instantiation &instantiation, TuningTable &table) {
    int64_t fastest = INT64_MAX;
    for (const auto &[variant, beside] : times)
      fastest = std::min(fastest, beside.time->nanoseconds);
    for (const Variant *variant : instantiation.variants) {
      auto found = times.find(variant);
      bool is_there = found != times.end();
      const Measurement::Time *time = is_there ? found->second.time : nullptr;
      int64_t cost = is_there && table.beside_costs ? found->second.cost : 1;
      table.schedules.push_back(
          schedule_number(is_there ? time->schedule : "", table.schedule_names));
      table.times.push_back(is_there ? short_of(abi::logarithm(time->nanoseconds) -
                                                abi::logarithm(table.beside_costs ? cost : fastest))
                                     : abi::not_measured);
      if (table.beside_costs)
        table.costs.push_back(short_of(abi::logarithm(cost)));
    }
  }

  /// The cost that the current cost model gives for the measured schedule, because launches use the
  /// current model. The cost stored with the measurement, if the schedule no longer exists or the
  /// problem does not determine its cost.
  static std::optional<int64_t> cost_of(const Measurement &measurement,
                                        const Measurement::Time &time, const Variant &variant) {
    LaunchFacts facts;
    facts.arguments.insert(measurement.problem.begin(), measurement.problem.end());
    facts.num_sms = measurement.num_sms;
    facts.programs.fill(1);
    if (variant.plan.grid.empty())
      facts.programs.fill(std::nullopt); // the caller gives the grid
    for (size_t axis = 0; axis < variant.plan.grid.size(); axis++)
      facts.programs[axis] = value_of(variant.plan.grid[axis], facts);
    const Image *found = nullptr; // the closest match for the GPU
    for (const Image &image : variant.images) {
      bool runs = !image.is_ptx() &&
                  (image.sm == measurement.arch || (!image.suffix && image.sm < measurement.arch &&
                                                    image.sm / 10 == measurement.arch / 10));
      auto closeness = [](const Image &one) { return std::pair(one.sm, one.suffix == 'a'); };
      if (runs && text_of(image.launch.schedule) == time.schedule &&
          (!found || closeness(*found) < closeness(image)))
        found = &image;
    }
    std::optional<int64_t> cost =
        found && found->launch.cost ? value_of(*found->launch.cost, facts) : std::nullopt;
    return cost ? cost : time.cost;
  }

  static int16_t short_of(int32_t value) {
    return int16_t(std::clamp(value, INT16_MIN + 1, INT16_MAX));
  }

  static uint16_t schedule_number(const std::string &name, std::vector<std::string> &names) {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      found = names.insert(names.end(), name);
    return uint16_t(found - names.begin());
  }

  VariantRow variant_row(const KernelInterface &kernel, const Instantiation &instantiation,
                         const Variant &variant) {
    VariantRow row;
    row.variant = &variant;
    for (const Expr &axis : variant.plan.grid)
      row.grid.push_back(code_of(kernel, variant, axis));
    row.requirements = requirements_.add(requirement_rows(kernel, variant));
    row.parameters = parameters_.add(parameter_rows(instantiation, variant));
    std::vector<ConstantRow> constants;
    for (const Constant &constant : variant.constants)
      constants.push_back({constant.name, uint32_t(constant.offset), uint32_t(constant.bytes)});
    row.constants = constants_.add(constants);
    for (const Image &image : variant.images) {
      size_t bytes = images_.add(sealed(image.bytes));
      row.images.push_back({bytes, state_of(bytes, instantiation, variant, image),
                            launch_of(kernel, instantiation, variant, image), &image});
    }
    return row;
  }

  /// The runtime loads equal code of several variants once, with one kernel handle and one limit of
  /// shared memory. Kernels with constant memory share code only within one C++ type.
  size_t state_of(size_t bytes, const Instantiation &instantiation, const Variant &variant,
                  const Image &image) {
    std::string owner = variant.constants.empty() ? "" : instantiation.display;
    auto [state, is_new] = states_.try_emplace(
        {bytes, variant.entry, owner, image.shared_bytes + image.static_shared, image.host_symbol},
        tables_.state_count);
    tables_.state_count += is_new;
    return state->second;
  }

  std::optional<size_t> launch_of(const KernelInterface &kernel, const Instantiation &instantiation,
                                  const Variant &variant, const Image &image) {
    LaunchConfig launch = image.launch;
    auto schedules = std::count_if(variant.images.begin(), variant.images.end(),
                                   [&](const Image &other) { return other.gpu == image.gpu; });
    if (instantiation.variants.size() == 1 && schedules == 1)
      launch.cost.reset(); // there is no other launch to compare with
    if (is_default(launch))
      return std::nullopt;
    LaunchConfigRow row;
    std::vector<RequirementRow> guards;
    for (const Requirement &guard : launch.guards)
      guards.push_back({code_of(kernel, variant, guard.condition), guard.text});
    row.guards = requirements_.add(guards);
    std::vector<HiddenRow> hidden;
    for (const HiddenParameter &parameter : launch.hidden)
      hidden.push_back(hidden_row(kernel, variant, parameter));
    auto maps = std::count_if(launch.hidden.begin(), launch.hidden.end(),
                              [](const HiddenParameter &parameter) { return !!parameter.map; });
    assert(hidden.size() <= size_t(abi::max_hidden) && maps <= abi::max_tensor_maps &&
           "the runtime takes so many");
    (void)maps;
    row.hidden = hidden_.add(hidden);
    if (launch.cost)
      row.cost = code_of(kernel, variant, *launch.cost);
    for (const Expr &axis : launch.blocks)
      row.blocks.push_back(code_of(kernel, variant, axis));
    if (launch.workspace)
      row.workspace = code_of(kernel, variant, *launch.workspace);
    if (launch.shared_bytes)
      row.shared_bytes = code_of(kernel, variant, *launch.shared_bytes);
    row.cluster = launch.cluster;
    row.part = part_of(launch.part);
    row.starts_early = launch.starts_early;
    return launches_.add(row);
  }

  static abi::launch_part part_of(LaunchConfig::Part part) {
    switch (part) {
    case LaunchConfig::Part::whole:
      return abi::launch_part::whole;
    case LaunchConfig::Part::first:
      return abi::launch_part::first;
    case LaunchConfig::Part::second:
      return abi::launch_part::second;
    }
    return abi::launch_part::whole;
  }

  HiddenRow hidden_row(const KernelInterface &kernel, const Variant &variant,
                       const HiddenParameter &parameter) {
    HiddenRow row;
    if (parameter.map) {
      row.kind = abi::hidden_kind::tensor_map;
      row.map = maps_.add(map_row(kernel, variant, *parameter.map));
      return row;
    }
    if (parameter.is_workspace) {
      row.kind = abi::hidden_kind::workspace;
      return row;
    }
    assert((parameter.elem == ir::Elem::i32 || parameter.elem == ir::Elem::i64) &&
           "a number is an integer");
    row.kind = parameter.elem == ir::Elem::i32 ? abi::hidden_kind::i32 : abi::hidden_kind::i64;
    row.value = code_of(kernel, variant, parameter.value);
    row.text = text_of(parameter.value, variant.parameters);
    return row;
  }

  TensorMapRow map_row(const KernelInterface &kernel, const Variant &variant,
                       const TensorMap &map) {
    assert(map.sizes.size() >= 1 && map.sizes.size() <= 5 &&
           map.strides.size() + 1 == map.sizes.size() && map.box.size() == map.sizes.size() &&
           "the driver's ranks");
    TensorMapRow row;
    row.parameter = uint32_t(map.parameter);
    row.data_type = data_type_of(map);
    row.element_bytes = ir::bytes_of(map.elem);
    row.swizzle = swizzle_of(map.swizzle_bytes);
    row.offset = code_of(kernel, variant, map.offset);
    for (const Expr &size : map.sizes)
      row.sizes.push_back(code_of(kernel, variant, size));
    for (const Expr &stride : map.strides)
      row.strides.push_back(code_of(kernel, variant, stride));
    row.box = map.box;
    return row;
  }

  size_t code_of(const KernelInterface &kernel, const Variant &variant, const Expr &expression) {
    std::optional<std::vector<int64_t>> words = postfix(expression);
    if (!words) {
      if (!failure_)
        failure_ = Error{Message::plan_too_deep,
                         {kernel.entry->name, text_of(expression, variant.parameters)}};
      return 0;
    }
    return code_.add(*words);
  }

  /// The requirements in the source, and one for each `__multipleof`: the code relies on it.
  std::vector<RequirementRow> requirement_rows(const KernelInterface &kernel,
                                               const Variant &variant) {
    std::vector<RequirementRow> rows;
    auto add = [&](const Expr &condition, const std::string &text) {
      RequirementRow row{code_of(kernel, variant, condition), text};
      if (std::find(rows.begin(), rows.end(), row) == rows.end())
        rows.push_back(std::move(row));
    };
    for (size_t i = 0; i < variant.parameters.size(); i++) {
      const Parameter &parameter = variant.parameters[i];
      if (parameter.is_pointer || parameter.multiple_of <= 1)
        continue;
      Expr remainder = Expr::binary(Expr::Kind::rem, Expr::parameter(int64_t(i)),
                                    Expr::constant(parameter.multiple_of));
      Expr condition = Expr::binary(Expr::Kind::eq, std::move(remainder), Expr::constant(0));
      add(condition, text_of(condition, variant.parameters));
    }
    for (const Requirement &requirement : variant.plan.requirements)
      add(requirement.condition, requirement.text);
    return rows;
  }

  static std::vector<ParameterRow> parameter_rows(const Instantiation &instantiation,
                                                  const Variant &variant) {
    std::vector<ParameterRow> rows;
    for (size_t i = 0; i < variant.parameters.size(); i++) {
      const Parameter &parameter = variant.parameters[i];
      uint32_t aligned = parameter.is_pointer ? uint32_t(parameter.aligned_bytes) : 0;
      int bytes = parameter.is_pointer ? 8 : element_type(parameter).bytes;
      rows.push_back({instantiation.members[i].name, uint32_t(instantiation.members[i].offset),
                      aligned, kind_of(parameter), parameter.nullable, uint32_t(bytes)});
    }
    return rows;
  }

  /// The size of all arguments if the struct has no padding; otherwise 0.
  static uint32_t filled_bytes(const std::vector<ParameterRow> &rows) {
    uint32_t bytes = 0;
    for (const ParameterRow &row : rows) {
      if (row.offset != bytes)
        return 0;
      bytes += row.bytes;
    }
    return bytes;
  }

  const Interface &interface_;
  Tables tables_;
  Interned<std::string> images_{tables_.images};
  Interned<std::vector<int64_t>> code_{tables_.code};
  Interned<std::vector<ParameterRow>> parameters_{tables_.parameters};
  Interned<std::vector<ConstantRow>> constants_{tables_.constants};
  Interned<std::vector<RequirementRow>> requirements_{tables_.requirements};
  Interned<TensorMapRow> maps_{tables_.maps};
  Interned<std::vector<HiddenRow>> hidden_{tables_.hidden};
  Interned<LaunchConfigRow> launches_{tables_.launches};
  std::map<std::tuple<size_t, std::string, std::string, int, std::string>, size_t> states_;
  std::optional<Error> failure_;
};

} // namespace

bool is_default(const LaunchConfig &launch) {
  return launch.guards.empty() && !launch.cost && launch.blocks.empty() && launch.cluster == 1 &&
         launch.hidden.empty() && !launch.shared_bytes && !launch.starts_early;
}

Result<Tables> make_tables(const Interface &interface) { return Builder(interface).build(); }

std::string sealed(std::string_view image) {
  abi::image_header header = {};
  std::memcpy(header.magic, abi::image_magic, sizeof header.magic);
  header.version = abi::image_version;
  header.length = image.size();
  header.checksum = abi::checksum(image.data(), image.size());
  std::string out(reinterpret_cast<const char *>(&header), sizeof header);
  return out.append(image);
}

} // namespace tritonc
