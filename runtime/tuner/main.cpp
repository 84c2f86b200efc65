// The main program of a tuner: describes its kernels, and compares and measures their variants.

#include "tuner.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace {

using namespace tritonc::tuner;

std::vector<Problem> read(const std::string &path) {
  if (path == "-")
    return read_plan(std::cin);
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  return read_plan(file);
}

/// Unblocks signals, which the parent process may have blocked for itself.
void take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

int run(int count, char **arguments) {
  CLI::App app("Runs and measures the kernels that it contains, for tritonc tune and tritonc "
               "bench.");
  app.require_subcommand(1);
  std::string plan = "-";
  Settings settings;
  bool is_unchecked = false;
  app.add_subcommand("describe", "lists the kernels and their variants");
  CLI::App *check = app.add_subcommand("check", "compares the results of all variants");
  check->add_option("PLAN", plan, "a plan that tritonc tune --plan-to wrote; - is standard input");
  CLI::App *measure = app.add_subcommand("measure", "compares and times all variants");
  measure->add_option("PLAN", plan,
                      "a plan that tritonc tune --plan-to wrote; - is standard input");
  measure->add_option("--rounds", settings.effort.rounds, "number of measurements of each variant")
      ->check(CLI::Range(1, 1000));
  measure->add_flag("--cold", settings.effort.is_cold, "times single launches with cold caches");
  measure->add_flag("--unchecked", is_unchecked,
                    "does not compare the results before the measurement");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  settings.is_timed = measure->parsed();
  settings.is_checked = !is_unchecked;
  if (!check->parsed() && !measure->parsed()) {
    describe(std::cout);
    return 0;
  }
  return tritonc::tuner::run(read(plan), settings, std::cout) ? 0 : 1;
}

} // namespace

int main(int count, char **arguments) {
  take_signals();
  try {
    return run(count, arguments);
  } catch (const std::exception &exception) {
    std::cout << std::flush;
    std::cerr << "error: " << exception.what() << "\n";
    return 3;
  }
}
