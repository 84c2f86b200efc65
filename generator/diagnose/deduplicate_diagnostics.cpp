// Implements the merge of the messages of all variants. See deduplicate_diagnostics.h.
//
// Tested by tests/unit/diagnose/deduplicate_diagnostics_test.cpp.

#include "diagnose/deduplicate_diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tritonc {
namespace {

constexpr const char *any_gpu = "\1"; // placeholder for the GPU name; no argument contains it

Remark with_gpu(Remark remark, const std::string &from, const std::string &to) {
  for (std::string &argument : remark.failure.args)
    if (argument == from)
      argument = to;
  return remark;
}

// The text and location of a remark and its notes, to compare remarks.
std::string text_of(const Remark &remark) {
  std::string all = text(remark.failure) + "\n" + std::to_string(remark.origin);
  for (const Remark &note : remark.notes)
    all += "\n" + text_of(note);
  return all;
}

// Messages that count as equal although their numbers or tiles differ between variants.
bool varies(Message id) {
  return id == Message::shared_too_large || id == Message::variant_left_out ||
         id == Message::spills || id == Message::bank_conflicts;
}

// Messages that matter only if all variants have them: a mask may be always true in some variants.
bool is_of_all(const Diagnostic &message) { return message.name == "mask-always-true"; }

} // namespace

void MergedMessages::add_variant(const std::string &owner, size_t variant) {
  owned_[owner].insert(variant);
}

MergedMessages::Entry &MergedMessages::entry(const std::string &key) {
  auto [at, is_new] = index_.try_emplace(key, entries_.size());
  if (is_new)
    entries_.emplace_back();
  return entries_[at->second];
}

void MergedMessages::add(const Diagnostic &message, const std::string &owner, size_t variant) {
  std::string key = owner + "\n" + message.name + "\n";
  if (message.at.line > 0)
    key += message.at.file + ":" + std::to_string(message.at.line) + ":" +
           std::to_string(message.at.column);
  else
    key += message.text;
  if (variant != last_variant_)
    seen_.clear();
  last_variant_ = variant;
  Entry &one = entry(key + "\n" + std::to_string(seen_[key]++));
  if (one.variants.empty()) {
    one.message = message;
    one.owner = owner;
    one.first = variants_[variant].text;
  }
  one.varies |= message.drawn != one.message.drawn;
  one.variants[""].insert(variant);
}

void MergedMessages::add(const Remark &remark, const std::string &owner, size_t variant,
                         const std::string &gpu, const std::string &name) {
  Remark merged = with_gpu(remark, gpu, any_gpu);
  std::string merged_text = text_of(merged), key = owner + "\n" + merged_text;
  if (tritonc::varies(remark.failure.id))
    key = owner + "\n" + std::string(name_of(remark.failure.id));
  Entry &one = entry(key);
  if (one.variants.empty()) {
    one.remark = std::move(merged);
    one.owner = owner;
    one.first = name;
    one.first_variant = variant;
  }
  one.varies |= text_of(one.remark) != merged_text;
  one.variants[gpu].insert(variant);
}

// The axis values that distinguish `these` from `all`: "TM=64, TN=32 or 64". `is_exact` says
// whether no other variant has these values.
std::string MergedMessages::common_values(const std::set<size_t> &all,
                                          const std::set<size_t> &these, bool &is_exact) const {
  std::vector<std::string> axes; // in the order of the source
  auto values_in = [&](const std::set<size_t> &variants, const std::string &axis) {
    std::vector<std::string> values;
    for (size_t variant : variants)
      for (const auto &[name, value] : variants_[variant].values)
        if (name == axis && !llvm::is_contained(values, value))
          values.push_back(value);
    return values;
  };
  for (size_t variant : these)
    for (const auto &[name, value] : variants_[variant].values)
      if (!llvm::is_contained(axes, name))
        axes.push_back(name);

  std::vector<std::string> parts;
  std::set<size_t> alike = all;
  for (const std::string &axis : axes) {
    std::vector<std::string> values = values_in(these, axis);
    if (values.size() == values_in(all, axis).size())
      continue;
    parts.push_back(axis + "=" + llvm::join(values, " or "));
    std::set<size_t> left;
    for (size_t variant : alike)
      for (const auto &[name, value] : variants_[variant].values)
        if (name == axis && llvm::is_contained(values, value))
          left.insert(variant);
    alike = std::move(left);
  }
  is_exact = !parts.empty() && alike.size() == these.size();
  return llvm::join(parts, ", ");
}

// Adds the note that says how many variants have the message.
void MergedMessages::add_share(Diagnostic &message, const Entry &entry,
                               const std::set<size_t> &variants) const {
  const std::set<size_t> &all = owned_.at(entry.owner);
  if (variants.size() >= all.size())
    return;
  bool is_exact = false;
  std::string common = common_values(all, variants, is_exact);
  if (!is_exact)
    common += (common.empty() ? "first " : "; first ") + entry.first;
  add_note(message,
           tritonc::diagnostic(Message::in_variants, {std::to_string(variants.size()),
                                                      std::to_string(all.size()), common}));
}

// The diagnostics of an entry: one for each group of GPUs with the same set of variants.
std::vector<Diagnostic> MergedMessages::findings_of(const Entry &entry) const {
  std::vector<std::pair<std::vector<std::string>, std::set<size_t>>> groups;
  for (const auto &[gpu, variants] : entry.variants) {
    auto same = llvm::find_if(groups, [&](const auto &group) { return group.second == variants; });
    if (same == groups.end())
      same = groups.insert(same, {{}, variants});
    same->first.push_back(gpu);
  }
  std::vector<Diagnostic> diagnostics;
  for (const auto &[gpus, variants] : groups) {
    Diagnostic one = entry.message;
    if (is_of_all(one) && variants.size() < owned_.at(entry.owner).size())
      continue;
    if (one.drawn.empty()) {
      Remark remark = with_gpu(entry.remark, any_gpu, llvm::join(gpus, ", "));
      one = draw_ ? draw_(remark, entry.owner, entry.first_variant) : diagnostic(remark.failure);
    }
    add_share(one, entry, variants);
    if (entry.varies)
      add_note(one, diagnostic(Message::values_of, {entry.first}));
    diagnostics.push_back(std::move(one));
  }
  return diagnostics;
}

void MergedMessages::append_to(DiagnosticList &to) const {
  int errors = 0;
  for (const Entry &entry : entries_)
    for (Diagnostic &one : findings_of(entry)) {
      bool is_error = one.severity == Severity::error;
      if (is_error && options_.max_errors > 0 && errors == options_.max_errors) {
        Diagnostic note = diagnostic(Message::too_many_errors, {std::to_string(errors)});
        to.diagnostics_text += note.drawn;
        add_note(to.diagnostics.back(), std::move(note));
        return;
      }
      errors += is_error;
      to.add(std::move(one));
    }
}

} // namespace tritonc
