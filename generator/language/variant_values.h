// The values of one variant: one value for each axis, and their text.
//
// Header-only, since emit/ uses it and does not link the front end.
// Tested by tests/unit/language/variant_values_test.cpp.
#pragma once

#include "language/front_end.h" // Axis, AxisValue

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

/// For each axis, the index of its value. The axes are not part of it; pass the axes that the
/// indices refer to.
class VariantValues {
public:
  VariantValues() = default;
  VariantValues(std::initializer_list<int> indices) : indices_(indices) {}
  explicit VariantValues(std::vector<int> indices) : indices_(std::move(indices)) {}

  size_t size() const { return indices_.size(); }
  int operator[](size_t axis) const { return indices_[axis]; }
  int &operator[](size_t axis) { return indices_[axis]; }

  /// The value of `axes[axis]`.
  const AxisValue &value(const std::vector<Axis> &axes, size_t axis) const {
    return axes[axis].values[size_t(indices_[axis])];
  }

  /// All values: "TYPE=half TM=64".
  std::string text(const std::vector<Axis> &axes) const {
    return text_of(axes, [](const Axis &) { return true; });
  }
  /// Only axes of `variant(...)`, which are part of the C++ type: "TYPE=half".
  std::string type_text(const std::vector<Axis> &axes) const {
    return text_of(axes, [](const Axis &axis) { return !axis.tuned; });
  }
  /// Only axes of `tune(...)`, whose values the launch chooses: "TM=64".
  std::string tuned_text(const std::vector<Axis> &axes) const {
    return text_of(axes, [](const Axis &axis) { return axis.tuned; });
  }

  bool operator==(const VariantValues &other) const { return indices_ == other.indices_; }
  bool operator!=(const VariantValues &other) const { return indices_ != other.indices_; }
  bool operator<(const VariantValues &other) const { return indices_ < other.indices_; }

private:
  template <typename Wanted>
  std::string text_of(const std::vector<Axis> &axes, Wanted wanted) const {
    std::string text;
    for (size_t i = 0; i < axes.size(); i++)
      if (wanted(axes[i]))
        text += (text.empty() ? "" : " ") + axes[i].name + "=" + value(axes, i).name;
    return text;
  }

  std::vector<int> indices_;
};

/// The name of a variant in messages and reports: its values and its specialization, of which both
/// may be empty. "TYPE=half TM=64, under lda % 8".
inline std::string variant_name(const std::string &values, const std::string &specialization) {
  if (specialization.empty())
    return values;
  return values + (values.empty() ? "under " : ", under ") + specialization;
}

} // namespace tritonc
