// What many variants have to say, with what several have in common said once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tritonc {

class MergedMessages {
public:
  /// Of so many variants in all.
  explicit MergedMessages(size_t variants) : variants_(variants) {}

  /// One message with its notes, each line with its end, of the variant of that number.
  void add(const std::string &message, size_t variant, const std::string &variant_text);

  /// Rendered diagnostics of a front end: message after message.
  void add_all(const std::string &text, size_t variant, const std::string &variant_text);

  /// The messages in the order in which they came first. One that not all variants have is followed
  /// by how many do, and which the first was.
  std::string text() const;

private:
  struct Entry {
    std::string message, first;
    std::set<size_t> variants;
  };

  size_t variants_;
  std::map<std::string, size_t> index_;
  std::vector<Entry> messages_;
};

} // namespace tritonc
