// Implements the order of variants and the default variant. See preferences.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp.

#include "jobs/preferences.h"

#include "variants/variant_condition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <set>

namespace tritonc {
namespace {

// Whether the variant matches `wanted`: it matches all wanted axes that the kernel has, and the
// kernel has at least one.
bool has_values(const std::vector<Axis> &axes, const Variant &variant,
                const std::vector<Define> &wanted) {
  bool has_any = false;
  for (const Define &one : wanted)
    for (size_t axis = 0; axis < axes.size(); axis++) {
      if (axes[axis].name != one.name)
        continue;
      if (variant.values.value(axes, axis).name != one.value)
        return false;
      has_any = true;
    }
  return has_any;
}

} // namespace

Result<std::vector<Define>> default_values(const std::string &text, const Library &library) {
  std::vector<Define> values;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, value] = part.split('=');
    values.push_back({name.trim().str(), value.trim().str()});
    if (values.back().name.empty() || values.back().value.empty() || value.contains(','))
      return Error{Message::default_syntax, {text, part.trim().str()}};
  }
  for (const Define &one : values) {
    std::vector<std::string> axes, there;
    for (const KernelEntry &kernel : library.kernels)
      for (const Axis &axis : kernel.axes) {
        if (!llvm::is_contained(axes, axis.name))
          axes.push_back(axis.name);
        for (const AxisValue &value : axis.values)
          if (axis.name == one.name && !llvm::is_contained(there, value.name))
            there.push_back(value.name);
      }
    if (there.empty())
      return Error{Message::default_axis, {text, one.name, llvm::join(axes, ", ")}};
    if (!llvm::is_contained(there, one.value))
      return Error{Message::unknown_variant, {one.name, one.value, llvm::join(there, ", ")}};
  }
  bool is_there = llvm::any_of(library.kernels, [&](const KernelEntry &kernel) {
    return llvm::any_of(kernel.variants, [&](const Variant &variant) {
      return has_values(kernel.axes, variant, values);
    });
  });
  if (!values.empty() && !is_there)
    return Error{Message::default_left_out, {text}};
  return values;
}

std::vector<int> preferences(const std::vector<Axis> &axes, const std::vector<Variant> &variants,
                             const std::vector<Define> &defaults) {
  auto is_default = [&](int i) { return has_values(axes, variants[size_t(i)], defaults); };
  auto spills = [&](int i) {
    std::set<std::string> seen; // GPUs; the first image for a GPU has the best schedule
    return llvm::any_of(variants[i].images, [&](const Image &image) {
      return seen.insert(image.gpu).second && (image.spill_stores != 0 || image.spill_loads != 0);
    });
  };
  auto tile = [&](int i) {
    double product = 1;
    for (size_t axis = 0; axis < axes.size(); axis++) {
      long long extent;
      llvm::StringRef value = variants[i].values.value(axes, axis).name;
      if (axes[axis].tuned && !value.getAsInteger(0, extent))
        product *= double(extent);
    }
    return product;
  };

  auto is_general = [&](int i) { return variants[size_t(i)].plan.specialization.empty(); };
  std::vector<int> order;
  for (int i = 0; i < int(variants.size()); i++)
    if (is_general(i))
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (is_default(a) != is_default(b))
      return is_default(a);
    return spills(a) != spills(b) ? spills(b) : tile(a) > tile(b);
  });
  std::vector<int> preferences(variants.size());
  std::map<VariantValues, int> of_values;
  for (size_t i = 0; i < order.size(); i++)
    of_values[variants[size_t(order[i])].values] = preferences[order[i]] = int(i);
  for (int i = 0; i < int(variants.size()); i++)
    if (!is_general(i))
      preferences[i] = of_values[variants[size_t(i)].values];
  return preferences;
}

} // namespace tritonc
