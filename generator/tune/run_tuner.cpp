// Plans measurements, runs the tuner and reads its results. See run_tuner.h.
//
// Tested by tests/unit/tune/run_tuner_test.cpp and tests/end_to_end/tuning/.

#include "tune/run_tuner.h"

#include "emit/report/report.h"
#include "support/child_process.h"
#include "support/temporary_directory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace tritonc {
namespace {

using llvm::json::Array;
using llvm::json::Object;

// A line of unknown length for a message.
std::string shown(llvm::StringRef line) {
  constexpr size_t max_length = 200;
  return line.size() <= max_length ? line.str() : line.take_front(max_length).str() + "...";
}

// --- Tuner processes -----------------------------------------------------------------------------

// One call of the tuner, with its input and output in files.
struct Call {
  ChildFiles files;
  int pid = 0;
};

std::string contents_of(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

// The command for one part: the launcher's words, then the tuner.
std::vector<std::string> command_of(const TuneOptions &options, int part) {
  std::vector<std::string> command;
  for (std::string word : options.launcher) {
    for (size_t at; (at = word.find("{part}")) != std::string::npos;)
      word.replace(at, 6, std::to_string(part));
    command.push_back(word);
  }
  command.push_back(std::filesystem::absolute(options.tuner).string());
  return command;
}

std::optional<Error> start(std::vector<std::string> command, Call &call) {
  const std::string name = command.front();
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(name);
  if (!program)
    return Error{Message::tool_not_started, {name, program.getError().message()}};
  command.front() = *program;
  if (int error = start_child(command, call.files, call.pid))
    return Error{Message::tool_not_started, {name, std::strerror(error)}};
  return std::nullopt;
}

// The number of finished problems in the output so far.
size_t count_done(const Call &call) {
  std::string said = contents_of(call.files.output);
  return llvm::StringRef(said).count("\nend\n");
}

// A tuner prints some hundred bytes per variant and problem. More than this is no tuner's output.
constexpr uintmax_t max_output_bytes = uintmax_t(256) << 20;

bool prints_too_much(const Call &call) {
  for (const std::string &path : {call.files.output, call.files.errors}) {
    std::error_code error;
    if (uintmax_t bytes = std::filesystem::file_size(path, error);
        !error && bytes > max_output_bytes)
      return true;
  }
  return false;
}

// Waits until the tuner ends. Exit code 1 means that variants differ; the output has the details,
// so this is no failure here.
std::optional<Error> finish(const TuneOptions &options, Call &call,
                            const std::function<void()> &meanwhile) {
  constexpr std::chrono::milliseconds pause(20);
  std::optional<ChildResult> ended;
  while (!(ended = ended_child(call.pid))) {
    if (prints_too_much(call)) {
      end_child(call.pid);
      return Error{Message::tuner_prints_too_much,
                   {options.tuner, std::to_string(max_output_bytes >> 20)}};
    }
    meanwhile();
    std::this_thread::sleep_for(pause);
  }
  const bool is_by_itself = ended->end == ChildResult::End::exited;
  if (is_by_itself && (ended->code == 0 || ended->code == 1))
    return std::nullopt;
  std::string said = shown(llvm::StringRef(contents_of(call.files.errors)).trim());
  if (said.empty())
    said = is_by_itself             ? "exit code " + std::to_string(ended->code)
           : ended->code == SIGKILL ? "killed by signal 9, often because the memory is full; use "
                                      "smaller problems"
                                    : "killed by signal " + std::to_string(ended->code);
  return Error{Message::tuner_failed, {options.tuner, said}};
}

// --- Output of the tuner -------------------------------------------------------------------------

std::vector<std::string> fields_of(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> split;
  line.split(split, '\t');
  std::vector<std::string> fields;
  for (llvm::StringRef field : split)
    fields.push_back(field.str());
  fields.resize(std::max<size_t>(fields.size(), 7)); // missing fields are empty
  return fields;
}

bool read_values(const std::string &text, std::map<std::string, int64_t> &values) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, value] = word.split('=');
    if (value.getAsInteger(10, values[name.str()]))
      return false;
  }
  return true;
}

class ReportReader {
public:
  // Returns false if the line is not valid tuner output.
  bool read(const std::string &line) {
    std::vector<std::string> fields = fields_of(line);
    const std::string &what = fields[0];
    if (what == "gpu") {
      gpu_ = fields[1];
      return !llvm::StringRef(fields[2]).getAsInteger(10, arch_) &&
             !llvm::StringRef(fields[3]).getAsInteger(10, num_sms_);
    }
    if (what == "problem") {
      report_ = {};
      TuningEntry &entry = report_.entry;
      entry.kernel = fields[1];
      entry.types = sorted_words(fields[2]);
      entry.parameters = fields[3];
      entry.is_cold = fields[5] == "cold";
      entry.gpu = gpu_;
      entry.arch = arch_;
      entry.num_sms = num_sms_;
      return read_values(fields[4], entry.problem);
    }
    std::string variant = sorted_words(fields[1]);
    if (what == "refused") {
      if (!llvm::is_contained(report_.reasons, fields[2]))
        report_.reasons.push_back(fields[2]);
      return true;
    }
    if (what == "end") {
      reports.push_back(std::move(report_));
      return true;
    }
    report_.is_accepted = true; // all other lines are about a variant that accepts the problem
    if (what == "time") {
      TuningTime &time = report_.entry.times[variant];
      int64_t cost = 0;
      if (!llvm::StringRef(fields[3]).getAsInteger(10, cost))
        time.cost = cost;
      time.schedule = fields[4];
      return !llvm::StringRef(fields[2]).getAsInteger(10, time.nanoseconds) && time.nanoseconds > 0;
    }
    if (what == "differs")
      report_.differences.push_back({variant, fields[2]});
    else if (what == "choice")
      report_.choice = variant;
    else
      return what == "agrees";
    return true;
  }

  std::vector<TunerReport> reports; // results of the finished problems

private:
  std::string gpu_;
  int arch_ = 0, num_sms_ = 0;
  TunerReport report_;
};

// "add TYPE=half"
std::string name_of(const std::string &kernel, const std::string &types) {
  return kernel + (types.empty() ? "" : " ") + types;
}

bool has_types(const TunerKernel &kernel, const std::vector<std::string> &wanted) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(kernel.types).split(words, ' ', -1, /*KeepEmpty=*/false);
  return llvm::all_of(wanted,
                      [&](const std::string &word) { return llvm::is_contained(words, word); });
}

std::string percent(double ratio) { return llvm::formatv("{0:f1} %", 100 * (ratio - 1)).str(); }

std::string microseconds(int64_t nanoseconds) {
  return llvm::formatv("{0:f2}", double(nanoseconds) / 1000).str();
}

// Compares the variant that a launch chooses with the fastest variant.
struct Comparison {
  using Time = std::map<std::string, TuningTime>::const_iterator;
  Time chosen, best;
  double ratio() const {
    return double(chosen->second.nanoseconds) / double(best->second.nanoseconds);
  }
};

// Returns nullopt if the tuner reported no choice or did not measure the chosen variant.
std::optional<Comparison> compare(const TunerReport &report) {
  const std::map<std::string, TuningTime> &times = report.entry.times;
  auto by_time = [](const auto &a, const auto &b) {
    return a.second.nanoseconds < b.second.nanoseconds;
  };
  Comparison found = {times.find(report.choice),
                      std::min_element(times.begin(), times.end(), by_time)};
  return found.chosen == times.end() ? std::nullopt : std::optional(found);
}

// The geometric mean and the max of the ratios of all problems.
struct Summary {
  int count = 0;
  double logarithms = 0, worst = 1;
  void add(double ratio) {
    count++;
    logarithms += std::log(ratio);
    worst = std::max(worst, ratio);
  }
  double mean() const { return std::exp(logarithms / count); }
};

} // namespace

Result<std::vector<TunerKernel>> describe_tuner(const TuneOptions &options) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory)
    return directory.error();
  Call call = {{"", directory->file("out"), directory->file("err")}};
  std::string tuner = std::filesystem::absolute(options.tuner).string();
  if (std::optional<Error> failure = start({tuner, "describe"}, call))
    return *failure;
  if (std::optional<Error> failure = finish(options, call, [] {}))
    return *failure;
  std::vector<TunerKernel> kernels;
  llvm::SmallVector<llvm::StringRef> lines;
  std::string text = contents_of(call.files.output);
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "kernel")
      kernels.push_back({fields[1], fields[2], fields[3], {}});
    else if (fields[0] == "variant" && !kernels.empty())
      kernels.back().variants.push_back(fields[1]);
    else
      return Error{Message::tuner_output, {options.tuner, shown(line)}};
  }
  if (kernels.empty())
    return Error{Message::not_a_tuner, {options.tuner}};
  return kernels;
}

Result<std::vector<std::string>> plan_tuning(const TuneOptions &options) {
  Result<std::vector<TunerKernel>> described = describe_tuner(options);
  if (!described)
    return described.error();
  std::vector<TunerKernel> kernels;
  for (const TunerKernel &kernel : *described)
    if ((options.kernels.empty() || llvm::is_contained(options.kernels, kernel.name)) &&
        has_types(kernel, options.types))
      kernels.push_back(kernel);
  if (kernels.empty()) {
    std::vector<std::string> names;
    for (const TunerKernel &kernel : *described)
      names.push_back(name_of(kernel.name, kernel.types));
    return Error{Message::no_kernel_matches, {options.tuner, llvm::join(names, ", ")}};
  }
  std::vector<ProblemClauses> said;
  for (const std::string &text : options.problems) {
    Result<ProblemClauses> clauses = parse_problems(text);
    if (!clauses)
      return clauses.error();
    said.push_back(std::move(*clauses));
  }
  for (const std::string &path : options.problem_files) {
    Result<std::vector<ProblemClauses>> entries = read_problem_file(path);
    if (!entries)
      return entries.error();
    llvm::append_range(said, *entries);
  }
  Result<std::vector<PlannedProblem>> problems = plan_problems(said, kernels, options.draw);
  if (!problems)
    return problems.error();
  if (problems->empty())
    return Error{Message::no_problem, {options.tuner}};
  std::vector<std::string> lines;
  for (const PlannedProblem &problem : *problems)
    lines.push_back(problem.line());
  return lines;
}

TunerReports run_tuner(const TuneOptions &options, const std::string &what,
                       const std::vector<std::string> &plan) {
  TunerReports all;
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory) {
    all.failure = directory.error();
    return all;
  }
  std::vector<Call> calls;
  for (int part = 0; part < options.parts && !all.failure; part++) {
    std::string name = directory->file(std::to_string(part));
    Call call = {{name + ".in", name + ".out", name + ".err"}};
    // Adjacent problems take similar time, so distribute the problems round-robin over the parts.
    std::ofstream in(call.files.input);
    for (size_t i = size_t(part); i < plan.size(); i += size_t(options.parts))
      in << plan[i];
    in.close();
    std::vector<std::string> command = command_of(options, part);
    command.push_back(what);
    command.push_back("-");
    if (what == "measure" && options.rounds)
      llvm::append_range(command,
                         std::vector<std::string>{"--rounds", std::to_string(options.rounds)});
    if (what == "measure" && options.is_cold)
      command.push_back("--cold");
    all.failure = start(command, call);
    if (!all.failure)
      calls.push_back(call);
  }

  size_t done = 0;
  auto say_how_far = [&] {
    size_t now_done = 0;
    for (const Call &call : calls)
      now_done += count_done(call);
    for (; done < now_done; done++)
      options.progress->job_done(true);
  };
  if (options.progress)
    options.progress->start(plan.size(), 0, plan.size());
  for (Call &call : calls) {
    std::optional<Error> ended =
        finish(options, call, options.progress ? say_how_far : std::function<void()>([] {}));
    if (!all.failure)
      all.failure = ended;
    Result<std::vector<TunerReport>> reports =
        read_reports(options.tuner, contents_of(call.files.output));
    if (reports)
      llvm::append_range(all.reports, *reports);
    else if (!all.failure)
      all.failure = reports.error();
  }
  if (options.progress)
    options.progress->finish();
  return all;
}

Result<std::vector<TunerReport>> read_reports(const std::string &from, const std::string &text) {
  ReportReader reader;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    if (!reader.read(line.str()))
      return Error{Message::tuner_output, {from, shown(line)}};
  return std::move(reader.reports);
}

std::vector<Error> take_refused(std::vector<TunerReport> &reports) {
  constexpr size_t max_reasons = 3;
  std::vector<Error> warnings;
  llvm::erase_if(reports, [&](const TunerReport &report) {
    if (report.is_accepted || report.reasons.empty())
      return false;
    llvm::ArrayRef<std::string> few = llvm::ArrayRef(report.reasons).take_front(max_reasons);
    std::string why = llvm::join(few, "; ");
    if (size_t more = report.reasons.size() - few.size())
      why += "; and " + std::to_string(more) + " more";
    warnings.push_back(
        {Message::problem_refused,
         {name_of(report.entry.kernel, report.entry.types), text_of(report.entry.problem), why}});
    return true;
  });
  return warnings;
}

std::vector<Error> differences_of(const std::vector<TunerReport> &reports) {
  std::vector<Error> failures;
  for (const TunerReport &report : reports)
    for (const TunerReport::Difference &difference : report.differences)
      failures.push_back({Message::variants_differ,
                          {name_of(report.entry.kernel, report.entry.types),
                           text_of(report.entry.problem), difference.variant, difference.factor}});
  return failures;
}

std::string bench_table(const std::vector<TunerReport> &reports) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "problem", "chosen", "best", "us", "best us", "slower by"}};
  Summary summary;
  for (const TunerReport &report : reports) {
    const TuningEntry &entry = report.entry;
    std::optional<Comparison> found = compare(report);
    if (!found)
      continue;
    summary.add(found->ratio());
    rows.push_back({name_of(entry.kernel, entry.types), text_of(entry.problem),
                    found->chosen->first, found->best->first,
                    microseconds(found->chosen->second.nanoseconds),
                    microseconds(found->best->second.nanoseconds), percent(found->ratio())});
  }
  if (summary.count == 0)
    return "nothing was measured\n";
  return aligned(rows, 4) + "\n" + std::to_string(summary.count) +
         " problems: slower than the best by " + percent(summary.mean()) + " (geometric mean), " +
         percent(summary.worst) + " (max)\n";
}

std::string bench_json(const std::vector<TunerReport> &reports) {
  Array problems;
  Summary summary;
  for (const TunerReport &report : reports) {
    Object one = json_of(report.entry);
    if (std::optional<Comparison> found = compare(report)) {
      summary.add(found->ratio());
      one["choice"] = found->chosen->first;
      one["best"] = found->best->first;
      one["slower"] = found->ratio();
    }
    Array differences;
    for (const TunerReport::Difference &difference : report.differences)
      differences.push_back(difference.variant);
    if (!differences.empty())
      one["differ"] = std::move(differences);
    problems.push_back(std::move(one));
  }
  Object all{{"schema", 1}, {"problems", std::move(problems)}};
  if (summary.count)
    all["slower"] = Object{{"geometric_mean", summary.mean()}, {"worst", summary.worst}};
  return llvm::formatv("{0:2}", llvm::json::Value(std::move(all))).str() + "\n";
}

} // namespace tritonc
