// Runs every kernel, the shipped kernels and the test kernels, as host code on the emulator.
//
// The results must match the kernel's definition, and match the tile interpreter's results bit for
// bit. The emulator checks for races, uninitialized reads, and out-of-bounds accesses. It must find
// nothing, in any interleaving and at any landing time of copies. Code shared by two GPUs runs
// once.
//
//     test_emulated_kernels              # a part, by the seed of the day (support/sample.h)
//     test_emulated_kernels --no-skip    # all variants with tiles up to 64: tests/campaign emulated

#include "support/host_code.h"
#include "support/sample.h"
#include "support/schedules.h"
#include "support/tile_memory.h"
#include "test_kernels/test_kernels.h"

#include "ir/printer.h"
#include "passes/pipeline.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

using namespace tritonc;
using namespace tritonc::test;
using emulator::Async;
using emulator::Order;

namespace {

const std::vector<const char *> gpus = {"75", "80", "90a"};

struct Mode {
  const char *name;
  Order order;
  Async async;
  uint64_t seed = 0;
};

// Every Order and every Async, but not every combination.
const std::vector<Mode> modes = {
    {"forward, copies early", Order::forward, Async::early},
    {"reversed, copies late", Order::reversed, Async::late},
    {"random, copies at random times", Order::random, Async::random, 1},
    {"reversed, copies early", Order::reversed, Async::early},
    {"random, copies late", Order::random, Async::late, 2},
};

// The interpreter's result of a run.
struct Expected {
  interpreter::Memory memory;
  std::vector<std::string> printed;
};

// A function compiled to host code.
struct Code {
  ir::Function fn;
  LinkedHostCode host;

  Code(ir::Function function, const Gpu &gpu)
      : fn(std::move(function)), host(host_code_of(fn, gpu)) {}
};

// The error of a run that launches these in sequence; "" = no error, nullopt = this schedule cannot
// be launched.
std::optional<std::string> emulate(const std::deque<Code> &codes, const Run &run, const Mode &mode,
                                   const Expected &expected, bool looks_for_races) {
  TileMemory memory(run.memory);
  if (run.launch.grid[0] == 0) // an empty grid launches nothing, see abi::launch
    return run.check(memory.read());
  std::vector<std::string> printed;
  emulator::Options options;
  options.order = mode.order;
  options.async = mode.async;
  options.seed = mode.seed;
  options.workers = 1;
  options.races = looks_for_races;
  options.print = [&](std::string_view line) { printed.emplace_back(line); };
  std::string wrong;
  for (const Code &code : codes) {
    std::optional<emulator::Launch> launch = memory.launch(*code.host, code.fn, run.launch);
    if (!launch)
      return std::nullopt;
    emulator::Result result = emulator::launch(*code.host, *launch, options, memory.memory());
    for (const emulator::Report &report : result.reports)
      wrong += report.text + "\n";
  }
  interpreter::Memory after = memory.read();
  wrong += run.check(after) + interpreter::difference(expected.memory, after);
  for (size_t i = 0; i < std::max(printed.size(), expected.printed.size()); i++) {
    std::string here = i < printed.size() ? printed[i] : "nothing";
    std::string there = i < expected.printed.size() ? expected.printed[i] : "nothing";
    if (here != there)
      return wrong + "prints " + here + "\ninstead of " + there + "\n";
  }
  return wrong;
}

// One variant of one kernel.
struct Trial {
  const TestKernel &test_kernel;
  const Variant &variant;
  std::vector<Run> runs = {};
  std::vector<Expected> expected = {};
  std::set<std::string> done = {}; // emulated functions, as text
  size_t next_mode = 0;
  int emulated = 0;

  ir::Function translated() const {
    FrontEndResult result = translate_source(input_of(test_kernel, variant));
    INFO(test_kernel.file, " [", variant.text, "]\n", result.diagnostics_text);
    REQUIRE(result.errors == 0);
    REQUIRE(result.checked.size() == 1);
    return std::move(result.checked[0]);
  }

  void interpret(const ir::Function &fn) {
    for (const Run &run : runs) {
      Expected &made = expected.emplace_back(Expected{run.memory, {}});
      made.printed = interpreter::run(fn, run.launch, made.memory).printed;
    }
  }

  void emulate_for(const char *name) {
    for (const Schedule &schedule : test::complete_schedules_for(translated(), *find_gpu(name)))
      emulate_for(name, schedule);
    if (auto launches = partials_launches_for(translated(), *find_gpu(name)))
      if (launches->second.kind == Schedule::Kind::split_loop)
        emulate_for(name, launches->first, &launches->second);
  }

  // One mode per schedule except for the baseline: there are many schedules with large tiles.
  std::vector<Mode> modes_for(const Schedule &schedule) {
    bool is_plain = schedule.is_baseline();
    return is_plain ? modes : std::vector{modes[next_mode++ % modes.size()]};
  }

  // With one schedule, or two that share the work.
  void emulate_for(const char *name, const Schedule &schedule, const Schedule *second = nullptr) {
    const Gpu &gpu = *find_gpu(name);
    std::deque<Code> codes;
    for (const Schedule *one : {&schedule, second}) {
      if (!one)
        continue;
      ir::Function fn = translated();
      run_pipeline(fn, gpu, {}, *one);
      if (!done.insert(ir::print(fn)).second && !second)
        return;
      if (one->is_warp_specialized() && fn.shared_bytes > gpu.max_shared_bytes)
        return; // the compiler omits this schedule
      codes.emplace_back(std::move(fn), gpu);
    }
    for (Run &run : runs) // few output tiles, so that each consumer group gets one
      run.launch.num_sms = schedule.stream_k ? 3 : schedule.consumer_groups > 1 ? 1 : 2;
    for (const Mode &mode : modes_for(schedule))
      for (size_t i = 0; i < runs.size(); i++) {
        std::optional<std::string> wrong =
            emulate(codes, runs[i], mode, expected[i], !test_kernel.locks);
        if (!wrong)
          continue;
        emulated++;
        CHECK_MESSAGE(wrong->empty(), test_kernel.file, " [", variant.text, "] for sm_",
                      std::string(name), " ", text_of(schedule), ", ", runs[i].text, ", ",
                      std::string(mode.name), ":\n", *wrong);
        if (!wrong->empty())
          return; // the other runs would only repeat it
      }
  }

  void run(const std::vector<const char *> &for_gpus) {
    std::mt19937 random(1);
    runs = test_kernel.runs(variant, random);
    interpret(translated());
    for (const char *gpu : for_gpus)
      emulate_for(gpu);
  }

  // With few iterations and in one mode. Returns whether the schedule can be launched.
  bool run_schedule(const char *gpu, size_t mode, const Schedule &schedule,
                    const Schedule *second = nullptr) {
    if (runs.empty()) {
      std::mt19937 random(1);
      runs.push_back(test_kernel.runs_of(variant, random, few_steps).back());
      interpret(translated());
    }
    next_mode = mode;
    int before = emulated;
    emulate_for(gpu, schedule, second);
    return emulated > before;
  }
};

void try_all(bool all_variants, const Sample &sample) {
  for (const TestKernel &test_kernel : test_kernels()) {
    std::vector<Variant> variants = variants_of(test_kernel, all_variants);
    CAPTURE(test_kernel.file);
    REQUIRE_FALSE(variants.empty());
    for (const auto &[i, for_gpus] :
         gpus_by_variant(names_of(test_kernel, variants), gpus, sample)) {
      Trial trial{test_kernel, variants[i]};
      trial.run(for_gpus);
      CHECK(trial.emulated > 0);
    }
  }
}

// A schedule of a matmul for sm_90a, or two that share the work.
struct MatmulSchedule {
  Trial *trial;
  size_t number; // selects the mode
  Schedule schedule;
  std::optional<Schedule> second = {};

  const char *kind() const {
    return second                                              ? "split-K over launches"
           : schedule.split_k > 1                              ? "split-K in a cluster"
           : schedule.kind == Schedule::Kind::multistage_wgmma ? "multistage wgmma"
           : schedule.kind == Schedule::Kind::multistage       ? "multistage"
                                                               : "warp-specialized";
  }
  std::string name() const {
    return trial->test_kernel.file + " [" + trial->variant.text + "] " + text_of(schedule);
  }
  bool run() const {
    return trial->run_schedule("90a", number, schedule, second ? &*second : nullptr);
  }
};

// All schedules of one variant except for the baseline.
std::vector<MatmulSchedule> matmul_schedules(Trial &trial, size_t &next_number) {
  std::vector<MatmulSchedule> schedules;
  for (Schedule &schedule : test::complete_schedules_for(trial.translated(), *find_gpu("90a")))
    if (!schedule.is_baseline())
      schedules.push_back({&trial, next_number++, std::move(schedule)});
  if (auto launches = partials_launches_for(trial.translated(), *find_gpu("90a")))
    schedules.push_back({&trial, next_number++, launches->first, launches->second});
  return schedules;
}

// Runs the sample. If none of its schedules can be launched, goes on until one can. Returns whether
// there was one.
bool run_some_of(const std::vector<MatmulSchedule> &schedules, const Sample &sample) {
  std::vector<std::string> names;
  for (const MatmulSchedule &schedule : schedules)
    names.push_back(schedule.name());
  bool ran = false;
  for (size_t i : sample.order(names))
    if (!ran || sample.takes(names[i]))
      ran |= schedules[i].run();
  return ran;
}

} // namespace

TEST_CASE("emulated kernels: every kernel matches the interpreter") {
  try_all(false, sample_of_this_run("emulated kernels", 2));
}

TEST_CASE("emulated kernels: every variant matches the interpreter" * doctest::skip()) {
  try_all(true, sample_of_this_run("emulated kernels, all variants", 100));
}

// Of each kernel, at least one schedule of each kind.
TEST_CASE("emulated kernels: matmul schedules match the interpreter") {
  Sample sample = sample_of_this_run("emulated schedules of matmuls", 2);
  size_t next_number = 0;
  std::map<std::string, std::set<std::string>> files;
  for (const TestKernel &test_kernel : test_kernels()) {
    std::vector<Variant> variants = variants_to_specialize(test_kernel);
    std::deque<Trial> trials;
    std::map<std::string, std::vector<MatmulSchedule>> by_kind;
    for (const Variant &variant : variants) {
      trials.push_back({test_kernel, variant});
      for (MatmulSchedule &schedule : matmul_schedules(trials.back(), next_number))
        by_kind[schedule.kind()].push_back(std::move(schedule));
    }
    for (const auto &[kind, schedules] : by_kind)
      if (run_some_of(schedules, sample))
        files[kind].insert(test_kernel.file);
  }
  std::set<std::string> expected = files_to_specialize(), expected_divided = files_to_divide();
  // Its checks use the loaded tiles, too.
  for (std::set<std::string> *all : {&expected, &expected_divided})
    all->erase("tests/test_kernels/checked_matmul.tc");
  CHECK(files["warp-specialized"] == expected);
  CHECK(files["split-K in a cluster"] == expected_divided);
  CHECK(files["split-K over launches"] == expected_divided);
  // Only with small enough tiles, which not every kernel has.
  CHECK(files["multistage wgmma"].size() >= 4);
  CHECK(files["multistage"].size() >= 2);
}

// Of each kernel, at least one variant for each GPU.
TEST_CASE("emulated kernels: mma with a producer warp matches the interpreter") {
  Sample sample = sample_of_this_run("emulated mma with a producer warp", 3);
  std::map<std::string, std::set<std::string>> files;
  // With many stages, and with three stages next to the buffer for one output tile.
  for (const std::string gpu : {"90", "120"}) {
    size_t number = 0;
    for (const TestKernel &test_kernel : test_kernels()) {
      std::vector<Variant> variants = variants_to_specialize(test_kernel);
      std::vector<std::string> names = names_of(test_kernel, variants);
      for (size_t i : sample.order(names)) {
        if (files[gpu].contains(test_kernel.file) && !sample.takes(names[i]))
          break;
        Trial trial{test_kernel, variants[i]};
        Schedule schedule = test::schedules_for(trial.translated(), *find_gpu(gpu))[0];
        if (schedule.is_warp_specialized() && trial.run_schedule(gpu.c_str(), number + i, schedule))
          files[gpu].insert(test_kernel.file);
      }
      number += variants.size();
    }
  }
  std::set<std::string> expected = files_to_divide();
  // Its checks use the loaded tiles, too.
  expected.erase("tests/test_kernels/checked_matmul.tc");
  CHECK(files["90"] == expected);
  // A piece of their loaded tile does not fit next to three stages.
  expected.erase("tests/test_kernels/gpu/fused_result.tc");
  expected.erase("tests/test_kernels/residual_matmul.tc");
  CHECK(files["120"] == expected);
}

TEST_CASE("emulated kernels: a missing barrier is found") {
  const TestKernel &test_kernel = test_kernels()[0];
  Variant variant = variants_of(test_kernel, false)[0];
  FrontEndResult source = translate_source(input_of(test_kernel, variant));
  REQUIRE(source.errors == 0);
  const Gpu &gpu = *find_gpu("80");
  run_pipeline(source.checked[0], gpu, [](std::string_view, ir::Function &) {});
  std::mt19937 random(1);
  Run run = test_kernel.runs(variant, random).back();
  size_t barriers = 0;
  ir::for_each_op(*source.checked[0].body,
                  [&](const ir::Op &op) { barriers += op.is(ir::Opcode::barrier_); });
  REQUIRE(barriers > 0);
  for (size_t left_out = 0; left_out < barriers; left_out++) {
    ir::Function fn = ir::clone(source.checked[0]);
    std::vector<ir::Op *> found;
    ir::for_each_op(*fn.body, [&](ir::Op &op) {
      if (op.is(ir::Opcode::barrier_))
        found.push_back(&op);
    });
    ir::erase(found[left_out]);
    LinkedHostCode code = host_code_of(fn, gpu);
    TileMemory memory(run.memory);
    emulator::Result result = emulator::launch(*code, *memory.launch(*code, fn, run.launch),
                                               emulator::Options(), memory.memory());
    REQUIRE_FALSE(result.reports.empty());
    CHECK(result.reports[0].kind == emulator::Report::Kind::race);
    CHECK(std::string(result.reports[0].site.file).find("matmul.tc") != std::string::npos);
    CHECK(result.reports[0].site.line > 0);
  }
}
