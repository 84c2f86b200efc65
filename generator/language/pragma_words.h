// The clauses of `#pragma tritonc`, each with an example for who writes it otherwise.
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

/// Nothing if it is none of them.
constexpr std::optional<PragmaWord> pragma_word(std::string_view word) {
  for (const PragmaWord &row : pragma_words)
    if (row.word == word)
      return row;
  return std::nullopt;
}

} // namespace tritonc
