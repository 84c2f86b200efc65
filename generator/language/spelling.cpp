// Implements the search for misspelled names. See spelling.h.
//
// Tested by tests/unit/language/spelling_test.cpp.

#include "language/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tritonc {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); i++) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool is_misspelt(std::string_view name, std::string_view known) {
  size_t length = std::min(name.size(), known.size());
  return name != known && length > 2 && edit_distance(name, known) <= (length + 2) / 4;
}

std::optional<std::string_view> nearest(std::string_view name,
                                        const std::vector<std::string_view> &known) {
  std::optional<std::string_view> best;
  size_t best_distance = 0;
  bool is_only = true;
  for (std::string_view other : known) {
    if (!is_misspelt(name, other) || other == best)
      continue;
    size_t distance = edit_distance(name, other);
    if (best && distance >= best_distance) {
      is_only &= distance > best_distance;
      continue;
    }
    best = other;
    best_distance = distance;
    is_only = true;
  }
  return is_only ? best : std::nullopt;
}

} // namespace tritonc
