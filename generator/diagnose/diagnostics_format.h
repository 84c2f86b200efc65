// Formats the diagnostics for tools such as editors, build servers and code review.
//
// JSON, one document:
//
//     {"version": 1, "tool": "tritonc 0.1.0", "exit_code": 1, "diagnostics": [{
//       "severity": "error", "id": "shapes-differ", "message": "shapes differ in `+`: ...",
//       "at": {"file": "k.tc", "line": 5, "column": 13, "end_line": 5, "end_column": 14},
//       "marks": [{...}, ...], "option": "-W..." (of warnings), "notes": [the same], "text": "...",
//       "fix": [{"at": {...}, "text": "..."}, ...]
//     }]}
//
//   - Lines and columns are 1-based, columns count characters, and an end is exclusive.
//   - `at` is missing if a message has no location.
//   - `text` is the message as users read it.
//   - `fix` lists edits; applied together, they fix the error or warning. The `fix` of a note is
//     only a suggestion: a user must confirm it.
//
// SARIF is version 2.1.0 of https://docs.oasis-open.org/sarif/sarif/v2.1.0/. Each error or warning
// is a result, its notes are related locations, and the fixes of both are the fixes of the result.
#pragma once

#include "diagnostics/diagnostics.h"
#include "diagnostics/exit_code.h"

#include <string>
#include <vector>

namespace tritonc {

enum class DiagnosticsFormat { text, json, sarif };

/// The whole document, including the final newline.
std::string formatted(const std::vector<Diagnostic> &diagnostics, DiagnosticsFormat format,
                      ExitCode code);

} // namespace tritonc
