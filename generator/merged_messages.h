// What many variants have to say, with what several have in common said once.
//
//     error: `f` for sm_80, sm_90a needs 262144 bytes of shared memory, and ...
//     note: in 24 of 48 variants (TM=128)
//
// Of a source, what is of one kind and at one place is the same message, even if its numbers are
// others in each variant: one of them is shown. So is what a kernel takes too much of.
#pragma once

#include "remark.h"

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

  /// Draws a remark about a kernel of a variant.
  using Draw = std::function<Finding(const Remark &, const std::string &kernel, size_t variant)>;

  MergedMessages(std::vector<Variant> variants, DiagnosticOptions options, Draw draw = {})
      : variants_(std::move(variants)), options_(std::move(options)), draw_(std::move(draw)) {}

  /// The variant is one of `owner`, a source or a kernel: of so many a message is in some.
  void add_variant(const std::string &owner, size_t variant);

  /// Something about a variant of `owner`. All about one variant come one after the other.
  void add(const Finding &finding, const std::string &owner, size_t variant);

  /// The same about a kernel for a GPU, whose name is an argument. `name` is the variant's, with
  /// more that tells it apart.
  void add(const Remark &remark, const std::string &owner, size_t variant, const std::string &gpu,
           const std::string &name);

  /// The messages in the order in which they came first, until there are too many errors. One that
  /// not all variants have is followed by how many do, and what these have in common.
  void tell(Findings &to) const;

private:
  struct Entry {
    Finding finding;
    Remark remark; // if it is about GPUs
    std::string owner, first;
    size_t first_variant = 0;
    bool varies = false;                              // it has another text in some variant
    std::map<std::string, std::set<size_t>> variants; // of GPUs, in order of their names
  };

  Entry &entry(const std::string &key);
  std::vector<Finding> findings_of(const Entry &entry) const;
  void add_share(Finding &finding, const Entry &entry, const std::set<size_t> &variants) const;
  std::string common_values(const std::set<size_t> &all, const std::set<size_t> &these,
                            bool &is_exact) const;

  std::vector<Variant> variants_;
  DiagnosticOptions options_;
  Draw draw_;
  std::map<std::string, std::set<size_t>> owned_;
  std::map<std::string, size_t> index_;
  std::vector<Entry> entries_;
  std::map<std::string, int> seen_; // of the variant that was added last: how often each key
  size_t last_variant_ = 0;
};

} // namespace tritonc
