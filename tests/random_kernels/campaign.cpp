// Runs many random kernels through all legs. See campaign.h.
//
// Tested by tests/random_kernels/legs_test.cpp.

#include "random_kernels/campaign.h"

#include "random_kernels/draw.h"
#include "random_kernels/generate.h"
#include "random_kernels/isolate.h"
#include "random_kernels/reduce.h"
#include "random_kernels/variants.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <sstream>

#include <poll.h>

namespace tritonc::random {
namespace {

// Max failures of each kind that are reduced and kept; others are only counted.
constexpr int max_of_a_kind = 3;

// --- Results as text between processes. ----------------------------------------------------------

struct Outcome {
  Effort effort;
  std::optional<Failure> failure;
};

std::string encoded(const Outcome &outcome) {
  std::ostringstream out;
  out << outcome.effort.interpreted << " " << outcome.effort.emulated << " "
      << outcome.effort.too_large << " " << outcome.effort.specialized << " "
      << outcome.effort.split_k << " " << outcome.effort.in_parts << " " << outcome.effort.batched
      << "\n";
  if (outcome.failure)
    out << int(outcome.failure->kind) << "\n"
        << outcome.failure->stage << "\n"
        << outcome.failure->text;
  return out.str();
}

Outcome decoded(const Isolated &result) {
  if (result.end == Isolated::End::timed_out)
    return {{}, Failure{Failure::Kind::timeout, "somewhere", result.text}};
  if (result.end == Isolated::End::crashed)
    return {{}, Failure{Failure::Kind::crash, "somewhere", result.text}};
  Outcome outcome;
  std::istringstream in(result.text);
  int kind;
  in >> outcome.effort.interpreted >> outcome.effort.emulated >> outcome.effort.too_large >>
      outcome.effort.specialized >> outcome.effort.split_k >> outcome.effort.in_parts >>
      outcome.effort.batched;
  if (!(in >> kind))
    return outcome;
  Failure failure{Failure::Kind(kind), "", ""};
  in.ignore();
  std::getline(in, failure.stage);
  failure.text.assign(std::istreambuf_iterator<char>(in), {});
  outcome.failure = std::move(failure);
  return outcome;
}

Outcome outcome_of(const Kernel &kernel, const Evaluation &evaluation, const Legs &legs) {
  Outcome outcome;
  outcome.failure = run_legs(case_of(kernel, evaluation), legs, outcome.effort);
  return outcome;
}

// --- One kernel. ---------------------------------------------------------------------------------

// The variant of a kernel that also runs, if any. Variants must be valid; an invalid one is not
// returned.
std::optional<Generated> variant_beside(const Generated &made, uint64_t seed, int percent) {
  Draw draw(~seed);
  if (!draw.chance(percent))
    return std::nullopt;
  Generated variant{variant_of(made.kernel, draw), {}, made.policy};
  if (!settle(variant.kernel))
    return std::nullopt;
  variant.evaluation = evaluate(variant.kernel);
  if (!variant.evaluation.invalid.empty())
    return std::nullopt;
  return variant;
}

Outcome try_seed(uint64_t seed, const Campaign &campaign) {
  Generated made = generate(seed);
  Outcome outcome = outcome_of(made.kernel, made.evaluation, campaign.legs);
  if (outcome.failure)
    return outcome;
  if (auto variant = variant_beside(made, seed, campaign.variants_percent)) {
    Outcome other = outcome_of(variant->kernel, variant->evaluation, campaign.legs);
    outcome.effort.add(other.effort);
    outcome.failure = other.failure;
  }
  return outcome;
}

// The failing kernel of a seed, reduced, as the text of a file.
std::string reduced_text(uint64_t seed, const Failure &failure, const Campaign &campaign) {
  Legs legs = legs_for(failure, campaign.legs);
  Failure last = failure;
  StillFails still_fails = [&](const Kernel &kernel, const Evaluation &evaluation) {
    Isolated end = isolated([&] { return encoded(outcome_of(kernel, evaluation, legs)); },
                            campaign.seconds_per_kernel / 4 + 1);
    Outcome outcome = decoded(end);
    if (!outcome.failure || !is_alike(*outcome.failure, failure))
      return false;
    last = *outcome.failure;
    return true;
  };
  Generated made = generate(seed);
  std::string comment = "Random kernel " + std::to_string(seed) + " (" + made.policy + ")";
  if (!still_fails(made.kernel, made.evaluation)) {
    std::optional<Generated> variant = variant_beside(made, seed, 100);
    if (variant && still_fails(variant->kernel, variant->evaluation)) {
      made = std::move(*variant);
      comment += ", a variant";
    } else {
      comment += ", not seen again";
    }
  }
  if (campaign.seconds_to_reduce > 0)
    made.kernel = reduced(made.kernel, still_fails, campaign.seconds_to_reduce);
  made.evaluation = evaluate(made.kernel);
  comment += "\n" + text_of(last).substr(0, 2000);
  return file_text(case_of(made.kernel, made.evaluation), comment);
}

// --- Many kernels. -------------------------------------------------------------------------------

// The kind of a failure, in a few words.
std::string kind_of(const Failure &failure) {
  std::string stage = failure.stage.substr(0, failure.stage.find(" for sm_"));
  std::string text = failure.text.substr(0, failure.text.find('\n'));
  if (failure.kind == Failure::Kind::difference)
    text.clear();
  std::string kind = std::string(name_of(failure.kind)) + " " + stage + " ";
  for (char c : text)
    if (std::isalpha((unsigned char)c) || c == ' ')
      kind += c;
  return kind.substr(0, 120);
}

class Runner {
public:
  explicit Runner(const Campaign &campaign) : campaign_(campaign), next_(campaign.from) {
    read_state();
    last_said_ = std::chrono::steady_clock::now();
  }

  CampaignResult run() {
    uint64_t end = campaign_.from + campaign_.kernels;
    while (next_ < end || !jobs_.empty() || !to_reduce_.empty()) {
      while (int(jobs_.size()) < campaign_.jobs && !to_reduce_.empty())
        start_reducing();
      while (int(jobs_.size()) < campaign_.jobs && next_ < end)
        start(next_++);
      wait();
      say(false);
    }
    say(true);
    write_state();
    return std::move(result_);
  }

private:
  struct Job {
    uint64_t seed;
    bool is_reducing;
    Failure failure; // being reduced
    Child child;
  };

  void start(uint64_t seed) {
    jobs_.push_back({seed,
                     false,
                     {},
                     Child([this, seed] { return encoded(try_seed(seed, campaign_)); },
                           campaign_.seconds_per_kernel)});
  }

  void start_reducing() {
    auto [seed, failure] = to_reduce_.back();
    to_reduce_.pop_back();
    auto work = [this, seed = seed, failure = failure] {
      return reduced_text(seed, failure, campaign_);
    };
    int seconds = campaign_.seconds_to_reduce + 4 * campaign_.seconds_per_kernel;
    jobs_.push_back({seed, true, failure, Child(work, seconds)});
  }

  // Waits until a job has output or runs out of time; then collects the ended jobs.
  void wait() {
    std::vector<pollfd> waits;
    int time = 1000;
    for (Job &job : jobs_) {
      waits.push_back({job.child.readable(), POLLIN, 0});
      time = std::min(time, job.child.time_left() + 1);
    }
    ::poll(waits.data(), nfds_t(waits.size()), time);
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      auto next = std::next(job);
      if (job->child.poll()) {
        finish(*job);
        jobs_.erase(job);
      }
      job = next;
    }
  }

  void finish(Job &job) {
    if (job.is_reducing)
      return keep(job);
    Outcome outcome = decoded(job.child.result());
    result_.kernels++;
    result_.effort.add(outcome.effort);
    if (!outcome.failure)
      return;
    result_.failed++;
    if (++kinds_[kind_of(*outcome.failure)] <= max_of_a_kind)
      to_reduce_.emplace_back(job.seed, *outcome.failure);
  }

  void keep(Job &job) {
    Found found{job.seed, job.failure, job.child.result().text, ""};
    if (job.child.result().end != Isolated::End::done) // reduction failed: keep the whole kernel
      found.text =
          isolated(
              [&] {
                Generated made = generate(job.seed); // in the child, because it may fail
                return file_text(case_of(made.kernel, made.evaluation), text_of(job.failure));
              },
              campaign_.seconds_per_kernel)
              .text;
    if (!campaign_.found.empty()) {
      std::filesystem::create_directories(campaign_.found);
      found.path = campaign_.found + "/seed_" + std::to_string(job.seed) + ".tc";
      std::ofstream(found.path) << found.text;
    }
    result_.found.push_back(std::move(found));
  }

  // All seeds below the returned seed are done.
  uint64_t done_below() const {
    uint64_t least = next_;
    for (const Job &job : jobs_)
      least = std::min(least, job.seed);
    for (const auto &[seed, failure] : to_reduce_)
      least = std::min(least, seed);
    return least;
  }

  void say(bool is_end) {
    using namespace std::chrono;
    auto now = steady_clock::now();
    if (!is_end && now - last_said_ < seconds(10))
      return;
    last_said_ = now;
    write_state();
    if (!campaign_.progress)
      return;
    double elapsed = duration<double>(now - started_).count();
    std::ostringstream line;
    line << result_.kernels << " of " << campaign_.kernels << " kernels, " << result_.failed
         << " failed, " << result_.effort.interpreted << " interpreted, " << result_.effort.emulated
         << " emulated, " << result_.effort.specialized << " with specialized warps, "
         << result_.effort.split_k << " of them with sums divided in clusters, "
         << result_.effort.in_parts << " with totals in parts, " << result_.effort.batched
         << " with several programs per block, " << int(elapsed) << " s";
    campaign_.progress(line.str());
  }

  void read_state() {
    std::ifstream in(campaign_.state);
    uint64_t from, next;
    uint64_t failed;
    bool is_this = !campaign_.state.empty() && in >> from >> next >> failed &&
                   from == campaign_.from && next < from + campaign_.kernels;
    if (is_this) { // otherwise of another or a finished campaign: start anew
      result_.failed = failed;
      next_ = next;
      result_.kernels = next - from;
    }
  }

  void write_state() const {
    if (campaign_.state.empty())
      return;
    std::string temporary = campaign_.state + ".new";
    std::ofstream(temporary) << campaign_.from << " " << done_below() << " " << result_.failed
                             << "\n";
    std::error_code ignored;
    std::filesystem::rename(temporary, campaign_.state, ignored);
  }

  const Campaign &campaign_;
  uint64_t next_;
  std::list<Job> jobs_;
  std::vector<std::pair<uint64_t, Failure>> to_reduce_;
  std::map<std::string, int> kinds_;
  CampaignResult result_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now(), last_said_;
};

} // namespace

CampaignResult run(const Campaign &campaign) { return Runner(campaign).run(); }

std::optional<Failure> replay(const Case &tried, const Legs &legs, int seconds) {
  return decoded(isolated(
                     [&] {
                       Outcome outcome;
                       outcome.failure = run_legs(tried, legs, outcome.effort);
                       return encoded(outcome);
                     },
                     seconds))
      .failure;
}

} // namespace tritonc::random
