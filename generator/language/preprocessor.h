// The preprocessor: turns a source file and the command line's macros into tokens.
//
// clang's preprocessor does the work, so it supports all of C's directives. Macros of the command
// line become `#define`s in a file called <command line>, so that a diagnostic can show the inside
// of such a macro. `#pragma tritonc` becomes tokens among the other tokens. The preprocessor
// expands macros in these pragmas except in `variant` and `tune`, which name the macros themselves.

#pragma once

#include "language/front_end.h"
#include "language/token.h"

#include <deque>
#include <string>
#include <vector>

namespace tritonc {

struct Preprocessed {
  std::vector<Token> tokens;              // the last token is `end`
  std::vector<std::string> files;         // every opened file once, in the order of opening
  std::vector<std::string> unused_macros; // `-D` macros that neither source nor grid uses
  std::vector<EmptyMacro> empty_macros;   // expansions, in the order of the tokens
  std::deque<std::string> spellings;
  bool is_too_much = false; // already reported; tokens are incomplete (macro_limits.h)
};

/// Reports errors and returns the tokens that it could read; the last token is always `end`. If
/// `quiet`, it reports only that it cannot read the source file itself.
Preprocessed preprocess(const FrontEndInput &input, DiagnosticEngine &diagnostics,
                        bool quiet = false);

} // namespace tritonc
