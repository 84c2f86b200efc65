// Merges the messages of many variants: a message that several variants share appears once.
//
//     error: `f` for sm_80, sm_90a needs 262144 bytes of shared memory, and ...
//     note: in 24 of 48 variants (TM=128)
//
// Two messages about a source are the same if they have the same kind and the same location, even
// if their numbers differ; the output shows the first variant's message. The same rule applies to
// messages about the resources of a kernel.
#pragma once

#include "diagnose/remark.h"

#include <functional>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

class MergedMessages {
public:
  struct Variant {
    std::string text;                                        // "TM=64 TN=32"
    std::vector<std::pair<std::string, std::string>> values; // of its axes: {"TM", "64"}, ...
  };

  /// Renders a remark about a kernel of a variant.
  using Draw = std::function<Diagnostic(const Remark &, const std::string &kernel, size_t variant)>;

  MergedMessages(std::vector<Variant> variants, DiagnosticOptions options, Draw draw = {})
      : variants_(std::move(variants)), options_(std::move(options)), draw_(std::move(draw)) {}

  /// Counts a variant of `owner`, a source or a kernel: the total of "in 24 of 48 variants".
  void add_variant(const std::string &owner, size_t variant);

  /// Adds a message about a variant of `owner`. Requires that all messages of one variant are added
  /// consecutively.
  void add(const Diagnostic &message, const std::string &owner, size_t variant);

  /// Adds a remark about a kernel for a GPU; the GPU's name is an argument of the remark. `name` is
  /// the name of the variant plus details that make it unique.
  void add(const Remark &remark, const std::string &owner, size_t variant, const std::string &gpu,
           const std::string &name);

  /// Appends the merged messages to `to`, in order of first occurrence, up to the error limit. If
  /// not all variants have a message, a note gives their number and their common axis values.
  void append_to(DiagnosticList &to) const;

private:
  struct Entry {
    Diagnostic message;
    Remark remark; // used if `message` is empty: a message about GPUs
    std::string owner, first;
    size_t first_variant = 0;
    bool varies = false;                              // whether the text differs between variants
    std::map<std::string, std::set<size_t>> variants; // variants by GPU name; "" = no GPU
  };

  Entry &entry(const std::string &key);
  std::vector<Diagnostic> findings_of(const Entry &entry) const;
  void add_share(Diagnostic &message, const Entry &entry, const std::set<size_t> &variants) const;
  std::string common_values(const std::set<size_t> &all, const std::set<size_t> &these,
                            bool &is_exact) const;

  std::vector<Variant> variants_;
  DiagnosticOptions options_;
  Draw draw_;
  std::map<std::string, std::set<size_t>> owned_;
  std::map<std::string, size_t> index_;
  std::vector<Entry> entries_;
  std::map<std::string, int> seen_; // occurrences of each key in last_variant_
  size_t last_variant_ = 0;
};

} // namespace tritonc
