// Writes the table of variants. See report.h.
//
// Tested by tests/unit/emit/report_test.cpp.

#include "emit/report/report.h"

#include <algorithm>
#include <vector>

namespace tritonc {

using Row = std::vector<std::string>;

std::string aligned(const std::vector<Row> &rows, size_t text_columns) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row &row : rows)
    for (size_t c = 0; c < row.size(); c++)
      widths[c] = std::max(widths[c], row[c].size());
  std::string out;
  for (const Row &row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); c++) {
      std::string padding(widths[c] - row[c].size(), ' ');
      line += (c ? "  " : "") + (c < text_columns ? row[c] + padding : padding + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

namespace {

std::vector<const Variant *> by_preference(const KernelEntry &kernel) {
  std::vector<const Variant *> out;
  for (const Variant &variant : kernel.variants)
    out.push_back(&variant);
  std::stable_sort(out.begin(), out.end(), [&](const Variant *a, const Variant *b) {
    for (size_t i = 0; i < kernel.axes.size(); i++)
      if (!kernel.axes[i].tuned && a->values[i] != b->values[i])
        return a->values[i] < b->values[i];
    return a->preference < b->preference;
  });
  return out;
}

std::string count(int number) { return std::to_string(number); }

bool has_schedules(const KernelEntry &kernel) {
  for (const Variant &variant : kernel.variants)
    for (const Image &image : variant.images)
      if (!image.launch.schedule.is_baseline())
        return true;
  return false;
}

bool has_specializations(const KernelEntry &kernel) {
  return std::any_of(kernel.variants.begin(), kernel.variants.end(),
                     [](const Variant &variant) { return !variant.plan.specialization.empty(); });
}

/// The table of one kernel. Columns: axes, specialization, GPU, schedule, then the numbers.
std::string table_of(const KernelEntry &kernel) {
  const bool names_schedules = has_schedules(kernel),
             names_specialization = has_specializations(kernel);
  Row titles = {kernel.name};
  for (const Axis &axis : kernel.axes)
    titles.push_back(axis.name);
  if (names_specialization)
    titles.push_back("specializations");
  titles.push_back("gpu");
  if (names_schedules)
    titles.push_back("schedule");
  titles.insert(titles.end(), {"threads", "registers", "shared", "spilled", "cubin", "embedded"});
  std::vector<Row> rows = {titles};
  for (const Variant *variant : by_preference(kernel)) {
    for (const Image &image : variant->images) {
      Row row = {""};
      for (size_t i = 0; i < kernel.axes.size(); i++)
        row.push_back(variant->values.value(kernel.axes, i).name);
      if (names_specialization)
        row.push_back(variant->plan.specialization);
      row.push_back(image.gpu);
      if (names_schedules)
        row.push_back(text_of(image.launch.schedule));
      row.insert(row.end(), {count(image.threads), count(image.registers),
                             count(image.shared_bytes + image.static_shared),
                             count(image.spill_stores + image.spill_loads),
                             count(image.cubin_bytes), count(int(image.bytes.size()))});
      rows.push_back(row);
    }
  }
  return aligned(rows, kernel.axes.size() + 2 + names_specialization + names_schedules);
}

} // namespace

std::string report(const Library &library, const Bundle *bundle) {
  std::string out;
  for (const KernelEntry &kernel : library.kernels)
    out += (out.empty() ? "" : "\n") + table_of(kernel);
  if (bundle)
    out += "\n" + bundle->name + " has " + std::to_string(bundle->offsets.size()) + " images, " +
           std::to_string(bundle->bytes.size()) + " bytes\n";
  return out;
}

} // namespace tritonc
