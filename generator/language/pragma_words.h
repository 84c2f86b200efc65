// Table of the `#pragma tritonc` clauses, each with an example that diagnostics show.
#pragma once

#include <optional>
#include <string_view>

namespace tritonc {

struct PragmaWord {
  std::string_view word, example;
};

constexpr PragmaWord pragma_words[] = {
    {"grid", "grid(M / TM, N / TN)"},          {"require", "require(K % TK == 0)"},
    {"variant", "variant(TYPE: half, float)"}, {"tune", "tune(TM: 64, 128)"},
    {"precision", "precision(exact)"},
};

/// Returns nullopt if `word` is not a clause.
constexpr std::optional<PragmaWord> pragma_word(std::string_view word) {
  for (const PragmaWord &row : pragma_words)
    if (row.word == word)
      return row;
  return std::nullopt;
}

} // namespace tritonc
