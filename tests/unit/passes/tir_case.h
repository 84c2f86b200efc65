// A test of a pass as two files of tile IR, beside each other in a folder with the name of the pass:
//
//     PASS/CASE.tir            the function before the pass
//     PASS/CASE.expected.tir   the function after it, as the printer prints it
//
// The comments at the start of CASE.tir say what the case shows, then how the pass runs:
//
//     // A gather keeps its pointers.
//     // gpu: 90a                                default: 80
//     // max_shared_bytes: 2048                  default: the limit of the GPU
//     // schedule: warp_specialized, k_tile 64   default: baseline
//     // then: remove_dead_code                  passes that run after PASS
//     // unchanged                               the pass does nothing; CASE has no expected file
//
// `schedule` is a kind, then members of `Schedule` with their values: `coarsening 1 2 1`,
// `swap_operands`, `work partials`. `partials 1 2 1` is the coarsening of
// `SplitKPartials`.
//
//     TRITONC_UPDATE=1 tests/run -R unit.passes     rewrites the expected files

#pragma once

#include "ir/schedule.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tritonc::test {

struct TirCase {
  std::string pass, name;
  std::filesystem::path input, expected;
};

/// The cases in the folders of `root`, in alphabetical order.
std::vector<TirCase> tir_cases(const std::filesystem::path &root);

/// Files in the folders of `root` that belong to no case, for example the expected file of a case
/// that was removed.
std::vector<std::filesystem::path> stray_files(const std::filesystem::path &root);

/// Whether the comments of the input contain `// unchanged`.
bool is_unchanged(const TirCase &one);

/// Runs a case. Returns the problem and its remedy; empty: the output is right. With `renew`, first
/// writes the expected file if it differs.
std::string problem_of(const TirCase &one, bool renew = false);

/// The schedule of a `schedule` line; nullopt: not a schedule.
std::optional<Schedule> parse_schedule(std::string_view text);

/// The lines in which `actual` differs from `expected`, between two lines of context: `-` begins a
/// line of `expected`, `+` a line of `actual`. Empty: no difference.
std::string difference(const std::string &expected, const std::string &actual);

} // namespace tritonc::test
