// Reads a variant file. See variant_file.h.
//
// Tested by tests/unit/variants/variants_test.cpp.

#include "variants/variant_file.h"

#include "support/read_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <optional>

namespace tritonc {
namespace {

std::string shown(const llvm::json::Value &value) {
  std::string text = llvm::formatv("{0}", value).str();
  return text.size() <= 40 ? "`" + text + "`" : "`" + text.substr(0, 40) + "...`";
}

// The text of an integer or a word; nullopt for other values.
std::optional<std::string> value_of(const llvm::json::Value &value) {
  if (std::optional<int64_t> integer = value.getAsInteger())
    return std::to_string(*integer);
  if (std::optional<llvm::StringRef> word = value.getAsString(); word && !word->empty())
    return word->str();
  return std::nullopt;
}

// Reads one value or a list of values. Sets `wrong` to an invalid value.
std::vector<std::string> values_of(const llvm::json::Value &value,
                                   const llvm::json::Value *&wrong) {
  std::vector<std::string> values;
  auto add = [&](const llvm::json::Value &one) {
    if (std::optional<std::string> text = value_of(one))
      values.push_back(*text);
    else
      wrong = &one;
  };
  if (const llvm::json::Array *list = value.getAsArray()) {
    if (list->empty())
      wrong = &value;
    for (const llvm::json::Value &one : *list)
      add(one);
  } else {
    add(value);
  }
  return values;
}

} // namespace

Result<std::vector<VariantFileEntry>> read_variant_file(const std::string &path) {
  Result<std::string> text = read_file(path, max_source_bytes);
  if (!text)
    return text.error();
  llvm::Expected<llvm::json::Value> root = llvm::json::parse(*text);
  if (!root)
    return Error{Message::variant_file_syntax, {path, llvm::toString(root.takeError())}};
  const llvm::json::Array *list = root->getAsArray();
  if (!list || list->empty())
    return Error{Message::variant_file_syntax, {path, "it is not a list of objects"}};

  std::vector<VariantFileEntry> entries;
  for (const llvm::json::Value &item : *list) {
    std::string number = std::to_string(entries.size() + 1);
    const llvm::json::Object *object = item.getAsObject();
    if (!object)
      return Error{Message::variant_file_entry, {path, number, "an object", shown(item)}};
    VariantFileEntry entry;
    for (const auto &[name, value] : *object) {
      const llvm::json::Value *wrong = nullptr;
      std::vector<std::string> values = values_of(value, wrong);
      if (wrong)
        return Error{Message::variant_file_entry,
                     {path, number, "integers or words for `" + name.str() + "`", shown(*wrong)}};
      if (name == "kernel")
        entry.kernels = std::move(values);
      else if (name == "arch")
        entry.gpus = std::move(values);
      else
        entry.axes.emplace_back(name.str(), std::move(values));
    }
    llvm::sort(entry.axes); // an object's members have no order
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace tritonc
