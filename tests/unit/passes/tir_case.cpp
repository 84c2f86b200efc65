// Reads, runs and renews the cases of tir_case.h.
//
// Tested by tir_files_test.cpp.

#include "unit/passes/tir_case.h"

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "support/lines.h"
#include "target/gpu.h"
#include "unit/passes/run_pass.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace fs = std::filesystem;

namespace tritonc::test {

namespace {

constexpr std::string_view input_end = ".tir", expected_end = ".expected.tir";

std::string contents(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The parts of `text` between separators, without blanks around them.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    if (!part.empty())
      parts.push_back(part);
  }
  return parts;
}

std::optional<int64_t> parse_integer(const std::string &text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// All files in the folders of `root`, sorted.
std::vector<fs::path> files_in_folders(const fs::path &root) {
  std::vector<fs::path> files;
  for (const auto &folder : fs::directory_iterator(root))
    if (folder.is_directory())
      for (const auto &entry : fs::directory_iterator(folder))
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_expected(const fs::path &file) { return file.string().ends_with(expected_end); }
bool is_input(const fs::path &file) {
  return file.string().ends_with(input_end) && !is_expected(file);
}

TirCase case_of(const fs::path &input) {
  std::string name = input.stem();
  return {input.parent_path().filename(), name, input,
          input.parent_path() / (name + std::string(expected_end))};
}

// --- The comments of an input --------------------------------------------------------------------

struct Directives {
  const Gpu *gpu = find_gpu("80");
  std::optional<int64_t> max_shared_bytes;
  Schedule schedule;
  std::vector<std::string> then;
  bool unchanged = false;
};

// Applies one directive. Returns false if its name or its value is unknown.
bool apply_directive(Directives &directives, const std::string &name, const std::string &value) {
  if (name == "gpu") {
    directives.gpu = find_gpu(value);
    return directives.gpu != nullptr;
  }
  if (name == "max_shared_bytes") {
    directives.max_shared_bytes = parse_integer(value);
    return directives.max_shared_bytes.has_value();
  }
  if (name == "schedule") {
    std::optional<Schedule> schedule = parse_schedule(value);
    directives.schedule = schedule.value_or(Schedule{});
    return schedule.has_value();
  }
  if (name == "then") {
    directives.then = split(value, ',');
    return !directives.then.empty();
  }
  return false;
}

// Throws if the comments break a rule of tir_case.h.
Directives directives_of(const std::string &text) {
  static const std::regex directive("// ([a-z_]+): (.*)");
  Directives directives;
  bool is_described = false;
  for (const std::string &line : lines_of(text)) {
    if (!line.starts_with("//"))
      break;
    std::smatch match;
    if (line == "// unchanged")
      directives.unchanged = true;
    else if (!std::regex_match(line, match, directive))
      is_described = true;
    else if (!apply_directive(directives, match[1], match[2]))
      throw std::runtime_error("cannot use `" + line + "`: tir_case.h lists the directives");
    if (!is_described)
      throw std::runtime_error("begin the file with a comment that says what the case shows");
  }
  if (!is_described)
    throw std::runtime_error("begin the file with a comment that says what the case shows");
  return directives;
}

// --- A run ---------------------------------------------------------------------------------------

void verify(const ir::Function &fn, const std::string &when) {
  std::string errors = ir::verify(fn);
  if (!errors.empty())
    throw std::runtime_error("the function is not valid " + when + ": " + errors + "\n" +
                             ir::print(fn));
}

void run(const std::string &pass, ir::Function &fn, const Directives &directives) {
  Gpu gpu = *directives.gpu;
  gpu.max_shared_bytes = int(directives.max_shared_bytes.value_or(gpu.max_shared_bytes));
  if (!run_pass(pass, fn, gpu, directives.schedule))
    throw std::runtime_error("no pass has the name `" + pass + "`");
  verify(fn, "after " + pass);
}

constexpr const char *renewal = "\nIf the output is right: TRITONC_UPDATE=1 tests/run -R "
                                "unit.passes, and review the diff";

// Throws if the output differs from the expected file.
void compare(const TirCase &one, const std::string &output, bool renew) {
  if (renew && contents(one.expected) != output)
    std::ofstream(one.expected, std::ios::binary) << output;
  if (!fs::exists(one.expected))
    throw std::runtime_error(one.expected.filename().string() + " is missing" + renewal);
  std::string lines = difference(contents(one.expected), output);
  if (!lines.empty())
    throw std::runtime_error("the output differs from " + one.expected.filename().string() +
                             " (-):\n" + lines + renewal);
}

// Throws if a case without a change has a change.
void compare_unchanged(const TirCase &one, const std::string &before, const std::string &output) {
  std::string lines = difference(before, output);
  if (!lines.empty())
    throw std::runtime_error("the case is `unchanged`, but the pass changes the function:\n" +
                             lines);
  if (fs::exists(one.expected))
    throw std::runtime_error("the case is `unchanged`: remove " + one.expected.filename().string());
}

void check(const TirCase &one, bool renew) {
  std::string text = contents(one.input);
  Directives directives = directives_of(text);
  ir::ParseResult parsed = ir::parse(text);
  if (!parsed.function)
    throw std::runtime_error(parsed.error);
  ir::Function fn = std::move(*parsed.function);
  verify(fn, "before " + one.pass);
  std::string before = ir::print(fn);
  run(one.pass, fn, directives);
  for (const std::string &pass : directives.then)
    run(pass, fn, directives);
  std::string output = ir::print(fn);
  if (directives.unchanged)
    compare_unchanged(one, before, output);
  else if (output == before)
    throw std::runtime_error("the pass changes nothing; if this is right, add the line "
                             "`// unchanged` to the comments");
  else
    compare(one, output, renew);
}

// --- Schedules -----------------------------------------------------------------------------------

const std::map<std::string_view, Schedule::Kind> kinds = {
    {"baseline", Schedule::Kind::baseline},
    {"multistage", Schedule::Kind::multistage},
    {"multistage_wgmma", Schedule::Kind::multistage_wgmma},
    {"warp_specialized", Schedule::Kind::warp_specialized},
    {"batched", Schedule::Kind::batched},
    {"program_per_warp", Schedule::Kind::program_per_warp},
    {"split_k_reduction", Schedule::Kind::split_k_reduction},
    {"split_loop", Schedule::Kind::split_loop},
};

const std::map<std::string_view, Schedule::Work> works = {
    {"all", Schedule::Work::all},
    {"partials", Schedule::Work::partials},
    {"reduction", Schedule::Work::reduction},
};

using Integers = std::vector<int64_t>;
using Set = std::function<void(Schedule &, const Integers &)>;

struct Member {
  size_t values; // number of integers
  Set set;
};

const std::map<std::string_view, Member> members = {
    {"producer_warps", {1, [](Schedule &s, const Integers &v) { s.producer_warps = int(v[0]); }}},
    {"consumer_groups", {1, [](Schedule &s, const Integers &v) { s.consumer_groups = int(v[0]); }}},
    {"coarsening", {3, [](Schedule &s, const Integers &v) { s.coarsening = v; }}},
    {"division", {3, [](Schedule &s, const Integers &v) { s.division = v; }}},
    {"k_tile", {1, [](Schedule &s, const Integers &v) { s.k_tile = v[0]; }}},
    {"swap_operands", {0, [](Schedule &s, const Integers &) { s.swap_operands = true; }}},
    {"iterations", {1, [](Schedule &s, const Integers &v) { s.iterations = v[0]; }}},
    {"joined_rows", {0, [](Schedule &s, const Integers &) { s.joined_rows = true; }}},
    {"staged", {0, [](Schedule &s, const Integers &) { s.staged = true; }}},
    {"split_k", {1, [](Schedule &s, const Integers &v) { s.split_k = v[0]; }}},
    {"stream_k", {0, [](Schedule &s, const Integers &) { s.stream_k = true; }}},
    {"multicast", {1, [](Schedule &s, const Integers &v) { s.multicast = v[0]; }}},
    {"cluster", {1, [](Schedule &s, const Integers &v) { s.cluster = v[0]; }}},
    {"blocks_per_sm", {1, [](Schedule &s, const Integers &v) { s.blocks_per_sm = int(v[0]); }}},
    {"epilogue_stages", {1, [](Schedule &s, const Integers &v) { s.epilogue_stages = v[0]; }}},
    {"partials",
     {3, [](Schedule &s, const Integers &v) { s.partials = SplitKPartials{v, {0, 1}}; }}},
};

// Sets one member of a schedule: its name and its values. Returns false if there is none.
bool set_member(Schedule &schedule, const std::vector<std::string> &words) {
  if (words.size() == 2 && words[0] == "work") {
    auto work = works.find(words[1]);
    if (work != works.end())
      schedule.work = work->second;
    return work != works.end();
  }
  auto member = members.find(words[0]);
  if (member == members.end() || words.size() != member->second.values + 1)
    return false;
  Integers values;
  for (size_t i = 1; i < words.size(); i++) {
    std::optional<int64_t> value = parse_integer(words[i]);
    if (!value)
      return false;
    values.push_back(*value);
  }
  member->second.set(schedule, values);
  return true;
}

} // namespace

std::optional<Schedule> parse_schedule(std::string_view text) {
  std::vector<std::string> parts = split(text, ',');
  if (parts.empty() || !kinds.count(parts[0]))
    return std::nullopt;
  Schedule schedule = {.kind = kinds.at(parts[0])};
  for (size_t i = 1; i < parts.size(); i++)
    if (!set_member(schedule, split(parts[i], ' ')))
      return std::nullopt;
  return schedule;
}

std::string difference(const std::string &expected, const std::string &actual) {
  if (expected == actual)
    return "";
  std::vector<std::string> minus = lines_of(expected), plus = lines_of(actual);
  size_t shorter = std::min(minus.size(), plus.size()), head = 0, tail = 0;
  while (head < shorter && minus[head] == plus[head])
    head++;
  while (tail < shorter - head && minus[minus.size() - 1 - tail] == plus[plus.size() - 1 - tail])
    tail++;
  constexpr size_t context = 2;
  std::string text;
  auto show = [&](const char *mark, const std::vector<std::string> &lines, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
      text += mark + lines[i] + "\n";
  };
  text += "line " + std::to_string(head + 1) + "\n";
  show("  ", plus, head - std::min(head, context), head);
  show("- ", minus, head, minus.size() - tail);
  show("+ ", plus, head, plus.size() - tail);
  show("  ", plus, plus.size() - tail, plus.size() - tail + std::min(tail, context));
  return text;
}

std::vector<TirCase> tir_cases(const fs::path &root) {
  std::vector<TirCase> cases;
  for (const fs::path &file : files_in_folders(root))
    if (is_input(file))
      cases.push_back(case_of(file));
  return cases;
}

std::vector<fs::path> stray_files(const fs::path &root) {
  std::vector<fs::path> files = files_in_folders(root);
  for (const TirCase &one : tir_cases(root)) {
    std::erase(files, one.input);
    std::erase(files, one.expected);
  }
  return files;
}

bool is_unchanged(const TirCase &one) {
  std::vector<std::string> lines = lines_of(contents(one.input));
  return std::find(lines.begin(), lines.end(), "// unchanged") != lines.end();
}

std::string problem_of(const TirCase &one, bool renew) {
  try {
    check(one, renew);
    return "";
  } catch (const std::runtime_error &problem) {
    return one.pass + "/" + one.input.filename().string() + ": " + problem.what();
  }
}

} // namespace tritonc::test
