// Mutation testing of the compiler: plants small errors in its sources, one at a time, and counts
// the errors that the quick tests notice. The program behind tests/mutate/run.
//
// Exit codes: 0 = all mutants were caught or are explained, 1 = a survivor, 2 = wrong command line,
// 3 = cannot build or test.

#include "mutate/mutation_build.h"
#include "mutate/run_command.h"
#include "mutate/source_copy.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

using namespace tritonc::mutate;
namespace fs = std::filesystem;

namespace {

struct Options {
  std::string root, work;
  std::vector<std::string> folders = {"generator/passes", "generator/lower", "generator/analysis",
                                      "runtime/src"};
  size_t count = 300;
  uint64_t seed = 1;
  int jobs = int(std::max(1u, std::thread::hardware_concurrency()));
  bool lists = false, tries_again = false;
};

void say(const std::string &line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

const char *text_of(const Result &result) {
  switch (result.outcome) {
  case Outcome::caught:
    return "caught by ";
  case Outcome::survived:
    return "SURVIVED";
  case Outcome::invalid:
    return "does not compile";
  case Outcome::equivalent:
    return "same code";
  }
  return "";
}

// The results of earlier calls, without survivors if they are to be tried again.
std::map<std::string, Result> known_results(const fs::path &path, bool tries_again) {
  std::map<std::string, Result> known = read_results(read_text(path));
  if (tries_again)
    std::erase_if(known,
                  [](const auto &entry) { return entry.second.outcome == Outcome::survived; });
  return known;
}

int run(const Options &options) {
  MutationBuild build(options.root, options.work, options.jobs, say);
  build.prepare();
  std::vector<Mutant> all = build.list_mutants(options.folders);
  say(std::to_string(all.size()) + " possible mutants");
  if (options.lists) {
    for (const Mutant &mutant : all)
      say(id_of(mutant));
    return 0;
  }
  build.measure(options.folders);

  fs::path journal_path = fs::path(options.work) / "results.jsonl";
  std::FILE *file = std::fopen(journal_path.c_str(), "a");
  if (!file)
    throw std::runtime_error("cannot write " + journal_path.string());
  size_t planted = 0;
  Journal journal = {known_results(journal_path, options.tries_again), [&](const Result &result) {
                       std::fprintf(file, "%s\n", json_of(result).c_str());
                       std::fflush(file);
                     }};
  std::vector<Result> results =
      run_mutants(shuffled(all, options.seed), options.count, journal, [&](const Mutant &mutant) {
        Result result = build.try_mutant(mutant);
        say(std::to_string(++planted) + ": " + result.mutant + ": " + text_of(result) + result.by +
            ", " + std::to_string(result.seconds) + " s");
        return result;
      });
  std::fclose(file);

  std::vector<Explanation> explanations =
      read_explanations(read_text(fs::path(options.root) / "tests" / "mutate" / "explained.txt"));
  std::printf("\n%s", summary_of(results, explanations).c_str());
  bool all_known = std::all_of(results.begin(), results.end(), [&](const Result &result) {
    return result.outcome != Outcome::survived || !reason_for(result, explanations).empty();
  });
  return all_known ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Plants small errors in the compiler's sources and runs the quick tests.", "mutate");
  app.add_option("--root", options.root, "the source tree")->required();
  app.add_option("--work", options.work, "folder for the copy, its build and the results")
      ->required();
  app.add_option("--count", options.count, "mutants to plant")->capture_default_str();
  app.add_option("--seed", options.seed, "of the choice")->capture_default_str();
  app.add_option("--folders", options.folders, "folders or files with the sources")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "parallel compilations")->capture_default_str();
  app.add_flag("--list", options.lists, "only list all possible mutants");
  app.add_flag("--again", options.tries_again, "try the survivors of earlier calls again");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  block_interrupts();
  try {
    return run(options);
  } catch (const Interrupted &interrupted) {
    say("interrupted; the next call continues");
    return 128 + interrupted.signal;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "mutate: %s\n", error.what());
    return 3;
  }
}
