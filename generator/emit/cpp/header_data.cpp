// Writes the data of a self-contained header. See header_data.h.
//
// Tested by tests/unit/emit/header_test.cpp.

#include "emit/cpp/header_data.h"

#include "emit/cpp_text.h"
#include "emit/object/descriptor_checksum.h"
#include "emit/object/header_memory.h"

#include <cstdio>
#include <utility>

namespace tritonc {

namespace {

std::string optional_name(bool is_there, const std::string &name) {
  return is_there ? name : "nullptr";
}

/// Writes the tables as initializers, each table before the tables that refer to it.
class DataSection {
public:
  /// `checksums` has one element per kernel. If it is empty, they are zero, and an image ends after
  /// its header: this text is only for the computation of the checksums.
  DataSection(const Tables &tables, std::vector<uint64_t> checksums)
      : tables_(tables), checksums_(std::move(checksums)) {}

  std::string text() {
    out_ = "namespace detail {\nnamespace data {\n\n";
    expressions();
    parameters();
    constants();
    requirements();
    tensor_maps();
    hidden_parameters();
    launches();
    line("inline tritonc::abi::image_state states[" + std::to_string(tables_.state_count) + "];\n");
    images();
    for (size_t i = 0; i < tables_.kernels.size(); i++)
      kernel(i);
    out_ += "\n} // namespace data\n\n";
    for (size_t i = 0; i < tables_.kernels.size(); i++)
      line("inline const tritonc::abi::kernel &" + tables_.kernels[i].instantiation->symbol +
           "() noexcept { return data::kernel_" + std::to_string(i) + "; }");
    return out_ + "\n} // namespace detail\n";
  }

private:
  void line(const std::string &text) { out_ += text + "\n"; }

  static std::string numbered(const char *name, size_t i) { return name + std::to_string(i); }

  void expressions() {
    for (size_t i = 0; i < tables_.code.size(); i++) {
      std::vector<std::string> words;
      for (int64_t word : tables_.code[i])
        words.push_back(word == INT64_MIN ? "INT64_MIN" : std::to_string(word));
      line("inline constexpr std::int64_t " + numbered("code_", i) + "[] = {" + join(words, ", ") +
           "};");
    }
  }

  void parameters() {
    for (size_t i = 0; i < tables_.parameters.size(); i++) {
      if (tables_.parameters[i].empty())
        continue;
      line("inline constexpr tritonc::abi::parameter " + numbered("parameters_", i) + "[] = {");
      for (const ParameterRow &row : tables_.parameters[i])
        line("    {" + string_literal(row.name) + ", " + std::to_string(row.offset) + ", " +
             std::to_string(row.aligned) + ", tritonc::abi::parameter_kind(" +
             std::to_string(int(row.kind)) + "), " + (row.nullable ? "true" : "false") + ", " +
             std::to_string(row.bytes) + ", {}},");
      line("};");
    }
  }

  void constants() {
    for (size_t i = 0; i < tables_.constants.size(); i++) {
      if (tables_.constants[i].empty())
        continue;
      std::vector<std::string> rows;
      for (const ConstantRow &row : tables_.constants[i])
        rows.push_back("{" + string_literal(row.name) + ", " + std::to_string(row.offset) + ", " +
                       std::to_string(row.bytes) + "}");
      line("inline constexpr tritonc::abi::constant " + numbered("constants_", i) + "[] = {" +
           join(rows, ", ") + "};");
    }
  }

  void requirements() {
    for (size_t i = 0; i < tables_.requirements.size(); i++) {
      if (tables_.requirements[i].empty())
        continue;
      line("inline constexpr tritonc::abi::requirement " + numbered("requirements_", i) + "[] = {");
      for (const RequirementRow &row : tables_.requirements[i])
        line("    {" + numbered("code_", row.code) + ", " + string_literal(row.text) + "},");
      line("};");
    }
  }

  /// "{code_1, code_2, nullptr}"
  static std::string list_of_code(const std::vector<size_t> &code, size_t length) {
    std::vector<std::string> names;
    for (size_t i = 0; i < length; i++)
      names.push_back(i < code.size() ? numbered("code_", code[i]) : "nullptr");
    return "{" + join(names, ", ") + "}";
  }

  void tensor_maps() {
    for (size_t i = 0; i < tables_.maps.size(); i++) {
      const TensorMapRow &row = tables_.maps[i];
      std::vector<std::string> box;
      for (int64_t size : row.box)
        box.push_back(std::to_string(size));
      line("inline constexpr tritonc::abi::tensor_map " + numbered("map_", i) + " = {" +
           std::to_string(row.parameter) + ", " + std::to_string(row.data_type) + ", " +
           std::to_string(row.element_bytes) + ", " + std::to_string(row.swizzle) + ", " +
           std::to_string(row.sizes.size()) + ",\n    " + numbered("code_", row.offset) + ", " +
           list_of_code(row.sizes, 5) + ", " + list_of_code(row.strides, 4) + ", {" +
           join(box, ", ") + "}, 0};");
    }
  }

  static std::string hidden_initializer(const HiddenRow &row) {
    bool is_map = row.kind == abi::hidden_kind::tensor_map;
    bool is_number = row.is_number();
    return "{" + optional_name(is_number, numbered("code_", row.value)) + ", " +
           optional_name(is_number, string_literal(row.text)) + ", " +
           optional_name(is_map, "&" + numbered("map_", row.map)) + ", tritonc::abi::hidden_kind(" +
           std::to_string(int(row.kind)) + "), 0}";
  }

  void hidden_parameters() {
    for (size_t i = 0; i < tables_.hidden.size(); i++) {
      if (tables_.hidden[i].empty())
        continue;
      line("inline constexpr tritonc::abi::hidden_parameter " + numbered("hidden_", i) + "[] = {");
      for (const HiddenRow &row : tables_.hidden[i])
        line("    " + hidden_initializer(row) + ",");
      line("};");
    }
  }

  static std::string name_of(abi::launch_part part) {
    switch (part) {
    case abi::launch_part::whole:
      return "whole";
    case abi::launch_part::first:
      return "first";
    case abi::launch_part::second:
      return "second";
    }
    return "whole";
  }

  void launches() {
    for (size_t i = 0; i < tables_.launches.size(); i++) {
      const LaunchConfigRow &row = tables_.launches[i];
      size_t guards = tables_.requirements[row.guards].size();
      size_t hidden = tables_.hidden[row.hidden].size();
      line("inline constexpr tritonc::abi::launch_config " + numbered("launch_", i) + " = {" +
           optional_name(guards != 0, numbered("requirements_", row.guards)) + ", " +
           optional_name(hidden != 0, numbered("hidden_", row.hidden)) + ", " +
           (row.cost ? numbered("code_", *row.cost) : "nullptr") + ", " +
           list_of_code(row.blocks, 3) + ", " +
           (row.workspace ? numbered("code_", *row.workspace) : "nullptr") + ", " +
           (row.shared_bytes ? numbered("code_", *row.shared_bytes) : "nullptr") + ", " +
           std::to_string(guards) + ", " + std::to_string(hidden) + ", " +
           std::to_string(row.cluster) + ", tritonc::abi::launch_part::" + name_of(row.part) +
           (row.starts_early ? ", 1, 0};" : ", 0, 0};"));
    }
  }

  void images() {
    for (size_t i = 0; i < tables_.images.size(); i++)
      line("alignas(64) inline constexpr char " + numbered("image_", i) + "[] =\n    " +
           string_literal(image_bytes(i), "    ") + ";");
  }

  std::string_view image_bytes(size_t i) const {
    std::string_view bytes = tables_.images[i];
    return checksums_.empty() ? bytes.substr(0, sizeof(abi::image_header)) : bytes;
  }

  std::string image_initializer(const ImageRow &row) const {
    const Image &image = *row.image;
    return "{" + numbered("image_", row.bytes) + ", " +
           std::to_string(tables_.images[row.bytes].size()) + ", &states[" +
           std::to_string(row.state) + "], " + std::to_string(image.sm) + ", " +
           (image.suffix ? std::string("'") + image.suffix + "'" : "0") + ", nullptr, " +
           (row.launch ? "&" + numbered("launch_", *row.launch) : "nullptr") + ", nullptr, 0}";
  }

  static std::string info_initializer(const Image &image, const std::string &specialization) {
    std::string out =
        "{" + string_literal(image.gpu) + ", " + string_literal(text_of(image.launch.schedule));
    for (int number : {image.threads, image.registers, image.shared_bytes, image.static_shared,
                       image.spill_stores, image.spill_loads, image.stack_bytes, image.cubin_bytes})
      out += ", " + std::to_string(number);
    return out + ", " + string_literal(specialization) + "}";
  }

  void kernel(size_t k) {
    const KernelTable &table = tables_.kernels[k];
    std::string variants;
    for (size_t v = 0; v < table.variants.size(); v++) {
      const VariantRow &row = table.variants[v];
      std::string name = std::to_string(k) + "_" + std::to_string(v);
      variant_parts(name, row);
      variants += "    " + variant_initializer(name, name, 0, row) + ",\n";
    }
    std::string id = std::to_string(k);
    line("inline constexpr tritonc::abi::variant variants_" + id + "[] = {\n" + variants + "};");
    std::vector<std::string> choices;
    for (int32_t choice : table.choices)
      choices.push_back(std::to_string(choice));
    if (!choices.empty())
      line("inline constexpr std::int32_t choices_" + id + "[] = {" + join(choices, ", ") + "};");
    tunings(id, table);
    line("inline constexpr tritonc::abi::kernel kernel_" + id + " = {\n    " +
         std::to_string(abi::abi_version) + ", " +
         std::to_string(table.instantiation->members.size()) + ", " +
         string_literal(table.instantiation->display) + ", " + string_literal(table.gpus) +
         ",\n    variants_" + id + ", " + optional_name(!choices.empty(), "choices_" + id) + ", " +
         std::to_string(table.variants.size()) + ", " + std::to_string(table.axis_count) + ", " +
         std::to_string(table.argument_bytes) + ", " + std::to_string(table.tunings.size()) + ", " +
         optional_name(!table.tunings.empty(), "tunings_" + id) + ", " +
         optional_name(tables_.state_count != 0, "states") + ", " +
         hexadecimal(checksums_.empty() ? 0 : checksums_[k]) + "};");
  }

  static std::string hexadecimal(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
    return text;
  }

  template <typename T>
  std::string numbers(const std::string &type, const std::string &name,
                      const std::vector<T> &values) {
    if (values.empty())
      return "nullptr";
    std::vector<std::string> texts;
    for (T value : values)
      texts.push_back(std::to_string(value));
    texts.back() += "};";
    out_ += wrapped("inline constexpr " + type + " " + name + "[] = {", "    ", texts, ",");
    return name;
  }

  void tunings(const std::string &id, const KernelTable &table) {
    std::vector<std::string> rows;
    for (const TuningTable &tuning : table.tunings) {
      std::string number = id + "_" + std::to_string(rows.size());
      std::vector<std::string> names;
      for (const std::string &name : tuning.schedule_names)
        names.push_back(string_literal(name));
      line("inline constexpr const char *schedule_names_" + number + "[] = {" + join(names, ", ") +
           "};");
      // One statement each: a call of numbers() writes a line of the header.
      std::string schedules = numbers("std::uint16_t", "schedules_" + number, tuning.schedules);
      std::string costs = numbers("std::int16_t", "costs_" + number, tuning.costs);
      std::string times = numbers("std::int16_t", "times_" + number, tuning.times);
      std::string problems = numbers("std::int32_t", "problems_" + number, tuning.problems);
      std::string axes = numbers("std::uint32_t", "tuned_axes_" + number, tuning.axes);
      rows.push_back("\n    {" + string_literal(tuning.gpu) + ", " + std::to_string(tuning.arch) +
                     ", " + std::to_string(tuning.num_sms) + ", " + axes + ", " + problems + ", " +
                     times + ",\n     " + costs + ", " + schedules + ", schedule_names_" + number +
                     ", " + std::to_string(tuning.axes.size()) + ", " +
                     std::to_string(tuning.problem_count) + ", " +
                     std::to_string(tuning.schedule_names.size()) + ", " +
                     (tuning.beside_costs ? "1" : "0") + "}");
    }
    if (!rows.empty())
      line("inline constexpr tritonc::abi::tuning tunings_" + id + "[] = {" + join(rows, ",") +
           "};");
  }

  void images_of(const std::string &name, const VariantRow &row, std::vector<std::string> &infos) {
    std::vector<std::string> images;
    for (const ImageRow &image : row.images) {
      images.push_back("\n    " + image_initializer(image));
      infos.push_back("\n    " + info_initializer(*image.image, row.variant->plan.specialization));
    }
    if (!images.empty())
      line("inline constexpr tritonc::abi::image images_" + name + "[] = {" + join(images, ",") +
           "};");
  }

  /// Writes all data that a variant refers to, including its specializations.
  void variant_parts(const std::string &name, const VariantRow &row) {
    std::vector<std::string> infos;
    std::vector<size_t> first_infos;
    images_of(name, row, infos);
    for (size_t i = 0; i < row.specialized.size(); i++) {
      first_infos.push_back(infos.size());
      images_of(name + "_" + std::to_string(i), row.specialized[i], infos);
    }
    if (!infos.empty())
      line("inline constexpr tritonc::image_info infos_" + name + "[] = {" + join(infos, ",") +
           "};");
    std::string variants;
    for (size_t i = 0; i < row.specialized.size(); i++)
      variants += "    " +
                  variant_initializer(name + "_" + std::to_string(i), name, first_infos[i],
                                      row.specialized[i]) +
                  ",\n";
    if (!variants.empty())
      line("inline constexpr tritonc::abi::variant specialized_" + name + "[] = {\n" + variants +
           "};");
  }

  /// `infos` is the array with the variant's image infos, which start at `first_info`.
  std::string variant_initializer(const std::string &name, const std::string &infos,
                                  size_t first_info, const VariantRow &row) const {
    bool has_images = !row.images.empty();
    size_t constants = tables_.constants[row.constants].size();
    size_t requirement_count = tables_.requirements[row.requirements].size();
    return "{" + string_literal(row.variant->entry) + ", " + list_of_code(row.grid, 3) + ", " +
           optional_name(requirement_count != 0, numbered("requirements_", row.requirements)) +
           ", " +
           optional_name(!tables_.parameters[row.parameters].empty(),
                         numbered("parameters_", row.parameters)) +
           ", " + optional_name(has_images, "images_" + name) + ", " +
           optional_name(has_images, "&infos_" + infos + "[" + std::to_string(first_info) + "]") +
           ", " + std::to_string(requirement_count) + ", " + std::to_string(row.images.size()) +
           ", " + optional_name(!row.specialized.empty(), "specialized_" + name) + ", " +
           std::to_string(row.specialized.size()) + ", " + std::to_string(constants) + ", " +
           optional_name(constants != 0, numbered("constants_", row.constants)) + "}";
  }

  const Tables &tables_;
  const std::vector<uint64_t> checksums_;
  std::string out_;
};

/// The checksums of the kernels, as a reader of the header computes them.
std::vector<uint64_t> checksums_of(const Tables &tables) {
  DescriptorMemory memory = header_memory(DataSection(tables, {}).text());
  std::vector<uint64_t> checksums;
  for (uint64_t kernel : memory.kernels)
    checksums.push_back(descriptor_checksum(memory, kernel));
  return checksums;
}

} // namespace

std::string header_data(const Tables &tables) {
  return DataSection(tables, checksums_of(tables)).text();
}

} // namespace tritonc
