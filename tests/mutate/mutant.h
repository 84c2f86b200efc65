// A mutant: one small error in a source file of the compiler.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tritonc::mutate {

struct Mutant {
  std::string file;      // path from the root of the repository
  unsigned line, column; // of the edit, from 1
  std::string change;    // the mutation operator; README.md lists them
  size_t offset;         // of `before` in the file
  std::string before, after;
};

/// Identifies a mutant as long as the file stays the same: place, mutation operator, edit; one line.
std::string id_of(const Mutant &mutant);

/// The text of the file with the error. nullopt if `before` is not at its place.
std::optional<std::string> planted(const std::string &text, const Mutant &mutant);

/// The changed lines without indentation: each old line after "- ", each new line after "+ ".
/// Unlike id_of, the result stays the same if the lines move.
std::string diff_of(const std::string &text, const Mutant &mutant);

} // namespace tritonc::mutate
