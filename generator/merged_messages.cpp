// Messages of variants, merged. See merged_messages.h.
//
// Tested by tests/compile/compile_test.cpp.

#include "merged_messages.h"

#include "source/diagnostics.h"

#include "llvm/ADT/StringRef.h"

namespace tritonc {
namespace {

// A message begins at the line that says error or warning, or at what leads to the place.
bool begins_message(llvm::StringRef line, llvm::StringRef previous) {
  auto leads = [](llvm::StringRef text) { return text.starts_with("In file included from"); };
  if (leads(previous))
    return false;
  return leads(line) || line.contains(": error: ") || line.contains(": warning: ") ||
         line.contains(": fatal error: ") || line.starts_with("error: ") ||
         line.starts_with("warning: ");
}

std::vector<std::string> split(llvm::StringRef text) {
  std::vector<std::string> messages;
  llvm::StringRef previous;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (messages.empty() || begins_message(line, previous))
      messages.emplace_back();
    messages.back() += line.str() + "\n";
    previous = line;
    text = rest;
  }
  return messages;
}

} // namespace

void MergedMessages::add(const std::string &message, size_t variant,
                         const std::string &variant_text) {
  auto [at, is_new] = index_.try_emplace(message, messages_.size());
  if (is_new)
    messages_.push_back({message, variant_text, {}});
  messages_[at->second].variants.insert(variant);
}

void MergedMessages::add_all(const std::string &text, size_t variant,
                             const std::string &variant_text) {
  for (const std::string &one : split(text))
    add(one, variant, variant_text);
}

std::string MergedMessages::text() const {
  std::string result;
  for (const Entry &entry : messages_) {
    result += entry.message;
    if (entry.variants.size() < variants_)
      result += message(Message::in_variants, {std::to_string(entry.variants.size()),
                                               std::to_string(variants_), entry.first}) +
                "\n";
  }
  return result;
}

} // namespace tritonc
