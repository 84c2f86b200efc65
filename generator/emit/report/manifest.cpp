// Writes the manifest as JSON. See manifest.h.
//
// Tested by tests/unit/emit/manifest_test.cpp.

#include "emit/report/manifest.h"

#include "emit/expression.h"
#include "emit/tables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tritonc {

namespace {

using llvm::json::Array;
using llvm::json::Object;

/// JSON must be UTF-8, but a source may have other bytes.
std::string text(const std::string &any) { return llvm::json::fixUTF8(any); }

Object map_object(const TensorMap &map, const std::vector<Parameter> &parameters) {
  Array sizes, strides, box;
  for (const Expr &size : map.sizes)
    sizes.push_back(text(text_of(size, parameters)));
  for (const Expr &stride : map.strides)
    strides.push_back(text(text_of(stride, parameters)));
  for (int64_t size : map.box)
    box.push_back(size);
  return Object{
      {"parameter", text(parameters[size_t(map.parameter)].name)},
      {"offset", text(text_of(map.offset, parameters))},
      {"element", map.to_tf32 ? "tf32" : ir::name_of(map.elem)},
      {"sizes", std::move(sizes)},
      {"strides", std::move(strides)},
      {"box", std::move(box)},
      {"swizzle_bytes", map.swizzle_bytes},
  };
}

Object launch_object(const LaunchConfig &launch, const std::vector<Parameter> &parameters) {
  Array guards, blocks, hidden;
  for (const Requirement &guard : launch.guards)
    guards.push_back(text(guard.text));
  for (const Expr &axis : launch.blocks)
    blocks.push_back(text(text_of(axis, parameters)));
  for (const HiddenParameter &parameter : launch.hidden) {
    if (parameter.map)
      hidden.push_back(Object{{"tensor_map", map_object(*parameter.map, parameters)}});
    else if (parameter.is_workspace)
      hidden.push_back(Object{{"workspace", true}});
    else
      hidden.push_back(Object{{"element", ir::name_of(parameter.elem)},
                              {"value", text(text_of(parameter.value, parameters))}});
  }
  Object out{
      {"guards", std::move(guards)},
      {"blocks", std::move(blocks)},
      {"cluster", launch.cluster},
      {"hidden", std::move(hidden)},
  };
  if (launch.workspace)
    out["workspace_bytes"] = text(text_of(*launch.workspace, parameters));
  if (launch.shared_bytes)
    out["shared_bytes"] = text(text_of(*launch.shared_bytes, parameters));
  if (launch.cost)
    out["cost"] = text(text_of(*launch.cost, parameters));
  if (launch.part != LaunchConfig::Part::whole)
    out["part"] = launch.part == LaunchConfig::Part::first ? "first" : "second";
  if (launch.starts_early)
    out["starts_early"] = true;
  return out;
}

Object image_object(const Image &image, const std::vector<Parameter> &parameters) {
  Object out{
      {"gpu", image.gpu},
      {"schedule", text_of(image.launch.schedule)},
      {"threads", image.threads},
      {"registers", image.registers},
      {"shared_bytes", image.shared_bytes},
      {"static_shared_bytes", image.static_shared},
      {"spill_stores", image.spill_stores},
      {"spill_loads", image.spill_loads},
      {"stack_bytes", image.stack_bytes},
      {image.is_ptx() ? "ptx_bytes" : "cubin_bytes", image.cubin_bytes},
      {"image_bytes", int64_t(image.bytes.size())},
      {"image_sha256", sha256(image.bytes)},
  };
  if (image.has_checks)
    out["checks"] = true;
  if (!image.host_symbol.empty()) {
    out["host_object_bytes"] = int64_t(image.host_object.size());
    out["host_object_sha256"] = sha256(image.host_object);
  }
  if (!is_default(image.launch))
    out["launch"] = launch_object(image.launch, parameters);
  return out;
}

Object parameter_object(const Parameter &parameter) {
  Object out{{"name", text(parameter.name)}, {"element", parameter.element}};
  if (!parameter.is_pointer) {
    out["signed"] = parameter.is_signed;
    out["multiple_of"] = parameter.multiple_of;
    return out;
  }
  out["aligned"] = parameter.aligned_bytes;
  out["nullable"] = parameter.nullable;
  out["access"] = parameter.read_only ? "read" : parameter.write_only ? "write" : "read_write";
  return out;
}

Object constant_object(const Constant &constant) {
  return Object{{"name", text(constant.name)},  {"element", constant.element},
                {"signed", constant.is_signed}, {"count", constant.count},
                {"offset", constant.offset},    {"bytes", constant.bytes}};
}

Object variant_object(const KernelEntry &kernel, const Variant &variant) {
  Object defines, values;
  for (const Define &define : variant.defines)
    defines[text(define.name)] = text(define.value);
  for (size_t i = 0; i < kernel.axes.size(); i++)
    values[text(kernel.axes[i].name)] = text(variant.values.value(kernel.axes, i).name);
  Array parameters, grid, requirements, images;
  for (const Parameter &parameter : variant.parameters)
    parameters.push_back(parameter_object(parameter));
  for (const Expr &axis : variant.plan.grid)
    grid.push_back(text(text_of(axis, variant.parameters)));
  for (const Requirement &requirement : variant.plan.requirements)
    requirements.push_back(text(requirement.text));
  for (const Image &image : variant.images)
    images.push_back(image_object(image, variant.parameters));
  Object out{
      {"values", std::move(values)},
      {"defines", std::move(defines)},
      {"entry", text(variant.entry)},
      {"preference", variant.preference},
      {"parameters", std::move(parameters)},
      {"grid", std::move(grid)},
      {"requirements", std::move(requirements)},
      {"images", std::move(images)},
  };
  if (!variant.plan.specialization.empty())
    out["specialization"] = text(variant.plan.specialization);
  if (!variant.constants.empty()) {
    Array constants;
    for (const Constant &constant : variant.constants)
      constants.push_back(constant_object(constant));
    out["constants"] = std::move(constants);
  }
  return out;
}

/// The tuning data of the kernel: the number of problems per C++ type and GPU, and their file.
Array tuning_array(const KernelEntry &kernel) {
  struct Measured {
    const Measurement *first = nullptr;
    int64_t problems = 0;
    std::set<size_t> variants;
    std::set<std::string> files;
  };
  std::map<std::tuple<std::string, int, int, std::string>, Measured> all;
  for (const Measurement &one : kernel.measurements) {
    const Variant &variant = kernel.variants[one.times.front().variant];
    Measured &of = all[{one.gpu, one.arch, one.num_sms, variant.values.type_text(kernel.axes)}];
    of.first = &one;
    of.problems++;
    of.files.insert(one.file);
    for (const Measurement::Time &time : one.times)
      of.variants.insert(time.variant);
  }
  Array out;
  for (const auto &[key, of] : all) {
    const auto &[gpu, arch, num_sms, types] = key;
    Array arguments, files;
    for (const auto &[parameter, value] : of.first->problem)
      arguments.push_back(text(kernel.variants.front().parameters[size_t(parameter)].name));
    for (const std::string &file : of.files)
      files.push_back(text(file));
    out.push_back(Object{
        {"gpu", Object{{"name", text(gpu)}, {"arch", arch}, {"sms", num_sms}}},
        {"types", text(types)},
        {"arguments", std::move(arguments)},
        {"problems", of.problems},
        {"variants", int64_t(of.variants.size())},
        {"files", std::move(files)},
    });
  }
  return out;
}

Object kernel_object(const KernelEntry &kernel) {
  Array axes, variants;
  for (const Axis &axis : kernel.axes) {
    Array values;
    for (const AxisValue &value : axis.values)
      values.push_back(text(value.name));
    axes.push_back(Object{{"name", text(axis.name)},
                          {"kind", axis.tuned ? "tune" : "variant"},
                          {"values", std::move(values)}});
  }
  // Sorted by values, not by preference, so that a new preference is a small diff.
  std::vector<const Variant *> sorted;
  for (const Variant &variant : kernel.variants)
    sorted.push_back(&variant);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Variant *a, const Variant *b) { return a->values < b->values; });
  for (const Variant *variant : sorted)
    variants.push_back(variant_object(kernel, *variant));
  Object out{
      {"name", text(kernel.name)}, {"axes", std::move(axes)}, {"variants", std::move(variants)}};
  if (!kernel.measurements.empty())
    out["tuning"] = tuning_array(kernel);
  return out;
}

} // namespace

std::string sha256(const std::string &bytes) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(bytes));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::string manifest(const Library &library, const Bundle *bundle) {
  Array kernels;
  for (const KernelEntry &kernel : library.kernels)
    kernels.push_back(kernel_object(kernel));
  Object value{
      {"schema", 2},
      {"tool", text(library.tool)},
      {"library", text(library.name)},
      {"source", text(library.source_file)},
      {"kernels", std::move(kernels)},
  };
  if (bundle)
    value["bundle"] = Object{{"file", text(bundle->name)},
                             {"bytes", int64_t(bundle->bytes.size())},
                             {"sha256", sha256(bundle->bytes)}};
  std::string out;
  llvm::raw_string_ostream(out) << llvm::formatv("{0:2}", llvm::json::Value(std::move(value)))
                                << "\n";
  return out;
}

} // namespace tritonc
