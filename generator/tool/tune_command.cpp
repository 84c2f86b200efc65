// Runs `tritonc tune`, `bench` and `check`. See tune_command.h.
//
// Tested by tests/unit/tool/tune_command_test.cpp and tests/end_to_end/tuning/.

#include "tool/tune_command.h"

#include "compile.h"
#include "support/read_file.h"
#include "support/write_files.h"
#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <filesystem>
#include <iostream>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tritonc {
namespace {

// The problems that no variant accepts.
class RefusedProblems {
public:
  explicit RefusedProblems(const CompileOptions &options) : options_(options) {}

  // Removes the problems from the reports. Prints a warning for each.
  void take_from(std::vector<TunerReport> &reports) {
    for (const Error &refused : take_refused(reports)) {
      count_++;
      Diagnostic warning = diagnostic(refused);
      if (!options_.messages.wants(warning))
        continue;
      printer.print(warning);
      num_errors_ += options_.warnings_are_errors || options_.messages.is_error(warning);
    }
  }

  // Returns the error if no other problem was measured, or if a warning is an error.
  std::optional<Error> failure(bool is_any_measured) const {
    if (count_ && !is_any_measured)
      return Error{Message::all_refused, {}};
    return num_errors_ ? std::optional(warnings_as_errors(num_errors_, options_)) : std::nullopt;
  }

private:
  const CompileOptions &options_; // the warnings
  int count_ = 0, num_errors_ = 0;
};

// Reads earlier measurements: JSON or tuner output. Adds the differences between variants.
Result<TuningData> read_measured(const std::string &path, std::vector<Error> &differences,
                                 RefusedProblems &refused) {
  Result<std::string> text = read_file(path, max_data_bytes);
  if (!text)
    return text.error();
  if (!text->empty() && text->front() == '{')
    return parse_tuning_data(path, *text);
  Result<std::vector<TunerReport>> reports = read_reports(path, *text);
  if (!reports)
    return reports.error();
  refused.take_from(*reports);
  TuningData data;
  for (const TunerReport &report : *reports)
    data.add(report.entry);
  llvm::append_range(differences, differences_of(*reports));
  return data;
}

TunerReports run_with_progress(CommandLine &line, const std::string &what,
                               const std::vector<std::string> &plan) {
  Progress progress(isatty(2), [](const std::string &text) { std::cerr << text; });
  progress.set_words(what == "measure" ? "measured" : "compared", "problems");
  if (!line.is_quiet)
    line.tune.progress = &progress;
  return run_tuner(line.tune, what, plan);
}

} // namespace

ExitCode run_tune(CommandLine &line) {
  if (line.output.empty() && line.plan_file.empty())
    return fail(*usage("tritonc tune needs -o FILE.json, or --plan-to FILE"));
  if (line.tune.tuner.empty() && line.tuning_from.empty())
    return fail(*usage("tritonc tune needs a tuner, which triton_add_tuner() builds, or --from"));
  if (line.tune.tuner.empty() && line.output.empty())
    return fail(*usage("--plan-to needs a tuner, which triton_add_tuner() builds"));
  if (std::optional<Error> failure = choose_warnings(line))
    return fail(*failure);
  if (std::optional<Error> failure = check_outputs(line))
    return fail(*failure);
  TuningData data;
  if (!line.starts_anew && line.output != "-" && std::filesystem::exists(line.output)) {
    Result<TuningData> before = read_tuning_data(line.output);
    if (!before)
      return fail(before.error());
    data = std::move(*before);
  }
  std::vector<Error> differences;
  RefusedProblems refused(line.compile);
  bool is_any_measured = false;
  for (const std::string &path : line.tuning_from) {
    Result<TuningData> measured = read_measured(path, differences, refused);
    if (!measured)
      return fail(measured.error());
    is_any_measured |= !measured->entries().empty();
    data.add(*measured);
  }
  if (!line.tune.tuner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.error());
    if (!line.plan_file.empty()) {
      std::optional<Error> failure = write_files({{line.plan_file, llvm::join(*plan, "")}});
      return failure ? fail(*failure) : ExitCode::ok;
    }
    TunerReports measured = run_with_progress(line, "measure", *plan);
    refused.take_from(measured.reports);
    is_any_measured |= !measured.reports.empty();
    for (const TunerReport &report : measured.reports)
      data.add(report.entry);
    llvm::append_range(differences, differences_of(measured.reports));
    if (measured.failure && measured.reports.empty())
      return fail(*measured.failure);
    if (measured.failure) // keeps the finished measurements
      differences.push_back(*measured.failure);
  }
  std::optional<Error> refusal = refused.failure(is_any_measured);
  if (refusal && !is_any_measured)
    return fail(*refusal);
  if (refusal)
    differences.push_back(*refusal);
  if (std::optional<Error> failure = write_files({{line.output, data.json()}}))
    return fail(*failure);
  return fail_all(differences);
}

ExitCode run_bench(CommandLine &line, const std::string &what) {
  if (std::optional<Error> failure = choose_warnings(line))
    return fail(*failure);
  RefusedProblems refused(line.compile);
  std::vector<TunerReport> reports;
  for (const std::string &path : line.tuning_from) {
    Result<std::string> text = read_file(path, max_data_bytes);
    if (!text)
      return fail(text.error());
    Result<std::vector<TunerReport>> read = read_reports(path, *text);
    if (!read)
      return fail(read.error());
    llvm::append_range(reports, *read);
  }
  if (line.tune.tuner.empty() && line.tuning_from.empty())
    return fail(*usage("missing tuner, which triton_add_tuner() builds"));
  if (!line.tune.tuner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.error());
    TunerReports measured = run_with_progress(line, what, *plan);
    if (measured.failure)
      return fail(*measured.failure);
    llvm::append_range(reports, measured.reports);
  }
  refused.take_from(reports);
  std::optional<Error> refusal = refused.failure(!reports.empty());
  if (refusal && reports.empty())
    return fail(*refusal);
  std::string text;
  if (what == "measure")
    text = line.as_json ? bench_json(reports) : bench_table(reports);
  std::vector<Error> differences = differences_of(reports);
  if (what == "check" && differences.empty())
    text = std::to_string(reports.size()) + " problems, all variants agree\n";
  if (refusal)
    differences.push_back(*refusal);
  ExitCode printed = print(text), code = fail_all(differences);
  return printed == ExitCode::ok ? code : printed;
}

} // namespace tritonc
