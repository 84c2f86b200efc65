// The preprocessor: a source file and the host's macros in, tokens out.
//
// It is clang's, so all of C's preprocessor is there. The host's macros are ordinary `#define`s of
// a file called <command line>, which is how a mistake inside of one can be shown. `#pragma
// tritonc` arrives as tokens among the others; macros in it are expanded, except in `variant` and
// `tune`, whose names and values are the macros' own.

#pragma once

#include "language/front_end.h"
#include "language/token.h"

#include <deque>
#include <string>
#include <vector>

namespace tritonc {

struct Preprocessed {
  std::vector<Token> tokens;              // the last one is `end`
  std::vector<std::string> files;         // every file opened, in that order, each once
  std::vector<std::string> unused_macros; // of the host's, those that nothing looked at
  std::deque<std::string> spellings;
  bool is_too_much = false; // reported; the tokens are not all of the source's (macro_limits.h)
};

/// Reports what is wrong and returns what could be read; there is always an `end`. If it is
/// `quiet`, only that the source itself can't be read is reported.
Preprocessed preprocess(const FrontEndInput &input, Diagnostics &diagnostics, bool quiet = false);

} // namespace tritonc
