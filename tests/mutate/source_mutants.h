// Finds all possible mutants of a source file, by clang's AST.

#pragma once

#include "mutate/mutant.h"

#include <string>
#include <vector>

namespace tritonc::mutate {

struct Source {
  std::string path; // as clang opens it
  std::string file; // path from the root of the repository
  std::string text;
  std::vector<std::string> flags; // of the compiler: macros, include paths, language version
};

/// All mutants of a source, in the order of their places. `problem` gets clang's first error, if
/// any: then mutants may be missing.
std::vector<Mutant> mutants_of(const Source &source, std::string &problem);

} // namespace tritonc::mutate
