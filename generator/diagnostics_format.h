// What there is to say about kernels, for programs: editors, build servers, code review.
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
// Lines and columns count from 1, columns in characters; an end is behind the last one. `at` is
// missing where there is no place. `text` is what a person reads. `fix` is there where it is known
// what to type: all its texts are put in place of what stands at their places, from which the
// source then is right in this respect; that of a note is for the author to agree to. SARIF is
// version 2.1.0 of https://docs.oasis-open.org/sarif/sarif/v2.1.0/: a result each, notes as related
// locations, the fixes of both as its fixes.
#pragma once

#include "source/diagnostics.h"
#include "source/exit_code.h"

#include <string>
#include <vector>

namespace tritonc {

enum class DiagnosticsFormat { text, json, sarif };

/// The whole document, with the end of its last line.
std::string formatted(const std::vector<Finding> &findings, DiagnosticsFormat format,
                      ExitCode code);

} // namespace tritonc
