// The descriptors of a library as tables. See tables.h.

#include "emit/tables.h"

#include "emit/cpp_text.h"
#include "emit/expression.h"

#include <cstring>
#include <map>
#include <optional>

namespace tritonc {

namespace {

/// Entries of a table, each once, with its place.
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

class Builder {
public:
  explicit Builder(const Interface &interface) : interface_(interface) {}

  Result<Tables> build() {
    for (const KernelInterface &kernel : interface_.kernels)
      for (const Combination &combination : kernel.combinations)
        add_kernel(kernel, combination);
    if (failure_)
      return *failure_;
    return std::move(tables_);
  }

private:
  void add_kernel(const KernelInterface &kernel, const Combination &combination) {
    KernelTable table;
    table.combination = &combination;
    table.axis_count = kernel.tuned.size();
    for (const Image &image : combination.variants.front()->images)
      table.gpus += (table.gpus.empty() ? "" : ", ") + image.gpu;
    for (const Variant *variant : combination.variants) {
      table.variants.push_back(variant_row(kernel, combination, *variant));
      for (const TunedAxis &axis : kernel.tuned)
        table.choices.push_back(axis.values[size_t(variant->values[axis.index])]);
    }
    tables_.kernels.push_back(std::move(table));
  }

  VariantRow variant_row(const KernelInterface &kernel, const Combination &combination,
                         const Variant &variant) {
    VariantRow row;
    row.variant = &variant;
    for (const Expr &axis : variant.plan.grid)
      row.grid.push_back(code_of(kernel, variant, axis));
    row.requirements = requirements_.add(requirement_rows(kernel, variant));
    row.parameters = parameters_.add(parameter_rows(combination, variant));
    for (const Image &image : variant.images)
      row.images.push_back({images_.add(sealed(image.bytes)), tables_.state_count++, &image});
    return row;
  }

  size_t code_of(const KernelInterface &kernel, const Variant &variant, const Expr &expression) {
    std::optional<std::vector<int64_t>> words = postfix(expression);
    if (!words) {
      if (!failure_)
        failure_ = Failure{Message::plan_too_deep,
                           {kernel.entry->name, text_of(expression, variant.parameters)}};
      return 0;
    }
    return code_.add(*words);
  }

  /// What the source requires, and what its `__multipleof` means: the code was specialised for it.
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

  static std::vector<ParameterRow> parameter_rows(const Combination &combination,
                                                  const Variant &variant) {
    std::vector<ParameterRow> rows;
    for (size_t i = 0; i < variant.parameters.size(); i++) {
      const Parameter &parameter = variant.parameters[i];
      uint32_t aligned = parameter.is_pointer ? uint32_t(parameter.aligned_bytes) : 0;
      rows.push_back({combination.members[i].name, uint32_t(combination.members[i].offset), aligned,
                      kind_of(parameter), parameter.nullable});
    }
    return rows;
  }

  const Interface &interface_;
  Tables tables_;
  Interned<std::string> images_{tables_.images};
  Interned<std::vector<int64_t>> code_{tables_.code};
  Interned<std::vector<ParameterRow>> parameters_{tables_.parameters};
  Interned<std::vector<RequirementRow>> requirements_{tables_.requirements};
  std::optional<Failure> failure_;
};

} // namespace

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
