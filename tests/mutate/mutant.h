// A mutant: one small error in a source file of the compiler.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::mutate {

struct Mutant {
  std::string file;      // path from the root of the repository
  unsigned line, column; // of the edit, from 1
  std::string change;    // the mutation operator; README.md lists them
  size_t offset;         // of `before` in the file
  std::string before, after;
  std::string name = {}; // of name_mutants
};

/// The place, the mutation operator and the edit, on one line.
std::string id_of(const Mutant &mutant);

/// The text of the file with the error. nullopt if `before` is not at its place.
std::optional<std::string> planted(const std::string &text, const Mutant &mutant);

/// The changed lines without indentation: each old line after "- ", each new line after "+ ".
/// Unlike id_of, the result stays the same if the lines move.
std::string diff_of(const std::string &text, const Mutant &mutant);

/// Sets the names of the mutants of a file with this text. A name is unique. It stays the same if the
/// mutant's lines move and if other lines change.
void name_mutants(const std::string &text, std::vector<Mutant> &mutants);

} // namespace tritonc::mutate
