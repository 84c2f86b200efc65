// Tests that every pass keeps the semantics of every kernel: the shipped kernels, and the test
// kernels, which cover cases that a pass could break and that no shipped kernel has.
//
// The test interprets a kernel as translated, and again after each pass for each GPU, with the
// baseline and with warp-specialized schedules, which take turns over the variants. Memory and
// printed lines must be equal bit for bit, without reports. Kernels with `assert` or `print` run
// twice, without and with these checks. A function whose printed IR was interpreted before is not
// interpreted again. This skips passes without changes and GPUs with the same code.
//
// An ordinary run interprets after the last pass, and after one in eight of the other passes, by the
// seed of the day. If a result is wrong, it interprets after all passes, to find the first wrong one.
//
// The parts of a warp_specialize run in three interleavings: one of them after each pass, and all
// three after the last pass. If tensor maps do not fit the matrices, the runtime would use another
// schedule, so the test compares nothing.
//
//     test_oracle                # a part of the variants, by the seed of the day (support/sample.h)
//     test_oracle --no-skip      # all variants with tiles up to 64: tests/campaign oracle

#include "interpreter/interpreter.h"
#include "test_kernels/test_kernels.h"

#include "ir/checks.h"
#include "ir/printer.h"
#include "ir/schedule.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "support/sample.h"
#include "support/schedules.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

const std::vector<const char *> gpus = {"75", "80", "90a"};
constexpr Turns all_turns[] = {Turns::producer_first, Turns::workers_first, Turns::alternate};

struct Outcome {
  Memory memory;
  std::string wrong; // reports, one per line
  std::vector<std::string> printed;
  bool maps_fit = true;
};

// The difference; "" = none.
std::string difference(const Outcome &expected, const Outcome &found) {
  for (size_t i = 0; i < expected.printed.size() || i < found.printed.size(); i++) {
    std::string was = i < expected.printed.size() ? expected.printed[i] : "nothing";
    std::string is = i < found.printed.size() ? found.printed[i] : "nothing";
    if (was != is)
      return "printed:\n  " + is + "\nbefore:\n  " + was + "\n";
  }
  return difference(expected.memory, found.memory);
}

// Launches the functions in sequence.
Outcome interpret(const std::vector<const ir::Function *> &fns, const Run &run,
                  bool out_of_bounds_counts, Turns turns = Turns::producer_first) {
  Outcome outcome{run.memory, "", {}};
  Launch launch = run.launch;
  launch.turns = turns;
  for (const ir::Function *fn : fns) {
    Result result = interpreter::run(*fn, launch, outcome.memory);
    for (const interpreter::Report &report : result.reports) {
      if (out_of_bounds_counts || report.kind != interpreter::Report::Kind::out_of_bounds)
        outcome.wrong += text_of(report) + "\n";
      outcome.maps_fit &= report.kind != interpreter::Report::Kind::not_launched;
    }
    std::move(result.printed.begin(), result.printed.end(), std::back_inserter(outcome.printed));
  }
  return outcome;
}

bool has_workspace(const ir::Function &fn) {
  return std::any_of(fn.body->ops.begin(), fn.body->ops.end(),
                     [](const ir::Op *op) { return op->is(ir::Opcode::workspace_); });
}

// One variant of one kernel, through all passes.
struct Trial {
  const TestKernel &test_kernel;
  const Variant &variant;
  const Sample &passes; // after which to interpret
  bool with_checks;     // keeps print and assert
  std::vector<Run> runs = {};
  std::vector<Outcome> expected = {};
  std::set<std::string> done = {};  // interpreted functions, as text
  int interpreted = 0, fitting = 0; // runs; runs whose tensor maps fit
  size_t next_turns = 0;
  std::optional<ir::Function> before = {}, behind = {}; // launches that share the work

  // "kernels/matmul.tc [TYPE=half ...] after `split_dots_along_k` for sm_80, K=32: "
  std::string place(const std::string &stage, const Run &run) const {
    return test_kernel.file + " [" + variant.text + "] " + stage + ", " + run.text + ": ";
  }

  std::optional<ir::Function> translated() const {
    FrontEndResult result = translate_source(input_of(test_kernel, variant));
    INFO(test_kernel.file, " [", variant.text, "]\n", result.diagnostics_text);
    REQUIRE(result.errors == 0);
    REQUIRE(result.kernels.size() == 1);
    return std::move((with_checks ? result.checked : result.kernels)[0]);
  }

  void interpret_source(const ir::Function &fn) {
    for (const Run &run : runs) {
      expected.push_back(interpret({&fn}, run, !test_kernel.fetches_past_the_end));
      std::string wrong = expected.back().wrong + run.check(expected.back().memory);
      CHECK_MESSAGE(wrong.empty(), place("as translated", run), wrong);
    }
    done.insert(ir::print(fn));
  }

  // Whether `fn` gives the expected results.
  bool holds(const std::string &stage, const ir::Function &fn, bool out_of_bounds_counts) {
    std::string text = ir::print(fn), broken = ir::verify(fn);
    CHECK_MESSAGE(broken.empty(), test_kernel.file, " [", variant.text, "] ", stage, ": ", broken);
    if (!broken.empty())
      return false;
    auto [at, is_new] = done.insert(text + (out_of_bounds_counts ? "strict" : ""));
    if (!is_new ||
        holds(stage, fn, out_of_bounds_counts, all_turns[next_turns++ % std::size(all_turns)]))
      return true;
    done.erase(at);
    return false;
  }

  bool holds(const std::string &stage, const ir::Function &fn, bool out_of_bounds_counts,
             Turns turns) {
    fitting = 0;
    std::vector<const ir::Function *> launches = {&fn};
    if (before && has_workspace(fn))
      launches.insert(launches.begin(), &*before);
    if (behind && has_workspace(fn))
      launches.push_back(&*behind);
    for (size_t i = 0; i < runs.size(); i++) {
      Outcome outcome = interpret(launches, runs[i], out_of_bounds_counts, turns);
      interpreted++;
      fitting += outcome.maps_fit;
      std::string wrong = outcome.wrong + difference(expected[i], outcome);
      if (wrong.empty() || !outcome.maps_fit)
        continue;
      CHECK_MESSAGE(wrong.empty(), place(stage, runs[i]), "turns ", int(turns), "\n", wrong, "\n",
                    ir::print(fn));
      return false;
    }
    return true;
  }

  // Of a run that interprets after all passes, reports only the first wrong one: later passes would
  // repeat the error.
  void run_passes(const char *gpu, const Schedule &schedule, bool in_every_turn = false) {
    std::string where = std::string(" for sm_") + gpu + " " + text_of(schedule);
    for (Run &run : runs) // few output tiles, so that each consumer group gets one
      run.launch.num_sms = schedule.stream_k ? 3 : schedule.consumer_groups > 1 ? 1 : 2;
    bool good = true, strict = false;
    auto run_all = [&](bool interprets_all) {
      ir::Function fn = std::move(*translated());
      strict = !test_kernel.fetches_past_the_end;
      auto observe = [&](std::string_view pass, ir::Function &now) {
        // This pass removes the loads past the end.
        strict |= pass == "remove_dead_code";
        const std::string stage = "after `" + std::string(pass) + "`" + where;
        if (interprets_all || passes.takes(test_kernel.file + " " + variant.text + " " + stage))
          good = good && holds(stage, now, strict);
      };
      run_pipeline(fn, *find_gpu(gpu), observe, schedule);
      return fn;
    };
    ir::Function fn = run_all(passes.is_full());
    good = good && holds("after all passes" + where, fn, strict);
    if (!good && !passes.is_full()) { // finds the first wrong pass
      good = true;
      run_all(true);
      good = false;
    }
    // The runs of some kernels have no rows of 3, 5 or 7 tiles.
    CHECK_MESSAGE((fitting > 0 || schedule.iterations > 1 || !good), test_kernel.file, " [",
                  variant.text, "]", where, " fits none of the runs");
    if (!in_every_turn || !good)
      return;
    for (Turns turns : all_turns)
      holds("after all passes" + where, fn, strict, turns);
  }

  ir::Function finished(const char *gpu, const Schedule &schedule) {
    ir::Function fn = std::move(*translated());
    run_pipeline(fn, *find_gpu(gpu), {}, schedule);
    return fn;
  }

  // Tests each of two launches that share the work, together with the other launch's final form.
  void run_passes(const char *gpu, const PartialsLaunches &launches) {
    behind = finished(gpu, launches.second);
    run_passes(gpu, launches.first, true);
    behind.reset();
    before = finished(gpu, launches.first);
    run_passes(gpu, launches.second, true);
    before.reset();
  }

  void interpret_source_for(const std::vector<Run> &wanted) {
    runs = wanted;
    interpret_source(*translated());
  }

  // `most` warp-specialized schedules, starting at turn `number`.
  std::vector<Schedule> specialized(const char *gpu, size_t number, size_t most) {
    std::vector<Schedule> schedules = test::complete_schedules_for(*translated(), *find_gpu(gpu)),
                          chosen;
    schedules.pop_back(); // the baseline
    for (size_t i = 0; i < std::min(most, schedules.size()); i++)
      chosen.push_back(schedules[(number + i) % schedules.size()]);
    return chosen;
  }

  void run(const std::vector<const char *> &for_gpus, size_t number, size_t max_specialized) {
    std::mt19937 random(1);
    interpret_source_for(test_kernel.runs(variant, random));
    for (const char *gpu : for_gpus) {
      for (const Schedule &schedule : specialized(gpu, number, max_specialized))
        run_passes(gpu, schedule);
      run_passes(gpu, test::schedules_for(*translated(), *find_gpu(gpu)).back());
      if (auto launches = partials_launches_for(*translated(), *find_gpu(gpu)))
        if (launches->second.kind == Schedule::Kind::split_loop)
          run_passes(gpu, *launches);
    }
  }

  // Only the warp-specialized schedule of a GPU without wgmma. Returns false if it has none.
  bool run_by_mma(const char *gpu) {
    Schedule schedule = test::schedules_for(*translated(), *find_gpu(gpu))[0];
    if (schedule.is_warp_specialized()) {
      std::mt19937 random(1);
      interpret_source_for(test_kernel.runs_of(variant, random, few_steps));
      run_passes(gpu, schedule, true);
    }
    return schedule.is_warp_specialized();
  }

  // Warp-specialized schedules for sm_90a, by kind: two without split-K, one with split-K in a
  // cluster, and one with split-K over two launches. Also the small schedules in which all warps
  // have the same role.
  struct Candidate {
    Schedule schedule;
    std::optional<PartialsLaunches> launches = {}; // instead of `schedule`
  };
  std::map<std::string, std::vector<Candidate>> specialized_by_kind(size_t number) {
    constexpr size_t all = 100;
    std::map<std::string, std::vector<Candidate>> candidates;
    std::vector<Schedule> split;
    for (const Schedule &schedule : specialized("90a", 0, all))
      if (schedule.split_k > 1)
        split.push_back(schedule);
      else if (!schedule.is_warp_specialized())
        candidates["one role"].push_back({schedule});
    for (const Schedule &schedule : specialized("90a", number, 2))
      candidates[schedule.is_warp_specialized() ? "specialized" : "one role"].push_back({schedule});
    if (!split.empty())
      candidates["split-K in a cluster"].push_back({split[number % split.size()]});
    if (auto launches = partials_launches_for(*translated(), *find_gpu("90a")))
      candidates["split-K over launches"].push_back({{}, *launches});
    return candidates;
  }

  void run_candidate(const Candidate &candidate) {
    if (runs.empty()) {
      std::mt19937 random(1);
      interpret_source_for(test_kernel.runs_of(variant, random, few_steps));
    }
    if (candidate.launches)
      run_passes("90a", *candidate.launches);
    else
      run_passes("90a", candidate.schedule, true);
  }
};

std::string text_of(const std::set<std::string> &files) {
  std::string text;
  for (const std::string &file : files)
    text += file + "\n";
  return text;
}

Sample sample_of_passes() { return sample_of_this_run("oracle, passes", 12); }

// Whether TRITONC_ONLY selects some of the test kernels.
bool is_restricted() { return std::getenv("TRITONC_ONLY"); }

// Not an assertion: that of a `gather` prints nothing if its indices are right.
bool prints(const ir::Function &fn) {
  bool found = false;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) { found |= op.is(ir::Opcode::print_); });
  return found;
}

// Each variant of the sample with one of its warp-specialized schedules in turn; with two if
// `all_variants`.
void try_all(bool all_variants, const Sample &sample, const Sample &passes) {
  const size_t schedules = all_variants ? 2 : 1;
  size_t number = 0;
  for (const TestKernel &test_kernel : test_kernels()) {
    std::vector<Variant> variants = variants_of(test_kernel, all_variants);
    CAPTURE(test_kernel.file);
    REQUIRE_FALSE(variants.empty());
    for (const auto &[i, for_gpus] :
         gpus_by_variant(names_of(test_kernel, variants), gpus, sample)) {
      const Variant &variant = variants[i];
      Trial plain{test_kernel, variant, passes, false}, checked{test_kernel, variant, passes, true};
      plain.run(for_gpus, number + i, schedules);
      CHECK(plain.interpreted > 0);
      if (ir::has_checks(*checked.translated())) {
        checked.run(for_gpus, number + i, schedules);
        CHECK(checked.interpreted > 0);
        CHECK(checked.expected.back().printed.empty() == !prints(*checked.translated()));
        CHECK(plain.expected.back().printed.empty());
      }
    }
    number += variants.size();
  }
}

} // namespace

TEST_CASE("oracle: every pass keeps the semantics of every kernel") {
  try_all(false, sample_of_this_run("oracle", 2), sample_of_passes());
}

// Of each kernel at least one schedule, and of each kind at least one.
TEST_CASE("oracle: warp-specialized matmuls") {
  const Sample sample = sample_of_this_run("oracle of specialized matmuls", 1);
  const Sample passes = sample_of_passes();
  struct Item {
    Trial *trial;
    Trial::Candidate candidate;
    std::string name;
  };
  std::deque<Variant> variants;
  std::deque<Trial> trials;
  std::vector<Item> items;
  std::map<std::string, std::set<std::string>> files;       // by kind
  std::map<std::string, std::vector<std::string>> by_group; // names, by file and by kind
  for (const TestKernel &test_kernel : test_kernels())
    for (Variant &variant : variants_to_specialize(test_kernel)) {
      size_t number = 2 * trials.size();
      variants.push_back(std::move(variant));
      trials.push_back({test_kernel, variants.back(), passes, false});
      for (auto &[kind, candidates] : trials.back().specialized_by_kind(number))
        for (Trial::Candidate &candidate : candidates) {
          std::string name = test_kernel.file + " [" + variants.back().text + "] " + kind + " " +
                             text_of(candidate.schedule);
          files[kind].insert(test_kernel.file);
          by_group[kind].push_back(name);
          by_group[test_kernel.file].push_back(name);
          items.push_back({&trials.back(), std::move(candidate), name});
        }
    }
  std::set<std::string> chosen;
  for (const auto &[group, names] : by_group)
    for (size_t i : sample.some_of(names))
      chosen.insert(names[i]);
  for (const Item &item : items)
    if (chosen.contains(item.name))
      item.trial->run_candidate(item.candidate);
  CHECK(text_of(files["specialized"]) == text_of(files_to_specialize()));
  CHECK(text_of(files["split-K in a cluster"]) == text_of(files_to_divide()));
  CHECK(text_of(files["split-K over launches"]) == text_of(files_to_divide()));
  CHECK((is_restricted() || files["one role"].size() > 3));
}

// Of each kernel, at least one variant with such a schedule.
TEST_CASE("oracle: mma matmuls with a producer warp") {
  const Sample sample = sample_of_this_run("oracle of mma matmuls with a producer warp", 3);
  const Sample passes = sample_of_passes();
  std::set<std::string> files;
  size_t number = 0;
  for (const TestKernel &test_kernel : test_kernels()) {
    std::vector<Variant> variants = variants_to_specialize(test_kernel);
    std::vector<std::string> names = names_of(test_kernel, variants);
    for (size_t i : sample.order(names)) {
      if (files.contains(test_kernel.file) && !sample.takes(names[i]))
        break;
      Trial trial{test_kernel, variants[i], passes, false};
      // With many stages, and with three stages next to the buffer for one output tile.
      if (trial.run_by_mma((number + i) % 2 ? "90" : "120"))
        files.insert(test_kernel.file);
    }
    number += variants.size();
  }
  CHECK(text_of(files) == text_of(files_to_divide()));
}

TEST_CASE("oracle: every pass keeps the semantics of every variant" * doctest::skip()) {
  try_all(true, sample_of_this_run("oracle of all variants", 100), sample_of_passes());
}

TEST_CASE("oracle: every kernel file is listed") {
  std::set<std::string> listed, found;
  for (const TestKernel &test_kernel : test_kernels())
    listed.insert(test_kernel.file);
  for (std::string folder :
       {"kernels", "tests/gpu/constants", "tests/test_kernels/gpu", "tests/test_kernels"})
    for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/../" + folder))
      if (entry.path().extension() == ".tc")
        found.insert(folder + "/" + entry.path().filename().string());
  CHECK((is_restricted() || listed == found));
}

namespace {

std::string text_of_file(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("shipped kernels: contract, grid, variants, docs, device test") {
  std::filesystem::path folder = TRITONC_TESTS_DIR "/../kernels";
  std::string list = text_of_file(TRITONC_TESTS_DIR "/../docs/pages/kernels.md"), device_tests;
  for (std::string tests : {"/gpu", "/gpu/kernels"})
    for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR + tests))
      if (entry.path().extension() == ".cpp")
        device_tests += text_of_file(entry.path());
  int kernels = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".tc")
      continue;
    std::string name = entry.path().stem().string(), text = text_of_file(entry.path());
    CAPTURE(name);
    CHECK(text.starts_with("// " + name + ": "));
    std::string contract = text.substr(0, text.find("\n#"));
    CHECK(contract.find("equire") != std::string::npos); // its own or another kernel's contract
    CHECK(text.find("#pragma tritonc grid(") != std::string::npos);
    CHECK_FALSE(read_declarations({entry.path().string(), {}, {}, ""}).axes.empty());
    CHECK(list.find("[" + name + "](#") != std::string::npos); // its row in the overview
    CHECK(std::regex_search(device_tests, std::regex("::" + name + "\\b")));
    kernels++;
  }
  CHECK(kernels > 10);
}
