// The command line tool behind `tests/campaign random`: runs any number of random kernels, or
// single cases.
//
//     random_campaign --kernels 100000 --jobs 8 --state s.txt --found folder
//     random_campaign --show 17              # the kernel of a seed, as a file
//     random_campaign --replay found/x.tc    # runs a file through all legs
//     random_campaign --record x.tc          # writes the interpreter's results into the file
//     random_campaign --batch b --kernels 3000   # compiles for the device test `random_test`
//
// Exit codes: 0 success, 1 failure, 2 wrong command line.

#include "random_kernels/batch.h"
#include "random_kernels/campaign.h"
#include "random_kernels/generate.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

using namespace tritonc::random;

namespace {

int show(uint64_t seed) {
  Generated made = generate(seed);
  std::string comment = "Random kernel " + std::to_string(seed) + " (" + made.policy + ")";
  std::fputs(file_text(case_of(made.kernel, made.evaluation), comment).c_str(), stdout);
  return 0;
}

std::optional<Case> case_in(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  std::string problem;
  std::optional<Case> tried = read_case(text.str(), problem);
  if (!in || !tried)
    std::fprintf(stderr, "%s: %s\n", path.c_str(), in ? problem.c_str() : "cannot be read");
  return tried;
}

// Writes the interpreter's results for a case into its file.
int record_file(const std::string &path) {
  std::optional<Case> tried = case_in(path);
  if (!tried)
    return 2;
  std::string problem;
  std::optional<Case> made = recorded(*tried, problem);
  if (!made) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), problem.c_str());
    return 1;
  }
  std::ofstream(path) << file_text(*made, "");
  return 0;
}

int replay_file(const std::string &path, const Legs &legs) {
  std::optional<Case> tried = case_in(path);
  if (!tried)
    return 2;
  std::optional<Failure> failure = replay(*tried, legs, 600);
  std::printf("%s\n", failure ? text_of(*failure).c_str() : "all is well");
  return failure ? 1 : 0;
}

int run_campaign(Campaign &campaign) {
  campaign.progress = [](const std::string &line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  CampaignResult result = run(campaign);
  for (const Found &found : result.found)
    std::printf("seed %llu: %s\n  %s\n", (unsigned long long)found.seed,
                text_of(found.failure).substr(0, 400).c_str(), found.path.c_str());
  return result.failed ? 1 : 0;
}

int write_kernels(const Campaign &campaign, const std::string &path, const std::string &gpu) {
  Batch batch;
  batch.from = campaign.from;
  batch.kernels = campaign.kernels;
  batch.jobs = campaign.jobs;
  batch.path = path;
  batch.gpu = gpu;
  batch.progress = [](const std::string &line) { std::printf("%s\n", line.c_str()); };
  BatchResult result = write_batch(batch);
  std::printf("%llu kernels written, %llu left out, %zu failed\n",
              (unsigned long long)result.written, (unsigned long long)result.left_out,
              result.failures.size());
  for (const std::string &failure : result.failures)
    std::printf("%s\n", failure.substr(0, 500).c_str());
  return result.failures.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Campaign campaign;
  campaign.kernels = 1000;
  campaign.jobs = int(std::max(1u, std::thread::hardware_concurrency()));
  campaign.found = "found";
  std::string replayed, to_record, batch, batch_gpu = "90a";
  uint64_t shown = 0;
  bool no_emulator = false;

  CLI::App app("Random kernels, through the compiler, the interpreter and the emulator.");
  app.add_option("--kernels", campaign.kernels, "How many");
  app.add_option("--from", campaign.from, "The first seed");
  app.add_option("--jobs", campaign.jobs, "How many at a time");
  app.add_option("--gpus", campaign.legs.gpus, "Which GPUs: 75, 80, 90a")->delimiter(',');
  app.add_option("--found", campaign.found, "A folder for what fails");
  app.add_option("--state", campaign.state, "A file by which an interrupted campaign goes on");
  app.add_option("--reduce", campaign.seconds_to_reduce, "Seconds to reduce each failure");
  app.add_option("--timeout", campaign.seconds_per_kernel, "Seconds for each kernel");
  app.add_flag("--no-emulator", no_emulator, "Only the interpreter");
  CLI::Option *show_option = app.add_option("--show", shown, "Print the kernel of a seed");
  app.add_option("--replay", replayed, "Run the case in a file");
  app.add_option("--record", to_record, "Fill in the results of the case in a file");
  app.add_option("--batch", batch, "Write compiled kernels to this file");
  app.add_option("--batch-gpu", batch_gpu, "For this GPU");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  campaign.legs.emulate = !no_emulator;
  if (*show_option)
    return show(shown);
  if (!replayed.empty())
    return replay_file(replayed, campaign.legs);
  if (!to_record.empty())
    return record_file(to_record);
  if (!batch.empty())
    return write_kernels(campaign, batch, batch_gpu);
  return run_campaign(campaign);
}
