// Plants and tests mutants in a copy of the source tree. See mutation_build.h.

#include "mutate/mutation_build.h"

#include "mutate/run_command.h"
#include "mutate/source_copy.h"
#include "mutate/source_mutants.h"
#include "support/parallel_for.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace tritonc::mutate {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// A test runs at most 10 times as long as without a mutant, but at least 5 seconds, because the
// machine may be busy.
constexpr double max_slowdown = 10, min_limit = 5;
constexpr size_t max_bytes = size_t(8) << 30;

// As the preset `dev`, but without debug information, which only makes links slower, and with the
// checks of libstdc++, which notice an index one past the end.
const char *const configure_options =
    " -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=\"-O1 -D_GLIBCXX_ASSERTIONS\""
    " -DTritonC_BUILD_TESTS=ON"
    " -DTritonC_WARNINGS_AS_ERRORS=OFF";

bool begins_with_any(const std::string &text, const std::vector<std::string> &starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](const std::string &start) { return text.rfind(start, 0) == 0; });
}

// Plants a mutant while it lives.
class Planting {
public:
  Planting(fs::path path, const Mutant &mutant) : path_(std::move(path)), text_(read_text(path_)) {
    std::optional<std::string> changed = planted(text_, mutant);
    if (!changed)
      throw std::runtime_error("no place for " + id_of(mutant));
    write_text(path_, *changed);
  }
  ~Planting() {
    try {
      write_text(path_, text_);
    } catch (const std::exception &) { // the next call updates the copy
    }
  }
  Planting(const Planting &) = delete;

  const std::string &original() const { return text_; }

private:
  fs::path path_;
  std::string text_;
};

} // namespace

MutationBuild::MutationBuild(fs::path root, fs::path work, int jobs, Say say)
    : root_(std::move(root)), work_(fs::weakly_canonical(work)), source_(work_ / "source"),
      build_(work_ / "build"), jobs_(jobs), say_(std::move(say)) {}

void MutationBuild::prepare() {
  size_t changes = update_copy(root_, source_);
  say_(std::to_string(changes) + " files of the copy updated");
  fs::create_directories(build_);
  std::string log = (work_ / "configure.log").string();
  if (!fs::exists(build_ / "build.ninja") &&
      run_command(
          {"cmake -S ../source -B ." + std::string(configure_options), build_.string(), log, {}}) !=
          End::passed)
    throw std::runtime_error("cmake failed; see " + log);
  // After a change of a CMakeLists.txt, ninja runs CMake again.
  if (!build("build.ninja", log))
    throw std::runtime_error("cmake failed; see " + log);
  commands_ = read_compile_commands(read_text(build_ / "compile_commands.json"));
  tests_ = read_quick_tests(read_text(source_ / "tests" / "mutate" / "quick_tests.txt"));
}

std::string MutationBuild::file_of(const CompileCommand &command) const {
  return fs::path(command.source).lexically_relative(source_).generic_string();
}

std::vector<CompileCommand>
MutationBuild::commands_for(const std::vector<std::string> &prefixes) const {
  std::vector<CompileCommand> found;
  for (const CompileCommand &command : commands_)
    if (begins_with_any(file_of(command), prefixes))
      found.push_back(command);
  if (found.empty())
    throw std::runtime_error("no source files in these folders");
  return found;
}

std::vector<Mutant> MutationBuild::list_mutants(const std::vector<std::string> &prefixes) {
  std::vector<CompileCommand> commands = commands_for(prefixes);
  std::vector<std::vector<Mutant>> found(commands.size());
  std::vector<std::string> problems(commands.size());
  parallel_for(commands.size(), jobs_, [&](size_t i) {
    const CompileCommand &command = commands[i];
    Source source = {command.source, file_of(command), read_text(command.source), command.flags};
    found[i] = mutants_of(source, problems[i]);
  });
  std::vector<Mutant> mutants;
  for (size_t i = 0; i < commands.size(); i++) {
    if (!problems[i].empty())
      say_(file_of(commands[i]) + ": clang reports: " + problems[i]);
    mutants.insert(mutants.end(), found[i].begin(), found[i].end());
  }
  return mutants;
}

bool MutationBuild::build(const std::string &target, const std::string &log) {
  return run_command(
             {"ninja -j " + std::to_string(jobs_) + " " + target, build_.string(), log, {}}) ==
         End::passed;
}

End MutationBuild::run(const QuickTest &test) {
  Command command = {test.command, build_.string(), (work_ / "test.log").string(), {}, max_bytes};
  if (auto normal = normal_times_.find(test.command); normal != normal_times_.end())
    command.time = std::max(Seconds(min_limit), max_slowdown * normal->second);
  return run_command(command);
}

void MutationBuild::measure(const std::vector<std::string> &prefixes) {
  std::vector<CompileCommand> commands = commands_for(prefixes);
  std::vector<QuickTest> tests;
  std::set<std::string> seen;
  std::string targets;
  for (const CompileCommand &command : commands) {
    std::vector<QuickTest> found = tests_of(file_of(command), tests_);
    if (found.empty())
      throw std::runtime_error(file_of(command) + ": quick_tests.txt has no test of its folder");
    for (const QuickTest &test : found)
      if (seen.insert(test.command).second) {
        tests.push_back(test);
        targets += " " + test.target;
      }
    targets += " " + command.object;
  }
  say_("building without a mutant");
  std::string log = (work_ / "build.log").string();
  if (!build(targets, log))
    throw std::runtime_error("the build failed; see " + log);
  for (const QuickTest &test : tests) {
    Clock::time_point start = Clock::now();
    if (run(test) != End::passed)
      throw std::runtime_error("fails without a mutant: " + test.command + "; see " +
                               (work_ / "test.log").string());
    normal_times_[test.command] = Clock::now() - start;
    say_(test.target + ": " + std::to_string(int(normal_times_[test.command].count() + 0.5)) +
         " s without a mutant");
  }
  for (const CompileCommand &command : commands)
    objects_[command.object] = std::hash<std::string>()(read_text(build_ / command.object));
}

Result MutationBuild::try_mutant(const Mutant &mutant) {
  auto command = std::find_if(commands_.begin(), commands_.end(), [&](const CompileCommand &each) {
    return file_of(each) == mutant.file;
  });
  if (command == commands_.end())
    throw std::runtime_error("not compiled: " + mutant.file);
  Clock::time_point start = Clock::now();
  Planting planting(source_ / mutant.file, mutant);
  Trial trial;
  trial.build = [&](const std::string &target) {
    return build(target, (work_ / "build.log").string());
  };
  trial.changes_code = [&] {
    return std::hash<std::string>()(read_text(build_ / command->object)) !=
           objects_[command->object];
  };
  trial.run = [&](const QuickTest &test) { return run(test); };
  Verdict verdict = judge(command->object, tests_of(mutant.file, tests_), trial);
  return {mutant.name,     id_of(mutant), diff_of(planting.original(), mutant),
          verdict.outcome, verdict.by,    int(Seconds(Clock::now() - start).count() + 0.5)};
}

} // namespace tritonc::mutate
